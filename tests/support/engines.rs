//! All engines, run the way a user runs them: from the text to the certified verdict.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use cusp::budget::{Budget, Limits};
use cusp::check::{Checked, Options, check};
use cusp::evidence::{Reason, Verdict};
use cusp::model::Task;
use cusp::pipeline::Setup;
use cusp::pipeline::table::Choice;
use cusp::progress::Quiet;
use cusp::source::Source;

/// What one run may cost. It is far more than any of them needs; a run that ends here has no verdict,
/// which no test asserts, so that a slow machine is not a failure.
pub const LIMITS: Limits = Limits { time: Some(Duration::from_secs(20)), memory: Some(12 << 30) };

/// `auto` and all engines that decide on their own, with their names on the command line.
pub fn engines() -> Vec<(&'static str, Choice<Task>)> {
    Choice::all().map(|engine| (engine.name(), engine)).collect()
}

/// What an engine said, with evidence that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Safe,
    Unsafe,
    Unknown(Reason),
}

impl Said {
    /// As the manifest spells it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
            Self::Unknown(_) => "unknown",
        }
    }
}

impl From<&Verdict> for Said {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Safe(_) => Self::Safe,
            Verdict::Unsafe(_) => Self::Unsafe,
            Verdict::Unknown(unknown) => Self::Unknown(unknown.reason.clone()),
        }
    }
}

/// Runs one engine on one program; the error is a bad program, rejected evidence or a panic.
pub fn run(source: &Source, options: &Options, engine: Choice<Task>) -> Result<Said, String> {
    let setup = Setup { engine, ..options.setup };
    let options = Options { setup, ..options.clone() };
    let (budget, _watch) = Budget::start(LIMITS);
    let outcome = catch_unwind(AssertUnwindSafe(|| check(source, &options, &budget, &Quiet)));
    match outcome {
        Ok(Ok(Checked { answer, .. })) => match answer.result {
            Ok(certified) if answer.failures.is_empty() => Ok(certified.verdict().into()),
            Ok(_) => Err(format!("failures beside an answer: {:?}", answer.failures)),
            Err(rejection) => Err(format!("rejected: {rejection}")),
        },
        Ok(Err(findings)) => Err(cusp::diagnostic::render(source, &findings, false)),
        Err(panic) => Err(format!("panic: {}", super::message_of(panic.as_ref()))),
    }
}

/// Why an engine may have no answer to a small program: its name and a part of the sentence that it gives.
/// Everything else that an engine does not decide is a bug.
const EXCUSES: [(&str, &str); 9] = [
    ("bmc", "a proof needs"),
    ("counter", "starts no threads"),
    ("counter", "recursi"),
    ("kinduction", "a proof needs"),
    ("kinduction", "recursi"),
    ("kinduction", "inlined"),
    ("nets", "conditions on other threads"),
    ("nets", "recursi"),
    ("nets", "too many to list"),
];

/// Whether an engine is known to give up for this reason.
pub fn may_give_up(engine: &str, reason: &Reason) -> bool {
    let sentence = reason.to_string();
    let is_for_others = matches!(reason, Reason::ThreadsOnly { .. } | Reason::AnyNumberOnly { .. });
    is_for_others
        || matches!(reason, Reason::Timeout(_) | Reason::Memory { .. })
        || EXCUSES.iter().any(|(name, part)| *name == engine && sentence.contains(part))
}
