//! The reasons why a verdict is `unknown`, as given by budgets, engines and checkers.
//!
//! Advice on what the user can do about a reason is in `report`.

use std::fmt;
use std::time::Duration;

/// The verdict `unknown`, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The reason.
    pub reason: Reason,
    /// A description of what the engine saw nevertheless. It has not been checked.
    pub seen: Option<String>,
}

impl From<Reason> for Unknown {
    fn from(reason: Reason) -> Self {
        Self { reason, seen: None }
    }
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The time limit of the user is over.
    Timeout(Duration),
    /// The memory limit of the user is used up.
    Memory {
        /// The limit in bytes.
        limit: u64,
    },
    /// The user pressed Ctrl-C.
    Interrupted,
    /// One scope has more variables than the engine can hold.
    TooManyVariables {
        /// The procedure with the largest scope.
        procedure: String,
        /// The number of its globals and locals together.
        count: usize,
        /// The number that the engine can hold.
        limit: usize,
    },
    /// The number of threads has no bound, and the engine needs one to finish.
    UnboundedThreads,
    /// The engine could not answer; the text says why.
    GaveUp(String),
    /// The engine panicked: either there is a bug in Cusp, or the system has no memory or threads left.
    EngineFailed {
        /// The name of the engine.
        engine: &'static str,
        /// The message of the panic.
        message: String,
    },
    /// Stacks grow without bound in a program with threads.
    UnboundedRecursion {
        /// A recursive procedure.
        procedure: String,
    },
    /// The proof is too large to be checked.
    TooLargeToCheck {
        /// The unit that is limited.
        what: &'static str,
        /// The largest number that is checked.
        limit: usize,
    },
    /// The program starts threads, and the engine is for sequential programs.
    SequentialOnly {
        /// The name of the engine.
        engine: &'static str,
    },
    /// The program starts no threads, and the engine is for programs with threads.
    ThreadsOnly {
        /// The name of the engine.
        engine: &'static str,
    },
    /// The number of threads is bounded, and the engine is for any number.
    AnyNumberOnly {
        /// The name of the engine.
        engine: &'static str,
    },
    /// Recursive calls in a program with threads were cut off where the user said.
    Unwound {
        /// A recursive procedure.
        procedure: String,
        /// The largest number of nested calls of one procedure.
        bound: u32,
    },
    /// The decision diagrams do not fit their tables.
    DiagramsFull {
        /// The number of nodes that the tables hold.
        nodes: usize,
    },
    /// The program is recursive, and the engine is for programs without recursion.
    Recursive {
        /// The name of the engine.
        engine: &'static str,
        /// A recursive procedure.
        procedure: String,
    },
    /// The program is too large when all calls are inlined.
    TooLargeInlined {
        /// The unit that is limited.
        what: &'static str,
        /// The number that the program has.
        count: String,
        /// The largest number that the engine accepts.
        limit: usize,
    },
    /// A proof needs longer paths than the user allows.
    DepthBound {
        /// The largest number of blocks on a path.
        bound: u32,
    },
    /// A proof needs more deeply nested recursive calls than the user allows.
    RecursionBound {
        /// The largest number of nested recursive calls.
        bound: u32,
    },
    /// A proof needs runs with more context switches than the user allows.
    SwitchBound {
        /// The largest number of context switches.
        bound: u32,
    },
    /// A target can be covered if zero tests are ignored, and no answer is known if they are obeyed.
    ZeroTests,
    /// The number of tokens has no bound, and the engine needs one to finish.
    UnboundedTokens,
    /// A number of tokens does not fit into 64 bits.
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
                "the program may start arbitrarily many threads, and the engine needs a bound on those that live at once",
            ),
            Self::GaveUp(what) => f.write_str(what),
            Self::EngineFailed { engine, message } => {
                write!(f, "the {engine} engine failed: {}", message.lines().next().unwrap_or_default())
            }
            Self::UnboundedRecursion { procedure } => {
                write!(
                    f,
                    "`{procedure}` is recursive in a program with threads, and no algorithm decides all of these"
                )
            }
            Self::TooLargeToCheck { what, limit } => {
                write!(f, "the proof has more than {limit} {what}, which is too large to be checked")
            }
            Self::SequentialOnly { engine } => {
                write!(f, "the program starts threads, and the {engine} engine is for sequential programs")
            }
            Self::ThreadsOnly { engine } => {
                write!(
                    f,
                    "the program starts no threads, and the {engine} engine is for programs with threads"
                )
            }
            Self::AnyNumberOnly { engine } => {
                write!(f, "the number of threads is bounded, and the {engine} engine is for any number")
            }
            Self::Unwound { procedure, bound } => {
                write!(
                    f,
                    "no violation where calls of `{procedure}` nest at most {bound} times, and deeper ones were cut off"
                )
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
                write!(f, "with all calls inlined the program has {count} {what}, and the limit is {limit}")
            }
            Self::DepthBound { bound } => {
                write!(f, "a proof needs paths of more than {bound} unrolled blocks")
            }
            Self::RecursionBound { bound } => {
                write!(f, "a proof needs more than {bound} nested recursive calls")
            }
            Self::SwitchBound { bound } => {
                write!(f, "no violation with at most {bound} context switches, and runs with more were left out")
            }
            Self::ZeroTests => f.write_str(
                "a target can be covered if guards with `=` and `in` are weakened to `>=`, and no run that \
                 obeys them was found",
            ),
            Self::UnboundedTokens => {
                f.write_str("there may be arbitrarily many tokens, and the engine needs a bound")
            }
            Self::TooManyTokens => f.write_str("a number of tokens does not fit into 64 bits"),
        }
    }
}
