//! Replay of runs of several threads.
//!
//! For every step, the state after it is computed from the state before it. Where the semantics leaves a choice, the
//! chosen value is read from the trace, and it must be a possible one. The computed state must then equal the state
//! in the trace.

use std::sync::Arc;

use super::stacks::{check_stack, holds_after, holds_by_prologue, pending_call};
use super::values::{Answer, can_be, evaluate};
use super::{Forbidden, Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::trace::{Frame, Interleaving, Move, System, Thread, ThreadStep, Valuation, Violation};
use crate::model::{Action, Assign, Call, Edge, Expr, ProcId, Procedure, Program, Property, Task, Var};

/// Checks that an interleaving is a run that violates the property.
pub(super) fn check(task: &Task, run: &Interleaving, budget: &Budget) -> Result<(), Stop> {
    let replay = Replay { task, program: &task.program, budget };
    replay.initial(&run.initial).map_err(|stop| stop.at("first state"))?;
    let mut before = &run.initial;
    let mut created = 1;
    for (position, step) in run.steps.iter().enumerate() {
        poll(budget)?;
        replay.step(before, step, &mut created).map_err(|stop| {
            let name = match step.action {
                Move::Edge(edge) => edge.to_string(),
                Move::Return => "return".to_owned(),
            };
            stop.at(format_args!("step {} ({name} of thread {})", position + 1, step.thread))
        })?;
        before = &step.after;
    }
    replay.violation(before, run.thread, run.violation).map_err(|stop| stop.at("last state"))
}

struct Replay<'a> {
    task: &'a Task,
    program: &'a Program,
    budget: &'a Budget,
}

/// A passive thread as seen by an assignment: its frame before and after the step.
struct Passive<'a> {
    before: &'a Frame,
    after: &'a Frame,
    /// The positions of the thread and of its frame in the state before the step.
    place: (usize, usize),
}

impl Replay<'_> {
    fn initial(&self, system: &System) -> Result<(), Stop> {
        self.system(system)?;
        let [Thread { id: 0, frames }] = &system.threads[..] else {
            return reject("there is not exactly one thread, with number 0");
        };
        let [frame] = &frames[..] else { return reject("the thread has more than one frame") };
        if frame.procedure != self.program.start || frame.node != Procedure::ENTRY {
            return reject("the thread is not at the entry of the start procedure");
        }
        if system.holder.is_some() {
            return reject("some thread holds the system");
        }
        self.enforce(system, frame)
    }

    /// Checks that a state is well-formed.
    fn system(&self, system: &System) -> Result<(), Stop> {
        let globals = self.program.globals.len();
        if system.globals.0.len() != globals {
            return reject(format!("the state does not have {globals} globals"));
        }
        if system.threads.windows(2).any(|pair| pair[0].id >= pair[1].id) {
            return reject("the threads are not in the order of their numbers");
        }
        if system.holder.is_some_and(|holder| thread(system, holder).is_none()) {
            return reject("the thread that holds the system does not live");
        }
        for Thread { id, frames } in &system.threads {
            let stack: Vec<_> = frames.iter().map(|frame| (frame.procedure, frame.node)).collect();
            check_stack(self.program, &stack).map_err(|stop| stop.at(format_args!("thread {id}")))?;
            for frame in frames {
                let procedure = self.program.procedure(frame.procedure);
                let locals = procedure.locals.len();
                if frame.locals.0.len() != locals {
                    let name = &procedure.name;
                    return reject(format!("thread {id}: a frame of `{name}` does not have {locals} locals"));
                }
            }
        }
        Ok(())
    }

    /// Checks that a frame's `enforce` can hold.
    fn enforce(&self, system: &System, frame: &Frame) -> Result<(), Stop> {
        let procedure = self.program.procedure(frame.procedure);
        let Some(condition) = procedure.enforce else { return Ok(()) };
        if can_be(self.program, condition, true, |place| read(&system.globals, &frame.locals, place.var))? {
            return Ok(());
        }
        reject(format!("the state violates `enforce` of `{}`", procedure.name))
    }

    fn step(&self, before: &System, step: &ThreadStep, created: &mut u32) -> Result<(), Stop> {
        let after = &step.after;
        self.system(after)?;
        let Some(at) = thread(before, step.thread) else { return reject("the thread does not live") };
        if before.holder.is_some_and(|holder| holder != step.thread) {
            return reject("another thread holds the system");
        }
        let frames = &before.threads[at].frames;
        let Some(top) = frames.last() else { return reject("the thread has no frame") };
        let mut expected = before.clone();
        let action = match step.action {
            Move::Return => {
                self.returns(&mut expected, after, at)?;
                None
            }
            Move::Edge(id) => {
                let procedure = self.program.procedure(top.procedure);
                let Some(edge) = procedure.edges.get(id.index()) else {
                    return reject(format!("`{}` has no edge {id}", procedure.name));
                };
                if edge.from != top.node {
                    return reject(format!("the edge leaves {}, but control is at {}", edge.from, top.node));
                }
                self.edge(before, &mut expected, after, at, edge, created)?;
                Some(&edge.action)
            }
        };
        let flag = self.program.atomic_flag.map(|flag| (before.globals.get(flag), after.globals.get(flag)));
        let holds = match thread(&expected, step.thread).map(|at| &expected.threads[at].frames) {
            None => false,
            Some(new) => holds_by_prologue(self.program, frames[0].procedure, new[0].procedure)
                .unwrap_or_else(|| holds_after(action, before.holder.is_some(), flag)),
        };
        expected.holder = holds.then_some(step.thread);
        self.compare(&expected, after)
    }

    /// Returns from the topmost frame.
    fn returns(&self, expected: &mut System, after: &System, at: usize) -> Result<(), Stop> {
        let frames = &mut expected.threads[at].frames;
        let (Some(left), Some(caller)) = (frames.pop(), frames.last_mut()) else {
            return reject("there is no caller to return to");
        };
        if left.node != Procedure::EXIT {
            return reject(format!("the topmost frame is at {}, not at its exit", left.node));
        }
        let procedure = self.program.procedure(caller.procedure);
        let Some((call, edge)) = pending_call(procedure, caller.node) else {
            return reject("the caller does not wait for a return");
        };
        let first_slot = self.program.procedure(left.procedure).first_return();
        for (slot, target) in (first_slot..).zip(&call.targets) {
            let value = left.locals.get(slot);
            match *target {
                Some(Var::Global(i)) => expected.globals.0[i as usize] = value,
                Some(Var::Local(i)) => Arc::make_mut(caller).locals.0[i as usize] = value,
                None => {}
            }
        }
        let open = caller.locals.0.iter().copied().map(Some).collect();
        self.arrive(expected, after, at, edge, open, |_| Ok(Answer::Yes))
    }

    /// Takes an edge from the node of the topmost frame.
    fn edge(
        &self,
        before: &System,
        expected: &mut System,
        after: &System,
        at: usize,
        edge: &Edge,
        created: &mut u32,
    ) -> Result<(), Stop> {
        let Some(top) = before.threads[at].frames.last() else { return reject("the thread has no frame") };
        let own_read = |var: Var| read(&before.globals, &top.locals, var);
        match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => {}
            Action::Assume(condition) | Action::Assert(condition) => {
                if !can_be(self.program, *condition, true, |place| own_read(place.var))? {
                    return reject("its condition cannot hold");
                }
            }
            Action::Assign(assign) => return self.assign(before, expected, after, at, edge, assign),
            Action::Call(call) => {
                // `main` replaces the prologue's frame; in all other calls the caller's frame stays below the new
                // one.
                let kept = !self.program.leaves_prologue(top.procedure, edge);
                let depth = if kept { before.threads[at].frames.len() } else { 0 };
                let id = before.threads[at].id;
                let new = thread(after, id).and_then(|at| after.threads[at].frames.get(depth));
                let Some(new) = new else { return reject("the callee's frame is missing") };
                self.enters(before, top, call, new)?;
                expected.threads[at].frames.truncate(depth);
                expected.threads[at].frames.push(new.clone());
                return Ok(());
            }
            Action::Spawn(call) => {
                if self.may_start(before) {
                    let new = new_thread(after, *created)?;
                    self.enters(before, top, call, &new.frames[0])?;
                    expected.threads.push(new.clone());
                    *created = created.saturating_add(1);
                }
            }
            Action::Fork(node) => {
                if self.may_start(before) {
                    let frame = Arc::new(Frame { node: *node, ..Frame::clone(top) });
                    expected.threads.push(Thread { id: *created, frames: vec![frame] });
                    *created = created.saturating_add(1);
                }
            }
            Action::EndThread => {
                expected.threads.remove(at);
                return Ok(());
            }
        }
        let open = top.locals.0.iter().copied().map(Some).collect();
        self.arrive(expected, after, at, edge, open, |_| Ok(Answer::Yes))
    }

    fn may_start(&self, before: &System) -> bool {
        self.task.threads.is_none_or(|bound| before.threads.len() < bound as usize)
    }

    /// Checks the frame with which a call or a new thread begins.
    fn enters(&self, before: &System, caller: &Frame, call: &Call, new: &Frame) -> Result<(), Stop> {
        if new.procedure != call.callee || new.node != Procedure::ENTRY {
            return reject("the new frame is not at the entry of the procedure that is called");
        }
        for (position, &arg) in call.args.iter().enumerate() {
            let given = new.locals.get(position as u32);
            let read = |var: Var| read(&before.globals, &caller.locals, var);
            if !can_be(self.program, arg, given, |place| read(place.var))? {
                return reject(format!("argument {} cannot have the value that is passed", position + 1));
            }
        }
        self.enforce(before, new)
    }

    /// Moves the topmost frame to the target of the edge, and ends the thread if that is the exit of its only frame.
    /// In that case the trace no longer shows its locals, so they may be open: some values of them must satisfy
    /// `enforce` and the condition `also`.
    fn arrive(
        &self,
        expected: &mut System,
        after: &System,
        at: usize,
        edge: &Edge,
        locals: Vec<Option<bool>>,
        also: impl Fn(&[Option<bool>]) -> Result<Answer<u32>, Stop>,
    ) -> Result<(), Stop> {
        let frames = &mut expected.threads[at].frames;
        let only = frames.len() == 1;
        let Some(top) = frames.last_mut() else { return reject("the thread has no frame") };
        Arc::make_mut(top).node = edge.to;
        let procedure = self.program.procedure(top.procedure);
        let enforce = |locals: &[Option<bool>]| match procedure.enforce {
            None => Ok(Answer::Yes),
            Some(_) if edge.silent => Ok(Answer::Yes),
            Some(condition) => {
                let values = evaluate(self.program.exprs.ops(condition), |place| match place.var {
                    Var::Global(i) => Ok(after.globals.get(i)),
                    Var::Local(i) => locals[i as usize].ok_or(i),
                })?;
                Ok(values.can_be_true)
            }
        };
        if !self.satisfiable(locals.clone(), &also)? {
            return reject("its `constrain` cannot hold");
        }
        if !self.satisfiable(locals, |locals| Ok(also(locals)?.and(enforce(locals)?)))? {
            return reject(format!("the state after it violates `enforce` of `{}`", procedure.name));
        }
        if only && edge.to == Procedure::EXIT {
            expected.threads.remove(at);
        }
        Ok(())
    }

    /// Whether some values of the open variables satisfy a condition.
    fn satisfiable(
        &self,
        locals: Vec<Option<bool>>,
        condition: impl Fn(&[Option<bool>]) -> Result<Answer<u32>, Stop>,
    ) -> Result<bool, Stop> {
        let mut stack = vec![locals];
        while let Some(mut locals) = stack.pop() {
            poll(self.budget)?;
            match condition(&locals)? {
                Answer::Yes => return Ok(true),
                Answer::No => {}
                Answer::Depends(local) => {
                    locals[local as usize] = Some(false);
                    stack.push(locals.clone());
                    locals[local as usize] = Some(true);
                    stack.push(locals);
                }
            }
        }
        Ok(false)
    }

    fn assign(
        &self,
        before: &System,
        expected: &mut System,
        after: &System,
        at: usize,
        edge: &Edge,
        assign: &Assign,
    ) -> Result<(), Stop> {
        let Thread { id, frames } = &before.threads[at];
        let Some(top) = frames.last() else { return reject("the thread has no frame") };
        let ends = frames.len() == 1 && edge.to == Procedure::EXIT;
        let own_after = if ends { None } else { Some(self.same_frame(after, *id, frames.len() - 1, top)?) };
        let passive = self.passive_threads(before, after, at, top.procedure)?;
        let mut own: Vec<Option<bool>> = top.locals.0.iter().copied().map(Some).collect();
        for &(target, value) in &assign.pairs {
            let name = &self.program.variable(top.procedure, target.var).name;
            let can_be = |given: bool, other: &Frame| {
                can_be(self.program, value, given, |place| {
                    let frame = if place.passive { other } else { top };
                    read(&before.globals, &frame.locals, place.var)
                })
            };
            match target.var {
                Var::Local(i) if target.passive => {
                    for other in &passive {
                        let given = other.after.locals.get(i);
                        if !can_be(given, other.before)? {
                            return reject(format!("`{name}$` gets a value that its right side cannot have"));
                        }
                        let (thread, frame) = other.place;
                        let frame = Arc::make_mut(&mut expected.threads[thread].frames[frame]);
                        frame.locals.0[i as usize] = given;
                    }
                }
                Var::Local(i) if own_after.is_none() => {
                    own[i as usize] = match (can_be(false, top)?, can_be(true, top)?) {
                        (true, true) => None,
                        (_, value) => Some(value),
                    };
                }
                var => {
                    let given = match (var, own_after) {
                        (Var::Local(i), Some(frame)) => frame.locals.get(i),
                        (Var::Local(i), None) => top.locals.get(i),
                        (Var::Global(i), _) => after.globals.get(i),
                    };
                    if !can_be(given, top)? {
                        return reject(format!("`{name}` gets a value that its right side cannot have"));
                    }
                    match var {
                        Var::Global(i) => expected.globals.0[i as usize] = given,
                        Var::Local(i) => {
                            own[i as usize] = Some(given);
                            if let Some(top) = expected.threads[at].frames.last_mut() {
                                Arc::make_mut(top).locals.0[i as usize] = given;
                            }
                        }
                    }
                }
            }
        }
        let constrain = |own: &[Option<bool>]| {
            assign.constrain.iter().try_fold(Answer::Yes, |all, &condition| {
                Ok(all.and(self.constrain(condition, (before, after), top, own, &passive)?))
            })
        };
        self.arrive(expected, after, at, edge, own, constrain)
    }

    /// Whether a `constrain` can hold: for every passive thread, or once if it reads no passive variable.
    fn constrain(
        &self,
        condition: Expr,
        (before, after): (&System, &System),
        top: &Frame,
        own: &[Option<bool>],
        passive: &[Passive<'_>],
    ) -> Result<Answer<u32>, Stop> {
        let holds = |other: Option<&Passive<'_>>| {
            let values = evaluate(self.program.exprs.ops(condition), |place| match (place.var, other) {
                (Var::Global(i), _) => Ok(if place.primed { after } else { before }.globals.get(i)),
                (Var::Local(i), Some(other)) if place.passive => {
                    Ok(if place.primed { other.after } else { other.before }.locals.get(i))
                }
                (Var::Local(i), _) if place.primed => own[i as usize].ok_or(i),
                (Var::Local(i), _) => Ok(top.locals.get(i)),
            })?;
            Ok(values.can_be_true)
        };
        if !self.program.exprs.reads(condition).any(|place| place.passive) {
            return holds(None);
        }
        passive.iter().try_fold(Answer::Yes, |all, other| Ok(all.and(holds(Some(other))?)))
    }

    /// The other threads that an assignment with passive variables affects.
    fn passive_threads<'s>(
        &self,
        before: &'s System,
        after: &'s System,
        at: usize,
        procedure: ProcId,
    ) -> Result<Vec<Passive<'s>>, Stop> {
        let mut passive = Vec::new();
        for (position, other) in before.threads.iter().enumerate().filter(|&(other, _)| other != at) {
            let Some(depth) = other.frames.iter().rposition(|frame| frame.procedure == procedure) else {
                continue;
            };
            let frame = &other.frames[depth];
            let after = self.same_frame(after, other.id, depth, frame)?;
            passive.push(Passive { before: frame, after, place: (position, depth) });
        }
        Ok(passive)
    }

    /// A thread's frame in the state after a step that cannot have removed it.
    fn same_frame<'s>(
        &self,
        after: &'s System,
        id: u32,
        depth: usize,
        frame: &Frame,
    ) -> Result<&'s Frame, Stop> {
        let found = thread(after, id).and_then(|at| after.threads[at].frames.get(depth));
        match found {
            Some(found) if found.procedure == frame.procedure => Ok(found),
            _ => {
                let name = &self.program.procedure(frame.procedure).name;
                reject(format!("thread {id} loses its frame of `{name}`"))
            }
        }
    }

    /// Reports how the computed state differs from the one in the trace.
    fn compare(&self, expected: &System, after: &System) -> Result<(), Stop> {
        if expected == after {
            return Ok(());
        }
        let differs = |&(position, _): &(usize, _)| expected.globals.0[position] != after.globals.0[position];
        if let Some((_, global)) = self.program.globals.iter().enumerate().find(differs) {
            return reject(format!("it changes `{}`, which it does not assign", global.name));
        }
        let numbers = |system: &System| system.threads.iter().map(|thread| thread.id).collect::<Vec<_>>();
        let (ours, theirs) = (numbers(expected), numbers(after));
        if ours != theirs {
            return reject(format!("after it the threads {ours:?} live, not {theirs:?}"));
        }
        if let Some((thread, _)) = expected.threads.iter().zip(&after.threads).find(|(a, b)| a != b) {
            return reject(format!("it does not bring thread {} to its state after it", thread.id));
        }
        reject(format!("after it the holder is {:?}, not {:?}", expected.holder, after.holder))
    }

    fn violation(&self, system: &System, id: u32, violation: Violation) -> Result<(), Stop> {
        let frame = thread(system, id).and_then(|at| system.threads[at].frames.last());
        let Some(frame) = frame else { return reject(format!("thread {id} does not live")) };
        match violation {
            Violation::Label => {
                if Forbidden::of(self.task).contains(frame.procedure, frame.node) {
                    return Ok(());
                }
                reject(format!("the forbidden label is not at {}", frame.node))
            }
            Violation::Assertion(edge) => {
                if self.task.property != Property::Assertions {
                    return reject("a failing assertion does not violate the property");
                }
                if system.holder.is_some_and(|holder| holder != id) {
                    return reject("another thread holds the system, so the assertion cannot fail now");
                }
                let edges = &self.program.procedure(frame.procedure).edges;
                match edges.get(edge.index()) {
                    Some(Edge { from, action: Action::Assert(condition), .. }) if *from == frame.node => {
                        let read = |var: Var| read(&system.globals, &frame.locals, var);
                        if can_be(self.program, *condition, false, |place| read(place.var))? {
                            return Ok(());
                        }
                        reject(format!("the assertion {edge} cannot fail"))
                    }
                    _ => reject(format!("edge {edge} is no assertion that leaves {}", frame.node)),
                }
            }
        }
    }
}

/// The position of a living thread.
fn thread(system: &System, id: u32) -> Option<usize> {
    system.threads.binary_search_by_key(&id, |thread| thread.id).ok()
}

/// The thread that a step has created.
fn new_thread(after: &System, id: u32) -> Result<&Thread, Stop> {
    match thread(after, id).map(|at| &after.threads[at]) {
        Some(new) if new.frames.len() == 1 => Ok(new),
        Some(_) => reject(format!("the new thread {id} has more than one frame")),
        None => reject(format!("the new thread {id} is missing")),
    }
}

fn read(globals: &Valuation, locals: &Valuation, var: Var) -> bool {
    match var {
        Var::Global(i) => globals.get(i),
        Var::Local(i) => locals.get(i),
    }
}
