//! Answers about cutoffs: a verdict line and the table of rounds, as text, JSON or CSV.
//!
//! Rounds and results were checked. Where they were too large for that, all three forms say so.

use std::fmt::Write;

use serde::Serialize;

use super::Count;
use super::palette::{Palette, paint};
use super::words::{counted, one_line};
use crate::decide_cutoff::Answer;
use crate::evidence::NetVerdict;
use crate::evidence::cutoff::{Found, Round};
use crate::net::{Net, PlaceKind};

/// The verdict about the targets, in a word.
fn verdict(answer: &Answer) -> &'static str {
    match answer.certified.verdict() {
        NetVerdict::Safe(_) => "safe",
        NetVerdict::Unsafe(_) => "unsafe",
        NetVerdict::Unknown(_) => "unknown",
    }
}

fn states(net: &Net) -> (usize, usize) {
    let count = |shared: bool| {
        let is = |kind| matches!(kind, PlaceKind::Shared(_)) == shared;
        net.places.iter().filter(|place| is(place.kind)).count()
    };
    (count(true), count(false))
}

fn count(n: usize, what: &str) -> String {
    counted(Count::Exact(n as u64), what)
}

fn realizable(round: &Round) -> &'static str {
    match (round.candidates, round.realizable) {
        (_, Some(true)) => "yes",
        (_, Some(false)) => "no",
        (_, None) => "-",
    }
}

/// The verdict and the table.
#[must_use]
pub fn text(file: &str, answer: &Answer, colour: bool) -> String {
    let palette = Palette::new(colour);
    let (style, word) = match answer.certified.verdict() {
        NetVerdict::Safe(_) => (palette.good, "SAFE"),
        NetVerdict::Unsafe(_) => (palette.bad, "UNSAFE"),
        NetVerdict::Unknown(_) => (palette.open, "UNKNOWN"),
    };
    let target = |n: usize| format!("{} reach a target, fewer do not", count(n, "thread"));
    let sentence = match (answer.certified.found(), answer.certified.threads_to_target()) {
        (Found::Cutoff(n), None) => format!("the cutoff is {}", count(*n, "thread")),
        (Found::Cutoff(n), Some(more)) => format!("the cutoff is {}; {}", count(*n, "thread"), target(more)),
        (Found::Target(n), _) => target(*n),
        (Found::Unknown(reason), _) => format!("the cutoff is unknown: {reason}"),
    };
    let mut out = String::new();
    paint(&mut out, style, word);
    let _ = writeln!(out, "  {}: {sentence}", one_line(file));
    let (shared, local) = states(&answer.threads);
    let steps = answer.threads.transitions.len();
    let _ = writeln!(
        out,
        "{}, {}, {}",
        count(shared, "shared state"),
        count(local, "local state"),
        count(steps, "thread transition")
    );
    let _ = writeln!(
        out,
        "{:>3} {:>8} {:>10} {:>10} {:>9} {:>9}  realizable  checked",
        "n", "|R_n|", "candidates", "states", "forward s", "backward s"
    );
    for (round, checked) in answer.certified.rounds() {
        let _ = writeln!(
            out,
            "{:>3} {:>8} {:>10} {:>10} {:>9.3} {:>9.3}   {:<11} {}",
            round.threads,
            round.thread_states.len(),
            round.candidates,
            round.states,
            round.forward.as_secs_f64(),
            round.backward.as_secs_f64(),
            realizable(round),
            if checked { "yes" } else { "no" }
        );
    }
    if let Some(why) = answer.certified.unchecked() {
        let _ = writeln!(out, "note: the result is not checked in full: {why}");
    }
    let shown = answer.certified.rounds().last().map_or(0, |(round, _)| round.threads);
    if let Some(n) = answer.certified.threads_to_target().filter(|&n| n > shown) {
        let fewer = count(n - 1, "thread");
        let _ =
            writeln!(out, "that {n} reach a target is a run, that {fewer} do not is a proof, both checked");
    }
    out
}

/// One line for each round, with a header.
#[must_use]
pub fn csv(file: &str, answer: &Answer) -> String {
    let mut out =
        "file,verdict,n,thread_states,candidates,states,forward_seconds,backward_seconds,realizable,checked\n"
            .to_owned();
    for (round, checked) in answer.certified.rounds() {
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{:.6},{:.6},{},{checked}",
            file.replace([',', '\n'], "_"),
            verdict(answer),
            round.threads,
            round.thread_states.len(),
            round.candidates,
            round.states,
            round.forward.as_secs_f64(),
            round.backward.as_secs_f64(),
            realizable(round)
        );
    }
    out
}

#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    verdict: &'static str,
    cutoff: Option<usize>,
    threads_to_target: Option<usize>,
    /// Whether `cutoff` and `threads_to_target` were checked in full; absent if neither is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<bool>,
    /// Why they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked: Option<&'a str>,
    reason: Option<String>,
    shared_states: usize,
    local_states: usize,
    thread_transitions: usize,
    rounds: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    threads: usize,
    thread_states: usize,
    candidates: usize,
    states: usize,
    realizable: Option<bool>,
    /// Whether the thread states are all of this number of threads, and not only those before the round ended.
    complete: bool,
    checked: bool,
    forward_seconds: f64,
    backward_seconds: f64,
}

/// One object on one line.
#[must_use]
pub fn json(file: &str, answer: &Answer) -> String {
    let (shared_states, local_states) = states(&answer.threads);
    let line = |(round, checked): (&Round, bool)| Line {
        threads: round.threads,
        thread_states: round.thread_states.len(),
        candidates: round.candidates,
        states: round.states,
        realizable: round.realizable,
        complete: round.is_complete,
        checked,
        forward_seconds: round.forward.as_secs_f64(),
        backward_seconds: round.backward.as_secs_f64(),
    };
    let certified = &answer.certified;
    let is_known = !matches!(certified.found(), Found::Unknown(_));
    let report = Report {
        file,
        verdict: verdict(answer),
        cutoff: if let Found::Cutoff(n) = certified.found() { Some(*n) } else { None },
        threads_to_target: certified.threads_to_target(),
        checked: is_known.then_some(certified.unchecked().is_none()),
        unchecked: certified.unchecked(),
        reason: if let Found::Unknown(reason) = certified.found() { Some(reason.to_string()) } else { None },
        shared_states,
        local_states,
        thread_transitions: answer.threads.transitions.len(),
        rounds: certified.rounds().map(line).collect(),
    };
    // Numbers and texts: there is nothing that JSON cannot say.
    serde_json::to_string(&report).unwrap_or_default() + "\n"
}
