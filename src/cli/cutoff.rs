//! `cusp cutoff`.

use std::path::Path;

use crate::cover;
use crate::engines::cutoff::{Answer, Failure, Found, Patience, cutoff};
use crate::evidence::{NetVerdict, Reason};
use crate::report::cutoff as report;
use crate::report::output::Output;

use super::Status;
use super::cover::{bad_input, findings, load};
use super::options::CutoffArgs;
use super::session::Session;

/// The name of the command in JSON.
const COMMAND: &str = "cutoff";

/// Answers for the files one after the other.
pub fn run(args: &CutoffArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    let session = Session::new(args.limits.limits(), args.quiet, leave_at_once);
    session.each_file(&args.nets.files, false, output, |file, output| one_file(args, file, &session, output))
}

fn one_file(args: &CutoffArgs, file: &Path, session: &Session, output: &mut Output) -> Status {
    let options = args.nets.options();
    let input = match load(COMMAND, file, &options, session, args.json, output) {
        Ok(input) => input,
        Err(status) => return status,
    };
    let prepared = match cover::prepare(&input, &options) {
        Ok(prepared) => prepared,
        Err(found) => return bad_input(COMMAND, &input, &found, args.json, output),
    };
    if !args.quiet && !args.json {
        let text = findings(&input, &prepared.warnings, output.colours_messages());
        output.message(&text);
    }
    let name = input.source.name();
    let (answer, _) = session.within_limits(name, output, |budget, progress| {
        cutoff(&prepared.net, Patience::default(), budget, progress)
    });
    match answer {
        Ok(answer) => {
            let text = if args.json {
                report::json(name, &answer)
            } else if args.csv {
                report::csv(name, &answer)
            } else {
                report::text(name, &answer, output.colours_answers())
            };
            output.answer(&text);
            status(&answer)
        }
        Err(Failure::NotThreads(why)) => {
            output.message(&format!("error: `{name}` is not a system of threads: {why}\n"));
            Status::BadInput
        }
        Err(Failure::Rejected(rejection)) => {
            output.message(&format!(
                "error: wrong evidence about `{name}`: {rejection}\n\
                 this is a bug in Cusp; please report it together with the net\n"
            ));
            Status::Internal
        }
    }
}

fn status(answer: &Answer) -> Status {
    match (&answer.found, answer.certified.verdict()) {
        (Found::Unknown(Reason::Interrupted), _) => Status::Interrupted,
        (_, NetVerdict::Unsafe(_)) => Status::Unsafe,
        (Found::Unknown(_), _) | (_, NetVerdict::Unknown(_)) => Status::Unknown,
        (_, NetVerdict::Safe(_)) => Status::Safe,
    }
}
