//! Single SAT questions, each answered by a solver of its own.
//!
//! The formulas of different procedures share almost nothing, and a solver that holds all of them assigns all of
//! their variables in every model. So every question gets its own solver, which holds only the cone of the
//! question. (On a chain of 800 procedures, one solver for all questions was slower by a factor of about the number
//! of procedures.)

use cusp_encodings::{CnfEncoder, CnfStyle, Term, TermArena, VarId};
use cusp_solvers::{Answer, Limits};
use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::evidence::Reason;

/// The values of variables that make a term true.
#[derive(Debug)]
pub struct Model {
    values: FxHashMap<VarId, bool>,
}

impl Model {
    /// The value of a term.
    #[must_use]
    pub fn value(&self, arena: &TermArena, term: Term) -> bool {
        match arena.as_var(term) {
            Some(var) => self.var(var) != term.is_complemented(),
            None => arena.evaluate(term, |var| self.var(var)),
        }
    }

    /// The values of several terms.
    #[must_use]
    pub fn values(&self, arena: &TermArena, terms: &[Term]) -> Vec<bool> {
        let word = |var| if self.var(var) { u64::MAX } else { 0 };
        arena.simulate(terms, word).into_iter().map(|word| word & 1 == 1).collect()
    }

    fn var(&self, var: VarId) -> bool {
        self.values.get(&var).copied().unwrap_or(false)
    }
}

/// Values that make the term true, if there are any.
///
/// # Errors
/// Why the question was not answered.
pub fn solve(arena: &TermArena, term: Term, budget: &Budget) -> Result<Option<Model>, Reason> {
    if let Some(value) = term.as_constant() {
        return Ok(value.then(|| Model { values: FxHashMap::default() }));
    }
    let mut solver = budget.sat_solver();
    let mut encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
    encoder.assert_term(arena, term, &mut *solver);
    match solver.solve(&[], &Limits::NONE) {
        Answer::Unsat => Ok(None),
        Answer::Sat => {
            let support = arena.support(&[term]).into_iter();
            let value = |var| encoder.var_literal(arena, var).is_some_and(|lit| solver.value(lit));
            Ok(Some(Model { values: support.map(|var| (var, value(var))).collect() }))
        }
        Answer::Unknown(reason) => {
            Err(budget.exhausted().unwrap_or_else(|| Reason::GaveUp(reason.to_string())))
        }
    }
}
