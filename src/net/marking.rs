//! Markings: how many tokens each place holds.

use std::cmp::Ordering;
use std::fmt;

use super::PlaceId;

/// The error that a number of tokens does not fit into 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens does not fit into 64 bits")
    }
}

impl std::error::Error for Overflow {}

/// The number of tokens in each place; also a multiset of places.
///
/// Invariant (sparse): sorted by place, every place at most once, no zeros. A system may have half
/// a million places of which two are marked.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marking(Vec<(PlaceId, u64)>);

impl Marking {
    /// The empty marking.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The sum of the entries, which may come in any order and mention a place several times.
    ///
    /// # Errors
    /// If the tokens of a place do not fit 64 bits.
    pub fn sum_of(entries: impl IntoIterator<Item = (PlaceId, u64)>) -> Result<Self, Overflow> {
        let mut sorted: Vec<(PlaceId, u64)> = entries.into_iter().filter(|&(_, n)| n > 0).collect();
        sorted.sort_unstable_by_key(|&(place, _)| place);
        let mut sums: Vec<(PlaceId, u64)> = Vec::with_capacity(sorted.len());
        for (place, n) in sorted {
            match sums.last_mut() {
                Some((last, sum)) if *last == place => *sum = sum.checked_add(n).ok_or(Overflow)?,
                _ => sums.push((place, n)),
            }
        }
        Ok(Self(sums))
    }

    /// The number of tokens in a place.
    #[must_use]
    pub fn get(&self, place: PlaceId) -> u64 {
        self.0.binary_search_by_key(&place, |&(p, _)| p).map_or(0, |at| self.0[at].1)
    }

    /// Sets the number of tokens in a place.
    pub fn set(&mut self, place: PlaceId, n: u64) {
        match self.0.binary_search_by_key(&place, |&(p, _)| p) {
            Ok(at) if n == 0 => drop(self.0.remove(at)),
            Ok(at) => self.0[at].1 = n,
            Err(_) if n == 0 => {}
            Err(at) => self.0.insert(at, (place, n)),
        }
    }

    /// Adds tokens to a place.
    ///
    /// # Errors
    /// If they do not fit 64 bits.
    pub fn add(&mut self, place: PlaceId, n: u64) -> Result<(), Overflow> {
        match self.0.binary_search_by_key(&place, |&(p, _)| p) {
            Ok(at) => self.0[at].1 = self.0[at].1.checked_add(n).ok_or(Overflow)?,
            Err(_) if n == 0 => {}
            Err(at) => self.0.insert(at, (place, n)),
        }
        Ok(())
    }

    /// The marked places in order, with their numbers of tokens.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (PlaceId, u64)> + '_ {
        self.0.iter().copied()
    }

    /// The marked places in order, with their numbers of tokens.
    #[must_use]
    pub fn entries(&self) -> &[(PlaceId, u64)] {
        &self.0
    }

    /// Whether there is no token at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The total number of tokens.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.0.iter().map(|&(_, n)| u128::from(n)).sum()
    }

    /// Whether every place has at least as many tokens as in `other`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        if self.0.len() < other.0.len() {
            return false;
        }
        let mut mine = self.0.iter();
        other.0.iter().all(|&(place, n)| {
            // Both lists are sorted, so the search can continue where the last one ended.
            mine.find(|&&(p, _)| p >= place).is_some_and(|&(p, have)| p == place && have >= n)
        })
    }

    /// The sum, place by place.
    ///
    /// # Errors
    /// If the tokens of a place do not fit 64 bits.
    pub fn plus(&self, other: &Self) -> Result<Self, Overflow> {
        self.merge(other, |a, b| a.checked_add(b).ok_or(Overflow))
    }

    /// The difference, place by place; zero where `other` has more tokens.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let left = self.iter().map(|(place, n)| (place, n.saturating_sub(other.get(place))));
        Self(left.filter(|&(_, n)| n > 0).collect())
    }

    /// The marking restricted to some of the places.
    #[must_use]
    pub fn restricted(&self, keep: impl Fn(PlaceId) -> bool) -> Self {
        Self(self.iter().filter(|&(place, _)| keep(place)).collect())
    }

    /// The same tokens in other places. The renaming must preserve the order of the places.
    #[must_use]
    pub fn renamed(&self, rename: impl Fn(PlaceId) -> PlaceId) -> Self {
        let renamed: Vec<(PlaceId, u64)> = self.iter().map(|(place, n)| (rename(place), n)).collect();
        debug_assert!(renamed.windows(2).all(|pair| pair[0].0 < pair[1].0), "the order stays");
        Self(renamed)
    }

    /// The larger number, place by place: the least marking that covers both.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        match self.merge::<std::convert::Infallible>(other, |a, b| Ok(a.max(b))) {
            Ok(join) => join,
            Err(never) => match never {},
        }
    }

    fn merge<E>(&self, other: &Self, combine: impl Fn(u64, u64) -> Result<u64, E>) -> Result<Self, E> {
        let mut merged = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (None, None) => return Ok(Self(merged)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((p, _)), Some((q, _))) => p.cmp(q),
            };
            let left = mine.next_if(|_| order != Ordering::Greater);
            let right = theirs.next_if(|_| order != Ordering::Less);
            let Some(&(place, _)) = left.or(right) else { continue };
            let tokens = |entry: Option<&(PlaceId, u64)>| entry.map_or(0, |&(_, n)| n);
            merged.push((place, combine(tokens(left), tokens(right))?));
        }
    }
}

impl fmt::Debug for Marking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marking(entries: &[(usize, u64)]) -> Marking {
        Marking::sum_of(entries.iter().map(|&(p, n)| (PlaceId::from_index(p), n))).expect("small")
    }

    #[test]
    fn entries_of_one_place_are_added_and_zeros_dropped() {
        let m = marking(&[(3, 1), (1, 2), (3, 4), (2, 0)]);
        assert_eq!(m, marking(&[(1, 2), (3, 5)]));
        assert_eq!(m.total(), 7);
        let place = PlaceId::from_index(0);
        assert_eq!(Marking::sum_of([(place, u64::MAX), (place, 1)]), Err(Overflow));
    }

    #[test]
    fn covering_is_place_by_place() {
        assert!(marking(&[(1, 2), (3, 5)]).covers(&marking(&[(3, 5)])));
        assert!(marking(&[(1, 2), (3, 5)]).covers(&marking(&[])));
        assert!(!marking(&[(1, 2), (3, 5)]).covers(&marking(&[(2, 1)])));
        assert!(!marking(&[(1, 2), (3, 5)]).covers(&marking(&[(1, 3)])));
        assert!(!marking(&[(3, 5)]).covers(&marking(&[(1, 2), (3, 5)])));
    }

    #[test]
    fn sums_differences_and_joins() {
        let (a, b) = (marking(&[(0, 3), (2, 1)]), marking(&[(0, 1), (1, 4)]));
        assert_eq!(a.plus(&b), Ok(marking(&[(0, 4), (1, 4), (2, 1)])));
        assert_eq!(a.minus(&b), marking(&[(0, 2), (2, 1)]));
        assert_eq!(a.join(&b), marking(&[(0, 3), (1, 4), (2, 1)]));
        assert_eq!(marking(&[(0, u64::MAX)]).plus(&marking(&[(0, 1)])), Err(Overflow));
    }
}
