//! The nets of the shared corpus, each with a limit of processor time.
//!
//! `cargo bench --bench cover [-- [--limit SECONDS] [--engine NAME] [--sets NAME] [--csv FILE]
//! [WORD]...]` runs `cusp cover` on every `.spec` and `.tts` file of the manifest whose path has one of the words,
//! with the options that the manifest gives, one after the other. Time is processor time of all threads.
//! A verdict counts if it is certified (Cusp prints no other) and is the recorded one where there
//! is one. Ends with an error if a verdict is wrong.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// One file of the manifest.
struct Entry {
    name: String,
    expected: String,
    options: Vec<String>,
}

impl Entry {
    /// The folder that it belongs to: two levels, such as `spec/mist`.
    fn suite(&self) -> String {
        self.name.split('/').take(2).collect::<Vec<_>>().join("/")
    }
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

struct Arguments {
    limit: u64,
    engine: Option<String>,
    sets: Option<String>,
    csv: PathBuf,
    words: Vec<String>,
}

fn arguments() -> Arguments {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let csv = root.join("benches/results/cover.csv");
    let mut parsed = Arguments { limit: 10, engine: None, sets: None, csv, words: Vec::new() };
    let mut given = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = given.next() {
        let mut value = || given.next().unwrap_or_else(|| panic!("`{word}` needs a value"));
        match word.as_str() {
            "--limit" => parsed.limit = value().parse().expect("a number of seconds"),
            "--engine" => parsed.engine = Some(value()),
            "--sets" => parsed.sets = Some(value()),
            "--csv" => parsed.csv = PathBuf::from(value()),
            _ => parsed.words.push(word),
        }
    }
    parsed
}

/// The nets of the manifest, in its order.
fn manifest(corpus: &Path, words: &[String]) -> Vec<Entry> {
    let text = fs::read_to_string(corpus.join("manifest.tsv")).expect("a corpus (set CUSP_CORPUS)");
    let lines = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let nets = lines.filter(|fields| matches!(fields[1], "spec" | "tts"));
    let entries = nets.map(|fields| Entry {
        name: fields[0].to_owned(),
        expected: fields[2].to_owned(),
        options: fields[3].split_whitespace().map(str::to_owned).collect(),
    });
    entries.filter(|entry| words.is_empty() || words.iter().any(|word| entry.name.contains(word))).collect()
}

/// Processor time of all children that have ended, and the most memory that one of them used.
fn children() -> (Duration, u64) {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system tells");
    let seconds = |time: nix::sys::time::TimeVal| {
        Duration::new(
            u64::try_from(time.tv_sec()).unwrap_or(0),
            u32::try_from(time.tv_usec() * 1000).unwrap_or(0),
        )
    };
    let memory = u64::try_from(usage.max_rss()).unwrap_or(0);
    (seconds(usage.user_time()) + seconds(usage.system_time()), memory >> 10)
}

fn run(corpus: &Path, entry: &Entry, arguments: &Arguments) -> Outcome {
    let (before, _) = children();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -t {}; exec \"$0\" \"$@\"", arguments.limit)])
        .arg(env!("CARGO_BIN_EXE_cusp"))
        .args(["cover", "--quiet"])
        .arg(corpus.join(&entry.name))
        .args(&entry.options);
    if let Some(engine) = &arguments.engine {
        command.args(["--engine", engine]);
    }
    if let Some(sets) = &arguments.sets {
        command.args(["--sets", sets]);
    }
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("a shell");
    let verdict = match status.code() {
        Some(0) => "safe",
        Some(10) => "unsafe",
        Some(5) => "unknown",
        Some(_) => "error",
        None => "out of time",
    };
    Outcome { verdict, time: children().0.saturating_sub(before) }
}

fn main() -> ExitCode {
    const STEPS: [f64; 4] = [0.1, 1.0, 10.0, 60.0];
    let arguments = arguments();
    let corpus = std::env::var_os("CUSP_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from);
    let entries = manifest(&corpus, &arguments.words);
    let mut csv = String::from("file,expected,verdict,cpu_seconds\n");
    let mut outcomes = Vec::new();
    for entry in &entries {
        let outcome = run(&corpus, entry, &arguments);
        let seconds = outcome.time.as_secs_f64();
        let _ = writeln!(csv, "{},{},{},{seconds:.3}", entry.name, entry.expected, outcome.verdict);
        outcomes.push((entry, outcome));
    }
    fs::write(&arguments.csv, csv).expect("a file that can be written");

    let mut suites: Vec<String> = entries.iter().map(Entry::suite).collect();
    suites.sort();
    suites.dedup();
    let heads: Vec<String> = STEPS.iter().map(|step| format!("{:>8}", format!("{step} s"))).collect();
    println!("{:<22}{:>6}{:>8}{}{:>10}", "suite", "files", "solved", heads.concat(), "median");
    for suite in suites.iter().map(String::as_str).chain(["all"]) {
        let of: Vec<&(&Entry, Outcome)> =
            outcomes.iter().filter(|(entry, _)| suite == "all" || entry.suite() == suite).collect();
        let mut times: Vec<f64> = of.iter().map(|(_, outcome)| outcome.time.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let solved = of.iter().filter(|(_, outcome)| outcome.is_solved()).count();
        let within = |step: f64| {
            let quick = |outcome: &Outcome| outcome.is_solved() && outcome.time.as_secs_f64() <= step;
            of.iter().filter(|(_, outcome)| quick(outcome)).count()
        };
        let counts: Vec<String> = STEPS.iter().map(|&step| format!("{:>8}", within(step))).collect();
        let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
        println!("{suite:<22}{:>6}{solved:>8}{}{median:>8.3} s", of.len(), counts.concat());
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
