//! Symbolic states: sets of valuations in parametric form.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", thesis, ETH Zürich 2010, section 3.2.
//!
//! A state is a guard and one value per program variable, all of them terms over choice variables. It stands
//! for the set of valuations `{ values(c) | c a choice with guard(c) }`.
//!
//! Invariant (parameters): every variable in a guard or value is a choice, existentially quantified over the
//! whole state. Renaming all choices of a state freshly does not change the set it stands for.

use crate::term::{Term, TermArena};

/// A set of valuations in parametric form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolicState {
    /// Which choices count.
    pub guard: Term,
    /// What each variable is, depending on the choices.
    pub values: Vec<Term>,
}

impl SymbolicState {
    /// Guard and values in one sequence, the guard first.
    #[must_use]
    pub fn terms(&self) -> Vec<Term> {
        std::iter::once(self.guard).chain(self.values.iter().copied()).collect()
    }

    /// A state for the union of both sets. Its size is linear in the number of variables that differ.
    ///
    /// Selecting by a guard (`ite(guard1, v1, v2)`) loses valuations of the second state wherever both guards
    /// hold. So this is done only if the guards exclude each other by rewriting alone; otherwise a fresh choice
    /// selects. Where all values agree neither is needed.
    ///
    /// # Panics
    /// If the states have different numbers of variables.
    #[must_use]
    pub fn merge(&self, arena: &mut TermArena, other: &Self) -> Self {
        assert_eq!(self.values.len(), other.values.len(), "states of different shape");
        if self.guard == Term::FALSE {
            return other.clone();
        }
        if other.guard == Term::FALSE {
            return self.clone();
        }
        if self.values == other.values {
            return Self { guard: arena.or(self.guard, other.guard), values: self.values.clone() };
        }
        let is_exclusive = arena.and(self.guard, other.guard) == Term::FALSE;
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

/// The states differ in some variable.
///
/// # Panics
/// If the states have different numbers of variables.
pub fn different_state(arena: &mut TermArena, a: &[Term], b: &[Term]) -> Term {
    assert_eq!(a.len(), b.len(), "states of different shape");
    a.iter().zip(b).fold(Term::FALSE, |differ, (&a, &b)| {
        let here = arena.xor(a, b);
        arena.or(differ, here)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::{self, Rng};

    type Valuations = BTreeSet<Vec<bool>>;

    /// The set that a state over at most six choices stands for: all of them, one by one.
    fn valuations(arena: &TermArena, state: &SymbolicState) -> Valuations {
        let terms = state.terms();
        let choices = arena.support(&terms);
        assert!(choices.len() <= 6, "{} choices are too many for one word", choices.len());
        let place = |var| choices.binary_search(&var).expect("in the support");
        let column = |var| (0..64).fold(0, |word, bit: u64| word | (bit >> place(var) & 1) << bit);
        let words = arena.simulate(&terms, column);
        let holds = (0..64).filter(|bit| words[0] >> bit & 1 == 1);
        holds.map(|bit| words[1..].iter().map(|word| word >> bit & 1 == 1).collect()).collect()
    }

    #[test]
    fn merge_is_union_whether_or_not_the_guards_overlap() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let mut arena = TermArena::new();
            let pool = testing::random_terms(&mut rng, &mut arena, 4, 20);
            let mut state =
                |guard: Term| SymbolicState { guard, values: (0..3).map(|_| rng.pick(&pool)).collect() };
            let (left, right) = (state(pool[0]), state(pool[1]));
            let branch = state(!pool[0]);
            for right in [right, branch] {
                let merged = left.merge(&mut arena, &right);
                let union: Valuations =
                    valuations(&arena, &left).union(&valuations(&arena, &right)).cloned().collect();
                assert_eq!(valuations(&arena, &merged), union, "seed {seed}");
            }
        }
    }

    #[test]
    fn merging_by_overlapping_guards_would_lose_valuations() {
        let mut arena = TermArena::new();
        let [one, zero] =
            [Term::TRUE, Term::FALSE].map(|value| SymbolicState { guard: Term::TRUE, values: vec![value] });
        let merged = one.merge(&mut arena, &zero);
        assert_eq!(valuations(&arena, &merged).len(), 2);
        assert_eq!(arena.support(&merged.terms()).len(), 1);
    }

    #[test]
    fn merging_needs_no_choice_where_guards_exclude_each_other_or_nothing_differs() {
        let mut arena = TermArena::new();
        let x = testing::vars(&mut arena, 2);
        let state = |guard: Term, value: Term| SymbolicState { guard, values: vec![value, x[1]] };
        let merged = state(x[0], x[0]).merge(&mut arena, &state(x[1], x[0]));
        assert_eq!(merged, state(arena.or(x[0], x[1]), x[0]));
        let merged = state(x[0], Term::TRUE).merge(&mut arena, &state(!x[0], Term::FALSE));
        assert_eq!(merged, state(Term::TRUE, x[0]));
        let empty = state(Term::FALSE, x[1]);
        let some = state(x[1], x[0]);
        assert_eq!((empty.merge(&mut arena, &some), some.merge(&mut arena, &empty)), (some.clone(), some));
    }

    #[test]
    fn states_differ_where_some_value_does() {
        let mut arena = TermArena::new();
        let x = testing::vars(&mut arena, 4);
        let different = different_state(&mut arena, &x[..2], &x[2..]);
        for bits in 0..16u32 {
            let value = arena.evaluate(different, |var| bits >> var.number() & 1 == 1);
            assert_eq!(value, bits & 3 != bits >> 2, "{bits}");
        }
        assert_eq!(different_state(&mut arena, &[], &[]), Term::FALSE);
    }
}
