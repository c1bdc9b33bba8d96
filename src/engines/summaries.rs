//! Path edges and summary edges, represented as formulas and computed by saturation.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", thesis, ETH Zürich 2010, figure 4.3, after
//! G. Basler, D. Kroening, G. Weissenbacher, "SAT-Based Summarization for Boolean Programs", SPIN 2007.
//!
//! Theorem used: a state of a procedure is reachable iff a path edge from a reachable entry leads to it, where
//! summary edges step over calls. The sets of edges are finite, so saturation ends.
//!
//! Evidence: [`Certificate::Relations`], or a shared call tree.
//!
//! Deviation: the printed algorithm is unsound in two places ([errata 11](crate::errata::item_11)). Here, every
//! call enters its callee and is recorded, and it gets every summary that exists or is found later; a summary
//! applies wherever its entries and the states at the call overlap. The forall-exists question is asked only for
//! subsumption, against the union of the edges at a node. Edges are kept only at cuts (entries, loop heads, exits).
//! Between cuts, blocks merge all paths, which has the effect that the priorities of algorithm 10.1 are meant to
//! have. The worklist takes callees before callers, so a caller sees a summary only when that is complete for the
//! entries known by then. Edges are projected before they are kept: see [`super::summarising::diagram`].

use super::summarising::export;
use super::summarising::reconstruct::{Reconstructed, reachable_violation};
use super::summarising::saturate::{Entries, Saturation};
use super::{Engine, accepts_sequential};
use crate::budget::Budget;
use crate::evidence::{Certificate, Reason, Trace, Verdict};
use crate::model::Task;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use crate::symbolic::block::Blocks;
use crate::symbolic::scope::Scopes;

/// The engine `summaries`.
#[derive(Clone, Copy, Debug)]
pub struct Summaries {
    /// Whether relations are projected onto the states they relate. Without projection, they contain the
    /// nondeterministic choices of all runs as variables.
    pub projects: bool,
}

impl Default for Summaries {
    fn default() -> Self {
        Self { projects: true }
    }
}

impl Engine for Summaries {
    fn name(&self) -> &'static str {
        "summaries"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        accepts_sequential(task, self.name())
    }

    fn reduction(&self) -> Option<Keep> {
        Some(Keep::Verdict)
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        let scopes = Scopes::of(task);
        let blocks = Blocks::new(task, &scopes);
        let mut saturation = Saturation::new(&blocks, budget, Entries::Reachable, self.projects);
        let verdict = decide(task, &mut saturation, progress).unwrap_or_else(Verdict::from);
        saturation.record(progress);
        verdict
    }
}

fn decide(task: &Task, saturation: &mut Saturation<'_>, progress: &dyn Progress) -> Result<Verdict, Reason> {
    saturation.enter(task.program.start)?;
    let Some((procedure, source)) = saturation.saturate(progress)? else {
        let relations = export::relations(&saturation.tables, saturation.places());
        return Ok(Verdict::Safe(Certificate::Relations(relations)));
    };
    match reachable_violation(&mut saturation.tables, procedure, source)? {
        Reconstructed::Trace(tree) => Ok(Verdict::Unsafe(Trace::Sequential(tree))),
        Reconstructed::Guessed(_) => unreachable!("every call here has a summary"),
    }
}
