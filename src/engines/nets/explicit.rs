//! Forward search over single markings, with a bound on the number of tokens.
//!
//! Implements: breadth-first search over markings.
//!
//! Theorem used: if no marking within the bound leads to a larger one, then all reachable markings have been found.
//!
//! Evidence: the shortest run, which obeys zero tests; or all reachable markings, as a
//! [`NetCertificate::CoverabilitySet`] without any omega. For a net with zero tests there is no such proof.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::budget::Budget;
use crate::evidence::net::{OmegaMarking, Tokens};
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason, Unknown};
use crate::net::fire::successors_unless;
use crate::net::reduce::Extent;
use crate::net::{Choice, Firing, Marking, Net, Overflow, PlaceId, TransitionId};
use crate::progress::Progress;

use crate::engines::Engine;

/// The engine `explicit` for nets: searches with increasing numbers of tokens until there is an answer.
#[derive(Clone, Copy, Debug)]
pub struct Explicit {
    /// The greatest number of markings in one round.
    pub most_markings: usize,
}

impl Default for Explicit {
    fn default() -> Self {
        Self { most_markings: 1 << 20 }
    }
}

impl Engine<Net> for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    /// This engine is a reference for the other engines, so it gets nets without any reduction.
    fn reduction(&self) -> Option<Extent> {
        None
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        let mut tokens = net.initial.least().total().max(1);
        loop {
            let limits = Limits { tokens, markings: self.most_markings };
            match search(net, limits, budget, progress) {
                Found::Run(run) => return NetVerdict::Unsafe(run),
                Found::Stopped(reason) => return reason.into(),
                Found::All(markings) if net.is_monotone() => {
                    return NetVerdict::Safe(NetCertificate::CoverabilitySet(maximal(markings)));
                }
                Found::All(_) => return Reason::ZeroTests.into(),
                Found::TooMany => {
                    let seen = format!("no run with at most {} tokens at once covers a target", tokens / 2);
                    let reason = Reason::UnboundedTokens;
                    return NetVerdict::Unknown(Unknown { reason, seen: (tokens > 1).then_some(seen) });
                }
                Found::Bounded => tokens = tokens.saturating_mul(2),
            }
        }
    }
}

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The greatest number of tokens in a marking.
    pub tokens: u128,
    /// The greatest number of markings.
    pub markings: usize,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Found {
    /// A run to a marking that meets a target.
    Run(FiringSequence),
    /// These are all reachable markings, and none meets a target.
    All(Vec<Marking>),
    /// No marking within the limit on tokens meets a target, but there are larger markings.
    Bounded,
    /// There are more markings than allowed.
    TooMany,
    /// The budget is used up, or a number of tokens does not fit into 64 bits.
    Stopped(Reason),
}

/// How a marking was reached: the number of the marking before it, and what fired. `None` for an initial marking.
type Origin = Option<(usize, TransitionId, Vec<Choice>)>;

/// Explores all markings within the limits that can be reached through such markings.
pub fn search(net: &Net, limits: Limits, budget: &Budget, progress: &dyn Progress) -> Found {
    let mut reached: IndexMap<Marking, Origin, FxBuildHasher> = IndexMap::default();
    let mut complete = !net.initial.is_parametric();
    let Some(initial) = initial_markings(net, limits, &mut complete, budget) else {
        return budget.exhausted().map_or(Found::TooMany, Found::Stopped);
    };
    for marking in initial {
        reached.insert(marking, None);
    }
    let mut at = 0;
    while at < reached.len() {
        let (marking, _) = reached.get_index(at).map(|(m, o)| (m.clone(), o.clone())).unwrap_or_default();
        if net.target_met_by(&marking).is_some() {
            return Found::Run(run_to(&reached, at));
        }
        progress.say(&|| format!("{} markings, at most {} tokens", reached.len(), limits.tokens));
        for id in net.transition_ids() {
            if let Some(reason) = budget.exhausted() {
                return Found::Stopped(reason);
            }
            let stop = || budget.exhausted().is_some();
            let all = match successors_unless(net.transition(id), &marking, &stop) {
                Ok(Some(all)) => all,
                Ok(None) => return Found::Stopped(budget.exhausted().unwrap_or(Reason::Interrupted)),
                Err(Overflow) => return Found::Stopped(Reason::TooManyTokens),
            };
            for (choices, after) in all {
                if after.total() > limits.tokens {
                    complete = false;
                } else {
                    reached.entry(after).or_insert_with(|| Some((at, id, choices)));
                }
            }
        }
        if reached.len() > limits.markings {
            return Found::TooMany;
        }
        at += 1;
    }
    if complete { Found::All(reached.into_keys().collect()) } else { Found::Bounded }
}

/// All initial markings within the limits; `None` if there are too many.
fn initial_markings(net: &Net, limits: Limits, complete: &mut bool, budget: &Budget) -> Option<Vec<Marking>> {
    let mut markings = vec![net.initial.least()];
    if markings[0].total() > limits.tokens {
        *complete = false;
        return Some(Vec::new());
    }
    for &(place, range) in net.initial.ranges() {
        let mut more = Vec::new();
        for marking in &markings {
            let room = u64::try_from(limits.tokens - marking.total()).unwrap_or(u64::MAX);
            let wanted = range.most.map_or(u64::MAX, |most| most - range.least);
            *complete &= wanted <= room;
            for n in 1..=room.min(wanted) {
                let mut larger = marking.clone();
                larger.set(place, range.least + n);
                more.push(larger);
                if markings.len() + more.len() > limits.markings || budget.exhausted().is_some() {
                    return None;
                }
            }
        }
        markings.extend(more);
    }
    // Markings with few tokens come first.
    markings.sort_by_cached_key(|marking| (marking.total(), marking.clone()));
    Some(markings)
}

fn run_to(reached: &IndexMap<Marking, Origin, FxBuildHasher>, at: usize) -> FiringSequence {
    let mut steps = Vec::new();
    let mut now = reached.get_index(at);
    let mut initial = Marking::new();
    while let Some((marking, origin)) = now {
        initial.clone_from(marking);
        now = origin.as_ref().and_then(|(before, transition, choices)| {
            steps.push(Firing { transition: *transition, choices: choices.clone() });
            reached.get_index(*before)
        });
    }
    steps.reverse();
    FiringSequence { initial, steps }
}

/// The maximal markings, as evidence.
fn maximal(markings: Vec<Marking>) -> Vec<OmegaMarking> {
    let mut sorted = markings;
    sorted.sort_by_cached_key(|marking| (std::cmp::Reverse(marking.total()), marking.clone()));
    let mut kept: Vec<Marking> = Vec::new();
    for marking in sorted {
        if !kept.iter().any(|larger| larger.covers(&marking)) {
            kept.push(marking);
        }
    }
    let limit = |(place, n): (PlaceId, u64)| (place, Tokens::AtMost(n));
    kept.iter().map(|marking| OmegaMarking::new(marking.iter().map(limit))).collect()
}

/// Looks for a run that obeys zero tests, among some hundred thousand markings. Engines call this when they know
/// that a target can be covered if zero tests are ignored.
pub fn search_despite_zero_tests(net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
    let engine = Explicit { most_markings: 200_000 };
    match engine.run(net, budget, progress) {
        NetVerdict::Unknown(unknown) if budget.exhausted().is_none() => {
            NetVerdict::Unknown(Unknown { reason: Reason::ZeroTests, ..unknown })
        }
        verdict => verdict,
    }
}
