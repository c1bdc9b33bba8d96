//! Procedures, names, labels, and which place follows which.

use std::collections::HashMap;

use cusp::syntax::ast::{Ast, Dialect, ExprId, Item, Procedure, Stmt, StmtId, StmtKind};

use super::Bits;

/// Where control stands in a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Before the first statement.
    Entry,
    /// Before a statement; `part` counts the conditions of an `if` and the initial values of a `decl`.
    At { stmt: StmtId, part: usize },
    /// Behind the last statement.
    End,
    /// The procedure has returned these values, and its caller has not gone on yet.
    Returned(Bits),
}

/// A whole file.
pub struct Text<'a> {
    pub ast: &'a Ast,
    pub globals: Vec<&'a str>,
    /// Initial values of globals, in the order of the text.
    pub initialisers: Vec<(usize, ExprId)>,
    pub procs: Vec<Proc<'a>>,
    homes: HashMap<StmtId, Home<'a>>,
}

/// A procedure with its names.
pub struct Proc<'a> {
    pub syntax: &'a Procedure,
    /// Parameters, then declared variables, wherever in the body they are declared.
    pub locals: Vec<&'a str>,
    pub returns: usize,
    pub enforce: Vec<ExprId>,
    labels: HashMap<&'a str, StmtId>,
    starts_threads: bool,
    callees: Vec<&'a str>,
}

/// Where a statement stands: in a block, at a position, inside of another statement.
struct Home<'a> {
    block: &'a [StmtId],
    position: usize,
    inside: Option<StmtId>,
}

impl<'a> Text<'a> {
    pub fn new(ast: &'a Ast) -> Self {
        let mut text = Self {
            ast,
            globals: Vec::new(),
            initialisers: Vec::new(),
            procs: Vec::new(),
            homes: HashMap::new(),
        };
        for item in &ast.items {
            match item {
                Item::Globals(declared, _) => {
                    for variable in declared {
                        let value = variable.value.map(|value| (text.globals.len(), value));
                        text.initialisers.extend(value);
                        text.globals.push(&variable.name.name);
                    }
                }
                Item::Procedure(syntax) => {
                    let proc = text.procedure(syntax);
                    text.procs.push(proc);
                }
            }
        }
        text
    }

    fn procedure(&mut self, syntax: &'a Procedure) -> Proc<'a> {
        let mut proc = Proc {
            syntax,
            locals: syntax.params.iter().map(|param| param.name.as_str()).collect(),
            returns: 0,
            enforce: Vec::new(),
            labels: HashMap::new(),
            starts_threads: false,
            callees: Vec::new(),
        };
        let mut most_returned = 0;
        self.visit(&syntax.body, None, &mut |id, stmt| {
            for label in &stmt.labels {
                proc.labels.entry(&label.name).or_insert(id);
            }
            match &stmt.kind {
                StmtKind::Decl(declared) => {
                    proc.locals.extend(declared.iter().map(|variable| variable.name.name.as_str()));
                }
                StmtKind::Enforce(condition) => proc.enforce.push(*condition),
                StmtKind::Return(values) => most_returned = most_returned.max(values.len()),
                StmtKind::Call { callee, .. } => {
                    proc.callees.push(&callee.name);
                    proc.starts_threads |= is_asynchronous(stmt);
                }
                StmtKind::StartThreadCall { callee, .. } => {
                    proc.callees.push(&callee.name);
                    proc.starts_threads = true;
                }
                StmtKind::StartThreadAt { .. } => proc.starts_threads = true,
                _ => {}
            }
        });
        proc.returns = syntax.returns.map_or(most_returned, |returns| returns as usize);
        proc
    }

    /// Visits all statements of a block, and remembers where they stand.
    fn visit(&mut self, block: &'a [StmtId], inside: Option<StmtId>, see: &mut impl FnMut(StmtId, &'a Stmt)) {
        for (position, &id) in block.iter().enumerate() {
            self.homes.insert(id, Home { block, position, inside });
            let stmt = self.ast.stmt(id);
            see(id, stmt);
            match &stmt.kind {
                StmtKind::If { arms, otherwise } => {
                    let blocks = arms.iter().map(|(_, block)| block).chain(otherwise);
                    for block in blocks {
                        self.visit(block, Some(id), see);
                    }
                }
                StmtKind::While(_, block) => self.visit(block, Some(id), see),
                _ => {}
            }
        }
    }

    pub fn named(&self, name: &str) -> Option<usize> {
        self.procs.iter().position(|proc| proc.syntax.name.name == name)
    }

    fn is_getafix(&self) -> bool {
        self.ast.dialect == Dialect::Getafix
    }

    /// Getafix's procedure that runs before all threads.
    pub fn init(&self) -> Option<usize> {
        self.named("init").filter(|_| self.is_getafix())
    }

    /// The global that forbids context switches while it holds.
    pub fn flag(&self) -> Option<usize> {
        self.globals.iter().position(|&name| name == "atomic").filter(|_| self.is_getafix())
    }

    /// What the first threads run.
    pub fn first_threads(&self) -> Vec<usize> {
        let main = self.named("main");
        let is_thread =
            |&proc: &usize| self.is_getafix() && self.procs[proc].syntax.name.name.starts_with("thread");
        (0..self.procs.len()).filter(is_thread).chain(main).collect()
    }

    /// Whether some procedure that can run starts a thread.
    pub fn starts_threads(&self) -> bool {
        let mut open: Vec<usize> = self.first_threads().into_iter().chain(self.init()).collect();
        let mut seen = vec![false; self.procs.len()];
        while let Some(proc) = open.pop() {
            if !std::mem::replace(&mut seen[proc], true) {
                open.extend(self.procs[proc].callees.iter().filter_map(|name| self.named(name)));
            }
        }
        (0..self.procs.len()).any(|proc| seen[proc] && self.procs[proc].starts_threads)
    }

    /// Whether control stands at a label.
    pub fn is_at_label(&self, place: Place, label: &str) -> bool {
        match place {
            Place::At { stmt, part: 0 } => self.ast.stmt(stmt).labels.iter().any(|l| l.name == label),
            _ => false,
        }
    }

    /// The place of a label in a procedure.
    pub fn labelled(&self, proc: usize, label: &str) -> Place {
        Place::At { stmt: self.procs[proc].labels[label], part: 0 }
    }

    /// Where control goes from the entry.
    pub fn first(&self, proc: usize) -> Place {
        self.procs[proc].syntax.body.first().map_or(Place::End, |&stmt| self.land(stmt))
    }

    /// Where a block inside of a statement begins.
    pub fn begin(&self, block: &[StmtId], inside: StmtId) -> Place {
        match block.first() {
            Some(&stmt) => self.land(stmt),
            None => self.leave(inside),
        }
    }

    /// Where control is behind a statement.
    pub fn behind(&self, stmt: StmtId) -> Place {
        let Home { block, position, inside } = &self.homes[&stmt];
        match (block.get(position + 1), inside) {
            (Some(&next), _) => self.land(next),
            (None, Some(outer)) => self.leave(*outer),
            (None, None) => Place::End,
        }
    }

    /// Where control goes from the end of a block inside of a statement.
    fn leave(&self, outer: StmtId) -> Place {
        match self.ast.stmt(outer).kind {
            StmtKind::While(..) => Place::At { stmt: outer, part: 0 },
            _ => self.behind(outer),
        }
    }

    /// Before a statement, or behind it if it is nothing.
    fn land(&self, stmt: StmtId) -> Place {
        let Stmt { labels, kind, .. } = self.ast.stmt(stmt);
        if labels.is_empty() && is_nothing(kind) { self.behind(stmt) } else { Place::At { stmt, part: 0 } }
    }
}

/// Whether a statement does not do anything.
pub fn is_nothing(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Empty | StmtKind::Enforce(_) => true,
        StmtKind::Decl(declared) => declared.iter().all(|variable| variable.value.is_none()),
        _ => false,
    }
}

/// Whether a call starts a thread.
pub fn is_asynchronous(stmt: &Stmt) -> bool {
    stmt.labels.iter().any(|label| label.name.starts_with("ASYNC_"))
}
