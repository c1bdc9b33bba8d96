//! Directed forward search, guided by the state equation.
//!
//! Implements: M. Blondin, C. Haase, P. Offtermatt, "Directed Reachability for Infinite-State
//! Systems", TACAS 2021.
//!
//! Theorem used: none for `safe`, which this engine never answers. A run that starts with arbitrarily many tokens
//! needs only finitely many of them: following it backwards with covering predecessors gives the number.
//!
//! Evidence: the firing sequence.
//!
//! Deviation: this is a weighted best-first search that solves the state equation as late as possible: if a firing
//! follows the solution, the rest of the solution is optimal after it. The distance counts each token that moves on
//! its own as a firing, so it is not a lower bound if a transition moves many tokens. Of set-valued moves, only
//! those are tried in which all tokens of a place go the same way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::linear::Relaxation;
use super::linear::simplex::{Basis, Equation, Kernel, StateEquation};
use crate::budget::Budget;
use crate::engines::Engine;
use crate::evidence::{FiringSequence, NetVerdict, Reason};
use crate::net::fire::{fire, fire_towards, is_enabled};
use crate::net::predecessors::predecessors;
use crate::net::reduce::Extent;
use crate::net::{Choice, Firing, Flow, Marking, Net, Overflow, PlaceId, Range, Transition, TransitionId};
use crate::progress::Progress;

/// This number of tokens stands for any number of them.
const ANY: u64 = 1 << 62;
/// The largest number in a net that is accepted. More tokens than half of [`ANY`] are taken for any number, so nets
/// with large numbers are left to other engines.
const LARGEST_WEIGHT: u64 = 1 << 32;

/// What a marking counts as [work](Budget::spend).
const WORK_OF_A_MARKING: u64 = 50;

/// The engine `directed`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Directed;

/// The engine `directed` with a limit on the number of markings.
#[derive(Clone, Copy, Debug)]
pub struct DirectedWithin {
    /// The number of reached markings after which the engine gives up.
    pub most_markings: usize,
}

impl Engine<Net> for Directed {
    fn name(&self) -> &'static str {
        "directed"
    }

    fn reduction(&self) -> Option<Extent> {
        Some(Extent::All)
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        DirectedWithin { most_markings: usize::MAX }.run(net, budget, progress)
    }
}

impl Engine<Net> for DirectedWithin {
    fn name(&self) -> &'static str {
        "directed"
    }

    fn reduction(&self) -> Option<Extent> {
        Some(Extent::All)
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        let weights = net.transitions.iter().flat_map(|t| t.take.iter().chain(t.give.iter()));
        let starts = net.initial.ranges().iter().flat_map(|(_, range)| [Some(range.least), range.most]);
        let numbers = weights.map(|(_, n)| n).chain(starts.flatten());
        if numbers.max().is_some_and(|n| n > LARGEST_WEIGHT) {
            return Reason::TooManyTokens.into();
        }
        match Search::new(net).run(self.most_markings, budget, progress) {
            Ok(found) => found,
            Err(Overflow) => Reason::TooManyTokens.into(),
        }
    }
}

/// A reachable marking.
#[derive(Clone, Debug)]
struct Node {
    marking: Marking,
    /// The node before it, and the firing that leads here.
    before: Option<(u32, Firing)>,
    steps: u32,
    /// The number of firings to the nearest target, in [`UNIT`]s; an estimate while there is no plan.
    distance: u64,
    plan: Option<Plan>,
}

/// A solution of the state equation.
#[derive(Clone, Debug)]
struct Plan {
    basis: Rc<Basis>,
    /// For each basic column, how often it still has to fire.
    firings: Vec<f64>,
}

struct Search<'net> {
    net: &'net Net,
    relaxation: Relaxation,
    equation: StateEquation,
    column_of: Vec<Option<u32>>,
    /// The live transitions, each listed at one of the places it takes from.
    takers: Vec<Vec<TransitionId>>,
    /// The live transitions that take nothing.
    sources: Vec<TransitionId>,
    nodes: Vec<Node>,
    seen: FxHashSet<Marking>,
    /// The nodes by their keys. Among equal keys, nodes with a plan come first, then the newest.
    queue: BinaryHeap<Reverse<(u64, bool, Reverse<u32>)>>,
    /// The basis of the parent of the last node for which the equation was solved, and its kernel.
    ready: Option<(Rc<Basis>, Kernel)>,
}

impl<'net> Search<'net> {
    fn new(net: &'net Net) -> Self {
        let relaxation = Relaxation::for_distances(net);
        let mut takers: Vec<Vec<TransitionId>> = vec![Vec::new(); net.places.len()];
        let mut sources = Vec::new();
        for &id in relaxation.signs.live() {
            let places = net.transition(id).take.iter().map(|(place, _)| place);
            match places.min_by_key(|place| takers[place.index()].len()) {
                Some(place) => takers[place.index()].push(id),
                None => sources.push(id),
            }
        }
        Self {
            net,
            equation: relaxation.equation(),
            column_of: relaxation.column_of(net),
            relaxation,
            takers,
            sources,
            nodes: Vec::new(),
            seen: FxHashSet::default(),
            queue: BinaryHeap::new(),
            ready: None,
        }
    }

    fn run(mut self, most: usize, budget: &Budget, progress: &dyn Progress) -> Result<NetVerdict, Overflow> {
        for marking in starts(self.net) {
            if let Some(run) = self.reach(marking, None)? {
                return Ok(NetVerdict::Unsafe(run));
            }
        }
        while let Some(Reverse((key, _, Reverse(at)))) = self.queue.pop() {
            if let Some(reason) = budget.exhausted() {
                return Ok(reason.into());
            }
            budget.spend(WORK_OF_A_MARKING);
            if self.nodes.len() > most {
                let why = format!("the limit of {most} markings is exceeded");
                return Ok(Reason::GaveUp(why).into());
            }
            progress.say(&|| format!("{} markings, {} to expand", self.nodes.len(), self.queue.len()));
            if self.nodes[at as usize].plan.is_none() {
                let is_possible = self.make_plan(at, budget);
                if is_possible && self.key(at) > key {
                    self.queue.push(Reverse((self.key(at), false, Reverse(at))));
                    continue;
                }
                if !is_possible {
                    continue;
                }
            }
            let marking = self.nodes[at as usize].marking.clone();
            for id in self.enabled(&marking) {
                for choices in uniform_choices(self.net.transition(id), &marking) {
                    let Ok(after) = fire(self.net.transition(id), &marking, &choices) else { continue };
                    let firing = Firing { transition: id, choices };
                    if let Some(run) = self.reach(after, Some((at, firing)))? {
                        return Ok(NetVerdict::Unsafe(run));
                    }
                }
            }
        }
        Ok(Reason::GaveUp("the engine only searches for runs, and found none".to_owned()).into())
    }

    /// The enabled transitions, sorted.
    fn enabled(&self, marking: &Marking) -> Vec<TransitionId> {
        let near = marking.iter().flat_map(|(place, _)| &self.takers[place.index()]);
        let near = near.chain(&self.sources).copied();
        let mut enabled: Vec<TransitionId> =
            near.filter(|&id| is_enabled(self.net.transition(id), marking)).collect();
        enabled.sort_unstable();
        enabled
    }

    /// The priority of a node; nodes with the smallest key are expanded first.
    fn key(&self, at: u32) -> u64 {
        let node = &self.nodes[at as usize];
        node.distance.saturating_mul(GREED).saturating_add(u64::from(node.steps) * UNIT)
    }

    /// Adds a marking, and returns the run if it meets a target.
    fn reach(
        &mut self,
        mut marking: Marking,
        before: Option<(u32, Firing)>,
    ) -> Result<Option<FiringSequence>, Overflow> {
        let large: Vec<PlaceId> =
            marking.iter().filter(|&(_, n)| n > ANY / 2).map(|(place, _)| place).collect();
        for place in large {
            marking.set(place, ANY);
        }
        if !self.seen.insert(marking.clone()) {
            return Ok(None);
        }
        let number = u32::try_from(self.nodes.len()).map_err(|_| Overflow)?;
        let (mut steps, mut distance, mut plan) = (0, 0, None);
        if let Some((at, firing)) = &before {
            let parent = &self.nodes[*at as usize];
            steps = parent.steps + 1;
            // If the firing follows the plan, the rest of the plan stays optimal, and one firing less lies ahead.
            // No other marking is nearer than that, unless tokens move on their own.
            distance = parent.distance.saturating_sub(UNIT);
            plan = self.column_of[firing.transition.index()]
                .and_then(|column| parent.plan.as_ref()?.after(column));
        }
        let is_met = self.net.target_met_by(&marking).is_some();
        let has_plan = plan.is_some();
        self.nodes.push(Node { marking, before, steps, distance, plan });
        if is_met {
            return self.run_to(number);
        }
        self.queue.push(Reverse((self.key(number), !has_plan, Reverse(number))));
        Ok(None)
    }

    /// Solves the state equation for the nearest target. Returns `false` if no target can be covered.
    fn make_plan(&mut self, at: u32, budget: &Budget) -> bool {
        let before = self.nodes[at as usize].before.as_ref();
        if let Some(plan) = before.and_then(|&(parent, _)| self.nodes[parent as usize].plan.as_ref()) {
            // The parent's marking is similar, so its plan is a good starting point.
            let basis = &plan.basis;
            let kernel = match self.ready.take() {
                Some((of, kernel)) if Rc::ptr_eq(&of, basis) => kernel,
                _ => self.equation.kernel(basis),
            };
            self.equation.start_from(&kernel);
            self.ready = Some((Rc::clone(basis), kernel));
        }
        let mut best: Option<(f64, Plan)> = None;
        for target in &self.net.targets {
            if target.least.iter().any(|(place, _)| !self.relaxation.signs.is_markable(place)) {
                continue;
            }
            let need = self.relaxation.need(&target.least, &self.nodes[at as usize].marking);
            let firings = match self.equation.ask(&need, budget) {
                Equation::Solvable(firings) => firings,
                Equation::Separated(_) => continue,
                Equation::GaveUp => Vec::new(),
            };
            let sum: f64 = firings.iter().sum();
            if best.as_ref().is_none_or(|&(least, _)| sum < least) {
                best = Some((sum, Plan { basis: Rc::new(self.equation.basis()), firings }));
            }
        }
        let node = &mut self.nodes[at as usize];
        let Some((sum, plan)) = best else { return false };
        #[expect(clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a guess")]
        let distance = (sum * UNIT as f64).round() as u64;
        (node.distance, node.plan) = (distance, Some(plan));
        true
    }

    /// The run to a node that meets a target, starting with as few tokens as it needs.
    fn run_to(&self, last: u32) -> Result<Option<FiringSequence>, Overflow> {
        let mut path = Vec::new();
        let mut at = &self.nodes[last as usize];
        while let Some((before, firing)) = &at.before {
            path.push((&self.nodes[*before as usize].marking, firing));
            at = &self.nodes[*before as usize];
        }
        if !self.net.is_monotone() {
            let steps = path.iter().rev().map(|(_, firing)| (*firing).clone()).collect();
            return Ok(Some(FiringSequence { initial: at.marking.clone(), steps }));
        }
        let met = self.net.target_met_by(&self.nodes[last as usize].marking);
        let Some(target) = met else { return Ok(None) };
        let mut goals = vec![target.least.clone()];
        for (marking, firing) in &path {
            let goal = &goals[goals.len() - 1];
            let transition = self.net.transition(firing.transition);
            let found = predecessors(transition, goal, &mut |partial| marking.covers(partial))?;
            let Some(first) = found.into_iter().next() else { return Ok(None) };
            goals.push(first);
        }
        let first = goals.pop().unwrap_or_default();
        let Some(initial) = self.net.initial.marking_that_covers(&first) else { return Ok(None) };
        let mut marking = initial.clone();
        let mut steps = Vec::new();
        for ((_, firing), goal) in path.iter().rev().zip(goals.iter().rev()) {
            let fired = fire_towards(self.net.transition(firing.transition), &marking, goal)?;
            let Some((choices, after)) = fired else { return Ok(None) };
            steps.push(Firing { transition: firing.transition, choices });
            marking = after;
        }
        Ok(Some(FiringSequence { initial, steps }))
    }
}

impl Plan {
    /// The rest of the plan after a column has fired; `None` if the plan does not contain this firing.
    fn after(&self, column: u32) -> Option<Self> {
        /// One firing, up to rounding errors.
        const ONE: f64 = 1.0 - 1e-6;
        let at = self.basis.basic.iter().position(|&basic| basic == column)?;
        let left = self.firings.get(at).filter(|&&left| left >= ONE)?;
        let mut firings = self.firings.clone();
        firings[at] = (left - 1.0).max(0.0);
        Some(Self { basis: Rc::clone(&self.basis), firings })
    }
}

/// The distance that stands for one firing, so that distances can be fractions of a firing.
const UNIT: u64 = 1_000;
/// The weight of a firing that lies ahead, relative to one that is done.
const GREED: u64 = 4;

/// The markings from which the search starts. Larger markings can do everything that smaller ones can, unless there
/// are zero tests: then some small ones are tried.
fn starts(net: &Net) -> Vec<Marking> {
    /// The additional tokens that are tried: more than the smallest violation of any known net with zero tests
    /// needs.
    const SMALL: u64 = 6;
    let with = |tokens: &dyn Fn(Range) -> u64| {
        let mut marking = Marking::new();
        net.initial.ranges().iter().for_each(|&(place, range)| marking.set(place, tokens(range)));
        marking
    };
    if net.is_monotone() {
        return vec![with(&|range| range.most.unwrap_or(ANY))];
    }
    let mut starts: Vec<Marking> = (0..=SMALL)
        .map(|more| with(&|range| range.most.unwrap_or(u64::MAX).min(range.least + more)))
        .collect();
    starts.dedup();
    starts
}

/// The choices in which all tokens of a place go the same way: one for each position in the lists of places.
fn uniform_choices(transition: &Transition, marking: &Marking) -> Vec<Vec<Choice>> {
    let left = marking.minus(&transition.take);
    let choosers = transition.moves.iter().filter_map(|m| match &m.flow {
        Flow::Each(places) if left.get(m.from) > 0 => Some((m.from, &places[..])),
        _ => None,
    });
    let choosers: Vec<(PlaceId, &[PlaceId])> = choosers.collect();
    let most = choosers.iter().map(|(_, places)| places.len()).max().unwrap_or(1);
    let choice = |from: PlaceId, to: PlaceId| {
        let mut all = Marking::new();
        all.set(to, left.get(from));
        Choice { from, to: all }
    };
    let ways = (0..most).map(|i| {
        choosers.iter().map(|&(from, places)| choice(from, places[i.min(places.len() - 1)])).collect()
    });
    ways.collect()
}
