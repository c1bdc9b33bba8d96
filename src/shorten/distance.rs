//! Lower bounds for the number of steps of a run, whatever the values of variables.
//!
//! Implements: D. E. Knuth, "A generalization of Dijkstra's algorithm", 1977: the cost of a call is the sum of the
//! costs of the call itself, of the cheapest path through the callee, and of the return.
//!
//! Guarantee: no run from a node takes fewer steps than its distance.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::model::live::order::{Table, starts};
use crate::model::{Action, Node, ProcId, Procedure, Property, Task};

/// The distance if there is no path.
pub(super) const NEVER: u32 = u32::MAX;

/// An edge between numbered nodes.
#[derive(Clone, Copy)]
struct Arc {
    from: u32,
    to: u32,
    callee: Option<ProcId>,
}

/// The distances of all nodes of a program.
pub(super) struct Distances {
    /// The number of the first node of every procedure.
    first: Vec<u32>,
    arcs: Vec<Arc>,
    /// For each node, the arcs that lead to it.
    into: Table,
    to_exit: Vec<u32>,
    to_violation: Vec<u32>,
}

impl Distances {
    /// Computes all distances of a program without threads.
    pub fn of(task: &Task) -> Self {
        let program = &task.program;
        let first = starts(program.procedures.iter().map(|p| p.nodes as usize));
        let number = |id: ProcId, node: Node| first[id.index()] + node.index() as u32;
        let mut arcs = Vec::new();
        let mut violations = Vec::new();
        for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
            for edge in &procedure.edges {
                let callee = match &edge.action {
                    Action::EndThread | Action::Spawn(_) | Action::Fork(_) => continue,
                    Action::Call(call) => Some(call.callee),
                    Action::Assert(_) if task.property == Property::Assertions => {
                        violations.push(number(id, edge.from));
                        None
                    }
                    _ => None,
                };
                arcs.push(Arc { from: number(id, edge.from), to: number(id, edge.to), callee });
            }
            if let Property::LabelUnreachable(label) = &task.property {
                violations.extend(procedure.nodes_labelled(label).map(|node| number(id, node)));
            }
        }
        let nodes = first.last().map_or(0, |&nodes| nodes as usize);
        let into = Table::new(nodes, (0..).zip(&arcs).map(|(position, arc)| (arc.to, position)));
        let calls = (0..).zip(&arcs);
        let calls =
            calls.filter_map(|(position, arc)| Some((number(arc.callee?, Procedure::ENTRY), position)));
        let calls = Table::new(nodes, calls);

        let cost_of = |arc: Arc, to_exit: &[u32]| {
            arc.callee.map_or(1, |callee| returning(to_exit[number(callee, Procedure::ENTRY) as usize]))
        };
        let exits = program.procedure_ids().map(|id| number(id, Procedure::EXIT));
        let to_exit = settle(nodes, exits, |node, cost, known, found| {
            for &position in into.row(node as usize) {
                let arc = arcs[position as usize];
                found(arc.from, cost.saturating_add(cost_of(arc, known)));
            }
            for &position in calls.row(node as usize) {
                let arc = arcs[position as usize];
                found(arc.from, returning(cost).saturating_add(known[arc.to as usize]));
            }
        });
        let to_violation = settle(nodes, violations.into_iter(), |node, cost, _, found| {
            for &position in into.row(node as usize) {
                let arc = arcs[position as usize];
                found(arc.from, cost.saturating_add(cost_of(arc, &to_exit)));
            }
            for &position in calls.row(node as usize) {
                found(arcs[position as usize].from, cost.saturating_add(1));
            }
        });
        Self { first, arcs, into, to_exit, to_violation }
    }

    /// The distance from a node to the exit of its procedure.
    pub fn to_exit(&self, procedure: ProcId, node: Node) -> u32 {
        self.to_exit[self.number(procedure, node)]
    }

    /// The distance from a node to a violation in its procedure or in one that it calls.
    pub fn to_violation(&self, procedure: ProcId, node: Node) -> u32 {
        self.to_violation[self.number(procedure, node)]
    }

    /// The distances from the nodes of a procedure to one of them, as far as they are at most `limit`.
    pub fn to_node(&self, procedure: ProcId, goal: Node, limit: u32) -> FxHashMap<Node, u32> {
        let first = self.first[procedure.index()];
        let mut known: FxHashMap<Node, u32> = FxHashMap::default();
        let mut open = BinaryHeap::from([Reverse((0, self.number(procedure, goal) as u32))]);
        while let Some(Reverse((cost, number))) = open.pop() {
            let node = Node::from_index((number - first) as usize);
            if cost > limit || known.contains_key(&node) {
                continue;
            }
            known.insert(node, cost);
            for &position in self.into.row(number as usize) {
                let arc = self.arcs[position as usize];
                let step = arc.callee.map_or(1, |callee| returning(self.to_exit(callee, Procedure::ENTRY)));
                open.push(Reverse((cost.saturating_add(step), arc.from)));
            }
        }
        known
    }

    fn number(&self, procedure: ProcId, node: Node) -> usize {
        self.first[procedure.index()] as usize + node.index()
    }
}

/// The cost of a call whose callee has this cost.
fn returning(inside: u32) -> u32 {
    inside.saturating_add(2)
}

/// Computes the least costs of all nodes. `spread` gets a node with its cost and the costs known so far, and reports
/// the costs that follow; none of them may be smaller than the cost of the node.
fn settle(
    nodes: usize,
    goals: impl Iterator<Item = u32>,
    mut spread: impl FnMut(u32, u32, &[u32], &mut dyn FnMut(u32, u32)),
) -> Vec<u32> {
    let mut known = vec![NEVER; nodes];
    let mut open: BinaryHeap<Reverse<(u32, u32)>> = goals.map(|node| Reverse((0, node))).collect();
    while let Some(Reverse((cost, node))) = open.pop() {
        if known[node as usize] != NEVER {
            continue;
        }
        known[node as usize] = cost;
        spread(node, cost, &known, &mut |node, cost| {
            if cost != NEVER {
                open.push(Reverse((cost, node)));
            }
        });
    }
    known
}
