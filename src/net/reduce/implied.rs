//! Removes places that hold enough tokens whenever another place does, or always.
//!
//! A place `p` is *implied* by `q` if it always holds at least as many tokens as `q`, and every transition or target
//! that takes or demands tokens in `p` takes or demands at least as many in `q`. Then the tokens in `q` alone
//! determine what is possible, and `p` can be removed. The following conditions ensure that `p` always holds at least
//! as many tokens as `q`: it may start with as many; the effect of every transition on `p` is at least its effect on
//! `q`; and no transition moves tokens away from `p`, or to `q`. (If a transition moves the tokens of `q` away, `q`
//! holds afterwards what the transition gives, and held before at least what it takes; so `p` still has as many.)
//! Equal places imply each other, and one of them is removed.
//!
//! A place holds *enough* tokens if no transition takes more than it gives back, no transition moves its tokens away,
//! and it may start with as many tokens as the largest number that any transition or target needs there.
//!
//! In both cases no zero test is about the place, so a run may choose how many tokens it starts with.

use super::draft::Draft;
use super::restore::Fate;
use crate::net::{Marking, PlaceId, Range};

/// The largest number of other places that are tried for each place.
const TRIES: usize = 16;

pub(super) fn remove(draft: &mut Draft) {
    let index = Index::of(draft);
    let is_removable = draft.is_removable();
    let is_moved_to = draft.is_moved_to();
    let mut is_gone = vec![false; draft.net.places.len()];
    let mut gone = Vec::new();
    for place in draft.places().into_iter().filter(|place| is_removable[place.index()]) {
        if index.holds_enough(draft, place) {
            draft.counts.enough += 1;
        } else if index.candidates(draft, place).any(|other| {
            other != place
                && !is_gone[other.index()]
                && !is_moved_to[other.index()]
                && index.implies(draft, other, place)
        }) {
            draft.counts.implied += 1;
        } else {
            continue;
        }
        is_gone[place.index()] = true;
        gone.push((place, Fate::Free));
    }
    draft.drop_places(&gone);
}

/// The transitions that use each place.
struct Index {
    /// For each place, the transitions that take from it.
    takers: Vec<Vec<usize>>,
    /// For each place, the transitions that give more to it than they take.
    gainers: Vec<Vec<usize>>,
}

impl Index {
    fn of(draft: &Draft) -> Self {
        let mut takers = vec![Vec::new(); draft.net.places.len()];
        let mut gainers = vec![Vec::new(); draft.net.places.len()];
        for (i, transition) in draft.net.transitions.iter().enumerate() {
            transition.take.iter().for_each(|(place, _)| takers[place.index()].push(i));
            for (place, n) in transition.give.iter() {
                if n > transition.take.get(place) {
                    gainers[place.index()].push(i);
                }
            }
        }
        Self { takers, gainers }
    }

    fn holds_enough(&self, draft: &Draft, place: PlaceId) -> bool {
        let most = draft.net.initial.range(place);
        let takers = self.takers[place.index()].iter().map(|&i| &draft.net.transitions[i]);
        let returns = |take: &Marking, give: &Marking| {
            take.get(place) <= give.get(place) && most.reaches(take.get(place))
        };
        takers.into_iter().all(|t| returns(&t.take, &t.give))
            && draft.net.targets.iter().all(|t| most.reaches(t.least.get(place)))
    }

    /// Places that might imply this one: those that are needed together with it by some transition or target.
    fn candidates<'a>(&'a self, draft: &'a Draft, place: PlaceId) -> impl Iterator<Item = PlaceId> + 'a {
        let taken = self.takers[place.index()].iter().map(|&i| &draft.net.transitions[i].take);
        let demanded = draft.net.targets.iter().map(|t| &t.least).filter(move |m| m.get(place) > 0);
        let shortest = taken.chain(demanded).min_by_key(|marking| marking.entries().len());
        shortest.into_iter().flat_map(Marking::iter).map(|(other, _)| other).take(TRIES)
    }

    /// Whether `other`, to which no transition moves tokens, implies `place`, from which none moves tokens.
    fn implies(&self, draft: &Draft, other: PlaceId, place: PlaceId) -> bool {
        let (takers, gainers) = (&self.takers[place.index()], &self.gainers[other.index()]);
        let net = &draft.net;
        let Range { most, .. } = net.initial.range(place);
        let starts_with_as_many = match (most, net.initial.range(other).most) {
            (None, _) => true,
            (Some(here), Some(there)) => here >= there,
            (Some(_), None) => false,
        };
        let change = |i: usize, at: PlaceId| {
            let transition = &net.transitions[i];
            i128::from(transition.give.get(at)) - i128::from(transition.take.get(at))
        };
        let needs_less = |marking: &Marking| marking.get(place) <= marking.get(other);
        // Every transition that adds tokens to `other` adds at least as many to `place`, so `place` has at least as
        // many.
        starts_with_as_many
            && takers.len() <= self.takers[other.index()].len()
            && gainers.len() <= self.gainers[place.index()].len()
            && takers.iter().all(|&i| needs_less(&net.transitions[i].take))
            && net.targets.iter().all(|target| needs_less(&target.least))
            && takers.iter().chain(gainers).all(|&i| change(i, place) >= change(i, other))
    }
}
