//! Certificates and traces as text: what `cusp check --certificate` writes and `cusp replay` reads.
//!
//! The format is described in the README. It is made of lines and words, so that other tools can write it,
//! people can read it, and `diff` can compare it. Names of procedures and variables appear in comments only;
//! everything is referred to by number, as in [`crate::model`].
//!
//! Files are not trusted. Reading any file gives either evidence, which [`crate::certify`] then checks
//! against a program, or a [`ReadError`] with a line and a reason. It takes linear time.

mod read;
mod threads;
mod words;
mod write;

use std::fmt;

pub use read::{read, read_unless};
pub use write::write;

use super::{Certificate, Trace, Verdict};

/// The first line of every file. The number is the version of the format.
pub const HEADER: &str = "cusp-evidence 1";

/// The contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A proof that the property holds.
    Certificate(Certificate),
    /// A run that violates the property.
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

/// The reason why a text could not be read as evidence.
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
