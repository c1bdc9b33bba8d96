//! Gates: nodes of the term graph, with if-then-else recognised. Encoders and printers work on gates.

use crate::term::{Node, Term, TermArena, VarId};

/// The gate of an uncomplemented node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The constant true.
    True,
    /// A variable.
    Input(VarId),
    /// A conjunction that is not an if-then-else.
    And(Term, Term),
    /// An exclusive disjunction.
    Xor(Term, Term),
    /// Condition, then, else.
    Ite(Term, Term, Term),
}

impl Gate {
    /// The gate of the node under `term`, without the complement bit of `term`.
    pub(crate) fn of(arena: &TermArena, term: Term) -> Self {
        match arena.node(term) {
            Node::True => Gate::True,
            Node::Var(var) => Gate::Input(var),
            Node::Xor(a, b) => Gate::Xor(a, b),
            Node::And(a, b) => match arena.as_ite(term.uncomplemented()) {
                Some((condition, then, otherwise)) => Gate::Ite(condition, then, otherwise),
                None => Gate::And(a, b),
            },
        }
    }
}
