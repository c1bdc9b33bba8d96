//! Finds a shortest run of an unrolling with an incremental solver.
//!
//! The first query asks whether there is any run at all, since mostly there is none. Then the number of steps is
//! found by bisection.

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, VarId};
use cusp_solvers::{Answer, Limits, SatSolver};

use super::unroll::{Arrival, Unrolling, Walk};
use crate::budget::Budget;

/// The work that may still be done. It is counted in conflicts and states and not in time, so that results do not
/// depend on the machine.
pub(super) struct Effort {
    pub conflicts: u64,
    pub states: usize,
}

impl Effort {
    /// The limit of conflicts for one query.
    const PER_QUESTION: u64 = 2_000;

    pub fn is_used_up(&self) -> bool {
        self.conflicts == 0 || self.states == 0
    }
}

/// The result of a search.
pub(super) struct Found {
    /// The shortest run to the goal that was found, if any was.
    pub walk: Option<Walk>,
    /// Whether it is known that no run of the unrolling is shorter.
    pub closed: bool,
}

/// The answer to one query.
enum QueryAnswer {
    Run(Walk),
    None,
    Unknown,
}

impl QueryAnswer {
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

/// Searches for a shortest run.
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
            QueryAnswer::Run(walk) => best = Some(walk),
            QueryAnswer::None => low = most + 1,
            QueryAnswer::Unknown => return Found { walk: best, closed: false },
        }
        match &best {
            Some(walk) if walk.moves.len() > low => most = usize::midpoint(low, walk.moves.len() - 1),
            _ => return Found { walk: best, closed: true },
        }
    }
}

impl Search<'_, '_> {
    /// Searches for a run of at most this many steps.
    fn run_within(&mut self, steps: usize) -> QueryAnswer {
        let Unrolling { arrivals, arena, .. } = &mut *self.unrolling;
        let mut reached = Term::FALSE;
        for arrival in arrivals.iter().take_while(|arrival| arrival.steps <= steps) {
            reached = arena.or(reached, arrival.guard);
        }
        match reached.as_constant() {
            Some(false) => return QueryAnswer::None,
            Some(true) => return QueryAnswer::of(self.unrolling.walk(|_| false)),
            None => {}
        }
        let assumption = self.encoder.encode(arena, reached, Polarity::Positive, &mut *self.solver);
        let conflicts = self.effort.conflicts.min(Effort::PER_QUESTION);
        let before = self.solver.statistics().conflicts;
        let answer = self.solver.solve(&[assumption], &Limits { conflicts: Some(conflicts), ..Limits::NONE });
        let used = self.solver.statistics().conflicts.saturating_sub(before);
        self.effort.conflicts = self.effort.conflicts.saturating_sub(used);
        match answer {
            Answer::Unsat => QueryAnswer::None,
            Answer::Sat => {
                let value = |var: VarId| {
                    let literal = self.encoder.var_literal(&self.unrolling.arena, var);
                    literal.is_some_and(|literal| self.solver.value(literal))
                };
                QueryAnswer::of(self.unrolling.walk(value))
            }
            Answer::Unknown(_) => QueryAnswer::Unknown,
        }
    }
}
