//! Interrupts of one long-lived solver.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cusp_solvers::cadical::CadicalSolver;
use cusp_solvers::sat::{Answer, ClauseSink, Limits, SatSolver, UnknownReason};

use crate::pigeon::pigeon_hole;

#[test]
fn one_solver_survives_a_thousand_interrupts() {
    let mut solver = CadicalSolver::new();
    for clause in pigeon_hole(12) {
        solver.add_clause(&clause);
    }
    let interrupt = solver.interrupt();
    let (done, is_done) = mpsc::channel::<()>();
    let requester = thread::spawn(move || {
        while is_done.recv_timeout(Duration::from_millis(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
            interrupt.request();
        }
    });
    for _ in 0..1000 {
        assert_eq!(solver.solve(&[], &Limits::NONE), Answer::Unknown(UnknownReason::Interrupted));
        solver.interrupt().clear();
    }
    drop(done);
    requester.join().expect("the requester does not panic");
    solver.interrupt().clear();
    solver.add_clause(&[]);
    assert_eq!(solver.solve(&[], &Limits::NONE), Answer::Unsat);
}
