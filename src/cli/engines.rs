//! `cusp engines`.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::budget::Budget;
use crate::check;
use crate::cover::{self, Format, Input};
use crate::engines::Bounds;
use crate::model::Task;
use crate::net::Net;
use crate::pipeline::table::{AUTO, AUTO_IDEA, HasEngines, Row};
use crate::report::json::header::line;
use crate::report::output::Output;
use crate::source::{LoadError, Source};

use super::Status;
use super::options::EnginesArgs;
use super::session::Session;

/// What is said about one engine.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// `program` or `net`.
    questions: &'static str,
    engine: &'static str,
    idea: &'static str,
    accepts: &'static str,
    shows: &'static str,
    evidence: &'static str,
    /// About a file: whether the engine takes part in `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    races: Option<bool>,
    /// About a file: why the engine does not accept it.
    #[serde(skip_serializing_if = "Option::is_none")]
    refuses: Option<String>,
}

impl Line<'_> {
    fn of<Q: HasEngines>(row: &Row<Q>, questions: &'static str) -> Self {
        let &Row { name, idea, accepts, shows, evidence, .. } = row;
        let (shows, file) = (shows.words(), None);
        Self { file, questions, engine: name, idea, accepts, shows, evidence, races: None, refuses: None }
    }

    fn about<Q: HasEngines>(row: &Row<Q>, questions: &'static str, question: &Q) -> Self {
        let refuses = row.engine(Bounds::default()).accepts(question).err().map(|reason| reason.to_string());
        let races = Some(refuses.is_none() && row.races(question));
        Self { races, refuses, ..Self::of(row, questions) }
    }
}

const PROGRAM: &str = "program";
const NET: &str = "net";

/// Shows the table, or what the engines say about files.
pub fn run(args: &EnginesArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    if args.files.is_empty() {
        let programs = Task::ENGINES.iter().map(|row| Line::of(row, PROGRAM));
        let nets = Net::ENGINES.iter().map(|row| Line::of(row, NET));
        let lines: Vec<Line<'_>> = programs.chain(nets).collect();
        output.answer(&if args.json { lines.iter().map(line).collect() } else { table(&lines) });
        return Status::Safe;
    }
    let session = Session::new(args.limits.limits(), true, leave_at_once);
    session.each_file(&args.files, false, output, |file, output| one_file(args, file, &session, output))
}

fn one_file(args: &EnginesArgs, file: &Path, session: &Session, output: &mut Output) -> Status {
    let (path, options) = (file.to_owned(), args.program.options());
    let asked = session.begin().reading(move |budget| about(&path, &options, budget));
    let name = file.display().to_string();
    match asked {
        Ok(Ok(lines)) => {
            let lines: Vec<Line<'_>> =
                lines.into_iter().map(|line| Line { file: Some(&name), ..line }).collect();
            output.answer(&if args.json {
                lines.iter().map(line).collect()
            } else {
                verdicts(&name, &lines)
            });
            Status::Safe
        }
        Ok(Err(sentence)) => {
            output.message(&format!("error: {sentence}\n"));
            Status::BadInput
        }
        Err(reason) => session.unanswered(None, &name, &reason, output),
    }
}

/// What the engines say about one file, whose name is not in the lines yet.
fn about(file: &Path, question: &check::Options, budget: &Budget) -> Result<Vec<Line<'static>>, String> {
    let stop = || budget.exhausted().is_some();
    let unreadable = |error: LoadError| format!("`{}` {}", error.name, error.message);
    let name = file.display();
    if is_net(file) {
        let options = cover::Options::default();
        let input = Input::load_unless(file, &options, &stop).map_err(unreadable)?;
        let prepared = cover::prepare_within(&input, &options, budget)
            .map_err(|_| format!("`{name}` is not a net that can be checked; see `cusp cover {name}`"))?;
        return Ok(Net::ENGINES.iter().map(|row| Line::about(row, NET, &prepared.net)).collect());
    }
    let source = Source::load_unless(file, &stop).map_err(unreadable)?;
    let prepared = check::prepare_within(&source, question, budget)
        .map_err(|_| format!("`{name}` is not a program that can be checked; see `cusp check {name}`"))?;
    Ok(Task::ENGINES.iter().map(|row| Line::about(row, PROGRAM, &prepared.task)).collect())
}

/// Whether a file holds a net, by its ending.
fn is_net(file: &Path) -> bool {
    file.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| Format::of_ending(ending).is_some())
}

/// The table for people.
fn table(lines: &[Line<'_>]) -> String {
    let mut out = String::new();
    for (questions, heading) in [(PROGRAM, "for programs (`cusp check`)"), (NET, "for nets (`cusp cover`)")] {
        let _ = writeln!(out, "engines {heading}:");
        let _ = writeln!(out, "  {AUTO:<13} {AUTO_IDEA}");
        for line in lines.iter().filter(|line| line.questions == questions) {
            let _ = writeln!(out, "  {:<13} {}", line.engine, line.idea);
            let Line { accepts, shows, evidence, .. } = line;
            let _ = writeln!(out, "  {:<13}   accepts: {accepts}; shows: {shows}; proof: {evidence}", "");
        }
    }
    out
}

/// Which engines take a file.
fn verdicts(file: &str, lines: &[Line<'_>]) -> String {
    let mut out = format!("{file}:\n");
    for line in lines {
        let says = match (&line.refuses, line.races) {
            (Some(reason), _) => format!("no: {reason}"),
            (None, Some(true)) => "yes, and takes part in `auto`".to_owned(),
            (None, _) => "yes".to_owned(),
        };
        let _ = writeln!(out, "  {:<13} {says}", line.engine);
    }
    out
}
