//! The steps of a system of threads whose values are chosen lazily.

use std::rc::Rc;

use super::scope::Scopes;
use crate::evidence::trace::{Move, Violation};
use crate::evidence::{SystemState, ThreadFrame};
use crate::model::cube::{Cube, bits};
use crate::model::eval::{Values, eval};
use crate::model::{Action, Assign, Call, EdgeId, Expr, Node, Place, ProcId, Procedure, Property, Task, Var};

/// What happens when a thread starts another one although the bound on threads is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtBound {
    /// The thread continues, and no thread is started.
    Skip,
    /// The run is not followed.
    Cut,
}

/// A task with the reductions that apply to it.
pub(super) struct System<'a> {
    pub task: &'a Task,
    pub scopes: &'a Scopes,
    /// Whether states that differ only in the order of their threads are identified.
    pub symmetry: bool,
    /// The greatest number of threads at once.
    pub bound: u32,
    pub at_bound: AtBound,
}

/// An open variable on which a step depends. The type is small because evaluation copies it often.
#[derive(Clone, Copy, Debug)]
enum OpenVariable {
    Global(u8),
    Local { thread: u32, frame: u16, var: u8 },
}

impl OpenVariable {
    fn local(thread: usize, frame: usize, var: u32) -> Self {
        Self::Local { thread: thread as u32, frame: frame as u16, var: var as u8 }
    }
}

/// A step with the states before and after it. Threads keep their positions, except that the moving thread is
/// removed if it `ended`, and a thread that was `created` comes last.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The state before the step, with the values that the step decided.
    pub before: Rc<SystemState>,
    pub after: SystemState,
    pub ended: bool,
    pub created: bool,
}

/// All steps of one move.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub steps: Vec<Step>,
    /// Whether a step was left out because of [`AtBound::Cut`].
    pub cut: bool,
}

fn decide(state: &SystemState, open: OpenVariable, value: bool) -> SystemState {
    let mut state = state.clone();
    match open {
        OpenVariable::Global(var) => state.globals = state.globals.with(u32::from(var), value),
        OpenVariable::Local { thread, frame, var } => {
            let locals = &mut state.threads[thread as usize][frame as usize].locals;
            *locals = locals.with(u32::from(var), value);
        }
    }
    state
}

fn both_ways(state: &SystemState, open: OpenVariable) -> [SystemState; 2] {
    [decide(state, open, true), decide(state, open, false)]
}

/// The value of a variable of a frame.
fn look(state: &SystemState, thread: usize, frame: usize, var: Var) -> Result<bool, OpenVariable> {
    match var {
        Var::Global(var) => state.globals.get(var).ok_or(OpenVariable::Global(var as u8)),
        Var::Local(var) => {
            let locals = state.threads[thread][frame].locals;
            locals.get(var).ok_or(OpenVariable::local(thread, frame, var))
        }
    }
}

fn write(state: &mut SystemState, thread: usize, frame: usize, var: Var, value: Option<bool>) {
    match var {
        Var::Global(var) => state.globals = state.globals.set(var, value),
        Var::Local(var) => {
            let locals = &mut state.threads[thread][frame].locals;
            *locals = locals.set(var, value);
        }
    }
}

/// The parts of a state for which a test holds. An error of the test names an open variable on which it depends.
fn settle(state: SystemState, test: impl Fn(&SystemState) -> Result<bool, OpenVariable>) -> Vec<SystemState> {
    let mut parts = Vec::new();
    let mut open = vec![state];
    while let Some(state) = open.pop() {
        match test(&state) {
            Ok(true) => parts.push(state),
            Ok(false) => {}
            Err(var) => open.extend(both_ways(&state, var)),
        }
    }
    parts
}

/// The topmost frame of a procedure in a thread; its variables are the ones that passive reads and writes mean.
pub(super) fn frame_of(thread: &[ThreadFrame], procedure: ProcId) -> Option<usize> {
    thread.iter().rposition(|frame| frame.procedure == procedure)
}

fn entry_frame(procedure: ProcId, locals: Cube) -> ThreadFrame {
    ThreadFrame { procedure, node: Procedure::ENTRY, locals }
}

impl System<'_> {
    /// The initial states. There are several if `enforce` or the atomic flag decides a value.
    pub fn initial(&self) -> Vec<SystemState> {
        let frame = entry_frame(self.task.program.start, Cube::ANY);
        let state = SystemState { globals: Cube::ANY, threads: vec![vec![frame]], holder: None };
        let states = settle(state, |state| self.is_enforced(state, 0));
        states.into_iter().flat_map(|state| settle(state, |state| self.flag_is_known(state))).collect()
    }

    /// Whether the `enforce` of a thread's topmost frame can hold.
    fn is_enforced(&self, state: &SystemState, thread: usize) -> Result<bool, OpenVariable> {
        let top = state.threads[thread].len() - 1;
        match self.task.program.procedure(state.threads[thread][top].procedure).enforce {
            None => Ok(true),
            Some(condition) => Ok(self.values(condition, state, thread)?.can_hold),
        }
    }

    /// Tests whether the atomic flag is known. It decides which threads may run, so it is never left open.
    fn flag_is_known(&self, state: &SystemState) -> Result<bool, OpenVariable> {
        match self.task.program.atomic_flag {
            None => Ok(true),
            Some(flag) => state.globals.get(flag).map(|_| true).ok_or(OpenVariable::Global(flag as u8)),
        }
    }

    /// The possible values of an expression in the topmost frame of a thread.
    fn values(&self, expr: Expr, state: &SystemState, thread: usize) -> Result<Values, OpenVariable> {
        let top = state.threads[thread].len() - 1;
        eval(self.task.program.exprs.ops(expr), |place: Place| look(state, thread, top, place.var))
    }

    /// Whether the thread before this one has the same local state, so that the steps of both lead to the same
    /// states.
    pub fn is_repeated(&self, state: &SystemState, thread: usize) -> bool {
        let holds = |i: usize| state.holder == Some(i);
        self.symmetry
            && thread > 0
            && state.threads[thread] == state.threads[thread - 1]
            && holds(thread) == holds(thread - 1)
    }

    /// The violation by a thread in a state, if there is one, and the state with the values that the violation
    /// decides.
    pub fn violation(&self, state: &SystemState, thread: usize) -> Option<(SystemState, Violation)> {
        let top = state.threads[thread].last()?;
        if self.scopes.of(top.procedure).is_target(top.node) {
            return Some((state.clone(), Violation::Label));
        }
        let may_run = state.holder.is_none_or(|holder| holder == thread);
        if self.task.property != Property::Assertions || !may_run {
            return None;
        }
        let procedure = self.task.program.procedure(top.procedure);
        procedure.edges_from(top.node).find_map(|(id, edge)| {
            let Action::Assert(condition) = edge.action else { return None };
            let failing =
                |state: &SystemState| self.values(condition, state, thread).map(|values| values.can_fail);
            let decided = settle(state.clone(), failing).into_iter().next()?;
            Some((decided, Violation::Assertion(id)))
        })
    }

    /// The moves that a thread can try.
    pub fn moves(&self, state: &SystemState, thread: usize) -> Vec<Move> {
        let Some(top) = state.threads[thread].last() else { return Vec::new() };
        if top.node == Procedure::EXIT {
            return vec![Move::Return];
        }
        let procedure = self.task.program.procedure(top.procedure);
        procedure.edges_from(top.node).map(|(id, _)| Move::Edge(id)).collect()
    }

    /// All ways in which a thread can make a move.
    pub fn steps(&self, state: &SystemState, thread: usize, action: Move) -> Steps {
        let mut steps = Steps::default();
        let mut open = vec![state.clone()];
        while let Some(before) = open.pop() {
            let before = Rc::new(before);
            match self.step(&before, thread, action, &mut steps) {
                Ok(()) => {}
                Err(var) => open.extend(both_ways(&before, var)),
            }
        }
        steps
    }

    fn step(
        &self,
        before: &Rc<SystemState>,
        thread: usize,
        action: Move,
        steps: &mut Steps,
    ) -> Result<(), OpenVariable> {
        let mut ended = false;
        let mut created = false;
        let mut silent = false;
        let after = match action {
            Move::Return => vec![self.return_to_caller(before, thread)],
            Move::Edge(id) => {
                let top = before.threads[thread].len() - 1;
                let procedure = before.threads[thread][top].procedure;
                let edge = self.task.program.procedure(procedure).edge(id);
                silent = edge.silent;
                let mut after = SystemState::clone(before);
                after.threads[thread][top].node = edge.to;
                match &edge.action {
                    Action::Skip | Action::AtomicBegin | Action::AtomicEnd => vec![after],
                    Action::EndThread => {
                        ended = true;
                        vec![after]
                    }
                    Action::Assume(condition) | Action::Assert(condition) => {
                        if !self.values(*condition, before, thread)?.can_hold {
                            return Ok(());
                        }
                        vec![after]
                    }
                    Action::Assign(assign) => self.assign(before, after, thread, assign)?,
                    Action::Call(call) => {
                        after.threads[thread][top].node = edge.from;
                        let locals = self.arguments(before, thread, call)?;
                        if self.task.program.leaves_prologue(procedure, edge) {
                            after.threads[thread].clear();
                        }
                        after.threads[thread].push(entry_frame(call.callee, locals));
                        vec![after]
                    }
                    Action::Spawn(_) | Action::Fork(_) if before.threads.len() >= self.bound as usize => {
                        if self.at_bound == AtBound::Cut {
                            steps.cut = true;
                            return Ok(());
                        }
                        vec![after]
                    }
                    Action::Spawn(call) => {
                        created = true;
                        let locals = self.arguments(before, thread, call)?;
                        after.threads.push(vec![entry_frame(call.callee, locals)]);
                        let child = after.threads.len() - 1;
                        settle(after, |state| self.is_enforced(state, child))
                    }
                    Action::Fork(at) => {
                        created = true;
                        let locals = self.copied_locals(before, thread, *at)?;
                        after.threads.push(vec![ThreadFrame { procedure, node: *at, locals }]);
                        vec![after]
                    }
                }
            }
        };
        for state in after {
            // `enforce` is not checked if the thread ends by `end_thread`, because no state of its procedure
            // remains, and not after a silent step, because that is not a statement.
            let parts =
                if ended || silent { vec![state] } else { settle(state, |s| self.is_enforced(s, thread)) };
            let parts = parts.into_iter().flat_map(|part| settle(part, |s| self.flag_is_known(s)));
            for mut after in parts {
                let stack = &after.threads[thread];
                let ended = ended || stack.len() == 1 && stack[0].node == Procedure::EXIT;
                after.holder = self.holder_after(before, &after, thread, action, ended);
                if ended {
                    after.threads.remove(thread);
                }
                steps.steps.push(Step { before: Rc::clone(before), after, ended, created });
            }
        }
        Ok(())
    }

    /// The thread that alone may run after a step, if there is one. The prologue holds the system until it enters
    /// `main`. With an atomic flag, a thread holds the system if the flag is set, or if it held the system before
    /// while the flag was not set, because then it is in an atomic section.
    fn holder_after(
        &self,
        before: &SystemState,
        after: &SystemState,
        thread: usize,
        action: Move,
        ended: bool,
    ) -> Option<usize> {
        if ended {
            return None;
        }
        let in_prologue = |state: &SystemState| {
            let bottom = state.threads[thread].first();
            bottom.is_some_and(|frame| self.task.program.is_prologue(frame.procedure))
        };
        if in_prologue(before) {
            return in_prologue(after).then_some(thread);
        }
        let flag = |state: &SystemState| {
            self.task.program.atomic_flag.and_then(|flag| state.globals.get(flag)).unwrap_or(false)
        };
        let in_section = match self.action_of(before, thread, action) {
            Some(Action::AtomicBegin) => true,
            Some(Action::AtomicEnd) => false,
            _ => before.holder.is_some() && !flag(before),
        };
        (in_section || flag(after)).then_some(thread)
    }

    /// The action of the edge that a thread takes; `None` for a return.
    pub fn action_of(&self, before: &SystemState, thread: usize, action: Move) -> Option<&Action> {
        let Move::Edge(id) = action else { return None };
        let top = before.threads[thread].last()?;
        Some(&self.task.program.procedure(top.procedure).edge(id).action)
    }

    /// The pending call of a frame that is not on top of its stack. The node of a call has only one edge.
    pub fn pending_call(&self, frame: &ThreadFrame) -> (EdgeId, Node, &Call) {
        let procedure = self.task.program.procedure(frame.procedure);
        match procedure.edges_from(frame.node).next() {
            Some((id, edge)) => match &edge.action {
                Action::Call(call) => (id, edge.to, call),
                _ => unreachable!("a frame below another is at a call"),
            },
            None => unreachable!("a frame below another is at a call"),
        }
    }

    fn return_to_caller(&self, before: &SystemState, thread: usize) -> SystemState {
        let mut after = before.clone();
        let Some(callee) = after.threads[thread].pop() else { return after };
        let top = after.threads[thread].len() - 1;
        let (_, to, call) = self.pending_call(&before.threads[thread][top]);
        after.threads[thread][top].node = to;
        let first_return = self.task.program.procedure(callee.procedure).first_return();
        for (i, target) in call.targets.iter().enumerate() {
            if let Some(var) = target {
                let value = callee.locals.get(first_return + i as u32);
                write(&mut after, thread, top, *var, value);
            }
        }
        after
    }

    fn arguments(&self, before: &SystemState, thread: usize, call: &Call) -> Result<Cube, OpenVariable> {
        let mut locals = Cube::ANY;
        for (i, &arg) in call.args.iter().enumerate() {
            locals = locals.set(i as u32, self.values(arg, before, thread)?.single());
        }
        Ok(locals)
    }

    /// The locals of a forked thread. If a local were open in both threads, the fact that both copies are equal
    /// would be lost, so locals that matter to the new thread are decided first.
    fn copied_locals(&self, before: &SystemState, thread: usize, at: Node) -> Result<Cube, OpenVariable> {
        let frame = before.threads[thread].len() - 1;
        let ThreadFrame { procedure, locals, .. } = before.threads[thread][frame];
        let live = self.scopes.of(procedure).live_locals(at);
        match bits(live & !locals.known()).next() {
            Some(var) => Err(OpenVariable::local(thread, frame, var)),
            None => Ok(locals),
        }
    }

    fn assign(
        &self,
        before: &SystemState,
        mut after: SystemState,
        thread: usize,
        assign: &Assign,
    ) -> Result<Vec<SystemState>, OpenVariable> {
        let top = before.threads[thread].len() - 1;
        let procedure = before.threads[thread][top].procedure;
        let exprs = &self.task.program.exprs;
        let others: Vec<(usize, usize)> = (0..before.threads.len())
            .filter(|&other| other != thread)
            .filter_map(|other| Some((other, frame_of(&before.threads[other], procedure)?)))
            .collect();
        for (target, value) in &assign.pairs {
            if !target.passive {
                let value = self.values(*value, before, thread)?.single();
                write(&mut after, thread, top, target.var, value);
                continue;
            }
            for &(other, frame) in &others {
                let values = eval(exprs.ops(*value), |place: Place| {
                    let (thread, frame) = if place.passive { (other, frame) } else { (thread, top) };
                    look(before, thread, frame, place.var)
                })?;
                write(&mut after, other, frame, target.var, values.single());
            }
        }
        let is_written = |var: Var, passive: bool| {
            assign.pairs.iter().any(|(target, _)| target.var == var && target.passive == passive)
        };
        let mut parts = vec![after];
        for &condition in &assign.constrain {
            // A condition about every other thread is checked for each of them; any other condition is checked
            // once.
            let of_each = exprs.reads(condition).any(|place| place.passive);
            let concerned = if of_each { &others[..] } else { &[(thread, top)] };
            for &(other, frame) in concerned {
                let mut open = std::mem::take(&mut parts);
                while let Some(after) = open.pop() {
                    let values = eval(exprs.ops(condition), |place: Place| {
                        let (thread, frame) = if place.passive { (other, frame) } else { (thread, top) };
                        let is_new = place.primed && is_written(place.var, place.passive);
                        let state = if is_new { &after } else { before };
                        look(state, thread, frame, place.var).map_err(|open| (open, is_new))
                    });
                    match values {
                        Ok(values) if values.can_hold => parts.push(after),
                        Ok(_) => {}
                        Err((var, true)) => open.extend(both_ways(&after, var)),
                        Err((var, false)) => return Err(var),
                    }
                }
            }
        }
        Ok(parts)
    }

    /// A state without the values that do not matter and, under symmetry, with its threads sorted; and for every
    /// thread of the result, its position in the argument.
    pub fn canonical(&self, state: &SystemState) -> (SystemState, Vec<usize>) {
        let mut threads = state.threads.clone();
        for stack in &mut threads {
            let top = stack.len() - 1;
            for (i, frame) in stack.iter_mut().enumerate() {
                let node = if i == top { frame.node } else { self.pending_call(frame).1 };
                frame.locals = frame.locals.keep(self.scopes.of(frame.procedure).live_locals(node));
            }
        }
        let mut order: Vec<usize> = (0..threads.len()).collect();
        if self.symmetry {
            order.sort_by(|&a, &b| {
                let key = |i: usize| (&threads[i], state.holder == Some(i));
                key(a).cmp(&key(b))
            });
        }
        let holder = state.holder.and_then(|holder| order.iter().position(|&i| i == holder));
        let threads = order.iter().map(|&i| std::mem::take(&mut threads[i])).collect();
        (SystemState { globals: state.globals, threads, holder }, order)
    }
}
