//! Nets: places with tokens, and transitions that move them.
//!
//! One model for Petri nets, transfer and reset nets, broadcast protocols and thread transition
//! systems. A **marking** says how many tokens each place holds. A **transition** `t` can fire in a
//! marking `m` if `m` covers `t.take`, and then, in this order,
//!
//! 1. the tokens of `t.take` are removed; let `r = m - t.take`;
//! 2. every token of `r` moves on its own: a token in a place without an entry in `t.moves` stays;
//!    with [`Flow::All`] it becomes one token in *each* of the listed places (none: it vanishes;
//!    one: it is transferred; more: it is copied; a place may be listed twice); with [`Flow::Each`]
//!    it goes to *one* of the listed places, whichever it likes;
//! 3. the tokens of `t.give` are added.
//!
//! So a guard `p >= n` that takes nothing is `n` in `take`, and where those tokens would have gone
//! in `give`. All of this is monotone: a larger marking can do what a smaller one can. What is
//! not is kept apart: `t.upper` lists zero tests, `p <= n` in `m`. **An engine may ignore `upper`
//! for `safe`** (more runs, so what they cannot cover is not coverable), **and must obey it for
//! `unsafe`**. The same for `upper` in targets.
//!
//! The initial markings are a box, see [`Initial`]; the question is whether some marking that can
//! be reached from one of them covers one of the targets.
//!
//! A thread transition system is a net with one token on the places of kind [`PlaceKind::Shared`],
//! and one token for each thread on those of kind [`PlaceKind::Local`]. Places exist only for states
//! that are mentioned somewhere: nothing here is a table over all states ([errata 33](crate::errata::item_33)).
//!
//! [`fire`] is the semantics, [`mod@predecessors`] its inverse on upward-closed sets. [`spec`],
//! [`tts`] and [`cm`] are the formats in which nets are written.

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

/// What the tokens of a place are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlaceKind {
    /// Something that is counted.
    Counter,
    /// The shared state of a thread transition system; one such place holds the one token.
    Shared(u32),
    /// A local state of a thread transition system; its tokens are the threads there.
    Local(u32),
    /// A value of a global variable of communicating machines, which has it if there is a token.
    Value,
    /// A local state of communicating machines; its tokens are the machines there.
    Machine,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As the source names it.
    pub name: String,
    /// What its tokens are.
    pub kind: PlaceKind,
}

/// What becomes of the tokens of a place that a transition does not take.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flow {
    /// Every token becomes one token in each of these places.
    All(Vec<PlaceId>),
    /// Every token goes to one of these places, of which there is at least one.
    Each(Vec<PlaceId>),
}

impl Flow {
    /// The places that tokens may come to. With [`Flow::All`], a place that is listed twice gets
    /// two tokens for one.
    #[must_use]
    pub fn places(&self) -> &[PlaceId] {
        match self {
            Self::All(places) | Self::Each(places) => places,
        }
    }
}

/// Moves the tokens of a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// Whose tokens.
    pub from: PlaceId,
    /// Where they go.
    pub flow: Flow,
}

/// A transition; see the [module](self) for what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// The tokens that are needed, and removed first.
    pub take: Marking,
    /// The tokens that are added at the end.
    pub give: Marking,
    /// What becomes of all others: sorted by place, every place at most once. Places without an
    /// entry keep them.
    pub moves: Vec<Move>,
    /// Zero tests: the place holds at most so many tokens before. Sorted by place.
    pub upper: Vec<(PlaceId, u64)>,
    /// Its text in the source; empty if it has none.
    pub span: Span,
}

impl Transition {
    /// What becomes of tokens in this place; `None` if they stay.
    #[must_use]
    pub fn flow(&self, place: PlaceId) -> Option<&Flow> {
        self.moves.binary_search_by_key(&place, |m| m.from).ok().map(|at| &self.moves[at].flow)
    }

    /// Whether a larger marking can do what a smaller one can.
    #[must_use]
    pub fn is_monotone(&self) -> bool {
        self.upper.is_empty()
    }

    /// Whether it is one of an ordinary Petri net: it takes and gives, and moves nothing else.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.moves.is_empty()
    }

    /// What it gives less what it takes; sorted by place, no zeros.
    #[must_use]
    pub fn effect(&self) -> Vec<(PlaceId, i128)> {
        let both = self.take.join(&self.give);
        let change = |place| i128::from(self.give.get(place)) - i128::from(self.take.get(place));
        both.iter().map(|(place, _)| (place, change(place))).filter(|&(_, n)| n != 0).collect()
    }

    /// Whether a token can become more than one.
    #[must_use]
    pub fn copies(&self) -> bool {
        self.moves.iter().any(|m| matches!(&m.flow, Flow::All(places) if places.len() > 1))
    }

    /// Puts the moves in order and simplifies them: [`Flow::Each`] with one place is a transfer, and
    /// tokens that stay need no move.
    ///
    /// # Panics
    /// If tokens go to one of no places: a bug of the caller.
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

/// Where the tokens of one place with [`Flow::Each`] went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// Whose tokens.
    pub from: PlaceId,
    /// How many of them went where; together, all that were left.
    pub to: Marking,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// What fires.
    pub transition: TransitionId,
    /// For every marked place with [`Flow::Each`], in order, where its tokens go.
    pub choices: Vec<Choice>,
}

/// How many tokens a place may hold at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// At least so many.
    pub least: u64,
    /// At most so many; any number if `None`.
    pub most: Option<u64>,
}

impl Range {
    /// Exactly so many.
    #[must_use]
    pub fn exactly(n: u64) -> Self {
        Self { least: n, most: Some(n) }
    }

    /// So many or more: a parameter of the system.
    #[must_use]
    pub fn at_least(n: u64) -> Self {
        Self { least: n, most: None }
    }

    /// Whether the number is in the range.
    #[must_use]
    pub fn contains(self, n: u64) -> bool {
        self.least <= n && self.reaches(n)
    }

    /// Whether the range has a number as large as this one.
    #[must_use]
    pub fn reaches(self, n: u64) -> bool {
        self.most.is_none_or(|most| n <= most)
    }
}

/// The initial markings: every combination of the ranges.
///
/// Invariant (box): sorted by place, every place at most once, no range is empty. Places that are
/// not listed are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initial(Vec<(PlaceId, Range)>);

impl Initial {
    /// A box; a later range of a place replaces an earlier one.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = (PlaceId, Range)>) -> Self {
        let mut sorted: Vec<(PlaceId, Range)> = ranges.into_iter().collect();
        sorted.sort_by_key(|&(place, _)| place);
        // Of equal neighbours the second goes, so the last range is moved to the front first.
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

    /// Whether some initial marking covers this one: whether it is in the downward closure of the
    /// initial markings.
    #[must_use]
    pub fn covers(&self, marking: &Marking) -> bool {
        marking.iter().all(|(place, n)| self.range(place).reaches(n))
    }

    /// The least initial marking that covers this one, if any does.
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

    /// Whether there are infinitely many.
    #[must_use]
    pub fn is_parametric(&self) -> bool {
        self.0.iter().any(|(_, range)| range.most.is_none())
    }
}

/// What must not be covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The tokens that are needed.
    pub least: Marking,
    /// Zero tests: the place holds at most so many tokens. Sorted by place.
    pub upper: Vec<(PlaceId, u64)>,
    /// Its text in the source; empty if it has none.
    pub span: Span,
}

impl Target {
    /// Whether the marking is what must not be reached, zero tests included.
    #[must_use]
    pub fn is_met_by(&self, marking: &Marking) -> bool {
        marking.covers(&self.least) && self.upper.iter().all(|&(place, n)| marking.get(place) <= n)
    }
}

/// A line of weights that the source says is an invariant: the weighted sum of tokens never
/// changes. Nobody has checked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Weights per place.
    pub weights: Marking,
    /// Its text in the source.
    pub span: Span,
}

/// A net, and the question whether one of its targets can be covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// Its places.
    pub places: Vec<Place>,
    /// Its transitions.
    pub transitions: Vec<Transition>,
    /// Where it starts.
    pub initial: Initial,
    /// What must not be covered, each on its own; without any, nothing can go wrong.
    pub targets: Vec<Target>,
    /// What the source says about invariants.
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

    /// Whether transitions and targets are free of zero tests, so that what engines see is the net
    /// itself and not a weaker one.
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

    /// Threads or machines in a marking: the tokens in local states, or all tokens where there are
    /// no local states.
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
