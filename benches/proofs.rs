//! How large proofs are: those of plain backward search, of pruned backward search, and minimal ones.
//!
//! `cargo bench --bench proofs [-- [--limit SECONDS] [--csv FILE] [WORD]...]` runs three engines on every
//! net of the manifest that is not known to be unsafe and whose path has one of the words: `reference`,
//! which computes all minimal elements, `backward`, which leaves out what linear invariants exclude, and
//! `mcov`. Each run is a process with so much processor time. Every proof that is counted was checked
//! (Cusp prints no other). Elements are minimal elements; threads are the most in one of them, or tokens
//! where there are no threads, as in Kaiser, Kroening and Wahl, CONCUR 2012, section 5. There, what has two
//! shared states is no state; to plain backward search it is a marking like others, and is not counted here.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "corpus/mod.rs"]
mod corpus;

use std::fmt::Write;
use std::fs;
use std::process::ExitCode;

use corpus::Entry;
use serde_json::Value;

/// A proof by elements, or what came instead.
#[derive(Clone, Debug)]
struct Proof {
    verdict: &'static str,
    /// Elements, and the most threads or tokens in one of them.
    size: Option<(u64, u64)>,
    /// Linear invariants and places that are never marked, which do the rest.
    helpers: u64,
    seconds: f64,
}

fn prove(entry: &Entry, engine: &str, limit: u64) -> Proof {
    let file = std::env::temp_dir().join(format!("cusp-proof-{}.json", std::process::id()));
    let whole = file.display().to_string();
    let run = corpus::run("cover", entry, &["--engine", engine, "--proof", &whole], limit);
    let text = fs::read_to_string(&file).unwrap_or_default();
    // There is none if the run was stopped.
    let _ = fs::remove_file(&file);
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    let proof = &report["proof"];
    let has_threads = report["net"]["threads"] == true;
    let number = |key: &str| proof[key].as_u64().unwrap_or(0);
    let size = (proof["kind"] == "basis").then(|| {
        let elements = proof["evidence"]["elements"].as_array().map(Vec::as_slice).unwrap_or_default();
        let sizes: Vec<(u64, u64)> = elements.iter().map(|element| tokens(element, has_threads)).collect();
        let states = || sizes.iter().filter(|&&(shared, _)| shared <= 1).map(|&(_, others)| others);
        let most = states().max().unwrap_or(0);
        (states().count() as u64, most)
    });
    let helpers = number("invariants") + number("never_marked");
    Proof { verdict: run.verdict(), size, helpers, seconds: run.time.as_secs_f64() }
}

/// The shared states of an element, and its other tokens.
fn tokens(element: &Value, has_threads: bool) -> (u64, u64) {
    let mut sums = (0, 0);
    for (place, n) in element.as_object().into_iter().flatten() {
        let sum = if has_threads && place.starts_with("shared") { &mut sums.0 } else { &mut sums.1 };
        *sum += n.as_u64().unwrap_or(0);
    }
    sums
}

fn cell(proof: &Proof) -> String {
    match proof.size {
        Some((elements, most)) if proof.helpers == 0 => format!("{elements}/{most}"),
        Some((elements, most)) => format!("{elements}/{most}+{}", proof.helpers),
        None => proof.verdict.to_owned(),
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// By how much the second is less than the first.
#[allow(clippy::cast_precision_loss, reason = "a percentage")]
fn reduction(before: u64, after: u64) -> f64 {
    if before == 0 { 0.0 } else { 100.0 * (1.0 - after as f64 / before as f64) }
}

fn main() -> ExitCode {
    const ENGINES: [&str; 3] = ["reference", "backward", "mcov"];
    let arguments = corpus::arguments("proofs", 10);
    let entries = corpus::manifest(&arguments.words);
    let mut csv =
        String::from("file,engine,verdict,elements,threads,invariants_and_dead_places,cpu_seconds\n");
    println!("{:<52}{:>18}{:>18}{:>14}", "net (elements/threads)", ENGINES[0], ENGINES[1], ENGINES[2]);
    let (mut rows, mut wrong) = (Vec::new(), 0);
    for entry in entries.iter().filter(|entry| entry.expected != "unsafe") {
        // Last in the table, first in time: where it says unsafe there is nothing to compare.
        let minimal = prove(entry, ENGINES[2], arguments.limit);
        wrong += u32::from(minimal.verdict == "unsafe" && entry.expected == "safe");
        if minimal.verdict == "unsafe" {
            continue;
        }
        let [plain, pruned] = [ENGINES[0], ENGINES[1]].map(|engine| prove(entry, engine, arguments.limit));
        println!("{:<52}{:>18}{:>18}{:>14}", entry.name, cell(&plain), cell(&pruned), cell(&minimal));
        for (engine, proof) in ENGINES.iter().zip([&plain, &pruned, &minimal]) {
            let (elements, threads) =
                proof.size.map_or_else(Default::default, |(n, most)| (n.to_string(), most.to_string()));
            let _ = writeln!(
                csv,
                "{},{engine},{},{elements},{threads},{},{:.3}",
                entry.name, proof.verdict, proof.helpers, proof.seconds
            );
        }
        rows.push((plain, minimal));
    }
    fs::write(&arguments.csv, csv).expect("a file that can be written");

    let both: Vec<((u64, u64), (u64, u64))> =
        rows.iter().filter_map(|(plain, minimal)| plain.size.zip(minimal.size)).collect();
    let elements = median(both.iter().map(|(plain, minimal)| reduction(plain.0, minimal.0)).collect());
    let threads = median(both.iter().map(|(plain, minimal)| reduction(plain.1, minimal.1)).collect());
    let plain = both.iter().map(|(plain, _)| plain.0).sum();
    let minimal = both.iter().map(|(_, minimal)| minimal.0).sum();
    println!(
        "{} nets, {} with a minimal proof by elements, {} with both",
        rows.len(),
        rows.iter().filter(|row| row.1.size.is_some()).count(),
        both.len()
    );
    println!("median reduction: {elements:.0} % of the elements, {threads:.0} % of the threads");
    println!(
        "all together: {plain} elements, {minimal} in minimal proofs ({:.0} % fewer)",
        reduction(plain, minimal)
    );
    let most = rows.iter().filter_map(|(_, minimal)| minimal.size).map(|(_, most)| most).max();
    println!("most threads or tokens in an element of a minimal proof: {}", most.unwrap_or(0));
    println!("wrong verdicts: {wrong}; limit {} s of processor time", arguments.limit);
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
