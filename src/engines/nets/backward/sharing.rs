//! Backward search on covering sharing trees, which computes the predecessors of a whole set at once.
//!
//! Implements: G. Delzanno, J.-F. Raskin, L. Van Begin, "Towards the Automated Verification of
//! Multithreaded Java Programs", TACAS 2002, on the trees of
//! [`crate::engines::nets::sets::sharing_tree`].
//!
//! Theorem used: as for [`super::Backward`]. Every round adds the predecessors of the elements of the last round
//! that do not cover known elements. Some round finds no new elements, because there is no infinite sequence of
//! markings of which none covers an earlier one.
//!
//! Evidence: [`UncoverabilityBasis`], which consists of the elements of the tree, if there are not too many to
//! list; or a firing sequence that starts in a marking that covers an element of the last round and goes forwards
//! through the earlier rounds.
//!
//! Deviation: deciding whether one tree covers another is hard, so the paper gives up exactness there and removes
//! paths by simulation only. Here simulation comes first, and an exact walk decides the rest. If a walk takes too
//! many steps, elements are processed one by one; if there are too many for that, the answer is unknown. Elements
//! that violate an invariant are removed exactly, not only arcs all of whose elements violate it; since this
//! removal is optional, it ends after a number of steps. The state equation is solved for a few elements of each
//! round, and the invariants that it yields prune the whole round. Zero tests are treated as in
//! [`super::Backward`].

use super::antichain::Cover;
use super::passes;
use crate::budget::Budget;
use crate::engines::Engine;
use crate::engines::nets::linear::{Exclusions, violates};
use crate::engines::nets::sets::sharing_tree::walk::{Meter, Stop as WalkStop};
use crate::engines::nets::sets::sharing_tree::{Forest, Tree};
use crate::evidence::net::{LinearInvariant, UncoverabilityBasis};
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason};
use crate::net::fire::fire_towards;
use crate::net::index::Producers;
use crate::net::predecessors::predecessors;
use crate::net::reduce::Extent;
use crate::net::{Firing, Flow, Marking, Net, Overflow, PlaceId, Transition, TransitionId};
use crate::progress::Progress;

/// The engine `backward-cst`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharingTrees;

impl Engine<Net> for SharingTrees {
    fn name(&self) -> &'static str {
        "backward-cst"
    }

    fn reduction(&self) -> Option<Extent> {
        Some(Extent::All)
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        let mut search = Search::new(net, budget);
        let verdict = match search.close(progress) {
            Ok(()) if search.is_blocked => Reason::ZeroTests.into(),
            Ok(()) => match search.basis() {
                Ok(basis) => NetVerdict::Safe(NetCertificate::Basis(basis)),
                Err(reason) => reason.into(),
            },
            Err(Stop::Unknown(reason)) => reason.into(),
            Err(Stop::Reached(run)) => NetVerdict::Unsafe(run),
        };
        search.count(progress);
        verdict
    }
}

/// The greatest number of steps of a walk. A walk that takes more is replaced by processing single elements.
const STEPS: u64 = 1 << 20;

/// The greatest number of elements that are listed.
const MOST_LISTED: u128 = 4_000_000;

/// The number of questions to the state equation in each round that may bring no result.
const MOST_ASKED: u128 = 64;

/// With zero tests, the greatest number of elements below an initial marking that are tried in each round.
const MOST_TRIED: usize = 100;

/// Why the search ends early.
enum Stop {
    Reached(FiringSequence),
    Unknown(Reason),
}

impl From<WalkStop> for Stop {
    fn from(stop: WalkStop) -> Self {
        Self::Unknown(match stop {
            WalkStop::Budget(reason) => reason,
            WalkStop::Overflow => Reason::TooManyTokens,
            WalkStop::TooManySteps => {
                Reason::GaveUp("a walk over a sharing tree takes too many steps".to_owned())
            }
        })
    }
}

impl From<Overflow> for Stop {
    fn from(_: Overflow) -> Self {
        Self::Unknown(Reason::TooManyTokens)
    }
}

struct Search<'a> {
    net: &'a Net,
    budget: &'a Budget,
    producers: Producers,
    /// For every transition, the places to which it brings tokens.
    gains: Vec<Vec<PlaceId>>,
    is_live: Vec<bool>,
    exclusions: Exclusions<'a>,
    forest: Forest,
    /// For every round, the elements that it found and that cover no element of an earlier round.
    rounds: Vec<Tree>,
    /// The elements of all rounds, without those that cover elements of later rounds.
    known: Tree,
    /// The weight of the forest after the last garbage collection.
    kept: usize,
    /// Whether an initial marking covers an element, but zero tests block the run from there.
    is_blocked: bool,
}

impl<'a> Search<'a> {
    fn new(net: &'a Net, budget: &'a Budget) -> Self {
        let exclusions = Exclusions::of(net);
        let producers = Producers::of(net);
        let mut gains = vec![Vec::new(); net.transitions.len()];
        for place in net.place_ids() {
            producers.of_place(place).iter().for_each(|id| gains[id.index()].push(place));
        }
        let mut is_live = vec![false; net.transitions.len()];
        exclusions.live().iter().for_each(|id| is_live[id.index()] = true);
        Self {
            net,
            budget,
            producers,
            gains,
            is_live,
            exclusions,
            forest: Forest::default(),
            rounds: Vec::new(),
            known: Forest::EMPTY,
            kept: 0,
            is_blocked: false,
        }
    }

    /// A meter for walks that take polynomial time.
    fn patient(&self) -> Meter<'a> {
        Meter::unlimited(self.budget)
    }

    /// A meter for walks that are given up if they take too long.
    fn impatient(&self) -> Meter<'a> {
        Meter::new(self.budget, STEPS)
    }

    /// Adds rounds until one finds no new elements.
    fn close(&mut self, progress: &dyn Progress) -> Result<(), Stop> {
        let mut found = self.targets()?;
        loop {
            found = self.without_separated(found)?;
            if found == Forest::EMPTY {
                return Ok(());
            }
            self.rounds.push(found);
            let older = self.left_of(self.known, found)?;
            self.known = self.forest.union(older, found, &mut self.patient())?;
            progress.say(&|| {
                let (all, new) = (self.forest.count(self.known), self.forest.count(found));
                let nodes = self.forest.nodes_of([self.known]).len();
                format!("round {}: {all} elements in {nodes} nodes, {new} new", self.rounds.len())
            });
            self.meet_initial(found)?;
            found = self.predecessors(found)?;
        }
    }

    /// Reports the sizes of the results.
    fn count(&self, progress: &dyn Progress) {
        let number = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        progress.count("rounds", self.rounds.len() as u64);
        progress.count("elements", number(self.forest.count(self.known)));
        progress.count("sharing tree nodes", self.forest.nodes_of([self.known]).len() as u64);
    }

    fn targets(&mut self) -> Result<Tree, Stop> {
        let mut least: Vec<Marking> = Vec::new();
        for target in &self.net.targets {
            if passes(&target.upper, &target.least) && !self.exclusions.exclude(&target.least) {
                least.push(target.least.clone());
            }
        }
        let all = self.forest.of(&least, &mut self.patient())?;
        self.fresh(all, Forest::EMPTY)
    }

    /// The predecessors of the elements of the last round that cover no known element.
    fn predecessors(&mut self, round: Tree) -> Result<Tree, Stop> {
        let mut found = Forest::EMPTY;
        let marked = self.forest.largest(round);
        let mut round = round;
        for id in self.producers.of_places(marked.iter().map(|(place, _)| place)) {
            if !self.is_live[id.index()] {
                continue;
            }
            let before = self.undo(id, round)?;
            let before = self.without_excluded(before, id)?;
            let fresh = self.fresh(before, found)?;
            let older = self.left_of(found, fresh)?;
            found = self.forest.union(older, fresh, &mut self.patient())?;
            self.collect_garbage([&mut round, &mut found]);
        }
        Ok(found)
    }

    /// The covering predecessors through one transition, except those that cover the element they lead to.
    fn undo(&mut self, id: TransitionId, round: Tree) -> Result<Tree, Stop> {
        let transition = self.net.transition(id);
        let goals = self.forest.marking_one_of(round, &self.gains[id.index()], &mut self.patient())?;
        let exclusions = &self.exclusions;
        let cap = |place| if exclusions.is_markable(place) { u64::MAX } else { 0 };
        let mut meter = Meter::new(self.budget, STEPS);
        match self.forest.predecessors(goals, transition, &cap, &mut meter) {
            Err(WalkStop::TooManySteps) => {}
            other => return Ok(other?),
        }
        self.is_listable(goals)?;
        let Self { budget, exclusions, forest, known, .. } = self;
        let mut all: Vec<Marking> = Vec::new();
        for goal in forest.elements(goals) {
            let keep = &mut |candidate: &Marking| {
                budget.exhausted().is_none()
                    && passes(&transition.upper, candidate)
                    && !forest.holds(*known, candidate)
                    && !exclusions.exclude(candidate)
            };
            all.extend(predecessors(transition, &goal, keep)?);
            if let Some(reason) = budget.exhausted() {
                return Err(Stop::Unknown(reason));
            }
        }
        Ok(self.forest.of(&all, &mut self.patient())?)
    }

    /// Removes elements that violate an invariant. Undoing a transition can cause this only for invariants on
    /// places that gained tokens.
    fn without_excluded(&mut self, tree: Tree, id: TransitionId) -> Result<Tree, Stop> {
        let filled = filled_by(self.net.transition(id));
        let touches = |invariant: &LinearInvariant| filled.iter().any(|&p| invariant.weights.get(p) > 0);
        self.without_heavy(tree, &touches)
    }

    /// Removes elements that violate one of the invariants that `is_asked` selects.
    fn without_heavy(
        &mut self,
        mut tree: Tree,
        is_asked: &dyn Fn(&LinearInvariant) -> bool,
    ) -> Result<Tree, Stop> {
        let mut used = Vec::new();
        for (number, invariant) in self.exclusions.invariants().enumerate() {
            if tree == Forest::EMPTY || !is_asked(invariant) {
                continue;
            }
            match self.forest.not_heavier(tree, invariant, &mut Meter::new(self.budget, STEPS)) {
                // The removal is optional, so the tree stays as it is.
                Err(WalkStop::TooManySteps) => {}
                light => {
                    let light = light?;
                    if light != tree {
                        used.push(number);
                    }
                    tree = light;
                }
            }
        }
        for number in used {
            self.exclusions.note_used(number);
        }
        Ok(tree)
    }

    /// Removes elements that the state equation excludes, with a limited number of questions.
    fn without_separated(&mut self, mut tree: Tree) -> Result<Tree, Stop> {
        let mut in_vain = 0;
        while in_vain < MOST_ASKED {
            let count = self.forest.count(tree);
            // The chosen elements are far from each other, since neighbours have much in common.
            let number = if count <= MOST_ASKED { in_vain } else { count / MOST_ASKED * in_vain };
            let Some(element) = self.forest.element(tree, number) else { break };
            if self.exclusions.exclude_by_equation(&element, self.budget) {
                let light = self.without_heavy(tree, &|invariant| violates(&element, invariant))?;
                in_vain += u128::from(light == tree);
                tree = light;
            } else {
                in_vain += 1;
            }
        }
        Ok(tree)
    }

    /// The minimal elements of a tree that cover no element of the known ones or of the other tree.
    fn fresh(&mut self, tree: Tree, other: Tree) -> Result<Tree, Stop> {
        match self.fresh_by_walks(tree, other) {
            Err(WalkStop::TooManySteps) => {}
            fresh => return Ok(fresh?),
        }
        self.is_listable(tree)?;
        let mut all: Vec<Marking> = self.forest.elements(tree).collect();
        all.sort_by_cached_key(Marking::total);
        let mut cover = Cover::default();
        let mut kept = Vec::new();
        for marking in all {
            if let Some(reason) = self.budget.exhausted() {
                return Err(Stop::Unknown(reason));
            }
            let is_old = [self.known, other].into_iter().any(|known| self.forest.holds(known, &marking));
            if !is_old && cover.covered_by(&marking, None).is_none() {
                cover.insert(&marking, u32::try_from(kept.len()).map_err(|_| Overflow)?);
                kept.push(marking);
            }
        }
        Ok(self.forest.of(&kept, &mut self.patient())?)
    }

    fn fresh_by_walks(&mut self, tree: Tree, other: Tree) -> Result<Tree, WalkStop> {
        let meter = &mut self.impatient();
        let tree = self.forest.without_simulated_arcs(tree, meter)?;
        let tree = self.forest.uncovered(tree, &[self.known, other], meter)?;
        self.forest.minimal(tree, meter)
    }

    /// A tree without the elements that cover an element of the new tree.
    fn left_of(&mut self, tree: Tree, new: Tree) -> Result<Tree, Stop> {
        match self.forest.uncovered(tree, &[new], &mut self.impatient()) {
            // The removal is optional, so the tree stays as it is.
            Err(WalkStop::TooManySteps) => Ok(tree),
            left => Ok(left?),
        }
    }

    fn is_listable(&self, tree: Tree) -> Result<(), Reason> {
        let count = self.forest.count(tree);
        if count <= MOST_LISTED {
            return Ok(());
        }
        let why = format!("a sharing tree has {count} elements, and at most {MOST_LISTED} can be listed");
        Err(Reason::GaveUp(why))
    }

    /// Looks for initial markings that cover an element of the last round.
    fn meet_initial(&mut self, round: Tree) -> Result<(), Stop> {
        let ranges = self.net.initial.ranges().iter();
        let bounds: Vec<(PlaceId, u64)> =
            ranges.map(|&(place, range)| (place, range.most.unwrap_or(u64::MAX))).collect();
        let covered = self.forest.below(round, &bounds, &mut self.patient())?;
        let elements: Vec<Marking> = self.forest.elements(covered).take(MOST_TRIED).collect();
        for element in elements {
            match self.run_from(element)? {
                Some(run) => return Err(Stop::Reached(run)),
                None => self.is_blocked = true,
            }
        }
        Ok(())
    }

    /// The run from an initial marking that covers an element of the last round to a target; `None` if zero tests
    /// block it.
    fn run_from(&mut self, mut element: Marking) -> Result<Option<FiringSequence>, Stop> {
        let Some(initial) = self.net.initial.marking_that_covers(&element) else { return Ok(None) };
        let mut marking = initial.clone();
        let mut steps = Vec::new();
        for round in (0..self.rounds.len() - 1).rev() {
            let Some((step, after, next)) = self.step(&element, &marking, self.rounds[round])? else {
                return Ok(None);
            };
            steps.push(step);
            (marking, element) = (after, next);
        }
        let is_met = self.net.target_met_by(&marking).is_some();
        Ok(is_met.then_some(FiringSequence { initial, steps }))
    }

    /// A firing from a marking that covers the element, such that the next marking covers an element of the round.
    /// Returns the firing, the next marking and that element.
    fn step(
        &mut self,
        element: &Marking,
        marking: &Marking,
        round: Tree,
    ) -> Result<Option<(Firing, Marking, Marking)>, Stop> {
        for &id in self.exclusions.live() {
            let transition = self.net.transition(id);
            if !element.covers(&transition.take) {
                continue;
            }
            let most = most_after(transition, element)?;
            let goals = self.forest.below(round, most.entries(), &mut Meter::unlimited(self.budget))?;
            for goal in self.forest.elements(goals) {
                if let Some((choices, after)) = fire_towards(transition, marking, &goal)? {
                    return Ok(Some((Firing { transition: id, choices }, after, goal)));
                }
                if let Some(reason) = self.budget.exhausted() {
                    return Err(Stop::Unknown(reason));
                }
            }
        }
        Ok(None)
    }

    /// Removes unused nodes, if they are the majority.
    fn collect_garbage<const N: usize>(&mut self, needed: [&mut Tree; N]) {
        const FEW: usize = 1_000_000;
        if self.forest.weight() > 2 * self.kept + FEW {
            self.forest.keep_only(self.rounds.iter_mut().chain([&mut self.known]).chain(needed));
            self.kept = self.forest.weight();
        }
    }

    /// The certificate with all elements.
    fn basis(&self) -> Result<UncoverabilityBasis, Reason> {
        self.is_listable(self.known)?;
        Ok(UncoverabilityBasis {
            never_marked: self.exclusions.never_marked(),
            invariants: self.exclusions.used_invariants(),
            elements: self.forest.elements(self.known).collect(),
        })
    }
}

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Self {
        Self::Unknown(reason)
    }
}

/// The places where a predecessor may have more tokens than the marking it leads to.
fn filled_by(transition: &Transition) -> Vec<PlaceId> {
    let moved = transition.moves.iter().flat_map(|m| m.flow.places().iter().copied().chain([m.from]));
    transition.take.iter().map(|(place, _)| place).chain(moved).collect()
}

/// The greatest number of tokens that each place can hold after the transition fires in this marking.
fn most_after(transition: &Transition, marking: &Marking) -> Result<Marking, Overflow> {
    let mut entries: Vec<(PlaceId, u64)> = transition.give.entries().to_vec();
    for (place, n) in marking.minus(&transition.take).iter() {
        match transition.flow(place) {
            None => entries.push((place, n)),
            Some(Flow::All(places)) => entries.extend(places.iter().map(|&to| (to, n))),
            Some(Flow::Each(places)) => {
                let mut each = places.clone();
                each.sort_unstable();
                each.dedup();
                entries.extend(each.into_iter().map(|to| (to, n)));
            }
        }
    }
    Marking::sum_of(entries)
}
