//! The sets of states in which an expression can be true, and in which it can be false.
//!
//! Every choice in an expression is independent of all others, so both sets are computed operator by operator: see
//! [`crate::model::expr`]. Without a choice, each set is the complement of the other, and complementing a diagram
//! costs nothing.

use super::diagrams::{Diagram, DiagramResult, Diagrams, Variable};
use crate::model::{Op, Place};

/// The states in which an expression can take each value.
#[derive(Clone)]
pub(super) struct Values {
    pub can_hold: Diagram,
    pub can_fail: Diagram,
}

impl Values {
    fn exact(diagrams: &Diagrams, can_hold: Diagram) -> DiagramResult<Self> {
        Ok(Self { can_fail: diagrams.not(&can_hold)?, can_hold })
    }

    fn not(self) -> Self {
        Self { can_hold: self.can_fail, can_fail: self.can_hold }
    }

    fn and(&self, other: &Self, diagrams: &Diagrams) -> DiagramResult<Self> {
        Ok(Self {
            can_hold: diagrams.and(&self.can_hold, &other.can_hold)?,
            can_fail: diagrams.or(&self.can_fail, &other.can_fail)?,
        })
    }

    /// The conditional: the values of `then` where the condition can hold, and of `otherwise` where it can fail.
    fn ite(&self, then: &Self, otherwise: &Self, diagrams: &Diagrams) -> DiagramResult<Self> {
        let choose = |then: &Diagram, otherwise: &Diagram| {
            if diagrams.not(&self.can_hold)? == self.can_fail {
                return diagrams.ite(&self.can_hold, then, otherwise);
            }
            diagrams.or(&diagrams.and(&self.can_hold, then)?, &diagrams.and(&self.can_fail, otherwise)?)
        };
        Ok(Self {
            can_hold: choose(&then.can_hold, &otherwise.can_hold)?,
            can_fail: choose(&then.can_fail, &otherwise.can_fail)?,
        })
    }

    /// The states in which a variable can take the value of the expression.
    pub fn taken_by(&self, variable: Variable, diagrams: &Diagrams) -> DiagramResult<Diagram> {
        diagrams.ite(&diagrams.variable(variable), &self.can_hold, &self.can_fail)
    }
}

/// The values of an expression; `read` gives the variable of the diagrams for a variable that it reads.
pub(super) fn values(
    code: &[Op],
    diagrams: &Diagrams,
    read: impl Fn(Place) -> Variable,
) -> DiagramResult<Values> {
    let mut stack: Vec<Values> = Vec::new();
    for op in code {
        let mut pop = || stack.pop().expect("balanced postfix code");
        let value = match *op {
            Op::Const(value) => Values::exact(diagrams, diagrams.constant(value))?,
            Op::Choice => Values { can_hold: diagrams.truth(), can_fail: diagrams.truth() },
            Op::Read(place) => Values::exact(diagrams, diagrams.variable(read(place)))?,
            Op::Not => pop().not(),
            Op::And => {
                let right = pop();
                pop().and(&right, diagrams)?
            }
            Op::Or => {
                let right = pop().not();
                pop().not().and(&right, diagrams)?.not()
            }
            Op::Xor => {
                let right = pop();
                let negated = right.clone().not();
                pop().ite(&negated, &right, diagrams)?
            }
            Op::Ite => {
                let otherwise = pop();
                let then = pop();
                pop().ite(&then, &otherwise, diagrams)?
            }
        };
        stack.push(value);
    }
    Ok(stack.pop().expect("balanced postfix code"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::engines::bdd::diagrams::{Capacity, contains};
    use crate::model::Var;
    use crate::model::eval::eval;

    /// All code of at most `length` instructions over two variables.
    fn all_code(length: usize) -> Vec<Vec<Op>> {
        let read = |i| Op::Read(Place { var: Var::Global(i), primed: false, passive: false });
        let ops: [(Op, usize); 9] = [
            (Op::Const(true), 0),
            (Op::Choice, 0),
            (read(0), 0),
            (read(1), 0),
            (Op::Not, 1),
            (Op::And, 2),
            (Op::Or, 2),
            (Op::Xor, 2),
            (Op::Ite, 3),
        ];
        let (mut done, mut open) = (Vec::new(), vec![(Vec::new(), 0)]);
        while let Some((code, depth)) = open.pop() {
            if code.len() < length {
                for (op, arity) in ops.iter().filter(|(_, arity)| *arity <= depth) {
                    let mut longer: Vec<Op> = code.clone();
                    longer.push(*op);
                    open.push((longer, depth + 1 - arity));
                }
            }
            if depth == 1 {
                done.push(code);
            }
        }
        done
    }

    #[test]
    fn diagrams_have_the_values_of_the_evaluator() {
        let capacity = Capacity { nodes: 1 << 16, cache: 1 << 14, is_last: true };
        let diagrams = Diagrams::new(capacity, 2, &Budget::unlimited()).expect("room");
        let number = |place: Place| match place.var {
            Var::Global(i) | Var::Local(i) => i,
        };
        for code in all_code(6) {
            let found = values(&code, &diagrams, number).expect("room");
            for state in 0_u32..4 {
                let value = |variable: u32| state >> variable & 1 == 1;
                let expected = eval(&code, |place| Ok::<bool, ()>(value(number(place)))).expect("known");
                let facts = || (0..2).map(|variable| (variable, value(variable)));
                assert_eq!(contains(&found.can_hold, facts()), expected.can_hold, "{code:?} {state}");
                assert_eq!(contains(&found.can_fail, facts()), expected.can_fail, "{code:?} {state}");
            }
        }
    }
}
