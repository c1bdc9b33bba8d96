//! The bit positions of the variables of a frame, and which variables are live at which node.

use crate::evidence::Reason;
use crate::model::cube::{Cube, low_bits};
use crate::model::{Node, ProcId, Procedure, Program, Property, Task, Var};

/// The variables of one procedure. Bits are numbered globals first, then locals.
#[derive(Debug)]
pub(super) struct Scope {
    pub params: usize,
    /// The number of globals and locals.
    pub width: usize,
    /// The bit of the first return slot.
    pub first_return: usize,
    globals: usize,
    /// For every node, the variables whose value matters there.
    live: Vec<u128>,
    /// The nodes with the forbidden label.
    targets: Vec<Node>,
}

impl Scope {
    /// The variables whose value matters at a node.
    pub fn live(&self, node: Node) -> u128 {
        self.live[node.index()]
    }

    /// The locals whose value matters at a node, numbered from 0.
    pub fn live_locals(&self, node: Node) -> u128 {
        self.live(node).checked_shr(self.globals as u32).unwrap_or(0)
    }

    /// Whether reaching this node violates the property.
    pub fn is_target(&self, node: Node) -> bool {
        self.targets.contains(&node)
    }

    /// The variables of the exit state that a caller sees: globals and return slots.
    pub fn interface_at_exit(&self) -> u128 {
        low_bits(self.globals) | low_bits(self.width) & !low_bits(self.first_return)
    }
}

/// The variables of all procedures.
#[derive(Debug)]
pub(super) struct Scopes {
    pub globals: usize,
    scopes: Vec<Scope>,
}

impl Scopes {
    /// Whether the variables of every frame fit a [`Cube`].
    ///
    /// # Errors
    /// The reason names a procedure that has too many variables.
    pub fn fit(program: &Program) -> Result<(), Reason> {
        let width = |procedure: &Procedure| program.globals.len() + procedure.locals.len();
        match program.procedures.iter().find(|procedure| width(procedure) > Cube::WIDTH) {
            None => Ok(()),
            Some(procedure) => Err(Reason::TooManyVariables {
                procedure: procedure.name.clone(),
                count: width(procedure),
                limit: Cube::WIDTH,
            }),
        }
    }

    /// Numbers the variables, which must [fit](Self::fit). `is_live` says which values matter. The other values are
    /// forgotten, which merges states.
    pub fn new(task: &Task, is_live: impl Fn(ProcId, Node, Var) -> bool) -> Self {
        let program = &task.program;
        let globals = program.globals.len();
        let mut scopes = Vec::with_capacity(program.procedures.len());
        for id in program.procedure_ids() {
            let procedure = program.procedure(id);
            let width = globals + procedure.locals.len();
            let live_at = |node: Node| {
                let bit = |slot: usize| {
                    let var = match slot.checked_sub(globals) {
                        None => Var::Global(slot as u32),
                        Some(local) => Var::Local(local as u32),
                    };
                    u128::from(is_live(id, node, var)) << slot
                };
                (0..width).map(bit).fold(0, |mask, bit| mask | bit)
            };
            let targets = match &task.property {
                Property::Assertions => Vec::new(),
                Property::LabelUnreachable(label) => procedure.nodes_labelled(label).collect(),
            };
            scopes.push(Scope {
                params: procedure.params as usize,
                width,
                first_return: globals + procedure.first_return() as usize,
                globals,
                live: (0..procedure.nodes as usize).map(|i| live_at(Node::from_index(i))).collect(),
                targets,
            });
        }
        Self { globals, scopes }
    }

    pub fn of(&self, procedure: ProcId) -> &Scope {
        &self.scopes[procedure.index()]
    }

    /// The bit of a variable in the frame of its procedure.
    pub fn slot(&self, var: Var) -> u32 {
        match var {
            Var::Global(i) => i,
            Var::Local(i) => self.globals as u32 + i,
        }
    }
}
