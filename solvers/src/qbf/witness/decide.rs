//! Decides between several ways to meet the wish of a gate.
//!
//! The following steps are tried in this order, with propagation in between, so that more certain decisions come
//! first. To *match* a gate with a term means to ask its inputs to equal the corresponding inputs of the term.
//!
//! 1. if-then-elses are matched with other if-then-elses, or their conditions become constant;
//! 2. gates whose structure matches in only one way are matched, the best match first;
//! 3. gates that should be constant are matched with premises, since a guard consists of the same parts as the other
//!    guard;
//! 4. of the gates whose structure matches in two equally good ways, one is matched in the first way;
//! 5. variables that are asked to be constant become constant (a variable that is also a value has got the better
//!    term by now);
//! 6. a conjunction with one known input is solved for the other;
//! 7. one gate follows the point.

use cusp_encodings::Term;

use super::matching::{Certainty, DEPTH};
use super::{Trust, Walk};
use crate::qbf::shape::Shape;

/// A condition of pending if-then-elses, with scores for each way to decide them.
struct Condition {
    term: Term,
    then: u32,
    otherwise: u32,
    /// The score for matching the whole if-then-elses with the wanted ones.
    matched: u32,
    gates: Vec<Term>,
}

impl Walk<'_> {
    /// Decides at some gates; returns whether there was any decision to make.
    pub(super) fn decide(&mut self) -> bool {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|gate| self.images[gate.index()].is_none() && !self.is_settled[gate.index()]);
        pending.sort_unstable();
        pending.dedup();
        if pending.is_empty() && self.late.is_empty() {
            return false;
        }
        if !(self.decide_conditions(&pending)
            || self.decide_matches(&pending, Certainty::Clear)
            || self.decide_premises(&pending)
            || self.decide_matches(&pending, Certainty::Any)
            || self.decide_constants())
        {
            let solvable = pending.iter().copied().find(|&gate| self.has_known_input(gate));
            if let Some(gate) = solvable.or(pending.first().copied()) {
                self.decide_gate(gate);
            }
        }
        self.pending.extend(pending);
        true
    }

    /// Decides if-then-elses with the same condition: they are matched with the if-then-elses that are wanted, or
    /// their condition becomes constant. The constant selects the branch that is more similar to what is wanted, or
    /// else the branch that the point selects.
    fn decide_conditions(&mut self, pending: &[Term]) -> bool {
        let mut conditions: Vec<Condition> = Vec::new();
        for &gate in pending {
            let Shape::Ite(term, then, otherwise) = self.circuit.shape(gate) else { continue };
            let Some(goal) = self.wishes[gate.index()] else { continue };
            self.is_settled[gate.index()] = true;
            if self.image(term).is_some() {
                continue;
            }
            let position = conditions.iter().position(|other| other.term == term).unwrap_or_else(|| {
                conditions.push(Condition { term, then: 0, otherwise: 0, matched: 0, gates: Vec::new() });
                conditions.len() - 1
            });
            let condition = &mut conditions[position];
            condition.then += self.similarity(then, goal, DEPTH).unwrap_or(0);
            condition.otherwise += self.similarity(otherwise, goal, DEPTH).unwrap_or(0);
            condition.matched += self.match_ite(gate).map_or(0, |(score, _)| score);
            condition.gates.push(gate);
        }
        for condition in &conditions {
            if self.image(condition.term).is_some() {
                continue;
            }
            if condition.matched > condition.then.max(condition.otherwise) {
                for &gate in &condition.gates {
                    if let Some((_, triple)) = self.match_ite(gate) {
                        for (term, goal) in triple {
                            self.wish(term, goal);
                        }
                    }
                }
                continue;
            }
            let is_clear = self.trust == Trust::Shape && condition.then != condition.otherwise;
            let value =
                if is_clear { condition.then > condition.otherwise } else { self.value(condition.term) };
            if matches!(self.circuit.shape(condition.term), Shape::Var(_)) {
                self.set_image(condition.term, Term::constant(value));
            } else {
                self.wish(condition.term, Term::constant(value));
            }
        }
        !conditions.is_empty()
    }

    /// Matches the gates with the best scores.
    fn decide_matches(&mut self, pending: &[Term], certainty: Certainty) -> bool {
        let mut matches: Vec<(u32, Term)> = Vec::new();
        for &gate in pending {
            if (self.stop)() {
                return false;
            }
            if let Some((score, _)) = self.match_shape(gate, certainty) {
                matches.push((score, gate));
            }
        }
        let Some(best) = matches.iter().map(|&(score, _)| score).max() else { return false };
        let mut best_gates = matches.into_iter().filter(|&(score, _)| score == best);
        let most = if certainty == Certainty::Clear { usize::MAX } else { 1 };
        for (_, gate) in best_gates.by_ref().take(most) {
            // Wishes that were made in the meantime may change what matches.
            if self.images[gate.index()].is_none()
                && let Some((_, pairs)) = self.match_shape(gate, certainty)
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

    /// Asks gates that should be constant to equal premises with a similar structure instead: where the premises
    /// hold, these are constant, too, and they say more about the inputs.
    fn decide_premises(&mut self, pending: &[Term]) -> bool {
        let mut matches: Vec<(u32, Term, Term)> = Vec::new();
        for &gate in pending {
            let Some(value) = self.wishes[gate.index()].and_then(Term::as_constant) else { continue };
            if std::mem::replace(&mut self.is_compared[gate.index()], true) {
                continue;
            }
            if (self.stop)() {
                return false;
            }
            let kind = std::mem::discriminant(&self.circuit.shape(gate));
            for &premise in &self.circuit.premises {
                let goal = premise.complement_if(!value);
                if std::mem::discriminant(&self.circuit.shape(premise)) == kind
                    && let Some(score) = self.similarity_below(gate, goal)
                {
                    matches.push((score, gate, goal));
                }
            }
        }
        matches.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut has_decided = false;
        for (_, gate, goal) in matches {
            let is_open = self.images[gate.index()].is_none()
                && self.wishes[gate.index()].is_some_and(|wish| wish.as_constant().is_some());
            // Wishes that were made in the meantime may change what matches.
            if is_open && self.similarity_below(gate, goal).is_some() {
                self.wishes[gate.index()] = Some(goal);
                self.queue.push(gate);
                self.propagate();
                has_decided = true;
            }
        }
        has_decided
    }

    /// Makes variables constant that are asked to be.
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

    /// Decides at one gate by the point.
    fn decide_gate(&mut self, gate: Term) {
        self.is_settled[gate.index()] = true;
        let Some(goal) = self.wishes[gate.index()] else { return };
        match self.circuit.shape(gate) {
            Shape::And(a, b) => match (self.image(a), self.image(b)) {
                (Some(known), _) => self.solve_conjunction(known, b, goal),
                (_, Some(known)) => self.solve_conjunction(known, a, goal),
                _ => match (self.value(a), self.value(b)) {
                    // One false input suffices.
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

    /// Asks `open` to have a value such that `known & open` equals `goal`.
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
            // At the point, the known input is false and the open one is true.
            let weaker = self.arena.or(goal, !known);
            self.wish(open, weaker);
        }
    }
}
