//! What a run is doing, for a person who waits.
//!
//! Engines report through the trait [`Progress`]. How progress is drawn on a terminal is known only to the file
//! `terminal.rs`, which is part of the command line tool (feature `cli`).

#[cfg(feature = "cli")]
mod terminal;

use std::sync::{Mutex, PoisonError};

#[cfg(feature = "cli")]
pub use terminal::for_terminal;

/// Where engines say what they are doing. They may say it at every step.
pub trait Progress: Send + Sync {
    /// One short line, such as `12 heads, 3 summaries`.
    fn say(&self, line: &dyn Fn() -> String);

    /// A figure about the work that was done, for `--stats`. Said once, at the end.
    fn count(&self, _what: &str, _number: u64) {}

    /// From now on nothing is shown, whatever is said.
    fn end(&self) {}
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn say(&self, _line: &dyn Fn() -> String) {}
}

/// Passes on what is said, and remembers about the last of it, for those whose engine is stopped.
pub struct Remembering<'a> {
    outer: &'a dyn Progress,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    said: u64,
    remembered: u64,
    line: Option<String>,
}

impl<'a> Remembering<'a> {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new(outer: &'a dyn Progress) -> Self {
        Self { outer, memory: Mutex::default() }
    }

    /// What was said last, or shortly before. Lines are not made at every step, because that would cost more than many
    /// steps: of all steps, at most a sixteenth came later.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).line.clone()
    }
}

impl Progress for Remembering<'_> {
    fn say(&self, line: &dyn Fn() -> String) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.said += 1;
        if memory.said - memory.remembered > memory.remembered / 16 {
            memory.remembered = memory.said;
            memory.line = Some(line());
        }
        drop(memory);
        self.outer.say(line);
    }

    fn count(&self, what: &str, number: u64) {
        self.outer.count(what, number);
    }
}

/// Passes on what is said, and keeps the figures.
pub struct Counting {
    inner: Box<dyn Progress>,
    counts: Mutex<Vec<(String, u64)>>,
}

impl Counting {
    /// Keeps figures beside another way of showing progress.
    #[must_use]
    pub fn new(inner: Box<dyn Progress>) -> Self {
        Self { inner, counts: Mutex::default() }
    }

    /// The figures in the order they came.
    #[must_use]
    pub fn counts(&self) -> Vec<(String, u64)> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Progress for Counting {
    fn say(&self, line: &dyn Fn() -> String) {
        self.inner.say(line);
    }

    fn count(&self, what: &str, number: u64) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).push((what.to_owned(), number));
    }

    fn end(&self) {
        self.inner.end();
    }
}
