//! Partial valuations: some variables have a value, the others may have any.

/// A set of valuations of at most 128 variables that fixes some of them.
///
/// Invariant (canonical): a bit outside `known` is zero in `value`, so equal sets are equal cubes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cube {
    known: u128,
    value: u128,
}

impl Cube {
    /// The largest number of variables that a cube can hold.
    pub const WIDTH: usize = 128;

    /// All valuations.
    pub const ANY: Self = Self { known: 0, value: 0 };

    /// The valuations that agree with `value` on the bits of `known`.
    #[must_use]
    pub fn new(known: u128, value: u128) -> Self {
        Self { known, value: value & known }
    }

    /// A mask of the variables that are fixed.
    #[must_use]
    pub fn known(self) -> u128 {
        self.known
    }

    /// The values of the fixed variables; zero elsewhere.
    #[must_use]
    pub fn value(self) -> u128 {
        self.value
    }

    /// The value of a variable, if it is fixed.
    #[must_use]
    pub fn get(self, var: u32) -> Option<bool> {
        (self.known >> var & 1 == 1).then_some(self.value >> var & 1 == 1)
    }

    /// This cube with one variable fixed.
    #[must_use]
    pub fn with(self, var: u32, value: bool) -> Self {
        let bit = 1 << var;
        Self { known: self.known | bit, value: self.value & !bit | if value { bit } else { 0 } }
    }

    /// This cube with one variable fixed (`Some`) or made free (`None`).
    #[must_use]
    pub fn set(self, var: u32, value: Option<bool>) -> Self {
        match value {
            Some(value) => self.with(var, value),
            None => self.keep(!(1 << var)),
        }
    }

    /// This cube with only the variables of `mask` fixed.
    #[must_use]
    pub fn keep(self, mask: u128) -> Self {
        Self::new(self.known & mask, self.value)
    }

    /// Whether every valuation of `other` is also one of this cube.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.known & !other.known == 0 && (self.value ^ other.value) & self.known == 0
    }

    /// The valuations that are in both cubes; `None` if there are none.
    #[must_use]
    pub fn meet(self, other: Self) -> Option<Self> {
        let clash = (self.value ^ other.value) & self.known & other.known;
        (clash == 0).then_some(Self { known: self.known | other.known, value: self.value | other.value })
    }

    /// This cube, with variables that are free in it fixed as in `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let gaps = other.keep(!self.known);
        Self { known: self.known | gaps.known, value: self.value | gaps.value }
    }

    /// The variables of `mask` moved up by `by` positions.
    #[must_use]
    pub fn shift_up(self, by: usize) -> Self {
        if by >= Self::WIDTH {
            return Self::ANY;
        }
        Self { known: self.known << by, value: self.value << by }
    }

    /// The variables moved down by `by` positions.
    #[must_use]
    pub fn shift_down(self, by: usize) -> Self {
        if by >= Self::WIDTH {
            return Self::ANY;
        }
        Self { known: self.known >> by, value: self.value >> by }
    }
}

impl std::fmt::Debug for Cube {
    /// `01-1`: from variable 0 up to the last fixed one, `-` for any value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = 128 - self.known.leading_zeros();
        (0..width).try_for_each(|var| match self.get(var) {
            None => f.write_str("-"),
            Some(value) => write!(f, "{}", u8::from(value)),
        })
    }
}

/// The lowest `count` bits.
#[must_use]
pub fn low_bits(count: usize) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

/// The positions of the bits of a mask, lowest first.
pub fn bits(mut mask: u128) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cube over three variables with its valuations.
    fn cubes() -> impl Iterator<Item = (Cube, Vec<u128>)> {
        (0..8_u128).flat_map(|known| {
            (0..8_u128).filter(move |value| value & !known == 0).map(move |value| {
                let cube = Cube::new(known, value);
                (cube, (0..8).filter(|point| point & known == value).collect())
            })
        })
    }

    #[test]
    fn operations_agree_with_sets_of_points() {
        for (a, points) in cubes() {
            for (b, others) in cubes() {
                assert_eq!(a.contains(b), others.iter().all(|p| points.contains(p)), "{a:?} {b:?}");
                let both: Vec<u128> = points.iter().copied().filter(|p| others.contains(p)).collect();
                let meet = a.meet(b);
                assert_eq!(meet.is_some(), !both.is_empty(), "{a:?} {b:?}");
                if let Some(meet) = meet {
                    assert!(cubes().any(|(cube, points)| cube == meet && points == both), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn debug_shows_values_and_gaps() {
        assert_eq!(format!("{:?}", Cube::new(0b1011, 0b1010)), "01-1");
    }
}
