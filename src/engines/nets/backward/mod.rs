//! Backward search from the targets to all markings from which they can be covered.
//!
//! Implements: P. A. Abdulla, K. Cerans, B. Jonsson, Y.-K. Tsay, "General Decidability Theorems for
//! Infinite-State Systems", LICS 1996, for the multi-transfer nets of G. Delzanno, J.-F. Raskin,
//! L. Van Begin, "Attacking Symbolic State Explosion", CAV 2001 and TACAS 2002.
//!
//! Theorem used: the set of markings from which a target can be covered is upward closed. It has finitely many
//! minimal elements, which are found by adding the covering predecessors of elements until there are no new ones. A
//! target can be covered iff an initial marking covers one of them.
//!
//! Evidence: [`UncoverabilityBasis`], which consists of the elements and of the invariants that excluded other
//! markings; or the firing sequence along the predecessors.
//!
//! Deviation: elements that [`Exclusions`] rules out are not expanded. This is checked when an element is taken
//! from the queue, not when it is found, since most elements are dominated by then. Smaller elements are taken
//! first. Elements are not removed when a smaller one is found: the larger one is skipped when it is taken from the
//! queue. Zero tests are not ignored completely: a predecessor that fails one is dropped, see
//! [`UncoverabilityBasis`].

mod antichain;
pub mod sharing;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::antichain::Cover;
use super::linear::Exclusions;
use crate::budget::Budget;
use crate::engines::Engine;
use crate::evidence::net::UncoverabilityBasis;
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason};
use crate::net::fire::fire_or_replace;
use crate::net::index::Producers;
use crate::net::predecessors::predecessors;
use crate::net::reduce::Extent;
use crate::net::{Marking, Net, Overflow, PlaceId, TransitionId};
use crate::progress::Progress;

/// The engine `backward`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backward {
    /// The number of expanded elements after which the engine gives up.
    pub most_elements: Option<usize>,
}

impl Engine<Net> for Backward {
    fn name(&self) -> &'static str {
        "backward"
    }

    fn reduction(&self) -> Option<Extent> {
        Some(Extent::All)
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        Search::new(net).run(self.most_elements, budget, progress)
    }
}

/// An element of the upward-closed set.
#[derive(Clone, Debug)]
struct Element {
    marking: Marking,
    /// The transition that leads to the element with this number; `None` for a target.
    next: Option<(TransitionId, u32)>,
    /// Whether its predecessors were computed.
    expanded: bool,
}

struct Search<'net> {
    net: &'net Net,
    producers: Producers,
    is_live: Vec<bool>,
    exclusions: Exclusions<'net>,
    elements: Vec<Element>,
    cover: Cover,
    queue: BinaryHeap<Reverse<(u128, u32)>>,
    /// Whether an initial marking covers an element, but zero tests block the run from there.
    is_blocked: bool,
}

/// Why the search ends early.
enum Stop {
    Reached(FiringSequence),
    Unknown(Reason),
}

/// What a predecessor counts as [work](Budget::spend), whether it is new or not.
const WORK_OF_A_CANDIDATE: u64 = 5;

impl From<Overflow> for Stop {
    fn from(_: Overflow) -> Self {
        Self::Unknown(Reason::TooManyTokens)
    }
}

impl<'net> Search<'net> {
    fn new(net: &'net Net) -> Self {
        let exclusions = Exclusions::of(net);
        let mut is_live = vec![false; net.transitions.len()];
        exclusions.live().iter().for_each(|id| is_live[id.index()] = true);
        Self {
            net,
            producers: Producers::of(net),
            is_live,
            exclusions,
            elements: Vec::new(),
            cover: Cover::default(),
            queue: BinaryHeap::new(),
            is_blocked: false,
        }
    }

    fn run(mut self, most: Option<usize>, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        match self.close(most.unwrap_or(usize::MAX), budget, progress) {
            Ok(()) if self.is_blocked => Reason::ZeroTests.into(),
            Ok(()) => NetVerdict::Safe(NetCertificate::Basis(self.basis())),
            Err(Stop::Unknown(reason)) => reason.into(),
            Err(Stop::Reached(run)) => NetVerdict::Unsafe(run),
        }
    }

    /// Adds predecessors until there are no new ones.
    fn close(&mut self, most: usize, budget: &Budget, progress: &dyn Progress) -> Result<(), Stop> {
        let mut expanded = 0;
        for target in &self.net.targets {
            if passes(&target.upper, &target.least) && !self.exclusions.exclude(&target.least) {
                self.insert(target.least.clone(), None)?;
            }
        }
        while let Some(Reverse((_, at))) = self.queue.pop() {
            if let Some(reason) = budget.exhausted() {
                return Err(Stop::Unknown(reason));
            }
            progress.say(&|| format!("{} elements, {} to expand", self.elements.len(), self.queue.len()));
            if expanded == most {
                let why = format!("the limit of {most} expanded elements is reached");
                return Err(Stop::Unknown(Reason::GaveUp(why)));
            }
            expanded += usize::from(self.expand(at, budget)?);
        }
        Ok(())
    }

    /// Adds an element, unless it covers another one.
    fn insert(&mut self, marking: Marking, next: Option<(TransitionId, u32)>) -> Result<(), Stop> {
        if self.cover.covered_by(&marking, None).is_some() {
            return Ok(());
        }
        let number = u32::try_from(self.elements.len()).map_err(|_| Overflow)?;
        let is_initial = self.net.initial.covers(&marking);
        self.cover.insert(&marking, number);
        self.queue.push(Reverse((marking.total(), number)));
        self.elements.push(Element { marking, next, expanded: false });
        if is_initial {
            match self.run_from(number)? {
                Some(run) => return Err(Stop::Reached(run)),
                None => self.is_blocked = true,
            }
        }
        Ok(())
    }

    /// Adds the predecessors of an element. Returns `false` if the element need not be expanded.
    fn expand(&mut self, at: u32, budget: &Budget) -> Result<bool, Stop> {
        let marking = self.elements[at as usize].marking.clone();
        if self.cover.covered_by(&marking, Some(at)).is_some()
            || self.exclusions.exclude_by_equation(&marking, budget)
        {
            return Ok(false);
        }
        self.elements[at as usize].expanded = true;
        for id in self.producers.of_places(marking.iter().map(|(place, _)| place)) {
            if !self.is_live[id.index()] {
                continue;
            }
            if let Some(reason) = budget.exhausted() {
                return Err(Stop::Unknown(reason));
            }
            let Self { net, exclusions, cover, .. } = self;
            let transition = net.transition(id);
            let keep = &mut |candidate: &Marking| {
                budget.spend(WORK_OF_A_CANDIDATE);
                budget.exhausted().is_none()
                    && passes(&transition.upper, candidate)
                    && cover.covered_by(candidate, None).is_none()
                    && !exclusions.exclude(candidate)
            };
            for found in predecessors(transition, &marking, keep)? {
                self.insert(found, Some((id, at)))?;
            }
        }
        Ok(true)
    }

    /// The elements that were expanded, without those that cover others.
    fn basis(self) -> UncoverabilityBasis {
        let Self { elements, mut cover, .. } = self;
        let numbered = (0u32..).zip(elements).filter(|(_, element)| element.expanded);
        let minimal =
            numbered.filter(|(at, element)| cover.covered_by(&element.marking, Some(*at)).is_none());
        UncoverabilityBasis {
            never_marked: self.exclusions.never_marked(),
            invariants: self.exclusions.used_invariants(),
            elements: minimal.map(|(_, element)| element.marking).collect(),
        }
    }

    /// The run from an initial marking that covers the element to a target; `None` if zero tests block it.
    fn run_from(&self, at: u32) -> Result<Option<FiringSequence>, Overflow> {
        let mut element = &self.elements[at as usize];
        let Some(initial) = self.net.initial.marking_that_covers(&element.marking) else { return Ok(None) };
        let mut marking = initial.clone();
        let mut steps = Vec::new();
        while let Some((transition, next)) = element.next {
            element = &self.elements[next as usize];
            let fired = fire_or_replace(self.net, transition, &marking, &element.marking)?;
            let Some((step, after)) = fired else { return Ok(None) };
            steps.push(step);
            marking = after;
        }
        let is_met = self.net.target_met_by(&marking).is_some();
        Ok(is_met.then_some(FiringSequence { initial, steps }))
    }
}

/// Whether the marking passes the zero tests. If it does not, no marking that covers it does.
fn passes(upper: &[(PlaceId, u64)], marking: &Marking) -> bool {
    upper.iter().all(|&(place, n)| marking.get(place) <= n)
}
