//! The nets of table 1 of Kaiser, Kroening and Wahl, "Dynamic Cutoff Detection in Parameterized
//! Concurrent Programs", CAV 2010, beside the paper's figures.
//!
//! `cargo bench --bench cutoffs [-- [--limit SECONDS] [--csv FILE] [WORD]...]` runs `cusp cutoff` on those
//! that the corpus holds, each as a process with so many seconds and at most four times as much processor time. Ends with an error if a verdict or
//! a number that should be the paper's is not.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "corpus/mod.rs"]
mod corpus;

use std::fmt::Write;
use std::fs;
use std::process::ExitCode;

use serde_json::Value;

/// A line of the paper's table, and the file that it is about.
struct Row {
    file: &'static str,
    benchmark: &'static str,
    /// `c`: the cutoff, or the number of threads until the error; not known for Kanban.
    number: Option<u64>,
    /// `|R_c|`.
    thread_states: Option<u64>,
    seconds: Option<f64>,
    result: &'static str,
    /// Whether and why our number is another one.
    note: &'static str,
}

const SAME: &str = "same number";

/// Table 1 as printed; nets are translated into threads by both, which is what the numbers count.
const TABLE: [Row; 11] = [
    Row {
        file: "spec/mist/boundedPN/read-write.spec",
        benchmark: "Readwrite",
        number: Some(9),
        thread_states: Some(198),
        seconds: Some(0.2),
        result: "safe",
        note: SAME,
    },
    Row {
        file: "spec/mist/PN/mesh2x2.spec",
        benchmark: "Mesh2x2",
        number: Some(9),
        thread_states: Some(844),
        seconds: Some(0.8),
        result: "safe",
        note: SAME,
    },
    Row {
        file: "tts/bfc-regression/mesh2x2_vs/main.tts",
        benchmark: "Mesh2x2",
        number: Some(9),
        thread_states: Some(844),
        seconds: Some(0.8),
        result: "safe",
        note: SAME,
    },
    Row {
        file: "spec/mist/PN/multipool.spec",
        benchmark: "Multip.",
        number: Some(8),
        thread_states: Some(257),
        seconds: Some(0.9),
        result: "safe",
        note: SAME,
    },
    Row {
        file: "spec/mist/PN/pncsacover.spec",
        benchmark: "Pncsa",
        number: Some(7),
        thread_states: Some(860),
        seconds: Some(1.5),
        result: "unsafe",
        note: SAME,
    },
    Row {
        file: "spec/mist/PN/fms_attic.spec",
        benchmark: "Fms",
        number: Some(12),
        thread_states: Some(361),
        seconds: Some(1.6),
        result: "safe",
        note: SAME,
    },
    Row {
        file: "spec/mist/PN/fms.spec",
        benchmark: "Fms",
        number: Some(12),
        thread_states: Some(361),
        seconds: Some(1.6),
        result: "safe",
        note: "a later version of the net, without the target of four tokens in x10 that the paper's has (as x9 in fms_attic.spec)",
    },
    Row {
        file: "spec/qcover176/mist/PN/bingham_h250.spec",
        benchmark: "Bh250",
        number: Some(3),
        thread_states: Some(1768),
        seconds: Some(6.7),
        result: "safe",
        note: "same number; by its 250 more shared states and transitions the paper gives two steps to rules with one token, so it has more thread states",
    },
    Row {
        file: "spec/mist/PN/mesh3x2.spec",
        benchmark: "Mesh3x2",
        number: Some(13),
        thread_states: Some(2228),
        seconds: Some(278.6),
        result: "safe",
        note: SAME,
    },
    Row {
        file: "spec/qcover176/mist/PN/kanban.spec",
        benchmark: "Kanban",
        number: None,
        thread_states: None,
        seconds: None,
        result: "mem-out",
        note: "the paper runs out of memory in round 15, our rounds end at the time limit; the verdict is a checked run that mcov finds",
    },
    Row {
        file: "tts/bfc-regression/kanban_vf/main.tts",
        benchmark: "Kanban",
        number: None,
        thread_states: None,
        seconds: None,
        result: "mem-out",
        note: "the same without thread transitions for the target: the cutoff is about single threads, the target needs many",
    },
];

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

fn paper<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn main() -> ExitCode {
    let arguments = corpus::arguments("cutoffs", 20);
    let entries = corpus::manifest(&arguments.words);
    let mut csv = String::from(
        "file,verdict,cutoff,threads_to_target,rounds,thread_states,candidates,states,forward_seconds,backward_seconds,cpu_seconds,paper_benchmark,paper_result,paper_c,paper_thread_states,paper_seconds,note\n",
    );
    println!(
        "{:<44}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}  paper: c, |R_c|, s",
        "file", "verdict", "cutoff", "target", "rounds", "|R_c|", "cpu s"
    );
    let seconds = arguments.limit.to_string();
    let mut wrong = 0;
    for row in &TABLE {
        let Some(entry) = entries.iter().find(|entry| entry.name == row.file) else { continue };
        let run = corpus::run(
            "cutoff",
            entry,
            &["--json", "--memory", "6G", "--timeout", &seconds],
            4 * arguments.limit,
        );
        let report = run.json();
        let none = Vec::new();
        let rounds = report["rounds"].as_array().unwrap_or(&none);
        let last = rounds.last().cloned().unwrap_or_default();
        let total = |key: &str| rounds.iter().filter_map(|round| round[key].as_f64()).sum::<f64>();
        let verdict =
            if report.is_null() { run.verdict() } else { report["verdict"].as_str().unwrap_or("-") };
        let (cutoff, target) = (text(&report["cutoff"]), text(&report["threads_to_target"]));
        let seconds = run.time.as_secs_f64();
        let (number, size, took) = (paper(row.number), paper(row.thread_states), paper(row.seconds));
        println!(
            "{:<44}{verdict:>8}{cutoff:>8}{target:>8}{:>8}{:>8}{seconds:>9.2}  {} {}: {number}, {size}, {took}",
            row.file,
            rounds.len(),
            text(&last["thread_states"]),
            row.benchmark,
            row.result
        );
        println!("{:<44}{}", "", row.note);
        let _ = writeln!(
            csv,
            "{},{verdict},{cutoff},{target},{},{},{},{},{:.3},{:.3},{seconds:.3},{},{},{number},{size},{took},{}",
            row.file,
            rounds.len(),
            text(&last["thread_states"]),
            text(&last["candidates"]),
            text(&last["states"]),
            total("forward_seconds"),
            total("backward_seconds"),
            row.benchmark,
            row.result,
            row.note.replace(',', ";")
        );
        let ours = if verdict == "unsafe" { &target } else { &cutoff };
        let differs = row.note.starts_with("same number") && ours != "-" && *ours != number;
        let decided = matches!(verdict, "safe" | "unsafe");
        let contradicts = decided && row.result != "mem-out" && verdict != row.result;
        if differs || contradicts {
            println!("WRONG: {}", row.file);
            wrong += 1;
        }
    }
    fs::write(&arguments.csv, csv).expect("a file that can be written");
    println!("wrong verdicts or numbers: {wrong}; limit {} s of time", arguments.limit);
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
