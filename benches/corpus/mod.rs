//! The nets of the shared corpus, and runs of Cusp on them with a limit of processor time.
#![allow(dead_code, reason = "every bench uses a part of it")]

#[path = "../../tests/support/shared_corpus.rs"]
mod shared_corpus;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use shared_corpus::shared_corpus;

/// One file of the manifest.
pub struct Entry {
    pub name: String,
    pub expected: String,
    pub options: Vec<String>,
}

/// The nets of the manifest whose path has one of the words, in its order; all without words.
pub fn manifest(words: &[String]) -> Vec<Entry> {
    let text = fs::read_to_string(shared_corpus().join("manifest.tsv")).expect("a readable manifest");
    let lines = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let nets = lines.filter(|fields| matches!(fields[1], "spec" | "tts"));
    let entries = nets.map(|fields| Entry {
        name: fields[0].to_owned(),
        expected: fields[2].to_owned(),
        options: fields[3].split_whitespace().map(str::to_owned).collect(),
    });
    entries.filter(|entry| words.is_empty() || words.iter().any(|word| entry.name.contains(word))).collect()
}

/// Where a file of the manifest is.
pub fn path(name: &str) -> PathBuf {
    shared_corpus().join(name)
}

/// What every bench of nets understands.
pub struct Arguments {
    /// Seconds of processor time for one run.
    pub limit: u64,
    pub engine: Option<String>,
    pub sets: Option<String>,
    pub csv: PathBuf,
    pub words: Vec<String>,
}

/// The arguments of a bench whose figures go to `benches/results/NAME.csv`.
pub fn arguments(name: &str, limit: u64) -> Arguments {
    let csv = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results").join(format!("{name}.csv"));
    let mut parsed = Arguments { limit, engine: None, sets: None, csv, words: Vec::new() };
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

/// Processor time of all children that have ended, and the most memory in MB that one of them used.
pub fn children() -> (Duration, u64) {
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

/// What came of one run.
pub struct Run {
    pub status: ExitStatus,
    pub stdout: String,
    /// Processor time of all its threads.
    pub time: Duration,
}

impl Run {
    /// The verdict that the exit code stands for.
    pub fn verdict(&self) -> &'static str {
        match self.status.code() {
            Some(0) => "safe",
            Some(10) => "unsafe",
            Some(5) => "unknown",
            Some(_) => "error",
            None => "out of time",
        }
    }

    /// The report, if it is one JSON object.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }
}

/// Runs `cusp COMMAND FILE` with the options of the manifest and more, for so many seconds of
/// processor time.
pub fn run(command: &str, entry: &Entry, more: &[&str], limit: u64) -> Run {
    let (before, _) = children();
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -t {limit}; exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_cusp"))
        .args([command, "--quiet"])
        .arg(shared_corpus().join(&entry.name))
        .args(&entry.options)
        .args(more)
        .stderr(Stdio::null())
        .output()
        .expect("a shell");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Run { status: output.status, stdout, time: children().0.saturating_sub(before) }
}
