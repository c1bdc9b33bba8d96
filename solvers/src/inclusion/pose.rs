//! A query in terms of positions: a small arena with both sets, whose choices are numbered by first use.

use cusp_encodings::term::Node;
use cusp_encodings::{CnfEncoder, CnfStyle, Substitution, SymbolicState, Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::one_point::Reduced;
use super::{Containment, Escape, InclusionAnswer, Layer, Verdict};
use crate::cadical::CadicalSolver;
use crate::interrupt::Interrupt;
use crate::qbf::copy_terms;
use crate::sat::{Answer, Limits, SatSolver, UnknownReason};

/// One query in an arena of its own.
pub(super) struct Posed {
    /// The arena of both sets and of all terms that the layers make.
    pub(super) arena: TermArena,
    /// The set that should be included in the other.
    pub(super) smaller: SymbolicState,
    /// The set that should include the other.
    pub(super) larger: SymbolicState,
    /// The caller's names of the choices of the smaller set, by position.
    pub(super) universal: Vec<VarId>,
    /// The caller's names of the choices of the larger set. Their positions follow those of the smaller set.
    pub(super) existential: Vec<VarId>,
    /// The structure of both sets, as a key for the cache.
    pub(super) key: Box<[u32]>,
    is_same: bool,
}

/// A set over choices numbered from 0, and its structure.
struct Canonical {
    arena: TermArena,
    state: SymbolicState,
    choices: Vec<VarId>,
    key: Vec<u32>,
}

impl Canonical {
    fn new(source: &TermArena, state: &SymbolicState) -> Canonical {
        let mut arena = TermArena::new();
        let mut choices = Vec::new();
        let terms = copy_terms(source, &state.terms(), &mut arena, |arena, var| {
            choices.push(var);
            arena.var(VarId::from_index(choices.len() - 1))
        });
        let mut key: Vec<u32> = Vec::with_capacity(2 * arena.len() + terms.len());
        for node in arena.terms() {
            match arena.node(node) {
                Node::True => {}
                Node::Var(var) => key.extend([var.number(), var.number()]),
                Node::And(a, b) => key.extend([a.number(), b.number()]),
                Node::Xor(a, b) => key.extend([b.number(), a.number()]),
            }
        }
        key.extend(terms.iter().map(|term| term.number()));
        Canonical { arena, state: state_of(&terms), choices, key }
    }
}

fn state_of(terms: &[Term]) -> SymbolicState {
    SymbolicState { guard: terms[0], values: terms[1..].to_vec() }
}

impl Posed {
    pub(super) fn new(arena: &TermArena, smaller: &SymbolicState, larger: &SymbolicState) -> Posed {
        let mine = Canonical::new(arena, smaller);
        let theirs = Canonical::new(arena, larger);
        let mut key = vec![mine.key.len() as u32];
        key.extend_from_slice(&mine.key);
        key.extend_from_slice(&theirs.key);
        let is_same = mine.key == theirs.key;
        let mut own = mine.arena;
        // All choices get a variable, even if no term uses them any more.
        for number in 0..mine.choices.len() + theirs.choices.len() {
            own.var(VarId::from_index(number));
        }
        let offset = mine.choices.len();
        let terms = copy_terms(&theirs.arena, &theirs.state.terms(), &mut own, |own, var| {
            own.var(VarId::from_index(offset + var.index()))
        });
        Posed {
            arena: own,
            smaller: mine.state,
            larger: state_of(&terms),
            universal: mine.choices,
            existential: theirs.choices,
            key: key.into_boxed_slice(),
            is_same,
        }
    }

    /// Whether the sets are the same terms up to the names of choices.
    pub(super) fn is_same(&self) -> bool {
        self.is_same
    }

    /// The vector that maps every choice of the larger set to the choice at the same position of the smaller set.
    pub(super) fn identity(&mut self) -> Vec<Term> {
        (0..self.existential.len()).map(|number| self.arena.var(VarId::from_index(number))).collect()
    }

    /// The formula `guard & values = values of the smaller set`, for a set over any variables of the query.
    pub(super) fn equals(&mut self, other: &SymbolicState) -> Term {
        let mut matrix = other.guard;
        for (&mine, &theirs) in self.smaller.values.iter().zip(&other.values) {
            let is_same = self.arena.iff(mine, theirs);
            matrix = self.arena.and(matrix, is_same);
        }
        matrix
    }

    /// The larger set with terms substituted for its choices.
    pub(super) fn substitute(&mut self, vector: &[Term]) -> SymbolicState {
        let offset = self.universal.len();
        let map = vector.iter().enumerate().map(|(j, &term)| (VarId::from_index(offset + j), term));
        let mut substitution = Substitution::new(map);
        state_of(&substitution.apply_all(&mut self.arena, &self.larger.terms()))
    }

    /// Whether a vector is a witness for all states of the smaller set; takes one SAT call.
    pub(super) fn is_witness(
        &mut self,
        vector: &[Term],
        limits: &Limits,
        interrupt: &Interrupt,
    ) -> Result<bool, UnknownReason> {
        let image = self.substitute(vector);
        let equals = self.equals(&image);
        Ok(self.find_universal(!equals, limits, interrupt)?.is_none())
    }

    /// Choices of the smaller set that make its guard and `term` true, if there are any; takes one SAT call.
    pub(super) fn find_universal(
        &mut self,
        term: Term,
        limits: &Limits,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<bool>>, UnknownReason> {
        let goal = self.arena.and(self.smaller.guard, term);
        if let Some(Term::FALSE) = goal.as_constant().map(Term::constant) {
            return Ok(None);
        }
        let mut solver = CadicalSolver::new();
        solver.share_interrupt(interrupt);
        let mut encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
        encoder.assert_term(&self.arena, goal, &mut solver);
        match solver.solve(&[], limits) {
            Answer::Unsat => Ok(None),
            Answer::Unknown(reason) => Err(reason),
            Answer::Sat => Ok(Some(
                (0..self.universal.len())
                    .map(|number| {
                        let lit = encoder.var_literal(&self.arena, VarId::from_index(number));
                        lit.is_some_and(|lit| solver.value(lit))
                    })
                    .collect(),
            )),
        }
    }

    /// The caller's map as a vector over positions; `None` if it says nothing about the choices that are left.
    pub(super) fn hint(
        &mut self,
        source: &TermArena,
        provenance: &[(VarId, Term)],
        reduced: &Reduced,
    ) -> Option<Vec<Term>> {
        let numbers: FxHashMap<VarId, usize> =
            self.universal.iter().enumerate().map(|(number, &var)| (var, number)).collect();
        let mapped: FxHashMap<VarId, Term> = provenance.iter().copied().collect();
        let mut says_something = false;
        let mut hint = Vec::with_capacity(self.existential.len());
        for (position, choice) in self.existential.iter().enumerate() {
            if let Some(definition) = reduced.definition(position) {
                hint.push(definition);
                continue;
            }
            let root = mapped
                .get(choice)
                .copied()
                .or_else(|| source.find_var(*choice).filter(|_| numbers.contains_key(choice)));
            hint.push(root.map_or(Term::FALSE, |root| {
                says_something = true;
                copy_terms(source, &[root], &mut self.arena, |own, var| {
                    // The smaller set does not depend on this variable, so any value may be used for it.
                    numbers.get(&var).map_or(Term::FALSE, |&number| own.var(VarId::from_index(number)))
                })[0]
            }));
        }
        says_something.then_some(hint)
    }

    /// Translates a verdict to the caller's terms.
    pub(super) fn answer(&self, arena: &mut TermArena, layer: Layer, verdict: &Verdict) -> InclusionAnswer {
        match verdict {
            Verdict::Included(vectors) => {
                let width = self.existential.len();
                let terms = copy_terms(&self.arena, &vectors.concat(), arena, |arena, var| {
                    arena.var(self.universal[var.index()])
                });
                let vectors = (0..vectors.len()).map(|i| terms[i * width..(i + 1) * width].to_vec());
                let vectors = vectors.collect();
                InclusionAnswer::Included(layer, Containment { choices: self.existential.clone(), vectors })
            }
            Verdict::Claimed => InclusionAnswer::Claimed(layer),
            Verdict::NotIncluded(values) => {
                let choices = self.universal.iter().copied().zip(values.iter().copied()).collect();
                InclusionAnswer::NotIncluded(layer, Escape { choices })
            }
        }
    }
}
