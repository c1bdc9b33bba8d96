//! The large steps of one thread, state by state.
//!
//! What a thread can do depends on the globals and on its own values only, so the large steps from one state of a
//! thread can be computed once and used whenever a thread is in that state, whoever else is there. Two kinds of steps
//! concern others: starting a thread, which does nothing if there are too many ([`Creation::AtBound`]), and assignments
//! with `x$` ([`PassiveMove`]).
//!
//! Values that do not matter at a location ([`ThreadSystem::live`]) are false there.

use rustc_hash::FxHashSet;

use super::{Bits, Context, Location, Step, StepId, ThreadSystem};
use crate::evidence::trace::{Move, Violation};
use crate::model::eval::{Values, eval};
use crate::model::{Action, Assign, Call, Edge, Expr, Place, Var};

/// A thread, and the globals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The values of the globals that matter.
    pub shared: Bits,
    /// The thread.
    pub thread: Thread,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thread {
    /// Where it is.
    pub location: Location,
    /// Its values.
    pub values: Bits,
    /// Whether only it may move.
    pub holds: bool,
}

/// What happens to the number of threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Creation {
    /// Nothing is started.
    None,
    /// This thread is started; only if there are fewer threads than the bound.
    New(Thread),
    /// Nothing is started because the bound is reached; only then.
    AtBound,
}

/// An assignment with `x$`, which changes all other threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PassiveMove {
    /// The step.
    pub step: StepId,
    /// The globals before and after.
    pub shared: [Bits; 2],
    /// The values of the thread that moves, before and after.
    pub own: [Bits; 2],
}

/// The end of a large step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The globals.
    pub shared: Bits,
    /// The thread; `None` if it has ended.
    pub thread: Option<Thread>,
    /// Whether a thread is started.
    pub creation: Creation,
    /// What happens to the other threads.
    pub passive: Option<PassiveMove>,
}

/// Everything that a thread can do in one large step.
#[derive(Clone, Debug, Default)]
pub struct LargeSteps {
    /// The results, without repetitions, each with the end of its path.
    outcomes: Vec<(Outcome, Path)>,
    /// A violation on the way, at the end of a path.
    violation: Option<(Path, Violation)>,
    links: Vec<(Path, StepId)>,
}

/// The position of the last step of a path in [`LargeSteps::links`], plus one; 0 for the empty path.
type Path = u32;

impl LargeSteps {
    /// The results, without repetitions.
    #[must_use]
    pub fn outcomes(&self) -> impl ExactSizeIterator<Item = &Outcome> {
        self.outcomes.iter().map(|(outcome, _)| outcome)
    }

    /// The steps that lead to a result.
    #[must_use]
    pub fn path(&self, outcome: usize) -> Vec<StepId> {
        self.steps(self.outcomes[outcome].1)
    }

    /// A violation on the way, and the steps before it.
    #[must_use]
    pub fn violation(&self) -> Option<(Vec<StepId>, Violation)> {
        self.violation.map(|(path, violation)| (self.steps(path), violation))
    }

    /// Whether there is a violation on the way.
    #[must_use]
    pub fn violates(&self) -> bool {
        self.violation.is_some()
    }

    fn steps(&self, mut path: Path) -> Vec<StepId> {
        let mut steps = Vec::new();
        while let Some(&(before, step)) = path.checked_sub(1).and_then(|at| self.links.get(at as usize)) {
            steps.push(step);
            path = before;
        }
        steps.reverse();
        steps
    }
}

/// There are too many results to list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// The state of a thread in the middle of a large step.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Moment {
    view: View,
    creation: Creation,
}

impl ThreadSystem<'_> {
    /// The states in which the first thread can begin: arbitrary values that satisfy `enforce`.
    ///
    /// # Errors
    /// If there are more than `limit`.
    pub fn initial_views(&self, limit: usize) -> Result<Vec<View>, TooMany> {
        let mut views = Vec::new();
        let globals: Vec<usize> = self.relevance.globals().map(|global| global as usize).collect();
        for shared in arbitrary(vec![Bits::default()], &globals, limit)? {
            let locals: Vec<usize> = self.live(self.start).iter().collect();
            for values in arbitrary(vec![Bits::default()], &locals, limit)? {
                let thread = Thread { location: self.start, values, holds: false };
                let view = View { shared: shared.clone(), thread };
                if self.is_enforced(&view, self.context(self.start)) {
                    views.push(view);
                }
            }
            if views.len() > limit {
                return Err(TooMany);
            }
        }
        Ok(views)
    }

    /// All large steps of a thread. The caller has to know that nobody else holds the system.
    ///
    /// # Errors
    /// If more than `limit` states are on the way.
    pub fn large_steps(&self, view: &View, limit: usize) -> Result<LargeSteps, TooMany> {
        self.listed(view, limit, true)
    }

    /// All large steps of a thread if the number of threads has no bound: a step that starts a thread starts it, and blocks if the
    /// thread cannot begin. The caller has to know that nobody else holds the system.
    ///
    /// # Errors
    /// If more than `limit` states are on the way.
    pub fn large_steps_without_bound(&self, view: &View, limit: usize) -> Result<LargeSteps, TooMany> {
        self.listed(view, limit, false)
    }

    fn listed(&self, view: &View, limit: usize, has_bound: bool) -> Result<LargeSteps, TooMany> {
        let mut found = LargeSteps::default();
        let mut seen: FxHashSet<Moment> = FxHashSet::default();
        let mut ends: FxHashSet<Outcome> = FxHashSet::default();
        let mut open = vec![(Moment { view: view.clone(), creation: Creation::None }, 0)];
        while let Some((moment, path)) = open.pop() {
            for (id, step) in self.steps_from(moment.view.thread.location) {
                if self.can_fail(&moment.view, step) && found.violation.is_none() {
                    let Move::Edge(edge) = step.action else { continue };
                    found.violation = Some((path, Violation::Assertion(edge)));
                }
                found.links.push((path, id));
                let path = found.links.len() as u32;
                for mut end in self.small_steps(&moment.view, id, limit)? {
                    if !has_bound && end.creation == Creation::AtBound {
                        continue;
                    }
                    if end.creation == Creation::None {
                        end.creation.clone_from(&moment.creation);
                    }
                    let goes_on = end.passive.is_none()
                        && end.thread.as_ref().is_some_and(|thread| !self.is_cut(thread.location));
                    match &end.thread {
                        Some(thread) if goes_on => {
                            if self.is_forbidden(thread.location) && found.violation.is_none() {
                                found.violation = Some((path, Violation::Label));
                            }
                            let view = View { shared: end.shared, thread: thread.clone() };
                            let moment = Moment { view, creation: end.creation };
                            if seen.insert(moment.clone()) {
                                open.push((moment, path));
                            }
                        }
                        _ => {
                            if ends.insert(end.clone()) {
                                found.outcomes.push((end, path));
                            }
                        }
                    }
                }
                if seen.len() + ends.len() > limit {
                    return Err(TooMany);
                }
            }
        }
        Ok(found)
    }

    /// Whether a step is an assertion of the property that can fail.
    fn can_fail(&self, view: &View, step: &Step) -> bool {
        match self.edge(step).map(|edge| &edge.action) {
            Some(Action::Assert(condition)) if self.asserts() => self.values(*condition, view).can_fail,
            _ => false,
        }
    }

    /// The possible values of an expression of the procedure that runs.
    fn values(&self, expr: Expr, view: &View) -> Values {
        self.values_between(expr, [view, view], None)
    }

    /// The possible values of an expression between two states of the thread that moves, and of another thread: its
    /// values before and after, and the position of its frame.
    fn values_between(
        &self,
        expr: Expr,
        [before, after]: [&View; 2],
        other: Option<(&Bits, &Bits, u32)>,
    ) -> Values {
        let base = self.context(before.thread.location).base;
        let read = |place: Place| -> Result<bool, ()> {
            let view = if place.primed { after } else { before };
            Ok(match (place.var, other) {
                (Var::Global(i), _) => view.shared.get(i as usize),
                (Var::Local(i), Some((old, new, base))) if place.passive => {
                    if place.primed { new } else { old }.get((base + i) as usize)
                }
                (Var::Local(i), _) => view.thread.values.get((base + i) as usize),
            })
        };
        eval(self.program().exprs.ops(expr), read).unwrap_or(Values::EITHER)
    }

    /// Whether the `enforce` of a frame can hold.
    fn is_enforced(&self, view: &View, frame: &Context) -> bool {
        let condition = self.program().procedure(frame.procedure).enforce;
        let base = frame.base;
        condition.is_none_or(|condition| {
            let read = |place: Place| -> Result<bool, ()> {
                Ok(match place.var {
                    Var::Global(i) => view.shared.get(i as usize),
                    Var::Local(i) => view.thread.values.get((base + i) as usize),
                })
            };
            eval(self.program().exprs.ops(condition), read).is_ok_and(|values| values.can_hold)
        })
    }

    /// All ways to make one step.
    fn small_steps(&self, view: &View, id: StepId, limit: usize) -> Result<Vec<Outcome>, TooMany> {
        let step = self.step(id);
        let mut passive = false;
        let mut creations = vec![Creation::None];
        let after: Vec<View> = match self.edge(step) {
            None => vec![self.returned(view, step)],
            Some(edge) => match &edge.action {
                Action::Skip | Action::AtomicBegin | Action::AtomicEnd | Action::EndThread => {
                    vec![view.clone()]
                }
                Action::Assume(condition) | Action::Assert(condition) => {
                    if !self.values(*condition, view).can_hold {
                        return Ok(Vec::new());
                    }
                    vec![view.clone()]
                }
                Action::Assign(assign) => {
                    passive = self.is_passive(assign);
                    self.assigned(view, assign, limit)?
                }
                Action::Call(call) => self.entered(view, step, edge, call, limit)?,
                Action::Spawn(call) => {
                    creations = self.started(view, step, call, limit)?;
                    vec![view.clone()]
                }
                Action::Fork(_) => {
                    creations = self.forked(view, step);
                    vec![view.clone()]
                }
            },
        };
        let mut outcomes = Vec::new();
        for after in after {
            if self.is_statement(step) && !self.is_enforced(&after, self.lands_in(step)) {
                continue;
            }
            for creation in &creations {
                let holds = self.holds_after(view, &after, step);
                let thread = step.to.map(|location| {
                    let mut values = after.thread.values.clone();
                    values.keep(self.live(location));
                    Thread { location, values, holds }
                });
                let passive = passive.then(|| PassiveMove {
                    step: id,
                    shared: [view.shared.clone(), after.shared.clone()],
                    own: [view.thread.values.clone(), after.thread.values.clone()],
                });
                let shared = after.shared.clone();
                outcomes.push(Outcome { shared, thread, creation: creation.clone(), passive });
            }
        }
        Ok(outcomes)
    }

    /// Whether an assignment reads or writes `x$`.
    fn is_passive(&self, assign: &Assign) -> bool {
        let conditions = assign.constrain.iter();
        assign.is_passive()
            || conditions.flat_map(|&condition| self.program().exprs.reads(condition)).any(|p| p.passive)
    }

    /// Whether the thread that made a step holds the system after it; the rules are those of [`crate::certify`].
    fn holds_after(&self, before: &View, after: &View, step: &Step) -> bool {
        let Some(to) = step.to else { return false };
        if self.in_prologue(step.from) {
            return self.in_prologue(to);
        }
        let flag =
            |view: &View| self.program().atomic_flag.is_some_and(|flag| view.shared.get(flag as usize));
        let in_section = match self.edge(step).map(|edge| &edge.action) {
            Some(Action::AtomicBegin) => true,
            Some(Action::AtomicEnd) => false,
            _ => before.thread.holds && !flag(before),
        };
        in_section || flag(after)
    }

    /// All results of an assignment for the thread that moves. Conditions about other threads are not looked at.
    fn assigned(&self, view: &View, assign: &Assign, limit: usize) -> Result<Vec<View>, TooMany> {
        let location = view.thread.location;
        let procedure = self.context(location).procedure;
        let mut after = vec![view.clone()];
        for &(target, value) in &assign.pairs {
            if target.passive || !self.relevance.matters(procedure, target.var) {
                continue;
            }
            let values = self.values(value, view);
            let write = |view: &mut View, value: bool| match target.var {
                Var::Global(i) => view.shared.set(i as usize, value),
                Var::Local(i) => view.thread.values.set(self.position(location, i) as usize, value),
            };
            if values == Values::EITHER {
                let mut others = after.clone();
                for view in &mut others {
                    write(view, true);
                }
                for view in &mut after {
                    write(view, false);
                }
                after.append(&mut others);
            } else {
                for view in &mut after {
                    write(view, values.can_hold);
                }
            }
            if after.len() > limit {
                return Err(TooMany);
            }
        }
        let exprs = &self.program().exprs;
        for &condition in &assign.constrain {
            if !exprs.reads(condition).any(|place| place.passive) {
                after.retain(|after| self.values_between(condition, [view, after], None).can_hold);
            }
        }
        Ok(after)
    }

    /// The values with which a call enters its callee: arguments, and anything for the other locals that matter.
    fn entered(
        &self,
        view: &View,
        step: &Step,
        edge: &Edge,
        call: &Call,
        limit: usize,
    ) -> Result<Vec<View>, TooMany> {
        let Some(entry) = step.to else { return Ok(Vec::new()) };
        let mut values = view.thread.values.clone();
        if self.program().leaves_prologue(self.context(step.from).procedure, edge) {
            values = Bits::default();
        }
        let frames = self.with_arguments(view, entry, call, values, limit)?;
        let with = |values: Bits| {
            let thread = Thread { values, ..view.thread.clone() };
            View { shared: view.shared.clone(), thread }
        };
        Ok(frames.into_iter().map(with).collect())
    }

    /// The values of a thread at the entry of a procedure that is called.
    fn with_arguments(
        &self,
        view: &View,
        entry: Location,
        call: &Call,
        mut below: Bits,
        limit: usize,
    ) -> Result<Vec<Bits>, TooMany> {
        let callee = self.program().procedure(call.callee);
        let base = self.context(entry).base;
        for local in 0..callee.locals.len() as u32 {
            below.set((base + local) as usize, false);
        }
        let mut frames = vec![below];
        for (parameter, &arg) in (0..).zip(&call.args) {
            let position = (base + parameter) as usize;
            if !self.live(entry).get(position) {
                continue;
            }
            let values = self.values(arg, view);
            if values == Values::EITHER {
                frames = arbitrary(frames, &[position], limit)?;
            } else {
                for frame in &mut frames {
                    frame.set(position, values.can_hold);
                }
            }
        }
        let others = (base + callee.params) as usize..base as usize + callee.locals.len();
        let others: Vec<usize> = others.filter(|&position| self.live(entry).get(position)).collect();
        arbitrary(frames, &others, limit)
    }

    /// The ways to start a thread that runs a procedure, and the way not to, at the bound.
    fn started(&self, view: &View, step: &Step, call: &Call, limit: usize) -> Result<Vec<Creation>, TooMany> {
        let Some(entry) = step.creates else { return Ok(Vec::new()) };
        let frames = self.with_arguments(view, entry, call, Bits::default(), limit)?;
        let threads = frames
            .into_iter()
            .map(|values| Thread { location: entry, values, holds: false })
            .filter(|thread| {
                let view = View { shared: view.shared.clone(), thread: thread.clone() };
                self.is_enforced(&view, self.context(entry))
            });
        let mut creations: Vec<Creation> = threads.map(Creation::New).collect();
        creations.push(Creation::AtBound);
        Ok(creations)
    }

    /// The way to start a thread with a copy of the locals, and the way not to, at the bound.
    fn forked(&self, view: &View, step: &Step) -> Vec<Creation> {
        let Some(location) = step.creates else { return Vec::new() };
        let base = self.context(step.from).base as usize;
        let mut values = Bits::default();
        for local in 0..self.procedure(step.from).locals.len() {
            values.set(local, view.thread.values.get(base + local));
        }
        values.keep(self.live(location));
        vec![Creation::New(Thread { location, values, holds: false }), Creation::AtBound]
    }

    /// Hands the return values to the caller.
    fn returned(&self, view: &View, step: &Step) -> View {
        let mut after = view.clone();
        let Some((caller, edge)) = self.returns_to(step) else { return after };
        let Action::Call(call) = &edge.action else { return after };
        let caller = &self.contexts[caller.index()];
        let first = self.position(step.from, self.procedure(step.from).first_return());
        for (slot, target) in (first..).zip(&call.targets) {
            let value = view.thread.values.get(slot as usize);
            match *target {
                Some(var) if !self.relevance.matters(caller.procedure, var) => {}
                Some(Var::Global(i)) => after.shared.set(i as usize, value),
                Some(Var::Local(i)) => after.thread.values.set((caller.base + i) as usize, value),
                None => {}
            }
        }
        after
    }

    /// All that can become of another thread by an assignment with `x$`. If there is nothing, the assignment is not
    /// possible.
    ///
    /// # Errors
    /// If there are more than `limit` possibilities.
    pub fn passive_images(
        &self,
        passive: &PassiveMove,
        other: &Thread,
        limit: usize,
    ) -> Result<Vec<Thread>, TooMany> {
        let step = self.step(passive.step);
        let procedure = self.context(step.from).procedure;
        let Some(Action::Assign(assign)) = self.edge(step).map(|edge| &edge.action) else {
            return Ok(vec![other.clone()]);
        };
        let Some(frame) = self.frame_of(other.location, procedure) else { return Ok(vec![other.clone()]) };
        let base = frame.base;
        let view = |i: usize| {
            let thread = Thread { location: step.from, values: passive.own[i].clone(), holds: false };
            View { shared: passive.shared[i].clone(), thread }
        };
        let (before, after) = (view(0), view(1));
        let mut images = vec![other.values.clone()];
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| target.passive) {
            let Var::Local(i) = target.var else { continue };
            let position = (base + i) as usize;
            if !self.relevance.matters(procedure, target.var) {
                continue;
            }
            let old = (&other.values, &other.values, base);
            let values = self.values_between(value, [&before, &before], Some(old));
            if values == Values::EITHER {
                images = arbitrary(images, &[position], limit)?;
            } else {
                for image in &mut images {
                    image.set(position, values.can_hold);
                }
            }
        }
        let exprs = &self.program().exprs;
        for &condition in &assign.constrain {
            if exprs.reads(condition).any(|place| place.passive) {
                images.retain(|image| {
                    let between = Some((&other.values, image, base));
                    self.values_between(condition, [&before, &after], between).can_hold
                });
            }
        }
        for image in &mut images {
            image.keep(self.live(other.location));
        }
        images.sort_unstable();
        images.dedup();
        Ok(images.into_iter().map(|values| Thread { values, ..other.clone() }).collect())
    }
}

/// All vectors that differ from the given ones in some positions only.
fn arbitrary(mut vectors: Vec<Bits>, positions: &[usize], limit: usize) -> Result<Vec<Bits>, TooMany> {
    for &position in positions {
        if vectors.len() > limit {
            return Err(TooMany);
        }
        let mut others = vectors.clone();
        for bits in &mut others {
            bits.set(position, true);
        }
        for bits in &mut vectors {
            bits.set(position, false);
        }
        vectors.append(&mut others);
    }
    if vectors.len() > limit { Err(TooMany) } else { Ok(vectors) }
}
