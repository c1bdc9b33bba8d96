//! CaDiCaL, running in this process.
//!
//! The adapter is thin: it translates literals, keeps the [state contract](crate::sat) and tells CaDiCaL when to
//! stop. CaDiCaL asks whether to stop at every search step and inside every inprocessing loop, so neither interrupts
//! nor deadlines need a thread. Its longest step without asking is a collection of garbage clauses: below a
//! millisecond on small formulas, 80 to 240 ms with a million clauses.
//!
//! With [`CadicalSolver::with_proof_check`] every clause that CaDiCaL learns is checked when it is learned, and an
//! unsatisfiable answer counts only if the checked clauses prove it; see [`crate::proof`].

mod trace;

use std::cell::RefCell;
use std::rc::Rc;

use cadical_sys::{CaDiCal, Status, Terminator};
use rustsat::types::{Lit, Var};

use crate::cadical::trace::Tracer;
use crate::interrupt::Interrupt;
use crate::proof::ProofChecker;
use crate::sat::{Answer, ClauseSink, Limits, SatSolver, State, Statistics, UnknownReason, raise_num_vars};

/// What a step of the search, a literal of a clause and propagations count as work, see [`Interrupt::spend`].
const WORK_OF_A_STEP: u64 = 1;
const WORK_OF_A_LITERAL: u64 = 1;
const PROPAGATIONS_PER_WORK: u64 = 3;

/// CaDiCaL behind the [`SatSolver`] trait.
///
/// It must stay on the thread that made it; only its [`Interrupt`] can be sent to other threads.
pub struct CadicalSolver {
    /// In a cell, because reading a model may first have to complete it.
    inner: RefCell<CaDiCal>,
    stop: Rc<RefCell<Stop>>,
    checker: Option<Rc<RefCell<ProofChecker>>>,
    core: Vec<Lit>,
    num_vars: u32,
    state: State,
    solves: u64,
    clauses: u64,
}

/// The terminator, which CaDiCaL calls repeatedly while it solves.
#[derive(Default)]
struct Stop {
    interrupt: Interrupt,
    limits: Limits,
    /// Why CaDiCaL was told to stop.
    reason: Option<UnknownReason>,
}

impl Terminator for Stop {
    fn terminated(&mut self) -> bool {
        self.interrupt.spend(WORK_OF_A_STEP);
        self.reason = self.limits.stop_reason(&self.interrupt);
        self.reason.is_some()
    }
}

impl Default for CadicalSolver {
    fn default() -> CadicalSolver {
        let mut inner = CaDiCal::new();
        let stop = Rc::new(RefCell::new(Stop::default()));
        // The terminator is called every time. With the default, every tenth time, the slowest of 200 requests on
        // pigeon hole 12 waited 44 ms; now it is 7 to 21 ms on the same busy machine, and search is no slower.
        inner.set("terminateint", 0);
        inner.connect_terminator(Rc::clone(&stop));
        CadicalSolver {
            inner: RefCell::new(inner),
            stop,
            checker: None,
            core: Vec::new(),
            num_vars: 0,
            state: State::Input,
            solves: 0,
            clauses: 0,
        }
    }
}

impl CadicalSolver {
    /// A solver without clauses.
    #[must_use]
    pub fn new() -> CadicalSolver {
        CadicalSolver::default()
    }

    /// The version of CaDiCaL.
    #[must_use]
    pub fn version() -> String {
        CaDiCal::version()
    }

    /// A solver without clauses that checks the proof of every unsatisfiable answer.
    ///
    /// An answer whose proof is rejected becomes [`UnknownReason::UnverifiedUnsat`], and so do all later
    /// unsatisfiable answers: a solver that was wrong once is not trusted again.
    #[must_use]
    pub fn with_proof_check() -> CadicalSolver {
        let mut solver = CadicalSolver::default();
        let checker = Rc::new(RefCell::new(ProofChecker::new()));
        let inner = solver.inner.get_mut();
        // The definitions of fresh variables are not implied by the clauses, so the checker would reject them.
        inner.set("factor", 0);
        inner.connect_proof_tracer1(Tracer(Rc::clone(&checker)), true, false);
        solver.checker = Some(checker);
        solver
    }

    fn touch(&mut self, lits: &[Lit]) {
        self.num_vars = raise_num_vars(self.num_vars, lits);
        self.state = State::Input;
    }

    fn search(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer {
        let mut stop = self.stop.borrow_mut();
        if let Some(reason) = limits.stop_reason(&stop.interrupt) {
            return Answer::Unknown(reason);
        }
        stop.limits = limits.clone();
        stop.reason = None;
        drop(stop);
        let inner = self.inner.get_mut();
        for assumption in assumptions {
            inner.assume(assumption.to_ipasir());
        }
        // CaDiCaL forgets both limits after the call. A limit that exceeds its counters is ignored.
        let as_limit = |most: Option<u64>| most.and_then(|most| i32::try_from(most).ok()).unwrap_or(-1);
        inner.limit("conflicts", as_limit(limits.conflicts));
        inner.limit("decisions", as_limit(limits.decisions));
        let conflicts_before = inner.get_statistic_value("conflicts");
        let status = if self.checker.is_some() {
            // When CaDiCaL writes a proof, it follows the reasons of a failed assumption recursively, as deep as
            // there are variables. Each level takes 208 bytes (measured). Pages of the stack that are not used cost
            // nothing.
            let stack = (4 << 20) + 512 * self.num_vars as usize;
            stacker::maybe_grow(stack, stack, || inner.solve())
        } else {
            inner.solve()
        };
        match status {
            Status::SATISFIABLE => Answer::Sat,
            Status::UNSATISFIABLE => self.explain(assumptions),
            Status::UNKNOWN => {
                let conflicts = inner.get_statistic_value("conflicts").abs_diff(conflicts_before);
                let reason = self.stop.borrow_mut().reason.take();
                Answer::Unknown(reason.unwrap_or_else(|| {
                    if limits.conflicts.is_some_and(|most| conflicts >= most) {
                        UnknownReason::ConflictLimit
                    } else if limits.decisions.is_some() {
                        UnknownReason::DecisionLimit
                    } else {
                        UnknownReason::GaveUp
                    }
                }))
            }
        }
    }

    /// Computes the core and, if proofs are checked, requires that its proof is accepted.
    fn explain(&mut self, assumptions: &[Lit]) -> Answer {
        let inner = self.inner.get_mut();
        if let Some(checker) = &self.checker {
            let assumed: Vec<i32> = assumptions.iter().map(|lit| lit.to_ipasir()).collect();
            match checker.borrow().verified_core(&assumed) {
                Ok(core) => self.core.extend(core.into_iter().filter_map(|lit| Lit::from_ipasir(lit).ok())),
                Err(error) => return Answer::Unknown(error.into()),
            }
        } else {
            self.core.extend(assumptions.iter().filter(|lit| inner.failed(lit.to_ipasir())));
        }
        Answer::Unsat
    }

    fn statistic(&self, name: &str) -> u64 {
        u64::try_from(self.inner.borrow().get_statistic_value(name)).unwrap_or(0)
    }
}

impl ClauseSink for CadicalSolver {
    fn new_var(&mut self) -> Var {
        let var = Var::new(self.num_vars);
        self.touch(&[var.pos_lit()]);
        var
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        self.touch(clause);
        self.clauses += 1;
        self.stop.borrow().interrupt.spend(WORK_OF_A_LITERAL * clause.len() as u64);
        let clause: Vec<i32> = clause.iter().map(|lit| lit.to_ipasir()).collect();
        if let Some(checker) = &self.checker {
            checker.borrow_mut().promise(&clause);
        }
        self.inner.get_mut().clause6(&clause);
    }
}

impl SatSolver for CadicalSolver {
    fn name(&self) -> &'static str {
        if self.checker.is_some() { "cadical, proofs checked" } else { "cadical" }
    }

    fn num_vars(&self) -> u32 {
        self.num_vars
    }

    fn set_phase(&mut self, lit: Lit) {
        self.touch(&[lit]);
        self.inner.get_mut().phase(lit.to_ipasir());
    }

    fn clear_phase(&mut self, var: Var) {
        self.touch(&[var.pos_lit()]);
        self.inner.get_mut().unphase(var.to_ipasir());
    }

    fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer {
        self.touch(assumptions);
        self.solves += 1;
        self.core.clear();
        let before = self.statistic("propagations");
        let answer = self.search(assumptions, limits);
        let propagations = self.statistic("propagations").saturating_sub(before);
        self.stop.borrow().interrupt.spend(propagations / PROPAGATIONS_PER_WORK);
        self.state = State::from(&answer);
        answer
    }

    fn value(&self, lit: Lit) -> bool {
        debug_assert_eq!(self.state, State::Sat, "value() outside the sat state");
        self.state == State::Sat && {
            let lit = lit.to_ipasir();
            self.inner.borrow_mut().val(lit) == lit
        }
    }

    fn core(&self) -> &[Lit] {
        debug_assert_eq!(self.state, State::Unsat, "core() outside the unsat state");
        &self.core
    }

    fn interrupt(&self) -> Interrupt {
        self.stop.borrow().interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.stop.borrow_mut().interrupt = interrupt.clone();
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            solves: self.solves,
            variables: u64::from(self.num_vars),
            clauses: self.clauses,
            conflicts: self.statistic("conflicts"),
            decisions: self.statistic("decisions"),
            propagations: self.statistic("propagations"),
            proof_steps: self.checker.as_ref().map_or(0, |checker| checker.borrow().steps()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CadicalSolver;
    use crate::proof::ProofError;
    use crate::sat::{Answer, ClauseSink, Limits, SatSolver, UnknownReason};
    use rustsat::types::Lit;

    #[test]
    fn an_unsat_answer_with_a_rejected_proof_is_unknown_from_then_on() {
        let mut solver = CadicalSolver::with_proof_check();
        let x = solver.new_var().pos_lit();
        // CaDiCaL gets a clause that the checker does not know, as if CaDiCaL had invented it.
        solver.inner.get_mut().clause1(x.to_ipasir());
        assert_eq!(solver.solve(&[], &Limits::NONE), Answer::Sat);
        let rejected = Answer::Unknown(UnknownReason::UnverifiedUnsat(ProofError::ForeignOriginal { id: 1 }));
        assert_eq!(solver.solve(&[!x], &Limits::NONE), rejected);
        solver.add_clause(&[!x]);
        assert_eq!(solver.solve(&[], &Limits::NONE), rejected);
    }

    #[test]
    fn deep_chains_of_reasons_do_not_overflow_the_stack() {
        let mut solver = CadicalSolver::with_proof_check();
        let depth = 300_000;
        for i in 0..depth {
            solver.add_clause(&[Lit::negative(i), Lit::positive(i + 1)]);
        }
        let ends = [Lit::positive(0), Lit::negative(depth)];
        assert_eq!(solver.solve(&ends, &Limits::NONE), Answer::Unsat);
        assert_eq!(solver.core().len(), 2);
    }
}
