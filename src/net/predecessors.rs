//! Covering predecessors: the minimal markings from which one firing can cover a goal.
//!
//! Theorem used: for monotone transitions, the markings from which firing `t` once can lead into the upward closure
//! of `goal` form an upward-closed set; [`predecessors`] computes its minimal elements. Zero tests are ignored. For a
//! transition with zero tests the result is an over-approximation, which is sound for `safe`.
//!
//! With `demand = goal - give` (never below zero), a marking `take + r` is a predecessor iff `r` can supply the
//! demand. A token demanded in `q` comes from any place whose tokens can go to `q`, and from `q` itself if the tokens
//! of `q` stay. Where a place has several such suppliers, every distribution of the demand over them is a candidate.
//! Without copies, each token of `r` supplies exactly one demanded token, so all candidates have the same size and
//! are minimal. Copies supply several places at once, and only then are candidates compared.
//!
//! There may be many candidates: demand `n` with `k` suppliers has `(n + k - 1)` over `(k - 1)` distributions. They
//! are extended place by place without duplicates, and `keep` is called for every partial marking, so that the search
//! leaves out everything that grows from a marking which is already covered ([errata 32](crate::errata::item_32)).

use std::collections::BTreeSet;

use super::{Flow, Marking, Overflow, PlaceId, Transition};

/// A place that can supply tokens to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Supplier {
    place: PlaceId,
    /// How many tokens arrive for each token of the supplier.
    factor: u64,
}

/// A partial predecessor, and the demand that it does not supply yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Partial {
    marking: Marking,
    demand: Marking,
}

/// The minimal markings from which one firing of the transition covers the goal, in order.
///
/// `keep` is called for partial markings, which all markings that grow from them cover, and for the final ones; those
/// that it refuses are dropped. By refusing everything it can end the search.
///
/// # Errors
/// If there would be too many tokens.
pub fn predecessors(
    transition: &Transition,
    goal: &Marking,
    keep: &mut dyn FnMut(&Marking) -> bool,
) -> Result<Vec<Marking>, Overflow> {
    let demand = goal.minus(&transition.give);
    if transition.moves.is_empty() {
        let marking = demand.plus(&transition.take)?;
        return Ok(if keep(&marking) { vec![marking] } else { Vec::new() });
    }
    // Places with one supplier leave no choice. They come first, since they restrict the search the most.
    let mut wanted: Vec<(PlaceId, Vec<Supplier>)> = Vec::with_capacity(demand.entries().len());
    for (place, _) in demand.iter() {
        let suppliers = suppliers(transition, place);
        if suppliers.is_empty() {
            return Ok(Vec::new());
        }
        wanted.push((place, suppliers));
    }
    wanted.sort_by_key(|(_, suppliers)| suppliers.len());
    let mut layer = BTreeSet::from([Partial { marking: transition.take.clone(), demand }]);
    for (place, suppliers) in &wanted {
        let mut next = BTreeSet::new();
        for partial in layer {
            if partial.demand.get(*place) == 0 {
                next.insert(partial);
            } else {
                distribute(transition, *place, suppliers, partial, keep, &mut next)?;
            }
        }
        layer = next;
    }
    let mut found: Vec<Marking> = layer.into_iter().map(|partial| partial.marking).collect();
    found.dedup();
    found.retain(|marking| keep(marking));
    if transition.copies() { Ok(minimal(found)) } else { Ok(found) }
}

/// The places whose tokens can go to this one.
fn suppliers(transition: &Transition, place: PlaceId) -> Vec<Supplier> {
    let mut suppliers = Vec::new();
    if transition.flow(place).is_none() {
        suppliers.push(Supplier { place, factor: 1 });
    }
    for m in &transition.moves {
        let factor = match &m.flow {
            Flow::All(places) => places.iter().filter(|&&to| to == place).count() as u64,
            Flow::Each(places) => u64::from(places.contains(&place)),
        };
        if factor > 0 {
            suppliers.push(Supplier { place: m.from, factor });
        }
    }
    suppliers
}

/// All minimal ways to supply what a partial predecessor lacks in one place.
fn distribute(
    transition: &Transition,
    place: PlaceId,
    suppliers: &[Supplier],
    partial: Partial,
    keep: &mut dyn FnMut(&Marking) -> bool,
    found: &mut BTreeSet<Partial>,
) -> Result<(), Overflow> {
    // Each entry has the number of suppliers that are decided and the partial predecessor.
    let mut open = vec![(0, partial)];
    while let Some((decided, partial)) = open.pop() {
        let missing = partial.demand.get(place);
        if !keep(&partial.marking) {
            continue;
        }
        if missing == 0 {
            found.insert(partial);
            continue;
        }
        let Some(&Supplier { place: from, factor }) = suppliers.get(decided) else { continue };
        let most = missing.div_ceil(factor);
        let is_last = decided + 1 == suppliers.len();
        for n in if is_last { most } else { 0 }..=most {
            open.push((decided + 1, supply(transition, &partial, from, place, n)?));
        }
    }
    Ok(())
}

/// Adds tokens in one place, and reduces the demand by what they supply.
fn supply(
    transition: &Transition,
    partial: &Partial,
    from: PlaceId,
    wanted: PlaceId,
    n: u64,
) -> Result<Partial, Overflow> {
    let mut more = partial.clone();
    more.marking.add(from, n)?;
    let mut serve = |place: PlaceId| more.demand.set(place, more.demand.get(place).saturating_sub(n));
    match transition.flow(from) {
        None => serve(from),
        Some(Flow::Each(_)) => serve(wanted),
        Some(Flow::All(places)) => places.iter().for_each(|&to| serve(to)),
    }
    Ok(more)
}

/// The minimal elements of a list of markings, sorted.
#[must_use]
pub fn minimal(markings: Vec<Marking>) -> Vec<Marking> {
    let mut sorted = markings;
    sorted.sort_by_cached_key(|marking| (marking.total(), marking.clone()));
    let mut kept: Vec<Marking> = Vec::with_capacity(sorted.len());
    for marking in sorted {
        if !kept.iter().any(|smaller| marking.covers(smaller)) {
            kept.push(marking);
        }
    }
    kept.sort_unstable();
    kept
}
