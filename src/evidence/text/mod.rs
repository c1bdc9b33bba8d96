//! Certificates and traces as text: what `cusp check --certificate` writes and `cusp replay` reads.
//!
//! The format is described in the README. It is made of lines and words, so that it can be written by other
//! tools, read by people, and compared by `diff`. Names of procedures and variables stand in comments
//! only: what counts are numbers, as in [`crate::model`].
//!
//! A reader believes nothing: whatever is in a file, the outcome is evidence, which
//! [`crate::certify`] then checks against a program, or a [`ReadError`] with a line and a reason. Reading is
//! linear in the size of the file.

mod read;
mod words;
mod write;

use std::fmt;

pub use read::read;
pub use write::write;

use super::{Certificate, Trace, Verdict};

/// The first line of every file; the number changes when the format does.
pub const HEADER: &str = "cusp-evidence 1";

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The property holds.
    Certificate(Certificate),
    /// It does not.
    Trace(Trace),
}

impl From<Evidence> for Verdict {
    fn from(evidence: Evidence) -> Self {
        match evidence {
            Evidence::Certificate(certificate) => Self::Safe(certificate),
            Evidence::Trace(trace) => Self::Unsafe(trace),
        }
    }
}

/// Why a text is no evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ReadError {}
