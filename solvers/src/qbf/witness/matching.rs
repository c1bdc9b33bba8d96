//! Measures how similar the structure of a gate with existential variables is to that of the term it should equal.
//!
//! A set that was made from another one by renaming or substituting choices has the same structure, and the witness
//! is found by matching one with the other. Conjunction and exclusive disjunction are commutative, so their inputs
//! can be paired in two ways. The pairing that is more similar a few levels down is taken, and above all one that
//! agrees with what is already decided.

use cusp_encodings::Term;

use super::Walk;
use crate::qbf::shape::Shape;

/// How many levels are compared.
pub(super) const DEPTH: u32 = 4;

/// Which matches count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Only matches where one pairing of the inputs is better than the other.
    Clear,
    /// All matches.
    Any,
}

/// Two inputs, each with the term that a match asks it to equal.
pub(super) type Pairs = [(Term, Term); 2];

impl Walk<'_> {
    /// How well the wish of a gate matches its structure, and what the match asks of the inputs.
    pub(super) fn match_shape(&mut self, gate: Term, certainty: Certainty) -> Option<(u32, Pairs)> {
        let goal = self.wishes[gate.index()]?;
        let (a, b, p, q) = match (self.circuit.shape(gate), Shape::of(self.arena, goal)) {
            (Shape::And(a, b), Shape::And(p, q)) if !goal.is_complemented() => (a, b, p, q),
            (Shape::Xor(a, b), Shape::Xor(p, q)) => (a, b, p, q),
            _ => return None,
        };
        let straight = self.match_pairs(gate, [(a, p), (b, q)], goal);
        let crossed = self.match_pairs(gate, [(a, q), (b, p)], goal);
        match (straight, crossed) {
            (Some(one), Some(other)) if one.0 == other.0 => (certainty == Certainty::Any).then_some(one),
            (Some(one), Some(other)) => Some(if one.0 > other.0 { one } else { other }),
            (one, other) => one.or(other),
        }
    }

    /// How well the wish of an if-then-else matches it as a whole, and what the match asks of the inputs.
    pub(super) fn match_ite(&mut self, gate: Term) -> Option<(u32, [(Term, Term); 3])> {
        let goal = self.wishes[gate.index()]?;
        let Shape::Ite(condition, then, otherwise) = self.circuit.shape(gate) else { return None };
        let Shape::Ite(c, t, e) = Shape::of(self.arena, goal) else { return None };
        let (t, e) = (t.complement_if(goal.is_complemented()), e.complement_if(goal.is_complemented()));
        let straight = self.match_triple([(condition, c), (then, t), (otherwise, e)]);
        let crossed = self.match_triple([(condition, !c), (then, e), (otherwise, t)]);
        match (straight, crossed) {
            (Some(one), Some(other)) => Some(if one.0 >= other.0 { one } else { other }),
            (one, other) => one.or(other),
        }
    }

    fn match_triple(&mut self, triple: [(Term, Term); 3]) -> Option<(u32, [(Term, Term); 3])> {
        let mut score = 2;
        for (term, wanted) in triple {
            if !self.agrees(term, wanted) {
                return None;
            }
            score += self.similarity(term, wanted, DEPTH - 1)?;
        }
        Some((score, triple))
    }

    fn match_pairs(&mut self, gate: Term, mut pairs: Pairs, goal: Term) -> Option<(u32, Pairs)> {
        if matches!(self.circuit.shape(gate), Shape::Xor(..)) && goal.is_complemented() {
            // The complement is passed to the input for which the sign matters least.
            let taker = usize::from(!self.is_signless(pairs[0].0));
            pairs[taker].1 = !pairs[taker].1;
        }
        let mut score = 0;
        for (term, wanted) in pairs {
            if !self.agrees(term, wanted) {
                return None;
            }
            score += self.similarity(term, wanted, DEPTH)?;
        }
        Some((score, pairs))
    }

    fn is_signless(&self, term: Term) -> bool {
        matches!(self.circuit.shape(term), Shape::Var(_) | Shape::Xor(..))
    }

    /// How much of the structure of an open term occurs in another term; `None` if this contradicts what is already
    /// decided.
    pub(super) fn similarity(&self, open: Term, goal: Term, depth: u32) -> Option<u32> {
        let open = self.resolve(open);
        let decided = self.images[open.index()].or(self.wishes[open.index()]);
        if let Some(decided) = decided {
            return (decided.complement_if(open.is_complemented()) == goal).then_some(1 << (2 * DEPTH));
        }
        let signs_differ = open.is_complemented() != goal.is_complemented();
        match (self.circuit.shape(open), Shape::of(self.arena, goal)) {
            (Shape::Var(_), _) => Some(1),
            _ if depth == 0 => Some(0),
            (Shape::And(a, b), Shape::And(p, q)) if !signs_differ => self.best_pairing([a, b], [p, q], depth),
            (Shape::Xor(a, b), Shape::Xor(p, q)) => self.best_pairing([a, b], [p, q], depth),
            (Shape::Ite(condition, then, otherwise), wanted) => {
                // Either the whole matches, or one of the branches may be the one to follow.
                let whole = if let Shape::Ite(c, t, e) = wanted {
                    let (t, e) = (t.complement_if(signs_differ), e.complement_if(signs_differ));
                    let scores = [(condition, c), (then, t), (otherwise, e)]
                        .map(|(open, goal)| self.similarity(open, goal, depth - 1));
                    scores.into_iter().try_fold(2, |sum, score| Some(sum + score?))
                } else {
                    None
                };
                let branches = [then, otherwise].map(|branch| branch.complement_if(open.is_complemented()));
                let branches = branches.map(|branch| self.similarity(branch, goal, depth - 1));
                whole.max(branches[0]).max(branches[1])
            }
            _ => Some(0),
        }
    }

    /// The similarity of a gate and a term for which it has no wish yet; `None` if they have nothing in common.
    pub(super) fn similarity_below(&self, gate: Term, goal: Term) -> Option<u32> {
        let score = match (self.circuit.shape(gate), Shape::of(self.arena, goal)) {
            (Shape::And(a, b), Shape::And(p, q)) if !goal.is_complemented() => {
                self.best_pairing([a, b], [p, q], DEPTH)?
            }
            (Shape::Xor(a, b), Shape::Xor(p, q)) => self.best_pairing([a, b], [p, q], DEPTH)?,
            _ => return None,
        };
        (score > 4).then_some(score)
    }

    /// The term that an open term equals, as far as constants are decided.
    fn resolve(&self, mut open: Term) -> Term {
        loop {
            let below = match self.circuit.shape(open) {
                Shape::Ite(condition, then, otherwise) => match self.image(condition) {
                    Some(Term::TRUE) => then,
                    Some(Term::FALSE) => otherwise,
                    _ => return open,
                },
                Shape::And(a, b) => match (self.image(a), self.image(b)) {
                    (Some(Term::TRUE), None) => b,
                    (None, Some(Term::TRUE)) => a,
                    _ => return open,
                },
                Shape::Xor(a, b) => match (self.image(a), self.image(b)) {
                    (Some(known), None) if known.as_constant().is_some() => {
                        b.complement_if(known == Term::TRUE)
                    }
                    (None, Some(known)) if known.as_constant().is_some() => {
                        a.complement_if(known == Term::TRUE)
                    }
                    _ => return open,
                },
                Shape::True | Shape::Var(_) => return open,
            };
            open = below.complement_if(open.is_complemented());
        }
    }

    fn best_pairing(&self, [a, b]: [Term; 2], [p, q]: [Term; 2], depth: u32) -> Option<u32> {
        let score = |one: (Term, Term), other: (Term, Term)| {
            let one = self.similarity(one.0, one.1, depth - 1)?;
            Some(2 + one + self.similarity(other.0, other.1, depth - 1)?)
        };
        score((a, p), (b, q)).max(score((a, q), (b, p)))
    }
}
