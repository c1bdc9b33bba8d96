//! The random programs are programs, and the shrinker shrinks.

mod support;

use std::panic::catch_unwind;

use cusp::budget::Budget;
use cusp::check::{Options, ThreadLimit, prepare};
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::evidence::Verdict;
use cusp::model::Task;
use cusp::progress::Quiet;
use cusp::source::Source;
use support::shrink::shrink;
use support::{RandomProgram, concurrent, for_each_seed, options_of, sequential};

/// The question that a text asks, for at most two threads.
fn task(text: &str) -> Result<Task, String> {
    let options = Options { threads: ThreadLimit::AtMost(2), ..options_of(text) };
    match prepare(&Source::new("random.bp", text), &options) {
        Ok(prepared) if prepared.warnings.is_empty() => Ok(prepared.task),
        Ok(prepared) => Err(format!("{:?}", prepared.warnings)),
        Err(findings) => Err(format!("{findings:?}")),
    }
}

#[test]
fn sequential_programs_are_read_without_a_finding() {
    for_each_seed(2000, sequential, |text| {
        if task(text)?.program.starts_threads { Err("a thread is started".to_owned()) } else { Ok(()) }
    });
}

#[test]
fn concurrent_programs_are_read_without_a_finding() {
    for_each_seed(2000, concurrent, |text| {
        if task(text)?.program.starts_threads { Ok(()) } else { Err("no thread is started".to_owned()) }
    });
}

fn verdict(task: &Task) -> &'static str {
    match Explicit::default().run(task, &Budget::unlimited(), &Quiet) {
        Verdict::Safe(_) => "safe",
        Verdict::Unsafe(_) => "unsafe",
        Verdict::Unknown(_) => "unknown",
    }
}

#[test]
fn about_half_of_the_programs_are_unsafe() {
    for generator in [sequential, concurrent] {
        let verdict = |seed| verdict(&task(&generator(seed).text()).expect("a program"));
        let verdicts: Vec<&str> = (1..=500).map(verdict).collect();
        let count = |word| verdicts.iter().filter(|&&verdict| verdict == word).count();
        assert_eq!(count("unknown"), 0);
        assert!((200..=300).contains(&count("unsafe")), "{} of 500", count("unsafe"));
    }
}

#[test]
fn every_feature_occurs() {
    let both = [
        "schoose[",
        "constrain",
        "'g",
        "enforce",
        "dead",
        "goto",
        ", L",
        "elsif",
        "else",
        "while",
        "assume(",
        "assert(",
        "abortif(",
        "return;",
        "return ",
        "bool ",
        "_",
        "*)",
        " ? ",
        "decl g0 := ",
        "  decl g0",
        "  decl l0 := ",
    ];
    let sequential_only = ["bool<2>", ", _ := f", "main();"];
    let concurrent_only =
        ["start_thread goto", "start_thread f", "ASYNC_1: f", "end_thread", "atomic_begin", "$ := ", "'l0$"];
    let texts = |generator: fn(u64) -> RandomProgram| (1..=300).map(move |seed| generator(seed).text());
    for (generator, features) in
        [(sequential as fn(u64) -> RandomProgram, &sequential_only[..]), (concurrent, &concurrent_only)]
    {
        for feature in both.iter().chain(features) {
            let count = texts(generator).filter(|text| text.contains(feature)).count();
            assert!(count >= 3, "`{feature}` occurs in {count} of 300 programs");
        }
    }
}

#[test]
fn a_seed_gives_one_program() {
    assert_eq!(sequential(7), sequential(7));
    assert_ne!(sequential(7), sequential(8));
    assert_eq!(concurrent(7), concurrent(7));
    assert_ne!(concurrent(7), concurrent(8));
}

/// The text of `main`, which is the first procedure.
fn main_of(text: &str) -> &str {
    text.split_once("\nend").expect("a procedure").0
}

/// Shrinks all programs of a range that fail, and compares the different results.
fn check_shrinking(generator: fn(u64) -> RandomProgram, fails: fn(&str) -> bool, expected: &[&str]) {
    let mut results: Vec<String> = Vec::new();
    for program in (1..=200).map(generator).filter(|program| fails(&program.text())) {
        let small = shrink(&program, fails);
        assert!(small.is_well_formed() && fails(&small.text()), "{}", small.text());
        assert_eq!(shrink(&small, fails), small, "no cut is left");
        results.push(small.text());
    }
    results.sort();
    results.dedup();
    assert_eq!(results, expected);
}

#[test]
fn what_does_not_matter_is_cut() {
    check_shrinking(
        sequential,
        |text| main_of(text).contains("assert("),
        &["\nvoid main() begin\n  assert(F);\nend\n"],
    );
}

#[test]
fn unsafe_programs_shrink_to_a_few_statements() {
    let is_unsafe = |text: &str| task(text).is_ok_and(|task| verdict(&task) == "unsafe");
    for program in (1..=40).map(sequential).filter(|program| is_unsafe(&program.text())) {
        let small = shrink(&program, is_unsafe);
        assert!(small.size() <= 12, "{}", small.text());
    }
}

#[test]
fn a_jump_keeps_its_label() {
    check_shrinking(
        concurrent,
        |text| main_of(text).contains("start_thread goto L0"),
        &[
            "\nvoid main() begin\n  L0: skip;\n  start_thread goto L0;\nend\n",
            "\nvoid main() begin\n  start_thread goto L0;\n  L0: skip;\nend\n",
        ],
    );
}

#[test]
fn a_call_keeps_its_procedure_and_loses_arguments_and_results() {
    check_shrinking(
        sequential,
        |text| main_of(text).contains("f1("),
        &["\nvoid main() begin\n  f1();\nend\n\nvoid f1() begin\nend\n"],
    );
}

#[test]
fn a_failure_names_its_command_and_the_shrunk_program() {
    let check = |text: &str| {
        assert!(!main_of(text).contains("assume("), "no assumption is allowed");
        Ok(())
    };
    let panic = catch_unwind(|| for_each_seed(200, sequential, check)).expect_err("some program assumes");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.starts_with("CUSP_SEED="), "{message}");
    let test = "cargo test --test generator a_failure_names_its_command_and_the_shrunk_program\n";
    assert!(message.contains(test), "{message}");
    let shrunk = "shrunk to:\n\nvoid main() begin\n  assume(F);\nend\n\npanic: no assumption is allowed";
    assert!(message.ends_with(shrunk), "{message}");
}
