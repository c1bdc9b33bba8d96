//! Who answers the questions of a run: `--sat`, `--qbf`, `cusp solvers`, and programs that die, lie or hang.
//!
//! Where `CUSP_NEEDS_SOLVERS` is set, `depqbf` and `picosat` must be installed.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cusp::budget::{Budget, Limits};
use cusp::check::{Options, check};
use cusp::evidence::Verdict;
use cusp::model::Task;
use cusp::pipeline::Setup;
use cusp::pipeline::table;
use cusp::progress::Quiet;
use cusp::source::Source;
use cusp_solvers::process::Program;
use cusp_solvers::{Choice, QbfChoice, SatChoice, Solvers};
use itertools::Itertools;
use support::{corpus, for_each_seed, seeds, sequential};

/// The engines that ask fix-point questions.
const FIX_POINT: [&str; 3] = ["summaries", "universal", "lazy"];
/// The engines that ask SAT questions.
const SAT: [&str; 5] = ["summaries", "universal", "lazy", "bmc", "kinduction"];

/// Whether a program is installed; says so if it is not.
#[allow(clippy::print_stderr, reason = "whoever runs this should know that nothing was checked")]
fn has(program: &str) -> bool {
    let found = Program::new(program).find().is_some();
    if !found {
        assert!(std::env::var_os("CUSP_NEEDS_SOLVERS").is_none(), "`{program}` is not installed");
        eprintln!("`{program}` is not installed: nothing is checked with it");
    }
    found
}

fn qbf(text: &str) -> Choice {
    let qbf = QbfChoice::parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
    Choice { qbf, parametric: true, ..Choice::default() }
}

fn sat(text: &str) -> Choice {
    let sat = SatChoice::parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
    Choice { sat, ..Choice::default() }
}

/// What an engine says: `safe`, `unsafe`, or why it does not know; and what was counted. The error is evidence that
/// was rejected, or a text that is no program.
fn said(
    text: &str,
    options: &Options,
    engine: &str,
    choice: Choice,
    seconds: u64,
) -> Result<(String, Solvers), String> {
    let engine = table::Choice::<Task>::named(engine).expect("an engine");
    let options = Options { setup: Setup { engine, ..options.setup }, ..options.clone() };
    let limits = Limits { time: Some(Duration::from_secs(seconds)), memory: None };
    let (budget, _watch) = Budget::start(limits);
    let budget = budget.asking(Solvers::new(choice));
    match check(&Source::new("random.bp", text), &options, &budget, &Quiet) {
        Ok(checked) => match checked.answer.result {
            Ok(certified) => {
                let word = match certified.verdict() {
                    Verdict::Unknown(unknown) => unknown.reason.to_string(),
                    decided => decided.word().to_owned(),
                };
                Ok((word, budget.solvers().clone()))
            }
            Err(rejection) => Err(format!("rejected: {rejection}")),
        },
        Err(_) => Err("no program".to_owned()),
    }
}

fn figure(solvers: &Solvers, what: &str) -> u64 {
    solvers.figures().iter().find(|(name, _)| name == what).map_or(0, |(_, number)| *number)
}

fn is_verdict(word: &str) -> bool {
    word == "safe" || word == "unsafe"
}

/// A program of a test, in a directory of its own.
fn script(test: &str, name: &str, body: &str) -> String {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path.display().to_string()
}

fn cusp(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cusp"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("Cusp runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("not killed"), text(&output.stdout), text(&output.stderr))
}

#[test]
#[allow(clippy::print_stderr, reason = "with `--nocapture` it tells how much was compared")]
fn depqbf_gives_the_verdicts_of_the_embedded_solver_on_random_programs() {
    if !has("depqbf") {
        return;
    }
    let [answers, compared, open] = [(); 3].map(|()| AtomicU64::new(0));
    for_each_seed(30, sequential, |text| {
        for (engine, parametric) in FIX_POINT.into_iter().cartesian_product([false, true]) {
            let choose = |text| Choice { parametric, ..qbf(text) };
            let (embedded, _) = said(text, &Options::default(), engine, choose("embedded"), 5)?;
            let (external, solvers) = said(text, &Options::default(), engine, choose("depqbf"), 20)?;
            let asked = figure(&solvers, "QBF questions answered by depqbf");
            answers.fetch_add(asked, Ordering::Relaxed);
            let failures = figure(&solvers, "failures of depqbf");
            if failures > 0 {
                return Err(format!("{engine:?}: {failures} failures: {:?}", solvers.doubts()));
            }
            // Parametric formulas may double at every call; what takes too long is not compared.
            let counter = if is_verdict(&embedded) && is_verdict(&external) { &compared } else { &open };
            counter.fetch_add(1, Ordering::Relaxed);
            if is_verdict(&embedded) && is_verdict(&external) && embedded != external {
                return Err(format!("{engine:?}: {embedded} by the embedded solver, {external} by depqbf"));
            }
        }
        Ok(())
    });
    let [answers, compared, open] = [answers, compared, open].map(AtomicU64::into_inner);
    eprintln!(
        "DepQBF answered {answers} questions; {compared} pairs of verdicts are the same, {open} are open"
    );
    assert!(answers > 0 && compared > 4 * open, "{answers} answers, {compared} compared, {open} open");
}

#[test]
fn depqbf_gives_the_verdicts_of_the_manifest() {
    if !has("depqbf") {
        return;
    }
    let entries = corpus::manifest("bp");
    let options = |entry: &corpus::Entry| cusp::cli::parse_check_options(&entry.options).expect("options");
    for entry in entries.iter().filter(|entry| is_verdict(&entry.expected)).take(20) {
        let text = fs::read_to_string(&entry.path).expect("a readable program");
        for engine in FIX_POINT {
            let (word, _) = said(&text, &options(entry), engine, qbf("depqbf"), 20).expect("no rejection");
            assert!(word == entry.expected || !is_verdict(&word), "{}: {engine:?} says {word}", entry.name);
        }
    }
}

#[test]
fn a_race_gives_the_verdicts_of_the_embedded_solver() {
    let honest = script("race", "gives-up", "echo 's cnf -1'");
    for seed in 1..=10 {
        let text = sequential(seed).text();
        for engine in FIX_POINT {
            let (embedded, _) =
                said(&text, &Options::default(), engine, qbf("embedded"), 5).expect("certified");
            let race = qbf(&format!("race:{honest}"));
            let (word, solvers) = said(&text, &Options::default(), engine, race, 20).expect("certified");
            assert!(word == embedded || !is_verdict(&embedded) || !is_verdict(&word), "seed {seed}: {word}");
            assert_eq!(solvers.claims(), 0);
        }
    }
}

/// Programs in the place of a QBF solver, and whether the embedded solver makes up for what they do.
fn bad_qbf_solvers(test: &str) -> Vec<(String, bool)> {
    let bad = [
        ("dies", "exit 1", true),
        ("killed", "kill -9 $$", true),
        ("garbage", "echo 's cnf 7'; exit 10", true),
        ("says-false", "echo 's cnf 0'; exit 20", true),
        ("killed-at-random", "[ $(( $$ % 3 )) -eq 0 ] && kill -9 $$; exec depqbf --qdo \"$1\"", true),
        ("says-true", "echo 's cnf 1'; exit 10", false),
        (
            "lies-at-random",
            "[ $(( $$ % 3 )) -eq 0 ] && echo 's cnf 1' && exit 10; exec depqbf --qdo \"$1\"",
            false,
        ),
        ("hangs", "exec sleep 1000", false),
    ];
    bad.iter().map(|&(name, body, is_made_up)| (script(test, name, body), is_made_up)).collect()
}

#[test]
fn no_qbf_program_whatever_it_does_changes_a_verdict() {
    let bad = bad_qbf_solvers("qbf-liars");
    let mut doubted = 0;
    for seed in seeds(12) {
        let text = sequential(seed).text();
        for engine in FIX_POINT {
            let (embedded, _) =
                said(&text, &Options::default(), engine, qbf("embedded"), 5).expect("certified");
            for (program, is_made_up) in &bad {
                let seconds = if program.ends_with("hangs") { 1 } else { 20 };
                let (word, solvers) =
                    said(&text, &Options::default(), engine, qbf(program), seconds).expect("no rejection");
                let is_same = word == embedded || !is_verdict(&embedded);
                assert!(is_same || !is_verdict(&word), "seed {seed}: {engine:?} with {program}: {word}");
                assert!(is_same || !is_made_up || word.contains("time limit"), "{seed} {program}: {word}");
                let blames = word.contains(Path::new(program).file_name().unwrap().to_str().unwrap());
                let has_claims = solvers.claims() > 0;
                assert!(is_same || !has_claims || blames || word.contains("time limit"), "{program}: {word}");
                doubted += u64::from(!solvers.doubts().is_empty());
            }
        }
    }
    assert!(doubted > 0, "no program was ever asked");
}

#[test]
fn a_sat_program_gives_the_verdicts_of_cadical() {
    let mut commands = Vec::new();
    if has("picosat") {
        let reads_standard_input = script("sat-stdin", "by-pipe", "exec picosat");
        let writes_a_file = script("sat-file", "by-file", "picosat \"${1#-mono=}\" > \"${2#-s2f=}\"; exit 0");
        commands.extend([
            "picosat".to_owned(),
            "picosat {file}".to_owned(),
            format!("{reads_standard_input} -"),
            // As a distributed solver is called: its exit code says nothing, and the answer is in a file.
            format!("{writes_a_file} -mono={{file}} -s2f={{output}}"),
        ]);
    }
    if Program::new("minisat").find().is_some() {
        commands.push("minisat".to_owned());
    }
    for command in commands {
        let mut answers = 0;
        for seed in 1..=6 {
            let text = sequential(seed).text();
            for engine in SAT {
                let (cadical, _) =
                    said(&text, &Options::default(), engine, sat("cadical"), 20).expect("certified");
                let (word, solvers) =
                    said(&text, &Options::default(), engine, sat(&command), 20).expect("certified");
                assert!(
                    word == cadical || !is_verdict(&word) || !is_verdict(&cadical),
                    "seed {seed}: {engine:?} says {word} with {command}, and {cadical} with CaDiCaL"
                );
                let doubts = solvers.doubts();
                assert!(doubts.iter().all(|doubt| doubt.failures == 0), "{command}: {doubts:?}");
                let name = Program::parse(&command).expect("a command").name();
                answers += figure(&solvers, &format!("SAT questions answered by {name}"));
            }
        }
        assert!(answers > 0, "`{command}` was never asked");
    }
}

#[test]
fn no_sat_program_whatever_it_does_changes_a_verdict() {
    let bad = [
        ("dies", "exit 1"),
        ("killed", "kill -9 $$"),
        ("killed-after-answer", "echo 's UNSATISFIABLE'; kill -9 $$"),
        ("says-unsat", "echo 's UNSATISFIABLE'; exit 20"),
        ("says-sat", "echo 's SATISFIABLE'; echo 'v 0'; exit 10"),
        ("lies-at-random", "[ $(( $$ % 3 )) -eq 0 ] && exit 1; echo 's UNSATISFIABLE'; exit 20"),
        ("hangs", "exec sleep 1000"),
    ];
    for (name, body) in bad {
        let program = script("sat-liars", name, body);
        for seed in seeds(8) {
            let text = sequential(seed).text();
            for engine in SAT {
                let (cadical, _) =
                    said(&text, &Options::default(), engine, sat("cadical"), 20).expect("certified");
                let seconds = if name == "hangs" { 1 } else { 5 };
                let (word, _) =
                    said(&text, &Options::default(), engine, sat(&program), seconds).expect("no rejection");
                let is_same = word == cadical || !is_verdict(&cadical);
                assert!(is_same || !is_verdict(&word), "seed {seed}: {engine:?} with {name}: {word}");
                let is_honest = ["dies", "killed", "killed-after-answer", "says-sat"].contains(&name);
                assert!(
                    is_same || !is_honest || word.contains("time limit"),
                    "{seed} {engine:?} {name}: {word}"
                );
            }
        }
    }
}

#[test]
fn statistics_tell_who_answered() {
    if !has("depqbf") || !has("picosat") {
        return;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("solver-statistics");
    fs::create_dir_all(&directory).expect("a directory");
    let mut answers = 0;
    for seed in 1..=40 {
        let file: PathBuf = directory.join(format!("{seed}.bp"));
        fs::write(&file, sequential(seed).text()).expect("a file");
        let file = file.display().to_string();
        let args = ["check", "--engine", "summaries", "--stats", "--parametric", "--timeout", "10"];
        let args = [&args[..], &["--qbf", "depqbf", "--sat", "picosat", "--json", &file]].concat();
        let (code, stdout, _) = cusp(&args);
        assert!([0, 5, 10].contains(&code), "{stdout}");
        let report: serde_json::Value = serde_json::from_str(&stdout).expect("valid JSON");
        let figure =
            |what: &str| report["statistics"][what].as_u64().unwrap_or_else(|| panic!("{what}: {stdout}"));
        answers += figure("QBF questions answered by depqbf");
        assert_eq!(figure("failures of depqbf") + figure("failures of picosat"), 0);
        assert!(
            figure("answers of picosat that nobody could check")
                <= figure("SAT questions answered by picosat")
        );
        if answers > 0 {
            let args: Vec<&str> = args.into_iter().filter(|&word| word != "--json").collect();
            let (_, stdout, _) = cusp(&args);
            assert!(stdout.contains("QBF questions answered by depqbf"), "{stdout}");
            return;
        }
    }
    panic!("DepQBF was never asked");
}

#[test]
fn a_program_that_fails_is_named() {
    let dies = script("named", "dies", "echo 'no licence' >&2; exit 3");
    let (code, _, stderr) = cusp(&["check", "--engine", "bmc", "--sat", &dies, "tests/corpus/lock.bp"]);
    assert_eq!(code, 10);
    assert!(stderr.contains("note: `dies` failed to answer"), "{stderr}");
    assert!(stderr.contains("no licence"), "{stderr}");
    let liar = script("named", "liar", "echo 's UNSATISFIABLE'; exit 20");
    let (code, stdout, _) = cusp(&["check", "--engine", "bmc", "--sat", &liar, "tests/corpus/lock.bp"]);
    assert_eq!(code, 5, "{stdout}");
    assert!(stdout.contains("`liar`"), "{stdout}");
}

#[test]
fn solvers_that_cannot_be_used_are_found_before_the_run() {
    for args in [
        &["--sat", "no-such-solver-anywhere"][..],
        &["--sat", "no-such-solver-anywhere {file}"],
        &["--sat", "/"],
        &["--sat", ""],
        &["--qbf", "no-such-solver-anywhere"],
        &["--qbf", "race:no-such-solver-anywhere"],
        &["--qbf", "sh {file} {output}"],
    ] {
        let (code, stdout, stderr) = cusp(&[&["check"], args, &["tests/corpus/lock.bp"]].concat());
        assert_eq!((code, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(args[0]), "{stderr}");
    }
}

#[test]
fn built_in_and_installed_solvers_are_listed() {
    let (code, stdout, _) = cusp(&["solvers"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("cadical") && stdout.contains("embedded"), "{stdout}");
    let (code, stdout, _) = cusp(&["solvers", "--json"]);
    assert_eq!(code, 0);
    let list: serde_json::Value = serde_json::from_str(&stdout).expect("valid JSON");
    for (kind, default, program) in [("sat", "cadical", "picosat"), ("qbf", "embedded", "depqbf")] {
        let available = list[kind]["available"].as_array().expect("a list");
        assert_eq!(
            (available[0]["name"].as_str(), available[0]["built_in"].as_bool()),
            (Some(default), Some(true))
        );
        if has(program) {
            let found = available.iter().find(|found| found["name"] == program).expect("it is installed");
            assert!(found["path"].as_str().is_some_and(|path| path.ends_with(program)), "{found}");
            assert!(found["version"].is_string(), "{found}");
        }
    }
}
