//! `cusp check`.

use std::convert::identity;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use crate::budget::Budget;
use crate::check::{self, Checked, Prepared, ThreadLimit};
use crate::diagnostic::Diagnostic;
use crate::evidence::text::{self, Evidence};
use crate::evidence::{Reason, Verdict};
use crate::model::Task;
use crate::pipeline::{self, Answer};
use crate::progress::Progress;
use crate::report::json::{Header, Report};
use crate::report::output::Output;
use crate::report::{self, Detail, Subject, View, diagnostics};
use crate::source::{Source, Span};
use crate::syntax::ast::Dialect;

use super::Status;
use super::options::CheckArgs;
use super::outfile::OutFile;
use super::session::{Run, Session, failure_reports, rejection_report, unless_stopped};
use super::tally::Tally;

/// The name of the command in JSON.
const COMMAND: &str = "check";

/// Checks the files one after the other.
pub fn run(args: &CheckArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    if let Some(why) = args.contradiction() {
        output.message(&format!("error: {why}\n"));
        return Status::Usage;
    }
    let mut certificate =
        match args.certificate.as_ref().map(|file| OutFile::open(file, &args.files)).transpose() {
            Ok(certificate) => certificate,
            Err(why) => {
                output.message(&format!("error: {why}\n"));
                return Status::Usage;
            }
        };
    let session = Session::new(args.limits.limits(), args.quiet, leave_at_once)
        .asking(args.solvers.choice())
        .checking_proofs(args.check_proofs);
    let command = Command { args, options: args.options(), session: &session };
    if command.options.dialect == Dialect::Getafix
        && args.program.threads != ThreadLimit::Unbounded
        && !args.quiet
    {
        output.message("note: `--threads` has no effect: a Getafix program says which threads it has\n");
    }
    session.each_file(&args.files, !args.json, output, |file, output| {
        command.one_file(file, certificate.take(), output)
    })
}

/// What is the same for all files.
struct Command<'a> {
    args: &'a CheckArgs,
    options: check::Options,
    session: &'a Session,
}

/// An answer, what it is about, and what it took.
struct Found<'a> {
    prepared: &'a Prepared,
    task: &'a Task,
    /// With `--all`: the assertion.
    assertion: Option<Span>,
    answer: &'a Answer<Task>,
    counts: &'a [(String, u64)],
}

impl Command<'_> {
    fn one_file(&self, file: &Path, certificate: Option<OutFile>, output: &mut Output) -> Status {
        let run = self.session.begin();
        let path = file.to_owned();
        let source =
            match run.reading(move |budget| Source::load_unless(&path, &|| budget.exhausted().is_some())) {
                Ok(Ok(source)) => Arc::new(source),
                Err(reason) => return self.unanswered(&Source::name_of(file), &reason, output),
                Ok(Err(error)) => {
                    let status = Status::BadInput;
                    if self.args.json {
                        output.answer(&Header::unreadable(COMMAND, &error, status.code()).line());
                    } else {
                        output.message(&diagnostics::load_error(&error));
                    }
                    return status;
                }
            };
        if self.args.all {
            return self.each_assertion(&source, run, output);
        }
        let work = {
            let (source, options) = (Arc::clone(&source), self.options.clone());
            move |budget: &Budget, progress: &dyn Progress| {
                unless_stopped(check::check(&source, &options, budget, progress), budget)
            }
        };
        let (checked, counts) = run.within_limits(source.name(), output, work);
        match checked.and_then(identity) {
            Err(reason) => self.unanswered(source.name(), &reason, output),
            Ok(Ok(Checked { prepared, answer })) => {
                let (task, counts) = (&prepared.task, counts.as_slice());
                let found = Found { prepared: &prepared, task, assertion: None, answer: &answer, counts };
                self.answer(&source, &found, certificate, output)
            }
            Ok(Err(findings)) => self.bad_input(&source, &findings, output),
        }
    }

    fn unanswered(&self, file: &str, reason: &Reason, output: &mut Output) -> Status {
        self.session.unanswered(self.args.json.then_some(COMMAND), file, reason, output)
    }

    fn bad_input(&self, source: &Source, findings: &[Diagnostic], output: &mut Output) -> Status {
        let status = Status::BadInput;
        if self.args.json {
            let header = Header::bad_input(COMMAND, source.name(), status.code());
            output.answer(&header.diagnostics(source, findings).line());
        } else {
            let colour = output.colours_messages();
            output.message(&diagnostics::findings(source, findings, colour));
        }
        status
    }

    /// Every assertion on its own, with the others assumed.
    fn each_assertion(&self, source: &Arc<Source>, run: Run<'_>, output: &mut Output) -> Status {
        let work = {
            let (source, options) = (Arc::clone(source), self.options.clone());
            move |budget: &Budget, _: &dyn Progress| {
                unless_stopped(check::prepare_within(&source, &options, budget), budget)
            }
        };
        let prepared = match run.within_limits(source.name(), output, work).0.and_then(identity) {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(findings)) => return self.bad_input(source, &findings, output),
            Err(reason) => return self.unanswered(source.name(), &reason, output),
        };
        drop(run);
        if !self.args.quiet && !self.args.json {
            self.remarks(source, &prepared, output);
        }
        let mut tally = Tally::default();
        let assertions = prepared.task.assertions();
        for &(procedure, edge) in &assertions {
            if self.session.is_over(output) {
                break;
            }
            let task = Arc::new(prepared.task.only_assertion(procedure, edge));
            let work = {
                let (task, setup) = (Arc::clone(&task), self.options.setup);
                move |budget: &Budget, progress: &dyn Progress| {
                    pipeline::answer(&*task, setup, budget, progress)
                }
            };
            let (answer, counts) = self.session.begin().within_limits(source.name(), output, work);
            let answer = answer.unwrap_or_else(Answer::unknown);
            let span = task.program.procedure(procedure).edge(edge).span;
            let found = Found {
                prepared: &prepared,
                task: &task,
                assertion: Some(span),
                answer: &answer,
                counts: &counts,
            };
            tally.add(self.answer(source, &found, None, output));
        }
        if !self.args.quiet && !self.args.json {
            let interrupted = self.session.was_interrupted();
            output.answer(&tally.summary("assertion", assertions.len(), interrupted));
        }
        tally.worst()
    }

    /// Writes an answer, and the evidence to a file if that was asked for.
    fn answer(
        &self,
        source: &Source,
        found: &Found<'_>,
        certificate: Option<OutFile>,
        output: &mut Output,
    ) -> Status {
        let args = self.args;
        let Answer { result, engine, failures, .. } = found.answer;
        output.message(&failure_reports(failures, source.name()));
        let certified = match result {
            Ok(certified) => certified,
            Err(rejection) => {
                let (status, why) = (Status::Internal, rejection.to_string());
                if args.json {
                    let header = Header::rejected(COMMAND, source.name(), status.code(), why);
                    output.answer(&header.engine(engine).failures(failures).line());
                }
                output.message(&rejection_report(engine, source.name(), rejection));
                return status;
            }
        };
        let verdict = certified.verdict();
        let mut status = Status::of(verdict);
        if let Some(file) = certificate {
            status = status.or_worse(write_evidence(found.task, verdict, file, output));
        }
        // Figures of the search depend on chance anyway.
        let by_chance = found.answer.by_chance && !(args.json && args.stats);
        let subject = Subject { source, task: found.task, certified, engine, by_chance };
        let place = found.assertion.map(|span| source.position(span.start));
        let detail = args.trace.map_or(Detail::Short, Detail::from);
        if args.json {
            let header = Header::new(COMMAND, source.name(), verdict.word(), status.code())
                .failures(failures)
                .diagnostics(source, &found.prepared.warnings)
                .notes(&found.prepared.notes);
            let mut report = Report::checked(&subject, header, detail != Detail::None);
            if let Some(place) = place {
                report = report.about_assertion(place.line, place.column);
            }
            if args.stats {
                report = report.with_statistics(found.counts);
            }
            output.answer(&report.line());
            return status;
        }
        if !args.quiet && !args.all {
            self.remarks(source, found.prepared, output);
        }
        if let (Some(span), Some(place)) = (found.assertion, place) {
            let text = source.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
            output.answer(&format!("{}:{}: {text}\n  ", place.line, place.column));
        }
        let colour = output.colours_answers();
        let several = args.files.len() > 1 || args.all;
        if args.quiet || several && args.trace.is_none() {
            output.answer(&report::verdict_line(&subject, colour));
        } else {
            let view = View { detail, colour, width: output.width() };
            output.answer(&report::text(&subject, view));
        }
        if args.stats {
            output.answer(&statistics(engine, found.counts));
        }
        status
    }

    /// Warnings and notes.
    fn remarks(&self, source: &Source, prepared: &Prepared, output: &mut Output) {
        let colour = output.colours_messages();
        let mut text = diagnostics::findings(source, &prepared.warnings, colour);
        text.push_str(&notes(source.name(), &prepared.notes, self.args.files.len() > 1));
        output.message(&text);
    }
}

/// What was decided on the user's behalf, with the name of the file if there are several.
pub(super) fn notes(file: &str, notes: &[String], several: bool) -> String {
    let about = if several { format!("`{file}`: ") } else { String::new() };
    let mut text = String::new();
    for note in notes {
        let _ = writeln!(text, "note: {about}{note}");
    }
    text
}

/// Writes the certificate or the trace.
fn write_evidence(task: &Task, verdict: &Verdict, file: OutFile, output: &mut Output) -> Status {
    let evidence = match verdict {
        Verdict::Safe(certificate) => Evidence::Certificate(certificate.clone()),
        Verdict::Unsafe(trace) => Evidence::Trace(trace.clone()),
        Verdict::Unknown(_) => {
            output.message("note: without an answer there is no certificate to write\n");
            return Status::Safe;
        }
    };
    match file.write(|stream| text::write(&task.program, &evidence, stream)) {
        Ok(()) => Status::Safe,
        Err(why) => {
            output.message(&format!("error: {why}\n"));
            Status::Internal
        }
    }
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
