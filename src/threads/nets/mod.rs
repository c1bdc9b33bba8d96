//! Programs with threads as nets, for any number of threads.
//!
//! Implements: G. Basler, M. Mazzucchi, T. Wahl, D. Kroening, "Symbolic Counter Abstraction for Concurrent Software",
//! CAV 2009, as far as programs become thread transition systems; their states are found by the thread-modular search of
//! C. Flanagan, S. Qadeer, "Thread-Modular Model Checking", SPIN 2003.
//!
//! A *shared state* is a value for every global that matters, and whether some thread holds the system. A *local state* is a
//! cut, a value for every local that matters there, and whether the thread holds the system. Both become places: one
//! token is on the places of shared states, and every thread is a token on the place of its local state. A large
//! step moves the token of the shared state and that of the thread, adds one if it starts a thread, and adds none if the thread
//! ends. What `x$` does to others moves all their tokens; a thread for which that is not possible must not be there, which is a
//! zero test. A large step that violates the property is a target.
//!
//! Places exist only for states that [`views`] finds: pairs of a shared and a local state such that some thread may be
//! seen in them, if nothing is remembered about the other threads but their own pairs. That is an upper bound of what
//! runs can reach, so the net has the runs of the program and no others: whoever makes a step is in such a pair.
//!
//! | module | what it holds |
//! |---|---|
//! | [`views`] | the pairs |
//! | `run` | from firing sequences to schedules |
//! | `proof` | from proofs about the net to universal clauses |
//! | `excluded` | what a proof about the net says of states |
//! | `cover` | what clauses say of states |

mod cover;
mod excluded;
mod proof;
mod run;
pub mod views;

use crate::budget::Budget;
use crate::net::{Builder, Flow, Marking, Move, Net, Overflow, PlaceId, Range, Transition};
use crate::reason::Reason;
use crate::threads::ThreadSystem;
use views::{PairId, SharedId, ThreadId, Views};

/// A net that stands for a program with threads.
#[derive(Debug)]
pub struct ThreadNet<'a> {
    /// The program.
    pub system: ThreadSystem<'a>,
    /// The net.
    pub net: Net,
    views: Views,
    /// What every transition stands for.
    origins: Vec<Origin>,
    /// What every target stands for.
    violations: Vec<Violating>,
}

/// What a transition stands for.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The first thread begins in this state.
    Start(ThreadId),
    /// A large step: who makes it, and its number among the large steps from there.
    Step(PairId, u32),
}

/// What a target stands for.
#[derive(Clone, Copy, Debug)]
enum Violating {
    /// Some large step from here violates the property.
    Step(PairId),
    /// A thread must not be in this state.
    Place(ThreadId),
}

impl<'a> ThreadNet<'a> {
    /// Lists the states of a program, at most `limit` pairs of shared and local ones, and makes the net.
    ///
    /// # Errors
    /// If there are too many, or the budget is used up.
    pub fn new(system: ThreadSystem<'a>, limit: usize, budget: &Budget) -> Result<Self, Reason> {
        let views = Views::explore(&system, limit, budget)?;
        let mut made =
            Self { system, net: Net::default(), views, origins: Vec::new(), violations: Vec::new() };
        made.build(budget)?;
        Ok(made)
    }

    /// The number of pairs of shared and local states.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.views.pairs.len()
    }

    /// The place of a local state.
    fn thread_place(&self, thread: ThreadId) -> PlaceId {
        PlaceId::from_index(1 + self.views.shared.len() + thread.index())
    }

    /// The shared state of a place.
    fn shared_at(&self, place: PlaceId) -> Option<SharedId> {
        let number = place.index().checked_sub(1)?;
        (number < self.views.shared.len()).then(|| SharedId::from_index(number))
    }

    /// The local state of a place.
    fn thread_at(&self, place: PlaceId) -> Option<ThreadId> {
        place.index().checked_sub(1 + self.views.shared.len()).map(ThreadId::from_index)
    }

    fn build(&mut self, budget: &Budget) -> Result<(), Reason> {
        let mut builder = Builder::new();
        // The place with the only token before there is a thread.
        let start = builder.shared(0);
        for shared in 0..self.views.shared.len() as u32 {
            builder.shared(1 + shared);
        }
        for thread in 0..self.views.threads.len() as u32 {
            builder.local(thread);
        }
        builder.initial(start, Range::exactly(1));
        for &(shared, thread) in &self.views.initial {
            let give = marking([shared_place(shared), self.thread_place(thread)])?;
            builder.transition(Transition { take: marking([start])?, give, ..Transition::default() });
            self.origins.push(Origin::Start(thread));
        }
        for (id, thread) in (0..).map(ThreadId::from_index).zip(&self.views.threads) {
            if self.system.is_forbidden(thread.location) {
                builder.cover(marking([self.thread_place(id)])?);
                self.violations.push(Violating::Place(id));
            }
        }
        for (id, pair) in self.views.pair_ids() {
            if let Some(reason) = budget.exhausted() {
                return Err(reason);
            }
            let (from, own) = (shared_place(pair.shared), self.thread_place(pair.thread));
            let take = marking([from, own])?;
            if pair.violates {
                builder.cover(take.clone());
                self.violations.push(Violating::Step(id));
            }
            for step in &pair.steps {
                let places =
                    step.thread.into_iter().chain(step.creates).map(|thread| self.thread_place(thread));
                let give = marking(places.chain([shared_place(step.shared)]))?;
                let mut transition = Transition { take: take.clone(), give, ..Transition::default() };
                if let Some(passive) = &step.passive {
                    for &other in &self.views.seen_at[pair.shared.index()] {
                        if !self.views.can_be_beside(pair.thread, other) {
                            continue;
                        }
                        let from = self.thread_place(other);
                        let images = self.views.images(&self.system, passive, other)?;
                        if images.is_empty() {
                            transition.upper.push((from, take.get(from)));
                        } else {
                            let to = images.into_iter().map(|image| self.thread_place(image)).collect();
                            transition.moves.push(Move { from, flow: Flow::Each(to) });
                        }
                    }
                }
                if transition.take != transition.give || !transition.moves.is_empty() {
                    builder.transition(transition);
                    self.origins.push(Origin::Step(id, step.outcome));
                }
            }
        }
        self.net = builder.finish();
        Ok(())
    }
}

/// The place of a shared state.
fn shared_place(shared: SharedId) -> PlaceId {
    PlaceId::from_index(1 + shared.index())
}

fn marking(places: impl IntoIterator<Item = PlaceId>) -> Result<Marking, Overflow> {
    Marking::sum_of(places.into_iter().map(|place| (place, 1)))
}
