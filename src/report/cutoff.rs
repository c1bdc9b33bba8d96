//! Answers about cutoffs: a verdict line and the table of rounds, as text, JSON or CSV.

use std::fmt::Write;

use serde::Serialize;

use super::Count;
use super::palette::{Palette, paint};
use super::words::{counted, one_line};
use crate::engines::cutoff::{Answer, Found, Round};
use crate::evidence::NetVerdict;
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
    let sentence = match (&answer.found, answer.threads_to_target) {
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
        "{:>3} {:>8} {:>10} {:>10} {:>9} {:>9}  realizable",
        "n", "|R_n|", "candidates", "states", "forward s", "backward s"
    );
    for round in &answer.rounds {
        let _ = writeln!(
            out,
            "{:>3} {:>8} {:>10} {:>10} {:>9.3} {:>9.3}   {}",
            round.threads,
            round.thread_states,
            round.candidates,
            round.states,
            round.forward.as_secs_f64(),
            round.backward.as_secs_f64(),
            realizable(round)
        );
    }
    let shown = answer.rounds.last().map_or(0, |round| round.threads);
    if let Some(n) = answer.threads_to_target.filter(|&n| n > shown) {
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
        "file,verdict,n,thread_states,candidates,states,forward_seconds,backward_seconds,realizable\n"
            .to_owned();
    for round in &answer.rounds {
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{:.6},{:.6},{}",
            file.replace([',', '\n'], "_"),
            verdict(answer),
            round.threads,
            round.thread_states,
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
    forward_seconds: f64,
    backward_seconds: f64,
}

/// One object on one line.
#[must_use]
pub fn json(file: &str, answer: &Answer) -> String {
    let (shared_states, local_states) = states(&answer.threads);
    let line = |round: &Round| Line {
        threads: round.threads,
        thread_states: round.thread_states,
        candidates: round.candidates,
        states: round.states,
        realizable: round.realizable,
        forward_seconds: round.forward.as_secs_f64(),
        backward_seconds: round.backward.as_secs_f64(),
    };
    let report = Report {
        file,
        verdict: verdict(answer),
        cutoff: if let Found::Cutoff(n) = answer.found { Some(n) } else { None },
        threads_to_target: answer.threads_to_target,
        reason: if let Found::Unknown(reason) = &answer.found { Some(reason.to_string()) } else { None },
        shared_states,
        local_states,
        thread_transitions: answer.threads.transitions.len(),
        rounds: answer.rounds.iter().map(line).collect(),
    };
    // Numbers and texts: there is nothing that JSON cannot say.
    serde_json::to_string(&report).unwrap_or_default() + "\n"
}
