//! Builds nets piece by piece.

use rustc_hash::FxHashMap;

use super::{
    Claim, Initial, Marking, Net, Place, PlaceId, PlaceKind, Range, Target, Transition, TransitionId,
};

/// Makes a [`Net`]. A place is created when it is first mentioned.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    net: Net,
    initial: Vec<(PlaceId, Range)>,
    by_name: FxHashMap<String, PlaceId>,
    by_kind: FxHashMap<PlaceKind, PlaceId>,
}

impl Builder {
    /// A builder for a net without places.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The counter with this name, which is created if it is new.
    pub fn counter(&mut self, name: &str) -> PlaceId {
        self.named(name, PlaceKind::Counter)
    }

    /// The place with this name; if it is new, it is created with this kind.
    pub fn named(&mut self, name: &str, kind: PlaceKind) -> PlaceId {
        if let Some(&place) = self.by_name.get(name) {
            return place;
        }
        let place = self.push(Place { name: name.to_owned(), kind });
        self.by_name.insert(name.to_owned(), place);
        place
    }

    /// The place with this name, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PlaceId> {
        self.by_name.get(name).copied()
    }

    /// The place for a shared state of a thread transition system.
    pub fn shared(&mut self, state: u32) -> PlaceId {
        self.state(PlaceKind::Shared(state), || format!("shared{state}"))
    }

    /// The place for a local state of a thread transition system.
    pub fn local(&mut self, state: u32) -> PlaceId {
        self.state(PlaceKind::Local(state), || format!("local{state}"))
    }

    fn state(&mut self, kind: PlaceKind, name: impl FnOnce() -> String) -> PlaceId {
        if let Some(&place) = self.by_kind.get(&kind) {
            return place;
        }
        let place = self.push(Place { name: name(), kind });
        self.by_kind.insert(kind, place);
        place
    }

    fn push(&mut self, place: Place) -> PlaceId {
        let id = PlaceId::from_index(self.net.places.len());
        self.net.places.push(place);
        id
    }

    /// Adds a transition, after simplifying it with [`Transition::normalise_moves`].
    ///
    /// # Panics
    /// Panics if a transition has two moves from one place, or a choice between no places; both are bugs of the
    /// caller.
    pub fn transition(&mut self, mut transition: Transition) -> TransitionId {
        transition.normalise_moves();
        let unique = transition.moves.windows(2).all(|pair| pair[0].from != pair[1].from);
        assert!(unique, "a place has one flow");
        transition.upper.sort_unstable();
        // The entries of a place are sorted by bound, so the smallest bound is kept.
        transition.upper.dedup_by_key(|&mut (place, _)| place);
        let id = TransitionId::from_index(self.net.transitions.len());
        self.net.transitions.push(transition);
        id
    }

    /// Sets how many tokens a place may hold initially. A place without a range is initially empty.
    pub fn initial(&mut self, place: PlaceId, range: Range) {
        self.initial.push((place, range));
    }

    /// Adds a target.
    pub fn target(&mut self, mut target: Target) {
        target.upper.sort_unstable();
        target.upper.dedup_by_key(|&mut (place, _)| place);
        self.net.targets.push(target);
    }

    /// Adds a target without zero tests.
    pub fn cover(&mut self, least: Marking) {
        self.target(Target { least, ..Target::default() });
    }

    /// Adds an invariant that the source claims.
    pub fn claim(&mut self, claim: Claim) {
        self.net.claims.push(claim);
    }

    /// The finished net.
    #[must_use]
    pub fn finish(mut self) -> Net {
        self.net.initial = Initial::new(self.initial);
        self.net
    }
}
