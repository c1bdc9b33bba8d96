//! A block with the meaning of its variables.
//!
//! Invariant (numbers): the variables of a block are numbered without a gap, inputs first. A copy that gives
//! its own variables to all but the inputs, in this order, needs to remember only the first of them.

use std::rc::Rc;

use cusp_encodings::{Node as TermNode, VarId};

use super::block::{Block, Blocks};
use crate::model::{Node, ProcId};

/// What a variable of a block stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The value at the beginning of the slot at this position of [`Template::inputs`].
    Input(u32),
    /// A choice, by its position among all of them.
    Choice(u32),
    /// Whether this call returns.
    Returns(u32),
    /// Whether this call fails.
    Fails(u32),
    /// A result of this call, by its position.
    Result(u32, u32),
}

/// A block and the roles of its variables.
#[derive(Clone, Debug)]
pub struct Template {
    /// The block.
    pub block: Rc<Block>,
    /// The slots that matter at the beginning, in order.
    pub inputs: Vec<u32>,
    /// How many choices there are.
    pub choices: u32,
    /// The number of the first variable.
    first: u32,
    roles: Vec<Role>,
}

impl Template {
    /// The block at the entry, a loop head or the target of a call edge.
    #[must_use]
    pub fn of(blocks: &Blocks<'_>, procedure: ProcId, start: Node) -> Self {
        let block = blocks.block(procedure, start);
        let arena = blocks.arena();
        let vars: Vec<VarId> = block
            .range
            .clone()
            .filter_map(|position| match arena.node(arena.term_at(position)) {
                TermNode::Var(var) => Some(var),
                _ => None,
            })
            .collect();
        let first = vars.first().map_or(0, |var| var.number());
        debug_assert!((first..).zip(&vars).all(|(number, var)| number == var.number()));
        let mut roles = vec![Role::Choice(0); vars.len()];
        let mut inputs = Vec::new();
        let at = |var: VarId| (var.number() - first) as usize;
        for (slot, var) in block.inputs.iter().enumerate() {
            if let Some(var) = *var {
                roles[at(var)] = Role::Input(inputs.len() as u32);
                inputs.push(slot as u32);
            }
        }
        for (position, call) in (0..).zip(&block.calls) {
            roles[at(call.returns)] = Role::Returns(position);
            roles[at(call.fails)] = Role::Fails(position);
            for (result, &var) in (0..).zip(&call.results) {
                roles[at(var)] = Role::Result(position, result);
            }
        }
        drop(arena);
        let mut choices = 0;
        for role in &mut roles {
            if let Role::Choice(position) = role {
                *position = choices;
                choices += 1;
            }
        }
        Self { block, inputs, choices, first, roles }
    }

    /// The role of a variable of the block.
    #[must_use]
    pub fn role(&self, var: VarId) -> Role {
        self.roles[(var.number() - self.first) as usize]
    }

    /// The position of a variable that is no input among all of these.
    #[must_use]
    pub fn own(&self, var: VarId) -> u32 {
        var.number() - self.first - self.inputs.len() as u32
    }
}
