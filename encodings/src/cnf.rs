//! Translation of terms to clauses, incrementally and separately for each polarity.
//!
//! Implements: G. S. Tseitin, "On the complexity of derivation in propositional calculus", 1968 (both
//! directions of every definition), and D. A. Plaisted, S. Greenbaum, "A structure-preserving clause form
//! translation", JSC 1986 (the direction that is needed), with upgrade: the direction that was not emitted
//! is added when it is first needed.
//!
//! Guarantee (Tseitin): every assignment of the inputs extends to exactly one model of the clauses, and the
//! literal of a term has the term's value in it. Guarantee (Plaisted-Greenbaum): every assignment of the
//! inputs extends to a model in which the literals of all encoded terms have the terms' values; where a term
//! was encoded positively, the literal implies the term; where it was encoded negatively, the term implies the
//! literal.
//!
//! Cost: one variable per gate, where a gate is an exclusive disjunction, an if-then-else or an n-ary
//! conjunction; `n + 1` clauses per conjunction, 4 per exclusive disjunction, 6 per if-then-else (two of them
//! are redundant; they propagate when both branches have the same value). If one polarity suffices, half of
//! them.
//!
//! Invariant (half): a *half* is one direction of the definition of a gate. If a half of a gate is emitted, then
//! so are the halves of its inputs that it relies on. So a traversal stops at gates whose required halves have been
//! emitted already, and encoding a term a second time costs nothing.

mod clauses;
mod sink;

use std::collections::BinaryHeap;

use rustsat::types::{Lit, Var};

pub(crate) use self::sink::write_clause;
pub use self::sink::{ClauseList, ClauseSink};
use crate::gate::Gate;
use crate::term::{Term, TermArena, VarId};

/// The directions of a definition `literal <-> term`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Polarity {
    /// The literal implies the term: enough to assert or assume the literal.
    Positive,
    /// The term implies the literal: enough to assert or assume the complement of the literal.
    Negative,
    /// Both directions.
    Both,
}

/// Which directions of the definitions are emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CnfStyle {
    /// Always both directions.
    Tseitin,
    /// Only the directions that are asked for.
    PlaistedGreenbaum,
}

/// The emitted halves of a definition, and marks used during a traversal, as bits of one byte per node.
mod mark {
    pub const POSITIVE: u8 = 1;
    pub const NEGATIVE: u8 = 2;
    pub const HALVES: u8 = POSITIVE | NEGATIVE;
    /// Shift from the emitted halves to the halves that the current call adds.
    pub const TO_ADD: u32 = 2;
    /// The current traversal reached the node over two edges.
    pub const SHARED: u8 = 1 << 4;
    /// The current traversal reached the node over an uncomplemented edge of a conjunction.
    pub const CONJUNCT: u8 = 1 << 5;
    /// The node is part of the n-ary conjunction above it and has no literal of its own.
    pub const ABSORBED: u8 = 1 << 6;
}

/// The part of the term graph that one solver knows, and its literals.
///
/// Keep one encoder per solver and arena, and pass that solver (or clause list) as the sink each time.
#[derive(Clone, Debug)]
pub struct CnfEncoder {
    style: CnfStyle,
    /// For each node, one more than the number of its variable in the solver, or 0 if it has none.
    vars: Vec<u32>,
    /// For each node, the emitted halves. The other bits are used during one call only.
    marks: Vec<u8>,
}

impl CnfEncoder {
    /// An encoder that has emitted nothing.
    #[must_use]
    pub fn new(style: CnfStyle) -> Self {
        Self { style, vars: Vec::new(), marks: Vec::new() }
    }

    /// The literal of a term, after emitting those clauses of its definition that `sink` lacks.
    pub fn encode<S: ClauseSink + ?Sized>(
        &mut self,
        arena: &TermArena,
        term: Term,
        polarity: Polarity,
        sink: &mut S,
    ) -> Lit {
        if self.marks.is_empty() {
            // Zeroed memory is mapped on first touch: a small cone in a large arena stays cheap.
            self.vars = vec![0; arena.len()];
            self.marks = vec![0; arena.len()];
        } else if self.marks.len() <= term.index() {
            self.vars.resize(arena.len(), 0);
            self.marks.resize(arena.len(), 0);
        }
        let halves = match (self.style, polarity) {
            (CnfStyle::Tseitin, _) | (_, Polarity::Both) => mark::HALVES,
            (_, Polarity::Positive) => mark::POSITIVE,
            (_, Polarity::Negative) => mark::NEGATIVE,
        };
        let reached = self.reach(arena, term, halves);
        // Children before parents, so that variables are numbered from the inputs up.
        for &node in reached.iter().rev() {
            self.define(arena, node, sink);
        }
        for node in reached {
            self.marks[node.index()] &= mark::HALVES;
        }
        self.lit_of(term)
    }

    /// Makes `term` true in every model of the sink.
    pub fn assert_term<S: ClauseSink + ?Sized>(&mut self, arena: &TermArena, term: Term, sink: &mut S) {
        let lit = self.encode(arena, term, Polarity::Positive, sink);
        sink.add_clause(&[lit]);
    }

    /// The literal of a term, if it has been encoded. Perhaps only one direction of its definition has been emitted.
    #[must_use]
    pub fn literal(&self, term: Term) -> Option<Lit> {
        (*self.vars.get(term.index())? != 0).then(|| self.lit_of(term))
    }

    /// The literal of a variable, if it has been encoded.
    #[must_use]
    pub fn var_literal(&self, arena: &TermArena, var: VarId) -> Option<Lit> {
        self.literal(arena.find_var(var)?)
    }

    fn lit_of(&self, term: Term) -> Lit {
        Var::new(self.vars[term.index()] - 1).lit(term.is_complemented())
    }

    /// The nodes below `root` that lack a half they are needed for, parents before children.
    ///
    /// The node with the greatest number is handled first, so all its parents have been handled before it and
    /// have marked which halves they need. Every edge is followed once.
    fn reach(&mut self, arena: &TermArena, root: Term, halves: u8) -> Vec<Term> {
        let mut reached = Vec::new();
        let mut frontier = BinaryHeap::new();
        self.need(root, halves, 0, &mut frontier);
        while let Some(node) = frontier.pop() {
            reached.push(node);
            let halves = self.marks[node.index()] >> mark::TO_ADD & mark::HALVES;
            match Gate::of(arena, node) {
                Gate::True | Gate::Input(_) => {}
                Gate::And(a, b) => {
                    for child in [a, b] {
                        let position = if child.is_complemented() { 0 } else { mark::CONJUNCT };
                        self.need(child, halves, position, &mut frontier);
                    }
                }
                Gate::Xor(a, b) => {
                    self.need(a, mark::HALVES, 0, &mut frontier);
                    self.need(b, mark::HALVES, 0, &mut frontier);
                }
                Gate::Ite(condition, then, otherwise) => {
                    self.need(condition, mark::HALVES, 0, &mut frontier);
                    self.need(then, halves, 0, &mut frontier);
                    self.need(otherwise, halves, 0, &mut frontier);
                }
            }
        }
        reached
    }

    /// Marks that a parent needs these halves of `term`.
    fn need(&mut self, term: Term, halves: u8, position: u8, frontier: &mut BinaryHeap<Term>) {
        let marks = &mut self.marks[term.index()];
        let halves = if term.is_complemented() { halves >> 1 | (halves & 1) << 1 } else { halves };
        let missing = halves & !*marks & mark::HALVES;
        if *marks & mark::HALVES << mark::TO_ADD != 0 {
            *marks |= mark::SHARED;
        } else if missing != 0 {
            *marks |= position;
            frontier.push(term.uncomplemented());
        }
        *marks |= missing << mark::TO_ADD;
    }

    /// Gives a node its variable and emits the missing halves, unless the node is part of the conjunction above it.
    fn define<S: ClauseSink + ?Sized>(&mut self, arena: &TermArena, node: Term, sink: &mut S) {
        let index = node.index();
        let marks = self.marks[index];
        let gate = Gate::of(arena, node);
        if self.vars[index] == 0 {
            let is_lone_conjunct = marks & (mark::CONJUNCT | mark::SHARED) == mark::CONJUNCT;
            if is_lone_conjunct && matches!(gate, Gate::And(..)) {
                self.marks[index] |= mark::ABSORBED;
                return;
            }
            self.vars[index] = sink.new_var().idx32() + 1;
        }
        let to_add = marks >> mark::TO_ADD & mark::HALVES;
        self.marks[index] |= to_add;
        let output = self.lit_of(node);
        let (positive, negative) = (to_add & mark::POSITIVE != 0, to_add & mark::NEGATIVE != 0);
        match gate {
            // A node without children has no definition, so no half of it is missing from now on.
            Gate::Input(_) => self.marks[index] |= mark::HALVES,
            Gate::True => {
                self.marks[index] |= mark::HALVES;
                sink.add_clause(&[output]);
            }
            Gate::And(a, b) => {
                let conjuncts = self.conjuncts(arena, a, b);
                if positive {
                    clauses::imply_and(output, &conjuncts, sink);
                }
                if negative {
                    clauses::imply_nand(!output, &conjuncts, sink);
                }
            }
            Gate::Xor(a, b) => {
                let (a, b) = (self.lit_of(a), self.lit_of(b));
                if positive {
                    clauses::imply_xor(output, a, b, sink);
                }
                if negative {
                    clauses::imply_xor(!output, a, !b, sink);
                }
            }
            Gate::Ite(condition, then, otherwise) => {
                let [condition, then, otherwise] =
                    [condition, then, otherwise].map(|input| self.lit_of(input));
                if positive {
                    clauses::imply_ite(output, condition, then, otherwise, sink);
                }
                if negative {
                    clauses::imply_ite(!output, condition, !then, !otherwise, sink);
                }
            }
        }
    }

    /// The literals of the n-ary conjunction over `a`, `b` and the conjunctions below them that are part of
    /// it, each literal once.
    fn conjuncts(&self, arena: &TermArena, a: Term, b: Term) -> Vec<Lit> {
        let mut conjuncts = Vec::new();
        let mut stack = vec![b, a];
        while let Some(term) = stack.pop() {
            if self.marks[term.index()] & mark::ABSORBED == 0 {
                conjuncts.push(self.lit_of(term));
            } else if let Gate::And(a, b) = Gate::of(arena, term) {
                stack.extend([b, a]);
            }
        }
        conjuncts.sort_unstable();
        conjuncts.dedup();
        conjuncts
    }
}

#[cfg(test)]
mod tests;
