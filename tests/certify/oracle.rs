//! The semantics of sequential programs, state by state and choice by choice.
//!
//! A state is a number whose bits are the globals, then the locals. Nothing is clever here.

use std::collections::BTreeSet;

use cusp::evidence::PathEdge;
use cusp::evidence::trace::Violation;
use cusp::model::cube::Cube;
use cusp::model::{
    Action, Call, Edge, Expr, Node, Op, Place, ProcId, Procedure, Program, Property, Task, Var,
};

use super::generate::Rng;

/// Procedure, node, entry state (globals and parameters), current state.
pub type Point = (usize, usize, u32, u32);

pub fn bit(bits: u32, position: usize) -> bool {
    bits >> position & 1 == 1
}

pub fn mask(count: usize) -> u32 {
    (1 << count) - 1
}

/// Whether an expression can take a value: some choices lead there.
pub fn can_be(program: &Program, expr: Expr, value: bool, read: &dyn Fn(Place) -> bool) -> bool {
    let ops = program.exprs.ops(expr);
    let choices = ops.iter().filter(|op| **op == Op::Choice).count();
    (0..1_u32 << choices).any(|mut choices| {
        let mut stack: Vec<bool> = Vec::new();
        for &op in ops {
            let mut pop = || stack.pop().expect("balanced");
            let result = match op {
                Op::Const(value) => value,
                Op::Choice => {
                    let chosen = choices & 1 == 1;
                    choices >>= 1;
                    chosen
                }
                Op::Read(place) => read(place),
                Op::Not => !pop(),
                Op::And => pop() & pop(),
                Op::Or => pop() | pop(),
                Op::Xor => pop() ^ pop(),
                Op::Ite => {
                    let (otherwise, then, condition) = (pop(), pop(), pop());
                    if condition { then } else { otherwise }
                }
            };
            stack.push(result);
        }
        stack == [value]
    })
}

/// A sequential program.
pub struct Sequential<'a> {
    pub task: &'a Task,
    pub globals: usize,
}

impl<'a> Sequential<'a> {
    pub fn new(task: &'a Task) -> Self {
        Self { task, globals: task.program.globals.len() }
    }

    pub fn program(&self) -> &'a Program {
        &self.task.program
    }

    pub fn procedure(&self, id: usize) -> &'a Procedure {
        &self.program().procedures[id]
    }

    pub fn width(&self, procedure: usize) -> usize {
        self.globals + self.procedure(procedure).locals.len()
    }

    /// How many variables an entry state has.
    pub fn interface(&self, procedure: usize) -> usize {
        self.globals + self.procedure(procedure).params as usize
    }

    pub fn position(&self, var: Var) -> usize {
        match var {
            Var::Global(i) => i as usize,
            Var::Local(i) => self.globals + i as usize,
        }
    }

    pub fn can_be(&self, expr: Expr, value: bool, state: u32) -> bool {
        can_be(self.program(), expr, value, &|place| bit(state, self.position(place.var)))
    }

    pub fn enforced(&self, procedure: usize, state: u32) -> bool {
        self.procedure(procedure).enforce.is_none_or(|condition| self.can_be(condition, true, state))
    }

    /// Whether a step that is no call may lead from one state to another.
    pub fn steps(&self, procedure: usize, edge: &Edge, before: u32, after: u32) -> bool {
        let possible = match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => after == before,
            Action::Assume(condition) | Action::Assert(condition) => {
                after == before && self.can_be(*condition, true, before)
            }
            Action::Assign(assign) => {
                let own: Vec<_> = assign.pairs.iter().filter(|(target, _)| !target.passive).collect();
                let assigned = |position: usize| own.iter().any(|(t, _)| self.position(t.var) == position);
                let kept = (0..self.width(procedure)).all(|i| assigned(i) || bit(before, i) == bit(after, i));
                let given = own
                    .iter()
                    .all(|(t, value)| self.can_be(*value, bit(after, self.position(t.var)), before));
                let constrained = assign.constrain.iter().all(|&condition| {
                    let reads_others = self.program().exprs.reads(condition).any(|place| place.passive);
                    reads_others
                        || can_be(self.program(), condition, true, &|place| {
                            bit(if place.primed { after } else { before }, self.position(place.var))
                        })
                });
                kept && given && constrained
            }
            _ => false,
        };
        possible && self.enforced(procedure, after)
    }

    /// Whether a call in one state may pass these globals and parameters.
    pub fn passes(&self, call: &Call, state: u32, entry: u32) -> bool {
        let args = call.args.iter().enumerate();
        (state ^ entry) & mask(self.globals) == 0
            && args.into_iter().all(|(i, &arg)| self.can_be(arg, bit(entry, self.globals + i), state))
    }

    /// The state after a call that was left in `exit`.
    pub fn returned(&self, call: &Call, state: u32, exit: u32) -> u32 {
        let mut after = state & !mask(self.globals) | exit & mask(self.globals);
        let first = self.procedure(call.callee.index()).first_return();
        for (slot, target) in (first..).zip(&call.targets) {
            if let Some(var) = *target {
                let position = self.position(var);
                let value = bit(exit, self.position(Var::Local(slot)));
                after = after & !(1 << position) | u32::from(value) << position;
            }
        }
        after
    }

    /// How a state violates the property.
    pub fn violations(&self, procedure: usize, node: Node, state: u32) -> Vec<Violation> {
        let body = self.procedure(procedure);
        match &self.task.property {
            Property::LabelUnreachable(label) => {
                let here = body.nodes_labelled(label).any(|labelled| labelled == node);
                here.then_some(Violation::Label).into_iter().collect()
            }
            Property::Assertions => {
                let fails =
                    |edge: &Edge| matches!(edge.action, Action::Assert(e) if self.can_be(e, false, state));
                let edges = body.edges_from(node);
                edges.filter(|(_, edge)| fails(edge)).map(|(id, _)| Violation::Assertion(id)).collect()
            }
        }
    }

    /// Whether a set of points holds a violation, and the points that it lacks to be inductive.
    pub fn obligations(&self, set: &BTreeSet<Point>) -> (bool, BTreeSet<Point>) {
        let mut demanded: BTreeSet<Point> = BTreeSet::new();
        let start = self.program().start.index();
        for state in 0..1_u32 << self.width(start) {
            if self.enforced(start, state) {
                demanded.insert((start, 0, state & mask(self.interface(start)), state));
            }
        }
        let mut violation = false;
        for &(procedure, node, entry, now) in set {
            violation |= !self.violations(procedure, Node::from_index(node), now).is_empty();
            for (_, edge) in self.procedure(procedure).edges_from(Node::from_index(node)) {
                let to = edge.to.index();
                let Action::Call(call) = &edge.action else {
                    let after = (0..1_u32 << self.width(procedure))
                        .filter(|&after| self.steps(procedure, edge, now, after));
                    demanded.extend(after.map(|after| (procedure, to, entry, after)));
                    continue;
                };
                let callee = call.callee.index();
                for state in 0..1_u32 << self.width(callee) {
                    if self.passes(call, now, state) && self.enforced(callee, state) {
                        demanded.insert((callee, 0, state & mask(self.interface(callee)), state));
                    }
                }
                for &(_, _, passed, exit) in set.iter().filter(|p| p.0 == callee && p.1 == 1) {
                    let after = self.returned(call, now, exit);
                    if self.passes(call, now, passed) && self.enforced(procedure, after) {
                        demanded.insert((procedure, to, entry, after));
                    }
                }
            }
        }
        demanded.retain(|point| !set.contains(point));
        (violation, demanded)
    }

    /// The least inductive set that holds these points, violations or not.
    pub fn closure(&self, mut set: BTreeSet<Point>) -> BTreeSet<Point> {
        loop {
            let (_, missing) = self.obligations(&set);
            if missing.is_empty() {
                return set;
            }
            set.extend(missing);
        }
    }

    /// The points of a certificate.
    pub fn points(&self, edges: &[PathEdge]) -> BTreeSet<Point> {
        edges.iter().flat_map(|edge| self.points_of(edge)).collect()
    }

    pub fn points_of(&self, edge: &PathEdge) -> Vec<Point> {
        let procedure = edge.procedure.index();
        let fits = |cube: Cube, state: u32| (u128::from(state) ^ cube.value()) & cube.known() == 0;
        let entries = (0..1_u32 << self.interface(procedure)).filter(|&entry| fits(edge.entry, entry));
        entries
            .flat_map(|entry| {
                let linked = move |now: u32| u128::from(entry ^ now) & edge.linked == 0;
                (0..1_u32 << self.width(procedure))
                    .filter(move |&now| fits(edge.now, now) && linked(now))
                    .map(move |now| (procedure, edge.node.index(), entry, now))
            })
            .collect()
    }

    /// One path edge for one point.
    pub fn path_edge(&self, point: Point) -> PathEdge {
        let (procedure, node, entry, now) = point;
        PathEdge {
            procedure: ProcId::from_index(procedure),
            node: Node::from_index(node),
            entry: Cube::new(u128::from(mask(self.interface(procedure))), u128::from(entry)),
            now: Cube::new(u128::from(mask(self.width(procedure))), u128::from(now)),
            linked: 0,
        }
    }

    /// A random way to open or link one more variable.
    pub fn loosened(&self, edge: &PathEdge, rng: &mut Rng) -> PathEdge {
        let var = rng.below(self.width(edge.procedure.index())) as u32;
        let mut loose = *edge;
        match rng.below(3) {
            0 if edge.entry.get(var).is_some() && edge.entry.get(var) == edge.now.get(var) => {
                loose.entry = edge.entry.set(var, None);
                loose.now = edge.now.set(var, None);
                loose.linked |= 1 << var;
            }
            1 if edge.entry.get(var).is_some() => loose.entry = edge.entry.set(var, None),
            _ => {
                loose.now = edge.now.set(var, None);
                loose.linked &= !(1 << var);
            }
        }
        loose
    }

    /// A random way to fix one more variable, if the one that is drawn is open.
    pub fn narrowed(&self, edge: &PathEdge, rng: &mut Rng) -> PathEdge {
        let var = rng.below(self.width(edge.procedure.index())) as u32;
        let value = Some(rng.chance(50));
        let mut narrow = *edge;
        if edge.linked >> var & 1 == 1 {
            narrow.linked &= !(1 << var);
            narrow.entry = edge.entry.set(var, value);
        }
        narrow.now = edge.now.set(var, edge.now.get(var).or(value));
        narrow
    }

    /// Random path edges whose union is the set.
    pub fn compress(&self, set: &BTreeSet<Point>, rng: &mut Rng) -> Vec<PathEdge> {
        let mut left: Vec<Point> = set.iter().copied().collect();
        left.sort_unstable();
        let mut covered: BTreeSet<Point> = BTreeSet::new();
        let mut edges = Vec::new();
        for point in left {
            if covered.contains(&point) {
                continue;
            }
            let mut edge = self.path_edge(point);
            for _ in 0..rng.below(12) {
                let loose = self.loosened(&edge, rng);
                if self.points_of(&loose).iter().all(|point| set.contains(point)) {
                    edge = loose;
                }
            }
            covered.extend(self.points_of(&edge));
            edges.push(edge);
        }
        edges
    }
}
