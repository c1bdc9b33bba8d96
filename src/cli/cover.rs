//! `cusp cover`.

use std::convert::identity;
use std::path::Path;
use std::sync::Arc;

use crate::budget::Budget;
use crate::certify::CertifiedNet;
use crate::cover::{self, Covered, Input, Prepared};
use crate::diagnostic::Findings;
use crate::pipeline::Answer;
use crate::progress::Progress;
use crate::report::json::Header;
use crate::report::json::net::{Extent, NetReport};
use crate::report::nets::{self, NetSubject};
use crate::report::output::Output;
use crate::report::{Detail, View, diagnostics};
use crate::source::Source;

use super::Status;
use super::check::notes;
use super::options::CoverArgs;
use super::outfile::OutFile;
use super::session::{Run, Session, failure_reports, rejection_report, unless_stopped};

/// The name of the command in JSON.
const COMMAND: &str = "cover";

/// Checks the files one after the other.
pub fn run(args: &CoverArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    if let Some(why) = args.contradiction() {
        output.message(&format!("error: {why}\n"));
        return Status::Usage;
    }
    let files = &args.nets.files;
    let mut proof = match args.proof.as_ref().map(|file| OutFile::open(file, files)).transpose() {
        Ok(proof) => proof,
        Err(why) => {
            output.message(&format!("error: {why}\n"));
            return Status::Usage;
        }
    };
    let session = Session::new(args.limits.limits(), args.quiet, leave_at_once);
    let command = Command { args, options: args.options(), session: &session };
    session.each_file(files, !args.json, output, |file, output| command.one_file(file, proof.take(), output))
}

/// What is the same for all files.
struct Command<'a> {
    args: &'a CoverArgs,
    options: cover::Options,
    session: &'a Session,
}

impl Command<'_> {
    fn one_file(&self, file: &Path, proof: Option<OutFile>, output: &mut Output) -> Status {
        let json = self.args.json;
        let run = self.session.begin();
        let input = match load(COMMAND, file, &self.options, &run, json, output) {
            Ok(input) => input,
            Err(status) => return status,
        };
        let name = input.source.name();
        let work = {
            let (input, options) = (Arc::clone(&input), self.options.clone());
            move |budget: &Budget, progress: &dyn Progress| {
                unless_stopped(cover::cover(&input, &options, budget, progress), budget)
            }
        };
        let (covered, _) = run.within_limits(name, output, work);
        let Covered { prepared, answer } = match covered.and_then(identity) {
            Ok(Ok(covered)) => covered,
            Err(reason) => return run.session.unanswered(json.then_some(COMMAND), name, &reason, output),
            Ok(Err(found)) => return bad_input(COMMAND, &input, &found, json, output),
        };
        let Answer { result, engine, failures, .. } = &answer;
        output.message(&failure_reports(failures, name));
        match result {
            Ok(certified) => self.answer(&input, &prepared, certified, &answer, proof, output),
            Err(rejection) => {
                let (status, why) = (Status::Internal, rejection.to_string());
                if json {
                    let header = Header::rejected(COMMAND, name, status.code(), why);
                    output.answer(&header.engine(engine).failures(failures).line());
                }
                output.message(&rejection_report(engine, name, rejection));
                status
            }
        }
    }

    fn answer(
        &self,
        input: &Input,
        prepared: &Prepared,
        certified: &CertifiedNet,
        answer: &Answer<crate::net::Net>,
        proof: Option<OutFile>,
        output: &mut Output,
    ) -> Status {
        let mut status = Status::of(certified.verdict());
        let property = input.property.as_ref();
        let subject = NetSubject {
            source: &input.source,
            property,
            net: &prepared.net,
            certified,
            engine: answer.engine,
            by_chance: answer.by_chance,
        };
        let args = self.args;
        let detail = args.trace.map_or(Detail::Short, Detail::from);
        let report = |extent, status: Status| {
            let word = certified.verdict().word();
            let header = Header::new(COMMAND, input.source.name(), word, status.code())
                .failures(&answer.failures)
                .findings(&input.source, property, &prepared.warnings)
                .notes(&prepared.notes);
            NetReport::checked(&subject, header, extent).line()
        };
        if let Some(file) = proof
            && let Err(why) =
                file.write(|stream| stream.write_all(report(Extent::Everything, status).as_bytes()))
        {
            output.message(&format!("error: {why}\n"));
            status = status.or_worse(Status::Internal);
        }
        if args.json {
            let extent = if detail == Detail::None { Extent::Verdict } else { Extent::Run };
            output.answer(&report(extent, status));
            return status;
        }
        let several = args.nets.files.len() > 1;
        // That nothing was asked is said even to those who want to hear nothing else.
        let is_vacuous = prepared.net.targets.is_empty();
        if !args.quiet || is_vacuous {
            let mut text = findings(input, &prepared.warnings, output.colours_messages());
            text.push_str(&notes(input.source.name(), &prepared.notes, several));
            output.message(&text);
        }
        let colour = output.colours_answers();
        if args.quiet || several && args.trace.is_none() {
            output.answer(&nets::verdict_line(&subject, colour));
        } else {
            let view = View { detail, colour, width: output.width() };
            output.answer(&nets::text(&subject, view));
        }
        status
    }
}

/// Reads the texts of a net, or reports why that is not possible.
pub(super) fn load(
    command: &'static str,
    file: &Path,
    options: &cover::Options,
    run: &Run<'_>,
    json: bool,
    output: &mut Output,
) -> Result<Arc<Input>, Status> {
    let (path, options) = (file.to_owned(), options.clone());
    let read = move |budget: &Budget| Input::load_unless(&path, &options, &|| budget.exhausted().is_some());
    match run.reading(read) {
        Ok(Ok(input)) => Ok(Arc::new(input)),
        Ok(Err(error)) => {
            let status = Status::BadInput;
            if json {
                output.answer(&Header::unreadable(command, &error, status.code()).line());
            } else {
                output.message(&diagnostics::load_error(&error));
            }
            Err(status)
        }
        Err(reason) => {
            Err(run.session.unanswered(json.then_some(command), &Source::name_of(file), &reason, output))
        }
    }
}

/// Reports what is wrong with the texts of a net.
pub(super) fn bad_input(
    command: &'static str,
    input: &Input,
    found: &[Findings],
    json: bool,
    output: &mut Output,
) -> Status {
    let status = Status::BadInput;
    if json {
        let header = Header::bad_input(command, input.source.name(), status.code());
        output.answer(&header.findings(&input.source, input.property.as_ref(), found).line());
    } else {
        let text = findings(input, found, output.colours_messages());
        output.message(&text);
    }
    status
}

/// What was found about all texts, as a person sees it.
pub(super) fn findings(input: &Input, found: &[Findings], colour: bool) -> String {
    let mut text = String::new();
    for findings in found {
        let property = input.property.as_ref().filter(|_| findings.about_property);
        let source = property.unwrap_or(&input.source);
        text.push_str(&diagnostics::findings(source, &findings.diagnostics, colour));
    }
    text
}
