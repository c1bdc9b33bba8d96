//! All runs of limited length that lead from one state to a goal, as formulas.
//!
//! Implements: A. Biere, A. Cimatti, E. Clarke, Y. Zhu, "Symbolic Model Checking without BDDs", TACAS 1999, over
//! control-flow graphs: there is one symbolic state for each number of steps and each location. A location is a call
//! string and a node, so a call costs no more than the locations in it. Values that are known at the start stay
//! constant as long as no choice is made, so most formulas become constant.
//!
//! Locations from which the goal is too far away, whatever the values of variables, are left out ([`Distances`]).
//!
//! Invariant (determinism): an assignment to the variables describes at most one run. So all guards for one number of
//! steps exclude each other, and merging by `ite` is exact.

use std::rc::Rc;

use cusp_encodings::{Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::distance::{Distances, NEVER};
use crate::budget::Budget;
use crate::evidence::trace::{State, Valuation, Violation};
use crate::model::{
    Action, Assign, Call, Edge, EdgeId, Expr, Node, Place, ProcId, Procedure, Property, Task, Var,
};
use crate::symbolic::expression::term_of;
use crate::symbolic::values::Values;

/// The states in which runs begin; `None` stands for any value.
pub(super) struct Start {
    pub procedure: ProcId,
    pub node: Node,
    pub globals: Vec<Option<bool>>,
    pub locals: Vec<Option<bool>>,
}

/// What runs should reach.
pub(super) enum Goal {
    /// A violation, in this procedure or in a call.
    Violation,
    /// A state of the same frame; `None` stands for any value.
    State { node: Node, globals: Valuation, locals: Vec<Option<bool>> },
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Takes an edge within the procedure.
    Step(EdgeId),
    /// Enters the callee of a call.
    Enter(EdgeId, ProcId),
    /// Returns to the caller.
    Return,
}

/// A run to the goal.
pub(super) struct Walk {
    pub entry: State,
    /// The steps with the states after them: the globals, and the locals of the topmost frame.
    pub moves: Vec<(Move, State)>,
    pub violation: Option<Violation>,
}

/// The error that the formulas would be too large.
pub(super) struct TooLarge;

/// Limits for the symbolic states and the terms of one unrolling.
pub(super) const MOST_STATES: usize = 3_000;
const MOST_TERMS: usize = 200_000;

/// A frame of the stack, with the frames below it.
struct CallString {
    procedure: ProcId,
    /// The frame below it, and the call edge there.
    caller: Option<(u32, EdgeId)>,
    /// The least number of steps from the exit of this frame's procedure to the goal.
    rest: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Location {
    string: u32,
    node: Node,
}

#[derive(Clone)]
struct Symbolic {
    guard: Term,
    globals: Values,
    /// The locals of all frames, starting with the bottom frame.
    frames: Vec<Rc<Values>>,
}

impl Symbolic {
    fn value(&self, var: Var) -> Term {
        match var {
            Var::Global(i) => self.globals.get(i as usize),
            Var::Local(i) => self.frames[self.frames.len() - 1].get(i as usize),
        }
    }

    fn set(&mut self, var: Var, value: Term) {
        match var {
            Var::Global(i) => self.globals.set(i as usize, value),
            Var::Local(i) => {
                if let Some(frame) = self.frames.last_mut() {
                    Rc::make_mut(frame).set(i as usize, value);
                }
            }
        }
    }

    fn merge(&mut self, arena: &mut TermArena, other: &Self) {
        self.globals.merge(arena, other.guard, &other.globals, |_| true);
        for (mine, theirs) in self.frames.iter_mut().zip(&other.frames) {
            if !Rc::ptr_eq(mine, theirs) {
                Rc::make_mut(mine).merge(arena, other.guard, theirs, |_| true);
            }
        }
        self.guard = arena.or(self.guard, other.guard);
    }
}

/// The states after some number of steps, and the steps from there.
#[derive(Default)]
struct Layer {
    states: Vec<(Location, Symbolic)>,
    position: FxHashMap<Location, usize>,
    /// The steps from a state of this layer to one of the next, both given by position.
    ways: Vec<Way>,
}

struct Way {
    from: usize,
    to: usize,
    guard: Term,
    action: Move,
}

/// A symbolic state that reaches the goal.
pub(super) struct Arrival {
    /// The number of steps.
    pub steps: usize,
    pub guard: Term,
    at: usize,
    violation: Option<Violation>,
}

/// The formulas of all runs.
pub(super) struct Unrolling<'a> {
    task: &'a Task,
    distances: &'a Distances,
    goal: &'a Goal,
    limit: u32,
    /// If the goal is a state, the distances to it within the first frame.
    near: FxHashMap<Node, u32>,
    strings: Vec<CallString>,
    string_of: FxHashMap<(u32, EdgeId), u32>,
    layers: Vec<Layer>,
    pub arena: TermArena,
    /// The states that reach the goal, sorted by number of steps.
    pub arrivals: Vec<Arrival>,
    /// The number of symbolic states.
    pub states: usize,
}

impl<'a> Unrolling<'a> {
    /// Unrolls a program. If the budget is used up, the unrolling ends early, and some runs are missing.
    pub fn new(
        task: &'a Task,
        distances: &'a Distances,
        start: &Start,
        goal: &'a Goal,
        limit: u32,
        budget: &Budget,
    ) -> Result<Self, TooLarge> {
        let near = match goal {
            Goal::Violation => FxHashMap::default(),
            Goal::State { node, .. } => distances.to_node(start.procedure, *node, limit),
        };
        let mut unrolling = Self {
            task,
            distances,
            goal,
            limit,
            near,
            strings: vec![CallString { procedure: start.procedure, caller: None, rest: NEVER }],
            string_of: FxHashMap::default(),
            layers: vec![Layer::default(), Layer::default()],
            arena: TermArena::new(),
            arrivals: Vec::new(),
            states: 0,
        };
        if unrolling.is_near(0, Location { string: 0, node: start.node }) {
            unrolling.begin(start);
        }
        for time in 0..=limit as usize {
            for position in 0..unrolling.layers[time].states.len() {
                unrolling.leave(time, position);
                if unrolling.states > MOST_STATES || unrolling.arena.len() > MOST_TERMS {
                    return Err(TooLarge);
                }
            }
            if unrolling.layers[time + 1].states.is_empty() || budget.exhausted().is_some() {
                break;
            }
            unrolling.layers.push(Layer::default());
        }
        Ok(unrolling)
    }

    /// The run that an assignment describes, if it reaches one of the arrivals.
    pub fn walk(&self, value_of: impl Fn(VarId) -> bool) -> Option<Walk> {
        let word = |var: VarId| if value_of(var) { u64::MAX } else { 0 };
        let ways = || self.layers.iter().flat_map(|layer| &layer.ways);
        let guards: Vec<Term> =
            ways().map(|way| way.guard).chain(self.arrivals.iter().map(|a| a.guard)).collect();
        let mut holds = self.arena.simulate(&guards, word).into_iter().map(|word| word & 1 == 1);
        let taken: Vec<Vec<bool>> =
            self.layers.iter().map(|layer| holds.by_ref().take(layer.ways.len()).collect()).collect();
        let arrived: Vec<&Arrival> =
            self.arrivals.iter().zip(holds).filter(|(_, holds)| *holds).map(|(arrival, _)| arrival).collect();
        let mut here = 0;
        let mut path = vec![here];
        let mut moves = Vec::new();
        let violation = loop {
            let steps = moves.len();
            if let Some(arrival) = arrived.iter().find(|a| a.steps == steps && a.at == here) {
                break arrival.violation;
            }
            let layer = self.layers.get(steps)?;
            let is_next = |(way, taken): &(&Way, &bool)| **taken && way.from == here;
            let (way, _) = layer.ways.iter().zip(&taken[steps]).find(is_next)?;
            here = way.to;
            path.push(here);
            moves.push(way.action);
        };
        // The values along the path are evaluated in one pass.
        let mut terms = Vec::new();
        let mut widths = Vec::with_capacity(path.len());
        let globals = self.task.program.globals.len();
        for (layer, &position) in self.layers.iter().zip(&path) {
            let (location, state) = &layer.states[position];
            let locals = self.procedure(location.string).locals.len();
            terms.extend(state.globals.to_vec(globals));
            terms.extend((0..locals).map(|i| state.value(Var::Local(i as u32))));
            widths.push(locals);
        }
        let mut values = self.arena.simulate(&terms, word).into_iter().map(|word| word & 1 == 1);
        let mut states = widths.into_iter().map(|locals| State {
            globals: Valuation(values.by_ref().take(globals).collect()),
            locals: Valuation(values.by_ref().take(locals).collect()),
        });
        let entry = states.next()?;
        Some(Walk { entry, moves: moves.into_iter().zip(states).collect(), violation })
    }

    fn procedure(&self, string: u32) -> &'a Procedure {
        self.task.program.procedure(self.strings[string as usize].procedure)
    }

    fn begin(&mut self, start: &Start) {
        let arena = &mut self.arena;
        let mut terms = |values: &[Option<bool>]| {
            let term = |value: &Option<bool>| value.map_or_else(|| arena.fresh(), Term::constant);
            Values::new(&values.iter().map(term).collect::<Vec<_>>())
        };
        let globals = terms(&start.globals);
        let frames = vec![Rc::new(terms(&start.locals))];
        let mut state = Symbolic { guard: Term::TRUE, globals, frames };
        self.enforce(start.procedure, &mut state);
        let at = Location { string: 0, node: start.node };
        let mut first = Layer::default();
        first.position.insert(at, 0);
        first.states.push((at, state));
        self.layers[0] = first;
        self.states = 1;
    }

    /// The least number of steps from a location to the goal.
    fn distance(&self, Location { string, node }: Location) -> u32 {
        let CallString { procedure, caller, rest } = self.strings[string as usize];
        let outside = self.distances.to_exit(procedure, node).saturating_add(rest);
        match self.goal {
            Goal::Violation => self.distances.to_violation(procedure, node).min(outside),
            Goal::State { .. } if caller.is_none() => self.near.get(&node).copied().unwrap_or(NEVER),
            Goal::State { .. } => outside,
        }
    }

    fn leave(&mut self, time: usize, position: usize) {
        let (location, state) = self.layers[time].states[position].clone();
        if self.arrives(time, position, location, &state) {
            return;
        }
        let string = &self.strings[location.string as usize];
        let (id, procedure) = (string.procedure, self.procedure(location.string));
        if location.node == Procedure::EXIT {
            if let Some((caller, edge)) = string.caller {
                self.go_back(time, position, (caller, edge), state);
            }
            return;
        }
        let asserts = self.task.property == Property::Assertions && matches!(self.goal, Goal::Violation);
        let mut ways: Vec<(EdgeId, &Edge, Term)> = Vec::new();
        for (edge_id, edge) in procedure.edges_from(location.node) {
            let condition = match edge.action {
                Action::Assume(condition) => self.value(condition, &state),
                Action::Assert(condition) => {
                    let condition = self.value(condition, &state);
                    if asserts {
                        let guard = self.arena.and(state.guard, !condition);
                        self.arrive(time, position, guard, Some(Violation::Assertion(edge_id)));
                    }
                    condition
                }
                Action::EndThread | Action::Spawn(_) | Action::Fork(_) => continue,
                _ => Term::TRUE,
            };
            let target = match &edge.action {
                Action::Call(call) => self.called(location.string, edge_id, edge, call),
                _ => Location { string: location.string, node: edge.to },
            };
            if condition != Term::FALSE && self.is_near(time + 1, target) {
                ways.push((edge_id, edge, condition));
            }
        }
        let exclude = matches!(ways[..], [(_, _, first), (_, _, second)] if first == !second);
        let mut others = Term::TRUE;
        let last = ways.len().saturating_sub(1);
        for (i, (edge_id, edge, condition)) in ways.into_iter().enumerate() {
            let mut state = state.clone();
            let chosen = if exclude || i == last { Term::TRUE } else { self.arena.fresh() };
            let selected = self.arena.and(others, chosen);
            if !exclude {
                others = self.arena.and(others, !chosen);
            }
            let guard = self.arena.and(state.guard, condition);
            state.guard = self.arena.and(guard, selected);
            let (action, target) = match &edge.action {
                Action::Call(call) => {
                    self.enter(call, &mut state);
                    let target = self.called(location.string, edge_id, edge, call);
                    (Move::Enter(edge_id, call.callee), target)
                }
                action => {
                    if let Action::Assign(assign) = action {
                        self.assign(id, assign, &mut state);
                    }
                    (Move::Step(edge_id), Location { string: location.string, node: edge.to })
                }
            };
            self.land(time, position, action, target, state);
        }
    }

    fn is_near(&self, time: usize, location: Location) -> bool {
        self.distance(location).saturating_add(time as u32) <= self.limit
    }

    /// Records states that reach the goal, and tells whether runs end there.
    fn arrives(&mut self, time: usize, position: usize, location: Location, state: &Symbolic) -> bool {
        let is_forbidden = match &self.task.property {
            Property::Assertions => false,
            Property::LabelUnreachable(label) => {
                self.procedure(location.string).nodes_labelled(label).any(|node| node == location.node)
            }
        };
        match self.goal {
            Goal::Violation if is_forbidden => {
                self.arrive(time, position, state.guard, Some(Violation::Label));
            }
            Goal::State { node, globals, locals } if location == (Location { string: 0, node: *node }) => {
                let globals = (0..).map(Var::Global).zip(globals.0.iter().map(|&value| Some(value)));
                let locals = (0..).map(Var::Local).zip(locals.iter().copied());
                let mut guard = state.guard;
                for (var, value) in globals.chain(locals) {
                    if let Some(value) = value {
                        let is_same = state.value(var).complement_if(!value);
                        guard = self.arena.and(guard, is_same);
                    }
                }
                self.arrive(time, position, guard, None);
            }
            _ => {}
        }
        is_forbidden
    }

    fn arrive(&mut self, steps: usize, at: usize, guard: Term, violation: Option<Violation>) {
        if guard != Term::FALSE {
            self.arrivals.push(Arrival { steps, guard, at, violation });
        }
    }

    /// Adds a step that leads to a location.
    fn land(&mut self, time: usize, from: usize, action: Move, target: Location, state: Symbolic) {
        if state.guard == Term::FALSE {
            return;
        }
        let guard = state.guard;
        let next = &mut self.layers[time + 1];
        let to = *next.position.entry(target).or_insert(next.states.len());
        if let Some((_, known)) = next.states.get_mut(to) {
            known.merge(&mut self.arena, &state);
        } else {
            next.states.push((target, state));
            self.states += 1;
        }
        self.layers[time].ways.push(Way { from, to, guard, action });
    }

    fn value(&mut self, expr: Expr, state: &Symbolic) -> Term {
        let code = self.task.program.exprs.ops(expr);
        term_of(&mut self.arena, code, |place| state.value(place.var))
    }

    fn enforce(&mut self, procedure: ProcId, state: &mut Symbolic) {
        if let Some(condition) = self.task.program.procedure(procedure).enforce {
            let holds = self.value(condition, state);
            state.guard = self.arena.and(state.guard, holds);
        }
    }

    fn assign(&mut self, procedure: ProcId, assign: &Assign, state: &mut Symbolic) {
        let before = state.clone();
        // There is no other thread: passive targets denote no variable, and passive conditions hold.
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            let value = self.value(value, &before);
            state.set(target.var, value);
        }
        for &condition in &assign.constrain {
            let exprs = &self.task.program.exprs;
            if exprs.reads(condition).any(|place| place.passive) {
                continue;
            }
            let holds = term_of(&mut self.arena, exprs.ops(condition), |place: Place| {
                if place.primed { state.value(place.var) } else { before.value(place.var) }
            });
            state.guard = self.arena.and(state.guard, holds);
        }
        self.enforce(procedure, state);
    }

    /// The location at the entry of the callee of a call.
    fn called(&mut self, string: u32, edge_id: EdgeId, edge: &Edge, call: &Call) -> Location {
        if let Some(&known) = self.string_of.get(&(string, edge_id)) {
            return Location { string: known, node: Procedure::ENTRY };
        }
        let rest = self.distance(Location { string, node: edge.to }).saturating_add(1);
        let new = self.strings.len() as u32;
        self.strings.push(CallString { procedure: call.callee, caller: Some((string, edge_id)), rest });
        self.string_of.insert((string, edge_id), new);
        Location { string: new, node: Procedure::ENTRY }
    }

    fn enter(&mut self, call: &Call, state: &mut Symbolic) {
        let mut locals: Vec<Term> = call.args.iter().map(|&arg| self.value(arg, state)).collect();
        let width = self.task.program.procedure(call.callee).locals.len();
        locals.resize_with(width, || self.arena.fresh());
        state.frames.push(Rc::new(Values::new(&locals)));
        self.enforce(call.callee, state);
    }

    fn go_back(&mut self, time: usize, from: usize, (caller, edge): (u32, EdgeId), mut state: Symbolic) {
        let id = self.strings[caller as usize].procedure;
        let edge = self.task.program.procedure(id).edge(edge);
        let target = Location { string: caller, node: edge.to };
        if !self.is_near(time + 1, target) {
            return;
        }
        let (Some(callee), Action::Call(call)) = (state.frames.pop(), &edge.action) else { return };
        let slots = self.task.program.procedure(call.callee).first_return()..;
        for (slot, target) in slots.zip(&call.targets) {
            if let Some(var) = *target {
                state.set(var, callee.get(slot as usize));
            }
        }
        self.enforce(id, &mut state);
        self.land(time, from, Move::Return, target, state);
    }
}
