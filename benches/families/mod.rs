//! Scalable families of Boolean programs whose verdicts are known by construction.
//!
//! A family is a generator of source text with one size and two variants, a safe and a buggy one; the
//! header of each generator says why the verdict is what it is. The benches run the large members, the
//! tests the small ones, so a fast wrong answer fails both.
//!
//! - [`recursive`]: chains, deep recursion, mutual recursion.
//! - [`wide`]: many variables, shallow control.
//! - [`locks`]: lock discipline over many helpers.
//! - [`held_out`]: families that nobody tunes on.
//! - [`threads`]: programs with threads, with families and members of their own kind.

#![allow(dead_code, reason = "the bench and the tests use a part of it each")]

mod bits;
mod held_out;
mod locks;
mod recursive;
pub mod threads;
mod wide;

/// Which of the two programs of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Nothing can go wrong.
    Safe,
    /// Something can.
    Buggy,
}

impl Variant {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Safe, Self::Buggy];

    /// Whether it is the buggy one.
    pub fn is_buggy(self) -> bool {
        self == Self::Buggy
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        if self.is_buggy() { "buggy" } else { "safe" }
    }

    /// The verdict that is right for it.
    pub fn verdict(self) -> &'static str {
        if self.is_buggy() { "unsafe" } else { "safe" }
    }

    /// One text or the other.
    fn choose<'a>(self, safe: &'a str, buggy: &'a str) -> &'a str {
        if self.is_buggy() { buggy } else { safe }
    }
}

/// A generator with what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name on the command line of the bench and in tables.
    pub name: &'static str,
    /// What the size counts.
    pub size: &'static str,
    /// Sizes that the bench measures unless told otherwise, ascending.
    pub sizes: &'static [usize],
    /// Sizes that every engine is tested on.
    pub small: &'static [usize],
    /// The source text.
    pub text: fn(usize, Variant) -> String,
}

/// The families that engines are tuned on.
pub const TUNED: [Family; 11] = [
    recursive::CHAIN,
    recursive::DEEP_GLOBALS,
    recursive::DEEP_PARAMETERS,
    recursive::EVEN_ODD,
    wide::SHUFFLE,
    wide::HAVOC,
    wide::BRANCHES,
    wide::CALLS,
    wide::LATCHES,
    locks::HELPERS,
    locks::RECURSIVE_HELPERS,
];

/// The families that nobody tunes on: see [`held_out`].
pub const HELD_OUT: [Family; 8] = [
    held_out::NESTED_LOOPS,
    held_out::RING,
    held_out::CONTRACTS,
    held_out::TREE,
    held_out::DRIVER,
    held_out::LADDER,
    held_out::COUNTER,
    held_out::SAVE_AND_RESTORE,
];

/// All of them.
pub fn all() -> impl Iterator<Item = Family> {
    TUNED.into_iter().chain(HELD_OUT)
}
