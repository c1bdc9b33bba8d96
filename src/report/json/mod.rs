//! Answers for machines: JSON lines, one object per file, each on a line of its own.
//!
//! The schema has a number, [`SCHEMA`]. Fields may be added under the same number; a reader
//! ignores what it does not know. A field without a value is left out. Positions count from 1,
//! columns count characters, values of variables are `true` and `false`.
//!
//! | field | when | meaning |
//! |---|---|---|
//! | `schema` | always | [`SCHEMA`] |
//! | `file` | always | the name as given; `<stdin>` for standard input |
//! | `verdict` | always | `safe`, `unsafe`, `unknown`, `error` (the input cannot be used) or `rejected` (a bug in Cusp) |
//! | `exit_code` | always | what Cusp would exit with for this file alone |
//! | `engine` | checked | the engine that was asked |
//! | `property` | checked | `{"kind": "assertions"}` or `{"kind": "label", "label": L}` |
//! | `threads` | checked, starts threads | the most threads at once, or `"unbounded"` |
//! | `proof` | `safe` | `kind`: `no-violation-in-reach`, `path-edges` or `system-states`; `size` |
//! | `violation` | `unsafe` | the violated statement: see [`Violation`] |
//! | `trace` | `unsafe`, unless `--trace none` | see [`Trace`] |
//! | `reason` | `unknown` | `kind`, `message`, `seen`, `advice` |
//! | `rejection` | `rejected` | what is wrong with the evidence |
//! | `diagnostics` | always | errors and warnings: see [`Diagnostic`] |
//! | `notes` | always | what was decided on the user's behalf, in sentences |
//!
//! A sequential trace (`"kind": "calls"`) is a list of `runs` of procedures. A step that calls
//! names the callee's run by its position in the list, and the same run may be named many times:
//! written out, the trace may be exponentially longer (`steps`, or `steps_log2` beyond 64 bits).
//! A run refers to runs before it only; the last one is where the program starts. A trace with
//! threads (`"kind": "threads"`) is a list of steps, each with its thread. Both are complete,
//! whatever `--trace` says, except that `none` leaves them out.
//!
//! Answers about nets are objects of their own: see [`net`].

pub mod net;
mod trace;

use itertools::Itertools;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::diagnostic;
use crate::evidence::{Certificate, Verdict};
use crate::model::{self, Program, Task};
use crate::source::{LoadError, Source, Span};

use super::Subject;
use super::text::advice;
use super::violated::Violated;
use super::words::one_line;
pub use trace::Trace;

/// The number of the schema.
pub const SCHEMA: u32 = 1;

/// What became of one file.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    schema: u32,
    file: &'a str,
    verdict: &'static str,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    property: Option<Property<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Threads>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejection: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<Violation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Trace<'a>>,
    /// With `--all`: line and column of the assertion.
    #[serde(skip_serializing_if = "Option::is_none")]
    assertion: Option<[usize; 2]>,
    /// With `--stats`: what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<serde_json::Map<String, serde_json::Value>>,
    diagnostics: Vec<Diagnostic<'a>>,
    notes: &'a [String],
}

/// What was asked.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Property<'a> {
    /// No assertion fails.
    Assertions,
    /// A label is not reached.
    Label {
        /// The name of the label.
        label: &'a str,
    },
}

/// How many threads may live at once: a number, or the word `unbounded`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Threads {
    /// This many.
    AtMost(u32),
    /// Any number.
    Unbounded(&'static str),
}

impl Threads {
    fn new(limit: Option<u32>) -> Self {
        limit.map_or(Self::Unbounded("unbounded"), Self::AtMost)
    }
}

/// What shows that a program is safe.
#[derive(Debug, Serialize)]
pub struct Proof {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<usize>,
}

/// Why there is no answer.
#[derive(Debug, Serialize)]
pub struct Reason {
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advice: Vec<&'static str>,
}

/// The violated statement: an `assertion` or a `label`, with the values that it reads.
#[derive(Debug, Serialize)]
pub struct Violation<'a> {
    kind: &'static str,
    procedure: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    #[serde(flatten)]
    statement: Statement,
    globals: Values<'a>,
    locals: Values<'a>,
}

/// A piece of source text: its place, and itself on one line. Steps that Cusp added have neither.
#[derive(Debug, Serialize)]
pub struct Statement {
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

/// A stretch of source text, up to but not including its end.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// Variables with their values, as an object.
#[derive(Debug, Default)]
pub struct Values<'a>(Vec<(&'a str, bool)>);

/// An error or a warning. Without a place if it concerns the whole input.
#[derive(Debug, Serialize)]
pub struct Diagnostic<'a> {
    /// Given if it is not the one that the report is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    severity: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<Related<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

/// Another place that explains a diagnostic.
#[derive(Debug, Serialize)]
pub struct Related<'a> {
    place: Option<Place>,
    message: &'a str,
}

impl<'a> Report<'a> {
    /// An answer, with the trace if there is one and `with_trace` says so.
    #[must_use]
    pub fn checked(
        subject: &Subject<'a>,
        exit_code: u8,
        warnings: &'a [diagnostic::Diagnostic],
        notes: &'a [String],
        with_trace: bool,
    ) -> Self {
        let verdict = subject.certified.verdict();
        let word = match verdict {
            Verdict::Safe(_) => "safe",
            Verdict::Unsafe(_) => "unsafe",
            Verdict::Unknown(_) => "unknown",
        };
        let asked = Self::asked(subject.source, subject.task, subject.engine, warnings, notes);
        let mut report = Self { verdict: word, exit_code, ..asked };
        match verdict {
            Verdict::Safe(certificate) => report.proof = Some(Proof::new(certificate)),
            Verdict::Unsafe(found) => {
                let violated = Violated::find(subject.task, found);
                report.violation = Some(Violation::new(subject, &violated));
                report.trace = with_trace.then(|| Trace::new(subject, found));
            }
            Verdict::Unknown(unknown) => {
                report.reason = Some(Reason {
                    kind: reason_kind(&unknown.reason),
                    message: unknown.reason.to_string(),
                    seen: unknown.seen.clone(),
                    advice: advice(subject.task, &unknown.reason),
                });
            }
        }
        report
    }

    /// An answer whose evidence does not hold.
    #[must_use]
    pub fn rejected(
        source: &'a Source,
        task: &'a Task,
        engine: &'a str,
        exit_code: u8,
        rejection: String,
    ) -> Self {
        let asked = Self::asked(source, task, engine, &[], &[]);
        Self { verdict: "rejected", exit_code, rejection: Some(rejection), ..asked }
    }

    /// A text that is not a program.
    #[must_use]
    pub fn bad_input(source: &'a Source, exit_code: u8, findings: &'a [diagnostic::Diagnostic]) -> Self {
        let diagnostics = Diagnostic::all(source, findings);
        Self { verdict: "error", exit_code, ..Self::empty(source.name(), diagnostics, &[]) }
    }

    /// A text that could not be had at all.
    #[must_use]
    pub fn unreadable(error: &'a LoadError, exit_code: u8) -> Self {
        let diagnostic = Diagnostic::unreadable(error);
        Self { verdict: "error", exit_code, ..Self::empty(&error.name, vec![diagnostic], &[]) }
    }

    fn asked(
        source: &'a Source,
        task: &'a Task,
        engine: &'a str,
        warnings: &'a [diagnostic::Diagnostic],
        notes: &'a [String],
    ) -> Self {
        let diagnostics = Diagnostic::all(source, warnings);
        let property = match &task.property {
            model::Property::Assertions => Property::Assertions,
            model::Property::LabelUnreachable(label) => Property::Label { label },
        };
        Self {
            engine: Some(engine),
            property: Some(property),
            threads: task.program.starts_threads.then(|| Threads::new(task.threads)),
            ..Self::empty(source.name(), diagnostics, notes)
        }
    }

    fn empty(file: &'a str, diagnostics: Vec<Diagnostic<'a>>, notes: &'a [String]) -> Self {
        Self {
            schema: SCHEMA,
            file,
            verdict: "",
            exit_code: 0,
            engine: None,
            property: None,
            threads: None,
            proof: None,
            violation: None,
            trace: None,
            reason: None,
            rejection: None,
            assertion: None,
            statistics: None,
            diagnostics,
            notes,
        }
    }

    /// The report about one assertion.
    #[must_use]
    pub fn about_assertion(self, line: usize, column: usize) -> Self {
        Self { assertion: Some([line, column]), ..self }
    }

    /// The report with figures.
    #[must_use]
    pub fn with_statistics(self, figures: &[(String, u64)]) -> Self {
        let figures = figures.iter().map(|(what, number)| (what.clone(), (*number).into()));
        Self { statistics: Some(figures.collect()), ..self }
    }

    /// The object on a line of its own.
    ///
    /// # Panics
    /// Never: all keys are strings, and writing to a string does not fail.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("a report is plain data");
        line.push('\n');
        line
    }
}

impl Proof {
    fn new(certificate: &Certificate) -> Self {
        let (kind, size) = match certificate {
            Certificate::NoViolationInReach => ("no-violation-in-reach", None),
            Certificate::PathEdges(edges) => ("path-edges", Some(edges.len())),
            Certificate::SystemStates(states) => ("system-states", Some(states.len())),
            Certificate::Relations(proof) => ("relations", Some(proof.relations.len())),
            Certificate::KInductive(proof) => ("k-inductive", Some(proof.k as usize)),
            Certificate::Unrolling(proof) => ("unrolling", Some(proof.copies.len() + 1)),
        };
        Self { kind, size }
    }
}

fn reason_kind(reason: &crate::evidence::Reason) -> &'static str {
    use crate::evidence::Reason;
    match reason {
        Reason::Timeout(_) => "timeout",
        Reason::Memory { .. } => "memory",
        Reason::Interrupted => "interrupted",
        Reason::TooManyVariables { .. } => "too-many-variables",
        Reason::UnboundedThreads => "unbounded-threads",
        Reason::GaveUp(_) => "gave-up",
        Reason::UnboundedRecursion { .. } => "unbounded-recursion",
        Reason::TooLargeToCheck { .. } => "too-large-to-check",
        Reason::SequentialOnly { .. } => "sequential-only",
        Reason::DiagramsFull { .. } => "diagrams-full",
        Reason::Recursive { .. } => "recursive",
        Reason::TooLargeInlined { .. } => "too-large-inlined",
        Reason::DepthBound { .. } => "depth-bound",
        Reason::RecursionBound { .. } => "recursion-bound",
        Reason::ZeroTests => "zero-tests",
        Reason::UnboundedTokens => "unbounded-tokens",
        Reason::TooManyTokens => "too-many-tokens",
    }
}

impl<'a> Violation<'a> {
    fn new(subject: &Subject<'a>, violated: &Violated) -> Self {
        let program = &subject.task.program;
        let value = |&(var, value): &(model::Var, bool)| {
            (program.variable(violated.procedure, var).name.as_str(), value)
        };
        let is_global = |(var, _): &&(model::Var, bool)| matches!(var, model::Var::Global(_));
        Self {
            kind: if violated.label.is_some() { "label" } else { "assertion" },
            procedure: procedure_name(program, violated.procedure),
            thread: violated.thread,
            statement: Statement {
                place: Place::new(subject.source, violated.span),
                text: violated.text(subject.source),
            },
            globals: Values(violated.values.iter().filter(is_global).map(value).collect()),
            locals: Values(violated.values.iter().filter(|v| !is_global(v)).map(value).collect()),
        }
    }
}

fn procedure_name(program: &Program, id: model::ProcId) -> &str {
    &program.procedure(id).name
}

impl Statement {
    fn new(source: &Source, span: Span) -> Self {
        Self { place: Place::new(source, span), text: one_line(source.slice(span)) }
    }
}

impl Place {
    fn new(source: &Source, span: Span) -> Option<Self> {
        if span == Span::default() {
            return None;
        }
        let (start, end) = (source.position(span.start), source.position(span.end));
        Some(Self { line: start.line, column: start.column, end_line: end.line, end_column: end.column })
    }
}

impl<'a> Diagnostic<'a> {
    /// Why a text could not be had.
    fn unreadable(error: &'a LoadError) -> Self {
        Self {
            file: None,
            severity: "error",
            message: &error.message,
            place: None,
            label: None,
            related: None,
            help: None,
        }
    }

    /// In the order of the text.
    fn all(source: &Source, found: &'a [diagnostic::Diagnostic]) -> Vec<Self> {
        let sorted = found.iter().sorted_by_key(|finding| finding.span.start);
        sorted.map(|finding| Self::new(source, finding)).collect()
    }

    fn new(source: &Source, diagnostic: &'a diagnostic::Diagnostic) -> Self {
        Self {
            file: None,
            severity: match diagnostic.severity {
                diagnostic::Severity::Warning => "warning",
                diagnostic::Severity::Error => "error",
            },
            message: &diagnostic.message,
            place: Place::new(source, diagnostic.span),
            label: Some(diagnostic.caret.as_str()).filter(|caret| !caret.is_empty()),
            related: diagnostic
                .related
                .as_ref()
                .map(|(span, message)| Related { place: Place::new(source, *span), message }),
            help: diagnostic.help.as_deref(),
        }
    }
}

impl Values<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
