//! Collects the diagnostics of one file, up to a limit.

use super::{Diagnostic, Severity};

/// The largest number of errors, and of warnings, that are kept. A file that is not a program has an error in
/// every word, and nobody reads a million of them.
pub(crate) const MAX_FINDINGS: usize = 1000;

/// The errors and warnings that were found so far.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    kept: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Collector {
    /// Records a finding. The first one above the limit is replaced by a message that says that there are too many.
    pub fn push(&mut self, finding: Diagnostic) {
        let (count, word) = match finding.severity {
            Severity::Error => (&mut self.errors, "errors"),
            Severity::Warning => (&mut self.warnings, "warnings"),
        };
        *count += 1;
        if *count <= MAX_FINDINGS {
            self.kept.push(finding);
        } else if *count == MAX_FINDINGS + 1 {
            let message = format!("more than {MAX_FINDINGS} {word}; further ones are not shown");
            self.kept.push(Diagnostic {
                message,
                caret: String::new(),
                related: None,
                help: None,
                ..finding
            });
        }
    }

    /// Whether another error would be discarded, so that it need not be constructed.
    pub fn is_full(&self) -> bool {
        self.errors > MAX_FINDINGS
    }

    /// Whether an error was found.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All findings, in the order of the text.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|d| d.span.start);
        self.kept
    }
}
