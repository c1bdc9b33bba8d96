//! `cusp cover`.

use std::fmt::Write;
use std::path::Path;

use crate::budget::Budget;
use crate::certify::CertifiedNet;
use crate::cover::{self, Findings, Input, Outcome, Prepared};
use crate::evidence::{NetVerdict, Reason};
use crate::progress;
use crate::report::json::net::{Extent, NetReport};
use crate::report::nets::{self, NetSubject};
use crate::report::output::Output;
use crate::report::{Detail, View, diagnostics};

use super::Status;
use super::interrupt::{Interrupt, Phase};
use super::options::CoverArgs;
use super::tally::Tally;

/// Checks the files one after the other.
pub fn run(args: &CoverArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    if let Some(why) = args.contradiction() {
        output.message(&format!("error: {why}\n"));
        return Status::Usage;
    }
    let interrupt = Interrupt::listen(leave_at_once);
    let session = Session { args, options: args.options(), interrupt: &interrupt };
    let mut tally = Tally::default();
    for file in &args.files {
        if output.is_closed() || interrupt.was_pressed() {
            break;
        }
        tally.add(session.one_file(file, output));
    }
    if args.files.len() > 1 && !args.json && !args.quiet {
        output.answer(&tally.summary("file", args.files.len(), interrupt.was_pressed()));
    }
    if interrupt.was_pressed() { Status::Interrupted } else { tally.worst() }
}

/// What is the same for all files.
struct Session<'a> {
    args: &'a CoverArgs,
    options: cover::Options,
    interrupt: &'a Interrupt,
}

impl Session<'_> {
    fn one_file(&self, file: &Path, output: &mut Output) -> Status {
        let loaded = {
            let _reading = self.interrupt.during(Phase::Reading);
            Input::load(file, &self.options)
        };
        let input = match loaded {
            Ok(input) => input,
            Err(error) => {
                let status = Status::BadInput;
                if self.args.json {
                    output.answer(&NetReport::unreadable(&error, status.code()).line());
                } else {
                    output.message(&diagnostics::load_error(&error));
                }
                return status;
            }
        };
        match self.outcome(&input) {
            Outcome::Checked { prepared, certified, engine } => {
                self.answer(&input, &prepared, &certified, engine, output)
            }
            Outcome::BadInput(found) => {
                let status = Status::BadInput;
                if self.args.json {
                    output.answer(&NetReport::bad_input(&input, status.code(), &found).line());
                } else {
                    let text = findings(&input, &found, output.colours_messages());
                    output.message(&text);
                }
                status
            }
            Outcome::Rejected { prepared, rejection, engine } => {
                let status = Status::Internal;
                let why = rejection.to_string();
                if self.args.json {
                    let report = NetReport::rejected(&input, &prepared.net, engine, status.code(), why);
                    output.answer(&report.line());
                }
                output.message(&format!(
                    "error: the {engine} engine gave wrong evidence about `{}`: {rejection}\n\
                     this is a bug in Cusp; please report it together with the net\n",
                    input.source.name()
                ));
                status
            }
        }
    }

    /// The check itself, with limits, progress, and an eye on Ctrl-C.
    fn outcome(&self, input: &Input) -> Outcome {
        let (budget, _watch) = Budget::start(self.args.limits());
        let _checking = self.interrupt.during(Phase::Checking(budget.clone()));
        let progress = progress::for_terminal(self.args.quiet, input.source.name());
        cover::cover(input, &self.options, &budget, &*progress)
    }

    fn answer(
        &self,
        input: &Input,
        prepared: &Prepared,
        certified: &CertifiedNet,
        engine: &'static str,
        output: &mut Output,
    ) -> Status {
        let status = match certified.verdict() {
            NetVerdict::Safe(_) => Status::Safe,
            NetVerdict::Unsafe(_) => Status::Unsafe,
            NetVerdict::Unknown(unknown) if unknown.reason == Reason::Interrupted => Status::Interrupted,
            NetVerdict::Unknown(_) => Status::Unknown,
        };
        let subject = NetSubject {
            source: &input.source,
            property: input.property.as_ref(),
            net: &prepared.net,
            certified,
            engine,
        };
        let args = self.args;
        let detail = args.trace.map_or(Detail::Short, Detail::from);
        let report = |extent| {
            let (warnings, notes) = (&prepared.warnings, &prepared.notes);
            NetReport::checked(&subject, input, status.code(), warnings, notes, extent).line()
        };
        if args.json {
            let extent = if detail == Detail::None { Extent::Verdict } else { Extent::Run };
            output.answer(&report(extent));
        } else {
            if !args.quiet {
                self.remarks(input, prepared, output);
            }
            let colour = output.colours_answers();
            if args.quiet || args.files.len() > 1 && args.trace.is_none() {
                output.answer(&nets::verdict_line(&subject, colour));
            } else {
                let view = View { detail, colour, width: output.width() };
                output.answer(&nets::text(&subject, view));
            }
        }
        if let Some(path) = &args.proof
            && let Err(error) = std::fs::write(path, report(Extent::Everything))
        {
            output.message(&format!("error: `{}` cannot be written: {error}\n", path.display()));
            return status.or_worse(Status::Internal);
        }
        status
    }

    /// Warnings and notes.
    fn remarks(&self, input: &Input, prepared: &Prepared, output: &mut Output) {
        let mut text = findings(input, &prepared.warnings, output.colours_messages());
        for note in &prepared.notes {
            if self.args.files.len() > 1 {
                let _ = writeln!(text, "note: `{}`: {note}", input.source.name());
            } else {
                let _ = writeln!(text, "note: {note}");
            }
        }
        output.message(&text);
    }
}

/// What was found about all texts, as a person sees it.
fn findings(input: &Input, found: &[Findings], colour: bool) -> String {
    let mut text = String::new();
    for findings in found {
        let property = input.property.as_ref().filter(|_| findings.about_property);
        let source = property.unwrap_or(&input.source);
        text.push_str(&diagnostics::findings(source, &findings.diagnostics, colour));
    }
    text
}
