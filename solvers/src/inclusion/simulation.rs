//! Tests random states of the smaller set for membership in the larger one.
//!
//! Most sets that are not included differ in most of their states, and whether a given state is in the larger set is
//! an easy SAT query. So a few states are tried with few conflicts before anything else. 64 choices are simulated at
//! a time; if none of them makes the guard true, a SAT call finds such a choice or shows that the set is empty.

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Polarity, Term, VarId, random_word};

use super::Verdict;
use super::pose::Posed;
use crate::cadical::CadicalSolver;
use crate::interrupt::Interrupt;
use crate::sat::{Answer, Limits, SatSolver, UnknownReason};

/// The number of states that are tried.
const STATES: usize = 3;
/// The limit of conflicts for each of them.
const CONFLICTS: u64 = 200;
const SEED: u64 = 0x5EED;

/// Answers "not included" if it finds a state of the smaller set that is not in the larger one, and "included" if the
/// smaller set is empty.
pub(super) fn decide(
    posed: &mut Posed,
    limits: &Limits,
    interrupt: &Interrupt,
    sat_calls: &mut u64,
) -> Result<Option<Verdict>, UnknownReason> {
    let mut states = random_states(posed);
    if states.is_empty() {
        *sat_calls += 1;
        match posed.find_universal(Term::TRUE, limits, interrupt)? {
            Some(values) => states.push(values),
            // The smaller set is empty, so any choices of the larger set form a witness.
            None => return Ok(Some(Verdict::Included(vec![vec![Term::FALSE; posed.existential.len()]]))),
        }
    }
    let mut solver = CadicalSolver::new();
    solver.share_interrupt(interrupt);
    let mut encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
    encoder.assert_term(&posed.arena, posed.larger.guard, &mut solver);
    let outputs: Vec<Lit> = posed
        .larger
        .values
        .iter()
        .map(|&value| encoder.encode(&posed.arena, value, Polarity::Both, &mut solver))
        .collect();
    for values in states {
        let word = |var: VarId| if values[var.index()] { u64::MAX } else { 0 };
        let state = posed.arena.simulate(&posed.smaller.values, word);
        let assumptions: Vec<Lit> =
            outputs.iter().zip(state).map(|(&lit, word)| if word & 1 == 1 { lit } else { !lit }).collect();
        *sat_calls += 1;
        let most = limits.conflicts.map_or(CONFLICTS, |most| most.min(CONFLICTS));
        let limits = Limits { conflicts: Some(most), ..limits.clone() };
        match solver.solve(&assumptions, &limits) {
            Answer::Unsat => return Ok(Some(Verdict::NotIncluded(values))),
            Answer::Sat | Answer::Unknown(UnknownReason::ConflictLimit | UnknownReason::DecisionLimit) => {}
            Answer::Unknown(reason) => return Err(reason),
        }
    }
    Ok(None)
}

/// Choices that make the guard true, from 64 simulated ones.
fn random_states(posed: &Posed) -> Vec<Vec<bool>> {
    let word = |var: VarId| random_word(SEED, var);
    let guard = posed.arena.simulate(&[posed.smaller.guard], word)[0];
    let lanes = (0..64).filter(|lane| guard >> lane & 1 == 1).take(STATES);
    let value = |lane: u32, number: usize| word(VarId::from_index(number)) >> lane & 1 == 1;
    lanes.map(|lane| (0..posed.universal.len()).map(|number| value(lane, number)).collect()).collect()
}
