//! One of the two cases, base or step: terms for the states after 0, 1, 2, ... block steps, and a solver with their
//! clauses.

use std::collections::BTreeMap;

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, TermArena, VarId};
use cusp_solvers::{Answer, Limits, SatSolver};
use rustc_hash::FxHashMap;

use super::replay::Replay;
use super::step::{Moment, Pieces, State, Stepper};
use crate::budget::Budget;
use crate::symbolic::trace::Outline;
use crate::symbolic::values::Values;

/// The answer to the question whether a violation is possible after a given number of block steps.
pub(super) enum CaseAnswer {
    /// No violation is possible.
    Impossible,
    /// A violation is possible, on this run.
    Run(Run),
    /// The budget is used up.
    Stopped,
}

/// A run from its first location to a violation.
pub(super) struct Run {
    /// The location of each state, and the values that distinguish states there.
    pub states: Vec<(u32, Vec<bool>)>,
    /// One outline per activation.
    pub outlines: Vec<Outline>,
}

/// The states after each number of block steps.
pub(super) struct Case<'a> {
    budget: &'a Budget,
    arena: TermArena,
    encoder: CnfEncoder,
    solver: Box<dyn SatSolver>,
    /// The states, by the number of block steps.
    moments: Vec<Moment>,
    pieces: Vec<BTreeMap<u32, Pieces>>,
    violations: Vec<Term>,
}

impl<'a> Case<'a> {
    fn new(budget: &'a Budget) -> Self {
        Self {
            budget,
            arena: TermArena::new(),
            encoder: CnfEncoder::new(CnfStyle::PlaistedGreenbaum),
            solver: budget.sat_solver(),
            moments: vec![Moment::new()],
            pieces: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// All runs from the beginning of the program.
    pub fn base(stepper: &Stepper<'_>, budget: &'a Budget) -> Self {
        let mut case = Self::new(budget);
        let end = stepper.locations.context(0).end;
        let values: Vec<Term> = (0..end).map(|_| case.arena.fresh()).collect();
        // No `enforce` is added here, because the formula of the block at the entry includes it.
        case.moments[0].insert(0, State { guard: Term::TRUE, values: Values::new(&values) });
        case
    }

    /// All runs from anywhere. The states of all locations share their variables, because a run begins at only one
    /// of them.
    pub fn step(stepper: &Stepper<'_>, budget: &'a Budget) -> Self {
        let mut case = Self::new(budget);
        let count = stepper.locations.len();
        let context = |location: u32| stepper.locations.place(location).0;
        let end = |location: u32| stepper.locations.context(context(location)).end;
        let width = (0..count).map(end).max().unwrap_or(0);
        let pool: Vec<Term> = (0..width).map(|_| case.arena.fresh()).collect();
        let mut left = Term::TRUE;
        for location in 0..count {
            let values = Values::new(&pool[..end(location)]);
            let here = if location + 1 == count { Term::TRUE } else { case.arena.fresh() };
            let guard = case.arena.and(left, here);
            left = case.arena.and(left, !here);
            let enforced = stepper.enforce(&mut case.arena, context(location), &values);
            let guard = case.arena.and(guard, enforced);
            case.moments[0].insert(location, State { guard, values });
        }
        case
    }

    /// Asks whether a run can make `steps` block steps and violate the property in the next block.
    pub fn violation_after(&mut self, stepper: &mut Stepper<'a>, steps: usize) -> CaseAnswer {
        while self.violations.len() <= steps {
            if !self.extend(stepper) {
                return CaseAnswer::Stopped;
            }
        }
        let violation = self.violations[steps];
        if violation == Term::FALSE {
            return CaseAnswer::Impossible;
        }
        let lit = self.encoder.encode(&self.arena, violation, Polarity::Positive, &mut *self.solver);
        match self.solver.solve(&[lit], &Limits::NONE) {
            Answer::Unknown(_) => CaseAnswer::Stopped,
            Answer::Unsat => {
                self.solver.add_clause(&[!lit]);
                CaseAnswer::Impossible
            }
            Answer::Sat => CaseAnswer::Run(self.run(stepper, steps)),
        }
    }

    /// Adds one more block step. Returns false if the budget was used up before.
    fn extend(&mut self, stepper: &mut Stepper<'a>) -> bool {
        let mut next = Moment::new();
        let mut pieces = BTreeMap::new();
        let mut violation = Term::FALSE;
        for (&location, state) in self.moments.last().into_iter().flatten() {
            if self.budget.exhausted().is_some() {
                return false;
            }
            let (inside, made) = stepper.step(&mut self.arena, location, state, &mut next);
            violation = self.arena.or(violation, inside);
            pieces.insert(location, made);
        }
        self.moments.push(next);
        self.pieces.push(pieces);
        self.violations.push(violation);
        true
    }

    /// The run of the solver's model.
    fn run(&self, stepper: &mut Stepper<'a>, steps: usize) -> Run {
        let value_of =
            |var: VarId| self.encoder.var_literal(&self.arena, var).is_some_and(|lit| self.solver.value(lit));
        let moment = &self.moments[0];
        let guards: Vec<Term> = moment.values().map(|state| state.guard).collect();
        let word = |var: VarId| if value_of(var) { u64::MAX } else { 0 };
        let words = self.arena.simulate(&guards, word);
        let first = moment.iter().zip(words).find(|(_, word)| word & 1 == 1);
        let Some(((&first, state), _)) = first else { unreachable!("one guard of the first states holds") };
        let (context, _) = stepper.locations.place(first);
        let values = state.values.to_vec(stepper.locations.context(context).end);
        let words = self.arena.simulate(&values, word);
        let values = words.into_iter().map(|word| word & 1 == 1).collect();
        let compared: Vec<Vec<u32>> =
            (0..stepper.locations.len()).map(|l| stepper.locations.told_apart_by(l).to_vec()).collect();
        let mut replay = Replay::begin(stepper, first, values);
        let mut states = Vec::with_capacity(steps + 1);
        let mut at = Some(first);
        for pieces in &self.pieces[..=steps] {
            let Some(location) = at else { break };
            let values = replay.values();
            let seen = compared[location as usize].iter().map(|&position| values[position as usize]);
            states.push((location, seen.collect()));
            let Some(pieces) = pieces.get(&location) else {
                unreachable!("the run is at a location whose guard holds")
            };
            at = replay.step(location, pieces, &value_of);
        }
        debug_assert!(at.is_none() && states.len() == steps + 1, "the run violates at its end");
        Run { states, outlines: replay.outlines }
    }

    /// Requires the states that are equal in this run to be different in all runs. Returns whether there are any.
    pub fn tell_apart(&mut self, stepper: &Stepper<'_>, run: &Run) -> bool {
        let mut seen: FxHashMap<&(u32, Vec<bool>), usize> = FxHashMap::default();
        let mut found = false;
        for (late, state) in run.states.iter().enumerate() {
            let Some(early) = seen.insert(state, late) else { continue };
            found = true;
            let location = state.0;
            let (first, second) = (&self.moments[early][&location], &self.moments[late][&location]);
            let mut same = self.arena.and(first.guard, second.guard);
            for &position in stepper.locations.told_apart_by(location) {
                let values = [first, second].map(|state| state.values.get(position as usize));
                let equal = self.arena.iff(values[0], values[1]);
                same = self.arena.and(same, equal);
            }
            self.encoder.assert_term(&self.arena, !same, &mut *self.solver);
        }
        found
    }

    /// The number of terms.
    pub fn size(&self) -> usize {
        self.arena.len()
    }
}
