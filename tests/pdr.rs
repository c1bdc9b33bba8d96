//! Property-directed reachability for programs with threads, against the explicit engine on random programs.

mod support;

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, ThreadLimit, prepare};
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::engines::pdr::Pdr;
use cusp::evidence::Verdict;
use cusp::model::Task;
use cusp::progress::Quiet;
use cusp::source::Source;
use cusp::threads::Reductions;
use support::program::Mode;
use support::random_programs::concurrent_in;
use support::{concurrent, for_each_seed};

fn task_of(text: &str, threads: ThreadLimit) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    let options = Options { threads, ..Options::default() };
    prepare(&source, &options)
        .map(|prepared| prepared.task)
        .map_err(|findings| cusp::diagnostic::render(&source, &findings, false))
}

fn task_as_written(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    prepare(&source, &support::options_of(text))
        .map(|prepared| prepared.task)
        .map_err(|findings| cusp::diagnostic::render(&source, &findings, false))
}

/// Compares the engine with the explicit one, with and without facts.
fn compare(task: &Task, reductions: Reductions) -> Result<(), String> {
    if !task.program.starts_threads {
        return Ok(());
    }
    let budget = Budget::unlimited();
    let expected = match Explicit::default().run(task, &budget, &Quiet) {
        Verdict::Unknown(_) => return Ok(()),
        verdict => verdict.word(),
    };
    for facts in [false, true] {
        let engine = Pdr { reductions, most_questions: 4_000, facts, ..Pdr::default() };
        let verdict = engine.run(task, &budget, &Quiet);
        agrees(task, expected, verdict).map_err(|why| format!("with facts: {facts}: {why}"))?;
    }
    Ok(())
}

fn agrees(task: &Task, expected: &str, verdict: Verdict) -> Result<(), String> {
    let budget = Budget::unlimited();
    let word = verdict.word();
    if let Verdict::Unknown(unknown) = &verdict {
        return if matches!(unknown.reason, cusp::evidence::Reason::GaveUp(_)) {
            Ok(())
        } else {
            Err(format!("expected {expected}: {}", unknown.reason))
        };
    }
    if word != expected {
        return Err(format!("pdr says {word}, the explicit engine {expected}"));
    }
    if let Err(why) = certify(task, verdict, &budget) {
        return Err(format!("{word}, rejected: {why}"));
    }
    Ok(())
}

#[test]
fn property_directed_search_agrees_with_exploration() {
    for threads in [2, 3] {
        for reductions in [Reductions::ALL, Reductions::NONE] {
            for_each_seed(300, concurrent, |text| {
                compare(&task_of(text, ThreadLimit::AtMost(threads))?, reductions)
            });
        }
    }
}

#[test]
fn property_directed_search_agrees_on_replicated_and_flagged_programs() {
    for mode in [Mode::Copies(2), Mode::Getafix] {
        for_each_seed(
            150,
            |seed| concurrent_in(mode, seed),
            |text| compare(&task_as_written(text)?, Reductions::ALL),
        );
    }
}
