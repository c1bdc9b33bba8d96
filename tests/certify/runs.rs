//! Runs of small sequential programs with their stacks, one step at a time: the oracle of proofs by
//! unrolling and by k-induction.

use std::collections::BTreeSet;

use cusp::model::eval::eval;
use cusp::model::live::Live;
use cusp::model::{Action, Call, EdgeId, Node, Op, Procedure, Property, Task, Var};

use super::oracle::{Sequential, bit, mask};

/// Locals are kept above the globals, as in [`Sequential`].
pub struct Runs<'a> {
    pub task: &'a Task,
    pub oracle: Sequential<'a>,
    pub live: Live,
    /// Procedure and node.
    pub cuts: BTreeSet<(usize, usize)>,
}

impl<'a> Runs<'a> {
    pub fn new(task: &'a Task, cuts: BTreeSet<(usize, usize)>) -> Self {
        Self { task, oracle: Sequential::new(task), live: Live::of(task), cuts }
    }

    /// Whether no reachable state violates the property.
    pub fn is_safe(&self) -> bool {
        let reachable = self.oracle.closure(BTreeSet::new());
        !self.oracle.obligations(&reachable).0
    }

    pub fn is_cut(&self, procedure: usize, node: usize) -> bool {
        self.cuts.contains(&(procedure, node))
    }

    pub fn call(&self, procedure: usize, edge: EdgeId) -> &'a Call {
        match &self.task.program.procedures[procedure].edge(edge).action {
            Action::Call(call) => call,
            other => panic!("{other:?} is no call"),
        }
    }

    /// All states with which a call may enter its callee.
    pub fn entries(&self, call: &Call, state: u32) -> Vec<u32> {
        let callee = call.callee.index();
        (0..1_u32 << self.oracle.width(callee))
            .filter(|&inside| self.oracle.passes(call, state, inside & mask(self.oracle.interface(callee))))
            .filter(|&inside| self.oracle.enforced(callee, inside))
            .collect()
    }

    /// The bits of the variables that are live at a node.
    pub fn live_mask(&self, procedure: usize, node: Node) -> u32 {
        let live = self.live.live_at(cusp::model::ProcId::from_index(procedure), node);
        live.fold(0, |bits, var| bits | 1 << self.oracle.position(var))
    }

    /// Whether control may come from a node to a statement that could violate the property.
    pub fn may_violate(&self, procedure: usize, node: Node) -> bool {
        let program = &self.task.program;
        let mut seen = BTreeSet::new();
        let mut work = vec![(procedure, node)];
        while let Some((procedure, node)) = work.pop() {
            if !seen.insert((procedure, node)) {
                continue;
            }
            let body = &program.procedures[procedure];
            if let Property::LabelUnreachable(label) = &self.task.property
                && body.nodes_labelled(label).any(|labelled| labelled == node)
            {
                return true;
            }
            for (_, edge) in body.edges_from(node) {
                match &edge.action {
                    Action::EndThread => continue,
                    Action::Assert(condition) if self.task.property == Property::Assertions => {
                        let code: &[Op] = program.exprs.ops(*condition);
                        if eval(code, |_| Err(())).is_err()
                            || eval(code, |_| Err(())).is_ok_and(|v| v.can_fail)
                        {
                            return true;
                        }
                    }
                    Action::Call(call) => work.push((call.callee.index(), Procedure::ENTRY)),
                    _ => {}
                }
                work.push((procedure, edge.to));
            }
        }
        false
    }

    /// The bits of globals and return slots.
    pub fn result_mask(&self, procedure: usize) -> u32 {
        let body = &self.task.program.procedures[procedure];
        let slots = (body.first_return()..body.locals.len() as u32).map(Var::Local);
        slots.fold(mask(self.oracle.globals), |bits, var| bits | 1 << self.oracle.position(var))
    }
}

/// All subsets of some bits.
pub fn subsets(bits: u32) -> impl Iterator<Item = u32> {
    (0..=bits).filter(move |&set| set & !bits == 0)
}

/// Cuts as a certificate lists them.
pub fn listed(cuts: &BTreeSet<(usize, usize)>) -> Vec<(cusp::model::ProcId, Node)> {
    cuts.iter().map(|&(id, node)| (cusp::model::ProcId::from_index(id), Node::from_index(node))).collect()
}

/// Whether two states agree on some bits.
pub fn agree(a: u32, b: u32, bits: u32) -> bool {
    (0..32).all(|i| !bit(bits, i) || bit(a, i) == bit(b, i))
}
