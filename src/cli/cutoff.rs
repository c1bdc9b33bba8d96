//! `cusp cutoff`.

use std::path::Path;

use crate::budget::Budget;
use crate::cover::{self, Findings, Input};
use crate::cutoff::Patience;
use crate::decide_cutoff::{Answer, Failure, cutoff};
use crate::evidence::cutoff::Found;
use crate::evidence::{NetVerdict, Reason};
use crate::progress;
use crate::report::output::Output;
use crate::report::{cutoff as report, diagnostics};

use super::Status;
use super::interrupt::{Interrupt, Phase};
use super::options::CutoffArgs;

/// Answers for the files one after the other.
pub fn run(args: &CutoffArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    let interrupt = Interrupt::listen(leave_at_once);
    let mut worst = Status::Safe;
    for file in &args.files {
        if output.is_closed() || interrupt.was_pressed() {
            break;
        }
        worst = worst.or_worse(one_file(args, file, &interrupt, output));
    }
    if interrupt.was_pressed() { Status::Interrupted } else { worst }
}

fn one_file(args: &CutoffArgs, file: &Path, interrupt: &Interrupt, output: &mut Output) -> Status {
    let options = args.options();
    let loaded = {
        let _reading = interrupt.during(Phase::Reading);
        Input::load(file, &options)
    };
    let input = match loaded {
        Ok(input) => input,
        Err(error) => {
            output.message(&diagnostics::load_error(&error));
            return Status::BadInput;
        }
    };
    let show = |found: &[Findings], output: &mut Output| {
        for findings in found {
            let property = input.property.as_ref().filter(|_| findings.about_property);
            let source = property.unwrap_or(&input.source);
            let text = diagnostics::findings(source, &findings.diagnostics, output.colours_messages());
            output.message(&text);
        }
    };
    // Reading the net as a system is part of the work, so the time starts here.
    let (budget, _watch) = Budget::start(args.limits());
    let prepared = match cover::prepare(&input, &options) {
        Ok(prepared) => prepared,
        Err(found) => {
            show(&found, output);
            return Status::BadInput;
        }
    };
    if !args.quiet {
        show(&prepared.warnings, output);
    }
    let name = input.source.name();
    let answer = {
        let _checking = interrupt.during(Phase::Checking(budget.clone()));
        let progress = progress::for_terminal(args.quiet, name);
        cutoff(&prepared.net, Patience::default(), &budget, &*progress)
    };
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
    match (answer.certified.found(), answer.certified.verdict()) {
        (Found::Unknown(Reason::Interrupted), _) => Status::Interrupted,
        (_, NetVerdict::Unsafe(_)) => Status::Unsafe,
        (Found::Unknown(_), _) | (_, NetVerdict::Unknown(_)) => Status::Unknown,
        (_, NetVerdict::Safe(_)) => Status::Safe,
    }
}
