//! Backward search in its simplest form, as the oracle for faster engines.
//!
//! Implements: P. A. Abdulla, K. Čerāns, B. Jonsson, Y.-K. Tsay, "General Decidability Theorems for
//! Infinite-State Systems", LICS 1996.
//!
//! Theorem used: the set of markings from which a target can be covered is upward closed. Repeatedly adding the
//! minimal predecessors of known elements yields this set after finitely many steps, because there is no infinite
//! sequence of markings of which none covers an earlier one.
//!
//! Evidence: the minimal elements, [`NetCertificate::Basis`]; or a run that starts in an initial marking that
//! covers an element and fires forwards, each time towards the element of which the last one is a predecessor.
//!
//! Deviation: zero tests are ignored by the backward search. A step of the resulting run that does not obey them is
//! replaced, see [`fire_or_replace`]. If that is not possible, [`super::explicit`] looks for a run that obeys them,
//! and the answer is unknown if it finds none.

use std::collections::VecDeque;

use crate::budget::Budget;
use crate::evidence::net::UncoverabilityBasis;
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason};
use crate::net::fire::fire_or_replace;
use crate::net::predecessors::predecessors;
use crate::net::reduce::Extent;
use crate::net::{Marking, Net, Overflow, TransitionId};
use crate::progress::Progress;

use super::explicit;
use crate::engines::Engine;

/// The engine `reference`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

impl Engine<Net> for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    /// This engine is a reference for the other engines, so it gets nets without any reduction.
    fn reduction(&self) -> Option<Extent> {
        None
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        let mut search = Search { net, nodes: Vec::new(), minimal: Vec::new(), open: VecDeque::new() };
        match search.run(budget, progress) {
            Ok(verdict) => verdict,
            Err(reason) => reason.into(),
        }
    }
}

/// An element that was minimal when it was found.
struct Node {
    marking: Marking,
    /// The transition that leads from here to another element; `None` for a target.
    next: Option<(TransitionId, usize)>,
}

struct Search<'a> {
    net: &'a Net,
    nodes: Vec<Node>,
    /// The elements that are minimal now.
    minimal: Vec<usize>,
    /// The elements whose predecessors were not computed yet, the oldest first.
    open: VecDeque<usize>,
}

impl Search<'_> {
    fn run(&mut self, budget: &Budget, progress: &dyn Progress) -> Result<NetVerdict, Reason> {
        for target in &self.net.targets {
            if let Some(verdict) = self.add(target.least.clone(), None, budget, progress)? {
                return Ok(verdict);
            }
        }
        while let Some(at) = self.open.pop_front() {
            if !self.minimal.contains(&at) {
                continue;
            }
            for id in self.net.transition_ids() {
                if let Some(reason) = budget.exhausted() {
                    return Err(reason);
                }
                progress.say(&|| format!("{} elements, {} to expand", self.minimal.len(), self.open.len()));
                let goal = &self.nodes[at].marking;
                let mut fresh = |m: &Marking| budget.exhausted().is_none() && !self.is_known(m);
                let found = predecessors(self.net.transition(id), goal, &mut fresh);
                for marking in found? {
                    if let Some(verdict) = self.add(marking, Some((id, at)), budget, progress)? {
                        return Ok(verdict);
                    }
                }
            }
        }
        let elements = self.minimal.iter().map(|&at| self.nodes[at].marking.clone()).collect();
        let basis = UncoverabilityBasis { elements, ..UncoverabilityBasis::default() };
        Ok(NetVerdict::Safe(NetCertificate::Basis(basis)))
    }

    /// Whether the marking covers a known element.
    fn is_known(&self, marking: &Marking) -> bool {
        self.minimal.iter().any(|&at| marking.covers(&self.nodes[at].marking))
    }

    /// Adds an element. Returns a verdict if an initial marking covers it.
    fn add(
        &mut self,
        marking: Marking,
        next: Option<(TransitionId, usize)>,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<Option<NetVerdict>, Reason> {
        if self.is_known(&marking) {
            return Ok(None);
        }
        let nodes = &self.nodes;
        self.minimal.retain(|&at| !nodes[at].marking.covers(&marking));
        let at = self.nodes.len();
        self.nodes.push(Node { marking, next });
        self.minimal.push(at);
        self.open.push_back(at);
        let Some(initial) = self.net.initial.marking_that_covers(&self.nodes[at].marking) else {
            return Ok(None);
        };
        match self.run_from(initial, at)? {
            Some(run) => Ok(Some(NetVerdict::Unsafe(run))),
            None => Ok(Some(explicit::search_despite_zero_tests(self.net, budget, progress))),
        }
    }

    /// The run along the elements, unless a zero test forbids it.
    fn run_from(&self, initial: Marking, mut at: usize) -> Result<Option<FiringSequence>, Overflow> {
        let mut steps = Vec::new();
        let mut now = initial.clone();
        while let Some((transition, next)) = self.nodes[at].next {
            let towards = &self.nodes[next].marking;
            let Some((step, after)) = fire_or_replace(self.net, transition, &now, towards)? else {
                return Ok(None);
            };
            steps.push(step);
            (now, at) = (after, next);
        }
        Ok(self.net.target_met_by(&now).map(|_| FiringSequence { initial, steps }))
    }
}
