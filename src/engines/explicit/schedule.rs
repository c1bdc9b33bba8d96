//! Builds a concrete interleaving from states whose values were chosen lazily.
//!
//! There are two passes as in [`super::call_tree`]: the backward pass computes the values that the rest of the run
//! demands, and the forward pass computes values and thread numbers. States were stored with their threads sorted,
//! so every step is computed again to find out which thread went to which position.

use std::sync::Arc;

use super::interleavings::{Exploration, Found, Parent};
use super::threads::{Step, System, frame_of};
use crate::evidence::trace::{self, Frame, Interleaving, Move, Thread, ThreadStep, Valuation};
use crate::evidence::{SystemState, ThreadFrame};
use crate::model::cube::{Cube, low_bits};
use crate::model::{Action, ProcId, Var};

/// One step of the run, from a stored state to the next one.
struct Link {
    parent: Parent,
    step: Step,
    /// For every thread of the next stored state, its position after the step.
    order: Vec<usize>,
}

/// The run that leads to a violation.
pub(super) fn build(exploration: &Exploration<'_>, found: &Found) -> Interleaving {
    let system = &exploration.system;
    let (first, links) = links(exploration, found.state);
    // The backward pass: the demand before every step. Threads are at their positions in the step.
    let mut demand = found.decided.clone();
    let mut demands_after = Vec::with_capacity(links.len());
    for link in links.iter().rev() {
        let after = in_old_order(&demand, &link.order, &link.step.after);
        let after = strengthen(&link.step.after, &after);
        demand = demand_before(system, link, &after);
        demands_after.push(after);
    }
    demands_after.reverse();
    // The forward pass: values and thread numbers.
    let initial = strengthen(&exploration.states[first as usize], &demand);
    let mut state = initial;
    let mut ids: Vec<u32> = vec![0];
    let mut next_id = 1;
    let mut steps = Vec::with_capacity(links.len());
    let start = concrete(system, &state, &ids);
    for (link, demand) in links.iter().zip(&demands_after) {
        let thread = ids[link.parent.thread];
        state = state_after(system, link, &state, demand);
        if link.step.ended {
            ids.remove(link.parent.thread);
        }
        if link.step.created {
            ids.push(next_id);
            next_id += 1;
        }
        steps.push(ThreadStep { thread, action: link.parent.action, after: concrete(system, &state, &ids) });
        state = in_new_order(&state, &link.order);
        ids = link.order.iter().map(|&i| ids[i]).collect();
    }
    Interleaving { initial: start, steps, thread: ids[found.thread], violation: found.violation }
}

/// The first state and the steps from it to a stored state.
fn links(exploration: &Exploration<'_>, last: u32) -> (u32, Vec<Link>) {
    let system = &exploration.system;
    let mut links = Vec::new();
    let mut id = last;
    while let Some(parent) = exploration.parents[id as usize] {
        let state = &exploration.states[parent.state as usize];
        let target = &exploration.states[id as usize];
        let steps = system.steps(state, parent.thread, parent.action).steps;
        let link = steps.into_iter().find_map(|step| {
            let (canonical, order) = system.canonical(&step.after);
            (canonical == *target).then_some(Link { parent, step, order })
        });
        links.push(link.unwrap_or_else(|| unreachable!("the search took this step")));
        id = parent.state;
    }
    links.reverse();
    (id, links)
}

/// The demand on a stored state, with its threads at the positions that they have after the step.
fn in_old_order(demand: &SystemState, order: &[usize], shape: &SystemState) -> SystemState {
    let mut state = shape.clone();
    state.globals = demand.globals;
    for (new, &old) in order.iter().enumerate() {
        state.threads[old].clone_from(&demand.threads[new]);
    }
    state
}

fn in_new_order(state: &SystemState, order: &[usize]) -> SystemState {
    let threads = order.iter().map(|&i| state.threads[i].clone()).collect();
    let holder = state.holder.and_then(|holder| order.iter().position(|&i| i == holder));
    SystemState { globals: state.globals, threads, holder }
}

/// A state whose open values are filled in from a demand of the same shape.
fn strengthen(state: &SystemState, demand: &SystemState) -> SystemState {
    let mut state = state.clone();
    state.globals = state.globals.or(demand.globals);
    for (stack, demanded) in state.threads.iter_mut().zip(&demand.threads) {
        for (frame, demanded) in stack.iter_mut().zip(demanded) {
            frame.locals = frame.locals.or(demanded.locals);
        }
    }
    state
}

/// The variables that a step writes: globals, locals of one frame, and passive locals.
struct Written {
    globals: u128,
    /// Locals in the frame of the moving thread that is on top after the step.
    own: u128,
    /// Locals in the other threads' frames of the moving procedure.
    passive: u128,
    procedure: ProcId,
}

fn written(system: &System<'_>, link: &Link) -> Written {
    let stack = &link.step.before.threads[link.parent.thread];
    let top = stack[stack.len() - 1];
    let mut written = Written { globals: 0, own: 0, passive: 0, procedure: top.procedure };
    let mut mark = |var: Var, passive: bool| match var {
        Var::Global(i) => written.globals |= 1 << i,
        Var::Local(i) if passive => written.passive |= 1 << i,
        Var::Local(i) => written.own |= 1 << i,
    };
    match link.parent.action {
        Move::Return => {
            let (_, _, call) = system.pending_call(&stack[stack.len() - 2]);
            call.targets.iter().flatten().for_each(|&var| mark(var, false));
        }
        Move::Edge(id) => {
            if let Action::Assign(assign) = &system.task.program.procedure(top.procedure).edge(id).action {
                assign.pairs.iter().for_each(|(target, _)| mark(target.var, target.passive));
            }
        }
    }
    written
}

/// The position after a step of a thread that existed before it; `None` if the thread ended.
fn position_after(link: &Link, thread: usize) -> Option<usize> {
    match (link.step.ended, thread.cmp(&link.parent.thread)) {
        (true, std::cmp::Ordering::Equal) => None,
        (true, std::cmp::Ordering::Greater) => Some(thread - 1),
        _ => Some(thread),
    }
}

/// The locals of a frame that a step does not write.
fn kept(written: &Written, link: &Link, stack: &[ThreadFrame], thread: usize, frame: usize) -> u128 {
    let lands_in = match link.parent.action {
        Move::Return => stack.len().checked_sub(2),
        Move::Edge(_) => stack.len().checked_sub(1),
    };
    if thread == link.parent.thread {
        if Some(frame) == lands_in { !written.own } else { u128::MAX }
    } else if frame_of(stack, written.procedure) == Some(frame) {
        !written.passive
    } else {
        u128::MAX
    }
}

fn demand_before(system: &System<'_>, link: &Link, after: &SystemState) -> SystemState {
    let written = written(system, link);
    let mut before = SystemState::clone(&link.step.before);
    before.globals = before.globals.or(after.globals.keep(!written.globals));
    for (thread, stack) in link.step.before.threads.iter().enumerate() {
        let Some(position) = position_after(link, thread) else { continue };
        for (i, frame) in after.threads[position].iter().enumerate().take(stack.len()) {
            if frame.procedure == stack[i].procedure {
                let kept = kept(&written, link, stack, thread, i);
                let locals = &mut before.threads[thread][i].locals;
                *locals = locals.or(frame.locals.keep(kept));
            }
        }
    }
    if let Move::Return = link.parent.action {
        demand_of_return_slots(system, link, after, &mut before);
    }
    before
}

/// Turns a demand on the variables that a call assigns into a demand on the callee's return slots.
fn demand_of_return_slots(system: &System<'_>, link: &Link, after: &SystemState, before: &mut SystemState) {
    let thread = link.parent.thread;
    let stack = &link.step.before.threads[thread];
    let (caller, callee) = (stack.len() - 2, stack.len() - 1);
    let (_, _, call) = system.pending_call(&stack[caller]);
    let first_return = system.task.program.procedure(call.callee).first_return();
    for (i, target) in call.targets.iter().enumerate() {
        let value = match target {
            Some(Var::Global(var)) => after.globals.get(*var),
            Some(Var::Local(var)) => after.threads[thread][caller].locals.get(*var),
            None => None,
        };
        let locals = &mut before.threads[thread][callee].locals;
        if let Some(value) = value {
            *locals = locals.or(Cube::ANY.with(first_return + i as u32, value));
        }
    }
}

/// The concrete state after a step. Open values, in states and in demands, are set to false.
fn state_after(system: &System<'_>, link: &Link, before: &SystemState, demand: &SystemState) -> SystemState {
    let written = written(system, link);
    let mix =
        |old: Cube, new: Cube, kept: u128| Cube::new(u128::MAX, old.value() & kept | new.value() & !kept);
    let mut after = link.step.after.clone();
    after.globals = mix(before.globals, demand.globals, !written.globals);
    for (thread, stack) in link.step.before.threads.iter().enumerate() {
        let Some(position) = position_after(link, thread) else { continue };
        for i in 0..after.threads[position].len() {
            let new = demand.threads[position][i].locals;
            let (old, kept) = match stack.get(i) {
                Some(frame) if frame.procedure == after.threads[position][i].procedure => {
                    (before.threads[thread][i].locals, kept(&written, link, stack, thread, i))
                }
                // The frame is new: it is above the old frames, or it is `main`, which replaces the prologue.
                _ => (Cube::ANY, 0),
            };
            after.threads[position][i].locals = mix(old, new, kept);
        }
    }
    if link.step.created {
        let child = after.threads.len() - 1;
        let parent = &before.threads[link.parent.thread];
        let locals = match system.action_of(&link.step.before, link.parent.thread, link.parent.action) {
            Some(Action::Fork(_)) => parent[parent.len() - 1].locals,
            _ => demand.threads[child][0].locals,
        };
        after.threads[child][0].locals = mix(locals, Cube::ANY, u128::MAX);
    }
    if let Move::Return = link.parent.action {
        hand_over_return_values(system, link, before, &mut after);
    }
    after
}

fn hand_over_return_values(system: &System<'_>, link: &Link, before: &SystemState, after: &mut SystemState) {
    let thread = link.parent.thread;
    let stack = &before.threads[thread];
    let (caller, callee) = (stack.len() - 2, stack[stack.len() - 1]);
    let (_, _, call) = system.pending_call(&stack[caller]);
    let first_return = system.task.program.procedure(call.callee).first_return();
    for (i, target) in call.targets.iter().enumerate() {
        let value = callee.locals.value() >> (first_return + i as u32) & 1 == 1;
        match target {
            Some(Var::Global(var)) => after.globals = after.globals.with(*var, value),
            Some(Var::Local(var)) => {
                let locals = &mut after.threads[thread][caller].locals;
                *locals = locals.with(*var, value);
            }
            None => {}
        }
    }
}

fn concrete(system: &System<'_>, state: &SystemState, ids: &[u32]) -> trace::System {
    let program = &system.task.program;
    let mut threads: Vec<Thread> = state
        .threads
        .iter()
        .zip(ids)
        .map(|(stack, &id)| {
            let frame = |frame: &ThreadFrame| {
                let count = program.procedure(frame.procedure).locals.len();
                debug_assert!(count <= Cube::WIDTH);
                Arc::new(Frame {
                    procedure: frame.procedure,
                    node: frame.node,
                    locals: Valuation::from_bits(frame.locals.value() & low_bits(count), count),
                })
            };
            Thread { id, frames: stack.iter().map(frame).collect() }
        })
        .collect();
    threads.sort_by_key(|thread| thread.id);
    trace::System {
        globals: Valuation::from_bits(state.globals.value(), program.globals.len()),
        threads,
        holder: state.holder.map(|holder| ids[holder]),
    }
}
