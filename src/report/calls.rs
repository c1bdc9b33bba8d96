//! Writes sequential traces: a shared call tree as lines.
//!
//! Invariant (linear): if writing out every call would take too many lines, a run is written out where it first
//! occurs, and later occurrences refer to it (unless it is as short as the reference). The work is then linear in the
//! size of the tree, however long the run is that the tree stands for, and nothing recurses on the depth of calls.

use crate::evidence::trace::{CallTree, End, Run, RunId, Step, Valuation};
use crate::model::{Action, EdgeId, ProcId};
use crate::source::Position;

use super::line::{Kind, Line, Lines};
use super::values::ValueWriter;
use super::violated::Violated;
use super::words::{Described, counted, describe, head, is_added, place};
use super::{Count, Detail, Subject};

/// A trace as lines.
pub struct TraceLines {
    /// The lines.
    pub lines: Lines,
    /// The number of steps of the whole run.
    pub steps: Count,
    /// Whether some calls are replaced by references.
    pub folded: bool,
}

/// Runs with no more lines than this are always written out, since a reference would not be shorter.
const TOO_SHORT_TO_FOLD: u64 = 3;

/// The lines of a call tree.
#[must_use]
pub fn trace_lines(
    subject: &Subject,
    tree: &CallTree,
    writer: &ValueWriter,
    violated: &Violated,
    detail: Detail,
) -> TraceLines {
    let sizes = Sizes::of(subject, tree, detail);
    let root = RunId::from_index(tree.runs.len() - 1);
    let folds = !sizes.lines[root.index()].is_at_most(detail.most_unfolded_lines());
    let steps = sizes.steps[root.index()];
    let mut walk = Walk {
        subject,
        tree,
        writer,
        detail,
        folds,
        sizes,
        described: vec![None; tree.runs.len()],
        globals: &tree.run(root).entry.globals,
        stack: Vec::new(),
        lines: Lines::new(detail.window()),
        folded: false,
    };
    walk.enter(root, 0);
    walk.run_to_the_end(violated);
    TraceLines { lines: walk.lines, steps, folded: walk.folded }
}

/// The number of steps of every run if every call is written out. A call and its return count as one step each.
#[must_use]
pub fn steps_of_runs(tree: &CallTree) -> Vec<Count> {
    sizes(tree, |_, _| Count::Exact(1), Count::ZERO)
}

/// The sizes of all runs if every call is written out.
struct Sizes {
    steps: Vec<Count>,
    /// An upper bound for the number of lines: a return may not need one.
    lines: Vec<Count>,
}

impl Sizes {
    fn of(subject: &Subject, tree: &CallTree, detail: Detail) -> Self {
        let line = |run: &Run, step: &Step| {
            let hidden = detail == Detail::Short && is_plain(subject, run.procedure, step.edge);
            Count::Exact(u64::from(!hidden))
        };
        Self { steps: steps_of_runs(tree), lines: sizes(tree, line, Count::Exact(1)) }
    }
}

fn sizes(tree: &CallTree, step_size: impl Fn(&Run, &Step) -> Count, entry: Count) -> Vec<Count> {
    let mut sizes: Vec<Count> = Vec::with_capacity(tree.runs.len());
    for run in &tree.runs {
        let two = Count::Exact(2);
        let step = |step: &Step| step.call.map_or_else(|| step_size(run, step), |id| sizes[id.index()] + two);
        let mut size = entry + run.steps.iter().map(step).sum();
        if let End::Inside { run, .. } = run.end {
            size = size + sizes[run.index()] + Count::Exact(1);
        }
        sizes.push(size);
    }
    sizes
}

/// Whether a step only moves control: one that Cusp added, `skip`, or `goto`.
#[must_use]
pub fn is_plain(subject: &Subject, procedure: ProcId, edge: EdgeId) -> bool {
    let procedure = subject.task.program.procedure(procedure);
    let edge = procedure.edge(edge);
    let moves_only = matches!(edge.action, Action::Skip) && edge.branch.is_none();
    let initialises = matches!(edge.action, Action::Assign(_));
    moves_only || edge.span.start == edge.span.end || is_added(procedure) && !initialises
}

/// A run that is being written out.
struct Frame<'a> {
    run: &'a Run,
    /// The position of the next step.
    next: usize,
    /// The values as they were last shown.
    locals: &'a Valuation,
    depth: usize,
}

struct Walk<'a> {
    subject: &'a Subject<'a>,
    tree: &'a CallTree,
    writer: &'a ValueWriter<'a>,
    detail: Detail,
    /// Whether repeated runs are replaced by references.
    folds: bool,
    sizes: Sizes,
    /// The position of the call at which each run was written out, if it was.
    described: Vec<Option<Position>>,
    /// The values as they were last shown.
    globals: &'a Valuation,
    stack: Vec<Frame<'a>>,
    lines: Lines,
    folded: bool,
}

impl<'a> Walk<'a> {
    fn run_to_the_end(&mut self, violated: &Violated) {
        while let Some(frame) = self.stack.last() {
            let run = frame.run;
            if let Some(step) = run.steps.get(frame.next) {
                match step.call {
                    Some(callee) => self.call(run.procedure, step.edge, callee),
                    None => self.step(step),
                }
                continue;
            }
            match run.end {
                End::Exit => {
                    self.stack.pop();
                    self.back();
                }
                End::Inside { edge, run: callee } => {
                    let depth = frame.depth;
                    self.call_line(run.procedure, edge, depth);
                    self.enter(callee, inner_depth(self.subject, run.procedure, depth));
                }
                End::Violation(_) => {
                    let line = violation_line(self.subject, self.writer, violated, frame.depth);
                    self.lines.push(line);
                    return;
                }
            }
        }
    }

    /// Begins to write out a run.
    fn enter(&mut self, id: RunId, depth: usize) {
        let run = self.tree.run(id);
        let first = self.stack.is_empty();
        let globals = first.then_some(&run.entry.globals);
        let values = self.writer.initial(run.procedure, globals, &run.entry.locals);
        self.lines.push(enter_line(self.subject, run.procedure, None, depth, values));
        self.stack.push(Frame { run, next: 0, locals: &run.entry.locals, depth });
    }

    /// Writes a step within a procedure.
    fn step(&mut self, step: &'a Step) {
        let Some(frame) = self.stack.last_mut() else { return };
        let procedure = frame.run.procedure;
        let mut values = Vec::new();
        self.writer.globals(procedure, self.globals, &step.after.globals, &mut values);
        self.writer.locals(procedure, frame.locals, &step.after.locals, &mut values);
        self.writer.returned(procedure, step.edge, &step.after.locals, &mut values);
        self.globals = &step.after.globals;
        frame.locals = &step.after.locals;
        frame.next += 1;
        let depth = frame.depth;
        if self.detail == Detail::Short && values.is_empty() && is_plain(self.subject, procedure, step.edge) {
            return;
        }
        let described = self.describe(procedure, step.edge);
        self.lines.push(line(described, depth, values));
    }

    /// Writes a call that returns, in full or as a reference.
    fn call(&mut self, procedure: ProcId, edge: EdgeId, callee: RunId) {
        let depth = self.stack.last().map_or(0, |frame| frame.depth);
        self.call_line(procedure, edge, depth);
        let inner = inner_depth(self.subject, procedure, depth);
        let short = self.sizes.lines[callee.index()].is_at_most(TOO_SHORT_TO_FOLD);
        if let Some(at) = self.described[callee.index()].filter(|_| self.folds && !short) {
            let steps = counted(self.sizes.steps[callee.index()], "step");
            let text = format!("... as in the call at line {}, {steps} folded", at.line);
            let described = Described { text, ..Described::default() };
            self.lines.push(Line { kind: Kind::Folded, ..line(described, inner, Vec::new()) });
            self.folded = true;
            self.back();
        } else {
            self.described[callee.index()] = self.describe(procedure, edge).at;
            self.enter(callee, inner);
        }
    }

    fn call_line(&mut self, procedure: ProcId, edge: EdgeId, depth: usize) {
        // The line that enters `main` already shows this call.
        let added = is_added(self.subject.task.program.procedure(procedure));
        if self.detail == Detail::Full || !added {
            let described = self.describe(procedure, edge);
            self.lines.push(line(described, depth, Vec::new()));
        }
    }

    /// Writes the return from the call that the topmost run is in.
    fn back(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        let procedure = frame.run.procedure;
        let step = &frame.run.steps[frame.next];
        let mut values = Vec::new();
        self.writer.globals(procedure, self.globals, &step.after.globals, &mut values);
        self.writer.locals(procedure, frame.locals, &step.after.locals, &mut values);
        self.globals = &step.after.globals;
        frame.locals = &step.after.locals;
        frame.next += 1;
        let depth = frame.depth;
        if self.detail == Detail::Full || !values.is_empty() {
            let described = back_in(self.subject, procedure, self.describe(procedure, step.edge).at);
            self.lines.push(line(described, depth, values));
        }
    }

    fn describe(&self, procedure: ProcId, edge: EdgeId) -> Described {
        let program = &self.subject.task.program;
        describe(self.subject.source, program, procedure, program.procedure(procedure).edge(edge))
    }
}

fn line(described: Described, depth: usize, values: Vec<String>) -> Line {
    let Described { at, text, note } = described;
    Line { kind: Kind::Step, thread: None, at, depth, text, note, values }
}

/// The depth of a callee. A call from a procedure that Cusp added does not increase the depth.
#[must_use]
pub fn inner_depth(subject: &Subject, caller: ProcId, depth: usize) -> usize {
    depth + usize::from(!is_added(subject.task.program.procedure(caller)))
}

/// The description of the return into a procedure.
#[must_use]
pub fn back_in(subject: &Subject, procedure: ProcId, at: Option<Position>) -> Described {
    let procedure = subject.task.program.procedure(procedure);
    let text = if is_added(procedure) { "(back)".to_owned() } else { format!("back in {}", procedure.name) };
    Described { at, text, note: String::new() }
}

/// The line that begins a frame.
#[must_use]
pub fn enter_line(
    subject: &Subject,
    procedure: ProcId,
    thread: Option<u32>,
    depth: usize,
    values: Vec<String>,
) -> Line {
    let procedure = subject.task.program.procedure(procedure);
    let text = if is_added(procedure) { "start".to_owned() } else { format!("enter {}", head(procedure)) };
    let at = place(subject.source, procedure.span);
    Line { kind: Kind::Enter, thread, at, depth, text, note: String::new(), values }
}

/// The last line of a trace, about the violation.
#[must_use]
pub fn violation_line(subject: &Subject, writer: &ValueWriter, violated: &Violated, depth: usize) -> Line {
    let value = |&(var, value): &_| writer.value(violated.procedure, var, value);
    Line {
        kind: Kind::Violation,
        thread: violated.thread,
        at: place(subject.source, violated.span),
        depth,
        text: violated.text(subject.source),
        note: violated.remark().to_owned(),
        values: violated.values.iter().map(value).collect(),
    }
}
