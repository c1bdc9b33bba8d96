//! The one path of data, from text to a certified verdict.

use crate::budget::Budget;
use crate::certify::{self, Certified, Rejection};
use crate::diagnostic::{Diagnostic, has_errors};
use crate::engines::formula::shorten::{Shortened, shorten};
use crate::engines::{self, Engine, EngineName};
use crate::evidence::{Reason, Trace, Unknown, Verdict};
use crate::model::lower::{Replication, lower};
use crate::model::reduce::{Keep, Reduced, reduce};
use crate::model::{Action, Procedure, Program, Property, Task};
use crate::portfolio::{self, Answer, Setup};
use crate::progress::Progress;
use crate::resolve::resolve;
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
    /// Who decides.
    pub engine: engines::EngineName,
    /// Let the engine see the program as it is, and not a smaller one with the same verdict.
    pub no_reduce: bool,
    /// How far engines that unroll may go.
    pub bounds: engines::Bounds,
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

/// What became of one file.
#[derive(Debug)]
pub enum Outcome {
    /// It was checked.
    Checked {
        /// The question that was answered.
        prepared: Box<Prepared>,
        /// The answer.
        certified: Certified,
        /// Who gave it.
        engine: &'static str,
        /// Engines whose evidence was rejected while another one answered: bugs in Cusp, with the reasons.
        rejected: Vec<(&'static str, Rejection)>,
    },
    /// The text is not a program.
    BadInput(Vec<Diagnostic>),
    /// An engine gave evidence that does not hold: a bug in Cusp.
    Rejected {
        /// The question.
        prepared: Box<Prepared>,
        /// What is wrong with the evidence.
        rejection: Rejection,
        /// Whose it is.
        engine: &'static str,
    },
}

/// Reads a program and turns it into a question.
///
/// # Errors
/// All findings about the text, if at least one of them is an error.
pub fn prepare(source: &Source, options: &Options) -> Result<Prepared, Vec<Diagnostic>> {
    let (ast, mut findings) = syntax::parse(source, options.dialect);
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
    let program = lower(&ast, &names, replication);
    let mut notes = Vec::new();
    let property = match choose_property(&program, options.label.as_deref(), &mut notes) {
        Ok(property) => property,
        Err(error) => {
            findings.push(error);
            return Err(findings);
        }
    };
    let threads = match options.threads {
        ThreadLimit::AtMost(n) if options.dialect != Dialect::Getafix => Some(n),
        _ => number_of_threads(&program, replication),
    };
    Ok(Prepared { task: Task { program, property, threads }, warnings: findings, notes })
}

/// Checks one program.
#[must_use]
pub fn check(source: &Source, options: &Options, budget: &Budget, progress: &dyn Progress) -> Outcome {
    let prepared = match prepare(source, options) {
        Ok(prepared) => Box::new(prepared),
        Err(findings) => return Outcome::BadInput(findings),
    };
    let Answer { result, engine, rejected } = answer(&prepared.task, options, budget, progress);
    match result {
        Ok(certified) => Outcome::Checked { prepared, certified, engine, rejected },
        Err(rejection) => Outcome::Rejected { prepared, rejection, engine },
    }
}

/// Has the chosen engine, or all that fit, answer a question, and checks the evidence.
#[must_use]
pub fn answer(task: &Task, options: &Options, budget: &Budget, progress: &dyn Progress) -> Answer {
    let reduces = !options.no_reduce;
    let answer = if options.engine == EngineName::Auto {
        portfolio::run(task, Setup { reduces, bounds: options.bounds }, budget, progress)
    } else {
        let engine = options.engine.engine_within(options.bounds);
        let verdict = decide(task, &*engine, reduces, budget, progress);
        let result = certify::certify(task, verdict, budget);
        Answer { result, engine: engine.name(), rejected: Vec::new() }
    };
    let answer = blaming_claims(answer, budget);
    with_short_trace(task, answer, budget, progress)
}

/// The same answer, but evidence that was rejected is no bug in Cusp if it rests on what an external solver said and
/// nobody could check: then the answer is unknown, and names the program.
fn blaming_claims(mut answer: Answer, budget: &Budget) -> Answer {
    let doubts = budget.solvers().doubts();
    let claims = doubts.iter().filter(|doubt| doubt.claims > 0);
    let claims: Vec<String> =
        claims.map(|doubt| format!("{} answers of `{}`", doubt.claims, doubt.program)).collect();
    if claims.is_empty() {
        return answer;
    }
    answer.rejected.clear();
    let why = match &answer.result {
        // Two verdicts with accepted evidence that contradict each other rest on no claim.
        Err(_) if answer.engine == "auto" => return answer,
        Err(rejection) => format!("the evidence of the {} engine was rejected ({rejection})", answer.engine),
        Ok(certified) => match certified.verdict() {
            Verdict::Unknown(Unknown { reason: Reason::GaveUp(why), .. }) => why.clone(),
            _ => return answer,
        },
    };
    let claims = claims.join(" and ");
    let reason = Reason::GaveUp(format!(
        "{why}; the engine relied on {claims} that nobody could check, and `--sat cadical --qbf embedded` \
         does without them"
    ));
    answer.result = Ok(Certified::unknown(Unknown { reason, seen: None }));
    answer
}

/// The same answer with a shorter trace, if one is found. It is replayed like the one before it, which stays if
/// that does not work out: nothing is lost.
fn with_short_trace(task: &Task, mut answer: Answer, budget: &Budget, progress: &dyn Progress) -> Answer {
    let Ok(certified) = &answer.result else { return answer };
    let Verdict::Unsafe(Trace::Sequential(tree)) = certified.verdict() else { return answer };
    progress.say(&|| "looking for a shorter trace".to_owned());
    let Shortened { tree: shorter, is_shortest } = shorten(task, tree.clone(), budget);
    progress.count("trace known to be a shortest one", u64::from(is_shortest));
    if shorter == *tree {
        return answer;
    }
    match certify::certify(task, Verdict::Unsafe(Trace::Sequential(shorter)), budget) {
        Ok(shorter) if matches!(shorter.verdict(), Verdict::Unsafe(_)) => answer.result = Ok(shorter),
        Ok(_) => {}
        Err(rejection) => answer.rejected.push(("shorten", rejection)),
    }
    answer
}

/// Runs an engine, on a reduced task if that is wanted and the engine can do with one.
///
/// What the engine shows is about the task that it saw, and is lifted. If that cannot be done, it runs again
/// on a task of which more was kept, and at last on the task itself, so no answer is lost.
#[must_use]
pub fn decide(
    original: &Task,
    engine: &dyn Engine,
    reduces: bool,
    budget: &Budget,
    progress: &dyn Progress,
) -> Verdict {
    let attempts: &[Keep] = match engine.reduction() {
        Some(Keep::Verdict) => &[Keep::Verdict, Keep::States],
        Some(Keep::States) => &[Keep::States],
        None => &[],
    };
    if reduces && !original.program.starts_threads {
        for &keep in attempts {
            let Reduced { task, restore } = reduce(original, keep);
            if let Ok(verdict) = restore.lift(engine.run(&task, budget, progress), budget) {
                return shortened(&original.program, verdict);
            }
        }
    }
    shortened(&original.program, engine.run(original, budget, progress))
}

/// A run without detours. Engines that join summaries do not look for short runs.
fn shortened(program: &Program, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Unsafe(Trace::Sequential(tree)) => {
            Verdict::Unsafe(Trace::Sequential(tree.without_detours(program)))
        }
        verdict => verdict,
    }
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

fn choose_property(
    program: &Program,
    label: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Property, Diagnostic> {
    let has_label = |label: &str| program.procedures.iter().any(|p| p.nodes_labelled(label).next().is_some());
    if let Some(label) = label {
        if has_label(label) {
            return Ok(Property::LabelUnreachable(label.to_owned()));
        }
        let message = format!("no procedure that can run has a label `{label}`");
        return Err(Diagnostic::error(Span::default(), message));
    }
    let asserts = |edge: &crate::model::Edge| matches!(edge.action, Action::Assert(_));
    if program.procedures.iter().any(|p| p.edges.iter().any(asserts)) {
        return Ok(Property::Assertions);
    }
    if let Some(label) = ERROR_LABELS.into_iter().find(|label| has_label(label)) {
        notes.push(format!("the program has no assertions; checked that label `{label}` is not reached"));
        return Ok(Property::LabelUnreachable(label.to_owned()));
    }
    notes.push("the program has no assertions and no error label, so nothing can go wrong".to_owned());
    Ok(Property::Assertions)
}
