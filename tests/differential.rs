//! Random programs: every reduction of the explicit engine against every other, against a naive
//! checker that shares nothing with it, and against the program printed and read again.

mod support;

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, ThreadLimit, prepare};
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::evidence::Verdict;
use cusp::model::Task;
use cusp::progress::Quiet;
use cusp::source::Source;
use cusp::syntax;
use cusp::syntax::ast::Dialect;
use support::naive::{Limits, Seen, explore};
use support::{concurrent, for_each_seed, sequential};

/// The explicit engine with every combination of its reductions, the plain one first.
fn variants() -> impl Iterator<Item = Explicit> {
    [false, true].into_iter().flat_map(|forget_dead| {
        [false, true].into_iter().map(move |symmetry| Explicit {
            forget_dead,
            symmetry,
            ..Explicit::default()
        })
    })
}

fn task_of(text: &str, threads: ThreadLimit) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    let options = Options { threads, ..Options::default() };
    match prepare(&source, &options) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(&source, &findings, false)),
    }
}

/// Runs one variant, has its evidence checked, and gives the verdict's word.
fn certified_word(task: &Task, engine: Explicit) -> Result<&'static str, String> {
    let budget = Budget::unlimited();
    let verdict = engine.run(task, &budget, &Quiet);
    let certified = certify(task, verdict, &budget).map_err(|why| format!("{engine:?}: rejected: {why}"))?;
    match certified.verdict() {
        Verdict::Safe(_) => Ok("safe"),
        Verdict::Unsafe(_) => Ok("unsafe"),
        Verdict::Unknown(unknown) => Err(format!("{engine:?}: unknown: {}", unknown.reason)),
    }
}

fn agreed_word(task: &Task) -> Result<&'static str, String> {
    let mut agreed = None;
    for engine in variants() {
        let word = certified_word(task, engine)?;
        if *agreed.get_or_insert(word) != word {
            return Err(format!("{engine:?} says {word}, the plain engine does not"));
        }
    }
    Ok(agreed.expect("there are variants"))
}

fn compare_with_naive(task: &Task, word: &str, limits: Limits) -> Result<(), String> {
    match (explore(task, limits), word) {
        (Seen::Violation { .. }, "safe") => Err("says safe, but there is a violation".to_owned()),
        (Seen::All, "unsafe") => Err("says unsafe, but there is no violation".to_owned()),
        _ => Ok(()),
    }
}

#[test]
fn reduced_plain_and_naive_exploration_agree_on_recursive_programs() {
    for_each_seed(1200, sequential, |text| {
        let task = task_of(text, ThreadLimit::Unbounded)?;
        let word = agreed_word(&task)?;
        compare_with_naive(&task, word, Limits { stack: 6, states: 8_000 })
    });
}

#[test]
fn reduced_plain_and_naive_exploration_agree_on_threads() {
    for_each_seed(800, concurrent, |text| {
        let task = task_of(text, ThreadLimit::AtMost(2))?;
        let word = agreed_word(&task)?;
        compare_with_naive(&task, word, Limits { stack: 8, states: 8_000 })
    });
}

#[test]
fn a_printed_program_means_what_the_original_means() {
    for generator in [sequential, concurrent] {
        for_each_seed(300, generator, |text| {
            let (ast, _) = syntax::parse(&Source::new("random.bp", text), Dialect::Boom);
            let printed = syntax::print(&ast);
            let engine = Explicit::default();
            let threads = ThreadLimit::AtMost(2);
            let original = certified_word(&task_of(text, threads)?, engine)?;
            let again = certified_word(&task_of(&printed, threads)?, engine)?;
            if original == again { Ok(()) } else { Err(format!("{original} became {again}:\n{printed}")) }
        });
    }
}

#[test]
fn random_programs_are_neither_all_safe_nor_all_unsafe() {
    for generator in [sequential, concurrent] {
        let unsafe_ones = (0..200)
            .filter(|&seed| {
                let task = task_of(&generator(seed).text(), ThreadLimit::AtMost(2)).expect("a program");
                certified_word(&task, Explicit::default()) == Ok("unsafe")
            })
            .count();
        assert!((40..=160).contains(&unsafe_ones), "{unsafe_ones} of 200 are unsafe");
    }
}

#[test]
fn the_naive_checker_sees_most_random_programs_whole() {
    let limits = Limits { stack: 6, states: 8_000 };
    for generator in [sequential, concurrent] {
        let whole = (0..100)
            .filter(|&seed| {
                let task = task_of(&generator(seed).text(), ThreadLimit::AtMost(2)).expect("a program");
                explore(&task, limits) != Seen::TooMuch
            })
            .count();
        assert!(whole >= 50, "{whole} of 100");
    }
}
