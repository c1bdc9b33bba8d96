//! `cusp check`.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use crate::budget::Budget;
use crate::certify::{Certified, Rejection};
use crate::check::{self, Outcome, Prepared, ThreadLimit};
use crate::diagnostic::Diagnostic;
use crate::evidence::text::{self, Evidence};
use crate::evidence::{Reason, Verdict};
use crate::model::Task;
use crate::progress::{self, Counting, Progress};
use crate::report::json::Report;
use crate::report::output::Output;
use crate::report::{self, Detail, Subject, View, diagnostics};
use crate::source::{Source, Span};
use crate::syntax::ast::Dialect;

use super::Status;
use super::interrupt::{Interrupt, Phase};
use super::options::CheckArgs;
use super::tally::Tally;

/// Checks the files one after the other.
pub fn run(args: &CheckArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    if args.certificate.is_some() && args.files.len() > 1 {
        output
            .message("error: `--certificate` takes the evidence about one program, and there are several\n");
        return Status::Usage;
    }
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
        output.answer(&tally.summary("file", args.files.len(), interrupt.was_pressed()));
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
        if self.args.all {
            return self.each_assertion(&source, output);
        }
        let progress = self.progress(&source);
        match self.budgeted(&progress, |budget| check::check(&source, &self.options, budget, &progress)) {
            Outcome::Checked { prepared, certified, engine, rejected } => {
                for (engine, rejection) in rejected {
                    output.message(&bug_report(engine, source.name(), &rejection));
                }
                let found = Found { certified: &certified, engine, counts: progress.counts() };
                drop(progress);
                let status = self.answer(&source, &prepared, &prepared.task, None, &found, output);
                status.or_worse(self.write_evidence(&prepared, &certified, output))
            }
            Outcome::BadInput(findings) => self.bad_input(&source, &findings, output),
            Outcome::Rejected { prepared, rejection, engine } => {
                drop(progress);
                self.rejected(&source, &prepared.task, engine, &rejection, output)
            }
        }
    }

    fn bad_input(&self, source: &Source, findings: &[Diagnostic], output: &mut Output) -> Status {
        let status = Status::BadInput;
        if self.args.json {
            output.answer(&Report::bad_input(source, status.code(), findings).line());
        } else {
            let colour = output.colours_messages();
            output.message(&diagnostics::findings(source, findings, colour));
        }
        status
    }

    fn rejected(
        &self,
        source: &Source,
        task: &Task,
        engine: &str,
        rejection: &Rejection,
        output: &mut Output,
    ) -> Status {
        let status = Status::Internal;
        if self.args.json {
            let (code, why) = (status.code(), rejection.to_string());
            output.answer(&Report::rejected(source, task, engine, code, why).line());
        }
        output.message(&bug_report(engine, source.name(), rejection));
        status
    }

    /// Every assertion on its own, with the others assumed.
    fn each_assertion(&self, source: &Source, output: &mut Output) -> Status {
        let prepared = match check::prepare(source, &self.options) {
            Ok(prepared) => prepared,
            Err(findings) => return self.bad_input(source, &findings, output),
        };
        if !self.args.quiet && !self.args.json {
            self.remarks(source, &prepared, output);
        }
        let mut tally = Tally::default();
        let assertions = prepared.task.assertions();
        for &(procedure, edge) in &assertions {
            if output.is_closed() || self.interrupt.was_pressed() {
                break;
            }
            let task = prepared.task.only_assertion(procedure, edge);
            let progress = self.progress(source);
            let answer =
                self.budgeted(&progress, |budget| check::answer(&task, &self.options, budget, &progress));
            let counts = progress.counts();
            drop(progress);
            let span = task.program.procedure(procedure).edge(edge).span;
            tally.add(match answer.result {
                Ok(certified) => {
                    let found = Found { certified: &certified, engine: answer.engine, counts };
                    self.answer(source, &prepared, &task, Some(span), &found, output)
                }
                Err(rejection) => self.rejected(source, &task, answer.engine, &rejection, output),
            });
        }
        if !self.args.quiet && !self.args.json {
            output.answer(&tally.summary("assertion", assertions.len(), self.interrupt.was_pressed()));
        }
        tally.worst()
    }

    fn progress(&self, source: &Source) -> Counting {
        Counting::new(progress::for_terminal(self.args.quiet, source.name()))
    }

    /// Something with limits, and an eye on Ctrl-C.
    fn budgeted<T>(&self, progress: &dyn Progress, work: impl FnOnce(&Budget) -> T) -> T {
        let (mut budget, _watch) = Budget::start(self.args.limits());
        if self.args.check_proofs {
            budget = budget.with_checked_proofs();
        }
        let _checking = self.interrupt.during(Phase::Checking(budget.clone()));
        let done = work(&budget);
        if let Some(counts) = budget.checked_proofs() {
            progress.count("proofs of the SAT solver that were checked", counts.proofs());
            progress.count("steps of these proofs", counts.steps());
        }
        done
    }

    /// Writes an answer, about one assertion if that was asked for.
    fn answer(
        &self,
        source: &Source,
        prepared: &Prepared,
        task: &Task,
        assertion: Option<Span>,
        found: &Found<'_>,
        output: &mut Output,
    ) -> Status {
        let &Found { certified, engine, ref counts } = found;
        let status = match certified.verdict() {
            Verdict::Safe(_) => Status::Safe,
            Verdict::Unsafe(_) => Status::Unsafe,
            Verdict::Unknown(unknown) if unknown.reason == Reason::Interrupted => Status::Interrupted,
            Verdict::Unknown(_) => Status::Unknown,
        };
        let subject = Subject { source, task, certified, engine };
        let args = self.args;
        let place = assertion.map(|span| source.position(span.start));
        let several = args.files.len() > 1 || args.all;
        let detail = args.trace.map_or(Detail::Short, Detail::from);
        if args.json {
            let (warnings, notes) = (&prepared.warnings, &prepared.notes);
            let with_trace = detail != Detail::None;
            let mut report = Report::checked(&subject, status.code(), warnings, notes, with_trace);
            if let Some(place) = place {
                report = report.about_assertion(place.line, place.column);
            }
            if args.stats {
                report = report.with_statistics(counts);
            }
            output.answer(&report.line());
            return status;
        }
        if !args.quiet && !args.all {
            self.remarks(source, prepared, output);
        }
        if let (Some(span), Some(place)) = (assertion, place) {
            let text = source.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
            output.answer(&format!("{}:{}: {text}\n  ", place.line, place.column));
        }
        let colour = output.colours_answers();
        if args.quiet || several && args.trace.is_none() {
            output.answer(&report::verdict_line(&subject, colour));
        } else {
            let view = View { detail, colour, width: output.width() };
            output.answer(&report::text(&subject, view));
        }
        if args.stats {
            output.answer(&statistics(engine, counts));
        }
        status
    }

    /// Writes the certificate or the trace, if that was asked for.
    fn write_evidence(&self, prepared: &Prepared, certified: &Certified, output: &mut Output) -> Status {
        let Some(file) = &self.args.certificate else { return Status::Safe };
        let evidence = match certified.verdict() {
            Verdict::Safe(certificate) => Evidence::Certificate(certificate.clone()),
            Verdict::Unsafe(trace) => Evidence::Trace(trace.clone()),
            Verdict::Unknown(_) => {
                output.message("note: without an answer there is no certificate to write\n");
                return Status::Safe;
            }
        };
        let write = |file: &Path| {
            let mut stream = BufWriter::new(File::create(file)?);
            text::write(&prepared.task.program, &evidence, &mut stream)?;
            stream.flush()
        };
        match write(file) {
            Ok(()) => Status::Safe,
            Err(error) => {
                output.message(&format!("error: cannot write `{}`: {error}\n", file.display()));
                Status::Internal
            }
        }
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

/// An answer, who gave it, and what it took.
struct Found<'a> {
    certified: &'a Certified,
    engine: &'static str,
    counts: Vec<(String, u64)>,
}

/// Figures, one to a line.
fn statistics(engine: &str, counts: &[(String, u64)]) -> String {
    let mut text = format!("what the {engine} engine did:\n");
    let width = counts.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    for (what, number) in counts {
        let _ = writeln!(text, "  {what:width$}  {number}");
    }
    if let Some(bytes) = crate::budget::peak_memory() {
        let _ = writeln!(text, "  {:width$}  {} MB", "peak memory of the process", bytes >> 20);
    }
    text
}

/// What to say about evidence that was rejected.
fn bug_report(engine: &str, file: &str, rejection: &Rejection) -> String {
    format!(
        "error: the {engine} engine gave wrong evidence about `{file}`: {rejection}\n\
         this is a bug in Cusp; please report it together with the program\n"
    )
}
