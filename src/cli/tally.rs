//! Several files or assertions, one summary.

use super::Status;

/// What became of them so far.
#[derive(Debug, Default)]
pub(super) struct Tally(Vec<Status>);

impl Tally {
    /// Counts one.
    pub fn add(&mut self, status: Status) {
        self.0.push(status);
    }

    /// The status that decides.
    pub fn worst(&self) -> Status {
        self.0.iter().copied().fold(Status::Safe, Status::or_worse)
    }

    /// `4 files: 2 safe, 1 unsafe, 1 with errors`.
    pub fn summary(&self, what: &str, all: usize, interrupted: bool) -> String {
        let count = |status: Status| self.0.iter().filter(|&&s| s == status).count();
        let parts = [
            (count(Status::Safe), "safe"),
            (count(Status::Unsafe), "unsafe"),
            (count(Status::Unknown) + count(Status::Interrupted), "unknown"),
            (count(Status::BadInput), "with errors"),
            (count(Status::Internal), "with wrong evidence"),
            (all - self.0.len(), "not checked"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let ending = if interrupted { " (interrupted)" } else { "" };
        let plural = if all == 1 { "" } else { "s" };
        format!("{all} {what}{plural}: {}{ending}\n", parts.join(", "))
    }
}
