//! From a schedule to a run: only who moves how is given, and the values are found.

use crate::budget::Budget;
use crate::evidence::trace::{Interleaving, Move, Violation};
use crate::model::Task;
use crate::reason::Reason;

/// Which thread makes which step: all that is needed to rebuild a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// The moves, each with its thread; threads are numbered by creation, from 0.
    pub steps: Vec<(u32, Move)>,
    /// The thread that violates the property at the end.
    pub thread: u32,
    /// How it violates the property.
    pub violation: Violation,
}

/// The run with values for all variables; `None` if there is no such run.
///
/// # Errors
/// If the budget is used up, or if the program has too many variables.
pub fn concretise(task: &Task, skeleton: &Skeleton, budget: &Budget) -> Result<Option<Interleaving>, Reason> {
    match budget.exhausted() {
        Some(reason) => Err(reason),
        None => crate::engines::explicit::follow(task, skeleton),
    }
}
