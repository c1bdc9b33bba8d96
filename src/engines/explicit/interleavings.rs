//! Breadth-first exploration of all interleavings of the threads.
//!
//! Implements: the concurrent semantics of G. Basler, "Model Checking Boolean Programs", PhD
//! thesis, ETH Zurich 2010, table 5.1, one state at a time; with counter abstraction (chapter 7:
//! threads with equal local states are not told apart) when symmetry reduction is on.
//!
//! Theorem used: threads run the same program and have no identity that the program can observe, so states that
//! differ only in the order of their threads reach the same thread states.
//!
//! Evidence: [`Certificate::SystemStates`], or an interleaving.
//!
//! Deviation: values are chosen lazily, as in [`super::path_edges`]. If the number of threads is unbounded, or the
//! bound is very large, rounds n = 1, 2, ... explore the runs with at most n threads at once. A round in which no
//! run needs more threads proves the program safe for any number of threads.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::scope::Scopes;
use super::threads::{AtBound, System};
use crate::budget::Budget;
use crate::engines::{seen_before, too_many_threads};
use crate::evidence::trace::{Move, Violation};
use crate::evidence::{Certificate, Reason, SystemState, Trace, Unknown, Verdict};
use crate::model::Task;
use crate::progress::Progress;

/// Stacks deeper than this are not followed. For programs that recurse in threads there is no decision procedure,
/// and other programs have much smaller stacks.
const MAX_STACK: usize = 64;

/// If the bound on the number of threads is larger than this, it is approached in rounds, as if there were none.
const LARGE_BOUND: u32 = 1000;

/// What a thread in a state counts as [work](Budget::spend).
const WORK_OF_A_THREAD: u64 = 50;
/// The total number of threads in all states of all rounds after which the engine gives up, so that rounds end even
/// without a time limit.
const MAX_WORK_IN_ROUNDS: usize = 2_000_000;

/// How a state was first reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parent {
    pub state: u32,
    pub thread: usize,
    pub action: Move,
}

/// The violation with which the search ended.
pub(super) struct Found {
    /// The number of the state.
    pub state: u32,
    /// The state, with the values that the violation decided.
    pub decided: SystemState,
    pub thread: usize,
    pub violation: Violation,
}

/// The growing set of states.
pub(super) struct Exploration<'a> {
    pub system: System<'a>,
    pub states: IndexSet<SystemState, FxBuildHasher>,
    pub parents: Vec<Option<Parent>>,
    /// Whether rounds with more threads may follow.
    in_rounds: bool,
    /// Whether some run was not followed because it needed more threads.
    threads_cut: bool,
    /// A procedure on a stack that grew too deep to be followed, if there is one.
    stack_cut: Option<String>,
}

/// Decides a task with threads.
pub(super) fn run(
    task: &Task,
    scopes: &Scopes,
    symmetry: bool,
    budget: &Budget,
    progress: &dyn Progress,
) -> Verdict {
    let rounds = match task.threads {
        None => 1..=u32::MAX,
        Some(bound) if bound > LARGE_BOUND => 1..=bound,
        Some(bound) => bound..=bound,
    };
    let mut work = 0;
    for bound in rounds.clone() {
        let at_bound = if task.threads == Some(bound) { AtBound::Skip } else { AtBound::Cut };
        let mut exploration = Exploration {
            system: System { task, scopes, symmetry, bound, at_bound },
            states: IndexSet::default(),
            parents: Vec::new(),
            in_rounds: *rounds.start() < *rounds.end(),
            threads_cut: false,
            stack_cut: None,
        };
        match exploration.explore(&mut work, budget, progress) {
            Err(reason) => {
                return Verdict::Unknown(Unknown { reason, seen: seen_before(*rounds.start(), bound) });
            }
            Ok(Some(found)) => {
                let interleaving = super::schedule::build(&exploration, &found);
                return Verdict::Unsafe(Trace::Interleaved(interleaving));
            }
            Ok(None) if exploration.stack_cut.is_some() => {
                let procedure = exploration.stack_cut.unwrap_or_default();
                return Reason::UnboundedRecursion { procedure }.into();
            }
            Ok(None) if exploration.threads_cut => {}
            Ok(None) => {
                let states = exploration.states.into_iter().collect();
                return Verdict::Safe(Certificate::SystemStates(states));
            }
        }
    }
    too_many_threads(task).into()
}

impl Exploration<'_> {
    fn explore(
        &mut self,
        work: &mut usize,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<Option<Found>, Reason> {
        for state in self.system.initial() {
            self.add(&state, None);
        }
        let mut next = 0;
        while next < self.states.len() {
            if let Some(reason) = budget.exhausted() {
                return Err(reason);
            }
            let threads = self.states[next].threads.len();
            budget.spend(WORK_OF_A_THREAD * threads as u64);
            *work += threads;
            if self.in_rounds && *work > MAX_WORK_IN_ROUNDS {
                return Err(too_many_threads(self.system.task));
            }
            progress.say(&|| {
                let (seen, bound) = (self.states.len(), self.system.bound);
                format!("{seen} states with up to {bound} threads, {} to expand", seen - next)
            });
            if let Some(found) = self.expand(next as u32) {
                return Ok(Some(found));
            }
            next += 1;
        }
        Ok(None)
    }

    fn add(&mut self, state: &SystemState, parent: Option<Parent>) {
        let (canonical, _) = self.system.canonical(state);
        if self.states.insert_full(canonical).1 {
            self.parents.push(parent);
        }
    }

    fn expand(&mut self, id: u32) -> Option<Found> {
        let state = self.states[id as usize].clone();
        for thread in 0..state.threads.len() {
            if self.system.is_repeated(&state, thread) {
                continue;
            }
            if let Some((decided, violation)) = self.system.violation(&state, thread) {
                return Some(Found { state: id, decided, thread, violation });
            }
            if state.holder.is_some_and(|holder| holder != thread) {
                continue;
            }
            if state.threads[thread].len() > MAX_STACK {
                let top = state.threads[thread][MAX_STACK].procedure;
                let name = &self.system.task.program.procedure(top).name;
                self.stack_cut.get_or_insert_with(|| name.clone());
                continue;
            }
            for action in self.system.moves(&state, thread) {
                let steps = self.system.steps(&state, thread, action);
                self.threads_cut |= steps.cut;
                for step in steps.steps {
                    self.add(&step.after, Some(Parent { state: id, thread, action }));
                }
            }
        }
        None
    }
}
