//! Markings that no run covers, because a place is never marked or because a weighted sum of tokens never grows.
//!
//! Excluded markings need no search. Everything that excludes a marking is part of the evidence: the places and
//! invariants of `UncoverabilityBasis` are collected at the end.
//!
//! Implements: M. Blondin, A. Finkel, C. Haase, S. Haddad, "Approaching the Coverability Problem
//! Continuously", TACAS 2016, and T. Geffroy, J. Leroux, G. Sutre, "Occam's Razor Applied to the
//! Petri Net Coverability Problem", RP 2016: backward coverability pruned by linear relaxations.
//!
//! Theorem used: let the weights of places be non-negative, zero where the initial number of tokens is unbounded,
//! and such that no change (the effect of a transition, or the move of one token) increases the weighted sum. Then
//! the weighted sum of every reachable marking is at most that of the largest initial one.
//!
//! Deviation: this uses the state equation instead of continuous reachability, as in the second paper. When the
//! equation separates a marking, the result is turned into an invariant, which often excludes many other markings
//! without another question.

use super::relaxation::{Change, Relaxation};
use super::simplex::{Equation, StateEquation};
use crate::budget::Budget;
use crate::evidence::net::LinearInvariant;
use crate::net::{Marking, Net, PlaceId, TransitionId};

/// An invariant, and whether the evidence relies on it.
#[derive(Clone, Debug)]
struct KnownInvariant {
    invariant: LinearInvariant,
    used: bool,
}

/// The places and invariants that exclude markings, and the state equation that yields new invariants.
#[derive(Clone, Debug)]
pub struct Exclusions<'net> {
    net: &'net Net,
    relaxation: Relaxation,
    /// The largest initial marking, where it is bounded.
    start: Marking,
    equation: StateEquation,
    /// The invariants that are known; those that exclude many markings move to the front.
    known: Vec<KnownInvariant>,
    /// Decides whether the next question is asked, after questions without result.
    patience: Patience,
    /// The weight of each place, used by [`Exclusions::invariant`]; all zero between uses.
    weight_of: Vec<i128>,
}

/// Counts the questions to skip. The pause doubles after every question without result.
#[derive(Clone, Copy, Debug, Default)]
struct Patience {
    pause: u32,
    left: u32,
}

impl Patience {
    const LONGEST: u32 = 64;

    fn is_due(&mut self) -> bool {
        let due = self.left == 0;
        self.left = self.left.saturating_sub(1);
        due
    }

    fn reward(&mut self) {
        *self = Self::default();
    }

    fn punish(&mut self) {
        self.pause = (self.pause * 2).clamp(1, Self::LONGEST);
        // There is no pause after the first questions, since most of them have no result until the first invariant
        // is found.
        self.left = if self.pause < 16 { 0 } else { self.pause };
    }
}

impl<'net> Exclusions<'net> {
    /// Computes the places that are never marked, and the invariants among the claims of the net.
    #[must_use]
    pub fn of(net: &'net Net) -> Self {
        let relaxation = Relaxation::of(net);
        let mut start = Marking::new();
        for &(place, range) in net.initial.ranges() {
            start.set(place, range.most.unwrap_or(0));
        }
        let mut exclusions = Self {
            net,
            equation: relaxation.equation(),
            relaxation,
            start,
            known: Vec::new(),
            patience: Patience::default(),
            weight_of: vec![0; net.places.len()],
        };
        for claim in &net.claims {
            if let Some(invariant) = exclusions.invariant(claim.weights.clone()) {
                exclusions.known.push(KnownInvariant { invariant, used: false });
            }
        }
        exclusions
    }

    /// The transitions that may fire, sorted.
    #[must_use]
    pub fn live(&self) -> &[TransitionId] {
        self.relaxation.signs.live()
    }

    /// Whether a run may mark the place.
    #[must_use]
    pub fn is_markable(&self, place: PlaceId) -> bool {
        self.relaxation.signs.is_markable(place)
    }

    /// The invariants that are known. Every question may change their order.
    pub fn invariants(&self) -> impl Iterator<Item = &LinearInvariant> {
        self.known.iter().map(|known| &known.invariant)
    }

    /// Records that the evidence relies on the invariant with this number in [`Self::invariants`].
    pub fn note_used(&mut self, number: usize) {
        self.known[number].used = true;
    }

    /// Whether the known places and invariants exclude the marking.
    pub fn exclude(&mut self, marking: &Marking) -> bool {
        if marking.iter().any(|(place, _)| !self.relaxation.signs.is_markable(place)) {
            return true;
        }
        let Some(at) = self.known.iter().position(|known| violates(marking, &known.invariant)) else {
            return false;
        };
        self.known[at].used = true;
        self.known.swap(at, at / 2);
        true
    }

    /// Whether the marking is excluded. The state equation is solved if necessary, and if earlier questions were
    /// successful enough.
    pub fn exclude_by_equation(&mut self, marking: &Marking, budget: &Budget) -> bool {
        self.exclude(marking) || (self.patience.is_due() && self.ask(marking, budget))
    }

    /// Solves the state equation. Returns whether it excludes the marking.
    fn ask(&mut self, marking: &Marking, budget: &Budget) -> bool {
        let need = self.relaxation.need(marking, &self.start);
        let separated = match self.equation.ask(&need, budget) {
            Equation::Separated(weights) => self.invariant_of(&weights, marking),
            Equation::Solvable(_) | Equation::GaveUp => None,
        };
        let Some(invariant) = separated else {
            self.patience.punish();
            return false;
        };
        self.known.push(KnownInvariant { invariant, used: true });
        self.patience.reward();
        true
    }

    /// The invariant with these weights, if they give an invariant that the marking violates.
    fn invariant_of(&mut self, weights: &[(u32, f64)], marking: &Marking) -> Option<LinearInvariant> {
        let weights = integers(weights)?;
        let weights = weights.into_iter().map(|(row, weight)| (self.relaxation.place(row), weight));
        let invariant = self.invariant(Marking::sum_of(weights).ok()?)?;
        violates(marking, &invariant).then_some(invariant)
    }

    /// The invariant with these weights, if they give one; this is checked in integers.
    fn invariant(&mut self, weights: Marking) -> Option<LinearInvariant> {
        let mut bound: u64 = 0;
        for (place, weight) in weights.iter() {
            let most = self.net.initial.range(place).most?;
            bound = bound.checked_add(most.checked_mul(weight)?)?;
        }
        weights.iter().for_each(|(place, weight)| self.weight_of[place.index()] = i128::from(weight));
        let weight_of = &self.weight_of;
        let grows = |change: &Change| {
            let products = change.iter().map(|&(place, n)| weight_of[place.index()].checked_mul(n));
            products.sum::<Option<i128>>().is_none_or(|sum| sum > 0)
        };
        let holds = !self.relaxation.changes.iter().any(grows);
        weights.iter().for_each(|(place, _)| self.weight_of[place.index()] = 0);
        holds.then_some(LinearInvariant { weights, bound })
    }

    /// The places that are never marked.
    #[must_use]
    pub fn never_marked(&self) -> Vec<PlaceId> {
        self.relaxation.signs.never_marked()
    }

    /// The invariants that excluded something.
    #[must_use]
    pub fn used_invariants(&self) -> Vec<LinearInvariant> {
        self.known.iter().filter(|known| known.used).map(|known| known.invariant.clone()).collect()
    }
}

/// Whether the marking violates the invariant. If so, every marking that covers it does, too.
#[must_use]
pub fn violates(marking: &Marking, invariant: &LinearInvariant) -> bool {
    let weigh = |(place, n): (PlaceId, u64)| u128::from(invariant.weights.get(place)) * u128::from(n);
    // A sum that overflows exceeds every bound.
    let sum = marking.iter().map(weigh).try_fold(0u128, u128::checked_add);
    sum.is_none_or(|sum| sum > u128::from(invariant.bound))
}

/// The weights as multiples of a common unit, if their ratios are close to simple fractions.
fn integers(weights: &[(u32, f64)]) -> Option<Vec<(u32, u64)>> {
    const TINY: f64 = 1e-7;
    const LARGEST: u64 = 1 << 40;
    let positive = || weights.iter().filter(|&&(_, w)| w > TINY);
    let least = positive().map(|&(_, w)| w).fold(f64::INFINITY, f64::min);
    let fractions = positive().map(|&(row, w)| fraction(w / least).map(|(n, d)| (row, n, d)));
    let fractions: Vec<(u32, u64, u64)> = fractions.collect::<Option<_>>()?;
    let mut unit: u64 = 1;
    for &(_, _, d) in &fractions {
        unit = unit.checked_mul(d / gcd(unit, d)).filter(|&unit| unit <= LARGEST)?;
    }
    let scaled = fractions.iter().map(|&(row, n, d)| n.checked_mul(unit / d).map(|weight| (row, weight)));
    let scaled: Vec<(u32, u64)> = scaled.collect::<Option<_>>()?;
    let common = scaled.iter().fold(0, |common, &(_, weight)| gcd(common, weight)).max(1);
    Some(scaled.into_iter().map(|(row, weight)| (row, weight / common)).collect())
}

/// A simple fraction near the number: its continued fraction, truncated.
fn fraction(number: f64) -> Option<(u64, u64)> {
    const NEAR: f64 = 1e-7;
    const LARGEST: f64 = 1e12;
    const STEPS: usize = 12;
    let (mut n, mut d) = ((1.0, 0.0), (0.0, 1.0));
    let mut rest = number;
    for _ in 0..STEPS {
        let whole = rest.floor();
        n = (whole * n.0 + n.1, n.0);
        d = (whole * d.0 + d.1, d.0);
        if n.0.max(d.0).is_nan() || n.0.max(d.0) > LARGEST {
            return None;
        }
        if (n.0 / d.0 - number).abs() <= NEAR * number {
            #[expect(clippy::cast_sign_loss, reason = "weights are positive")]
            return Some((n.0 as u64, d.0 as u64));
        }
        rest = 1.0 / (rest - whole);
    }
    None
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
