//! Sets of 256 variables, each different set stored once.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use rustc_hash::FxHashMap;

/// The number of variables in a page.
pub const LANES: usize = 64 * WORDS;

// Four words fit into one vector register, and one 32-bit page number then represents 256 bits.
const WORDS: usize = 4;

/// A set of variables, numbered from the first one of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Page([u64; WORDS]);

impl Page {
    /// The empty set.
    pub const NONE: Self = Self([0; WORDS]);
    /// The set of all variables, declared or not.
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// The set of the first `count` variables, or of all if `count` exceeds the size of a page.
    pub fn first(count: usize) -> Self {
        Self(std::array::from_fn(|word| match count.saturating_sub(64 * word) {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        }))
    }

    /// Whether a variable is in the set.
    pub fn contains(self, lane: usize) -> bool {
        self.0[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// Adds a variable.
    pub fn insert(&mut self, lane: usize) {
        self.0[lane / 64] |= 1 << (lane % 64);
    }

    /// All variables of the set, sorted.
    pub fn lanes(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * word + bit)
            })
        })
    }
}

impl BitAnd for Page {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
}

impl BitOr for Page {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl BitOrAssign for Page {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Not for Page {
    type Output = Self;
    fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }
}

/// A table of pages without duplicates.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    pages: Vec<Page>,
    /// The number of each page. It is emptied when the table is sealed, since reading needs only the numbers.
    index: FxHashMap<Page, u32>,
}

impl Pages {
    /// The number of a page, which is added if it is new.
    pub fn intern(&mut self, page: Page) -> u32 {
        *self.index.entry(page).or_insert_with(|| {
            self.pages.push(page);
            self.pages.len() as u32 - 1
        })
    }

    /// The page with a number.
    pub fn get(&self, number: u32) -> Page {
        self.pages[number as usize]
    }

    /// Ends the construction of the table and frees the memory that only construction needs.
    pub fn seal(&mut self) {
        self.index = FxHashMap::default();
        self.pages.shrink_to_fit();
    }

    /// The number of bytes that the pages use.
    pub fn bytes(&self) -> usize {
        self.pages.len() * size_of::<Page>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variables_are_the_lanes_below_the_count() {
        for count in [0, 1, 63, 64, 65, 255, 256, 1000] {
            let expected: Vec<usize> = (0..count.min(LANES)).collect();
            assert_eq!(Page::first(count).lanes().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn equal_pages_have_one_number() {
        let mut pages = Pages::default();
        let mut page = Page::NONE;
        page.insert(200);
        let number = pages.intern(page);
        assert_ne!(pages.intern(Page::NONE), number);
        assert_eq!(pages.intern(page), number);
        pages.seal();
        assert_eq!(pages.get(number), page);
        assert_eq!(pages.bytes(), 2 * size_of::<Page>());
    }
}
