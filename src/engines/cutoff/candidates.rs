//! Candidates: pairs of threads that could lead to new thread states if there were more threads.
//!
//! Let `R` be the set of thread states that some number of threads reaches. With more threads, the first new thread
//! state cannot be that of the thread that moves, since `R` is closed under moves. It is the thread state of
//! another thread that is present, or of a thread that is started. So, unless a started thread is new, some
//! transition of a thread in `(r, h)` to shared state `s` happens while another thread is in `(r, g)`, both in `R`,
//! and takes that thread to a `(s, g')` that is not in `R`; `g'` is `g` unless the transition moves other threads
//! along. The number of threads is a cutoff iff no two such threads can be present at once, for any number of
//! threads.
//!
//! One direction of this needs only that `R` contains the thread states of the initial states and is closed under
//! moves. So a part of what the threads reach is enough, if it is closed: if no candidate of such a part is
//! realizable, the part is everything that any number of threads reaches. Then the threads that reach it are
//! enough, and the rest of their states need not be explored.
//!
//! The printed test does not handle started threads and broadcasts, and it asks for `(s, l_j)` where `(s, h_j)` is
//! meant; if the two local states are the same, two threads are needed there ([errata 25](crate::errata::item_25),
//! [errata 26](crate::errata::item_26)).

use std::collections::{BTreeMap, BTreeSet};

use super::threads::{Action, ThreadState};
use crate::net::{Marking, PlaceId};

/// The candidates of a set of thread states, and whether the set is closed.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Whether a moving thread leaves the set. Then the set is not yet everything that the threads reach.
    pub moves_on: bool,
    /// Whether a started thread is in a state outside the set, which one more thread reaches.
    pub starts_new: bool,
    /// The triples of the paper: the thread state that moves, the one that is present, and where the first one
    /// goes.
    pub triples: BTreeSet<(ThreadState, ThreadState, ThreadState)>,
    /// The markings that must not be coverable: a shared state with two threads.
    pub pairs: BTreeSet<Marking>,
}

/// Computes the candidates of a set of thread states.
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
