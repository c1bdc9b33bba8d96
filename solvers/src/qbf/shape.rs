//! The matrix as a circuit: recognises if-then-else gates, and computes what each gate depends on and which gates use
//! it.
//!
//! Variables are numbered: first the universal ones, `x0 .. x(u-1)`, then the existential ones.

use cusp_encodings::term::Node;
use cusp_encodings::{Term, TermArena, VarId};

/// The kind of a node, without the complement bit of the edge to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The constant true.
    True,
    /// A variable, by number.
    Var(usize),
    /// A conjunction that is not part of an if-then-else.
    And(Term, Term),
    /// An exclusive disjunction.
    Xor(Term, Term),
    /// An if-then-else: condition, then-branch, else-branch.
    Ite(Term, Term, Term),
}

impl Shape {
    /// The shape of the node under `term`.
    pub(crate) fn of(arena: &TermArena, term: Term) -> Shape {
        match arena.node(term) {
            Node::True => Shape::True,
            Node::Var(var) => Shape::Var(var.index()),
            Node::Xor(a, b) => Shape::Xor(a, b),
            Node::And(a, b) => match arena.as_ite(term.uncomplemented()) {
                Some((condition, then, otherwise)) => Shape::Ite(condition, then, otherwise),
                None => Shape::And(a, b),
            },
        }
    }

    /// The inputs of the gate.
    pub(crate) fn inputs(self) -> impl Iterator<Item = Term> {
        let inputs = match self {
            Shape::True | Shape::Var(_) => [None, None, None],
            Shape::And(a, b) | Shape::Xor(a, b) => [Some(a), Some(b), None],
            Shape::Ite(condition, then, otherwise) => [Some(condition), Some(then), Some(otherwise)],
        };
        inputs.into_iter().flatten()
    }
}

/// A conjunct of the matrix, with the existential variables in it, numbered from 0.
#[derive(Debug)]
pub(crate) struct Conjunct {
    pub(crate) term: Term,
    existential: Vec<usize>,
}

impl Conjunct {
    /// Whether one of these existential variables occurs in the conjunct.
    pub(crate) fn mentions(&self, is_meant: &[bool]) -> bool {
        self.existential.iter().any(|&j| is_meant[j])
    }
}

/// The gates of one matrix.
#[derive(Debug)]
pub(crate) struct Circuit {
    /// The term that the circuit computes.
    pub(crate) matrix: Term,
    /// The number of universal variables.
    pub(crate) universal: usize,
    /// The number of existential variables.
    pub(crate) existential: usize,
    /// The gates, uncomplemented, children first.
    pub(crate) gates: Vec<Term>,
    /// Terms without existential variables that are true under every counterexample: where one of them is false, the
    /// matrix is true for all existential values.
    pub(crate) premises: Vec<Term>,
    /// The conjuncts of the matrix where the premises hold.
    pub(crate) conjuncts: Vec<Conjunct>,
    shapes: Vec<Shape>,
    is_open: Vec<bool>,
    parents: Vec<Vec<Term>>,
}

impl Circuit {
    /// Builds the circuit of all gates below `matrix`.
    pub(crate) fn new(arena: &TermArena, matrix: Term, universal: usize, existential: usize) -> Circuit {
        let size = matrix.index() + 1;
        let mut circuit = Circuit {
            matrix,
            universal,
            existential,
            gates: Vec::new(),
            premises: Vec::new(),
            conjuncts: Vec::new(),
            shapes: vec![Shape::True; size],
            is_open: vec![false; size],
            parents: vec![Vec::new(); size],
        };
        let mut is_known = vec![false; size];
        let mut stack = vec![matrix];
        while let Some(term) = stack.pop() {
            if !std::mem::replace(&mut is_known[term.index()], true) {
                let shape = Shape::of(arena, term);
                circuit.shapes[term.index()] = shape;
                circuit.gates.push(term.uncomplemented());
                for input in shape.inputs() {
                    circuit.parents[input.index()].push(term.uncomplemented());
                    stack.push(input);
                }
            }
        }
        circuit.gates.sort_unstable();
        for &gate in &circuit.gates {
            circuit.is_open[gate.index()] = match circuit.shapes[gate.index()] {
                Shape::Var(number) => number >= universal,
                shape => shape.inputs().any(|input| circuit.is_open[input.index()]),
            };
        }
        circuit.split(arena);
        circuit
    }

    /// Computes the premises and conjuncts.
    fn split(&mut self, arena: &TermArena) {
        let (mut open, mut stack) = (Vec::new(), vec![!self.matrix]);
        while let Some(term) = stack.pop() {
            if let (false, Shape::And(a, b)) = (term.is_complemented(), self.shape(term)) {
                stack.extend([b, a]);
            } else if !self.is_open(term) {
                self.premises.push(term);
            } else {
                open.push(term);
            }
        }
        let mut stack = if let [only] = open[..] { vec![!only] } else { vec![self.matrix] };
        while let Some(term) = stack.pop() {
            match self.shape(term) {
                Shape::And(a, b) if !term.is_complemented() => stack.extend([b, a]),
                _ => {
                    let support = arena.support(&[term]).into_iter().map(VarId::index);
                    let existential = support.filter(|&number| number >= self.universal);
                    let existential = existential.map(|number| number - self.universal).collect();
                    self.conjuncts.push(Conjunct { term, existential });
                }
            }
        }
    }

    /// The shape of a gate of the circuit.
    pub(crate) fn shape(&self, term: Term) -> Shape {
        self.shapes[term.index()]
    }

    /// Whether a gate depends on an existential variable.
    pub(crate) fn is_open(&self, term: Term) -> bool {
        self.is_open[term.index()]
    }

    /// The gates that have a gate as input.
    pub(crate) fn parents(&self, term: Term) -> &[Term] {
        &self.parents[term.index()]
    }
}
