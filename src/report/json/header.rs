//! The header: the fields that every JSON object has, whatever the command.

use itertools::Itertools;
use serde::Serialize;

use super::SourceRange;
use crate::diagnostic::{self, Findings};
use crate::pipeline::{Failure, Problem};
use crate::reason::Unknown;
use crate::report::advice::advice;
use crate::source::{LoadError, Source};

/// The version number of the schema. Fields may be added without changing it.
pub const SCHEMA: u32 = 1;

/// The fields at the beginning of every object. The [schema](super) describes them.
#[derive(Debug, Serialize)]
pub struct Header<'a> {
    schema: u32,
    command: &'static str,
    file: &'a str,
    verdict: &'static str,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejection: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedEngine<'a>>,
    diagnostics: Vec<Diagnostic<'a>>,
    notes: &'a [String],
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

/// An engine that failed while another one answered, which is a bug in Cusp.
#[derive(Debug, Serialize)]
struct FailedEngine<'a> {
    engine: &'a str,
    message: String,
}

/// An error or a warning. It has no place if it is about the whole input.
#[derive(Debug, Serialize)]
pub struct Diagnostic<'a> {
    /// The file, if it is not the one that the report is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    severity: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<SourceRange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<Related<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

/// Another place in the source that explains a diagnostic.
#[derive(Debug, Serialize)]
pub struct Related<'a> {
    place: Option<SourceRange>,
    message: &'a str,
}

impl<'a> Header<'a> {
    /// The header of an answer of this command about this file.
    #[must_use]
    pub fn new(command: &'static str, file: &'a str, verdict: &'static str, exit_code: u8) -> Self {
        Self {
            schema: SCHEMA,
            command,
            file,
            verdict,
            exit_code,
            engine: None,
            reason: None,
            rejection: None,
            failures: Vec::new(),
            diagnostics: Vec::new(),
            notes: &[],
        }
    }

    /// The header for an input that cannot be used.
    #[must_use]
    pub fn bad_input(command: &'static str, file: &'a str, exit_code: u8) -> Self {
        Self::new(command, file, "error", exit_code)
    }

    /// The header for a file that could not be read.
    #[must_use]
    pub fn unreadable(command: &'static str, error: &'a LoadError, exit_code: u8) -> Self {
        let diagnostics = vec![Diagnostic::about_everything("error", &error.message)];
        Self { diagnostics, ..Self::bad_input(command, &error.name, exit_code) }
    }

    /// The header for evidence that was rejected, which is a bug in Cusp.
    #[must_use]
    pub fn rejected(command: &'static str, file: &'a str, exit_code: u8, rejection: String) -> Self {
        Self { rejection: Some(rejection), ..Self::new(command, file, "rejected", exit_code) }
    }

    /// Sets the engine that answered.
    #[must_use]
    pub fn engine(self, engine: &'a str) -> Self {
        Self { engine: Some(engine), ..self }
    }

    /// Sets the reason why there is no answer, with additional advice.
    #[must_use]
    pub fn reason(self, unknown: &Unknown, more_advice: &[&'static str]) -> Self {
        let reason = Reason {
            kind: reason_kind(&unknown.reason),
            message: unknown.reason.to_string(),
            seen: unknown.seen.clone(),
            advice: advice(&unknown.reason).into_iter().chain(more_advice.iter().copied()).collect(),
        };
        Self { reason: Some(reason), ..self }
    }

    /// Sets the engines that failed while another one answered.
    #[must_use]
    pub fn failures(self, failures: &'a [Failure]) -> Self {
        let failed = |failure: &'a Failure| FailedEngine {
            engine: failure.engine,
            message: match &failure.problem {
                Problem::Rejected(rejection) => rejection.to_string(),
                Problem::Panicked(message) => message.clone(),
            },
        };
        Self { failures: failures.iter().map(failed).collect(), ..self }
    }

    /// Adds errors and warnings about one source text, in its order.
    #[must_use]
    pub fn diagnostics(mut self, source: &Source, found: &'a [diagnostic::Diagnostic]) -> Self {
        let sorted = found.iter().sorted_by_key(|finding| finding.span.start);
        self.diagnostics.extend(sorted.map(|finding| Diagnostic::new(source, finding)));
        self
    }

    /// Adds errors and warnings about an input of two source texts.
    #[must_use]
    pub fn findings(
        mut self,
        source: &'a Source,
        property: Option<&'a Source>,
        found: &'a [Findings],
    ) -> Self {
        for findings in found {
            let property = property.filter(|_| findings.about_property);
            let known = self.diagnostics.len();
            self = self.diagnostics(property.unwrap_or(source), &findings.diagnostics);
            let file = property.map(Source::name);
            self.diagnostics[known..].iter_mut().for_each(|diagnostic| diagnostic.file = file);
        }
        self
    }

    /// Sets the notes: what was decided on the user's behalf.
    #[must_use]
    pub fn notes(self, notes: &'a [String]) -> Self {
        Self { notes, ..self }
    }

    /// The header alone as an object on one line.
    #[must_use]
    pub fn line(&self) -> String {
        line(self)
    }
}

/// An object on one line.
///
/// # Panics
/// Never: reports are plain data with strings as keys, and writing to a string does not fail.
#[must_use]
pub fn line(report: &impl Serialize) -> String {
    let mut line = serde_json::to_string(report).expect("a report is plain data");
    line.push('\n');
    line
}

impl<'a> Diagnostic<'a> {
    fn about_everything(severity: &'static str, message: &'a str) -> Self {
        Self { file: None, severity, message, place: None, label: None, related: None, help: None }
    }

    fn new(source: &Source, diagnostic: &'a diagnostic::Diagnostic) -> Self {
        let severity = match diagnostic.severity {
            diagnostic::Severity::Warning => "warning",
            diagnostic::Severity::Error => "error",
        };
        Self {
            place: SourceRange::new(source, diagnostic.span),
            label: Some(diagnostic.caret.as_str()).filter(|caret| !caret.is_empty()),
            related: diagnostic
                .related
                .as_ref()
                .map(|(span, message)| Related { place: SourceRange::new(source, *span), message }),
            help: diagnostic.help.as_deref(),
            ..Self::about_everything(severity, &diagnostic.message)
        }
    }
}

/// The name of a reason in the JSON output.
fn reason_kind(reason: &crate::reason::Reason) -> &'static str {
    use crate::reason::Reason;
    match reason {
        Reason::Timeout(_) => "timeout",
        Reason::Memory { .. } => "memory",
        Reason::Interrupted => "interrupted",
        Reason::TooManyVariables { .. } => "too-many-variables",
        Reason::UnboundedThreads => "unbounded-threads",
        Reason::GaveUp(_) => "gave-up",
        Reason::EngineFailed { .. } => "engine-failed",
        Reason::ThreadsOnly { .. } => "threads-only",
        Reason::AnyNumberOnly { .. } => "any-number-only",
        Reason::Unwound { .. } => "unwound",
        Reason::UnboundedRecursion { .. } => "unbounded-recursion",
        Reason::TooLargeToCheck { .. } => "too-large-to-check",
        Reason::SequentialOnly { .. } => "sequential-only",
        Reason::DiagramsFull { .. } => "diagrams-full",
        Reason::Recursive { .. } => "recursive",
        Reason::TooLargeInlined { .. } => "too-large-inlined",
        Reason::DepthBound { .. } => "depth-bound",
        Reason::RecursionBound { .. } => "recursion-bound",
        Reason::SwitchBound { .. } => "switch-bound",
        Reason::ZeroTests => "zero-tests",
        Reason::UnboundedTokens => "unbounded-tokens",
        Reason::TooManyTokens => "too-many-tokens",
    }
}
