//! Programs as control-flow graphs with explicit program counters.
//!
//! A node is a program counter, and an edge is one step. Structured control flow is translated: `if` and `while`
//! become pairs of `assume` edges, `goto` becomes a set of `skip` edges, and `return` assigns the return slots and
//! leads to the exit node. Every edge records the source text it came from.
//!
//! The semantics is as follows (the decisions are those of [`crate::errata`]):
//! - Globals and locals have arbitrary initial values. Every choice is made anew each time it is evaluated
//!   ([errata 1](crate::errata::item_1)).
//! - `Assert(e)` fails if some choice makes `e` false; when it passes, `e` is assumed
//!   ([errata 4](crate::errata::item_4)).
//! - A label is reached when control is at its node ([errata 34](crate::errata::item_34)). An empty statement with a
//!   label has a node of its own if the next node can also be reached without passing the label; a silent edge
//!   ([`Edge::silent`]) leads from there to the next node. A label before `while` is at the head of the loop, which
//!   control reaches before every evaluation of the condition.
//! - [`Procedure::enforce`] must be satisfiable in every state of the procedure: at the entry, after every statement,
//!   and after every return into the procedure, for the thread that makes the step
//!   ([errata 5](crate::errata::item_5), [errata 35](crate::errata::item_35)). A silent edge is not a statement, so
//!   `enforce` is not required after it.
//! - A call enters the callee with arbitrary locals. The return, which hands the return slots from the callee's exit
//!   node to the caller, is a step of its own.
//! - Threads interleave edge by edge. Inside an atomic section, or while the Getafix global `atomic` is true, only
//!   the thread that made the last step may make the next one; a thread that ends releases the system
//!   ([errata 19](crate::errata::item_19), [errata 37](crate::errata::item_37)).
//! - All threads are treated alike ([errata 35](crate::errata::item_35)). The prologue (what Cusp adds before
//!   `main`) is one indivisible step ([errata 36](crate::errata::item_36)): while the first thread is in it, no
//!   other thread makes a step. The last edge of the prologue, [`Program::leaves_prologue`], enters `main` and
//!   removes the frame of the prologue, so that `main` is a thread's start procedure like any other. It also releases
//!   the system: then any thread may make the next step, even while the Getafix global is true.

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
    /// The name of the variable.
    pub name: String,
    /// The place of its declaration in the source.
    pub span: Span,
}

/// The left side of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The variable.
    pub var: Var,
    /// Whether it is written `x$`, so that every other thread is assigned instead of this one.
    pub passive: bool,
}

/// A parallel assignment. Right sides read the state before it; the conditions of `constrain` read the states before
/// and after it.
#[derive(Clone, Debug)]
pub struct Assign {
    /// The targets with their right sides; no target occurs twice.
    pub pairs: Vec<(Target, Expr)>,
    /// Conditions, each of which must be satisfiable between the states before and after. A condition that reads `x$`
    /// is checked for every thread that `x$` refers to, any other condition once. A written condition `a & b$`
    /// becomes two conditions, so that `a` is required even if there is no other thread.
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
    /// The procedure that is called.
    pub callee: ProcId,
    /// The arguments, one for each parameter.
    pub args: Vec<Expr>,
    /// The variables that take the return values; `None` drops a value. The list is empty if all values are dropped.
    pub targets: Vec<Option<Var>>,
}

/// What an edge does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Does nothing.
    Skip,
    /// Blocks unless the condition can hold.
    Assume(Expr),
    /// Fails if the condition can be false; continues only if it can hold.
    Assert(Expr),
    /// A parallel assignment; `return` is one to the return slots.
    Assign(Box<Assign>),
    /// Runs a procedure to its exit.
    Call(Box<Call>),
    /// Starts a thread that runs a procedure; if the thread bound is reached, it does nothing.
    Spawn(Box<Call>),
    /// Starts a thread at a node of the same procedure with a copy of the locals.
    Fork(Node),
    /// Ends the thread.
    EndThread,
    /// Begins an atomic section: only this thread may run from here on.
    AtomicBegin,
    /// Ends an atomic section: every thread may run again.
    AtomicEnd,
}

/// An edge of a control-flow graph: one step.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The program counter before.
    pub from: Node,
    /// The program counter after.
    pub to: Node,
    /// What the step does.
    pub action: Action,
    /// The source text of the step; empty for a step that Cusp added.
    pub span: Span,
    /// For an edge of an `if` or `while`: whether its condition holds on this branch.
    pub branch: Option<bool>,
    /// Whether the step belongs to no statement and only moves control: from the entry to the first statement, or
    /// from the node of a label to the next node.
    pub silent: bool,
}

/// A procedure.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// The name; it is in angle brackets if Cusp added the procedure.
    pub name: String,
    /// The place of its name in the source; empty if Cusp added the procedure.
    pub span: Span,
    /// How many of the locals are parameters. They come first.
    pub params: u32,
    /// Parameters, then declared locals, then return slots.
    pub locals: Vec<Variable>,
    /// How many of the locals are return slots. They come last.
    pub returns: u32,
    /// The condition that must be satisfiable in every state of the procedure.
    pub enforce: Option<Expr>,
    /// Labels with their nodes, in the order of the text; a label may occur several times.
    pub labels: Vec<(String, Node)>,
    /// The number of nodes.
    pub nodes: u32,
    /// All edges, sorted by source node.
    pub edges: Vec<Edge>,
    /// The position of the first edge of every node, and one past the last edge.
    pub first_edge: Vec<u32>,
}

impl Procedure {
    /// The node where control enters.
    pub const ENTRY: Node = Node(0);
    /// The node where control leaves; it has no outgoing edges.
    pub const EXIT: Node = Node(1);

    /// The edges that leave a node.
    pub fn edges_from(&self, node: Node) -> impl Iterator<Item = (EdgeId, &Edge)> {
        let range = self.first_edge[node.index()] as usize..self.first_edge[node.index() + 1] as usize;
        range.map(|i| (EdgeId::from_index(i), &self.edges[i]))
    }

    /// The edge with an id.
    #[must_use]
    pub fn edge(&self, id: EdgeId) -> &Edge {
        &self.edges[id.index()]
    }

    /// Sorts the edges, after some were added.
    pub fn sort_edges(&mut self) {
        self.edges.sort_by_key(|edge| edge.from);
        let first = |node: usize| self.edges.partition_point(|edge| edge.from.index() < node) as u32;
        self.first_edge = (0..=self.nodes as usize).map(first).collect();
    }

    /// The position of the first return slot among the locals.
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
    /// The variables that all procedures and threads share.
    pub globals: Vec<Variable>,
    /// All procedures that can be reached from the start.
    pub procedures: Vec<Procedure>,
    /// The procedure with which the first thread starts.
    pub start: ProcId,
    /// The code of all expressions.
    pub exprs: ExprPool,
    /// Whether some step starts a thread.
    pub starts_threads: bool,
    /// The Getafix global that forbids context switches while it is true.
    pub atomic_flag: Option<u32>,
}

impl Program {
    /// The procedure with an id.
    #[must_use]
    pub fn procedure(&self, id: ProcId) -> &Procedure {
        &self.procedures[id.index()]
    }

    /// All procedure ids.
    pub fn procedure_ids(&self) -> impl Iterator<Item = ProcId> + use<> {
        (0..self.procedures.len()).map(ProcId::from_index)
    }

    /// Whether a procedure is the prologue that Cusp put before `main`, which runs once.
    #[must_use]
    pub fn is_prologue(&self, procedure: ProcId) -> bool {
        procedure == self.start && self.procedure(procedure).name == PROLOGUE
    }

    /// Whether an edge of a procedure is the last one of the prologue, the call of `main`. In a program with threads,
    /// the frame of `main` replaces the prologue's frame.
    #[must_use]
    pub fn leaves_prologue(&self, procedure: ProcId, edge: &Edge) -> bool {
        edge.to == Procedure::EXIT && self.is_prologue(procedure)
    }

    /// The declaration of a variable of a procedure.
    #[must_use]
    pub fn variable(&self, procedure: ProcId, var: Var) -> &Variable {
        match var {
            Var::Global(i) => &self.globals[i as usize],
            Var::Local(i) => &self.procedure(procedure).locals[i as usize],
        }
    }
}

/// The property to be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// No assertion fails.
    Assertions,
    /// No thread reaches this label, in any procedure.
    LabelUnreachable(String),
}

/// A program, the property to be checked, and the thread bound.
#[derive(Clone, Debug)]
pub struct Task {
    /// The program.
    pub program: Program,
    /// The property to be checked.
    pub property: Property,
    /// The number of threads that may be alive at once; `None` for any number.
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

    /// The task of checking one assertion only; the others become assumptions.
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
