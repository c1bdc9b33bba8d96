//! The semantics of programs with threads, state by state and choice by choice.

use std::collections::HashSet;
use std::sync::Arc;

use cusp::evidence::trace::{Frame, Interleaving, Move, System, Thread, Valuation, Violation};
use cusp::evidence::{SystemState, ThreadFrame};
use cusp::model::cube::Cube;
use cusp::model::{Action, Assign, Call, Edge, Expr, Place, ProcId, Procedure, Program, Property, Task, Var};

use super::generate::Rng;
use super::oracle::can_be;

/// A set of states up to the order of their threads.
pub type Multiset = (Vec<bool>, Vec<(bool, Vec<Frame>)>);

/// A program with threads.
pub struct Threads<'a> {
    pub task: &'a Task,
}

/// All valuations of so many variables.
fn valuations(count: usize) -> impl Iterator<Item = Valuation> {
    (0..1_u128 << count).map(move |bits| Valuation::from_bits(bits, count))
}

fn read(globals: &Valuation, locals: &Valuation, var: Var) -> bool {
    match var {
        Var::Global(i) => globals.0[i as usize],
        Var::Local(i) => locals.0[i as usize],
    }
}

impl<'a> Threads<'a> {
    fn program(&self) -> &'a Program {
        &self.task.program
    }

    fn procedure(&self, frame: &Frame) -> &'a Procedure {
        self.program().procedure(frame.procedure)
    }

    fn can_be(&self, expr: Expr, value: bool, globals: &Valuation, locals: &Valuation) -> bool {
        can_be(self.program(), expr, value, &|place| read(globals, locals, place.var))
    }

    fn enforced(&self, globals: &Valuation, frame: &Frame) -> bool {
        let condition = self.procedure(frame).enforce;
        condition.is_none_or(|condition| self.can_be(condition, true, globals, &frame.locals))
    }

    /// All first states.
    pub fn initial(&self) -> Vec<System> {
        let start = self.program().start;
        let mut states = Vec::new();
        for globals in valuations(self.program().globals.len()) {
            for locals in valuations(self.program().procedure(start).locals.len()) {
                let frame = Frame { procedure: start, node: Procedure::ENTRY, locals };
                if self.enforced(&globals, &frame) {
                    let threads = vec![Thread { id: 0, frames: vec![Arc::new(frame)] }];
                    states.push(System { globals: globals.clone(), threads, holder: None });
                }
            }
        }
        states
    }

    /// Frames in which a call may begin.
    fn entries(&self, call: &Call, globals: &Valuation, locals: &Valuation) -> Vec<Frame> {
        let callee = self.program().procedure(call.callee);
        let frame = |locals| Frame { procedure: call.callee, node: Procedure::ENTRY, locals };
        let passed = |frame: &Frame| {
            let args = call.args.iter().zip(&frame.locals.0);
            args.into_iter().all(|(&arg, &given)| self.can_be(arg, given, globals, locals))
        };
        let frames = valuations(callee.locals.len()).map(frame);
        frames.filter(|frame| passed(frame) && self.enforced(globals, frame)).collect()
    }

    /// All steps from a state; `created` threads exist or have existed.
    pub fn steps(&self, state: &System, created: u32) -> Vec<(u32, Move, System)> {
        let mut all = Vec::new();
        for (at, thread) in state.threads.iter().enumerate() {
            if state.holder.is_some_and(|holder| holder != thread.id) {
                continue;
            }
            let top = thread.frames.last().expect("a frame");
            if top.node == Procedure::EXIT {
                let after = self.returns(state, at);
                all.extend(after.into_iter().map(|after| (thread.id, Move::Return, after)));
                continue;
            }
            for (id, edge) in self.procedure(top).edges_from(top.node) {
                let after = self.edge(state, at, edge, created);
                all.extend(after.into_iter().map(|after| (thread.id, Move::Edge(id), after)));
            }
        }
        all
    }

    fn returns(&self, state: &System, at: usize) -> Option<System> {
        let mut after = state.clone();
        let callee = after.threads[at].frames.pop().expect("a frame");
        let caller = after.threads[at].frames.last_mut().expect("a caller");
        let (_, edge) = self.procedure(caller).edges_from(caller.node).next().expect("the call");
        let Action::Call(call) = &edge.action else { panic!("the call") };
        let first = self.procedure(&callee).first_return() as usize;
        for (slot, target) in call.targets.iter().enumerate() {
            let value = callee.locals.0[first + slot];
            match *target {
                Some(Var::Global(i)) => after.globals.0[i as usize] = value,
                Some(Var::Local(i)) => Arc::make_mut(caller).locals.0[i as usize] = value,
                None => {}
            }
        }
        self.arrive(state, after, at, edge, true)
    }

    /// Puts the thread at the target of the edge; nothing if `enforce` forbids it.
    fn arrive(
        &self,
        before: &System,
        mut after: System,
        at: usize,
        edge: &Edge,
        returns: bool,
    ) -> Option<System> {
        let frames = &mut after.threads[at].frames;
        let top = frames.last_mut().expect("a frame");
        Arc::make_mut(top).node = edge.to;
        if !edge.silent && !self.enforced(&after.globals, frames.last().expect("a frame")) {
            return None;
        }
        let ends = frames.len() == 1 && edge.to == Procedure::EXIT;
        if ends {
            after.threads.remove(at);
        }
        let action = if returns { &Action::Skip } else { &edge.action };
        Some(self.with_holder(before, after, before.threads[at].id, action, ends))
    }

    fn with_holder(
        &self,
        before: &System,
        mut after: System,
        id: u32,
        action: &Action,
        ends: bool,
    ) -> System {
        let flag =
            |state: &System| self.program().atomic_flag.is_some_and(|flag| state.globals.0[flag as usize]);
        let held = before.holder == Some(id);
        let begins = matches!(action, Action::AtomicBegin);
        let releases = matches!(action, Action::AtomicEnd);
        // The procedure at the bottom of the thread's stack.
        let in_prologue = |state: &System| {
            let thread = state.threads.iter().find(|thread| thread.id == id);
            thread.is_some_and(|thread| self.program().is_prologue(thread.frames[0].procedure))
        };
        let by_step = begins || flag(&after) || held && !flag(before) && !releases;
        let holds = !ends && if in_prologue(before) { in_prologue(&after) } else { by_step };
        after.holder = holds.then_some(id);
        after
    }

    fn edge(&self, state: &System, at: usize, edge: &Edge, created: u32) -> Vec<System> {
        let id = state.threads[at].id;
        let top = state.threads[at].frames.last().expect("a frame");
        let may_start = self.task.threads.is_none_or(|bound| state.threads.len() < bound as usize);
        let with_thread = |frame: Frame| {
            let mut after = state.clone();
            after.threads.push(Thread { id: created, frames: vec![Arc::new(frame)] });
            after
        };
        let candidates = match &edge.action {
            Action::Assume(condition) | Action::Assert(condition) => {
                let holds = self.can_be(*condition, true, &state.globals, &top.locals);
                holds.then(|| state.clone()).into_iter().collect()
            }
            Action::Assign(assign) => self.assigned(state, at, assign),
            Action::Spawn(call) if may_start => {
                let frames = self.entries(call, &state.globals, &top.locals);
                frames.into_iter().map(with_thread).collect()
            }
            Action::Fork(node) if may_start => vec![with_thread(Frame { node: *node, ..Frame::clone(top) })],
            Action::Call(call) => {
                let entered = self.entries(call, &state.globals, &top.locals).into_iter().map(|frame| {
                    let mut after = state.clone();
                    if self.program().leaves_prologue(top.procedure, edge) {
                        after.threads[at].frames.clear();
                    }
                    after.threads[at].frames.push(Arc::new(frame));
                    self.with_holder(state, after, id, &edge.action, false)
                });
                return entered.collect();
            }
            Action::EndThread => {
                let mut after = state.clone();
                after.threads.remove(at);
                return vec![self.with_holder(state, after, id, &edge.action, true)];
            }
            _ => vec![state.clone()],
        };
        candidates.into_iter().filter_map(|after| self.arrive(state, after, at, edge, false)).collect()
    }

    /// All states that an assignment allows, before control moves.
    fn assigned(&self, state: &System, at: usize, assign: &Assign) -> Vec<System> {
        let frames = &state.threads[at].frames;
        let top = frames.last().expect("a frame");
        let passive: Vec<(usize, usize)> = (0..state.threads.len())
            .filter(|&other| other != at)
            .filter_map(|other| {
                let frames = &state.threads[other].frames;
                Some((other, frames.iter().rposition(|frame| frame.procedure == top.procedure)?))
            })
            .collect();
        // Every state that differs in the variables of the frames concerned only.
        let mut candidates = vec![state.clone()];
        let globals = self.program().globals.len();
        let places = passive.iter().copied().chain([(at, frames.len() - 1)]);
        for place in std::iter::once(None).chain(places.map(Some)) {
            let count = if place.is_some() { top.locals.0.len() } else { globals };
            let old = std::mem::take(&mut candidates);
            for state in old {
                for values in valuations(count) {
                    let mut state = state.clone();
                    match place {
                        None => state.globals = values,
                        Some((thread, frame)) => {
                            Arc::make_mut(&mut state.threads[thread].frames[frame]).locals = values;
                        }
                    }
                    candidates.push(state);
                }
            }
        }
        candidates.retain(|after| self.allows(assign, state, after, (at, frames.len() - 1), &passive));
        candidates
    }

    fn allows(
        &self,
        assign: &Assign,
        before: &System,
        after: &System,
        own: (usize, usize),
        passive: &[(usize, usize)],
    ) -> bool {
        fn locals(state: &System, (thread, frame): (usize, usize)) -> &Valuation {
            &state.threads[thread].frames[frame].locals
        }
        let read_for = |other: (usize, usize)| {
            move |place: Place| {
                let state = if place.primed { after } else { before };
                read(&state.globals, locals(state, if place.passive { other } else { own }), place.var)
            }
        };
        let value_of = |var: Var, passive: bool| {
            assign.pairs.iter().find(|(t, _)| t.var == var && t.passive == passive).map(|&(_, value)| value)
        };
        let changes = |var: Var, other: (usize, usize), passive: bool| {
            let new = read(&after.globals, locals(after, other), var);
            let old = read(&before.globals, locals(before, other), var);
            match value_of(var, passive) {
                None => new == old,
                Some(value) => can_be(self.program(), value, new, &read_for(other)),
            }
        };
        let globals = (0..before.globals.0.len() as u32).map(Var::Global);
        let own_locals = (0..locals(before, own).0.len() as u32).map(Var::Local);
        let constrained = |&condition: &Expr| {
            let holds = |other: (usize, usize)| can_be(self.program(), condition, true, &read_for(other));
            let reads_others = self.program().exprs.reads(condition).any(|place| place.passive);
            if reads_others { passive.iter().all(|&other| holds(other)) } else { holds(own) }
        };
        globals.chain(own_locals.clone()).all(|var| changes(var, own, false))
            && passive.iter().all(|&other| own_locals.clone().all(|var| changes(var, other, true)))
            && assign.constrain.iter().all(constrained)
    }

    /// How a thread violates the property.
    pub fn violations(&self, state: &System, thread: &Thread) -> Vec<Violation> {
        let top = thread.frames.last().expect("a frame");
        let procedure = self.procedure(top);
        match &self.task.property {
            Property::LabelUnreachable(label) => {
                let here = procedure.nodes_labelled(label).any(|node| node == top.node);
                here.then_some(Violation::Label).into_iter().collect()
            }
            Property::Assertions if state.holder.is_some_and(|holder| holder != thread.id) => Vec::new(),
            Property::Assertions => {
                let fails = |edge: &Edge| match edge.action {
                    Action::Assert(e) => self.can_be(e, false, &state.globals, &top.locals),
                    _ => false,
                };
                let edges = procedure.edges_from(top.node);
                edges.filter(|(_, edge)| fails(edge)).map(|(id, _)| Violation::Assertion(id)).collect()
            }
        }
    }

    /// Whether a run is one, and violates the property.
    pub fn is_counterexample(&self, run: &Interleaving) -> bool {
        let mut state = &run.initial;
        let mut created = 1;
        if !self.initial().contains(state) {
            return false;
        }
        for step in &run.steps {
            if !self.steps(state, created).contains(&(step.thread, step.action, step.after.clone())) {
                return false;
            }
            created += u32::from(step.after.threads.iter().any(|thread| thread.id == created));
            state = &step.after;
        }
        let thread = state.threads.iter().find(|thread| thread.id == run.thread);
        thread.is_some_and(|thread| self.violations(state, thread).contains(&run.violation))
    }

    /// A state without the order of its threads.
    pub fn multiset(state: &System) -> Multiset {
        let stack = |thread: &Thread| {
            let frames: Vec<Frame> = thread.frames.iter().map(|frame| Frame::clone(frame)).collect();
            (state.holder == Some(thread.id), frames)
        };
        let mut threads: Vec<_> = state.threads.iter().map(stack).collect();
        threads.sort_by_key(key);
        (state.globals.0.clone(), threads)
    }

    /// The same with numbers, for steps from it.
    pub fn numbered((globals, threads): &Multiset) -> System {
        let numbered = threads.iter().enumerate();
        System {
            globals: Valuation(globals.clone()),
            holder: threads.iter().position(|(holds, _)| *holds).map(|i| i as u32),
            threads: numbered
                .map(|(i, (_, frames))| {
                    let frames = frames.iter().cloned().map(Arc::new).collect();
                    Thread { id: i as u32, frames }
                })
                .collect(),
        }
    }

    /// Whether a set holds a violation, and what it lacks to be inductive; `None` if it is too
    /// much for this oracle.
    pub fn obligations(&self, set: &HashSet<Multiset>) -> Option<(bool, HashSet<Multiset>)> {
        let mut demanded: HashSet<Multiset> = self.initial().iter().map(Self::multiset).collect();
        let mut violation = false;
        let elements: Vec<&Multiset> = set.iter().collect();
        for element in elements {
            let state = Self::numbered(element);
            violation |= state.threads.iter().any(|thread| !self.violations(&state, thread).is_empty());
            let created = state.threads.len() as u32;
            for (_, _, after) in self.steps(&state, created) {
                if after.threads.iter().any(|thread| thread.frames.len() > 3) {
                    return None;
                }
                demanded.insert(Self::multiset(&after));
            }
        }
        demanded.retain(|element| !set.contains(element));
        Some((violation, demanded))
    }

    /// The least inductive set that holds these, unless it is too large.
    pub fn closure(&self, mut set: HashSet<Multiset>, limit: usize) -> Option<HashSet<Multiset>> {
        loop {
            let (_, missing) = self.obligations(&set)?;
            if missing.is_empty() {
                return Some(set);
            }
            set.extend(missing);
            if set.len() > limit {
                return None;
            }
        }
    }

    /// One element of a certificate for one state.
    pub fn system_state((globals, threads): &Multiset) -> SystemState {
        let cube = |values: &[bool]| {
            let known = (1_u128 << values.len()) - 1;
            Cube::new(known, values.iter().enumerate().map(|(i, &value)| u128::from(value) << i).sum())
        };
        let frame = |frame: &Frame| ThreadFrame {
            procedure: frame.procedure,
            node: frame.node,
            locals: cube(&frame.locals.0),
        };
        SystemState {
            globals: cube(globals),
            threads: threads.iter().map(|(_, frames)| frames.iter().map(frame).collect()).collect(),
            holder: threads.iter().position(|(holds, _)| *holds),
        }
    }

    /// The states of an element of a certificate.
    pub fn elements(&self, state: &SystemState) -> Vec<Multiset> {
        let fits = |cube: Cube, values: &Valuation| {
            values
                .0
                .iter()
                .enumerate()
                .all(|(i, &value)| cube.get(i as u32).is_none_or(|known| known == value))
        };
        let mut found: Vec<System> = valuations(self.program().globals.len())
            .filter(|values| fits(state.globals, values))
            .map(|globals| System { globals, threads: Vec::new(), holder: state.holder.map(|i| i as u32) })
            .collect();
        for (id, stack) in state.threads.iter().enumerate() {
            for system in &mut found {
                system.threads.push(Thread { id: id as u32, frames: Vec::new() });
            }
            for frame in stack {
                let count = self.program().procedure(frame.procedure).locals.len();
                let old = std::mem::take(&mut found);
                for system in old {
                    for locals in valuations(count).filter(|values| fits(frame.locals, values)) {
                        let mut system = system.clone();
                        let ThreadFrame { procedure, node, .. } = *frame;
                        system.threads[id].frames.push(Arc::new(Frame { procedure, node, locals }));
                        found.push(system);
                    }
                }
            }
        }
        found.iter().map(Self::multiset).collect()
    }

    /// The same with one more variable open.
    pub fn loosened(state: &SystemState, rng: &mut Rng) -> SystemState {
        let mut loose = state.clone();
        let thread = rng.below(loose.threads.len() + 1);
        match loose.threads.get_mut(thread) {
            None => loose.globals = loose.globals.set(rng.below(2) as u32, None),
            Some(stack) => {
                let depth = rng.below(stack.len());
                stack[depth].locals = stack[depth].locals.set(rng.below(2) as u32, None);
            }
        }
        loose
    }

    /// Random elements whose union is the set, with their threads in random order.
    pub fn compress(&self, set: &HashSet<Multiset>, rng: &mut Rng) -> Vec<SystemState> {
        let mut left: Vec<&Multiset> = set.iter().collect();
        left.sort_by_key(|(globals, threads)| (globals.clone(), threads.iter().map(key).collect::<Vec<_>>()));
        let mut covered: HashSet<Multiset> = HashSet::new();
        let mut states = Vec::new();
        for element in left {
            if covered.contains(element) {
                continue;
            }
            let mut state = Self::system_state(element);
            for _ in 0..rng.below(8) {
                let loose = Self::loosened(&state, rng);
                if self.elements(&loose).iter().all(|element| set.contains(element)) {
                    state = loose;
                }
            }
            covered.extend(self.elements(&state));
            let (a, b) = (rng.below(state.threads.len().max(1)), rng.below(state.threads.len().max(1)));
            if a < state.threads.len() && b < state.threads.len() {
                state.threads.swap(a, b);
                state.holder = state.holder.map(|holder| match holder {
                    holder if holder == a => b,
                    holder if holder == b => a,
                    holder => holder,
                });
            }
            states.push(state);
        }
        states
    }
}

/// Sorts threads somehow, the same way every time.
fn key((holds, frames): &(bool, Vec<Frame>)) -> (bool, Vec<(ProcId, usize, Vec<bool>)>) {
    let frame = |frame: &Frame| (frame.procedure, frame.node.index(), frame.locals.0.clone());
    (*holds, frames.iter().map(frame).collect())
}
