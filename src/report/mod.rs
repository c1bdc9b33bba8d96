//! What people and machines see of an answer.
//!
//! Everything here takes a [`Certified`] verdict: what was not checked cannot be shown.
//!
//! - [`text()`] is for people: the verdict first, then the violated statement and the trace.
//! - [`nets`] is the same for nets.
//! - [`json`] is for machines.
//! - `output`, a part of the command line tool, is the one place that writes to standard output and standard error.
//!
//! A sequential trace is a shared call tree, and the run it stands for may be exponentially
//! longer: see [`Detail`] for how much of it is written out.

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
pub use text::{text, verdict_line};

/// A checked answer, and what it answers.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The program's text.
    pub source: &'a Source,
    /// The question.
    pub task: &'a Task,
    /// The answer.
    pub certified: &'a Certified,
    /// The engine that found it.
    pub engine: &'a str,
}

/// How much of a trace is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Every step is shown at least once. In a trace of many thousand steps, a repeated run of a
    /// procedure is referred to.
    Full,
    /// Without steps that only move control. In a trace of several hundred lines, repeated runs
    /// of procedures are referred to, and the middle is left out if that is not enough.
    #[default]
    Short,
    /// The violated statement only.
    None,
}

impl Detail {
    /// Call trees are written out in full up to this many lines.
    fn most_unfolded_lines(self) -> u64 {
        match self {
            Self::Full => 5000,
            Self::Short | Self::None => 300,
        }
    }

    /// The lines that are kept.
    fn window(self) -> Option<line::Window> {
        match self {
            Self::Full => None,
            Self::Short | Self::None => Some(line::Window { first: 80, last: 220 }),
        }
    }
}

/// How a text report looks.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// How much of a trace is shown.
    pub detail: Detail,
    /// Columns of a line.
    pub width: usize,
    /// With escape codes for colours.
    pub colour: bool,
}

impl Default for View {
    fn default() -> Self {
        Self { detail: Detail::default(), width: 100, colour: false }
    }
}
