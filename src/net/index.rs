//! An index of the transitions that can increase the tokens of each place.

use super::{Net, PlaceId, TransitionId};

/// For every place, the transitions that can bring more tokens to it than they take from it.
///
/// Theorem used: if a transition is listed for no place that `goal` marks, each of its covering predecessors of
/// `goal` covers `goal` itself, so a backward search can leave it out.
#[derive(Clone, Debug)]
pub struct Producers(Vec<Vec<TransitionId>>);

impl Producers {
    /// Builds the index in one pass over the transitions.
    #[must_use]
    pub fn of(net: &Net) -> Self {
        let mut producers: Vec<Vec<TransitionId>> = vec![Vec::new(); net.places.len()];
        for id in net.transition_ids() {
            let transition = net.transition(id);
            let mut note = |place: PlaceId| {
                let list = &mut producers[place.index()];
                if list.last() != Some(&id) {
                    list.push(id);
                }
            };
            for (place, n) in transition.give.iter() {
                if n > transition.take.get(place) {
                    note(place);
                }
            }
            for m in &transition.moves {
                let places = m.flow.places();
                let grows = places.iter().filter(|&&to| to == m.from).count() > 1;
                places.iter().filter(|&&to| to != m.from || grows).for_each(|&to| note(to));
            }
        }
        Self(producers)
    }

    /// The transitions listed for one place, sorted.
    #[must_use]
    pub fn of_place(&self, place: PlaceId) -> &[TransitionId] {
        &self.0[place.index()]
    }

    /// The transitions listed for any of the places, sorted and without duplicates.
    #[must_use]
    pub fn of_places(&self, places: impl IntoIterator<Item = PlaceId>) -> Vec<TransitionId> {
        let mut all: Vec<TransitionId> =
            places.into_iter().flat_map(|place| self.of_place(place).iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
