//! Acceleration: the exact limit of repeating a sequence of steps.
//!
//! Let `f` be the effect of a sequence of steps, `x` a limit with `f(x) >= x`, and `d = f(x) - x`. In a Petri net,
//! `f` adds the same tokens every time, so every place in the support of `d` grows without bound. Transfers and
//! resets move the difference: `f^n(x) = x + d + A d + ... + A^(n-1) d`, where `A` says where one more token in a
//! place ends up. A place grows without bound iff infinitely many of these terms mark it, that is, iff it lies on
//! or behind a cycle of `A` that is reached from the support of `d`. For example, take `p >= 1 -> q' = q + p, p' =
//! 2` from (1, 0). Then `d` is (1, 1); one more token in `p` ends up in `q`, and one more token in `q` stays there.
//! So `q` grows without bound and `p` does not ([errata 30](crate::errata::item_30)).
//!
//! If tokens can choose where they go, the tokens that were present the first time choose the same every time, and
//! all additional tokens choose by one of a few fixed rules, which are tried in turn. A place with any number of
//! tokens absorbs an additional token. Repeated steps inside the sequence are supported only if they are plain;
//! otherwise nothing is accelerated.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{NodeId, Step, Tree};
use crate::engines::nets::sets::ideal::OMEGA;
use crate::net::{Flow, PlaceId, Transition};

/// The rule by which an additional token chooses among the places where it may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The place where it is, or the first place if it may not stay.
    Stay,
    /// The first place.
    First,
    /// The last place.
    Last,
}

/// The places that grow without bound when the steps from `from` to `to` are repeated, and whether all these steps
/// are plain. The limit at `to` includes the one at `from`. `None` if no place is known to grow without bound.
#[must_use]
pub fn growing(tree: &Tree, from: NodeId, to: NodeId) -> Option<(Vec<PlaceId>, bool)> {
    let (before, after) = (&tree.node(from).ideal, &tree.node(to).ideal);
    let mut path = Vec::new();
    let mut at = to;
    let mut is_plain = true;
    while at != from {
        match tree.node(at).step {
            Step::Root => return None,
            Step::Fire(id) => is_plain &= tree.net().transition(id).is_plain(),
            Step::Repeat { is_plain: inner, .. } if !inner => return None,
            Step::Repeat { .. } => {}
        }
        path.push(at);
        at = tree.node(at).parent;
    }
    path.reverse();
    let more = after.entries().iter().filter(|&&(place, n)| n > before.get(place));
    let grown: Vec<(PlaceId, u64)> = more.copied().collect();
    if is_plain {
        let finite = grown.iter().filter(|&&(_, n)| n != OMEGA).map(|&(place, _)| place);
        let places: Vec<PlaceId> = finite.collect();
        return (!places.is_empty()).then_some((places, true));
    }
    [Rule::Stay, Rule::First, Rule::Last].into_iter().find_map(|rule| {
        let places = limit(tree, &path, &grown, rule);
        (!places.is_empty()).then_some((places, false))
    })
}

/// The finite places that grow without bound under one rule, sorted.
fn limit(tree: &Tree, path: &[NodeId], grown: &[(PlaceId, u64)], rule: Rule) -> Vec<PlaceId> {
    let mut ends_up: BTreeMap<PlaceId, BTreeSet<PlaceId>> = BTreeMap::new();
    let mut open: Vec<PlaceId> = grown.iter().map(|&(place, _)| place).collect();
    while let Some(place) = open.pop() {
        if let std::collections::btree_map::Entry::Vacant(entry) = ends_up.entry(place) {
            let ends = entry.insert(image(tree, path, place, rule));
            open.extend(ends.iter().copied());
        }
    }
    // A place that grew to omega in one round does so every time, and so do all places where its tokens end up.
    let mut unbounded: BTreeSet<PlaceId> = BTreeSet::new();
    open.extend(grown.iter().filter(|&&(_, n)| n == OMEGA).map(|&(place, _)| place));
    while let Some(place) = open.pop() {
        open.extend(ends_up[&place].iter().copied().filter(|&p| unbounded.insert(p)));
    }
    // Repeatedly removes places to which nothing leads; the remaining places are on or behind a cycle.
    let mut incoming: BTreeMap<PlaceId, usize> = ends_up.keys().map(|&place| (place, 0)).collect();
    for &end in ends_up.values().flatten() {
        incoming.entry(end).and_modify(|n| *n += 1);
    }
    open.extend(incoming.iter().filter(|&(_, &n)| n == 0).map(|(&place, _)| place));
    while let Some(place) = open.pop() {
        incoming.remove(&place);
        for end in &ends_up[&place] {
            if let Some(n) = incoming.get_mut(end) {
                *n -= 1;
                if *n == 0 {
                    open.push(*end);
                }
            }
        }
    }
    unbounded.extend(incoming.into_keys());
    let Some(last) = path.last() else { return Vec::new() };
    unbounded.into_iter().filter(|&place| !tree.node(*last).ideal.is_omega(place)).collect()
}

/// The places where one more token in a place ends up after the path, without places that hold any number of
/// tokens.
fn image(tree: &Tree, path: &[NodeId], place: PlaceId, rule: Rule) -> BTreeSet<PlaceId> {
    let mut places = BTreeSet::from([place]);
    for &node in path {
        if let Step::Fire(id) = tree.node(node).step {
            let transition = tree.net().transition(id);
            if !transition.is_plain() {
                places = places.iter().flat_map(|&p| destinations(transition, p, rule)).collect();
            }
        }
        places.retain(|&p| !tree.node(node).ideal.is_omega(p));
    }
    places
}

fn destinations(transition: &Transition, place: PlaceId, rule: Rule) -> Vec<PlaceId> {
    match transition.flow(place) {
        None => vec![place],
        Some(Flow::All(places)) => places.clone(),
        Some(Flow::Each(places)) => {
            let first = places.first().copied();
            let chosen = match rule {
                Rule::Stay if places.contains(&place) => Some(place),
                Rule::Stay | Rule::First => first,
                Rule::Last => places.last().copied(),
            };
            chosen.into_iter().collect()
        }
    }
}
