//! A program that is being reduced, and the original part for each of its parts.
//!
//! Invariant (origin): every procedure, node, edge and variable of the program corresponds to one of the original
//! program, and the map says which. Passes change program and map together, so there is one map from the result to
//! the original, however many passes there were.
//!
//! Invariant (through): an original node that control only passes *through* has a list of original edges. In every
//! state in which control reaches it, one of these edges can be taken. None of them changes a variable of the reduced
//! program, and all lead, through further nodes of this kind, to the same node that belongs to the reduced program.
//! There is no cycle of such nodes.

use smallvec::{SmallVec, smallvec};

use crate::model::{EdgeId, Node, ProcId, Procedure, Program, Task};

/// Alternative original edges, of which a run takes one.
pub(crate) type Ways = SmallVec<[EdgeId; 2]>;

/// The original part for each part of a reduced program.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// The original number of each global.
    pub globals: Vec<u32>,
    /// The map of each procedure.
    pub procedures: Vec<ProcedureMap>,
    /// For each original procedure and node that control only passes through, the edges that it may take; empty for
    /// all other nodes.
    pub through: Vec<Vec<Ways>>,
}

/// The original part for each part of a procedure.
#[derive(Clone, Debug)]
pub(crate) struct ProcedureMap {
    /// The original procedure.
    pub original: ProcId,
    /// For each node, the original node whose edges leave it. At the entry, control may pass through other original
    /// nodes before it gets there.
    pub nodes: Vec<Node>,
    /// The original edges of each edge. An edge with several alternatives does nothing.
    pub edges: Vec<Ways>,
    /// The original number of each local.
    pub locals: Vec<u32>,
    /// For each local, whether assignments to it were removed because their value is not read. If so, wherever the
    /// local is dead, it may have another value in the original program.
    pub is_stale: Vec<bool>,
}

impl Map {
    /// The map in which every part corresponds to itself.
    pub fn identity(program: &Program) -> Self {
        let of = |(id, procedure): (ProcId, &Procedure)| ProcedureMap {
            original: id,
            nodes: (0..procedure.nodes as usize).map(Node::from_index).collect(),
            edges: (0..procedure.edges.len()).map(|i| smallvec![EdgeId::from_index(i)]).collect(),
            locals: (0..procedure.locals.len() as u32).collect(),
            is_stale: vec![false; procedure.locals.len()],
        };
        Self {
            globals: (0..program.globals.len() as u32).collect(),
            procedures: program.procedure_ids().zip(&program.procedures).map(of).collect(),
            through: Self::nowhere(program),
        }
    }

    /// The table for a program in which control passes through no node.
    pub fn nowhere(program: &Program) -> Vec<Vec<Ways>> {
        program.procedures.iter().map(|p| vec![Ways::new(); p.nodes as usize]).collect()
    }
}

/// A task that is being reduced, with its map.
#[derive(Debug)]
pub(super) struct Work {
    pub task: Task,
    pub map: Map,
}

/// The table with the first edge of each node, for edges sorted by their source.
pub(super) fn first_edges(nodes: u32, sources: impl Iterator<Item = Node>) -> Vec<u32> {
    let mut first = vec![0; nodes as usize + 1];
    sources.for_each(|from| first[from.index() + 1] += 1);
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    first
}
