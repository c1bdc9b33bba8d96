//! The breadth-first search over packed states.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::persistent::{Group, Independence, members};
use super::states::{StateId, States};
use super::steps::{Steps, Threads};
use super::stop::{Stop, ask};
use crate::budget::Budget;
use crate::progress::Progress;

/// A growing set of states.
pub(super) struct Search<'a> {
    pub steps: Steps<'a>,
    pub states: States,
    /// Whether states that differ only in the order of their threads are identified.
    pub symmetry: bool,
    /// Which threads cannot get in the way of which others, if single threads may be followed.
    pub independence: Option<&'a Independence>,
    /// States from which only one thread was followed.
    pub reduced: usize,
}

/// A thread that violates the property.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub state: StateId,
    /// The position of the thread.
    pub thread: usize,
}

/// What a thread in a state counts as [work](Budget::spend).
const WORK_OF_A_THREAD: u64 = 5;
/// How often the budget is asked.
const STATES_BETWEEN_QUESTIONS: u32 = 256;

impl Search<'_> {
    /// Explores everything, until a violation is found. `work` counts threads in states; there is a limit to it.
    pub fn explore(
        &mut self,
        work: &mut usize,
        most_work: usize,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<Option<Found>, Stop> {
        for (shared, thread) in self.steps.moves.initial()? {
            self.states.insert(shared, &[thread], None)?;
        }
        let mut next = self.states.first();
        let mut until_question = 0;
        let mut done = 0;
        while let Some(id) = next {
            if until_question == 0 {
                ask(budget)?;
                until_question = STATES_BETWEEN_QUESTIONS;
                progress.say(&|| {
                    let (seen, bound) = (self.states.len(), self.steps.bound);
                    format!("{seen} states with up to {bound} threads, {} to expand", seen - done)
                });
            }
            until_question -= 1;
            done += 1;
            let threads = self.states.record(id).threads().len();
            budget.spend(WORK_OF_A_THREAD * threads as u64);
            *work += threads;
            if *work > most_work {
                return Err(Stop::TooMuchWork);
            }
            if let Some(thread) = self.expand(id, budget)? {
                return Ok(Some(Found { state: id, thread }));
            }
            next = self.states.next(id);
        }
        Ok(None)
    }

    /// Adds all states that one large step reaches, or as many as are needed. Gives the position of a thread that
    /// violates the property, if there is one.
    fn expand(&mut self, id: StateId, budget: &Budget) -> Result<Option<usize>, Stop> {
        let record = self.states.record(id);
        let shared = record.shared();
        let threads = Threads::from_slice(record.threads());
        if let Some(forbidden) =
            threads.iter().position(|&thread| self.steps.moves.facts(thread).is_forbidden)
        {
            return Ok(Some(forbidden));
        }
        let holder = threads.iter().position(|&thread| self.steps.moves.facts(thread).holds);
        if holder.is_none() {
            for (first, group) in self.groups(&threads) {
                let mut releases = true;
                for at in members(group) {
                    let entry = self.steps.moves.entry(shared, threads[at])?;
                    if entry.violates {
                        return Ok(Some(at));
                    }
                    releases &= entry.releases;
                }
                if !releases {
                    continue;
                }
                let mut leads_on = false;
                for at in members(group) {
                    let is_followed = self.is_repeated(&threads, at) && group & 1 << (at - 1) != 0;
                    leads_on |= !is_followed && self.follow(id, shared, &threads, at, budget)?;
                }
                // Where one of the states is new, this one has a rank.
                if leads_on && self.states.mark(id, first) {
                    self.reduced += 1;
                    return Ok(None);
                }
            }
        }
        let movers = holder.map_or(0..threads.len(), |holder| holder..holder + 1);
        for at in movers {
            if self.is_repeated(&threads, at) {
                continue;
            }
            if self.steps.moves.entry(shared, threads[at])?.violates {
                return Ok(Some(at));
            }
            self.follow(id, shared, &threads, at, budget)?;
        }
        Ok(None)
    }

    /// Whether the thread before this one is the same, so that the steps of both lead to the same states.
    fn is_repeated(&self, threads: &[u32], at: usize) -> bool {
        self.symmetry && at > 0 && threads[at] == threads[at - 1]
    }

    /// Sets of threads that nobody else gets in the way of, and that leave somebody out; small ones first. With each of
    /// them comes a thread that [`Independence::group`] finds it from.
    fn groups(&self, threads: &[u32]) -> SmallVec<[(usize, Group); 8]> {
        let mut found: SmallVec<[(usize, Group); 8]> = SmallVec::new();
        let Some(independence) = self.independence else { return found };
        let location = |at: usize| self.steps.moves.facts(threads[at]).location;
        for first in 0..threads.len() {
            if self.is_repeated(threads, first) {
                continue;
            }
            if let Some(group) = independence.group(threads.len(), first, location)
                && !found.iter().any(|&(_, other)| other == group)
            {
                found.push((first, group));
            }
        }
        found.sort_by_key(|(_, group)| group.count_ones());
        found
    }

    /// Adds the states that the large steps of one thread reach. Says whether one of them has still to be expanded.
    fn follow(
        &mut self,
        id: StateId,
        shared: u32,
        threads: &[u32],
        at: usize,
        budget: &Budget,
    ) -> Result<bool, Stop> {
        let Self { steps, states, symmetry, .. } = self;
        let mut leads_on = false;
        steps.for_each(shared, threads, at, budget, |next, mut after| {
            if *symmetry {
                after.sort_unstable();
            }
            leads_on |= states.insert(next.shared, &after, Some(id))? > id;
            Ok(ControlFlow::<()>::Continue(()))
        })?;
        Ok(leads_on)
    }
}
