//! Computes which places can ever hold a token, without counting tokens.

use super::{Flow, Net, PlaceId, TransitionId};

/// An abstraction of a net that only distinguishes marked from unmarked places.
///
/// Theorem used: let a place be *markable* if it may be marked initially, or if a transition that takes only from
/// markable places brings a token there. Marked places are always markable, because this is true initially and every
/// transition preserves it; so a transition that takes from any other place never fires.
#[derive(Clone, Debug)]
pub struct Signs {
    markable: Vec<bool>,
    live: Vec<TransitionId>,
}

impl Signs {
    /// Marks places until nothing changes. Every arc is visited once.
    #[must_use]
    pub fn of(net: &Net) -> Self {
        let mut markable = vec![false; net.places.len()];
        let mut open: Vec<PlaceId> = Vec::new();
        let mut mark = |place: PlaceId, open: &mut Vec<PlaceId>| {
            if !markable[place.index()] {
                markable[place.index()] = true;
                open.push(place);
            }
        };
        // For each place, the transitions that take from it, and those that move its tokens.
        let mut takers: Vec<Vec<TransitionId>> = vec![Vec::new(); net.places.len()];
        let mut movers: Vec<Vec<TransitionId>> = vec![Vec::new(); net.places.len()];
        let mut missing: Vec<usize> = Vec::with_capacity(net.transitions.len());
        let mut fireable: Vec<TransitionId> = Vec::new();
        for id in net.transition_ids() {
            let transition = net.transition(id);
            transition.take.iter().for_each(|(place, _)| takers[place.index()].push(id));
            transition.moves.iter().for_each(|m| movers[m.from.index()].push(id));
            missing.push(transition.take.entries().len());
            if transition.take.is_empty() {
                fireable.push(id);
            }
        }
        for &(place, _) in net.initial.ranges() {
            mark(place, &mut open);
        }
        let mut marked = vec![false; net.places.len()];
        let mut live = vec![false; net.transitions.len()];
        loop {
            if let Some(id) = fireable.pop() {
                live[id.index()] = true;
                let transition = net.transition(id);
                transition.give.iter().for_each(|(place, _)| mark(place, &mut open));
                for m in transition.moves.iter().filter(|m| marked[m.from.index()]) {
                    m.flow.places().iter().for_each(|&to| mark(to, &mut open));
                }
            } else if let Some(place) = open.pop() {
                marked[place.index()] = true;
                for &id in &takers[place.index()] {
                    missing[id.index()] -= 1;
                    if missing[id.index()] == 0 {
                        fireable.push(id);
                    }
                }
                for &id in movers[place.index()].iter().filter(|id| live[id.index()]) {
                    let flow = net.transition(id).flow(place);
                    flow.into_iter().flat_map(Flow::places).for_each(|&to| mark(to, &mut open));
                }
            } else {
                break;
            }
        }
        let live = net.transition_ids().filter(|id| live[id.index()]).collect();
        Self { markable: marked, live }
    }

    /// Whether the place can be marked.
    #[must_use]
    pub fn is_markable(&self, place: PlaceId) -> bool {
        self.markable[place.index()]
    }

    /// The places that are never marked, sorted.
    #[must_use]
    pub fn never_marked(&self) -> Vec<PlaceId> {
        let places = (0..self.markable.len()).map(PlaceId::from_index);
        places.filter(|&place| !self.is_markable(place)).collect()
    }

    /// The transitions that may fire, sorted.
    #[must_use]
    pub fn live(&self) -> &[TransitionId] {
        &self.live
    }
}
