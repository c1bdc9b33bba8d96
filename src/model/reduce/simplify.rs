//! Simplifies expressions by known values of variables.
//!
//! Guarantee: in every state that agrees with the known values, the simplified expression can take exactly the values
//! that the original one can. Choices are independent of each other, so the set of values is computed operator by
//! operator, and `* & *`, `x ^ *` and `!*` are all `*`.
//!
//! Every operand gets a [`Form`], operands before operators. The code is then written starting from the root, and
//! operands that the root does not need are not visited. Both passes are loops, linear in the size of the code.

use crate::model::{Expr, ExprPool, Op, Place};

/// The simplified form of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A constant.
    Const(bool),
    /// Either value, in every state.
    Choice,
    /// The result of the instruction at this position, applied to the forms of its operands, or its negation.
    Same {
        /// The position of the instruction.
        at: u32,
        /// Whether it is negated.
        negated: bool,
    },
}

impl std::ops::Not for Form {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Const(value) => Self::Const(!value),
            Self::Choice => Self::Choice,
            Self::Same { at, negated } => Self::Same { at, negated: !negated },
        }
    }
}

impl Form {
    /// Whether in every state some choice makes it true, so that an assumption of it has no effect.
    pub fn can_always_hold(self) -> bool {
        matches!(self, Self::Const(true) | Self::Choice)
    }
}

/// Computes the forms of one expression at a time, and reuses its memory for the next.
#[derive(Default)]
pub(super) struct Simplifier {
    code: Vec<Op>,
    forms: Vec<Form>,
    /// For each position, the start of the operand that ends there.
    first: Vec<u32>,
}

/// A piece of code that is still to be written.
enum Todo {
    Operand(Form),
    Put(Op),
}

impl Simplifier {
    /// Computes the forms of an expression, and returns that of the whole.
    pub fn read(&mut self, code: &[Op], known: impl Fn(Place) -> Option<bool>) -> Form {
        self.code.clear();
        self.forms.clear();
        self.first.clear();
        for (at, &op) in code.iter().enumerate() {
            let (form, first) = self.instruction(at, op, &known);
            self.code.push(op);
            self.forms.push(form);
            self.first.push(first);
        }
        self.root()
    }

    /// Writes the simplified expression; `rename` gives the new names of variables.
    pub fn write(&self, pool: &mut ExprPool, rename: impl Fn(Place) -> Place) -> Expr {
        let start = pool.begin();
        let mut todo = vec![Todo::Operand(self.root())];
        while let Some(item) = todo.pop() {
            let (at, negated) = match item {
                Todo::Put(op) => {
                    pool.push(op);
                    continue;
                }
                Todo::Operand(Form::Const(value)) => {
                    pool.push(Op::Const(value));
                    continue;
                }
                Todo::Operand(Form::Choice) => {
                    pool.push(Op::Choice);
                    continue;
                }
                Todo::Operand(Form::Same { at, negated }) => (at as usize, negated),
            };
            if negated {
                todo.push(Todo::Put(Op::Not));
            }
            let op = match self.code[at] {
                Op::Read(place) => Op::Read(rename(place)),
                op => op,
            };
            todo.push(Todo::Put(op));
            // The stack is last in, first out, and the operands come out in reverse order.
            todo.extend(self.operands(at).map(|operand| Todo::Operand(self.forms[operand])));
        }
        pool.finish(start)
    }

    /// Calls `demand` for variables and values that are necessary for the expression to be able to hold.
    pub fn demands(&self, mut demand: impl FnMut(Place, bool)) {
        let mut todo = vec![self.root()];
        while let Some(form) = todo.pop() {
            let Form::Same { at, negated } = form else { continue };
            let at = at as usize;
            match (self.code[at], negated) {
                (Op::Read(place), _) => demand(place, !negated),
                (Op::And, false) => todo.extend(self.operands(at).map(|operand| self.forms[operand])),
                (Op::Or, true) => todo.extend(self.operands(at).map(|operand| !self.forms[operand])),
                _ => {}
            }
        }
    }

    fn root(&self) -> Form {
        *self.forms.last().expect("an expression is not empty")
    }

    /// The positions where the operands of an instruction end, starting with the last operand.
    fn operands(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let count = match self.code[at] {
            Op::Const(_) | Op::Choice | Op::Read(_) => 0,
            Op::Not => 1,
            Op::And | Op::Or | Op::Xor => 2,
            Op::Ite => 3,
        };
        let mut end = at;
        (0..count).map(move |_| {
            let operand = end - 1;
            end = self.first[operand] as usize;
            operand
        })
    }

    fn instruction(&self, at: usize, op: Op, known: &impl Fn(Place) -> Option<bool>) -> (Form, u32) {
        let itself = Form::Same { at: at as u32, negated: false };
        let last = |end: usize| (self.forms[end - 1], self.first[end - 1]);
        match op {
            Op::Const(value) => (Form::Const(value), at as u32),
            Op::Choice => (Form::Choice, at as u32),
            Op::Read(place) => (known(place).map_or(itself, Form::Const), at as u32),
            Op::Not => {
                let (operand, first) = last(at);
                (!operand, first)
            }
            Op::And | Op::Or | Op::Xor => {
                let (right, middle) = last(at);
                let (left, first) = last(middle as usize);
                let form = match op {
                    Op::And => and(left, right, itself),
                    Op::Or => !and(!left, !right, !itself),
                    _ => xor(left, right, itself),
                };
                (form, first)
            }
            Op::Ite => {
                let (otherwise, second) = last(at);
                let (then, middle) = last(second as usize);
                let (condition, first) = last(middle as usize);
                (ite(condition, then, otherwise, itself), first)
            }
        }
    }
}

/// ```text
/// match:  F & a   result: F
/// match:  T & a   result: a
/// match:  * & *   result: *
/// ```
fn and(left: Form, right: Form, itself: Form) -> Form {
    match (left, right) {
        (Form::Const(false), _) | (_, Form::Const(false)) => Form::Const(false),
        (Form::Const(true), other) | (other, Form::Const(true)) => other,
        (Form::Choice, Form::Choice) => Form::Choice,
        _ => itself,
    }
}

/// ```text
/// match:  F ^ a   result: a
/// match:  T ^ a   result: !a
/// match:  * ^ a   result: *
/// ```
fn xor(left: Form, right: Form, itself: Form) -> Form {
    match (left, right) {
        (Form::Const(value), other) | (other, Form::Const(value)) => {
            if value {
                !other
            } else {
                other
            }
        }
        (Form::Choice, _) | (_, Form::Choice) => Form::Choice,
        _ => itself,
    }
}

/// ```text
/// match:  T ? a : b   result: a
/// match:  F ? a : b   result: b
/// match:  a ? T : F   result: a
/// match:  a ? F : T   result: !a
/// match:  a ? T : T   result: T   (also F, *)
/// match:  * ? * : b   result: *   (also * ? a : *)
/// ```
fn ite(condition: Form, then: Form, otherwise: Form, itself: Form) -> Form {
    match (condition, then, otherwise) {
        (Form::Const(true), chosen, _) | (Form::Const(false), _, chosen) => chosen,
        (_, Form::Const(true), Form::Const(false)) => condition,
        (_, Form::Const(false), Form::Const(true)) => !condition,
        (_, Form::Const(a), Form::Const(_)) => Form::Const(a),
        (_, Form::Choice, Form::Choice)
        | (Form::Choice, Form::Choice, _)
        | (Form::Choice, _, Form::Choice) => Form::Choice,
        _ => itself,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Var;
    use crate::model::eval::{Values, eval};

    fn variable(i: u32) -> Place {
        Place { var: Var::Global(i), primed: false, passive: false }
    }

    fn position(place: Place) -> usize {
        match place.var {
            Var::Global(i) | Var::Local(i) => i as usize,
        }
    }

    /// All code of up to six instructions over two variables.
    fn all_code() -> Vec<Vec<Op>> {
        let leaves = [Op::Const(false), Op::Const(true), Op::Choice, Op::Read(variable(0))];
        let others = [Op::Read(variable(1)), Op::Not, Op::And, Op::Or, Op::Xor, Op::Ite];
        let arity = |op: &Op| match op {
            Op::Const(_) | Op::Choice | Op::Read(_) => 0,
            Op::Not => 1,
            Op::And | Op::Or | Op::Xor => 2,
            Op::Ite => 3,
        };
        let mut done = Vec::new();
        let mut open: Vec<(Vec<Op>, usize)> = vec![(Vec::new(), 0)];
        while let Some((code, depth)) = open.pop() {
            if depth == 1 {
                done.push(code.clone());
            }
            if code.len() < 6 {
                for op in leaves.iter().chain(&others).filter(|op| arity(op) <= depth) {
                    let mut longer = code.clone();
                    longer.push(*op);
                    open.push((longer, depth + 1 - arity(op)));
                }
            }
        }
        done
    }

    fn values(code: &[Op], state: [bool; 2]) -> Values {
        eval::<()>(code, |place| Ok(state[position(place)])).expect("no variable is open")
    }

    #[test]
    fn simplified_code_takes_the_same_values_in_all_states() {
        let mut simplifier = Simplifier::default();
        let mut pool = ExprPool::default();
        for code in all_code() {
            for known in [[None, None], [Some(true), None], [Some(false), None], [Some(false), Some(true)]] {
                let form = simplifier.read(&code, |place| known[position(place)]);
                let simple = simplifier.write(&mut pool, |place| place);
                let mut demands = Vec::new();
                simplifier.demands(|place, value| demands.push((position(place), value)));
                assert!(pool.ops(simple).len() <= code.len(), "{code:?}");
                for state in [[false, false], [false, true], [true, false], [true, true]] {
                    if (0..2).any(|i| known[i].is_some_and(|value| value != state[i])) {
                        continue;
                    }
                    let expected = values(&code, state);
                    assert_eq!(values(pool.ops(simple), state), expected, "{code:?} {known:?}");
                    match form {
                        Form::Const(value) => assert_eq!(expected, Values::only(value)),
                        Form::Choice => assert_eq!(expected, Values::EITHER),
                        Form::Same { .. } => {}
                    }
                    let met = demands.iter().all(|&(i, value)| state[i] == value);
                    assert!(met || !expected.can_hold, "{code:?} {known:?} {state:?}");
                }
            }
        }
    }

    #[test]
    fn deep_code_costs_no_stack() {
        let mut code = vec![Op::Read(variable(0))];
        for _ in 0..200_000 {
            code.extend([Op::Not, Op::Const(true), Op::And]);
        }
        let mut simplifier = Simplifier::default();
        let form = simplifier.read(&code, |_| None);
        assert_eq!(form, Form::Same { at: 0, negated: false });
    }
}
