//! Removes transitions that another transition can replace.
//!
//! In a monotone net, `other` *dominates* `t` if both have the same moves, `other` takes no more than `t`, and `t`
//! gives no more than what `other` gives and leaves. Then `other` can fire wherever `t` can, and leads to at least as
//! many tokens in every place. What `other` leaves counts only in places whose tokens stay.
//!
//! If there are zero tests, `other` may test no more than `t` does, and must lead to the same marking.
//!
//! Comparing all pairs would take quadratic time. So transitions with the same effect are compared with the few of
//! them that take the least, and each transition is compared with a few that give to the same place, namely one to
//! which few transitions give.

use rustc_hash::FxHashMap;

use super::draft::Draft;
use crate::net::{Move, PlaceId, Transition};

/// The largest number of other transitions that each is compared with.
const TRIES: usize = 32;

pub(super) fn remove(draft: &mut Draft) {
    let transitions = &draft.net.transitions;
    let effects: Vec<Vec<(PlaceId, i128)>> = transitions.iter().map(Transition::effect).collect();
    let mut is_kept = vec![true; transitions.len()];
    among_equals(draft, &effects, &mut is_kept);
    if draft.is_monotone {
        by_stronger(draft, &effects, &mut is_kept);
    }
    draft.counts.dominated += is_kept.iter().filter(|&&kept| !kept).count();
    draft.retain_transitions(|i| is_kept[i]);
}

/// Compares transitions that have the same effect.
fn among_equals(draft: &Draft, effects: &[Vec<(PlaceId, i128)>], is_kept: &mut [bool]) {
    type Shape<'a> = (&'a [(PlaceId, i128)], &'a [Move]);
    let transitions = &draft.net.transitions;
    let mut groups: FxHashMap<Shape, usize> = FxHashMap::default();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (i, transition) in transitions.iter().enumerate() {
        let fresh = members.len();
        let group = *groups.entry((&effects[i], &transition.moves)).or_insert(fresh);
        if group == fresh {
            members.push(Vec::new());
        }
        members[group].push(i);
    }
    for mut group in members.into_iter().filter(|group| group.len() > 1) {
        // Transitions that take less and test less come first, since they can replace the rest; of equal ones, the
        // first is kept.
        group.sort_by_key(|&i| (transitions[i].take.total(), transitions[i].upper.len(), i));
        let mut least: Vec<usize> = Vec::new();
        for i in group {
            let stands_in =
                |&other: &usize| dominates(&transitions[other], &transitions[i], draft.is_monotone);
            if least.iter().any(stands_in) {
                is_kept[i] = false;
            } else if least.len() < TRIES {
                least.push(i);
            }
        }
    }
}

/// Compares transitions with those that have a larger effect.
fn by_stronger(draft: &Draft, effects: &[Vec<(PlaceId, i128)>], is_kept: &mut [bool]) {
    let transitions = &draft.net.transitions;
    let mut gainers: Vec<Vec<usize>> = vec![Vec::new(); draft.net.places.len()];
    let gains = |i: usize| effects[i].iter().filter(|&&(_, n)| n > 0).map(|&(place, _)| place);
    for i in (0..transitions.len()).filter(|&i| is_kept[i]) {
        gains(i).for_each(|place| gainers[place.index()].push(i));
    }
    for i in 0..transitions.len() {
        let rarest = gains(i).min_by_key(|place| gainers[place.index()].len());
        let Some(place) = rarest.filter(|_| is_kept[i]) else { continue };
        let mut others = gainers[place.index()].iter().take(TRIES).filter(|&&other| other != i);
        let stands_in =
            |&other: &usize| is_kept[other] && dominates(&transitions[other], &transitions[i], true);
        is_kept[i] = !others.any(stands_in);
    }
}

/// Whether the first transition can replace the second.
fn dominates(other: &Transition, transition: &Transition, is_monotone: bool) -> bool {
    if !transition.take.covers(&other.take) || other.moves != transition.moves {
        return false;
    }
    let stays = |place: PlaceId| transition.flow(place).is_none();
    let leaves = |place: PlaceId| transition.take.get(place) - other.take.get(place);
    if is_monotone {
        return transition.give.iter().all(|(place, n)| {
            let left = if stays(place) { leaves(place) } else { 0 };
            n <= other.give.get(place).saturating_add(left)
        });
    }
    let is_tested = |&(place, most): &(PlaceId, u64)| {
        transition.upper.iter().any(|&(tested, n)| tested == place && n <= most)
    };
    other.upper.iter().all(is_tested)
        && transition.take.iter().all(|(place, _)| stays(place) || leaves(place) == 0)
        && transition.effect() == other.effect()
}
