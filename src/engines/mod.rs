//! Decision procedures for programs and for nets, one per module, named as in the literature. The table that lists
//! all of them is [`crate::pipeline::table`].

pub mod bdd;
pub mod bmc;
pub mod counter;
pub mod cutoff;
pub mod explicit;
pub mod interleavings;
pub mod kinduction;
pub mod lazy;
pub mod nets;
pub mod pdr;
mod question;
pub mod summaries;
pub mod summarising;
pub mod universal;

use crate::budget::Budget;
use crate::evidence::Reason;
use crate::model::Task;
use crate::model::calls::CallGraph;
use crate::progress::Progress;
use crate::threads::Reductions;

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

    /// Checks whether the engine can take this question.
    ///
    /// # Errors
    /// The reason why the engine cannot take it.
    fn accepts(&self, _question: &Q) -> Result<(), Reason> {
        Ok(())
    }

    /// What a reduction of the question must keep so that evidence about the reduced question can be lifted to the
    /// original one; `None` if the engine must be given the question without any reduction.
    fn reduction(&self) -> Option<Q::Keep>;

    /// Decides a question that the engine accepts, within the budget. Callers use [`Engine::run`].
    fn search(&self, question: &Q, budget: &Budget, progress: &dyn Progress) -> VerdictOn<Q>;

    /// Decides the question within the budget. The steps before the search are the same for all engines: if no
    /// violation can be reached at all, the answer is given at once, and if the engine does not accept the
    /// question, the answer is unknown.
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

/// An engine that is ready to run.
pub type BoxedEngine<Q> = Box<dyn Engine<Q>>;

/// Bounds set by the user. Only some engines have a bounded search; the others ignore them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The greatest number of unrolled blocks on a path.
    pub depth: Option<u32>,
    /// The greatest number of nested recursive calls.
    pub recursion: Option<u32>,
    /// The greatest number of nested calls of one procedure in a program with threads.
    pub unwind: Option<u32>,
    /// The greatest number of context switches in a program with threads.
    pub switches: Option<u32>,
    /// What engines for programs with threads have to do without.
    pub without: Without,
}

impl Bounds {
    /// No bounds.
    pub const NONE: Self =
        Self { depth: None, recursion: None, unwind: None, switches: None, without: Without { bits: 0 } };
}

/// A reduction of programs with threads that can be switched off, to see what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Variables that influence no condition are left out: [`crate::threads::relevance`].
    Relevance,
    /// What nobody else can notice happens in one step: [`crate::threads::large_steps`].
    LargeSteps,
    /// States that differ only in the order of their threads are identified.
    Symmetry,
    /// Threads that others cannot get in the way of are followed without them: [`interleavings::persistent`].
    PartialOrder,
}

/// The reductions that are switched off; none of them by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    bits: u8,
}

impl Without {
    /// None of the reductions is left.
    pub const ALL: Self = Self { bits: u8::MAX };

    /// Whether a reduction is used.
    #[must_use]
    pub fn uses(self, reduction: Reduction) -> bool {
        self.bits & Self::from_iter([reduction]).bits == 0
    }

    /// The reductions of the thread system.
    #[must_use]
    pub fn of_systems(self) -> Reductions {
        Reductions {
            relevance: self.uses(Reduction::Relevance),
            large_steps: self.uses(Reduction::LargeSteps),
        }
    }
}

impl FromIterator<Reduction> for Without {
    fn from_iter<I: IntoIterator<Item = Reduction>>(reductions: I) -> Self {
        Self { bits: reductions.into_iter().fold(0, |bits, reduction| bits | 1 << reduction as u8) }
    }
}

/// What searches with more and more threads have shown before the one with so many, if there were any.
fn seen_before(first: u32, bound: u32) -> Option<String> {
    match bound - 1 {
        n if n < first => None,
        1 => Some("no violation in any run with one thread at a time".to_owned()),
        n => Some(format!("no violation in any run with at most {n} threads at once")),
    }
}

/// The reason why searches with more and more threads end without an answer.
fn too_many_threads(task: &Task) -> Reason {
    match task.threads {
        None => Reason::UnboundedThreads,
        Some(bound) => Reason::GaveUp(format!(
            "the engine gave up before it had seen all runs with up to {bound} threads at once"
        )),
    }
}

/// The [`Engine::accepts`] of engines that take sequential programs only.
fn accepts_sequential(task: &Task, engine: &'static str) -> Result<(), Reason> {
    if task.program.starts_threads { Err(Reason::SequentialOnly { engine }) } else { Ok(()) }
}

/// The check in [`Engine::accepts`] of engines that inline all calls and so cannot take recursive programs.
fn accepts_without_recursion(task: &Task, engine: &'static str) -> Result<(), Reason> {
    let calls = CallGraph::of(&task.program);
    match task.program.procedure_ids().find(|&id| calls.is_recursive(id)) {
        None => Ok(()),
        Some(id) => Err(Reason::Recursive { engine, procedure: task.program.procedure(id).name.clone() }),
    }
}
