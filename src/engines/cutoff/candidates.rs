//! What could lead to new thread states with more threads.
//!
//! Let `R` be the thread states that some number of threads reaches. With more threads, the first new
//! thread state cannot be that of the thread that moves, since `R` is closed under moves: it is that of
//! a thread that happens to be there, or one that is started. So, unless a started thread is new, some
//! transition of a thread in `(r, h)` to shared state `s` meets another in `(r, g)`, both in `R`, and
//! takes it to a `(s, g')` that is not; `g'` is `g` unless others are moved along. The number of threads
//! is a cutoff iff no two such threads can be there at once, whatever their number.
//!
//! Of all that was said about `R`, the first half needs only that it holds the thread states of the initial
//! states and is closed under moves: a part of what the threads reach will do, if it is closed. If no
//! candidate of such a part is realizable, it is all that any number of threads reaches, so the threads that
//! reach it are enough, and the rest of their states need not be looked at.
//!
//! The printed test knows no started threads and no broadcasts, and asks for `(s, l_j)` where it means
//! `(s, h_j)`; if the two local states are the same, two threads are needed there
//! ([errata 25](crate::errata::item_25), [errata 26](crate::errata::item_26)).

use std::collections::{BTreeMap, BTreeSet};

use super::threads::{Action, ThreadState};
use crate::net::{Marking, PlaceId};

/// What was found about a set of thread states.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// A thread that moves leaves the set: it is not yet all that the threads reach.
    pub moves_on: bool,
    /// A started thread is in a state that is not in the set: one thread more reaches it.
    pub starts_new: bool,
    /// The triples of the paper: who moves, who is there, and where the first goes.
    pub triples: BTreeSet<(ThreadState, ThreadState, ThreadState)>,
    /// What must not be coverable: a shared state with two threads.
    pub pairs: BTreeSet<Marking>,
}

/// The candidates among these thread states.
#[must_use]
pub fn candidates(actions: &[Action], reached: &BTreeSet<ThreadState>) -> Candidates {
    let mut locals: BTreeMap<PlaceId, Vec<PlaceId>> = BTreeMap::new();
    for &(shared, local) in reached {
        locals.entry(shared).or_default().push(local);
    }
    let mut found = Candidates::default();
    for action in actions {
        let (before, after) = action.shared;
        let is_new = |&local: &PlaceId| !reached.contains(&(after, local));
        let Some((from, to)) = action.moves else {
            let others = locals.get(&before).into_iter().flatten();
            found.moves_on |= others.copied().any(|other| action.passively(other).iter().any(is_new));
            continue;
        };
        if !reached.contains(&(before, from)) {
            continue;
        }
        found.moves_on |= is_new(&to);
        if let Some(started) = action.starts {
            found.starts_new |= !reached.contains(&(after, started));
        }
        for &other in locals.get(&before).into_iter().flatten() {
            if action.passively(other).iter().any(is_new) {
                found.triples.insert(((before, from), (before, other), (after, to)));
                let threads = [(before, 1), (from, 1), (other, 1)];
                // Three tokens: the sum cannot overflow.
                found.pairs.extend(Marking::sum_of(threads));
            }
        }
    }
    found
}
