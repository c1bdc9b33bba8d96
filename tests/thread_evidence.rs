//! Proofs about programs with threads as files: each kind is written, read, checked again, and refused if it is wrong.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::prepare;
use cusp::evidence::Verdict;
use cusp::evidence::text::read;
use cusp::model::Task;
use cusp::source::Source;
use support::rng::Rng;

/// The engines and the kinds of their proofs.
const KINDS: [(&str, &str); 3] = [
    ("interleavings", "certificate thread-states"),
    ("pdr", "certificate thread-clauses"),
    ("counter", "certificate thread-formulas"),
];

/// A lock; the second program forgets to take it, and differs in nothing else.
const SAFE: &str = "decl locked, inside;
void worker() begin
  while (*) do
    atomic_begin; assume(!locked); locked := T; atomic_end;
    assert(!inside);
    inside := T; inside := F; locked := F;
  od;
end
void main() begin
  locked, inside := F, F;
  start_thread worker();
  worker();
end
";

fn unsafe_twin() -> String {
    SAFE.replace("locked := T", "locked := F")
}

fn cusp(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_cusp")).args(args).output().expect("the tool runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("not killed"), text(stdout), text(stderr))
}

/// A directory with both programs, and the paths of a file in it.
fn scratch(name: &str) -> impl Fn(&str) -> String {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&scratch).expect("a directory");
    std::fs::write(scratch.join("safe.bp"), SAFE).expect("a file");
    std::fs::write(scratch.join("unsafe.bp"), unsafe_twin()).expect("a file");
    move |name| scratch.join(name).display().to_string()
}

#[test]
fn every_kind_of_proof_is_replayed_from_disk() {
    let file = scratch("thread_evidence");
    let (safe, twin) = (file("safe.bp"), file("unsafe.bp"));
    for (engine, kind) in KINDS {
        let proof = file(engine);
        let threads = ["--threads", "2"];
        let check = [&["check", "--engine", engine, "--certificate", &proof, &safe], &threads[..]].concat();
        let (code, answer, errors) = cusp(&check);
        assert_eq!(code, 0, "{engine}: {answer}{errors}");
        let text = std::fs::read_to_string(&proof).expect("a proof");
        assert!(text.lines().any(|line| line == kind), "{engine}: {text}");
        for options in [&[][..], &["--check-proofs"]] {
            let replay = [&["replay", &safe, &proof], &threads[..], options].concat();
            let (code, answer, errors) = cusp(&replay);
            assert_eq!(code, 0, "{engine}: {answer}{errors}");
            assert!(answer.starts_with("SAFE"), "{answer}");
        }
        let (code, answer, errors) = cusp(&[&["replay", &twin, &proof], &threads[..]].concat());
        assert_eq!((code, answer.as_str()), (1, ""), "{engine}: {errors}");
        assert!(errors.contains("proves nothing about"), "{engine}: {errors}");
        // The last line is missing.
        let damaged = file("damaged");
        std::fs::write(&damaged, text.trim_end().trim_end_matches("end")).expect("a file");
        let (code, _, errors) = cusp(&[&["replay", &safe, &damaged], &threads[..]].concat());
        assert!(code == 1 && errors.contains("has no `end`"), "{engine}: {errors}");
    }
    // A run, as it is shown: shortened.
    let run = file("run");
    let (code, shown, errors) = cusp(&["check", "--threads", "2", "--certificate", &run, &twin]);
    assert_eq!(code, 10, "{shown}{errors}");
    let (code, replayed, errors) = cusp(&["replay", "--threads", "2", &twin, &run]);
    assert_eq!(code, 10, "{replayed}{errors}");
    let steps = |text: &str| text.lines().filter(|line| line.contains("locked := F")).count();
    assert!(steps(&shown) > 0 && steps(&shown) == steps(&replayed), "{shown}\n{replayed}");
}

#[test]
fn proofs_of_the_solver_are_checked_for_programs_with_threads() {
    let file = scratch("thread_check_proofs");
    for (engine, needs_sat) in [("pdr", true), ("counter", true), ("interleavings", false)] {
        let options = ["check", "--threads", "2", "--engine", engine, "--check-proofs", "--stats"];
        let (code, answer, errors) = cusp(&[&options[..], &[&file("safe.bp")]].concat());
        assert_eq!(code, 0, "{engine}: {answer}{errors}");
        let line = answer.lines().find(|line| line.contains("proofs of the SAT solver that were checked"));
        let checked: Option<u64> = line.and_then(|line| line.split_whitespace().last()?.parse().ok());
        assert_eq!(checked.map(|count| count > 0), Some(needs_sat), "{engine}: {answer}");
    }
}

fn task_of(text: &str) -> Task {
    let options = cusp::cli::parse_check_options("--threads 2").expect("options of `cusp check`");
    prepare(&Source::new("lock.bp", text), &options).expect("a program").task
}

/// Lines are left out, repeated, exchanged, and numbers in them are changed. What is left may still be a proof that the
/// safe program is safe, but never one about its twin.
#[test]
fn changed_proofs_are_refused_or_still_right() {
    let file = scratch("thread_mutants");
    let (safe, twin) = (task_of(SAFE), task_of(&unsafe_twin()));
    for (engine, _) in KINDS {
        let proof = file(engine);
        let options = ["check", "--threads", "2", "--engine", engine, "--certificate"];
        let (code, answer, errors) = cusp(&[&options[..], &[&proof, &file("safe.bp")]].concat());
        assert_eq!(code, 0, "{engine}: {answer}{errors}");
        let text = std::fs::read_to_string(&proof).expect("a proof");
        let lines: Vec<&str> = text.lines().collect();
        let mut rng = Rng::new(7);
        let (mut unreadable, mut rejected, mut accepted) = (0, 0, 0);
        for _ in 0..400 {
            let mut mutant: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
            // The first line and the kind stay.
            let first = 1 + mutant.iter().position(|line| line.starts_with("certificate")).expect("a kind");
            let at = first + rng.below(mutant.len() - first);
            match rng.below(4) {
                0 => drop(mutant.remove(at)),
                1 => mutant.insert(at, mutant[at].clone()),
                2 => {
                    let other = first + rng.below(mutant.len() - first);
                    mutant.swap(at, other);
                }
                _ => {
                    let digits: Vec<usize> =
                        mutant[at].match_indices(|c: char| c.is_ascii_digit()).map(|(i, _)| i).collect();
                    let Some(&digit) = digits.get(rng.below(digits.len().max(1))) else { continue };
                    let new = rng.below(4).to_string();
                    mutant[at].replace_range(digit..=digit, &new);
                }
            }
            let mutant = mutant.join("\n") + "\n";
            let evidence = match read(mutant.as_bytes()) {
                Ok(evidence) => evidence,
                Err(error) => {
                    assert!(error.line >= 1 && !error.reason.is_empty());
                    unreadable += 1;
                    continue;
                }
            };
            let budget = Budget::unlimited();
            let about_twin = certify(&twin, evidence.clone().into(), &budget);
            assert!(about_twin.is_err(), "{engine}: an unsafe program is proved safe\n{mutant}");
            match certify(&safe, evidence.into(), &budget) {
                Ok(certified) => {
                    assert!(matches!(certified.verdict(), Verdict::Safe(_)), "{mutant}");
                    accepted += 1;
                }
                Err(why) => {
                    assert!(!why.to_string().is_empty());
                    rejected += 1;
                }
            }
        }
        let all = format!("{engine}: {unreadable} unreadable, {rejected} rejected, {accepted} accepted");
        assert!(rejected >= 50, "{all}");
    }
}
