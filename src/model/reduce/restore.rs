//! What is needed to go back from the reduced program to the original one.
//!
//! The way back itself is in `crate::lift`: this layer knows nothing of evidence.

use std::fmt;

use super::Keep;
use super::constants::Constants;
use super::work::Map;
use crate::model::live::Live;
use crate::model::live::order::{Table, starts};
use crate::model::{Action, Node, ProcId, Procedure, Program, Property, Task};

/// The way from a reduced task back to the original one.
#[derive(Debug)]
pub struct Restore<'a> {
    /// The original task.
    pub(crate) original: &'a Task,
    /// What holds at the nodes of the original program.
    pub(crate) constants: Constants,
    /// Where the parts of the reduced program come from.
    pub(crate) map: Map,
    /// What was kept.
    pub(crate) keep: Keep,
    /// By reduced procedure and node: whether control may come from there to a statement that could violate
    /// the property before the procedure returns.
    pub(crate) may_violate: Vec<Vec<bool>>,
    /// What is live in the reduced program, if there are stale locals.
    pub(crate) live: Option<Live>,
    pub(super) summary: Summary,
}

impl Restore<'_> {
    /// How much smaller the program became.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summary
    }
}

/// The size of a program before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The original program.
    pub before: Size,
    /// The reduced one.
    pub after: Size,
}

/// The size of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Procedures.
    pub procedures: usize,
    /// Nodes of all procedures.
    pub nodes: usize,
    /// Edges of all procedures.
    pub edges: usize,
    /// Globals, and the locals of all procedures.
    pub variables: usize,
}

impl Size {
    /// The size of a program.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        let procedures = &program.procedures;
        Self {
            procedures: procedures.len(),
            nodes: procedures.iter().map(|p| p.nodes as usize).sum(),
            edges: procedures.iter().map(|p| p.edges.len()).sum(),
            variables: program.globals.len() + procedures.iter().map(|p| p.locals.len()).sum::<usize>(),
        }
    }
}

/// `procedures 5 -> 3, nodes 40 -> 12, edges 44 -> 15, variables 9 -> 4`
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after } = self;
        write!(f, "procedures {} -> {}, ", before.procedures, after.procedures)?;
        write!(f, "nodes {} -> {}, ", before.nodes, after.nodes)?;
        write!(f, "edges {} -> {}, ", before.edges, after.edges)?;
        write!(f, "variables {} -> {}", before.variables, after.variables)
    }
}

/// By procedure and node: whether control may come to a statement that could violate the property before
/// the procedure returns, in it or in one that it calls.
pub(super) fn may_violate(task: &Task) -> Vec<Vec<bool>> {
    let procedures = &task.program.procedures;
    let first = starts(procedures.iter().map(|p| p.nodes as usize));
    let number = |id: ProcId, node: Node| first[id.index()] + node.index() as u32;
    let mut before = Vec::new();
    let mut open = Vec::new();
    for (id, procedure) in task.program.procedure_ids().zip(procedures) {
        for edge in &procedure.edges {
            let from = number(id, edge.from);
            match &edge.action {
                Action::Assert(_) if task.property == Property::Assertions => open.push(from),
                Action::Call(call) => before.push((number(call.callee, Procedure::ENTRY), from)),
                Action::EndThread => continue,
                _ => {}
            }
            before.push((number(id, edge.to), from));
        }
        if let Property::LabelUnreachable(label) = &task.property {
            open.extend(procedure.nodes_labelled(label).map(|node| number(id, node)));
        }
    }
    let nodes = first.last().map_or(0, |&nodes| nodes as usize);
    let before = Table::new(nodes, before.iter().copied());
    let mut may = vec![false; nodes];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut may[node as usize], true) {
            open.extend_from_slice(before.row(node as usize));
        }
    }
    first.windows(2).map(|range| may[range[0] as usize..range[1] as usize].to_vec()).collect()
}
