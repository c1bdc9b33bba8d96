//! The command line tool: see [`cusp::cli`].

use std::panic::catch_unwind;
use std::process::ExitCode;

use cusp::cli::{self, Status};

fn main() -> ExitCode {
    // What went wrong was printed when it happened.
    let status = catch_unwind(|| cli::run(std::env::args_os(), leave_at_once));
    ExitCode::from(status.unwrap_or(Status::Internal).code())
}

/// The second Ctrl-C does not wait for anything.
#[expect(clippy::exit, reason = "no other thread can be asked to end at once")]
fn leave_at_once() {
    std::process::exit(i32::from(Status::Interrupted.code()))
}
