//! Simultaneous substitution.
//!
//! Invariant (memo): once the image of a node is known it is never computed again, by whichever root it is
//! reached; so the cost is proportional to the cones of all roots together. Images may be larger than any
//! node that was there before, but only nodes below the roots are looked up.

use rustc_hash::FxHashMap;

use crate::term::{Node, Term, TermArena, VarId};

/// A map from variables to terms, applied to all variables at the same time. Other variables stay.
///
/// ```
/// # use cusp_encodings::{Substitution, TermArena};
/// let mut arena = TermArena::new();
/// let (x, y) = (arena.fresh_var(), arena.fresh_var());
/// let (tx, ty) = (arena.var(x), arena.var(y));
/// let first = arena.and(tx, !ty);
/// let swapped = arena.and(ty, !tx);
/// assert_eq!(Substitution::new([(x, ty), (y, tx)]).apply(&mut arena, first), swapped);
/// ```
#[derive(Clone, Debug)]
pub struct Substitution {
    map: FxHashMap<VarId, Term>,
    /// Per node one more than the number of its image, or 0.
    images: Vec<u32>,
}

impl Substitution {
    /// The substitution with these images; the last one counts if a variable has several.
    pub fn new(map: impl IntoIterator<Item = (VarId, Term)>) -> Self {
        Self { map: map.into_iter().collect(), images: Vec::new() }
    }

    /// The term with every mapped variable replaced. Always ask with the same arena.
    pub fn apply(&mut self, arena: &mut TermArena, term: Term) -> Term {
        if self.images.len() <= term.index() {
            self.reserve(term.index() + 1);
        }
        let mut stack = vec![term];
        while let Some(&node) = stack.last() {
            if self.images[node.index()] != 0 {
                stack.pop();
                continue;
            }
            let image = match arena.node(node) {
                Node::True => Some(Term::TRUE),
                Node::Var(var) => Some(self.map.get(&var).copied().unwrap_or(node.uncomplemented())),
                Node::And(a, b) => self.children(a, b, &mut stack).map(|(a, b)| arena.and(a, b)),
                Node::Xor(a, b) => self.children(a, b, &mut stack).map(|(a, b)| arena.xor(a, b)),
            };
            if let Some(image) = image {
                self.images[node.index()] = image.number() + 1;
                stack.pop();
            }
        }
        self.image(term).unwrap_or(term)
    }

    /// [`Self::apply`] to each of the terms.
    pub fn apply_all(&mut self, arena: &mut TermArena, terms: &[Term]) -> Vec<Term> {
        if let Some(top) = terms.iter().map(|term| term.index() + 1).max() {
            self.reserve(top);
        }
        terms.iter().map(|&term| self.apply(arena, term)).collect()
    }

    fn reserve(&mut self, nodes: usize) {
        if self.images.is_empty() {
            // Zeroed memory is mapped on first touch: a small cone in a large arena stays cheap.
            self.images = vec![0; nodes];
        } else if self.images.len() < nodes {
            self.images.resize(nodes, 0);
        }
    }

    fn image(&self, term: Term) -> Option<Term> {
        let number = self.images[term.index()].checked_sub(1)?;
        Some(Term::from_number(number).complement_if(term.is_complemented()))
    }

    /// The images of both children, or the missing ones on the stack.
    fn children(&self, a: Term, b: Term, stack: &mut Vec<Term>) -> Option<(Term, Term)> {
        let images = (self.image(a), self.image(b));
        if images.1.is_none() {
            stack.push(b);
        }
        if images.0.is_none() {
            stack.push(a);
        }
        images.0.zip(images.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Rng};

    #[test]
    fn substitution_composes_functions() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut arena = TermArena::new();
            let pool = testing::random_terms(&mut rng, &mut arena, 6, 40);
            let mut map: Vec<(VarId, Term)> = (0..6).map(|v| (VarId::new(v), rng.pick(&pool))).collect();
            map.truncate(rng.below(7));
            let mut substitution = Substitution::new(map.clone());
            for _ in 0..4 {
                let term = rng.pick(&pool);
                let image = substitution.apply(&mut arena, term);
                for bits in 0..64u32 {
                    let outer = |var: VarId| bits >> var.number() & 1 == 1;
                    let inner = |var: VarId| match map.iter().find(|(mapped, _)| *mapped == var) {
                        Some(&(_, by)) => arena.evaluate(by, outer),
                        None => outer(var),
                    };
                    assert_eq!(arena.evaluate(image, outer), arena.evaluate(term, inner), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn images_are_not_substituted_again() {
        let mut arena = TermArena::new();
        let vars = testing::vars(&mut arena, 3);
        let both = arena.and(vars[0], vars[1]);
        let image =
            Substitution::new([(VarId::new(0), vars[1]), (VarId::new(1), !vars[2])]).apply(&mut arena, both);
        assert_eq!(image, arena.and(vars[1], !vars[2]));
    }

    #[test]
    fn a_deep_chain_is_substituted_without_stack() {
        let (mut arena, root) = testing::chain(200_000);
        let map = (0..200_000).map(VarId::new).map(|var| (var, arena.find_var(var).expect("in the chain")));
        let map: Vec<_> = map.map(|(var, term)| (var, !term)).collect();
        let image = Substitution::new(map).apply(&mut arena, root);
        let expected = testing::chain_value(200_000, |i| i % 5 != 0);
        assert_eq!(arena.evaluate(image, |var| var.index() % 5 == 0), expected);
    }
}
