//! A net that is being reduced.

use super::restore::{Fate, Filling, Origin, Restore};
use super::{Counts, Reduced};
use crate::net::{Claim, Flow, Initial, Marking, Move, Net, PlaceId, Target, Transition};

/// The net so far, with the original numbers of places. No part of it mentions a removed place.
pub(super) struct Draft {
    pub net: Net,
    /// Whether the net had no zero tests at the beginning.
    pub is_monotone: bool,
    pub counts: Counts,
    /// The origin of each transition.
    origin_of: Vec<u32>,
    origins: Vec<Origin>,
    /// What happened to each place; [`Fate::Kept`] with the original number while it is there.
    fates: Vec<Fate>,
    /// For each place, the number of the call of [`Self::drop_places`] that removed it; the largest number while it
    /// is there.
    gone_at: Vec<u32>,
    drops: u32,
    fillings: Vec<Filling>,
}

impl Draft {
    pub fn new(net: &Net) -> Self {
        Self {
            net: net.clone(),
            is_monotone: net.is_monotone(),
            counts: Counts::default(),
            origin_of: (0..net.transitions.len() as u32).collect(),
            origins: net.transition_ids().map(Origin::Original).collect(),
            fates: net.place_ids().map(Fate::Kept).collect(),
            gone_at: vec![u32::MAX; net.places.len()],
            drops: 0,
            fillings: Vec::new(),
        }
    }

    pub fn is_there(&self, place: PlaceId) -> bool {
        matches!(self.fates[place.index()], Fate::Kept(_))
    }

    /// The places that are left, in order.
    pub fn places(&self) -> Vec<PlaceId> {
        self.net.place_ids().filter(|&place| self.is_there(place)).collect()
    }

    /// For every place, whether some transition moves its tokens.
    pub fn is_moved_from(&self) -> Vec<bool> {
        let mut is_moved = vec![false; self.net.places.len()];
        let moves = self.net.transitions.iter().flat_map(|t| &t.moves);
        moves.for_each(|m| is_moved[m.from.index()] = true);
        is_moved
    }

    /// For every place, whether some transition moves tokens to it.
    pub fn is_moved_to(&self) -> Vec<bool> {
        let mut is_moved = vec![false; self.net.places.len()];
        let flows = self.net.transitions.iter().flat_map(|t| &t.moves).map(|m| &m.flow);
        flows.flat_map(Flow::places).for_each(|place| is_moved[place.index()] = true);
        is_moved
    }

    /// For every place, whether a zero test is about it.
    pub fn is_tested(&self) -> Vec<bool> {
        let mut is_tested = vec![false; self.net.places.len()];
        let tests = self.net.transitions.iter().flat_map(|t| &t.upper);
        let tests = tests.chain(self.net.targets.iter().flat_map(|t| &t.upper));
        tests.for_each(|(place, _)| is_tested[place.index()] = true);
        is_tested
    }

    /// For every place, whether it can be removed if its tokens never disable anything: no transition moves tokens
    /// away from it, and no zero test is about it. If there are zero tests elsewhere, no transition may move tokens
    /// to it either: a token that could choose this place would have to go elsewhere, where it might be tested.
    pub fn is_removable(&self) -> Vec<bool> {
        let (from, to, tested) = (self.is_moved_from(), self.is_moved_to(), self.is_tested());
        let no_moves = |i: usize| !from[i] && (self.is_monotone || !to[i]);
        (0..self.net.places.len()).map(|i| no_moves(i) && !tested[i]).collect()
    }

    /// Keeps some of the transitions; `keep` gets their numbers.
    pub fn retain_transitions(&mut self, keep: impl Fn(usize) -> bool) {
        let mut numbers = 0..;
        self.net.transitions.retain(|_| numbers.next().is_some_and(&keep));
        let mut numbers = 0..;
        self.origin_of.retain(|_| numbers.next().is_some_and(&keep));
    }

    /// Removes places and every mention of them. Tokens that could choose between a removed place and others now
    /// choose between the others; those without another choice vanish.
    pub fn drop_places(&mut self, gone: &[(PlaceId, Fate)]) {
        if gone.is_empty() {
            return;
        }
        for &(place, fate) in gone {
            self.fates[place.index()] = fate;
            self.gone_at[place.index()] = self.drops;
        }
        self.drops += 1;
        let fates = &self.fates;
        let is_there = |place: PlaceId| matches!(fates[place.index()], Fate::Kept(_));
        for transition in &mut self.net.transitions {
            let mentions = |marking: &Marking| marking.iter().any(|(place, _)| !is_there(place));
            if mentions(&transition.take) {
                transition.take = transition.take.restricted(is_there);
            }
            if mentions(&transition.give) {
                transition.give = transition.give.restricted(is_there);
            }
            transition.upper.retain(|&(place, _)| is_there(place));
            if !transition.moves.is_empty() {
                transition.moves.retain(|m| is_there(m.from));
                transition.moves.iter_mut().for_each(|m| forget(&mut m.flow, is_there));
                transition.normalise_moves();
            }
        }
        for target in &mut self.net.targets {
            target.least = target.least.restricted(is_there);
            target.upper.retain(|&(place, _)| is_there(place));
        }
        for claim in &mut self.net.claims {
            claim.weights = claim.weights.restricted(is_there);
        }
        let left = self.net.initial.ranges().iter().copied().filter(|&(place, _)| is_there(place));
        self.net.initial = Initial::new(left.collect::<Vec<_>>());
    }

    /// Adds the transition that does what two others do, one after the other.
    pub fn push_both(&mut self, transition: Transition, first: usize, second: usize) {
        let number = self.origins.len() as u32;
        self.origins.push(Origin::Both(self.origin_of[first], self.origin_of[second]));
        self.origin_of.push(number);
        self.net.transitions.push(transition);
    }

    /// Records that a transition, all of whose inputs are unlimited places, can fill a place.
    pub fn fill(&mut self, place: PlaceId, transition: usize, gives: u64) {
        self.fillings.push(Filling { place, gives, origin: self.origin_of[transition] });
    }

    /// Renumbers the remaining places.
    pub fn finish(self) -> Reduced {
        let places = self.places();
        let mut fates = self.fates;
        for (i, &place) in places.iter().enumerate() {
            fates[place.index()] = Fate::Kept(PlaceId::from_index(i));
        }
        let rename = |place: PlaceId| match fates[place.index()] {
            Fate::Kept(name) => name,
            // No part of the net mentions a removed place.
            Fate::NeverMarked | Fate::Free | Fate::PassedThrough => place,
        };
        let tests = |upper: &[(PlaceId, u64)]| upper.iter().map(|&(place, n)| (rename(place), n)).collect();
        let moves = |moves: &[Move]| moves.iter().map(|m| rename_move(m, rename)).collect();
        let old = self.net;
        let net = Net {
            places: places.iter().map(|&place| old.place(place).clone()).collect(),
            transitions: old
                .transitions
                .iter()
                .map(|t| Transition {
                    take: t.take.renamed(rename),
                    give: t.give.renamed(rename),
                    moves: moves(&t.moves),
                    upper: tests(&t.upper),
                    span: t.span,
                })
                .collect(),
            initial: Initial::new(old.initial.ranges().iter().map(|&(place, range)| (rename(place), range))),
            targets: old
                .targets
                .iter()
                .map(|t| Target { least: t.least.renamed(rename), upper: tests(&t.upper), span: t.span })
                .collect(),
            claims: old
                .claims
                .iter()
                .map(|claim| Claim { weights: claim.weights.renamed(rename), span: claim.span })
                .collect(),
        };
        let restore = Restore {
            fates,
            gone_at: self.gone_at,
            places,
            transitions: self.origin_of,
            origins: self.origins,
            fillings: self.fillings,
        };
        Reduced { net, restore, counts: self.counts }
    }
}

/// Removes places from a flow.
fn forget(flow: &mut Flow, is_there: impl Fn(PlaceId) -> bool) {
    match flow {
        Flow::All(places) => places.retain(|&place| is_there(place)),
        Flow::Each(places) => {
            places.retain(|&place| is_there(place));
            if places.is_empty() {
                *flow = Flow::All(Vec::new());
            }
        }
    }
}

fn rename_move(m: &Move, rename: impl Fn(PlaceId) -> PlaceId) -> Move {
    let renamed = |places: &[PlaceId]| places.iter().map(|&place| rename(place)).collect();
    let flow = match &m.flow {
        Flow::All(places) => Flow::All(renamed(places)),
        Flow::Each(places) => Flow::Each(renamed(places)),
    };
    Move { from: rename(m.from), flow }
}
