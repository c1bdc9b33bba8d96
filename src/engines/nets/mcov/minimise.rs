//! Makes uncoverability proofs smaller; they may come from any engine.
//!
//! A basis that contains the targets and its own covering predecessors is a proof. Two changes keep it a proof: an
//! element may lose tokens, if afterwards no initial marking covers it and each of its predecessors is still above
//! some element; and elements may be removed, if neither the targets nor the predecessors of the remaining elements
//! need them ([`irreducible`]). Both are done until neither is possible: then no element can lose a token in one
//! place, and no elements can be removed. This is a local minimum: taking tokens from several elements at once is
//! not tried. The proofs of [`Mcov`](super::Mcov) need only the second change, because their elements are minimal
//! already.

use super::irreducible::irreducible;
use crate::budget::Budget;
use crate::engines::nets::sets::vectors::Vectors;
use crate::evidence::net::UncoverabilityBasis;
use crate::net::index::Producers;
use crate::net::predecessors::predecessors;
use crate::net::{Marking, Net, Overflow, PlaceId};

/// The size of a proof, in the measures of Kaiser, Kroening and Wahl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of minimal elements.
    pub elements: usize,
    /// The greatest number of threads in one of them, or of tokens in a net without threads.
    pub threads: u128,
}

impl Size {
    /// The size of a basis.
    #[must_use]
    pub fn of(net: &Net, elements: &[Marking]) -> Self {
        let threads = elements.iter().map(|marking| net.threads(marking)).max().unwrap_or(0);
        Self { elements: elements.len(), threads }
    }
}

/// Makes a proof smaller. When the budget is used up, the proof as it is then is returned.
///
/// # Errors
/// If there would be too many tokens.
pub fn minimise(
    net: &Net,
    basis: &UncoverabilityBasis,
    budget: &Budget,
) -> Result<UncoverabilityBasis, Overflow> {
    let producers = Producers::of(net);
    let mut search = Search { net, basis, producers, elements: Vectors::new(net.places.len()) };
    for element in &basis.elements {
        search.elements.insert(element.entries());
    }
    search.lower(budget)?;
    let mut elements = Vec::new();
    for (_, entries) in search.elements.iter() {
        elements.push(Marking::sum_of(entries.iter().copied())?);
    }
    elements.sort_unstable();
    let targets = net.targets.iter().map(|target| &target.least).filter(|least| !search.is_excluded(least));
    let obligations = |element: &Marking| search.obligations(element);
    let elements = irreducible(elements, net.places.len(), targets, obligations, budget)?;
    Ok(UncoverabilityBasis { elements, ..basis.clone() })
}

/// The covering predecessors of a marking that do not cover it themselves and that `keep` accepts.
///
/// # Errors
/// If there would be too many tokens.
pub fn covering_predecessors(
    net: &Net,
    producers: &Producers,
    goal: &Marking,
    keep: &mut dyn FnMut(&Marking) -> bool,
) -> Result<Vec<Marking>, Overflow> {
    let mut all = Vec::new();
    for id in producers.of_places(goal.iter().map(|(place, _)| place)) {
        let mut open = |m: &Marking| !m.covers(goal) && keep(m);
        all.extend(predecessors(net.transition(id), goal, &mut open)?);
    }
    Ok(all)
}

struct Search<'a> {
    net: &'a Net,
    basis: &'a UncoverabilityBasis,
    producers: Producers,
    elements: Vectors,
}

impl Search<'_> {
    /// Whether the invariants or the never-marked places of the proof show that no run covers this marking.
    fn is_excluded(&self, marking: &Marking) -> bool {
        let marked = |place: PlaceId| self.basis.never_marked.binary_search(&place).is_ok();
        marking.iter().any(|(place, _)| marked(place))
            || self.basis.invariants.iter().any(|invariant| {
                let weigh = |(place, n): (PlaceId, u64)| {
                    u128::from(n).saturating_mul(u128::from(invariant.weights.get(place)))
                };
                let weight = marking.iter().map(weigh).fold(0, u128::saturating_add);
                weight > u128::from(invariant.bound)
            })
    }

    /// The predecessors of a marking that must be above some element: those that are not excluded and not above the
    /// marking itself.
    fn obligations(&self, goal: &Marking) -> Result<Vec<Marking>, Overflow> {
        covering_predecessors(self.net, &self.producers, goal, &mut |m| !self.is_excluded(m))
    }

    /// Removes tokens from elements as long as possible.
    fn lower(&mut self, budget: &Budget) -> Result<(), Overflow> {
        loop {
            let mut changed = false;
            // The largest elements come first: they can lose the most, and the results may replace other elements.
            let mut all: Vec<(u32, Marking)> = Vec::new();
            for (id, entries) in self.elements.iter() {
                all.push((id, Marking::sum_of(entries.iter().copied())?));
            }
            all.sort_by_cached_key(|(_, m)| (std::cmp::Reverse(m.total()), m.clone()));
            for (mut id, mut element) in all {
                for place in element.iter().map(|(place, _)| place).collect::<Vec<_>>() {
                    if budget.exhausted().is_some() {
                        return Ok(());
                    }
                    if self.elements.get(id).is_none() {
                        break;
                    }
                    let have = element.get(place);
                    let fewer = [0, have / 2, have - 1].into_iter().filter(|&n| n < have);
                    for n in fewer.collect::<std::collections::BTreeSet<_>>() {
                        let mut smaller = element.clone();
                        smaller.set(place, n);
                        if self.is_inductive_with(&smaller)? {
                            let above: Vec<u32> = self.elements.above(smaller.entries()).collect();
                            for at in above {
                                self.elements.remove(at);
                            }
                            id = self.elements.insert(smaller.entries());
                            element = smaller;
                            changed = true;
                            break;
                        }
                    }
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    /// Whether the set is still a proof with this marking as one more element.
    fn is_inductive_with(&self, marking: &Marking) -> Result<bool, Overflow> {
        if self.net.initial.covers(marking) {
            return Ok(false);
        }
        let mut uncovered = false;
        for id in self.producers.of_places(marking.iter().map(|(place, _)| place)) {
            let open = predecessors(self.net.transition(id), marking, &mut |m| {
                // One uncovered predecessor decides, so the others need not be computed.
                !uncovered
                    && !m.covers(marking)
                    && !self.is_excluded(m)
                    && self.elements.below(m.entries()).next().is_none()
            })?;
            uncovered |= !open.is_empty();
            if uncovered {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
