//! Diagnostics of one file, with a limit.

use crate::diagnostic::{Diagnostic, Severity};

/// So many errors, and so many warnings, are kept: a file of the wrong kind has one in every
/// word, and nobody reads a million of them.
pub(crate) const MAX_FINDINGS: usize = 1000;

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Findings {
    /// Records a finding, or the fact that there are too many.
    pub fn push(&mut self, finding: Diagnostic) {
        let (count, word) = match finding.severity {
            Severity::Error => (&mut self.errors, "errors"),
            Severity::Warning => (&mut self.warnings, "warnings"),
        };
        *count += 1;
        if *count <= MAX_FINDINGS {
            self.kept.push(finding);
        } else if *count == MAX_FINDINGS + 1 {
            let message = format!("more than {MAX_FINDINGS} {word}; the rest from here on is not shown");
            self.kept.push(Diagnostic {
                message,
                caret: String::new(),
                related: None,
                help: None,
                ..finding
            });
        }
    }

    /// Whether another error would not be kept, so that it need not be made.
    pub fn is_full(&self) -> bool {
        self.errors > MAX_FINDINGS
    }

    /// All of them, in the order of the text.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|d| d.span.start);
        self.kept
    }
}
