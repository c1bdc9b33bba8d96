//! From circuits to clauses and back.

use rustc_hash::FxHashMap;
use rustsat::types::Var;

use super::{Prefix, Qcir, Qcnf, Quantifier};
use crate::cnf::{ClauseList, ClauseSink, CnfEncoder, CnfStyle, Polarity};
use crate::term::{Term, TermArena, VarId};

impl Qcir {
    /// The formula with its matrix in clauses, true iff this one is. Variable `k` of the result is the `k`-th
    /// of [`Self::closed_prefix`]; the variables of gates come after them, in an innermost existential
    /// block: their values follow from those of the others.
    #[must_use]
    pub fn to_qcnf(&self, arena: &TermArena, style: CnfStyle) -> Qcnf {
        let (mut encoder, mut matrix) = (CnfEncoder::new(style), ClauseList::new());
        let mut prefix = Prefix::new();
        for (quantifier, var) in self.closed_prefix(arena).variables() {
            let input = match arena.find_var(var) {
                Some(term) => encoder.encode(arena, term, Polarity::Both, &mut matrix).var(),
                None => matrix.new_var(),
            };
            prefix.push(quantifier, input);
        }
        let inputs = matrix.var_count();
        encoder.assert_term(arena, self.matrix, &mut matrix);
        for gate in inputs..matrix.var_count() {
            prefix.push(Quantifier::Exists, Var::new(gate));
        }
        Qcnf { prefix, matrix }
    }
}

impl Qcnf {
    /// The formula over fresh variables of `arena`, one per quantified variable, in the order of the prefix.
    pub fn to_circuit(&self, arena: &mut TermArena) -> Qcir {
        let mut closed = self.prefix.clone();
        closed.close(self.matrix.iter().flatten().map(|lit| lit.var()));
        let mut terms: FxHashMap<Var, Term> = FxHashMap::default();
        let mut prefix: Prefix<VarId> = Prefix::new();
        for (quantifier, var) in closed.variables() {
            let fresh = arena.fresh_var();
            terms.insert(var, arena.var(fresh));
            prefix.push(quantifier, fresh);
        }
        let mut matrix = Term::TRUE;
        for clause in self.matrix.iter() {
            let clause = arena.or_all(clause.iter().map(|lit| terms[&lit.var()].complement_if(lit.is_neg())));
            matrix = arena.and(matrix, clause);
        }
        Qcir { prefix, matrix }
    }
}
