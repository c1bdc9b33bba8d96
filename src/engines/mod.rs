//! Decision procedures, one per file, named as in the literature.

pub mod explicit;

use crate::budget::Budget;
use crate::evidence::Verdict;
use crate::model::Task;
use crate::progress::Progress;

/// A decision procedure for reachability.
///
/// Contract: `Safe` and `Unsafe` come with evidence that [`crate::certify`] accepts; an engine that
/// cannot produce evidence answers `Unknown`. Engines do not print, read no clock, and give up
/// within 100 ms when the budget says so. They are deterministic.
pub trait Engine {
    /// The name used on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Decides the task within the budget.
    fn run(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict;
}

/// The engines by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineName {
    /// Whatever fits the program.
    #[default]
    Auto,
    /// Explicit-state reference.
    Explicit,
}

impl EngineName {
    /// The engine itself.
    #[must_use]
    pub fn engine(self) -> Box<dyn Engine> {
        match self {
            Self::Auto | Self::Explicit => Box::new(explicit::Explicit::default()),
        }
    }
}
