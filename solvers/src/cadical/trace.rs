//! Passes CaDiCaL's proof events to the checker.

use std::cell::RefCell;
use std::rc::Rc;

use cadical_sys::ProofTracer;

use crate::proof::ProofChecker;

/// Reports every proof step of one CaDiCaL solver to one checker.
pub(super) struct Tracer(pub(super) Rc<RefCell<ProofChecker>>);

impl ProofTracer for Tracer {
    fn add_original_clause(&mut self, id: i64, _redundant: bool, clause: &[i32], restored: bool) {
        let mut checker = self.0.borrow_mut();
        if restored { checker.restored(id, clause) } else { checker.original(id, clause) }
    }

    fn add_derived_clause(
        &mut self,
        id: i64,
        _redundant: bool,
        witness: i32,
        clause: &[i32],
        antecedents: &[i64],
    ) {
        self.0.borrow_mut().derived(id, witness, clause, antecedents);
    }

    fn delete_clause(&mut self, id: i64, _redundant: bool, _clause: &[i32]) {
        self.0.borrow_mut().deleted(id);
    }

    fn weaken_minus(&mut self, id: i64, _clause: &[i32]) {
        self.0.borrow_mut().weakened(id);
    }

    fn add_assumption_clause(&mut self, id: i64, clause: &[i32], antecedents: &[i64]) {
        self.0.borrow_mut().derived_for_conclusion(id, clause, antecedents);
    }

    fn conclude_unsat(&mut self, _conclusion_type: i32, clause_ids: &[i64]) {
        self.0.borrow_mut().concluded(clause_ids);
    }

    fn solve_query(&mut self) {
        self.0.borrow_mut().new_query();
    }

    // None of the events below adds, changes or removes a clause. The checker gets the assumptions from the adapter.

    fn strengthen(&mut self, _id: i64) {}

    fn finalize_clause(&mut self, _id: i64, _clause: &[i32]) {}

    fn add_assumption(&mut self, _lit: i32) {}

    fn add_constraint(&mut self, _clause: &[i32]) {}

    fn reset_assumptions(&mut self) {}

    fn conclude_sat(&mut self, _conclusion_type: i32, _model: &[i32]) {}

    fn conclude_unknown(&mut self, _trail: &[i32]) {}
}
