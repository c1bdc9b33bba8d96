//! `cusp solvers`.

use std::fmt::Write;

use cusp_solvers::Interrupt;
use cusp_solvers::installed::Survey;
use serde::Serialize;

use super::Status;
use super::options::SolversArgs;
use crate::report::output::Output;

/// A solver, for machines.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    built_in: bool,
    path: Option<String>,
    version: Option<&'a str>,
}

/// All solvers of one kind, for machines.
#[derive(Serialize)]
struct Kind<'a> {
    available: Vec<Line<'a>>,
    not_installed: &'a [&'static str],
}

impl<'a> Kind<'a> {
    fn of(survey: &'a Survey) -> Self {
        let available = survey.found.iter().map(|found| Line {
            name: &found.name,
            built_in: found.path.is_none(),
            path: found.path.as_ref().map(|path| path.display().to_string()),
            version: found.version.as_deref(),
        });
        Self { available: available.collect(), not_installed: &survey.missing }
    }
}

/// Lists the solvers that a run may choose.
pub fn run(args: &SolversArgs, output: &mut Output) -> Status {
    // Ctrl-C ends the process; there is nothing to be saved.
    let interrupt = Interrupt::new();
    let (sat, qbf) = (Survey::sat(&interrupt), Survey::qbf(&interrupt));
    if args.json {
        let report = serde_json::json!({ "sat": Kind::of(&sat), "qbf": Kind::of(&qbf) });
        output.answer(&format!("{report}\n"));
    } else {
        output.answer(&text("SAT", "--sat", &sat));
        output.answer("\n");
        output.answer(&text("QBF", "--qbf", &qbf));
    }
    Status::Safe
}

/// A line for each solver.
fn text(kind: &str, option: &str, survey: &Survey) -> String {
    let mut text = format!("{kind} solvers, for `cusp check {option} NAME`:\n");
    let width = survey.found.iter().map(|found| found.name.chars().count()).max().unwrap_or(0);
    for found in &survey.found {
        let place = match &found.path {
            Some(path) => path.display().to_string(),
            None => "built in, the default".to_owned(),
        };
        let version = found.version.as_deref().unwrap_or("-");
        let _ = writeln!(text, "  {:width$}  {version:8}  {place}", found.name);
    }
    if !survey.missing.is_empty() {
        let _ = writeln!(text, "known, but not installed: {}", survey.missing.join(", "));
    }
    text
}
