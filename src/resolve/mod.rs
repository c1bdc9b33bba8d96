//! Name resolution: finds the declaration of every name in a file, or reports an error.
//!
//! [`crate::lower`] uses the tables that are built here. It is not called for a file with errors. All
//! errors and warnings of a file are reported in one run.

mod check;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::Diagnostic;
use crate::diagnostic::collect::Collector;
use crate::model::Var;
use crate::source::Span;
use crate::syntax::ast::{Ast, Dialect, ExprId, Ident, Item, Procedure, StmtId, StmtKind};

/// The names that are declared in a procedure.
#[derive(Debug, Default)]
pub struct Scope {
    /// The position of its [`Item`] in the file.
    pub item: usize,
    /// The parameters, followed by the declared locals, with the spans of their declarations.
    pub locals: Vec<(String, Span)>,
    /// How many of the locals are parameters.
    pub params: usize,
    /// How many values it returns.
    pub returns: usize,
    /// The position of each local, by its name.
    pub by_name: FxHashMap<String, u32>,
    /// The first statement with each label.
    pub labels: FxHashMap<String, StmtId>,
    /// The conditions of all `enforce` statements in the body.
    pub enforce: Vec<ExprId>,
    /// The procedures that it calls or starts in a thread, in the order of the text, each once.
    pub callees: Vec<usize>,
}

/// The names of a whole file.
#[derive(Debug, Default)]
pub struct Names {
    /// The globals in the order of the text, with the spans of their declarations.
    pub globals: Vec<(String, Span)>,
    /// The initial values of globals, in the order of the text.
    pub initialisers: Vec<(u32, ExprId)>,
    /// The position of each global, by its name.
    pub global_by_name: FxHashMap<String, u32>,
    /// The scopes of all procedures, in the order of the text.
    pub scopes: Vec<Scope>,
    /// The position of each scope, by the name of its procedure.
    pub procedure_by_name: FxHashMap<String, usize>,
    /// The procedures that run at the start; see [`Entry`].
    pub entry: Entry,
}

/// The procedures that run at the start.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The procedure that runs to its end before everything else (`init` in the Getafix dialect).
    pub init: Option<usize>,
    /// The procedures that run in further threads after that (`thread*` in the Getafix dialect).
    pub threads: Vec<usize>,
    /// The procedure that runs in the first thread.
    pub main: Option<usize>,
}

impl Entry {
    /// All procedures that run at the start.
    pub fn procedures(&self) -> impl Iterator<Item = usize> + '_ {
        self.init.iter().chain(&self.threads).chain(&self.main).copied()
    }
}

/// The meaning of a name in an expression, or on the left side of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The variable.
    pub var: Var,
    /// The name was written `x$`: the copies of the variable in all other threads.
    pub passive: bool,
}

impl Names {
    /// The meaning of a variable name inside a procedure. Locals hide globals. `x$` means the `x` of the
    /// other threads if `x` is a local and no variable with the name `x$` is declared.
    #[must_use]
    pub fn variable(&self, scope: Option<&Scope>, name: &str) -> Option<Meaning> {
        let local = |name: &str| scope.and_then(|s| s.by_name.get(name)).map(|&i| Var::Local(i));
        let own = |var| Meaning { var, passive: false };
        if let Some(var) = local(name) {
            return Some(own(var));
        }
        if let Some(&i) = self.global_by_name.get(name) {
            return Some(own(Var::Global(i)));
        }
        let var = local(name.strip_suffix('$')?)?;
        Some(Meaning { var, passive: true })
    }

    /// The syntax of a procedure.
    ///
    /// # Panics
    /// Never, because the item of a scope is a procedure.
    #[must_use]
    pub fn procedure<'a>(&self, ast: &'a Ast, index: usize) -> &'a Procedure {
        match &ast.items[self.scopes[index].item] {
            Item::Procedure(procedure) => procedure,
            Item::Globals(..) => unreachable!("scopes are made from procedures"),
        }
    }

    /// The procedures that can be reached from the start by calls. A procedure comes after the first caller
    /// through which it was found.
    #[must_use]
    pub fn reachable(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        let mut seen = vec![false; self.scopes.len()];
        let mut visit = |index: usize, order: &mut Vec<usize>| {
            if !std::mem::replace(&mut seen[index], true) {
                order.push(index);
            }
        };
        self.entry.procedures().for_each(|index| visit(index, &mut order));
        let mut next = 0;
        while next < order.len() {
            for &callee in &self.scopes[order[next]].callees {
                visit(callee, &mut order);
            }
            next += 1;
        }
        order
    }
}

/// Resolves all names of a file.
///
/// # Errors
/// All errors and warnings, if there is at least one error.
pub fn resolve(ast: &Ast) -> Result<(Names, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut findings = Collector::default();
    let mut names = declare(ast, &mut findings);
    check::check(ast, &mut names, &mut findings);
    names.entry = find_entry(ast, &names, &mut findings);
    if findings.has_errors() {
        return Err(findings.into_sorted());
    }
    warn_of_unreachable_procedures(ast, &names, &mut findings);
    Ok((names, findings.into_sorted()))
}

/// Collects all declarations: globals, procedures, parameters, locals, labels.
fn declare(ast: &Ast, findings: &mut Collector) -> Names {
    let mut names = Names::default();
    for (position, item) in ast.items.iter().enumerate() {
        match item {
            Item::Globals(declared, _) => {
                for variable in declared {
                    let index = names.globals.len() as u32;
                    let name = &variable.name;
                    if let Some(&first) = names.global_by_name.get(&name.name) {
                        let first = names.globals[first as usize].1;
                        findings.push(declared_twice("global variable", &name.name, name.span, first));
                    } else {
                        names.global_by_name.insert(name.name.clone(), index);
                    }
                    names.globals.push((name.name.clone(), name.span));
                    names.initialisers.extend(variable.value.map(|value| (index, value)));
                }
            }
            Item::Procedure(procedure) => {
                let index = names.scopes.len();
                let name = &procedure.name;
                if let Some(&first) = names.procedure_by_name.get(&name.name) {
                    let first = names.procedure(ast, first).name.span;
                    findings.push(declared_twice("procedure", &name.name, name.span, first));
                } else {
                    names.procedure_by_name.insert(name.name.clone(), index);
                }
                names.scopes.push(declare_procedure(ast, position, procedure, findings));
            }
        }
    }
    names
}

fn declare_procedure(ast: &Ast, item: usize, procedure: &Procedure, findings: &mut Collector) -> Scope {
    let mut scope = Scope { item, params: procedure.params.len(), ..Scope::default() };
    let mut declare = |scope: &mut Scope, kind: &str, name: &str, span: Span| {
        let index = scope.locals.len() as u32;
        scope.locals.push((name.to_owned(), span));
        if let Some(&first) = scope.by_name.get(name) {
            findings.push(declared_twice(kind, name, span, scope.locals[first as usize].1));
        } else {
            scope.by_name.insert(name.to_owned(), index);
        }
    };
    for param in &procedure.params {
        declare(&mut scope, "parameter", &param.name, param.span);
    }
    let mut longest_return = 0;
    let mut repeated = Vec::new();
    let mut jumps: FxHashSet<&str> = FxHashSet::default();
    for id in statements(ast, &procedure.body) {
        let statement = ast.stmt(id);
        for label in &statement.labels {
            if let Some(&first) = scope.labels.get(&label.name) {
                repeated.push((label, first));
            } else {
                scope.labels.insert(label.name.clone(), id);
            }
        }
        match &statement.kind {
            StmtKind::Decl(declared) => {
                for variable in declared {
                    declare(&mut scope, "local variable", &variable.name.name, variable.name.span);
                }
            }
            StmtKind::Enforce(condition) => scope.enforce.push(*condition),
            StmtKind::Return(values) => longest_return = longest_return.max(values.len()),
            StmtKind::Goto(targets) => jumps.extend(targets.iter().map(|t| t.name.as_str())),
            StmtKind::StartThreadAt { label, .. } => jumps.extend([label.name.as_str()]),
            _ => {}
        }
    }
    for (label, first) in repeated {
        let is_target = jumps.contains(label.name.as_str());
        if let Some(finding) = repeated_label(ast, label, first, is_target) {
            findings.push(finding);
        }
    }
    scope.returns = procedure.returns.map_or(longest_return, |n| n as usize);
    scope
}

/// Reports a label that is used twice in a procedure. As the property it is allowed (real Getafix files have
/// such labels), but no statement may jump to it.
fn repeated_label(ast: &Ast, label: &Ident, first: StmtId, is_target: bool) -> Option<Diagnostic> {
    let first = ast.stmt(first).labels.iter().find(|l| l.name == label.name)?.span;
    let twice = declared_twice("label", &label.name, label.span, first);
    if is_target {
        Some(twice.help("jumps to it would be ambiguous"))
    } else if ast.dialect == Dialect::Getafix {
        None
    } else {
        let message = format!("label `{}` marks several statements", label.name);
        Some(Diagnostic::warning(label.span, message).related(first, "first here"))
    }
}

fn declared_twice(kind: &str, name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::error(span, format!("{kind} `{name}` is declared twice"))
        .caret("declared again")
        .related(first, "first declared here")
}

/// All statements in a block, nested ones included, in the order of the text.
pub fn statements<'a>(ast: &'a Ast, block: &'a [StmtId]) -> impl Iterator<Item = StmtId> + 'a {
    let mut pending: Vec<std::slice::Iter<'a, StmtId>> = vec![block.iter()];
    std::iter::from_fn(move || {
        loop {
            let Some(&id) = pending.last_mut()?.next() else {
                pending.pop();
                continue;
            };
            match &ast.stmt(id).kind {
                StmtKind::If { arms, otherwise } => {
                    pending.extend(otherwise.iter().map(|block| block.iter()));
                    pending.extend(arms.iter().rev().map(|(_, block)| block.iter()));
                }
                StmtKind::While(_, body) => pending.push(body.iter()),
                _ => {}
            }
            return Some(id);
        }
    })
}

fn find_entry(ast: &Ast, names: &Names, findings: &mut Collector) -> Entry {
    let named = |name: &str| names.procedure_by_name.get(name).copied();
    let mut entry = Entry { main: named("main"), ..Entry::default() };
    if ast.dialect == Dialect::Getafix {
        entry.init = named("init");
        let is_thread = |&i: &usize| names.procedure(ast, i).name.name.starts_with("thread");
        entry.threads = (0..names.scopes.len()).filter(is_thread).collect();
        // If there is no `main`, the last of the procedures `thread*` runs in the first thread.
        if entry.main.is_none() {
            entry.main = entry.threads.pop();
        }
    }
    if entry.main.is_none() {
        findings.push(no_main(ast, names));
    }
    entry
}

fn no_main(ast: &Ast, names: &Names) -> Diagnostic {
    let span = names.scopes.first().map_or(Span::default(), |_| names.procedure(ast, 0).name.span);
    if names.scopes.is_empty() {
        return Diagnostic::error(span, "the program has no procedures, so there is no `main` to run");
    }
    let error = Diagnostic::error(span, "the program has no procedure `main`");
    let thread = |scope: &Scope| match &ast.items[scope.item] {
        Item::Procedure(procedure) => procedure.name.name.starts_with("thread"),
        Item::Globals(..) => false,
    };
    if names.scopes.iter().any(thread) {
        error.help("programs that run the procedures `thread*` need `--dialect getafix`")
    } else {
        error.help("name the procedure that runs first `main`")
    }
}

fn warn_of_unreachable_procedures(ast: &Ast, names: &Names, findings: &mut Collector) {
    let mut unreachable = vec![true; names.scopes.len()];
    names.reachable().iter().for_each(|&index| unreachable[index] = false);
    let unreachable: Vec<usize> = (0..names.scopes.len()).filter(|&i| unreachable[i]).collect();
    let Some(&first) = unreachable.first() else { return };
    let name = |&i: &usize| format!("`{}`", names.procedure(ast, i).name.name);
    let shown: Vec<String> = unreachable.iter().take(5).map(name).collect();
    let more = match unreachable.len().saturating_sub(shown.len()) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let (noun, verb) = if unreachable.len() == 1 { ("procedure", "is") } else { ("procedures", "are") };
    let message = format!("{noun} {}{more} {verb} never called", shown.join(", "));
    findings.push(Diagnostic::warning(names.procedure(ast, first).name.span, message));
}
