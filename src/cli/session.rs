//! What all commands that work through files do in the same way: Ctrl-C, limits, progress, and the summary.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cusp_solvers::solvers::Doubt;
use cusp_solvers::{Choice, Solvers};

use crate::budget::aside::{NotDone, Patience, aside};
use crate::budget::{Budget, Limits, Watch};
use crate::evidence::Verdict;
use crate::pipeline::{Failure, Problem};
use crate::progress::{self, Counting, Progress};
use crate::reason::Reason;
use crate::report;
use crate::report::json::Header;
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
    /// The budget of the last file, which knows the threads that are left of it.
    last: RefCell<Budget>,
    /// Whether there are several files, so that each has one line.
    several: Cell<bool>,
}

/// One file, or one of several questions about it, with limits of its own.
pub(super) struct Run<'s> {
    pub session: &'s Session,
    budget: Budget,
    _watch: Watch,
}

/// The stack of the thread that does the work, which is that of main threads.
const STACK: usize = 8 << 20;

/// How long reading may go on when its time is over. A file is read in blocks, and between them the budget is asked; a
/// pipe that nobody writes to blocks for ever.
const WHILE_READING: Patience = Patience { cpu: Duration::from_millis(50), wall: Duration::from_millis(50) };

impl Session {
    /// From now on, Ctrl-C is noticed.
    pub fn new(limits: Limits, quiet: bool, leave_at_once: fn()) -> Self {
        let (interrupt, solvers) = (Interrupt::listen(leave_at_once), Choice::default());
        Self {
            interrupt,
            limits,
            solvers,
            check_proofs: false,
            quiet,
            last: RefCell::default(),
            several: Cell::new(false),
        }
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
        self.several.set(files.len() > 1);
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

    /// Says why there is no answer about a file at all; in JSON with the name of the command, for those that have JSON.
    pub fn unanswered(
        &self,
        json: Option<&'static str>,
        file: &str,
        reason: &Reason,
        output: &mut Output,
    ) -> Status {
        let status = if *reason == Reason::Interrupted { Status::Interrupted } else { Status::Unknown };
        if let Some(command) = json {
            let header = Header::new(command, file, "unknown", status.code());
            output.answer(&header.reason(&reason.clone().into(), &[]).line());
        } else {
            let with_advice = !self.quiet && !self.several.get();
            output.answer(&report::unanswered(file, reason, with_advice, output.colours_answers()));
        }
        status
    }

    /// The limits of the next file, which count from now on. What the last file has left behind takes neither its time
    /// nor its memory.
    pub fn begin(&self) -> Run<'_> {
        {
            let _waiting = self.interrupt.during(Phase::Waiting);
            self.last.borrow().wait_for_threads();
        }
        let (budget, watch) = Budget::start(self.limits);
        let mut budget = budget.asking(Solvers::new(self.solvers.clone()));
        if self.check_proofs {
            budget = budget.with_checked_proofs();
        }
        *self.last.borrow_mut() = budget.clone();
        Run { session: self, budget, _watch: watch }
    }
}

impl Run<'_> {
    /// Reads something, with an eye on Ctrl-C.
    ///
    /// # Errors
    /// If the limits are reached, or Ctrl-C comes, before everything is read.
    pub fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Budget) -> T + Send + 'static,
    ) -> Result<T, Reason> {
        let _reading = self.session.interrupt.during(Phase::Working(self.budget.clone()));
        let budget = self.budget.clone();
        let read = match aside(&self.budget, STACK, WHILE_READING, move || read(&budget), || ()) {
            Ok(read) => read,
            Err(NotDone::NoThread(read)) => read(),
            // The thread waits for data, and costs nothing; nobody waits for it.
            Err(NotDone::LeftBehind(reason, _)) => return Err(reason),
        };
        self.budget.exhausted().map_or(Ok(read), Err)
    }

    /// Does something within the limits, with progress on the terminal and an eye on Ctrl-C. Returns the figures that
    /// were counted, too. External solvers that failed are named, since the user has chosen them.
    ///
    /// The work asks the budget, and ends soon after it is used up. Where it does not, the result is the reason why
    /// it should have.
    pub fn within_limits<T: Send + 'static>(
        &self,
        name: &str,
        output: &mut Output,
        work: impl FnOnce(&Budget, &dyn Progress) -> T + Send + 'static,
    ) -> (Result<T, Reason>, Vec<(String, u64)>) {
        let Self { session, budget, .. } = self;
        let _working = session.interrupt.during(Phase::Working(budget.clone()));
        let progress = Arc::new(Counting::new(progress::for_terminal(session.quiet, name)));
        let work = {
            let (budget, progress) = (budget.clone(), Arc::clone(&progress));
            move || work(&budget, &*progress)
        };
        let done = match aside(budget, STACK, Patience::SHORT, work, || ()) {
            Ok(done) => Ok(done),
            Err(NotDone::NoThread(work)) => Ok(work()),
            Err(NotDone::LeftBehind(reason, thread)) => {
                budget.leave_behind(thread);
                Err(reason)
            }
        };
        progress.end();
        let mut counts = progress.counts();
        counts.extend(budget.solvers().figures());
        if let Some(checked) = budget.checked_proofs() {
            counts.push(("proofs of the SAT solver that were checked".to_owned(), checked.proofs()));
            counts.push(("steps of these proofs".to_owned(), checked.steps()));
        }
        if !session.quiet {
            output.message(&complaints(&budget.solvers().doubts()));
        }
        (done, counts)
    }
}

/// What was read, or findings about the text; but findings of a reader that the limits have stopped are about a text that
/// seems to end too early.
///
/// # Errors
/// If the limits were reached.
pub(super) fn unless_stopped<T, Findings>(
    read: Result<T, Findings>,
    budget: &Budget,
) -> Result<Result<T, Findings>, Reason> {
    match (read, budget.exhausted()) {
        (Err(_), Some(reason)) => Err(reason),
        (read, _) => Ok(read),
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
