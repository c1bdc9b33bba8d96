//! The violation in the last state of a trace.

use rustc_hash::FxHashSet;

use crate::evidence::Trace;
use crate::evidence::trace::{CallTree, End, Interleaving, Run, State, Valuation, Violation};
use crate::model::{Action, EdgeId, Node, ProcId, Procedure, Property, Task, Var};
use crate::source::{Source, Span};

use super::words::{one_line, statement_at};

/// The violated statement and the values that it reads.
#[derive(Clone, Debug)]
pub struct Violated<'a> {
    /// The procedure of the statement.
    pub procedure: ProcId,
    /// The thread that violates the property, in concurrent traces.
    pub thread: Option<u32>,
    /// The label that is reached; `None` for an assertion.
    pub label: Option<&'a str>,
    /// The place of the statement in the source.
    pub span: Span,
    /// The variables that the assertion reads, in order, with their values.
    pub values: Vec<(Var, bool)>,
}

impl<'a> Violated<'a> {
    /// Finds the violation at the end of a checked trace.
    #[must_use]
    pub fn find(task: &'a Task, trace: &Trace) -> Self {
        match trace {
            Trace::Sequential(tree) => in_tree(task, tree),
            Trace::Interleaved(interleaving) => in_interleaving(task, interleaving),
        }
    }

    /// The statement on one line, with the label that is reached.
    #[must_use]
    pub fn text(&self, source: &Source) -> String {
        let statement = one_line(source.slice(self.span));
        match self.label {
            None => statement,
            // There is no statement, only the label.
            Some(label) if label == statement => format!("{label}:"),
            Some(label) => format!("{label}: {statement}"),
        }
    }

    /// A short description of what is wrong.
    #[must_use]
    pub fn remark(&self) -> &'static str {
        if self.label.is_some() { "label reached" } else { "can fail" }
    }

    fn new(
        task: &'a Task,
        procedure: ProcId,
        node: Node,
        violation: Violation,
        globals: &Valuation,
        locals: &Valuation,
    ) -> Self {
        let body = task.program.procedure(procedure);
        match violation {
            Violation::Assertion(edge) => {
                let values = values_read(task, body, edge, globals, locals);
                Self { procedure, thread: None, label: None, span: body.edge(edge).span, values }
            }
            Violation::Label => {
                let label = match &task.property {
                    Property::LabelUnreachable(label) => label.as_str(),
                    Property::Assertions => "",
                };
                let span = statement_at(body, node);
                Self { procedure, thread: None, label: Some(label), span, values: Vec::new() }
            }
        }
    }
}

fn values_read(
    task: &Task,
    procedure: &Procedure,
    edge: EdgeId,
    globals: &Valuation,
    locals: &Valuation,
) -> Vec<(Var, bool)> {
    let Action::Assert(condition) = procedure.edge(edge).action else { return Vec::new() };
    let mut values = Vec::new();
    let mut seen = FxHashSet::default();
    for place in task.program.exprs.reads(condition) {
        if seen.insert(place.var) {
            let value = match place.var {
                Var::Global(i) => globals.get(i),
                Var::Local(i) => locals.get(i),
            };
            values.push((place.var, value));
        }
    }
    values
}

fn in_tree<'a>(task: &'a Task, tree: &CallTree) -> Violated<'a> {
    let mut run = tree.runs.last().expect("a checked trace has a run");
    loop {
        match run.end {
            End::Inside { run: inner, .. } => run = tree.run(inner),
            End::Violation(violation) => {
                let State { globals, locals } = last_state(run);
                let node = last_node(task, run);
                return Violated::new(task, run.procedure, node, violation, globals, locals);
            }
            End::Exit => unreachable!("a checked trace ends in a violation"),
        }
    }
}

/// The state at the end of a run.
#[must_use]
pub fn last_state(run: &Run) -> &State {
    run.steps.last().map_or(&run.entry, |step| &step.after)
}

fn last_node(task: &Task, run: &Run) -> Node {
    let procedure = task.program.procedure(run.procedure);
    run.steps.last().map_or(Procedure::ENTRY, |step| procedure.edge(step.edge).to)
}

fn in_interleaving<'a>(task: &'a Task, interleaving: &Interleaving) -> Violated<'a> {
    let last = interleaving.steps.last().map_or(&interleaving.initial, |step| &step.after);
    let thread = last.threads.iter().find(|thread| thread.id == interleaving.thread);
    let frame = thread.and_then(|t| t.frames.last()).expect("a checked trace ends in a living thread");
    let violated = Violated::new(
        task,
        frame.procedure,
        frame.node,
        interleaving.violation,
        &last.globals,
        &frame.locals,
    );
    Violated { thread: Some(interleaving.thread), ..violated }
}
