//! A block, together with the meaning of its variables.
//!
//! Invariant (numbers): the variables of a block are numbered consecutively, inputs first. A copy that makes new
//! variables for all but the inputs, in this order, needs to remember only the first of them.

use std::rc::Rc;

use cusp_encodings::{Node as TermNode, VarId};

use super::block::{Block, Blocks};
use crate::model::{Node, ProcId};

/// The meaning of a variable of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The value at the beginning of the slot at this position in [`Template::inputs`].
    Input(u32),
    /// A choice, given by its position among all choices.
    Choice(u32),
    /// Whether the call at this position returns.
    Returns(u32),
    /// Whether the call at this position fails.
    Fails(u32),
    /// A result of a call: the position of the call, and that of the result.
    Result(u32, u32),
}

/// A block and the roles of its variables.
#[derive(Clone, Debug)]
pub struct Template {
    /// The block.
    pub block: Rc<Block>,
    /// The slots that matter at the beginning, sorted.
    pub inputs: Vec<u32>,
    /// The number of choices.
    pub choices: u32,
    /// The number of the block's first variable.
    first: u32,
    roles: Vec<Role>,
}

impl Template {
    /// The template of the block at the entry, at a loop head, or at the target of a call edge.
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

    /// The position of a variable among those that are not inputs.
    #[must_use]
    pub fn own(&self, var: VarId) -> u32 {
        var.number() - self.first - self.inputs.len() as u32
    }
}
