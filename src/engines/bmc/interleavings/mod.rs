//! Bounded model checking of programs with threads: the search for runs that violate the property.
//!
//! Implements: A. Biere, A. Cimatti, E. Clarke, Y. Zhu, "Symbolic model checking without BDDs", TACAS 1999, on the large
//! steps of [`crate::threads`]: a *slot* for each thread that lives, and one slot moves at every step. Also C. Wang,
//! Z. Yang, V. Kahlon, A. Gupta, "Peephole partial order reduction", TACAS 2008: see `steps`.
//!
//! The formula is extended by one large step after the other in one solver, and the question is always whether the
//! thread that moves last violates the property on its way.
//!
//! Theorem used: a run that violates the property is also one of large steps ([`crate::threads::large_steps`]), and each of
//! them starts at most one thread. So every violation is found, with enough steps and slots. The run that is found makes
//! the fewest large steps, among those with as many threads. Of these, one with the fewest context switches is taken, if
//! that does not cost too much; it is known then, and said, that no run in as many large steps has fewer. If the user limits
//! context switches, only runs within this limit are searched. See `steps::switches`.
//!
//! *Slots.* If at most `n` threads may live and `n` is small, there are `n` slots, and less in the first steps. Otherwise
//! searches with more and more slots take turns, and the one that has cost least, weighed by the number of slots, goes on.
//! In a search with fewer slots than the bound allows, no thread is started while all slots are in use: those runs
//! belong to the next search. Nested recursive calls are limited in the same way, in rounds with increasing limits.
//!
//! Evidence: for `Unsafe`, a schedule, to which [`concretise`] adds the values. There is no evidence for `Safe`.

pub(in crate::engines) mod independence;
mod run;
pub(in crate::engines) mod steps;

use self::independence::Independence;
use self::steps::switches::Fewest;
use self::steps::{Extent, Found, Unrolling};
use crate::budget::Budget;
use crate::engines::{Bounds, Reduction};
use crate::evidence::{Reason, Trace, Unknown, Verdict};
use crate::model::Task;
use crate::model::calls::CallGraph;
use crate::progress::Progress;
use crate::threads::ThreadSystem;
use crate::threads::formula::Blocks;
use crate::threads::schedule::concretise;

/// With at most this many threads there is one search only.
const FEW_THREADS: usize = 4;

/// The slots of the first search otherwise; every further search has twice as many.
const FIRST_SLOTS: usize = 3;

/// What a search may cost (terms and conflicts) before the next one begins.
const FIRST_COST: u64 = 100_000;

/// The large steps of the first round, if recursion is limited; every further round makes twice as many.
const FIRST_DEPTH: usize = 16;

/// Searches for a violation.
pub(super) fn search(task: &Task, bounds: Bounds, budget: &Budget, progress: &dyn Progress) -> Verdict {
    let calls = CallGraph::of(&task.program);
    let is_recursive = task.program.procedure_ids().any(|id| calls.is_recursive(id));
    let most_steps = bounds.depth.map_or(usize::MAX, |depth| depth as usize);
    for round in 0.. {
        let unwind = bounds.recursion.unwrap_or(1 + round);
        let system =
            match ThreadSystem::new(task, bounds.without.of_systems(), is_recursive.then_some(unwind)) {
                Ok(system) => system,
                Err(reason) => return reason.into(),
            };
        // Whether there are runs with deeper recursion, for another round.
        let grows = system.unwound.is_some() && bounds.recursion.is_none();
        let depth = if grows { FIRST_DEPTH << round.min(24) } else { usize::MAX };
        let blocks = Blocks::new(&system);
        if round == 0 {
            blocks.count(progress);
        }
        let independence = Independence::of(&blocks, bounds.without.uses(Reduction::PartialOrder));
        let searches = Searches {
            task,
            blocks: &blocks,
            independence: &independence,
            all: Vec::new(),
            depth: depth.min(most_steps),
            switches: bounds.switches.map(|most| most as usize),
            budget,
            progress,
        };
        let stopped = match searches.run() {
            Ok(verdict) => return verdict,
            Err(stopped) => stopped,
        };
        let Stopped { reason, all_runs, seen } = stopped;
        let is_last_round = depth >= most_steps && round as usize >= most_steps;
        let reason = match (reason, bounds) {
            (Some(reason), _) => reason,
            (None, _) if grows && !is_last_round => continue,
            (None, Bounds { recursion: Some(bound), .. }) if all_runs && system.unwound.is_some() => {
                Reason::RecursionBound { bound }
            }
            (None, Bounds { depth: Some(bound), .. }) if !all_runs || system.unwound.is_some() => {
                Reason::DepthBound { bound }
            }
            (None, Bounds { switches: Some(bound), .. }) => Reason::SwitchBound { bound },
            (None, _) => {
                let why =
                    "no run violates the property, but bmc has no proof of that for programs with threads";
                Reason::GaveUp(why.to_owned())
            }
        };
        return Verdict::Unknown(Unknown { reason, seen });
    }
    unreachable!("there is always a next round")
}

/// Why searches ended without a violation.
struct Stopped {
    /// The budget is used up, or something went wrong; otherwise all steps were made.
    reason: Option<Reason>,
    /// Whether there are no longer runs.
    all_runs: bool,
    seen: Option<String>,
}

/// Searches with different numbers of slots.
struct Searches<'a> {
    task: &'a Task,
    blocks: &'a Blocks<'a>,
    independence: &'a Independence,
    all: Vec<Unrolling<'a>>,
    /// The large steps before the one that violates the property.
    depth: usize,
    /// The most context switches.
    switches: Option<usize>,
    budget: &'a Budget,
    progress: &'a dyn Progress,
}

impl Searches<'_> {
    fn run(mut self) -> Result<Verdict, Stopped> {
        loop {
            if let Some(reason) = self.budget.exhausted() {
                return Err(self.stopped(Some(reason)));
            }
            let Some(position) = self.next() else { return Err(self.stopped(None)) };
            let (budget, progress) = (self.budget, self.progress);
            let unrolling = &mut self.all[position];
            progress.say(&|| {
                let (steps, slots) = (unrolling.depth(), unrolling.slots());
                format!("{steps} large steps of up to {slots} threads, {} terms", unrolling.size())
            });
            match unrolling.violation(budget) {
                Found::Nothing => unrolling.extend(),
                Found::NoLongerRuns => unrolling.close(),
                Found::Stopped(reason) => return Err(self.stopped(Some(reason))),
                Found::Run(schedule) => {
                    let Fewest { schedule, is_known } = unrolling.with_fewest_switches(schedule);
                    progress.count("large steps of the run", unrolling.depth() as u64 + 1);
                    if is_known {
                        let what = "context switches that runs in as many large steps need";
                        progress.count(what, schedule.switches() as u64);
                    }
                    return match concretise(self.task, &schedule, budget) {
                        Ok(Some(run)) => Ok(Verdict::Unsafe(Trace::Interleaved(run))),
                        Ok(None) => {
                            let why = "the schedule that bmc found is not one of a run".to_owned();
                            Err(self.stopped(Some(Reason::GaveUp(why))))
                        }
                        Err(reason) => Err(self.stopped(Some(reason))),
                    };
                }
            }
        }
    }

    /// The search that goes on: the cheapest one. A search with more slots begins when its turn has come.
    fn next(&mut self) -> Option<usize> {
        let mut best: Option<(u64, usize)> = None;
        for (position, unrolling) in self.all.iter().enumerate() {
            if !unrolling.is_closed() && unrolling.depth() <= self.depth {
                let cost = unrolling.cost() << position.min(32);
                best = best.min(Some((cost, position))).or(Some((cost, position)));
            }
        }
        let begins = self.extent().filter(|_| {
            let cost = if self.all.is_empty() { 0 } else { FIRST_COST << self.all.len().min(32) };
            best.is_none_or(|(least, _)| cost < least)
        });
        if let Some(extent) = begins {
            self.all.push(Unrolling::new(self.blocks, self.independence, extent, self.budget));
            return Some(self.all.len() - 1);
        }
        best.map(|(_, position)| position)
    }

    /// The slots of the next search; `None` if more slots make no difference.
    fn extent(&self) -> Option<Extent> {
        if self.all.last().is_some_and(|last| !last.lacks_slots()) {
            return None;
        }
        let bound = self.task.threads.map(|bound| bound.max(1) as usize);
        let slots = match bound {
            Some(bound) if bound <= FEW_THREADS => bound,
            _ => FIRST_SLOTS << self.all.len().min(24),
        };
        Some(match bound {
            Some(bound) if bound <= slots => Extent { slots: bound, is_bound: true, switches: self.switches },
            _ => Extent { slots, is_bound: false, switches: self.switches },
        })
    }

    fn stopped(&self, reason: Option<Reason>) -> Stopped {
        let all_runs = self.all.iter().all(Unrolling::is_closed);
        let seen = self.all.iter().filter(|unrolling| unrolling.depth() > 0).map(|unrolling| {
            let (steps, slots) = (unrolling.depth(), unrolling.slots());
            let threads = if slots == 1 { "thread" } else { "threads" };
            format!("{steps} large steps of up to {slots} {threads}")
        });
        let seen: Vec<String> = seen.collect();
        let switches =
            self.switches.map_or_else(String::new, |most| format!(", with at most {most} switches"));
        let seen = (!seen.is_empty()).then(|| format!("no violation in {}{switches}", seen.join(", in ")));
        Stopped { reason, all_runs, seen }
    }
}
