//! Queries to a fresh SAT solver.
//!
//! A proof needs many small queries about terms of one arena. One solver answers them under assumptions, so the
//! clauses of a term are added only once. When arena and solver have grown large, they are replaced by new ones
//! between blocks, so that memory does not grow with the length of the proof.
//!
//! An answer that a term is unsatisfiable is trusted, unless the budget demands proofs. Then such an answer counts
//! only after [`cusp_solvers::proof`] has checked the solver's proof step by step.

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, VarId};
use cusp_solvers::{Answer, CadicalSolver, Limits, SatSolver, UnknownReason};

use super::encode::Terms;
use super::{Stop, poll, reject};
use crate::budget::Budget;

/// A term arena with a solver for its terms.
pub(super) struct Questions<'a> {
    /// The terms that questions are about.
    pub terms: Terms,
    cnf: CnfEncoder,
    solver: CadicalSolver,
    budget: &'a Budget,
    /// The number of proof steps counted so far.
    steps: u64,
}

/// If the arena has more nodes than this, [`Questions::begin`] replaces it.
const NODES_TO_KEEP: usize = 1 << 14;

impl<'a> Questions<'a> {
    pub fn new(budget: &'a Budget) -> Self {
        let checks = budget.checked_proofs().is_some();
        let mut solver = if checks { CadicalSolver::with_proof_check() } else { CadicalSolver::new() };
        solver.share_interrupt(&budget.solver_interrupt());
        let cnf = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
        Self { terms: Terms::default(), cnf, solver, budget, steps: 0 }
    }

    /// Begins a new set of queries. Terms made before must not be used any more. Returns the number of the next
    /// variable.
    pub fn begin(&mut self) -> u32 {
        if self.terms.arena.len() > NODES_TO_KEEP {
            *self = Self::new(self.budget);
        }
        self.terms.variables()
    }

    /// The budget of the queries.
    pub fn budget(&self) -> &'a Budget {
        self.budget
    }

    /// Asserts a term: it holds in all later queries.
    pub fn demand(&mut self, term: Term) {
        if term != Term::TRUE {
            self.cnf.assert_term(&self.terms.arena, term, &mut self.solver);
        }
    }

    /// Whether a term is unsatisfiable together with all asserted terms.
    pub fn is_impossible(&mut self, term: Term) -> Result<bool, Stop> {
        poll(self.budget)?;
        if term == Term::FALSE {
            return Ok(true);
        }
        let literal = self.cnf.encode(&self.terms.arena, term, Polarity::Positive, &mut self.solver);
        match self.solver.solve(&[literal], &Limits::NONE) {
            Answer::Unsat => {
                self.count_proof();
                Ok(true)
            }
            Answer::Sat => Ok(false),
            Answer::Unknown(reason) => self.undecided(&reason),
        }
    }

    /// The value of a variable in the solver's model. Valid after [`Questions::is_impossible`] returned `false`.
    pub fn value(&self, var: VarId) -> bool {
        self.cnf.var_literal(&self.terms.arena, var).is_some_and(|literal| self.solver.value(literal))
    }

    fn count_proof(&mut self) {
        if let Some(counts) = self.budget.checked_proofs() {
            let steps = self.solver.statistics().proof_steps;
            counts.add(steps - self.steps);
            self.steps = steps;
        }
    }

    fn undecided<T>(&self, reason: &UnknownReason) -> Result<T, Stop> {
        if let UnknownReason::UnverifiedUnsat(error) = reason {
            return reject(format!("the SAT solver gave a wrong proof: {error}"));
        }
        poll(self.budget)?;
        reject(format!("the solver did not decide: {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_hold_in_later_questions() {
        let budget = Budget::unlimited();
        let mut questions = Questions::new(&budget);
        let [x, y] = [(); 2].map(|()| questions.terms.fresh());
        let both = questions.terms.arena.and(x, y);
        assert_eq!(questions.is_impossible(both), Ok(false));
        assert!(questions.value(VarId::new(0)) && questions.value(VarId::new(1)));
        let either = questions.terms.arena.xor(x, y);
        questions.demand(either);
        assert_eq!(questions.is_impossible(both), Ok(true));
        assert_eq!(questions.is_impossible(x), Ok(false));
        assert_eq!(questions.is_impossible(Term::FALSE), Ok(true));
        assert_eq!(questions.is_impossible(Term::TRUE), Ok(false));
        questions.demand(both);
        assert_eq!(questions.is_impossible(Term::TRUE), Ok(true));
    }

    #[test]
    fn proofs_are_checked_if_the_budget_asks_for_them() {
        let plain = Budget::unlimited();
        assert!(plain.checked_proofs().is_none());
        let budget = Budget::unlimited().with_checked_proofs();
        let part = budget.part();
        let mut questions = Questions::new(&part);
        let vars = questions.terms.fresh_vector(6);
        // Neighbours on a ring of odd length cannot all differ.
        for i in 0..5 {
            let differ = questions.terms.arena.xor(vars[i], vars[(i + 1) % 5]);
            assert_eq!(questions.is_impossible(differ), Ok(false));
            let either = questions.terms.arena.or(differ, !vars[5]);
            questions.demand(either);
        }
        assert_eq!(budget.checked_proofs().map(crate::budget::ProofCounts::proofs), Some(0));
        assert_eq!(questions.is_impossible(vars[5]), Ok(true));
        let counts = budget.checked_proofs().expect("asked for");
        assert_eq!(counts.proofs(), 1);
        assert!(counts.steps() > 0);
    }

    #[test]
    fn a_spent_budget_answers_nothing() {
        let budget = Budget::unlimited();
        let mut questions = Questions::new(&budget);
        let x = questions.terms.fresh();
        budget.interrupt();
        assert!(matches!(questions.is_impossible(x), Err(Stop::Exhausted(_))));
    }
}
