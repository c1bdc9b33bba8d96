//! Parametric sets, as tests and benches make them.

use cusp_encodings::{Substitution, SymbolicState, Term, TermArena, VarId};
use cusp_solvers::qbf::Question;

/// All valuations of so many variables: one fresh choice each.
pub fn arbitrary(arena: &mut TermArena, variables: usize) -> SymbolicState {
    SymbolicState { guard: Term::TRUE, values: (0..variables).map(|_| arena.fresh()).collect() }
}

/// The same set over fresh choices.
pub fn renamed(arena: &mut TermArena, state: &SymbolicState) -> SymbolicState {
    let old = arena.support(&state.terms());
    let fresh: Vec<(VarId, Term)> = old.into_iter().map(|var| (var, arena.fresh())).collect();
    let terms = Substitution::new(fresh).apply_all(arena, &state.terms());
    SymbolicState { guard: terms[0], values: terms[1..].to_vec() }
}

/// Whether every valuation of one set is one of another.
pub fn inclusion(arena: &mut TermArena, smaller: &SymbolicState, larger: &SymbolicState) -> Question {
    let larger = renamed(arena, larger);
    let mut witness = larger.guard;
    for (&mine, &theirs) in smaller.values.iter().zip(&larger.values) {
        let is_same = arena.iff(mine, theirs);
        witness = arena.and(witness, is_same);
    }
    let matrix = arena.implies(smaller.guard, witness);
    let universal = arena.support(&smaller.terms());
    Question { universal, existential: arena.support(&larger.terms()), matrix }
}
