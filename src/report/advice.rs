//! Advice on what the user can do when the verdict is `unknown`, in terms of command line options.

use crate::reason::Reason;

/// The advice for a reason; `None` if there is nothing that the user can do.
#[must_use]
pub fn advice(reason: &Reason) -> Option<&'static str> {
    match reason {
        Reason::Timeout(_) => Some("give it more time with `--timeout SECONDS`"),
        Reason::Memory { .. } => Some("give it more memory with `--memory MB`"),
        Reason::UnboundedThreads => Some("bound the number of threads that live at once with `--threads N`"),
        Reason::UnboundedTokens => Some("choose an engine for any number of tokens with `--engine`"),
        Reason::GaveUp(_) => Some("try another engine with `--engine`, or all of them with `--engine auto`"),
        Reason::SequentialOnly { .. } | Reason::ThreadsOnly { .. } | Reason::AnyNumberOnly { .. } => {
            Some("let `--engine auto` choose one")
        }
        Reason::DiagramsFull { .. } => {
            Some("give it more memory with `--memory MB`, or choose another engine with `--engine`")
        }
        Reason::Recursive { .. } | Reason::TooLargeInlined { .. } => {
            Some("let `--engine auto` choose one that takes it")
        }
        Reason::DepthBound { .. } => Some("allow longer paths with `--depth N`, or leave the option out"),
        Reason::RecursionBound { .. } => {
            Some("allow deeper recursion with `--recursion N`, or leave the option out")
        }
        Reason::SwitchBound { .. } => {
            Some("allow more context switches with `--switches N`, or leave the option out")
        }
        Reason::UnboundedRecursion { .. } => Some(
            "cut off calls that nest more than K times with `--unwind K`: that finds violations, but proves nothing",
        ),
        Reason::Unwound { .. } => Some("allow deeper calls with `--unwind K`"),
        Reason::EngineFailed { .. } => {
            Some("try another engine with `--engine`, and please report this as a bug")
        }
        Reason::Interrupted
        | Reason::TooManyVariables { .. }
        | Reason::TooLargeToCheck { .. }
        | Reason::ZeroTests
        | Reason::TooManyTokens => None,
    }
}
