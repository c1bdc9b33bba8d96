//! Why there is no answer: the reasons that budgets, engines and checkers give.
//!
//! What the user can do about a reason is said where answers are printed, in `report`.

use std::fmt;
use std::time::Duration;

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
    /// The engine panicked: a bug in Cusp, or the system has no memory or threads left.
    EngineFailed {
        /// Its name.
        engine: &'static str,
        /// What the panic said.
        message: String,
    },
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
            Self::EngineFailed { engine, message } => {
                write!(f, "the {engine} engine failed: {}", message.lines().next().unwrap_or_default())
            }
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
