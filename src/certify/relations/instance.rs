//! Instances of relations: their formulas as terms, with terms substituted for the parameters.
//!
//! If a component of a relation is a bare parameter, complemented or not, it determines that parameter: the term that
//! the component is compared with gives the parameter's value (the *one-point rule*). Only the other components
//! become equations, and only the other parameters need variables or witnesses.
//!
//! Invariant (rounds): the image of a gate is valid for one round only. The tables are allocated once, so a small
//! relation in a large graph costs no more than its own gates.

use cusp_encodings::Term;
use rustc_hash::FxHashMap;

use crate::certify::encode::Terms;
use crate::evidence::{Formulas, Gate, Literal};

/// Copies formulas into an arena.
pub(super) struct Instances<'a> {
    formulas: &'a Formulas,
    images: Vec<Term>,
    rounds: Vec<u32>,
    round: u32,
    bound: FxHashMap<u32, Term>,
}

impl<'a> Instances<'a> {
    pub fn new(formulas: &'a Formulas) -> Self {
        let gates = formulas.gates().len();
        let (images, rounds) = (vec![Term::TRUE; gates], vec![0; gates]);
        Self { formulas, images, rounds, round: 0, bound: FxHashMap::default() }
    }

    /// Begins a round, in which no parameter has a value yet.
    fn begin(&mut self) {
        self.bound.clear();
        if self.round == u32::MAX {
            self.rounds.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }

    /// Begins a round and compares components of a relation with terms. Returns the condition under which all
    /// components equal their terms and the relation's guard holds. A parameter that the components do not determine
    /// gets its value from `open`.
    ///
    /// # Errors
    /// Returns a parameter to which `open` gives no value.
    pub fn relate(
        &mut self,
        terms: &mut Terms,
        guard: Literal,
        components: impl Iterator<Item = (Option<Literal>, Term)>,
        open: &mut dyn FnMut(&mut Terms, u32) -> Option<Term>,
    ) -> Result<Term, u32> {
        self.begin();
        let mut equations = Vec::new();
        for (literal, term) in components {
            let Some(literal) = literal else { continue };
            match self.formulas.gates()[literal.gate()] {
                Gate::Parameter(parameter) if !self.bound.contains_key(&parameter) => {
                    self.bound.insert(parameter, term.complement_if(literal.is_complemented()));
                }
                _ => equations.push((literal, term)),
            }
        }
        let mut condition = self.evaluate(terms, guard, open)?;
        for (literal, term) in equations {
            let value = self.evaluate(terms, literal, open)?;
            let same = terms.arena.iff(value, term);
            condition = terms.arena.and(condition, same);
        }
        Ok(condition)
    }

    /// The value of a component in the current round; a fresh variable if the relation does not constrain it.
    ///
    /// # Errors
    /// Returns a parameter to which `open` gives no value.
    pub fn component(
        &mut self,
        terms: &mut Terms,
        literal: Option<Literal>,
        open: &mut dyn FnMut(&mut Terms, u32) -> Option<Term>,
    ) -> Result<Term, u32> {
        match literal {
            Some(literal) => self.evaluate(terms, literal, open),
            None => Ok(terms.fresh()),
        }
    }

    /// A formula as a term; `open` gives the values of its parameters.
    ///
    /// # Errors
    /// Returns a parameter to which `open` gives no value.
    pub fn formula(
        &mut self,
        terms: &mut Terms,
        literal: Literal,
        open: &mut dyn FnMut(&mut Terms, u32) -> Option<Term>,
    ) -> Result<Term, u32> {
        self.begin();
        self.evaluate(terms, literal, open)
    }

    fn evaluate(
        &mut self,
        terms: &mut Terms,
        root: Literal,
        open: &mut dyn FnMut(&mut Terms, u32) -> Option<Term>,
    ) -> Result<Term, u32> {
        let mut stack = vec![root.gate()];
        while let Some(&gate) = stack.last() {
            if self.rounds[gate] == self.round {
                stack.pop();
                continue;
            }
            let image = match self.formulas.gates()[gate] {
                Gate::True => Term::TRUE,
                Gate::Parameter(parameter) => {
                    let known = self.bound.get(&parameter).copied();
                    let term = known.or_else(|| open(terms, parameter)).ok_or(parameter)?;
                    self.bound.insert(parameter, term);
                    term
                }
                inner @ (Gate::And(a, b) | Gate::Xor(a, b)) => {
                    let missing =
                        [b, a].map(Literal::gate).into_iter().filter(|&g| self.rounds[g] != self.round);
                    let before = stack.len();
                    stack.extend(missing);
                    if stack.len() > before {
                        continue;
                    }
                    let (left, right) = (self.image(a), self.image(b));
                    match inner {
                        Gate::And(..) => terms.arena.and(left, right),
                        _ => terms.arena.xor(left, right),
                    }
                }
            };
            self.images[gate] = image;
            self.rounds[gate] = self.round;
            stack.pop();
        }
        Ok(self.image(root))
    }

    fn image(&self, literal: Literal) -> Term {
        self.images[literal.gate()].complement_if(literal.is_complemented())
    }
}
