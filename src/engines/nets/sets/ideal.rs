//! Ideals, also called limits: markings in which a place may hold any number of tokens.
//!
//! An ideal represents the downward-closed set of all markings that it covers. Firing is exact on these sets: the
//! results of [`successors`] cover precisely the markings that can be reached in one step from the markings of the
//! set, and the markings below those. Zero tests are ignored.

use std::fmt;
use std::sync::Arc;

use crate::evidence::net::{OmegaMarking, Tokens};
use crate::net::{Flow, Initial, Marking, Net, Overflow, PlaceId, PlaceKind, Transition};

/// Any number of tokens. Finite numbers are smaller: a sum that reaches this value is an [`Overflow`].
pub const OMEGA: u64 = u64::MAX;

/// Tokens per place, [`OMEGA`] for any number.
///
/// Invariant (sparse): the entries are sorted by place, every place occurs at most once, and there are no zeros.
/// Copies are cheap, because they share the entries.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ideal(Arc<[(PlaceId, u64)]>);

impl Default for Ideal {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl Ideal {
    /// The ideal that covers all initial markings.
    #[must_use]
    pub fn initial(initial: &Initial) -> Self {
        let most = initial.ranges().iter().map(|&(place, range)| (place, range.most.unwrap_or(OMEGA)));
        Self(most.filter(|&(_, n)| n > 0).collect())
    }

    /// The ideal of all markings below this one.
    #[must_use]
    pub fn below(marking: &Marking) -> Self {
        Self(marking.entries().into())
    }

    /// The marked places, sorted, with their tokens.
    #[must_use]
    pub fn entries(&self) -> &[(PlaceId, u64)] {
        &self.0
    }

    /// The greatest number of tokens in a place.
    #[must_use]
    pub fn get(&self, place: PlaceId) -> u64 {
        self.0.binary_search_by_key(&place, |&(p, _)| p).map_or(0, |at| self.0[at].1)
    }

    /// Whether a place may hold any number of tokens.
    #[must_use]
    pub fn is_omega(&self, place: PlaceId) -> bool {
        self.get(place) == OMEGA
    }

    /// Whether the ideal contains a marking, or all markings of another ideal.
    #[must_use]
    pub fn includes(&self, entries: &[(PlaceId, u64)]) -> bool {
        if self.0.len() < entries.len() {
            return false;
        }
        let mut mine = self.0.iter();
        entries.iter().all(|&(place, n)| {
            mine.find(|&&(p, _)| p >= place).is_some_and(|&(p, most)| p == place && most >= n)
        })
    }

    /// The ideal with any number of tokens also in these places, which must be sorted.
    #[must_use]
    pub fn with_omegas(&self, places: &[PlaceId]) -> Self {
        let mut entries = Vec::with_capacity(self.0.len() + places.len());
        let mut mine = self.0.iter().copied().peekable();
        for &place in places {
            while let Some(entry) = mine.next_if(|&(p, _)| p < place) {
                entries.push(entry);
            }
            let _ = mine.next_if(|&(p, _)| p == place);
            entries.push((place, OMEGA));
        }
        entries.extend(mine);
        Self(entries.into())
    }

    /// The shared state, if there is one.
    #[must_use]
    pub fn control(&self, net: &Net) -> Option<PlaceId> {
        let is_shared = |place: PlaceId| matches!(net.place(place).kind, PlaceKind::Shared(_));
        self.0.iter().map(|&(place, _)| place).find(|&place| is_shared(place))
    }

    /// The ideal in the form used in evidence.
    #[must_use]
    pub fn to_evidence(&self) -> OmegaMarking {
        let tokens = |n| if n == OMEGA { Tokens::Omega } else { Tokens::AtMost(n) };
        OmegaMarking::new(self.0.iter().map(|&(place, n)| (place, tokens(n))))
    }

    /// The sum of entries in any order; entries may be [`OMEGA`].
    fn sum_of(mut entries: Vec<(PlaceId, u64)>) -> Result<Self, Overflow> {
        entries.retain(|&(_, n)| n > 0);
        entries.sort_unstable_by_key(|&(place, _)| place);
        let mut sums: Vec<(PlaceId, u64)> = Vec::with_capacity(entries.len());
        for (place, n) in entries {
            match sums.last_mut() {
                Some((last, sum)) if *last == place => *sum = add(*sum, n)?,
                _ => sums.push((place, n)),
            }
        }
        Ok(Self(sums.into()))
    }
}

impl fmt::Debug for Ideal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |n: u64| if n == OMEGA { "w".to_owned() } else { n.to_string() };
        f.debug_map().entries(self.0.iter().map(|&(place, n)| (place, tokens(n)))).finish()
    }
}

fn add(a: u64, b: u64) -> Result<u64, Overflow> {
    if a == OMEGA || b == OMEGA {
        return Ok(OMEGA);
    }
    a.checked_add(b).filter(|&sum| sum != OMEGA).ok_or(Overflow)
}

/// The results of firing a transition once, one for each way in which tokens can choose; none if the transition is
/// not enabled. At most `most` ways are enumerated; the second component says whether these are all.
///
/// # Errors
/// If a finite number of tokens becomes too large.
pub fn successors(
    transition: &Transition,
    ideal: &Ideal,
    most: usize,
) -> Result<(Vec<Ideal>, bool), Overflow> {
    if !ideal.includes(transition.take.entries()) {
        return Ok((Vec::new(), true));
    }
    if transition.give.iter().any(|(_, n)| n == OMEGA) {
        return Err(Overflow);
    }
    let mut certain: Vec<(PlaceId, u64)> = transition.give.entries().to_vec();
    let mut choosers: Vec<(u64, &[PlaceId])> = Vec::new();
    let mut taken = transition.take.iter().peekable();
    for &(place, n) in ideal.entries() {
        let take = taken.next_if(|&(p, _)| p == place).map_or(0, |(_, n)| n);
        let left = if n == OMEGA { OMEGA } else { n - take };
        match transition.flow(place) {
            None => certain.push((place, left)),
            Some(Flow::All(places)) => certain.extend(places.iter().map(|&to| (to, left))),
            // Any number of tokens can be split into any numbers.
            Some(Flow::Each(places)) if left == OMEGA => certain.extend(places.iter().map(|&to| (to, left))),
            Some(Flow::Each(_)) if left == 0 => {}
            Some(Flow::Each(places)) => choosers.push((left, places)),
        }
    }
    if choosers.is_empty() {
        return Ok((vec![Ideal::sum_of(certain)?], true));
    }
    let mut all = true;
    let mut ways = vec![certain];
    for (n, places) in choosers {
        let mut extended = Vec::new();
        'ways: for way in &ways {
            for split in splits(n, places, most) {
                if extended.len() >= most {
                    all = false;
                    break 'ways;
                }
                extended.push(way.iter().copied().chain(split).collect());
            }
        }
        ways = extended;
    }
    let found: Result<Vec<Ideal>, Overflow> = ways.into_iter().map(Ideal::sum_of).collect();
    let mut found = found?;
    found.sort_unstable();
    found.dedup();
    Ok((found, all))
}

/// Ways to put `n` tokens on the places, at most `most + 1` of them.
fn splits(n: u64, places: &[PlaceId], most: usize) -> Vec<Vec<(PlaceId, u64)>> {
    let Some((&last, others)) = places.split_last() else { return Vec::new() };
    let mut partial: Vec<(Vec<(PlaceId, u64)>, u64)> = vec![(Vec::new(), n)];
    for &place in others {
        let mut extended = Vec::new();
        'all: for (split, left) in &partial {
            // All tokens and no tokens come first: these ways are the most useful ones if not all can be
            // enumerated.
            for here in [0, *left].into_iter().chain(1..*left).take(if *left == 0 { 1 } else { usize::MAX }) {
                if extended.len() > most {
                    break 'all;
                }
                let mut more = split.clone();
                more.push((place, here));
                extended.push((more, left - here));
            }
        }
        partial = extended;
    }
    let close = |(mut split, left): (Vec<(PlaceId, u64)>, u64)| {
        split.push((last, left));
        split
    };
    partial.into_iter().map(close).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Builder, Move, Range};

    fn p(i: usize) -> PlaceId {
        PlaceId::from_index(i)
    }

    fn ideal(entries: &[(usize, u64)]) -> Ideal {
        Ideal::sum_of(entries.iter().map(|&(i, n)| (p(i), n)).collect()).expect("small")
    }

    #[test]
    fn any_number_of_tokens_stays_any_number_and_is_copied_and_split() {
        let transition = Transition {
            take: Marking::sum_of([(p(0), 2), (p(1), 1)]).expect("small"),
            give: Marking::sum_of([(p(3), 1)]).expect("small"),
            moves: vec![
                Move { from: p(0), flow: Flow::All(vec![p(2)]) },
                Move { from: p(1), flow: Flow::Each(vec![p(1), p(3)]) },
            ],
            ..Transition::default()
        };
        let (found, all) = successors(&transition, &ideal(&[(0, OMEGA), (1, 3)]), 100).expect("small");
        assert!(all);
        assert_eq!(
            found,
            [
                ideal(&[(1, 1), (2, OMEGA), (3, 2)]),
                ideal(&[(1, 2), (2, OMEGA), (3, 1)]),
                ideal(&[(2, OMEGA), (3, 3)]),
            ]
        );
        let (found, _) = successors(&transition, &ideal(&[(0, 2), (1, OMEGA)]), 100).expect("small");
        assert_eq!(found, [ideal(&[(1, OMEGA), (3, OMEGA)])]);
        let (found, all) = successors(&transition, &ideal(&[(0, 2), (1, 9)]), 2).expect("small");
        assert_eq!((found.len(), all), (2, false));
        let (found, _) = successors(&transition, &ideal(&[(0, 1), (1, 9)]), 2).expect("small");
        assert!(found.is_empty());
    }

    #[test]
    fn the_largest_finite_number_is_an_overflow() {
        let transition =
            Transition { give: Marking::sum_of([(p(0), 1)]).expect("small"), ..Transition::default() };
        assert_eq!(successors(&transition, &ideal(&[(0, OMEGA - 1)]), 1), Err(Overflow));
        assert!(successors(&transition, &ideal(&[(0, OMEGA)]), 1).is_ok());
    }

    #[test]
    fn the_initial_ideal_holds_every_initial_marking() {
        let mut builder = Builder::new();
        let (x, y, z) = (builder.counter("x"), builder.counter("y"), builder.counter("z"));
        builder.initial(x, Range::at_least(2));
        builder.initial(y, Range { least: 0, most: Some(3) });
        builder.initial(z, Range::exactly(0));
        let initial = Ideal::initial(&builder.finish().initial);
        assert_eq!(initial, ideal(&[(0, OMEGA), (1, 3)]));
        assert_eq!(initial.with_omegas(&[y, z]), ideal(&[(0, OMEGA), (1, OMEGA), (2, OMEGA)]));
        assert!(initial.includes(&[(x, 1000), (y, 3)]));
        assert!(!initial.includes(&[(y, 4)]));
    }
}
