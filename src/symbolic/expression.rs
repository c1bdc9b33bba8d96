//! Translates expressions to terms.

use cusp_encodings::{Term, TermArena};

use crate::model::{Op, Place};

/// The term of an expression. `read` gives the terms of its variables, and every `*` becomes a fresh choice.
pub(crate) fn term_of(arena: &mut TermArena, code: &[Op], mut read: impl FnMut(Place) -> Term) -> Term {
    let mut stack: Vec<Term> = Vec::new();
    for op in code {
        let mut pop = || stack.pop().expect("balanced postfix code");
        let term = match *op {
            Op::Const(value) => Term::constant(value),
            Op::Choice => arena.fresh(),
            Op::Read(place) => read(place),
            Op::Not => !pop(),
            Op::And => {
                let right = pop();
                arena.and(pop(), right)
            }
            Op::Or => {
                let right = pop();
                arena.or(pop(), right)
            }
            Op::Xor => {
                let right = pop();
                arena.xor(pop(), right)
            }
            Op::Ite => {
                let otherwise = pop();
                let then = pop();
                arena.ite(pop(), then, otherwise)
            }
        };
        stack.push(term);
    }
    stack.pop().expect("balanced postfix code")
}
