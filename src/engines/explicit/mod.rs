//! The reference engine: explicit states, independent of terms and solvers.
//!
//! Slow and obviously right, it is the oracle of every other engine. It decides sequential
//! programs by `path_edges` and systems of threads by `interleavings`. Values of variables are
//! chosen only when a statement depends on them, so that wide programs with narrow questions
//! stay small.

mod call_tree;
mod interleavings;
mod path_edges;
mod schedule;
mod scope;
mod threads;

use rustc_hash::FxHashSet;

use super::Engine;
use crate::budget::Budget;
use crate::evidence::{Certificate, Verdict};
use crate::model::live::Live;
use crate::model::{Action, Node, ProcId, Procedure, Property, Task};
use crate::progress::Progress;
use scope::Scopes;

/// The reference engine and its reductions; all of them on by default.
#[derive(Clone, Copy, Debug)]
pub struct Explicit {
    /// Forget the values of dead variables.
    pub forget_dead: bool,
    /// Do not tell threads with equal local states apart.
    pub symmetry: bool,
}

impl Default for Explicit {
    fn default() -> Self {
        Self { forget_dead: true, symmetry: true }
    }
}

impl Engine for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn run(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        if !violation_is_in_reach(task) {
            return Verdict::Safe(Certificate::NoViolationInReach);
        }
        let live = self.forget_dead.then(|| Live::of(task));
        let is_live =
            |procedure, node, var| live.as_ref().is_none_or(|live| live.is_live(procedure, node, var));
        let scopes = match Scopes::new(task, is_live) {
            Ok(scopes) => scopes,
            Err(reason) => return reason.into(),
        };
        if task.program.starts_threads {
            interleavings::run(task, &scopes, self.symmetry, budget, progress)
        } else {
            path_edges::run(task, &scopes, budget, progress)
        }
    }
}

/// Whether control flow alone, whatever the data, can come to a violation.
fn violation_is_in_reach(task: &Task) -> bool {
    let program = &task.program;
    let mut seen: Vec<Vec<bool>> = program.procedures.iter().map(|p| vec![false; p.nodes as usize]).collect();
    let mut open: Vec<(ProcId, Node)> = Vec::new();
    let mut visit = |open: &mut Vec<_>, procedure: ProcId, node: Node| {
        if !std::mem::replace(&mut seen[procedure.index()][node.index()], true) {
            open.push((procedure, node));
        }
    };
    let targets: FxHashSet<(ProcId, Node)> = match &task.property {
        Property::Assertions => FxHashSet::default(),
        Property::LabelUnreachable(label) => {
            let of = |id: ProcId| program.procedure(id).nodes_labelled(label).map(move |node| (id, node));
            program.procedure_ids().flat_map(of).collect()
        }
    };
    visit(&mut open, program.start, Procedure::ENTRY);
    while let Some((id, node)) = open.pop() {
        let procedure = program.procedure(id);
        if targets.contains(&(id, node)) {
            return true;
        }
        for (_, edge) in procedure.edges_from(node) {
            match &edge.action {
                Action::Assert(_) if task.property == Property::Assertions => return true,
                Action::EndThread => continue,
                Action::Call(call) | Action::Spawn(call) => {
                    visit(&mut open, call.callee, Procedure::ENTRY);
                }
                Action::Fork(at) => visit(&mut open, id, *at),
                _ => {}
            }
            visit(&mut open, id, edge.to);
        }
    }
    false
}
