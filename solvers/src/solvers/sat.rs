//! The SAT solvers that [`Solvers`](super::Solvers) makes.

use std::sync::Arc;

use rustsat::types::{Lit, Var};

use crate::cadical::CadicalSolver;
use crate::external_sat::ExternalSat;
use crate::interrupt::Interrupt;
use crate::sat::{Answer, ClauseSink, Limits, SatSolver, Statistics, UnknownReason};
use crate::tally::Tally;

/// CaDiCaL with counted answers.
pub(super) struct CountedCadical {
    inner: CadicalSolver,
    tally: Arc<Tally>,
}

impl CountedCadical {
    pub(super) fn new(inner: CadicalSolver, tally: Arc<Tally>) -> CountedCadical {
        CountedCadical { inner, tally }
    }
}

impl ClauseSink for CountedCadical {
    fn new_var(&mut self) -> Var {
        self.inner.new_var()
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        self.inner.add_clause(clause);
    }
}

impl SatSolver for CountedCadical {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn num_vars(&self) -> u32 {
        self.inner.num_vars()
    }

    fn set_phase(&mut self, lit: Lit) {
        self.inner.set_phase(lit);
    }

    fn clear_phase(&mut self, var: Var) {
        self.inner.clear_phase(var);
    }

    fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer {
        let answer = self.inner.solve(assumptions, limits);
        if !matches!(answer, Answer::Unknown(_)) {
            self.tally.count_answer();
        }
        answer
    }

    fn value(&self, lit: Lit) -> bool {
        self.inner.value(lit)
    }

    fn core(&self) -> &[Lit] {
        self.inner.core()
    }

    fn interrupt(&self) -> Interrupt {
        self.inner.interrupt()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.inner.share_interrupt(interrupt);
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}

/// An external program, with CaDiCaL as a substitute for the queries that it cannot answer.
///
/// Invariant (loaded): the substitute has the first `loaded` clauses of the program. It gets the others when it has
/// to answer.
pub(super) struct WithSubstitute {
    external: ExternalSat,
    substitute: CountedCadical,
    loaded: usize,
    /// Whether the last answer came from the substitute.
    substituted: bool,
}

impl WithSubstitute {
    pub(super) fn new(external: ExternalSat, substitute: CountedCadical) -> WithSubstitute {
        WithSubstitute { external, substitute, loaded: 0, substituted: false }
    }

    fn last(&self) -> &dyn SatSolver {
        if self.substituted { &self.substitute } else { &self.external }
    }
}

impl ClauseSink for WithSubstitute {
    fn new_var(&mut self) -> Var {
        self.external.new_var()
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        self.external.add_clause(clause);
    }
}

impl SatSolver for WithSubstitute {
    fn name(&self) -> &str {
        self.external.name()
    }

    fn num_vars(&self) -> u32 {
        self.external.num_vars()
    }

    fn set_phase(&mut self, lit: Lit) {
        self.external.set_phase(lit);
    }

    fn clear_phase(&mut self, var: Var) {
        self.external.clear_phase(var);
    }

    fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer {
        let answer = self.external.solve(assumptions, limits);
        self.substituted = matches!(
            answer,
            Answer::Unknown(UnknownReason::External(_) | UnknownReason::LimitUnsupported { .. })
        );
        if !self.substituted {
            return answer;
        }
        let new = self.external.clauses().skip(self.loaded);
        for clause in new {
            self.substitute.add_clause(clause);
            self.loaded += 1;
        }
        self.substitute.solve(assumptions, limits)
    }

    fn value(&self, lit: Lit) -> bool {
        self.last().value(lit)
    }

    fn core(&self) -> &[Lit] {
        self.last().core()
    }

    fn interrupt(&self) -> Interrupt {
        self.external.interrupt()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.external.share_interrupt(interrupt);
        self.substitute.share_interrupt(interrupt);
    }

    /// The numbers of calls, variables and clauses are the program's. Conflicts and decisions are the substitute's,
    /// since the program does not count them.
    fn statistics(&self) -> Statistics {
        let Statistics { solves, variables, clauses, .. } = self.external.statistics();
        Statistics { solves, variables, clauses, ..self.substitute.statistics() }
    }
}
