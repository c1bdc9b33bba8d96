//! Decision procedures, one per file, named as in the literature.

pub mod bdd;
pub mod bmc;
pub mod cutoff;
pub mod explicit;
pub mod kinduction;
pub mod lazy;
pub mod nets;
pub mod summaries;
pub mod summarising;
pub mod universal;

use crate::budget::Budget;
use crate::evidence::{Certificate, Reason, Verdict};
use crate::model::Task;
use crate::model::control::Reach;
use crate::model::reduce::Keep;
use crate::progress::Progress;

/// A decision procedure for reachability.
///
/// Contract: `Safe` and `Unsafe` come with evidence that [`crate::certify`] accepts; an engine that
/// cannot produce evidence answers `Unknown`. Engines do not print, read no clock, and give up
/// within 100 ms when the budget says so. They are deterministic.
pub trait Engine {
    /// The name used on the command line and in reports.
    fn name(&self) -> &'static str;

    /// What a reduction of sequential tasks must keep so that this engine's evidence can be lifted; `None`
    /// if the engine takes tasks as they are.
    fn reduction(&self) -> Option<Keep> {
        Some(Keep::Verdict)
    }

    /// Decides the task within the budget.
    fn run(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict;
}

/// What an engine for sequential programs answers without a search, if it can: it does not take threads, and
/// where control cannot come to a violation, there is none.
fn without_search(task: &Task, engine: &'static str) -> Option<Verdict> {
    if task.program.starts_threads {
        return Some(Reason::SequentialOnly { engine }.into());
    }
    let is_in_reach = Reach::of(task).violation_is_in_reach();
    (!is_in_reach).then_some(Verdict::Safe(Certificate::NoViolationInReach))
}

/// The engines by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineName {
    /// Whatever fits the program.
    #[default]
    Auto,
    /// Explicit-state reference.
    Explicit,
    /// Path edges and summary edges as formulas.
    Summaries,
    /// Universal summaries, callees first.
    Universal,
    /// Universal summaries on demand.
    Lazy,
    /// Path edges and summaries as decision diagrams.
    Bdd,
    /// Demand-driven unrolling.
    Bmc,
    /// K-induction.
    KInduction,
}

/// Bounds that the user sets, for the engines that go by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The most unrolled blocks on a path.
    pub depth: Option<u32>,
    /// The most recursive calls that are nested.
    pub recursion: Option<u32>,
}

impl EngineName {
    /// All engines that decide on their own.
    pub const ALL: [Self; 7] = [
        Self::Explicit,
        Self::Bdd,
        Self::Bmc,
        Self::KInduction,
        Self::Summaries,
        Self::Universal,
        Self::Lazy,
    ];

    /// The engine itself, without bounds.
    #[must_use]
    pub fn engine(self) -> Box<dyn Engine + Send> {
        self.engine_within(Bounds::default())
    }

    /// The engine itself.
    #[must_use]
    pub fn engine_within(self, bounds: Bounds) -> Box<dyn Engine + Send> {
        let Bounds { depth, recursion } = bounds;
        match self {
            Self::Auto | Self::Explicit => Box::new(explicit::Explicit::default()),
            Self::Summaries => Box::new(summaries::Summaries::default()),
            Self::Universal => Box::new(universal::Universal::default()),
            Self::Lazy => Box::new(lazy::Lazy),
            Self::Bdd => Box::new(bdd::Bdd::default()),
            Self::Bmc => Box::new(bmc::Bmc { depth, recursion }),
            Self::KInduction => Box::new(kinduction::KInduction { depth }),
        }
    }
}
