//! Checks certificates again: one SAT call with a fresh solver and fresh clauses.
//!
//! Nothing of the solver that made the certificate is used: for every vector the matrix is built again in a fresh
//! arena, with the terms substituted for the existential variables, and encoded into a fresh solver. Building one
//! copy of the matrix in clauses for each vector would need no substitution, but loses the sharing between the
//! copies: 500 vectors over 400 variables then took minutes instead of a second.

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Polarity, Term, TermArena, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use super::scratch::copy_terms;
use super::{QbfAnswer, Question};
use crate::cadical::CadicalSolver;
use crate::sat::{Answer, ClauseSink, Limits, SatSolver, UnknownReason};

/// Whether the proof of the SAT call is checked as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proofs {
    /// The SAT solver is trusted.
    Trusted,
    /// Every step of the SAT solver is checked by [`crate::proof`].
    Checked,
}

/// Why a certificate was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The answer is unknown, or true without a witness.
    #[error("the answer has no certificate")]
    Missing,
    /// A vector or a list of values has the wrong length.
    #[error("{found} values are given for {expected} variables")]
    Length {
        /// The number of variables of the question.
        expected: usize,
        /// The number of values in the certificate.
        found: usize,
    },
    /// A term of a witness depends on a variable that is not universal.
    #[error("a term of the witness depends on `{0}`, which is not universal")]
    NotUniversal(VarId),
    /// None of the vectors is a witness for these values of the universal variables.
    #[error("there are values for which no vector of the witness works")]
    Uncovered(Vec<bool>),
    /// The counterexample is wrong: there are existential values for it.
    #[error("the counterexample has a witness")]
    HasWitness(Vec<bool>),
    /// The SAT solver did not decide.
    #[error("the check did not finish: {0}")]
    Undecided(UnknownReason),
}

/// Accepts an answer if its certificate proves it.
///
/// # Errors
/// If there is no certificate, if it is not well-formed, if it does not prove the answer, or if the SAT solver did
/// not decide within `limits`.
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

fn check_terms(
    arena: &TermArena,
    question: &Question,
    vectors: &[Vec<Term>],
) -> Result<(), CertificateError> {
    let universal: FxHashSet<_> = question.universal.iter().copied().collect();
    for vector in vectors {
        check_length(question.existential.len(), vector.len())?;
        if let Some(foreign) = arena.support(vector).into_iter().find(|var| !universal.contains(var)) {
            return Err(CertificateError::NotUniversal(foreign));
        }
    }
    Ok(())
}

/// Asserts that no vector is a witness, and returns the literals of the universal variables.
fn encode_witness(
    arena: &TermArena,
    question: &Question,
    vectors: &[Vec<Term>],
    solver: &mut CadicalSolver,
) -> Vec<Lit> {
    let (mut fresh, mut encoder) = (TermArena::new(), CnfEncoder::new(CnfStyle::Tseitin));
    for vector in vectors {
        let terms = copy_terms(arena, vector, &mut fresh, TermArena::var);
        let images: FxHashMap<VarId, Term> = question.existential.iter().copied().zip(terms).collect();
        let matrix = copy_terms(arena, &[question.matrix], &mut fresh, |fresh, var| {
            images.get(&var).copied().unwrap_or_else(|| fresh.var(var))
        })[0];
        encoder.assert_term(&fresh, !matrix, solver);
    }
    inputs(&fresh, &question.universal, &mut encoder, solver)
}

/// The literals of variables; a variable that the arena does not have gets a literal without constraints.
fn inputs(
    arena: &TermArena,
    vars: &[VarId],
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

fn read(solver: &CadicalSolver, lits: &[Lit]) -> Vec<bool> {
    lits.iter().map(|&lit| solver.value(lit)).collect()
}
