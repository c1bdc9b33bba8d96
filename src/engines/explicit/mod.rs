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

use super::Engine;
use crate::budget::Budget;
use crate::evidence::{Reason, Verdict};
use crate::model::Task;
use crate::model::live::Live;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use scope::Scopes;

/// The reference engine and its reductions; all of them on by default.
#[derive(Clone, Copy, Debug)]
pub struct Explicit {
    /// Forget the values of dead variables.
    pub forget_dead: bool,
    /// Do not tell threads with equal local states apart.
    pub symmetry: bool,
    /// Give up on a sequential program with more path edges.
    pub most_path_edges: usize,
}

impl Default for Explicit {
    fn default() -> Self {
        Self { forget_dead: true, symmetry: true, most_path_edges: usize::MAX }
    }
}

impl Engine for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        Scopes::fit(&task.program)
    }

    /// Path edges speak of every node of the program.
    fn reduction(&self) -> Option<Keep> {
        None
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        let live = self.forget_dead.then(|| Live::of(task));
        let is_live =
            |procedure, node, var| live.as_ref().is_none_or(|live| live.is_live(procedure, node, var));
        let scopes = Scopes::new(task, is_live);
        if task.program.starts_threads {
            interleavings::run(task, &scopes, self.symmetry, budget, progress)
        } else {
            path_edges::run(task, &scopes, self.most_path_edges, budget, progress)
        }
    }
}
