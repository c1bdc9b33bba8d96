//! A truth table: the solver every other one is compared with.
//!
//! It tries all assignments to the variables that occur, one after the other, and evaluates every clause. There
//! is nothing to get wrong, and nothing to gain beyond twenty variables.

use std::time::Instant;

use cusp_solvers::{Answer, ClauseSink, Interrupt, Limits, SatSolver, Statistics, UnknownReason};
use rustsat::types::{Lit, Var};

/// A solver by truth table for formulas with at most [`Reference::MOST_VARIABLES`] variables.
///
/// A decision is an assignment tried, a conflict an assignment refuted; phases say which assignments come
/// first; the core is all assumptions.
#[derive(Clone, Debug)]
pub struct Reference {
    clauses: Vec<Vec<Lit>>,
    phases: Vec<Lit>,
    /// Values by variable index; variables that do not occur are false.
    model: Vec<bool>,
    core: Vec<Lit>,
    num_vars: u32,
    /// The last answer, if nothing has changed since.
    answer: Option<Answer>,
    interrupt: Interrupt,
    statistics: Statistics,
}

impl Default for Reference {
    fn default() -> Reference {
        Reference {
            clauses: Vec::new(),
            phases: Vec::new(),
            model: Vec::new(),
            core: Vec::new(),
            num_vars: 0,
            answer: None,
            interrupt: Interrupt::new(),
            statistics: Statistics::default(),
        }
    }
}

impl Reference {
    /// Variables of the largest truth table.
    pub const MOST_VARIABLES: usize = 20;

    fn touch(&mut self, lits: &[Lit]) {
        self.num_vars = lits.iter().map(|lit| lit.vidx32() + 1).fold(self.num_vars, u32::max);
        self.answer = None;
    }

    fn search(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer {
        let mut variables: Vec<Var> =
            self.clauses.iter().flatten().chain(assumptions).map(|lit| lit.var()).collect();
        variables.sort_unstable();
        variables.dedup();
        if variables.len() > Self::MOST_VARIABLES {
            return Answer::Unknown(UnknownReason::GaveUp);
        }
        let preferred =
            variables.iter().map(|&var| self.phases.contains(&var.pos_lit())).collect::<Vec<bool>>();
        self.model = vec![false; self.num_vars as usize];
        for row in 0..1_u64 << variables.len() {
            if self.interrupt.is_requested() {
                return Answer::Unknown(UnknownReason::Interrupted);
            }
            if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Answer::Unknown(UnknownReason::Deadline);
            }
            if limits.decisions.is_some_and(|most| row >= most) {
                return Answer::Unknown(UnknownReason::DecisionLimit);
            }
            self.statistics.decisions += 1;
            for (place, (var, preferred)) in variables.iter().zip(&preferred).enumerate() {
                let flipped = row >> place & 1 == 1;
                self.model[var.idx()] = *preferred != flipped;
            }
            let is_true = |lit: &Lit| self.model[lit.vidx()] == lit.is_pos();
            if assumptions.iter().all(is_true) && self.clauses.iter().all(|clause| clause.iter().any(is_true))
            {
                return Answer::Sat;
            }
            self.statistics.conflicts += 1;
            // Every row up to this one is refuted.
            if limits.conflicts.is_some_and(|most| row >= most) {
                return Answer::Unknown(UnknownReason::ConflictLimit);
            }
        }
        Answer::Unsat
    }
}

impl ClauseSink for Reference {
    fn new_var(&mut self) -> Var {
        let var = Var::new(self.num_vars);
        self.touch(&[var.pos_lit()]);
        var
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        self.touch(clause);
        self.clauses.push(clause.to_vec());
    }
}

impl SatSolver for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn num_vars(&self) -> u32 {
        self.num_vars
    }

    fn set_phase(&mut self, lit: Lit) {
        self.clear_phase(lit.var());
        self.phases.push(lit);
    }

    fn clear_phase(&mut self, var: Var) {
        self.touch(&[var.pos_lit()]);
        self.phases.retain(|lit| lit.var() != var);
    }

    fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer {
        self.touch(assumptions);
        self.statistics.solves += 1;
        let answer = self.search(assumptions, limits);
        self.core.clear();
        if answer == Answer::Unsat {
            self.core.extend_from_slice(assumptions);
        }
        self.answer = Some(answer.clone());
        answer
    }

    fn value(&self, lit: Lit) -> bool {
        debug_assert_eq!(self.answer, Some(Answer::Sat), "value() outside the sat state");
        self.model.get(lit.vidx()).copied().unwrap_or(false) == lit.is_pos()
    }

    fn core(&self) -> &[Lit] {
        debug_assert_eq!(self.answer, Some(Answer::Unsat), "core() outside the unsat state");
        &self.core
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn statistics(&self) -> Statistics {
        let (variables, clauses) = (u64::from(self.num_vars), self.clauses.len() as u64);
        Statistics { variables, clauses, ..self.statistics }
    }
}
