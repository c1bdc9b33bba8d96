//! Functional witnesses: turns a witness at one point into terms that are witnesses at many points.
//!
//! Given a point `(x*, y*)` where the matrix is true, the walk gives every existential variable a term over the
//! universal ones. It starts at the matrix and asks every gate with existential variables to equal a term over `x`.
//! The matrix should be `true`. A conjunction that should be true passes `true` to both inputs. An equality between a
//! side with and a side without existential variables passes the latter to the former. A variable takes the term that
//! it is asked to equal. Where there are several possibilities, the structure of the wanted term decides if it
//! matches, and otherwise the point does: the condition of an if-then-else becomes a constant and the selected branch
//! is followed; one input of an exclusive disjunction becomes constant and the other is solved for.
//!
//! Implements the refinement step of the counterexample-guided solver, see [`super::embedded`]. Every vector of terms
//! is sound; a good one is a witness at many points.
//!
//! Invariant (image): a gate has an image as soon as the terms chosen so far determine it, and the image is the gate
//! with these terms substituted.
//!
//! Invariant (agreement): under [`Trust::Point`], every term that a gate is asked to equal has at `x*` the value that
//! the gate has at the point. Hence `t(x*) = y*`, and the matrix is true there.

mod decide;
mod matching;

use cusp_encodings::{Term, TermArena, VarId};

use super::point::Point;
use super::shape::{Circuit, Shape};

/// What decides where there are several possibilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The structure, also for the branches to follow. The result need not be a witness at the point.
    Shape,
    /// The structure; the point only selects branches. The result need not be a witness at the point.
    Branches,
    /// The point; structure counts only where it agrees with the point.
    Point,
}

/// The result of a walk.
#[derive(Clone, Debug)]
pub(crate) struct FunctionalWitness {
    /// One term over the universal variables for each existential variable.
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
    /// Tells whether to stop looking for good terms; the remaining variables then become constant.
    stop: &'a dyn Fn() -> bool,
    /// For each gate, the term that it should equal.
    wishes: Vec<Option<Term>>,
    /// For each gate, the term that it equals.
    images: Vec<Option<Term>>,
    is_settled: Vec<bool>,
    /// For each gate, whether it was compared with the premises.
    is_compared: Vec<bool>,
    /// Gates with a wish or with a new image of an input, which have to be examined.
    queue: Vec<Term>,
    /// Gates with a wish that can be met in several ways.
    pending: Vec<Term>,
    /// Variables that are asked to be constant. They are decided late, since any other term is better.
    late: Vec<Term>,
}

impl<'a> Walk<'a> {
    /// Gives every existential variable a term; variables with a given term keep it. The point has values for all
    /// variables. When told to stop, the walk uses constants for the rest.
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

    /// Asks `term` to equal `goal`; only the first wish for a gate counts.
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

    /// Passes the wish of a gate to its inputs as long as there is only one way to do so.
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

    /// Records the term that a gate equals, and the images of other gates that follow from it.
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

    /// Uses constants for variables without a wish, and returns the result.
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
