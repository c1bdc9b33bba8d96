//! Checks every use of a name against its declaration.

use rustc_hash::FxHashSet;

use super::{Names, Scope, statements};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::collect::Collector;
use crate::diagnostic::suggest::nearest;
use crate::model::Var;
use crate::source::Span;
use crate::syntax::ast::{Ast, ExprId, ExprKind, Ident, Item, Stmt, StmtKind, Target};

/// The context of an expression, which decides which values it may read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// It may read only the current values of its own thread.
    Plain,
    /// It is assigned to a variable of other threads, and may read the variables of other threads.
    PassiveValue,
    /// It is the `constrain` condition of an assignment, and may also read new values.
    Constrain,
}

/// Checks all statements and records the call graph.
pub fn check(ast: &Ast, names: &mut Names, findings: &mut Collector) {
    let mut callees = Vec::with_capacity(names.scopes.len());
    let mut checker = Checker { ast, names, scope: None, findings, callees: FxHashSet::default() };
    for &(_, value) in &checker.names.initialisers {
        checker.expr(value, Position::Plain);
    }
    for (index, scope) in checker.names.scopes.iter().enumerate() {
        checker.scope = Some(scope);
        let mut order = Vec::new();
        for id in statements(ast, &checker.names.procedure(ast, index).body) {
            checker.statement(ast.stmt(id), &mut order);
        }
        checker.callees.clear();
        callees.push(order);
    }
    for (scope, order) in names.scopes.iter_mut().zip(callees) {
        scope.callees = order;
    }
}

struct Checker<'a> {
    ast: &'a Ast,
    names: &'a Names,
    scope: Option<&'a Scope>,
    findings: &'a mut Collector,
    callees: FxHashSet<usize>,
}

impl Checker<'_> {
    fn error(&mut self, span: Span, message: String) {
        self.findings.push(Diagnostic::error(span, message));
    }

    fn statement(&mut self, statement: &Stmt, callees: &mut Vec<usize>) {
        match &statement.kind {
            StmtKind::Empty
            | StmtKind::Skip
            | StmtKind::EndThread
            | StmtKind::AtomicBegin
            | StmtKind::AtomicEnd
            | StmtKind::Error => {}
            StmtKind::Decl(declared) => {
                for value in declared.iter().filter_map(|d| d.value) {
                    self.expr(value, Position::Plain);
                }
            }
            StmtKind::Enforce(e)
            | StmtKind::Assume(e)
            | StmtKind::Assert(e)
            | StmtKind::AbortIf(e)
            | StmtKind::Constrain(e)
            | StmtKind::While(e, _) => self.expr(*e, Position::Plain),
            StmtKind::If { arms, .. } => {
                for (condition, _) in arms {
                    self.expr(*condition, Position::Plain);
                }
            }
            StmtKind::Print(values) => self.plain(values),
            StmtKind::Goto(labels) => labels.iter().for_each(|label| self.label(label)),
            StmtKind::StartThreadAt { label, .. } => self.label(label),
            StmtKind::Dead(variables) => {
                for variable in variables {
                    if self.variable(&variable.name, variable.span).is_some_and(|passive| passive) {
                        let message = format!("`{}` belongs to other threads", variable.name);
                        self.error(variable.span, message);
                    }
                }
            }
            StmtKind::Assign { targets, values, constrain } => {
                self.assignment(statement, targets, values, *constrain);
            }
            StmtKind::Call { targets, callee, args } => {
                let asynchronous = statement.labels.iter().any(|l| l.name.starts_with("ASYNC_"));
                self.call(statement, targets, callee, args, asynchronous, callees);
            }
            StmtKind::StartThreadCall { callee, args } => {
                self.call(statement, &[], callee, args, true, callees);
            }
            StmtKind::Return(values) => self.returns(statement, values),
        }
    }

    fn assignment(
        &mut self,
        statement: &Stmt,
        targets: &[Target],
        values: &[ExprId],
        constrain: Option<ExprId>,
    ) {
        let passive = self.targets(targets);
        if targets.len() != values.len() {
            let message = format!(
                "{} on the left but {} on the right",
                count(targets.len(), "variable"),
                count(values.len(), "value")
            );
            self.error(statement.span, message);
        }
        for (i, &value) in values.iter().enumerate() {
            let is_passive = passive.get(i).copied().unwrap_or(false);
            let position = if is_passive { Position::PassiveValue } else { Position::Plain };
            self.expr(value, position);
        }
        if let Some(condition) = constrain {
            self.expr(condition, Position::Constrain);
        }
    }

    /// Checks the targets of an assignment. Returns for each whether it is a variable of other threads.
    fn targets(&mut self, targets: &[Target]) -> Vec<bool> {
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut passive = Vec::with_capacity(targets.len());
        for target in targets {
            let Target::Name(name) = target else {
                passive.push(false);
                continue;
            };
            passive.push(self.variable(&name.name, name.span).unwrap_or(false));
            if !seen.insert(&name.name) {
                self.error(name.span, format!("`{}` is assigned twice", name.name));
            }
        }
        passive
    }

    fn call(
        &mut self,
        statement: &Stmt,
        targets: &[Target],
        callee: &Ident,
        args: &[ExprId],
        asynchronous: bool,
        callees: &mut Vec<usize>,
    ) {
        self.plain(args);
        let passive = self.targets(targets);
        for (target, _) in targets.iter().zip(passive).filter(|&(_, passive)| passive) {
            if let Target::Name(name) = target {
                let message = format!("a call cannot assign `{}`: it belongs to other threads", name.name);
                self.error(name.span, message);
            }
        }
        let Some(&index) = self.names.procedure_by_name.get(&callee.name) else {
            let error = Diagnostic::error(callee.span, format!("procedure `{}` is not defined", callee.name));
            let near = nearest(&callee.name, self.names.procedure_by_name.keys());
            self.findings.push(with_suggestion(error, near));
            return;
        };
        if self.callees.insert(index) {
            callees.push(index);
        }
        let declared = &self.names.scopes[index];
        let place = match &self.ast.items[declared.item] {
            Item::Procedure(procedure) => procedure.name.span,
            Item::Globals(..) => callee.span,
        };
        if args.len() != declared.params {
            let message = format!(
                "`{}` takes {} but is given {}",
                callee.name,
                count(declared.params, "argument"),
                args.len()
            );
            self.findings.push(Diagnostic::error(statement.span, message).related(place, "defined here"));
        }
        if asynchronous && !targets.is_empty() {
            let message = format!("`{}` runs in a thread of its own and returns nothing", callee.name);
            self.error(statement.span, message);
        } else if !targets.is_empty() && targets.len() != declared.returns {
            let message = format!(
                "`{}` returns {} but {} assigned",
                callee.name,
                count(declared.returns, "value"),
                if targets.len() == 1 { "1 is".to_owned() } else { format!("{} are", targets.len()) }
            );
            self.findings.push(Diagnostic::error(statement.span, message).related(place, "defined here"));
        }
    }

    fn returns(&mut self, statement: &Stmt, values: &[ExprId]) {
        self.plain(values);
        let Some(scope) = self.scope else { return };
        if values.len() != scope.returns {
            let Item::Procedure(procedure) = &self.ast.items[scope.item] else { return };
            let message = format!(
                "`{}` returns {} but this statement gives {}",
                procedure.name.name,
                count(scope.returns, "value"),
                values.len()
            );
            let error = Diagnostic::error(statement.span, message);
            self.findings.push(error.related(procedure.name.span, "declared here"));
        }
    }

    fn label(&mut self, label: &Ident) {
        let Some(scope) = self.scope else { return };
        if scope.labels.contains_key(&label.name) {
            return;
        }
        let error = Diagnostic::error(label.span, format!("label `{}` is not defined", label.name));
        let error = if self.names.procedure_by_name.contains_key(&label.name) {
            error.help(format!("to start the procedure in a thread, write `{}()`", label.name))
        } else {
            with_suggestion(error, nearest(&label.name, scope.labels.keys()))
        };
        self.findings.push(error.caret("not in this procedure"));
    }

    /// Looks up a variable. Returns whether it belongs to other threads, or `None` after an error.
    fn variable(&mut self, name: &str, span: Span) -> Option<bool> {
        if let Some(meaning) = self.names.variable(self.scope, name) {
            return Some(meaning.passive);
        }
        let mut error = Diagnostic::error(span, format!("variable `{name}` is not declared"));
        let global = name.strip_suffix('$').and_then(|own| self.names.variable(self.scope, own));
        if let Some(Var::Global(_)) = global.map(|meaning| meaning.var) {
            error = error.help("only local variables have a copy in every thread");
        } else {
            let locals = self.scope.iter().flat_map(|s| s.by_name.keys());
            error = with_suggestion(error, nearest(name, locals.chain(self.names.global_by_name.keys())));
        }
        self.findings.push(error);
        None
    }

    /// Checks expressions that may read only the current values of their own thread.
    fn plain(&mut self, exprs: &[ExprId]) {
        for &expr in exprs {
            self.expr(expr, Position::Plain);
        }
    }

    /// Checks an expression. Its nodes are visited by a loop and not by recursion, since expressions may be
    /// nested deeply.
    fn expr(&mut self, root: ExprId, position: Position) {
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            let expr = self.ast.expr(id);
            match &expr.kind {
                ExprKind::Const(_) | ExprKind::Choice | ExprKind::Error => {}
                ExprKind::Not(e) | ExprKind::Paren(e) => pending.push(*e),
                ExprKind::Binary(_, l, r) | ExprKind::Schoose(l, r) => pending.extend([*r, *l]),
                ExprKind::Ite(c, t, e) => pending.extend([*e, *t, *c]),
                ExprKind::Name { name, primed } => {
                    let passive = self.variable(name, expr.span);
                    if *primed && position != Position::Constrain {
                        let message = format!("the new value of `{name}` can only be read in `constrain`");
                        self.error(expr.span, message);
                    }
                    if passive == Some(true) && position == Position::Plain {
                        let message = format!("`{name}` reads other threads, which is not possible here");
                        let error = Diagnostic::error(expr.span, message);
                        self.findings.push(error.help(
                            "it is allowed in `constrain` and in the value assigned to a variable `x$`",
                        ));
                    }
                }
            }
        }
    }
}

fn with_suggestion(error: Diagnostic, near: Option<&str>) -> Diagnostic {
    match near {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None => error,
    }
}

fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}
