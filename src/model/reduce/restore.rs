//! The record that is needed to go back from the reduced program to the original one.
//!
//! The lifting itself is in `crate::lift`, since this layer does not know about evidence.

use std::fmt;

use super::Keep;
use super::constants::Constants;
use super::work::Map;
use crate::model::live::Live;
use crate::model::live::order::{Table, starts};
use crate::model::{Action, Node, ProcId, Procedure, Program, Property, Task};

/// How to go back from a reduced task to the original one.
#[derive(Debug)]
pub struct Restore<'a> {
    /// The original task.
    pub(crate) original: &'a Task,
    /// The facts at the nodes of the original program.
    pub(crate) constants: Constants,
    /// The original part for each part of the reduced program.
    pub(crate) map: Map,
    /// What the reduction preserved.
    pub(crate) keep: Keep,
    /// For each procedure and node of the reduced program, whether control may reach a statement that could violate
    /// the property before the procedure returns.
    pub(crate) may_violate: Vec<Vec<bool>>,
    /// The live variables of the reduced program; present only if there are stale locals
    /// (`ProcedureMap::is_stale`).
    pub(crate) live: Option<Live>,
    pub(super) summary: Summary,
}

impl Restore<'_> {
    /// The sizes of the program before and after the reduction.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summary
    }
}

/// The size of a program before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The size of the original program.
    pub before: Size,
    /// The size of the reduced program.
    pub after: Size,
}

/// The size of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of procedures.
    pub procedures: usize,
    /// The number of nodes in all procedures.
    pub nodes: usize,
    /// The number of edges in all procedures.
    pub edges: usize,
    /// The number of globals and of locals in all procedures.
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

/// For each procedure and node, whether control may reach a statement that could violate the property before the
/// procedure returns. Statements of callees count.
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
