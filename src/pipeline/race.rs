//! Several engines side by side, until there is a certified answer.
//!
//! Every engine has a thread, a part of the budget and nothing mutable in common with the others. There may be
//! more engines than cores: on two cores, five engines at once make the best of them two and a half times
//! slower, and nobody has to guess beforehand which one that is.
//!
//! Only a certified answer ends the race. Two certified answers that differ are a bug in Cusp, and so is evidence that
//! is rejected. The first is reported as such. The second is a remark beside the answer of another engine, if there
//! is one.
//!
//! # The same output every time
//!
//! Which engine is the first depends on the machine and on what else it does. What users see must not. *Safe* looks
//! the same whoever shows it, so the first one ends the race, and reports do not name it. The run of *unsafe* is
//! a different one from each engine, so there the least work wins and not the least time: engines count steps
//! ([`Budget::spend`]), whoever has done more work than an engine with an answer is stopped, and the others go on until
//! they have done more, too. Steps take about the same time in all engines, so that there is little to wait for. A few
//! do not, above all operations on huge diagrams; [`patience`] is when nobody waits for them any more.

use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use cusp_solvers::FinishLine;

use crate::budget::Budget;
use crate::certify::{Certified, Rejection};
use crate::evidence::{Reason, Unknown, Verdict};
use crate::progress::Progress;

use super::table::{AUTO, BoxedEngine};
use super::{Answer, CertifiedOn, Failure, Problem, Reductions, Route, certified};

/// How one engine ended: with its answer, or with the message of a panic.
type Ending<Q> = Result<Result<CertifiedOn<Q>, Rejection>, String>;

/// An engine that has ended.
struct Ended<Q: Route> {
    /// Which one.
    position: usize,
    /// Its place in the order of winning, by work.
    place: u64,
    ending: Ending<Q>,
}

/// Who wins a race.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Winner {
    /// What is shown of the answer does not depend on time.
    #[default]
    Same,
    /// Whoever is the first.
    First,
}

/// How long engines with less work are waited for when another one has found a run: as long as the race took until then,
/// within limits.
fn patience(race: Duration) -> Duration {
    race.clamp(Duration::from_millis(100), Duration::from_secs(2))
}

/// Has all engines decide the question until one of them has a certified answer.
pub(super) fn race<Q: Route>(
    racers: &[BoxedEngine<Q>],
    reductions: &Reductions<'_, Q>,
    winner: Winner,
    budget: &Budget,
    progress: &dyn Progress,
) -> Answer<Q> {
    let line = FinishLine::new();
    let parts: Vec<Budget> = (0..racers.len()).map(|rank| budget.racing(rank, &line)).collect();
    let reports: Vec<Named<'_>> = racers.iter().map(|racer| Named::new(racer.name(), progress)).collect();
    let decide = |position: usize| {
        let part = &parts[position];
        let ending = certified(&*racers[position], reductions, part, &reports[position]);
        if winner == Winner::Same && is_run(&ending) {
            part.meter().finish();
        } else if is_answer(&ending) {
            parts.iter().for_each(Budget::interrupt);
        }
        Ended { position, place: part.meter().place(), ending }
    };
    let stack = reductions.question.stack_size();
    let (sender, receiver) = mpsc::channel();
    let mut endings: Vec<Ended<Q>> = Vec::new();
    let mut without_thread = Vec::new();
    thread::scope(|scope| {
        let begin = Instant::now();
        for position in 0..racers.len() {
            let (sender, decide) = (sender.clone(), &decide);
            let work = move || {
                // Nobody listens any more if the race is over.
                let _ = sender.send(decide(position));
            };
            if thread::Builder::new().stack_size(stack).spawn_scoped(scope, work).is_err() {
                without_thread.push(position);
            }
        }
        drop(sender);
        while let Ok(ended) = receiver.recv() {
            let is_answer = is_answer(&ended.ending);
            endings.push(ended);
            if is_answer {
                break;
            }
        }
        let end = Instant::now() + patience(begin.elapsed());
        while let Ok(ended) = receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            endings.push(ended);
        }
        parts.iter().for_each(Budget::interrupt);
        endings.extend(receiver);
    });
    // The system has no room for more threads. These engines run one after the other, if they are needed at all.
    for position in without_thread {
        if endings.iter().any(|ended| is_answer(&ended.ending)) {
            break;
        }
        parts[position].resume();
        endings.push(decide(position));
    }
    if winner == Winner::Same {
        endings.sort_by_key(|ended| ended.place);
    }
    choose(
        endings.into_iter().map(|ended| (ended.position, ended.ending)).collect(),
        winner,
        &reports,
        budget,
    )
}

/// Whether the ending is an answer with a run.
fn is_run<Proof, Run>(ending: &Result<Result<Certified<Proof, Run>, Rejection>, String>) -> bool {
    matches!(ending, Ok(Ok(certified)) if matches!(certified.verdict(), Verdict::Unsafe(_)))
}

fn is_answer<Proof, Run>(ending: &Result<Result<Certified<Proof, Run>, Rejection>, String>) -> bool {
    matches!(ending, Ok(Ok(certified)) if certified.verdict().is_decided())
}

/// The first answer, unless another one contradicts it.
fn choose<Q: Route>(
    mut endings: Vec<(usize, Ending<Q>)>,
    how: Winner,
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
        return Answer { result, engine: AUTO, by_chance: false, failures };
    };
    let (engine, word) = (reports[position].name, certified.verdict().word());
    if let Some((other, contradiction)) = others.iter().find(|(_, other)| *other != word) {
        let sentence = format!(
            "{engine} says {word}, and {other} says {contradiction}; both with evidence that was accepted"
        );
        return Answer { result: Err(Rejection(sentence)), engine: AUTO, by_chance: false, failures };
    }
    reports[position].pass_counts_on();
    let by_chance = how == Winner::Same && matches!(certified.verdict(), Verdict::Safe(_));
    Answer { result: Ok(certified), engine, by_chance, failures }
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
