//! Relations that are not projected: inclusion by the 2QBF stack, loop-free paths, witnesses in certificates.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cusp::budget::{Budget, Limits};
use cusp::certify::certify;
use cusp::check::{Options, prepare};
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::engines::summaries::Summaries;
use cusp::engines::universal::Universal;
use cusp::evidence::Verdict;
use cusp::model::Task;
use cusp::pipeline::Route;
use cusp::progress::Quiet;
use cusp::source::Source;
use support::{for_each_seed, sequential};

fn word(task: &Task, engine: &dyn Engine) -> Result<Option<&'static str>, String> {
    // Without projection formulas may double at every call; what takes longer is not looked at.
    let limits = Limits { time: Some(Duration::from_secs(2)), memory: None };
    let (budget, _watch) = Budget::start(limits);
    let verdict = engine.run(task, &budget, &Quiet);
    let Ok(verdict) = task.complete(verdict, &budget) else { return Ok(None) };
    let certified =
        certify(task, verdict, &budget).map_err(|why| format!("{}: rejected: {why}", engine.name()))?;
    Ok(match certified.verdict() {
        Verdict::Safe(_) => Some("safe"),
        Verdict::Unsafe(_) => Some("unsafe"),
        Verdict::Unknown(_) => None,
    })
}

#[test]
fn relations_in_parametric_form_give_the_same_verdicts() {
    let (answered, open) = (AtomicU32::new(0), AtomicU32::new(0));
    for_each_seed(300, sequential, |text| {
        let source = Source::new("random.bp", text);
        let prepared = prepare(&source, &Options::default()).map_err(|_| "no program".to_owned())?;
        let expected = word(&prepared.task, &Explicit::default())?;
        let engines: [&dyn Engine; 2] =
            [&Summaries { projects: false }, &Universal { projects: false, ..Universal::default() }];
        for engine in engines {
            match word(&prepared.task, engine)? {
                None => open.fetch_add(1, Ordering::Relaxed),
                found if found == expected => answered.fetch_add(1, Ordering::Relaxed),
                found => return Err(format!("{} says {found:?}, not {expected:?}", engine.name())),
            };
        }
        Ok(())
    });
    let (answered, open) = (answered.into_inner(), open.into_inner());
    assert!(answered > 4 * open, "{answered} answers, and {open} questions without one");
}
