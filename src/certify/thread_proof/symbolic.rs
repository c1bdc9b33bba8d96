//! Large steps of one thread as terms.
//!
//! A walk goes from a cut to the next ones, in the order of [`Control::position`], so that all states that arrive at a
//! stack are merged before its steps are followed. As in [`crate::certify::encode`], the guards that hold under an
//! assignment are those along a single run, so that merging by if-then-else is exact.

use std::collections::BTreeMap;

use cusp_encodings::Term;

use super::Checked;
use super::control::{Frame, StackId, Step};
use crate::certify::encode::{Terms, Values, encode};
use crate::certify::{Stop, poll, reject};
use crate::model::{Action, Assign, Call, Expr, Place, ProcId, Var};

/// Whether a large step starts a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Creation {
    /// It does not try.
    None,
    /// There are too many threads.
    AtBound,
    /// There are few enough threads, and the new one has this stack.
    New(StackId),
}

/// A thread and the globals in the middle of a large step.
#[derive(Clone)]
struct State {
    guard: Term,
    globals: Values,
    values: Values,
    holds: Term,
    /// The values of the thread that was started; empty without one.
    new: Values,
}

impl State {
    fn merge(self, terms: &mut Terms, other: &Self) -> Self {
        let guard = other.guard;
        Self {
            guard: terms.arena.or(self.guard, guard),
            globals: Values::choose(terms, guard, &other.globals, &self.globals),
            values: Values::choose(terms, guard, &other.values, &self.values),
            holds: terms.arena.ite(guard, other.holds, self.holds),
            new: Values::choose(terms, guard, &other.new, &self.new),
        }
    }

    fn restrict(&mut self, terms: &mut Terms, condition: Term) {
        self.guard = terms.arena.and(self.guard, condition);
    }
}

/// Where a large step ends.
pub(super) struct Arrival<'a> {
    /// The cut, or `None` if the thread has ended.
    pub cut: Option<u32>,
    pub creation: Creation,
    pub guard: Term,
    pub globals: Vec<Term>,
    pub values: Vec<Term>,
    pub holds: Term,
    /// The values of the new thread.
    pub new: Vec<Term>,
    pub passive: Option<Passive<'a>>,
}

/// A step that reads or writes `x$`.
pub(super) struct Passive<'a> {
    assign: &'a Assign,
    frame: Frame,
    /// Globals and values of the thread that moves.
    before: [Values; 2],
    after: [Values; 2],
}

/// All large steps from a cut.
pub(super) struct Walked<'a> {
    /// The condition under which the property may be violated on the way.
    pub violation: Term,
    pub arrivals: Vec<Arrival<'a>>,
}

/// A walk from one cut.
pub(super) struct Walk<'a> {
    checked: &'a Checked<'a>,
    waiting: BTreeMap<(u32, Creation), (StackId, State)>,
    merged: BTreeMap<(Option<u32>, Creation), State>,
    arrivals: Vec<Arrival<'a>>,
    violation: Term,
    is_full: Option<Term>,
}

impl<'a> Walk<'a> {
    /// Walks from a stack, with these globals and values. `is_full` says whether there are too many threads to start
    /// another one; if it is not known, both are possible where there is a bound.
    pub fn run(
        checked: &'a Checked<'a>,
        terms: &mut Terms,
        from: StackId,
        (globals, values): (&[Term], &[Term]),
        holds: bool,
        is_full: Option<Term>,
    ) -> Result<Walked<'a>, Stop> {
        let mut walk = Self {
            checked,
            waiting: BTreeMap::new(),
            merged: BTreeMap::new(),
            arrivals: Vec::new(),
            violation: Term::FALSE,
            is_full,
        };
        let state = State {
            guard: Term::TRUE,
            globals: globals.iter().copied().collect(),
            values: values.iter().copied().collect(),
            holds: Term::constant(holds),
            new: Values::default(),
        };
        walk.visit(terms, from, Creation::None, &state)?;
        while let Some(((_, creation), (stack, state))) = walk.waiting.pop_first() {
            poll(checked.control.budget)?;
            walk.visit(terms, stack, creation, &state)?;
        }
        for ((cut, creation), state) in std::mem::take(&mut walk.merged) {
            walk.arrive(terms, cut, creation, state, None);
        }
        Ok(Walked { violation: walk.violation, arrivals: walk.arrivals })
    }

    fn visit(
        &mut self,
        terms: &mut Terms,
        stack: StackId,
        creation: Creation,
        state: &State,
    ) -> Result<(), Stop> {
        let steps = self.checked.control.steps_from(stack);
        let guards = terms.alternatives(state.guard, steps.len());
        for (step, guard) in steps.iter().zip(guards) {
            self.step(terms, step, creation, State { guard, ..state.clone() })?;
        }
        Ok(())
    }

    fn value(
        &self,
        terms: &mut Terms,
        expr: Expr,
        globals: &Values,
        values: &Values,
        base: usize,
    ) -> Result<Term, Stop> {
        encode(terms, self.checked.control.program.exprs.ops(expr), |place| match place.var {
            Var::Global(i) => globals.get(i as usize),
            Var::Local(i) => values.get(base + i as usize),
        })
    }

    fn step(
        &mut self,
        terms: &mut Terms,
        step: &Step,
        mut creation: Creation,
        mut state: State,
    ) -> Result<(), Stop> {
        let control = self.checked.control;
        let top = control.stack(step.from).top;
        let before = state.clone();
        let mut passive = None;
        match control.action(step) {
            None => self.returned(step, &mut state)?,
            Some(Action::Skip | Action::EndThread | Action::AtomicBegin | Action::AtomicEnd) => {}
            Some(action @ (Action::Assume(condition) | Action::Assert(condition))) => {
                let condition = self.value(terms, *condition, &state.globals, &state.values, top.base)?;
                if matches!(action, Action::Assert(_)) && control.asserts() {
                    let fails = terms.arena.and(state.guard, !condition);
                    self.violation = terms.arena.or(self.violation, fails);
                }
                state.restrict(terms, condition);
            }
            Some(Action::Assign(assign)) => {
                self.assigned(terms, top, assign, &before, &mut state)?;
                if self.checked.visibility.accesses(control, step).passive {
                    passive = Some((&**assign, top));
                }
            }
            Some(Action::Call(call)) => {
                if step.to.is_some_and(|to| control.stack(to).below.is_none()) {
                    state.values = Values::default();
                }
                let entered = self.entered(terms, top, call, &before)?;
                for term in entered {
                    state.values.push(term);
                }
            }
            Some(Action::Spawn(_) | Action::Fork(_)) => {
                let Some(created) = step.created else { return reject("no thread is started") };
                let bound = control.task.threads;
                if bound.is_some() {
                    // With a bound of one thread, none can be started.
                    let choice = match self.is_full {
                        Some(is_full) => !is_full,
                        None if bound > Some(1) => terms.fresh(),
                        None => Term::FALSE,
                    };
                    let create = terms.arena.and(state.guard, choice);
                    let skip = terms.arena.and(state.guard, !choice);
                    let skipped = State { guard: skip, ..state.clone() };
                    self.land(terms, step, Creation::AtBound, &before, skipped, None)?;
                    state.guard = create;
                }
                creation = Creation::New(created);
                state.new = self.started(terms, step, top, &before, &mut state)?;
            }
        }
        self.land(terms, step, creation, &before, state, passive)
    }

    /// Hands the return values to the caller.
    fn returned(&self, step: &Step, state: &mut State) -> Result<(), Stop> {
        let Checked { control, visibility, .. } = self.checked;
        let left = control.stack(step.from).top;
        let Some((caller, call)) = control.returns(step) else { return reject("no call to return to") };
        let first = left.base + control.program.procedure(left.procedure).first_return() as usize;
        let slots: Vec<Term> = state.values.iter().skip(first).collect();
        state.values.truncate(left.base);
        for (&slot, target) in slots.iter().zip(&call.targets) {
            match *target {
                Some(var) if visibility.ignores(caller.procedure, var) => {}
                Some(Var::Global(i)) => state.globals.set(i as usize, slot),
                Some(Var::Local(i)) => state.values.set(caller.base + i as usize, slot),
                None => {}
            }
        }
        Ok(())
    }

    /// An assignment, without its effect on others.
    fn assigned(
        &self,
        terms: &mut Terms,
        top: Frame,
        assign: &Assign,
        before: &State,
        after: &mut State,
    ) -> Result<(), Stop> {
        let Checked { control, visibility, .. } = self.checked;
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            if visibility.ignores(top.procedure, target.var) {
                continue;
            }
            let value = self.value(terms, value, &before.globals, &before.values, top.base)?;
            match target.var {
                Var::Global(i) => after.globals.set(i as usize, value),
                Var::Local(i) => after.values.set(top.base + i as usize, value),
            }
        }
        let exprs = &control.program.exprs;
        for &condition in &assign.constrain {
            if exprs.reads(condition).any(|place| place.passive) {
                continue;
            }
            let condition = encode(terms, exprs.ops(condition), |place| {
                let state = if place.primed { &*after } else { before };
                match place.var {
                    Var::Global(i) => state.globals.get(i as usize),
                    Var::Local(i) => state.values.get(top.base + i as usize),
                }
            })?;
            after.restrict(terms, condition);
        }
        Ok(())
    }

    /// The values of a frame that is entered: arguments, and anything for the other locals.
    fn entered(
        &self,
        terms: &mut Terms,
        caller: Frame,
        call: &Call,
        before: &State,
    ) -> Result<Vec<Term>, Stop> {
        let Checked { control, visibility, .. } = self.checked;
        let mut values = Vec::new();
        for (parameter, &arg) in (0..).zip(&call.args) {
            values.push(if visibility.ignores(call.callee, Var::Local(parameter)) {
                terms.fresh()
            } else {
                self.value(terms, arg, &before.globals, &before.values, caller.base)?
            });
        }
        let others = control.program.procedure(call.callee).locals.len() - values.len();
        values.extend(terms.fresh_vector(others));
        Ok(values)
    }

    /// The values of a thread that is started. If it cannot satisfy its `enforce`, the step is impossible.
    fn started(
        &self,
        terms: &mut Terms,
        step: &Step,
        top: Frame,
        before: &State,
        state: &mut State,
    ) -> Result<Values, Stop> {
        let control = self.checked.control;
        let Some(Action::Spawn(call)) = control.action(step) else {
            let count = control.program.procedure(top.procedure).locals.len();
            return Ok((top.base..top.base + count).map(|position| before.values.get(position)).collect());
        };
        let values: Values = self.entered(terms, top, call, before)?.into_iter().collect();
        if let Some(condition) = control.program.procedure(call.callee).enforce {
            let condition = self.value(terms, condition, &before.globals, &values, 0)?;
            state.restrict(terms, condition);
        }
        Ok(values)
    }

    /// Whether the thread holds the system after a step. The rule is the one in the documentation of
    /// [`crate::certify`].
    fn holds(&self, terms: &mut Terms, step: &Step, before: &State, after: &State) -> Term {
        let control = self.checked.control;
        let Some(to) = step.to else { return Term::FALSE };
        if control.in_prologue(step.from) {
            return Term::constant(control.in_prologue(to));
        }
        let flag = control.program.atomic_flag.map(|flag| flag as usize);
        match (control.action(step), flag) {
            (Some(Action::AtomicBegin), _) => Term::TRUE,
            (Some(Action::AtomicEnd), None) => Term::FALSE,
            (_, None) => before.holds,
            (Some(Action::AtomicEnd), Some(flag)) => after.globals.get(flag),
            (_, Some(flag)) => {
                let in_section = terms.arena.and(before.holds, !before.globals.get(flag));
                terms.arena.or(in_section, after.globals.get(flag))
            }
        }
    }

    /// Adds the states after a step.
    fn land(
        &mut self,
        terms: &mut Terms,
        step: &Step,
        creation: Creation,
        before: &State,
        mut state: State,
        passive: Option<(&'a Assign, Frame)>,
    ) -> Result<(), Stop> {
        let control = self.checked.control;
        if let Some(frame) = control.enforced(step)
            && let Some(condition) = control.program.procedure(frame.procedure).enforce
        {
            let condition = self.value(terms, condition, &state.globals, &state.values, frame.base)?;
            state.restrict(terms, condition);
        }
        state.holds = self.holds(terms, step, before, &state);
        let created = match creation {
            Creation::New(stack) => Some(stack),
            Creation::None | Creation::AtBound => None,
        };
        if step.to.into_iter().chain(created).any(|stack| control.is_forbidden(stack)) {
            self.violation = terms.arena.or(self.violation, state.guard);
        }
        if state.guard == Term::FALSE {
            return Ok(());
        }
        let cut = step.to.map(|to| control.cut(to));
        match (cut, step.to, passive) {
            (Some(None), Some(to), _) => {
                let key = (control.position(to), creation);
                let merged = match self.waiting.remove(&key) {
                    Some((_, other)) => other.merge(terms, &state),
                    None => state,
                };
                self.waiting.insert(key, (to, merged));
            }
            (cut, _, None) => {
                let key = (cut.flatten(), creation);
                if key.0.is_none() {
                    // Threads end with different stacks, and their values do not matter any more.
                    state.values = Values::default();
                }
                let merged = match self.merged.remove(&key) {
                    Some(other) => other.merge(terms, &state),
                    None => state,
                };
                self.merged.insert(key, merged);
            }
            (cut, _, Some((assign, frame))) => {
                let passive = Passive {
                    assign,
                    frame,
                    before: [before.globals.clone(), before.values.clone()],
                    after: [state.globals.clone(), state.values.clone()],
                };
                self.arrive(terms, cut.flatten(), creation, state, Some(passive));
            }
        }
        Ok(())
    }

    /// Ends a large step. Ignored variables may have any value after it.
    fn arrive(
        &mut self,
        terms: &mut Terms,
        cut: Option<u32>,
        creation: Creation,
        state: State,
        passive: Option<Passive<'a>>,
    ) {
        let Checked { control, visibility, .. } = self.checked;
        let State { guard, globals, values, holds, new } = state;
        let global = |(i, term): (usize, Term)| {
            if visibility.ignores_global(i) { terms.fresh() } else { term }
        };
        let globals: Vec<Term> = globals.iter().enumerate().map(global).collect();
        let mut open = |stack: Option<StackId>, values: &Values| {
            let mut open: Vec<Term> = values.iter().collect();
            for frame in stack.iter().flat_map(|&stack| control.frames(stack)) {
                let locals = control.program.procedure(frame.procedure).locals.len();
                for local in 0..locals {
                    if visibility.ignores(frame.procedure, Var::Local(local as u32)) {
                        open[frame.base + local] = terms.fresh();
                    }
                }
            }
            open
        };
        let values = open(cut.and_then(|cut| control.cuts[cut as usize]), &values);
        let created = match creation {
            Creation::New(stack) => Some(stack),
            Creation::None | Creation::AtBound => None,
        };
        let new = open(created, &new);
        self.arrivals.push(Arrival { cut, creation, guard, globals, values, holds, new, passive });
    }
}

impl Passive<'_> {
    /// The procedure whose locals are meant.
    pub fn procedure(&self) -> ProcId {
        self.frame.procedure
    }

    /// What becomes of another thread, given its values and the position of its frame: the condition under which the
    /// step is possible, and the values after it.
    pub fn apply(
        &self,
        checked: &Checked<'_>,
        terms: &mut Terms,
        old: &[Term],
        base: usize,
    ) -> Result<(Term, Vec<Term>), Stop> {
        let exprs = &checked.control.program.exprs;
        let own = |place: Place| {
            let [globals, values] = if place.primed { &self.after } else { &self.before };
            match place.var {
                Var::Global(i) => globals.get(i as usize),
                Var::Local(i) => values.get(self.frame.base + i as usize),
            }
        };
        let local = |var: Var| match var {
            Var::Global(i) | Var::Local(i) => base + i as usize,
        };
        let mut new = old.to_vec();
        for &(target, value) in self.assign.pairs.iter().filter(|(target, _)| target.passive) {
            if checked.visibility.ignores(self.frame.procedure, target.var) {
                continue;
            }
            let read = |place: Place| if place.passive { old[local(place.var)] } else { own(place) };
            new[local(target.var)] = encode(terms, exprs.ops(value), read)?;
        }
        let mut possible = Term::TRUE;
        for &condition in &self.assign.constrain {
            if !exprs.reads(condition).any(|place| place.passive) {
                continue;
            }
            let condition =
                encode(terms, exprs.ops(condition), |place| match (place.passive, place.primed) {
                    (false, _) => own(place),
                    (true, false) => old[local(place.var)],
                    (true, true) => new[local(place.var)],
                })?;
            possible = terms.arena.and(possible, condition);
        }
        Ok((possible, new))
    }
}
