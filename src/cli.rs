//! The command line: options, exit codes, and what is written where.
//!
//! Standard output carries the verdict on its first line and nothing that a pipe would not want;
//! warnings, notes and errors go to standard error.

mod check;
mod cover;
mod cutoff;
mod engines;
mod fmt;
mod interrupt;
mod options;
mod outfile;
mod replay;
mod session;
mod shared;
mod solver_args;
mod solvers;
mod tally;

use std::ffi::OsString;

use clap::Parser;

use crate::check::Options;
use crate::cover as cover_options;
use crate::report::output::Output;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The property holds.
    Safe,
    /// There is a run that violates it.
    Unsafe,
    /// Neither is known.
    Unknown,
    /// An input cannot be used.
    BadInput,
    /// The command line makes no sense.
    Usage,
    /// A bug in Cusp, or an answer that could not be written.
    Internal,
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl Status {
    /// All of them, the mildest first. Of several files, the worst decides.
    pub const ALL: [Self; 7] = [
        Self::Safe,
        Self::Unknown,
        Self::Unsafe,
        Self::BadInput,
        Self::Internal,
        Self::Interrupted,
        Self::Usage,
    ];

    /// The exit code of the process; `tests/cli.rs` compares the table in `README.md` with it.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Safe => 0,
            Self::BadInput => 1,
            Self::Usage => 2,
            Self::Unknown => 5,
            Self::Internal => 6,
            Self::Unsafe => 10,
            Self::Interrupted => 130,
        }
    }

    /// In a word or two, as in the table in `README.md`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::BadInput => "bad input",
            Self::Usage => "usage",
            Self::Unknown => "unknown",
            Self::Internal => "internal error",
            Self::Unsafe => "unsafe",
            Self::Interrupted => "interrupted",
        }
    }

    /// The worse of two.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        let rank = |status| Self::ALL.iter().position(|&s| s == status);
        if rank(other) > rank(self) { other } else { self }
    }
}

/// What options of `cusp check` ask of a program, such as `--dialect boppo --label L`; the corpus
/// writes them down like this.
///
/// # Errors
/// What is wrong with them.
pub fn parse_check_options(text: &str) -> Result<Options, String> {
    let words = ["cusp", "check"].into_iter().chain(text.split_whitespace()).chain(["-"]);
    match options::Args::try_parse_from(words).map_err(|error| error.to_string())?.command {
        options::Command::Check(args) => Ok(args.options()),
        _ => Err("these are options of another command".to_owned()),
    }
}

/// What options of `cusp cover` ask of a net, such as `--initial 0|0`.
///
/// # Errors
/// What is wrong with them.
pub fn parse_cover_options(text: &str) -> Result<cover_options::Options, String> {
    let words = ["cusp", "cover"].into_iter().chain(text.split_whitespace()).chain(["-"]);
    match options::Args::try_parse_from(words).map_err(|error| error.to_string())?.command {
        options::Command::Cover(args) => Ok(args.options()),
        _ => Err("these are options of another command".to_owned()),
    }
}

/// Runs the tool. `leave_at_once` ends the process; it is called from another thread when the
/// user presses Ctrl-C and there is nothing to wait for.
pub fn run(args: impl IntoIterator<Item = OsString>, leave_at_once: fn()) -> Status {
    let args = match options::Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Help that nobody reads is not an error.
            let _ = error.print();
            return if error.use_stderr() { Status::Usage } else { Status::Safe };
        }
    };
    let mut output = Output::default();
    let status = match args.command {
        options::Command::Check(args) => check::run(&args, &mut output, leave_at_once),
        options::Command::Replay(args) => replay::run(&args, &mut output, leave_at_once),
        options::Command::Cover(args) => cover::run(&args, &mut output, leave_at_once),
        options::Command::Cutoff(args) => cutoff::run(&args, &mut output, leave_at_once),
        options::Command::Engines(args) => engines::run(&args, &mut output, leave_at_once),
        options::Command::Fmt(args) => fmt::run(&args, &mut output, leave_at_once),
        options::Command::Solvers(args) => solvers::run(&args, &mut output),
    };
    match output.failure() {
        Some(error) => {
            let message = format!("error: cannot write to standard output: {error}\n");
            output.message(&message);
            status.or_worse(Status::Internal)
        }
        None => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_status_decides_in_the_documented_order() {
        let order = [Status::Internal, Status::BadInput, Status::Unsafe, Status::Unknown, Status::Safe];
        for (i, worse) in order.into_iter().enumerate() {
            for milder in order.into_iter().skip(i) {
                assert_eq!(worse.or_worse(milder), worse);
                assert_eq!(milder.or_worse(worse), worse);
                assert_eq!(worse.or_worse(Status::Interrupted), Status::Interrupted);
            }
        }
    }
}
