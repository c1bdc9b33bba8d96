//! Values of many variables, packed into words.

use smallvec::SmallVec;

/// A value for each of some variables. Variables beyond the stored words are false, so that vectors are equal if their
/// values are.
///
/// Invariant (trimmed): the last word is not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits(SmallVec<[u64; 2]>);

impl Bits {
    /// The first variables are true.
    #[must_use]
    pub fn ones(count: usize) -> Self {
        let mut bits = Self::default();
        (0..count).for_each(|i| bits.set(i, true));
        bits
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, position: usize) -> bool {
        self.0.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// Sets the value of a variable.
    pub fn set(&mut self, position: usize, value: bool) {
        let (word, bit) = (position / 64, 1_u64 << (position % 64));
        if value {
            if self.0.len() <= word {
                self.0.resize(word + 1, 0);
            }
            self.0[word] |= bit;
        } else if let Some(old) = self.0.get_mut(word) {
            *old &= !bit;
            self.trim();
        }
    }

    /// Sets all variables to false that are not in `mask`.
    pub fn keep(&mut self, mask: &Self) {
        self.0.truncate(mask.0.len());
        self.0.iter_mut().zip(&mask.0).for_each(|(word, mask)| *word &= mask);
        self.trim();
    }

    /// Sets all variables to true that are in `other`.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Sets all variables to false that are in `other`.
    pub fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
        self.trim();
    }

    /// Whether some variable is true in both.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(word, other)| word & other != 0)
    }

    /// Whether all true variables are true in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(|(word, other)| word & !other == 0)
    }

    /// The positions of the true variables, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(i * 64 + bit)
            })
        })
    }

    /// The number of true variables.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no variable is true.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_equal_if_their_values_are() {
        let mut bits = Bits::default();
        for position in [3, 64, 200] {
            bits.set(position, true);
        }
        assert_eq!(bits.iter().collect::<Vec<_>>(), [3, 64, 200]);
        assert_eq!(bits.count(), 3);
        bits.set(200, false);
        bits.keep(&Bits::ones(64));
        let mut other = Bits::default();
        other.set(3, true);
        assert_eq!(bits, other);
        other.join(&Bits::ones(2));
        assert_eq!(other.iter().collect::<Vec<_>>(), [0, 1, 3]);
        assert!(Bits::ones(2).is_subset(&other) && !other.is_subset(&Bits::ones(2)));
        other.remove(&Bits::ones(2));
        assert_eq!(other, bits);
        assert!(other.meets(&Bits::ones(4)) && !other.meets(&Bits::ones(3)));
        other.keep(&Bits::default());
        assert!(other.is_zero() && !other.get(1000));
    }
}
