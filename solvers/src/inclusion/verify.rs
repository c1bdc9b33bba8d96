//! Checks an answer about inclusion again: the query is built anew, and [`crate::qbf::verify()`] checks the
//! certificate.

use cusp_encodings::{SymbolicState, Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::InclusionAnswer;
use crate::qbf::{self, CertificateError, Counterexample, Proofs, QbfAnswer, Question, Witness, copy_terms};
use crate::sat::Limits;

/// Accepts an answer if its certificate proves it.
///
/// # Errors
/// The errors are those of [`crate::qbf::verify()`].
pub fn verify(
    arena: &TermArena,
    smaller: &SymbolicState,
    larger: &SymbolicState,
    answer: &InclusionAnswer,
    proofs: Proofs,
    limits: &Limits,
) -> Result<(), CertificateError> {
    let mut fresh = TermArena::new();
    let universal = arena.support(&smaller.terms());
    let existential = arena.support(&larger.terms());
    let mine = copy_terms(arena, &smaller.terms(), &mut fresh, TermArena::var);
    // The same choice may occur in both sets; these are two different variables of the query.
    for &var in universal.iter().chain(&existential) {
        fresh.var(var);
    }
    let renamed: Vec<VarId> = existential.iter().map(|_| fresh.fresh_var()).collect();
    let names: FxHashMap<VarId, VarId> = existential.iter().copied().zip(renamed.iter().copied()).collect();
    let theirs = copy_terms(arena, &larger.terms(), &mut fresh, |fresh, var| fresh.var(names[&var]));
    let mut equals = theirs[0];
    for (&a, &b) in mine.iter().zip(&theirs).skip(1) {
        let is_same = fresh.iff(a, b);
        equals = fresh.and(equals, is_same);
    }
    let matrix = fresh.implies(mine[0], equals);
    let answer = match answer {
        InclusionAnswer::Included(_, containment) => {
            if let Some(missing) = existential.iter().find(|choice| !containment.choices.contains(choice)) {
                return Err(CertificateError::NotUniversal(*missing));
            }
            let place = |choice: &VarId| containment.choices.iter().position(|other| other == choice);
            let places: Vec<usize> = existential.iter().filter_map(place).collect();
            let mut vectors = Vec::new();
            for vector in &containment.vectors {
                let (expected, found) = (containment.choices.len(), vector.len());
                if expected != found {
                    return Err(CertificateError::Length { expected, found });
                }
                let terms: Vec<Term> = places.iter().map(|&place| vector[place]).collect();
                vectors.push(copy_terms(arena, &terms, &mut fresh, TermArena::var));
            }
            QbfAnswer::True(Some(Witness { vectors }))
        }
        InclusionAnswer::NotIncluded(_, escape) => {
            let values: FxHashMap<VarId, bool> = escape.choices.iter().copied().collect();
            let values: Vec<bool> = universal.iter().filter_map(|var| values.get(var).copied()).collect();
            QbfAnswer::False(Counterexample { values })
        }
        InclusionAnswer::Claimed(_) | InclusionAnswer::Unknown(_) => return Err(CertificateError::Missing),
    };
    qbf::verify(&fresh, &Question { universal, existential: renamed, matrix }, &answer, proofs, limits)
}
