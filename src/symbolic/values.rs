//! Vectors of terms that share their common parts.
//!
//! The state of a block is cloned at every branch and merged at every join. A vector is a list of shared chunks, so a
//! clone copies one pointer for each chunk, a write copies one chunk, and a merge visits only chunks that differ.

use std::rc::Rc;

use cusp_encodings::{Term, TermArena};

const CHUNK: usize = 16;

/// One term for each slot.
#[derive(Clone, Debug)]
pub struct Values {
    chunks: Vec<Rc<[Term; CHUNK]>>,
}

impl Values {
    /// A vector of these terms.
    #[must_use]
    pub fn new(terms: &[Term]) -> Self {
        let chunk = |terms: &[Term]| {
            let mut chunk = [Term::FALSE; CHUNK];
            chunk[..terms.len()].copy_from_slice(terms);
            Rc::new(chunk)
        };
        Self { chunks: terms.chunks(CHUNK).map(chunk).collect() }
    }

    /// The term at a position.
    #[must_use]
    pub fn get(&self, slot: usize) -> Term {
        self.chunks[slot / CHUNK][slot % CHUNK]
    }

    /// Replaces the term at a position.
    pub fn set(&mut self, slot: usize, term: Term) {
        if self.get(slot) != term {
            Rc::make_mut(&mut self.chunks[slot / CHUNK])[slot % CHUNK] = term;
        }
    }

    /// Takes the values of `other` where `selector` holds. A slot that differs and does not matter according to
    /// `is_live` becomes arbitrary.
    pub fn merge(
        &mut self,
        arena: &mut TermArena,
        selector: Term,
        other: &Self,
        is_live: impl Fn(usize) -> bool,
    ) {
        for (position, (mine, theirs)) in self.chunks.iter_mut().zip(&other.chunks).enumerate() {
            if Rc::ptr_eq(mine, theirs) || mine == theirs {
                continue;
            }
            let mine = Rc::make_mut(mine);
            for (offset, (mine, &theirs)) in mine.iter_mut().zip(theirs.iter()).enumerate() {
                if *mine == theirs {
                    continue;
                }
                *mine = if is_live(position * CHUNK + offset) {
                    arena.ite(selector, theirs, *mine)
                } else {
                    arena.fresh()
                };
            }
        }
    }

    /// The first `width` terms.
    #[must_use]
    pub fn to_vec(&self, width: usize) -> Vec<Term> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().copied()).take(width).collect()
    }
}
