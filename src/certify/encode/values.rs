//! A vector with one term for each variable, which copies share until they change.
//!
//! A walk keeps a state for every node that it has yet to visit, and most of these states differ in a few variables.
//! The terms are kept in chunks that states share: a copy costs one pointer for 32 variables, and merging two states
//! looks only at chunks that differ.

use std::rc::Rc;

use cusp_encodings::Term;

use super::Terms;

const CHUNK: usize = 32;

/// A vector of terms with cheap copies.
#[derive(Clone, Default)]
pub(in crate::certify) struct Values {
    chunks: Vec<Rc<[Term; CHUNK]>>,
    len: usize,
}

impl Values {
    /// The number of terms.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The term at a position.
    pub fn get(&self, position: usize) -> Term {
        debug_assert!(position < self.len, "no variable {position}");
        self.chunks[position / CHUNK][position % CHUNK]
    }

    /// Puts a term at a position.
    pub fn set(&mut self, position: usize, term: Term) {
        debug_assert!(position < self.len, "no variable {position}");
        if self.get(position) != term {
            Rc::make_mut(&mut self.chunks[position / CHUNK])[position % CHUNK] = term;
        }
    }

    /// Appends a term.
    pub fn push(&mut self, term: Term) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Rc::new([Term::FALSE; CHUNK]));
        }
        self.len += 1;
        self.set(self.len - 1, term);
    }

    /// Shortens the vector to `len` terms.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.chunks.truncate(self.len.div_ceil(CHUNK));
        // All vectors have the same contents beyond their end, so that equal chunks are recognised and need no
        // merging.
        for position in self.len..self.chunks.len() * CHUNK {
            let chunk = &mut self.chunks[position / CHUNK];
            if chunk[position % CHUNK] != Term::FALSE {
                Rc::make_mut(chunk)[position % CHUNK] = Term::FALSE;
            }
        }
    }

    /// All terms, in order.
    pub fn iter(&self) -> impl Iterator<Item = Term> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.iter().copied()).take(self.len)
    }

    /// A vector with the terms of `then` where the condition holds and those of `otherwise` elsewhere.
    pub fn choose(terms: &mut Terms, condition: Term, then: &Self, otherwise: &Self) -> Self {
        debug_assert_eq!(then.len, otherwise.len, "states of one node have the same variables");
        let mut merged = then.clone();
        for (chunk, other) in merged.chunks.iter_mut().zip(&otherwise.chunks) {
            if Rc::ptr_eq(chunk, other) || chunk == other {
                continue;
            }
            for i in 0..CHUNK {
                let term = terms.arena.ite(condition, chunk[i], other[i]);
                if term != chunk[i] {
                    Rc::make_mut(chunk)[i] = term;
                }
            }
        }
        merged
    }
}

impl FromIterator<Term> for Values {
    fn from_iter<I: IntoIterator<Item = Term>>(terms: I) -> Self {
        let mut values = Self::default();
        for term in terms {
            values.push(term);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_do_not_see_later_changes() {
        let mut terms = Terms::default();
        let mut first: Values = terms.fresh_vector(70).into_iter().collect();
        let second = first.clone();
        let x = terms.fresh();
        first.set(40, x);
        assert_eq!(first.get(40), x);
        assert_ne!(second.get(40), x);
        assert!(Rc::ptr_eq(&first.chunks[0], &second.chunks[0]));
        assert!(!Rc::ptr_eq(&first.chunks[1], &second.chunks[1]));
        assert_eq!(second.iter().count(), 70);
    }

    #[test]
    fn a_choice_changes_what_differs() {
        let mut terms = Terms::default();
        let then: Values = terms.fresh_vector(40).into_iter().collect();
        let mut otherwise = then.clone();
        otherwise.set(33, Term::TRUE);
        let condition = terms.fresh();
        let merged = Values::choose(&mut terms, condition, &then, &otherwise);
        assert!(Rc::ptr_eq(&merged.chunks[0], &then.chunks[0]));
        let expected = terms.arena.ite(condition, then.get(33), Term::TRUE);
        assert_eq!((merged.get(33), merged.get(34)), (expected, then.get(34)));
    }

    #[test]
    fn a_shortened_vector_forgets() {
        let mut terms = Terms::default();
        let mut values: Values = terms.fresh_vector(40).into_iter().collect();
        values.truncate(3);
        assert_eq!((values.len(), values.iter().count(), values.chunks.len()), (3, 3, 1));
        assert!(values.chunks[0][3..].iter().all(|&term| term == Term::FALSE));
        values.push(Term::TRUE);
        assert_eq!(values.get(3), Term::TRUE);
    }
}
