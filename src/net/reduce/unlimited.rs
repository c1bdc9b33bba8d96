//! Removes places that can hold as many tokens as are ever needed.
//!
//! Let a place be *unlimited* if it may start with any number of tokens and no transition moves its tokens away. It
//! never prevents anything: a run takes finitely many tokens, and can start with them. A place is also unlimited if
//! no transition moves its tokens away and it can be filled by a transition that takes only from unlimited places and
//! moves nothing: that transition can fire as often as necessary before the run begins, and the tokens that it gives
//! to other places disable nothing.
//!
//! This is not done if there are zero tests: tokens given to other places may disable transitions. Moreover, forward
//! searches that start with few tokens would not terminate without a place that limits them.

use super::draft::Draft;
use super::restore::Fate;
use crate::net::PlaceId;

pub(super) fn remove(draft: &mut Draft) {
    if !draft.is_monotone {
        return;
    }
    let is_removable = draft.is_removable();
    let mut is_unlimited = vec![false; draft.net.places.len()];
    let mut open: Vec<PlaceId> = Vec::new();
    for &(place, range) in draft.net.initial.ranges() {
        if range.most.is_none() && is_removable[place.index()] {
            is_unlimited[place.index()] = true;
            open.push(place);
        }
    }
    // For each place, the transitions that can fill others and take from it; and for each such transition, the number
    // of places that it takes from and that are not known to be unlimited.
    let mut takers: Vec<Vec<usize>> = vec![Vec::new(); draft.net.places.len()];
    let mut missing: Vec<usize> = Vec::with_capacity(draft.net.transitions.len());
    let mut free: Vec<usize> = Vec::new();
    for (i, transition) in draft.net.transitions.iter().enumerate() {
        missing.push(transition.take.entries().len());
        if !transition.is_plain() {
            continue;
        }
        transition.take.iter().for_each(|(place, _)| takers[place.index()].push(i));
        if missing[i] == 0 {
            free.push(i);
        }
    }
    let mut gone: Vec<(PlaceId, Fate)> = Vec::new();
    loop {
        if let Some(i) = free.pop() {
            for (place, n) in draft.net.transitions[i].give.clone().iter() {
                let index = place.index();
                if is_removable[index] && !std::mem::replace(&mut is_unlimited[index], true) {
                    draft.fill(place, i, n);
                    open.push(place);
                }
            }
        } else if let Some(place) = open.pop() {
            gone.push((place, Fate::Free));
            for &i in &takers[place.index()] {
                missing[i] -= 1;
                if missing[i] == 0 {
                    free.push(i);
                }
            }
        } else {
            break;
        }
    }
    draft.counts.unlimited += gone.len();
    draft.drop_places(&gone);
}
