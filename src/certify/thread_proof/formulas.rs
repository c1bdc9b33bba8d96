//! Formulas for multisets of cuts: the start satisfies one, and so does whatever a large step leads to.
//!
//! After a large step, the threads have to be assigned to the positions of a listed multiset. The threads that did not
//! move keep their order; the one that moved, and the one that it started, may come to any position with their cut.

use cusp_encodings::Term;
use rustc_hash::FxHashMap;

use super::Checked;
use super::control::StackId;
use super::symbolic::{Arrival, Creation, Walk};
use crate::certify::encode::{Terms, encode};
use crate::certify::question::Questions;
use crate::certify::{Stop, poll, reject};
use crate::evidence::threads::{ControlState, ControlStates};
use crate::evidence::{Formulas, Gate, Literal};
use crate::model::Var;

/// Checks that the states that satisfy the formulas are an inductive set without a violation.
pub(super) fn check(checked: &Checked<'_>, sets: &ControlStates) -> Result<(), Stop> {
    let control = checked.control;
    let mut by_cuts: FxHashMap<&[u32], Vec<&ControlState>> = FxHashMap::default();
    for (number, set) in sets.sets.iter().enumerate() {
        if !set.cuts.is_sorted()
            || set.cuts.iter().any(|&cut| cut as usize >= control.cuts.len())
            || set.holder.is_some_and(|holder| holder as usize >= set.cuts.len())
            || !sets.formulas.contains(set.condition)
        {
            return reject(format!("set {number} has no order, no such holder, or no formula"));
        }
        by_cuts.entry(&set.cuts).or_default().push(set);
    }
    let mut checker =
        Checker { checked, formulas: &sets.formulas, by_cuts, questions: Questions::new(control.budget) };
    checker.start()?;
    for (number, set) in sets.sets.iter().enumerate() {
        checker.set(set).map_err(|stop| stop.at(format_args!("set {number}")))?;
    }
    Ok(())
}

struct Checker<'a> {
    checked: &'a Checked<'a>,
    formulas: &'a Formulas,
    by_cuts: FxHashMap<&'a [u32], Vec<&'a ControlState>>,
    questions: Questions<'a>,
}

/// The threads after a large step, by what happened to them.
struct After {
    globals: Vec<Term>,
    /// Those that did not move, in the order of the multiset before.
    idle: Vec<(u32, Vec<Term>)>,
    mover: Option<(u32, Vec<Term>)>,
    holds: bool,
    created: Option<(u32, Vec<Term>)>,
}

impl Checker<'_> {
    fn start(&mut self) -> Result<(), Stop> {
        let control = self.checked.control;
        let Some(cut) = control.cut(control.start) else { return reject("the start is not a cut") };
        if control.is_forbidden(control.start) {
            return reject("the forbidden label is where the first thread starts");
        }
        self.questions.begin();
        let terms = &mut self.questions.terms;
        let globals = terms.fresh_vector(control.program.globals.len());
        let values = terms.fresh_vector(control.stack(control.start).width);
        let mut is_start = Term::TRUE;
        if let Some(condition) = control.procedure(control.start).enforce {
            is_start = encode(terms, control.program.exprs.ops(condition), |place| match place.var {
                Var::Global(i) => globals[i as usize],
                Var::Local(i) => values[i as usize],
            })?;
        }
        let mover = Some((cut, values));
        let after = After { globals, idle: Vec::new(), mover, holds: false, created: None };
        let covered = self.covered(&after)?;
        let hole = self.questions.terms.arena.and(is_start, !covered);
        if self.questions.is_impossible(hole)? {
            Ok(())
        } else {
            reject("a start state satisfies no formula")
        }
    }

    /// Checks all large steps from the states of one set.
    fn set(&mut self, set: &ControlState) -> Result<(), Stop> {
        let Checked { control, large_steps, .. } = *self.checked;
        let holds = |position: usize| set.holder == Some(position as u32);
        let mut stacks: Vec<StackId> = Vec::with_capacity(set.cuts.len());
        for (position, &cut) in set.cuts.iter().enumerate() {
            match control.cuts[cut as usize] {
                Some(stack) if large_steps.position((cut, holds(position))).is_some() => stacks.push(stack),
                // No thread is ever there, so no state of the set is in reach.
                _ => return Ok(()),
            }
        }
        for mover in 0..stacks.len() {
            if set.holder.is_some() && !holds(mover) {
                continue;
            }
            poll(control.budget)?;
            self.questions.begin();
            let terms = &mut self.questions.terms;
            let globals = terms.fresh_vector(control.program.globals.len());
            let threads: Vec<Vec<Term>> =
                stacks.iter().map(|&stack| terms.fresh_vector(control.stack(stack).width)).collect();
            let before = self.instance(set.condition, &globals, &threads);
            let terms = &mut self.questions.terms;
            let from = (&globals[..], &threads[mover][..]);
            let is_full = control.task.threads.is_some_and(|bound| stacks.len() >= bound as usize);
            let is_full = Some(Term::constant(is_full));
            let walked = Walk::run(self.checked, terms, stacks[mover], from, holds(mover), is_full)?;
            let violation = terms.arena.and(before, walked.violation);
            if !self.questions.is_impossible(violation)? {
                return reject(format!("a large step of the thread at {mover} may violate the property"));
            }
            for arrival in &walked.arrivals {
                if !self.is_closed(set, &stacks, &threads, mover, arrival, before)? {
                    return reject(format!("a large step of the thread at {mover} leads to no listed state"));
                }
            }
        }
        Ok(())
    }

    /// Whether all states at the end of a large step satisfy some formula.
    fn is_closed(
        &mut self,
        set: &ControlState,
        stacks: &[StackId],
        threads: &[Vec<Term>],
        mover: usize,
        arrival: &Arrival<'_>,
        before: Term,
    ) -> Result<bool, Stop> {
        let control = self.checked.control;
        let terms = &mut self.questions.terms;
        let mut guard = terms.arena.and(before, arrival.guard);
        let mut idle = Vec::with_capacity(stacks.len());
        for (position, &stack) in stacks.iter().enumerate().filter(|&(position, _)| position != mover) {
            let mut values = threads[position].clone();
            let passive = arrival.passive.as_ref();
            let frame = passive.and_then(|passive| control.frame_of(stack, passive.procedure()));
            if let (Some(passive), Some(frame)) = (passive, frame) {
                let (possible, after) = passive.apply(self.checked, terms, &values, frame.base)?;
                guard = terms.arena.and(guard, possible);
                values = after;
            }
            idle.push((set.cuts[position], values));
        }
        let created = match arrival.creation {
            Creation::New(stack) => {
                let Some(cut) = control.cut(stack) else { return reject("a thread begins at no cut") };
                Some((cut, arrival.new.clone()))
            }
            Creation::None | Creation::AtBound => None,
        };
        let mut after = After {
            globals: arrival.globals.clone(),
            idle,
            mover: arrival.cut.map(|cut| (cut, arrival.values.clone())),
            holds: false,
            created,
        };
        for holds in [false, true] {
            after.holds = holds;
            let terms = &mut self.questions.terms;
            let guard = terms.arena.and(guard, if holds { arrival.holds } else { !arrival.holds });
            if guard == Term::FALSE {
                continue;
            }
            let covered = self.covered(&after)?;
            let hole = self.questions.terms.arena.and(guard, !covered);
            if !self.questions.is_impossible(hole)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The condition under which threads can be assigned to the positions of a listed set.
    fn covered(&mut self, after: &After) -> Result<Term, Stop> {
        let moved = || after.mover.iter().chain(&after.created);
        let mut cuts: Vec<u32> = after.idle.iter().chain(moved()).map(|&(cut, _)| cut).collect();
        cuts.sort_unstable();
        let sets = self.by_cuts.get(&cuts[..]).cloned().unwrap_or_default();
        let at = |cut: u32| (0..cuts.len()).filter(|&position| cuts[position] == cut).collect::<Vec<_>>();
        let mut covered = Term::FALSE;
        for set in sets.into_iter().filter(|set| set.holder.is_some() == after.holds) {
            let movers = match (&after.mover, set.holder) {
                (None, _) => vec![None],
                (Some((cut, _)), Some(holder)) => {
                    at(*cut).into_iter().filter(|&position| position == holder as usize).map(Some).collect()
                }
                (Some((cut, _)), None) => at(*cut).into_iter().map(Some).collect(),
            };
            for mover in movers {
                let created = after.created.as_ref().map_or(vec![None], |&(cut, _)| {
                    at(cut).into_iter().map(Some).filter(|&position| position != mover).collect()
                });
                for created in created {
                    poll(self.checked.control.budget)?;
                    let Some(threads) = assign(&cuts, after, mover, created) else { continue };
                    let here = self.instance(set.condition, &after.globals, &threads);
                    covered = self.questions.terms.arena.or(covered, here);
                }
            }
        }
        Ok(covered)
    }

    /// A formula about the given globals and threads. What it says of variables that do not exist is arbitrary.
    fn instance(&mut self, condition: Literal, globals: &[Term], threads: &[Vec<Term>]) -> Term {
        let width = self.checked.control.width();
        let gates = self.formulas.gates();
        let mut cone: Vec<usize> = vec![condition.gate()];
        let mut values: FxHashMap<usize, Term> = FxHashMap::default();
        values.insert(condition.gate(), Term::TRUE);
        let mut next = 0;
        while next < cone.len() {
            if let Gate::And(a, b) | Gate::Xor(a, b) = gates[cone[next]] {
                for input in [a.gate(), b.gate()] {
                    if values.insert(input, Term::TRUE).is_none() {
                        cone.push(input);
                    }
                }
            }
            next += 1;
        }
        // Inputs come before the gates that use them.
        cone.sort_unstable();
        let terms = &mut self.questions.terms;
        let read = |values: &FxHashMap<usize, Term>, literal: Literal| {
            let term = values[&literal.gate()];
            if literal.is_complemented() { !term } else { term }
        };
        let mut parameters: FxHashMap<u32, Term> = FxHashMap::default();
        for gate in cone {
            let term = match gates[gate] {
                Gate::True => Term::TRUE,
                Gate::And(a, b) => terms.arena.and(read(&values, a), read(&values, b)),
                Gate::Xor(a, b) => terms.arena.xor(read(&values, a), read(&values, b)),
                Gate::Parameter(parameter) => *parameters
                    .entry(parameter)
                    .or_insert_with(|| parameter_term(terms, parameter as usize, width, globals, threads)),
            };
            values.insert(gate, term);
        }
        read(&values, condition)
    }
}

fn parameter_term(
    terms: &mut Terms,
    parameter: usize,
    width: usize,
    globals: &[Term],
    threads: &[Vec<Term>],
) -> Term {
    let local = |parameter: usize| {
        let thread = threads.get(parameter.checked_div(width)?)?;
        thread.get(parameter % width).copied()
    };
    let found = match parameter.checked_sub(globals.len()) {
        None => globals.get(parameter).copied(),
        Some(parameter) => local(parameter),
    };
    found.unwrap_or_else(|| terms.fresh())
}

/// The values of the threads at every position of a sorted list of cuts, if the thread that moved and the new one are put
/// at the given positions.
fn assign(
    cuts: &[u32],
    after: &After,
    mover: Option<usize>,
    created: Option<usize>,
) -> Option<Vec<Vec<Term>>> {
    // Idle threads come in the order of their cuts.
    let mut idle = after.idle.iter();
    let mut threads = Vec::with_capacity(cuts.len());
    for (position, &cut) in cuts.iter().enumerate() {
        let (found, values) = if Some(position) == mover {
            after.mover.as_ref()?
        } else if Some(position) == created {
            after.created.as_ref()?
        } else {
            idle.next()?
        };
        if *found != cut {
            return None;
        }
        threads.push(values.clone());
    }
    Some(threads)
}
