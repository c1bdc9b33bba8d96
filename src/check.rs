//! `cusp check`: reads a program, puts the question, and sends it down the [`pipeline`].

use crate::budget::Budget;
use crate::diagnostic::{Diagnostic, has_errors};
use crate::lower::{MOST_COPIES, Replication, lower};
use crate::model::{Action, Procedure, Program, Property, Task};
use crate::pipeline::{self, Answer, Setup};
use crate::progress::Progress;
use crate::resolve::{Names, resolve};
use crate::source::{Source, Span};
use crate::syntax;
use crate::syntax::ast::Dialect;

/// How many threads may live at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadLimit {
    /// Any number.
    #[default]
    Unbounded,
    /// At most this many.
    AtMost(u32),
}

/// What is asked of a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How to read it.
    pub dialect: Dialect,
    /// Check that this label is not reached, instead of the assertions.
    pub label: Option<String>,
    /// Threads that may live at once.
    pub threads: ThreadLimit,
    /// Run `main` in as many threads as there may be.
    pub replicate: bool,
    /// Who decides, and how.
    pub setup: Setup<Task>,
}

/// A program that was read without errors, and what is asked of it.
#[derive(Debug)]
pub struct Prepared {
    /// The question.
    pub task: Task,
    /// Warnings about the text.
    pub warnings: Vec<Diagnostic>,
    /// What was decided on the user's behalf, in plain sentences.
    pub notes: Vec<String>,
}

/// An answer about a program.
#[derive(Debug)]
pub struct Checked {
    /// The question.
    pub prepared: Box<Prepared>,
    /// The answer.
    pub answer: Answer<Task>,
}

/// Reads a program and turns it into a question.
///
/// # Errors
/// All findings about the text, if at least one of them is an error.
pub fn prepare(source: &Source, options: &Options) -> Result<Prepared, Vec<Diagnostic>> {
    prepare_within(source, options, &Budget::unlimited())
}

/// Reads a program and turns it into a question. When the budget is used up, reading ends early; the result is then only
/// good for saying so.
///
/// # Errors
/// All findings about the text, if at least one of them is an error.
pub fn prepare_within(
    source: &Source,
    options: &Options,
    budget: &Budget,
) -> Result<Prepared, Vec<Diagnostic>> {
    let stop = || budget.exhausted().is_some();
    let (ast, mut findings) = syntax::parse_unless(source, options.dialect, &stop);
    if stop() {
        return Err(findings);
    }
    // A tree with holes is resolved too, so that one run reports as much as can be known.
    let (names, warnings) = match resolve(&ast) {
        Ok(resolved) => resolved,
        Err(more) => {
            findings.extend(more);
            return Err(findings);
        }
    };
    findings.extend(warnings);
    if has_errors(&findings) {
        return Err(findings);
    }
    let replication = match (options.replicate, options.threads) {
        (false, _) => Replication::None,
        (true, ThreadLimit::Unbounded) => Replication::Unbounded,
        (true, ThreadLimit::AtMost(n)) => Replication::Exactly(n),
    };
    if let Replication::Exactly(copies) = replication
        && copies > MOST_COPIES
    {
        let message =
            format!("`--replicate` cannot run `main` in {copies} threads; the most is {MOST_COPIES}");
        let help = "leave out `--threads` to ask about any number of threads";
        findings.push(Diagnostic::error(Span::default(), message).help(help));
        return Err(findings);
    }
    let program = lower(&ast, &names, replication);
    let mut notes = Vec::new();
    if let Some(label) = options.label.as_deref() {
        findings.extend(label_nobody_reaches(&program, &names, label));
        if has_errors(&findings) {
            return Err(findings);
        }
    }
    let property = choose_property(&program, options.label.as_deref(), &mut notes);
    let threads = match options.threads {
        ThreadLimit::AtMost(n) if options.dialect != Dialect::Getafix => Some(n),
        _ => number_of_threads(&program, replication),
    };
    Ok(Prepared { task: Task { program, property, threads }, warnings: findings, notes })
}

/// Checks one program.
///
/// # Errors
/// All findings about the text, if it is not a program.
pub fn check(
    source: &Source,
    options: &Options,
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<Checked, Vec<Diagnostic>> {
    let prepared = Box::new(prepare_within(source, options, budget)?);
    let answer = pipeline::answer(&prepared.task, options.setup, budget, progress);
    Ok(Checked { prepared, answer })
}

/// The number of threads, if all of them are started once and for all before `main` runs.
fn number_of_threads(program: &Program, replication: Replication) -> Option<u32> {
    let starts = |procedure: &Procedure| {
        procedure.edges.iter().filter(|e| matches!(e.action, Action::Spawn(_) | Action::Fork(_))).count()
    };
    let in_start = starts(program.procedure(program.start));
    let in_all: usize = program.procedures.iter().map(starts).sum();
    let once = program.is_prologue(program.start) && replication != Replication::Unbounded;
    (once && in_all == in_start).then_some(in_start as u32 + 1)
}

/// The labels that stand for an error in programs without assertions.
const ERROR_LABELS: [&str; 2] = ["SLIC_ERROR", "ERROR"];

fn has_label(program: &Program, label: &str) -> bool {
    program.procedures.iter().any(|procedure| procedure.nodes_labelled(label).next().is_some())
}

/// What is to be said about a label that no procedure of the program has: an error if the file has no such
/// label, a warning if procedures have it that are never called.
fn label_nobody_reaches(program: &Program, names: &Names, label: &str) -> Option<Diagnostic> {
    if has_label(program, label) {
        return None;
    }
    let nowhere = Span::default();
    if names.scopes.iter().any(|scope| scope.labels.contains_key(label)) {
        let message =
            format!("label `{label}` is only in procedures that are never called, so it cannot be reached");
        return Some(Diagnostic::warning(nowhere, message));
    }
    Some(Diagnostic::error(nowhere, format!("no procedure has a label `{label}`")))
}

fn choose_property(program: &Program, label: Option<&str>, notes: &mut Vec<String>) -> Property {
    if let Some(label) = label {
        return Property::LabelUnreachable(label.to_owned());
    }
    let asserts = |edge: &crate::model::Edge| matches!(edge.action, Action::Assert(_));
    if program.procedures.iter().any(|p| p.edges.iter().any(asserts)) {
        return Property::Assertions;
    }
    if let Some(label) = ERROR_LABELS.into_iter().find(|label| has_label(program, label)) {
        notes.push(format!("the program has no assertions; checked that label `{label}` is not reached"));
        return Property::LabelUnreachable(label.to_owned());
    }
    notes.push("the program has no assertions and no error label, so nothing can go wrong".to_owned());
    Property::Assertions
}
