//! Real programs from other tools and our own, with the verdicts that are expected of them.
//!
//! The shared corpus is found by `CUSP_CORPUS`, or beside the project; without it, its tests fail.

mod support;

use cusp::budget::{Budget, Limits};
use cusp::check::check;
use cusp::cli::parse_check_options;
use cusp::progress::Quiet;
use cusp::source::Source;
use support::corpus::{Entry, manifest, own_programs};

/// No limit on time: a verdict must not depend on how fast the machine is.
const MEMORY: u64 = 8 << 30;

fn word(entry: &Entry) -> String {
    let source = match Source::load(&entry.path) {
        Ok(source) => source,
        Err(error) => return error.message,
    };
    let options = parse_check_options(&entry.options).expect("the manifest's options are ours");
    let (budget, _watch) = Budget::start(Limits { time: None, memory: Some(MEMORY) });
    match check(&source, &options, &budget, &Quiet) {
        Err(_) => "error".to_owned(),
        Ok(checked) => match checked.answer.result {
            Ok(certified) => certified.verdict().word().to_owned(),
            Err(rejection) => format!("rejected: {rejection}"),
        },
    }
}

#[test]
fn shared_programs_have_the_recorded_verdicts() {
    let entries = manifest("bp");
    // Safe for any number of threads: no bounded exploration can show that.
    let beyond_explicit =
        ["bp/ijit/ase16.bm.set1/04_PrngSimp-L/satabs.2.bp", "bp/ijit/ase16.bm.set1/09_Stack-L/satabs.3.bp"];
    let mut wrong = Vec::new();
    for entry in entries.iter().filter(|entry| entry.expected != "unknown") {
        let word = word(entry);
        let excused = word == "unknown" && beyond_explicit.contains(&entry.name.as_str());
        if word != entry.expected && !excused {
            wrong.push(format!("{}: expected {}, got {word}", entry.name, entry.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Programs without a recorded verdict that the explicit engine decides: kept, so that a change of
/// mind is noticed. Their values were found by it, and agree with the file names that hint at one.
#[test]
fn programs_without_a_recorded_verdict_keep_the_one_they_got() {
    let entries = manifest("bp");
    let known = [
        ("bp/getafix/regression/example.bp", "unsafe"),
        ("bp/getafix/regression/fib_3_safe.bp", "safe"),
        ("bp/getafix/regression/fib_5_unsafe.bp", "unsafe"),
        ("bp/getafix/regression/testFunctionCall.bp", "unsafe"),
        ("bp/getafix/regression/testNewformula.bp", "safe"),
        ("bp/ijit/satabs.2.bp", "safe"),
        ("bp/ijit/test1.bp", "unsafe"),
        ("bp/ijit/test4.bp", "safe"),
        ("bp/ijit/test6.bp", "unsafe"),
        ("bp/ucob/test7.bp", "unsafe"),
        ("bp/ucob/test8.bp", "unsafe"),
        ("bp/ucob/test9.bp", "unsafe"),
    ];
    for (name, expected) in known {
        let entry = entries.iter().find(|entry| entry.name == name).expect("in the manifest");
        assert_eq!(word(entry), expected, "{name}");
    }
}

#[test]
#[should_panic(expected = "set CUSP_CORPUS")]
fn a_missing_corpus_fails_the_tests_that_need_it() {
    support::shared_corpus::corpus_at("no/such/directory".into());
}

#[test]
fn our_own_programs_are_what_their_first_line_says() {
    let entries = own_programs();
    assert!(entries.len() >= 10, "tests/corpus has only {} programs", entries.len());
    for entry in entries {
        assert_eq!(word(&entry), entry.expected, "{}", entry.name);
    }
}
