//! The markings that have to be proved uncoverable, and their dependencies.
//!
//! A vertex is a marking that is assumed to be uncoverable. When a vertex is expanded, each of its covering
//! predecessors is above some vertex; the vertex *rests on* these vertices. The targets rest on vertices, too. When
//! every vertex on which the targets rest, directly or indirectly, is expanded, those vertices are a proof.
//!
//! A vertex *counts* if it was neither withdrawn nor replaced.
//!
//! Invariant (apart): no vertex that counts is known to be coverable. A vertex that turns out to be coverable is
//! withdrawn, and the vertices that rest on it are expanded again.
//!
//! Invariant (minimal): no vertex that counts is below another one. A new vertex replaces the vertices above it,
//! for everything that rests on them.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::coverable::{Coverable, Why};
use super::irreducible::irreducible;
use super::minimise::covering_predecessors;
use crate::budget::Budget;
use crate::engines::nets::sets::ideal::Ideal;
use crate::engines::nets::sets::vectors::Vectors;
use crate::evidence::net::LinearInvariant;
use crate::net::index::Producers;
use crate::net::predecessors::predecessors;
use crate::net::{Marking, Net, Overflow, PlaceId, PlaceKind, TransitionId};

crate::define_id!(
    /// A vertex of one [`Graph`].
    VertexId,
    "v"
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The vertices on which it rests are not known, or no longer valid.
    Open,
    /// It rests on the vertices in `needs`.
    Expanded,
    /// The marking can be covered.
    Withdrawn,
    /// This smaller vertex counts instead.
    ReplacedBy(VertexId),
}

#[derive(Clone, Debug)]
struct Vertex {
    marking: Marking,
    state: State,
    needs: Vec<VertexId>,
    /// The vertices that rest on it, and some that did so earlier.
    needed_by: Vec<VertexId>,
    /// The number of its marking in `counting`, if it counts.
    at: Option<u32>,
}

/// The state of the proof search after some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofStatus {
    /// There is a proof.
    Proved,
    /// The target with this number is coverable.
    Coverable(usize),
    /// Neither is known yet.
    More,
}

/// Why a marking is coverable.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The last steps, in reverse order, each with the marking that must be covered after it.
    pub steps: Vec<(TransitionId, Marking)>,
    /// The reason for the limit from which the steps start.
    pub why: Why,
    /// The marking below this limit from which the steps start.
    pub start: Marking,
}

/// The search for a proof.
#[derive(Debug)]
pub struct Graph<'n> {
    net: &'n Net,
    producers: Producers,
    vertices: Vec<Vertex>,
    by_marking: FxHashMap<Marking, VertexId>,
    /// The markings of the vertices that count.
    counting: Vectors,
    counting_vertices: Vec<VertexId>,
    /// Vertices to expand next, the last one first: those that rested on a withdrawn vertex.
    urgent: Vec<VertexId>,
    /// Vertices to expand after those, in the order in which they were found from the targets.
    queue: std::collections::VecDeque<VertexId>,
    /// The number of expansions until the vertices on which the targets rest are computed again.
    turns_left: usize,
    /// New limits that were not compared with the vertices yet.
    fresh: Vec<Ideal>,
    /// The targets, indexed because there may be many.
    targets: Vectors,
    /// The invariant that there is at most one shared state, if it holds. Markings with more are skipped.
    one_shared_state: Option<LinearInvariant>,
    /// A target that is known to be coverable.
    covered: Option<usize>,
    /// The markings that are known to be coverable.
    pub coverable: Coverable,
    /// The number of transitions that were undone, as the measure of work.
    pub work: u64,
}

/// What a turn counts as [work](Budget::spend).
const WORK_OF_A_TURN: u64 = 50;

impl<'n> Graph<'n> {
    /// A graph without vertices; the initial markings are known to be coverable.
    #[must_use]
    pub fn new(net: &'n Net) -> Self {
        let mut targets = Vectors::new(net.places.len());
        for target in &net.targets {
            targets.insert(target.least.entries());
        }
        Self {
            net,
            producers: Producers::of(net),
            vertices: Vec::new(),
            by_marking: FxHashMap::default(),
            counting: Vectors::new(net.places.len()),
            counting_vertices: Vec::new(),
            urgent: Vec::new(),
            queue: std::collections::VecDeque::new(),
            turns_left: 0,
            fresh: vec![Ideal::initial(&net.initial)],
            targets,
            one_shared_state: one_shared_state(net),
            covered: None,
            coverable: Coverable::new(net),
            work: 0,
        }
    }

    /// The number of vertices that count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counting.len()
    }

    /// Whether no vertex counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counting.is_empty()
    }

    /// Records that the markings of an ideal can be covered.
    pub fn learn(&mut self, ideal: Ideal, why: Why) {
        if self.coverable.insert(ideal.entries(), why) {
            self.fresh.push(ideal);
        }
    }

    /// Works until the given amount of work is done, or the question is answered.
    ///
    /// # Errors
    /// If there would be too many tokens.
    pub fn advance(&mut self, work: u64, budget: &Budget) -> Result<ProofStatus, Overflow> {
        let end = self.work.saturating_add(work);
        while self.work < end && budget.exhausted().is_none() {
            self.withdraw_coverable();
            if let Some(target) = self.covered {
                return Ok(ProofStatus::Coverable(target));
            }
            // Vertices that were found through a vertex that is withdrawn by now need not be expanded, so the queue
            // is computed again from time to time.
            if self.queue.is_empty() && self.urgent.is_empty() || self.turns_left == 0 {
                self.find_open();
            }
            let Some(vertex) = self.urgent.pop().or_else(|| self.queue.pop_front()) else {
                return Ok(ProofStatus::Proved);
            };
            self.turns_left -= 1;
            if self.vertices[vertex.index()].state == State::Open {
                self.expand(vertex, budget)?;
            }
            budget.spend(WORK_OF_A_TURN);
            self.work += 1;
        }
        self.withdraw_coverable();
        Ok(self.covered.map_or(ProofStatus::More, ProofStatus::Coverable))
    }

    /// The proof, after [`ProofStatus::Proved`]: the vertices on which the targets rest, without those that are not
    /// needed.
    ///
    /// # Errors
    /// If there would be too many tokens.
    pub fn proof(&mut self, budget: &Budget) -> Result<Vec<Marking>, Overflow> {
        let mut found = self.reachable();
        found.sort_unstable();
        let found = found.into_iter().map(|id| self.vertices[id.index()].marking.clone()).collect();
        let targets = self.net.targets.iter().map(|target| &target.least);
        let (net, one) = (self.net, self.one_shared_state.is_some());
        let obligations = |element: &Marking| {
            let is_state = &mut |m: &Marking| !one || shared_tokens(net, m) <= 1;
            covering_predecessors(net, &self.producers, element, is_state)
        };
        irreducible(found, self.net.places.len(), targets, obligations, budget)
    }

    /// The invariants that the proof uses; they hold in every run.
    #[must_use]
    pub fn invariants(&self) -> Vec<LinearInvariant> {
        self.one_shared_state.iter().cloned().collect()
    }

    /// The vertices on which the targets rest, the nearest first.
    fn reachable(&mut self) -> Vec<VertexId> {
        let mut found: Vec<VertexId> = Vec::new();
        let mut seen = vec![false; self.vertices.len()];
        let targets: Vec<Marking> = self.net.targets.iter().map(|target| target.least.clone()).collect();
        for target in &targets {
            let id = self.vertex_below(target);
            seen.resize(self.vertices.len(), false);
            if !std::mem::replace(&mut seen[id.index()], true) {
                found.push(id);
            }
        }
        let mut next = 0;
        while let Some(&id) = found.get(next) {
            next += 1;
            for i in 0..self.vertices[id.index()].needs.len() {
                let needed = self.current(self.vertices[id.index()].needs[i]);
                seen.resize(self.vertices.len(), false);
                if self.vertices[needed.index()].state != State::Withdrawn
                    && !std::mem::replace(&mut seen[needed.index()], true)
                {
                    found.push(needed);
                }
            }
        }
        found
    }

    fn find_open(&mut self) {
        let found = self.reachable();
        // This is rare enough not to cost more than the expansions.
        self.turns_left = found.len() / 4 + 32;
        self.urgent.clear();
        let is_open = |id: &VertexId| self.vertices[id.index()].state == State::Open;
        self.queue = found.into_iter().filter(is_open).collect();
    }

    /// The vertex that counts instead of a vertex.
    fn current(&self, mut id: VertexId) -> VertexId {
        while let State::ReplacedBy(smaller) = self.vertices[id.index()].state {
            id = smaller;
        }
        id
    }

    /// A vertex that counts and is below the marking, which must not be known to be coverable; a new vertex if
    /// there is none.
    fn vertex_below(&mut self, marking: &Marking) -> VertexId {
        if let Some(at) = self.counting.below(marking.entries()).next() {
            return self.counting_vertices[at as usize];
        }
        let marking = self.coverable.candidate(self.net, marking);
        let id = self.by_marking.get(&marking).copied().unwrap_or_else(|| {
            let id = VertexId::from_index(self.vertices.len());
            self.by_marking.insert(marking.clone(), id);
            self.vertices.push(Vertex {
                marking: marking.clone(),
                state: State::Open,
                needs: Vec::new(),
                needed_by: Vec::new(),
                at: None,
            });
            id
        });
        self.vertices[id.index()].state = State::Open;
        let above: Vec<u32> = self.counting.above(marking.entries()).collect();
        for at in above {
            self.counting.remove(at);
            let replaced = self.counting_vertices[at as usize];
            let vertex = &mut self.vertices[replaced.index()];
            vertex.state = State::ReplacedBy(id);
            vertex.at = None;
            let needed_by = std::mem::take(&mut vertex.needed_by);
            self.vertices[id.index()].needed_by.extend(needed_by);
        }
        let at = self.counting.insert(marking.entries());
        self.counting_vertices.push(id);
        self.vertices[id.index()].at = Some(at);
        self.queue.push_back(id);
        id
    }

    /// Computes the vertices on which a vertex rests, or finds that it can be covered.
    fn expand(&mut self, id: VertexId, budget: &Budget) -> Result<(), Overflow> {
        let goal = self.vertices[id.index()].marking.clone();
        let mut needs: BTreeSet<VertexId> = BTreeSet::new();
        for transition in self.producers.of_places(goal.iter().map(|(place, _)| place)) {
            self.work += 1;
            let (net, one) = (self.net, self.one_shared_state.is_some());
            let (counting, vertices) = (&self.counting, &self.counting_vertices);
            let mut asked = 0_u64;
            let found = predecessors(self.net.transition(transition), &goal, &mut |marking| {
                asked += 1;
                if one && shared_tokens(net, marking) > 1
                    || marking.covers(&goal)
                    || (asked.is_multiple_of(1024) && budget.exhausted().is_some())
                {
                    return false;
                }
                let known = counting.below(marking.entries()).next().map(|at| vertices[at as usize]);
                needs.extend(known);
                known.is_none()
            })?;
            self.work += asked / 64;
            for from in found {
                if let Some(known) = self.coverable.limit_above(&from) {
                    let why = Why::Step { transition, from, known };
                    self.learn(Ideal::below(&goal), why);
                    return Ok(());
                }
                needs.insert(self.vertex_below(&from));
            }
            if self.vertices[id.index()].state != State::Open {
                // A smaller vertex has replaced it meanwhile.
                return Ok(());
            }
        }
        if budget.exhausted().is_some() {
            return Ok(());
        }
        for &needed in &needs {
            let needed = self.current(needed);
            self.vertices[needed.index()].needed_by.push(id);
        }
        let vertex = &mut self.vertices[id.index()];
        vertex.needs = needs.into_iter().collect();
        vertex.state = State::Expanded;
        Ok(())
    }

    /// Withdraws the vertices below new limits.
    fn withdraw_coverable(&mut self) {
        for ideal in std::mem::take(&mut self.fresh) {
            if self.covered.is_none() {
                self.covered = self.targets.below(ideal.entries()).next().map(|target| target as usize);
            }
            let below: Vec<u32> = self.counting.below(ideal.entries()).collect();
            for at in below {
                self.counting.remove(at);
                let id = self.counting_vertices[at as usize];
                let vertex = &mut self.vertices[id.index()];
                vertex.state = State::Withdrawn;
                vertex.at = None;
                vertex.needs = Vec::new();
                for above in std::mem::take(&mut vertex.needed_by) {
                    if self.vertices[above.index()].state == State::Expanded {
                        self.vertices[above.index()].state = State::Open;
                        self.urgent.push(above);
                    }
                }
            }
        }
    }

    /// Explains why a marking is coverable; `None` if it is not known to be.
    #[must_use]
    pub fn steps_to(&self, goal: &Marking) -> Option<Explanation> {
        let mut steps = Vec::new();
        let mut goal = goal.clone();
        let mut limit = self.coverable.limit_above(&goal)?;
        while let Why::Step { transition, from, known } = self.coverable.why(limit) {
            steps.push((*transition, goal));
            goal = from.clone();
            limit = *known;
        }
        Some(Explanation { steps, why: self.coverable.why(limit).clone(), start: goal })
    }
}

fn is_shared(net: &Net, place: PlaceId) -> bool {
    matches!(net.place(place).kind, PlaceKind::Shared(_))
}

fn shared_tokens(net: &Net, marking: &Marking) -> u128 {
    marking.iter().filter(|&(place, _)| is_shared(net, place)).map(|(_, n)| u128::from(n)).sum()
}

/// The invariant that there is at most one shared state at a time, if the net has shared states and the invariant
/// holds.
fn one_shared_state(net: &Net) -> Option<LinearInvariant> {
    let mut weights = Marking::new();
    net.place_ids().filter(|&place| is_shared(net, place)).for_each(|place| weights.set(place, 1));
    let starts = net.initial.ranges().iter().filter(|&&(place, _)| is_shared(net, place));
    let most = starts.map(|(_, range)| range.most).try_fold(0_u64, |sum, most| sum.checked_add(most?))?;
    let keeps = net.transitions.iter().all(|t| {
        let moved = t.moves.iter().flat_map(|m| m.flow.places().iter().chain([&m.from]));
        shared_tokens(net, &t.give) <= shared_tokens(net, &t.take)
            && !moved.copied().any(|p| is_shared(net, p))
    });
    (!weights.is_empty() && most <= 1 && keeps).then_some(LinearInvariant { weights, bound: 1 })
}
