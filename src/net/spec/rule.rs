//! Translates guards and updates to transitions.
//!
//! A rule is `guard -> x' = sources + constant, ...`: a matrix of non-negative numbers and a constant for each row. A
//! transition takes the guard's lower bounds `g` first, so a row becomes `sources(m - g) + give` with
//! `give = constant + sources(g)`. The row never goes below zero iff `give >= 0`. Where the guard is too weak for
//! that, its lower bounds are raised. If the row has one source, there is one way to do that; otherwise every
//! distribution of the missing tokens over the sources yields a transition of its own, and together they are
//! equivalent to the rule.

use std::collections::BTreeSet;

use crate::net::{Flow, Marking, Move, PlaceId, Transition};
use crate::source::Span;

/// The right side of an update.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    /// The places whose tokens are added; a place may occur several times.
    pub sources: Vec<PlaceId>,
    /// The constant that is added to them.
    pub constant: i128,
}

/// An update `x' = sum`.
#[derive(Clone, Debug)]
pub(super) struct Update {
    /// The place that is updated.
    pub place: PlaceId,
    /// Its new number of tokens.
    pub sum: Sum,
}

/// Bounds on the tokens of places: a conjunction of atoms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Lower bounds.
    pub least: Marking,
    /// Upper bounds, sorted by place.
    pub upper: Vec<(PlaceId, u64)>,
}

impl Bounds {
    /// Adds an atom.
    pub fn add(&mut self, place: PlaceId, least: u64, most: Option<u64>) {
        self.least.set(place, self.least.get(place).max(least));
        if let Some(most) = most {
            match self.upper.binary_search_by_key(&place, |&(p, _)| p) {
                Ok(at) => self.upper[at].1 = self.upper[at].1.min(most),
                Err(at) => self.upper.insert(at, (place, most)),
            }
        }
    }

    /// The upper bound of a place.
    pub fn most(&self, place: PlaceId) -> Option<u64> {
        self.upper.binary_search_by_key(&place, |&(p, _)| p).ok().map(|at| self.upper[at].1)
    }

    /// Whether no marking satisfies the bounds.
    pub fn are_contradictory(&self) -> bool {
        self.upper.iter().any(|&(place, most)| most < self.least.get(place))
    }
}

/// Why a rule cannot be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleError {
    /// A number does not fit.
    TooLarge,
    /// It subtracts tokens that its guard does not guarantee, in too many ways.
    TooManyWays,
}

/// The translation of a rule.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    /// The transitions that together are equivalent to the rule. There are none if the guard cannot hold.
    pub transitions: Vec<Transition>,
    /// A lower bound that had to be added to the guard, if one was.
    pub raised: Option<(PlaceId, u64)>,
    /// Whether there were several ways to raise the guard.
    pub split: bool,
}

/// The largest number of transitions that one rule may yield.
const MOST_WAYS: usize = 1000;

/// The transitions of a rule. Every place is updated at most once.
pub(super) fn compile(guard: &Bounds, updates: &[Update], span: Span) -> Result<Compiled, RuleError> {
    let mut raised = None;
    let mut complete: Vec<Marking> = Vec::new();
    let mut open = BTreeSet::from([guard.least.clone()]);
    while let Some(take) = open.pop_first() {
        let Some((update, missing)) = updates.iter().find_map(|u| Some((u, deficit(u, &take)?))) else {
            complete.push(take);
            continue;
        };
        let mut sources = update.sum.sources.clone();
        sources.sort_unstable();
        sources.dedup();
        for &source in &sources {
            // With one source, the missing tokens are added at once; with several, one token at a time from each.
            let factor = update.sum.sources.iter().filter(|&&s| s == source).count() as u128;
            let more = if sources.len() == 1 { missing.div_ceil(factor) } else { 1 };
            let more = u64::try_from(more).map_err(|_| RuleError::TooLarge)?;
            let mut larger = take.clone();
            larger.add(source, more).map_err(|_| RuleError::TooLarge)?;
            raised.get_or_insert((source, larger.get(source)));
            if guard.most(source).is_none_or(|most| larger.get(source) <= most) {
                open.insert(larger);
            }
        }
        if open.len() + complete.len() > MOST_WAYS {
            return Err(RuleError::TooManyWays);
        }
    }
    let complete = crate::net::predecessors::minimal(complete);
    let split = complete.len() > 1;
    let transitions = complete.into_iter().filter(|_| !guard.are_contradictory());
    let transitions: Result<_, _> = transitions.map(|take| transition(guard, take, updates, span)).collect();
    Ok(Compiled { transitions: transitions?, raised, split })
}

/// By how much the row would be negative if only the tokens of `take` were there.
fn deficit(update: &Update, take: &Marking) -> Option<u128> {
    let value = row(update, take);
    (value < 0).then(|| value.unsigned_abs())
}

/// The value of the row if only the tokens of `take` are there.
fn row(update: &Update, take: &Marking) -> i128 {
    let sources = update.sum.sources.iter().map(|&source| i128::from(take.get(source)));
    update.sum.constant + sources.sum::<i128>()
}

fn transition(
    guard: &Bounds,
    take: Marking,
    updates: &[Update],
    span: Span,
) -> Result<Transition, RuleError> {
    let is_updated = |place: PlaceId| updates.iter().any(|update| update.place == place);
    let mut give = Marking::new();
    // The flow of the tokens of every place whose tokens do not simply stay.
    let mut flows: Vec<(PlaceId, PlaceId)> = Vec::new();
    for update in updates {
        let constant = u64::try_from(row(update, &take)).map_err(|_| RuleError::TooLarge)?;
        give.set(update.place, constant);
        flows.extend(update.sum.sources.iter().map(|&source| (source, update.place)));
    }
    for (place, n) in take.iter().filter(|&(place, _)| !is_updated(place)) {
        give.set(place, n);
    }
    let mut places: Vec<PlaceId> = updates.iter().map(|update| update.place).collect();
    places.extend(flows.iter().map(|&(from, _)| from));
    places.sort_unstable();
    places.dedup();
    flows.extend(places.iter().filter(|&&place| !is_updated(place)).map(|&place| (place, place)));
    flows.sort_unstable();
    let moves = places.into_iter().filter_map(|from| {
        let begin = flows.partition_point(|&(place, _)| place < from);
        let to = flows[begin..].iter().take_while(|&&(place, _)| place == from).map(|&(_, to)| to);
        let to: Vec<PlaceId> = to.collect();
        (to != [from]).then_some(Move { from, flow: Flow::All(to) })
    });
    Ok(Transition { moves: moves.collect(), take, give, upper: guard.upper.clone(), span })
}
