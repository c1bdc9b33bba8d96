//! Computes the values that an expression can take when the values of some variables are not known.
//!
//! Choices are independent of each other, so the set of possible values is computed operator by operator. A variable
//! without a value matters only if the result depends on it; the caller then tries both values and evaluates again.

use smallvec::SmallVec;

use super::{Op, Place};

/// A non-empty set of truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// Whether the value can be false.
    pub can_fail: bool,
    /// Whether the value can be true.
    pub can_hold: bool,
}

impl Values {
    /// The set with one value.
    #[must_use]
    pub fn only(value: bool) -> Self {
        Self { can_fail: !value, can_hold: value }
    }

    /// The set of both values.
    pub const EITHER: Self = Self { can_fail: true, can_hold: true };

    /// The value, if the set has only one.
    #[must_use]
    pub fn single(self) -> Option<bool> {
        (self.can_fail != self.can_hold).then_some(self.can_hold)
    }

    fn not(self) -> Self {
        Self { can_fail: self.can_hold, can_hold: self.can_fail }
    }

    fn and(self, other: Self) -> Self {
        Self { can_fail: self.can_fail || other.can_fail, can_hold: self.can_hold && other.can_hold }
    }

    fn xor(self, other: Self) -> Self {
        let differ = self.can_hold && other.can_fail || self.can_fail && other.can_hold;
        let agree = self.can_hold && other.can_hold || self.can_fail && other.can_fail;
        Self { can_fail: agree, can_hold: differ }
    }

    fn union(self, other: Self) -> Self {
        Self { can_fail: self.can_fail || other.can_fail, can_hold: self.can_hold || other.can_hold }
    }
}

/// The stack of operands. Most expressions need less than its inline capacity, and evaluation is the inner loop of
/// the explicit engine.
type Stack<V> = SmallVec<[Result<Values, V>; 16]>;

/// Computes the possible values of an expression.
///
/// # Errors
/// Returns the first variable without a value on which the result depends, as `read` names it.
///
/// # Panics
/// Panics if the code does not leave exactly one value; [`super::ExprPool`] makes no such code.
pub fn eval<V: Copy>(code: &[Op], mut read: impl FnMut(Place) -> Result<bool, V>) -> Result<Values, V> {
    let mut stack: Stack<V> = Stack::new();
    let pop = |stack: &mut Stack<V>| stack.pop().expect("balanced postfix code");
    for op in code {
        let result = match *op {
            Op::Const(value) => Ok(Values::only(value)),
            Op::Choice => Ok(Values::EITHER),
            Op::Read(place) => read(place).map(Values::only),
            Op::Not => pop(&mut stack).map(Values::not),
            Op::And => {
                let right = pop(&mut stack);
                and(pop(&mut stack), right)
            }
            Op::Or => {
                let right = pop(&mut stack).map(Values::not);
                and(pop(&mut stack).map(Values::not), right).map(Values::not)
            }
            Op::Xor => {
                let right = pop(&mut stack);
                match (pop(&mut stack), right) {
                    (Ok(left), Ok(right)) => Ok(left.xor(right)),
                    (Err(open), _) | (_, Err(open)) => Err(open),
                }
            }
            Op::Ite => {
                let otherwise = pop(&mut stack);
                let then = pop(&mut stack);
                ite(pop(&mut stack), then, otherwise)
            }
        };
        stack.push(result);
    }
    pop(&mut stack)
}

fn and<V>(left: Result<Values, V>, right: Result<Values, V>) -> Result<Values, V> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok(left.and(right)),
        (Ok(known), Err(open)) | (Err(open), Ok(known)) => {
            if known == Values::only(false) {
                Ok(known)
            } else {
                Err(open)
            }
        }
        (Err(open), Err(_)) => Err(open),
    }
}

fn ite<V>(
    condition: Result<Values, V>,
    then: Result<Values, V>,
    otherwise: Result<Values, V>,
) -> Result<Values, V> {
    let condition = match condition {
        Ok(condition) => condition,
        Err(open) => {
            return match (then, otherwise) {
                (Ok(t), Ok(e)) if t == e && t.single().is_some() => Ok(t),
                _ => Err(open),
            };
        }
    };
    match condition.single() {
        Some(true) => then,
        Some(false) => otherwise,
        None => Ok(then?.union(otherwise?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Var;

    /// All values by trying every valuation of the open variables and every choice.
    fn brute_force(code: &[Op], known: [Option<bool>; 2]) -> Values {
        let choices = code.iter().filter(|op| **op == Op::Choice).count();
        let mut values: Option<Values> = None;
        for bits in 0_u32..1 << (choices + 2) {
            let read = |i: u32| known[i as usize].unwrap_or(bits >> i & 1 == 1);
            let mut next_choice = 2;
            let mut stack: Vec<bool> = Vec::new();
            for op in code {
                let mut pop = || stack.pop().expect("balanced");
                let value = match *op {
                    Op::Const(value) => value,
                    Op::Choice => {
                        next_choice += 1;
                        bits >> (next_choice - 1) & 1 == 1
                    }
                    Op::Read(Place { var: Var::Global(i) | Var::Local(i), .. }) => read(i),
                    Op::Not => !pop(),
                    Op::And => pop() & pop(),
                    Op::Or => pop() | pop(),
                    Op::Xor => pop() ^ pop(),
                    Op::Ite => {
                        let (e, t, c) = (pop(), pop(), pop());
                        if c { t } else { e }
                    }
                };
                stack.push(value);
            }
            let value = Values::only(stack[0]);
            values = Some(values.map_or(value, |v| v.union(value)));
        }
        values.expect("at least one valuation")
    }

    /// All code of up to six instructions over two variables.
    fn all_code(length: usize) -> Vec<Vec<Op>> {
        let read = |i| Op::Read(Place { var: Var::Global(i), primed: false, passive: false });
        let ops = [Op::Const(true), Op::Choice, read(0), read(1), Op::Not, Op::And, Op::Or, Op::Xor, Op::Ite];
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
            if code.len() < length {
                for op in ops.iter().filter(|op| arity(op) <= depth) {
                    let mut longer = code.clone();
                    longer.push(*op);
                    open.push((longer, depth + 1 - arity(op)));
                }
            }
        }
        done
    }

    #[test]
    fn evaluation_agrees_with_brute_force_on_all_small_expressions() {
        for code in all_code(6) {
            for known in [None, Some(false), Some(true)]
                .into_iter()
                .flat_map(|a| [None, Some(false), Some(true)].into_iter().map(move |b| [a, b]))
            {
                let read = |place: Place| match place.var {
                    Var::Global(i) | Var::Local(i) => known[i as usize].ok_or(i),
                };
                match eval(&code, read) {
                    Ok(values) => assert_eq!(values, brute_force(&code, known), "{code:?} {known:?}"),
                    Err(open) => assert_eq!(known[open as usize], None, "{code:?}"),
                }
            }
        }
    }
}
