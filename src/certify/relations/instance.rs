//! Relations as terms: their formulas with terms in the place of parameters.
//!
//! A component of a relation that is a bare parameter, complemented or not, determines it: whatever the
//! component is compared with is the parameter's value (the *one-point rule*). Only the other
//! components are equations, and only the other parameters need variables or witnesses.
//!
//! Invariant (rounds): the image of a gate counts for one round only, so the tables are allocated once and a
//! small relation in a large graph costs what its own gates cost.

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

    /// Begins a round: no parameter has a value.
    fn begin(&mut self) {
        self.bound.clear();
        if self.round == u32::MAX {
            self.rounds.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }

    /// Begins a round, compares components of a relation with terms, and evaluates its guard: the
    /// condition under which they agree. A parameter that they do not determine gets its value from `open`;
    /// if it has none, there is no condition.
    ///
    /// # Errors
    /// The parameter that has no value.
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

    /// The value of a component in the current round; any value if there is none.
    ///
    /// # Errors
    /// A parameter that has no value.
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

    /// A formula with the values of its parameters, which `open` gives.
    ///
    /// # Errors
    /// A parameter that has no value.
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
