//! Nets: places with tokens, and transitions that move them.
//!
//! One model for Petri nets, transfer and reset nets, broadcast protocols and thread transition
//! systems. A **marking** says how many tokens each place holds. A **transition** `t` can fire in a
//! marking `m` if `m` covers `t.take`, and then, in this order,
//!
//! 1. the tokens of `t.take` are removed; let `r = m - t.take`;
//! 2. every token of `r` moves independently: a token in a place without an entry in `t.moves` stays; with
//!    [`Flow::All`] it becomes one token in *each* of the listed places (with no place, it vanishes; with one, it is
//!    transferred; with more, it is copied; a place may be listed twice); with [`Flow::Each`] it goes to *one* of the
//!    listed places, chosen freely for each token;
//! 3. the tokens of `t.give` are added.
//!
//! So a guard `p >= n` that takes nothing is expressed by `n` tokens in `take`, which `give` returns to where they
//! would have gone. All of this is monotone: a larger marking can do everything that a smaller one can. Zero tests
//! are not monotone and are kept apart in `t.upper`: they require `p <= n` in `m`. **An engine may ignore `upper` for
//! `safe`** (that only adds runs, so a target that they cannot cover is not coverable), **and must obey it for
//! `unsafe`**. The same is true of `upper` in targets.
//!
//! The initial markings form a box, see [`Initial`]. The question is whether some marking that can be reached from
//! one of them covers one of the targets.
//!
//! A thread transition system is a net with one token on the places of kind [`PlaceKind::Shared`], and one token for
//! each thread on those of kind [`PlaceKind::Local`]. Places exist only for states that are mentioned somewhere: no
//! table ranges over all states ([errata 33](crate::errata::item_33)).
//!
//! [`fire`] implements the semantics, [`mod@predecessors`] its inverse on upward-closed sets. [`spec`], [`tts`] and
//! [`cm`] are the formats in which nets are written.

pub mod builder;
pub mod cm;
pub mod fire;
pub mod index;
mod lexer;
pub mod marking;
pub mod predecessors;
pub mod reduce;
pub mod signs;
pub mod spec;
pub mod tts;

use crate::source::Span;

pub use builder::Builder;
pub use marking::{Marking, Overflow};

crate::define_id!(
    /// A place of one [`Net`].
    PlaceId,
    "p"
);

crate::define_id!(
    /// A transition of one [`Net`].
    TransitionId,
    "t"
);

/// What the tokens of a place represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlaceKind {
    /// A counter, whose value is the number of tokens.
    Counter,
    /// A shared state of a thread transition system. One of these places holds the only token.
    Shared(u32),
    /// A local state of a thread transition system. Its tokens are the threads in that state.
    Local(u32),
    /// A value of a global variable of communicating machines. The variable has this value if the place holds a
    /// token.
    Value,
    /// A local state of communicating machines. Its tokens are the copies in that state.
    Machine,
}

/// A place of a net, which can hold tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name in the source.
    pub name: String,
    /// What its tokens represent.
    pub kind: PlaceKind,
}

/// What happens to the tokens of a place that a transition does not take.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flow {
    /// Every token becomes one token in each of these places.
    All(Vec<PlaceId>),
    /// Every token goes to one of these places. The list is not empty.
    Each(Vec<PlaceId>),
}

impl Flow {
    /// The places to which tokens may go. With [`Flow::All`], a place that is listed twice gets two tokens for each
    /// one.
    #[must_use]
    pub fn places(&self) -> &[PlaceId] {
        match self {
            Self::All(places) | Self::Each(places) => places,
        }
    }
}

/// The move of the remaining tokens of one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// The place whose tokens move.
    pub from: PlaceId,
    /// Where they go.
    pub flow: Flow,
}

/// A transition; the [module](self) says what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// The tokens that are required and removed first.
    pub take: Marking,
    /// The tokens that are added at the end.
    pub give: Marking,
    /// The moves of all other tokens: sorted by place, every place at most once. Tokens in places without an entry
    /// stay.
    pub moves: Vec<Move>,
    /// Zero tests: an upper bound to the tokens of a place before the firing. Sorted by place.
    pub upper: Vec<(PlaceId, u64)>,
    /// The place of the transition in the source; empty if it has none.
    pub span: Span,
}

impl Transition {
    /// The flow of the tokens in this place; `None` if they stay.
    #[must_use]
    pub fn flow(&self, place: PlaceId) -> Option<&Flow> {
        self.moves.binary_search_by_key(&place, |m| m.from).ok().map(|at| &self.moves[at].flow)
    }

    /// Whether it is monotone (has no zero tests), so that it can fire in every marking that is larger than one in
    /// which it can fire.
    #[must_use]
    pub fn is_monotone(&self) -> bool {
        self.upper.is_empty()
    }

    /// Whether it is a transition of an ordinary Petri net: it takes and gives tokens, without moves and zero tests.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.moves.is_empty()
    }

    /// The tokens it gives minus those it takes; sorted by place, no zeros.
    #[must_use]
    pub fn effect(&self) -> Vec<(PlaceId, i128)> {
        let both = self.take.join(&self.give);
        let change = |place| i128::from(self.give.get(place)) - i128::from(self.take.get(place));
        both.iter().map(|(place, _)| (place, change(place))).filter(|&(_, n)| n != 0).collect()
    }

    /// Whether one token can become several.
    #[must_use]
    pub fn copies(&self) -> bool {
        self.moves.iter().any(|m| matches!(&m.flow, Flow::All(places) if places.len() > 1))
    }

    /// Sorts the moves and simplifies them: [`Flow::Each`] with one place is a transfer, and tokens that stay need no
    /// move.
    ///
    /// # Panics
    /// Panics if tokens have to choose between no places, which is a bug of the caller.
    pub fn normalise_moves(&mut self) {
        for Move { flow, .. } in &mut self.moves {
            match flow {
                Flow::All(places) => places.sort_unstable(),
                Flow::Each(places) => {
                    places.sort_unstable();
                    places.dedup();
                    assert!(!places.is_empty(), "tokens that move go somewhere");
                    if let [only] = places[..] {
                        *flow = Flow::All(vec![only]);
                    }
                }
            }
        }
        self.moves.retain(|m| m.flow != Flow::All(vec![m.from]));
        self.moves.sort_unstable_by_key(|m| m.from);
    }
}

/// Where the tokens of a place with [`Flow::Each`] went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// The place from which the tokens came.
    pub from: PlaceId,
    /// The numbers of tokens by destination; their sum is the number of tokens that were left in the place.
    pub to: Marking,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The transition that fires.
    pub transition: TransitionId,
    /// For every marked place with [`Flow::Each`], sorted by place, where its tokens go.
    pub choices: Vec<Choice>,
}

/// The numbers of tokens that a place may hold initially.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lower bound.
    pub least: u64,
    /// The upper bound; `None` if there is no bound.
    pub most: Option<u64>,
}

impl Range {
    /// The range with a single number.
    #[must_use]
    pub fn exactly(n: u64) -> Self {
        Self { least: n, most: Some(n) }
    }

    /// The range without an upper bound: a parameter of the system.
    #[must_use]
    pub fn at_least(n: u64) -> Self {
        Self { least: n, most: None }
    }

    /// Whether the number is in the range.
    #[must_use]
    pub fn contains(self, n: u64) -> bool {
        self.least <= n && self.reaches(n)
    }

    /// Whether the range contains a number that is at least as large as this one.
    #[must_use]
    pub fn reaches(self, n: u64) -> bool {
        self.most.is_none_or(|most| n <= most)
    }
}

/// The initial markings: every combination of numbers in the ranges.
///
/// Invariant (box): sorted by place, every place at most once, no range is empty. Places that are not listed are
/// initially empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initial(Vec<(PlaceId, Range)>);

impl Initial {
    /// A box. A later range of a place replaces an earlier one.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = (PlaceId, Range)>) -> Self {
        let mut sorted: Vec<(PlaceId, Range)> = ranges.into_iter().collect();
        sorted.sort_by_key(|&(place, _)| place);
        // `dedup_by_key` keeps the first of equal neighbours, so the list is reversed first to keep the last range.
        sorted.reverse();
        sorted.dedup_by_key(|&mut (place, _)| place);
        sorted.reverse();
        sorted.retain(|&(_, range)| range != Range::exactly(0));
        Self(sorted)
    }

    /// The ranges of the places that may be marked, in order.
    #[must_use]
    pub fn ranges(&self) -> &[(PlaceId, Range)] {
        &self.0
    }

    /// The range of a place.
    #[must_use]
    pub fn range(&self, place: PlaceId) -> Range {
        let at = self.0.binary_search_by_key(&place, |&(p, _)| p);
        at.map_or(Range::exactly(0), |at| self.0[at].1)
    }

    /// Whether some initial marking covers this one, which means that it is in the downward closure of the initial
    /// markings.
    #[must_use]
    pub fn covers(&self, marking: &Marking) -> bool {
        marking.iter().all(|(place, n)| self.range(place).reaches(n))
    }

    /// The least initial marking that covers this one; `None` if no initial marking does.
    #[must_use]
    pub fn marking_that_covers(&self, marking: &Marking) -> Option<Marking> {
        self.covers(marking).then(|| self.least().join(marking))
    }

    /// The least initial marking.
    #[must_use]
    pub fn least(&self) -> Marking {
        let mut least = Marking::new();
        for &(place, range) in &self.0 {
            least.set(place, range.least);
        }
        least
    }

    /// Whether there are infinitely many initial markings.
    #[must_use]
    pub fn is_parametric(&self) -> bool {
        self.0.iter().any(|(_, range)| range.most.is_none())
    }
}

/// A target: markings that must not be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The least numbers of tokens.
    pub least: Marking,
    /// Zero tests: an upper bound to the tokens of a place. Sorted by place.
    pub upper: Vec<(PlaceId, u64)>,
    /// The place of the target in the source; empty if it has none.
    pub span: Span,
}

impl Target {
    /// Whether the marking meets the target, zero tests included.
    #[must_use]
    pub fn is_met_by(&self, marking: &Marking) -> bool {
        marking.covers(&self.least) && self.upper.iter().all(|&(place, n)| marking.get(place) <= n)
    }
}

/// An invariant that the source claims: the weighted sum of tokens never changes. It has not been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The weight of each place.
    pub weights: Marking,
    /// The place of the claim in the source.
    pub span: Span,
}

/// A net with its targets; the question is whether one of the targets can be covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// Its places.
    pub places: Vec<Place>,
    /// Its transitions.
    pub transitions: Vec<Transition>,
    /// The initial markings.
    pub initial: Initial,
    /// The targets, none of which must be covered. A net without targets is safe.
    pub targets: Vec<Target>,
    /// The invariants that the source claims.
    pub claims: Vec<Claim>,
}

impl Net {
    /// A place.
    #[must_use]
    pub fn place(&self, id: PlaceId) -> &Place {
        &self.places[id.index()]
    }

    /// A transition.
    #[must_use]
    pub fn transition(&self, id: TransitionId) -> &Transition {
        &self.transitions[id.index()]
    }

    /// All places.
    pub fn place_ids(&self) -> impl ExactSizeIterator<Item = PlaceId> + use<> {
        (0..self.places.len()).map(PlaceId::from_index)
    }

    /// All transitions.
    pub fn transition_ids(&self) -> impl ExactSizeIterator<Item = TransitionId> + use<> {
        (0..self.transitions.len()).map(TransitionId::from_index)
    }

    /// Whether transitions and targets have no zero tests, so that engines which ignore zero tests see the net
    /// itself.
    #[must_use]
    pub fn is_monotone(&self) -> bool {
        self.transitions.iter().all(Transition::is_monotone)
            && self.targets.iter().all(|t| t.upper.is_empty())
    }

    /// Whether its tokens are the threads of a thread transition system.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        self.places.iter().any(|place| matches!(place.kind, PlaceKind::Shared(_) | PlaceKind::Local(_)))
    }

    /// Whether its tokens are communicating machines.
    #[must_use]
    pub fn has_machines(&self) -> bool {
        self.places.iter().any(|place| place.kind == PlaceKind::Machine)
    }

    /// The number of threads or machines in a marking: the tokens in local states, or all tokens if the net has no
    /// local states.
    #[must_use]
    pub fn threads(&self, marking: &Marking) -> u128 {
        let counts = |place| !matches!(self.place(place).kind, PlaceKind::Shared(_) | PlaceKind::Value);
        marking.iter().filter(|&(place, _)| counts(place)).map(|(_, n)| u128::from(n)).sum()
    }

    /// The first target that the marking meets, zero tests included.
    #[must_use]
    pub fn target_met_by(&self, marking: &Marking) -> Option<&Target> {
        self.targets.iter().find(|target| target.is_met_by(marking))
    }
}
