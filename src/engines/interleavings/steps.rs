//! The large steps of system states.

use std::ops::{ControlFlow, Range};

use smallvec::SmallVec;

use super::moves::{AT_BOUND, Moves, NONE, Next};
use super::stop::{Stop, ask};
use crate::budget::Budget;

/// What happens when a thread starts another one although the bound on threads is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtBound {
    /// The thread goes on, and no thread is started.
    Skip,
    /// The run is not followed.
    Cut,
}

/// What threads can do together.
pub(super) struct Steps<'a> {
    pub moves: Moves<'a>,
    /// The greatest number of threads at once.
    pub bound: u32,
    pub at_bound: AtBound,
    /// Whether some run was not followed because it needed more threads.
    pub threads_cut: bool,
}

/// The threads of a state.
pub(super) type Threads = SmallVec<[u32; 16]>;

/// How often the budget is asked while the values of `x$` are combined.
const COMBINATIONS_BETWEEN_QUESTIONS: u32 = 1 << 12;

impl Steps<'_> {
    /// The large steps of the thread at a position, one after the other, until the function ends it. The function gets the
    /// threads after the step: the one that moves at its old position, unless it has ended, and a new one at the end.
    pub fn for_each<B>(
        &mut self,
        shared: u32,
        threads: &[u32],
        at: usize,
        budget: &Budget,
        mut with: impl FnMut(&Next, Threads) -> Result<ControlFlow<B>, Stop>,
    ) -> Result<Option<B>, Stop> {
        let entry = self.moves.entry(shared, threads[at])?;
        for i in 0..self.moves.nexts(entry).len() {
            let next = self.moves.nexts(entry)[i];
            if next.passive == NONE {
                if self.has_room(&next, threads.len())
                    && let ControlFlow::Break(result) = with(&next, stepped(threads, at, &next))?
                {
                    return Ok(Some(result));
                }
                continue;
            }
            let mut combinations = self.combinations(threads, at, &next)?;
            let mut until_question = COMBINATIONS_BETWEEN_QUESTIONS;
            while let Some(others) = combinations.next(&self.moves) {
                until_question -= 1;
                if until_question == 0 {
                    ask(budget)?;
                    until_question = COMBINATIONS_BETWEEN_QUESTIONS;
                }
                if let ControlFlow::Break(result) = with(&next, stepped(&others, at, &next))? {
                    return Ok(Some(result));
                }
            }
        }
        Ok(None)
    }

    /// Whether a large step is possible with so many threads; notes if it is not followed.
    fn has_room(&mut self, next: &Next, threads: usize) -> bool {
        let is_full = threads >= self.bound as usize;
        match next.created {
            NONE => true,
            AT_BOUND => is_full && self.at_bound == AtBound::Skip,
            _ => {
                self.threads_cut |= is_full && self.at_bound == AtBound::Cut;
                !is_full
            }
        }
    }

    /// All that an assignment with `x$` can make of the other threads.
    fn combinations(&mut self, threads: &[u32], at: usize, next: &Next) -> Result<Combinations, Stop> {
        let mut ranges = Vec::with_capacity(threads.len());
        for (other, &thread) in threads.iter().enumerate() {
            ranges.push(if other == at { None } else { Some(self.moves.images(next.passive, thread)?) });
        }
        let is_possible = ranges.iter().flatten().all(|range| !range.is_empty());
        let positions = ranges.iter().map(|range| range.as_ref().map_or(0, |range| range.start));
        let positions = is_possible.then(|| positions.collect());
        Ok(Combinations { threads: Threads::from_slice(threads), ranges, positions })
    }
}

fn stepped(threads: &[u32], at: usize, next: &Next) -> Threads {
    let mut after = Threads::from_slice(threads);
    if next.thread == NONE {
        after.remove(at);
    } else {
        after[at] = next.thread;
    }
    if next.starts_thread() {
        after.push(next.created);
    }
    after
}

/// All combinations of what can become of several threads, one after the other.
struct Combinations {
    threads: Threads,
    /// For every thread, its images; `None` for the thread that moves.
    ranges: Vec<Option<Range<usize>>>,
    /// The next combination; `None` at the end.
    positions: Option<Vec<usize>>,
}

impl Combinations {
    fn next(&mut self, moves: &Moves<'_>) -> Option<Threads> {
        let positions = self.positions.as_mut()?;
        let mut result = self.threads.clone();
        let mut goes_on = false;
        for (at, range) in self.ranges.iter().enumerate() {
            let Some(range) = range else { continue };
            result[at] = moves.image(positions[at]);
            if goes_on {
                continue;
            }
            positions[at] += 1;
            goes_on = positions[at] < range.end;
            if !goes_on {
                positions[at] = range.start;
            }
        }
        if !goes_on {
            self.positions = None;
        }
        Some(result)
    }
}
