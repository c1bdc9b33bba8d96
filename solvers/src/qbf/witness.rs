//! Functional witnesses: from one witness to terms that work in many places.
//!
//! Given a point `(x*, y*)` where the matrix is true, the walk gives every existential variable a term over
//! the universal ones. It goes from the matrix down and asks every open gate to equal a term over `x`: the
//! matrix `true`; a conjunction that must be true hands `true` to both sides; an equality of a closed and an
//! open side hands the closed one over; a bare variable takes what it is asked for. Where the way down is not
//! unique, it is taken from the shape of the wanted term if that matches, and from the point if not: the
//! condition of an if-then-else becomes a constant and the taken branch is followed, one side of an exclusive
//! disjunction becomes constant and the other is solved for.
//!
//! Implements the refinement step of the counterexample-guided solver, see [`super::embedded`]. Any vector
//! of terms is sound; a good one is right in many places.
//!
//! Invariant (image): a gate has an image as soon as the terms chosen so far determine it, and the image is
//! the gate with these terms substituted.
//!
//! Invariant (agreement): under [`Trust::Point`] every term that is asked for has at `x*` the value that its
//! gate has at the point, hence `t(x*) = y*` and the matrix is true there.

use cusp_encodings::{Term, TermArena};

use super::point::Point;
use super::shape::{Circuit, Shape};

/// What decides where the way down is not unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The shape, also for the branches to follow. The result need not be a witness at the point.
    Shape,
    /// The shape; the point only selects branches. The result need not be a witness at the point.
    Branches,
    /// The point; a shape counts only where it agrees.
    Point,
}

/// The result of a walk.
#[derive(Clone, Debug)]
pub(crate) struct FunctionalWitness {
    /// One term over the universal variables per existential variable.
    pub(crate) vector: Vec<Term>,
    /// Which of them came from a wish, not from the point.
    pub(crate) is_wished: Vec<bool>,
    /// The matrix with the terms substituted.
    pub(crate) matrix: Term,
}

/// How deep shapes are compared.
const DEPTH: u32 = 4;

/// One walk from the matrix down to the variables.
pub(crate) struct Walk<'a> {
    circuit: &'a Circuit,
    arena: &'a mut TermArena,
    point: &'a mut Point,
    trust: Trust,
    /// Per gate what it should equal.
    wishes: Vec<Option<Term>>,
    /// Per gate what it equals.
    images: Vec<Option<Term>>,
    is_settled: Vec<bool>,
    /// Gates with a wish or a new image below, to be looked at.
    queue: Vec<Term>,
    /// Gates with a wish and several ways down.
    pending: Vec<Term>,
    /// Variables that are asked to be constant: anything that says more goes first.
    late: Vec<Term>,
}

impl<'a> Walk<'a> {
    /// Gives every existential variable a term. The point holds values for all variables.
    pub(crate) fn run(
        circuit: &'a Circuit,
        arena: &'a mut TermArena,
        point: &'a mut Point,
        trust: Trust,
    ) -> FunctionalWitness {
        let size = circuit.matrix.index() + 1;
        let mut walk = Walk {
            circuit,
            arena,
            point,
            trust,
            wishes: vec![None; size],
            images: vec![None; size],
            is_settled: vec![false; size],
            queue: Vec::new(),
            pending: Vec::new(),
            late: Vec::new(),
        };
        for &gate in &circuit.gates {
            if !circuit.is_open(gate) {
                walk.images[gate.index()] = Some(gate);
            }
        }
        walk.wish(circuit.matrix, Term::TRUE);
        loop {
            walk.propagate();
            if !walk.decide() {
                break;
            }
        }
        walk.finish()
    }

    /// Asks for `term` to equal `goal`; the first wish for a gate counts.
    fn wish(&mut self, term: Term, goal: Term) {
        let (gate, goal) = (term.uncomplemented(), goal.complement_if(term.is_complemented()));
        let index = gate.index();
        let is_free = self.wishes[index].is_none() && self.images[index].is_none();
        if is_free && self.agrees(gate, goal) {
            self.wishes[index] = Some(goal);
            self.queue.push(gate);
        }
    }

    fn agrees(&mut self, term: Term, goal: Term) -> bool {
        self.trust != Trust::Point || self.value(term) == self.value(goal)
    }

    fn value(&mut self, term: Term) -> bool {
        self.point.value(self.arena, term)
    }

    fn image(&self, term: Term) -> Option<Term> {
        self.images[term.index()].map(|image| image.complement_if(term.is_complemented()))
    }

    fn propagate(&mut self) {
        while let Some(gate) = self.queue.pop() {
            if self.images[gate.index()].is_none() {
                self.look_at(gate);
            }
        }
    }

    /// Follows the wish of a gate as far as there is one way only.
    fn look_at(&mut self, gate: Term) {
        let Some(goal) = self.wishes[gate.index()] else { return };
        match self.circuit.shape(gate) {
            Shape::True => {}
            Shape::Var(_) if goal.as_constant().is_none() => self.set_image(gate, goal),
            Shape::Var(_) => self.late.push(gate),
            Shape::Xor(a, b) => match (self.image(a), self.image(b)) {
                (Some(known), None) => {
                    let rest = self.arena.xor(goal, known);
                    self.wish(b, rest);
                }
                (None, Some(known)) => {
                    let rest = self.arena.xor(goal, known);
                    self.wish(a, rest);
                }
                _ => self.postpone(gate),
            },
            Shape::And(a, b) => match (self.image(a), self.image(b)) {
                _ if goal == Term::TRUE => {
                    self.wish(a, Term::TRUE);
                    self.wish(b, Term::TRUE);
                }
                (Some(Term::TRUE), None) => self.wish(b, goal),
                (None, Some(Term::TRUE)) => self.wish(a, goal),
                _ => self.postpone(gate),
            },
            Shape::Ite(condition, then, otherwise) => match self.image(condition) {
                Some(Term::TRUE) => self.wish(then, goal),
                Some(Term::FALSE) => self.wish(otherwise, goal),
                Some(known) => match Shape::of(self.arena, goal) {
                    Shape::Ite(c, t, e) if c == known.uncomplemented() => {
                        let sign = goal.is_complemented();
                        let (t, e) = (t.complement_if(sign), e.complement_if(sign));
                        let (t, e) = if known.is_complemented() { (e, t) } else { (t, e) };
                        self.wish(then, t);
                        self.wish(otherwise, e);
                    }
                    _ => {
                        self.wish(then, goal);
                        self.wish(otherwise, goal);
                    }
                },
                None => self.postpone(gate),
            },
        }
    }

    /// `known & open` should equal `goal`.
    fn wish_rest(&mut self, known: Term, open: Term, goal: Term) {
        if let (false, Shape::And(p, q)) = (goal.is_complemented(), Shape::of(self.arena, goal)) {
            let rest = if p == known {
                Some(q)
            } else if q == known {
                Some(p)
            } else {
                None
            };
            if let Some(rest) = rest.filter(|&rest| self.agrees(open, rest)) {
                return self.wish(open, rest);
            }
        }
        if self.agrees(open, goal) {
            self.wish(open, goal);
        } else {
            let anything = self.arena.or(goal, !known);
            self.wish(open, anything);
        }
    }

    fn postpone(&mut self, gate: Term) {
        if !self.is_settled[gate.index()] {
            self.pending.push(gate);
        }
    }

    /// Takes one of several ways at some gates; returns whether there was any to take.
    fn decide(&mut self) -> bool {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|gate| self.images[gate.index()].is_none() && !self.is_settled[gate.index()]);
        pending.sort_unstable();
        pending.dedup();
        if pending.is_empty() && self.late.is_empty() {
            return false;
        }
        let mut has_decided = self.decide_conditions(&pending);
        // 2. Shapes that match, the best first.
        if !has_decided {
            let mut matches: Vec<(u32, Term, [(Term, Term); 2])> = Vec::new();
            for &gate in &pending {
                if let Some((score, wishes)) = self.match_shape(gate) {
                    matches.push((score, gate, wishes));
                }
            }
            matches.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            if let Some(&(best, ..)) = matches.first() {
                for (score, gate, _) in matches {
                    // Wishes made meanwhile change what matches.
                    if score == best && self.images[gate.index()].is_none() {
                        if let Some((_, wishes)) = self.match_shape(gate) {
                            self.is_settled[gate.index()] = true;
                            for (term, goal) in wishes {
                                self.wish(term, goal);
                            }
                            self.propagate();
                        }
                    }
                }
                has_decided = true;
            }
        }
        // 3. Constants.
        for var in std::mem::take(&mut self.late) {
            if has_decided {
                self.late.push(var);
            } else if self.images[var.index()].is_none() {
                let constant = self.wishes[var.index()].unwrap_or(Term::FALSE);
                self.set_image(var, constant);
            }
        }
        has_decided |= !self.queue.is_empty();
        // 4. The rest of a conjunction, then one way, as at the point.
        if !has_decided {
            let rest = pending.iter().copied().find(|&gate| self.has_known_input(gate));
            if let Some(&gate) = rest.as_ref().or(pending.first()) {
                self.decide_by_point(gate);
            }
        }
        self.pending.extend(pending);
        true
    }

    /// Makes the conditions of if-then-elses constant: the branch that looks more like what is wanted, or that
    /// of the point.
    fn decide_conditions(&mut self, pending: &[Term]) -> bool {
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
            if matches!(self.circuit.shape(condition), Shape::Var(_)) {
                self.set_image(condition, goal);
            } else {
                self.wish(condition, goal);
            }
        }
        !conditions.is_empty()
    }

    fn has_known_input(&self, gate: Term) -> bool {
        self.circuit.shape(gate).inputs().any(|input| self.image(input).is_some())
    }

    fn decide_by_point(&mut self, gate: Term) {
        self.is_settled[gate.index()] = true;
        let Some(goal) = self.wishes[gate.index()] else { return };
        match self.circuit.shape(gate) {
            Shape::And(a, b) => match (self.value(a), self.value(b)) {
                _ if self.has_known_input(gate) => {
                    let (known, open) = if let Some(known) = self.image(a) {
                        (known, b)
                    } else {
                        (self.image(b).unwrap_or(b), a)
                    };
                    self.wish_rest(known, open, goal);
                }
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
            Shape::Xor(a, b) => {
                let value = Term::constant(self.value(b));
                self.wish(b, value);
                self.wish(a, goal.complement_if(value == Term::TRUE));
            }
            Shape::True | Shape::Var(_) | Shape::Ite(..) => {}
        }
    }

    /// How well the wish of a gate matches its shape, and what it asks of the inputs.
    fn match_shape(&mut self, gate: Term) -> Option<(u32, [(Term, Term); 2])> {
        let goal = self.wishes[gate.index()]?;
        let (a, b, p, q) = match (self.circuit.shape(gate), Shape::of(self.arena, goal)) {
            (Shape::And(a, b), Shape::And(p, q)) if !goal.is_complemented() => (a, b, p, q),
            (Shape::Xor(a, b), Shape::Xor(p, q)) => (a, b, p, q),
            _ => return None,
        };
        let straight = self.match_pairs(gate, [(a, p), (b, q)], goal);
        let crossed = self.match_pairs(gate, [(a, q), (b, p)], goal);
        match (straight, crossed) {
            (Some(one), Some(other)) if one.0 == other.0 => Some((one.0 / 2, one.1)),
            (Some(one), Some(other)) => Some(if one.0 > other.0 { one } else { other }),
            (one, other) => one.or(other),
        }
    }

    fn match_pairs(
        &mut self,
        gate: Term,
        mut pairs: [(Term, Term); 2],
        goal: Term,
    ) -> Option<(u32, [(Term, Term); 2])> {
        if matches!(self.circuit.shape(gate), Shape::Xor(..)) && goal.is_complemented() {
            // The side whose sign matters least takes the complement.
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

    /// How much of the shape of an open term is in another one; `None` if what is decided already differs.
    fn similarity(&self, open: Term, goal: Term, depth: u32) -> Option<u32> {
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
            (Shape::Ite(c, t, e), Shape::Ite(d, u, f)) => {
                let scores = [(c, d), (t, u.complement_if(signs_differ)), (e, f.complement_if(signs_differ))]
                    .map(|(open, goal)| self.similarity(open, goal, depth - 1));
                scores.into_iter().try_fold(2, |sum, score| Some(sum + score?))
            }
            _ => Some(0),
        }
    }

    fn best_pairing(&self, [a, b]: [Term; 2], [p, q]: [Term; 2], depth: u32) -> Option<u32> {
        let score = |one: (Term, Term), other: (Term, Term)| {
            let one = self.similarity(one.0, one.1, depth - 1)?;
            Some(2 + one + self.similarity(other.0, other.1, depth - 1)?)
        };
        score((a, p), (b, q)).max(score((a, q), (b, p)))
    }

    /// Notes what a gate equals, and everything above that follows.
    fn set_image(&mut self, gate: Term, image: Term) {
        self.images[gate.index()] = Some(image);
        let mut changed = vec![gate];
        while let Some(below) = changed.pop() {
            for &parent in self.circuit.parents(below) {
                if self.images[parent.index()].is_some() {
                    continue;
                }
                if let Some(image) = self.image_of_gate(parent) {
                    self.images[parent.index()] = Some(image);
                    changed.push(parent);
                } else if self.wishes[parent.index()].is_some() {
                    self.queue.push(parent);
                }
            }
        }
    }

    fn image_of_gate(&mut self, gate: Term) -> Option<Term> {
        match self.circuit.shape(gate) {
            Shape::True | Shape::Var(_) => None,
            Shape::And(a, b) => match (self.image(a), self.image(b)) {
                (Some(Term::FALSE), _) | (_, Some(Term::FALSE)) => Some(Term::FALSE),
                (Some(a), Some(b)) => Some(self.arena.and(a, b)),
                _ => None,
            },
            Shape::Xor(a, b) => Some(self.image(a)?).zip(self.image(b)).map(|(a, b)| self.arena.xor(a, b)),
            Shape::Ite(condition, then, otherwise) => match self.image(condition)? {
                Term::TRUE => self.image(then),
                Term::FALSE => self.image(otherwise),
                condition => {
                    let (then, otherwise) = (self.image(then)?, self.image(otherwise)?);
                    Some(self.arena.ite(condition, then, otherwise))
                }
            },
        }
    }

    /// Constants for what nobody asked for.
    fn finish(mut self) -> FunctionalWitness {
        let circuit = self.circuit;
        let mut vector = Vec::with_capacity(circuit.existential);
        let mut is_wished = Vec::with_capacity(circuit.existential);
        for number in circuit.universal..circuit.universal + circuit.existential {
            let var = self.arena.find_var(cusp_encodings::VarId::from_index(number));
            let var = var.filter(|var| var.index() < self.images.len());
            let image = var.and_then(|var| self.image(var));
            is_wished.push(image.is_some());
            vector.push(match (image, var) {
                (Some(image), _) => image,
                (None, Some(var)) => {
                    let constant = Term::constant(self.value(var));
                    self.set_image(var, constant);
                    constant
                }
                (None, None) => Term::FALSE,
            });
        }
        let matrix = self.image(circuit.matrix).expect("all variables have terms");
        FunctionalWitness { vector, is_wished, matrix }
    }
}
