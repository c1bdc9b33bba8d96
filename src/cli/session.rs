//! What all commands that work through files do in the same way: Ctrl-C, limits, progress, and the summary.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cusp_solvers::solvers::Doubt;
use cusp_solvers::{Choice, Solvers};

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
    solvers: Choice,
    /// Whether proofs of the SAT solver are checked.
    check_proofs: bool,
    /// No summary, no progress.
    quiet: bool,
}

impl Session {
    /// From now on, Ctrl-C is noticed.
    pub fn new(limits: Limits, quiet: bool, leave_at_once: fn()) -> Self {
        let (interrupt, solvers) = (Interrupt::listen(leave_at_once), Choice::default());
        Self { interrupt, limits, solvers, check_proofs: false, quiet }
    }

    /// The same with proofs of the SAT solver checked, if that is wanted.
    pub fn checking_proofs(self, check_proofs: bool) -> Self {
        Self { check_proofs, ..self }
    }

    /// The same with questions answered by these solvers.
    pub fn asking(self, solvers: Choice) -> Self {
        Self { solvers, ..self }
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
    /// were counted, too. External solvers that failed are named, since the user has chosen them.
    pub fn within_limits<T>(
        &self,
        name: &str,
        output: &mut Output,
        work: impl FnOnce(&Budget, &dyn Progress) -> T,
    ) -> (T, Vec<(String, u64)>) {
        let (budget, _watch) = Budget::start(self.limits);
        let mut budget = budget.asking(Solvers::new(self.solvers.clone()));
        if self.check_proofs {
            budget = budget.with_checked_proofs();
        }
        let _checking = self.interrupt.during(Phase::Checking(budget.clone()));
        let progress = Counting::new(progress::for_terminal(self.quiet, name));
        let done = work(&budget, &progress);
        let mut counts = progress.counts();
        counts.extend(budget.solvers().figures());
        if let Some(checked) = budget.checked_proofs() {
            counts.push(("proofs of the SAT solver that were checked".to_owned(), checked.proofs()));
            counts.push(("steps of these proofs".to_owned(), checked.steps()));
        }
        drop(progress);
        if !self.quiet {
            output.message(&complaints(&budget.solvers().doubts()));
        }
        (done, counts)
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

/// Which external programs failed.
fn complaints(doubts: &[Doubt]) -> String {
    let mut text = String::new();
    for Doubt { program, failures, last_failure, .. } in doubts.iter().filter(|doubt| doubt.failures > 0) {
        let why = last_failure.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "note: `{program}` failed to answer (times: {failures}), and a built-in solver answered instead; the last \
             time: {why}"
        );
    }
    text
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
