//! A program on its way to the reduced one, and where its parts come from.
//!
//! Invariant (origin): every procedure, node, edge and variable of the program stands for one of the
//! original program, and the map says which. Passes change program and map together, so there is one map
//! from the result to the original, however many passes there were.
//!
//! Invariant (through): an original node that control only passes *through* has a list of original edges.
//! In every state that comes there, one of them can be taken; all of them change nothing that the
//! reduced program knows of, and all lead, through further nodes of this kind, to the same node that does
//! belong to the reduced program. There is no cycle of such nodes.

use smallvec::{SmallVec, smallvec};

use crate::model::{EdgeId, Node, ProcId, Procedure, Program, Task};

/// Original edges one of which is taken.
pub(crate) type Ways = SmallVec<[EdgeId; 2]>;

/// Where the parts of a program come from.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// By global.
    pub globals: Vec<u32>,
    /// By procedure.
    pub procedures: Vec<ProcedureMap>,
    /// By original procedure and node; empty if control stops there.
    pub through: Vec<Vec<Ways>>,
}

/// Where the parts of a procedure come from.
#[derive(Clone, Debug)]
pub(crate) struct ProcedureMap {
    /// The procedure.
    pub original: ProcId,
    /// By node: the original node whose edges leave it. Control that is at the entry goes through other
    /// nodes before it is there.
    pub nodes: Vec<Node>,
    /// By edge. An edge with several ways does nothing.
    pub edges: Vec<Ways>,
    /// By local.
    pub locals: Vec<u32>,
    /// By local: whether assignments to it are gone whose value nobody reads. Where it is dead, it may
    /// then have any other value in the original program.
    pub is_stale: Vec<bool>,
}

impl Map {
    /// Every part of a program stands for itself.
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

    /// Control stops at every node of a program.
    pub fn nowhere(program: &Program) -> Vec<Vec<Ways>> {
        program.procedures.iter().map(|p| vec![Ways::new(); p.nodes as usize]).collect()
    }
}

/// A program on its way.
#[derive(Debug)]
pub(super) struct Work {
    pub task: Task,
    pub map: Map,
}

/// The table of the first edges of nodes, for edges sorted by their source.
pub(super) fn first_edges(nodes: u32, sources: impl Iterator<Item = Node>) -> Vec<u32> {
    let mut first = vec![0; nodes as usize + 1];
    sources.for_each(|from| first[from.index() + 1] += 1);
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    first
}
