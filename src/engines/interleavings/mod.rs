//! All interleavings of the threads, reduced: large steps, states as numbers, symmetry, and persistent sets.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", 2010, chapters 5 to 7, one state at a time: threads are told
//! apart by their states only (chapter 7), and not all of them are followed everywhere ([`persistent`], chapter 6); after
//! R. J. Lipton, "Reduction", 1975 ([`crate::threads::large_steps`]).
//!
//! Theorem used: every run to a violation can be turned into one of large steps that ends in a violation
//! ([`crate::threads::large_steps`]), and a state from which not all threads are followed has a run to a violation only if a state
//! from which all threads are followed has one ([`crate::evidence::threads::Followed`]).
//!
//! Evidence: [`Certificate::Threads`] with all states that were found, or an interleaving.
//!
//! Deviation: if the number of threads is unbounded, or the bound is very large, rounds n = 1, 2, ... explore the runs with at
//! most n threads at once. A round in which no run needs more threads proves the program safe for any number of threads.
//! Recursion is cut off at a bound of the user; then safety is never claimed.

mod moves;
pub mod persistent;
mod proof;
mod search;
mod states;
mod steps;
mod stop;
mod trace;

use super::{Bounds, Engine, Reduction, seen_before, too_many_threads};
use crate::budget::Budget;
use crate::evidence::{Certificate, Reason, Trace, Unknown, Verdict};
use crate::model::Task;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use crate::threads::schedule::{Schedule, concretise};
use crate::threads::{Reductions, ThreadSystem};
use moves::Moves;
use persistent::Independence;
use search::Search;
use states::States;
use steps::{AtBound, Steps};
use stop::Stop;

/// If the bound on the number of threads is larger than this, it is approached in rounds, as if there were none.
const LARGE_BOUND: u32 = 1000;

/// The total number of threads in all states of all rounds after which the engine gives up, so that rounds end even
/// without a time limit.
const MOST_WORK_IN_ROUNDS: usize = 20_000_000;

/// The engine and its reductions; all of them on by default.
#[derive(Clone, Copy, Debug)]
pub struct Interleavings {
    /// Irrelevant variables and large steps.
    pub reductions: Reductions,
    /// Whether states that differ only in the order of their threads are identified.
    pub symmetry: bool,
    /// Whether threads that cannot get in the way of others are followed without them.
    pub persistent: bool,
    /// How deeply recursive calls may nest; without it, recursion is not accepted.
    pub unwind: Option<u32>,
    /// The total number of threads in all states after which the engine gives up.
    pub most_work: usize,
}

impl Interleavings {
    /// The engine as the user wants it.
    #[must_use]
    pub fn within(bounds: Bounds) -> Self {
        Self {
            reductions: bounds.without.of_systems(),
            symmetry: bounds.without.uses(Reduction::Symmetry),
            persistent: bounds.without.uses(Reduction::PartialOrder),
            unwind: bounds.unwind,
            ..Self::default()
        }
    }
}

impl Default for Interleavings {
    fn default() -> Self {
        Self {
            reductions: Reductions::ALL,
            symmetry: true,
            persistent: true,
            unwind: None,
            most_work: usize::MAX,
        }
    }
}

impl Engine for Interleavings {
    fn name(&self) -> &'static str {
        "interleavings"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        if task.program.starts_threads { Ok(()) } else { Err(Reason::ThreadsOnly { engine: self.name() }) }
    }

    /// Programs with threads are reduced by the engine itself.
    fn reduction(&self) -> Option<Keep> {
        None
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        let system = match ThreadSystem::new(task, self.reductions, self.unwind) {
            Ok(system) => system,
            Err(reason) => return reason.into(),
        };
        system.count_reductions(progress);
        let independence = if self.persistent { Independence::of(&system) } else { None };
        let rounds = match task.threads {
            None => 1..=u32::MAX,
            Some(bound) if bound > LARGE_BOUND => 1..=bound,
            Some(bound) => bound..=bound,
        };
        let in_rounds = *rounds.start() < *rounds.end();
        let mut work = 0;
        for bound in rounds.clone() {
            let at_bound = if task.threads == Some(bound) { AtBound::Skip } else { AtBound::Cut };
            let mut search = Search {
                steps: Steps { moves: Moves::new(&system), bound, at_bound, threads_cut: false },
                states: States::new(),
                symmetry: self.symmetry,
                independence: independence.as_ref(),
                reduced: 0,
            };
            let most_work = if in_rounds { self.most_work.min(MOST_WORK_IN_ROUNDS) } else { self.most_work };
            let explored = search.explore(&mut work, most_work, budget, progress);
            let verdict = match explored {
                Ok(None) if search.steps.threads_cut => continue,
                Ok(None) => {
                    count_states(&search, progress);
                    match &system.unwound {
                        None => search.proof(budget).map(|proof| Verdict::Safe(Certificate::Threads(proof))),
                        Some(procedure) => Ok(Reason::Unwound {
                            procedure: procedure.clone(),
                            bound: self.unwind.unwrap_or_default(),
                        }
                        .into()),
                    }
                }
                Ok(Some(found)) => {
                    count_states(&search, progress);
                    search.schedule(found, budget).and_then(|schedule| run(task, &schedule, budget))
                }
                Err(stop) => {
                    count_states(&search, progress);
                    Err(stop)
                }
            };
            return verdict.unwrap_or_else(|stop| {
                let seen = seen_before(*rounds.start(), bound);
                let reason = match stop {
                    Stop::Because(reason) => reason,
                    Stop::TooMuchWork => too_many_threads(task),
                };
                Verdict::Unknown(Unknown { reason, seen })
            });
        }
        too_many_threads(task).into()
    }
}

/// The run with values.
fn run(task: &Task, schedule: &Schedule, budget: &Budget) -> Result<Verdict, Stop> {
    let run = concretise(task, schedule, budget)?;
    Ok(match run {
        Some(run) => Verdict::Unsafe(Trace::Interleaved(run)),
        None => Reason::GaveUp("the run that was found has no values".to_owned()).into(),
    })
}

fn count_states(search: &Search<'_>, progress: &dyn Progress) {
    let moves = &search.steps.moves;
    progress.count("threads at once", u64::from(search.steps.bound));
    progress.count("states", search.states.len() as u64);
    progress.count("states from which not all threads are followed", search.reduced as u64);
    progress.count("bytes for states", search.states.bytes() as u64);
    progress.count("values of globals", moves.shared.len() as u64);
    progress.count("states of single threads", moves.threads.len() as u64);
    progress.count("pairs of both with their large steps", moves.pairs() as u64);
}
