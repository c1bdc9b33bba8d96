//! Whether a region lies in a union of regions.
//!
//! Regions are grouped by what control looks like, and within a group by their *shape*: which
//! variables are fixed or linked. Whether some region of a shape contains a given one is then one
//! look-up of the given values under the shape's mask. There are few shapes, however many regions.
//!
//! Threads are told apart by nothing but their state. Words of threads with the same control
//! form a class, and a region may be laid against others with the threads of a class in any order.

use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::region::{Cell, ENTRY_WORD, NOW_WORD, Region, Words};
use super::{Stop, poll};
use crate::budget::Budget;
use crate::model::cube::bits;

/// Words of interchangeable threads: `count` blocks of `size` words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// The first word.
    pub first: usize,
    /// Words of one thread.
    pub size: usize,
    /// Threads.
    pub count: usize,
}

/// Regions with the same control.
#[derive(Debug)]
pub(super) struct Group<W> {
    shapes: Vec<Shape<W>>,
    by_mask: FxHashMap<(W, u128), usize>,
}

impl<W> Default for Group<W> {
    fn default() -> Self {
        Self { shapes: Vec::new(), by_mask: FxHashMap::default() }
    }
}

/// Regions that fix and link the same variables.
#[derive(Debug)]
struct Shape<W> {
    known: W,
    linked: u128,
    /// Sorted once the group is complete.
    values: Vec<W>,
}

impl<W: Words> Shape<W> {
    /// Whether one of the regions contains this one.
    fn contains(&self, region: &Region<W>) -> bool {
        let known = self.known.as_ref().iter().zip(region.known.as_ref());
        if known.into_iter().any(|(ours, theirs)| ours & !theirs != 0) || self.linked & !region.equal() != 0 {
            return false;
        }
        let masked =
            || region.value.as_ref().iter().zip(self.known.as_ref()).map(|(value, mask)| value & mask);
        self.values.binary_search_by(|probe| probe.as_ref().iter().copied().cmp(masked())).is_ok()
    }

    /// The variables that are fixed here and open there, word by word.
    fn unresolved<'a>(&'a self, region: &'a Region<W>) -> impl Iterator<Item = u128> + 'a {
        self.known.as_ref().iter().zip(region.known.as_ref()).map(|(ours, theirs)| ours & !theirs)
    }

    /// How many variables of the region stand between it and being contained.
    fn distance(&self, region: &Region<W>) -> u32 {
        self.unresolved(region).map(u128::count_ones).sum::<u32>()
            + (self.linked & !region.equal()).count_ones()
    }

    /// A variable that splits the region into a part nearer to being contained and another.
    fn nearest(&self, region: &Region<W>) -> Option<Cell> {
        let open = self.unresolved(region).enumerate().find(|&(_, mask)| mask != 0);
        if let Some((word, mask)) = open {
            return Some(Cell { word, bit: mask.trailing_zeros() });
        }
        let bit = bits(self.linked & !region.equal()).next()?;
        let cells = [ENTRY_WORD, NOW_WORD].map(|word| Cell { word, bit });
        cells.into_iter().find(|&cell| region.get(cell).is_none())
    }

    /// Whether one of the regions has a valuation in common with this one.
    fn overlaps(&self, region: &Region<W>) -> bool {
        if self.linked & region.different() != 0 {
            return false;
        }
        let linked = match self.known.as_ref() {
            [entry, now, ..] => region.linked & entry & now,
            _ => 0,
        };
        let fits = |value: &[u128]| {
            let words =
                value.iter().zip(region.value.as_ref()).zip(self.known.as_ref()).zip(region.known.as_ref());
            let agrees = words.into_iter().all(|(((a, b), ours), theirs)| (a ^ b) & ours & theirs == 0);
            agrees && (linked == 0 || (value[ENTRY_WORD] ^ value[NOW_WORD]) & linked == 0)
        };
        let open: u32 = self.unresolved(region).map(u128::count_ones).sum();
        if open > 10 || 1 << open > self.values.len() {
            return self.values.iter().any(|value| fits(value.as_ref()));
        }
        // Few open variables and many regions: try all values instead.
        let cells: Vec<Cell> = self
            .unresolved(region)
            .enumerate()
            .flat_map(|(word, mask)| bits(mask).map(move |bit| Cell { word, bit }))
            .collect();
        let mut probe: Vec<u128> =
            region.value.as_ref().iter().zip(self.known.as_ref()).map(|(value, mask)| value & mask).collect();
        (0..1_u32 << open).any(|pattern| {
            for (i, cell) in cells.iter().enumerate() {
                let word = &mut probe[cell.word];
                *word = if pattern >> i & 1 == 1 { *word | cell.mask() } else { *word & !cell.mask() };
            }
            fits(&probe) && self.values.binary_search_by(|value| value.as_ref().cmp(&probe[..])).is_ok()
        })
    }
}

impl<W: Words> Group<W> {
    /// Adds a region; [`Group::finish`] must follow.
    pub fn insert(&mut self, region: Region<W>) {
        let Region { known, value, linked } = region;
        let next = self.shapes.len();
        let shape = *self.by_mask.entry((known.clone(), linked)).or_insert(next);
        if shape == next {
            self.shapes.push(Shape { known, linked, values: Vec::new() });
        }
        self.shapes[shape].values.push(value);
    }

    /// Makes the group ready for questions.
    pub fn finish(&mut self) {
        for shape in &mut self.shapes {
            shape.values.sort_unstable();
            shape.values.dedup();
        }
    }

    /// The variables of any of the words that some region fixes.
    pub fn fixed_in(&self, words: Range<usize>) -> u128 {
        let of_shape =
            |shape: &Shape<W>| shape.known.as_ref()[words.clone()].iter().fold(0, |all, mask| all | mask);
        self.shapes.iter().fold(0, |all, shape| all | of_shape(shape))
    }

    /// Whether one region contains this one as it stands.
    fn contains_as_is(&self, region: &Region<W>) -> bool {
        // The common case: the very same region is there.
        let same = self.by_mask.get(&(region.known.clone(), region.linked));
        same.is_some_and(|&shape| self.shapes[shape].contains(region))
            || self.shapes.iter().any(|shape| shape.contains(region))
    }

    /// Whether one region contains this one, in some order of its threads.
    pub fn contains(&self, region: &Region<W>, classes: &[Class], budget: &Budget) -> Result<bool, Stop> {
        if self.contains_as_is(region) {
            return Ok(true);
        }
        if classes.is_empty() {
            return Ok(false);
        }
        let mut region = region.clone();
        arrange(&mut region, classes);
        loop {
            poll(budget)?;
            if self.contains_as_is(&region) {
                return Ok(true);
            }
            if !next_arrangement(&mut region, classes) {
                return Ok(false);
            }
        }
    }

    /// A variable to split the region on, because a region that overlaps it fixes it. `None` if
    /// nothing overlaps the region.
    fn splitting_cell(&self, region: &Region<W>) -> Option<Cell> {
        let mut order: Vec<(u32, usize)> =
            self.shapes.iter().enumerate().map(|(i, shape)| (shape.distance(region), i)).collect();
        order.sort_unstable();
        let overlapping =
            order.into_iter().map(|(_, i)| &self.shapes[i]).find(|shape| shape.overlaps(region));
        overlapping.and_then(|shape| shape.nearest(region))
    }

    /// A part of the region that no region of the group has anything in common with, if the
    /// union does not contain it.
    pub fn hole(
        &self,
        region: Region<W>,
        classes: &[Class],
        budget: &Budget,
    ) -> Result<Option<Region<W>>, Stop> {
        let mut stack = vec![region];
        while let Some(mut region) = stack.pop() {
            poll(budget)?;
            if self.contains(&region, classes, budget)? {
                continue;
            }
            let mut cell = self.splitting_cell(&region);
            if cell.is_none() && !classes.is_empty() {
                arrange(&mut region, classes);
                cell = self.splitting_cell(&region);
                while cell.is_none() && next_arrangement(&mut region, classes) {
                    poll(budget)?;
                    cell = self.splitting_cell(&region);
                }
            }
            let Some(cell) = cell else { return Ok(Some(region)) };
            let mut half = region.clone();
            half.fix(cell, false);
            stack.push(half);
            region.fix(cell, true);
            stack.push(region);
        }
        Ok(None)
    }
}

/// Compares the threads at two positions of a class.
fn compare<W: Words>(region: &Region<W>, class: Class, a: usize, b: usize) -> Ordering {
    let block = |i: usize| class.first + i * class.size..class.first + (i + 1) * class.size;
    let (known, value) = (region.known.as_ref(), region.value.as_ref());
    (&known[block(a)], &value[block(a)]).cmp(&(&known[block(b)], &value[block(b)]))
}

fn swap<W: Words>(region: &mut Region<W>, class: Class, a: usize, b: usize) {
    for offset in 0..class.size {
        let (a, b) = (class.first + a * class.size + offset, class.first + b * class.size + offset);
        region.known.as_mut().swap(a, b);
        region.value.as_mut().swap(a, b);
    }
}

/// Puts the threads of every class in ascending order.
pub(super) fn arrange<W: Words>(region: &mut Region<W>, classes: &[Class]) {
    for &class in classes {
        for end in 1..class.count {
            let mut at = end;
            while at > 0 && compare(region, class, at - 1, at) == Ordering::Greater {
                swap(region, class, at - 1, at);
                at -= 1;
            }
        }
    }
}

/// Goes on to the next order of the threads; after the last, back to the first, with `false`.
/// Equal threads are not told apart, so no order occurs twice.
fn next_arrangement<W: Words>(region: &mut Region<W>, classes: &[Class]) -> bool {
    for &class in classes {
        // The successor in the lexicographic order, as in Knuth's algorithm L.
        let descent = (1..class.count).rev().find(|&i| compare(region, class, i - 1, i) == Ordering::Less);
        if let Some(i) = descent {
            let larger = (i..class.count).rev().find(|&j| compare(region, class, i - 1, j) == Ordering::Less);
            swap(region, class, i - 1, larger.unwrap_or(i));
        }
        let first = descent.unwrap_or(0);
        let (mut low, mut high) = (first, class.count);
        while low + 1 < high {
            high -= 1;
            swap(region, class, low, high);
            low += 1;
        }
        if descent.is_some() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn region(known: [u128; 5], value: [u128; 5]) -> Region<[u128; 5]> {
        Region { known, value, linked: 0 }
    }

    #[test]
    fn every_order_of_the_threads_comes_once() {
        // Two classes: three threads of one word, two of them equal, and one of two words.
        let classes = [Class { first: 1, size: 1, count: 3 }, Class { first: 4, size: 1, count: 1 }];
        let mut current = region([0, 1, 1, 3, 0], [0, 1, 1, 2, 0]);
        arrange(&mut current, &classes);
        let mut seen = BTreeSet::new();
        loop {
            assert!(seen.insert((current.known, current.value)), "{current:?} came twice");
            if !next_arrangement(&mut current, &classes) {
                break;
            }
        }
        assert_eq!(seen.len(), 3);
        let first = seen.iter().next().copied();
        assert_eq!(first, Some((current.known, current.value)), "back at the first order");
    }

    #[test]
    fn blocks_of_words_move_together() {
        let classes = [Class { first: 1, size: 2, count: 2 }];
        let mut current = region([0, 1, 2, 4, 8], [0; 5]);
        assert!(next_arrangement(&mut current, &classes));
        assert_eq!(current.known, [0, 4, 8, 1, 2]);
        assert!(!next_arrangement(&mut current, &classes));
        assert_eq!(current.known, [0, 1, 2, 4, 8]);
    }

    /// All regions over two words of two variables, links included.
    fn all_regions() -> Vec<Region<[u128; 2]>> {
        let mut all = Vec::new();
        for bits in 0..1_u128 << 10 {
            let (known, value) = ([bits & 3, bits >> 2 & 3], [bits >> 4 & 3, bits >> 6 & 3]);
            let linked = bits >> 8;
            let canonical = (0..2).all(|i| value[i] & !known[i] == 0 && linked & known[i] == 0);
            if canonical {
                all.push(Region { known, value, linked });
            }
        }
        all
    }

    fn points(region: &Region<[u128; 2]>) -> BTreeSet<(u128, u128)> {
        let pairs = (0..4).flat_map(|entry| (0..4).map(move |now| (entry, now)));
        pairs
            .filter(|(entry, now)| {
                (entry ^ region.value[0]) & region.known[0] == 0
                    && (now ^ region.value[1]) & region.known[1] == 0
                    && (entry ^ now) & region.linked == 0
            })
            .collect()
    }

    #[test]
    fn a_union_of_two_covers_what_its_points_say() {
        let budget = Budget::unlimited();
        let all = all_regions();
        for (i, a) in all.iter().enumerate() {
            // Every region as the first, a spread of others as the second.
            for b in all.iter().skip(i % 7).step_by(7) {
                let mut group = Group::default();
                group.insert(a.clone());
                group.insert(b.clone());
                group.finish();
                let union: BTreeSet<_> = points(a).union(&points(b)).copied().collect();
                for region in all.iter().skip(i % 5).step_by(5) {
                    let hole = group.hole(region.clone(), &[], &budget).expect("no limit");
                    let covered = points(region).is_subset(&union);
                    assert_eq!(hole.is_none(), covered, "{a:?} {b:?} {region:?}");
                    if let Some(hole) = hole {
                        let hole = points(&hole);
                        assert!(hole.is_subset(&points(region)) && hole.is_disjoint(&union));
                        assert!(!hole.is_empty());
                    }
                }
            }
        }
    }
}
