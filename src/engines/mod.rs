//! Decision procedures, one per file, named as in the literature. The one table of them is
//! [`crate::pipeline::table`].

pub mod bdd;
pub mod bmc;
pub mod cutoff;
pub mod explicit;
pub mod kinduction;
pub mod lazy;
pub mod nets;
mod question;
pub mod summaries;
pub mod summarising;
pub mod universal;

use crate::budget::Budget;
use crate::evidence::Reason;
use crate::model::Task;
use crate::model::calls::CallGraph;
use crate::progress::Progress;

pub use question::{Question, VerdictOn};

/// A decision procedure for one kind of question: for programs ([`Task`]) or for nets ([`crate::net::Net`]).
///
/// Contract: `Safe` and `Unsafe` come with evidence that [`crate::certify`] accepts once it is lifted and completed
/// (see [`crate::pipeline`]); an engine that cannot produce evidence answers `Unknown`. Engines do not print, read no
/// clock, and give up within 100 ms when the budget says so. They are deterministic.
///
/// For nets: zero tests may be ignored for `Safe` and must be obeyed for `Unsafe`. An engine whose run does not survive
/// them answers [`Reason::ZeroTests`].
pub trait Engine<Q: Question = Task>: Send + Sync {
    /// The name used on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Whether the engine is made for this question.
    ///
    /// # Errors
    /// Why it is not.
    fn accepts(&self, _question: &Q) -> Result<(), Reason> {
        Ok(())
    }

    /// What a reduction must keep so that evidence about the reduced question can be lifted; `None` if the engine
    /// takes questions as they are.
    fn reduction(&self) -> Option<Q::Keep>;

    /// Decides a question that the engine accepts, within the budget. Callers use [`Engine::run`].
    fn search(&self, question: &Q, budget: &Budget, progress: &dyn Progress) -> VerdictOn<Q>;

    /// Decides the question within the budget. All engines agree on what comes before a search: a question in which
    /// nothing can go wrong is answered at once, and one that the engine does not accept is unknown.
    fn run(&self, question: &Q, budget: &Budget, progress: &dyn Progress) -> VerdictOn<Q> {
        if let Some(verdict) = question.without_search() {
            return verdict;
        }
        match self.accepts(question) {
            Ok(()) => self.search(question, budget, progress),
            Err(reason) => reason.into(),
        }
    }
}

/// Bounds that the user sets, for the engines that go by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The most unrolled blocks on a path.
    pub depth: Option<u32>,
    /// The most recursive calls that are nested.
    pub recursion: Option<u32>,
}

/// For engines that take sequential programs only.
fn accepts_sequential(task: &Task, engine: &'static str) -> Result<(), Reason> {
    if task.program.starts_threads { Err(Reason::SequentialOnly { engine }) } else { Ok(()) }
}

/// For engines that inline all calls.
fn accepts_without_recursion(task: &Task, engine: &'static str) -> Result<(), Reason> {
    let calls = CallGraph::of(&task.program);
    match task.program.procedure_ids().find(|&id| calls.is_recursive(id)) {
        None => Ok(()),
        Some(id) => Err(Reason::Recursive { engine, procedure: task.program.procedure(id).name.clone() }),
    }
}
