//! Who makes which step on the way to a violation.
//!
//! States are stored with their threads sorted, so every step on the way is computed again to find out which thread made it
//! and which thread went to which position. Threads that are equal can be exchanged, so any assignment of threads to
//! equal numbers is right.

use std::ops::ControlFlow;

use super::search::{Found, Search};
use super::states::StateId;
use super::stop::Stop;
use crate::budget::Budget;
use crate::evidence::trace::{Move, Violation};
use crate::threads::StepId;
use crate::threads::schedule::Schedule;

impl Search<'_> {
    /// The run to a violation, without values.
    pub(super) fn schedule(&mut self, found: Found, budget: &Budget) -> Result<Schedule, Stop> {
        let parent = |id: &StateId| self.states.record(*id).parent();
        let mut way: Vec<StateId> = std::iter::successors(Some(found.state), parent).collect();
        way.reverse();
        // For every position of the state, the identity of the thread there.
        let mut ids: Vec<u32> = vec![0];
        let mut created = 1;
        let mut steps = Vec::new();
        for pair in way.windows(2) {
            let (at, path, order, starts) = self.link(pair[0], pair[1], budget)?;
            steps.extend(self.moves_of(&path).map(|action| (ids[at], action)));
            if order.len() < ids.len() + usize::from(starts) {
                ids.remove(at);
            }
            if starts {
                ids.push(created);
                created += 1;
            }
            ids = order.into_iter().map(|position| ids[position]).collect();
        }
        let record = self.states.record(found.state);
        let (shared, number) = (record.shared(), record.threads()[found.thread]);
        let thread = ids[found.thread];
        let violation = if self.steps.moves.facts(number).is_forbidden {
            Violation::Label
        } else {
            let large_steps = self.steps.moves.large_steps(shared, number)?;
            let (path, violation) =
                large_steps.violation().unwrap_or_else(|| unreachable!("the search saw a violation"));
            steps.extend(self.moves_of(&path).map(|action| (thread, action)));
            violation
        };
        Ok(Schedule { steps, thread, violation })
    }

    fn moves_of(&self, path: &[StepId]) -> impl Iterator<Item = Move> {
        path.iter().map(|&step| self.steps.moves.system.step(step).action)
    }

    /// How one stored state leads to another: the position of the thread that moves, its path, for every thread of the result
    /// its position behind the step, and whether a thread is started.
    fn link(
        &mut self,
        from: StateId,
        to: StateId,
        budget: &Budget,
    ) -> Result<(usize, Vec<StepId>, Vec<usize>, bool), Stop> {
        let Self { steps, states, symmetry, .. } = self;
        let (before, after) = (states.record(from), states.record(to));
        let holder = before.threads().iter().position(|&thread| steps.moves.facts(thread).holds);
        let movers = holder.map_or(0..before.threads().len(), |holder| holder..holder + 1);
        for at in movers {
            let found = steps.for_each(before.shared(), before.threads(), at, budget, |next, threads| {
                let mut order: Vec<usize> = (0..threads.len()).collect();
                if *symmetry {
                    order.sort_by_key(|&position| threads[position]);
                }
                let is_it = next.shared == after.shared()
                    && threads.len() == after.threads().len()
                    && order.iter().zip(after.threads()).all(|(&old, &thread)| threads[old] == thread);
                Ok(if is_it { ControlFlow::Break((*next, order)) } else { ControlFlow::Continue(()) })
            })?;
            if let Some((next, order)) = found {
                let path = steps.moves.path(before.shared(), before.threads()[at], &next)?;
                return Ok((at, path, order, next.starts_thread()));
            }
        }
        unreachable!("the search took a step from {from} to {to}")
    }
}
