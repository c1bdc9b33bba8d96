//! A run of a block: from a path edge at its beginning to path edges at its ends.
//!
//! The formula of the block is copied with the values of the edge as inputs, scratch variables as choices, and the
//! summaries of the callees for calls. A summary applies wherever its entries overlap with the states at the call
//! ([errata 11](crate::errata::item_11)): the values at the call replace its entry values, and its other variables
//! become choices.

use std::rc::Rc;

use cusp_encodings::{Substitution, Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::edge::{Edge, Names};
use crate::model::{Node, ProcId, Procedure};
use crate::symbolic::block::{Block, Blocks, Instance, Role};
use crate::symbolic::scope::Scopes;

/// What is assumed about calls to a procedure.
#[derive(Clone, Debug)]
pub enum CalleeSummary {
    /// A call returns as one of the `exits` says, and fails from the entries in `failures`.
    Relations {
        /// Relations from entry to exit.
        exits: Vec<Rc<Edge>>,
        /// Sets of entries from which the call may fail.
        failures: Vec<Rc<Edge>>,
    },
    /// A call may return any values.
    Arbitrary {
        /// Whether a call may also fail.
        may_fail: bool,
    },
}

/// The result of one call as terms.
struct Applied {
    returns: Term,
    fails: Term,
    results: Vec<Term>,
}

/// A copy of a block whose inputs and calls are filled in.
#[derive(Debug)]
pub struct Run {
    /// The block.
    pub block: Rc<Block>,
    /// The edge at the beginning of the run.
    pub source: Rc<Edge>,
    instance: Instance,
    /// The terms that replace the variables of the block.
    images: FxHashMap<VarId, Term>,
}

impl Run {
    /// Runs a block. The scratch variables of earlier runs are used again.
    pub fn new(
        blocks: &Blocks<'_>,
        arena: &mut TermArena,
        names: &mut Names,
        block: Rc<Block>,
        source: Rc<Edge>,
        mut outcome: impl FnMut(ProcId) -> CalleeSummary,
    ) -> Self {
        names.begin_run();
        let mut images: FxHashMap<VarId, Term> = FxHashMap::default();
        let mut applied: Vec<Option<Applied>> = block.calls.iter().map(|_| None).collect();
        let instance = blocks.instantiate_in_order(&block, arena, |arena, instance, var| {
            let image = match block.roles.get(&var) {
                None => names.choice(arena),
                Some(Role::Input(slot)) => source.now[*slot].unwrap_or_else(|| names.choice(arena)),
                Some(&(Role::Returns(i) | Role::Fails(i) | Role::Result(i, _))) => {
                    let call = &block.calls[i];
                    let applied = applied[i].get_or_insert_with(|| {
                        let arguments = instance.terms(&call.arguments);
                        apply(arena, names, blocks.scopes, call.callee, &arguments, &outcome(call.callee))
                    });
                    match block.roles[&var] {
                        Role::Returns(_) => applied.returns,
                        Role::Fails(_) => applied.fails,
                        Role::Result(_, j) => applied.results[j],
                        Role::Input(_) => unreachable!("inputs are handled above"),
                    }
                }
            };
            images.insert(var, image);
            image
        });
        Self { block, source, instance, images }
    }

    /// The edge to an end of the block, by its position.
    pub fn arrival(&self, arena: &mut TermArena, scopes: &Scopes, position: usize) -> Edge {
        let arrival = &self.block.arrivals[position];
        let guard = arena.and(self.source.guard, self.instance.term(arrival.guard));
        let (procedure, scope) = (self.block.procedure, scopes.scope(self.block.procedure));
        let value = |(slot, &term): (usize, &Term)| {
            // At the exit, callers see only globals and return slots.
            let is_seen = arrival.node != Procedure::EXIT || scope.is_seen_by_callers(slot);
            (is_seen && scopes.is_live(procedure, arrival.node, slot)).then(|| self.instance.term(term))
        };
        let now = arrival.values.iter().enumerate().map(value).collect();
        Edge { guard, entry: self.source.entry.clone(), now }
    }

    /// The edge at the entry of a callee, by the position of the call.
    pub fn entry_of_call(
        &self,
        arena: &mut TermArena,
        names: &mut Names,
        scopes: &Scopes,
        call: usize,
    ) -> Edge {
        let call = &self.block.calls[call];
        let guard = arena.and(self.source.guard, self.instance.term(call.guard));
        let arguments = self.instance.terms(&call.arguments);
        entry_edge(arena, names, scopes, call.callee, guard, |_, _, slot| arguments[slot])
    }

    /// The condition under which the run violates the property.
    pub fn fails(&self, arena: &mut TermArena) -> Term {
        arena.and(self.source.guard, self.instance.term(self.block.fails))
    }

    /// The condition under which the run reaches a call with these arguments.
    pub fn reaches_call(&self, arena: &mut TermArena, call: usize, entry: &[Option<bool>]) -> Term {
        let call = &self.block.calls[call];
        let mut reached = arena.and(self.source.guard, self.instance.term(call.guard));
        for (&argument, value) in call.arguments.iter().zip(entry) {
            if let Some(value) = *value {
                let argument = self.instance.term(argument).complement_if(!value);
                reached = arena.and(reached, argument);
            }
        }
        reached
    }

    /// The copy of a term of the block.
    #[must_use]
    pub fn term(&self, term: Term) -> Term {
        self.instance.term(term)
    }

    /// The term that replaces a variable of the block.
    #[must_use]
    pub fn image(&self, var: VarId) -> Term {
        self.images[&var]
    }
}

/// The edge from entry states to themselves. Locals that are read before they are assigned have arbitrary values.
pub fn entry_edge(
    arena: &mut TermArena,
    names: &mut Names,
    scopes: &Scopes,
    procedure: ProcId,
    guard: Term,
    mut value: impl FnMut(&mut TermArena, &Names, usize) -> Term,
) -> Edge {
    let scope = scopes.scope(procedure);
    let passed = scope.entry_width();
    let mut entry = vec![None; passed];
    let mut now = vec![None; scope.width()];
    for slot in scopes.live_slots(procedure, Procedure::ENTRY) {
        if slot < passed {
            let value = value(arena, names, slot);
            entry[slot] = Some(value);
            now[slot] = Some(value);
        } else {
            // A new choice, because the guard may be about the caller's locals.
            now[slot] = Some(names.choice(arena));
        }
    }
    Edge { guard, entry, now }
}

/// The node at the entry of a procedure.
pub const ENTRY: Node = Procedure::ENTRY;

fn apply(
    arena: &mut TermArena,
    names: &mut Names,
    scopes: &Scopes,
    callee: ProcId,
    arguments: &[Term],
    outcome: &CalleeSummary,
) -> Applied {
    let slots = scopes.scope(callee).exit_slots();
    match outcome {
        CalleeSummary::Arbitrary { may_fail } => Applied {
            returns: Term::TRUE,
            fails: if *may_fail { names.choice(arena) } else { Term::FALSE },
            results: slots.iter().map(|_| names.choice(arena)).collect(),
        },
        CalleeSummary::Relations { exits, failures } => {
            let mut returns = Term::FALSE;
            let mut results = vec![Term::FALSE; slots.len()];
            for (position, edge) in exits.iter().enumerate() {
                let (guard, values) = pass(arena, names, edge, arguments, slots);
                if position == 0 {
                    (returns, results) = (guard, values);
                } else {
                    // The relations may overlap, so a choice selects one of them.
                    let selector = names.choice(arena);
                    returns = arena.ite(selector, guard, returns);
                    for (result, value) in results.iter_mut().zip(values) {
                        *result = arena.ite(selector, value, *result);
                    }
                }
            }
            let mut fails = Term::FALSE;
            for edge in failures {
                let (guard, _) = pass(arena, names, edge, arguments, &[]);
                fails = arena.or(fails, guard);
            }
            Applied { returns, fails, results }
        }
    }
}

/// Applies a relation to the values of a call: returns its guard, and the current values of some slots.
fn pass(
    arena: &mut TermArena,
    names: &mut Names,
    edge: &Edge,
    arguments: &[Term],
    slots: &[u32],
) -> (Term, Vec<Term>) {
    let mut map: FxHashMap<VarId, Term> = FxHashMap::default();
    let mut to_equate = Vec::new();
    for (entry, &argument) in edge.entry.iter().zip(arguments) {
        let Some(entry) = *entry else { continue };
        match arena.as_var(entry) {
            Some(var) if !map.contains_key(&var) => {
                map.insert(var, argument.complement_if(entry.is_complemented()));
            }
            _ => to_equate.push((entry, argument)),
        }
    }
    let values: Vec<Option<Term>> = slots.iter().map(|&slot| edge.now[slot as usize]).collect();
    let mut roots = vec![edge.guard];
    roots.extend(to_equate.iter().map(|&(entry, _)| entry));
    roots.extend(values.iter().copied().flatten());
    for var in arena.support(&roots) {
        map.entry(var).or_insert_with(|| names.choice(arena));
    }
    let mut substitution = Substitution::new(map);
    let mut guard = substitution.apply(arena, edge.guard);
    for (entry, argument) in to_equate {
        let entry = substitution.apply(arena, entry);
        let is_same = arena.iff(entry, argument);
        guard = arena.and(guard, is_same);
    }
    let values = values
        .into_iter()
        .map(|value| match value {
            Some(value) => substitution.apply(arena, value),
            None => names.choice(arena),
        })
        .collect();
    (guard, values)
}
