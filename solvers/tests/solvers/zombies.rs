//! External SAT programs that hang: they are killed with their children, and no zombie is left.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cusp_solvers::external_sat::ExternalSat;
use cusp_solvers::sat::{Answer, ClauseSink, Limits, SatSolver, UnknownReason};
use rustsat::types::Lit;

use crate::fake;

/// Runs `mode` with two processes until `stop` ends it, and sees both of them gone.
fn ends_without_trace(mode: &str, stop: impl FnOnce(&mut ExternalSat, &Path) -> Answer) -> Answer {
    let directory = tempfile::tempdir().expect("a directory for the process ids");
    let pids = directory.path().join("pids");
    let mut solver = ExternalSat::new(fake(mode).argument("--pids").argument(&pids));
    solver.add_clause(&[Lit::positive(0)]);
    let answer = stop(&mut solver, &pids);
    let ids = process_ids(&pids);
    assert_eq!(ids.len(), 2);
    assert!(!Path::new("/proc").join(&ids[0]).exists(), "{mode} left a zombie");
    // The grandchild was killed with its group; whoever inherits it reaps it.
    while is_running(&ids[1]) {
        thread::sleep(Duration::from_millis(1));
    }
    answer
}

fn process_ids(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn is_running(id: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(id).join("stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_hanging_program_is_killed_with_its_children_at_the_deadline() {
    let answer = ends_without_trace("hang-with-child", |solver, pids| {
        let mut patience = Duration::from_millis(50);
        loop {
            let deadline = Some(Instant::now() + patience);
            let answer = solver.solve(&[], &Limits { deadline, ..Limits::NONE });
            // On a busy machine the program may not even have started in time.
            if process_ids(pids).len() == 2 {
                return answer;
            }
            patience *= 2;
        }
    });
    assert_eq!(answer, Answer::Unknown(UnknownReason::Deadline));
}

#[test]
fn a_hanging_program_is_killed_with_its_children_on_interrupt() {
    let answer = ends_without_trace("hang-with-child", |solver, pids| {
        let (interrupt, pids) = (solver.interrupt(), pids.to_owned());
        let requester = thread::spawn(move || {
            while process_ids(&pids).len() < 2 {
                thread::sleep(Duration::from_millis(1));
            }
            interrupt.request();
        });
        let answer = solver.solve(&[], &Limits::NONE);
        requester.join().expect("the requester does not panic");
        answer
    });
    assert_eq!(answer, Answer::Unknown(UnknownReason::Interrupted));
}

#[test]
fn a_child_that_keeps_the_pipe_open_delays_nothing() {
    let answer = ends_without_trace("honest-with-child", |solver, _| solver.solve(&[], &Limits::NONE));
    assert_eq!(answer, Answer::Sat);
}
