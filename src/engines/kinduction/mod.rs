//! K-induction over block steps, for programs without recursion.
//!
//! Implements: M. Sheeran, S. Singh, G. Stålmarck, "Checking safety properties using induction and a
//! SAT-solver", FMCAD 2000, and G. Basler, "Model Checking Boolean Programs", 2010, section 2.5, on programs
//! with explicit program counters: calls are inlined, a state is at a *location*, that is, a call string
//! and a loop head, and one step is a run through the code between two locations.
//!
//! Theorem used: if no run makes fewer than `k` block steps from the start and then violates the property (*base*),
//! and no run through `k + 1` pairwise different states from anywhere does (*step*), then no run violates the
//! property. A shortest run that violates the property is never in the same state twice, so some `k` is large
//! enough for every safe program.
//!
//! Base and step have one solver each. Two states are required to differ only after a run of the step was found in
//! which they are equal. States that arrive at the same location are merged, so the formula for one more block step
//! is as large as the inlined program.
//!
//! Evidence: for `Safe`, the loop heads and `k`, a [`Certificate::KInductive`]; for `Unsafe`, a run with the fewest
//! possible block steps, as a call tree.
//!
//! Deviation: the thesis prints the step with the polarity swapped and the last state unconnected; here it is built
//! as [errata 9](crate::errata::item_9) says. Violations happen inside blocks, so there is no assumption "the
//! property holds in s0..sk": a run that completes a block step has not violated the property in it. The step is
//! not tried for every `k`.
//!
//! Programs with a bounded number of threads are left to `interleavings`.

mod case;
mod interleavings;
mod locations;
mod replay;
mod step;

use self::case::{Case, CaseAnswer};
use self::locations::Locations;
use self::step::Stepper;
use super::{Engine, accepts_without_recursion};
use crate::budget::Budget;
use crate::evidence::{Certificate, KInductive, Reason, Trace, Unknown, Verdict};
use crate::model::Task;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use crate::symbolic::block::Blocks;
use crate::symbolic::scope::Scopes;
use crate::symbolic::trace::complete;

const NAME: &str = "kinduction";

/// The engine and the user's bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct KInduction {
    /// The greatest number of blocks on a path.
    pub depth: Option<u32>,
}

impl Engine for KInduction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        if task.program.starts_threads && task.threads.is_none() {
            return Err(Reason::UnboundedThreads);
        }
        accepts_without_recursion(task, NAME)
    }

    /// The step case begins in an arbitrary state and compares states, so reductions must keep states.
    fn reduction(&self) -> Option<Keep> {
        Some(Keep::States)
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        if task.program.starts_threads {
            return interleavings::induct(task, self.depth, budget, progress);
        }
        let scopes = Scopes::of_whole_states(task);
        let blocks = Blocks::new(task, &scopes);
        let locations = match Locations::of(&blocks) {
            Ok(locations) => locations,
            Err(reason) => return reason.into(),
        };
        let stepper = Stepper::new(&blocks, locations);
        self.induct(stepper, budget, progress)
    }
}

impl KInduction {
    fn induct<'a>(self, mut stepper: Stepper<'a>, budget: &'a Budget, progress: &dyn Progress) -> Verdict {
        let blocks = stepper.blocks;
        let mut base = Case::base(&stepper, budget);
        let mut step = Case::step(&stepper, budget);
        let mut next_step = 0;
        for k in 0.. {
            let stopped = |reason: Reason| {
                let seen = (k > 0).then(|| format!("no violation in the first {k} blocks of a run"));
                Verdict::Unknown(Unknown { reason, seen })
            };
            let used_up = || stopped(budget.exhausted().unwrap_or(Reason::Interrupted));
            if let Some(bound) = self.depth.filter(|&bound| k > bound as usize) {
                return stopped(Reason::DepthBound { bound });
            }
            progress.say(&|| {
                let locations = stepper.locations.len();
                format!("k = {k}, {locations} locations, {} + {} terms", base.size(), step.size())
            });
            if k == next_step {
                loop {
                    match step.violation_after(&mut stepper, k) {
                        CaseAnswer::Stopped => return used_up(),
                        CaseAnswer::Impossible => return Verdict::Safe(proof(blocks, k)),
                        CaseAnswer::Run(run) => {
                            if !step.tell_apart(&stepper, &run) {
                                break;
                            }
                        }
                    }
                }
                next_step += (k / 4).max(1);
            }
            match base.violation_after(&mut stepper, k) {
                CaseAnswer::Stopped => return used_up(),
                CaseAnswer::Impossible => {}
                CaseAnswer::Run(run) => {
                    let tree = complete(blocks.task, blocks.scopes, &run.outlines, 0);
                    return Verdict::Unsafe(Trace::Sequential(tree));
                }
            }
        }
        unreachable!("there is always a next k")
    }
}

fn proof(blocks: &Blocks<'_>, k: usize) -> Certificate {
    let program = &blocks.task.program;
    let heads = |id| blocks.cuts(id).heads().map(move |node| (id, node));
    let cuts = program.procedure_ids().flat_map(heads).collect();
    Certificate::KInductive(KInductive { cuts, k: u32::try_from(k).unwrap_or(u32::MAX) })
}
