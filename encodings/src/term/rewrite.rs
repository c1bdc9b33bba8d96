//! Conjunction and exclusive disjunction with local rewriting.
//!
//! Implements: R. Brummayer, A. Biere, "Local Two-Level And-Inverter Graph Minimization without Blowup",
//! MEMICS 2006, extended by native exclusive disjunction.
//!
//! Every rule looks at the operands and at most one level below them. Its result is an existing term, or the
//! request with an operand replaced by one of its descendants; so a request creates at most one node. Rules
//! are tried in the order in which they are written, with the operands in both orders. Each rule has a test
//! that is named after it.

use super::{Node, Term, TermArena};

/// The largest number of replacements in one request. Longer sequences occur in contrived inputs only; the
/// limit makes every request take constant time.
const MAX_STEPS: usize = 8;

/// A request, or the result of a rule.
#[derive(Clone, Copy)]
enum Request {
    /// An existing term.
    Known(Term),
    /// A conjunction.
    And(Term, Term),
    /// A complemented conjunction.
    Nand(Term, Term),
    /// An exclusive disjunction.
    Xor(Term, Term),
}
use Request::{And, Known, Nand, Xor};

impl TermArena {
    /// Conjunction.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.build(And(a, b))
    }

    /// Exclusive disjunction.
    pub fn xor(&mut self, a: Term, b: Term) -> Term {
        self.build(Xor(a, b))
    }

    /// Rewrites a request until no rule matches, then interns it.
    fn build(&mut self, mut request: Request) -> Term {
        let mut complement = false;
        let mut steps = 0;
        loop {
            let (rewritten, node) = match request {
                Known(term) => return term.complement_if(complement),
                Nand(a, b) => {
                    complement = !complement;
                    (Some(And(a, b)), [0, 0])
                }
                And(a, b) => {
                    let (a, b) = (a.min(b), a.max(b));
                    (and_of_related(a, b).or_else(|| self.and_of_gates(a, b, steps)), [a.0, b.0])
                }
                Xor(a, b) => {
                    complement ^= a.is_complemented() ^ b.is_complemented();
                    let (a, b) = (a.uncomplemented(), b.uncomplemented());
                    let (a, b) = (a.min(b), a.max(b));
                    (xor_of_related(a, b).or_else(|| self.xor_of_gates(a, b, steps)), [b.0, a.0])
                }
            };
            match rewritten {
                Some(next) => request = next,
                None => return self.intern(node).complement_if(complement),
            }
            steps += 1;
        }
    }

    /// Two-level rules for conjunction.
    fn and_of_gates(&self, a: Term, b: Term, steps: usize) -> Option<Request> {
        if steps >= MAX_STEPS {
            return None;
        }
        let (below_a, below_b) = (self.node(a), self.node(b));
        and_of_gate_and_term((a, below_a), b)
            .or_else(|| and_of_gate_and_term((b, below_b), a))
            .or_else(|| and_of_two_ands((a, below_a), (b, below_b)))
    }

    /// Two-level rules for exclusive disjunction.
    fn xor_of_gates(&self, a: Term, b: Term, steps: usize) -> Option<Request> {
        if steps >= MAX_STEPS {
            return None;
        }
        let (below_a, below_b) = (self.node(a), self.node(b));
        xor_of_gate_and_term(below_a, b)
            .or_else(|| xor_of_gate_and_term(below_b, a))
            .or_else(|| xor_of_two_xors(below_a, below_b))
    }
}

/// One-level rules; `a <= b`.
///
/// ```text
/// neutrality     match: and(true, b)   result: b
/// boundedness    match: and(false, b)  result: false
/// idempotence    match: and(a, a)      result: a
/// contradiction  match: and(a, !a)     result: false
/// ```
fn and_of_related(a: Term, b: Term) -> Option<Request> {
    match a {
        Term::TRUE => Some(Known(b)),
        Term::FALSE => Some(Known(Term::FALSE)),
        _ if a == b => Some(Known(a)),
        _ if a == !b => Some(Known(Term::FALSE)),
        _ => None,
    }
}

/// Rules for a gate and one of its children.
///
/// ```text
/// absorption              match: and(p & q, p)     result: p & q
/// deep contradiction      match: and(p & q, !p)    result: false
/// subsumption             match: and(!(p & q), !p) result: !p
/// substitution            match: and(!(p & q), p)  result: and(p, !q)
/// substitution into xor   match: and(p ^ q, p)     result: and(p, !q)
///                         match: and(p ^ q, !p)    result: and(!p, q)
/// ```
fn and_of_gate_and_term((gate, below): (Term, Node), term: Term) -> Option<Request> {
    match below {
        Node::And(p, q) => {
            let negative = gate.is_complemented();
            if term == p || term == q {
                let other = if term == p { q } else { p };
                Some(if negative { And(term, !other) } else { Known(gate) })
            } else if term == !p || term == !q {
                Some(Known(if negative { term } else { Term::FALSE }))
            } else {
                None
            }
        }
        Node::Xor(p, q) => {
            let other = match term.uncomplemented() {
                same if same == p => q,
                same if same == q => p,
                _ => return None,
            };
            // If `term` holds, the value of its node is the opposite of its complement bit.
            Some(And(term, other.complement_if(gate.is_complemented() == term.is_complemented())))
        }
        Node::True | Node::Var(_) => None,
    }
}

/// Rules for two conjunctions with related children.
///
/// ```text
/// symmetric contradiction  match: and(p & q, !p & r)       result: false
/// symmetric idempotence    match: and(p & q, p & r)        result: and(p & q, r)
/// symmetric subsumption    match: and(!(p & q), !p & r)    result: !p & r
/// symmetric substitution   match: and(!(p & q), p & r)     result: and(!q, p & r)
/// resolution               match: and(!(p & q), !(p & !q)) result: !p
/// xor shape                match: and(!(p & q), !(!p & !q)) result: p ^ q
/// ```
fn and_of_two_ands((left, below_left): (Term, Node), (right, below_right): (Term, Node)) -> Option<Request> {
    let (Node::And(l0, l1), Node::And(r0, r1)) = (below_left, below_right) else {
        return None;
    };
    let pairs = [(l0, l1, r0, r1), (l0, l1, r1, r0), (l1, l0, r0, r1), (l1, l0, r1, r0)];
    let opposite = pairs.into_iter().find(|&(p, _, same, _)| p == !same);
    let shared = pairs.into_iter().find(|&(p, _, same, _)| p == same);
    match (left.is_complemented(), right.is_complemented()) {
        (false, false) => match (opposite, shared) {
            (Some(_), _) => Some(Known(Term::FALSE)),
            (None, Some((.., r))) => Some(And(left, r)),
            (None, None) => None,
        },
        (true, false) => match (opposite, shared) {
            (Some(_), _) => Some(Known(right)),
            (None, Some((_, q, ..))) => Some(And(!q, right)),
            (None, None) => None,
        },
        (false, true) => match (opposite, shared) {
            (Some(_), _) => Some(Known(left)),
            (None, Some((.., r))) => Some(And(!r, left)),
            (None, None) => None,
        },
        (true, true) => match opposite {
            Some((_, p, _, same)) if p == same => Some(Known(!p)),
            Some((p, q, _, r)) if q == !r => Some(Xor(p, q)),
            _ => None,
        },
    }
}

/// One-level rules; `a <= b`, both uncomplemented.
///
/// ```text
/// complement     match: xor(!a, b)     result: !xor(a, b)
/// neutrality     match: xor(false, b)  result: b
/// cancellation   match: xor(a, a)      result: false
/// ```
fn xor_of_related(a: Term, b: Term) -> Option<Request> {
    match a {
        // The complement rule has turned `false` into a complemented `true`.
        Term::TRUE => Some(Known(!b)),
        _ if a == b => Some(Known(Term::FALSE)),
        _ => None,
    }
}

/// Rules for a gate and one of its children; `term` is uncomplemented.
///
/// ```text
/// deep cancellation   match: xor(p ^ q, p)   result: q
/// difference          match: xor(p & q, p)   result: and(p, !q)
///                     match: xor(!p & q, p)  result: !and(!p, !q)
/// ```
fn xor_of_gate_and_term(below: Node, term: Term) -> Option<Request> {
    match below {
        Node::Xor(p, q) if term == p => Some(Known(q)),
        Node::Xor(p, q) if term == q => Some(Known(p)),
        Node::And(p, q) if term == p => Some(And(p, !q)),
        Node::And(p, q) if term == q => Some(And(q, !p)),
        Node::And(p, q) if term == !p => Some(Nand(p, !q)),
        Node::And(p, q) if term == !q => Some(Nand(q, !p)),
        _ => None,
    }
}

/// Rules for two exclusive disjunctions with a common child.
///
/// ```text
/// symmetric cancellation  match: xor(p ^ q, p ^ r)  result: xor(q, r)
/// ```
fn xor_of_two_xors(below_a: Node, below_b: Node) -> Option<Request> {
    let (Node::Xor(a0, a1), Node::Xor(b0, b1)) = (below_a, below_b) else {
        return None;
    };
    match () {
        () if a0 == b0 => Some(Xor(a1, b1)),
        () if a0 == b1 => Some(Xor(a1, b0)),
        () if a1 == b0 => Some(Xor(a0, b1)),
        () if a1 == b1 => Some(Xor(a0, b0)),
        () => None,
    }
}
