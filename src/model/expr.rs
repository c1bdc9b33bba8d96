//! Resolved expressions, stored as postfix code.
//!
//! Invariant (postfix): an expression is a slice of [`Op`]s in one pool that leaves exactly one value on an empty
//! stack. Evaluation, encoding and the computation of supports are loops over the slice; nothing recurses, however
//! deeply the source was nested.
//!
//! Invariant (fresh choices): every `Op::Choice` is a separate choice, made anew each time the expression is
//! evaluated. Subexpressions therefore choose independently, and the set of values that an expression can take can be
//! computed operator by operator.

use super::Var;

/// An occurrence of a variable in an expression: which variable is read, and which of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The variable that is read.
    pub var: Var,
    /// Whether it is written `'x`, which reads the value after the assignment ([errata 2](crate::errata::item_2)).
    pub primed: bool,
    /// Whether it is written `x$`, which reads the copy of the other thread that the assignment updates.
    pub passive: bool,
}

/// One instruction of the stack machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Pushes a constant.
    Const(bool),
    /// Pushes either value.
    Choice,
    /// Pushes the value of a variable.
    Read(Place),
    /// Negates the topmost value.
    Not,
    /// Replaces the two topmost values by their conjunction.
    And,
    /// Replaces the two topmost values by their disjunction.
    Or,
    /// Replaces the two topmost values by their exclusive or.
    Xor,
    /// Replaces a condition, a then-value and an else-value by the value that the condition selects.
    Ite,
}

/// An expression, given by its range of instructions in an [`ExprPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expr {
    start: u32,
    end: u32,
}

/// The code of all expressions of a program.
#[derive(Clone, Debug, Default)]
pub struct ExprPool {
    ops: Vec<Op>,
}

impl ExprPool {
    /// The position of the next instruction, to be passed to [`ExprPool::finish`].
    #[must_use]
    pub fn begin(&self) -> usize {
        self.ops.len()
    }

    /// Appends one instruction.
    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Finishes the expression that began at `start`.
    #[must_use]
    pub fn finish(&mut self, start: usize) -> Expr {
        let expr = Expr { start: start as u32, end: self.ops.len() as u32 };
        debug_assert!(self.leaves_one_value(expr), "unbalanced postfix code");
        expr
    }

    /// A one-instruction expression.
    pub fn single(&mut self, op: Op) -> Expr {
        let start = self.begin();
        self.push(op);
        self.finish(start)
    }

    /// The negation of an expression, as new code.
    pub fn negated(&mut self, expr: Expr) -> Expr {
        let start = self.begin();
        self.ops.extend_from_within(expr.start as usize..expr.end as usize);
        self.push(Op::Not);
        self.finish(start)
    }

    /// The code of an expression.
    #[must_use]
    pub fn ops(&self, expr: Expr) -> &[Op] {
        &self.ops[expr.start as usize..expr.end as usize]
    }

    /// The variables an expression reads, in order, with repetitions.
    pub fn reads(&self, expr: Expr) -> impl Iterator<Item = Place> + '_ {
        self.ops(expr).iter().filter_map(|op| match op {
            Op::Read(place) => Some(*place),
            _ => None,
        })
    }

    fn leaves_one_value(&self, expr: Expr) -> bool {
        let mut depth = 0_i64;
        for op in self.ops(expr) {
            depth += match op {
                Op::Const(_) | Op::Choice | Op::Read(_) => 1,
                Op::Not => 0,
                Op::And | Op::Or | Op::Xor => -1,
                Op::Ite => -2,
            };
            if depth < 1 {
                return false;
            }
        }
        depth == 1
    }
}
