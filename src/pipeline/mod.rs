//! The one path from a question to a certified answer.
//!
//! ```text
//! question --reduce--> smaller question --engine--> evidence --lift, complete--> evidence about the question
//!          --certify--> answer --shorten, certify--> answer
//! ```
//!
//! The path is the same for programs and for nets; [`Route`] is what differs. `check` and `cover` read texts and
//! put questions; everything after that happens here.
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | all engines, and when they take part in the portfolio |
//! | [`translate`] | questions that stand for other questions, and the way back for evidence |
//! | `race` | several engines side by side, until there is a certified answer |
//! | `programs`, `nets` | the steps of the path for each kind of question |
//! | [`thread_nets`] | programs with threads that are turned into nets |
//! | [`cutoff`] | the path to a certified number of threads |
//! | [`witnesses`] | what is added to relations so that checking them needs SAT only |

pub mod cutoff;
mod nets;
mod programs;
mod race;
pub mod table;
pub mod thread_nets;
pub mod translate;
pub mod witnesses;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use crate::budget::Budget;
use crate::certify::{Certified, Rejection};
use crate::engines::{Bounds, Engine, Question, VerdictOn};
use crate::evidence::{Reason, Unknown, Verdict};
use crate::progress::{Progress, Remembering};
pub use race::Winner;
use table::{AUTO, BoxedEngine, Choice, HasEngines};
use translate::Translation;

/// A checked verdict on this kind of question.
pub type CertifiedOn<Q> = Certified<<Q as Question>::Proof, <Q as Question>::Run>;

/// The steps of the path that depend on the kind of question.
pub trait Route: HasEngines {
    /// All kinds of reductions.
    const KEEPS: &'static [Self::Keep];

    /// The reductions to try, in this order, for an engine whose evidence can be lifted from reductions of this kind.
    /// If none of them leads to evidence that can be lifted, the engine sees the question itself, so no answer is lost.
    fn attempts(&self, keep: Self::Keep) -> &'static [Self::Keep];

    /// A smaller question with the same answer.
    fn reduce(&self, keep: Self::Keep, budget: &Budget) -> Box<dyn Translation<Self, Self> + '_>;

    /// Adds to evidence about this question what checking it needs.
    ///
    /// # Errors
    /// Why that was not possible.
    fn complete(&self, verdict: VerdictOn<Self>, budget: &Budget) -> Result<VerdictOn<Self>, String>;

    /// Checks the evidence. If the budget is used up before that is done, the verdict is unknown.
    ///
    /// # Errors
    /// What is wrong with the evidence.
    fn certify(&self, verdict: VerdictOn<Self>, budget: &Budget) -> Result<CertifiedOn<Self>, Rejection>;

    /// The bytes of stack that an engine needs for this question. Nothing of ours recurses on the size of the input, but
    /// the library of decision diagrams recurses from variable to variable.
    fn stack_size(&self) -> usize {
        8 << 20
    }

    /// A shorter run to the same effect, if one is found.
    fn shorten(&self, run: &Self::Run, budget: &Budget, progress: &dyn Progress) -> Option<Self::Run>;
}

/// Who decides, and how.
#[derive(Debug)]
pub struct Setup<Q: HasEngines> {
    /// One engine, or all that fit.
    pub engine: Choice<Q>,
    /// Whether engines see a smaller question with the same answer.
    pub reduces: bool,
    /// How far engines that unroll may go.
    pub bounds: Bounds,
    /// Who wins when engines race.
    pub winner: Winner,
}

impl<Q: HasEngines> Clone for Setup<Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: HasEngines> Copy for Setup<Q> {}

impl<Q: HasEngines> Default for Setup<Q> {
    fn default() -> Self {
        Self { engine: Choice::Auto, reduces: true, bounds: Bounds::default(), winner: Winner::default() }
    }
}

/// An answer, and who gave it.
#[derive(Debug)]
pub struct Answer<Q: Question> {
    /// The answer, or what is wrong with the evidence.
    pub result: Result<CertifiedOn<Q>, Rejection>,
    /// The engine that gave it; `auto` if none did.
    pub engine: &'static str,
    /// Whether another run may give the same answer by another engine and with another proof.
    pub by_chance: bool,
    /// What went wrong while another engine answered: bugs in Cusp.
    pub failures: Vec<Failure>,
}

impl<Q: Question> Answer<Q> {
    /// That there is no answer, and why.
    #[must_use]
    pub fn unknown(reason: Reason) -> Self {
        Self {
            result: Ok(Certified::unknown(reason.into())),
            engine: AUTO,
            failures: Vec::new(),
            by_chance: false,
        }
    }
}

/// An engine that did not do what engines promise: a bug in Cusp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The engine, or the step of the path.
    pub engine: &'static str,
    /// What went wrong.
    pub problem: Problem,
}

/// What can go wrong with an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Its evidence was rejected.
    Rejected(Rejection),
    /// It panicked.
    Panicked(String),
}

/// Answers a question: reduces it, has engines decide it, and checks what they show.
#[must_use]
pub fn answer<Q: Route>(
    question: &Q,
    setup: Setup<Q>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Answer<Q> {
    let reductions = Reductions::new(question, setup.reduces, budget);
    let answer = match setup.engine {
        Choice::Only(row) => {
            let engine = row.engine(setup.bounds);
            alone(&*engine, &reductions, budget, progress)
        }
        Choice::Auto => auto(&reductions, &setup, budget, progress),
    };
    let answer = blaming_claims(rejected_if_unanswered(answer), budget);
    shortened(question, answer, budget, progress)
}

/// Answers a question by a race of these engines, whether they are in the table or not.
#[must_use]
pub fn answer_by<Q: Route>(
    engines: &[BoxedEngine<Q>],
    question: &Q,
    reduces: bool,
    budget: &Budget,
    progress: &dyn Progress,
) -> Answer<Q> {
    let reductions = Reductions::new(question, reduces, budget);
    let answer = race::race(engines, &reductions, Winner::Same, budget, progress);
    shortened(question, rejected_if_unanswered(answer), budget, progress)
}

/// The same answer, but if there is none, evidence that was rejected on the way is the result: a bug that may have cost
/// the answer is not reported as a mere `unknown`.
fn rejected_if_unanswered<Q: Route>(mut answer: Answer<Q>) -> Answer<Q> {
    if !answer.result.as_ref().is_ok_and(|certified| !certified.verdict().is_decided()) {
        return answer;
    }
    let is_rejected = |failure: &Failure| matches!(failure.problem, Problem::Rejected(_));
    let rejected = answer.failures.iter().position(is_rejected).map(|at| answer.failures.remove(at));
    if let Some(Failure { engine, problem: Problem::Rejected(rejection) }) = rejected {
        answer.result = Err(rejection);
        answer.engine = engine;
    }
    answer
}

/// The portfolio: one engine for a short while, then all that fit.
fn auto<Q: Route>(
    reductions: &Reductions<'_, Q>,
    setup: &Setup<Q>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Answer<Q> {
    let question = reductions.question;
    let mut failures = Vec::new();
    if let Some(first) = question.first_alone() {
        let named = race::Named::new(first.name(), progress);
        let answer = alone(&*first, reductions, budget, &named);
        match &answer.result {
            Ok(certified) if certified.verdict().is_decided() => {
                named.pass_counts_on();
                return answer;
            }
            Ok(_) => failures.extend(answer.failures.iter().cloned()),
            Err(rejection) => {
                failures
                    .push(Failure { engine: first.name(), problem: Problem::Rejected(rejection.clone()) });
            }
        }
        if let Some(reason) = budget.exhausted() {
            let seen = answer.result.ok().and_then(|certified| match certified.verdict() {
                Verdict::Unknown(unknown) => {
                    unknown.seen.as_ref().map(|seen| format!("{}: {seen}", first.name()))
                }
                _ => None,
            });
            let result = Ok(Certified::unknown(Unknown { reason, seen }));
            return Answer { result, engine: AUTO, by_chance: false, failures };
        }
    }
    let racers = question.racers(setup.bounds);
    let mut answer = match racers.as_slice() {
        [only] => alone(&**only, reductions, budget, progress),
        _ => race::race(&racers, reductions, setup.winner, budget, progress),
    };
    answer.failures.splice(0..0, failures);
    answer
}

/// The answer of one engine.
fn alone<Q: Route>(
    engine: &dyn Engine<Q>,
    reductions: &Reductions<'_, Q>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Answer<Q> {
    let name = engine.name();
    match certified(engine, reductions, budget, progress) {
        Ok(result) => Answer { result, engine: name, by_chance: false, failures: Vec::new() },
        Err(message) => {
            let reason = Reason::EngineFailed { engine: name, message: message.clone() };
            let failure = Failure { engine: name, problem: Problem::Panicked(message) };
            let result = Ok(Certified::unknown(reason.into()));
            Answer { result, engine: name, by_chance: false, failures: vec![failure] }
        }
    }
}

/// Has an engine decide the question, and checks what it shows. An engine that panics fails alone.
///
/// # Errors
/// The message of the panic.
fn certified<Q: Route>(
    engine: &dyn Engine<Q>,
    reductions: &Reductions<'_, Q>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<Result<CertifiedOn<Q>, Rejection>, String> {
    let work = || {
        let remembering = Remembering::new(progress);
        let mut verdict = decide(engine, reductions, budget, &remembering);
        // An engine that was stopped says how far it came, if it does not say more itself.
        if let Verdict::Unknown(Unknown { seen: seen @ None, .. }) = &mut verdict
            && budget.exhausted().is_some()
        {
            *seen = remembering.last();
        }
        reductions.question.certify(verdict, budget)
    };
    caught(work)
}

/// The result of some work, or the message of its panic. What a panic leaves behind belongs to the work alone;
/// questions and reductions are only read.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
    })
}

/// Has an engine decide the question, on a reduced one if that is wanted and the engine can do with it. The verdict is
/// about the question itself, and complete, but nobody has checked it.
#[must_use]
pub fn decide<Q: Route>(
    engine: &dyn Engine<Q>,
    reductions: &Reductions<'_, Q>,
    budget: &Budget,
    progress: &dyn Progress,
) -> VerdictOn<Q> {
    let question = reductions.question;
    if let Some(verdict) = question.without_search() {
        return verdict;
    }
    // Large questions take long to be read, to be reduced, and to be looked at for the first time by an engine.
    if let Some(reason) = budget.exhausted() {
        return reason.into();
    }
    if reductions.wanted
        && let Some(keep) = engine.reduction()
    {
        for &keep in question.attempts(keep) {
            let reduced = reductions.get(keep);
            if let Some(reason) = budget.exhausted() {
                return reason.into();
            }
            let verdict = engine.run(reduced.question(), budget, progress);
            let lifted = reduced.bring_back(verdict, budget).map_err(|why| why.to_string());
            match lifted.and_then(|verdict| question.complete(verdict, budget)) {
                Ok(verdict) => return verdict,
                Err(_) if reduced.keeps_everything() => break,
                Err(_) => {}
            }
        }
    }
    let verdict = engine.run(question, budget, progress);
    question.complete(verdict, budget).unwrap_or_else(|why| {
        Reason::GaveUp(format!("a proof was found that cannot be checked: {why}")).into()
    })
}

/// The same answer, but evidence that was rejected is no bug in Cusp if it rests on what an external solver said and
/// nobody could check: then the answer is unknown, and names the program.
fn blaming_claims<Q: Route>(mut answer: Answer<Q>, budget: &Budget) -> Answer<Q> {
    let doubts = budget.solvers().doubts();
    let claims = doubts.iter().filter(|doubt| doubt.claims > 0);
    let claims: Vec<String> =
        claims.map(|doubt| format!("{} answers of `{}`", doubt.claims, doubt.program)).collect();
    if claims.is_empty() {
        return answer;
    }
    answer.failures.retain(|failure| !matches!(failure.problem, Problem::Rejected(_)));
    let why = match &answer.result {
        // Two verdicts with accepted evidence that contradict each other rest on no claim.
        Err(_) if answer.engine == AUTO => return answer,
        Err(rejection) => format!("the evidence of the {} engine was rejected ({rejection})", answer.engine),
        Ok(certified) => match certified.verdict() {
            Verdict::Unknown(Unknown { reason: Reason::GaveUp(why), .. }) => why.clone(),
            _ => return answer,
        },
    };
    let claims = claims.join(" and ");
    let reason = Reason::GaveUp(format!(
        "{why}; the engine relied on {claims} that nobody could check, and `--sat cadical --qbf embedded` does without \
         them"
    ));
    answer.result = Ok(Certified::unknown(reason.into()));
    answer
}

/// The reductions of one question. Each is made when it is first asked for, and once for all engines.
pub struct Reductions<'q, Q: Route> {
    question: &'q Q,
    wanted: bool,
    /// What making reductions may cost: they serve all engines, so that one which is stopped does not spoil them.
    budget: &'q Budget,
    made: Vec<(Q::Keep, Cell<'q, Q>)>,
}

type Cell<'q, Q> = OnceLock<Box<dyn Translation<Q, Q> + 'q>>;

impl<'q, Q: Route> Reductions<'q, Q> {
    /// Nothing is reduced yet; nothing will be, unless it is wanted.
    #[must_use]
    pub fn new(question: &'q Q, wanted: bool, budget: &'q Budget) -> Self {
        let made = Q::KEEPS.iter().map(|&keep| (keep, OnceLock::new())).collect();
        Self { question, wanted, budget, made }
    }

    fn get(&self, keep: Q::Keep) -> &dyn Translation<Q, Q> {
        let cell = self.made.iter().find(|(kind, _)| *kind == keep).map(|(_, cell)| cell);
        let cell = cell.expect("every kind of reduction is listed");
        &**cell.get_or_init(|| self.question.reduce(keep, self.budget))
    }
}

/// The same answer with a shorter run, if one is found. It is checked like the one before it, which stays if
/// that does not work out: nothing is lost.
fn shortened<Q: Route>(
    question: &Q,
    mut answer: Answer<Q>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Answer<Q> {
    let Ok(certified) = &answer.result else { return answer };
    let Verdict::Unsafe(run) = certified.verdict() else { return answer };
    let shorter = caught(|| {
        let shorter = question.shorten(run, budget, progress)?;
        Some(question.certify(Verdict::Unsafe(shorter), budget))
    });
    let problem = match shorter {
        Ok(Some(Ok(shorter))) => {
            if shorter.verdict().is_decided() {
                answer.result = Ok(shorter);
            }
            return answer;
        }
        Ok(None) => return answer,
        Ok(Some(Err(rejection))) => Problem::Rejected(rejection),
        Err(message) => Problem::Panicked(message),
    };
    answer.failures.push(Failure { engine: "shorten", problem });
    answer
}
