//! Removes places and transitions that do not matter for the targets.
//!
//! In a monotone net, the *relevant* places and transitions are the least sets such that: every place that a target
//! demands is relevant; a transition is relevant if some firing of it increases the tokens of a relevant place; the
//! places that a relevant transition takes from are relevant, and so are those whose tokens it can move to a relevant
//! place. Without an irrelevant transition, relevant places hold at least as many tokens, and relevant transitions
//! depend on no other places. So the targets can be covered iff they can be covered in the net of relevant places and
//! transitions.
//!
//! If there are zero tests, a transition is relevant if it changes a relevant place in any way; then all places that
//! it tests, and all that take part in a move from or to a relevant place, are relevant, too. What remains is exactly
//! the projection of the net to the relevant places.

use super::draft::Draft;
use super::restore::Fate;
use crate::net::index::Producers;
use crate::net::{Net, PlaceId, Transition, TransitionId};

pub(super) fn remove(draft: &mut Draft) {
    let Relevant { places, transitions } = Relevant::of(&draft.net, draft.is_monotone);
    draft.counts.irrelevant_transitions += transitions.iter().filter(|&&relevant| !relevant).count();
    draft.retain_transitions(|i| transitions[i]);
    let gone = draft.places().into_iter().filter(|place| !places[place.index()]);
    let gone: Vec<(PlaceId, Fate)> = gone.map(|place| (place, Fate::Free)).collect();
    draft.counts.irrelevant_places += gone.len();
    draft.drop_places(&gone);
}

struct Relevant {
    places: Vec<bool>,
    transitions: Vec<bool>,
}

impl Relevant {
    /// Computes the relevant places and transitions; every arc of the net is visited once.
    fn of(net: &Net, is_monotone: bool) -> Self {
        let mut relevant =
            Self { places: vec![false; net.places.len()], transitions: vec![false; net.transitions.len()] };
        let producers = is_monotone.then(|| Producers::of(net));
        let movers = transitions_by_place(net, |t| {
            let to = t.moves.iter().flat_map(|m| m.flow.places().iter().copied());
            if is_monotone { to.collect() } else { to.chain(t.moves.iter().map(|m| m.from)).collect() }
        });
        let changers = (!is_monotone)
            .then(|| transitions_by_place(net, |t| t.effect().iter().map(|&(place, _)| place).collect()));
        let mut open = Vec::new();
        for target in &net.targets {
            let demanded = target.least.iter().map(|(place, _)| place);
            relevant.add(demanded.chain(target.upper.iter().map(|&(place, _)| place)), &mut open);
        }
        while let Some(place) = open.pop() {
            let influences = match (&producers, &changers) {
                (Some(producers), _) => producers.of_place(place),
                (None, Some(changers)) => &changers[place.index()],
                (None, None) => &[],
            };
            for &id in influences.iter().chain(&movers[place.index()]) {
                let transition = net.transition(id);
                if !std::mem::replace(&mut relevant.transitions[id.index()], true) {
                    relevant.add(transition.take.iter().map(|(place, _)| place), &mut open);
                    relevant.add(transition.upper.iter().map(|&(place, _)| place), &mut open);
                }
            }
            for &id in &movers[place.index()] {
                for m in &net.transition(id).moves {
                    let comes_here = m.flow.places().contains(&place);
                    if comes_here {
                        relevant.add([m.from], &mut open);
                    }
                    if !is_monotone && (comes_here || m.from == place) {
                        relevant.add(m.flow.places().iter().copied(), &mut open);
                    }
                }
            }
        }
        relevant
    }

    fn add(&mut self, places: impl IntoIterator<Item = PlaceId>, open: &mut Vec<PlaceId>) {
        for place in places {
            if !std::mem::replace(&mut self.places[place.index()], true) {
                open.push(place);
            }
        }
    }
}

/// For every place, the transitions for which `places` lists it, each once.
fn transitions_by_place(net: &Net, places: impl Fn(&Transition) -> Vec<PlaceId>) -> Vec<Vec<TransitionId>> {
    let mut lists: Vec<Vec<TransitionId>> = vec![Vec::new(); net.places.len()];
    for id in net.transition_ids() {
        for place in places(net.transition(id)) {
            if lists[place.index()].last() != Some(&id) {
                lists[place.index()].push(id);
            }
        }
    }
    lists
}
