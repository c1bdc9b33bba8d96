//! A small checker for the proofs of CaDiCaL: LRAT with assumptions, checked while the solver runs.
//!
//! Implements: L. Cruz-Filipe, M. Heule, W. Hunt, M. Kaufmann, P. Schneider-Kamp, "Efficient Certified RAT
//! Verification", CADE 2017 (the RUP part), and K. Fazekas, F. Pollitt, M. Fleury, A. Biere, "Certifying
//! Incremental SAT Solving", LPAR 2024 (weakened and restored clauses, conclusions under assumptions).
//!
//! A derived clause comes with hints: the ids of clauses that refute its negation by unit propagation, in this order.
//! Following them takes time linear in their total length. There is no search and no watch list, so the checker
//! shares neither algorithms nor code with the solver that it checks.
//!
//! Invariant (implied): every clause in the store follows from clauses that the caller has announced. An original
//! clause must be one of those announced; a derived one is checked; a weakened one was in the store before and is
//! only set aside. Clauses that are not implied, such as definitions of fresh variables (RAT), are rejected; the
//! adapter switches off the only technique of CaDiCaL that makes them (`factor`).
//!
//! Invariant (first failure): after the first rejected step, no step is accepted any more.

use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

/// The id of a clause in a proof.
pub type ClauseId = i64;

/// Why a proof was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The solver uses an original clause that it was not given.
    #[error("original clause {id} was never added")]
    ForeignOriginal {
        /// The clause.
        id: ClauseId,
    },
    /// Two clauses have the same id.
    #[error("clause id {id} is used twice")]
    RepeatedId {
        /// The id.
        id: ClauseId,
    },
    /// A hint or a deletion names a clause that does not exist.
    #[error("step {step} refers to clause {id}, which does not exist")]
    MissingClause {
        /// The id of the step.
        step: ClauseId,
        /// The missing clause.
        id: ClauseId,
    },
    /// A hint neither forces a literal nor is falsified.
    #[error("hint {hint} of clause {id} is not unit")]
    HintNotUnit {
        /// The derived clause.
        id: ClauseId,
        /// The hint.
        hint: ClauseId,
    },
    /// The hints do not refute the negation of the clause.
    #[error("the hints of clause {id} end without a conflict")]
    NoConflict {
        /// The derived clause.
        id: ClauseId,
    },
    /// The clause only preserves satisfiability, which this checker does not accept.
    #[error("clause {id} is not implied but claimed by a witness literal")]
    NotImplied {
        /// The derived clause.
        id: ClauseId,
    },
    /// A restored clause differs from the one that was set aside.
    #[error("clause {id} is restored but was not put aside in this form")]
    WrongRestore {
        /// The clause.
        id: ClauseId,
    },
    /// A literal is zero or out of range.
    #[error("clause {id} contains an invalid literal")]
    InvalidLiteral {
        /// The clause.
        id: ClauseId,
    },
    /// The solver did not say which clause proves unsatisfiability.
    #[error("the proof has no conclusion")]
    NoConclusion,
    /// The concluding clause contains a literal that is not a negated assumption.
    #[error("concluding clause {id} contains {literal}, which is not the negation of an assumption")]
    ForeignLiteral {
        /// The clause.
        id: ClauseId,
        /// The literal, in DIMACS numbering.
        literal: i32,
    },
}

#[derive(Clone, Debug)]
struct Stored {
    literals: Box<[i32]>,
    /// Whether the solver has set the clause aside: deleting it must not remove it, because it may be restored.
    weakened: bool,
}

/// Checks one proof, step by step. Literals are in DIMACS numbering.
///
/// The owner of the solver [announces](ProofChecker::promise) every clause before adding it, and the solver's tracer
/// reports the steps. After an unsatisfiable answer, [`ProofChecker::verified_core`] tells whether it is proved.
#[derive(Clone, Debug, Default)]
pub struct ProofChecker {
    store: FxHashMap<ClauseId, Stored>,
    /// The clauses that were announced and not yet reported as original, as sorted sets with their multiplicity.
    promised: FxHashMap<Box<[i32]>, u32>,
    /// The value of each variable: 1 for true, -1 for false, 0 for open. All are zero between steps.
    values: Vec<i8>,
    /// The variables that have a value.
    assigned: Vec<usize>,
    /// The clauses that conclude the current call.
    conclusion: Vec<ClauseId>,
    /// The clauses that are removed after the current call.
    temporary: Vec<ClauseId>,
    failure: Option<ProofError>,
    steps: u64,
}

impl ProofChecker {
    /// A checker without clauses.
    #[must_use]
    pub fn new() -> ProofChecker {
        ProofChecker::default()
    }

    /// Announces a clause that the caller is about to add to the solver.
    pub fn promise(&mut self, clause: &[i32]) {
        *self.promised.entry(as_set(clause)).or_default() += 1;
    }

    /// Reports that the solver has accepted a clause of the caller.
    pub fn original(&mut self, id: ClauseId, clause: &[i32]) {
        self.step(|checker| {
            let set = as_set(clause);
            match checker.promised.get_mut(&set) {
                None => return Err(ProofError::ForeignOriginal { id }),
                Some(1) => drop(checker.promised.remove(&set)),
                Some(count) => *count -= 1,
            }
            checker.insert(id, clause)
        });
    }

    /// Reports that the solver has derived a clause; `witness` is zero for a clause that is implied.
    pub fn derived(&mut self, id: ClauseId, witness: i32, clause: &[i32], hints: &[ClauseId]) {
        self.step(|checker| {
            if witness != 0 {
                return Err(ProofError::NotImplied { id });
            }
            checker.check(id, clause, hints)?;
            checker.insert(id, clause)
        });
    }

    /// Reports that the solver has derived a clause that only serves to conclude this call.
    pub fn derived_for_conclusion(&mut self, id: ClauseId, clause: &[i32], hints: &[ClauseId]) {
        self.derived(id, 0, clause, hints);
        self.temporary.push(id);
    }

    /// Reports that the solver has set a clause aside, to be restored when new clauses or assumptions need it.
    pub fn weakened(&mut self, id: ClauseId) {
        self.step(|checker| {
            let stored = checker.store.get_mut(&id).ok_or(ProofError::MissingClause { step: id, id })?;
            stored.weakened = true;
            Ok(())
        });
    }

    /// Reports that the solver has restored a clause that it had set aside.
    pub fn restored(&mut self, id: ClauseId, clause: &[i32]) {
        self.step(|checker| match checker.store.get_mut(&id) {
            Some(stored) if stored.weakened && as_set(&stored.literals) == as_set(clause) => {
                stored.weakened = false;
                Ok(())
            }
            _ => Err(ProofError::WrongRestore { id }),
        });
    }

    /// Reports that the solver has deleted a clause.
    pub fn deleted(&mut self, id: ClauseId) {
        self.step(|checker| match checker.store.get(&id) {
            None => Err(ProofError::MissingClause { step: id, id }),
            Some(stored) if stored.weakened => Ok(()),
            Some(_) => {
                checker.store.remove(&id);
                Ok(())
            }
        });
    }

    /// Reports that the solver starts another call; the conclusion of the last one no longer counts.
    pub fn new_query(&mut self) {
        self.conclusion.clear();
        for id in self.temporary.drain(..) {
            self.store.remove(&id);
        }
    }

    /// Reports that the solver claims that the clauses `ids` prove unsatisfiability under the assumptions.
    pub fn concluded(&mut self, ids: &[ClauseId]) {
        self.conclusion.clear();
        self.conclusion.extend_from_slice(ids);
    }

    /// The assumptions, as literals, that the concluding clause refutes; empty if the clauses alone are
    /// unsatisfiable.
    ///
    /// # Errors
    ///
    /// Returns the first step that was rejected, or says what is wrong with the conclusion.
    pub fn verified_core(&self, assumptions: &[i32]) -> Result<Vec<i32>, ProofError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let &[id] = self.conclusion.as_slice() else {
            return Err(ProofError::NoConclusion);
        };
        let stored = self.store.get(&id).ok_or(ProofError::MissingClause { step: id, id })?;
        let assumptions: FxHashSet<i32> = assumptions.iter().copied().collect();
        let negated = |&literal: &i32| match literal.checked_neg() {
            Some(assumption) if assumptions.contains(&assumption) => Ok(assumption),
            _ => Err(ProofError::ForeignLiteral { id, literal }),
        };
        stored.literals.iter().map(negated).collect()
    }

    /// The number of steps checked so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The first rejected step, if there is one.
    #[must_use]
    pub fn failure(&self) -> Option<&ProofError> {
        self.failure.as_ref()
    }

    fn step(&mut self, apply: impl FnOnce(&mut ProofChecker) -> Result<(), ProofError>) {
        self.steps += 1;
        if self.failure.is_none() {
            self.failure = apply(self).err();
        }
    }

    fn insert(&mut self, id: ClauseId, clause: &[i32]) -> Result<(), ProofError> {
        self.make_room(id, clause)?;
        match self.store.insert(id, Stored { literals: clause.into(), weakened: false }) {
            None => Ok(()),
            Some(_) => Err(ProofError::RepeatedId { id }),
        }
    }

    /// Makes sure that every literal of `clause` has an entry in `values`.
    fn make_room(&mut self, id: ClauseId, clause: &[i32]) -> Result<(), ProofError> {
        if clause.contains(&0) || clause.contains(&i32::MIN) {
            return Err(ProofError::InvalidLiteral { id });
        }
        let largest = clause.iter().map(|lit| lit.unsigned_abs() as usize).max().unwrap_or(0);
        if self.values.len() <= largest {
            self.values.resize(largest + 1, 0);
        }
        Ok(())
    }

    /// Follows `hints` from the negation of `clause` to a conflict.
    fn check(&mut self, id: ClauseId, clause: &[i32], hints: &[ClauseId]) -> Result<(), ProofError> {
        self.make_room(id, clause)?;
        let result = self.refute_negation(id, clause, hints);
        for variable in self.assigned.drain(..) {
            self.values[variable] = 0;
        }
        result
    }

    fn refute_negation(
        &mut self,
        id: ClauseId,
        clause: &[i32],
        hints: &[ClauseId],
    ) -> Result<(), ProofError> {
        for &literal in clause {
            if self.value(literal) > 0 {
                return Ok(()); // Its complement came earlier: a tautology.
            }
            self.assign(literal, -1);
        }
        for &hint in hints {
            let stored = self.store.get(&hint).ok_or(ProofError::MissingClause { step: id, id: hint })?;
            let mut unit = None;
            for &literal in &stored.literals {
                if self.value(literal) < 0 || unit == Some(literal) {
                    continue;
                }
                if unit.replace(literal).is_some() {
                    return Err(ProofError::HintNotUnit { id, hint });
                }
            }
            match unit {
                None => return Ok(()),
                Some(literal) => self.assign(literal, 1),
            }
        }
        Err(ProofError::NoConflict { id })
    }

    fn value(&self, literal: i32) -> i8 {
        let value = self.values[literal.unsigned_abs() as usize];
        if literal > 0 { value } else { -value }
    }

    fn assign(&mut self, literal: i32, value: i8) {
        let variable = literal.unsigned_abs() as usize;
        self.values[variable] = if literal > 0 { value } else { -value };
        self.assigned.push(variable);
    }
}

fn as_set(clause: &[i32]) -> Box<[i32]> {
    let mut set = clause.to_vec();
    set.sort_unstable();
    set.dedup();
    set.into()
}
