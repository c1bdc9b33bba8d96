//! Composition of a summary with the state of a caller.
//!
//! A summary applies wherever its entry valuations and the call overlap (they need not cover the call). So
//! the composition is a conjunction: the summary over fresh choices, with its entry values equal to the
//! values of the call. An entry value is usually a single choice. Then equality is not a constraint: the
//! value of the call is substituted for that choice.

use rustc_hash::FxHashMap;

use super::{PathEdge, Slot, SymbolicState};
use crate::substitute::Substitution;
use crate::term::{Term, TermArena, VarId};

/// A call as the caller sees it.
#[derive(Clone, Copy, Debug)]
pub struct CallSite<'a> {
    /// The values at the callee's entry, in the order of the summary's entry values.
    pub arguments: &'a [Term],
    /// Which exit value of the summary goes to which variable of the caller.
    pub results: &'a [(Slot, Slot)],
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composition {
    /// The caller after the call.
    pub state: SymbolicState,
    /// What each choice of the summary was replaced by, in the order of the choices: a fresh choice, or a
    /// value of the call. Their values in a model describe the run inside the callee.
    pub choices: Vec<(VarId, Term)>,
}

impl SymbolicState {
    /// The state after a call whose effect is `summary`. Its choices are replaced, so the same summary can be
    /// applied any number of times.
    ///
    /// # Panics
    /// If call and summary have different numbers of entry values, or a result slot does not exist.
    #[must_use]
    pub fn apply_summary(
        &self,
        arena: &mut TermArena,
        summary: &PathEdge,
        call: CallSite<'_>,
    ) -> Composition {
        assert_eq!(summary.entry.len(), call.arguments.len(), "a call with the wrong number of values");
        let mut by_call: FxHashMap<VarId, Term> = FxHashMap::default();
        let mut to_equate = Vec::new();
        for (&entry, &argument) in summary.entry.iter().zip(call.arguments) {
            match arena.as_var(entry) {
                Some(choice) if !by_call.contains_key(&choice) => {
                    by_call.insert(choice, argument.complement_if(entry.is_complemented()));
                }
                _ => to_equate.push((entry, argument)),
            }
        }
        let choices: Vec<(VarId, Term)> = arena
            .support(&summary.pairs().terms())
            .into_iter()
            .map(|choice| (choice, by_call.get(&choice).copied().unwrap_or_else(|| arena.fresh())))
            .collect();
        let mut renaming = Substitution::new(choices.iter().copied());

        let mut guard = renaming.apply(arena, summary.guard);
        guard = arena.and(self.guard, guard);
        for (entry, argument) in to_equate {
            let entry = renaming.apply(arena, entry);
            let is_same = arena.iff(entry, argument);
            guard = arena.and(guard, is_same);
        }
        let mut updates = Vec::with_capacity(call.results.len());
        for &(exit, target) in call.results {
            updates.push((target, renaming.apply(arena, summary.current[exit.index()])));
        }
        let SymbolicState { values, .. } = self.assign(&updates);
        Composition { state: SymbolicState { guard, values }, choices }
    }
}
