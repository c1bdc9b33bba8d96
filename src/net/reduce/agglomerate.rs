//! Removes places through which tokens only pass, by merging the transitions before and after them.
//!
//! Let `p` be a place that is initially empty, that no target demands, and that occurs in no move. Let `H` be the
//! transitions that give to it and `F` those that take from it, none of them both, always one token at a time. Then
//! `p` and all these transitions are replaced by one transition `h f` for each `h` in `H` and `f` in `F`, which does
//! what `h` and then `f` do, if one of two conditions holds:
//!
//! 1. (`f` can fire right *after* `h`.) Every `f` takes only the token in `p`, moves nothing, and gives only to places
//!    whose tokens no transition moves away.
//! 2. (`h` can fire right *before* `f`.) Every `h` gives only the token in `p`, moves nothing, and takes only from
//!    places whose tokens no transition moves away.
//!
//! Every run of the smaller net is a run of the original net. For the other direction, take a run of a monotone net:
//!
//! 1. Every token in `p` comes from some `h`, and is taken by some `f` or stays. Let that `f` fire right after `h`,
//!    or any `f` if the token stays. It can fire, since it needs no other token. The tokens that it gives are there
//!    earlier, or in addition: in a monotone net they disable nothing, and no transition moves them elsewhere in the
//!    meantime. So the last marking covers the old one outside of `p`, and targets look only there.
//! 2. Let `h` fire right before the `f` that takes its token, or not at all if none does. Until then, the tokens that
//!    it takes stay where they were: no transition moves them away, and the transitions that fire in between did not
//!    need them. So again the last marking covers the old one.
//!
//! This is the agglomeration of G. Berthelot ("Transformations and Decompositions of Nets", Advances in Petri Nets
//! 1986), with conditions that suffice for coverability. It is only done if `H` or `F` has one member, so the number
//! of transitions decreases, and never in nets with zero tests, where tokens that come earlier or leave later can
//! make a difference.
//!
//! *Proofs* need markings with tokens in `p`: those from which an `f` leads into the upward-closed set. A backward
//! search that starts from the lifted set finds them; see `crate::decide_net`.

use super::draft::Draft;
use super::restore::Fate;
use crate::net::{Overflow, PlaceId, Range, Transition};

pub(super) fn remove(draft: &mut Draft) {
    if !draft.is_monotone {
        return;
    }
    let mut pass = Pass::new(draft);
    let mut gone = Vec::new();
    for place in draft.places() {
        if pass.work_left == 0 {
            break;
        }
        if !pass.is_fixed[place.index()]
            && let Some(kind) = pass.kind(draft, place)
            && pass.merge(draft, place)
        {
            match kind {
                Kind::After => draft.counts.passed_on += 1,
                Kind::Before => draft.counts.on_demand += 1,
            }
            gone.push((place, Fate::PassedThrough));
        }
    }
    let is_alive = pass.is_alive;
    draft.retain_transitions(|i| is_alive[i]);
    draft.drop_places(&gone);
}

/// Which of the two conditions holds.
#[derive(Clone, Copy)]
enum Kind {
    After,
    Before,
}

struct Pass {
    /// For each place, the transitions that take from it or give to it. Some of them may have been removed.
    takers: Vec<Vec<usize>>,
    givers: Vec<Vec<usize>>,
    is_alive: Vec<bool>,
    /// The places that must be kept.
    is_fixed: Vec<bool>,
    is_moved_from: Vec<bool>,
    /// A limit to the number of arcs that may still be written. Without it, a chain of places before a place with
    /// many takers would be written many times.
    work_left: usize,
}

impl Pass {
    fn new(draft: &Draft) -> Self {
        let places = draft.net.places.len();
        let is_moved_from = draft.is_moved_from();
        let is_moved_to = draft.is_moved_to();
        let starts_empty = |place| draft.net.initial.range(place) == Range::exactly(0);
        let mut is_fixed: Vec<bool> = draft
            .net
            .place_ids()
            .map(|place| is_moved_from[place.index()] || is_moved_to[place.index()] || !starts_empty(place))
            .collect();
        let demanded = draft.net.targets.iter().flat_map(|target| target.least.iter());
        demanded.for_each(|(place, _)| is_fixed[place.index()] = true);
        let mut pass = Self {
            takers: vec![Vec::new(); places],
            givers: vec![Vec::new(); places],
            is_alive: Vec::new(),
            is_fixed,
            is_moved_from,
            work_left: 0,
        };
        draft.net.transitions.iter().for_each(|transition| pass.note(transition));
        let arcs = draft.net.transitions.iter().map(|t| t.take.entries().len() + t.give.entries().len());
        pass.work_left = 4 * arcs.sum::<usize>() + 1_000;
        pass
    }

    /// Adds a transition, which gets the next number.
    fn note(&mut self, transition: &Transition) {
        let number = self.is_alive.len();
        self.is_alive.push(true);
        transition.take.iter().for_each(|(place, _)| self.takers[place.index()].push(number));
        transition.give.iter().for_each(|(place, _)| self.givers[place.index()].push(number));
    }

    /// The condition that a place satisfies, if it satisfies one.
    fn kind(&mut self, draft: &Draft, place: PlaceId) -> Option<Kind> {
        let Self { takers, givers, is_alive, is_moved_from, .. } = self;
        let (takers, givers) = (&mut takers[place.index()], &mut givers[place.index()]);
        takers.retain(|&i| is_alive[i]);
        givers.retain(|&i| is_alive[i]);
        if takers.is_empty() || givers.is_empty() || takers.len() > 1 && givers.len() > 1 {
            return None;
        }
        let transition = |&i: &usize| &draft.net.transitions[i];
        let one_by_one =
            takers.iter().map(transition).all(|f| f.take.get(place) == 1 && f.give.get(place) == 0)
                && givers.iter().map(transition).all(|h| h.give.get(place) == 1 && h.take.get(place) == 0);
        if !one_by_one {
            return None;
        }
        let stays = |(place, _): (PlaceId, u64)| !is_moved_from[place.index()];
        let goes_at_once =
            |f: &Transition| f.take.entries().len() == 1 && f.is_plain() && f.give.iter().all(stays);
        let comes_late =
            |h: &Transition| h.give.entries().len() == 1 && h.is_plain() && h.take.iter().all(stays);
        if takers.iter().map(transition).all(goes_at_once) {
            Some(Kind::After)
        } else if givers.iter().map(transition).all(comes_late) {
            Some(Kind::Before)
        } else {
            None
        }
    }

    /// Replaces the transitions of a place by pairs; returns `false` if numbers would overflow.
    fn merge(&mut self, draft: &mut Draft, place: PlaceId) -> bool {
        let (givers, takers) = (self.givers[place.index()].clone(), self.takers[place.index()].clone());
        let mut pairs = Vec::with_capacity(givers.len() * takers.len());
        for &first in &givers {
            for &second in &takers {
                let transitions = &draft.net.transitions;
                let Ok(both) = one_after_the_other(&transitions[first], &transitions[second], place) else {
                    return false;
                };
                pairs.push((both, first, second));
            }
        }
        for (both, first, second) in pairs {
            let arcs = both.take.entries().len() + both.give.entries().len();
            self.work_left = self.work_left.saturating_sub(arcs);
            self.note(&both);
            draft.push_both(both, first, second);
        }
        givers.iter().chain(&takers).for_each(|&i| self.is_alive[i] = false);
        true
    }
}

/// One transition that does what two do in sequence. The first gives one token to the second in a place, and at most
/// one of them moves tokens.
fn one_after_the_other(
    first: &Transition,
    second: &Transition,
    place: PlaceId,
) -> Result<Transition, Overflow> {
    let elsewhere = |other: PlaceId| other != place;
    let mut moves = first.moves.clone();
    moves.extend(second.moves.iter().cloned());
    Ok(Transition {
        take: first.take.plus(&second.take.restricted(elsewhere))?,
        give: first.give.restricted(elsewhere).plus(&second.give)?,
        moves,
        upper: Vec::new(),
        span: first.span,
    })
}
