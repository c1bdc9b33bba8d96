//! Interrupted solves leave nothing behind. A program of its own, because it looks at the whole process.

#![cfg(target_os = "linux")]

#[path = "common/pigeon.rs"]
mod pigeon;

use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cusp_solvers::cadical::CadicalSolver;
use cusp_solvers::external_sat::ExternalSat;
use cusp_solvers::interrupt::Interrupt;
use cusp_solvers::process::Program;
use cusp_solvers::sat::{Answer, Limits, SatSolver, UnknownReason};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::pigeon::pigeon_hole;

/// A number from the status of this process.
fn status(key: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find(|line| line.starts_with(key)).expect("a known key");
    line.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").expect("Linux has it").count()
}

/// Solves and interrupts from another thread, again and again.
fn interrupted_solves(times: u32, mut solver: impl FnMut(u32) -> Box<dyn SatSolver>) {
    let (started, starts) = mpsc::channel::<Interrupt>();
    let requester = thread::spawn(move || {
        for interrupt in starts {
            thread::sleep(Duration::from_millis(1));
            interrupt.request();
        }
    });
    for round in 0..times {
        let mut solver = solver(round);
        started.send(solver.interrupt()).expect("the requester listens");
        assert_eq!(solver.solve(&[], &Limits::NONE), Answer::Unknown(UnknownReason::Interrupted));
    }
    drop(started);
    requester.join().expect("the requester does not panic");
}

fn with_pigeons(mut solver: impl SatSolver + 'static) -> Box<dyn SatSolver> {
    for clause in pigeon_hole(12) {
        solver.add_clause(&clause);
    }
    Box::new(solver)
}

#[test]
fn a_thousand_interrupted_solves_leak_nothing() {
    let cadical = |round| {
        with_pigeons(if round % 2 == 0 { CadicalSolver::new() } else { CadicalSolver::with_proof_check() })
    };
    let hanging = |_| {
        let program = Program::new(env!("CARGO_BIN_EXE_fake-solver")).argument("hang");
        with_pigeons(ExternalSat::new(program))
    };
    interrupted_solves(100, cadical);
    interrupted_solves(10, hanging);
    let (threads, files, memory) = (status("Threads:"), open_files(), status("VmRSS:"));
    interrupted_solves(900, cadical);
    interrupted_solves(90, hanging);
    assert_eq!(status("Threads:"), threads);
    assert_eq!(open_files(), files);
    // One solver with these clauses takes about a megabyte; a thousand of them would be seen.
    let grown = status("VmRSS:").saturating_sub(memory);
    assert!(grown < 32 * 1024, "{grown} kB more than before");
    let any_child =
        waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
    assert!(any_child.is_err(), "a child is left: {any_child:?}");
}
