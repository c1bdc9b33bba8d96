//! Universal summaries of procedures, computed callees first.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", thesis, ETH Zürich 2010, sections 4.2 and 4.4, after
//! G. Basler, D. Kroening, G. Weissenbacher, "A Complete Bounded Model Checking Algorithm for Pushdown
//! Systems", HVC 2007.
//!
//! Theorem used: the relation from all entries of a procedure to its exits, including entries that no run reaches,
//! can be computed once from the relations of its callees and then applied in any context. Loops are unrolled until
//! a further iteration adds no new pair (the reachability diameter from arbitrary entries). In a component of
//! mutually recursive procedures the nesting depth of calls grows round by round, until a round adds no new pair,
//! or until deeper nesting would repeat a head (theorem 4.5; see [`super::summarising::nesting`]).
//!
//! Evidence: [`Certificate::Relations`], which also contains the entries
//! that may lead to a violation, or a shared call tree.
//!
//! Deviation: summaries relate entries to exits, so alone they would miss a violation in a call that does not
//! return. Therefore the set of entries that lead to a violation is computed as a relation as well, and callers
//! inherit it ([errata 13](crate::errata::item_13)). Whether a further unrolling adds a new pair is decided by an
//! inclusion check, which the one-point rule turns into a plain SAT question for projected relations. The thesis
//! instead counts the longest loop-free path and the longest chain of different heads; both can be exponentially
//! longer ([errata 14](crate::errata::item_14)). They are used where the inclusion check gives up, or where the
//! user asks for it: see [`Completeness`].

use super::summarising::export;
use super::summarising::reconstruct::{Reconstructed, possible_violation};
use super::summarising::sat;
use super::summarising::saturate::{Entries, Saturation};
use super::{Engine, accepts_sequential};
use crate::budget::Budget;
use crate::evidence::{Certificate, Place, Reason, Trace, Verdict};
use crate::model::reduce::Keep;
use crate::model::{ProcId, Task};
use crate::progress::Progress;
use crate::symbolic::block::Blocks;
use crate::symbolic::scope::Scopes;

/// The criterion by which deeper nesting of recursive calls is known to add nothing new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Completeness {
    /// Stop when one round has added nothing new. If the inclusion check cannot tell whether a round did, use
    /// [`Completeness::DifferentHeads`].
    #[default]
    Inclusion,
    /// Stop when the heads of activations that are nested more deeply cannot be pairwise different. If this number
    /// is too expensive to compute, use [`Completeness::Inclusion`].
    DifferentHeads,
}

/// The engine `universal`.
#[derive(Clone, Copy, Debug)]
pub struct Universal {
    /// Whether relations are projected onto the states they relate. Without projection, they contain the
    /// nondeterministic choices of all runs as variables.
    pub projects: bool,
    /// The criterion that ends the rounds of a recursive component.
    pub completeness: Completeness,
}

impl Default for Universal {
    fn default() -> Self {
        Self { projects: true, completeness: Completeness::default() }
    }
}

impl Engine for Universal {
    fn name(&self) -> &'static str {
        "universal"
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
        let mut saturation = Saturation::new(&blocks, budget, Entries::Arbitrary, self.projects);
        let verdict =
            decide(task, &mut saturation, self.completeness, progress).unwrap_or_else(Verdict::from);
        saturation.record(progress);
        verdict
    }
}

fn decide(
    task: &Task,
    saturation: &mut Saturation<'_>,
    completeness: Completeness,
    progress: &dyn Progress,
) -> Result<Verdict, Reason> {
    for position in 0..saturation.calls.components.len() {
        let component = saturation.calls.components[position].clone();
        summarise(saturation, &component, completeness, progress)?;
    }
    let start = task.program.start;
    let Some(entry) = failing_entry(saturation, start)? else {
        let relations = export::relations(&saturation.tables, saturation.places());
        return Ok(Verdict::Safe(Certificate::Relations(relations)));
    };
    match possible_violation(&mut saturation.tables, start, entry, &|_| None)? {
        Reconstructed::Trace(tree) => Ok(Verdict::Unsafe(Trace::Sequential(tree))),
        Reconstructed::Guessed(_) => unreachable!("every call here has a summary"),
    }
}

/// Computes the universal summaries of a component. The callees outside the component must either have summaries
/// already, or be marked so that nothing is assumed about their calls.
pub(super) fn summarise(
    saturation: &mut Saturation<'_>,
    component: &[ProcId],
    completeness: Completeness,
    progress: &dyn Progress,
) -> Result<(), Reason> {
    if !saturation.calls.is_recursive(component[0]) {
        saturation.enter(component[0])?;
        saturation.saturate(progress)?;
        return Ok(());
    }
    let undecided = saturation.tables.undecided;
    // The result of `Saturation::most_nested`, which is expensive: it is computed at most once, and only if needed.
    let mut most_nested: Option<Option<usize>> = None;
    let rounds = saturation.saturate_by_nesting(component, progress, |saturation, round, grows| {
        let is_undecided = saturation.tables.undecided > undecided;
        if completeness == Completeness::Inclusion && !(grows && is_undecided) {
            return Ok(!grows);
        }
        let most = match most_nested {
            Some(known) => known,
            None => *most_nested.insert(saturation.most_nested(component)?),
        };
        let contradicts = |most: usize| grows && !is_undecided && round > most;
        debug_assert!(
            !most.is_some_and(contradicts),
            "round {round} adds a summary, but {most:?} rounds should be enough"
        );
        // There is one round more than needed, so that loops have seen the last summaries.
        Ok(most.map_or(!grows, |most| round > most))
    })?;
    saturation.most_rounds = saturation.most_rounds.max(rounds);
    saturation.most_heads = saturation.most_heads.max(most_nested.flatten());
    Ok(())
}

/// Values at the entry of the start procedure that lead to a violation, if there are any.
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
