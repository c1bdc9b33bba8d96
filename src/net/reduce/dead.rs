//! Removes places that are never marked, transitions that never fire, and transitions without effect.
//!
//! [`Signs`] over-approximates the places that can be marked, without counting tokens. A transition that takes a
//! token from any other place never fires, and a target that demands one there is never met. Zero tests only remove
//! runs.
//!
//! A transition is *without effect* if no firing increases the tokens of any place. In a monotone net, whatever can
//! happen after it can also happen without it, because additional tokens disable nothing. If there are zero tests,
//! fewer tokens may enable a transition, so then only transitions that change nothing at all are removed.

use super::draft::Draft;
use super::restore::Fate;
use crate::net::signs::Signs;
use crate::net::{PlaceId, Transition};

pub(super) fn remove(draft: &mut Draft) {
    let signs = Signs::of(&draft.net);
    let mut is_live = vec![false; draft.net.transitions.len()];
    signs.live().iter().for_each(|id| is_live[id.index()] = true);
    draft.counts.dead += is_live.iter().filter(|&&live| !live).count();
    draft.retain_transitions(|i| is_live[i]);
    draft.net.targets.retain(|target| target.least.iter().all(|(place, _)| signs.is_markable(place)));
    let never = draft.places().into_iter().filter(|&place| !signs.is_markable(place));
    let never: Vec<(PlaceId, Fate)> = never.map(|place| (place, Fate::NeverMarked)).collect();
    draft.counts.never_marked += never.len();
    draft.drop_places(&never);

    let is_monotone = draft.is_monotone;
    let is_idle =
        |t: &Transition| if is_monotone { only_removes(t) } else { t.is_plain() && t.take == t.give };
    let idle: Vec<bool> = draft.net.transitions.iter().map(is_idle).collect();
    draft.counts.idle += idle.iter().filter(|&&idle| idle).count();
    draft.retain_transitions(|i| !idle[i]);
}

/// Whether no firing increases the tokens of any place.
fn only_removes(transition: &Transition) -> bool {
    let brings = transition.moves.iter().any(|m| {
        let places = m.flow.places();
        places.iter().any(|&to| to != m.from) || places.len() > 1
    });
    !brings && transition.take.covers(&transition.give)
}
