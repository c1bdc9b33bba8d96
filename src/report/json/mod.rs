//! Reports for machines: JSON lines, one object for each file, on one line.
//!
//! The schema has a version number, [`SCHEMA`], and is the same for all commands. Fields may be added without
//! changing the number, so readers should ignore fields that they do not know. A field without a value is left out.
//! Positions count from 1, columns count characters, values of variables are `true` and `false`.
//!
//! Every object begins with the same [`Header`]:
//!
//! | field | when | meaning |
//! |---|---|---|
//! | `schema` | always | [`SCHEMA`] |
//! | `command` | always | `check`, `cover` or `cutoff` |
//! | `file` | always | the name as given; `<stdin>` for standard input |
//! | `verdict` | always | `safe`, `unsafe`, `unknown`, `error` (the input cannot be used) or `rejected` (a bug in Cusp) |
//! | `exit_code` | always | what Cusp would exit with for this file alone |
//! | `engine` | answered | the engine that answered; `auto` if several of them ran and another run might name another one: then only `--stats` and `--race` name it |
//! | `reason` | `unknown` | `kind`, `message`, `seen`, `advice` |
//! | `rejection` | `rejected` | what is wrong with the evidence |
//! | `failures` | an engine failed while another one answered | `engine` and `message` of each: bugs in Cusp |
//! | `diagnostics` | always | errors and warnings: see [`header::Diagnostic`]; those about another file have its name as `file` |
//! | `notes` | always | what was decided on the user's behalf, in sentences |
//!
//! Answers of `cusp check` have further fields. Those of `cusp cover` are listed in [`net`], those of `cusp cutoff` in
//! [`crate::report::cutoff`].
//!
//! | field | when | meaning |
//! |---|---|---|
//! | `property` | always | `{"kind": "assertions"}` or `{"kind": "label", "label": L}` |
//! | `threads` | the program starts threads | the most threads at once, or `"unbounded"` |
//! | `proof` | `safe` | `kind`: `no-violation-in-reach`, `path-edges`, `system-states`, `relations`, `k-inductive`, `unrolling`, `thread-states`, `universal-clauses`, `control-states` or `thread-induction`; `size`; absent if `engine` is `auto`, since another run might find another one |
//! | `violation` | `unsafe` | the violated statement: see [`Violation`] |
//! | `trace` | `unsafe`, unless `--trace none` | see [`Trace`] |
//! | `assertion` | with `--all` | line and column of the assertion |
//! | `statistics` | with `--stats` | what was done |
//!
//! A sequential trace (`"kind": "calls"`) is a list of `runs` of procedures. A step that calls refers to the callee's
//! run by its position in the list. Several steps may refer to the same run, so the trace may be exponentially longer
//! if all calls are written out (`steps`, or `steps_log2` beyond 64 bits). A run refers only to runs before it; the
//! last one is that of the start of the program. A trace with threads (`"kind": "threads"`) is a list of steps, each
//! with its thread. Both kinds are complete, whatever the value of `--trace`, except that `none` leaves them out.

pub mod header;
pub mod net;
mod trace;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::evidence::{Certificate, ThreadInvariant, Verdict};
use crate::model::{self, Program};
use crate::pipeline::table::AUTO;
use crate::source::{Source, Span};

use super::Subject;
use super::text::bound_threads;
use super::violated::Violated;
use super::words::one_line;
pub use header::{Header, SCHEMA};
pub use trace::Trace;

/// The report about one file.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    header: Header<'a>,
    property: Property<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Threads>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<Violation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Trace<'a>>,
    /// With `--all`: the line and column of the assertion.
    #[serde(skip_serializing_if = "Option::is_none")]
    assertion: Option<[usize; 2]>,
    /// With `--stats`: statistics about the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The property that was checked.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Property<'a> {
    /// No assertion fails.
    Assertions,
    /// The label is not reached.
    Label {
        /// The name of the label.
        label: &'a str,
    },
}

/// The number of threads that may be alive at once: a number, or the word `unbounded`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Threads {
    /// At most this many.
    AtMost(u32),
    /// Any number; the text is always `unbounded`.
    Unbounded(&'static str),
}

impl Threads {
    fn new(limit: Option<u32>) -> Self {
        limit.map_or(Self::Unbounded("unbounded"), Self::AtMost)
    }
}

/// The kind and size of the proof that a program is safe.
#[derive(Debug, Serialize)]
pub struct Proof {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<usize>,
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

/// A part of the source text: its place, and the text on one line. Steps that Cusp added have neither.
#[derive(Debug, Serialize)]
pub struct Statement {
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<SourceRange>,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

/// A range of the source text, by lines and columns; the end is exclusive.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct SourceRange {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// Variables with their values, written as an object.
#[derive(Debug, Default)]
pub struct Values<'a>(Vec<(&'a str, bool)>);

impl<'a> Report<'a> {
    /// The report about an answer, with its trace if it has one and `with_trace` is set. The header has the fields
    /// that do not depend on the verdict.
    #[must_use]
    pub fn checked(subject: &Subject<'a>, header: Header<'a>, with_trace: bool) -> Self {
        let task = subject.task;
        let property = match &task.property {
            model::Property::Assertions => Property::Assertions,
            model::Property::LabelUnreachable(label) => Property::Label { label },
        };
        let mut report = Self {
            header: header.engine(if subject.by_chance { AUTO } else { subject.engine }),
            property,
            threads: task.program.starts_threads.then(|| Threads::new(task.threads)),
            proof: None,
            violation: None,
            trace: None,
            assertion: None,
            statistics: None,
        };
        match subject.certified.verdict() {
            Verdict::Safe(certificate) => {
                report.proof = (!subject.by_chance).then(|| Proof::new(certificate));
            }
            Verdict::Unsafe(found) => {
                let violated = Violated::find(task, found);
                report.violation = Some(Violation::new(subject, &violated));
                report.trace = with_trace.then(|| Trace::new(subject, found));
            }
            Verdict::Unknown(unknown) => {
                report.header = report.header.reason(unknown, bound_threads(task, &unknown.reason));
            }
        }
        report
    }

    /// Adds the position of the assertion that the report is about.
    #[must_use]
    pub fn about_assertion(self, line: usize, column: usize) -> Self {
        Self { assertion: Some([line, column]), ..self }
    }

    /// Adds statistics.
    #[must_use]
    pub fn with_statistics(self, figures: &[(String, u64)]) -> Self {
        let figures = figures.iter().map(|(what, number)| (what.clone(), (*number).into()));
        Self { statistics: Some(figures.collect()), ..self }
    }

    /// The report as an object on one line.
    #[must_use]
    pub fn line(&self) -> String {
        header::line(self)
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
            Certificate::Threads(proof) => match &proof.invariant {
                ThreadInvariant::States(listed) => ("thread-states", Some(listed.states.len())),
                ThreadInvariant::Clauses(clauses) => ("universal-clauses", Some(clauses.len())),
                ThreadInvariant::Formulas(sets) => ("control-states", Some(sets.sets.len())),
                ThreadInvariant::Induction(proof) => ("thread-induction", Some(proof.k as usize)),
            },
        };
        Self { kind, size }
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
                place: SourceRange::new(subject.source, violated.span),
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
        Self { place: SourceRange::new(source, span), text: one_line(source.slice(span)) }
    }
}

impl SourceRange {
    fn new(source: &Source, span: Span) -> Option<Self> {
        if span == Span::default() {
            return None;
        }
        let (start, end) = (source.position(span.start), source.position(span.end));
        Some(Self { line: start.line, column: start.column, end_line: end.line, end_column: end.column })
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
