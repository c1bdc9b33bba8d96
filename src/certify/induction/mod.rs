//! Checks k-induction as a proof about a sequential program without recursion. [`KInductive`] states what is accepted
//! and why that is enough.
//!
//! A run is at one location at a time. So the states after `i` block steps are kept by location, the guards of
//! different locations exclude each other, and the block steps from all locations form one formula. The states of a
//! path must be pairwise different. That would be one constraint for every two times and every location, so each is
//! added only when the solver's model violates it.

mod blocks;
mod locations;

use std::collections::BTreeMap;

use cusp_encodings::Term;

use self::blocks::Stepper;
use self::locations::Locations;
use super::cuts::bodies;
use super::encode::walk::{Frame, enforce};
use super::encode::{Model, State, Terms, Values};
use super::question::Questions;
use super::{Stop, reject};
use crate::budget::Budget;
use crate::evidence::{KInductive, Reason};
use crate::model::Task;

/// A proof with more block steps than this is refused.
pub(super) const MOST_STEPS: usize = 100_000;

/// Checks the base case and the induction step.
pub(super) fn check(task: &Task, proof: &KInductive, budget: &Budget) -> Result<(), Stop> {
    let model = Model::new(task, budget)?;
    let bodies = bodies(&model, &proof.cuts)?;
    let locations = Locations::new(&model, &bodies)?;
    let k = proof.k as usize;
    if k > MOST_STEPS {
        return too_large("block steps", MOST_STEPS);
    }
    let stepper = Stepper { model: &model, bodies: &bodies, locations: &locations };
    base(&stepper, k, budget)?;
    step(&stepper, k, budget)
}

fn too_large<T>(what: &'static str, limit: usize) -> Result<T, Stop> {
    Err(Stop::Exhausted(Reason::TooLargeToCheck { what, limit }))
}

/// The states that a run may be in after a number of block steps, by location.
type Moment = BTreeMap<u32, State>;

fn base(stepper: &Stepper<'_>, k: usize, budget: &Budget) -> Result<(), Stop> {
    let mut questions = Questions::new(budget);
    let terms = &mut questions.terms;
    let pool: Values = terms.fresh_vector(stepper.locations.width(0)).into_iter().collect();
    let first = at(stepper, terms, 0, Term::TRUE, &pool)?;
    let mut moment = Moment::from([(0, first)]);
    for i in 0..k {
        let (next, violation) = stepper.all(&mut questions.terms, moment)?;
        if !questions.is_impossible(violation)? {
            return reject(format!("base: a run may violate the property after {i} block steps"));
        }
        if next.is_empty() {
            break;
        }
        moment = next;
    }
    Ok(())
}

fn step(stepper: &Stepper<'_>, k: usize, budget: &Budget) -> Result<(), Stop> {
    let locations = stepper.locations;
    let mut questions = Questions::new(budget);
    let terms = &mut questions.terms;
    let count = locations.len();
    let width = (0..count).map(|l| locations.width(l)).max().unwrap_or(0);
    let pool: Values = terms.fresh_vector(width).into_iter().collect();
    let guards = terms.alternatives(Term::TRUE, count as usize);
    let mut moment = Moment::new();
    for (location, guard) in (0..count).zip(guards) {
        moment.insert(location, at(stepper, terms, location, guard, &pool)?);
    }
    let mut path = Vec::with_capacity(k + 1);
    for _ in 0..k {
        let (next, _) = stepper.all(&mut questions.terms, moment.clone())?;
        path.push(moment);
        moment = next;
    }
    let (_, violation) = stepper.all(&mut questions.terms, moment.clone())?;
    path.push(moment);
    let compared = locations.compared(stepper.model)?;
    while !questions.is_impossible(violation)? {
        let demands = broken(&mut questions, &path, &compared);
        if demands.is_empty() {
            return reject(format!(
                "step: a run may violate the property after {k} block steps between different states"
            ));
        }
        for demand in demands {
            questions.demand(demand);
        }
    }
    Ok(())
}

/// All states of a location with the given values that satisfy `enforce`.
fn at(
    stepper: &Stepper<'_>,
    terms: &mut Terms,
    location: u32,
    guard: Term,
    pool: &Values,
) -> Result<State, Stop> {
    let (id, base) = stepper.locations.running(location);
    let mut values = pool.clone();
    values.truncate(stepper.locations.width(location));
    let mut state = State { guard, values };
    let procedure = stepper.model.program.procedure(id);
    enforce(stepper.model, procedure, Frame { base }, terms, &mut state)?;
    Ok(state)
}

/// The constraints that the solver's model violates because two of its states are equal.
fn broken(questions: &mut Questions<'_>, path: &[Moment], compared: &[Vec<usize>]) -> Vec<Term> {
    // The states of the solver's model: for each time, the location and the values that are compared.
    let mut roots = Vec::new();
    for moment in path {
        for (&location, state) in moment {
            roots.push(state.guard);
            roots.extend(compared[location as usize].iter().map(|&position| state.values.get(position)));
        }
    }
    let arena = &questions.terms.arena;
    let words = arena.simulate(&roots, |var| if questions.value(var) { u64::MAX } else { 0 });
    let mut words = words.into_iter().map(|word| word & 1 == 1);
    let mut example: Vec<(usize, u32, Vec<bool>)> = Vec::new();
    for (time, moment) in path.iter().enumerate() {
        for &location in moment.keys() {
            let here = words.next().unwrap_or(false);
            let values: Vec<bool> = words.by_ref().take(compared[location as usize].len()).collect();
            if here {
                example.push((time, location, values));
            }
        }
    }
    let mut demands = Vec::new();
    for (i, (early, location, values)) in example.iter().enumerate() {
        for (late, other, later) in &example[i + 1..] {
            if location == other && values == later {
                let (a, b) = (&path[*early][location], &path[*late][location]);
                let terms = &mut questions.terms;
                let pairs = compared[*location as usize].iter().map(|&p| (a.values.get(p), b.values.get(p)));
                let same = terms.equal(pairs);
                let both = terms.arena.and(a.guard, b.guard);
                demands.push(!terms.arena.and(both, same));
            }
        }
    }
    demands
}
