//! Checks backward proofs: an upward-closed set that contains the targets and all predecessors of its markings, but
//! no initial marking. [`UncoverabilityBasis`] states what is checked.

use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::evidence::net::{LinearInvariant, UncoverabilityBasis};
use crate::net::{Flow, Marking, Net, PlaceId, Transition, TransitionId};

use super::tokens::{arrives, is_above, places_of};
use super::{Stop, poll, reject};

/// Checks the proof.
pub(super) fn check(net: &Net, basis: &UncoverabilityBasis, budget: &Budget) -> Result<(), Stop> {
    let proof = Proof::new(net, basis)?;
    proof.check_never_marked()?;
    for invariant in &basis.invariants {
        proof.check_invariant(invariant)?;
    }
    for (i, target) in net.targets.iter().enumerate() {
        if allows(&target.upper, &target.least) && !proof.is_settled(&target.least) {
            return reject(format!("target {} is not in the basis", i + 1));
        }
    }
    for element in &basis.elements {
        let reached = |&(place, n): &(PlaceId, u64)| most(net, place).is_none_or(|most| n <= most);
        if element.entries().iter().all(reached) {
            return reject(format!("an initial marking covers {element:?}, which is in the basis"));
        }
    }
    let gains = Gains::new(net);
    for element in &basis.elements {
        for id in gains.of(element) {
            poll(budget)?;
            if let Some(missing) = proof.missing_predecessor(net.transition(id), element, budget)? {
                return reject(format!(
                    "{id} leads from {missing:?} to {element:?}, but that is not in the basis"
                ));
            }
        }
    }
    Ok(())
}

/// The most tokens that a place can have in an initial marking; `None` if there is no limit.
fn most(net: &Net, place: PlaceId) -> Option<u64> {
    let ranges = net.initial.ranges();
    let at = ranges.binary_search_by_key(&place, |&(p, _)| p);
    at.map_or(Some(0), |at| ranges[at].1.most)
}

/// For every place, the transitions that can increase its number of tokens: by giving more than they take, or by
/// moving tokens there. If there is no such transition for any place of an element, every marking from which one
/// firing covers the element covers the element itself, since all these tokens were there before.
struct Gains(Vec<Vec<TransitionId>>);

impl Gains {
    fn new(net: &Net) -> Self {
        let mut gains = vec![Vec::new(); net.places.len()];
        for id in net.transition_ids() {
            let transition = net.transition(id);
            for &(place, n) in transition.give.entries() {
                if n > transition.take.get(place) {
                    gains[place.index()].push(id);
                }
            }
            for m in &transition.moves {
                for &to in m.flow.places() {
                    if to != m.from || arrives(transition, to, to) > 1 {
                        gains[to.index()].push(id);
                    }
                }
            }
        }
        Self(gains)
    }

    fn of(&self, element: &Marking) -> Vec<TransitionId> {
        let mut all: Vec<TransitionId> =
            places_of(element).flat_map(|place| self.0[place.index()].iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The proof, indexed for the queries of the check.
struct Proof<'a> {
    net: &'a Net,
    basis: &'a UncoverabilityBasis,
    never: Vec<bool>,
    /// The elements, each stored under one of its places, so that only the elements under the places of a marking are
    /// compared with it.
    by_place: FxHashMap<PlaceId, Vec<&'a Marking>>,
    /// Whether the empty marking is an element, so that the basis contains all markings.
    is_full: bool,
}

impl<'a> Proof<'a> {
    fn new(net: &'a Net, basis: &'a UncoverabilityBasis) -> Result<Self, Stop> {
        let weights = basis.invariants.iter().flat_map(|invariant| places_of(&invariant.weights));
        let in_elements = basis.elements.iter().flat_map(places_of);
        let mut places = weights.chain(in_elements).chain(basis.never_marked.iter().copied());
        if !places.all(|place| place.index() < net.places.len()) {
            return reject("the proof is about a place that does not exist");
        }
        let mut never = vec![false; net.places.len()];
        for place in &basis.never_marked {
            never[place.index()] = true;
        }
        let mut uses = vec![0_usize; net.places.len()];
        for place in basis.elements.iter().flat_map(places_of) {
            uses[place.index()] += 1;
        }
        let mut by_place: FxHashMap<PlaceId, Vec<&Marking>> = FxHashMap::default();
        let mut is_full = false;
        for element in &basis.elements {
            // Elements are stored under the place that the fewest elements use, which keeps the lists short.
            match places_of(element).min_by_key(|place| uses[place.index()]) {
                Some(place) => by_place.entry(place).or_default().push(element),
                None => is_full = true,
            }
        }
        Ok(Self { net, basis, never, by_place, is_full })
    }

    /// Whether the transition takes a token from a place that is never marked.
    fn is_dead(&self, transition: &Transition) -> bool {
        places_of(&transition.take).any(|place| self.never[place.index()])
    }

    fn check_never_marked(&self) -> Result<(), Stop> {
        let name = |place: PlaceId| &self.net.place(place).name;
        for &place in &self.basis.never_marked {
            if most(self.net, place) != Some(0) {
                return reject(format!("`{}` may be marked at the start", name(place)));
            }
        }
        for id in self.net.transition_ids() {
            let transition = self.net.transition(id);
            if self.is_dead(transition) {
                continue;
            }
            let live = transition.moves.iter().filter(|m| !self.never[m.from.index()]);
            let moved = live.flat_map(|m| m.flow.places().iter().copied());
            if let Some(place) = places_of(&transition.give).chain(moved).find(|p| self.never[p.index()]) {
                return reject(format!("{id} can mark `{}`", name(place)));
            }
        }
        Ok(())
    }

    fn check_invariant(&self, invariant: &LinearInvariant) -> Result<(), Stop> {
        let weight = |place: PlaceId| u128::from(invariant.weights.get(place));
        let weigh = |marking: &Marking| weigh(invariant, marking);
        let mut start = Marking::new();
        for &(place, range) in self.net.initial.ranges().iter().filter(|&&(place, _)| weight(place) > 0) {
            match range.most {
                Some(most) => start.set(place, most),
                None => {
                    return reject("an invariant is about a place with any number of tokens at the start");
                }
            }
        }
        if weigh(&start).is_none_or(|sum| sum > u128::from(invariant.bound)) {
            return reject("an initial marking violates an invariant");
        }
        for id in self.net.transition_ids() {
            let transition = self.net.transition(id);
            if self.is_dead(transition) {
                continue;
            }
            let (taken, given) = (weigh(&transition.take), weigh(&transition.give));
            if taken.zip(given).is_none_or(|(taken, given)| given > taken) {
                return reject(format!("{id} violates an invariant"));
            }
            for m in transition.moves.iter().filter(|m| !self.never[m.from.index()]) {
                let after = match &m.flow {
                    Flow::All(places) => places.iter().map(|&place| weight(place)).sum(),
                    Flow::Each(places) => places.iter().map(|&place| weight(place)).max().unwrap_or(0),
                };
                if after > weight(m.from) {
                    return reject(format!("a move of {id} violates an invariant"));
                }
            }
        }
        Ok(())
    }

    /// Whether every marking that covers the given one is in the basis or is excluded by an invariant or a place that
    /// is never marked.
    fn is_settled(&self, marking: &Marking) -> bool {
        let known = |place: PlaceId| {
            let elements = self.by_place.get(&place);
            elements.is_some_and(|elements| elements.iter().any(|element| is_above(marking, element)))
        };
        let violated = |invariant: &LinearInvariant| {
            weigh(invariant, marking).is_none_or(|sum| sum > u128::from(invariant.bound))
        };
        self.is_full
            || places_of(marking).any(|place| self.never[place.index()] || known(place))
            || self.basis.invariants.iter().any(violated)
    }

    /// Finds a marking from which the transition can lead to a marking that covers the element, and which is not
    /// settled.
    ///
    /// Every token that the element has beyond those that the transition gives was moved there or stayed there. The
    /// search decides, one place after the other, how many of these tokens came from which source. If a partial
    /// decision is settled, so is every decision that extends it.
    fn missing_predecessor(
        &self,
        transition: &Transition,
        element: &Marking,
        budget: &Budget,
    ) -> Result<Option<Marking>, Stop> {
        let mut wanted = Vec::new();
        let mut demand = Marking::new();
        for &(place, n) in element.entries() {
            let missing = n.saturating_sub(transition.give.get(place));
            if missing > 0 {
                demand.set(place, missing);
                wanted.push(place);
            }
        }
        let start = Origin { marking: transition.take.clone(), demand, place: 0, source: 0 };
        let sources: Vec<Vec<PlaceId>> = wanted
            .iter()
            .map(|&place| {
                let moved = transition.moves.iter().map(|m| m.from);
                let stays = transition.moves.iter().all(|m| m.from != place);
                let all = moved.chain(stays.then_some(place));
                all.filter(|&from| arrives(transition, from, place) > 0).collect()
            })
            .collect();
        let mut open = vec![start];
        while let Some(origin) = open.pop() {
            poll(budget)?;
            // Further decisions only add tokens, so a zero test that fails here fails for all of them.
            if !allows(&transition.upper, &origin.marking) || self.is_settled(&origin.marking) {
                continue;
            }
            let Some(&place) = wanted.get(origin.place) else { return Ok(Some(origin.marking)) };
            let missing = origin.demand.get(place);
            if missing == 0 {
                open.push(Origin { place: origin.place + 1, source: 0, ..origin });
                continue;
            }
            let sources = &sources[origin.place];
            // No source is left for the missing tokens, so this decision leads to no predecessor.
            let Some(&from) = sources.get(origin.source) else { continue };
            let all = missing.div_ceil(arrives(transition, from, place));
            let least = if origin.source + 1 == sources.len() { all } else { 0 };
            for n in least..=all {
                let mut next = Origin { source: origin.source + 1, ..origin.clone() };
                let Some(sum) = next.marking.get(from).checked_add(n) else {
                    return reject("there are more tokens than 64 bits can count");
                };
                next.marking.set(from, sum);
                let chooses =
                    transition.moves.iter().any(|m| m.from == from && matches!(m.flow, Flow::Each(_)));
                for &to in wanted.iter().filter(|&&to| to == place || !chooses) {
                    let served = n.saturating_mul(arrives(transition, from, to));
                    next.demand.set(to, next.demand.get(to).saturating_sub(served));
                }
                open.push(next);
            }
        }
        Ok(None)
    }
}

/// A partial decision about where the tokens of an element came from.
#[derive(Clone)]
struct Origin {
    /// The tokens that must have been there before the firing.
    marking: Marking,
    /// The tokens of the element whose source is not decided yet.
    demand: Marking,
    /// The position of the place whose tokens are being decided.
    place: usize,
    /// The position of the source that is decided next for this place.
    source: usize,
}

/// Whether the marking passes the zero tests. If it does not, no larger marking does.
fn allows(upper: &[(PlaceId, u64)], marking: &Marking) -> bool {
    upper.iter().all(|&(place, n)| marking.get(place) <= n)
}

/// The weighted sum of the tokens; `None` on overflow.
fn weigh(invariant: &LinearInvariant, marking: &Marking) -> Option<u128> {
    marking.entries().iter().try_fold(0_u128, |sum, &(place, n)| {
        sum.checked_add(u128::from(n) * u128::from(invariant.weights.get(place)))
    })
}
