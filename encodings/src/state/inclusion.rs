//! Inclusion of parametric sets as a quantified formula.

use super::SymbolicState;
use crate::qbf::Qcir;
use crate::term::{TermArena, VarId};

/// The question whether every valuation of one state is also a valuation of another.
///
/// `forall x. guard_a(x) -> exists y. guard_b(y) & values_a(x) = values_b(y)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inclusion {
    /// The question in prenex form.
    pub question: Qcir,
    /// The existential variable for each choice of the larger state.
    pub renamed: Vec<(VarId, VarId)>,
}

impl SymbolicState {
    /// Asks whether every valuation of this state is also a valuation of `larger`. The choices of `larger`
    /// are replaced by fresh ones, so the states may share choices.
    ///
    /// # Panics
    /// If the states have different numbers of variables.
    #[must_use]
    pub fn inclusion_in(&self, arena: &mut TermArena, larger: &Self) -> Inclusion {
        assert_eq!(self.values.len(), larger.values.len(), "states of different shape");
        let universal = arena.support(&self.terms());
        let renaming = arena.rename_fresh(&larger.terms(), |_| true);
        let larger = Self::from_terms(&renaming.terms);
        let mut witness = larger.guard;
        for (&mine, &theirs) in self.values.iter().zip(&larger.values) {
            let is_same = arena.iff(mine, theirs);
            witness = arena.and(witness, is_same);
        }
        let matrix = arena.implies(self.guard, witness);
        let existential = renaming.renamed.iter().map(|&(_, fresh)| fresh);
        Inclusion { question: Qcir::forall_exists(universal, existential, matrix), renamed: renaming.renamed }
    }
}
