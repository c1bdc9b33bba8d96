//! Orders and work lists that make the fixed points of [`super::flow`] fast.

/// Rows of numbers, stored in one list.
pub struct Table {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl Table {
    /// Groups pairs by their first component.
    pub fn new(rows: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut sizes = vec![0; rows];
        pairs.clone().for_each(|(row, _)| sizes[row as usize] += 1);
        let first = starts(sizes.into_iter());
        let mut next = first.clone();
        let mut items = vec![0; first[rows] as usize];
        for (row, item) in pairs {
            let slot = &mut next[row as usize];
            items[*slot as usize] = item;
            *slot += 1;
        }
        Self { first, items }
    }

    /// The items of one row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.items[self.first[row] as usize..self.first[row + 1] as usize]
    }
}

/// The first number of every group of consecutive numbers, and one past the last number.
pub fn starts(sizes: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut total = 0;
    let mut starts = vec![0];
    starts.extend(sizes.map(|size| {
        total += size as u32;
        total
    }));
    starts
}

/// The position of each number in a permutation.
pub fn inverse(permutation: impl Iterator<Item = usize>, count: usize) -> Vec<u32> {
    let mut inverse = vec![0; count];
    permutation.enumerate().for_each(|(position, item)| inverse[item] = position as u32);
    inverse
}

/// A work list that is processed in sweeps from the lowest position to the highest.
///
/// A position that is added ahead of the current one is processed in the same sweep, all others in the next one.
/// Returning to the lowest position at once would propagate every single fact around a cycle before the next one is
/// considered, which is slower by a factor of hundreds on large recursive programs.
///
/// Most sweeps over deeply nested loops find one position only, so empty stretches must cost nothing.
pub struct Sweeps {
    /// One bit for each position that is on the list, and above each level a bit for each of its words that is not zero,
    /// up to a level of one word.
    levels: Vec<Vec<u64>>,
    /// The current sweep has passed all positions below this one.
    here: usize,
}

impl Sweeps {
    /// An empty work list.
    pub fn new(positions: usize) -> Self {
        let mut levels = vec![vec![0; positions.div_ceil(64).max(1)]];
        while let Some(below) = levels.last().map(Vec::len).filter(|&words| words > 1) {
            levels.push(vec![0; below.div_ceil(64)]);
        }
        Self { levels, here: 0 }
    }

    /// Adds a position, if it is not on the list yet.
    pub fn add(&mut self, position: u32) {
        let mut bit = position as usize;
        for level in &mut self.levels {
            level[bit / 64] |= 1 << (bit % 64);
            bit /= 64;
        }
    }

    /// Removes the next position from the list and returns it.
    pub fn next(&mut self) -> Option<usize> {
        let position = self.first_from(self.here).or_else(|| self.first_from(0))?;
        let mut bit = position;
        for level in &mut self.levels {
            level[bit / 64] &= !(1 << (bit % 64));
            if level[bit / 64] != 0 {
                break;
            }
            bit /= 64;
        }
        self.here = position + 1;
        Some(position)
    }

    /// The lowest position on the list from this one on.
    fn first_from(&self, position: usize) -> Option<usize> {
        let mut from = position;
        for (height, level) in self.levels.iter().enumerate() {
            let word = *level.get(from / 64)? >> (from % 64) << (from % 64);
            if word != 0 {
                let top = from / 64 * 64 + word.trailing_zeros() as usize;
                let levels = self.levels[..height].iter().rev();
                return Some(levels.fold(top, |at, level| 64 * at + level[at].trailing_zeros() as usize));
            }
            from = from / 64 + 1;
        }
        None
    }
}

/// All nodes in the order in which a depth-first search finishes them.
pub fn postorder(successors: &Table) -> Vec<u32> {
    let nodes = successors.first.len() - 1;
    let mut order = Vec::with_capacity(nodes);
    let mut seen = vec![false; nodes];
    let mut stack: Vec<(u32, std::slice::Iter<'_, u32>)> = Vec::new();
    for root in 0..nodes as u32 {
        if std::mem::replace(&mut seen[root as usize], true) {
            continue;
        }
        stack.push((root, successors.row(root as usize).iter()));
        while let Some((node, rest)) = stack.last_mut() {
            if let Some(&next) = rest.next() {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push((next, successors.row(next as usize).iter()));
                }
            } else {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_behind_a_sweep_waits_for_the_next() {
        let mut work = Sweeps::new(200);
        for position in [5, 130, 199] {
            work.add(position);
        }
        assert_eq!(work.next(), Some(5));
        for position in [5, 0, 131, 131] {
            work.add(position);
        }
        let rest: Vec<usize> = std::iter::from_fn(|| work.next()).collect();
        assert_eq!(rest, [130, 131, 199, 0, 5]);
    }

    #[test]
    fn sweeps_over_many_positions_find_each_of_them_once() {
        // Three levels, with positions at the borders of their words.
        let positions = [0, 1, 63, 64, 4095, 4096, 4097, 262_143, 262_144, 299_999];
        let mut work = Sweeps::new(300_000);
        for start in positions {
            for &position in &positions {
                work.add(position as u32);
            }
            assert_eq!(work.first_from(start), Some(start));
            let found: Vec<usize> = std::iter::from_fn(|| work.next()).collect();
            let from = positions.iter().position(|&position| position == found[0]).expect("one of them");
            let expected: Vec<usize> = positions[from..].iter().chain(&positions[..from]).copied().collect();
            assert_eq!(found, expected);
            assert_eq!((work.next(), work.first_from(0)), (None, None));
        }
        assert_eq!(Sweeps::new(0).next(), None);
    }

    #[test]
    fn successors_come_first_where_there_is_no_cycle() {
        // The edges are 0 -> 2, 2 -> 1, 1 -> 2 and 3 -> 0.
        let pairs = [(0, 2), (2, 1), (1, 2), (3, 0)];
        assert_eq!(postorder(&Table::new(4, pairs.iter().copied())), [1, 2, 0, 3]);
    }
}
