//! Formats diagnostics about inputs for people.

use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Severity, render};
use crate::source::{LoadError, Source, Span};

use super::Count;
use super::words::{counted, one_line};

/// All diagnostics of one file, followed by the number of errors.
#[must_use]
pub fn findings(source: &Source, found: &[Diagnostic], colour: bool) -> String {
    let (nowhere, somewhere): (Vec<_>, Vec<_>) =
        found.iter().cloned().partition(|finding| finding.span == Span::default());
    let name = one_line(source.name());
    let mut out = render(source, &somewhere, colour);
    for finding in &nowhere {
        let level = match finding.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let _ = writeln!(out, "{level}: `{name}`: {}", finding.message);
        if let Some(help) = &finding.help {
            let _ = writeln!(out, "help: {help}");
        }
    }
    let errors = found.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors > 0 && !somewhere.is_empty() {
        let _ = writeln!(out, "error: `{name}` has {}", counted(Count::from(errors), "error"));
    }
    out
}

/// The message for a file that could not be read, on one line.
#[must_use]
pub fn load_error(error: &LoadError) -> String {
    format!("error: `{}` {}\n", one_line(&error.name), error.message)
}
