//! Applies the one-point rule: `exists y. y = t & F(y)` is `F(t)`.
//!
//! An equation `value of A = y` defines `y`, also if `y` is complemented or in an exclusive disjunction with terms
//! without existential choices. A conjunct `y` of the guard defines `y`, too. Substituting a definition may remove
//! the existential choices from other terms and so yield further definitions. The rule is applied until nothing
//! changes. The result is equivalent; if no existential choice is left, one SAT call decides.

use cusp_encodings::term::Node;
use cusp_encodings::{Substitution, SymbolicState, Term, TermArena, VarId};

use super::Verdict;
use super::pose::Posed;
use crate::interrupt::Interrupt;
use crate::qbf::Question;
use crate::sat::{Limits, UnknownReason};

/// The query without the choices that have a definition.
pub(super) struct Reduced {
    universal: usize,
    /// For each choice of the larger set, its definition over the universal variables, if it has one.
    definitions: Vec<Option<Term>>,
    /// The positions of the choices that are left.
    left: Vec<usize>,
    /// The formula `guard of A -> guard of B & values = values`, after substitution.
    matrix: Term,
}

/// Applies the rule until nothing changes.
pub(super) fn reduce(posed: &mut Posed) -> Reduced {
    let universal = posed.universal.len();
    let mut definitions: Vec<Option<Term>> = vec![None; posed.existential.len()];
    let mut current = posed.larger.clone();
    loop {
        let mut found: Vec<(VarId, Term)> = Vec::new();
        let mut define = |var: VarId, term: Term| {
            let slot = &mut definitions[var.index() - universal];
            if slot.is_none() {
                *slot = Some(term);
                found.push((var, term));
            }
        };
        for (&mine, &theirs) in posed.smaller.values.iter().zip(&current.values) {
            if let Some((var, rest)) = open_variable(&posed.arena, theirs, universal) {
                let rest = posed.arena.xor(rest, mine);
                define(var, rest);
            }
        }
        for conjunct in conjuncts(&posed.arena, current.guard) {
            if let Node::Var(var) = posed.arena.node(conjunct)
                && var.index() >= universal
            {
                define(var, Term::constant(!conjunct.is_complemented()));
            }
        }
        if found.is_empty() {
            break;
        }
        let terms = Substitution::new(found).apply_all(&mut posed.arena, &current.terms());
        current = SymbolicState { guard: terms[0], values: terms[1..].to_vec() };
    }
    let equals = posed.equals(&current);
    let matrix = posed.arena.implies(posed.smaller.guard, equals);
    let support = posed.arena.support(&[equals]);
    let left = support.into_iter().filter(|var| var.index() >= universal);
    let left = left.map(|var| var.index() - universal).collect();
    Reduced { universal, definitions, left, matrix }
}

/// Decomposes a term into an existential variable and the exclusive disjunction of terms without existential choices.
fn open_variable(arena: &TermArena, term: Term, universal: usize) -> Option<(VarId, Term)> {
    // Chains of exclusive disjunctions are rare and short; after rewriting, the part without existential choices is
    // one term.
    let sign = Term::constant(term.is_complemented());
    let as_open = |term: Term| arena.as_var(term).filter(|var| var.index() >= universal);
    let is_closed = |term: Term| arena.support(&[term]).iter().all(|var| var.index() < universal);
    match arena.node(term) {
        Node::Var(var) if var.index() >= universal => Some((var, sign)),
        Node::Xor(a, b) => match (as_open(a), as_open(b)) {
            (Some(var), None) if is_closed(b) => Some((var, b.complement_if(sign == Term::TRUE))),
            (None, Some(var)) if is_closed(a) => Some((var, a.complement_if(sign == Term::TRUE))),
            _ => None,
        },
        _ => None,
    }
}

/// The operands of nested conjunctions.
fn conjuncts(arena: &TermArena, term: Term) -> Vec<Term> {
    let (mut conjuncts, mut stack) = (Vec::new(), vec![term]);
    while let Some(term) = stack.pop() {
        match arena.node(term) {
            Node::And(a, b) if !term.is_complemented() => stack.extend([b, a]),
            _ => conjuncts.push(term),
        }
    }
    conjuncts
}

impl Reduced {
    /// How many choices the rule removed.
    pub(super) fn removed(&self) -> usize {
        self.definitions.iter().flatten().count()
    }

    /// Whether no existential choice is left.
    pub(super) fn is_closed(&self) -> bool {
        self.left.is_empty()
    }

    /// The definition of a choice, if the rule found one.
    pub(super) fn definition(&self, position: usize) -> Option<Term> {
        self.definitions[position]
    }

    /// The query about the choices that are left.
    pub(super) fn question(&self) -> Question {
        Question {
            universal: (0..self.universal).map(VarId::from_index).collect(),
            existential: self.left.iter().map(|&j| VarId::from_index(self.universal + j)).collect(),
            matrix: self.matrix,
        }
    }

    /// Restricts a vector for all choices to those that are left.
    pub(super) fn restrict(&self, vector: &[Term]) -> Vec<Term> {
        self.left.iter().map(|&position| vector[position]).collect()
    }

    /// Extends a vector for the choices that are left by the definitions of the others.
    pub(super) fn extend(&self, vector: &[Term]) -> Vec<Term> {
        let mut whole: Vec<Term> = self.definitions.iter().map(|term| term.unwrap_or(Term::FALSE)).collect();
        for (&position, &term) in self.left.iter().zip(vector) {
            whole[position] = term;
        }
        whole
    }

    /// Decides the query by one SAT call; no existential choice may be left.
    pub(super) fn decide_closed(
        &self,
        posed: &mut Posed,
        limits: &Limits,
        interrupt: &Interrupt,
        sat_calls: &mut u64,
    ) -> Result<Verdict, UnknownReason> {
        *sat_calls += 1;
        Ok(match posed.find_universal(!self.matrix, limits, interrupt)? {
            Some(values) => Verdict::NotIncluded(values),
            None => Verdict::Included(vec![self.extend(&[])]),
        })
    }
}
