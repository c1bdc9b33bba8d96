//! Where control can go, whatever the values of variables.

use super::{Action, Node, ProcId, Procedure, Property, Task};

/// The nodes from which control can reach a violation, whatever the values of variables, under the assumption that
/// calls return.
#[derive(Clone, Debug)]
pub struct Reach {
    from: Vec<Vec<bool>>,
    start: ProcId,
}

impl Reach {
    /// Searches backwards from all statements that could violate the property. The search goes from a procedure's
    /// entry to its callers, and never from a call back into the callee's exit.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        let program = &task.program;
        let mut from: Vec<Vec<bool>> =
            program.procedures.iter().map(|p| vec![false; p.nodes as usize]).collect();
        let mut open: Vec<(ProcId, Node)> = Vec::new();
        // The predecessors of each node: the sources of its incoming edges and, for an entry, the nodes that call the
        // procedure or start a thread there.
        let mut before: Vec<Vec<Vec<Node>>> =
            program.procedures.iter().map(|p| vec![Vec::new(); p.nodes as usize]).collect();
        let mut callers: Vec<Vec<(ProcId, Node)>> = vec![Vec::new(); program.procedures.len()];
        for id in program.procedure_ids() {
            for edge in &program.procedure(id).edges {
                if !matches!(edge.action, Action::EndThread) {
                    before[id.index()][edge.to.index()].push(edge.from);
                }
                match &edge.action {
                    Action::Assert(_) if task.property == Property::Assertions => open.push((id, edge.from)),
                    Action::Call(call) | Action::Spawn(call) => {
                        callers[call.callee.index()].push((id, edge.from));
                    }
                    Action::Fork(at) => before[id.index()][at.index()].push(edge.from),
                    _ => {}
                }
            }
            if let Property::LabelUnreachable(label) = &task.property {
                open.extend(program.procedure(id).nodes_labelled(label).map(|node| (id, node)));
            }
        }
        while let Some((id, node)) = open.pop() {
            if std::mem::replace(&mut from[id.index()][node.index()], true) {
                continue;
            }
            open.extend(before[id.index()][node.index()].iter().map(|&node| (id, node)));
            if node == Procedure::ENTRY {
                open.extend(&callers[id.index()]);
            }
        }
        Self { from, start: program.start }
    }

    /// Whether control can reach a violation from a node, in its procedure or in one that it calls.
    #[must_use]
    pub fn may_violate(&self, procedure: ProcId, node: Node) -> bool {
        self.from[procedure.index()][node.index()]
    }

    /// Whether control can reach a violation from the start of the program.
    #[must_use]
    pub fn violation_is_in_reach(&self) -> bool {
        self.may_violate(self.start, Procedure::ENTRY)
    }
}
