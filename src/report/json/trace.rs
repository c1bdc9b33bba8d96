//! Traces in JSON.

use serde::Serialize;

use crate::evidence;
use crate::evidence::trace::{self, CallTree, Interleaving, Move, System, ThreadStep, Valuation};
use crate::model::{Action, EdgeId, ProcId, Procedure, Program, Var};
use crate::report::Subject;
use crate::report::calls::steps_of_runs;
use crate::report::threads::{Changes, entered_frame, same_frame, thread};
use crate::report::values::changes;
use crate::report::words::statement_at;

use super::{Statement, Values, procedure_name};

/// A run that violates the property.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Trace<'a> {
    /// A trace of a sequential program.
    Calls {
        /// The number of steps if every call is written out.
        #[serde(skip_serializing_if = "Option::is_none")]
        steps: Option<u64>,
        /// The binary logarithm of this number, if it does not fit into 64 bits.
        #[serde(skip_serializing_if = "Option::is_none")]
        steps_log2: Option<f64>,
        /// Runs of procedures; the last one is that of the start of the program.
        runs: Vec<Run<'a>>,
    },
    /// A trace of a program with threads.
    Threads {
        /// The initial values of the globals.
        globals: Values<'a>,
        /// The first thread, with its initial values.
        threads: Vec<NewThread<'a>>,
        /// The steps, in order.
        steps: Vec<ThreadMove<'a>>,
        /// The thread that violates the property.
        thread: u32,
    },
}

/// A run of one procedure.
#[derive(Debug, Serialize)]
pub struct Run<'a> {
    id: usize,
    procedure: &'a str,
    globals: Values<'a>,
    locals: Values<'a>,
    steps: Vec<Step<'a>>,
    end: End,
}

/// A step, with the new values of the variables that it changes.
#[derive(Debug, Serialize)]
pub struct Step<'a> {
    #[serde(flatten)]
    statement: Statement,
    /// For a step of an `if` or `while`: whether the condition holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<bool>,
    /// The position of the callee's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<usize>,
    #[serde(skip_serializing_if = "Values::is_empty")]
    globals: Values<'a>,
    #[serde(skip_serializing_if = "Values::is_empty")]
    locals: Values<'a>,
    /// The return values, if the step sets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    returns: Vec<bool>,
}

/// How a run ends.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum End {
    /// The run returns.
    Exit,
    /// The run violates the property.
    Violation,
    /// The violation is in a call.
    Inside {
        /// The call statement.
        #[serde(flatten)]
        statement: Statement,
        /// The position of the callee's run.
        call: usize,
    },
}

/// A thread that starts.
#[derive(Debug, Serialize)]
pub struct NewThread<'a> {
    id: u32,
    procedure: &'a str,
    #[serde(flatten)]
    statement: Statement,
    locals: Values<'a>,
}

/// A step of one thread.
#[derive(Debug, Serialize)]
pub struct ThreadMove<'a> {
    thread: u32,
    /// The procedure that makes the step, or that returns.
    procedure: &'a str,
    /// Present and true if the step is the return from a call, or the end of the thread.
    #[serde(rename = "return", skip_serializing_if = "std::ops::Not::not")]
    is_return: bool,
    #[serde(flatten)]
    step: Step<'a>,
    /// The frame of the procedure that is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    enters: Option<Entered<'a>>,
    /// Changes in other threads, by assignments to `x$`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Other<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    started: Vec<NewThread<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ended: Vec<u32>,
}

/// A frame that a call adds.
#[derive(Debug, Serialize)]
pub struct Entered<'a> {
    procedure: &'a str,
    locals: Values<'a>,
}

/// The changes in another thread.
#[derive(Debug, Serialize)]
pub struct Other<'a> {
    thread: u32,
    locals: Values<'a>,
}

impl<'a> Trace<'a> {
    /// The whole trace.
    #[must_use]
    pub fn new(subject: &Subject<'a>, found: &evidence::Trace) -> Self {
        let writer = Writer { subject: *subject, program: &subject.task.program };
        match found {
            evidence::Trace::Sequential(tree) => writer.calls(tree),
            evidence::Trace::Interleaved(interleaving) => writer.threads(interleaving),
        }
    }
}

struct Writer<'a> {
    subject: Subject<'a>,
    program: &'a Program,
}

impl<'a> Writer<'a> {
    fn calls(&self, tree: &CallTree) -> Trace<'a> {
        let steps = steps_of_runs(tree).pop().unwrap_or(crate::report::Count::ZERO);
        Trace::Calls {
            steps: steps.exact(),
            steps_log2: steps.exact().is_none().then(|| steps.log2()),
            runs: tree.runs.iter().enumerate().map(|(id, run)| self.run(id, run)).collect(),
        }
    }

    fn run(&self, id: usize, run: &trace::Run) -> Run<'a> {
        let mut before = &run.entry;
        let mut steps = Vec::with_capacity(run.steps.len());
        for step in &run.steps {
            steps.push(Step {
                call: step.call.map(trace::RunId::index),
                globals: self.changed_globals(&before.globals, &step.after.globals),
                locals: self.changed_locals(run.procedure, &before.locals, &step.after.locals),
                returns: self.returns(run.procedure, step.edge, &step.after.locals),
                ..self.edge(run.procedure, step.edge)
            });
            before = &step.after;
        }
        let end = match run.end {
            trace::End::Exit => End::Exit,
            trace::End::Violation(_) => End::Violation,
            trace::End::Inside { edge, run: callee } => {
                End::Inside { statement: self.edge(run.procedure, edge).statement, call: callee.index() }
            }
        };
        Run {
            id,
            procedure: procedure_name(self.program, run.procedure),
            globals: self.all_globals(&run.entry.globals),
            locals: self.all_locals(run.procedure, &run.entry.locals),
            steps,
            end,
        }
    }

    fn threads(&self, interleaving: &Interleaving) -> Trace<'a> {
        let mut before = &interleaving.initial;
        let mut steps = Vec::with_capacity(interleaving.steps.len());
        for step in &interleaving.steps {
            steps.push(self.thread_step(before, step));
            before = &step.after;
        }
        Trace::Threads {
            globals: self.all_globals(&interleaving.initial.globals),
            threads: interleaving.initial.threads.iter().map(|thread| self.new_thread(thread)).collect(),
            steps,
            thread: interleaving.thread,
        }
    }

    fn thread_step(&self, before: &System, step: &ThreadStep) -> ThreadMove<'a> {
        let old = thread(before, step.thread).expect("a checked step is a living thread's");
        let new = thread(&step.after, step.thread);
        let frame = old.frames.last().expect("a thread has a frame");
        let mut described = match step.action {
            Move::Edge(edge) => self.edge(frame.procedure, edge),
            Move::Return => Step::empty(),
        };
        described.globals = self.changed_globals(&before.globals, &step.after.globals);
        // A call leaves the caller's frame unchanged; after a return, the caller's frame is the topmost one.
        let level = old.frames.len() - 1 - usize::from(step.action == Move::Return && old.frames.len() > 1);
        if let Some(same) = same_frame(old, new, level) {
            let old_locals = &old.frames[level].locals;
            described.locals = self.changed_locals(same.procedure, old_locals, &same.locals);
            if let Move::Edge(edge) = step.action {
                described.returns = self.returns(frame.procedure, edge, &same.locals);
            }
        }
        let Changes { started, ended } = Changes::between(before, &step.after);
        ThreadMove {
            thread: step.thread,
            procedure: procedure_name(self.program, frame.procedure),
            is_return: step.action == Move::Return,
            step: described,
            enters: entered_frame(old, new).map(|frame| Entered {
                procedure: procedure_name(self.program, frame.procedure),
                locals: self.all_locals(frame.procedure, &frame.locals),
            }),
            others: self.others(before, step),
            started: started.into_iter().map(|thread| self.new_thread(thread)).collect(),
            ended,
        }
    }

    fn others(&self, before: &System, step: &ThreadStep) -> Vec<Other<'a>> {
        let mut others = Vec::new();
        for other in before.threads.iter().filter(|other| other.id != step.thread) {
            let Some(after) = thread(&step.after, other.id) else { continue };
            let pairs = other.frames.iter().zip(&after.frames);
            let locals =
                pairs.flat_map(|(old, new)| self.changed_locals(old.procedure, &old.locals, &new.locals).0);
            let locals = Values(locals.collect());
            if !locals.is_empty() {
                others.push(Other { thread: other.id, locals });
            }
        }
        others
    }

    fn new_thread(&self, thread: &trace::Thread) -> NewThread<'a> {
        let frame = thread.frames.last().expect("a thread has a frame");
        let procedure = self.program.procedure(frame.procedure);
        let begins = frame.node == Procedure::ENTRY;
        let span = if begins { procedure.span } else { statement_at(procedure, frame.node) };
        NewThread {
            id: thread.id,
            procedure: &procedure.name,
            statement: Statement::new(self.subject.source, span),
            locals: self.all_locals(frame.procedure, &frame.locals),
        }
    }

    fn edge(&self, procedure: ProcId, edge: EdgeId) -> Step<'a> {
        let edge = self.program.procedure(procedure).edge(edge);
        let statement = Statement::new(self.subject.source, edge.span);
        Step { statement, branch: edge.branch, ..Step::empty() }
    }

    fn returns(&self, procedure: ProcId, edge: EdgeId, locals: &Valuation) -> Vec<bool> {
        let procedure = self.program.procedure(procedure);
        let first = procedure.first_return();
        let Action::Assign(assign) = &procedure.edge(edge).action else { return Vec::new() };
        let fills = assign.pairs.iter().any(|(target, _)| matches!(target.var, Var::Local(i) if i >= first));
        if fills { locals.0[first as usize..].to_vec() } else { Vec::new() }
    }

    fn all_globals(&self, globals: &Valuation) -> Values<'a> {
        let names = self.program.globals.iter().map(|global| global.name.as_str());
        Values(names.zip(globals.0.iter().copied()).collect())
    }

    fn all_locals(&self, procedure: ProcId, locals: &Valuation) -> Values<'a> {
        let procedure = self.program.procedure(procedure);
        let declared = procedure.locals[..procedure.first_return() as usize].iter();
        Values(declared.map(|local| local.name.as_str()).zip(locals.0.iter().copied()).collect())
    }

    fn changed_globals(&self, before: &Valuation, after: &Valuation) -> Values<'a> {
        let named = |(i, value): (u32, bool)| (self.program.globals[i as usize].name.as_str(), value);
        Values(changes(before, after).map(named).collect())
    }

    fn changed_locals(&self, procedure: ProcId, before: &Valuation, after: &Valuation) -> Values<'a> {
        let procedure = self.program.procedure(procedure);
        let declared = changes(before, after).filter(|&(i, _)| i < procedure.first_return());
        Values(declared.map(|(i, value)| (procedure.locals[i as usize].name.as_str(), value)).collect())
    }
}

impl Step<'_> {
    fn empty() -> Self {
        Self {
            statement: Statement { place: None, text: String::new() },
            branch: None,
            call: None,
            globals: Values::default(),
            locals: Values::default(),
            returns: Vec::new(),
        }
    }
}
