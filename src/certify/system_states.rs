//! Checks a set of system states as a proof about a program with threads.
//!
//! The set must contain the start states, up to the order of the threads, and be closed under every step of every
//! thread. Neither the steps nor the property depend on the order of the threads, so the set then contains every
//! reachable state up to that order.

use rustc_hash::FxHashMap;

use super::cover::{Class, Group, arrange};
use super::draft::{
    Draft, Effect, Fragment, Pick, Scope, falsifying, local_step, missing_successor, values_before,
};
use super::region::{Cell, Region};
use super::stacks::{check_stack, holds_after, holds_by_prologue, pending_call};
use super::{Forbidden, Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::SystemState;
use crate::model::cube::{Cube, low_bits};
use crate::model::{Action, Call, Edge, Node, ProcId, Procedure, Program, Property, Task, Var};

/// The index of the word that holds the globals.
const GLOBALS: usize = 0;

type States = Region<Vec<u128>>;

/// A frame, with the index of the word that holds its locals.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Frame {
    procedure: ProcId,
    node: Node,
    word: usize,
}

/// The control part of a system state: the stacks of all threads, and the thread that holds the system.
#[derive(Clone)]
struct Control {
    threads: Vec<Vec<Frame>>,
    holder: Option<usize>,
}

/// Control up to the order of the threads: the holder comes first, the others are sorted by their stacks.
type Key = Vec<u32>;

/// Checks that system states are an inductive set without a violation.
pub(super) fn check(task: &Task, states: &[SystemState], budget: &Budget) -> Result<(), Stop> {
    let program = &task.program;
    let mut checker = Checker {
        task,
        program,
        budget,
        forbidden: Forbidden::of(task),
        positions: FxHashMap::default(),
        groups: Vec::new(),
    };
    for (position, state) in states.iter().enumerate() {
        poll(budget)?;
        let (control, region) =
            read(program, state).map_err(|stop| stop.at(format_args!("system state {position}")))?;
        let (key, region, _) = canonical(&control, &region);
        let next = checker.groups.len();
        let group = *checker.positions.entry(key).or_insert(next);
        if group == next {
            checker.groups.push(Group::default());
        }
        checker.groups[group].insert(region);
    }
    checker.groups.iter_mut().for_each(Group::finish);
    checker.start()?;
    for (position, state) in states.iter().enumerate() {
        let (control, region) = read(program, state)?;
        checker.state(&control, &region).map_err(|stop| stop.at(format_args!("system state {position}")))?;
    }
    Ok(())
}

/// Checks that a state is well-formed, and splits it into control and a region of values.
fn read(program: &Program, state: &SystemState) -> Result<(Control, States), Stop> {
    let fits = |cube: Cube, count: usize| count <= Cube::WIDTH && cube.known() & !low_bits(count) == 0;
    if !fits(state.globals, program.globals.len()) {
        return reject("it fixes a global that does not exist, or there are more than a cube holds");
    }
    let mut region =
        Region { known: vec![state.globals.known()], value: vec![state.globals.value()], linked: 0 };
    let mut threads = Vec::with_capacity(state.threads.len());
    for (position, stack) in state.threads.iter().enumerate() {
        let nodes: Vec<_> = stack.iter().map(|frame| (frame.procedure, frame.node)).collect();
        check_stack(program, &nodes).map_err(|stop| stop.at(format_args!("thread {position}")))?;
        let mut frames = Vec::with_capacity(stack.len());
        for frame in stack {
            let procedure = program.procedure(frame.procedure);
            if !fits(frame.locals, procedure.locals.len()) {
                let name = &procedure.name;
                return reject(format!(
                    "thread {position}: it fixes a local that `{name}` does not have, or there are more than a cube holds"
                ));
            }
            frames.push(Frame { procedure: frame.procedure, node: frame.node, word: region.known.len() });
            region.known.push(frame.locals.known());
            region.value.push(frame.locals.value());
        }
        threads.push(frames);
    }
    if state.holder.is_some_and(|holder| holder >= threads.len()) {
        return reject("the thread that holds the system does not live");
    }
    Ok((Control { threads, holder: state.holder }, region))
}

/// Control as a key, and the region with its words in the order of the key.
fn canonical(control: &Control, region: &States) -> (Key, States, Vec<Class>) {
    let mut order: Vec<usize> = (0..control.threads.len()).collect();
    let stack = |thread: usize| control.threads[thread].iter().map(|frame| (frame.procedure, frame.node));
    let is_holder = |thread: usize| control.holder == Some(thread);
    order.sort_by(|&a, &b| is_holder(b).cmp(&is_holder(a)).then_with(|| stack(a).cmp(stack(b))));
    let mut sorted =
        Region { known: vec![region.known[GLOBALS]], value: vec![region.value[GLOBALS]], linked: 0 };
    let mut key = vec![u32::from(control.holder.is_some())];
    let mut classes: Vec<Class> = Vec::new();
    for (position, &thread) in order.iter().enumerate() {
        let frames = &control.threads[thread];
        let previous = position.checked_sub(1).map(|previous| order[previous]);
        let joins = previous.is_some_and(|other| !is_holder(other) && stack(other).eq(stack(thread)));
        match classes.last_mut() {
            Some(class) if joins => class.count += 1,
            _ => classes.push(Class { first: sorted.known.len(), size: frames.len(), count: 1 }),
        }
        key.push(frames.len() as u32);
        for frame in frames {
            key.extend([frame.procedure.index() as u32, frame.node.index() as u32]);
            sorted.known.push(region.known[frame.word]);
            sorted.value.push(region.value[frame.word]);
        }
    }
    classes.retain(|class| class.count > 1);
    arrange(&mut sorted, &classes);
    (key, sorted, classes)
}

/// Control and data of a stack.
fn stack_state<'a>(
    stack: &'a [Frame],
    region: &'a States,
) -> impl Iterator<Item = (ProcId, Node, u128, u128)> + 'a {
    stack
        .iter()
        .map(|&Frame { procedure, node, word }| (procedure, node, region.known[word], region.value[word]))
}

fn scope(frame: Frame) -> Scope {
    Scope { globals: GLOBALS, locals: frame.word, offset: 0 }
}

/// A step that is being computed: data and control after it.
struct Step {
    draft: Draft<Vec<u128>>,
    control: Control,
    /// Whether the thread that made the step has ended.
    ended: bool,
    /// The frame that forked a new thread, if the step did: the new thread has the same values of open locals.
    copied: Option<Frame>,
}

impl Step {
    fn new(draft: Draft<Vec<u128>>, control: &Control) -> Self {
        Self { draft, control: control.clone(), ended: false, copied: None }
    }

    fn end(&mut self, thread: usize) {
        self.control.threads.remove(thread);
        self.ended = true;
    }

    /// Adds a word for a new frame whose locals are arbitrary.
    fn new_word(&mut self) -> usize {
        let Draft { region, fresh, .. } = &mut self.draft;
        region.known.push(0);
        region.value.push(0);
        fresh.push(u128::MAX);
        region.known.len() - 1
    }
}

struct Checker<'a> {
    task: &'a Task,
    program: &'a Program,
    budget: &'a Budget,
    forbidden: Forbidden,
    positions: FxHashMap<Key, usize>,
    groups: Vec<Group<Vec<u128>>>,
}

impl Checker<'_> {
    fn start(&self) -> Result<(), Stop> {
        let start = self.program.start;
        let frame = Frame { procedure: start, node: Procedure::ENTRY, word: GLOBALS + 1 };
        let control = Control { threads: vec![vec![frame]], holder: None };
        let wide = |count: usize| count > Cube::WIDTH;
        if wide(self.program.globals.len()) || wide(self.program.procedure(start).locals.len()) {
            return reject(format!("the start has more variables than a cube holds, {}", Cube::WIDTH));
        }
        let all = Region { known: vec![0; 2], value: vec![0; 2], linked: 0 };
        let begin = |fragment: &Fragment<_>| {
            let mut step = Step::new(Draft::unchanged(&fragment.before), &control);
            if !self.enforce(&mut step, frame)? {
                return Ok(Effect::Nothing);
            }
            Ok(self.successor(&step))
        };
        match missing_successor(all, begin, self.budget)? {
            None => Ok(()),
            Some(hole) => reject(format!("the start {} is not covered", show(&hole))),
        }
    }

    /// Requires that the `enforce` of a frame can hold after the step.
    fn enforce(&self, step: &mut Step, frame: Frame) -> Result<bool, Stop> {
        let condition = self.program.procedure(frame.procedure).enforce;
        step.draft.enforce(self.program, scope(frame), condition)
    }

    /// The effect of a finished step: the states after it, and the group of the certificate that should cover them.
    fn successor(&self, step: &Step) -> Effect<'_, Vec<u128>> {
        let (key, region, classes) = canonical(&step.control, &step.draft.region);
        let group = self.positions.get(&key).map(|&position| &self.groups[position]);
        let mut undecided = step.draft.undecided;
        if let (Some(frame), Some(group), None) = (step.copied, group, undecided) {
            // A copy of an open local is equal to its original, which a region cannot express. That matters only if
            // some state of the certificate fixes one of them.
            let locals = low_bits(self.program.procedure(frame.procedure).locals.len());
            let open = locals & !step.draft.region.known[frame.word];
            let relevant = open & group.fixed_in(GLOBALS + 1..region.known.len());
            if relevant != 0 {
                let cell = Cell { word: frame.word, bit: relevant.trailing_zeros() };
                undecided = Some(Pick::Before(cell));
            }
        }
        Effect::Successor { group, region, classes, undecided }
    }

    /// Checks all steps from a state, and that it does not violate the property.
    fn state(&self, control: &Control, region: &States) -> Result<(), Stop> {
        for (position, stack) in control.threads.iter().enumerate() {
            let Some(&top) = stack.last() else { return reject("a thread has no frame") };
            let procedure = self.program.procedure(top.procedure);
            let name = &procedure.name;
            if self.forbidden.contains(top.procedure, top.node) {
                return reject(format!("the forbidden label is at {} of `{name}`", top.node));
            }
            let may_run = control.holder.is_none_or(|holder| holder == position);
            // The steps of a thread in the same state as an earlier one lead to the same states up to the order of
            // threads.
            let same = |other: &Vec<Frame>| stack_state(other, region).eq(stack_state(stack, region));
            if !may_run || control.holder.is_none() && control.threads[..position].iter().any(same) {
                continue;
            }
            if top.node == Procedure::EXIT {
                self.closed(control, region, position, None)
                    .map_err(|stop| stop.at(format_args!("the return of thread {position} from `{name}`")))?;
            }
            for (id, edge) in procedure.edges_from(top.node) {
                let assertion = match &edge.action {
                    Action::Assert(condition) if self.task.property == Property::Assertions => {
                        let own = scope(top);
                        match falsifying(self.program, region.clone(), own, *condition, self.budget)? {
                            Some(failing) => {
                                reject(format!("the assertion can fail with {}", show(&failing)))
                            }
                            None => Ok(()),
                        }
                    }
                    _ => Ok(()),
                };
                assertion
                    .and_then(|()| self.closed(control, region, position, Some(edge)))
                    .map_err(|stop| stop.at(format_args!("{id} of thread {position} in `{name}`")))?;
            }
        }
        Ok(())
    }

    /// Checks that the successors of one step of one thread, over an edge or by a return, are covered.
    fn closed(
        &self,
        control: &Control,
        region: &States,
        position: usize,
        edge: Option<&Edge>,
    ) -> Result<(), Stop> {
        let step = |fragment: &Fragment<_>| {
            let step = match edge {
                Some(edge) => self.edge(control, position, edge, fragment)?,
                None => self.returns(control, position, fragment)?,
            };
            let Some(mut step) = step else { return Ok(Effect::Nothing) };
            let action = edge.map(|edge| &edge.action);
            let bottom = |control: &Control| control.threads[position][0].procedure;
            let holds = if step.ended {
                Ok(false)
            } else if let Some(holds) =
                holds_by_prologue(self.program, bottom(control), bottom(&step.control))
            {
                Ok(holds)
            } else {
                self.holds(action, control.holder.is_some(), fragment, &step)
            };
            match holds {
                Err(pick) => Ok(Effect::Split(pick)),
                Ok(holds) => {
                    step.control.holder = holds.then_some(position);
                    Ok(self.successor(&step))
                }
            }
        };
        match missing_successor(region.clone(), step, self.budget)? {
            None => Ok(()),
            Some(hole) => reject(format!("the successor {} is not covered", show(&hole))),
        }
    }

    /// Whether the thread that made a step outside of the prologue holds the system after it, or the variable that
    /// must be decided first.
    fn holds(
        &self,
        action: Option<&Action>,
        held: bool,
        fragment: &Fragment<Vec<u128>>,
        step: &Step,
    ) -> Result<bool, Pick> {
        let Some(flag) = self.program.atomic_flag else { return Ok(holds_after(action, held, None)) };
        let cell = Cell { word: GLOBALS, bit: flag };
        let before = fragment.before.get(cell).ok_or(Pick::Before(cell));
        let after = step.draft.read(cell);
        let possible = |value: Result<bool, Pick>| value.map_or(vec![false, true], |value| vec![value]);
        let mut answers = possible(before).into_iter().flat_map(|before| {
            possible(after).into_iter().map(move |after| holds_after(action, held, Some((before, after))))
        });
        match answers.next() {
            Some(first) if answers.all(|answer| answer == first) => Ok(first),
            _ => Err(after.err().or(before.err()).unwrap_or(Pick::Before(cell))),
        }
    }

    /// A return from the topmost frame of a thread.
    fn returns(
        &self,
        control: &Control,
        position: usize,
        fragment: &Fragment<Vec<u128>>,
    ) -> Result<Option<Step>, Stop> {
        let mut step = Step::new(Draft::unchanged(&fragment.before), control);
        let stack = &mut step.control.threads[position];
        let (Some(left), Some(&caller)) = (stack.pop(), stack.last()) else {
            return reject("there is no caller to return to");
        };
        let Some((call, edge)) = pending_call(self.program.procedure(caller.procedure), caller.node) else {
            return reject("the caller does not wait for a return");
        };
        let first_slot = self.program.procedure(left.procedure).first_return();
        for (slot, target) in (first_slot..).zip(&call.targets) {
            if let Some(var) = *target {
                let returned = fragment.before.get(scope(left).cell(Var::Local(slot)));
                step.draft.set(fragment, scope(caller).cell(var), returned);
            }
        }
        self.arrive(step, position, edge)
    }

    /// Moves the topmost frame of a thread to the target of an edge.
    fn arrive(&self, mut step: Step, position: usize, edge: &Edge) -> Result<Option<Step>, Stop> {
        let stack = &mut step.control.threads[position];
        let only = stack.len() == 1;
        let Some(top) = stack.last_mut() else { return reject("a thread has no frame") };
        top.node = edge.to;
        let top = *top;
        if !edge.silent && !self.enforce(&mut step, top)? {
            return Ok(None);
        }
        if only && edge.to == Procedure::EXIT {
            step.end(position);
        }
        Ok(Some(step))
    }

    /// An edge from the topmost frame of a thread.
    fn edge(
        &self,
        control: &Control,
        position: usize,
        edge: &Edge,
        fragment: &Fragment<Vec<u128>>,
    ) -> Result<Option<Step>, Stop> {
        let Some(&top) = control.threads[position].last() else { return reject("a thread has no frame") };
        let others: Vec<Scope> = control
            .threads
            .iter()
            .enumerate()
            .filter(|&(other, _)| other != position)
            .filter_map(|(_, stack)| stack.iter().rev().find(|frame| frame.procedure == top.procedure))
            .map(|&frame| scope(frame))
            .collect();
        let Some(draft) = local_step(self.program, &edge.action, scope(top), &others, fragment)? else {
            return Ok(None);
        };
        let mut step = Step::new(draft, control);
        let may_start = self.task.threads.is_none_or(|bound| control.threads.len() < bound as usize);
        match &edge.action {
            Action::Call(call) => {
                let Some(frame) = self.enter(&mut step, top, call, fragment)? else { return Ok(None) };
                // `main` replaces the prologue's frame; in all other calls the caller's frame stays below the new
                // one.
                if self.program.leaves_prologue(top.procedure, edge) {
                    step.control.threads[position].clear();
                }
                step.control.threads[position].push(frame);
                return Ok(Some(step));
            }
            Action::Spawn(call) if may_start => {
                let Some(frame) = self.enter(&mut step, top, call, fragment)? else { return Ok(None) };
                step.control.threads.push(vec![frame]);
            }
            Action::Fork(node) if may_start => {
                let word = step.new_word();
                let region = &mut step.draft.region;
                region.known[word] = region.known[top.word];
                region.value[word] = region.value[top.word];
                step.control.threads.push(vec![Frame { node: *node, word, ..top }]);
                step.copied = Some(top);
            }
            Action::EndThread => {
                step.end(position);
                return Ok(Some(step));
            }
            _ => {}
        }
        self.arrive(step, position, edge)
    }

    /// Adds a frame at the entry of a procedure.
    fn enter(
        &self,
        step: &mut Step,
        caller: Frame,
        call: &Call,
        fragment: &Fragment<Vec<u128>>,
    ) -> Result<Option<Frame>, Stop> {
        let procedure = self.program.procedure(call.callee);
        if procedure.locals.len() > Cube::WIDTH {
            let (name, count) = (&procedure.name, procedure.locals.len());
            return reject(format!("`{name}` has {count} locals, and a cube holds {}", Cube::WIDTH));
        }
        let word = step.new_word();
        let frame = Frame { procedure: call.callee, node: Procedure::ENTRY, word };
        let place = |local: usize| scope(frame).cell(Var::Local(local as u32));
        for (position, &arg) in call.args.iter().enumerate() {
            let values = values_before(self.program, &fragment.before, scope(caller), None, arg)?;
            if !step.draft.assign(fragment, place(position), values) {
                return Ok(None);
            }
        }
        for local in call.args.len()..procedure.locals.len() {
            step.draft.set(fragment, place(local), None);
        }
        Ok(self.enforce(step, frame)?.then_some(frame))
    }
}

fn show(region: &States) -> String {
    let words = region.known.iter().zip(&region.value);
    let cubes: Vec<String> =
        words.map(|(&known, &value)| format!("`{:?}`", Cube::new(known, value))).collect();
    let (globals, frames) = cubes.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    format!("(globals {globals}, frames {})", frames.join(" "))
}
