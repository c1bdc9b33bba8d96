//! Merging two states into one that stands for the union of their sets.

use super::SymbolicState;
use crate::term::{Term, TermArena};

/// What the caller knows about the guards of two states to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// No choice satisfies both, as for the two branches of one condition over the same choices.
    Exclusive,
    /// Some choice may satisfy both, or the caller does not know.
    MayOverlap,
}

impl SymbolicState {
    /// A state for the union of both sets. Its size is linear in the number of variables that differ.
    ///
    /// Selecting by a guard (`ite(guard1, v1, v2)`) loses valuations of the second state wherever both guards
    /// hold (errata 16 of the crate `cusp`). So this is done only if the guards exclude each other; otherwise a fresh
    /// choice selects. Where all values agree, neither is needed.
    ///
    /// # Panics
    /// If the states have different numbers of variables.
    #[must_use]
    pub fn merge(&self, arena: &mut TermArena, other: &Self, guards: Guards) -> Self {
        assert_eq!(self.values.len(), other.values.len(), "states of different shape");
        if self.is_known_empty() {
            return other.clone();
        }
        if other.is_known_empty() {
            return self.clone();
        }
        if self.values == other.values {
            return Self { guard: arena.or(self.guard, other.guard), values: self.values.clone() };
        }
        let is_exclusive = guards == Guards::Exclusive || arena.and(self.guard, other.guard) == Term::FALSE;
        let (selector, guard) = if is_exclusive {
            (self.guard, arena.or(self.guard, other.guard))
        } else {
            let selector = arena.fresh();
            (selector, arena.ite(selector, self.guard, other.guard))
        };
        let pairs = self.values.iter().zip(&other.values);
        Self { guard, values: pairs.map(|(&mine, &theirs)| arena.ite(selector, mine, theirs)).collect() }
    }
}
