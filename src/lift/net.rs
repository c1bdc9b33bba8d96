//! Turns evidence about a reduced net into evidence about the original one.
//!
//! *Runs*: every step is expanded to the original transitions that it stands for. Removed places get the tokens that
//! these transitions take: as many initially as are needed or, if fewer are allowed, by first firing the transitions
//! that fill the place. Then the run is executed.
//!
//! *Proofs*: a removed place never prevented anything, so upward-closed sets demand nothing there, and coverability
//! sets allow any number of tokens there, unless the place is never marked. Invariants give it weight zero. Places
//! through which tokens pass (agglomeration) are different: a proof would have to say what is true while a token is
//! there. In that case the result is [`LiftedNet::Uncoverable`], and a backward search completes the proof.

use super::Unliftable;
use crate::budget::Budget;
use crate::evidence::net::{LinearInvariant, OmegaMarking, Tokens, UncoverabilityBasis};
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason};
use crate::net::fire::fire;
use crate::net::reduce::{Fate, Reduced, Restore};
use crate::net::{Choice, Firing, Flow, Marking, Net, PlaceId, Target, TransitionId};

/// The result of lifting a verdict.
#[derive(Clone, Debug)]
pub enum LiftedNet {
    /// A verdict with its evidence.
    Verdict(NetVerdict),
    /// No target and none of these markings can be covered. The predecessors that complete the set to a proof are
    /// missing.
    Uncoverable(Vec<Marking>),
}

/// The largest number of steps that a lifted run may have.
const MOST_STEPS: usize = 1 << 20;

/// Turns a verdict about a reduced net into one about the original net.
///
/// The verdict is `unknown` if the budget is used up before that is done.
///
/// # Errors
/// If the reduction does not preserve what the evidence refers to.
pub fn lift_net(
    original: &Net,
    reduced: &Reduced,
    verdict: NetVerdict,
    budget: &Budget,
) -> Result<LiftedNet, Unliftable> {
    let restore = &reduced.restore;
    let verdict = match verdict {
        NetVerdict::Unknown(unknown) => NetVerdict::Unknown(unknown),
        NetVerdict::Unsafe(run) => match lift_run(original, reduced, &run, budget)? {
            Some(run) => NetVerdict::Unsafe(run),
            None => out_of_budget(budget),
        },
        NetVerdict::Safe(NetCertificate::Basis(basis)) if restore.has_longer_steps() => {
            let elements = basis.elements.iter().map(|element| original_names(restore, element));
            return Ok(LiftedNet::Uncoverable(elements.collect()));
        }
        NetVerdict::Safe(NetCertificate::Basis(basis)) => {
            NetVerdict::Safe(NetCertificate::Basis(lift_basis(original, restore, &basis)))
        }
        NetVerdict::Safe(NetCertificate::CoverabilitySet(set)) => {
            if restore.has_longer_steps() {
                return Err(Unliftable(
                    "a coverability set says nothing about the markings within a merged step",
                ));
            }
            match lift_set(original, restore, &set, budget) {
                Some(lifted) => NetVerdict::Safe(NetCertificate::CoverabilitySet(lifted)),
                None => out_of_budget(budget),
            }
        }
    };
    Ok(LiftedNet::Verdict(verdict))
}

fn original_names(restore: &Restore, marking: &Marking) -> Marking {
    marking.renamed(|place| restore.place(place))
}

fn lift_basis(original: &Net, restore: &Restore, basis: &UncoverabilityBasis) -> UncoverabilityBasis {
    let never = original.place_ids().filter(|&place| restore.fate(place) == Fate::NeverMarked);
    let mut never_marked: Vec<PlaceId> =
        never.chain(basis.never_marked.iter().map(|&place| restore.place(place))).collect();
    never_marked.sort_unstable();
    let lift = |invariant: &LinearInvariant| LinearInvariant {
        weights: original_names(restore, &invariant.weights),
        bound: invariant.bound,
    };
    UncoverabilityBasis {
        never_marked,
        invariants: basis.invariants.iter().map(lift).collect(),
        elements: basis.elements.iter().map(|element| original_names(restore, element)).collect(),
    }
}

fn out_of_budget(budget: &Budget) -> NetVerdict {
    budget.exhausted().unwrap_or(Reason::Interrupted).into()
}

/// Lifts a coverability set; `None` if the budget is used up. An ideal lists the places that may be marked: those
/// that it listed before, and removed places that may hold any number of tokens. Only these are visited, since a net
/// can have many more places.
fn lift_set(
    original: &Net,
    restore: &Restore,
    set: &[OmegaMarking],
    budget: &Budget,
) -> Option<Vec<OmegaMarking>> {
    let free: Vec<(PlaceId, Tokens)> = original
        .place_ids()
        .filter(|&place| restore.fate(place) == Fate::Free)
        .map(|place| (place, Tokens::Omega))
        .collect();
    let mut lifted = Vec::with_capacity(set.len());
    for ideal in set {
        if budget.exhausted().is_some() {
            return None;
        }
        let kept = ideal.limits().iter().map(|&(place, tokens)| (restore.place(place), tokens));
        lifted.push(OmegaMarking::new(kept.chain(free.iter().copied())));
    }
    Some(lifted)
}

/// Lifts a run; `None` if the budget is used up.
fn lift_run(
    original: &Net,
    reduced: &Reduced,
    run: &FiringSequence,
    budget: &Budget,
) -> Result<Option<FiringSequence>, Unliftable> {
    let mut last = run.initial.clone();
    let mut plan = Vec::new();
    for (number, step) in run.steps.iter().enumerate() {
        if budget.exhausted().is_some() {
            return Ok(None);
        }
        last = fire(reduced.net.transition(step.transition), &last, &step.choices)
            .map_err(|_| Unliftable("a step is not possible in the reduced net"))?;
        let steps = reduced.restore.steps(step.transition);
        plan.extend(steps.into_iter().map(|transition| Planned { transition, number: Some(number) }));
        if plan.len() > MOST_STEPS {
            return Err(Unliftable("the run is too long"));
        }
    }
    let last = original_names(&reduced.restore, &last);
    let lift = Lift { original, restore: &reduced.restore, run, plan };
    let met = original.targets.iter().filter(|target| lift.is_met_where_kept(target, &last));
    let mut failure = Unliftable("no target of the original net is met");
    for target in met {
        match lift.run_to(target, budget) {
            Ok(run) => return Ok(run),
            Err(why) => failure = why,
        }
    }
    Err(failure)
}

/// A step of the original net, and the number of the step of the reduced net that it belongs to.
#[derive(Clone, Copy)]
struct Planned {
    transition: TransitionId,
    number: Option<usize>,
}

struct Lift<'a> {
    original: &'a Net,
    restore: &'a Restore,
    run: &'a FiringSequence,
    plan: Vec<Planned>,
}

impl Lift<'_> {
    /// Whether the last marking meets the target, as far as kept places and places that are never marked are
    /// concerned.
    fn is_met_where_kept(&self, target: &Target, last: &Marking) -> bool {
        let has_enough = |(place, n): (PlaceId, u64)| match self.restore.fate(place) {
            Fate::Kept(_) => last.get(place) >= n,
            Fate::NeverMarked | Fate::PassedThrough => false,
            Fate::Free => true,
        };
        target.least.iter().all(has_enough) && target.upper.iter().all(|&(place, n)| last.get(place) <= n)
    }

    /// The run of the original net that ends in this target; `None` if the budget is used up.
    fn run_to(&self, target: &Target, budget: &Budget) -> Result<Option<FiringSequence>, Unliftable> {
        let is_kept = |place: PlaceId| matches!(self.restore.fate(place), Fate::Kept(_));
        // The tokens that are needed in removed places, computed from the end of the run to its start.
        let mut need = vec![0_u64; self.original.places.len()];
        for (place, n) in target.least.iter().filter(|&(place, _)| !is_kept(place)) {
            need[place.index()] = n;
        }
        self.plan.iter().rev().try_for_each(|step| self.go_back(step.transition, &mut need))?;
        let mut fillings: Vec<Planned> = Vec::new();
        for filling in self.restore.fillings().iter().rev() {
            let range = self.original.initial.range(filling.place);
            let steps = self.restore.filling_steps(filling);
            while !range.reaches(need[filling.place.index()]) {
                if fillings.len() + steps.len() > MOST_STEPS {
                    return Err(Unliftable("it takes too many steps to fill a place"));
                }
                for &transition in steps.iter().rev() {
                    self.go_back(transition, &mut need)?;
                    fillings.push(Planned { transition, number: None });
                }
            }
        }
        let mut initial = original_names(self.restore, &self.run.initial);
        for place in self.original.place_ids().filter(|&place| !is_kept(place)) {
            let range = self.original.initial.range(place);
            let n = need[place.index()].max(range.least);
            if !range.reaches(n) {
                return Err(Unliftable("a place that was dropped does not have enough tokens"));
            }
            initial.set(place, n);
        }
        let mut marking = initial.clone();
        let mut steps = Vec::with_capacity(fillings.len() + self.plan.len());
        for planned in fillings.iter().rev().chain(&self.plan) {
            if budget.exhausted().is_some() {
                return Ok(None);
            }
            let choices = self.choices(*planned, &marking)?;
            let transition = planned.transition;
            marking = fire(self.original.transition(transition), &marking, &choices)
                .map_err(|_| Unliftable("a step is not possible in the original net"))?;
            steps.push(Firing { transition, choices });
        }
        if !target.is_met_by(&marking) {
            return Err(Unliftable("the run of the original net does not meet the target"));
        }
        Ok(Some(FiringSequence { initial, steps }))
    }

    /// Computes the tokens needed in removed places before a transition from those needed after it.
    fn go_back(&self, transition: TransitionId, need: &mut [u64]) -> Result<(), Unliftable> {
        let transition = self.original.transition(transition);
        let gone = |&(place, _): &(PlaceId, u64)| !matches!(self.restore.fate(place), Fate::Kept(_));
        for (place, n) in transition.give.iter().filter(gone) {
            need[place.index()] = need[place.index()].saturating_sub(n);
        }
        for (place, n) in transition.take.iter().filter(gone) {
            let sum = need[place.index()].checked_add(n);
            need[place.index()] = sum.ok_or(Unliftable("there are too many tokens"))?;
        }
        Ok(())
    }

    /// The destinations of tokens that choose: those of the reduced net and, where it says nothing, those of
    /// [`Restore::last_of`].
    fn choices(&self, planned: Planned, marking: &Marking) -> Result<Vec<Choice>, Unliftable> {
        let transition = self.original.transition(planned.transition);
        let said = planned.number.map_or(&[][..], |number| &self.run.steps[number].choices);
        let left = marking.minus(&transition.take);
        let mut choices = Vec::new();
        for m in &transition.moves {
            let Flow::Each(places) = &m.flow else { continue };
            let n = left.get(m.from);
            if n == 0 {
                continue;
            }
            let known = said.iter().find(|choice| self.restore.place(choice.from) == m.from);
            let mut to = known.map_or_else(Marking::new, |choice| original_names(self.restore, &choice.to));
            let rest = u64::try_from(to.total()).ok().and_then(|sent| n.checked_sub(sent));
            let rest = rest.ok_or(Unliftable("more tokens choose than there are"))?;
            let somewhere = self.restore.last_of(places).unwrap_or(m.from);
            to.add(somewhere, rest).map_err(|_| Unliftable("there are too many tokens"))?;
            choices.push(Choice { from: m.from, to });
        }
        Ok(choices)
    }
}
