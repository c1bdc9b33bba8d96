//! Evidence that a target of a net can or cannot be covered.
//!
//! It refers to nets as [`crate::net`] defines them. Firing sequences obey zero tests. Proofs may ignore zero
//! tests, since that only allows more runs; [`UncoverabilityBasis`] says how far a basis may use them.

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
    /// The transitions that fire, in order.
    pub steps: Vec<Firing>,
}

/// A proof that no target can be covered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetCertificate {
    /// An upward-closed set of markings that contains the targets and is closed under covering predecessors.
    Basis(UncoverabilityBasis),
    /// A downward-closed set of markings that contains the initial markings and is closed under firing.
    CoverabilitySet(Vec<OmegaMarking>),
}

/// A proof that goes backwards from the targets, together with invariants that it may use.
///
/// A marking is *excluded* if it marks a place in `never_marked`, or violates one of the
/// `invariants`: no run reaches it or a marking that covers it. The proof holds if
///
/// 1. no initial marking marks a place in `never_marked`, and no transition that takes nothing from
///    them can bring a token into them from outside;
/// 2. the initial markings satisfy the invariants, and every transition that takes nothing from
///    `never_marked` keeps them;
/// 3. every target is excluded, or covers an element of the basis;
/// 4. every covering predecessor of an element is excluded, or covers an element;
/// 5. no initial marking covers an element.
///
/// With zero tests, a covering predecessor that holds more tokens in a tested place than the test allows need
/// not be considered, because no marking that covers it passes the test; the same holds for targets. (This is
/// the monotonic abstraction of P. A. Abdulla, G. Delzanno, N. Ben Henda, A. Rezine, "Regular Model Checking
/// Without Transducers", TACAS 2007.)
///
/// With empty `never_marked` and `invariants` this is a plain inductive basis; with an empty
/// `elements` it is a linear proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UncoverabilityBasis {
    /// Places that no run marks; sorted.
    pub never_marked: Vec<PlaceId>,
    /// Upper bounds on weighted sums of tokens that hold in every reachable marking.
    pub invariants: Vec<LinearInvariant>,
    /// The minimal elements of the upward-closed set.
    pub elements: Vec<Marking>,
}

/// The weighted sum of tokens is at most `bound` in every marking that can be reached.
///
/// A transition keeps the invariant if the tokens that it adds weigh at most as much as those that it
/// removes, and it moves no token to a place where the token weighs more. Weights are not negative, so a
/// marking that violates the invariant still does so when tokens are added. An invariant with rational
/// weights is multiplied by their common denominator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearInvariant {
    /// The weight of a token in each place.
    pub weights: Marking,
    /// The largest weight that all tokens can have together.
    pub bound: u64,
}

/// A number of tokens that may be arbitrarily large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tokens {
    /// At most this many.
    AtMost(u64),
    /// Any number.
    Omega,
}

/// The set of all markings that have at most the given number of tokens in each place; places that are not
/// listed are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OmegaMarking(Vec<(PlaceId, Tokens)>);

impl OmegaMarking {
    /// The set of markings below these limits. If a place has several limits, the largest one is used.
    #[must_use]
    pub fn new(limits: impl IntoIterator<Item = (PlaceId, Tokens)>) -> Self {
        let mut sorted: Vec<(PlaceId, Tokens)> = limits.into_iter().collect();
        sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        sorted.dedup_by_key(|&mut (place, _)| place);
        sorted.retain(|&(_, tokens)| tokens != Tokens::AtMost(0));
        Self(sorted)
    }

    /// The largest number of tokens in a place.
    #[must_use]
    pub fn get(&self, place: PlaceId) -> Tokens {
        self.0.binary_search_by_key(&place, |&(p, _)| p).map_or(Tokens::AtMost(0), |at| self.0[at].1)
    }

    /// The places that may hold tokens, in order.
    #[must_use]
    pub fn limits(&self) -> &[(PlaceId, Tokens)] {
        &self.0
    }

    /// Whether the set contains a marking.
    #[must_use]
    pub fn contains(&self, marking: &Marking) -> bool {
        marking.iter().all(|(place, n)| Tokens::AtMost(n) <= self.get(place))
    }

    /// Whether the set contains all markings of `other`.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        other.0.iter().all(|&(place, tokens)| tokens <= self.get(place))
    }
}
