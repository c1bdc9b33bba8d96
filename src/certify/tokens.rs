//! Functions on markings and transitions that the checks about nets share.

use crate::net::{Flow, Marking, PlaceId, Transition};

/// The marked places.
pub(super) fn places_of(marking: &Marking) -> impl Iterator<Item = PlaceId> + '_ {
    marking.entries().iter().map(|&(place, _)| place)
}

/// How many tokens arrive at place `to` for each token at place `from` that the transition does not take.
pub(super) fn arrives(transition: &Transition, from: PlaceId, to: PlaceId) -> u64 {
    match transition.moves.iter().find(|m| m.from == from).map(|m| &m.flow) {
        None => u64::from(from == to),
        Some(Flow::Each(places)) => u64::from(places.contains(&to)),
        Some(Flow::All(places)) => places.iter().filter(|&&place| place == to).count() as u64,
    }
}

/// Whether the first marking has at least as many tokens in every place as the second.
pub(super) fn is_above(larger: &Marking, smaller: &Marking) -> bool {
    let (mut i, have) = (0, larger.entries());
    for &(place, n) in smaller.entries() {
        while i < have.len() && have[i].0 < place {
            i += 1;
        }
        if i == have.len() || have[i].0 != place || have[i].1 < n {
            return false;
        }
    }
    true
}
