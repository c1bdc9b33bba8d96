//! Evaluates terms under one assignment, in an arena that may grow.
//!
//! Invariant (stamp): the value of a node is valid only if its stamp is the current one. So switching to another
//! assignment costs nothing, and every node is evaluated at most once for each assignment.

use cusp_encodings::term::Node;
use cusp_encodings::{Term, TermArena};

/// One assignment to the variables `x0 ..`, with the values computed under it.
#[derive(Debug, Default)]
pub(crate) struct Point {
    inputs: Vec<bool>,
    now: u32,
    stamps: Vec<u32>,
    values: Vec<bool>,
}

impl Point {
    /// Switches to another assignment; variables beyond its length are false.
    pub(crate) fn move_to(&mut self, inputs: &[bool]) {
        self.inputs.clear();
        self.inputs.extend_from_slice(inputs);
        self.now += 1;
    }

    /// The value of a term under this assignment.
    pub(crate) fn value(&mut self, arena: &TermArena, term: Term) -> bool {
        if self.stamps.len() < arena.len() {
            self.stamps.resize(arena.len(), 0);
            self.values.resize(arena.len(), false);
        }
        if self.stamps[term.index()] != self.now {
            self.evaluate(arena, term);
        }
        self.values[term.index()] ^ term.is_complemented()
    }

    fn evaluate(&mut self, arena: &TermArena, root: Term) {
        let mut stack = vec![root];
        while let Some(&term) = stack.last() {
            let value = match arena.node(term) {
                Node::True => Some(true),
                Node::Var(var) => Some(self.inputs.get(var.index()).copied().unwrap_or(false)),
                Node::And(a, b) => self.known(a, b, &mut stack).map(|(a, b)| a & b),
                Node::Xor(a, b) => self.known(a, b, &mut stack).map(|(a, b)| a ^ b),
            };
            if let Some(value) = value {
                self.stamps[term.index()] = self.now;
                self.values[term.index()] = value;
                stack.pop();
            }
        }
    }

    /// The values of both terms; if one is missing, pushes the missing terms and returns `None`.
    fn known(&self, a: Term, b: Term, stack: &mut Vec<Term>) -> Option<(bool, bool)> {
        let before = stack.len();
        for child in [a, b] {
            if self.stamps[child.index()] != self.now {
                stack.push(child);
            }
        }
        let value = |term: Term| self.values[term.index()] ^ term.is_complemented();
        (stack.len() == before).then(|| (value(a), value(b)))
    }
}
