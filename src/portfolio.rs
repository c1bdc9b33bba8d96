//! Several engines side by side; the first certified answer wins.
//!
//! Every engine has a thread, a part of the budget and nothing mutable in common with the others. There may be
//! more engines than cores: on two cores, five engines at once make the best of them two and a half times
//! slower, and nobody has to guess beforehand which one that is.
//!
//! Before that, the explicit engine has a short time alone. Most programs that people write by hand end there, and
//! their answers do not depend on who is faster.
//!
//! Two certified answers that differ are a bug in Cusp, and so is evidence that is rejected. The first is
//! reported as such. The second is a remark beside the answer of another engine, if there is one.

use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use crate::budget::Budget;
use crate::certify::{Certified, Rejection, certify};
use crate::check::decide;
use crate::engines::explicit::Explicit;
use crate::engines::{Bounds, Engine, EngineName};
use crate::evidence::{Reason, Unknown, Verdict};
use crate::model::Task;
use crate::model::calls::CallGraph;
use crate::model::cube::Cube;
use crate::model::cuts::Cuts;
use crate::progress::Progress;

/// What engines may do.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// See a smaller program with the same verdict.
    pub reduces: bool,
    /// How far engines that unroll may go.
    pub bounds: Bounds,
}

/// Who answered what.
#[derive(Debug)]
pub struct Answer {
    /// The answer, or what is wrong with the evidence.
    pub result: Result<Certified, Rejection>,
    /// Whose it is.
    pub engine: &'static str,
    /// Engines whose evidence was rejected while another one answered, with the reasons.
    pub rejected: Vec<(&'static str, Rejection)>,
}

/// The path edges that the explicit engine may keep while others use memory too.
const PATH_EDGES: usize = 4_000_000;

/// The path edges that it may make while it is alone, times variables: a few milliseconds.
const FIRST_PATH_EDGES: usize = 100_000;

/// Engines whose depth is bounded by nothing but a deep diagram recurse in a library.
const STACK: usize = 256 << 20;

/// The most variables that a frame holds.
fn width(task: &Task) -> usize {
    let locals = task.program.procedures.iter().map(|procedure| procedure.locals.len()).max();
    task.program.globals.len() + locals.unwrap_or(0)
}

/// Whether the explicit engine can hold the variables.
fn is_narrow(task: &Task) -> bool {
    width(task) <= Cube::WIDTH
}

/// The engines that fit a task, the most promising first.
fn members(task: &Task, bounds: Bounds) -> Vec<Box<dyn Engine + Send>> {
    let program = &task.program;
    let explicit = || -> Box<dyn Engine + Send> {
        Box::new(Explicit { most_path_edges: PATH_EDGES, ..Explicit::default() })
    };
    if program.starts_threads {
        return vec![Box::new(Explicit::default())];
    }
    let mut members = Vec::new();
    if is_narrow(task) {
        members.push(explicit());
    }
    let calls = CallGraph::of(program);
    let is_recursive = program.procedure_ids().any(|id| calls.is_recursive(id));
    let has_loops = program.procedures.iter().any(|p| Cuts::of(p).heads().next().is_some());
    let mut names = vec![EngineName::Bdd, EngineName::Bmc, EngineName::Summaries];
    if !is_recursive && has_loops {
        names.push(EngineName::KInduction);
    } else {
        names.push(EngineName::Lazy);
    }
    members.extend(names.into_iter().map(|name| name.engine_within(bounds)));
    members
}

/// Has every engine that fits decide the task.
#[must_use]
pub fn run(task: &Task, setup: Setup, budget: &Budget, progress: &dyn Progress) -> Answer {
    if !task.program.starts_threads && is_narrow(task) {
        let most_path_edges = FIRST_PATH_EDGES / width(task).max(8);
        let first = Explicit { most_path_edges, ..Explicit::default() };
        let verdict = first.run(task, budget, progress);
        if !matches!(verdict, Verdict::Unknown(_)) {
            return Answer {
                result: certify(task, verdict, budget),
                engine: first.name(),
                rejected: Vec::new(),
            };
        }
    }
    let members = members(task, setup.bounds);
    let names: Vec<&'static str> = members.iter().map(|member| member.name()).collect();
    if let [only] = members.as_slice() {
        let verdict = decide(task, &**only, setup.reduces, budget, progress);
        return Answer { result: certify(task, verdict, budget), engine: names[0], rejected: Vec::new() };
    }
    let parts: Vec<Budget> = members.iter().map(|_| budget.part()).collect();
    let reports: Vec<Report<'_>> = names.iter().map(|name| Report::new(name, progress)).collect();
    let (sender, receiver) = mpsc::channel();
    let mut answers = thread::scope(|scope| {
        for (position, member) in members.into_iter().enumerate() {
            let (sender, part, report) = (sender.clone(), &parts[position], &reports[position]);
            let work = move || {
                let verdict = decide(task, &*member, setup.reduces, part, report);
                // Nobody listens any more if the race is over.
                let _ = sender.send((position, certify(task, verdict, part)));
            };
            // An engine without a thread gives no answer; the others do.
            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
        drop(sender);
        let mut answers: Vec<(usize, Result<Certified, Rejection>)> = Vec::new();
        for (position, result) in receiver {
            let is_answer =
                matches!(&result, Ok(certified) if !matches!(certified.verdict(), Verdict::Unknown(_)));
            answers.push((position, result));
            if is_answer {
                parts.iter().for_each(Budget::interrupt);
            }
        }
        answers
    });
    choose(&names, &mut answers, &reports, budget)
}

/// The first answer, unless another one contradicts it.
fn choose(
    names: &[&'static str],
    answers: &mut Vec<(usize, Result<Certified, Rejection>)>,
    reports: &[Report<'_>],
    budget: &Budget,
) -> Answer {
    let word = |result: &Result<Certified, Rejection>| match result {
        Ok(certified) => match certified.verdict() {
            Verdict::Safe(_) => Some("safe"),
            Verdict::Unsafe(_) => Some("unsafe"),
            Verdict::Unknown(_) => None,
        },
        Err(_) => None,
    };
    let winner = answers.iter().position(|(_, result)| word(result).is_some());
    let mut rejected = Vec::new();
    for (position, result) in answers.iter() {
        if let Err(rejection) = result {
            rejected.push((names[*position], rejection.clone()));
        }
    }
    let Some(winner) = winner else {
        if let Some((engine, rejection)) = rejected.pop() {
            return Answer { result: Err(rejection), engine, rejected };
        }
        let result = Ok(Certified::unknown(nobody_knows(names, answers, budget)));
        return Answer { result, engine: "auto", rejected };
    };
    let contradiction =
        answers.iter().find(|(_, result)| word(result).is_some() && word(result) != word(&answers[winner].1));
    if let Some((other, result)) = contradiction {
        let (first, second) = (answers[winner].0, *other);
        let sentence = format!(
            "{} says {}, and {} says {}; both with evidence that was accepted",
            names[first],
            word(&answers[winner].1).unwrap_or_default(),
            names[second],
            word(result).unwrap_or_default()
        );
        return Answer { result: Err(Rejection(sentence)), engine: "auto", rejected };
    }
    let (position, result) = answers.swap_remove(winner);
    reports[position].pass_on();
    Answer { result, engine: names[position], rejected }
}

/// Why there is no answer: the user's limit, or what every engine says.
fn nobody_knows(
    names: &[&'static str],
    answers: &[(usize, Result<Certified, Rejection>)],
    budget: &Budget,
) -> Unknown {
    let mut seen = Vec::new();
    let mut reason = budget.exhausted();
    for (position, result) in answers {
        if let Ok(certified) = result
            && let Verdict::Unknown(unknown) = certified.verdict()
        {
            let said = unknown.seen.as_ref().map_or(String::new(), |seen| format!(" ({seen})"));
            seen.push(format!("{}: {}{said}", names[*position], unknown.reason));
            reason.get_or_insert_with(|| unknown.reason.clone());
        }
    }
    let reason = reason.unwrap_or_else(|| Reason::GaveUp("no engine gave an answer".to_owned()));
    Unknown { reason, seen: Some(seen.join("; ")) }
}

/// What one engine says about itself: lines with its name, and figures that count only if it wins.
struct Report<'a> {
    name: &'static str,
    outer: &'a dyn Progress,
    counts: Mutex<Vec<(String, u64)>>,
}

impl<'a> Report<'a> {
    fn new(name: &'static str, outer: &'a dyn Progress) -> Self {
        Self { name, outer, counts: Mutex::default() }
    }

    fn pass_on(&self) {
        let counts = self.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        counts.iter().for_each(|(what, number)| self.outer.count(what, *number));
    }
}

impl Progress for Report<'_> {
    fn say(&self, line: &dyn Fn() -> String) {
        self.outer.say(&|| format!("{}: {}", self.name, line()));
    }

    fn count(&self, what: &str, number: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        counts.push((what.to_owned(), number));
    }
}
