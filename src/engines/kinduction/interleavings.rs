//! K-induction over the large steps of a bounded number of threads.
//!
//! Implements: M. Sheeran, S. Singh, G. Stålmarck, "Checking safety properties using induction and a SAT-solver", FMCAD
//! 2000, on the formulas of [`crate::engines::bmc`] for programs with threads: the base is the search for bugs, and the
//! step begins in an arbitrary state.
//!
//! Theorem used: [`ThreadInduction`] states it, with the reason why it holds. There are finitely many states, so some `k` is
//! large enough for every safe program; for most programs it is far too large, unless facts say more about the
//! states with which the step begins.
//!
//! Evidence: for `Safe`, [`ThreadInvariant::Induction`]; for `Unsafe`, a run with the fewest large steps.

use crate::budget::Budget;
use crate::engines::bmc::interleavings::independence::Independence;
use crate::engines::bmc::interleavings::steps::{Extent, Found, Unrolling};
use crate::engines::pdr;
use crate::evidence::threads::ThreadInduction;
use crate::evidence::{Certificate, Reason, ThreadInvariant, Trace, Unknown, Verdict};
use crate::model::Task;
use crate::progress::Progress;
use crate::threads::formula::Blocks;
use crate::threads::schedule::concretise;
use crate::threads::{Reductions, ThreadSystem};

/// The formula of a step grows with the number of threads; there is no hope for more than this.
const MOST_THREADS: usize = 100;

/// Decides a program with a bounded number of threads and without recursion.
pub(super) fn induct(task: &Task, depth: Option<u32>, budget: &Budget, progress: &dyn Progress) -> Verdict {
    let Some(bound) = task.threads.map(|bound| bound.max(1) as usize) else {
        return Reason::UnboundedThreads.into();
    };
    if bound > MOST_THREADS {
        let why = format!("kinduction for programs with threads is limited to {MOST_THREADS} of them");
        return Reason::GaveUp(why).into();
    }
    let system = match ThreadSystem::new(task, Reductions::ALL, None) {
        Ok(system) => system,
        Err(reason) => return reason.into(),
    };
    let blocks = Blocks::new(&system);
    let independence = Independence::of(&blocks, true);
    let mut facts = system.facts_about_control();
    match pdr::facts(&blocks, budget) {
        Ok(found) => {
            progress.count("facts", found.len() as u64);
            facts.extend(found);
        }
        Err(reason) => return reason.into(),
    }
    let threads = if system.creates_threads() { bound } else { 1 };
    let mut base = Unrolling::new(
        &blocks,
        &independence,
        Extent { slots: threads, is_bound: true, switches: None },
        budget,
    );
    let mut step = Unrolling::anywhere(&blocks, &independence, threads, &facts, budget);
    let mut next_step = 0;
    for k in 0_u32.. {
        let stopped = |reason: Reason| {
            let seen = (k > 0).then(|| format!("no violation in the first {k} large steps of a run"));
            Verdict::Unknown(Unknown { reason, seen })
        };
        let proved = |k: u32| {
            progress.count("large steps of the induction", u64::from(k));
            let live = |cut| system.live(cut).iter().map(|position| position as u32).collect();
            let positions = system.cuts().map(live).collect();
            let induction = ThreadInduction { k, positions, facts: facts.clone() };
            Verdict::Safe(Certificate::Threads(system.proof(ThreadInvariant::Induction(induction))))
        };
        if let Some(bound) = depth.filter(|&bound| k > bound) {
            return stopped(Reason::DepthBound { bound });
        }
        if let Some(reason) = budget.exhausted() {
            return stopped(reason);
        }
        progress.say(&|| format!("k = {k}, {threads} threads, {} + {} terms", base.size(), step.size()));
        if k == next_step {
            match step.violates_after_different_states(budget) {
                Ok(true) => {}
                Ok(false) => return proved(k),
                Err(reason) => return stopped(reason),
            }
            let next = (k / 4).max(1);
            (0..next).for_each(|_| step.extend());
            next_step += next;
        }
        match base.violation(budget) {
            Found::Nothing => base.extend(),
            Found::NoLongerRuns => return proved(k + 1),
            Found::Stopped(reason) => return stopped(reason),
            Found::Run(schedule) => {
                progress.count("large steps of the run", u64::from(k) + 1);
                return match concretise(task, &schedule, budget) {
                    Ok(Some(run)) => Verdict::Unsafe(Trace::Interleaved(run)),
                    Ok(None) => {
                        let why = "the schedule that kinduction found is not one of a run".to_owned();
                        stopped(Reason::GaveUp(why))
                    }
                    Err(reason) => stopped(reason),
                };
            }
        }
    }
    unreachable!("there is always a next k")
}
