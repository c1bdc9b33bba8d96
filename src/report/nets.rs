//! Text reports about nets.

use std::fmt::Write;

use crate::certify::CertifiedNet;
use crate::evidence::net::{OmegaMarking, Tokens, UncoverabilityBasis};
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Unknown};
use crate::net::fire::fire;
use crate::net::{Choice, Firing, Marking, Net, PlaceId, PlaceKind, Target};
use crate::source::{Source, Span};

use super::advice::advice;
use super::line::{Kind, Line, Lines};
use super::palette::{Palette, paint};
use super::text::snippet;
use super::words::{counted, one_line, place};
use super::{Count, Detail, View};

/// A checked answer about a net, with the net that it is about.
#[derive(Clone, Copy, Debug)]
pub struct NetSubject<'a> {
    /// The text of the net.
    pub source: &'a Source,
    /// The text of its targets, if they are in another file.
    pub property: Option<&'a Source>,
    /// The net with its targets.
    pub net: &'a Net,
    /// The checked verdict.
    pub certified: &'a CertifiedNet,
    /// The engine that found the answer.
    pub engine: &'a str,
    /// Whether another run may have another engine and another proof; then the text names neither.
    pub by_chance: bool,
}

impl NetSubject<'_> {
    /// The source text that contains a target, if there is one.
    fn source_of(&self, target: &Target) -> Option<&Source> {
        let source = self.property.unwrap_or(self.source);
        (target.span.start < target.span.end).then_some(source)
    }

    /// The description of a target: its source text, or else its tokens.
    pub(super) fn target(&self, target: &Target) -> String {
        match self.source_of(target) {
            Some(source) => one_line(source.slice(target.span)),
            None => tokens(self.net, &target.least).join(", "),
        }
    }
}

/// The markings of a run, including the initial one.
pub(super) fn markings(net: &Net, run: &FiringSequence) -> Vec<Marking> {
    let mut markings = vec![run.initial.clone()];
    for step in &run.steps {
        let before = markings.last().cloned().unwrap_or_default();
        // The run was replayed before, so every step is possible.
        markings.push(fire(net.transition(step.transition), &before, &step.choices).unwrap_or(before));
    }
    markings
}

/// The largest number of threads, or tokens, at once.
pub(super) fn most_threads(net: &Net, run: &FiringSequence) -> u128 {
    markings(net, run).iter().map(|marking| net.threads(marking)).max().unwrap_or(0)
}

/// The whole report, which ends with a line break.
#[must_use]
pub fn text(subject: &NetSubject, view: View) -> String {
    let mut out = verdict_line(subject, view.colour);
    match subject.certified.verdict() {
        NetVerdict::Safe(_) => {}
        NetVerdict::Unsafe(run) => refutation(subject, run, view, &mut out),
        NetVerdict::Unknown(unknown) => explanation(unknown, &mut out),
    }
    out
}

/// The first line of the report.
#[must_use]
pub fn verdict_line(subject: &NetSubject, colour: bool) -> String {
    let palette = Palette::new(colour);
    let net = subject.net;
    let (style, word, sentence) = match subject.certified.verdict() {
        NetVerdict::Safe(certificate) => {
            let anyhow = if net.initial.is_parametric() && unit(net) != TOKEN {
                format!(", however many {}s there are", unit(net))
            } else {
                String::new()
            };
            let proof = if subject.by_chance {
                "proof checked".to_owned()
            } else {
                format!("{} engine; {}, checked", subject.engine, proof(net, certificate))
            };
            let sentence = format!("no target can be covered{anyhow} ({proof})");
            (palette.good, "SAFE", sentence)
        }
        NetVerdict::Unsafe(run) => (palette.bad, "UNSAFE", unsafe_claim(net, run)),
        NetVerdict::Unknown(unknown) => (palette.open, "UNKNOWN", unknown.reason.to_string()),
    };
    let mut out = String::new();
    paint(&mut out, style, word);
    let _ = writeln!(out, "  {}: {sentence}", one_line(subject.source.name()));
    out
}

/// The unit of nets whose tokens are not threads or machines.
const TOKEN: &str = "token";

/// What the tokens of the net are called: threads, machines or tokens.
fn unit(net: &Net) -> &'static str {
    if net.has_threads() {
        "thread"
    } else if net.has_machines() {
        "machine"
    } else {
        TOKEN
    }
}

fn number(n: u128, what: &str) -> String {
    counted(Count::Exact(u64::try_from(n).unwrap_or(u64::MAX)), what)
}

/// A description of the proof, such as `a basis of 12 elements with at most 2 threads`.
fn proof(net: &Net, certificate: &NetCertificate) -> String {
    let mut parts = Vec::new();
    match certificate {
        NetCertificate::Basis(UncoverabilityBasis { never_marked, invariants, elements }) => {
            if !elements.is_empty() || never_marked.is_empty() && invariants.is_empty() {
                let most = elements.iter().map(|element| net.threads(element)).max().unwrap_or(0);
                let size = counted(Count::from(elements.len()), "element");
                let each = if elements.is_empty() {
                    String::new()
                } else {
                    format!(" with at most {}", number(most, unit(net)))
                };
                parts.push(format!("a basis of {size}{each}"));
            }
            if !invariants.is_empty() {
                parts.push(counted(Count::from(invariants.len()), "linear invariant"));
            }
            if !never_marked.is_empty() {
                let places = counted(Count::from(never_marked.len()), "place");
                parts.push(format!("{places} never marked"));
            }
        }
        NetCertificate::CoverabilitySet(set) => {
            let size = counted(Count::from(set.len()), "element");
            let omega = |ideal: &OmegaMarking| ideal.limits().iter().any(|&(_, n)| n == Tokens::Omega);
            let unbounded = set.iter().filter(|ideal| omega(ideal)).count();
            let how = if unbounded == 0 { ", all of them finite" } else { "" };
            parts.push(format!("a coverability set of {size}{how}"));
        }
    }
    parts.join(", ")
}

fn unsafe_claim(net: &Net, run: &FiringSequence) -> String {
    if run.steps.is_empty() {
        return format!(
            "a target is covered at the start, with {}",
            number(net.threads(&run.initial), unit(net))
        );
    }
    let steps = counted(Count::from(run.steps.len()), "step");
    let most = number(most_threads(net, run), unit(net));
    format!("a target can be covered with {most}, in {steps}")
}

/// Why there is no answer, what the engine saw nevertheless, and what the user can do.
fn explanation(unknown: &Unknown, out: &mut String) {
    if let Some(seen) = &unknown.seen {
        let _ = writeln!(out, "  seen (not certified): {seen}");
    }
    if let Some(advice) = advice(&unknown.reason) {
        let _ = writeln!(out, "  help: {advice}");
    }
}

/// The target and the run.
fn refutation(subject: &NetSubject, run: &FiringSequence, view: View, out: &mut String) {
    let markings = markings(subject.net, run);
    let Some(last) = markings.last() else { return };
    let target = subject.net.target_met_by(last);
    if let Some(target) = target
        && let Some(source) = subject.source_of(target)
    {
        snippet(source, target.span, "can be covered", view.colour, out);
    }
    if view.detail == Detail::None {
        return;
    }
    let mut lines = Lines::new(view.detail.window());
    lines.push(line(Kind::Enter, subject, Span::default(), "start", tokens(subject.net, &run.initial)));
    for (step, pair) in run.steps.iter().zip(markings.windows(2)) {
        lines.push(step_line(subject, step, &pair[0], &pair[1]));
    }
    if let Some(target) = target {
        let values = target.least.iter().map(|(place, _)| value(subject.net, place, last.get(place)));
        let text = format!("{} [covered]", subject.target(target));
        lines.push(line(Kind::Violation, subject, Span::default(), &text, values.collect()));
    }
    let steps = Count::from(run.steps.len());
    let shown = lines.shown_steps();
    let more = if shown == steps {
        String::new()
    } else {
        format!(" in all, {shown} shown (`--trace full` shows all)")
    };
    let _ = writeln!(out, "the run, {}{more}:", counted(steps, "step"));
    lines.render(view.width, Palette::new(view.colour), out);
}

fn line(kind: Kind, subject: &NetSubject, span: Span, text: &str, values: Vec<String>) -> Line {
    let (at, text, note) = (place(subject.source, span), text.to_owned(), String::new());
    Line { kind, thread: None, at, depth: 0, text, note, values }
}

fn step_line(subject: &NetSubject, step: &Firing, before: &Marking, after: &Marking) -> Line {
    let net = subject.net;
    let transition = net.transition(step.transition);
    let text = match one_line(subject.source.slice(transition.span)) {
        text if text.is_empty() => step.transition.to_string(),
        text => text,
    };
    let note = choices(net, &step.choices);
    Line { note, ..line(Kind::Step, subject, transition.span, &text, changes(net, before, after)) }
}

/// The destinations of tokens that had a choice, such as `local8: 2 to local9`.
fn choices(net: &Net, choices: &[Choice]) -> String {
    let mut parts = Vec::new();
    for choice in choices {
        for (to, n) in choice.to.iter().filter(|&(to, _)| to != choice.from) {
            parts.push(format!("{n} from {} to {}", net.place(choice.from).name, net.place(to).name));
        }
    }
    parts.join(", ")
}

/// The places whose number of tokens changed, with the new number.
pub(super) fn changed(before: &Marking, after: &Marking) -> Vec<(PlaceId, u64)> {
    let all = before.join(after);
    all.iter()
        .map(|(place, _)| (place, after.get(place)))
        .filter(|&(place, n)| n != before.get(place))
        .collect()
}

fn changes(net: &Net, before: &Marking, after: &Marking) -> Vec<String> {
    let is_value = |place| matches!(net.place(place).kind, PlaceKind::Shared(_) | PlaceKind::Value);
    let is_left = |place: PlaceId, n: u64| n == 0 && is_value(place);
    let changed = changed(before, after).into_iter().filter(|&(place, n)| !is_left(place, n));
    changed.map(|(place, n)| value(net, place, n)).collect()
}

fn tokens(net: &Net, marking: &Marking) -> Vec<String> {
    marking.iter().map(|(place, n)| value(net, place, n)).collect()
}

/// The number of tokens in a place, such as `x=3`, `shared=2`, `local7=1`, `lock=T`.
fn value(net: &Net, place: PlaceId, n: u64) -> String {
    match net.place(place).kind {
        PlaceKind::Shared(state) => format!("shared={state}"),
        PlaceKind::Value => net.place(place).name.clone(),
        PlaceKind::Counter | PlaceKind::Local(_) | PlaceKind::Machine => {
            format!("{}={n}", net.place(place).name)
        }
    }
}
