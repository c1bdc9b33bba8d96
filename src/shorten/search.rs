//! The shortest run of an unrolling, by asking an incremental solver.
//!
//! The first question is whether there is any run at all, since mostly there is none; then the number of steps is
//! halved until nothing is left to ask.

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, VarId};
use cusp_solvers::{Answer, Limits, SatSolver};

use super::unroll::{Arrival, Unrolling, Walk};
use crate::budget::Budget;

/// What may still be spent. It is counted in work, not in time, so that results do not depend on the machine.
pub(super) struct Effort {
    pub conflicts: u64,
    pub states: usize,
}

impl Effort {
    /// Conflicts of one question.
    const PER_QUESTION: u64 = 2_000;

    pub fn is_used_up(&self) -> bool {
        self.conflicts == 0 || self.states == 0
    }
}

/// What was found.
pub(super) struct Found {
    /// A run to the goal.
    pub walk: Option<Walk>,
    /// Whether no run of the unrolling is shorter.
    pub closed: bool,
}

/// What the solver says.
enum Said {
    Run(Walk),
    None,
    Unknown,
}

impl Said {
    fn of(walk: Option<Walk>) -> Self {
        walk.map_or(Self::Unknown, Self::Run)
    }
}

struct Search<'s, 'a> {
    unrolling: &'s mut Unrolling<'a>,
    encoder: CnfEncoder,
    solver: Box<dyn SatSolver>,
    effort: &'s mut Effort,
}

/// Looks for the shortest run.
pub(super) fn shortest(unrolling: &mut Unrolling<'_>, effort: &mut Effort, budget: &Budget) -> Found {
    let steps = |arrival: Option<&Arrival>| arrival.map(|arrival| arrival.steps);
    let (Some(mut low), Some(mut most)) =
        (steps(unrolling.arrivals.first()), steps(unrolling.arrivals.last()))
    else {
        return Found { walk: None, closed: true };
    };
    let solver = budget.sat_solver();
    let encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
    let mut search = Search { unrolling, encoder, solver, effort };
    let mut best: Option<Walk> = None;
    loop {
        match search.run_within(most) {
            Said::Run(walk) => best = Some(walk),
            Said::None => low = most + 1,
            Said::Unknown => return Found { walk: best, closed: false },
        }
        match &best {
            Some(walk) if walk.moves.len() > low => most = usize::midpoint(low, walk.moves.len() - 1),
            _ => return Found { walk: best, closed: true },
        }
    }
}

impl Search<'_, '_> {
    /// Looks for a run of at most so many steps.
    fn run_within(&mut self, steps: usize) -> Said {
        let Unrolling { arrivals, arena, .. } = &mut *self.unrolling;
        let mut reached = Term::FALSE;
        for arrival in arrivals.iter().take_while(|arrival| arrival.steps <= steps) {
            reached = arena.or(reached, arrival.guard);
        }
        match reached.as_constant() {
            Some(false) => return Said::None,
            Some(true) => return Said::of(self.unrolling.walk(|_| false)),
            None => {}
        }
        let assumption = self.encoder.encode(arena, reached, Polarity::Positive, &mut *self.solver);
        let conflicts = self.effort.conflicts.min(Effort::PER_QUESTION);
        let before = self.solver.statistics().conflicts;
        let answer = self.solver.solve(&[assumption], &Limits { conflicts: Some(conflicts), ..Limits::NONE });
        let used = self.solver.statistics().conflicts.saturating_sub(before);
        self.effort.conflicts = self.effort.conflicts.saturating_sub(used);
        match answer {
            Answer::Unsat => Said::None,
            Answer::Sat => {
                let value = |var: VarId| {
                    let literal = self.encoder.var_literal(&self.unrolling.arena, var);
                    literal.is_some_and(|literal| self.solver.value(literal))
                };
                Said::of(self.unrolling.walk(value))
            }
            Answer::Unknown(_) => Said::Unknown,
        }
    }
}
