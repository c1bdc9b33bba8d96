//! Checks claimed cutoffs. Only results that pass here can be printed. [`CutoffEvidence`] states what is checked.
//!
//! Everything that can be checked without a search is always checked: candidates are counted again, and proofs and
//! runs go through the same checks as those about targets. To check that a round reaches the states that it claims,
//! the round is explored again. If that would take too many states, the round counts as unchecked, and so does every
//! result that depends on it; the report says so.

use std::collections::{BTreeMap, BTreeSet};

use super::net::{CertifiedNet, check_verdict, well_formed};
use super::threads::{Search, Threads};
use super::tokens::is_above;
use super::{Rejection, Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::cutoff::{CutoffEvidence, Fewest, Found, Round, ThreadState};
use crate::evidence::{NetCertificate, NetVerdict};
use crate::net::{Initial, Marking, Net, PlaceId, Range, Target};

/// A round is explored again only up to this number of states.
pub const MOST_STATES: usize = 1_000_000;

/// A checked result about numbers of threads. Only [`certify_cutoff`] makes one.
#[derive(Clone, Debug)]
pub struct CertifiedCutoff {
    evidence: CutoffEvidence,
    verdict: CertifiedNet,
    checked: Vec<bool>,
    unchecked: Option<String>,
}

impl CertifiedCutoff {
    /// The rounds, each with a flag that tells whether all its claims were checked.
    #[must_use]
    pub fn rounds(&self) -> impl ExactSizeIterator<Item = (&Round, bool)> {
        self.evidence.rounds.iter().zip(self.checked.iter().copied())
    }

    /// What the rounds showed.
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.evidence.found
    }

    /// The least number of threads with which a target can be covered, if it is known.
    #[must_use]
    pub fn threads_to_target(&self) -> Option<usize> {
        self.evidence.threads_to_target
    }

    /// Why [`CertifiedCutoff::found`] and [`CertifiedCutoff::threads_to_target`] are not checked in full; `None` if they are.
    #[must_use]
    pub fn unchecked(&self) -> Option<&str> {
        self.unchecked.as_deref()
    }

    /// The checked verdict about the targets.
    #[must_use]
    pub fn verdict(&self) -> &NetVerdict {
        self.verdict.verdict()
    }
}

/// Checks the claims about the number of threads of a system. The verdict about the targets is that of the net which
/// the threads were translated from, and it was checked before. If the budget does not suffice for a check, the
/// result is marked as unchecked.
///
/// # Errors
/// Says what is wrong with the evidence.
pub fn certify_cutoff(
    threads: &Net,
    evidence: CutoffEvidence,
    verdict: CertifiedNet,
    budget: &Budget,
) -> Result<CertifiedCutoff, Rejection> {
    certify_cutoff_within(threads, evidence, verdict, MOST_STATES, budget)
}

/// Like [`certify_cutoff`], with another limit to the number of states of a round.
///
/// # Errors
/// Says what is wrong with the evidence.
pub fn certify_cutoff_within(
    threads: &Net,
    evidence: CutoffEvidence,
    verdict: CertifiedNet,
    most_states: usize,
    budget: &Budget,
) -> Result<CertifiedCutoff, Rejection> {
    let claims_target = matches!(evidence.found, Found::Target(_)) || evidence.threads_to_target.is_some();
    if claims_target && matches!(verdict.verdict(), NetVerdict::Safe(_)) {
        return Err(Rejection("threads are said to reach a target that cannot be covered".to_owned()));
    }
    let mut checked = vec![false; evidence.rounds.len()];
    let unchecked = match check(threads, &evidence, most_states, &mut checked, budget) {
        Ok(unchecked) => unchecked,
        Err(Stop::Exhausted(reason)) => Some(reason.to_string()),
        Err(Stop::Rejected(sentence)) => return Err(Rejection(sentence)),
    };
    Ok(CertifiedCutoff { evidence, verdict, checked, unchecked })
}

/// Checks all conditions. Returns the reason why the result is not fully checked, if it is not.
fn check(
    net: &Net,
    evidence: &CutoffEvidence,
    most_states: usize,
    checked: &mut [bool],
    budget: &Budget,
) -> Result<Option<String>, Stop> {
    well_formed(net)?;
    let threads = Threads::of(net)?;
    let known = Known::new(net, evidence, budget)?;
    for (round, number) in evidence.rounds.iter().zip(threads.fewest()..) {
        if round.threads as u128 != number {
            return reject(format!("the round of {number} threads is missing"));
        }
        let at = |stop: Stop| stop.at(format_args!("the round of {number} threads"));
        check_candidates(&threads, &known, round, budget).map_err(at)?;
    }
    check_result(net, &threads, evidence, budget)?;
    // Exploring the rounds again may be expensive, so it comes after all cheaper checks.
    let mut is_at_target = false;
    for (round, checked) in evidence.rounds.iter().zip(checked.iter_mut()) {
        let at = |stop: Stop| stop.at(format_args!("the round of {} threads", round.threads));
        let is_last = round.threads == evidence.rounds.last().map_or(0, |last| last.threads);
        is_at_target = is_last && matches!(evidence.found, Found::Target(n) if n == round.threads);
        *checked = check_round(&threads, round, is_at_target, most_states, budget).map_err(at)?;
    }
    let by_proofs = evidence.fewest.is_some() && !is_at_target;
    let needs_rounds = match evidence.found {
        Found::Cutoff(_) => true,
        Found::Target(_) => !by_proofs,
        Found::Unknown(_) => false,
    };
    let open = evidence.rounds.iter().zip(&*checked).find(|(_, checked)| !**checked);
    Ok(open.filter(|_| needs_rounds).map(|(round, _)| {
        format!(
            "{} threads have more than {most_states} states, which is too many to explore again",
            round.threads
        )
    }))
}

/// What the evidence shows about markings, after the evidence was checked.
struct Known<'a> {
    /// Markings that cannot be covered, each stored under one of its places.
    uncoverable: BTreeMap<PlaceId, Vec<&'a Marking>>,
    /// Whether no marking at all can be covered, not even the empty one.
    nothing: bool,
    /// Markings that can be covered.
    coverable: BTreeSet<&'a Marking>,
}

impl<'a> Known<'a> {
    fn new(net: &Net, evidence: &'a CutoffEvidence, budget: &Budget) -> Result<Self, Stop> {
        let mut known = Self { uncoverable: BTreeMap::new(), nothing: false, coverable: BTreeSet::new() };
        for proof in &evidence.unrealizable {
            let question = asking(net, &proof.markings);
            check_verdict(&question, &NetVerdict::Safe(proof.certificate.clone()), budget)
                .map_err(|stop| stop.at("candidates are said to be unrealizable"))?;
            let elements = match &proof.certificate {
                NetCertificate::Basis(basis) => &basis.elements[..],
                NetCertificate::CoverabilitySet(_) => &[],
            };
            for marking in proof.markings.iter().chain(elements) {
                match marking.entries().last() {
                    Some(&(place, _)) => known.uncoverable.entry(place).or_default().push(marking),
                    None => known.nothing = true,
                }
            }
        }
        for shown in &evidence.realizable {
            let question = asking(net, std::slice::from_ref(&shown.marking));
            check_verdict(&question, &NetVerdict::Unsafe(shown.run.clone()), budget)
                .map_err(|stop| stop.at("a candidate is said to be realizable"))?;
            known.coverable.insert(&shown.marking);
        }
        Ok(known)
    }

    fn is_uncoverable(&self, marking: &Marking) -> bool {
        self.nothing
            || marking.entries().iter().any(|(place, _)| {
                let below = self.uncoverable.get(place);
                below.is_some_and(|below| below.iter().any(|element| is_above(marking, element)))
            })
    }
}

fn asking(net: &Net, markings: &[Marking]) -> Net {
    let target = |least: &Marking| Target { least: least.clone(), ..Target::default() };
    Net { targets: markings.iter().map(target).collect(), ..net.clone() }
}

/// The ways in which a step could lead out of a set of thread states.
#[derive(Default)]
struct WaysOut {
    /// Some step takes its moving thread out of the set, or a step without a moving thread (a broadcast) takes
    /// another thread out of it.
    by_moving: bool,
    /// A thread of an initial state, or a newly started thread, is outside the set.
    by_starting: bool,
    /// Candidates: the thread state of the thread that moves, the thread state of another thread that the same step
    /// takes out of the set, and the moving thread's state after the step.
    triples: BTreeSet<(ThreadState, ThreadState, ThreadState)>,
}

/// Computes all ways out of a set of thread states.
fn ways_out(threads: &Threads<'_>, set: &BTreeSet<ThreadState>, budget: &Budget) -> Result<WaysOut, Stop> {
    let mut ways = WaysOut {
        by_starting: threads.first_thread_states().any(|first| !set.contains(&first)),
        ..WaysOut::default()
    };
    let mut locals: BTreeMap<PlaceId, Vec<PlaceId>> = BTreeMap::new();
    for &(shared, local) in set {
        locals.entry(shared).or_default().push(local);
    }
    for (&before, here) in &locals {
        for step in threads.steps_from(before) {
            poll(budget)?;
            let is_new = |&local: &PlaceId| !set.contains(&(step.after, local));
            let leaves = |other: &PlaceId| step.others(other).iter().any(is_new);
            let Some((from, to)) = step.mover else {
                ways.by_moving |= here.iter().any(leaves);
                continue;
            };
            if !set.contains(&(before, from)) {
                continue;
            }
            ways.by_moving |= is_new(&to);
            ways.by_starting |= step.started.iter().any(is_new);
            for &other in here.iter().filter(|other| leaves(other)) {
                ways.triples.insert(((before, from), (before, other), (step.after, to)));
            }
        }
    }
    Ok(ways)
}

/// The marking with the shared state and the two threads of a candidate before its step.
fn together(((shared, mover), (_, other), _): &(ThreadState, ThreadState, ThreadState)) -> Marking {
    let mut marking = Marking::new();
    for &place in [shared, mover, other] {
        marking.set(place, marking.get(place) + 1);
    }
    marking
}

/// Checks conditions 3 to 5 of [`CutoffEvidence`].
fn check_candidates(
    threads: &Threads<'_>,
    known: &Known<'_>,
    round: &Round,
    budget: &Budget,
) -> Result<(), Stop> {
    let ways = ways_out(threads, &round.thread_states, budget)?;
    if ways.triples.len() != round.candidates {
        let (claimed, counted) = (round.candidates, ways.triples.len());
        return reject(format!("there are {counted} candidates, not {claimed}"));
    }
    match round.realizable {
        None => Ok(()),
        Some(true) => {
            let shown = |triple| known.coverable.contains(&together(triple));
            if ways.by_starting || ways.triples.iter().any(shown) {
                return Ok(());
            }
            reject("nothing shows that a candidate is realizable")
        }
        Some(false) => {
            if ways.by_moving || ways.by_starting {
                return reject("a thread that moves or starts leaves what is said to be all");
            }
            for triple in &ways.triples {
                poll(budget)?;
                if !known.is_uncoverable(&together(triple)) {
                    return reject("nothing shows that a candidate is not realizable");
                }
            }
            Ok(())
        }
    }
}

/// Checks those parts of conditions 6 and 7 of [`CutoffEvidence`] that do not depend on what the rounds reach.
fn check_result(
    net: &Net,
    threads: &Threads<'_>,
    evidence: &CutoffEvidence,
    budget: &Budget,
) -> Result<(), Stop> {
    let last = evidence.rounds.last();
    let earlier = evidence.rounds.split_last().map_or(&[][..], |(_, earlier)| earlier);
    let by_proofs = match &evidence.fewest {
        Some(fewest) => Some(check_fewest(net, threads, fewest, budget)?),
        None => None,
    };
    if !earlier.iter().all(|round| round.is_complete) {
        return reject("a round that is not the last one is not complete");
    }
    match evidence.found {
        Found::Unknown(_) => {}
        Found::Cutoff(n) => {
            let Some(last) = last.filter(|last| last.threads == n) else {
                return reject(format!("the last round is not that of {n} threads"));
            };
            if last.realizable != Some(false) {
                return reject(format!("nothing shows that {n} threads are enough"));
            }
            if earlier.iter().any(|round| round.thread_states == last.thread_states) {
                return reject(format!("fewer than {n} threads are enough"));
            }
        }
        Found::Target(n) => {
            let in_a_round = last.is_some_and(|last| last.threads == n && !last.is_complete);
            if !in_a_round && by_proofs != Some(n as u128) {
                return reject(format!("nothing shows that {n} threads reach a target and fewer do not"));
            }
        }
    }
    match (evidence.threads_to_target, &evidence.found) {
        (None, _) => Ok(()),
        (Some(n), Found::Target(m)) if n == *m => Ok(()),
        (Some(n), Found::Cutoff(_) | Found::Unknown(_)) if by_proofs == Some(n as u128) => Ok(()),
        (Some(n), _) => reject(format!("nothing shows that {n} threads reach a target and fewer do not")),
    }
}

/// Checks a claim about the least number of threads, and returns that number.
fn check_fewest(net: &Net, threads: &Threads<'_>, fewest: &Fewest, budget: &Budget) -> Result<u128, Stop> {
    let [pool] = threads.free[..] else {
        return reject("not one local state holds any number of threads");
    };
    if !threads.keep_their_number() || threads.certain().get(pool) > 0 {
        return reject("the number of threads is not that at the start");
    }
    check_verdict(net, &NetVerdict::Unsafe(fewest.run.clone()), budget)
        .map_err(|stop| stop.at("the run of the fewest threads"))?;
    let in_pool = fewest.run.initial.get(pool);
    let number = threads.certain().total() + u128::from(in_pool);
    match (&fewest.one_less, in_pool.checked_sub(1)) {
        (_, None) => Ok(number),
        (None, Some(_)) => reject(format!("nothing shows that less than {number} threads reach no target")),
        (Some(proof), Some(less)) => {
            let others = net.initial.ranges().iter().copied().filter(|&(place, _)| place != pool);
            let initial = Initial::new(others.chain([(pool, Range::exactly(less))]));
            let with_less = Net { initial, ..net.clone() };
            check_verdict(&with_less, &NetVerdict::Safe(proof.clone()), budget)
                .map_err(|stop| stop.at(format!("less than {number} threads")))?;
            Ok(number)
        }
    }
}

/// Checks condition 2 of [`CutoffEvidence`] by exploring the round again. Returns `false` if the round has too many
/// states to be explored in full.
fn check_round(
    threads: &Threads<'_>,
    round: &Round,
    is_at_target: bool,
    most_states: usize,
    budget: &Budget,
) -> Result<bool, Stop> {
    let part = (!round.is_complete).then_some((&round.thread_states, is_at_target));
    let search = Search { threads: round.threads as u64, limit: most_states, part };
    let explored = threads.explore(&search, budget)?;
    if round.is_complete {
        if explored.meets_target {
            return reject("a target is reached, but the round says that none is");
        }
        if explored.states > round.states || !explored.thread_states.is_subset(&round.thread_states) {
            return reject("more is reached than the round says");
        }
    }
    if !explored.is_complete && (part.is_none() || !search.is_enough(&explored)) {
        return Ok(false);
    }
    if !round.thread_states.is_subset(&explored.thread_states) {
        return reject("the round says that more is reached");
    }
    if round.is_complete && explored.states != round.states {
        return reject(format!("there are {} states, not {}", explored.states, round.states));
    }
    if is_at_target && !explored.meets_target {
        return reject("no target is reached");
    }
    Ok(true)
}
