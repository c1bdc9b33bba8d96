//! Symbolic states: sets of valuations in parametric form.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", thesis, ETH Zürich 2010, section 3.2 (symbolic
//! simulation, table 3.1).
//!
//! A state is a guard and one value per program variable, all of them terms over choice variables. It stands
//! for the set of valuations `{ values(c) | c a choice with guard(c) }`. Program points, expressions and
//! names are not known here: the caller passes an expression as a term over the values of the state, with a
//! fresh choice for every `*` in it.
//!
//! Invariant (parameters): every variable in a guard or value is a choice, existentially quantified over the
//! whole state. Renaming all choices of a state freshly does not change the set it stands for.
//!
//! The statements of table 3.1: `skip`, `goto` and `return` keep the state; the others are [`SymbolicState::assume`],
//! [`SymbolicState::assign`], [`SymbolicState::assign_constrained`]; `dead` is [`SymbolicState::havoc`], and
//! an assertion splits the state ([`SymbolicState::assert`]).

mod inclusion;
mod merge;
mod path_edge;
mod simple_path;
mod summary;

pub use self::inclusion::Inclusion;
pub use self::merge::Guards;
pub use self::path_edge::PathEdge;
pub use self::simple_path::{different_state, lexicographically_less, pairwise_different};
pub use self::summary::{CallSite, Composition};
use crate::term::{Term, TermArena};

crate::define_id!(
    /// The position of a program variable in the values of a state.
    Slot, "v"
);

/// A set of valuations in parametric form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolicState {
    /// The condition under which a choice contributes a valuation.
    pub guard: Term,
    /// The value of each variable, depending on the choices.
    pub values: Vec<Term>,
}

/// The two outcomes of an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The runs that continue, with the condition assumed.
    pub pass: SymbolicState,
    /// The runs that violate it.
    pub fail: SymbolicState,
}

impl SymbolicState {
    /// All valuations of `variables` variables: one fresh choice each.
    pub fn arbitrary(arena: &mut TermArena, variables: usize) -> Self {
        Self { guard: Term::TRUE, values: (0..variables).map(|_| arena.fresh()).collect() }
    }

    /// The value of a variable.
    ///
    /// # Panics
    /// If the state has fewer variables.
    #[must_use]
    pub fn value(&self, slot: Slot) -> Term {
        self.values[slot.index()]
    }

    /// Whether rewriting alone has shown that the set is empty. If this is false, the set may still be empty.
    #[must_use]
    pub fn is_known_empty(&self) -> bool {
        self.guard == Term::FALSE
    }

    /// `assume condition`: the valuations where some choice makes the condition true.
    #[must_use]
    pub fn assume(&self, arena: &mut TermArena, condition: Term) -> Self {
        Self { guard: arena.and(self.guard, condition), values: self.values.clone() }
    }

    /// `assert condition`: fails where some choice makes the condition false, and continues where some choice
    /// makes it true. The guards of the two outcomes exclude each other.
    #[must_use]
    pub fn assert(&self, arena: &mut TermArena, condition: Term) -> Assertion {
        Assertion { pass: self.assume(arena, condition), fail: self.assume(arena, !condition) }
    }

    /// Parallel assignment: all terms are over the old values. If a slot occurs twice, its last term is used.
    ///
    /// # Panics
    /// If the state lacks a slot.
    #[must_use]
    pub fn assign(&self, updates: &[(Slot, Term)]) -> Self {
        let mut values = self.values.clone();
        for &(slot, value) in updates {
            values[slot.index()] = value;
        }
        Self { guard: self.guard, values }
    }

    /// Parallel assignment `.. constrain e`: only those outcomes where some choice makes `e` true. The closure
    /// evaluates `e` over the values before and after the assignment.
    ///
    /// # Panics
    /// If the state lacks a slot.
    #[must_use]
    pub fn assign_constrained(
        &self,
        arena: &mut TermArena,
        updates: &[(Slot, Term)],
        constraint: impl FnOnce(&mut TermArena, &[Term], &[Term]) -> Term,
    ) -> Self {
        let next = self.assign(updates);
        let constraint = constraint(arena, &self.values, &next.values);
        next.assume(arena, constraint)
    }

    /// `dead v, ..` or `v, .. := *, ..`: any value.
    ///
    /// # Panics
    /// If the state lacks a slot.
    #[must_use]
    pub fn havoc(&self, arena: &mut TermArena, slots: &[Slot]) -> Self {
        let updates: Vec<(Slot, Term)> = slots.iter().map(|&slot| (slot, arena.fresh())).collect();
        self.assign(&updates)
    }

    /// The state restricted to some of its variables, in the given order.
    ///
    /// # Panics
    /// If the state lacks a slot.
    #[must_use]
    pub fn project(&self, slots: &[Slot]) -> Self {
        Self { guard: self.guard, values: slots.iter().map(|&slot| self.value(slot)).collect() }
    }

    /// Guard and values in one sequence, the guard first.
    #[must_use]
    pub fn terms(&self) -> Vec<Term> {
        std::iter::once(self.guard).chain(self.values.iter().copied()).collect()
    }

    /// The inverse of [`Self::terms`].
    fn from_terms(terms: &[Term]) -> Self {
        let (&guard, values) = terms.split_first().expect("a state has a guard");
        Self { guard, values: values.to_vec() }
    }
}

#[cfg(test)]
mod tests;
