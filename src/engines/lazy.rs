//! Structural abstraction: summaries are computed only for procedures that a suspected run goes through.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", thesis, ETH Zürich 2010, section 4.3, figure 4.8,
//! and its extension to recursion in section 4.4; after D. Babić, A. J. Hu, "Structural Abstraction of
//! Software Verification Conditions", CAV 2007.
//!
//! Theorem used: the abstraction replaces calls by arbitrary outcomes, so every run of the program is a run of the
//! abstraction. If no run of the abstraction violates the property, no run of the program does. A violating run of
//! the abstraction that goes through no replaced call is a run of the program. Otherwise, universal summaries are
//! computed for the procedures whose calls were replaced on this run. There are finitely many procedures, so this
//! ends.
//!
//! Evidence: [`Certificate::Relations`], in which a procedure without a
//! computed summary relates every entry to every exit; or a shared call tree.
//!
//! Deviation: a refinement computes summaries for all procedures whose outcome the run guessed. From the second
//! refinement on it also includes their callees, to a depth that doubles each time, because refining a chain of N
//! procedures one at a time costs N^2. A recursive procedure is refined together with its component, by the
//! nesting-depth construction of [`super::universal`].

use std::rc::Rc;

use cusp_encodings::Term;

use super::summarising::edge::Edge;
use super::summarising::export;
use super::summarising::reconstruct::{Reconstructed, possible_violation};
use super::summarising::saturate::{Entries, Saturation};
use super::summarising::tables::Key;
use super::universal::{Completeness, failing_entry, summarise};
use super::{Engine, accepts_sequential};
use crate::budget::Budget;
use crate::evidence::{Certificate, Place, Reason, Trace, Verdict};
use crate::model::calls::callees;
use crate::model::reduce::Keep;
use crate::model::{ProcId, Procedure, Task};
use crate::progress::Progress;
use crate::symbolic::block::Blocks;
use crate::symbolic::scope::Scopes;

/// The engine `lazy`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lazy;

impl Engine for Lazy {
    fn name(&self) -> &'static str {
        "lazy"
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
        let saturation = Saturation::new(&blocks, budget, Entries::Arbitrary, true);
        let mut refinement = Refinement { task, blocks: &blocks, saturation, rounds: 0 };
        let verdict = refinement.decide(progress).unwrap_or_else(Verdict::from);
        refinement.saturation.record(progress);
        progress.count("refinements", refinement.rounds);
        let unknown = task.program.procedure_ids().filter(|&id| refinement.saturation.star(id).is_some());
        progress.count("procedures without a summary", unknown.count() as u64);
        verdict
    }
}

/// The abstraction and how often it was refined. A procedure without a summary is marked by a star: see
/// [`Saturation::star`].
struct Refinement<'a> {
    task: &'a Task,
    blocks: &'a Blocks<'a>,
    saturation: Saturation<'a>,
    rounds: u64,
}

impl Refinement<'_> {
    fn decide(&mut self, progress: &dyn Progress) -> Result<Verdict, Reason> {
        let start = self.task.program.start;
        for id in self.task.program.procedure_ids() {
            self.saturation.set_star(id, true);
        }
        self.refine(&[start], progress)?;
        loop {
            let Some(entry) = failing_entry(&mut self.saturation, start)? else {
                let relations = self.certificate();
                return Ok(Verdict::Safe(Certificate::Relations(relations)));
            };
            let program = &self.task.program;
            let stars: Vec<Option<bool>> =
                program.procedure_ids().map(|id| self.saturation.star(id)).collect();
            let star = |id: ProcId| stars[id.index()];
            let guessed = match possible_violation(&mut self.saturation.tables, start, entry, &star)? {
                Reconstructed::Trace(tree) => return Ok(Verdict::Unsafe(Trace::Sequential(tree))),
                Reconstructed::Guessed(guessed) => guessed,
            };
            let depth = if self.rounds == 0 { 0 } else { 1_u64 << (self.rounds - 1).min(32) };
            self.rounds += 1;
            let wanted = self.with_callees(guessed, depth);
            self.refine(&wanted, progress)?;
        }
    }

    /// The given procedures, and their callees down to `depth` that have no summary yet.
    fn with_callees(&self, procedures: Vec<ProcId>, depth: u64) -> Vec<ProcId> {
        let mut all = procedures.clone();
        let mut level = procedures;
        for _ in 0..depth {
            let mut next: Vec<ProcId> = Vec::new();
            for &id in &level {
                next.extend(callees(self.task.program.procedure(id)));
            }
            next.sort_unstable();
            next.dedup();
            next.retain(|&id| self.saturation.star(id).is_some() && all.binary_search(&id).is_err());
            if next.is_empty() {
                break;
            }
            all.extend(&next);
            all.sort_unstable();
            level = next;
        }
        all
    }

    /// Computes summaries for these procedures, and recomputes those that depend on them.
    fn refine(&mut self, procedures: &[ProcId], progress: &dyn Progress) -> Result<(), Reason> {
        let mut changed = vec![false; self.task.program.procedures.len()];
        for &id in procedures {
            let component = self.saturation.calls.components[self.saturation.calls.rank(id)].clone();
            for member in component {
                self.saturation.set_star(member, false);
                changed[member.index()] = true;
            }
        }
        for position in 0..self.saturation.calls.components.len() {
            let component = self.saturation.calls.components[position].clone();
            if component.iter().any(|&id| self.saturation.star(id).is_some()) {
                continue;
            }
            let program = &self.task.program;
            let depends = component.iter().any(|&id| {
                changed[id.index()] || callees(program.procedure(id)).any(|callee| changed[callee.index()])
            });
            if depends {
                for &id in &component {
                    changed[id.index()] = true;
                    self.saturation.forget(id);
                }
                summarise(&mut self.saturation, &component, Completeness::Inclusion, progress)?;
            }
        }
        Ok(())
    }

    /// The certificate: the computed relations, and for each procedure without a summary the relation that contains
    /// every pair (except that globals which the procedure cannot write keep their values).
    fn certificate(&mut self) -> crate::evidence::Relations {
        let program = &self.task.program;
        let mut unknown: Vec<(Key, Rc<Edge>)> = Vec::new();
        for id in program.procedure_ids() {
            if self.saturation.star(id).is_none() {
                continue;
            }
            let scope = self.blocks.scopes.scope(id);
            let (tables, scopes) = (&mut self.saturation.tables, self.blocks.scopes);
            let mut entry = vec![None; scope.entry_width()];
            let mut now = vec![None; scope.width()];
            for slot in 0..scope.globals().len() {
                if !scopes.may_write(id, slot) {
                    let value = Some(tables.names.entry(&mut tables.arena, slot));
                    (entry[slot], now[slot]) = (value, value);
                }
            }
            let edge = Rc::new(Edge { guard: Term::TRUE, entry, now });
            let cuts = self.blocks.cuts(id);
            for node in [Procedure::ENTRY, Procedure::EXIT].into_iter().chain(cuts.heads()) {
                unknown.push(((id, Place::Node(node)), Rc::clone(&edge)));
            }
            if self.saturation.may_fail(id) {
                let any = Edge { guard: Term::TRUE, entry: vec![None; scope.entry_width()], now: Vec::new() };
                unknown.push(((id, Place::Failure), Rc::new(any)));
            }
        }
        let tables = &self.saturation.tables;
        let known = self.saturation.places().into_iter();
        let known =
            known.flat_map(|key| tables.table(key).known().iter().map(move |edge| (key, Rc::clone(edge))));
        export::edges(tables, known.chain(unknown))
    }
}
