//! Builds a concrete run from path edges whose values were chosen lazily.
//!
//! Every path edge has an origin, but a variable that was open when the path edge was added may have been decided
//! by a later step. So a run is built in two passes:
//! - The *backward* pass goes from the end of a run to its entry. It computes which values the rest of the run
//!   demands at every step. A call demands what the run of its callee demands, given the demand on the callee's
//!   exit.
//! - The *forward* pass starts from an entry state with values for all variables. Every step keeps the variables
//!   that it does not write, and writes the values that are demanded. A written variable without a demand is set to
//!   false; this is possible because its value is open.
//!
//! Both passes share runs: a run is determined by the path edge at its end, the demand on its end, and, in the
//! forward pass, its entry state. Both use explicit stacks, because calls can be nested deeply.
//!
//! Invariant (decreasing): the run of a summary ends in a path edge that is older than the path edge to which the
//! summary led, so neither pass can loop.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::path_edges::{Caller, Found, Origin, Saturation};
use crate::evidence::PathEdge;
use crate::evidence::trace::{CallTree, End, Run, RunId, State, Step, Valuation};
use crate::model::cube::{Cube, low_bits};
use crate::model::{Action, Call, EdgeId, ProcId};

/// The run from the entry of a procedure to a path edge, with the values that are determined.
#[derive(Debug)]
struct Outline {
    procedure: ProcId,
    /// The path edges on the run, from the entry on.
    path: Vec<u32>,
    /// The demand on the state at each of them.
    demands: Vec<Cube>,
}

type OutlineKey = (u32, Cube);
type RunKey = (u32, Cube, u128);

/// An outline that is being built from its end to its beginning.
struct Backward {
    key: OutlineKey,
    path: Vec<u32>,
    /// The demands so far, the last one of the run first.
    demands: Vec<Cube>,
    /// The position in `path` of the last demand.
    at: usize,
}

/// A run that is being built from its beginning to its end.
struct Forward {
    key: RunKey,
    outline: Rc<Outline>,
    state: u128,
    steps: Vec<Step>,
}

struct Builder<'a> {
    search: &'a Saturation<'a>,
    outlines: FxHashMap<OutlineKey, Rc<Outline>>,
    done: FxHashMap<RunKey, (RunId, u128)>,
    runs: Vec<Run>,
}

/// The run that leads to a violation.
pub(super) fn build(search: &Saturation<'_>, found: Found) -> CallTree {
    let mut builder =
        Builder { search, outlines: FxHashMap::default(), done: FxHashMap::default(), runs: Vec::new() };
    // This goes from the violation up to the start, through the calls that do not return.
    let mut levels: Vec<(Rc<Outline>, OutlineKey, Option<Caller>)> = Vec::new();
    let mut key = (found.path_edge, found.state);
    loop {
        let outline = builder.outline(key);
        let Origin::Entry { caller } = search.origins[outline.path[0] as usize] else {
            unreachable!("a path begins where its procedure was entered");
        };
        let caller = caller.map(|caller| search.callers[caller as usize]);
        let entry = outline.demands[0];
        levels.push((outline, key, caller));
        let Some(caller) = caller else { break };
        let globals = entry.keep(low_bits(search.scopes.globals));
        key = (caller.from, caller.before.now.or(globals));
    }
    // This goes down again and computes the values.
    let mut unfinished = Vec::new();
    let mut state = None;
    for (outline, key, caller) in levels.iter().rev() {
        let entry = match (state, caller) {
            (Some(state), Some(caller)) => builder.passed_values(caller, state, outline),
            _ => outline.demands[0].value() & builder.interface_at_entry(outline.procedure),
        };
        let mut forward = builder.forward((key.0, key.1, entry), Rc::clone(outline));
        let entry_state = builder.state_of(outline.procedure, forward.state);
        builder.finish(&mut forward);
        state = Some(forward.state);
        unfinished.push((outline.procedure, entry_state, forward.steps));
    }
    let mut end = End::Violation(found.violation);
    let edges: Vec<Option<EdgeId>> = levels.iter().map(|(_, _, caller)| caller.map(|c| c.edge)).collect();
    for ((procedure, entry, steps), edge) in unfinished.into_iter().rev().zip(edges) {
        let run = RunId::from_index(builder.runs.len());
        builder.runs.push(Run { procedure, entry, steps, end });
        if let Some(edge) = edge {
            end = End::Inside { edge, run };
        }
    }
    CallTree { runs: builder.runs }
}

impl Builder<'_> {
    fn path_edge(&self, id: u32) -> PathEdge {
        self.search.path_edges[id as usize]
    }

    fn globals(&self) -> u128 {
        low_bits(self.search.scopes.globals)
    }

    fn interface_at_entry(&self, procedure: ProcId) -> u128 {
        low_bits(self.search.scopes.globals + self.search.scopes.of(procedure).params)
    }

    fn call_of(&self, caller: &Caller) -> &Call {
        let procedure = self.path_edge(caller.from).procedure;
        match &self.search.task.program.procedure(procedure).edge(caller.edge).action {
            Action::Call(call) => call,
            _ => unreachable!("callers wait at calls"),
        }
    }

    /// The globals and parameters at the entry of a callee, computed from the caller's state.
    fn passed_values(&self, caller: &Caller, state: u128, callee: &Outline) -> u128 {
        let interface = self.interface_at_entry(callee.procedure);
        let args = caller.passed.or(callee.demands[0]).value() & interface & !self.globals();
        state & self.globals() | args
    }

    /// The outline of a run that ends in a path edge with a demand on its last state.
    fn outline(&mut self, key: OutlineKey) -> Rc<Outline> {
        let mut stack = vec![self.backward(key)];
        while let Some(top) = stack.last_mut() {
            if top.at > 0 {
                match self.demand_before(top) {
                    Ok(demand) => {
                        top.demands.push(demand);
                        top.at -= 1;
                    }
                    Err(callee) => {
                        let next = self.backward(callee);
                        stack.push(next);
                    }
                }
                continue;
            }
            let Some(mut top) = stack.pop() else { break };
            top.demands.reverse();
            let procedure = self.path_edge(top.path[0]).procedure;
            let outline = Outline { procedure, path: top.path, demands: top.demands };
            self.outlines.insert(top.key, Rc::new(outline));
        }
        Rc::clone(&self.outlines[&key])
    }

    fn backward(&self, key: OutlineKey) -> Backward {
        let mut path = vec![key.0];
        let mut id = key.0;
        loop {
            id = match self.search.origins[id as usize] {
                Origin::Entry { .. } => break,
                Origin::Step { from, .. } => from,
                Origin::Return { caller, .. } => self.search.callers[caller as usize].from,
            };
            path.push(id);
        }
        path.reverse();
        let demand = self.path_edge(key.0).now.or(key.1);
        Backward { key, at: path.len() - 1, path, demands: vec![demand] }
    }

    /// The demand before the step to `path[at]`, or the key of an outline that must be built first. Also
    /// strengthens the last demand by the values that the step itself decided.
    fn demand_before(&self, top: &mut Backward) -> Result<Cube, OutlineKey> {
        let id = top.path[top.at];
        let demand = top.demands.last_mut().expect("the end has a demand");
        match self.search.origins[id as usize] {
            Origin::Entry { .. } => unreachable!("a path begins where its procedure was entered"),
            Origin::Step { before, after, .. } => {
                *demand = after.or(*demand);
                Ok(before.or(demand.keep(!self.written(id))))
            }
            Origin::Return { caller, summary, before, after } => {
                *demand = after.or(*demand);
                let caller = &self.search.callers[caller as usize];
                let key = (summary, self.demand_at_exit(caller, *demand));
                let callee = self.outlines.get(&key).ok_or(key)?;
                let globals = callee.demands[0].keep(self.globals());
                let kept = demand.keep(!self.globals() & !self.call_targets(caller));
                Ok(before.or(kept).or(globals))
            }
        }
    }

    /// The variables that the step to a path edge writes.
    fn written(&self, id: u32) -> u128 {
        let Origin::Step { from, edge, .. } = self.search.origins[id as usize] else { return 0 };
        let procedure = self.path_edge(from).procedure;
        match &self.search.task.program.procedure(procedure).edge(edge).action {
            Action::Assign(assign) => assign
                .pairs
                .iter()
                .filter(|(target, _)| !target.passive)
                .fold(0, |mask, (target, _)| mask | 1 << self.search.scopes.slot(target.var)),
            _ => 0,
        }
    }

    fn call_targets(&self, caller: &Caller) -> u128 {
        let targets = self.call_of(caller).targets.iter().flatten();
        targets.fold(0, |mask, &var| mask | 1 << self.search.scopes.slot(var))
    }

    /// The demand on the callee's exit that follows from a demand on the state after a call.
    fn demand_at_exit(&self, caller: &Caller, demand: Cube) -> Cube {
        let mut exit = demand.keep(self.globals() & !self.call_targets(caller));
        let call = self.call_of(caller);
        let first_return = self.search.scopes.of(call.callee).first_return;
        for (i, target) in call.targets.iter().enumerate() {
            let value = target.and_then(|var| demand.get(self.search.scopes.slot(var)));
            exit = exit.set((first_return + i) as u32, value);
        }
        exit
    }

    fn forward(&self, key: RunKey, outline: Rc<Outline>) -> Forward {
        let interface = self.interface_at_entry(outline.procedure);
        let state = key.2 & interface | outline.demands[0].value() & !interface;
        Forward { key, outline, state, steps: Vec::new() }
    }

    /// Builds the rest of a run, and the runs that it calls.
    fn finish(&mut self, run: &mut Forward) {
        let mut callees: Vec<Forward> = Vec::new();
        loop {
            let top = callees.last_mut().unwrap_or(run);
            if top.steps.len() + 1 < top.outline.path.len() {
                if let Err(callee) = self.advance(top) {
                    callees.push(callee);
                }
                continue;
            }
            let Some(done) = callees.pop() else { return };
            let id = RunId::from_index(self.runs.len());
            let procedure = done.outline.procedure;
            let entry = self.forward(done.key, Rc::clone(&done.outline)).state;
            let entry = self.state_of(procedure, entry);
            self.runs.push(Run { procedure, entry, steps: done.steps, end: End::Exit });
            self.done.insert(done.key, (id, done.state));
        }
    }

    /// Takes the next step of a run, or returns the callee's run that must be built first.
    fn advance(&mut self, run: &mut Forward) -> Result<(), Forward> {
        let at = run.steps.len() + 1;
        let id = run.outline.path[at];
        let demand = run.outline.demands[at];
        let procedure = run.outline.procedure;
        let (edge, call, state) = match self.search.origins[id as usize] {
            Origin::Entry { .. } => unreachable!("a path begins where its procedure was entered"),
            Origin::Step { edge, .. } => {
                let written = self.written(id);
                (edge, None, run.state & !written | demand.value() & written)
            }
            Origin::Return { caller, summary, .. } => {
                let caller = &self.search.callers[caller as usize];
                let at_exit = self.demand_at_exit(caller, demand);
                let outline = Rc::clone(&self.outlines[&(summary, at_exit)]);
                let entry = self.passed_values(caller, run.state, &outline);
                let key = (summary, at_exit, entry);
                let Some(&(callee, exit)) = self.done.get(&key) else {
                    return Err(self.forward(key, outline));
                };
                let globals = self.globals();
                let mut state = run.state & !globals | exit & globals;
                let called = self.call_of(caller);
                let first_return = self.search.scopes.of(called.callee).first_return;
                for (i, target) in called.targets.iter().enumerate() {
                    if let Some(var) = target {
                        let slot = self.search.scopes.slot(*var);
                        state = state & !(1 << slot) | (exit >> (first_return + i) & 1) << slot;
                    }
                }
                (caller.edge, Some(callee), state)
            }
        };
        run.state = state;
        run.steps.push(Step { edge, call, after: self.state_of(procedure, state) });
        Ok(())
    }

    fn state_of(&self, procedure: ProcId, bits: u128) -> State {
        let globals = self.search.scopes.globals;
        let locals = self.search.scopes.of(procedure).width - globals;
        State {
            globals: Valuation::from_bits(bits, globals),
            locals: Valuation::from_bits(bits.checked_shr(globals as u32).unwrap_or(0), locals),
        }
    }
}
