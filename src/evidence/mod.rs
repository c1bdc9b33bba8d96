//! What an engine answers, and what it shows for it.
//!
//! Evidence is plain data about the model. It can be checked without the engine that made it:
//! see [`crate::certify`].

pub mod certificate;
pub mod trace;

use std::fmt;
use std::time::Duration;

pub use certificate::{Certificate, PathEdge, SystemState, ThreadFrame};
pub use trace::Trace;

/// Outcome of one engine on one task.
///
/// There is deliberately no "safe up to a bound": a bound that was reached without a proof is
/// [`Verdict::Unknown`], and says so.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Proved; the certificate can be checked without the engine.
    Safe(Certificate),
    /// Refuted; the trace can be replayed without the engine.
    Unsafe(Trace),
    /// Neither.
    Unknown(Unknown),
}

/// No answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Why.
    pub reason: Reason,
    /// What the engine saw all the same, in words. Nobody has checked it.
    pub seen: Option<String>,
}

impl From<Reason> for Unknown {
    fn from(reason: Reason) -> Self {
        Self { reason, seen: None }
    }
}

impl From<Reason> for Verdict {
    fn from(reason: Reason) -> Self {
        Self::Unknown(reason.into())
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The time given by the user is over.
    Timeout(Duration),
    /// The memory given by the user is used up.
    Memory {
        /// Bytes.
        limit: u64,
    },
    /// The user pressed Ctrl-C.
    Interrupted,
    /// More variables in one scope than the engine can hold.
    TooManyVariables {
        /// The procedure with the largest scope.
        procedure: String,
        /// Its globals and locals together.
        count: usize,
        /// What the engine can hold.
        limit: usize,
    },
    /// The number of threads has no bound, and the engine needs one to finish.
    UnboundedThreads,
    /// Stacks grow without a bound in a program with threads.
    UnboundedRecursion {
        /// A procedure that takes part.
        procedure: String,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(limit) => write!(f, "the time limit of {} s is over", limit.as_secs_f64()),
            Self::Memory { limit } => write!(f, "the memory limit of {} MB is used up", limit >> 20),
            Self::Interrupted => f.write_str("interrupted"),
            Self::TooManyVariables { procedure, count, limit } => {
                write!(f, "procedure `{procedure}` sees {count} variables, the explicit engine holds {limit}")
            }
            Self::UnboundedThreads => f.write_str(
                "the program may start arbitrarily many threads, and the explicit engine needs a bound",
            ),
            Self::UnboundedRecursion { procedure } => {
                write!(f, "`{procedure}` is recursive in a program with threads")
            }
        }
    }
}

impl Reason {
    /// What the user can do about it.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Timeout(_) => Some("give it more time with `--timeout SECONDS`"),
            Self::Memory { .. } => Some("give it more memory with `--memory MB`"),
            Self::UnboundedThreads => {
                Some("bound the number of threads that live at once with `--threads N`")
            }
            Self::Interrupted | Self::TooManyVariables { .. } | Self::UnboundedRecursion { .. } => None,
        }
    }
}
