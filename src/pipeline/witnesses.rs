//! Witnesses for relations: what is added to a certificate so that checking it needs SAT only.
//!
//! An obligation of a [`Relations`] certificate whose states do not determine the parameters of the relation
//! they should be in is a question with two quantifiers: for all states of the obligation, is there a
//! choice of parameters that yields them? [`complete_witnesses`] asks [`cusp_solvers::inclusion`] and writes
//! the choices down. Nothing here is trusted: [`crate::certify`] checks the result like any other.

use std::fmt;

use cusp_encodings::{Node, SymbolicState, Term, TermArena, VarId};
use cusp_solvers::Limits;
use cusp_solvers::inclusion::{Containment, Inclusion, InclusionAnswer};
use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::certify::Stop;
use crate::certify::relations::{Obligation, obligations};
use crate::evidence::{Formulas, Gate, Literal, Reason, Relations, Witness};
use crate::model::Task;

/// Why there are no witnesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// The relations are malformed, not inductive, or a solver gave up on them.
    Failed(String),
    /// The user's limits are reached.
    Exhausted(Reason),
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => f.write_str(why),
            Self::Exhausted(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for Incomplete {}

impl From<Stop> for Incomplete {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Rejected(why) => Self::Failed(why),
            Stop::Exhausted(reason) => Self::Exhausted(reason),
        }
    }
}

/// Replaces the witnesses of a certificate by new ones, as many as the checker needs.
///
/// # Errors
/// If some obligation is not met, or the budget is used up. The certificate is then as it was.
pub fn complete_witnesses(
    task: &Task,
    certificate: &mut Relations,
    budget: &Budget,
) -> Result<(), Incomplete> {
    let old = std::mem::take(&mut certificate.witnesses);
    match find(task, certificate, budget) {
        Ok((formulas, witnesses)) => {
            certificate.formulas = formulas;
            certificate.witnesses = witnesses;
            certificate.needs_witnesses = false;
            Ok(())
        }
        Err(stop) => {
            certificate.witnesses = old;
            Err(stop.into())
        }
    }
}

/// All formulas, and witnesses for all obligations that need them.
fn find(task: &Task, certificate: &Relations, budget: &Budget) -> Result<(Formulas, Vec<Witness>), Stop> {
    let mut inclusion = Inclusion::new();
    inclusion.share_interrupt(&budget.solver_interrupt());
    let mut formulas = certificate.formulas.clone();
    let mut witnesses = Vec::new();
    obligations(task, certificate, budget, &mut |obligation| {
        let mut question = Question::pose(certificate, obligation);
        let Question { arena, smaller, larger, .. } = &mut question;
        match inclusion.check(arena, smaller, larger, &[], &Limits::NONE) {
            InclusionAnswer::Included(_, found) => {
                question.record(obligation, &found, &mut formulas, &mut witnesses);
                Ok(())
            }
            InclusionAnswer::NotIncluded(..) => {
                Err(Stop::Rejected(format!("obligation {} is not met", obligation.number)))
            }
            InclusionAnswer::Claimed(_) => unreachable!("the embedded solver gives witnesses"),
            InclusionAnswer::Unknown(why) => match budget.exhausted() {
                Some(reason) => Err(Stop::Exhausted(reason)),
                None => Err(Stop::Rejected(format!("obligation {}: {why}", obligation.number))),
            },
        }
    })?;
    Ok((formulas, witnesses))
}

/// An obligation as a question about two sets, in an arena of its own.
struct Question {
    arena: TermArena,
    /// The states of the obligation; its variables have their own numbers.
    smaller: SymbolicState,
    /// The union of the relations.
    larger: SymbolicState,
    /// The variables of the parameters of each relation.
    parameters: Vec<FxHashMap<u32, VarId>>,
}

impl Question {
    fn pose(certificate: &Relations, obligation: &Obligation<'_>) -> Self {
        let mut arena = TermArena::new();
        let roots: Vec<Term> =
            [obligation.guard].iter().chain(obligation.entry).chain(obligation.now).copied().collect();
        let first = obligation.first_variable.number();
        let smaller = copy(obligation.arena, &roots, &mut arena, first);
        let smaller = SymbolicState { guard: smaller[0], values: smaller[1..].to_vec() };
        let mut larger: Option<SymbolicState> = None;
        let mut parameters = Vec::with_capacity(obligation.targets.len());
        for &target in obligation.targets {
            let (state, names) = set(certificate, target, &mut arena);
            parameters.push(names);
            larger = Some(match larger {
                None => state,
                Some(others) => {
                    let choice = arena.fresh();
                    let guard = arena.ite(choice, state.guard, others.guard);
                    let pairs = state.values.into_iter().zip(others.values);
                    let values = pairs.map(|(a, b)| arena.ite(choice, a, b)).collect();
                    SymbolicState { guard, values }
                }
            });
        }
        let larger =
            larger.unwrap_or_else(|| SymbolicState { guard: Term::FALSE, values: smaller.values.clone() });
        Self { arena, smaller, larger, parameters }
    }

    /// Writes an answer down: one witness for each vector and relation.
    fn record(
        &self,
        obligation: &Obligation<'_>,
        found: &Containment,
        formulas: &mut Formulas,
        witnesses: &mut Vec<Witness>,
    ) {
        let place: FxHashMap<VarId, usize> = found.choices.iter().copied().zip(0..).collect();
        let mut writer = Writer { formulas, images: FxHashMap::default() };
        for vector in &found.vectors {
            for (i, &relation) in obligation.targets.iter().enumerate() {
                let mut value = |parameter: u32| {
                    let var = self.parameters[i].get(&parameter);
                    // A parameter that the set does not depend on may have any value.
                    let term = var.and_then(|var| place.get(var)).map_or(Term::FALSE, |&at| vector[at]);
                    writer.write(&self.arena, term)
                };
                let values = obligation.open[i].iter().map(|&p| (p, value(p))).collect();
                witnesses.push(Witness { obligation: obligation.number, relation, values });
            }
        }
    }
}

/// A relation as a set of pairs over new variables, and the variables of its parameters.
fn set(
    certificate: &Relations,
    position: u32,
    arena: &mut TermArena,
) -> (SymbolicState, FxHashMap<u32, VarId>) {
    let relation = &certificate.relations[position as usize];
    let gates = certificate.formulas.gates();
    let mut names: FxHashMap<u32, VarId> = FxHashMap::default();
    let mut images: FxHashMap<usize, Term> = FxHashMap::default();
    let mut evaluate = |arena: &mut TermArena, root: Literal| {
        let mut stack = vec![root.gate()];
        while let Some(&gate) = stack.last() {
            let image = |literal: Literal| {
                images.get(&literal.gate()).map(|term| term.complement_if(literal.is_complemented()))
            };
            let term = match gates[gate] {
                Gate::True => Term::TRUE,
                Gate::Parameter(parameter) => {
                    let var = *names.entry(parameter).or_insert_with(|| arena.fresh_var());
                    arena.var(var)
                }
                Gate::And(a, b) | Gate::Xor(a, b) => match (image(a), image(b)) {
                    (Some(left), Some(right)) if matches!(gates[gate], Gate::And(..)) => {
                        arena.and(left, right)
                    }
                    (Some(left), Some(right)) => arena.xor(left, right),
                    (None, _) => {
                        stack.push(a.gate());
                        continue;
                    }
                    (_, None) => {
                        stack.push(b.gate());
                        continue;
                    }
                },
            };
            images.insert(gate, term);
            stack.pop();
        }
        images[&root.gate()].complement_if(root.is_complemented())
    };
    let guard = evaluate(arena, relation.guard);
    let mut values = Vec::with_capacity(relation.entry.len() + relation.now.len());
    for component in relation.entry.iter().chain(&relation.now) {
        values.push(match component {
            Some(literal) => evaluate(arena, *literal),
            None => arena.fresh(),
        });
    }
    (SymbolicState { guard, values }, names)
}

/// Terms of one arena in another, with all variables moved down.
fn copy(from: &TermArena, roots: &[Term], to: &mut TermArena, first: u32) -> Vec<Term> {
    let mut images: FxHashMap<Term, Term> = FxHashMap::default();
    let image = |images: &FxHashMap<Term, Term>, term: Term| {
        images[&term.uncomplemented()].complement_if(term.is_complemented())
    };
    for term in from.cone(roots) {
        let copied = match from.node(term) {
            Node::True => Term::TRUE,
            Node::Var(var) => to.var(VarId::new(var.number() - first)),
            Node::And(a, b) => to.and(image(&images, a), image(&images, b)),
            Node::Xor(a, b) => to.xor(image(&images, a), image(&images, b)),
        };
        images.insert(term, copied);
    }
    roots.iter().map(|&root| image(&images, root)).collect()
}

/// Writes terms into a graph of gates.
struct Writer<'a> {
    formulas: &'a mut Formulas,
    images: FxHashMap<Term, Literal>,
}

impl Writer<'_> {
    fn write(&mut self, arena: &TermArena, root: Term) -> Literal {
        for term in arena.cone(&[root]) {
            if self.images.contains_key(&term) {
                continue;
            }
            let literal = match arena.node(term) {
                Node::True => Literal::TRUE,
                Node::Var(var) => self.formulas.add(Gate::Parameter(var.number())),
                Node::And(a, b) => self.formulas.add(Gate::And(self.literal(a), self.literal(b))),
                Node::Xor(a, b) => self.formulas.add(Gate::Xor(self.literal(a), self.literal(b))),
            };
            self.images.insert(term, literal);
        }
        self.literal(root)
    }

    fn literal(&self, term: Term) -> Literal {
        let literal = self.images[&term.uncomplemented()];
        if term.is_complemented() { !literal } else { literal }
    }
}
