//! Reports: how answers are shown to people and machines.
//!
//! Everything here takes a [`Certified`] verdict, so a verdict that was not checked cannot be shown.
//!
//! - [`text()`] is for people: first the verdict, then the violated statement and the trace.
//! - [`nets`] is the same for nets.
//! - [`json`] is for machines.
//! - `output`, a part of the command line tool, is the only module that writes to standard output and standard error.
//!
//! A sequential trace is a shared call tree, and the run that it stands for may be exponentially longer. [`Detail`]
//! says how much of it is written out.

pub mod advice;
mod calls;
mod count;
pub mod cutoff;
pub mod diagnostics;
pub mod json;
mod line;
pub mod nets;
#[cfg(feature = "cli")]
pub mod output;
mod palette;
mod text;
mod threads;
mod values;
mod violated;
mod words;

use crate::certify::Certified;
use crate::model::Task;
use crate::source::Source;

pub use count::Count;
pub use text::{text, unanswered, verdict_line};

/// A checked answer, with the task that it is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The text of the program.
    pub source: &'a Source,
    /// The task.
    pub task: &'a Task,
    /// The checked verdict.
    pub certified: &'a Certified,
    /// The engine that found the answer.
    pub engine: &'a str,
    /// Whether another run may have another engine and another proof; then the text names neither.
    pub by_chance: bool,
}

/// How much of a trace is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Every step is shown at least once. In a trace of many thousand steps, a repeated run of a procedure is
    /// replaced by a reference.
    Full,
    /// Steps that only move control are left out. In a trace of several hundred lines, repeated runs of procedures
    /// are replaced by references, and if that is not enough, the middle of the trace is left out.
    #[default]
    Short,
    /// Only the violated statement is shown.
    None,
}

impl Detail {
    /// Call trees that need at most this many lines are written out in full.
    fn most_unfolded_lines(self) -> u64 {
        match self {
            Self::Full => 5000,
            Self::Short | Self::None => 300,
        }
    }

    /// How many lines at the beginning and at the end are kept.
    fn window(self) -> Option<line::Window> {
        match self {
            Self::Full => None,
            Self::Short | Self::None => Some(line::Window { first: 80, last: 220 }),
        }
    }
}

/// The appearance of a text report.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// How much of a trace is shown.
    pub detail: Detail,
    /// The number of columns of a line.
    pub width: usize,
    /// Whether escape codes for colours are written.
    pub colour: bool,
}

impl Default for View {
    fn default() -> Self {
        Self { detail: Detail::default(), width: 100, colour: false }
    }
}
