//! The other connectives, built from conjunction, exclusive disjunction and complement.

use super::{Node, Term, TermArena};

impl TermArena {
    /// Disjunction.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        !self.and(!a, !b)
    }

    /// Implication.
    pub fn implies(&mut self, premise: Term, conclusion: Term) -> Term {
        !self.and(premise, !conclusion)
    }

    /// Equivalence.
    pub fn iff(&mut self, a: Term, b: Term) -> Term {
        !self.xor(a, b)
    }

    /// If `condition` then `then` else `otherwise`.
    ///
    /// ```text
    /// same branches       match: ite(c, t, t)      result: t
    /// opposite branches   match: ite(c, t, !t)     result: iff(c, t)
    /// constant condition  match: ite(true, t, e)   result: t
    /// known in then       match: ite(c, c, e)      result: or(c, e)
    ///                     match: ite(c, !c, e)     result: and(!c, e)
    /// known in else       match: ite(c, t, c)      result: and(c, t)
    ///                     match: ite(c, t, !c)     result: or(!c, t)
    /// constant branch     match: ite(c, true, e)   result: or(c, e)   (and so on)
    /// ```
    ///
    /// The last three need no code of their own. They follow from the rules for conjunction, or from
    /// replacing a branch by the constant that it equals under the condition.
    pub fn ite(&mut self, condition: Term, then: Term, otherwise: Term) -> Term {
        let known = condition.uncomplemented();
        let then = if then.uncomplemented() == known { Term::constant(then == condition) } else { then };
        let otherwise = if otherwise.uncomplemented() == known {
            Term::constant(otherwise != condition)
        } else {
            otherwise
        };
        if then == otherwise {
            return then;
        }
        if then == !otherwise {
            return self.iff(condition, then);
        }
        match (then.as_constant(), otherwise.as_constant()) {
            (Some(true), _) => self.or(condition, otherwise),
            (Some(false), _) => self.and(!condition, otherwise),
            (_, Some(true)) => self.implies(condition, then),
            (_, Some(false)) => self.and(condition, then),
            _ => {
                let taken = self.and(condition, then);
                let not_taken = self.and(!condition, otherwise);
                self.or(taken, not_taken)
            }
        }
    }

    /// The conjunction of all terms; `true` if there are none. Common prefixes are shared.
    pub fn and_all(&mut self, conjuncts: impl IntoIterator<Item = Term>) -> Term {
        conjuncts.into_iter().fold(Term::TRUE, |all, next| self.and(all, next))
    }

    /// The disjunction of all terms; `false` if there are none. Common prefixes are shared.
    pub fn or_all(&mut self, disjuncts: impl IntoIterator<Item = Term>) -> Term {
        disjuncts.into_iter().fold(Term::FALSE, |all, next| self.or(all, next))
    }

    /// Reads a term as if-then-else: condition (uncomplemented), then, else. Recognised by the shape that
    /// [`Self::ite`] builds, `!(!(c & t) & !(!c & e))`, and its complement.
    #[must_use]
    pub fn as_ite(&self, term: Term) -> Option<(Term, Term, Term)> {
        let Node::And(left, right) = self.node(term) else { return None };
        if !left.is_complemented() || !right.is_complemented() {
            return None;
        }
        let (Node::And(l0, l1), Node::And(r0, r1)) = (self.node(left), self.node(right)) else { return None };
        let (condition, then, otherwise) = match () {
            () if l0 == !r0 => (l0, l1, r1),
            () if l0 == !r1 => (l0, l1, r0),
            () if l1 == !r0 => (l1, l0, r1),
            () if l1 == !r1 => (l1, l0, r0),
            () => return None,
        };
        // The node itself, without complement, is the complement of the if-then-else over these branches.
        let flip = !term.is_complemented();
        let (then, otherwise) = (then.complement_if(flip), otherwise.complement_if(flip));
        Some(if condition.is_complemented() {
            (!condition, otherwise, then)
        } else {
            (condition, then, otherwise)
        })
    }
}
