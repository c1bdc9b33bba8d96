//! Large steps of one thread, from partial valuations.
//!
//! A value that is `None` may be either. A step is computed for all of them at once: a variable is decided only when the
//! result depends on it, and a choice leaves its target open. So the results describe exactly the states after the
//! step, and what no condition looks at stays open however many variables there are. Ignored variables are never
//! read, and are open after every step.

use rustc_hash::FxHashSet;

use super::accesses::Visibility;
use super::control::{Control, Frame, StackId, Step};
use crate::certify::stacks::{holds_after, holds_by_prologue};
use crate::certify::values::{Answer, Values, evaluate};
use crate::certify::{Stop, poll, reject};
use crate::model::{Action, Assign, Call, Expr, Place, Var};

/// Values, some of them open.
pub(super) type Partial = Vec<Option<bool>>;

/// A thread and the globals in the middle of a large step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Moment {
    pub globals: Partial,
    pub stack: StackId,
    pub values: Partial,
    pub holds: bool,
    pub creation: Creation,
}

/// Whether a large step starts a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Creation {
    /// It does not try.
    None,
    /// There are too many threads.
    AtBound,
    /// There are few enough threads, and this is the new one.
    New { stack: StackId, values: Partial },
}

/// A step that reads or writes `x$`. What it reads of the thread that moves and of the globals is decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PassiveMove {
    /// The position of the step among those from its stack.
    pub step: usize,
    pub stack: StackId,
    pub before: [Partial; 2],
    pub after: [Partial; 2],
}

/// The end of a large step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct End {
    pub globals: Partial,
    /// The thread; `None` if it has ended.
    pub thread: Option<(StackId, Partial, bool)>,
    pub creation: Creation,
    pub passive: Option<PassiveMove>,
}

/// An open variable that has to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// A global before the step.
    Global(usize),
    /// A value of the thread before the step.
    Own(usize),
    /// The same after the step, where the step has assigned it.
    NewGlobal(usize),
    NewOwn(usize),
}

/// The state after a step of one thread.
#[derive(Clone)]
struct Draft {
    globals: Partial,
    values: Partial,
    creation: Creation,
}

impl Draft {
    /// Both ways to decide an open variable after the step.
    fn split(&self, cell: Cell) -> Result<[Self; 2], Stop> {
        let with = |value: bool| {
            let mut draft = self.clone();
            match cell {
                Cell::NewGlobal(i) => draft.globals[i] = Some(value),
                Cell::NewOwn(i) => draft.values[i] = Some(value),
                Cell::Global(_) | Cell::Own(_) => return reject("a variable is decided too late"),
            }
            Ok(draft)
        };
        Ok([with(false)?, with(true)?])
    }
}

/// Executes large steps.
pub(super) struct Executor<'a> {
    pub control: &'a Control<'a>,
    pub visibility: &'a Visibility<'a>,
    /// For every cut, whether the value at each position is fixed.
    pub fixed: Vec<Vec<bool>>,
    /// Whether there are few enough threads to start another one.
    pub may_start: bool,
}

/// The one value that is possible, `None` if both are, or the variable on which that depends.
fn known(values: Values<Cell>) -> Result<Option<bool>, Cell> {
    match (values.can_be_false, values.can_be_true) {
        (Answer::Depends(cell), _) | (_, Answer::Depends(cell)) => Err(cell),
        (Answer::Yes, Answer::Yes) => Ok(None),
        (_, can_be_true) => Ok(Some(can_be_true == Answer::Yes)),
    }
}

impl Executor<'_> {
    /// The states in which the first thread begins.
    pub fn starts(&self) -> Result<Vec<Moment>, Stop> {
        let control = self.control;
        let frame = control.stack(control.start).top;
        let draft = Draft {
            globals: vec![None; control.program.globals.len()],
            values: vec![None; control.stack(control.start).width],
            creation: Creation::None,
        };
        let moment = |draft: Draft| Moment {
            globals: draft.globals,
            stack: control.start,
            values: draft.values,
            holds: false,
            creation: Creation::None,
        };
        Ok(self.enforced(vec![draft], Some(frame))?.into_iter().map(moment).collect())
    }

    /// All large steps from a state at a cut; `None` if the property may be violated on the way.
    pub fn large_steps(&self, from: Moment) -> Result<Option<Vec<End>>, Stop> {
        let control = self.control;
        let mut seen: FxHashSet<Moment> = FxHashSet::default();
        let mut ends: FxHashSet<End> = FxHashSet::default();
        let mut results = Vec::new();
        let mut open = vec![from];
        while let Some(moment) = open.pop() {
            poll(control.budget)?;
            for (position, step) in control.steps_from(moment.stack).iter().enumerate() {
                let mut before = vec![moment.clone()];
                while let Some(moment) = before.pop() {
                    let found = match self.small_step(&moment, step, position)? {
                        Ok(Some(found)) => found,
                        Ok(None) => return Ok(None),
                        Err(cell) => {
                            before.extend(split(&moment, cell)?);
                            continue;
                        }
                    };
                    for end in found {
                        if self.is_forbidden(&end) {
                            return Ok(None);
                        }
                        match end.thread {
                            Some((stack, values, holds)) if control.cut(stack).is_none() => {
                                let End { globals, creation, .. } = end;
                                let moment = Moment { globals, stack, values, holds, creation };
                                if seen.insert(moment.clone()) {
                                    open.push(moment);
                                }
                            }
                            _ => {
                                if ends.insert(end.clone()) {
                                    results.push(end);
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(Some(results))
    }

    fn is_forbidden(&self, end: &End) -> bool {
        let created = match end.creation {
            Creation::New { stack, .. } => Some(stack),
            Creation::None | Creation::AtBound => None,
        };
        let own = end.thread.as_ref().map(|(stack, ..)| *stack);
        own.into_iter().chain(created).any(|stack| self.control.is_forbidden(stack))
    }

    fn reader(moment: &Moment, base: usize) -> impl Fn(Place) -> Result<bool, Cell> + '_ {
        move |place| match place.var {
            Var::Global(i) => moment.globals[i as usize].ok_or(Cell::Global(i as usize)),
            Var::Local(i) => moment.values[base + i as usize].ok_or(Cell::Own(base + i as usize)),
        }
    }

    fn value(&self, expr: Expr, moment: &Moment, base: usize) -> Result<Values<Cell>, Stop> {
        evaluate(self.control.program.exprs.ops(expr), Self::reader(moment, base))
    }

    /// All ways to make a step; `None` if the property may be violated; or a variable that has to be decided.
    fn small_step(
        &self,
        moment: &Moment,
        step: &Step,
        position: usize,
    ) -> Result<Result<Option<Vec<End>>, Cell>, Stop> {
        let control = self.control;
        let top = control.stack(step.from).top;
        let unchanged = Draft {
            globals: moment.globals.clone(),
            values: moment.values.clone(),
            creation: moment.creation.clone(),
        };
        let mut is_passive = false;
        let drafts = match control.action(step) {
            None => vec![self.returned(step, unchanged)?],
            Some(Action::Skip | Action::EndThread | Action::AtomicBegin | Action::AtomicEnd) => {
                vec![unchanged]
            }
            Some(action @ (Action::Assume(condition) | Action::Assert(condition))) => {
                let values = self.value(*condition, moment, top.base)?;
                if matches!(action, Action::Assert(_)) && control.asserts() {
                    match values.can_be_false {
                        Answer::Yes => return Ok(Ok(None)),
                        Answer::No => {}
                        Answer::Depends(cell) => return Ok(Err(cell)),
                    }
                }
                match values.can_be_true {
                    Answer::Yes => vec![unchanged],
                    Answer::No => Vec::new(),
                    Answer::Depends(cell) => return Ok(Err(cell)),
                }
            }
            Some(Action::Assign(assign)) => {
                is_passive = self.visibility.accesses(control, step).passive;
                match self.assigned(moment, top, assign, unchanged)? {
                    Ok(drafts) => drafts,
                    Err(cell) => return Ok(Err(cell)),
                }
            }
            Some(Action::Call(call)) => {
                let kept = if step.to.is_some_and(|to| control.stack(to).below.is_none()) {
                    Vec::new()
                } else {
                    moment.values.clone()
                };
                match self.entered(moment, top, call, kept)? {
                    Ok(values) => vec![Draft { values, ..unchanged }],
                    Err(cell) => return Ok(Err(cell)),
                }
            }
            Some(Action::Spawn(call)) => match self.entered(moment, top, call, Vec::new())? {
                Ok(values) => self.started(step, &unchanged, values, true)?,
                Err(cell) => return Ok(Err(cell)),
            },
            Some(Action::Fork(_)) => match self.forked(moment, step, top) {
                Ok(values) => self.started(step, &unchanged, values, false)?,
                Err(cell) => return Ok(Err(cell)),
            },
        };
        let drafts = self.enforced(drafts, control.enforced(step))?;
        self.finished(moment, step, position, drafts, is_passive)
    }

    /// Decides who holds the system after a step.
    fn finished(
        &self,
        moment: &Moment,
        step: &Step,
        position: usize,
        mut drafts: Vec<Draft>,
        is_passive: bool,
    ) -> Result<Result<Option<Vec<End>>, Cell>, Stop> {
        let control = self.control;
        let mut ends = Vec::new();
        while let Some(draft) = drafts.pop() {
            let bottom = |stack: StackId| control.stack(stack).bottom;
            let by_prologue =
                step.to.and_then(|to| holds_by_prologue(control.program, bottom(step.from), bottom(to)));
            let holds = match (step.to, by_prologue, control.program.atomic_flag) {
                (None, _, _) => false,
                (_, Some(holds), _) => holds,
                (_, _, None) => holds_after(control.action(step), moment.holds, None),
                (_, _, Some(flag)) => {
                    let flag = flag as usize;
                    let Some(before) = moment.globals[flag] else { return Ok(Err(Cell::Global(flag))) };
                    let Some(after) = draft.globals[flag] else {
                        drafts.extend(draft.split(Cell::NewGlobal(flag))?);
                        continue;
                    };
                    holds_after(control.action(step), moment.holds, Some((before, after)))
                }
            };
            let passive = is_passive.then(|| PassiveMove {
                step: position,
                stack: step.from,
                before: [moment.globals.clone(), moment.values.clone()],
                after: [draft.globals.clone(), draft.values.clone()],
            });
            let Draft { globals, values, creation } = draft;
            let thread = step.to.map(|to| (to, values, holds));
            ends.push(End { globals, thread, creation, passive });
        }
        Ok(Ok(Some(ends)))
    }

    /// Hands the return values to the caller.
    fn returned(&self, step: &Step, mut draft: Draft) -> Result<Draft, Stop> {
        let left = self.control.stack(step.from).top;
        let Some((caller, call)) = self.control.returns(step) else { return reject("no call to return to") };
        let first = left.base + self.control.program.procedure(left.procedure).first_return() as usize;
        let slots = draft.values.split_off(left.base);
        for (slot, target) in (first - left.base..).zip(&call.targets) {
            match *target {
                // The slot is gone after the return, so an open value may be handed on as an open one.
                Some(var) if !self.visibility.ignores(caller.procedure, var) => match var {
                    Var::Global(i) => draft.globals[i as usize] = slots[slot],
                    Var::Local(i) => draft.values[caller.base + i as usize] = slots[slot],
                },
                _ => {}
            }
        }
        Ok(draft)
    }

    /// All results of an assignment for the thread that moves, without its effect on others.
    fn assigned(
        &self,
        moment: &Moment,
        top: Frame,
        assign: &Assign,
        mut draft: Draft,
    ) -> Result<Result<Vec<Draft>, Cell>, Stop> {
        let exprs = &self.control.program.exprs;
        let own = || {
            let pairs = assign.pairs.iter().filter(|(target, _)| !target.passive);
            pairs.filter(|(target, _)| !self.visibility.ignores(top.procedure, target.var))
        };
        for &(target, value) in own() {
            match known(self.value(value, moment, top.base)?) {
                Ok(value) => match target.var {
                    Var::Global(i) => draft.globals[i as usize] = value,
                    Var::Local(i) => draft.values[top.base + i as usize] = value,
                },
                Err(cell) => return Ok(Err(cell)),
            }
        }
        // The value of a place of the thread that moves, or of a global, or the variable that has to be decided.
        let read = |draft: &Draft, place: Place| {
            if !place.primed || !own().any(|(target, _)| target.var == place.var) {
                return Self::reader(moment, top.base)(place);
            }
            match place.var {
                Var::Global(i) => draft.globals[i as usize].ok_or(Cell::NewGlobal(i as usize)),
                Var::Local(i) => {
                    let position = top.base + i as usize;
                    draft.values[position].ok_or(Cell::NewOwn(position))
                }
            }
        };
        // What the effect on others depends on has to be decided, since it is the same for all of them.
        let passive = |condition: &Expr| exprs.reads(*condition).any(|place| place.passive);
        let values = assign
            .pairs
            .iter()
            .filter(|(target, _)| target.passive && !self.visibility.ignores(top.procedure, target.var));
        let about_others =
            values.map(|(_, value)| value).chain(assign.constrain.iter().filter(|c| passive(c)));
        let decided: Vec<Place> =
            about_others.flat_map(|&expr| exprs.reads(expr)).filter(|place| !place.passive).collect();
        let (mut open, mut done) = (vec![draft], Vec::new());
        'drafts: while let Some(draft) = open.pop() {
            let mut undecided = None;
            for &condition in assign.constrain.iter().filter(|condition| !passive(condition)) {
                match evaluate(exprs.ops(condition), |place| read(&draft, place))?.can_be_true {
                    Answer::Yes => {}
                    Answer::No => continue 'drafts,
                    Answer::Depends(cell) => undecided = Some(cell),
                }
            }
            undecided = undecided.or_else(|| decided.iter().find_map(|&place| read(&draft, place).err()));
            match undecided {
                None => done.push(draft),
                Some(cell @ (Cell::Global(_) | Cell::Own(_))) => return Ok(Err(cell)),
                Some(cell) => open.extend(draft.split(cell)?),
            }
        }
        Ok(Ok(done))
    }

    /// The values of a stack after a frame was put on it: arguments, and anything for the other locals.
    fn entered(
        &self,
        moment: &Moment,
        caller: Frame,
        call: &Call,
        mut values: Partial,
    ) -> Result<Result<Partial, Cell>, Stop> {
        for (parameter, &arg) in (0..).zip(&call.args) {
            if self.visibility.ignores(call.callee, Var::Local(parameter)) {
                values.push(None);
                continue;
            }
            match known(self.value(arg, moment, caller.base)?) {
                Ok(value) => values.push(value),
                Err(cell) => return Ok(Err(cell)),
            }
        }
        let procedure = self.control.program.procedure(call.callee);
        values.extend(vec![None; procedure.locals.len() - call.args.len()]);
        Ok(Ok(values))
    }

    /// The values of a thread with a copy of the locals. A value that is fixed where the new thread begins is
    /// decided, because the two copies are equal; elsewhere the copy may have any value.
    fn forked(&self, moment: &Moment, step: &Step, top: Frame) -> Result<Partial, Cell> {
        let count = self.control.program.procedure(top.procedure).locals.len();
        let cut = step.created.and_then(|created| self.control.cut(created));
        let fixed = |local: usize| cut.is_some_and(|cut| self.fixed[cut as usize][local]);
        let copy = |local: usize| {
            let ignored = self.visibility.ignores(top.procedure, Var::Local(local as u32));
            match moment.values[top.base + local] {
                None if fixed(local) && !ignored => Err(Cell::Own(top.base + local)),
                value => Ok(value.filter(|_| !ignored)),
            }
        };
        (0..count).map(copy).collect()
    }

    /// The ways to start a thread with the given values, or the way not to if there are too many.
    fn started(
        &self,
        step: &Step,
        draft: &Draft,
        values: Partial,
        enforces: bool,
    ) -> Result<Vec<Draft>, Stop> {
        let Some(stack) = step.created else { return reject("no thread is started") };
        let control = self.control;
        if !self.may_start {
            return Ok(vec![Draft { creation: Creation::AtBound, ..draft.clone() }]);
        }
        let mut drafts = Vec::new();
        // The new thread's frame takes the place of the values while its `enforce` is looked at.
        let new = Draft { values, ..draft.clone() };
        let frame = enforces.then(|| control.stack(stack).top);
        // Deciding a global for the new thread decides it for all.
        for new in self.enforced(vec![new], frame)? {
            let creation = Creation::New { stack, values: new.values };
            drafts.push(Draft { globals: new.globals, values: draft.values.clone(), creation });
        }
        Ok(drafts)
    }

    /// Keeps the states in which the `enforce` of a frame can hold. Nothing depends on the state before the step any
    /// more, so every open variable may be decided where it is.
    fn enforced(&self, drafts: Vec<Draft>, frame: Option<Frame>) -> Result<Vec<Draft>, Stop> {
        let program = self.control.program;
        let condition = frame.and_then(|frame| program.procedure(frame.procedure).enforce);
        let (Some(condition), Some(frame)) = (condition, frame) else { return Ok(drafts) };
        let (mut open, mut done) = (drafts, Vec::new());
        while let Some(draft) = open.pop() {
            poll(self.control.budget)?;
            let values = evaluate(program.exprs.ops(condition), |place| match place.var {
                Var::Global(i) => draft.globals[i as usize].ok_or(Cell::NewGlobal(i as usize)),
                Var::Local(i) => {
                    let position = frame.base + i as usize;
                    draft.values[position].ok_or(Cell::NewOwn(position))
                }
            })?;
            match values.can_be_true {
                Answer::Yes => done.push(draft),
                Answer::No => {}
                Answer::Depends(cell) => open.extend(draft.split(cell)?),
            }
        }
        Ok(done)
    }

    /// All that can become of the values of another thread by a step with `x$`. If there is nothing, the step is
    /// impossible.
    pub fn images(&self, passive: &PassiveMove, stack: StackId, old: Partial) -> Result<Vec<Partial>, Stop> {
        let control = self.control;
        let top = control.stack(passive.stack).top;
        let step = &control.steps_from(passive.stack)[passive.step];
        let Some(Action::Assign(assign)) = control.action(step) else { return reject("no assignment") };
        let Some(frame) = control.frame_of(stack, top.procedure) else { return Ok(vec![old]) };
        let written = || {
            let pairs = assign.pairs.iter().filter(|(target, _)| target.passive);
            pairs.filter(|(target, _)| !self.visibility.ignores(top.procedure, target.var))
        };
        let local = |var: Var| match var {
            Var::Global(i) | Var::Local(i) => frame.base + i as usize,
        };
        // The places of the thread that moves are decided.
        let own = |place: Place| {
            let [globals, values] = if place.primed { &passive.after } else { &passive.before };
            match place.var {
                Var::Global(i) => globals[i as usize].ok_or(Cell::Global(i as usize)),
                Var::Local(i) => values[top.base + i as usize].ok_or(Cell::Global(i as usize)),
            }
        };
        let exprs = &control.program.exprs;
        let (mut before, mut images) = (vec![old], Vec::new());
        'before: while let Some(old) = before.pop() {
            poll(control.budget)?;
            let split = |values: &Partial, position: usize| {
                [false, true].map(|value| {
                    let mut values = values.clone();
                    values[position] = Some(value);
                    values
                })
            };
            let of_old = |place: Place| old[local(place.var)].ok_or(Cell::Own(local(place.var)));
            let mut new = old.clone();
            for &(target, value) in written() {
                let read = |place: Place| if place.passive { of_old(place) } else { own(place) };
                match known(evaluate(exprs.ops(value), read)?) {
                    Ok(value) => new[local(target.var)] = value,
                    Err(Cell::Own(position)) => {
                        before.extend(split(&old, position));
                        continue 'before;
                    }
                    Err(_) => return reject("a variable of the thread that moves is not decided"),
                }
            }
            let mut open = vec![new];
            'after: while let Some(new) = open.pop() {
                for &condition in &assign.constrain {
                    if !exprs.reads(condition).any(|place| place.passive) {
                        continue;
                    }
                    let is_written = |place: Place| written().any(|(target, _)| target.var == place.var);
                    let read = |place: Place| match (place.passive, place.primed && is_written(place)) {
                        (false, _) => own(place),
                        (true, false) => of_old(place),
                        (true, true) => new[local(place.var)].ok_or(Cell::NewOwn(local(place.var))),
                    };
                    match evaluate(exprs.ops(condition), read)?.can_be_true {
                        Answer::Yes => {}
                        Answer::No => continue 'after,
                        Answer::Depends(Cell::NewOwn(position)) => {
                            open.extend(split(&new, position));
                            continue 'after;
                        }
                        Answer::Depends(Cell::Own(position)) => {
                            before.extend(split(&old, position));
                            continue 'before;
                        }
                        Answer::Depends(_) => {
                            return reject("a variable of the thread that moves is not decided");
                        }
                    }
                }
                images.push(new);
            }
        }
        Ok(images)
    }
}

/// Both ways to decide an open variable before a step.
fn split(moment: &Moment, cell: Cell) -> Result<[Moment; 2], Stop> {
    let with = |value: bool| {
        let mut moment = moment.clone();
        match cell {
            Cell::Global(i) => moment.globals[i] = Some(value),
            Cell::Own(i) => moment.values[i] = Some(value),
            Cell::NewGlobal(_) | Cell::NewOwn(_) => return reject("a variable is decided too early"),
        }
        Ok(moment)
    };
    Ok([with(false)?, with(true)?])
}
