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

    /// The inputs of the gate.
    pub(crate) fn inputs(self) -> impl DoubleEndedIterator<Item = Term> {
        let inputs = match self {
            Gate::True | Gate::Input(_) => [None, None, None],
            Gate::And(a, b) | Gate::Xor(a, b) => [Some(a), Some(b), None],
            Gate::Ite(condition, then, otherwise) => [Some(condition), Some(then), Some(otherwise)],
        };
        inputs.into_iter().flatten()
    }
}

/// The gates that the roots need, children before parents; the insides of an if-then-else are needed only if
/// something else uses them.
pub(crate) fn gates_below(arena: &TermArena, roots: &[Term]) -> Vec<Term> {
    let top = roots.iter().map(|root| root.index() + 1).max().unwrap_or(0);
    let mut is_known = vec![false; top];
    let mut gates = Vec::new();
    let mut stack: Vec<Term> = roots.to_vec();
    while let Some(term) = stack.pop() {
        if !std::mem::replace(&mut is_known[term.index()], true) {
            gates.push(term.uncomplemented());
            stack.extend(Gate::of(arena, term).inputs());
        }
    }
    gates.sort_unstable();
    gates
}
