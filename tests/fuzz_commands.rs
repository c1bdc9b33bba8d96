//! Mutated inputs of every format, for every command and every engine: each of them is answered or refused. No engine
//! panics, not even where a race would hide it, no evidence of an engine is rejected, and mutated evidence is rejected
//! or right.
//!
//! `CUSP_FUZZ=n` sets the number of inputs, and `CUSP_SEED=s` the first seed. A failure names its seed.

#[path = "syntax/laws.rs"]
#[allow(dead_code, reason = "the tests of the parser use the rest")]
mod laws;
#[path = "syntax/mutants.rs"]
mod mutants;

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cusp::budget::{Budget, Limits};
use cusp::certify::certify;
use cusp::check::{Options, ThreadLimit, check};
use cusp::cover::{self, Format, Input, cover};
use cusp::engines::cutoff::Patience;
use cusp::engines::{Bounds, Without};
use cusp::evidence::Verdict;
use cusp::evidence::text::{self, Evidence};
use cusp::model::Task;
use cusp::net::Net;
use cusp::pipeline::cutoff::{Failure as CutoffFailure, cutoff};
use cusp::pipeline::table::{Choice, HasEngines};
use cusp::pipeline::{Failure, Setup};
use cusp::progress::Quiet;
use cusp::source::Source;
use cusp::syntax::ast::Dialect;
use laws::shared_corpus::shared_corpus;
use laws::{Rng, corpus};
use mutants::mutate;

/// Files above this size are left out: small ones have the same tokens.
const MAX_BYTES: usize = 4_000;

/// How many inputs there are in CI.
const USUAL: u64 = 3_000;

/// One in so many inputs also goes to the program itself, which takes longer to start than most inputs to be decided.
const STARTS: u64 = 50;

/// A text to begin with.
struct Seed {
    name: String,
    text: String,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Program(Dialect),
    Net(Format),
    /// A thread transition system, with the text of its property.
    Threads(String),
}

impl Seed {
    fn ending(&self) -> &'static str {
        match &self.kind {
            Kind::Program(_) => "bp",
            Kind::Net(Format::Cm) => "cm",
            Kind::Net(_) => "spec",
            Kind::Threads(_) => "tts",
        }
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().expect("a number"))
}

fn seeds() -> Vec<Seed> {
    let programs = corpus().into_iter().map(|file| Seed {
        name: file.path,
        text: file.source.text().to_owned(),
        kind: Kind::Program(file.dialect),
    });
    let mut seeds: Vec<Seed> = programs.collect();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let folders = [own.clone(), own.join("nets"), own.join("regress"), shared_corpus().join("spec")];
    let mut open: Vec<_> = folders.into_iter().chain([shared_corpus().join("tts")]).collect();
    while let Some(folder) = open.pop() {
        let mut paths: Vec<_> =
            fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() && !folder.starts_with(&own) {
                open.push(path.clone());
            }
            let Some(ending) = path.extension().and_then(|ending| ending.to_str()) else { continue };
            let kind = match ending {
                "bp" => Kind::Program(Dialect::Boom),
                "spec" => Kind::Net(Format::Spec),
                "cm" => Kind::Net(Format::Cm),
                "tts" => {
                    let property = fs::read_to_string(path.with_extension("prop"));
                    Kind::Threads(property.unwrap_or_else(|_| "0|0,0".to_owned()))
                }
                _ => continue,
            };
            let Ok(text) = fs::read_to_string(&path) else { continue };
            seeds.push(Seed { name: path.display().to_string(), text, kind });
        }
    }
    seeds.retain(|seed| seed.text.len() <= MAX_BYTES);
    seeds.sort_by(|a, b| a.name.cmp(&b.name));
    for ending in ["bp", "spec", "cm", "tts"] {
        assert!(seeds.iter().any(|seed| seed.ending() == ending), "no seed of the format {ending}");
    }
    seeds
}

/// What became of the inputs.
#[derive(Default, Debug)]
struct Counts {
    refused: u64,
    decided: u64,
    unknown: u64,
    evidence: u64,
    accepted: u64,
    started: u64,
}

#[test]
fn mutated_inputs_are_answered_or_refused() {
    let seeds = seeds();
    let (first, count) = (number_from("CUSP_SEED").unwrap_or(0), number_from("CUSP_FUZZ").unwrap_or(USUAL));
    let mut counts = Counts::default();
    let mut failures = Vec::new();
    for number in first..first + count {
        let mut rng = Rng::new(number);
        // Formats come equally often, whatever the number of their files.
        let ending = ["bp", "bp", "spec", "cm", "tts"][rng.below(5)];
        let of_format: Vec<&Seed> = seeds.iter().filter(|seed| seed.ending() == ending).collect();
        let seed = of_format[rng.below(of_format.len())];
        let mut mutant = seed.text.clone();
        for _ in 0..rng.below(4) {
            mutant = mutate(&mutant, &mut rng);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            one_input(seed, &mutant, &mut rng, &mut counts);
            if number % STARTS == 0 {
                counts.started += 1;
                start(seed, &mutant, &mut rng);
            }
        }));
        if outcome.is_err() {
            let note = format!("CUSP_SEED={number} CUSP_FUZZ=1: {}\n{mutant}\n", seed.name);
            std::io::stderr().write_all(note.as_bytes()).expect("stderr");
            failures.push(number);
        }
    }
    std::io::stderr().write_all(format!("{counts:?}\n").as_bytes()).expect("stderr");
    assert!(failures.is_empty(), "failing seeds: {failures:?}");
    // If all mutants were broken, or none, the mutations would be of no use.
    if count >= 1_000 {
        let Counts { refused, decided, evidence, .. } = counts;
        assert!(refused > count / 20 && decided > count / 20 && evidence > 0, "{counts:?}");
    }
}

fn budget() -> (Budget, impl Drop) {
    Budget::start(Limits { time: Some(Duration::from_millis(50)), memory: Some(2 << 30) })
}

/// One of the choices of engines.
fn engine<Q: HasEngines>(rng: &mut Rng) -> Choice<Q> {
    Choice::all().nth(rng.below(Q::ENGINES.len() + 1)).expect("a choice")
}

fn one_input(seed: &Seed, text: &str, rng: &mut Rng, counts: &mut Counts) {
    match &seed.kind {
        Kind::Program(dialect) => program(text, *dialect, rng, counts),
        Kind::Net(format) => {
            let input = Input { source: Source::new("mutant", text), format: *format, property: None };
            net(&input, rng, counts);
        }
        Kind::Threads(property) => {
            let mut property = property.clone();
            for _ in 0..rng.below(3) {
                property = mutate(&property, rng);
            }
            let property = Some(Source::new("mutant.prop", property));
            net(&Input { source: Source::new("mutant", text), format: Format::Tts, property }, rng, counts);
        }
    }
}

fn no_failures(failures: &[Failure]) {
    assert!(failures.is_empty(), "{failures:?}");
}

fn program(text: &str, dialect: Dialect, rng: &mut Rng, counts: &mut Counts) {
    let dialects = [dialect, dialect, dialect, Dialect::Boom, Dialect::Boppo, Dialect::Getafix];
    let bounds = Bounds {
        depth: (rng.below(3) == 0).then_some(5),
        recursion: (rng.below(3) == 0).then_some(2),
        unwind: (rng.below(3) == 0).then_some(2),
        without: if rng.below(4) == 0 { Without::ALL } else { Without::default() },
        switches: (rng.below(3) == 0).then_some(2),
    };
    let setup = Setup { engine: engine::<Task>(rng), reduces: rng.below(4) > 0, bounds, ..Setup::default() };
    let threads = if rng.below(2) == 0 { ThreadLimit::Unbounded } else { ThreadLimit::AtMost(2) };
    let label = (rng.below(8) == 0).then(|| "L".to_owned());
    let dialect = dialects[rng.below(dialects.len())];
    let options = Options { dialect, label, threads, replicate: rng.below(8) == 0, setup };
    let source = Source::new("mutant", text);
    let (limits, _watch) = budget();
    let Ok(checked) = check(&source, &options, &limits, &Quiet) else {
        counts.refused += 1;
        return;
    };
    no_failures(&checked.answer.failures);
    let certified = checked.answer.result.expect("evidence that is accepted");
    let task = &checked.prepared.task;
    for row in Task::ENGINES {
        let _ = (row.engine(bounds).accepts(task), row.races(task));
    }
    let evidence = match certified.verdict().clone() {
        Verdict::Unknown(_) => {
            counts.unknown += 1;
            return;
        }
        Verdict::Safe(certificate) => Evidence::Certificate(certificate),
        Verdict::Unsafe(trace) => Evidence::Trace(trace),
    };
    counts.decided += 1;
    let mut written = Vec::new();
    text::write(&task.program, &evidence, &mut written).expect("a text");
    if written.len() > 20 * MAX_BYTES {
        return;
    }
    let mut mutant = String::from_utf8(written).expect("text");
    for _ in 0..=rng.below(3) {
        mutant = mutate(&mutant, rng);
    }
    counts.evidence += 1;
    let Ok(evidence) = text::read(mutant.as_bytes()) else { return };
    let (limits, _watch) = budget();
    let Ok(again) = certify(task, Verdict::from(evidence), &limits) else { return };
    if again.verdict().is_decided() {
        counts.accepted += 1;
        assert_eq!(
            again.verdict().word(),
            certified.verdict().word(),
            "wrong evidence is accepted:\n{mutant}"
        );
    }
}

fn net(input: &Input, rng: &mut Rng, counts: &mut Counts) {
    let setup = Setup { engine: engine::<Net>(rng), reduces: rng.below(4) > 0, ..Setup::default() };
    let options = cover::Options { setup, ..cover::Options::default() };
    let (limits, _watch) = budget();
    let Ok(covered) = cover(input, &options, &limits, &Quiet) else {
        counts.refused += 1;
        return;
    };
    no_failures(&covered.answer.failures);
    let certified = covered.answer.result.expect("evidence that is accepted");
    if certified.verdict().is_decided() {
        counts.decided += 1;
    } else {
        counts.unknown += 1;
    }
    if rng.below(4) == 0 {
        let (limits, _watch) = budget();
        match cutoff(&covered.prepared.net, Patience::default(), &limits, &Quiet) {
            Ok(answer) => {
                let (one, other) = (certified.verdict(), answer.certified.verdict());
                let differ = one.is_decided() && other.is_decided() && one.word() != other.word();
                assert!(!differ, "cover says {}, and cutoff says {}", one.word(), other.word());
            }
            Err(CutoffFailure::NotThreads(_)) => {}
            Err(CutoffFailure::Rejected(rejection)) => panic!("{rejection:?}"),
        }
    }
}

/// Starts the program in a folder of its own. It ends with a code that it documents, and leaves no file behind.
fn start(seed: &Seed, text: &str, rng: &mut Rng) {
    let folder = tempfile::tempdir().expect("a folder");
    let name = format!("mutant.{}", seed.ending());
    fs::write(folder.path().join(&name), text).expect("a file");
    let mut files = vec![name.as_str(), "out", "changed"];
    if let Kind::Threads(property) = &seed.kind {
        fs::write(folder.path().join("mutant.prop"), property).expect("a file");
        files.push("mutant.prop");
    }
    let is_program = matches!(seed.kind, Kind::Program(_));
    let limited = ["--json", "--timeout", "0.1", name.as_str()];
    let words: Vec<&str> = match (is_program, rng.below(8)) {
        (_, 0) => vec!["engines", &name],
        (true, 1) => vec!["fmt", &name],
        (true, 2) => vec!["fmt", "--write", &name],
        (true, _) => [&["check", "--certificate", "out"][..], &limited].concat(),
        (false, 1..=2) => [&["cutoff"][..], &limited].concat(),
        (false, _) => [&["cover", "--proof", "out"][..], &limited].concat(),
    };
    let code = run(folder.path(), &words);
    let written = fs::read_to_string(folder.path().join("out"));
    if let (true, Ok(mut evidence)) = (is_program, written) {
        let replay = ["replay", "--timeout", "0.1", name.as_str()];
        let again = run(folder.path(), &[&replay[..], &["out"]].concat());
        assert!([code, 5].contains(&again), "`check` ends with {code}, and `replay` with {again}");
        for _ in 0..=rng.below(3) {
            evidence = mutate(&evidence, rng);
        }
        fs::write(folder.path().join("changed"), &evidence).expect("a file");
        let changed = run(folder.path(), &[&replay[..], &["changed"]].concat());
        assert!([code, 1, 5].contains(&changed), "wrong evidence is accepted:\n{evidence}");
    }
    let left =
        fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = left.filter(|name| !files.iter().any(|file| name == file)).collect();
    assert!(left.is_empty(), "{words:?} left {left:?}");
}

/// The exit code of a run.
fn run(folder: &Path, words: &[&str]) -> i32 {
    let ended = Command::new(env!("CARGO_BIN_EXE_cusp")).current_dir(folder).args(words).output();
    let ended = ended.expect("a run");
    let said = String::from_utf8_lossy(&ended.stderr);
    let code = ended.status.code().unwrap_or_else(|| panic!("{words:?} ended by a signal: {said}"));
    assert!([0, 1, 5, 10].contains(&code), "{words:?} ended with {code}: {said}");
    assert!(!said.contains("panicked"), "{words:?}: {said}");
    if words.contains(&"--json") {
        let line = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(
            line.contains(&format!("\"exit_code\":{code},")),
            "{words:?} ended with {code}: {line}{said}"
        );
    }
    code
}
