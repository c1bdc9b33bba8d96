//! Translates expressions to terms.

use cusp_encodings::Term;

use super::Terms;
use crate::certify::{Stop, reject};
use crate::model::{Op, Place};

/// The value of an expression as a term; every choice in the expression becomes a new variable.
pub(in crate::certify) fn encode(
    terms: &mut Terms,
    code: &[Op],
    mut read: impl FnMut(Place) -> Term,
) -> Result<Term, Stop> {
    let mut stack: Vec<Term> = Vec::new();
    for op in code {
        let term = match *op {
            Op::Const(value) => Term::constant(value),
            Op::Choice => terms.fresh(),
            Op::Read(place) => read(place),
            Op::Not => !pop(&mut stack)?,
            Op::And => {
                let (right, left) = (pop(&mut stack)?, pop(&mut stack)?);
                terms.arena.and(left, right)
            }
            Op::Or => {
                let (right, left) = (pop(&mut stack)?, pop(&mut stack)?);
                terms.arena.or(left, right)
            }
            Op::Xor => {
                let (right, left) = (pop(&mut stack)?, pop(&mut stack)?);
                terms.arena.xor(left, right)
            }
            Op::Ite => {
                let (otherwise, then) = (pop(&mut stack)?, pop(&mut stack)?);
                let condition = pop(&mut stack)?;
                terms.arena.ite(condition, then, otherwise)
            }
        };
        stack.push(term);
    }
    match stack[..] {
        [value] => Ok(value),
        _ => unbalanced(),
    }
}

fn pop(stack: &mut Vec<Term>) -> Result<Term, Stop> {
    stack.pop().map_or_else(unbalanced, Ok)
}

fn unbalanced<T>() -> Result<T, Stop> {
    reject("the model is malformed: an expression does not leave exactly one value")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::values::evaluate;
    use crate::model::Var;

    fn read(i: u32) -> Op {
        Op::Read(Place { var: Var::Global(i), primed: false, passive: false })
    }

    /// The truth table of a term over the globals, with the choices quantified existentially.
    #[test]
    fn a_term_takes_the_values_that_its_expression_may_take() {
        let codes: [&[Op]; 6] = [
            &[read(0), read(1), Op::And, Op::Choice, Op::Or],
            &[read(0), Op::Choice, read(1), Op::Ite],
            &[Op::Choice, Op::Choice, Op::Xor],
            &[read(0), read(0), Op::Xor, Op::Not],
            &[Op::Const(true), read(1), Op::Xor],
            &[read(0), Op::Choice, Op::And, read(1), Op::Const(false), Op::Ite],
        ];
        for code in codes {
            let mut terms = Terms::default();
            let globals = terms.fresh_vector(2);
            let term = encode(&mut terms, code, |place| match place.var {
                Var::Global(i) | Var::Local(i) => globals[i as usize],
            })
            .expect("balanced");
            for state in 0..4_u32 {
                let value = |bits: u32| terms.arena.evaluate(term, |var| bits >> var.number() & 1 == 1);
                let seen: Vec<bool> = (0..4).map(|choices| value(choices << 2 | state)).collect();
                let expected = evaluate::<u32>(code, |place| match place.var {
                    Var::Global(i) | Var::Local(i) => Ok(state >> i & 1 == 1),
                })
                .expect("balanced");
                let can_be = |value| seen.contains(&value);
                let yes = crate::certify::values::Answer::Yes;
                assert_eq!(expected.can_be_true == yes, can_be(true), "{code:?} {state}");
                assert_eq!(expected.can_be_false == yes, can_be(false), "{code:?} {state}");
            }
        }
    }

    #[test]
    fn unbalanced_code_is_rejected() {
        for code in [&[][..], &[Op::Not], &[Op::Choice, Op::And], &[Op::Choice; 2], &[Op::Choice, Op::Ite]] {
            assert!(encode(&mut Terms::default(), code, |_| Term::TRUE).is_err(), "{code:?}");
        }
    }
}
