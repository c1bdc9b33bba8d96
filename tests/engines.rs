//! Every engine on every sequential program that we have: the right verdict or none, never the other one,
//! and all evidence accepted.
//!
//! The families are those of the bench, small enough for every engine. The shared corpus is found by
//! `CUSP_CORPUS`, or beside the project; without it, its test fails.

#[path = "../benches/families/mod.rs"]
mod families;
mod support;

use std::collections::BTreeMap;

use cusp::check::{Options, prepare};
use cusp::cli::parse_check_options;
use cusp::evidence::Reason;
use cusp::source::Source;
use families::{Family, Variant};
use support::corpus::{Entry, manifest, own_programs};
use support::engines::{Said, engines, may_give_up, run};

/// A sequential program with what is asked of it.
struct Question {
    name: String,
    source: Source,
    options: Options,
    /// `None` if nobody knows; then the engines must agree with each other.
    expected: Option<String>,
}

/// The sequential programs among some that can be read.
fn sequential(entries: Vec<Entry>) -> Vec<Question> {
    let question = |entry: Entry| {
        let source = Source::load(&entry.path).ok()?;
        let options = parse_check_options(&entry.options).expect("options of `cusp check`");
        let prepared = prepare(&source, &options).ok()?;
        let is_known = entry.expected == "safe" || entry.expected == "unsafe";
        (!prepared.task.program.starts_threads).then(|| Question {
            name: entry.name,
            source,
            options,
            expected: is_known.then_some(entry.expected),
        })
    };
    entries.into_iter().filter_map(question).collect()
}

fn members(families: &[Family]) -> Vec<Question> {
    let mut questions = Vec::new();
    for family in families {
        for (&size, variant) in family.small.iter().flat_map(|size| Variant::ALL.map(|v| (size, v))) {
            let name = format!("{}_{size}_{}.bp", family.name, variant.name());
            questions.push(Question {
                source: Source::new(&name, (family.text)(size, variant)),
                name,
                options: Options::default(),
                expected: Some(variant.verdict().to_owned()),
            });
        }
    }
    questions
}

/// What came out of many runs.
#[derive(Default)]
struct Findings {
    /// Wrong verdicts, rejected evidence, panics.
    wrong: Vec<String>,
    /// Programs that an engine has no verdict on, with the reasons.
    open: BTreeMap<&'static str, Vec<(String, Said)>>,
}

fn ask_all_engines(questions: &[Question]) -> Findings {
    let mut findings = Findings::default();
    for question in questions {
        let mut expected = question.expected.clone();
        for (engine, id) in engines() {
            let name = &question.name;
            match run(&question.source, &question.options, id) {
                Err(error) => findings.wrong.push(format!("{name}: {engine}: {error}")),
                Ok(said @ Said::Unknown(_)) => {
                    findings.open.entry(engine).or_default().push((name.clone(), said));
                }
                Ok(said) => {
                    let right = expected.get_or_insert_with(|| said.word().to_owned());
                    if *right != said.word() {
                        let wrong = format!("{name}: {engine} says {}, but it is {right}", said.word());
                        findings.wrong.push(wrong);
                    }
                }
            }
        }
    }
    findings
}

fn assert_nothing_is_wrong(findings: &Findings) {
    assert!(findings.wrong.is_empty(), "{}", findings.wrong.join("\n"));
}

/// `auto` decides all that is known, and no engine gives up for a reason that is not its own.
fn assert_all_is_decided(findings: &Findings) {
    for (engine, open) in &findings.open {
        for (name, said) in open {
            let Said::Unknown(reason) = said else { continue };
            let excused = may_give_up(engine, reason) && *engine != "auto";
            assert!(excused, "{name}: {engine} has no answer: {reason}");
        }
    }
}

/// No engine is idle: each decides at least a third, unless it is for programs with threads only.
fn assert_engines_work(findings: &Findings, questions: usize) {
    for (engine, open) in &findings.open {
        let is_for_threads = |said: &Said| matches!(said, Said::Unknown(Reason::ThreadsOnly { .. }));
        if open.iter().any(|(_, said)| is_for_threads(said)) {
            continue;
        }
        assert!(open.len() * 3 <= questions * 2, "{engine} has no answer to {} of {questions}", open.len());
    }
}

#[test]
fn our_own_programs() {
    let questions = sequential(own_programs());
    assert!(questions.len() >= 18, "only {} sequential programs", questions.len());
    let findings = ask_all_engines(&questions);
    assert_nothing_is_wrong(&findings);
    assert_all_is_decided(&findings);
    assert_engines_work(&findings, questions.len());
}

#[test]
fn programs_of_other_tools() {
    let questions = sequential(manifest("bp"));
    assert!(questions.len() >= 20, "only {} sequential programs", questions.len());
    let findings = ask_all_engines(&questions);
    assert_nothing_is_wrong(&findings);
    let known = |name: &str| questions.iter().any(|q| q.name == name && q.expected.is_some());
    let open = findings.open.get("auto").into_iter().flatten();
    let open: Vec<&(String, Said)> = open.filter(|(name, _)| known(name)).collect();
    assert!(open.is_empty(), "auto has no answer to {open:?}");
    assert_engines_work(&findings, questions.len());
}

#[test]
fn small_members_of_the_families() {
    let questions = members(&families::TUNED);
    let findings = ask_all_engines(&questions);
    assert_nothing_is_wrong(&findings);
    assert_all_is_decided(&findings);
}

#[test]
fn small_members_of_the_families_that_nobody_tunes_on() {
    let questions = members(&families::HELD_OUT);
    let findings = ask_all_engines(&questions);
    assert_nothing_is_wrong(&findings);
    assert_all_is_decided(&findings);
}

/// The generators are checked too: every member is read without a warning, up to the largest.
#[test]
fn every_member_of_every_family_is_a_program() {
    for family in families::all() {
        assert!(family.sizes.is_sorted() && family.small.is_sorted(), "{}", family.name);
        for (&size, variant) in
            family.small.iter().chain(family.sizes).flat_map(|size| Variant::ALL.map(|v| (size, v)))
        {
            let source = Source::new(family.name, (family.text)(size, variant));
            let prepared = prepare(&source, &Options::default());
            let prepared = prepared.unwrap_or_else(|findings| {
                panic!("{size}: {}", cusp::diagnostic::render(&source, &findings, false))
            });
            assert!(prepared.warnings.is_empty(), "{} {size}: {:?}", family.name, prepared.warnings);
        }
    }
}
