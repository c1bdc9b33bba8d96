//! Converts the tables of relations into a certificate.

use std::rc::Rc;

use cusp_encodings::{Node as TermNode, Term, TermArena};
use rustc_hash::{FxHashMap, FxHashSet};

use super::edge::Edge;
use super::tables::{Key, Tables};
use crate::evidence::{Formulas, Gate, Literal, Place, Relation, Relations};
use crate::model::{Program, Var};
use crate::symbolic::scope::Scopes;

/// The certificate that consists of the relations known at these places.
#[must_use]
pub fn relations(tables: &Tables<'_>, keys: impl IntoIterator<Item = Key>) -> Relations {
    let known = |key: Key| tables.table(key).known().iter().map(move |edge| (key, Rc::clone(edge)));
    edges(tables, keys.into_iter().flat_map(known))
}

/// The certificate that consists of these relations.
#[must_use]
pub fn edges(tables: &Tables<'_>, edges: impl IntoIterator<Item = (Key, Rc<Edge>)>) -> Relations {
    let blocks = tables.blocks;
    let mut exporter =
        Exporter { arena: &tables.arena, formulas: Formulas::default(), literals: FxHashMap::default() };
    let mut covered: FxHashSet<Key> = FxHashSet::default();
    let mut relations: Vec<Relation> = Vec::new();
    for (key, edge) in edges {
        covered.insert(key);
        relations.push(exporter.relation(&blocks.task.program, blocks.scopes, key, &edge));
    }
    // Loop heads that no run reaches are cuts as well, with the empty relation.
    for id in blocks.task.program.procedure_ids() {
        for node in blocks.cuts(id).heads() {
            let key = (id, Place::Node(node));
            if !covered.contains(&key) {
                let scope = blocks.scopes.scope(id);
                let (entry, now) = (vec![None; scope.entry_width()], vec![None; scope.width()]);
                let nothing = Edge { guard: Term::FALSE, entry, now };
                relations.push(exporter.relation(&blocks.task.program, blocks.scopes, key, &nothing));
            }
        }
    }
    relations.sort_by_key(|relation| (relation.procedure, relation.place));
    // If relations were kept in parametric form, their states do not determine the values of the parameters.
    let needs_witnesses = tables.copies > 0;
    Relations { formulas: exporter.formulas, relations, witnesses: Vec::new(), needs_witnesses }
}

struct Exporter<'a> {
    arena: &'a TermArena,
    formulas: Formulas,
    /// The literal of each gate that was written: gates for nodes of the arena, and parameters for globals that are
    /// passed through.
    literals: FxHashMap<Gate, Literal>,
}

impl Exporter<'_> {
    fn relation(&mut self, program: &Program, scopes: &Scopes, key: Key, edge: &Edge) -> Relation {
        let (procedure, place) = key;
        let scope = scopes.scope(procedure);
        let guard = self.literal(edge.guard);
        let mut entry =
            Vec::with_capacity(program.globals.len() + program.procedure(procedure).params as usize);
        let mut now = Vec::with_capacity(program.globals.len() + program.procedure(procedure).locals.len());
        for global in 0..program.globals.len() as u32 {
            // A procedure that does not write a global passes it through unchanged, even if the global is not live.
            let slot = scope.slot(Var::Global(global));
            let changed = slot.filter(|&slot| scopes.may_write(procedure, slot));
            if let Some(slot) = changed {
                entry.push(edge.entry[slot].map(|term| self.literal(term)));
                now.push(edge.now.get(slot).copied().flatten().map(|term| self.literal(term)));
            } else {
                let passed = match slot.and_then(|slot| edge.entry[slot]) {
                    Some(term) => self.literal(term),
                    None => self.gate(Gate::Parameter(u32::MAX - global)),
                };
                entry.push(Some(passed));
                now.push(Some(passed));
            }
        }
        let first = scope.globals().len();
        entry.extend(edge.entry[first..].iter().map(|term| term.map(|term| self.literal(term))));
        if place == Place::Failure {
            now.clear();
        } else {
            now.extend(edge.now[first..].iter().map(|term| term.map(|term| self.literal(term))));
        }
        Relation { procedure, place, guard, entry, now }
    }

    fn gate(&mut self, gate: Gate) -> Literal {
        *self.literals.entry(gate).or_insert_with(|| self.formulas.add(gate))
    }

    fn literal(&mut self, term: Term) -> Literal {
        if let Some(value) = term.as_constant() {
            return Literal::constant(value);
        }
        let mut made: FxHashMap<Term, Literal> = FxHashMap::default();
        made.insert(Term::TRUE, Literal::TRUE);
        let edge = |made: &FxHashMap<Term, Literal>, term: Term| {
            let literal = made[&term.uncomplemented()];
            if term.is_complemented() { !literal } else { literal }
        };
        for node in self.arena.cone(&[term]) {
            let literal = match self.arena.node(node) {
                TermNode::True => Literal::TRUE,
                TermNode::Var(var) => self.gate(Gate::Parameter(var.number())),
                TermNode::And(a, b) => {
                    let gate = Gate::And(edge(&made, a), edge(&made, b));
                    self.gate(gate)
                }
                TermNode::Xor(a, b) => {
                    let gate = Gate::Xor(edge(&made, a), edge(&made, b));
                    self.gate(gate)
                }
            };
            made.insert(node, literal);
        }
        edge(&made, term)
    }
}
