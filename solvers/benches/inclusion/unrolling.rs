//! One solver for a growing unrolling against a new solver for every query.

use std::io::{self, Write};

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, TermArena};
use cusp_solvers::{Answer, CadicalSolver, Limits, SatSolver};

use crate::measure::cpu_time;

const QUERIES: usize = 1_000;
const BITS: usize = 24;

/// Registers with feedback and one input per step.
fn step(arena: &mut TermArena, state: &[Term]) -> Vec<Term> {
    let input = arena.fresh();
    let mut next = Vec::with_capacity(state.len());
    for i in 0..state.len() {
        let neighbour = state[(i + 1) % state.len()];
        let far = arena.and(state[(i + 5) % state.len()], !state[(i + 11) % state.len()]);
        let mixed = if i % 6 == 0 { arena.xor(input, far) } else { far };
        next.push(arena.xor(neighbour, mixed));
    }
    next
}

/// The query of a step: a pattern in the lower half of the state.
fn pattern(arena: &mut TermArena, state: &[Term], number: usize) -> Term {
    let bits = (0..8).map(|i| state[i].complement_if(number.wrapping_mul(37) >> i & 1 == 0));
    let bits: Vec<Term> = bits.collect();
    arena.and_all(bits)
}

/// Prints the times of both and their ratio.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    let mut arena = TermArena::new();
    let mut state = vec![Term::FALSE; BITS];
    let mut queries = Vec::with_capacity(QUERIES);
    for number in 0..QUERIES {
        state = step(&mut arena, &state);
        queries.push(pattern(&mut arena, &state, number));
    }

    let start = cpu_time();
    let mut solver = CadicalSolver::new();
    let mut encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
    let mut answers = Vec::with_capacity(QUERIES);
    for &query in &queries {
        let lit = encoder.encode(&arena, query, Polarity::Positive, &mut solver);
        answers.push(solver.solve(&[lit], &Limits::NONE) == Answer::Sat);
    }
    let incremental = cpu_time().saturating_sub(start);

    let start = cpu_time();
    for (&query, &expected) in queries.iter().zip(&answers) {
        let mut solver = CadicalSolver::new();
        let mut encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
        let lit = encoder.encode(&arena, query, Polarity::Positive, &mut solver);
        let answer = solver.solve(&[lit], &Limits::NONE) == Answer::Sat;
        assert_eq!(answer, expected, "a new solver disagrees with the incremental one");
    }
    let rebuilt = cpu_time().saturating_sub(start);

    let reachable = answers.iter().filter(|&&answer| answer).count();
    for (solver, time) in [("incremental", incremental), ("rebuilt", rebuilt)] {
        let time = time.as_secs_f64() * 1e3;
        writeln!(out, "unrolling,registers,{BITS},{QUERIES},{solver},{reachable} sat,,{time:.2}")?;
    }
    let ratio = rebuilt.as_secs_f64() / incremental.as_secs_f64();
    writeln!(out, "summary,unrolling,{BITS},{QUERIES},rebuilt/incremental,{ratio:.1},,")
}
