//! Constraints that make paths simple: no state occurs twice.

use crate::term::{Term, TermArena};

/// A term that holds if the two states differ in some variable.
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

/// A term that holds if the first state comes strictly before the second in lexicographic order. The first
/// variable is the most significant one, and false comes before true.
///
/// To ask for a set of different states, it is enough to ask for them in increasing order. That takes one
/// constraint for each neighbouring pair instead of one for each pair.
///
/// # Panics
/// If the states have different numbers of variables.
pub fn lexicographically_less(arena: &mut TermArena, a: &[Term], b: &[Term]) -> Term {
    assert_eq!(a.len(), b.len(), "states of different shape");
    a.iter().zip(b).rev().fold(Term::FALSE, |less_behind, (&a, &b)| {
        let differ = arena.xor(a, b);
        arena.ite(differ, b, less_behind)
    })
}

/// A term that holds if the states are pairwise different. Its size is quadratic in their number.
///
/// # Panics
/// If the states have different numbers of variables.
pub fn pairwise_different<S: AsRef<[Term]>>(arena: &mut TermArena, states: &[S]) -> Term {
    let mut all = Term::TRUE;
    for (i, later) in states.iter().enumerate() {
        for earlier in &states[..i] {
            let differ = different_state(arena, earlier.as_ref(), later.as_ref());
            all = arena.and(all, differ);
        }
    }
    all
}
