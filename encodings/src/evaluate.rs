//! Evaluation of terms, one assignment or 64 at a time.
//!
//! A word holds the values under 64 assignments; gates are bit operations on words. A single
//! assignment is represented by words with 64 equal bits.

use crate::term::{Node, Term, TermArena, VarId};

impl TermArena {
    /// The value of `term` if each variable has the value that `value_of` returns for it.
    #[must_use]
    pub fn evaluate(&self, term: Term, mut value_of: impl FnMut(VarId) -> bool) -> bool {
        self.simulate(&[term], |var| if value_of(var) { u64::MAX } else { 0 })[0] & 1 == 1
    }

    /// The values of the roots under 64 assignments: bit `i` of `word_of(x)` is the value of `x` in
    /// assignment `i`, and bit `i` of a result the value of that root. `word_of` is called once per variable.
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

/// 64 random assignments, kept up to date with a growing arena: every node is simulated once.
///
/// Two terms with different words are different functions; equal words prove nothing.
#[derive(Clone, Debug)]
pub struct Simulator {
    seed: u64,
    words: Vec<u64>,
}

impl Simulator {
    /// A simulator whose assignments depend on `seed` and the variables only.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, words: Vec::new() }
    }

    /// The values of `term` under the 64 assignments. All calls must pass the same arena.
    pub fn word(&mut self, arena: &TermArena, term: Term) -> u64 {
        let seed = self.seed;
        for number in self.words.len()..=term.index() {
            let word =
                arena.word_of_node(arena.term_at(number), &self.words, &mut |var| Self::input(seed, var));
            self.words.push(word);
        }
        word_of_edge(term, &self.words)
    }

    /// The values of a variable under the 64 assignments of the simulator with this seed.
    #[must_use]
    pub fn input(seed: u64, var: VarId) -> u64 {
        // The finaliser of splitmix64: the words of different variables look independent.
        let mut word =
            seed.wrapping_add(u64::from(var.number()).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
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
            let word = |var: VarId| Simulator::input(seed, var);
            let words = arena.simulate(&roots, word);
            let mut simulator = Simulator::new(seed);
            for (&root, &expected) in roots.iter().zip(&words) {
                assert_eq!(simulator.word(&arena, root), expected);
                for bit in 0..64 {
                    let value = arena.evaluate(root, |var| word(var) >> bit & 1 == 1);
                    assert_eq!(value, expected >> bit & 1 == 1, "seed {seed} bit {bit}");
                }
            }
        }
    }

    #[test]
    fn a_simulator_follows_a_growing_arena() {
        let mut arena = TermArena::new();
        let mut simulator = Simulator::new(3);
        let x = arena.fresh();
        let before = simulator.word(&arena, x);
        let y = arena.fresh();
        let both = arena.and(x, !y);
        let expected = before & !simulator.word(&arena, y);
        assert_eq!(simulator.word(&arena, both), expected);
    }

    #[test]
    fn a_deep_chain_is_simulated_without_stack() {
        let (arena, root) = testing::chain(200_000);
        let expected = testing::chain_value(200_000, |i| i % 3 == 0);
        assert_eq!(arena.evaluate(root, |var| var.index() % 3 == 0), expected);
    }
}
