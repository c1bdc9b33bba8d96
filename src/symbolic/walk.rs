//! Reconstructs the run through a block that a model of its formula describes.

use cusp_encodings::{Node as TermNode, Term, VarId};

use super::block::{Block, Blocks};
use crate::evidence::trace::Violation;
use crate::model::{EdgeId, Node};

/// What a run should reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The cut at this node.
    Cut(Node),
    /// A violation, in the block itself or in a call.
    Failure,
    /// This call, by its position in [`Block::calls`].
    Call(usize),
}

/// An edge that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The edge.
    pub edge: EdgeId,
    /// The slots that it changed, with their values. A slot that no longer matters may have another value.
    pub updates: Vec<(u32, bool)>,
    /// For a call: its position in [`Block::calls`].
    pub call: Option<usize>,
}

/// How a run through a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a cut.
    Cut(Node),
    /// With a violation.
    Violation(Violation),
    /// In a call, given by its position in [`Block::calls`].
    Inside(usize),
}

/// A run through a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The edges, from the beginning of the block on.
    pub steps: Vec<Step>,
    /// How it ends.
    pub end: End,
    /// The values of all terms of the block.
    truth: Truth,
}

impl Walk {
    /// The value of a term of the block.
    #[must_use]
    pub fn value(&self, term: Term) -> bool {
        self.truth.value(term)
    }
}

/// The value of every node of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    first: usize,
    values: Vec<bool>,
}

impl Truth {
    /// Evaluates all terms of a block under an assignment of its variables.
    #[must_use]
    pub fn of(blocks: &Blocks<'_>, block: &Block, mut value_of: impl FnMut(VarId) -> bool) -> Self {
        let arena = blocks.arena();
        let mut truth = Self { first: block.range.start, values: Vec::with_capacity(block.range.len()) };
        for position in block.range.clone() {
            let value = match arena.node(arena.term_at(position)) {
                TermNode::True => true,
                TermNode::Var(var) => value_of(var),
                TermNode::And(a, b) => truth.value(a) && truth.value(b),
                TermNode::Xor(a, b) => truth.value(a) != truth.value(b),
            };
            truth.values.push(value);
        }
        truth
    }

    /// The value of a term of the block.
    #[must_use]
    pub fn value(&self, term: Term) -> bool {
        let value = term.as_constant().is_some() || self.values[term.index() - self.first];
        value != term.is_complemented()
    }
}

/// The run that an assignment to the block's variables describes, if it reaches the goal.
#[must_use]
pub fn walk(
    blocks: &Blocks<'_>,
    block: &Block,
    value_of: impl FnMut(VarId) -> bool,
    goal: Goal,
) -> Option<Walk> {
    let truth = Truth::of(blocks, block, value_of);
    let (steps, end) = run(blocks, block, &truth, goal)?;
    Some(Walk { steps, end, truth })
}

/// The edges of the run that an assignment describes, and how it ends, if it reaches the goal.
#[must_use]
pub fn run(blocks: &Blocks<'_>, block: &Block, truth: &Truth, goal: Goal) -> Option<(Vec<Step>, End)> {
    let arena = blocks.arena();
    let fails = |call: usize| {
        let fails = arena.find_var(block.calls[call].fails);
        fails.is_some_and(|fails| truth.value(fails))
    };
    let is_cut = |node: Node| blocks.cuts(block.procedure).is_cut(node);
    let violation_at = |node: Node| {
        let failure =
            block.failures.iter().find(|failure| failure.node == node && truth.value(failure.guard));
        failure.filter(|_| goal == Goal::Failure).map(|failure| End::Violation(failure.violation))
    };
    let procedure = blocks.task.program.procedure(block.procedure);
    let mut at = block.start;
    let mut steps = Vec::new();
    let mut end = violation_at(at);
    // The edges are sorted by their sources in topological order, so one pass finds the run.
    for step in &block.steps {
        if end.is_some() {
            break;
        }
        if step.from != at {
            continue;
        }
        let call = step.call.map(|call| call as usize);
        if let Some(call) = call.filter(|&call| truth.value(block.calls[call].guard))
            && (goal == Goal::Call(call) || goal == Goal::Failure && fails(call))
        {
            end = Some(End::Inside(call));
            break;
        }
        if truth.value(step.guard) {
            let updates = step.updates.iter().map(|&(slot, term)| (slot, truth.value(term))).collect();
            steps.push(Step { edge: step.edge, updates, call });
            at = procedure.edge(step.edge).to;
            end = if goal == Goal::Cut(at) { Some(End::Cut(at)) } else { violation_at(at) };
            if end.is_none() && is_cut(at) {
                return None;
            }
        }
    }
    end.map(|end| (steps, end))
}
