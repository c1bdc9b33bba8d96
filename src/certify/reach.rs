//! The nodes from which control may reach a statement that could violate the property, whatever the values of
//! variables.

use super::encode::Model;
use super::values::{Answer, evaluate};
use super::{Stop, poll};
use crate::model::{Action, EdgeId, Node, ProcId, Procedure};

/// For every node, whether control may reach a statement that could violate the property before the procedure
/// returns. The statements of callees count, and every call is assumed to return.
pub(super) struct Reach {
    may_violate: Vec<Vec<bool>>,
}

impl Reach {
    pub fn of(model: &Model<'_>) -> Result<Self, Stop> {
        let program = model.program;
        let may_violate = program.procedures.iter().map(|p| vec![false; p.nodes as usize]).collect();
        let mut reach = Self { may_violate };
        let mut work: Vec<(ProcId, Node)> = Vec::new();
        // The call sites of every procedure, and the edges into every node.
        let mut calls: Vec<Vec<(ProcId, Node)>> = vec![Vec::new(); program.procedures.len()];
        let mut incoming: Vec<Incoming> = Vec::with_capacity(program.procedures.len());
        for id in program.procedure_ids() {
            poll(model.budget)?;
            let procedure = program.procedure(id);
            incoming.push(Incoming::of(procedure));
            for node in (0..procedure.nodes as usize).map(Node::from_index) {
                if model.forbidden.contains(id, node) {
                    work.push((id, node));
                }
            }
            for edge in &procedure.edges {
                match &edge.action {
                    Action::Assert(condition) if model.asserts() => {
                        let values = evaluate(program.exprs.ops(*condition), Err)?;
                        if values.can_be_false != Answer::No {
                            work.push((id, edge.from));
                        }
                    }
                    Action::Call(call) => calls[call.callee.index()].push((id, edge.from)),
                    _ => {}
                }
            }
        }
        while let Some((id, node)) = work.pop() {
            if std::mem::replace(&mut reach.may_violate[id.index()][node.index()], true) {
                continue;
            }
            let procedure = program.procedure(id);
            for &edge in incoming[id.index()].of_node(node) {
                let edge = procedure.edge(edge);
                if !matches!(edge.action, Action::EndThread) {
                    work.push((id, edge.from));
                }
            }
            if node == Procedure::ENTRY {
                work.append(&mut calls[id.index()]);
            }
        }
        Ok(reach)
    }

    /// Whether the property may be violated on a path from the node, before the procedure returns.
    pub fn may_violate(&self, procedure: ProcId, node: Node) -> bool {
        self.may_violate[procedure.index()][node.index()]
    }
}

/// The edges into every node of a procedure.
struct Incoming {
    first: Vec<u32>,
    edges: Vec<EdgeId>,
}

impl Incoming {
    fn of(procedure: &Procedure) -> Self {
        let mut edges: Vec<EdgeId> = (0..procedure.edges.len()).map(EdgeId::from_index).collect();
        edges.sort_by_key(|&id| procedure.edge(id).to);
        let mut first = vec![0; procedure.nodes as usize + 1];
        for edge in &procedure.edges {
            first[edge.to.index() + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        Self { first, edges }
    }

    fn of_node(&self, node: Node) -> &[EdgeId] {
        &self.edges[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::certify::testing::assertions;

    #[test]
    fn only_what_may_lead_to_a_violation_counts() {
        let task = assertions(
            "decl g; void main() begin quiet(); loud(); skip; end
             void quiet() begin assert(T); end_thread; assert(g); end
             void loud() begin if (g) then assert(g); fi quiet(); end",
        );
        let budget = Budget::unlimited();
        let model = Model::new(&task, &budget).expect("sequential");
        let reach = Reach::of(&model).expect("no limit");
        let at = |name: &str, node: Node| {
            let position = task.program.procedures.iter().position(|p| p.name == name).expect(name);
            reach.may_violate(ProcId::from_index(position), node)
        };
        assert!(at("main", Procedure::ENTRY) && at("loud", Procedure::ENTRY));
        assert!(!at("quiet", Procedure::ENTRY) && !at("main", Procedure::EXIT));
        let main = &task.program.procedures[task.program.start.index()];
        let call = |edge: &&crate::model::Edge| matches!(edge.action, Action::Call(_));
        let calls: Vec<_> = main.edges.iter().filter(call).collect();
        let behind: Vec<bool> = calls.iter().map(|edge| at("main", edge.to)).collect();
        assert_eq!(behind, [true, false]);
    }
}
