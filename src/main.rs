//! The command line tool: see [`cusp::cli`].

use std::panic::catch_unwind;
use std::process::ExitCode;

use cusp::cli::{self, Status};

fn main() -> ExitCode {
    limit_worker_stacks();
    // What went wrong was printed when it happened.
    let status = catch_unwind(|| cli::run(std::env::args_os(), leave_at_once));
    ExitCode::from(status.unwrap_or(Status::Internal).code())
}

/// The library of decision diagrams reserves 1 GiB of address space for the stack of every worker thread, unless the
/// environment says otherwise. The workers have hardly anything to do, since operations run on the thread of the engine,
/// and where address space is limited there is no room for such stacks.
#[expect(unsafe_code, reason = "there is no other way to set the environment")]
fn limit_worker_stacks() {
    const NAME: &str = "OXIDD_STACK_SIZE";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: this is the only thread of the process.
        unsafe { std::env::set_var(NAME, (4 << 20).to_string()) }
    }
}

/// The second Ctrl-C does not wait for anything.
#[expect(clippy::exit, reason = "no other thread can be asked to end at once")]
fn leave_at_once() {
    std::process::exit(i32::from(Status::Interrupted.code()))
}
