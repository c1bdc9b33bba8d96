//! Taking one of several ways down.
//!
//! In this order, with propagation in between, so that what is more certain goes first:
//!
//! 1. conditions of if-then-elses become constant;
//! 2. shapes that match are laid over each other, the best match first;
//! 3. variables that are asked to be constant become so (a guard asks for constants, and a variable that is
//!    also a value has taken the better term by now);
//! 4. a conjunction with one known side is solved for the other;
//! 5. one gate follows the point.

use cusp_encodings::Term;

use super::matching::DEPTH;
use super::{Trust, Walk};
use crate::qbf::shape::Shape;

impl Walk<'_> {
    /// Takes one of several ways at some gates; returns whether there was any to take.
    pub(super) fn decide(&mut self) -> bool {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|gate| self.images[gate.index()].is_none() && !self.is_settled[gate.index()]);
        pending.sort_unstable();
        pending.dedup();
        if pending.is_empty() && self.late.is_empty() {
            return false;
        }
        if !(self.decide_conditions(&pending) || self.decide_matches(&pending) || self.decide_constants()) {
            let solvable = pending.iter().copied().find(|&gate| self.has_known_input(gate));
            if let Some(gate) = solvable.or(pending.first().copied()) {
                self.decide_gate(gate);
            }
        }
        self.pending.extend(pending);
        true
    }

    /// Makes the conditions of if-then-elses constant: the branch that looks more like what is wanted, or that
    /// of the point.
    fn decide_conditions(&mut self, pending: &[Term]) -> bool {
        // Condition, score of the then branches, score of the else branches.
        let mut conditions: Vec<(Term, u32, u32)> = Vec::new();
        for &gate in pending {
            let Shape::Ite(condition, then, otherwise) = self.circuit.shape(gate) else { continue };
            let Some(goal) = self.wishes[gate.index()] else { continue };
            self.is_settled[gate.index()] = true;
            if self.image(condition).is_some() {
                continue;
            }
            let scores = if self.trust == Trust::Shape {
                [then, otherwise].map(|branch| self.similarity(branch, goal, DEPTH).unwrap_or(0))
            } else {
                [0, 0]
            };
            match conditions.iter_mut().find(|other| other.0 == condition) {
                Some(known) => {
                    known.1 += scores[0];
                    known.2 += scores[1];
                }
                None => conditions.push((condition, scores[0], scores[1])),
            }
        }
        for &(condition, then, otherwise) in &conditions {
            let value = if then == otherwise { self.value(condition) } else { then > otherwise };
            let goal = Term::constant(value);
            if !matches!(self.circuit.shape(condition), Shape::Var(_)) {
                self.wish(condition, goal);
            } else if self.image(condition).is_none() {
                self.set_image(condition, goal);
            }
        }
        !conditions.is_empty()
    }

    /// Lays the best matches over each other.
    fn decide_matches(&mut self, pending: &[Term]) -> bool {
        let mut matches: Vec<(u32, Term)> = Vec::new();
        for &gate in pending {
            if let Some((score, _)) = self.match_shape(gate) {
                matches.push((score, gate));
            }
        }
        let Some(best) = matches.iter().map(|&(score, _)| score).max() else { return false };
        for (_, gate) in matches.into_iter().filter(|&(score, _)| score == best) {
            // Wishes made meanwhile change what matches.
            if self.images[gate.index()].is_none()
                && let Some((_, pairs)) = self.match_shape(gate)
            {
                self.is_settled[gate.index()] = true;
                for (term, goal) in pairs {
                    self.wish(term, goal);
                }
                self.propagate();
            }
        }
        true
    }

    /// Gives the variables that are asked to be constant what they are asked for.
    fn decide_constants(&mut self) -> bool {
        let mut has_decided = false;
        for var in std::mem::take(&mut self.late) {
            if let (None, Some(constant)) = (self.images[var.index()], self.wishes[var.index()]) {
                self.set_image(var, constant);
                has_decided = true;
            }
        }
        has_decided
    }

    fn has_known_input(&self, gate: Term) -> bool {
        self.circuit.shape(gate).inputs().any(|input| self.image(input).is_some())
    }

    /// Takes the way of the point at one gate.
    fn decide_gate(&mut self, gate: Term) {
        self.is_settled[gate.index()] = true;
        let Some(goal) = self.wishes[gate.index()] else { return };
        match self.circuit.shape(gate) {
            Shape::And(a, b) => match (self.image(a), self.image(b)) {
                (Some(known), _) => self.solve_conjunction(known, b, goal),
                (_, Some(known)) => self.solve_conjunction(known, a, goal),
                _ => match (self.value(a), self.value(b)) {
                    // One side suffices.
                    (false, _) if goal == Term::FALSE => self.wish(a, goal),
                    (true, false) if goal == Term::FALSE => self.wish(b, goal),
                    (_, true) => {
                        self.wish(b, Term::TRUE);
                        self.wish(a, goal);
                    }
                    (true, false) => {
                        self.wish(a, Term::TRUE);
                        self.wish(b, goal);
                    }
                    (false, false) => {
                        self.wish(a, goal);
                        self.wish(b, goal);
                    }
                },
            },
            Shape::Xor(a, b) => {
                let value = self.value(b);
                self.wish(b, Term::constant(value));
                self.wish(a, goal.complement_if(value));
            }
            Shape::True | Shape::Var(_) | Shape::Ite(..) => {}
        }
    }

    /// `known & open` should equal `goal`.
    fn solve_conjunction(&mut self, known: Term, open: Term, goal: Term) {
        if let (false, Shape::And(p, q)) = (goal.is_complemented(), Shape::of(self.arena, goal)) {
            let rest = match known {
                _ if known == p => Some(q),
                _ if known == q => Some(p),
                _ => None,
            };
            if let Some(rest) = rest.filter(|&rest| self.agrees(open, rest)) {
                return self.wish(open, rest);
            }
        }
        if self.agrees(open, goal) {
            self.wish(open, goal);
        } else {
            // The point has the open side true where the known one is false.
            let weaker = self.arena.or(goal, !known);
            self.wish(open, weaker);
        }
    }
}
