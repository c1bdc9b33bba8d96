//! Universal clauses: the start satisfies them, and large steps keep them.
//!
//! A clause about `k` threads is violated after a large step by `k` threads, of which one may be the thread that moved and
//! one the thread that it started; the others were there before. So for every way to choose these roles there is one
//! question: can a state that satisfies all clauses come to one where these threads violate the clause? Before the
//! step, only instances of clauses about the threads in question are used, and how many others there are is left open,
//! except that there are at most as many as the bound allows. What `x$` demands of others is demanded of the threads in
//! question only. All that can only make more possible.

use cusp_encodings::Term;

use super::Checked;
use super::slots::Slots;
use super::symbolic::{Arrival, Creation, Walk, Walked};
use crate::certify::encode::encode;
use crate::certify::question::Questions;
use crate::certify::{Stop, reject};
use crate::evidence::threads::UniversalClause;
use crate::model::Var;

/// Checks that the states that satisfy all clauses are an inductive set without a violation.
pub(super) fn check(checked: &Checked<'_>, clauses: &[UniversalClause]) -> Result<(), Stop> {
    check_steps(checked, clauses, true)
}

/// Checks that the states that satisfy all clauses are an inductive set.
pub(super) fn check_facts(checked: &Checked<'_>, clauses: &[UniversalClause]) -> Result<(), Stop> {
    if clauses.is_empty() { Ok(()) } else { check_steps(checked, clauses, false) }
}

fn check_steps(checked: &Checked<'_>, clauses: &[UniversalClause], no_violation: bool) -> Result<(), Stop> {
    let control = checked.control;
    for (number, clause) in clauses.iter().enumerate() {
        let cuts = clause.threads.iter().flat_map(|cube| &cube.cuts);
        if clause.globals.iter().any(|&(global, _)| global as usize >= control.program.globals.len())
            || cuts.into_iter().any(|&cut| cut as usize >= control.cuts.len())
        {
            return reject(format!("clause {number} is about a global or a cut that does not exist"));
        }
    }
    start(checked, clauses)?;
    for &pair in &checked.large_steps.pairs {
        let mut questions = Questions::new(control.budget);
        let slots = Slots::new(checked, &mut questions.terms, pair)?;
        let Some(stack) = control.cuts[pair.0 as usize] else {
            return reject("no thread can be at this cut");
        };
        let from = (&slots.globals[..], &slots.values[..]);
        let walked = Walk::run(checked, &mut questions.terms, stack, from, pair.1, None)?;
        let mut step = LargeStep { checked, clauses, questions, slots, walked };
        let kept = if no_violation { step.violates_nothing() } else { Ok(()) };
        let kept = kept.and_then(|()| step.keeps_all());
        kept.map_err(|stop| stop.at(format_args!("large steps from cut {}", pair.0)))?;
    }
    Ok(())
}

/// Checks that every start satisfies the clauses.
fn start(checked: &Checked<'_>, clauses: &[UniversalClause]) -> Result<(), Stop> {
    let control = checked.control;
    let Some(cut) = control.cut(control.start) else { return reject("the start is not a cut") };
    if control.is_forbidden(control.start) {
        return reject("the forbidden label is where the first thread starts");
    }
    let mut questions = Questions::new(control.budget);
    let slots = Slots::new(checked, &mut questions.terms, (cut, false))?;
    if let Some(condition) = control.procedure(control.start).enforce {
        let code = control.program.exprs.ops(condition);
        let condition = encode(&mut questions.terms, code, |place| match place.var {
            Var::Global(i) => slots.globals[i as usize],
            Var::Local(i) => slots.values[i as usize],
        })?;
        questions.demand(condition);
    }
    for (number, clause) in clauses.iter().enumerate() {
        let terms = &mut questions.terms;
        let mut violated = Slots::shared(terms, clause, &slots.globals, Term::FALSE);
        match &clause.threads[..] {
            [] => {}
            [cube] => {
                let cube = slots.cube(terms, cube, cut, Term::FALSE, &slots.values);
                violated = terms.arena.and(violated, cube);
            }
            // There is only one thread.
            _ => continue,
        }
        if !questions.is_impossible(violated)? {
            return reject(format!("a start state violates clause {number}"));
        }
    }
    Ok(())
}

/// The large steps of a thread at one cut.
struct LargeStep<'a> {
    checked: &'a Checked<'a>,
    clauses: &'a [UniversalClause],
    questions: Questions<'a>,
    slots: Slots<'a>,
    walked: Walked<'a>,
}

/// Who the threads of a violated clause are: their positions in the clause.
struct Roles {
    mover: Option<usize>,
    created: Option<usize>,
    idle: Vec<usize>,
}

impl LargeStep<'_> {
    fn violates_nothing(&mut self) -> Result<(), Stop> {
        let violation = self.walked.violation;
        if self.slots.is_impossible(&mut self.questions, self.clauses, violation, 0)? {
            Ok(())
        } else {
            reject("the property may be violated")
        }
    }

    /// Checks that all clauses hold after the step.
    fn keeps_all(&mut self) -> Result<(), Stop> {
        for (number, clause) in self.clauses.iter().enumerate() {
            // Equal conditions are interchangeable.
            let is_first = |&i: &usize| !clause.threads[..i].contains(&clause.threads[i]);
            let positions = || (0..clause.threads.len()).filter(is_first).map(Some);
            for mover in positions().chain([None]) {
                // Of two equal conditions, one may be about the thread that moved and one about the new one.
                let created = (0..clause.threads.len()).map(Some).filter(|&created| created != mover);
                for created in created.chain([None]) {
                    let idle = (0..clause.threads.len()).filter(|&i| Some(i) != mover && Some(i) != created);
                    let roles = Roles { mover, created, idle: idle.collect() };
                    if !self.keeps(clause, &roles)? {
                        return reject(format!("clause {number} need not hold after it"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether threads in these roles cannot violate a clause after the step.
    fn keeps(&mut self, clause: &UniversalClause, roles: &Roles) -> Result<bool, Stop> {
        let threads = 1 + roles.idle.len();
        let most = self.checked.control.most_threads().unwrap_or(usize::MAX);
        if threads > most {
            return Ok(true);
        }
        self.slots.grow(&mut self.questions, roles.idle.len());
        let mut violated = Term::FALSE;
        for position in 0..self.walked.arrivals.len() {
            let arrival = &self.walked.arrivals[position];
            let creates = matches!(arrival.creation, Creation::New(_));
            if creates && threads >= most
                || roles.created.is_some() && !creates
                || roles.mover.is_some() && arrival.cut.is_none()
            {
                continue;
            }
            if roles.mover.is_none() && roles.created.is_none() && self.is_unaffected(clause, arrival) {
                continue;
            }
            let here = self.violated(clause, roles, position)?;
            violated = self.questions.terms.arena.or(violated, here);
        }
        self.slots.is_impossible(&mut self.questions, self.clauses, violated, roles.idle.len())
    }

    /// Whether the condition of a clause on everything but the threads that move is the same before and after.
    fn is_unaffected(&self, clause: &UniversalClause, arrival: &Arrival<'_>) -> bool {
        let same = |&(global, _): &(u32, bool)| {
            arrival.globals[global as usize] == self.slots.globals[global as usize]
        };
        arrival.passive.is_none()
            && clause.globals.iter().all(same)
            && (clause.held.is_none() || arrival.holds == Term::constant(self.slots.mover.1))
    }

    /// The condition under which threads in these roles violate a clause at the end of a large step.
    fn violated(&mut self, clause: &UniversalClause, roles: &Roles, position: usize) -> Result<Term, Stop> {
        let (slots, terms) = (&self.slots, &mut self.questions.terms);
        let arrival = &self.walked.arrivals[position];
        let shared = Slots::shared(terms, clause, &arrival.globals, arrival.holds);
        let mut all = terms.arena.and(arrival.guard, shared);
        if let (Some(i), Some(cut)) = (roles.mover, arrival.cut) {
            let cube = slots.cube(terms, &clause.threads[i], cut, arrival.holds, &arrival.values);
            all = terms.arena.and(all, cube);
        }
        if let (Some(i), Creation::New(stack)) = (roles.created, arrival.creation) {
            let Some(cut) = self.checked.control.cut(stack) else {
                return reject("a thread begins at no cut");
            };
            let cube = slots.cube(terms, &clause.threads[i], cut, Term::FALSE, &arrival.new);
            all = terms.arena.and(all, cube);
        }
        for (&i, idle) in roles.idle.iter().zip(&slots.idle) {
            if all == Term::FALSE {
                break;
            }
            let cube = &clause.threads[i];
            let Some(passive) = &arrival.passive else {
                let here = slots.idle_cube(terms, cube, idle, |_| &idle.values);
                all = terms.arena.and(all, here);
                continue;
            };
            // What the step does to the thread depends on where its frame of the procedure is.
            let mut after: Vec<(usize, Vec<Term>)> = Vec::new();
            for (at, &(_, stack)) in slots.cuts.iter().enumerate() {
                let Some(frame) = self.checked.control.frame_of(stack, passive.procedure()) else {
                    continue;
                };
                if after.iter().any(|&(base, _)| base == frame.base) {
                    continue;
                }
                let same_base = |&&(_, stack): &&(u32, _)| {
                    let other = self.checked.control.frame_of(stack, passive.procedure());
                    other.is_some_and(|other| other.base == frame.base)
                };
                let there = (0..slots.cuts.len()).filter(|&j| j >= at && same_base(&&slots.cuts[j]));
                let there: Vec<Term> = there.map(|j| idle.at[j]).collect();
                let there = terms.arena.or_all(there);
                let (possible, values) = passive.apply(self.checked, terms, &idle.values, frame.base)?;
                let possible = terms.arena.implies(there, possible);
                all = terms.arena.and(all, possible);
                after.push((frame.base, values));
            }
            let values = |at: usize| {
                let frame = self.checked.control.frame_of(slots.cuts[at].1, passive.procedure());
                let found = frame.and_then(|frame| after.iter().find(|(base, _)| *base == frame.base));
                found.map_or(&idle.values[..], |(_, values)| values)
            };
            let here = slots.idle_cube(terms, cube, idle, values);
            all = terms.arena.and(all, here);
        }
        Ok(all)
    }
}
