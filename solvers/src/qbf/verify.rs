//! Re-checking certificates: one SAT call with a fresh solver and fresh clauses.
//!
//! Nothing of the solver that made the certificate is used, not even substitution: a copy of the matrix per
//! vector is encoded with clauses of its own, and its existential inputs are tied to the literals of the terms.

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Polarity, Term, TermArena};
use rustc_hash::FxHashSet;
use thiserror::Error;

use super::{QbfAnswer, Question};
use crate::cadical::CadicalSolver;
use crate::sat::{Answer, ClauseSink, Limits, SatSolver, UnknownReason};

/// Whether the proof of the SAT call is checked as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proofs {
    /// The SAT solver is believed.
    Trusted,
    /// Every step of the SAT solver is checked by [`crate::proof`].
    Checked,
}

/// Why a certificate is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The answer is unknown, or true without a witness.
    #[error("the answer has no certificate")]
    Missing,
    /// A vector or a list of values has the wrong length.
    #[error("{found} values are given for {expected} variables")]
    Length {
        /// Variables of the question.
        expected: usize,
        /// Values of the certificate.
        found: usize,
    },
    /// A witness uses something else than universal variables.
    #[error("a term of the witness depends on `{0}`, which is not universal")]
    NotUniversal(cusp_encodings::VarId),
    /// None of the vectors is a witness for these values of the universal variables.
    #[error("there are values for which no vector of the witness works")]
    Uncovered(Vec<bool>),
    /// The counterexample is none.
    #[error("the counterexample has a witness")]
    HasWitness(Vec<bool>),
    /// The SAT solver did not decide.
    #[error("the check did not finish: {0}")]
    Undecided(UnknownReason),
}

/// Accepts an answer if its certificate shows it.
///
/// # Errors
/// If there is no certificate, if it is not well-formed, if it does not show the answer, or if the SAT solver
/// did not decide within `limits`.
pub fn verify(
    arena: &TermArena,
    question: &Question,
    answer: &QbfAnswer,
    proofs: Proofs,
    limits: &Limits,
) -> Result<(), CertificateError> {
    let mut solver = match proofs {
        Proofs::Trusted => CadicalSolver::new(),
        Proofs::Checked => CadicalSolver::with_proof_check(),
    };
    match answer {
        QbfAnswer::True(Some(witness)) => {
            check_terms(arena, question, &witness.vectors)?;
            let universal = encode_witness(arena, question, &witness.vectors, &mut solver);
            match solver.solve(&[], limits) {
                Answer::Unsat => Ok(()),
                Answer::Sat => Err(CertificateError::Uncovered(read(&solver, &universal))),
                Answer::Unknown(reason) => Err(CertificateError::Undecided(reason)),
            }
        }
        QbfAnswer::False(counterexample) => {
            check_length(question.universal.len(), counterexample.values.len())?;
            let mut encoder = CnfEncoder::new(CnfStyle::Tseitin);
            let universal = inputs(arena, &question.universal, &mut encoder, &mut solver);
            let existential = inputs(arena, &question.existential, &mut encoder, &mut solver);
            for (&lit, &value) in universal.iter().zip(&counterexample.values) {
                solver.add_clause(&[if value { lit } else { !lit }]);
            }
            encoder.assert_term(arena, question.matrix, &mut solver);
            match solver.solve(&[], limits) {
                Answer::Unsat => Ok(()),
                Answer::Sat => Err(CertificateError::HasWitness(read(&solver, &existential))),
                Answer::Unknown(reason) => Err(CertificateError::Undecided(reason)),
            }
        }
        QbfAnswer::True(None) | QbfAnswer::Unknown(_) => Err(CertificateError::Missing),
    }
}

fn check_length(expected: usize, found: usize) -> Result<(), CertificateError> {
    if expected == found { Ok(()) } else { Err(CertificateError::Length { expected, found }) }
}

fn check_terms(arena: &TermArena, question: &Question, vectors: &[Vec<Term>]) -> Result<(), CertificateError> {
    let universal: FxHashSet<_> = question.universal.iter().copied().collect();
    for vector in vectors {
        check_length(question.existential.len(), vector.len())?;
        if let Some(foreign) = arena.support(vector).into_iter().find(|var| !universal.contains(var)) {
            return Err(CertificateError::NotUniversal(foreign));
        }
    }
    Ok(())
}

/// Asserts that no vector is a witness; returns the literals of the universal variables.
fn encode_witness(
    arena: &TermArena,
    question: &Question,
    vectors: &[Vec<Term>],
    solver: &mut CadicalSolver,
) -> Vec<Lit> {
    let mut terms = CnfEncoder::new(CnfStyle::Tseitin);
    let universal = inputs(arena, &question.universal, &mut terms, solver);
    for vector in vectors {
        let mut copy = CnfEncoder::new(CnfStyle::Tseitin);
        let copied = inputs(arena, &question.universal, &mut copy, solver);
        for (&mine, &theirs) in universal.iter().zip(&copied) {
            equate(mine, theirs, solver);
        }
        let existential = inputs(arena, &question.existential, &mut copy, solver);
        for (&input, &term) in existential.iter().zip(vector) {
            let value = terms.encode(arena, term, Polarity::Both, solver);
            equate(input, value, solver);
        }
        copy.assert_term(arena, !question.matrix, solver);
    }
    universal
}

/// The literals of variables; a variable that the arena does not know gets one that nothing constrains.
fn inputs(
    arena: &TermArena,
    vars: &[cusp_encodings::VarId],
    encoder: &mut CnfEncoder,
    solver: &mut CadicalSolver,
) -> Vec<Lit> {
    vars.iter()
        .map(|&var| match arena.find_var(var) {
            Some(term) => encoder.encode(arena, term, Polarity::Both, solver),
            None => solver.new_var().pos_lit(),
        })
        .collect()
}

fn equate(a: Lit, b: Lit, solver: &mut CadicalSolver) {
    solver.add_clause(&[!a, b]);
    solver.add_clause(&[a, !b]);
}

fn read(solver: &CadicalSolver, lits: &[Lit]) -> Vec<bool> {
    lits.iter().map(|&lit| solver.value(lit)).collect()
}
