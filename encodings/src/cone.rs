//! What a term depends on: cone of influence and support.
//!
//! Cost: proportional to the size of the cone, plus one bit for each node up to the root with the greatest number.

use crate::term::{Node, Term, TermArena, VarId};

impl TermArena {
    /// All nodes that the roots depend on, the roots included: uncomplemented, each once, children before
    /// parents.
    #[must_use]
    pub fn cone(&self, roots: &[Term]) -> Vec<Term> {
        let top = roots.iter().map(|root| root.index() + 1).max().unwrap_or(0);
        let mut seen = vec![0u64; top.div_ceil(64)];
        let mut stack: Vec<Term> = Vec::new();
        let mut size = 0;
        let mut visit = |term: Term, stack: &mut Vec<Term>| {
            let (word, bit) = (&mut seen[term.index() / 64], 1 << (term.index() % 64));
            if *word & bit == 0 {
                *word |= bit;
                size += 1;
                stack.push(term);
            }
        };
        for &root in roots {
            visit(root, &mut stack);
            while let Some(term) = stack.pop() {
                if let Node::And(a, b) | Node::Xor(a, b) = self.node(term) {
                    visit(a, &mut stack);
                    visit(b, &mut stack);
                }
            }
        }
        let mut cone = Vec::with_capacity(size);
        for (position, mut word) in seen.into_iter().enumerate() {
            while word != 0 {
                cone.push(self.term_at(position * 64 + word.trailing_zeros() as usize));
                word &= word - 1;
            }
        }
        cone
    }

    /// The variables that the roots mention, in the order of their numbers.
    ///
    /// A variable in the support may still be irrelevant for the function.
    #[must_use]
    pub fn support(&self, roots: &[Term]) -> Vec<VarId> {
        let mut support: Vec<VarId> =
            self.cone(roots).into_iter().filter_map(|term| self.as_var(term)).collect();
        support.sort_unstable();
        support
    }

    /// The variable, if `term` is a variable or its complement.
    #[must_use]
    pub fn as_var(&self, term: Term) -> Option<VarId> {
        match self.node(term) {
            Node::Var(var) => Some(var),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cone_lists_children_before_parents_and_nothing_else() {
        let mut arena = TermArena::new();
        let [x, y, z] = [(); 3].map(|()| arena.fresh());
        let both = arena.and(x, !y);
        let other = arena.xor(y, z);
        let root = arena.or(both, z);
        assert_eq!(arena.cone(&[!root]), [x, y, z, both, root.uncomplemented()]);
        assert_eq!(arena.cone(&[other, both]), [x, y, z, both, other]);
        assert_eq!(arena.cone(&[]), []);
        assert_eq!(arena.cone(&[Term::FALSE]), [Term::TRUE]);
    }

    #[test]
    fn support_is_sorted_by_variable() {
        let mut arena = TermArena::new();
        let late = arena.var(VarId::new(9));
        let early = arena.var(VarId::new(2));
        let root = arena.and(late, !early);
        assert_eq!(arena.support(&[root, late]), [VarId::new(2), VarId::new(9)]);
        assert_eq!(arena.support(&[Term::TRUE]), []);
    }

    #[test]
    fn a_deep_cone_needs_no_stack() {
        let (arena, root) = crate::testing::chain(200_000);
        assert_eq!(arena.cone(&[root]).len(), arena.len() - 1);
    }
}
