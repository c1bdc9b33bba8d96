//! What reductions remember.

use std::cmp::Reverse;

use crate::net::{PlaceId, TransitionId};

/// A transition of the draft: one of the original net, or two of the draft one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Original(TransitionId),
    Both(u32, u32),
}

/// What became of a place of the original net.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has this name now.
    Kept(PlaceId),
    /// No run marks it.
    NeverMarked,
    /// Its tokens never hold anybody up.
    Free,
    /// Tokens pass through it within one step of the smaller net.
    PassedThrough,
}

/// How a place is filled before a run begins, when its initial tokens are not enough.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    /// What is filled.
    pub place: PlaceId,
    /// Tokens that come with each time.
    pub gives: u64,
    pub(super) origin: u32,
}

/// The way back from a smaller net.
#[derive(Clone, Debug)]
pub struct Restore {
    pub(super) fates: Vec<Fate>,
    /// When each place went; those that were kept, last.
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

    /// Of several places, the one that was kept, or else that went last. A token that could choose between them
    /// goes there: while a place was there and others were gone already, it could not go anywhere else.
    #[must_use]
    pub fn last_of(&self, places: &[PlaceId]) -> Option<PlaceId> {
        places.iter().copied().min_by_key(|place| Reverse(self.gone_at[place.index()]))
    }

    /// The original name of a place.
    #[must_use]
    pub fn place(&self, kept: PlaceId) -> PlaceId {
        self.places[kept.index()]
    }

    /// What fires in the original net, one after the other, for a transition of the smaller one.
    #[must_use]
    pub fn steps(&self, transition: TransitionId) -> Vec<TransitionId> {
        self.expand(self.transitions[transition.index()])
    }

    /// What fires to fill a place once.
    #[must_use]
    pub fn filling_steps(&self, filling: &Filling) -> Vec<TransitionId> {
        self.expand(filling.origin)
    }

    /// The places that are filled by firing. What one of them takes was filled by those before it, or is there
    /// from the start.
    #[must_use]
    pub fn fillings(&self) -> &[Filling] {
        &self.fillings
    }

    /// Whether a step of the smaller net may be several of the original one.
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
