//! Checks forward proofs: a downward-closed set that contains the initial markings and all their successors, and no
//! marking that covers a target.

use crate::budget::Budget;
use crate::evidence::net::{OmegaMarking, Tokens};
use crate::net::{Flow, Net, PlaceId, Transition};

use super::{Stop, poll, reject};

/// Checks the proof.
pub(super) fn check(net: &Net, set: &[OmegaMarking], budget: &Budget) -> Result<(), Stop> {
    let mut places = set.iter().flat_map(|ideal| ideal.limits().iter().map(|&(place, _)| place));
    if !places.all(|place| place.index() < net.places.len()) {
        return reject("the proof is about a place that does not exist");
    }
    let unlimited = |most: Option<u64>| most.map_or(Tokens::Omega, Tokens::AtMost);
    let start = net.initial.ranges().iter().map(|&(place, range)| (place, unlimited(range.most)));
    // Any two initial markings lie below a third one, so a single ideal must contain them all.
    if !is_in(set, &OmegaMarking::new(start)) {
        return reject("the coverability set lacks an initial marking");
    }
    for target in &net.targets {
        let below = |ideal: &OmegaMarking| {
            target.least.entries().iter().all(|&(place, n)| Tokens::AtMost(n) <= ideal.get(place))
        };
        if let Some(ideal) = set.iter().find(|ideal| below(ideal)) {
            return reject(format!("the coverability set has a marking that covers a target: {ideal:?}"));
        }
    }
    for ideal in set {
        for id in net.transition_ids() {
            poll(budget)?;
            if let Some(missing) = missing_successor(net.transition(id), ideal, set, budget)? {
                return reject(format!("{id} leads from {ideal:?} to {missing:?}, which the set lacks"));
            }
        }
    }
    Ok(())
}

fn is_in(set: &[OmegaMarking], ideal: &OmegaMarking) -> bool {
    let holds = |larger: &OmegaMarking| ideal.limits().iter().all(|&(place, n)| n <= larger.get(place));
    set.iter().any(holds)
}

/// If the set does not contain all successors of the ideal, a largest successor that it lacks.
fn missing_successor(
    transition: &Transition,
    ideal: &OmegaMarking,
    set: &[OmegaMarking],
    budget: &Budget,
) -> Result<Option<OmegaMarking>, Stop> {
    for &(place, n) in transition.take.entries() {
        if ideal.get(place) < Tokens::AtMost(n) {
            return Ok(None);
        }
    }
    let mut certain: Vec<(PlaceId, Tokens)> = Vec::new();
    // Finite numbers of tokens that choose between places. Of infinitely many tokens, infinitely many can go to each
    // of the places, so these need no choice.
    let mut choosers: Vec<(u64, &[PlaceId])> = Vec::new();
    for &(place, tokens) in ideal.limits() {
        let left = match tokens {
            Tokens::Omega => Tokens::Omega,
            Tokens::AtMost(n) => Tokens::AtMost(n - transition.take.get(place)),
        };
        match (transition.moves.iter().find(|m| m.from == place).map(|m| &m.flow), left) {
            (None, _) => certain.push((place, left)),
            (Some(Flow::Each(places)), Tokens::AtMost(n)) => choosers.push((n, places)),
            (Some(Flow::All(places) | Flow::Each(places)), _) => {
                certain.extend(places.iter().map(|&to| (to, left)));
            }
        }
    }
    certain.extend(transition.give.entries().iter().map(|&(place, n)| (place, Tokens::AtMost(n))));
    // If the set contains even the marking in which every place has all the tokens that could choose it, it contains
    // all successors.
    let everywhere =
        choosers.iter().flat_map(|&(n, places)| places.iter().map(move |&to| (to, Tokens::AtMost(n))));
    if let Some(sum) = sum(certain.iter().copied().chain(everywhere))
        && is_in(set, &sum)
    {
        return Ok(None);
    }
    // Tries all ways to distribute the tokens over the places that they may choose.
    let mut open = vec![(certain, 0, 0, choosers.first().map_or(0, |&(n, _)| n))];
    while let Some((tokens, chooser, place, left)) = open.pop() {
        poll(budget)?;
        let Some(&(_, places)) = choosers.get(chooser) else {
            match sum(tokens.iter().copied()) {
                Some(sum) if is_in(set, &sum) => continue,
                Some(sum) => return Ok(Some(sum)),
                None => return reject("there are more tokens than 64 bits can count"),
            }
        };
        let is_last = place + 1 == places.len();
        for n in if is_last { left } else { 0 }..=left {
            let mut more = tokens.clone();
            more.push((places[place], Tokens::AtMost(n)));
            if is_last {
                let next = choosers.get(chooser + 1).map_or(0, |&(n, _)| n);
                open.push((more, chooser + 1, 0, next));
            } else {
                open.push((more, chooser, place + 1, left - n));
            }
        }
    }
    Ok(None)
}

/// The sum of the limits, place by place; `None` on overflow.
fn sum(limits: impl Iterator<Item = (PlaceId, Tokens)>) -> Option<OmegaMarking> {
    let mut sorted: Vec<(PlaceId, Tokens)> = limits.collect();
    sorted.sort_unstable();
    let mut sums: Vec<(PlaceId, Tokens)> = Vec::with_capacity(sorted.len());
    for (place, tokens) in sorted {
        match sums.last_mut() {
            Some((last, sum)) if *last == place => {
                *sum = match (*sum, tokens) {
                    (Tokens::AtMost(a), Tokens::AtMost(b)) => Tokens::AtMost(a.checked_add(b)?),
                    _ => Tokens::Omega,
                };
            }
            _ => sums.push((place, tokens)),
        }
    }
    Some(OmegaMarking::new(sums))
}
