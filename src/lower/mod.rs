//! Translates syntax trees to control-flow graphs.
//!
//! Statements get their program counters block by block from an explicit work list, so nesting costs no stack. The
//! code that runs before `main` (global initialisers, Getafix's `init` and threads, replication) becomes a procedure
//! `<start>`, so that a program has only one start ([errata 36](crate::errata::item_36)). Its last edge calls `main`;
//! no other edge of it leads to its exit.

mod expression;
mod graph;

use self::graph::Graph;
use crate::model::{
    Action, Assign, Call, Edge, Expr, ExprPool, Node, Op, ProcId, Procedure, Program, Target, Var, Variable,
};
use crate::resolve::{Names, Scope};
use crate::source::Span;
use crate::syntax::ast::{self, Ast, Dialect, ExprId, Stmt, StmtId, StmtKind};

/// The largest number of copies of `main` that [`Replication::Exactly`] may have: each copy is an edge of the
/// prologue and a thread in every state of the system.
pub const MOST_COPIES: u32 = 1000;

/// How many threads run `main`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replication {
    /// The first thread only.
    #[default]
    None,
    /// This number of threads, at most [`MOST_COPIES`].
    Exactly(u32),
    /// Any number of threads.
    Unbounded,
}

/// Builds the model of a file. Procedures that can never run are left out.
///
/// # Panics
/// Panics if the resolver reported errors for the file.
#[must_use]
pub fn lower(ast: &Ast, names: &Names, replication: Replication) -> Program {
    let order = names.reachable();
    let mut ids = vec![None; names.scopes.len()];
    for (id, &index) in order.iter().enumerate() {
        ids[index] = Some(ProcId::from_index(id));
    }
    let mut lowering = Lowering {
        ast,
        names,
        ids: &ids,
        exprs: ExprPool::default(),
        node_of: vec![Procedure::EXIT; ast.stmts.len()],
    };
    let mut procedures: Vec<Procedure> = order.iter().map(|&index| lowering.procedure(index)).collect();
    let main = names.entry.main.and_then(|main| ids[main]).expect("the resolver demands a start");
    let mut start = main;
    if let Some(prologue) = lowering.prologue(main, replication) {
        start = ProcId::from_index(procedures.len());
        procedures.push(prologue);
    }
    let starts_thread = |edge: &Edge| matches!(edge.action, Action::Spawn(_) | Action::Fork(_));
    let starts_threads = procedures.iter().any(|p| p.edges.iter().any(starts_thread));
    let atomic = names.global_by_name.get("atomic").copied();
    Program {
        globals: names.globals.iter().map(variable).collect(),
        procedures,
        start,
        exprs: lowering.exprs,
        starts_threads,
        atomic_flag: atomic.filter(|_| ast.dialect == Dialect::Getafix),
    }
}

fn variable((name, span): &(String, Span)) -> Variable {
    Variable { name: name.clone(), span: *span }
}

/// Whether a statement makes no step.
fn does_nothing(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Empty | StmtKind::Enforce(_) => true,
        StmtKind::Decl(declared) => declared.iter().all(|variable| variable.value.is_none()),
        _ => false,
    }
}

/// The place in the source of a statement that does nothing. Before `fi` or `od`, only its label can be shown.
fn place_of(statement: &Stmt) -> Span {
    match statement.labels.last() {
        Some(label) if statement.span.start == statement.span.end => label.span,
        _ => statement.span,
    }
}

struct Lowering<'a> {
    ast: &'a Ast,
    names: &'a Names,
    ids: &'a [Option<ProcId>],
    exprs: ExprPool,
    /// For each statement, the program counter before it.
    node_of: Vec<Node>,
}

impl<'a> Lowering<'a> {
    fn procedure(&mut self, index: usize) -> Procedure {
        let scope = &self.names.scopes[index];
        let syntax = self.names.procedure(self.ast, index);
        let mut locals: Vec<Variable> = scope.locals.iter().map(variable).collect();
        let first_return = locals.len() as u32;
        for i in 0..scope.returns {
            locals.push(Variable { name: format!("<return {}>", i + 1), span: syntax.name.span });
        }
        let enforce = self.conjunction(scope, &scope.enforce);
        let mut graph = Graph::new();
        let mut labels = Vec::new();
        let end = self.body(scope, syntax, &mut graph, &mut labels);
        let fall_off = self.return_action(first_return, scope.returns, None);
        graph.edge(end, fall_off, Procedure::EXIT, syntax.end);
        let (nodes, edges, first_edge) = graph.finish(&mut labels);
        Procedure {
            name: syntax.name.name.clone(),
            span: syntax.name.span,
            params: scope.params as u32,
            locals,
            returns: scope.returns as u32,
            enforce,
            labels,
            nodes,
            edges,
            first_edge,
        }
    }

    /// Translates the statements of a body, and returns the node after the last of them.
    fn body(
        &mut self,
        scope: &'a Scope,
        syntax: &'a ast::Procedure,
        graph: &mut Graph,
        labels: &mut Vec<(String, Node)>,
    ) -> Node {
        let fall_off = graph.node();
        // Only the last statement of the body leads to its end.
        let first = self.place(&syntax.body, fall_off, false, graph);
        graph.silent(Procedure::ENTRY, first, Span::default());
        let mut work: Vec<(&[StmtId], Node)> = vec![(&syntax.body, fall_off)];
        let mut jumps = Vec::new();
        while let Some((block, after)) = work.pop() {
            for (i, &id) in block.iter().enumerate() {
                let next = block.get(i + 1).map_or(after, |next| self.node_of[next.index()]);
                let statement = self.ast.stmt(id);
                let from = self.node_of[id.index()];
                labels.extend(statement.labels.iter().map(|label| (label.name.clone(), from)));
                match &statement.kind {
                    StmtKind::If { arms, otherwise } => {
                        let mut at = from;
                        for (position, (condition, block)) in arms.iter().enumerate() {
                            let span =
                                if position == 0 { statement.span } else { self.ast.expr(*condition).span };
                            let then = self.place(block, next, true, graph);
                            work.push((block, next));
                            let last = position + 1 == arms.len();
                            let other = match otherwise {
                                Some(block) if last => {
                                    work.push((block, next));
                                    self.place(block, next, true, graph)
                                }
                                None if last => next,
                                _ => graph.node(),
                            };
                            let (holds, fails) = self.both_ways(scope, *condition);
                            graph.branch(at, holds, fails, [then, other], span);
                            at = other;
                        }
                    }
                    StmtKind::While(condition, block) => {
                        let inside = self.place(block, from, true, graph);
                        work.push((block, from));
                        let (holds, fails) = self.both_ways(scope, *condition);
                        graph.branch(from, holds, fails, [inside, next], statement.span);
                    }
                    StmtKind::Goto(_) | StmtKind::StartThreadAt { .. } => jumps.push((id, from, next)),
                    kind if does_nothing(kind) => {
                        if from != next {
                            graph.silent(from, next, place_of(statement));
                        }
                    }
                    _ => self.simple(scope, statement, from, next, graph),
                }
            }
        }
        // The program counters of labels are known only now.
        let node_of = &self.node_of;
        let target = |label: &ast::Ident| node_of[scope.labels[&label.name].index()];
        for (id, from, next) in jumps {
            let statement = self.ast.stmt(id);
            match &statement.kind {
                StmtKind::Goto(targets) => {
                    for label in targets {
                        graph.edge(from, Action::Skip, target(label), statement.span);
                    }
                }
                StmtKind::StartThreadAt { label, .. } => {
                    graph.edge(from, Action::Fork(target(label)), next, statement.span);
                }
                _ => unreachable!("only jumps are put off"),
            }
        }
        fall_off
    }

    /// Assigns program counters to the statements of a block, and returns the first one. `shared` tells whether control
    /// may reach `after` on another path than through the end of the block.
    ///
    /// Statements that do nothing share the program counter of the next statement. If such a statement has a label, it
    /// does so only if control cannot reach the next statement without passing the label; otherwise the label would
    /// count as reached whenever the next statement is.
    fn place(&mut self, block: &[StmtId], after: Node, mut shared: bool, graph: &mut Graph) -> Node {
        let mut next = after;
        for &id in block.iter().rev() {
            let Stmt { labels, kind, .. } = self.ast.stmt(id);
            if !does_nothing(kind) || shared && !labels.is_empty() {
                next = graph.node();
                shared = false;
            }
            self.node_of[id.index()] = next;
            // Jumps lead to labels, and the end of a loop's body leads to its head.
            shared |= !labels.is_empty() || matches!(kind, StmtKind::While(..));
        }
        next
    }

    /// Translates statements with one successor and without a nested block.
    fn simple(&mut self, scope: &Scope, statement: &ast::Stmt, from: Node, next: Node, graph: &mut Graph) {
        let span = statement.span;
        let action = match &statement.kind {
            StmtKind::Decl(declared) => {
                let initialised: Vec<_> = declared.iter().filter(|d| d.value.is_some()).collect();
                let mut at = from;
                for (i, variable) in initialised.iter().enumerate() {
                    let to = if i + 1 == initialised.len() { next } else { graph.node() };
                    let span = variable
                        .value
                        .map_or(variable.name.span, |v| variable.name.span.to(self.ast.expr(v).span));
                    let pair = variable.value.map(|value| {
                        let target = self.target(Some(scope), &variable.name.name);
                        (target, self.expr(Some(scope), value))
                    });
                    let assign = Assign { pairs: pair.into_iter().collect(), constrain: Vec::new() };
                    graph.edge(at, Action::Assign(Box::new(assign)), to, span);
                    at = to;
                }
                return;
            }
            StmtKind::Skip | StmtKind::Print(_) | StmtKind::Error => Action::Skip,
            StmtKind::Assume(e) | StmtKind::Constrain(e) => Action::Assume(self.expr(Some(scope), *e)),
            StmtKind::Assert(e) => Action::Assert(self.expr(Some(scope), *e)),
            StmtKind::AbortIf(e) => {
                let (_, fails) = self.both_ways(scope, *e);
                Action::Assert(fails)
            }
            StmtKind::Assign { targets, values, constrain } => {
                let mut pairs = Vec::with_capacity(targets.len());
                for (target, value) in targets.iter().zip(values) {
                    if let ast::Target::Name(name) = target {
                        let target = self.target(Some(scope), &name.name);
                        pairs.push((target, self.expr(Some(scope), *value)));
                    }
                }
                let constrain = constrain.map_or_else(Vec::new, |e| self.constraints(scope, e));
                Action::Assign(Box::new(Assign { pairs, constrain }))
            }
            StmtKind::Dead(variables) => {
                let mut pairs: Vec<(Target, Expr)> = Vec::with_capacity(variables.len());
                for variable in variables {
                    let target = self.target(Some(scope), &variable.name);
                    if pairs.iter().all(|(other, _)| *other != target) {
                        pairs.push((target, self.exprs.single(Op::Choice)));
                    }
                }
                Action::Assign(Box::new(Assign { pairs, constrain: Vec::new() }))
            }
            StmtKind::Call { targets, callee, args } => {
                let asynchronous = statement.labels.iter().any(|l| l.name.starts_with("ASYNC_"));
                let targets = targets
                    .iter()
                    .map(|target| match target {
                        ast::Target::Name(name) => Some(self.target(Some(scope), &name.name).var),
                        ast::Target::Drop(_) => None,
                    })
                    .collect();
                let call = Box::new(self.call(scope, callee, args, targets));
                if asynchronous { Action::Spawn(call) } else { Action::Call(call) }
            }
            StmtKind::StartThreadCall { callee, args } => {
                Action::Spawn(Box::new(self.call(scope, callee, args, Vec::new())))
            }
            StmtKind::Return(values) => {
                let first = scope.locals.len() as u32;
                let action = self.return_action(first, scope.returns, Some((scope, values)));
                graph.edge(from, action, Procedure::EXIT, span);
                return;
            }
            StmtKind::EndThread => Action::EndThread,
            StmtKind::AtomicBegin => Action::AtomicBegin,
            StmtKind::AtomicEnd => Action::AtomicEnd,
            StmtKind::Empty
            | StmtKind::Enforce(_)
            | StmtKind::If { .. }
            | StmtKind::While(..)
            | StmtKind::Goto(_)
            | StmtKind::StartThreadAt { .. } => unreachable!("handled by `body`"),
        };
        graph.edge(from, action, next, span);
    }

    fn call(
        &mut self,
        scope: &Scope,
        callee: &ast::Ident,
        args: &[ExprId],
        targets: Vec<Option<Var>>,
    ) -> Call {
        let index = self.names.procedure_by_name[&callee.name];
        let callee = self.ids[index].expect("the callee of a reachable call is reachable");
        Call { callee, args: args.iter().map(|&arg| self.expr(Some(scope), arg)).collect(), targets }
    }

    /// Fills the return slots: with the given values, or with arbitrary ones if control reaches the end of the body
    /// without `return`.
    fn return_action(&mut self, first: u32, returns: usize, values: Option<(&Scope, &[ExprId])>) -> Action {
        if returns == 0 {
            return Action::Skip;
        }
        let mut pairs = Vec::with_capacity(returns);
        for i in 0..returns {
            let value = match values {
                Some((scope, values)) => self.expr(Some(scope), values[i]),
                None => self.exprs.single(Op::Choice),
            };
            pairs.push((Target { var: Var::Local(first + i as u32), passive: false }, value));
        }
        Action::Assign(Box::new(Assign { pairs, constrain: Vec::new() }))
    }

    /// The procedure that runs before `main`, if one is needed.
    fn prologue(&mut self, main: ProcId, replication: Replication) -> Option<Procedure> {
        let names = self.names;
        let entry = &names.entry;
        let plain = matches!(replication, Replication::None | Replication::Exactly(0 | 1));
        if names.initialisers.is_empty() && entry.init.is_none() && entry.threads.is_empty() && plain {
            return None;
        }
        let mut graph = Graph::new();
        let mut at = graph.node();
        graph.silent(Procedure::ENTRY, at, Span::default());
        for &(global, value) in &names.initialisers {
            let target = Target { var: Var::Global(global), passive: false };
            let assign = Assign { pairs: vec![(target, self.expr(None, value))], constrain: Vec::new() };
            let span = names.globals[global as usize].1.to(self.ast.expr(value).span);
            graph.step(&mut at, Action::Assign(Box::new(assign)), span);
        }
        if let Some(init) = entry.init {
            let span = names.procedure(self.ast, init).name.span;
            let call = self.arbitrary_call(init);
            graph.step(&mut at, Action::Call(Box::new(call)), span);
        }
        for &thread in &entry.threads {
            let span = names.procedure(self.ast, thread).name.span;
            let call = self.arbitrary_call(thread);
            graph.step(&mut at, Action::Spawn(Box::new(call)), span);
        }
        let main_index = entry.main.expect("the resolver demands a start");
        let main_span = names.procedure(self.ast, main_index).name.span;
        let copies = match replication {
            Replication::None => 0,
            Replication::Exactly(n) => n.saturating_sub(1),
            Replication::Unbounded => 1,
        };
        let head = at;
        for _ in 0..copies {
            let call = self.arbitrary_call(main_index);
            graph.step(&mut at, Action::Spawn(Box::new(call)), main_span);
        }
        if replication == Replication::Unbounded {
            graph.silent(at, head, Span::default());
            graph.silent(head, at, Span::default());
            // The call must be the only edge of its node.
            let ready = graph.node();
            graph.silent(at, ready, Span::default());
            at = ready;
        }
        Some(self.start_procedure(graph, at, main_index, main, main_span))
    }

    fn start_procedure(
        &mut self,
        mut graph: Graph,
        at: Node,
        main_index: usize,
        main: ProcId,
        span: Span,
    ) -> Procedure {
        let call = self.arbitrary_call(main_index);
        debug_assert_eq!(call.callee, main);
        graph.edge(at, Action::Call(Box::new(call)), Procedure::EXIT, span);
        let (nodes, edges, first_edge) = graph.finish(&mut []);
        Procedure {
            name: crate::model::PROLOGUE.to_owned(),
            span: Span::default(),
            params: 0,
            locals: Vec::new(),
            returns: 0,
            enforce: None,
            labels: Vec::new(),
            nodes,
            edges,
            first_edge,
        }
    }

    /// A call with arbitrary arguments that ignores the return values.
    fn arbitrary_call(&mut self, index: usize) -> Call {
        let callee = self.ids[index].expect("what runs at the start is reachable");
        let args = (0..self.names.scopes[index].params).map(|_| self.exprs.single(Op::Choice)).collect();
        Call { callee, args, targets: Vec::new() }
    }

    fn target(&self, scope: Option<&Scope>, name: &str) -> Target {
        let meaning = self.names.variable(scope, name).expect("the resolver found it");
        Target { var: meaning.var, passive: meaning.passive }
    }
}
