//! What an engine answers, and what it shows for it.
//!
//! Evidence is plain data about the model. It can be checked without the engine that made it:
//! see [`crate::certify`].

pub mod certificate;
pub mod cutoff;
pub mod formula;
pub mod net;
pub mod text;
pub mod trace;

use std::fmt;
use std::time::Duration;

pub use certificate::{
    BlockCopy, Certificate, KInductive, PathEdge, Place, Relation, Relations, Site, SystemState, ThreadFrame,
    Unrolling, Witness,
};
pub use cutoff::CutoffEvidence;
pub use formula::{Formulas, Gate, Literal};
pub use net::{FiringSequence, NetCertificate, NetVerdict};
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
    /// A question that the engine could not answer, in words.
    GaveUp(String),
    /// Stacks grow without a bound in a program with threads.
    UnboundedRecursion {
        /// A procedure that takes part.
        procedure: String,
    },
    /// The proof is larger than what is checked.
    TooLargeToCheck {
        /// What there is too much of.
        what: &'static str,
        /// The most that is checked.
        limit: usize,
    },
    /// The program starts threads, and the engine is for sequential ones.
    SequentialOnly {
        /// The engine.
        engine: &'static str,
    },
    /// The decision diagrams do not fit their tables.
    DiagramsFull {
        /// Nodes that the tables hold.
        nodes: usize,
    },
    /// The program is recursive, and the engine is for programs that are not.
    Recursive {
        /// Its name.
        engine: &'static str,
        /// A procedure that takes part.
        procedure: String,
    },
    /// The program is too large when all calls are inlined.
    TooLargeInlined {
        /// What there is too much of.
        what: &'static str,
        /// How much of it.
        count: String,
        /// The most that the engine takes.
        limit: usize,
    },
    /// Longer paths would have to be unrolled than the user allows.
    DepthBound {
        /// The most blocks on a path.
        bound: u32,
    },
    /// Recursive calls would have to be nested deeper than the user allows.
    RecursionBound {
        /// The most that are nested.
        bound: u32,
    },
    /// A target can be covered if zero tests are ignored, and nothing is known if they are not.
    ZeroTests,
    /// The number of tokens has no bound, and the engine needs one to finish.
    UnboundedTokens,
    /// A number of tokens does not fit 64 bits.
    TooManyTokens,
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
            Self::GaveUp(what) => f.write_str(what),
            Self::UnboundedRecursion { procedure } => {
                write!(f, "`{procedure}` is recursive in a program with threads")
            }
            Self::TooLargeToCheck { what, limit } => {
                write!(f, "the proof speaks of more than {limit} {what}, and more are not checked")
            }
            Self::SequentialOnly { engine } => {
                write!(f, "the program starts threads, and the {engine} engine is for sequential programs")
            }
            Self::DiagramsFull { nodes } => {
                write!(f, "the decision diagrams need more than {nodes} nodes")
            }
            Self::Recursive { engine, procedure } => {
                write!(
                    f,
                    "`{procedure}` is recursive, and the {engine} engine takes programs without recursion"
                )
            }
            Self::TooLargeInlined { what, count, limit } => {
                write!(f, "with all calls inlined the program has {count} {what}, and {limit} is the most")
            }
            Self::DepthBound { bound } => {
                write!(f, "a proof needs paths of more than {bound} unrolled blocks")
            }
            Self::RecursionBound { bound } => {
                write!(f, "a proof needs more than {bound} nested recursive calls")
            }
            Self::ZeroTests => f.write_str(
                "a target can be covered if guards with `=` and `in` are weakened to `>=`, and no run that \
                 obeys them was found",
            ),
            Self::UnboundedTokens => {
                f.write_str("there may be arbitrarily many tokens, and the engine needs a bound")
            }
            Self::TooManyTokens => f.write_str("a number of tokens does not fit 64 bits"),
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
            Self::UnboundedTokens => Some("choose an engine for any number of tokens with `--engine`"),
            Self::GaveUp(_) => {
                Some("try another engine with `--engine`, or all of them with `--engine auto`")
            }
            Self::SequentialOnly { .. } => Some("let `--engine auto` choose one"),
            Self::DiagramsFull { .. } => {
                Some("give it more memory with `--memory MB`, or choose another engine with `--engine`")
            }
            Self::Recursive { .. } | Self::TooLargeInlined { .. } => {
                Some("let `--engine auto` choose one that takes it")
            }
            Self::DepthBound { .. } => Some("allow longer paths with `--depth N`, or leave the option out"),
            Self::RecursionBound { .. } => {
                Some("allow deeper recursion with `--recursion N`, or leave the option out")
            }
            Self::Interrupted
            | Self::TooManyVariables { .. }
            | Self::UnboundedRecursion { .. }
            | Self::TooLargeToCheck { .. }
            | Self::ZeroTests
            | Self::TooManyTokens => None,
        }
    }
}
