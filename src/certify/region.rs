//! Sets of states, or of pairs of states, that are given by fixing some variables.
//!
//! A region is a row of words with one bit for each variable. A path edge has two words: the variables at the entry
//! and their current values. A system of threads has one word for the globals and one for every frame.
//!
//! Invariant (links): a linked variable is open in the first two words and has the same value in
//! both. Only path edges have links.

use std::hash::Hash;

/// A row of words.
pub(super) trait Words: Clone + Ord + Hash + AsRef<[u128]> + AsMut<[u128]> {}

impl<T: Clone + Ord + Hash + AsRef<[u128]> + AsMut<[u128]>> Words for T {}

/// One variable of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The index of the word.
    pub word: usize,
    /// The bit in this word.
    pub bit: u32,
}

impl Cell {
    /// A mask of the word that has only this bit.
    pub fn mask(self) -> u128 {
        1 << self.bit
    }
}

/// The word of the entry state of a path edge.
pub(super) const ENTRY_WORD: usize = 0;
/// The word of the current state of a path edge.
pub(super) const NOW_WORD: usize = 1;

/// A set of valuations. Bits of `value` outside `known` are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region<W> {
    /// The variables that are fixed.
    pub known: W,
    /// The values of the fixed variables.
    pub value: W,
    /// The open variables that have the same value in the first two words.
    pub linked: u128,
}

impl<W: Words> Region<W> {
    /// The value of a variable, if it is fixed.
    pub fn get(&self, cell: Cell) -> Option<bool> {
        let known = self.known.as_ref()[cell.word] & cell.mask() != 0;
        known.then_some(self.value.as_ref()[cell.word] & cell.mask() != 0)
    }

    /// Drops all valuations in which an open variable does not have this value.
    pub fn fix(&mut self, cell: Cell, value: bool) {
        if self.is_linked(cell) {
            for word in [ENTRY_WORD, NOW_WORD] {
                self.overwrite(Cell { word, ..cell }, Some(value));
            }
        } else {
            self.overwrite(cell, Some(value));
        }
    }

    /// Gives a variable a new value in all valuations; with `None`, the variable may then have any value.
    pub fn overwrite(&mut self, cell: Cell, value: Option<bool>) {
        let mask = cell.mask();
        if self.is_linked(cell) {
            self.linked &= !mask;
        }
        let (known, bits) = (&mut self.known.as_mut()[cell.word], &mut self.value.as_mut()[cell.word]);
        *known = if value.is_some() { *known | mask } else { *known & !mask };
        *bits = if value == Some(true) { *bits | mask } else { *bits & !mask };
    }

    fn is_linked(&self, cell: Cell) -> bool {
        cell.word <= NOW_WORD && self.linked & cell.mask() != 0
    }

    /// The variables that are known to have the same value in the first two words.
    pub fn equal(&self) -> u128 {
        let (known, value) = (self.known.as_ref(), self.value.as_ref());
        match (known, value) {
            ([entry, now, ..], [at_entry, at_now, ..]) => self.linked | entry & now & !(at_entry ^ at_now),
            _ => self.linked,
        }
    }

    /// The variables that are known to have different values in the first two words.
    pub fn different(&self) -> u128 {
        match (self.known.as_ref(), self.value.as_ref()) {
            ([entry, now, ..], [at_entry, at_now, ..]) => entry & now & (at_entry ^ at_now),
            _ => 0,
        }
    }
}
