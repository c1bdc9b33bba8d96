//! Numbers that may be too large for a machine word.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// A number of steps or lines: exact as long as it fits into 64 bits, otherwise as a power of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// The exact number.
    Exact(u64),
    /// Two to the power of this number.
    Power(f64),
}

impl Count {
    /// The number zero.
    pub const ZERO: Self = Self::Exact(0);

    /// Larger numbers are shown by their order of magnitude instead of their digits.
    const MOST_DIGITS: u64 = 1_000_000_000_000;

    /// The binary logarithm; minus infinity for zero.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the logarithm of a large number is rounded anyway")]
    pub fn log2(self) -> f64 {
        match self {
            Self::Exact(n) => (n as f64).log2(),
            Self::Power(log) => log,
        }
    }

    /// The exact number, if it fits.
    #[must_use]
    pub fn exact(self) -> Option<u64> {
        match self {
            Self::Exact(n) => Some(n),
            Self::Power(_) => None,
        }
    }

    /// Whether it is at most `limit`.
    #[must_use]
    pub fn is_at_most(self, limit: u64) -> bool {
        self.exact().is_some_and(|n| n <= limit)
    }
}

impl From<usize> for Count {
    fn from(n: usize) -> Self {
        Self::Exact(n as u64)
    }
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other)
            && let Some(sum) = a.checked_add(b)
        {
            return Self::Exact(sum);
        }
        let (a, b) = (self.log2(), other.log2());
        let (high, low) = (a.max(b), a.min(b));
        Self::Power(high + (low - high).exp2().ln_1p() / std::f64::consts::LN_2)
    }
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, Self::add)
    }
}

impl fmt::Display for Count {
    /// Writes `1,234`, or `2^800.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(n) if *n <= Self::MOST_DIGITS => f.write_str(&grouped(*n)),
            count => write!(f, "2^{:.1}", count.log2()),
        }
    }
}

/// The digits of a number in groups of three.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_exact_and_grouped() {
        let shown = |n: u64| Count::Exact(n).to_string();
        assert_eq!(shown(0), "0");
        assert_eq!(shown(999), "999");
        assert_eq!(shown(1_000), "1,000");
        assert_eq!(shown(1_234_567), "1,234,567");
    }

    #[test]
    fn doubling_goes_on_where_floating_point_ends() {
        let mut count = Count::Exact(1);
        for _ in 0..5000 {
            count = count + count;
        }
        assert_eq!(count.to_string(), "2^5000.0");
        assert_eq!((count + Count::Exact(1)).to_string(), "2^5000.0");
        assert_eq!((count + Count::ZERO).to_string(), "2^5000.0");
    }

    #[test]
    fn the_sum_of_two_full_words_does_not_overflow() {
        let sum = Count::Exact(u64::MAX) + Count::Exact(1);
        assert_eq!(sum.exact(), None);
        assert_eq!(sum.to_string(), "2^64.0");
    }
}
