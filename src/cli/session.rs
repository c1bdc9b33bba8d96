//! What all commands that work through files do in the same way: Ctrl-C, limits, progress, and the summary.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::budget::{Budget, Limits};
use crate::evidence::Verdict;
use crate::pipeline::{Failure, Problem};
use crate::progress::{self, Counting, Progress};
use crate::reason::Reason;
use crate::report::output::Output;

use super::Status;
use super::interrupt::{Interrupt, Phase};
use super::tally::Tally;

/// One call of a command.
pub(super) struct Session {
    interrupt: Arc<Interrupt>,
    limits: Limits,
    /// No summary, no progress.
    quiet: bool,
}

impl Session {
    /// From now on, Ctrl-C is noticed.
    pub fn new(limits: Limits, quiet: bool, leave_at_once: fn()) -> Self {
        Self { interrupt: Interrupt::listen(leave_at_once), limits, quiet }
    }

    /// Works through the files one after the other, and sums up what became of them. A summary is shown if there are
    /// several files and `summary` asks for it.
    pub fn each_file(
        &self,
        files: &[PathBuf],
        summary: bool,
        output: &mut Output,
        mut one_file: impl FnMut(&Path, &mut Output) -> Status,
    ) -> Status {
        let mut tally = Tally::default();
        for file in files {
            if self.is_over(output) {
                break;
            }
            tally.add(one_file(file, output));
        }
        if files.len() > 1 && summary && !self.quiet {
            output.answer(&tally.summary("file", files.len(), self.was_interrupted()));
        }
        if self.was_interrupted() { Status::Interrupted } else { tally.worst() }
    }

    /// Whether nothing further is wanted.
    pub fn is_over(&self, output: &Output) -> bool {
        output.is_closed() || self.was_interrupted()
    }

    /// Whether the user pressed Ctrl-C.
    pub fn was_interrupted(&self) -> bool {
        self.interrupt.was_pressed()
    }

    /// Reads something; Ctrl-C ends the process.
    pub fn reading<T>(&self, read: impl FnOnce() -> T) -> T {
        let _reading = self.interrupt.during(Phase::Reading);
        read()
    }

    /// Does something within the limits, with progress on the terminal and an eye on Ctrl-C. Returns the figures that
    /// were counted, too.
    pub fn within_limits<T>(
        &self,
        name: &str,
        work: impl FnOnce(&Budget, &dyn Progress) -> T,
    ) -> (T, Vec<(String, u64)>) {
        let (budget, _watch) = Budget::start(self.limits);
        let _checking = self.interrupt.during(Phase::Checking(budget.clone()));
        let progress = Counting::new(progress::for_terminal(self.quiet, name));
        let done = work(&budget, &progress);
        (done, progress.counts())
    }
}

impl Status {
    /// The status of a verdict.
    pub(super) fn of<Proof, Run>(verdict: &Verdict<Proof, Run>) -> Self {
        match verdict {
            Verdict::Safe(_) => Self::Safe,
            Verdict::Unsafe(_) => Self::Unsafe,
            Verdict::Unknown(unknown) if unknown.reason == Reason::Interrupted => Self::Interrupted,
            Verdict::Unknown(_) => Self::Unknown,
        }
    }
}

/// What to say about evidence that was rejected.
pub(super) fn rejection_report(engine: &str, file: &str, rejection: &impl std::fmt::Display) -> String {
    format!(
        "error: the {engine} engine gave wrong evidence about `{file}`: {rejection}\n\
         this is a bug in Cusp; please report it together with the file\n"
    )
}

/// What to say about engines that failed while another one answered.
pub(super) fn failure_reports(failures: &[Failure], file: &str) -> String {
    let report = |Failure { engine, problem }: &Failure| match problem {
        Problem::Rejected(rejection) => rejection_report(engine, file, rejection),
        Problem::Panicked(message) => format!(
            "warning: the {engine} engine failed on `{file}`: {message}\n\
             this is a bug in Cusp, unless the system has no memory or threads left; please report it together with \
             the file\n"
        ),
    };
    failures.iter().map(report).collect()
}
