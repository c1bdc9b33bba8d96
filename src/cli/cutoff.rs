//! `cusp cutoff`.

use std::convert::identity;
use std::path::Path;
use std::sync::Arc;

use crate::budget::Budget;
use crate::cover;
use crate::diagnostic::Diagnostic;
use crate::engines::cutoff::Patience;
use crate::evidence::cutoff::Found;
use crate::evidence::{NetVerdict, Reason};
use crate::pipeline::cutoff::{Answer, Failure, cutoff};
use crate::progress::Progress;
use crate::report::json::Header;
use crate::report::output::Output;
use crate::report::{cutoff as report, diagnostics};
use crate::source::Span;

use super::Status;
use super::cover::{bad_input, findings, load};
use super::options::CutoffArgs;
use super::session::{Session, rejection_report, unless_stopped};

/// The name of the command in JSON.
const COMMAND: &str = "cutoff";

/// Answers for the files one after the other.
pub fn run(args: &CutoffArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    let session = Session::new(args.limits.limits(), args.quiet, leave_at_once);
    session.each_file(&args.nets.files, false, output, |file, output| one_file(args, file, &session, output))
}

fn one_file(args: &CutoffArgs, file: &Path, session: &Session, output: &mut Output) -> Status {
    let options = args.nets.options();
    let run = session.begin();
    let input = match load(COMMAND, file, &options, &run, args.json, output) {
        Ok(input) => input,
        Err(status) => return status,
    };
    let name = input.source.name();
    let work = {
        let input = Arc::clone(&input);
        move |budget: &Budget, progress: &dyn Progress| {
            let prepared = unless_stopped(cover::prepare_within(&input, &options, budget), budget)?;
            Ok(prepared.map(|prepared| {
                let answer = cutoff(&prepared.net, Patience::default(), budget, progress);
                (prepared, answer)
            }))
        }
    };
    let (done, _) = run.within_limits(name, output, work);
    let (prepared, answer) = match done.and_then(identity) {
        Ok(Ok(done)) => done,
        Ok(Err(found)) => return bad_input(COMMAND, &input, &found, args.json, output),
        Err(reason) => return session.unanswered(args.json.then_some(COMMAND), name, &reason, output),
    };
    if !args.quiet && !args.json {
        let text = findings(&input, &prepared.warnings, output.colours_messages());
        output.message(&text);
    }
    match answer {
        Ok(answer) => {
            let status = status(&answer);
            let text = if args.json {
                let word = answer.certified.verdict().word();
                let header = Header::new(COMMAND, name, word, status.code())
                    .findings(&input.source, input.property.as_ref(), &prepared.warnings)
                    .notes(&prepared.notes);
                report::json(header, &answer)
            } else if args.csv {
                report::csv(name, &answer)
            } else {
                report::text(name, &answer, output.colours_answers())
            };
            output.answer(&text);
            status
        }
        Err(Failure::NotThreads(why)) => {
            let status = Status::BadInput;
            let error = Diagnostic::error(Span::default(), format!("this is not a system of threads: {why}"));
            if args.json {
                let header = Header::bad_input(COMMAND, name, status.code());
                output.answer(&header.diagnostics(&input.source, &[error]).line());
            } else {
                output.message(&diagnostics::findings(&input.source, &[error], output.colours_messages()));
            }
            status
        }
        Err(Failure::Rejected(rejection)) => {
            let (status, why) = (Status::Internal, rejection.to_string());
            if args.json {
                output.answer(&Header::rejected(COMMAND, name, status.code(), why).line());
            }
            output.message(&rejection_report(COMMAND, name, &rejection));
            status
        }
    }
}

fn status(answer: &Answer) -> Status {
    match (answer.certified.found(), answer.certified.verdict()) {
        (Found::Unknown(Reason::Interrupted), _) => Status::Interrupted,
        (_, NetVerdict::Unsafe(_)) => Status::Unsafe,
        (Found::Unknown(_), _) | (_, NetVerdict::Unknown(_)) => Status::Unknown,
        (_, NetVerdict::Safe(_)) => Status::Safe,
    }
}
