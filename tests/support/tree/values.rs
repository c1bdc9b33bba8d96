//! The values that an expression can have.
//!
//! Every `*` is a choice of its own, and all variables have fixed values, so the operands of an operator choose
//! independently of each other: its possible values are those of all pairs of possible operands.

use cusp::syntax::ast::{BinaryOp, ExprId, ExprKind};

use super::Bits;
use super::text::{Proc, Text};

/// The possible values of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Possible {
    pub fails: bool,
    pub holds: bool,
}

impl Possible {
    const BOTH: Self = Self { fails: true, holds: true };

    fn only(value: bool) -> Self {
        Self { fails: !value, holds: value }
    }

    fn not(self) -> Self {
        Self { fails: self.holds, holds: self.fails }
    }

    fn combined(self, other: Self, operator: impl Fn(bool, bool) -> bool) -> Self {
        let mut result = Self { fails: false, holds: false };
        for left in self {
            for right in other {
                if operator(left, right) {
                    result.holds = true;
                } else {
                    result.fails = true;
                }
            }
        }
        result
    }

    pub fn contains(self, value: bool) -> bool {
        if value { self.holds } else { self.fails }
    }
}

impl IntoIterator for Possible {
    type Item = bool;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<bool>, 2>>;

    fn into_iter(self) -> Self::IntoIter {
        [self.fails.then_some(false), self.holds.then_some(true)].into_iter().flatten()
    }
}

pub fn bit(values: Bits, position: usize) -> bool {
    values >> position & 1 == 1
}

pub fn with(values: Bits, position: usize, value: bool) -> Bits {
    values & !(1 << position) | Bits::from(value) << position
}

/// What an expression in a procedure can see: values before a statement and, in `constrain`, after it.
#[derive(Clone, Copy)]
pub struct View {
    pub globals: [Bits; 2],
    pub locals: [Bits; 2],
    /// The locals of the other thread that `x$` means.
    pub other: [Bits; 2],
}

impl View {
    /// Of the values before a statement.
    pub fn now(globals: Bits, locals: Bits) -> Self {
        Self { globals: [globals; 2], locals: [locals; 2], other: [0; 2] }
    }
}

/// A variable as a name means it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Global(usize),
    Local(usize),
    /// `x$`: the local `x` of other threads.
    Passive(usize),
}

/// What a name means in a procedure: locals hide globals, and `x$` is another thread's `x` if `x` is a local and
/// `x$` itself is not declared.
pub fn meaning(text: &Text<'_>, proc: Option<&Proc<'_>>, name: &str) -> Meaning {
    let local = |name: &str| proc.and_then(|proc| proc.locals.iter().position(|&local| local == name));
    if let Some(position) = local(name) {
        return Meaning::Local(position);
    }
    if let Some(position) = text.globals.iter().position(|&global| global == name) {
        return Meaning::Global(position);
    }
    let own = name.strip_suffix('$').and_then(local);
    Meaning::Passive(own.unwrap_or_else(|| panic!("`{name}` is not declared")))
}

/// The possible values of an expression in a procedure.
pub fn possible(text: &Text<'_>, proc: Option<&Proc<'_>>, expr: ExprId, view: &View) -> Possible {
    let value = |expr: ExprId| possible(text, proc, expr, view);
    match &text.ast.expr(expr).kind {
        ExprKind::Const(value) => Possible::only(*value),
        ExprKind::Choice | ExprKind::Error => Possible::BOTH,
        ExprKind::Name { name, primed } => {
            let when = usize::from(*primed);
            Possible::only(match meaning(text, proc, name) {
                Meaning::Global(position) => bit(view.globals[when], position),
                Meaning::Local(position) => bit(view.locals[when], position),
                Meaning::Passive(position) => bit(view.other[when], position),
            })
        }
        ExprKind::Not(e) => value(*e).not(),
        ExprKind::Paren(e) => value(*e),
        ExprKind::Binary(operator, l, r) => value(*l).combined(value(*r), |l, r| match operator {
            BinaryOp::And => l && r,
            BinaryOp::Or => l || r,
            BinaryOp::Xor | BinaryOp::NotEqual => l != r,
            BinaryOp::Equal => l == r,
            BinaryOp::Implies => !l || r,
        }),
        ExprKind::Ite(c, t, e) => {
            let (condition, then, otherwise) = (value(*c), value(*t), value(*e));
            let can_be = |wanted: bool| {
                condition.holds && then.contains(wanted) || condition.fails && otherwise.contains(wanted)
            };
            Possible { fails: can_be(false), holds: can_be(true) }
        }
        // True where `pos` holds, false where only `neg` does, and else either.
        ExprKind::Schoose(pos, neg) => {
            let (pos, neg) = (value(*pos), value(*neg));
            Possible { fails: pos.fails, holds: pos.holds || pos.fails && neg.fails }
        }
    }
}

/// The possible values of an expression over globals only.
pub fn of_globals(text: &Text<'_>, expr: ExprId, globals: Bits) -> Possible {
    possible(text, None, expr, &View::now(globals, 0))
}

/// The conditions that must all hold for a condition to hold.
pub fn conjuncts(text: &Text<'_>, expr: ExprId) -> Vec<ExprId> {
    match &text.ast.expr(expr).kind {
        ExprKind::Paren(e) => conjuncts(text, *e),
        ExprKind::Binary(BinaryOp::And, l, r) => {
            conjuncts(text, *l).into_iter().chain(conjuncts(text, *r)).collect()
        }
        _ => vec![expr],
    }
}

/// Whether an expression reads other threads' variables.
pub fn reads_others(text: &Text<'_>, proc: &Proc<'_>, expr: ExprId) -> bool {
    let reads = |e: &ExprId| reads_others(text, proc, *e);
    match &text.ast.expr(expr).kind {
        ExprKind::Const(_) | ExprKind::Choice | ExprKind::Error => false,
        ExprKind::Name { name, .. } => matches!(meaning(text, Some(proc), name), Meaning::Passive(_)),
        ExprKind::Not(e) | ExprKind::Paren(e) => reads(e),
        ExprKind::Binary(_, l, r) | ExprKind::Schoose(l, r) => reads(l) || reads(r),
        ExprKind::Ite(c, t, e) => reads(c) || reads(t) || reads(e),
    }
}
