//! Programs as control-flow graphs with explicit program counters.
//!
//! A node is a program counter, an edge is one step. Structured control flow is gone: `if` and
//! `while` are pairs of `assume` edges, `goto` is a fan of `skip` edges, `return` assigns the
//! return slots and goes to the exit node. Every edge remembers the source text it came from.
//!
//! Semantics, in one place (the decisions are those of [`crate::errata`]):
//! - Globals and locals start arbitrary. Every choice is fresh each time it is evaluated ([errata 1](crate::errata::item_1)).
//! - `Assert(e)` fails if some choice makes `e` false, and passes with `e` assumed ([errata 4](crate::errata::item_4)).
//! - A label is reached when control stands at its node ([errata 34](crate::errata::item_34)). An empty statement with a
//!   label has a node of its own wherever the place behind it can be reached without passing the label; a silent edge
//!   ([`Edge::silent`]) leads on. A label before `while` is at the head of the loop, where control comes
//!   before every evaluation of the condition.
//! - [`Procedure::enforce`] must be satisfiable in every state of the procedure: at entry and
//!   after every statement and every return into it, for the thread that makes the step
//!   ([errata 5](crate::errata::item_5), [errata 35](crate::errata::item_35)). A silent edge is no statement, so `enforce`
//!   is not demanded after it.
//! - A call enters the callee with fresh locals; reaching its exit node and handing the
//!   return slots to the caller is a step of its own.
//! - Threads interleave edge by edge. Inside an atomic section, or while the Getafix global
//!   `atomic` holds, only the thread that made the last step may go on; a thread that ends
//!   releases the system ([errata 19](crate::errata::item_19), [errata 37](crate::errata::item_37)).
//! - All threads are alike ([errata 35](crate::errata::item_35)). The prologue (what Cusp adds before `main`) is one
//!   indivisible step ([errata 36](crate::errata::item_36)): while the first thread is in it, no other thread moves. Its
//!   last edge, [`Program::leaves_prologue`], enters `main` and gives up the frame of the prologue, so that `main` is a
//!   thread's start procedure like any other, and releases the system: then every thread may be the first to move, even
//!   while the Getafix global holds.

pub mod calls;
pub mod control;
pub mod cube;
pub mod cuts;
pub mod eval;
pub mod expr;
pub mod live;
pub mod print;
pub mod reduce;

use std::fmt;

use crate::source::Span;
pub use expr::{Expr, ExprPool, Op, Place};

define_id!(
    /// A procedure of one [`Program`].
    ProcId, "p"
);
define_id!(
    /// A program counter within one procedure.
    Node, "n"
);
define_id!(
    /// An edge within one procedure.
    EdgeId, "a"
);

/// A variable, seen from inside a procedure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Var {
    /// A position in [`Program::globals`].
    Global(u32),
    /// A position in [`Procedure::locals`].
    Local(u32),
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global(i) => write!(f, "g{i}"),
            Self::Local(i) => write!(f, "l{i}"),
        }
    }
}

/// A declared variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its declaration.
    pub span: Span,
}

/// Left side of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The variable.
    pub var: Var,
    /// `x$`: assigned in every other thread instead of this one.
    pub passive: bool,
}

/// A parallel assignment: right sides read the state before, `constrain` reads both.
#[derive(Clone, Debug)]
pub struct Assign {
    /// Targets with their right sides; no target occurs twice.
    pub pairs: Vec<(Target, Expr)>,
    /// Each must be satisfiable between the states before and after: once, or, if it reads `x$`,
    /// for every thread that `x$` means. A written condition `a & b$` is two of them, so that `a` is
    /// demanded even where there is no other thread.
    pub constrain: Vec<Expr>,
}

impl Assign {
    /// Whether some target is another thread's variable.
    #[must_use]
    pub fn is_passive(&self) -> bool {
        self.pairs.iter().any(|(target, _)| target.passive)
    }
}

/// A call, synchronous or as the body of a new thread.
#[derive(Clone, Debug)]
pub struct Call {
    /// The procedure.
    pub callee: ProcId,
    /// One value for each parameter.
    pub args: Vec<Expr>,
    /// Where the return values go; `None` drops one. Empty if all are dropped.
    pub targets: Vec<Option<Var>>,
}

/// What an edge does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Nothing.
    Skip,
    /// Goes on only if the condition can hold.
    Assume(Expr),
    /// Fails if the condition can be false; goes on only if it can hold.
    Assert(Expr),
    /// A parallel assignment; `return` is one to the return slots.
    Assign(Box<Assign>),
    /// Runs a procedure to its exit.
    Call(Box<Call>),
    /// Starts a thread that runs a procedure; nothing happens at the thread bound.
    Spawn(Box<Call>),
    /// Starts a thread at a node of the same procedure with a copy of the locals.
    Fork(Node),
    /// Ends the thread.
    EndThread,
    /// Only this thread may run from here on.
    AtomicBegin,
    /// Every thread may run again.
    AtomicEnd,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The program counter before.
    pub from: Node,
    /// The program counter after.
    pub to: Node,
    /// What happens.
    pub action: Action,
    /// The source text of the step; empty for steps that Cusp added.
    pub span: Span,
    /// For the two sides of an `if` or `while`: whether its condition holds on this one.
    pub branch: Option<bool>,
    /// No statement makes this step, which only moves control: from the entry to the first statement, or
    /// on from the node of a label.
    pub silent: bool,
}

/// A procedure.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Its name; in angle brackets if Cusp added it.
    pub name: String,
    /// Its name in the source; empty if Cusp added it.
    pub span: Span,
    /// How many of the locals are parameters; they come first.
    pub params: u32,
    /// Parameters, declared locals, then return slots.
    pub locals: Vec<Variable>,
    /// How many of the locals are return slots; they come last.
    pub returns: u32,
    /// Holds in every state of the procedure.
    pub enforce: Option<Expr>,
    /// Labels in the order of the text; one may occur several times.
    pub labels: Vec<(String, Node)>,
    /// Number of nodes.
    pub nodes: u32,
    /// All edges, sorted by source.
    pub edges: Vec<Edge>,
    /// First edge of every node, and one past the last.
    pub first_edge: Vec<u32>,
}

impl Procedure {
    /// Where control enters.
    pub const ENTRY: Node = Node(0);
    /// Where control leaves; it has no edges.
    pub const EXIT: Node = Node(1);

    /// The edges that leave a node.
    pub fn edges_from(&self, node: Node) -> impl Iterator<Item = (EdgeId, &Edge)> {
        let range = self.first_edge[node.index()] as usize..self.first_edge[node.index() + 1] as usize;
        range.map(|i| (EdgeId::from_index(i), &self.edges[i]))
    }

    /// The edge behind an id.
    #[must_use]
    pub fn edge(&self, id: EdgeId) -> &Edge {
        &self.edges[id.index()]
    }

    /// Puts the edges in their order, after some were added.
    pub fn sort_edges(&mut self) {
        self.edges.sort_by_key(|edge| edge.from);
        let first = |node: usize| self.edges.partition_point(|edge| edge.from.index() < node) as u32;
        self.first_edge = (0..=self.nodes as usize).map(first).collect();
    }

    /// The first return slot.
    #[must_use]
    pub fn first_return(&self) -> u32 {
        self.locals.len() as u32 - self.returns
    }

    /// The nodes that carry a label ([errata 34](crate::errata::item_34)).
    pub fn nodes_labelled<'a>(&'a self, label: &'a str) -> impl Iterator<Item = Node> + 'a {
        self.labels.iter().filter(move |(name, _)| name == label).map(|&(_, node)| node)
    }
}

/// The name of the procedure that runs before `main`.
pub const PROLOGUE: &str = "<start>";

/// A whole program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Shared by all procedures and threads.
    pub globals: Vec<Variable>,
    /// All procedures that can be reached from the start.
    pub procedures: Vec<Procedure>,
    /// Runs first, in the first thread.
    pub start: ProcId,
    /// All expressions.
    pub exprs: ExprPool,
    /// Some step starts a thread.
    pub starts_threads: bool,
    /// The Getafix global that forbids context switches while it holds.
    pub atomic_flag: Option<u32>,
}

impl Program {
    /// The procedure behind an id.
    #[must_use]
    pub fn procedure(&self, id: ProcId) -> &Procedure {
        &self.procedures[id.index()]
    }

    /// All procedure ids.
    pub fn procedure_ids(&self) -> impl Iterator<Item = ProcId> + use<> {
        (0..self.procedures.len()).map(ProcId::from_index)
    }

    /// Whether a procedure is the one that Cusp put before `main`; it runs once.
    #[must_use]
    pub fn is_prologue(&self, procedure: ProcId) -> bool {
        procedure == self.start && self.procedure(procedure).name == PROLOGUE
    }

    /// Whether an edge of a procedure is the last one of the prologue, the call of `main`. In a program with
    /// threads the frame of `main` takes the place of the prologue's frame.
    #[must_use]
    pub fn leaves_prologue(&self, procedure: ProcId, edge: &Edge) -> bool {
        edge.to == Procedure::EXIT && self.is_prologue(procedure)
    }

    /// The name of a variable of a procedure.
    #[must_use]
    pub fn variable(&self, procedure: ProcId, var: Var) -> &Variable {
        match var {
            Var::Global(i) => &self.globals[i as usize],
            Var::Local(i) => &self.procedure(procedure).locals[i as usize],
        }
    }
}

/// What must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// No assertion fails.
    Assertions,
    /// No thread stands at this label, in any procedure.
    LabelUnreachable(String),
}

/// A program, what is asked of it, and how many threads may live at once.
#[derive(Clone, Debug)]
pub struct Task {
    /// The program.
    pub program: Program,
    /// What must not happen.
    pub property: Property,
    /// Threads that may live at once; `None` for any number.
    pub threads: Option<u32>,
}

impl Task {
    /// All assertions, in the order of the text.
    #[must_use]
    pub fn assertions(&self) -> Vec<(ProcId, EdgeId)> {
        let program = &self.program;
        let mut found: Vec<(Span, ProcId, EdgeId)> = Vec::new();
        for id in program.procedure_ids() {
            for (position, edge) in program.procedure(id).edges.iter().enumerate() {
                if matches!(edge.action, Action::Assert(_)) {
                    found.push((edge.span, id, EdgeId::from_index(position)));
                }
            }
        }
        found.sort_by_key(|&(span, id, edge)| (span.start, id, edge));
        found.into_iter().map(|(_, id, edge)| (id, edge)).collect()
    }

    /// The same question about one assertion only; the others are assumed.
    #[must_use]
    pub fn only_assertion(&self, procedure: ProcId, assertion: EdgeId) -> Self {
        let mut task = self.clone();
        for id in self.program.procedure_ids() {
            for (position, edge) in task.program.procedures[id.index()].edges.iter_mut().enumerate() {
                if let Action::Assert(condition) = edge.action
                    && (id, position) != (procedure, assertion.index())
                {
                    edge.action = Action::Assume(condition);
                }
            }
        }
        task
    }
}
