//! How soon a solve ends after it was asked to, and what checking proofs costs.
//!
//! `cargo bench -p cusp-solvers` prints one CSV line per family: microseconds from the request to the return of
//! `solve` (median and worst), or of a whole solve.

#[path = "../tests/common/pigeon.rs"]
mod pigeon;
#[path = "../tests/common/random.rs"]
mod random;

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use cusp_solvers::cadical::CadicalSolver;
use cusp_solvers::external_sat::ExternalSat;
use cusp_solvers::process::Program;
use cusp_solvers::sat::{Answer, Limits, SatSolver, UnknownReason};
use rustsat::types::Lit;

use crate::pigeon::pigeon_hole;
use crate::random::Rng;

type Make = fn() -> Box<dyn SatSolver>;

const ADAPTERS: [(&str, Make); 3] = [
    ("cadical", || Box::new(CadicalSolver::new())),
    ("cadical, proofs checked", || Box::new(CadicalSolver::with_proof_check())),
    ("external", || {
        let program = Program::new(env!("CARGO_BIN_EXE_fake-solver")).argument("honest");
        Box::new(ExternalSat::new(program))
    }),
];

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "family,n,adapter,runs,median_us,worst_us")?;
    let mut random = Rng(1);
    let large = (0..840_000).map(|_| random.clause3(200_000)).collect();
    let families =
        [("pigeon hole", 12, pigeon_hole(12), 200, 25), ("random 3-SAT", 200_000, large, 12, 4_000)];
    for (family, n, clauses, runs, longest) in families {
        for (adapter, make) in ADAPTERS {
            let latencies =
                (0..runs).map(|run| interrupt(make, &clauses, longest * (run + 1) / runs)).collect();
            report(&mut out, &format!("interrupt {family}"), n, adapter, latencies)?;
        }
    }
    for n in [7, 8] {
        for (adapter, make) in &ADAPTERS[..2] {
            let times = (0..5).map(|_| refute(*make, &pigeon_hole(n))).collect();
            report(&mut out, "refute pigeon hole", n, adapter, times)?;
        }
    }
    Ok(())
}

fn report(
    out: &mut impl Write,
    family: &str,
    n: u32,
    adapter: &str,
    mut times: Vec<Duration>,
) -> io::Result<()> {
    times.sort_unstable();
    let (median, worst) = (times[times.len() / 2].as_micros(), times[times.len() - 1].as_micros());
    writeln!(out, "{family},{n},\"{adapter}\",{},{median},{worst}", times.len())
}

fn load(make: Make, clauses: &[Vec<Lit>]) -> Box<dyn SatSolver> {
    let mut solver = make();
    for clause in clauses {
        solver.add_clause(clause);
    }
    solver
}

/// Time from a request, `after` so many milliseconds of solving, to the return of `solve`.
fn interrupt(make: Make, clauses: &[Vec<Lit>], after: u64) -> Duration {
    let mut solver = load(make, clauses);
    let interrupt = solver.interrupt();
    let (sender, times) = mpsc::channel();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(after));
        let requested = Instant::now();
        interrupt.request();
        sender.send(requested)
    });
    let answer = solver.solve(&[], &Limits::NONE);
    let returned = Instant::now();
    assert_eq!(answer, Answer::Unknown(UnknownReason::Interrupted));
    let requested = times.recv().expect("the requester sends the time");
    other.join().expect("the requester does not panic").expect("the time is received");
    returned - requested
}

/// Time to refute `clauses`.
fn refute(make: Make, clauses: &[Vec<Lit>]) -> Duration {
    let start = Instant::now();
    assert_eq!(load(make, clauses).solve(&[], &Limits::NONE), Answer::Unsat);
    start.elapsed()
}
