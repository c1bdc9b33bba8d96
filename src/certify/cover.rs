//! Decides whether a region of states is contained in a union of regions.
//!
//! Regions are grouped by control (which nodes the frames are at), and within a group by their *shape*: the set of
//! variables that are fixed or linked. To decide whether some region of a shape contains a given one, the checker
//! masks the given values with the shape's fixed variables and looks the result up. There are few shapes, however
//! many regions there are.
//!
//! Threads are distinguished by nothing but their state. The words of threads with the same control form a class, and
//! when a region is compared with others, the threads of a class may be taken in any order.

use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::region::{Cell, ENTRY_WORD, NOW_WORD, Region, Words};
use super::{Stop, poll};
use crate::budget::Budget;
use crate::model::cube::bits;

/// The words of interchangeable threads: `count` consecutive blocks of `size` words each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// The position of the first word.
    pub first: usize,
    /// How many words one thread has.
    pub size: usize,
    /// How many threads there are.
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
    /// Whether one of the shape's regions contains the given region.
    fn contains(&self, region: &Region<W>) -> bool {
        let known = self.known.as_ref().iter().zip(region.known.as_ref());
        if known.into_iter().any(|(ours, theirs)| ours & !theirs != 0) || self.linked & !region.equal() != 0 {
            return false;
        }
        let masked =
            || region.value.as_ref().iter().zip(self.known.as_ref()).map(|(value, mask)| value & mask);
        self.values.binary_search_by(|probe| probe.as_ref().iter().copied().cmp(masked())).is_ok()
    }

    /// The variables that the shape fixes and the given region leaves open, as one mask for each word.
    fn unresolved<'a>(&'a self, region: &'a Region<W>) -> impl Iterator<Item = u128> + 'a {
        self.known.as_ref().iter().zip(region.known.as_ref()).map(|(ours, theirs)| ours & !theirs)
    }

    /// How many variables of the given region must still be fixed or linked before it can be contained in a region of
    /// this shape.
    fn distance(&self, region: &Region<W>) -> u32 {
        self.unresolved(region).map(u128::count_ones).sum::<u32>()
            + (self.linked & !region.equal()).count_ones()
    }

    /// An open variable of the given region. Fixing it brings at least one of the two halves nearer to being
    /// contained in a region of this shape.
    fn nearest(&self, region: &Region<W>) -> Option<Cell> {
        let open = self.unresolved(region).enumerate().find(|&(_, mask)| mask != 0);
        if let Some((word, mask)) = open {
            return Some(Cell { word, bit: mask.trailing_zeros() });
        }
        let bit = bits(self.linked & !region.equal()).next()?;
        let cells = [ENTRY_WORD, NOW_WORD].map(|word| Cell { word, bit });
        cells.into_iter().find(|&cell| region.get(cell).is_none())
    }

    /// Whether one of the shape's regions has a valuation in common with the given region.
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
        // With few open variables and many regions, trying all values of the open variables is cheaper.
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

    /// Sorts the values of all shapes. The group can be searched only after this.
    pub fn finish(&mut self) {
        for shape in &mut self.shapes {
            shape.values.sort_unstable();
            shape.values.dedup();
        }
    }

    /// The variables that some region of the group fixes in at least one of the given words.
    pub fn fixed_in(&self, words: Range<usize>) -> u128 {
        let of_shape =
            |shape: &Shape<W>| shape.known.as_ref()[words.clone()].iter().fold(0, |all, mask| all | mask);
        self.shapes.iter().fold(0, |all, shape| all | of_shape(shape))
    }

    /// Whether one region of the group contains the given region without reordering its threads.
    fn contains_as_is(&self, region: &Region<W>) -> bool {
        // In the common case the group has exactly the same region.
        let same = self.by_mask.get(&(region.known.clone(), region.linked));
        same.is_some_and(|&shape| self.shapes[shape].contains(region))
            || self.shapes.iter().any(|shape| shape.contains(region))
    }

    /// Whether one region of the group contains the given region, in some order of the given region's threads.
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

    /// An open variable of the given region on which to split it: a region of the group that overlaps the given one
    /// fixes or links this variable. `None` if no region of the group overlaps the given one.
    fn splitting_cell(&self, region: &Region<W>) -> Option<Cell> {
        let mut order: Vec<(u32, usize)> =
            self.shapes.iter().enumerate().map(|(i, shape)| (shape.distance(region), i)).collect();
        order.sort_unstable();
        let overlapping =
            order.into_iter().map(|(_, i)| &self.shapes[i]).find(|shape| shape.overlaps(region));
        overlapping.and_then(|shape| shape.nearest(region))
    }

    /// If the union of the group does not contain the given region, a part of the given region that is disjoint from
    /// all regions of the group.
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

/// Compares the data of the threads at two positions of a class.
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

/// Permutes the threads to the next order. After the last order it goes back to the first one and returns `false`.
/// Threads with equal data are not distinguished, so no order occurs twice.
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
