//! Makes proofs smaller, whoever found them.
//!
//! A basis that holds the targets and its own covering predecessors is a proof. Two changes keep it one:
//! an element may lose tokens, if no initial marking covers it then and each of its predecessors is still
//! above some element; and elements may go, if the targets and the predecessors of those that stay do not
//! need them. Both are done until neither is possible: no element can lose a token in one place, and no
//! element can go. It is a local minimum: taking tokens from several elements at once is not tried.

use crate::budget::Budget;
use crate::engines::nets::sets::vectors::Vectors;
use crate::evidence::net::UncoverabilityBasis;
use crate::net::predecessors::predecessors;
use crate::net::{Marking, Net, Overflow, PlaceId};

/// How large a proof is, in the measures of Kaiser, Kroening and Wahl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Minimal elements.
    pub elements: usize,
    /// The most threads in one of them; tokens, where there are no threads.
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

/// Elements beyond which it is not tried to do without each of them.
const MOST_FOR_DROPPING: usize = 2_000;

/// A smaller proof from a proof. When the budget is used up, what has been achieved is returned.
///
/// # Errors
/// If there would be too many tokens.
pub fn minimise(
    net: &Net,
    basis: &UncoverabilityBasis,
    budget: &Budget,
) -> Result<UncoverabilityBasis, Overflow> {
    let mut search = Search { net, basis, elements: Vectors::new(net.places.len()) };
    for element in &basis.elements {
        search.elements.insert(element.entries());
    }
    search.lower(budget)?;
    let mut elements = search.needed()?;
    if elements.len() <= MOST_FOR_DROPPING {
        elements = search.without_each(elements, budget)?;
    }
    Ok(UncoverabilityBasis { elements, ..basis.clone() })
}

struct Search<'a> {
    net: &'a Net,
    basis: &'a UncoverabilityBasis,
    elements: Vectors,
}

impl Search<'_> {
    /// Whether no run comes to what covers this marking, for reasons other than the elements.
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

    /// The predecessors of a marking that elements must be below: those that are not excluded and
    /// not above the marking itself.
    fn obligations(
        &self,
        goal: &Marking,
        keep: &mut dyn FnMut(&Marking) -> bool,
    ) -> Result<Vec<Marking>, Overflow> {
        let mut all = Vec::new();
        for transition in &self.net.transitions {
            let mut open = |m: &Marking| !m.covers(goal) && !self.is_excluded(m) && keep(m);
            all.extend(predecessors(transition, goal, &mut open)?);
        }
        Ok(all)
    }

    /// Takes tokens from elements, as long as that is possible.
    fn lower(&mut self, budget: &Budget) -> Result<(), Overflow> {
        loop {
            let mut changed = false;
            // The largest have the most to lose, and what they become may replace others.
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

    /// Whether the marking can be one more element.
    fn is_inductive_with(&self, marking: &Marking) -> Result<bool, Overflow> {
        if self.net.initial.covers(marking) {
            return Ok(false);
        }
        let mut uncovered = false;
        for transition in &self.net.transitions {
            let open = predecessors(transition, marking, &mut |m| {
                // One that is left is enough: the rest need not be made.
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

    /// The elements that targets and needed elements are above, in order.
    fn needed(&self) -> Result<Vec<Marking>, Overflow> {
        let mut needed: Vec<u32> = Vec::new();
        let need = |needed: &mut Vec<u32>, marking: &Marking| {
            let mut below: Vec<u32> = self.elements.below(marking.entries()).collect();
            below.sort_unstable();
            // One that is needed anyway, if possible.
            let best = below.iter().find(|id| needed.contains(id)).or(below.first());
            if let Some(&id) = best
                && !needed.contains(&id)
            {
                needed.push(id);
            }
        };
        for target in self.net.targets.iter().filter(|target| !self.is_excluded(&target.least)) {
            need(&mut needed, &target.least);
        }
        let mut found = Vec::new();
        let mut next = 0;
        while let Some(&id) = needed.get(next) {
            next += 1;
            let Some(entries) = self.elements.get(id) else { continue };
            let element = Marking::sum_of(entries.iter().copied())?;
            for obligation in self.obligations(&element, &mut |_| true)? {
                need(&mut needed, &obligation);
            }
            found.push(element);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Drops every element that the others can do without, together with those that need it.
    fn without_each(&self, elements: Vec<Marking>, budget: &Budget) -> Result<Vec<Marking>, Overflow> {
        // For each element, the sets of elements of which one must stay.
        let supports = |marking: &Marking| -> Vec<usize> {
            (0..elements.len()).filter(|&i| marking.covers(&elements[i])).collect()
        };
        let mut needs: Vec<Vec<Vec<usize>>> = Vec::new();
        for element in &elements {
            let obligations = self.obligations(element, &mut |_| true)?;
            // What no single element supports alone can matter only if something is dropped.
            needs.push(obligations.iter().map(supports).filter(|s| !s.is_empty()).collect());
            if budget.exhausted().is_some() {
                return Ok(elements);
            }
        }
        let targets = self.net.targets.iter().filter(|target| !self.is_excluded(&target.least));
        let targets: Vec<Vec<usize>> = targets.map(|target| supports(&target.least)).collect();
        let mut stays = vec![true; elements.len()];
        for dropped in 0..elements.len() {
            if !stays[dropped] {
                continue;
            }
            let mut fewer = stays.clone();
            fewer[dropped] = false;
            let mut changed = true;
            while changed {
                changed = false;
                for i in 0..elements.len() {
                    if fewer[i] && !needs[i].iter().all(|s| s.iter().any(|&j| fewer[j])) {
                        fewer[i] = false;
                        changed = true;
                    }
                }
            }
            if targets.iter().all(|s| s.iter().any(|&j| fewer[j])) {
                stays = fewer;
            }
        }
        let kept = elements.into_iter().zip(stays).filter(|&(_, stays)| stays);
        Ok(kept.map(|(element, _)| element).collect())
    }
}
