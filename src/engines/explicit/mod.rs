//! The reference engine: explicit states, independent of terms and solvers.
//!
//! This engine is slow but simple, and serves as the oracle for every other engine. It decides sequential programs
//! by `path_edges` and systems of threads by `interleavings`. The value of a variable is chosen only when a
//! statement depends on it, so a program with many variables has few states if only few of them matter.

mod call_tree;
mod interleavings;
mod path_edges;
mod schedule;
mod scope;
mod threads;

use super::Engine;
use crate::budget::Budget;
use crate::evidence::trace::Interleaving;
use crate::evidence::{Reason, Verdict};
use crate::model::Task;
use crate::model::live::Live;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use crate::threads::schedule::Skeleton;
use scope::Scopes;

/// The reference engine and its reductions; all of them on by default.
#[derive(Clone, Copy, Debug)]
pub struct Explicit {
    /// Whether the values of dead variables are forgotten.
    pub forget_dead: bool,
    /// Whether states that differ only in the order of their threads are identified.
    pub symmetry: bool,
    /// The greatest number of path edges; the engine gives up on a sequential program with more.
    pub most_path_edges: usize,
}

impl Default for Explicit {
    fn default() -> Self {
        Self { forget_dead: true, symmetry: true, most_path_edges: usize::MAX }
    }
}

/// The run in which given threads make given moves; stands in for [`crate::threads::schedule`] until that has its own.
///
/// # Errors
/// If the program has too many variables.
pub fn follow(task: &Task, skeleton: &Skeleton) -> Result<Option<Interleaving>, Reason> {
    Scopes::fit(&task.program)?;
    let scopes = Scopes::new(task, |_, _, _| true);
    let bound = task.threads.unwrap_or(u32::MAX);
    let system =
        threads::System { task, scopes: &scopes, symmetry: false, bound, at_bound: threads::AtBound::Skip };
    Ok(schedule::follow(&system, &skeleton.steps, skeleton.thread))
}

impl Engine for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        Scopes::fit(&task.program)
    }

    /// The certificate contains path edges at every node of the program, so the program must not be reduced.
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
