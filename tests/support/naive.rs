//! The slowest checker there is: concrete states, real stacks, every choice tried.
//!
//! It knows nothing of path edges, summaries, open values or symmetry, and shares no code with
//! the engines or with `certify`. What it finds is there; what it rules out, it has seen all of.

use std::collections::{HashSet, VecDeque};

use cusp::model::{Action, Assign, Call, Edge, Expr, Op, Place, ProcId, Procedure, Property, Task, Var};

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A violation after so many steps; none comes sooner, unless it needs a deeper stack.
    Violation { steps: usize },
    /// All states, and no violation.
    All,
    /// No violation, but some states were left out.
    TooMuch,
}

/// Most stack frames of a thread and most states.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub stack: usize,
    pub states: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Frame {
    procedure: usize,
    node: usize,
    locals: Vec<bool>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    globals: Vec<bool>,
    threads: Vec<Vec<Frame>>,
    holder: Option<usize>,
}

/// A state after a step, and whether the thread that made the step has ended.
struct After {
    state: State,
    ended: bool,
}

/// Explores everything within the limits.
pub fn explore(task: &Task, limits: Limits) -> Seen {
    let explorer = Explorer { task };
    let mut seen: HashSet<State> = HashSet::new();
    let mut open: VecDeque<(State, usize)> = VecDeque::new();
    let mut depth = 0;
    let mut complete = true;
    let mut successors = explorer.first_states();
    loop {
        for After { state, .. } in successors.drain(..) {
            if seen.len() >= limits.states {
                return Seen::TooMuch;
            }
            if seen.insert(state.clone()) {
                open.push_back((state, depth));
            }
        }
        let Some((state, steps)) = open.pop_front() else {
            return if complete { Seen::All } else { Seen::TooMuch };
        };
        depth = steps + 1;
        for thread in 0..state.threads.len() {
            if explorer.violates(&state, thread) {
                return Seen::Violation { steps };
            }
            if state.threads[thread].len() > limits.stack {
                complete = false;
            } else {
                explorer.successors(&state, thread, &mut successors);
            }
        }
    }
}

/// Who made the last step.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Last {
    /// There was no step.
    Nobody,
    /// A thread at this position.
    Thread(usize),
    /// A thread that has ended.
    Ended,
}

impl Last {
    /// The context switches that it takes to let a thread move.
    fn switches_to(self, thread: usize) -> usize {
        usize::from(self != Self::Nobody && self != Self::Thread(thread))
    }
}

/// The fewest context switches with which the property is violated; `None` if it is not, or if the limits are too small
/// to tell. A thread whose assertion fails has to be the one that runs.
pub fn fewest_switches(task: &Task, limits: Limits) -> Option<usize> {
    let explorer = Explorer { task };
    let needs_to_run = task.property == Property::Assertions;
    let mut seen: HashSet<(State, Last)> = HashSet::new();
    // Those with fewer switches are in front.
    let mut open: VecDeque<(State, Last, usize)> =
        explorer.first_states().into_iter().map(|after| (after.state, Last::Nobody, 0)).collect();
    let mut best: Option<usize> = None;
    let mut successors = Vec::new();
    while let Some((state, last, switches)) = open.pop_front() {
        if best.is_some_and(|best| switches >= best) {
            return best;
        }
        if !seen.insert((state.clone(), last)) {
            continue;
        }
        if seen.len() > limits.states {
            return None;
        }
        for thread in 0..state.threads.len() {
            let more = last.switches_to(thread);
            if explorer.violates(&state, thread) {
                let all = switches + if needs_to_run { more } else { 0 };
                best = Some(best.map_or(all, |best| best.min(all)));
            }
            if state.threads[thread].len() > limits.stack {
                return None;
            }
            explorer.successors(&state, thread, &mut successors);
            for After { state, ended } in successors.drain(..) {
                let last = if ended { Last::Ended } else { Last::Thread(thread) };
                match more {
                    0 => open.push_front((state, last, switches)),
                    _ => open.push_back((state, last, switches + 1)),
                }
            }
        }
    }
    best
}

fn all_valuations(count: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1_usize << count).map(move |bits| (0..count).map(|i| bits >> i & 1 == 1).collect())
}

struct Explorer<'a> {
    task: &'a Task,
}

impl Explorer<'_> {
    fn first_states(&self) -> Vec<After> {
        let start = self.task.program.start.index();
        let mut states = Vec::new();
        for globals in all_valuations(self.task.program.globals.len()) {
            for locals in all_valuations(self.procedure(start).locals.len()) {
                let frame = Frame { procedure: start, node: 0, locals };
                let state = State { globals: globals.clone(), threads: vec![vec![frame]], holder: None };
                if self.is_enforced(&state, 0) {
                    states.push(After { state, ended: false });
                }
            }
        }
        states
    }

    fn procedure(&self, index: usize) -> &Procedure {
        self.task.program.procedure(ProcId::from_index(index))
    }

    /// The values that some choice gives an expression.
    fn values(&self, expr: Expr, read: &dyn Fn(Place) -> bool) -> Vec<bool> {
        let code = self.task.program.exprs.ops(expr);
        let choices = code.iter().filter(|op| matches!(op, Op::Choice)).count();
        let mut values: Vec<bool> = all_valuations(choices)
            .map(|choices| {
                let mut choices = choices.into_iter();
                let mut stack: Vec<bool> = Vec::new();
                for op in code {
                    let value = match *op {
                        Op::Const(value) => value,
                        Op::Choice => choices.next().expect("counted"),
                        Op::Read(place) => read(place),
                        Op::Not => !stack.pop().expect("balanced"),
                        Op::And | Op::Or | Op::Xor => {
                            let right = stack.pop().expect("balanced");
                            let left = stack.pop().expect("balanced");
                            match op {
                                Op::And => left && right,
                                Op::Or => left || right,
                                _ => left != right,
                            }
                        }
                        Op::Ite => {
                            let otherwise = stack.pop().expect("balanced");
                            let then = stack.pop().expect("balanced");
                            if stack.pop().expect("balanced") { then } else { otherwise }
                        }
                    };
                    stack.push(value);
                }
                stack[0]
            })
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn own_values(&self, expr: Expr, state: &State, thread: usize) -> Vec<bool> {
        self.values(expr, &|place| look(state, thread, state.threads[thread].len() - 1, place.var))
    }

    fn is_enforced(&self, state: &State, thread: usize) -> bool {
        let top = state.threads[thread].last().expect("a living thread");
        let enforce = self.procedure(top.procedure).enforce;
        enforce.is_none_or(|condition| self.own_values(condition, state, thread).contains(&true))
    }

    fn violates(&self, state: &State, thread: usize) -> bool {
        let top = state.threads[thread].last().expect("a living thread");
        let procedure = self.procedure(top.procedure);
        match &self.task.property {
            Property::LabelUnreachable(label) => {
                procedure.labels.iter().any(|(name, node)| name == label && node.index() == top.node)
            }
            Property::Assertions => {
                let may_run = state.holder.is_none() || state.holder == Some(thread);
                may_run
                    && procedure.edges.iter().any(|edge| match edge.action {
                        Action::Assert(condition) if edge.from.index() == top.node => {
                            self.own_values(condition, state, thread).contains(&false)
                        }
                        _ => false,
                    })
            }
        }
    }

    fn successors(&self, state: &State, thread: usize, out: &mut Vec<After>) {
        if state.holder.is_some_and(|holder| holder != thread) {
            return;
        }
        let top = state.threads[thread].last().expect("a living thread");
        let procedure = self.procedure(top.procedure);
        if top.node == 1 {
            self.return_to_caller(state, thread, out);
        }
        for edge in procedure.edges.iter().filter(|edge| edge.from.index() == top.node) {
            self.take(state, thread, edge, out);
        }
    }

    fn return_to_caller(&self, state: &State, thread: usize, out: &mut Vec<After>) {
        let mut after = state.clone();
        let callee = after.threads[thread].pop().expect("the callee");
        let top = after.threads[thread].len() - 1;
        let caller = &after.threads[thread][top];
        let edges = &self.procedure(caller.procedure).edges;
        let edge = edges.iter().find(|edge| edge.from.index() == caller.node).expect("the call");
        let Action::Call(call) = &edge.action else { panic!("a waiting frame is at a call") };
        after.threads[thread][top].node = edge.to.index();
        let first = self.procedure(callee.procedure).first_return() as usize;
        for (i, target) in call.targets.iter().enumerate() {
            if let Some(var) = target {
                write(&mut after, thread, top, *var, callee.locals[first + i]);
            }
        }
        self.finish(state, after, thread, None, out);
    }

    fn take(&self, state: &State, thread: usize, edge: &Edge, out: &mut Vec<After>) {
        let top = state.threads[thread].len() - 1;
        let mut after = state.clone();
        after.threads[thread][top].node = edge.to.index();
        let full = self.task.threads.is_some_and(|bound| state.threads.len() >= bound as usize);
        let mut results = Vec::new();
        match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => results.push(after),
            Action::Assume(condition) | Action::Assert(condition) => {
                if self.own_values(*condition, state, thread).contains(&true) {
                    results.push(after);
                }
            }
            Action::EndThread => {
                after.threads.remove(thread);
                after.holder = None;
                out.push(After { state: after, ended: true });
            }
            Action::Assign(assign) => results = self.assign(state, &after, thread, assign),
            Action::Call(call) => {
                for frame in self.entry_frames(state, thread, call) {
                    let mut after = state.clone();
                    let caller = after.threads[thread][top].procedure;
                    if self.task.program.leaves_prologue(ProcId::from_index(caller), edge) {
                        after.threads[thread].pop();
                    }
                    after.threads[thread].push(frame);
                    results.push(after);
                }
            }
            Action::Spawn(_) | Action::Fork(_) if full => results.push(after),
            Action::Spawn(call) => {
                for frame in self.entry_frames(state, thread, call) {
                    let mut after = after.clone();
                    after.threads.push(vec![frame]);
                    if self.is_enforced(&after, after.threads.len() - 1) {
                        results.push(after);
                    }
                }
            }
            Action::Fork(at) => {
                let mut frame = state.threads[thread][top].clone();
                frame.node = at.index();
                after.threads.push(vec![frame]);
                results.push(after);
            }
        }
        for after in results {
            self.finish(state, after, thread, Some(edge), out);
        }
    }

    /// `enforce`, the end of the thread, and who may go on.
    fn finish(
        &self,
        before: &State,
        mut after: State,
        thread: usize,
        edge: Option<&Edge>,
        out: &mut Vec<After>,
    ) {
        let action = edge.map(|edge| &edge.action);
        let silent = edge.is_some_and(|edge| edge.silent);
        if !silent && !self.is_enforced(&after, thread) {
            return;
        }
        if after.threads[thread].len() == 1 && after.threads[thread][0].node == 1 {
            after.threads.remove(thread);
            after.holder = None;
            out.push(After { state: after, ended: true });
            return;
        }
        let flag =
            |state: &State| self.task.program.atomic_flag.is_some_and(|flag| state.globals[flag as usize]);
        let in_section = match action {
            Some(Action::AtomicBegin) => true,
            Some(Action::AtomicEnd) => false,
            _ => before.holder == Some(thread) && !flag(before),
        };
        let in_prologue = |state: &State| {
            let bottom = state.threads[thread].first().expect("a living thread");
            self.task.program.is_prologue(ProcId::from_index(bottom.procedure))
        };
        after.holder = match (in_prologue(before), in_prologue(&after)) {
            (true, stays) => stays.then_some(thread),
            _ => (in_section || flag(&after)).then_some(thread),
        };
        out.push(After { state: after, ended: false });
    }

    fn entry_frames(&self, state: &State, thread: usize, call: &Call) -> Vec<Frame> {
        let callee = self.procedure(call.callee.index());
        let mut frames = Vec::new();
        for locals in all_valuations(callee.locals.len()) {
            let possible =
                |(i, &arg): (usize, &Expr)| self.own_values(arg, state, thread).contains(&locals[i]);
            if call.args.iter().enumerate().all(possible) {
                frames.push(Frame { procedure: call.callee.index(), node: 0, locals });
            }
        }
        frames
    }

    /// All results of an assignment: each written variable takes each of its possible values.
    fn assign(&self, before: &State, after: &State, thread: usize, assign: &Assign) -> Vec<State> {
        let top = before.threads[thread].len() - 1;
        let procedure = before.threads[thread][top].procedure;
        let others: Vec<(usize, usize)> = (0..before.threads.len())
            .filter(|&other| other != thread)
            .filter_map(|other| {
                let frames = &before.threads[other];
                Some((other, frames.iter().rposition(|frame| frame.procedure == procedure)?))
            })
            .collect();
        let mut results = vec![after.clone()];
        for (target, value) in &assign.pairs {
            let written = if target.passive { others.clone() } else { vec![(thread, top)] };
            for (owner, frame) in written {
                let values = self.values(*value, &|place| {
                    let (thread, frame) = if place.passive { (owner, frame) } else { (thread, top) };
                    look(before, thread, frame, place.var)
                });
                let mut next = Vec::new();
                for state in &results {
                    for &value in &values {
                        let mut state = state.clone();
                        write(&mut state, owner, frame, target.var, value);
                        next.push(state);
                    }
                }
                results = next;
            }
        }
        for &condition in &assign.constrain {
            let passive = self.task.program.exprs.reads(condition).any(|place| place.passive);
            let concerned = if passive { others.clone() } else { vec![(thread, top)] };
            results.retain(|after| {
                concerned.iter().all(|&(other, frame)| {
                    let read = |place: Place| {
                        let state = if place.primed { after } else { before };
                        let (thread, frame) = if place.passive { (other, frame) } else { (thread, top) };
                        look(state, thread, frame, place.var)
                    };
                    self.values(condition, &read).contains(&true)
                })
            });
        }
        results
    }
}

fn look(state: &State, thread: usize, frame: usize, var: Var) -> bool {
    match var {
        Var::Global(i) => state.globals[i as usize],
        Var::Local(i) => state.threads[thread][frame].locals[i as usize],
    }
}

fn write(state: &mut State, thread: usize, frame: usize, var: Var, value: bool) {
    match var {
        Var::Global(i) => state.globals[i as usize] = value,
        Var::Local(i) => state.threads[thread][frame].locals[i as usize] = value,
    }
}
