//! What shows that a target of a net can or cannot be covered.
//!
//! All of it is about the net as [`crate::net`] defines it. Firing sequences obey zero tests. Proofs may
//! ignore them, which only makes them stronger; how far a basis can use them is said there.

use super::Reason;
use crate::net::{Firing, Marking, Overflow, PlaceId};

/// What an engine says about one net.
pub type NetVerdict = super::Verdict<NetCertificate, FiringSequence>;

impl From<Overflow> for Reason {
    fn from(_: Overflow) -> Self {
        Self::TooManyTokens
    }
}

/// A run that ends in a marking that meets a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiringSequence {
    /// One of the initial markings.
    pub initial: Marking,
    /// What fires, in order.
    pub steps: Vec<Firing>,
}

/// What shows that no target can be covered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetCertificate {
    /// What is bad, closed under covering predecessors.
    Basis(UncoverabilityBasis),
    /// What can be reached at most, closed under firing.
    CoverabilitySet(Vec<OmegaMarking>),
}

/// A proof from the targets backwards, and what it may take for granted.
///
/// A marking is *excluded* if it marks a place in `never_marked`, or violates one of the
/// `invariants`: no run comes to it, nor to anything that covers it. The proof holds if
///
/// 1. no initial marking marks a place in `never_marked`, and no transition that takes nothing from
///    them can bring a token into them from outside;
/// 2. the initial markings satisfy the invariants, and every transition that takes nothing from
///    `never_marked` keeps them;
/// 3. every target is excluded, or covers an element of the basis;
/// 4. every covering predecessor of an element is excluded, or covers an element;
/// 5. no initial marking covers an element.
///
/// With zero tests, a covering predecessor that holds more tokens in a tested place than the test allows
/// is none, because nothing that covers it passes the test; nor is such a target one. (This is the
/// monotonic abstraction of P. A. Abdulla, G. Delzanno, N. Ben Henda, A. Rezine, "Regular Model
/// Checking Without Transducers", TACAS 2007.)
///
/// With empty `never_marked` and `invariants` this is a plain inductive basis; with an empty
/// `elements` it is a linear proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UncoverabilityBasis {
    /// Places that no run marks; sorted.
    pub never_marked: Vec<PlaceId>,
    /// Weighted sums that do not grow.
    pub invariants: Vec<LinearInvariant>,
    /// Minimal elements of the upward-closed set.
    pub elements: Vec<Marking>,
}

/// The weighted sum of tokens is at most `bound` in every marking that can be reached.
///
/// Every transition keeps it if it gives at most the weight that it takes, and moves no token to
/// where it weighs more. Weights are not negative, so what violates the invariant still does when
/// tokens are added. An invariant of rational weights is multiplied out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearInvariant {
    /// The weight of a token in each place.
    pub weights: Marking,
    /// The most that all tokens together weigh.
    pub bound: u64,
}

/// A number of tokens that may be arbitrarily large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tokens {
    /// At most so many.
    AtMost(u64),
    /// Any number.
    Omega,
}

/// All markings with at most so many tokens in each place; places that are not listed are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OmegaMarking(Vec<(PlaceId, Tokens)>);

impl OmegaMarking {
    /// The markings below these limits; of several limits of a place, the largest counts.
    #[must_use]
    pub fn new(limits: impl IntoIterator<Item = (PlaceId, Tokens)>) -> Self {
        let mut sorted: Vec<(PlaceId, Tokens)> = limits.into_iter().collect();
        sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        sorted.dedup_by_key(|&mut (place, _)| place);
        sorted.retain(|&(_, tokens)| tokens != Tokens::AtMost(0));
        Self(sorted)
    }

    /// The most tokens in a place.
    #[must_use]
    pub fn get(&self, place: PlaceId) -> Tokens {
        self.0.binary_search_by_key(&place, |&(p, _)| p).map_or(Tokens::AtMost(0), |at| self.0[at].1)
    }

    /// The places that may be marked, in order.
    #[must_use]
    pub fn limits(&self) -> &[(PlaceId, Tokens)] {
        &self.0
    }

    /// Whether the marking is one of these.
    #[must_use]
    pub fn contains(&self, marking: &Marking) -> bool {
        marking.iter().all(|(place, n)| Tokens::AtMost(n) <= self.get(place))
    }

    /// Whether all markings of `other` are among these.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        other.0.iter().all(|&(place, tokens)| tokens <= self.get(place))
    }
}
