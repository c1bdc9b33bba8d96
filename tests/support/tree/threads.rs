//! All interleavings of threads.
//!
//! Threads have no names, so a state is a set of threads in some fixed order. Two things keep a thread from
//! moving: another one is in an atomic section; or the Getafix global `atomic` holds and another one moved last.

use std::collections::HashSet;

use super::statement::{Data, Outcome, after_call, entries, first_entries, is_enforced, outcomes};
use super::text::{Place, Text};
use super::values::bit;
use super::{Bits, Question, Stop, first_globals};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Frame {
    proc: usize,
    place: Place,
    locals: Bits,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Thread {
    in_section: bool,
    /// It made the last step; told only while the flag `atomic` holds.
    moved_last: bool,
    stack: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    globals: Bits,
    threads: Vec<Thread>,
}

impl Thread {
    fn new(proc: usize, place: Place, locals: Bits) -> Self {
        Self { in_section: false, moved_last: false, stack: vec![Frame { proc, place, locals }] }
    }

    fn top(&self) -> Frame {
        *self.stack.last().expect("a living thread has a frame")
    }

    fn top_mut(&mut self) -> &mut Frame {
        self.stack.last_mut().expect("a living thread has a frame")
    }

    /// The frame whose variables `x$` means, for an assignment in a procedure.
    fn frame_of(&self, proc: usize) -> Option<usize> {
        self.stack.iter().rposition(|frame| frame.proc == proc)
    }
}

/// Looks at all states that can be reached.
pub fn run(text: &Text<'_>, question: &Question) -> Result<(), Stop> {
    let mut search = Search { text, question, seen: HashSet::new(), open: Vec::new() };
    for globals in first_globals(text, question)? {
        search.start(globals)?;
    }
    // Breadth first: violations are often near.
    let mut next = 0;
    while next < search.open.len() {
        let state = search.open[next].clone();
        next += 1;
        for thread in 0..state.threads.len() {
            if search.may_move(&state, thread) {
                search.step(&state, thread)?;
            }
        }
    }
    Ok(())
}

struct Search<'a> {
    text: &'a Text<'a>,
    question: &'a Question,
    seen: HashSet<State>,
    open: Vec<State>,
}

impl Search<'_> {
    /// All first threads exist before anybody moves.
    fn start(&mut self, globals: Bits) -> Result<(), Stop> {
        let mut states = vec![State { globals, threads: Vec::new() }];
        for proc in self.text.first_threads() {
            let is_main = self.text.named("main") == Some(proc);
            for _ in 0..if is_main { self.question.copies } else { 1 } {
                let mut with_thread = Vec::new();
                for state in states {
                    for locals in first_entries(self.text, proc, globals) {
                        let mut state = state.clone();
                        state.threads.push(Thread::new(proc, Place::Entry, locals));
                        with_thread.push(state);
                    }
                }
                states = with_thread;
            }
        }
        states.into_iter().try_for_each(|state| self.add(state))
    }

    fn flag(&self, state: &State) -> bool {
        self.text.flag().is_some_and(|flag| bit(state.globals, flag))
    }

    fn may_move(&self, state: &State, thread: usize) -> bool {
        let others =
            || state.threads.iter().enumerate().filter(|&(other, _)| other != thread).map(|(_, t)| t);
        let is_free = others().all(|other| !other.in_section);
        is_free && (!self.flag(state) || others().all(|other| !other.moved_last))
    }

    fn add(&mut self, mut state: State) -> Result<(), Stop> {
        if let Some(label) = &self.question.label
            && state.threads.iter().any(|thread| self.text.is_at_label(thread.top().place, label))
        {
            return Err(Stop::Violation);
        }
        state.threads.sort();
        if self.seen.insert(state.clone()) {
            self.open.push(state);
        }
        if self.seen.len() > self.question.states { Err(Stop::TooMuch) } else { Ok(()) }
    }

    /// Adds the state after a step of a thread that lives.
    fn finish(&mut self, mut after: State, thread: usize) -> Result<(), Stop> {
        let flag = self.flag(&after);
        for (position, other) in after.threads.iter_mut().enumerate() {
            other.moved_last = flag && position == thread;
        }
        self.add(after)
    }

    /// Adds the state after the end of a thread: whatever it held is free.
    fn end(&mut self, mut after: State, thread: usize) -> Result<(), Stop> {
        after.threads.remove(thread);
        after.threads.iter_mut().for_each(|other| other.moved_last = false);
        self.add(after)
    }

    /// Moves the topmost frame of a thread after a statement, if `enforce` allows it.
    fn arrive(&mut self, mut after: State, thread: usize, to: Place, silent: bool) -> Result<(), Stop> {
        after.threads[thread].top_mut().place = to;
        let Frame { proc, locals, .. } = after.threads[thread].top();
        if !silent && !is_enforced(self.text, proc, after.globals, locals) {
            return Ok(());
        }
        let returns = matches!(to, Place::Returned(_));
        if returns && after.threads[thread].stack.len() == 1 {
            self.end(after, thread)
        } else {
            self.finish(after, thread)
        }
    }

    fn step(&mut self, state: &State, thread: usize) -> Result<(), Stop> {
        let Frame { proc, place, locals } = state.threads[thread].top();
        if let Place::Returned(values) = place {
            return self.go_on(state, thread, values);
        }
        let others: Vec<(usize, usize)> = (0..state.threads.len())
            .filter(|&other| other != thread)
            .filter_map(|other| Some((other, state.threads[other].frame_of(proc)?)))
            .collect();
        let of_others = others.iter().map(|&(other, frame)| state.threads[other].stack[frame].locals);
        let data = Data { globals: state.globals, locals, others: of_others.collect() };
        for outcome in outcomes(self.text, proc, place, &data) {
            let mut after = state.clone();
            match outcome {
                Outcome::Fails if self.question.label.is_none() => return Err(Stop::Violation),
                Outcome::Fails => {}
                Outcome::On { to, data, silent } => {
                    after.globals = data.globals;
                    after.threads[thread].top_mut().locals = data.locals;
                    for (&(other, frame), locals) in others.iter().zip(data.others) {
                        after.threads[other].stack[frame].locals = locals;
                    }
                    self.arrive(after, thread, to, silent)?;
                }
                Outcome::Section { to, begins } => {
                    after.threads[thread].in_section = begins;
                    self.arrive(after, thread, to, false)?;
                }
                Outcome::EndThread => self.end(after, thread)?,
                Outcome::Enter { new_thread: false, callee, args, .. } => {
                    for locals in entries(self.text, callee, &args, state.globals) {
                        let mut after = state.clone();
                        after.threads[thread].stack.push(Frame { proc: callee, place: Place::Entry, locals });
                        self.finish(after, thread)?;
                    }
                }
                Outcome::Enter { behind, .. } | Outcome::Fork { behind, .. } if self.is_full(state) => {
                    self.arrive(after, thread, behind, false)?;
                }
                Outcome::Enter { callee, args, behind, .. } => {
                    for locals in entries(self.text, callee, &args, state.globals) {
                        let mut after = state.clone();
                        after.threads.push(Thread::new(callee, Place::Entry, locals));
                        self.arrive(after, thread, behind, false)?;
                    }
                }
                Outcome::Fork { at, behind } => {
                    after.threads.push(Thread::new(proc, at, locals));
                    self.arrive(after, thread, behind, false)?;
                }
            }
        }
        Ok(())
    }

    fn is_full(&self, state: &State) -> bool {
        self.question.threads.is_some_and(|bound| state.threads.len() >= bound as usize)
    }

    /// The caller of a procedure that has returned goes on.
    fn go_on(&mut self, state: &State, thread: usize, values: Bits) -> Result<(), Stop> {
        let mut after = state.clone();
        after.threads[thread].stack.pop();
        let Frame { proc, place, locals } = after.threads[thread].top();
        let Place::At { stmt, .. } = place else { unreachable!("a frame below another is at a call") };
        let data = Data { globals: after.globals, locals, others: Vec::new() };
        let data = after_call(self.text, proc, stmt, data, values);
        after.globals = data.globals;
        after.threads[thread].top_mut().locals = data.locals;
        self.arrive(after, thread, self.text.behind(stmt), false)
    }
}
