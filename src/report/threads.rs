//! Writes concurrent traces: an interleaving as lines.

use std::sync::Arc;

use crate::evidence::trace::{Frame, Interleaving, Move, System, Thread, ThreadStep};
use crate::model::{Action, EdgeId, ProcId, Procedure};
use crate::source::Position;

use super::calls::{TraceLines, back_in, enter_line, inner_depth, is_plain, violation_line};
use super::line::{Kind, Line, Lines};
use super::values::ValueWriter;
use super::violated::Violated;
use super::words::{Described, describe, is_added, place, statement_at};
use super::{Count, Detail, Subject};

/// The lines of an interleaving.
#[must_use]
pub fn trace_lines(
    subject: &Subject,
    interleaving: &Interleaving,
    writer: &ValueWriter,
    violated: &Violated,
    detail: Detail,
) -> TraceLines {
    let mut walk = Walk { subject, writer, detail, calls: Vec::new(), lines: Lines::new(detail.window()) };
    let mut before = &interleaving.initial;
    for thread in &before.threads {
        let frame = &thread.frames[0];
        let values = writer.initial(frame.procedure, Some(&before.globals), &frame.locals);
        walk.lines.push(enter_line(subject, frame.procedure, Some(thread.id), 0, values));
    }
    for step in &interleaving.steps {
        walk.step(before, step);
        before = &step.after;
    }
    let depth = thread(before, interleaving.thread).map_or(0, |thread| walk.depth(&thread.frames));
    walk.lines.push(violation_line(subject, writer, violated, depth));
    TraceLines { lines: walk.lines, steps: Count::from(interleaving.steps.len()), folded: false }
}

/// The largest number of threads that are alive at once.
#[must_use]
pub fn most_threads(interleaving: &Interleaving) -> usize {
    let later = interleaving.steps.iter().map(|step| step.after.threads.len());
    later.max().unwrap_or(0).max(interleaving.initial.threads.len())
}

/// A living thread, by its number.
#[must_use]
pub fn thread(system: &System, id: u32) -> Option<&Thread> {
    system.threads.iter().find(|thread| thread.id == id)
}

/// A frame of a thread after a step, if the thread had it before the step, too.
#[must_use]
pub fn same_frame<'a>(old: &Thread, new: Option<&'a Thread>, level: usize) -> Option<&'a Frame> {
    let frame = new?.frames.get(level)?;
    (frame.procedure == old.frames.get(level)?.procedure).then_some(frame)
}

/// The frame that a step added: above the others, or that of `main` in place of the prologue's.
#[must_use]
pub fn entered_frame<'a>(old: &Thread, new: Option<&'a Thread>) -> Option<&'a Frame> {
    let frames = &new?.frames;
    let is_new = frames.len() > old.frames.len() || frames[0].procedure != old.frames[0].procedure;
    frames.last().filter(|_| is_new).map(|frame| &**frame)
}

/// The threads that started and ended in a step.
pub struct Changes<'a> {
    /// New threads.
    pub started: Vec<&'a Thread>,
    /// The numbers of the threads that ended.
    pub ended: Vec<u32>,
}

impl<'a> Changes<'a> {
    /// Compares two states.
    #[must_use]
    pub fn between(before: &'a System, after: &'a System) -> Self {
        let is_new = |t: &&Thread| thread(before, t.id).is_none();
        let is_gone = |t: &&Thread| thread(after, t.id).is_none();
        Self {
            started: after.threads.iter().filter(is_new).collect(),
            ended: before.threads.iter().filter(is_gone).map(|t| t.id).collect(),
        }
    }
}

struct Walk<'a> {
    subject: &'a Subject<'a>,
    writer: &'a ValueWriter<'a>,
    detail: Detail,
    /// For each thread number, the positions of the calls that the thread is in.
    calls: Vec<Vec<Option<Position>>>,
    lines: Lines,
}

impl Walk<'_> {
    fn step(&mut self, before: &System, step: &ThreadStep) {
        let Some(old) = thread(before, step.thread) else { return };
        let frame = old.frames.last().expect("a thread has a frame");
        let new = thread(&step.after, step.thread);
        let changes = Changes::between(before, &step.after);
        let mut values = Vec::new();
        let globals = [&before.globals, &step.after.globals];
        let (described, plain) = match step.action {
            Move::Edge(edge) => {
                self.writer.globals(frame.procedure, globals[0], globals[1], &mut values);
                if let Some(same) = same_frame(old, new, old.frames.len() - 1) {
                    self.writer.locals(frame.procedure, &frame.locals, &same.locals, &mut values);
                    self.writer.returned(frame.procedure, edge, &same.locals, &mut values);
                }
                self.edge(step.thread, frame, edge, &changes)
            }
            Move::Return => {
                let procedure = caller(old).map_or(frame.procedure, |caller| caller.procedure);
                self.writer.globals(procedure, globals[0], globals[1], &mut values);
                if let (Some(caller), Some(new)) = (caller(old), new.and_then(|new| new.frames.last())) {
                    self.writer.locals(caller.procedure, &caller.locals, &new.locals, &mut values);
                }
                (self.back(step.thread, old, &changes), true)
            }
        };
        self.others(before, step, &mut values);
        let eventful = !values.is_empty() || !changes.started.is_empty() || !changes.ended.is_empty();
        if self.detail == Detail::Full || eventful || !plain {
            let Described { at, text, note } = described;
            let depth = new.map_or(0, |new| self.depth(&new.frames).min(self.depth(&old.frames)));
            let (kind, thread) = (Kind::Step, Some(step.thread));
            self.lines.push(Line { kind, thread, at, depth, text, note, values });
        }
        self.entered(old, new);
        for &thread in &changes.started {
            self.started(thread);
        }
    }

    /// The description of a step along an edge, and whether the step only moves control.
    fn edge(&mut self, id: u32, frame: &Frame, edge: EdgeId, changes: &Changes) -> (Described, bool) {
        let program = &self.subject.task.program;
        let procedure = program.procedure(frame.procedure);
        let mut described = describe(self.subject.source, program, frame.procedure, procedure.edge(edge));
        let mut notes = thread_notes(changes);
        match &procedure.edge(edge).action {
            Action::Call(_) if !program.leaves_prologue(frame.procedure, procedure.edge(edge)) => {
                let at = place(self.subject.source, procedure.edge(edge).span);
                self.calls_of(id).push(at.filter(|_| !is_added(procedure)));
            }
            Action::Spawn(_) | Action::Fork(_) if changes.started.is_empty() => {
                notes.push("no thread starts: the limit is reached".to_owned());
            }
            _ => {}
        }
        if !notes.is_empty() {
            described.note = notes.join(", ");
        }
        (described, is_plain(self.subject, frame.procedure, edge))
    }

    /// The description of a return.
    fn back(&mut self, id: u32, old: &Thread, changes: &Changes) -> Described {
        let at = self.calls_of(id).pop().flatten();
        let note = thread_notes(changes).join(", ");
        let described = match caller(old) {
            Some(caller) => back_in(self.subject, caller.procedure, at),
            None => Described { at, text: format!("leave {}", self.name(old)), note: String::new() },
        };
        Described { note, ..described }
    }

    fn name(&self, thread: &Thread) -> &str {
        let frame = thread.frames.last().expect("a thread has a frame");
        let procedure = self.subject.task.program.procedure(frame.procedure);
        if is_added(procedure) { "start" } else { &procedure.name }
    }

    /// Writes the line for a frame that the step added.
    fn entered(&mut self, old: &Thread, new: Option<&Thread>) {
        let (Some(new), Some(frame)) = (new, entered_frame(old, new)) else { return };
        let values = self.writer.initial(frame.procedure, None, &frame.locals);
        let depth = self.depth(&new.frames);
        self.lines.push(enter_line(self.subject, frame.procedure, Some(new.id), depth, values));
    }

    /// Writes the first line of a new thread.
    fn started(&mut self, thread: &Thread) {
        let frame = thread.frames.last().expect("a thread has a frame");
        let values = self.writer.initial(frame.procedure, None, &frame.locals);
        let depth = self.depth(&thread.frames);
        let mut line = enter_line(self.subject, frame.procedure, Some(thread.id), depth, values);
        if frame.node != Procedure::ENTRY {
            let procedure = self.subject.task.program.procedure(frame.procedure);
            line.at = place(self.subject.source, statement_at(procedure, frame.node));
            line.text = format!("begin in {}", procedure.name);
        }
        self.lines.push(line);
    }

    /// Adds the values that a step changes in other threads, by assignments to `x$`.
    fn others(&self, before: &System, step: &ThreadStep, values: &mut Vec<String>) {
        for other in before.threads.iter().filter(|other| other.id != step.thread) {
            let Some(after) = thread(&step.after, other.id) else { continue };
            let mut changed = Vec::new();
            for (old, new) in other.frames.iter().zip(&after.frames) {
                self.writer.locals(old.procedure, &old.locals, &new.locals, &mut changed);
            }
            values.extend(changed.iter().map(|value| format!("[{}].{value}", other.id)));
        }
    }

    fn calls_of(&mut self, thread: u32) -> &mut Vec<Option<Position>> {
        let index = thread as usize;
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, Vec::new);
        }
        &mut self.calls[index]
    }

    fn depth(&self, frames: &[Arc<Frame>]) -> usize {
        let callers: &[Arc<Frame>] = frames.split_last().map_or(&[], |(_, callers)| callers);
        let procedures = callers.iter().map(|frame| frame.procedure);
        procedures.fold(0, |depth: usize, procedure: ProcId| inner_depth(self.subject, procedure, depth))
    }
}

fn caller(thread: &Thread) -> Option<&Frame> {
    thread.frames.len().checked_sub(2).map(|i| &*thread.frames[i])
}

fn thread_notes(changes: &Changes) -> Vec<String> {
    let started = changes.started.iter().map(|thread| format!("thread {} starts", thread.id));
    let ended = changes.ended.iter().map(|id| format!("thread {id} ends"));
    started.chain(ended).collect()
}
