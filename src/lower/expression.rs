//! Translates expressions to postfix code.

use super::Lowering;
use crate::model::{Expr, Op, Place};
use crate::resolve::Scope;
use crate::syntax::ast::{BinaryOp, ExprId, ExprKind};

impl Lowering<'_> {
    pub(super) fn both_ways(&mut self, scope: &Scope, condition: ExprId) -> (Expr, Expr) {
        let holds = self.expr(Some(scope), condition);
        (holds, self.exprs.negated(holds))
    }

    pub(super) fn conjunction(&mut self, scope: &Scope, conditions: &[ExprId]) -> Option<Expr> {
        let (&first, rest) = conditions.split_first()?;
        let start = self.exprs.begin();
        self.emit(Some(scope), first);
        for &condition in rest {
            self.emit(Some(scope), condition);
            self.exprs.push(Op::And);
        }
        Some(self.exprs.finish(start))
    }

    /// Splits a condition into two parts: one that is only about this thread, and one that is about every other
    /// thread, too. Choices are independent, so the parts can be satisfied separately.
    pub(super) fn constraints(&mut self, scope: &Scope, root: ExprId) -> Vec<Expr> {
        let (mut own, mut of_each) = (Vec::new(), Vec::new());
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            match &self.ast.expr(id).kind {
                ExprKind::Paren(inner) => todo.push(*inner),
                ExprKind::Binary(BinaryOp::And, left, right) => todo.extend([*right, *left]),
                _ if self.reads_other_threads(scope, id) => of_each.push(id),
                _ => own.push(id),
            }
        }
        [own, of_each].iter().filter_map(|part| self.conjunction(scope, part)).collect()
    }

    fn reads_other_threads(&self, scope: &Scope, root: ExprId) -> bool {
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            match &self.ast.expr(id).kind {
                ExprKind::Const(_) | ExprKind::Choice | ExprKind::Error => {}
                ExprKind::Name { name, .. } => {
                    if self.names.variable(Some(scope), name).is_some_and(|meaning| meaning.passive) {
                        return true;
                    }
                }
                ExprKind::Not(e) | ExprKind::Paren(e) => todo.push(*e),
                ExprKind::Binary(_, l, r) | ExprKind::Schoose(l, r) => todo.extend([*l, *r]),
                ExprKind::Ite(c, t, e) => todo.extend([*c, *t, *e]),
            }
        }
        false
    }

    pub(super) fn expr(&mut self, scope: Option<&Scope>, root: ExprId) -> Expr {
        let start = self.exprs.begin();
        self.emit(scope, root);
        self.exprs.finish(start)
    }

    /// Appends the postfix code of an expression. A stack holds the nodes to visit and the operators to append after
    /// them.
    fn emit(&mut self, scope: Option<&Scope>, root: ExprId) {
        enum Todo {
            Visit(ExprId),
            Put(Op),
        }
        let mut todo = vec![Todo::Visit(root)];
        while let Some(item) = todo.pop() {
            let id = match item {
                Todo::Put(op) => {
                    self.exprs.push(op);
                    continue;
                }
                Todo::Visit(id) => id,
            };
            // The stack is last in, first out, so the pieces are pushed in reverse order.
            match &self.ast.expr(id).kind {
                ExprKind::Const(value) => self.exprs.push(Op::Const(*value)),
                ExprKind::Choice | ExprKind::Error => self.exprs.push(Op::Choice),
                ExprKind::Name { name, primed } => {
                    let meaning = self.names.variable(scope, name).expect("the resolver found it");
                    let place = Place { var: meaning.var, primed: *primed, passive: meaning.passive };
                    self.exprs.push(Op::Read(place));
                }
                ExprKind::Not(e) => todo.extend([Todo::Put(Op::Not), Todo::Visit(*e)]),
                ExprKind::Paren(e) => todo.push(Todo::Visit(*e)),
                ExprKind::Binary(op, l, r) => {
                    let (left, right) = (Todo::Visit(*l), Todo::Visit(*r));
                    match op {
                        BinaryOp::And => todo.extend([Todo::Put(Op::And), right, left]),
                        BinaryOp::Or => todo.extend([Todo::Put(Op::Or), right, left]),
                        BinaryOp::Xor | BinaryOp::NotEqual => {
                            todo.extend([Todo::Put(Op::Xor), right, left]);
                        }
                        BinaryOp::Equal => {
                            todo.extend([Todo::Put(Op::Not), Todo::Put(Op::Xor), right, left]);
                        }
                        BinaryOp::Implies => {
                            todo.extend([Todo::Put(Op::Or), right, Todo::Put(Op::Not), left]);
                        }
                    }
                }
                ExprKind::Ite(c, t, e) => {
                    todo.extend([Todo::Put(Op::Ite), Todo::Visit(*e), Todo::Visit(*t), Todo::Visit(*c)]);
                }
                // The result is pos | (* & !neg).
                ExprKind::Schoose(pos, neg) => todo.extend([
                    Todo::Put(Op::Or),
                    Todo::Put(Op::And),
                    Todo::Put(Op::Not),
                    Todo::Visit(*neg),
                    Todo::Put(Op::Choice),
                    Todo::Visit(*pos),
                ]),
            }
        }
    }
}
