//! Several engines side by side; the first certified answer counts.
//!
//! Every engine has a thread, a part of the budget and nothing mutable in common with the others. There may be
//! more engines than cores: on two cores, five engines at once make the best of them two and a half times
//! slower, and nobody has to guess beforehand which one that is.
//!
//! Only a certified answer ends the race. Two certified answers that differ are a bug in Cusp, and so is evidence that
//! is rejected. The first is reported as such. The second is a remark beside the answer of another engine, if there
//! is one.

use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use crate::budget::Budget;
use crate::certify::{Certified, Rejection};
use crate::evidence::{Reason, Unknown, Verdict};
use crate::progress::Progress;

use super::table::{AUTO, BoxedEngine};
use super::{Answer, CertifiedOn, Failure, Problem, Reductions, Route, certified};

/// How one engine ended: with its answer, or with the message of a panic.
type Ending<Q> = Result<Result<CertifiedOn<Q>, Rejection>, String>;

/// Has all engines decide the question until one of them has a certified answer.
pub(super) fn race<Q: Route>(
    racers: &[BoxedEngine<Q>],
    reductions: &Reductions<'_, Q>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Answer<Q> {
    let parts: Vec<Budget> = racers.iter().map(|_| budget.part()).collect();
    let reports: Vec<Named<'_>> = racers.iter().map(|racer| Named::new(racer.name(), progress)).collect();
    let decide =
        |position: usize| certified(&*racers[position], reductions, &parts[position], &reports[position]);
    let stack = reductions.question.stack_size();
    let (sender, receiver) = mpsc::channel();
    let mut endings: Vec<(usize, Ending<Q>)> = Vec::new();
    let mut without_thread = Vec::new();
    thread::scope(|scope| {
        for position in 0..racers.len() {
            let (sender, decide) = (sender.clone(), &decide);
            let work = move || {
                // Nobody listens any more if the race is over.
                let _ = sender.send((position, decide(position)));
            };
            if thread::Builder::new().stack_size(stack).spawn_scoped(scope, work).is_err() {
                without_thread.push(position);
            }
        }
        drop(sender);
        for (position, ending) in receiver {
            let is_answer = is_answer(&ending);
            endings.push((position, ending));
            if is_answer {
                parts.iter().for_each(Budget::interrupt);
            }
        }
    });
    // The system has no room for more threads. These engines run one after the other, if they are needed at all.
    for position in without_thread {
        if endings.iter().any(|(_, ending)| is_answer(ending)) {
            break;
        }
        endings.push((position, decide(position)));
    }
    choose(endings, &reports, budget)
}

fn is_answer<Proof, Run>(ending: &Result<Result<Certified<Proof, Run>, Rejection>, String>) -> bool {
    matches!(ending, Ok(Ok(certified)) if certified.verdict().is_decided())
}

/// The first answer, unless another one contradicts it.
fn choose<Q: Route>(
    mut endings: Vec<(usize, Ending<Q>)>,
    reports: &[Named<'_>],
    budget: &Budget,
) -> Answer<Q> {
    let winner = endings.iter().position(|(_, ending)| is_answer(ending)).map(|at| endings.remove(at));
    // What else is said does not depend on who was faster.
    endings.sort_by_key(|&(position, _)| position);
    let mut failures = Vec::new();
    let mut unknowns = Vec::new();
    let mut others = Vec::new();
    for (position, ending) in endings {
        let engine = reports[position].name;
        match ending {
            Err(message) => failures.push(Failure { engine, problem: Problem::Panicked(message) }),
            Ok(Err(rejection)) => failures.push(Failure { engine, problem: Problem::Rejected(rejection) }),
            Ok(Ok(certified)) => match certified.verdict() {
                Verdict::Unknown(unknown) => unknowns.push((engine, unknown.clone())),
                decided => others.push((engine, decided.word())),
            },
        }
    }
    let Some((position, Ok(Ok(certified)))) = winner else {
        let result = Ok(Certified::unknown(nobody_knows(&unknowns, &failures, budget)));
        return Answer { result, engine: AUTO, failures };
    };
    let (engine, word) = (reports[position].name, certified.verdict().word());
    if let Some((other, contradiction)) = others.iter().find(|(_, other)| *other != word) {
        let sentence = format!(
            "{engine} says {word}, and {other} says {contradiction}; both with evidence that was accepted"
        );
        return Answer { result: Err(Rejection(sentence)), engine: AUTO, failures };
    }
    reports[position].pass_counts_on();
    Answer { result: Ok(certified), engine, failures }
}

/// Why there is no answer: the user's limit, or what every engine says.
fn nobody_knows(unknowns: &[(&'static str, Unknown)], failures: &[Failure], budget: &Budget) -> Unknown {
    let mut seen = Vec::new();
    let mut reason = budget.exhausted();
    for (engine, unknown) in unknowns {
        let said = unknown.seen.as_ref().map_or(String::new(), |seen| format!(" ({seen})"));
        let is_known = *reason.get_or_insert_with(|| unknown.reason.clone()) == unknown.reason;
        // The reason that is given anyway is not repeated for every engine.
        if !is_known || !said.is_empty() {
            seen.push(format!("{engine}: {}{said}", unknown.reason));
        }
    }
    for Failure { engine, problem } in failures {
        if let Problem::Panicked(message) = problem {
            let failed = Reason::EngineFailed { engine, message: message.clone() };
            seen.push(format!("{engine}: {failed}"));
            reason.get_or_insert(failed);
        }
    }
    let reason = reason.unwrap_or_else(|| Reason::GaveUp("no engine gave an answer".to_owned()));
    Unknown { reason, seen: (!seen.is_empty()).then(|| seen.join("; ")) }
}

/// Progress of one engine among several: lines with its name, and figures that count only if it wins.
pub(super) struct Named<'a> {
    name: &'static str,
    outer: &'a dyn Progress,
    counts: Mutex<Vec<(String, u64)>>,
}

impl<'a> Named<'a> {
    pub fn new(name: &'static str, outer: &'a dyn Progress) -> Self {
        Self { name, outer, counts: Mutex::default() }
    }

    /// The engine's answer counts, and so do its figures.
    pub fn pass_counts_on(&self) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().for_each(|(what, number)| self.outer.count(what, *number));
    }
}

impl Progress for Named<'_> {
    fn say(&self, line: &dyn Fn() -> String) {
        self.outer.say(&|| format!("{}: {}", self.name, line()));
    }

    fn count(&self, what: &str, number: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.push((what.to_owned(), number));
    }
}
