//! Scalable families of programs with threads whose verdicts are known by construction.
//!
//! A member has a size, a variant and a number of threads. A safe one is safe with any number of threads; a
//! buggy one goes wrong as soon as there are [`Family::fewest`] threads, and not with fewer, which the tests
//! check on both sides.
//!
//! Where steps are to be indivisible, they are one parallel assignment with `constrain`: a lock is taken by
//! `lock := T constrain !lock`. What is scrambled decides something later, so that it cannot be left out.
//!
//! - [`locks`]: who may be inside a critical section.
//! - [`data`]: what holds between shared vectors and copies of them.
//! - [`roles`]: threads that play different parts.

mod data;
mod locks;
mod roles;

use super::Variant;
use super::bits::list;

/// A generator with what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name on the command line of the bench and in tables.
    pub name: &'static str,
    /// What the size counts.
    pub size: &'static str,
    /// Whether `main` is run by all threads; otherwise it starts the others.
    pub replicates: bool,
    /// The fewest threads that show the bug of the buggy variant of a size.
    pub fewest: fn(usize) -> u32,
    /// Sizes with numbers of threads that the bench measures unless told otherwise.
    pub members: &'static [(usize, u32)],
    /// Sizes with numbers of threads that every engine is tested on.
    pub small: &'static [(usize, u32)],
    /// The source text.
    pub text: fn(usize, Variant) -> String,
}

impl Family {
    /// The verdict that is right with so many threads, or with any number of them.
    pub fn verdict(&self, size: usize, variant: Variant, threads: Option<u32>) -> &'static str {
        let is_enough = threads.is_none_or(|threads| threads >= (self.fewest)(size));
        if is_enough { variant.verdict() } else { Variant::Safe.verdict() }
    }

    /// The options of `cusp check` for so many threads, or for any number of them.
    pub fn options(&self, threads: Option<u32>) -> Vec<String> {
        let count = threads.map_or_else(|| "unbounded".to_owned(), |threads| threads.to_string());
        let mut options = vec!["--threads".to_owned(), count];
        options.extend(self.replicates.then(|| "--replicate".to_owned()));
        options
    }
}

/// All of them.
pub const ALL: [Family; 17] = [
    locks::SCRAMBLED,
    locks::BIT_BY_BIT,
    locks::LOCAL_STATEMENTS,
    locks::SHARED_SCRAMBLED,
    locks::TICKET,
    locks::SEMAPHORE,
    locks::READERS_WRITERS,
    data::TWO_VECTORS,
    data::PARITY,
    data::COUNTER,
    data::MAXIMUM,
    data::SEQUENCE_LOCK,
    data::INVALIDATE,
    roles::HAND_OVER,
    roles::HANDSHAKE,
    roles::TOKEN,
    roles::BLUETOOTH,
];

/// Two threads are enough to see most bugs.
fn two(_: usize) -> u32 {
    2
}

/// Declares globals that are false at the start.
fn false_globals(names: &[impl AsRef<str>]) -> String {
    names.iter().fold(String::new(), |text, name| text + "decl " + name.as_ref() + " := F;\n")
}

/// `x0, x1 := *, *`
fn scramble(names: &[String]) -> String {
    format!("{} := {}", list(names), list(&super::bits::repeated("*", names.len())))
}

/// A visit of the critical section, where nobody else must be.
const ENTER_AND_LEAVE: &str = "assert(!inside);
    inside := T;
    inside := F;";
