//! The values that an expression can take.
//!
//! Choices are independent, so the set of values of an operator follows from the sets of its operands. In one total
//! state every answer is [`Answer::Yes`] or [`Answer::No`]. In a set of states, some variables are open: an answer is
//! then definite only if three-valued evaluation (strong Kleene logic) shows that it is the same in all of them, and
//! otherwise names an open variable to decide next.

use std::convert::Infallible;

use super::{Stop, reject};
use crate::model::{Expr, Op, Place, Program};

/// Whether something is possible in the states of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer<C> {
    /// It is possible in no state.
    No,
    /// It is possible in every state.
    Yes,
    /// The answer may depend on this open variable, among others.
    Depends(C),
}

impl<C> Answer<C> {
    /// Whether both are possible.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, answer) | (answer, Self::Yes) => answer,
            (depends, Self::Depends(_)) => depends,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, answer) | (answer, Self::No) => answer,
            (depends, Self::Depends(_)) => depends,
        }
    }
}

/// The values that an expression can take. In every state it can take at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values<C> {
    /// Whether some choices make it false.
    pub can_be_false: Answer<C>,
    /// Whether some choices make it true.
    pub can_be_true: Answer<C>,
}

impl<C: Copy> Values<C> {
    /// The set that contains only the given value.
    pub fn exactly(value: bool) -> Self {
        let (yes, no) = (Answer::Yes, Answer::No);
        if value {
            Self { can_be_false: no, can_be_true: yes }
        } else {
            Self { can_be_false: yes, can_be_true: no }
        }
    }

    fn any() -> Self {
        Self { can_be_false: Answer::Yes, can_be_true: Answer::Yes }
    }

    fn of_open(variable: C) -> Self {
        Self { can_be_false: Answer::Depends(variable), can_be_true: Answer::Depends(variable) }
    }

    /// Whether the expression can take a value.
    pub fn can_be(self, value: bool) -> Answer<C> {
        if value { self.can_be_true } else { self.can_be_false }
    }

    fn not(self) -> Self {
        Self { can_be_false: self.can_be_true, can_be_true: self.can_be_false }
    }

    fn and(self, other: Self) -> Self {
        Self {
            can_be_false: self.can_be_false.or(other.can_be_false),
            can_be_true: self.can_be_true.and(other.can_be_true),
        }
    }

    fn xor(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self {
            can_be_false: a.can_be_false.and(b.can_be_false).or(a.can_be_true.and(b.can_be_true)),
            can_be_true: a.can_be_true.and(b.can_be_false).or(a.can_be_false.and(b.can_be_true)),
        }
    }

    fn ite(self, then: Self, otherwise: Self) -> Self {
        let pick = |value: bool| {
            let first = self.can_be_true.and(then.can_be(value));
            first.or(self.can_be_false.and(otherwise.can_be(value)))
        };
        Self { can_be_false: pick(false), can_be_true: pick(true) }
    }
}

/// Evaluates postfix code. `read` gives the value of a variable, or a representative for an open one.
///
/// # Errors
/// Rejects code that does not leave exactly one value on the stack.
pub(super) fn evaluate<C: Copy>(
    ops: &[Op],
    read: impl Fn(Place) -> Result<bool, C>,
) -> Result<Values<C>, Stop> {
    // The stack never holds more values than the code has operators, and 16 is enough for most expressions.
    let mut stack: Vec<Values<C>> = Vec::with_capacity(ops.len().min(16));
    for &op in ops {
        let value = match op {
            Op::Const(value) => Some(Values::exactly(value)),
            Op::Choice => Some(Values::any()),
            Op::Read(place) => Some(read(place).map_or_else(Values::of_open, Values::exactly)),
            Op::Not => stack.pop().map(Values::not),
            Op::And => pop_two(&mut stack).map(|(a, b)| a.and(b)),
            // De Morgan.
            Op::Or => pop_two(&mut stack).map(|(a, b)| a.not().and(b.not()).not()),
            Op::Xor => pop_two(&mut stack).map(|(a, b)| a.xor(b)),
            Op::Ite => stack.pop().and_then(|otherwise| {
                let (condition, then) = pop_two(&mut stack)?;
                Some(condition.ite(then, otherwise))
            }),
        };
        match value {
            Some(value) => stack.push(value),
            None => return unbalanced(),
        }
    }
    match stack[..] {
        [value] => Ok(value),
        _ => unbalanced(),
    }
}

fn pop_two<T>(stack: &mut Vec<T>) -> Option<(T, T)> {
    let second = stack.pop()?;
    Some((stack.pop()?, second))
}

fn unbalanced<T>() -> Result<T, Stop> {
    reject("the model is malformed: an expression does not leave exactly one value")
}

/// Whether an expression can take a value in one total state.
pub(super) fn can_be(
    program: &Program,
    expr: Expr,
    value: bool,
    read: impl Fn(Place) -> bool,
) -> Result<bool, Stop> {
    let values = evaluate::<Infallible>(program.exprs.ops(expr), |place| Ok(read(place)))?;
    Ok(match values.can_be(value) {
        Answer::Yes => true,
        Answer::No => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Var;

    const OPERANDS: [Op; 7] = [
        Op::Const(false),
        Op::Const(true),
        Op::Choice,
        Op::Read(place(0)),
        Op::Read(place(1)),
        Op::Read(place(2)),
        Op::Read(place(3)),
    ];

    const fn place(global: u32) -> Place {
        Place { var: Var::Global(global), primed: false, passive: false }
    }

    fn position(place: Place) -> u32 {
        match place.var {
            Var::Global(i) | Var::Local(i) => i,
        }
    }

    /// One run of the code with these values and choices, choices taken in order.
    fn run(ops: &[Op], state: u32, mut choices: u32) -> bool {
        let mut stack: Vec<bool> = Vec::new();
        for &op in ops {
            let mut pop = || stack.pop().expect("balanced");
            let value = match op {
                Op::Const(value) => value,
                Op::Choice => {
                    choices >>= 1;
                    choices & 1 == 1
                }
                Op::Read(place) => state >> position(place) & 1 == 1,
                Op::Not => !pop(),
                Op::And => pop() & pop(),
                Op::Or => pop() | pop(),
                Op::Xor => pop() ^ pop(),
                Op::Ite => {
                    let (otherwise, then, condition) = (pop(), pop(), pop());
                    if condition { then } else { otherwise }
                }
            };
            stack.push(value);
        }
        stack[0]
    }

    fn random(seed: &mut u64, below: usize) -> usize {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % below
    }

    /// Balanced code with at most four choices.
    fn random_code(seed: &mut u64) -> Vec<Op> {
        let mut ops = Vec::new();
        let (mut depth, mut choices) = (0, 0);
        for _ in 0..random(seed, 12) {
            let op = match random(seed, 6) {
                0 if depth > 0 => Op::Not,
                1 if depth > 1 => Op::And,
                2 if depth > 1 => Op::Or,
                3 if depth > 1 => Op::Xor,
                4 if depth > 2 => Op::Ite,
                _ => OPERANDS[random(seed, if choices < 4 { 7 } else { 2 })],
            };
            choices += usize::from(op == Op::Choice);
            depth = match op {
                Op::Const(_) | Op::Choice | Op::Read(_) => depth + 1,
                Op::Not => depth,
                Op::And | Op::Or | Op::Xor => depth - 1,
                Op::Ite => depth - 2,
            };
            ops.push(op);
        }
        if depth == 0 {
            ops.push(Op::Choice);
            depth = 1;
        }
        ops.extend(std::iter::repeat_n(Op::Xor, depth - 1));
        ops
    }

    #[test]
    fn values_agree_with_all_runs_over_all_choices() {
        let mut seed = 1;
        for _ in 0..3_000 {
            let ops = random_code(&mut seed);
            for known in 0..16_u32 {
                let state = random(&mut seed, 16) as u32;
                let values = evaluate(&ops, |place| {
                    let i = position(place);
                    if known >> i & 1 == 1 { Ok(state >> i & 1 == 1) } else { Err(i) }
                })
                .expect("balanced");
                let states: Vec<u32> = (0..16).filter(|s| (s ^ state) & known == 0).collect();
                for value in [false, true] {
                    let possible = |&s: &u32| (0..64).any(|choices| run(&ops, s, choices) == value);
                    let count = states.iter().filter(|s| possible(s)).count();
                    match values.can_be(value) {
                        Answer::Yes => assert_eq!(count, states.len(), "{ops:?}"),
                        Answer::No => assert_eq!(count, 0, "{ops:?}"),
                        Answer::Depends(i) => {
                            assert_eq!(known >> i & 1, 0, "{ops:?}: a known variable is not open");
                            assert!(ops.contains(&Op::Read(place(i))), "{ops:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn unbalanced_code_is_rejected() {
        for ops in [&[][..], &[Op::Not], &[Op::Choice, Op::And], &[Op::Choice; 2], &[Op::Choice, Op::Ite]] {
            assert!(evaluate::<u32>(ops, |_| Ok(true)).is_err(), "{ops:?}");
        }
    }
}
