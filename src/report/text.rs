//! Text reports about programs.

use std::fmt::Write;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::evidence::{Certificate, Reason, ThreadInvariant, Trace, Unknown, Verdict};
use crate::model::{Property, Task};
use crate::source::{Source, Span};

use super::advice::advice;
use super::calls::{self, TraceLines};
use super::palette::{Palette, paint};
use super::threads::{self, most_threads};
use super::values::ValueWriter;
use super::violated::Violated;
use super::words::{counted, one_line};
use super::{Count, Detail, Subject, View};

/// The whole report, which ends with a line break.
#[must_use]
pub fn text(subject: &Subject, view: View) -> String {
    let mut out = verdict_line(subject, view.colour);
    match subject.certified.verdict() {
        Verdict::Safe(_) => {}
        Verdict::Unsafe(trace) => refutation(subject, trace, view, &mut out),
        Verdict::Unknown(unknown) => explanation(subject.task, unknown, &mut out),
    }
    out
}

/// The first line of the report.
#[must_use]
pub fn verdict_line(subject: &Subject, colour: bool) -> String {
    let palette = Palette::new(colour);
    let task = subject.task;
    let (style, word, sentence) = match subject.certified.verdict() {
        Verdict::Safe(certificate) => {
            let proof = if subject.by_chance {
                "proof checked".to_owned()
            } else {
                format!("{} engine; {}, checked", subject.engine, proof(certificate))
            };
            let sentence = format!("{} ({proof})", safe_claim(task, task.threads));
            (palette.good, "SAFE", sentence)
        }
        Verdict::Unsafe(trace) => (palette.bad, "UNSAFE", unsafe_claim(task, trace)),
        Verdict::Unknown(unknown) => (palette.open, "UNKNOWN", unknown.reason.to_string()),
    };
    let mut out = String::new();
    paint(&mut out, style, word);
    let _ = writeln!(out, "  {}: {sentence}", one_line(subject.source.name()));
    out
}

/// The report about a file that nothing is known about but why: the limits were reached before there was a question, or
/// while nobody could be asked what was found.
#[must_use]
pub fn unanswered(file: &str, reason: &Reason, with_advice: bool, colour: bool) -> String {
    let mut out = String::new();
    paint(&mut out, Palette::new(colour).open, "UNKNOWN");
    let _ = writeln!(out, "  {}: {reason}", one_line(file));
    if let Some(advice) = advice(reason).filter(|_| with_advice) {
        let _ = writeln!(out, "  help: {advice}");
    }
    out
}

/// A description of what was proved.
fn safe_claim(task: &Task, threads: Option<u32>) -> String {
    let claim = match &task.property {
        Property::Assertions => "no assertion can fail".to_owned(),
        Property::LabelUnreachable(label) => format!("label `{label}` cannot be reached"),
    };
    match threads {
        _ if !task.program.starts_threads => claim,
        Some(1) => format!("{claim} with one thread at a time"),
        Some(n) => format!("{claim} with at most {n} threads at once"),
        None => format!("{claim}, however many threads there are"),
    }
}

fn proof(certificate: &Certificate) -> String {
    match certificate {
        Certificate::NoViolationInReach => "no statement that could go wrong is in reach".to_owned(),
        Certificate::PathEdges(edges) => counted(Count::from(edges.len()), "path edge"),
        Certificate::SystemStates(states) => counted(Count::from(states.len()), "state"),
        Certificate::Relations(proof) => counted(Count::from(proof.relations.len()), "relation"),
        Certificate::KInductive(proof) => {
            format!("induction over {}", counted(Count::from(proof.k as usize), "step"))
        }
        Certificate::Unrolling(proof) => counted(Count::from(proof.copies.len() + 1), "unrolled block"),
        Certificate::Threads(proof) => match &proof.invariant {
            ThreadInvariant::States(listed) => counted(Count::from(listed.states.len()), "state"),
            ThreadInvariant::Clauses(clauses) => counted(Count::from(clauses.len()), "clause"),
            ThreadInvariant::Formulas(sets) => counted(Count::from(sets.sets.len()), "formula"),
            ThreadInvariant::Induction(proof) => {
                format!("induction over {}", counted(Count::from(proof.k as usize), "step"))
            }
        },
    }
}

fn unsafe_claim(task: &Task, trace: &Trace) -> String {
    let claim = match &task.property {
        Property::Assertions => "an assertion can fail".to_owned(),
        Property::LabelUnreachable(label) => format!("label `{label}` can be reached"),
    };
    match trace {
        Trace::Interleaved(interleaving) => match most_threads(interleaving) {
            1 => format!("{claim} with one thread"),
            n => format!("{claim} with {n} threads at once"),
        },
        Trace::Sequential(_) => claim,
    }
}

/// Why there is no answer, what the engine saw nevertheless, and what the user can do.
fn explanation(task: &Task, unknown: &Unknown, out: &mut String) {
    if let Some(seen) = &unknown.seen {
        let _ = writeln!(out, "  seen (not certified): {seen}");
    }
    let more = bound_threads(task, &unknown.reason).iter().copied();
    for advice in advice(&unknown.reason).into_iter().chain(more) {
        let _ = writeln!(out, "  help: {advice}");
    }
}

/// Additional advice for programs with any number of threads: the run might never end, so more time may not help.
pub(super) fn bound_threads(task: &Task, reason: &Reason) -> &'static [&'static str] {
    let endless = task.program.starts_threads && task.threads.is_none();
    if endless && matches!(reason, Reason::Timeout(_) | Reason::Memory { .. } | Reason::Interrupted) {
        return &["bound the number of threads that live at once with `--threads N`"];
    }
    &[]
}

/// The violated statement and the trace.
fn refutation(subject: &Subject, trace: &Trace, view: View, out: &mut String) {
    let violated = Violated::find(subject.task, trace);
    snippet(subject.source, violated.span, violated.remark(), view.colour, out);
    if view.detail == Detail::None {
        return;
    }
    let writer = ValueWriter::new(&subject.task.program, trace);
    let shown_trace = match trace {
        Trace::Sequential(tree) => calls::trace_lines(subject, tree, &writer, &violated, view.detail),
        Trace::Interleaved(steps) => threads::trace_lines(subject, steps, &writer, &violated, view.detail),
    };
    let _ = writeln!(out, "{}:", heading(&shown_trace, view.detail));
    shown_trace.lines.render(view.width, Palette::new(view.colour), out);
}

/// The length of the run, and how much of it is shown.
fn heading(shown_trace: &TraceLines, detail: Detail) -> String {
    let shown = shown_trace.lines.shown_steps();
    let steps = counted(shown_trace.steps, "step");
    if shown == shown_trace.steps {
        return format!("the run, {steps}");
    }
    let more = match (detail, shown_trace.folded) {
        (Detail::Full, _) => " (repeated calls are folded)",
        (_, true) => " (`--trace full` shows more)",
        (_, false) => " (`--trace full` shows all)",
    };
    format!("the run, {steps} in all, {shown} shown{more}")
}

/// A part of the source text with a remark below it.
pub(super) fn snippet(source: &Source, span: Span, remark: &str, colour: bool, out: &mut String) {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let first_line = source.position(span.start).line;
    let last_line = source.position(span.end.saturating_sub(1).max(span.start)).line;
    let start = source.line_start(first_line);
    let end = source.line_start(last_line) + source.line(last_line).len();
    let within = |offset: u32| (offset as usize).clamp(start, end) - start;
    let mark = AnnotationKind::Primary.span(within(span.start)..within(span.end)).label(remark);
    let part = Snippet::source(&source.text()[start..end])
        .path(one_line(source.name()))
        .line_start(first_line)
        .annotation(mark);
    out.push_str(&renderer.render(&[Group::with_level(Level::ERROR).element(part)]));
    out.push('\n');
}
