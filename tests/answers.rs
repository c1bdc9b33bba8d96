//! What is said does not depend on time: stopped engines say how far they came, and the same question has the same
//! output, whatever else the machine does.

#[path = "../benches/families/mod.rs"]
mod families;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cusp::budget::Budget;
use cusp::check::{self, Options};
use cusp::cover::{self, Format, Input};
use cusp::engines::Bounds;
use cusp::evidence::{Reason, Unknown, Verdict};
use cusp::pipeline::table::Choice;
use cusp::pipeline::{Route, Setup, answer};
use cusp::progress::Progress;
use cusp::source::Source;
use families::Variant;

/// Stops the run when an engine reports for the first time.
struct Stopping {
    budget: Budget,
    said: AtomicU32,
}

impl Progress for Stopping {
    fn say(&self, line: &dyn Fn() -> String) {
        assert!(!line().is_empty());
        if self.said.fetch_add(1, Ordering::Relaxed) == 0 {
            self.budget.interrupt();
        }
    }
}

/// Every engine of the table, and all of them together, stopped in the middle of the question.
fn stopped_engines_say_how_far_they_came<Q: Route>(question: &Q) {
    let (mut stopped, mut asked) = (0, 0);
    for engine in Choice::<Q>::all() {
        if let Choice::Only(row) = engine
            && row.engine(Bounds::default()).accepts(question).is_err()
        {
            continue;
        }
        asked += 1;
        let budget = Budget::unlimited();
        let progress = Stopping { budget: budget.clone(), said: AtomicU32::new(0) };
        let setup = Setup { engine, reduces: false, ..Setup::default() };
        let certified =
            answer(question, setup, &budget, &progress).result.expect("no evidence, no rejection");
        match certified.verdict() {
            Verdict::Unknown(Unknown { reason: Reason::Interrupted, seen: Some(seen) }) => {
                assert!(seen.contains(|c: char| c.is_ascii_digit()), "{engine:?}: {seen}");
                stopped += 1;
            }
            Verdict::Unknown(unknown) => panic!("{engine:?} says only {unknown:?}"),
            // The last step may still be one to an answer.
            Verdict::Safe(_) | Verdict::Unsafe(_) => {}
        }
    }
    assert!(stopped > asked / 2, "the question is too easy for this test: {stopped}");
}

#[test]
fn stopped_engines_for_programs_say_how_far_they_came() {
    let family = families::all().find(|family| family.name == "ladder").expect("the family");
    let source = Source::new("ladder", (family.text)(50, Variant::Safe));
    let prepared = check::prepare(&source, &Options::default()).expect("a program");
    stopped_engines_say_how_far_they_came(&prepared.task);
}

#[test]
fn stopped_engines_for_nets_say_how_far_they_came() {
    // Pairs of tokens move on in circles: every engine needs many steps.
    let places = 40;
    let names: Vec<String> = (0..places).map(|i| format!("p{i}")).collect();
    let mut text = format!("vars {} rules\n", names.join(" "));
    for i in 0..places {
        let (to, extra) = ((i + 1) % places, (i * 7 + 3) % places);
        write!(text, "p{i} >= 2 -> p{i}' = p{i} - 2, p{to}' = p{to} + 1").expect("a text");
        if extra != i && extra != to {
            write!(text, ", p{extra}' = p{extra} + 1").expect("a text");
        }
        text.push_str(";\n");
    }
    let init: Vec<String> = names.iter().map(|name| format!("{name} = 3")).collect();
    writeln!(text, "init {}\ntarget p0 >= 20, p5 >= 20, p9 >= 20", init.join(", ")).expect("a text");
    let input = Input { source: Source::new("net", text), format: Format::Spec, property: None };
    let prepared = cover::prepare(&input, &cover::Options::default()).expect("a net");
    stopped_engines_say_how_far_they_came(&prepared.net);
}

/// The output of a command on a file, as text and as JSON.
fn output(command: &str, options: &[&str], file: &Path) -> String {
    let said = |form: &[&str]| {
        let mut run = Command::new(env!("CARGO_BIN_EXE_cusp"));
        let ran = run.arg(command).args(form).args(options).arg(file).output().expect("a run");
        String::from_utf8(ran.stdout).expect("UTF-8")
    };
    said(&[]) + &said(&["--json"])
}

/// Runs the same command several times, alone and with busy threads beside it.
fn same_every_time(command: &str, options: &[&str], files: &[std::path::PathBuf]) {
    let options = [&["--trace", "full"], options].concat();
    let busy = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let expected: Vec<String> = files.iter().map(|file| output(command, &options, file)).collect();
        for _ in 0..3 {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let mut differ = Vec::new();
        for _ in 0..3 {
            for (file, expected) in files.iter().zip(&expected) {
                if output(command, &options, file) != *expected {
                    differ.push(file.clone());
                }
            }
        }
        busy.store(false, Ordering::Relaxed);
        assert!(differ.is_empty(), "different outputs for {differ:?}");
        for verdict in ["SAFE", "UNSAFE"] {
            assert!(expected.iter().any(|text| text.starts_with(verdict)), "no file is {verdict}");
        }
    });
}

#[test]
fn programs_have_the_same_output_every_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = Vec::new();
    // Programs for which engines race, and where several of them need about the same time.
    let members = [
        ("chain", 400),
        ("even_odd", 8),
        ("wide_shuffle", 100),
        ("wide_calls", 100),
        ("wide_latches", 100),
        ("locks", 300),
        ("locks_recursive", 300),
        ("driver", 30),
        ("ladder", 200),
        ("save_and_restore", 64),
    ];
    for family in families::all() {
        let Some(&(name, size)) = members.iter().find(|(name, _)| *name == family.name) else { continue };
        for variant in Variant::ALL {
            if name == "ladder" && variant == Variant::Safe {
                continue;
            }
            let path = folder.path().join(format!("{name}_{}.bp", variant.name()));
            fs::write(&path, (family.text)(size, variant)).expect("a file");
            files.push(path);
        }
    }
    assert!(files.len() >= 19, "{files:?}");
    same_every_time("check", &[], &files);
}

#[test]
fn programs_with_threads_have_the_same_output_every_time() {
    let folder = tempfile::tempdir().expect("a folder");
    for replicates in [false, true] {
        let mut files = Vec::new();
        for family in families::threads::ALL {
            let &(size, _) = family.small.last().expect("a size");
            if family.replicates == replicates {
                for variant in Variant::ALL {
                    let path = folder.path().join(format!("{}_{}.bp", family.name, variant.name()));
                    fs::write(&path, (family.text)(size, variant)).expect("a file");
                    files.push(path);
                }
            }
        }
        let options = ["--threads", "3", "--replicate"];
        same_every_time("check", &options[..if replicates { 3 } else { 2 }], &files);
    }
}

#[test]
fn nets_have_the_same_output_every_time() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/nets");
    let mut files: Vec<_> =
        fs::read_dir(own).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending != "prop"));
    // Nets for which engines race: conversions with more and more tokens.
    let folder = tempfile::tempdir().expect("a folder");
    for size in 4..17 {
        let names: Vec<String> = (0..size).map(|i| format!("p{i}")).collect();
        let mut text = format!("vars {} rules\n", names.join(" "));
        for i in 0..size {
            let (to, back) = ((i + 1) % size, (i + 2) % size);
            writeln!(text, "p{i} >= 2 -> p{i}' = p{i} - 2, p{to}' = p{to} + 1;").expect("a text");
            writeln!(text, "p{i} >= 1, p{to} >= 1 -> p{i}' = p{i} - 1, p{back}' = p{back} + 2;")
                .expect("a text");
        }
        let init: Vec<String> = names.iter().map(|name| format!("{name} = {}", size % 3 + 1)).collect();
        writeln!(text, "init {}\ntarget p0 >= 3, p2 >= {}", init.join(", "), size / 2).expect("a text");
        let path = folder.path().join(format!("net_{size}.spec"));
        fs::write(&path, text).expect("a file");
        files.push(path);
    }
    assert!(files.len() >= 20, "{files:?}");
    same_every_time("cover", &[], &files);
}
