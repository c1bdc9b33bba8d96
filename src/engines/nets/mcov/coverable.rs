//! The set of markings that are known to be coverable, with the reasons.
//!
//! Invariant (closed): the set is closed downwards and is stored by its maximal limits. Each limit has a reason
//! that refers only to limits that were known before it, so reasons can be followed back to an initial marking.

use crate::engines::nets::karp_miller::tree::NodeId;
use crate::engines::nets::sets::ideal::{Ideal, OMEGA};
use crate::engines::nets::sets::vectors::Vectors;
use crate::net::{Marking, Net, PlaceId, PlaceKind, TransitionId};

/// Why a limit is coverable.
#[derive(Clone, Debug)]
pub enum Why {
    /// It contains the initial markings.
    Initial,
    /// The forward search found it.
    Forward(NodeId),
    /// Firing leads to it from a marking that is below a known limit.
    Step {
        /// The transition that fires.
        transition: TransitionId,
        /// The marking in which it fires.
        from: Marking,
        /// The number of a limit above that marking.
        known: u32,
    },
}

/// A downward-closed set of markings that can be covered.
#[derive(Clone, Debug)]
pub struct Coverable {
    limits: Vectors,
    reasons: Vec<Why>,
    /// For each place, how many limits mark it.
    uses: Vec<u32>,
}

impl Coverable {
    /// The set that contains the initial markings only.
    #[must_use]
    pub fn new(net: &Net) -> Self {
        let mut set = Self {
            limits: Vectors::new(net.places.len()),
            reasons: Vec::new(),
            uses: vec![0; net.places.len()],
        };
        set.insert(Ideal::initial(&net.initial).entries(), Why::Initial);
        set
    }

    /// A limit above the marking, by its number.
    #[must_use]
    pub fn limit_above(&self, marking: &Marking) -> Option<u32> {
        self.limits.above(marking.entries()).next()
    }

    /// Why the limit with this number is coverable.
    #[must_use]
    pub fn why(&self, limit: u32) -> &Why {
        &self.reasons[limit as usize]
    }

    /// The number of maximal limits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.limits.len()
    }

    /// Always false, since the set contains the initial markings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty()
    }

    /// Adds a limit. Returns false if it was covered already.
    pub fn insert(&mut self, entries: &[(PlaceId, u64)], why: Why) -> bool {
        if self.limits.above(entries).next().is_some() {
            return false;
        }
        let below: Vec<u32> = self.limits.below(entries).collect();
        for id in below {
            self.limits.remove(id);
        }
        for &(place, _) in entries {
            self.uses[place.index()] += 1;
        }
        self.limits.insert(entries);
        self.reasons.push(why);
        true
    }

    /// A minimal marking below the given one that is not known to be coverable; the given one must not be known to
    /// be coverable. The shared state is kept, because a marking without it would have far too many predecessors.
    ///
    /// Tokens are removed place by place, as many as possible such that the marking stays outside the set. Places
    /// that many limits mark come first, since they are the least likely reason why the marking is not coverable.
    #[must_use]
    pub fn candidate(&self, net: &Net, marking: &Marking) -> Marking {
        let is_shared = |place: PlaceId| matches!(net.place(place).kind, PlaceKind::Shared(_));
        let mut places: Vec<PlaceId> =
            marking.iter().map(|(place, _)| place).filter(|&place| !is_shared(place)).collect();
        places.sort_by_key(|&place| (std::cmp::Reverse(self.uses[place.index()]), place));
        let mut smaller = marking.clone();
        for place in places {
            let have = smaller.get(place);
            let mut needed = 0;
            for limit in self.limits.above_elsewhere(smaller.entries(), place) {
                let at = limit.binary_search_by_key(&place, |&(p, _)| p).map_or(0, |i| limit[i].1);
                if at == OMEGA || at + 1 >= have {
                    needed = have;
                    break;
                }
                needed = needed.max(at + 1);
            }
            smaller.set(place, needed);
        }
        smaller
    }
}
