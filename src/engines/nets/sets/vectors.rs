//! Sets of sparse vectors in which the vectors above or below a given one are found without comparing all of them.
//!
//! Invariant (posted): a stored vector is in the posting list of each of its places. A vector above `x` marks every
//! place of `x`, so only the shortest posting list of these places is searched.
//!
//! Invariant (home): a stored vector has one of its places as its home. A vector below `x` marks only places that
//! `x` marks, so only the homes of the places of `x` are searched.
//!
//! Before two vectors are compared entry by entry, their signatures are compared: 64 bits, one for each class of
//! places. Removed vectors stay in the lists until they outnumber the others.

use crate::net::PlaceId;

type Entries = [(PlaceId, u64)];

#[derive(Clone, Debug)]
struct Stored {
    entries: Box<Entries>,
    signature: u64,
}

/// A set of sparse vectors, numbered in the order of insertion.
#[derive(Clone, Debug, Default)]
pub struct Vectors {
    stored: Vec<Option<Stored>>,
    live: usize,
    dead: usize,
    posted: Vec<Vec<u32>>,
    home: Vec<Vec<u32>>,
    /// The vectors without entries, which are in no posting list.
    empty: Vec<u32>,
}

fn signature(entries: &Entries) -> u64 {
    entries.iter().fold(0, |bits, &(place, _)| bits | 1 << (place.index() % 64))
}

/// Whether the first vector is at least the second one in every place.
#[must_use]
pub fn is_above(above: &Entries, below: &Entries) -> bool {
    if above.len() < below.len() {
        return false;
    }
    let mut mine = above.iter();
    below
        .iter()
        .all(|&(place, n)| mine.find(|&&(p, _)| p >= place).is_some_and(|&(p, have)| p == place && have >= n))
}

impl Vectors {
    /// An empty set of vectors over the given number of places.
    #[must_use]
    pub fn new(places: usize) -> Self {
        Self { posted: vec![Vec::new(); places], home: vec![Vec::new(); places], ..Self::default() }
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Adds a vector and returns its number.
    pub fn insert(&mut self, entries: &Entries) -> u32 {
        let id = self.stored.len() as u32;
        self.stored.push(Some(Stored { entries: entries.into(), signature: signature(entries) }));
        self.live += 1;
        for &(place, _) in entries {
            self.posted[place.index()].push(id);
        }
        let home = entries.iter().map(|&(place, _)| place.index()).min_by_key(|&i| self.home[i].len());
        match home {
            Some(i) => self.home[i].push(id),
            None => self.empty.push(id),
        }
        id
    }

    /// The vector with this number, if it is still there.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&Entries> {
        self.stored[id as usize].as_ref().map(|stored| &*stored.entries)
    }

    /// Removes a vector, if it is still there.
    pub fn remove(&mut self, id: u32) {
        if self.stored[id as usize].take().is_some() {
            self.live -= 1;
            self.dead += 1;
            if self.dead > self.live + 1000 {
                self.dead = 0;
                let stored = &self.stored;
                let lists = self.posted.iter_mut().chain(&mut self.home).chain([&mut self.empty]);
                lists.for_each(|list| list.retain(|&id| stored[id as usize].is_some()));
            }
        }
    }

    /// The numbers and vectors of the set, in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Entries)> {
        let stored = self.stored.iter().enumerate();
        stored.filter_map(|(id, stored)| stored.as_ref().map(|stored| (id as u32, &*stored.entries)))
    }

    /// The numbers of the vectors above this one.
    pub fn above<'a>(&'a self, entries: &'a Entries) -> impl Iterator<Item = u32> + 'a {
        let posted = entries.iter().map(|&(place, _)| &self.posted[place.index()]).min_by_key(|l| l.len());
        let all = if entries.is_empty() { self.stored.len() } else { 0 };
        let bits = signature(entries);
        posted.into_iter().flatten().copied().chain(0..all as u32).filter(move |&id| {
            self.stored[id as usize]
                .as_ref()
                .is_some_and(|s| bits & !s.signature == 0 && is_above(&s.entries, entries))
        })
    }

    /// The numbers of the vectors below this one.
    pub fn below<'a>(&'a self, entries: &'a Entries) -> impl Iterator<Item = u32> + 'a {
        let homes = entries.iter().flat_map(|&(place, _)| &self.home[place.index()]);
        let bits = signature(entries);
        self.empty.iter().chain(homes).copied().filter(move |&id| {
            self.stored[id as usize]
                .as_ref()
                .is_some_and(|s| s.signature & !bits == 0 && is_above(entries, &s.entries))
        })
    }

    /// The vectors that are above this one if its entry for `place` is ignored.
    pub fn above_elsewhere<'a>(
        &'a self,
        entries: &'a Entries,
        place: PlaceId,
    ) -> impl Iterator<Item = &'a Entries> + 'a {
        let others = entries.iter().filter(move |&&(p, _)| p != place);
        let posted = others.clone().map(|&(p, _)| &self.posted[p.index()]).min_by_key(|l| l.len());
        let all = if posted.is_none() { self.stored.len() } else { 0 };
        let bits = others.fold(0, |bits, &(p, _)| bits | 1_u64 << (p.index() % 64));
        let ids = posted.into_iter().flatten().copied().chain(0..all as u32);
        ids.filter_map(|id| self.stored[id as usize].as_ref())
            .filter(move |s| bits & !s.signature == 0 && is_above_elsewhere(&s.entries, entries, place))
            .map(|s| &*s.entries)
    }
}

fn is_above_elsewhere(above: &Entries, below: &Entries, except: PlaceId) -> bool {
    let mut mine = above.iter();
    below
        .iter()
        .filter(|&&(place, _)| place != except)
        .all(|&(place, n)| mine.find(|&&(p, _)| p >= place).is_some_and(|&(p, have)| p == place && have >= n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(entries: &[(usize, u64)]) -> Vec<(PlaceId, u64)> {
        entries.iter().map(|&(i, n)| (PlaceId::from_index(i), n)).collect()
    }

    #[test]
    fn queries_agree_with_looking_at_all() {
        let mut set = Vectors::new(3);
        let all: Vec<Vec<(PlaceId, u64)>> = (0..27_u64)
            .map(|code| {
                let digits = [code % 3, code / 3 % 3, code / 9];
                vector(&[(0, digits[0]), (1, digits[1]), (2, digits[2])])
                    .into_iter()
                    .filter(|&(_, n)| n > 0)
                    .collect()
            })
            .collect();
        for entries in &all {
            set.insert(entries);
        }
        for removed in [3, 7, 11] {
            set.remove(removed);
        }
        assert_eq!(set.len(), 24);
        let there = |id: &u32| ![3, 7, 11].contains(id);
        for x in &all {
            let mut above: Vec<u32> = set.above(x).collect();
            let mut below: Vec<u32> = set.below(x).collect();
            above.sort_unstable();
            below.sort_unstable();
            let ids = || (0..27_u32).filter(there);
            assert_eq!(above, ids().filter(|&i| is_above(&all[i as usize], x)).collect::<Vec<_>>());
            assert_eq!(below, ids().filter(|&i| is_above(x, &all[i as usize])).collect::<Vec<_>>());
            for place in (0..3).map(PlaceId::from_index) {
                let rest: Vec<(PlaceId, u64)> = x.iter().copied().filter(|&(p, _)| p != place).collect();
                let found = set.above_elsewhere(x, place).count();
                assert_eq!(found, ids().filter(|&i| is_above(&all[i as usize], &rest)).count());
            }
        }
    }
}
