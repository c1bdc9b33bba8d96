//! The nets of the shared corpus, each with a limit of processor time.
//!
//! `cargo bench --bench cover [-- [--limit SECONDS] [--engine NAME] [--sets NAME] [--csv FILE]
//! [WORD]...]` runs `cusp cover` on every `.spec` and `.tts` file of the manifest whose path has one of the words,
//! with the options that the manifest gives, one after the other. Time is processor time of all threads.
//! A verdict counts if it is certified (Cusp prints no other) and is the recorded one where there
//! is one. Ends with an error if a verdict is wrong.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "corpus/mod.rs"]
mod corpus;

use std::fmt::Write;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use corpus::{Entry, children};

/// The folder that a file belongs to: two levels, such as `spec/mist`.
fn suite(entry: &Entry) -> String {
    entry.name.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// What came of one file.
struct Outcome {
    verdict: &'static str,
    time: Duration,
}

impl Outcome {
    fn is_solved(&self) -> bool {
        matches!(self.verdict, "safe" | "unsafe")
    }

    fn is_wrong(&self, entry: &Entry) -> bool {
        self.is_solved() && entry.expected != "unknown" && entry.expected != self.verdict
    }
}

fn main() -> ExitCode {
    const STEPS: [f64; 4] = [0.1, 1.0, 10.0, 60.0];
    let arguments = corpus::arguments("cover", 10);
    let entries = corpus::manifest(&arguments.words);
    let engine = arguments.engine.iter().flat_map(|engine| ["--engine", engine]);
    let engine: Vec<&str> = engine.chain(arguments.sets.iter().flat_map(|sets| ["--sets", sets])).collect();
    let mut csv = String::from("file,expected,verdict,cpu_seconds\n");
    let mut outcomes = Vec::new();
    for entry in &entries {
        let run = corpus::run("cover", entry, &engine, arguments.limit);
        let outcome = Outcome { verdict: run.verdict(), time: run.time };
        let seconds = outcome.time.as_secs_f64();
        let _ = writeln!(csv, "{},{},{},{seconds:.3}", entry.name, entry.expected, outcome.verdict);
        outcomes.push((entry, outcome));
    }
    fs::write(&arguments.csv, csv).expect("a file that can be written");

    let mut suites: Vec<String> = entries.iter().map(suite).collect();
    suites.sort();
    suites.dedup();
    let heads: Vec<String> = STEPS.iter().map(|step| format!("{:>8}", format!("{step} s"))).collect();
    println!("{:<22}{:>6}{:>8}{}{:>10}", "suite", "files", "solved", heads.concat(), "median");
    for name in suites.iter().map(String::as_str).chain(["all"]) {
        let of: Vec<&(&Entry, Outcome)> =
            outcomes.iter().filter(|(entry, _)| name == "all" || suite(entry) == name).collect();
        let mut times: Vec<f64> = of.iter().map(|(_, outcome)| outcome.time.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let solved = of.iter().filter(|(_, outcome)| outcome.is_solved()).count();
        let within = |step: f64| {
            let quick = |outcome: &Outcome| outcome.is_solved() && outcome.time.as_secs_f64() <= step;
            of.iter().filter(|(_, outcome)| quick(outcome)).count()
        };
        let counts: Vec<String> = STEPS.iter().map(|&step| format!("{:>8}", within(step))).collect();
        let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
        println!("{name:<22}{:>6}{solved:>8}{}{median:>8.3} s", of.len(), counts.concat());
    }
    println!("limit {} s of processor time, peak memory {} MB", arguments.limit, children().1);
    for (entry, outcome) in outcomes.iter().filter(|(_, outcome)| !outcome.is_solved()) {
        println!("not solved: {} ({})", entry.name, outcome.verdict);
    }
    let wrong: Vec<&(&Entry, Outcome)> =
        outcomes.iter().filter(|(entry, outcome)| outcome.is_wrong(entry)).collect();
    for (entry, outcome) in &wrong {
        println!("WRONG: {} is {}, not {}", entry.name, entry.expected, outcome.verdict);
    }
    println!("wrong verdicts: {}", wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
