//! Equality of programs, without regard to layout.

use super::ast::{Ast, Declared, ExprId, ExprKind, Ident, Item, Stmt, StmtId, StmtKind, Target};

impl Ast {
    /// Whether two trees are the same program: they may differ in spans, comments and blank lines, and in
    /// parentheses that do not change the tree. Labels, empty statements and the order of everything have to
    /// be the same.
    #[must_use]
    pub fn same_program(&self, other: &Self) -> bool {
        let mut pair = Pair { left: self, right: other, exprs: Vec::new(), stmts: Vec::new() };
        self.dialect == other.dialect
            && all(&self.items, &other.items, |a, b| pair.items(a, b))
            && pair.stmts_agree()
            && pair.exprs_agree()
    }
}

/// Two trees, and the pairs of nodes that are still to be compared. These are kept in a list, because
/// recursion could overflow the stack on deep trees.
struct Pair<'a> {
    left: &'a Ast,
    right: &'a Ast,
    exprs: Vec<(ExprId, ExprId)>,
    stmts: Vec<(StmtId, StmtId)>,
}

impl Pair<'_> {
    fn items(&mut self, a: &Item, b: &Item) -> bool {
        match (a, b) {
            (Item::Globals(a, _), Item::Globals(b, _)) => self.declared(a, b),
            (Item::Procedure(a), Item::Procedure(b)) => {
                a.dfs == b.dfs
                    && a.returns == b.returns
                    && same_name(&a.name, &b.name)
                    && all(&a.params, &b.params, same_name)
                    && self.blocks(&a.body, &b.body)
            }
            _ => false,
        }
    }

    fn declared(&mut self, a: &[Declared], b: &[Declared]) -> bool {
        all(a, b, |a, b| same_name(&a.name, &b.name) && self.maybe(a.value, b.value))
    }

    fn blocks(&mut self, a: &[StmtId], b: &[StmtId]) -> bool {
        self.stmts.extend(a.iter().copied().zip(b.iter().copied()));
        a.len() == b.len()
    }

    fn maybe(&mut self, a: Option<ExprId>, b: Option<ExprId>) -> bool {
        self.exprs.extend(a.zip(b));
        a.is_some() == b.is_some()
    }

    fn expr(&mut self, a: ExprId, b: ExprId) -> bool {
        self.exprs.push((a, b));
        true
    }

    fn list(&mut self, a: &[ExprId], b: &[ExprId]) -> bool {
        self.exprs.extend(a.iter().copied().zip(b.iter().copied()));
        a.len() == b.len()
    }

    fn stmts_agree(&mut self) -> bool {
        let (left, right) = (self.left, self.right);
        while let Some((a, b)) = self.stmts.pop() {
            if !self.stmt(left.stmt(a), right.stmt(b)) {
                return false;
            }
        }
        true
    }

    fn stmt(&mut self, a: &Stmt, b: &Stmt) -> bool {
        use StmtKind as S;
        let same_kind = match (&a.kind, &b.kind) {
            (S::Decl(a), S::Decl(b)) => self.declared(a, b),
            (S::Goto(a), S::Goto(b)) | (S::Dead(a), S::Dead(b)) => all(a, b, same_name),
            (
                S::Assign { targets, values, constrain },
                S::Assign { targets: targets_b, values: values_b, constrain: constrain_b },
            ) => {
                all(targets, targets_b, same_target)
                    && self.list(values, values_b)
                    && self.maybe(*constrain, *constrain_b)
            }
            (
                S::Call { targets, callee, args },
                S::Call { targets: targets_b, callee: callee_b, args: args_b },
            ) => {
                all(targets, targets_b, same_target) && same_name(callee, callee_b) && self.list(args, args_b)
            }
            (S::StartThreadCall { callee, args }, S::StartThreadCall { callee: callee_b, args: args_b }) => {
                same_name(callee, callee_b) && self.list(args, args_b)
            }
            (S::StartThreadAt { goto, label }, S::StartThreadAt { goto: goto_b, label: label_b }) => {
                goto == goto_b && same_name(label, label_b)
            }
            (S::Return(a), S::Return(b)) | (S::Print(a), S::Print(b)) => self.list(a, b),
            (S::Enforce(a), S::Enforce(b))
            | (S::Assume(a), S::Assume(b))
            | (S::Assert(a), S::Assert(b))
            | (S::AbortIf(a), S::AbortIf(b))
            | (S::Constrain(a), S::Constrain(b)) => self.expr(*a, *b),
            (S::While(a, block), S::While(b, block_b)) => self.expr(*a, *b) && self.blocks(block, block_b),
            (S::If { arms, otherwise }, S::If { arms: arms_b, otherwise: otherwise_b }) => {
                all(arms, arms_b, |a, b| self.expr(a.0, b.0) && self.blocks(&a.1, &b.1))
                    && match (otherwise, otherwise_b) {
                        (Some(a), Some(b)) => self.blocks(a, b),
                        (a, b) => a.is_none() && b.is_none(),
                    }
            }
            // All other kinds have no contents to compare, or differ.
            (a, b) => a == b,
        };
        same_kind && all(&a.labels, &b.labels, same_name)
    }

    fn exprs_agree(&mut self) -> bool {
        use ExprKind as E;
        while let Some((left, right)) = self.exprs.pop() {
            let (left, right) = (inside(self.left, left), inside(self.right, right));
            let same = match (&self.left.expr(left).kind, &self.right.expr(right).kind) {
                (E::Not(left), E::Not(right)) => self.expr(*left, *right),
                (E::Binary(op, a, b), E::Binary(other, c, d)) => {
                    op == other && self.list(&[*a, *b], &[*c, *d])
                }
                (E::Schoose(a, b), E::Schoose(c, d)) => self.list(&[*a, *b], &[*c, *d]),
                (E::Ite(a, b, c), E::Ite(other, yes, no)) => self.list(&[*a, *b, *c], &[*other, *yes, *no]),
                (left, right) => left == right,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

/// The expression inside any parentheses around it.
fn inside(ast: &Ast, mut id: ExprId) -> ExprId {
    while let ExprKind::Paren(inner) = ast.expr(id).kind {
        id = inner;
    }
    id
}

fn same_name(a: &Ident, b: &Ident) -> bool {
    a.name == b.name
}

fn same_target(a: &Target, b: &Target) -> bool {
    match (a, b) {
        (Target::Name(a), Target::Name(b)) => same_name(a, b),
        (Target::Drop(_), Target::Drop(_)) => true,
        _ => false,
    }
}

fn all<T>(a: &[T], b: &[T], mut same: impl FnMut(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}
