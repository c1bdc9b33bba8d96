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

mod decide;
mod matching;

use cusp_encodings::{Term, TermArena, VarId};

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
    /// The matrix with the terms substituted.
    pub(crate) matrix: Term,
}

/// One walk from the matrix down to the variables.
pub(crate) struct Walk<'a> {
    circuit: &'a Circuit,
    arena: &'a mut TermArena,
    point: &'a mut Point,
    trust: Trust,
    /// Whether there is no time left for good terms; constants will do.
    stop: &'a dyn Fn() -> bool,
    /// Per gate what it should equal.
    wishes: Vec<Option<Term>>,
    /// Per gate what it equals.
    images: Vec<Option<Term>>,
    is_settled: Vec<bool>,
    /// Per gate whether it was compared with the premises.
    is_compared: Vec<bool>,
    /// Gates with a wish or a new image below, to be looked at.
    queue: Vec<Term>,
    /// Gates with a wish and several ways down.
    pending: Vec<Term>,
    /// Variables that are asked to be constant: anything that says more goes first.
    late: Vec<Term>,
}

impl<'a> Walk<'a> {
    /// Gives every existential variable a term, the given one if there is one. The point holds values for all
    /// variables. When told to stop, the walk takes constants for the rest.
    pub(crate) fn run(
        circuit: &'a Circuit,
        arena: &'a mut TermArena,
        point: &'a mut Point,
        trust: Trust,
        given: &[Option<Term>],
        stop: &'a dyn Fn() -> bool,
    ) -> FunctionalWitness {
        let size = circuit.matrix.index() + 1;
        let mut walk = Walk {
            circuit,
            arena,
            point,
            trust,
            stop,
            wishes: vec![None; size],
            images: vec![None; size],
            is_settled: vec![false; size],
            is_compared: vec![false; size],
            queue: Vec::new(),
            pending: Vec::new(),
            late: Vec::new(),
        };
        for &gate in &circuit.gates {
            if !circuit.is_open(gate) {
                walk.images[gate.index()] = Some(gate);
            }
        }
        for (number, term) in (circuit.universal..).zip(given) {
            let var = walk.arena.find_var(VarId::from_index(number));
            if let (Some(var), Some(term)) = (var.filter(|var| var.index() < size), term) {
                walk.set_image(var, *term);
            }
        }
        walk.wish(circuit.matrix, Term::TRUE);
        loop {
            walk.propagate();
            if stop() || !walk.decide() {
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

    fn postpone(&mut self, gate: Term) {
        if !self.is_settled[gate.index()] {
            self.pending.push(gate);
        }
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
        for number in circuit.universal..circuit.universal + circuit.existential {
            let var = self.arena.find_var(VarId::from_index(number));
            let var = var.filter(|var| var.index() < self.images.len());
            let image = var.and_then(|var| self.image(var));
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
        FunctionalWitness { vector, matrix }
    }
}
