//! Reports about cutoffs: a verdict line and the table of rounds, as text, JSON or CSV.
//!
//! The rounds and results were checked. If something was too large to be checked, all three forms say so.
//!
//! The JSON object begins with the [`Header`] that all answers have, followed by these fields:
//!
//! | field | when | meaning |
//! |---|---|---|
//! | `cutoff` | known | the least number of threads that reach all thread states that any number reaches |
//! | `threads_to_target` | known | the fewest threads that reach a target |
//! | `checked` | one of them is known | whether they were checked in full |
//! | `unchecked` | not checked | why not |
//! | `shared_states`, `local_states`, `thread_transitions` | always | the size of the system of threads |
//! | `rounds` | always | one object for each number of threads: `threads`, `thread_states`, `candidates`, `states`, `realizable`, `complete`, `checked`, `forward_seconds`, `backward_seconds` |

use std::fmt::Write;

use serde::Serialize;

use super::Count;
use super::json::header::{Header, line};
use super::palette::{Palette, paint};
use super::words::{counted, one_line};
use crate::evidence::NetVerdict;
use crate::evidence::cutoff::{Found, Round};
use crate::net::{Net, PlaceKind};
use crate::pipeline::cutoff::Answer;

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

/// The verdict and the table of rounds as text.
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
        let threads = count(n, "thread");
        let _ = writeln!(
            out,
            "a checked run shows that {threads} reach a target, and a checked proof that fewer do not"
        );
    }
    out
}

/// The rounds as CSV: a header, and one line for each round.
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
            answer.certified.verdict().word(),
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
    #[serde(flatten)]
    header: Header<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cutoff: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads_to_target: Option<usize>,
    /// Whether `cutoff` and `threads_to_target` were checked in full; absent if neither is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<bool>,
    /// Why they were not checked in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked: Option<&'a str>,
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
    /// Whether these are all thread states of this number of threads, and not only those found before the round
    /// ended.
    complete: bool,
    checked: bool,
    forward_seconds: f64,
    backward_seconds: f64,
}

/// The JSON object on one line. The header has the fields that do not depend on the answer.
#[must_use]
pub fn json(header: Header<'_>, answer: &Answer) -> String {
    let (shared_states, local_states) = states(&answer.threads);
    let round = |(round, checked): (&Round, bool)| Line {
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
    let header = match certified.found() {
        Found::Unknown(reason) => header.reason(&reason.clone().into(), &[]),
        Found::Cutoff(_) | Found::Target(_) => header,
    };
    let report = Report {
        header,
        cutoff: if let Found::Cutoff(n) = certified.found() { Some(*n) } else { None },
        threads_to_target: certified.threads_to_target(),
        checked: is_known.then_some(certified.unchecked().is_none()),
        unchecked: certified.unchecked(),
        shared_states,
        local_states,
        thread_transitions: answer.threads.transitions.len(),
        rounds: certified.rounds().map(round).collect(),
    };
    line(&report)
}
