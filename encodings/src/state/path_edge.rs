//! Path edges: which current valuations are reachable from which entry valuations of a procedure.

use super::{Guards, SymbolicState};
use crate::term::{Term, TermArena};

/// A set of pairs (valuation at the entry of a procedure, current valuation) in parametric form.
///
/// Invariant (sharing): entry and current values are over the same choices; a pair belongs to the set iff one
/// choice that satisfies the guard yields both. At an exit node this is a summary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathEdge {
    /// The condition under which a choice contributes a pair.
    pub guard: Term,
    /// The values at the entry.
    pub entry: Vec<Term>,
    /// The current values.
    pub current: Vec<Term>,
}

impl PathEdge {
    /// The edge from a set of entry valuations to itself.
    #[must_use]
    pub fn at_entry(entry: &SymbolicState) -> Self {
        Self { guard: entry.guard, entry: entry.values.clone(), current: entry.values.clone() }
    }

    /// The current valuations.
    #[must_use]
    pub fn current_state(&self) -> SymbolicState {
        SymbolicState { guard: self.guard, values: self.current.clone() }
    }

    /// The edge to `next`, a successor of [`Self::current_state`] over the same choices (and perhaps further ones).
    #[must_use]
    pub fn advance(&self, next: SymbolicState) -> Self {
        Self { guard: next.guard, entry: self.entry.clone(), current: next.values }
    }

    /// The pairs as a state: the entry values, then the current ones. Subsumption and merging of edges are
    /// defined as for this state.
    #[must_use]
    pub fn pairs(&self) -> SymbolicState {
        SymbolicState { guard: self.guard, values: [self.entry.as_slice(), &self.current].concat() }
    }

    /// An edge for the union of both sets of pairs.
    ///
    /// # Panics
    /// If the edges have different numbers of variables.
    #[must_use]
    pub fn merge(&self, arena: &mut TermArena, other: &Self, guards: Guards) -> Self {
        assert_eq!(self.entry.len(), other.entry.len(), "path edges of different procedures");
        let SymbolicState { guard, values } = self.pairs().merge(arena, &other.pairs(), guards);
        let (entry, current) = values.split_at(self.entry.len());
        Self { guard, entry: entry.to_vec(), current: current.to_vec() }
    }
}
