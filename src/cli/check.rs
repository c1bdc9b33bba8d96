//! `cusp check`.

use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::budget::Budget;
use crate::certify::Certified;
use crate::check::{self, Outcome, Prepared, ThreadLimit};
use crate::evidence::{Reason, Verdict};
use crate::progress;
use crate::report::json::Report;
use crate::report::output::Output;
use crate::report::{self, Detail, Subject, View, diagnostics};
use crate::source::Source;
use crate::syntax::ast::Dialect;

use super::Status;
use super::options::CheckArgs;

/// Checks the files one after the other.
pub fn run(args: &CheckArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    let interrupt = Interrupt::listen(leave_at_once);
    let session = Session { args, options: args.options(), interrupt: &interrupt };
    if session.options.dialect == Dialect::Getafix && args.threads != ThreadLimit::Unbounded && !args.quiet {
        output.message("note: `--threads` has no effect: a Getafix program says which threads it has\n");
    }
    let mut tally = Tally::default();
    for file in &args.files {
        if output.is_closed() || interrupt.was_pressed() {
            break;
        }
        let status = session.one_file(file, output);
        tally.add(status);
    }
    if args.files.len() > 1 && !args.json && !args.quiet {
        output.answer(&tally.summary(args.files.len(), interrupt.was_pressed()));
    }
    if interrupt.was_pressed() { Status::Interrupted } else { tally.worst() }
}

/// What is the same for all files.
struct Session<'a> {
    args: &'a CheckArgs,
    options: check::Options,
    interrupt: &'a Interrupt,
}

impl Session<'_> {
    fn one_file(&self, file: &Path, output: &mut Output) -> Status {
        let loaded = {
            let _reading = self.interrupt.during(Phase::Reading);
            Source::load(file)
        };
        let source = match loaded {
            Ok(source) => source,
            Err(error) => {
                let status = Status::BadInput;
                if self.args.json {
                    output.answer(&Report::unreadable(&error, status.code()).line());
                } else {
                    output.message(&diagnostics::load_error(&error));
                }
                return status;
            }
        };
        match self.outcome(&source) {
            Outcome::Checked { prepared, certified } => self.answer(&source, &prepared, &certified, output),
            Outcome::BadInput(findings) => {
                let status = Status::BadInput;
                if self.args.json {
                    output.answer(&Report::bad_input(&source, status.code(), &findings).line());
                } else {
                    let colour = output.colours_messages();
                    output.message(&diagnostics::findings(&source, &findings, colour));
                }
                status
            }
            Outcome::Rejected { prepared, rejection } => {
                let status = Status::Internal;
                if self.args.json {
                    let (code, why) = (status.code(), rejection.to_string());
                    output
                        .answer(&Report::rejected(&source, &prepared.task, self.engine(), code, why).line());
                }
                output.message(&format!(
                    "error: the {} engine gave wrong evidence about `{}`: {rejection}\n\
                     this is a bug in Cusp; please report it together with the program\n",
                    self.engine(),
                    source.name()
                ));
                status
            }
        }
    }

    /// The check itself, with limits, progress, and an eye on Ctrl-C.
    fn outcome(&self, source: &Source) -> Outcome {
        let (budget, _watch) = Budget::start(self.args.limits());
        let _checking = self.interrupt.during(Phase::Checking(budget.clone()));
        let progress = progress::for_terminal(self.args.quiet, source.name());
        check::check(source, &self.options, &budget, &*progress)
    }

    fn engine(&self) -> &'static str {
        self.options.engine.engine().name()
    }

    fn answer(
        &self,
        source: &Source,
        prepared: &Prepared,
        certified: &Certified,
        output: &mut Output,
    ) -> Status {
        let status = match certified.verdict() {
            Verdict::Safe(_) => Status::Safe,
            Verdict::Unsafe(_) => Status::Unsafe,
            Verdict::Unknown(unknown) if unknown.reason == Reason::Interrupted => Status::Interrupted,
            Verdict::Unknown(_) => Status::Unknown,
        };
        let subject = Subject { source, task: &prepared.task, certified, engine: self.engine() };
        let args = self.args;
        let several = args.files.len() > 1;
        let detail = args.trace.map_or(Detail::Short, Detail::from);
        if args.json {
            let (warnings, notes) = (&prepared.warnings, &prepared.notes);
            let with_trace = detail != Detail::None;
            let report = Report::checked(&subject, status.code(), warnings, notes, with_trace);
            output.answer(&report.line());
            return status;
        }
        if !args.quiet {
            self.remarks(source, prepared, output);
        }
        let colour = output.colours_answers();
        if args.quiet || several && args.trace.is_none() {
            output.answer(&report::verdict_line(&subject, colour));
        } else {
            let view = View { detail, colour, width: output.width() };
            output.answer(&report::text(&subject, view));
        }
        status
    }

    /// Warnings and notes.
    fn remarks(&self, source: &Source, prepared: &Prepared, output: &mut Output) {
        let colour = output.colours_messages();
        let mut text = diagnostics::findings(source, &prepared.warnings, colour);
        for note in &prepared.notes {
            if self.args.files.len() > 1 {
                let _ = writeln!(text, "note: `{}`: {note}", source.name());
            } else {
                let _ = writeln!(text, "note: {note}");
            }
        }
        output.message(&text);
    }
}

/// The user's wish to stop, and what it would interrupt.
struct Interrupt {
    state: Mutex<State>,
    leave_at_once: fn(),
}

#[derive(Default)]
struct State {
    pressed: bool,
    phase: Phase,
}

/// What a first Ctrl-C means.
#[derive(Default)]
enum Phase {
    /// The next file is not begun.
    #[default]
    Between,
    /// There is nothing to show yet: the process ends.
    Reading,
    /// The engine gives up, and what it knows is shown.
    Checking(Budget),
}

impl Interrupt {
    /// From now on, Ctrl-C comes here. Pressed twice, it ends the process.
    fn listen(leave_at_once: fn()) -> Arc<Self> {
        let interrupt = Arc::new(Self { state: Mutex::default(), leave_at_once });
        let listener = Arc::clone(&interrupt);
        // Without a handler, Ctrl-C ends the process, which will do.
        let _ = ctrlc::set_handler(move || {
            let mut state = listener.state();
            if std::mem::replace(&mut state.pressed, true) {
                leave_at_once();
            }
            listener.apply(&state);
        });
        interrupt
    }

    fn was_pressed(&self) -> bool {
        self.state().pressed
    }

    /// Ctrl-C means this as long as the guard lives.
    fn during(&self, phase: Phase) -> During<'_> {
        let mut state = self.state();
        state.phase = phase;
        if state.pressed {
            self.apply(&state);
        }
        During(self)
    }

    fn apply(&self, state: &State) {
        match &state.phase {
            Phase::Between => {}
            Phase::Reading => (self.leave_at_once)(),
            Phase::Checking(budget) => budget.interrupt(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct During<'a>(&'a Interrupt);

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Between;
    }
}

/// What became of the files so far.
#[derive(Debug, Default)]
struct Tally(Vec<Status>);

impl Tally {
    fn add(&mut self, status: Status) {
        self.0.push(status);
    }

    fn worst(&self) -> Status {
        self.0.iter().copied().fold(Status::Safe, Status::or_worse)
    }

    /// `4 files: 2 safe, 1 unsafe, 1 with errors`.
    fn summary(&self, files: usize, interrupted: bool) -> String {
        let count = |status: Status| self.0.iter().filter(|&&s| s == status).count();
        let parts = [
            (count(Status::Safe), "safe"),
            (count(Status::Unsafe), "unsafe"),
            (count(Status::Unknown) + count(Status::Interrupted), "unknown"),
            (count(Status::BadInput), "with errors"),
            (count(Status::Internal), "with wrong evidence"),
            (files - self.0.len(), "not checked"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let ending = if interrupted { " (interrupted)" } else { "" };
        format!("{files} files: {}{ending}\n", parts.join(", "))
    }
}
