//! Universal summaries, callees first.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", thesis, ETH Zürich 2010, sections 4.2 and 4.4, after
//! G. Basler, D. Kroening, G. Weissenbacher, "A Complete Bounded Model Checking Algorithm for Pushdown
//! Systems", HVC 2007.
//!
//! Theorem used: the relation from all entries of a procedure to its exits, whether some run enters it there
//! or not, is computed once from those of its callees and applied in any context. Loops are unrolled
//! until nothing new comes up (the reachability diameter from arbitrary entries); in a component of
//! mutual recursion the nesting depth of calls grows until nothing new comes up (theorem 4.5).
//!
//! Evidence: [`Certificate::Relations`] with the entries that may fail, or a shared call tree.
//!
//! Deviation: summaries relate entry to exit, and would miss a violation in a call that does not return; so
//! the entries that lead to a violation are a relation as well, and callers inherit it (errata 13). Whether
//! a further unrolling adds something is asked as inclusion, which the one-point rule turns into a plain SAT
//! question for projected relations; the longest loop-free path, which the thesis counts, can be
//! exponentially longer (errata 14), and is looked at where the inclusion stack gives up.

use super::Engine;
use super::formula::block::Blocks;
use super::formula::export;
use super::formula::reconstruct::{Reconstructed, possible_violation};
use super::formula::sat;
use super::formula::saturate::{Entries, Saturation};
use super::formula::scope::Scopes;
use crate::budget::Budget;
use crate::evidence::{Certificate, Place, Reason, Trace, Verdict};
use crate::model::control::Reach;
use crate::model::{ProcId, Task};
use crate::progress::Progress;

/// The engine.
#[derive(Clone, Copy, Debug)]
pub struct Universal {
    /// Project relations onto the states they relate; without it, they keep the choices of all runs.
    pub projects: bool,
}

impl Default for Universal {
    fn default() -> Self {
        Self { projects: true }
    }
}

impl Engine for Universal {
    fn name(&self) -> &'static str {
        "universal"
    }

    fn run(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        if task.program.starts_threads {
            return Reason::SequentialOnly { engine: self.name() }.into();
        }
        if !Reach::of(task).violation_is_in_reach() {
            return Verdict::Safe(Certificate::NoViolationInReach);
        }
        let scopes = Scopes::of(task);
        let blocks = Blocks::new(task, &scopes);
        let mut saturation = Saturation::new(&blocks, budget, Entries::Arbitrary, self.projects);
        let verdict = decide(task, &mut saturation, progress).unwrap_or_else(Verdict::from);
        saturation.record(progress);
        verdict
    }
}

fn decide(task: &Task, saturation: &mut Saturation<'_>, progress: &dyn Progress) -> Result<Verdict, Reason> {
    for position in 0..saturation.calls.components.len() {
        let component = saturation.calls.components[position].clone();
        summarise(saturation, &component, progress)?;
    }
    let start = task.program.start;
    let Some(entry) = failing_entry(saturation, start)? else {
        let relations = export::relations(&saturation.tables, saturation.places());
        return Ok(export::certificate(&saturation.tables, relations));
    };
    match possible_violation(&mut saturation.tables, start, entry, &|_| None)? {
        Reconstructed::Trace(tree) => Ok(Verdict::Unsafe(Trace::Sequential(tree))),
        Reconstructed::Guessed(_) => unreachable!("nothing is guessed here"),
    }
}

/// The universal summaries of a component; those of its callees are known, or nothing is assumed about them.
pub(super) fn summarise(
    saturation: &mut Saturation<'_>,
    component: &[ProcId],
    progress: &dyn Progress,
) -> Result<(), Reason> {
    for &procedure in component {
        saturation.enter(procedure)?;
    }
    saturation.saturate(progress)?;
    Ok(())
}

/// Values at the entry of the start procedure that lead to a violation.
pub(super) fn failing_entry(
    saturation: &mut Saturation<'_>,
    start: ProcId,
) -> Result<Option<Vec<Option<bool>>>, Reason> {
    let tables = &mut saturation.tables;
    for edge in tables.table((start, Place::Failure)).known().to_vec() {
        if let Some(model) = sat::solve(&tables.arena, edge.guard, tables.budget)? {
            let value = |term: &Option<_>| term.map(|term| model.value(&tables.arena, term));
            return Ok(Some(edge.entry.iter().map(value).collect()));
        }
    }
    Ok(None)
}
