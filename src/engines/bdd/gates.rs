//! Decision diagrams as formulas of certificates.

use rustc_hash::FxHashMap;

use super::diagrams::{Diagram, Variable, branch, node};
use crate::evidence::{Formulas, Gate, Literal};

/// Writes diagrams as gates. Parts that several diagrams share are written once.
pub(in crate::engines) struct Writer<N> {
    pub formulas: Formulas,
    /// The number of the parameter for a variable.
    number: N,
    parameters: FxHashMap<Variable, Literal>,
    /// The literal of each node that was written. The caller keeps all diagrams alive, so their nodes are not
    /// reused.
    written: FxHashMap<usize, Literal>,
}

impl<N: Fn(Variable) -> u32> Writer<N> {
    /// No gates yet. The parameter for a variable is given by its number.
    pub fn new(number: N) -> Self {
        let (parameters, written) = (FxHashMap::default(), FxHashMap::default());
        Self { formulas: Formulas::default(), number, parameters, written }
    }

    /// The parameter for a variable.
    pub fn parameter(&mut self, variable: Variable) -> Literal {
        let add = || self.formulas.add(Gate::Parameter((self.number)(variable)));
        *self.parameters.entry(variable).or_insert_with(add)
    }

    /// The formula of a diagram, if its node is written already.
    fn look_up(&self, diagram: &Diagram) -> Option<Literal> {
        let (node, is_complement) = node(diagram);
        self.written.get(&node).map(|&literal| if is_complement { !literal } else { literal })
    }

    /// The formula of a diagram.
    pub fn literal(&mut self, root: &Diagram) -> Literal {
        let mut open = vec![root.clone()];
        while let Some(top) = open.last() {
            if let Some(literal) = self.look_up(top) {
                open.pop();
                if open.is_empty() {
                    return literal;
                }
                continue;
            }
            let (place, is_complement) = node(top);
            let literal = match branch(top) {
                // The terminal node stands for true; false is its complement.
                None => Literal::constant(true),
                Some((variable, then, otherwise)) => match (self.look_up(&then), self.look_up(&otherwise)) {
                    (Some(then), Some(otherwise)) => {
                        let condition = self.parameter(variable);
                        let literal = self.ite(condition, then, otherwise);
                        if is_complement { !literal } else { literal }
                    }
                    (None, Some(_)) => {
                        open.push(then);
                        continue;
                    }
                    (Some(_), None) => {
                        open.push(otherwise);
                        continue;
                    }
                    (None, None) => {
                        open.extend([otherwise, then]);
                        continue;
                    }
                },
            };
            self.written.insert(place, literal);
        }
        unreachable!("the root is written last")
    }

    fn and(&mut self, a: Literal, b: Literal) -> Literal {
        self.formulas.add(Gate::And(a, b))
    }

    fn ite(&mut self, condition: Literal, then: Literal, otherwise: Literal) -> Literal {
        match (then, otherwise) {
            (Literal::TRUE, Literal::FALSE) => condition,
            (Literal::FALSE, Literal::TRUE) => !condition,
            (Literal::TRUE, _) => !self.and(!condition, !otherwise),
            (Literal::FALSE, _) => self.and(!condition, otherwise),
            (_, Literal::TRUE) => !self.and(condition, !then),
            (_, Literal::FALSE) => self.and(condition, then),
            _ if then == !otherwise => self.formulas.add(Gate::Xor(condition, otherwise)),
            _ => {
                let (holds, fails) = (self.and(condition, then), self.and(!condition, otherwise));
                !self.and(!holds, !fails)
            }
        }
    }
}
