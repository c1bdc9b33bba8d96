//! What reductions record for the way back.

use std::cmp::Reverse;

use crate::net::{PlaceId, TransitionId};

/// The origin of a transition of the draft: a transition of the original net, or two transitions of the draft in
/// sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Original(TransitionId),
    Both(u32, u32),
}

/// What happened to a place of the original net.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was kept, with this number in the smaller net.
    Kept(PlaceId),
    /// It was removed because no run marks it.
    NeverMarked,
    /// It was removed because lack of tokens there never prevents anything.
    Free,
    /// It was removed because tokens pass through it within one step of the smaller net.
    PassedThrough,
}

/// How a place can be filled before a run begins, if its initial tokens are not enough.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    /// The place that is filled.
    pub place: PlaceId,
    /// The number of tokens that each firing adds.
    pub gives: u64,
    pub(super) origin: u32,
}

/// How to go back from a smaller net to the original one.
#[derive(Clone, Debug)]
pub struct Restore {
    pub(super) fates: Vec<Fate>,
    /// When each place was removed; the largest number for those that were kept.
    pub(super) gone_at: Vec<u32>,
    pub(super) places: Vec<PlaceId>,
    pub(super) transitions: Vec<u32>,
    pub(super) origins: Vec<Origin>,
    pub(super) fillings: Vec<Filling>,
}

impl Restore {
    /// What became of a place of the original net.
    #[must_use]
    pub fn fate(&self, original: PlaceId) -> Fate {
        self.fates[original.index()]
    }

    /// Of several places, the one that was kept or, if none was, the one that was removed last. A token that could
    /// choose between them goes there: when the other places had been removed already, that was its only choice.
    #[must_use]
    pub fn last_of(&self, places: &[PlaceId]) -> Option<PlaceId> {
        places.iter().copied().min_by_key(|place| Reverse(self.gone_at[place.index()]))
    }

    /// The original number of a kept place.
    #[must_use]
    pub fn place(&self, kept: PlaceId) -> PlaceId {
        self.places[kept.index()]
    }

    /// The transitions of the original net that fire, in this order, for a transition of the smaller net.
    #[must_use]
    pub fn steps(&self, transition: TransitionId) -> Vec<TransitionId> {
        self.expand(self.transitions[transition.index()])
    }

    /// The transitions of the original net that fire, in this order, to fill a place once.
    #[must_use]
    pub fn filling_steps(&self, filling: &Filling) -> Vec<TransitionId> {
        self.expand(filling.origin)
    }

    /// The places that are filled by firing transitions. The tokens needed to fill one of them are there initially or
    /// come from places earlier in the list.
    #[must_use]
    pub fn fillings(&self) -> &[Filling] {
        &self.fillings
    }

    /// Whether a step of the smaller net may be several steps of the original one.
    #[must_use]
    pub fn has_longer_steps(&self) -> bool {
        self.fates.contains(&Fate::PassedThrough)
    }

    fn expand(&self, origin: u32) -> Vec<TransitionId> {
        let mut steps = Vec::new();
        let mut open = vec![origin];
        while let Some(at) = open.pop() {
            match self.origins[at as usize] {
                Origin::Original(id) => steps.push(id),
                Origin::Both(first, second) => open.extend([second, first]),
            }
        }
        steps
    }
}
