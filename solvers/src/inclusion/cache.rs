//! A cache of answers, indexed by the structure of the queries.
//!
//! The key is the whole structure of both sets and not a hash of it, so a hit is never a collision. Two queries have
//! the same key if their states differ only in the program counter or in the names of choices.
//!
//! Invariant (size): all keys together never have more than `MOST_WORDS` words; a cache that would exceed this limit
//! is emptied.

use cusp_encodings::{Term, TermArena};
use rustc_hash::FxHashMap;

use super::Verdict;
use super::pose::Posed;
use crate::qbf::copy_terms;

/// The limit for all keys together (64 MB).
const MOST_WORDS: usize = 1 << 24;

/// The known answers; their terms are in an arena of the cache.
#[derive(Default)]
pub(super) struct Cache {
    answers: FxHashMap<Box<[u32]>, Verdict>,
    arena: TermArena,
    words: usize,
}

impl Cache {
    /// The answer to a query of the same structure, with its terms in the arena of the query.
    pub(super) fn find(&self, posed: &mut Posed) -> Option<Verdict> {
        Some(translate(self.answers.get(&posed.key)?, &self.arena, &mut posed.arena))
    }

    /// Stores an answer.
    pub(super) fn insert(&mut self, posed: &Posed, verdict: &Verdict) {
        if self.words + posed.key.len() > MOST_WORDS {
            *self = Cache::default();
        }
        self.words += posed.key.len();
        let kept = translate(verdict, &posed.arena, &mut self.arena);
        self.answers.insert(posed.key.clone(), kept);
    }
}

fn translate(verdict: &Verdict, source: &TermArena, target: &mut TermArena) -> Verdict {
    match verdict {
        Verdict::Claimed => Verdict::Claimed,
        Verdict::NotIncluded(values) => Verdict::NotIncluded(values.clone()),
        Verdict::Included(vectors) => {
            let terms: Vec<Term> = copy_terms(source, &vectors.concat(), target, TermArena::var);
            let mut terms = terms.into_iter();
            let take = |vector: &Vec<Term>| terms.by_ref().take(vector.len()).collect();
            Verdict::Included(vectors.iter().map(take).collect())
        }
    }
}
