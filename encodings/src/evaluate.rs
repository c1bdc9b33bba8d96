//! Evaluation of terms, one assignment or 64 at a time.
//!
//! A word holds the values under 64 assignments; the gates are the machine's own bit operations. A single
//! assignment is the word with 64 equal bits.

use crate::term::{Node, Term, TermArena, VarId};

impl TermArena {
    /// The value of `term` where each variable has the value that `value_of` gives.
    #[must_use]
    pub fn evaluate(&self, term: Term, mut value_of: impl FnMut(VarId) -> bool) -> bool {
        self.simulate(&[term], |var| if value_of(var) { u64::MAX } else { 0 })[0] & 1 == 1
    }

    /// The values of the roots under 64 assignments: bit `i` of `word_of(x)` is the value of `x` in
    /// assignment `i`, and bit `i` of a result the value of that root. `word_of` is asked once per variable.
    #[must_use]
    pub fn simulate(&self, roots: &[Term], mut word_of: impl FnMut(VarId) -> u64) -> Vec<u64> {
        let cone = self.cone(roots);
        // Zeroed memory of this size is mapped on first touch: a small cone in a large arena stays cheap.
        let mut words = vec![0; cone.last().map_or(0, |top| top.index() + 1)];
        for term in cone {
            words[term.index()] = self.word_of_node(term, &words, &mut word_of);
        }
        roots.iter().map(|&root| word_of_edge(root, &words)).collect()
    }

    fn word_of_node(&self, term: Term, words: &[u64], word_of: &mut impl FnMut(VarId) -> u64) -> u64 {
        match self.node(term) {
            Node::True => u64::MAX,
            Node::Var(var) => word_of(var),
            Node::And(a, b) => word_of_edge(a, words) & word_of_edge(b, words),
            Node::Xor(a, b) => word_of_edge(a, words) ^ word_of_edge(b, words),
        }
    }
}

fn word_of_edge(term: Term, words: &[u64]) -> u64 {
    words[term.index()] ^ if term.is_complemented() { u64::MAX } else { 0 }
}

/// The values of a variable under 64 random assignments, which depend on `seed` only.
#[must_use]
pub fn random_word(seed: u64, var: VarId) -> u64 {
    // The finaliser of splitmix64: every variable gets an independent-looking word.
    let mut word =
        seed.wrapping_add(u64::from(var.number()).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Rng};

    #[test]
    fn gates_have_their_truth_tables() {
        let mut arena = TermArena::new();
        let [x, y, z] = [(); 3].map(|()| arena.fresh());
        let and = arena.and(x, y);
        let or = arena.or(x, y);
        let xor = arena.xor(x, y);
        let iff = arena.iff(x, y);
        let implies = arena.implies(x, y);
        let ite = arena.ite(z, x, y);
        for bits in 0..8u32 {
            let input = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
            let value = |term| arena.evaluate(term, |var| bits >> var.number() & 1 != 0);
            assert!(value(Term::TRUE));
            assert!(!value(Term::FALSE));
            assert_eq!(value(!x), !input[0]);
            assert_eq!(value(and), input[0] & input[1]);
            assert_eq!(value(or), input[0] | input[1]);
            assert_eq!(value(xor), input[0] ^ input[1]);
            assert_eq!(value(iff), input[0] == input[1]);
            assert_eq!(value(implies), !input[0] | input[1]);
            assert_eq!(value(ite), if input[2] { input[0] } else { input[1] });
        }
    }

    #[test]
    fn sixty_four_ways_are_sixty_four_evaluations() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut arena = TermArena::new();
            let roots = testing::random_terms(&mut rng, &mut arena, 8, 60);
            let word = |var: VarId| random_word(seed, var);
            let words = arena.simulate(&roots, word);
            for (&root, &expected) in roots.iter().zip(&words) {
                for bit in 0..64 {
                    let value = arena.evaluate(root, |var| word(var) >> bit & 1 == 1);
                    assert_eq!(value, expected >> bit & 1 == 1, "seed {seed} bit {bit}");
                }
            }
        }
    }

    #[test]
    fn a_deep_chain_is_simulated_without_stack() {
        let (arena, root) = testing::chain(200_000);
        let expected = testing::chain_value(200_000, |i| i % 3 == 0);
        assert_eq!(arena.evaluate(root, |var| var.index() % 3 == 0), expected);
    }
}
