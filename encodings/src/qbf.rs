//! Forall-exists formulas in clauses, for programs that read QDIMACS.

use std::fmt;

use rustc_hash::FxHashSet;
use rustsat::types::Var;

use crate::cnf::{ClauseList, ClauseSink, CnfEncoder, CnfStyle, Polarity, write_clause};
use crate::term::{Term, TermArena, VarId};

/// For all values of some variables there are values of the others that satisfy all clauses.
///
/// Prints as QDIMACS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qcnf {
    /// The variables of the outer block.
    pub universal: Vec<Var>,
    /// The variables of the inner block, those of gates last.
    pub existential: Vec<Var>,
    /// The clauses.
    pub matrix: ClauseList,
}

impl Qcnf {
    /// `forall universal exists existential. matrix`, with the matrix in clauses. Variable `k` of the result is the
    /// `k`-th of both lists, where a variable that is listed twice counts once; the variables of gates come after
    /// them, in the existential block: once the others are chosen, so are they.
    #[must_use]
    pub fn encode(
        arena: &TermArena,
        universal: &[VarId],
        existential: &[VarId],
        matrix: Term,
        style: CnfStyle,
    ) -> Qcnf {
        let (mut encoder, mut clauses) = (CnfEncoder::new(style), ClauseList::new());
        let mut seen = FxHashSet::default();
        let mut declare = |vars: &[VarId], clauses: &mut ClauseList| -> Vec<Var> {
            vars.iter()
                .filter(|&&var| seen.insert(var))
                .map(|&var| match arena.find_var(var) {
                    Some(term) => encoder.encode(arena, term, Polarity::Both, clauses).var(),
                    None => clauses.new_var(),
                })
                .collect()
        };
        let universal = declare(universal, &mut clauses);
        let mut existential = declare(existential, &mut clauses);
        let inputs = clauses.var_count();
        encoder.assert_term(arena, matrix, &mut clauses);
        existential.extend((inputs..clauses.var_count()).map(Var::new));
        Qcnf { universal, existential, matrix: clauses }
    }
}

impl fmt::Display for Qcnf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "p cnf {} {}", self.matrix.var_count(), self.matrix.len())?;
        for (quantifier, vars) in [('a', &self.universal), ('e', &self.existential)] {
            if !vars.is_empty() {
                write!(f, "{quantifier} ")?;
                vars.iter().try_for_each(|var| write!(f, "{} ", var.to_ipasir()))?;
                writeln!(f, "0")?;
            }
        }
        self.matrix.iter().try_for_each(|clause| write_clause(f, clause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn gate_variables_are_innermost() {
        let mut arena = TermArena::new();
        let x = testing::vars(&mut arena, 4);
        let same = arena.iff(x[0], x[2]);
        let matrix = arena.ite(x[1], same, x[3]);
        let matrix = arena.or(matrix, x[2]);
        let (universal, existential) = ([0, 1].map(VarId::new), [2, 3, 1].map(VarId::new));
        let formula = Qcnf::encode(&arena, &universal, &existential, matrix, CnfStyle::PlaistedGreenbaum);
        insta::assert_snapshot!(formula, @r"
        p cnf 7 7
        a 1 2 0
        e 3 4 5 6 7 0
        5 1 -3 0
        5 -1 3 0
        6 -2 -5 0
        6 2 4 0
        6 -5 4 0
        7 3 -6 0
        -7 0
        ");
    }

    #[test]
    fn constants_and_unused_variables_have_texts() {
        let arena = TermArena::new();
        let formula = Qcnf::encode(&arena, &[VarId::new(3)], &[], Term::FALSE, CnfStyle::Tseitin);
        insta::assert_snapshot!(formula, @r"
        p cnf 2 2
        a 1 0
        e 2 0
        2 0
        -2 0
        ");
    }
}
