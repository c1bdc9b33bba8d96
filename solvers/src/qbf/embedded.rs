//! The embedded solver, which is counterexample-guided and finds functional witnesses.
//!
//! Implements: M. Janota, J. Marques-Silva, "Abstraction-Based Algorithm for 2QBF", SAT 2011.
//!
//! Two incremental SAT solvers are used in turn. The *candidate* solver looks for values `x*` that none of the
//! witnesses found so far covers; if there are none, the question is true. The *witness* solver looks for `y*` with
//! `M(x*, y*)`; if there is none, the question is false.
//!
//! Deviation from the paper: the paper refines with `not M(x, y*)`, for constants `y*`. If the matrix requires the
//! two sides to be equal, that excludes only a single state. So we refine with `not M(x, t(x))` for terms `t` with
//! `M(x*, t(x*))`. The first terms are derived from the structure of both sides (`witness`); where they fail, they
//! are repaired (`search`), in the manner of P. Golia, S. Roy, K. Meel, "Manthan: A Data-Driven Approach for Boolean
//! Function Synthesis", CAV 2020, but with terms instead of learned decision trees.

use std::sync::Arc;

use cusp_encodings::{Term, TermArena};

use super::search::{Decision, Search};
use super::{Counterexample, QbfAnswer, QbfSolver, QbfStatistics, Question};
use crate::interrupt::Interrupt;
use crate::sat::Limits;
use crate::tally::Tally;

/// The counterexample-guided solver that every engine uses.
#[derive(Debug, Default)]
pub struct Embedded {
    interrupt: Interrupt,
    statistics: QbfStatistics,
    most_conflicts: Option<u64>,
    tally: Arc<Tally>,
}

impl Embedded {
    /// A solver without statistics or limits.
    #[must_use]
    pub fn new() -> Embedded {
        Embedded::default()
    }

    /// This solver with a limit: it gives up on a question after this number of conflicts.
    #[must_use]
    pub fn giving_up_after(mut self, conflicts: u64) -> Embedded {
        self.most_conflicts = Some(conflicts);
        self
    }

    /// Counts answers in `tally`.
    #[must_use]
    pub fn counting_in(mut self, tally: &Arc<Tally>) -> Embedded {
        self.tally = Arc::clone(tally);
        self
    }

    /// Like `solve`, but with hints: vectors of terms over the universal variables that may be witnesses for many
    /// universal values. A bad hint never changes the answer.
    ///
    /// # Panics
    /// Panics if the matrix has a variable that is not in the question, or if a hint has one that is not universal.
    pub fn solve_with_hints(
        &mut self,
        arena: &mut TermArena,
        question: &Question,
        hints: &[Vec<Term>],
        limits: &Limits,
    ) -> QbfAnswer {
        self.statistics.solves += 1;
        let conflicts = limits.conflicts.into_iter().chain(self.most_conflicts).min();
        let limits = &Limits { conflicts, ..limits.clone() };
        let mut search = Search::new(arena, question, limits, &self.interrupt);
        for hint in hints {
            search.start_with(arena, question, hint);
        }
        let result = search.run();
        search.count(&mut self.statistics);
        if result.is_ok() {
            self.tally.count_answer();
        }
        match result {
            Ok(Decision::True) => {
                self.statistics.trues += 1;
                QbfAnswer::True(Some(search.witness(arena, question)))
            }
            Ok(Decision::False(values)) => {
                self.statistics.falses += 1;
                QbfAnswer::False(Counterexample { values })
            }
            Err(reason) => QbfAnswer::Unknown(reason),
        }
    }
}

impl QbfSolver for Embedded {
    fn name(&self) -> &'static str {
        "embedded"
    }

    fn solve(&mut self, arena: &mut TermArena, question: &Question, limits: &Limits) -> QbfAnswer {
        self.solve_with_hints(arena, question, &[], limits)
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn statistics(&self) -> QbfStatistics {
        self.statistics
    }
}
