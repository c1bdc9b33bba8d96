//! Constraints that make paths simple: no state twice.

use crate::term::{Term, TermArena};

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

/// The first state comes strictly before the second in lexicographic order, the first variable counting most
/// and false before true.
///
/// A set of states can be asked for in increasing order only: one order constraint per neighbouring pair
/// instead of one difference per pair.
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

/// No two of the states are the same; quadratic in their number.
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
