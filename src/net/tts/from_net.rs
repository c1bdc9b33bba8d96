//! Translates nets without copies and zero tests to thread transition systems.
//!
//! Every place becomes a local state, and a transition becomes a chain of steps between shared states of its own.
//! First, the threads that it takes move one by one to auxiliary local states. Then all other threads move at once.
//! Then the threads in the auxiliary states move to the places where tokens are given. A thread that is not needed
//! any more stays in its auxiliary state; a missing one is started by a thread that does nothing else and is always
//! there. Between two transitions the shared state is 0. A chain that cannot be completed stays in its shared state,
//! and targets require shared state 0, so the targets can be covered iff those of the net can. The number of threads
//! differs from the number of tokens, since threads in auxiliary states count, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::net::{Flow, Marking, Net, PlaceId, PlaceKind, Range, Transition};

use super::{Arrow, InitialState, Rule, System, TargetState, ThreadState};

/// The reason why a net cannot be written as a thread transition system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotATts(pub String);

impl fmt::Display for NotATts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotATts {}

/// The largest number of steps. Each token of a transition becomes a step, and each step a line of text.
const MOST_STEPS: usize = 10_000_000;

impl System {
    /// A system that covers its targets iff the net does.
    ///
    /// A net that was made from a system is translated back to the same rules if each of its transitions is one rule.
    ///
    /// # Errors
    /// If the net copies tokens, has zero tests, or starts with a range of tokens that is neither a single number nor
    /// unbounded.
    pub fn of(net: &Net) -> Result<(Self, InitialState, Vec<TargetState>), NotATts> {
        check(net)?;
        if net.has_threads()
            && let Some(direct) = direct(net)
        {
            return Ok(direct);
        }
        chains(net)
    }
}

fn check(net: &Net) -> Result<(), NotATts> {
    let fail = |message: String| Err(NotATts(message));
    if net.transitions.iter().any(Transition::copies) {
        return fail("a transition copies tokens".to_owned());
    }
    if !net.is_monotone() {
        return fail("the net tests for zero".to_owned());
    }
    for &(place, range) in net.initial.ranges() {
        if range.most.is_some_and(|most| most != range.least) {
            let name = &net.place(place).name;
            return fail(format!("`{name}` starts with a bounded range of tokens"));
        }
    }
    Ok(())
}

/// The number of a place as a shared state or as a local state.
fn numbers(net: &Net, place: PlaceId) -> (Option<u32>, Option<u32>) {
    match net.place(place).kind {
        PlaceKind::Shared(state) => (Some(state), None),
        PlaceKind::Local(state) => (None, Some(state)),
        PlaceKind::Counter | PlaceKind::Value | PlaceKind::Machine => (None, None),
    }
}

/// The only shared state of the marking, and its local states with multiplicity.
fn split(net: &Net, marking: &Marking) -> Option<(u32, Vec<u32>)> {
    let mut shared = None;
    let mut locals = Vec::new();
    for (place, n) in marking.iter() {
        match numbers(net, place) {
            (Some(state), _) if shared.is_none() && n == 1 => shared = Some(state),
            (None, Some(state)) if n <= 2 => locals.extend(std::iter::repeat_n(state, n as usize)),
            _ => return None,
        }
    }
    Some((shared?, locals))
}

/// The system with one rule for each transition, if that is possible.
fn direct(net: &Net) -> Option<(System, InitialState, Vec<TargetState>)> {
    let mut rules = Vec::new();
    for transition in &net.transitions {
        rules.push(direct_rule(net, transition)?);
    }
    let mut initial = InitialState { shared: 0, threads: BTreeMap::new(), unbounded: BTreeSet::new() };
    let mut has_shared = false;
    for &(place, range) in net.initial.ranges() {
        match numbers(net, place) {
            (Some(state), _) if range == Range::exactly(1) && !has_shared => {
                initial.shared = state;
                has_shared = true;
            }
            (None, Some(state)) => start(&mut initial, state, range),
            _ => return None,
        }
    }
    let mut targets = Vec::new();
    for target in &net.targets {
        let mut threads = BTreeMap::new();
        let mut shared = None;
        for (place, n) in target.least.iter() {
            match numbers(net, place) {
                (Some(state), _) if shared.is_none() && n == 1 => shared = Some(state),
                (None, Some(state)) => drop(threads.insert(state, n)),
                _ => return None,
            }
        }
        targets.push(TargetState { shared: shared?, threads, span: target.span });
    }
    let states = || net.place_ids().map(|place| numbers(net, place));
    let above = |most: Option<u32>| most.map_or(Some(0), |most| most.checked_add(1));
    let system = System {
        shared_states: above(states().filter_map(|(shared, _)| shared).max())?,
        local_states: above(states().filter_map(|(_, local)| local).max())?,
        rules,
    };
    has_shared.then_some((system, initial, targets))
}

fn start(initial: &mut InitialState, local: u32, range: Range) {
    if range.least > 0 {
        initial.threads.insert(local, range.least);
    }
    if range.most.is_none() {
        initial.unbounded.insert(local);
    }
}

fn direct_rule(net: &Net, transition: &Transition) -> Option<Rule> {
    let (shared, taken) = split(net, &transition.take)?;
    let (shared_after, given) = split(net, &transition.give)?;
    let local = |place: PlaceId| numbers(net, place).1;
    let (arrow, from, to) = match (&taken[..], &given[..]) {
        (&[from], &[to]) => (Arrow::Step, from, to),
        (&[from], &[one, other]) if transition.is_plain() && (one == from || other == from) => {
            (Arrow::Spawn, from, if one == from { other } else { one })
        }
        ([], []) => {
            let [only] = &transition.moves[..] else { return None };
            let Flow::All(places) = &only.flow else { return None };
            let &[to] = &places[..] else { return None };
            (Arrow::Broadcast, local(only.from)?, local(to)?)
        }
        _ => return None,
    };
    let mut passive = Vec::new();
    if arrow == Arrow::Step {
        for m in &transition.moves {
            let places = m.flow.places();
            // A token that vanishes cannot be expressed by a rule.
            let to: Option<BTreeSet<u32>> = places.iter().map(|&place| local(place)).collect();
            passive.push((local(m.from)?, to.filter(|to| !to.is_empty())?));
        }
        passive.sort_unstable();
    }
    Some(Rule {
        arrow,
        from: ThreadState { shared, local: from },
        to: ThreadState { shared: shared_after, local: to },
        passive,
        span: transition.span,
    })
}

/// The system in which a transition is a chain of steps.
fn chains(net: &Net) -> Result<(System, InitialState, Vec<TargetState>), NotATts> {
    let places = net.places.len();
    let too_large = || NotATts("the numbers of tokens are too large to be written as steps".to_owned());
    let tokens = |marking: &Marking| usize::try_from(marking.total()).ok();
    let mut steps = 0_usize;
    let mut most_taken = 0;
    for transition in &net.transitions {
        let (taken, given) = (tokens(&transition.take), tokens(&transition.give));
        let (taken, given) = taken.zip(given).ok_or_else(too_large)?;
        most_taken = most_taken.max(taken);
        steps = steps.saturating_add(taken).saturating_add(given).saturating_add(1);
    }
    if steps > MOST_STEPS || places > MOST_STEPS {
        return Err(too_large());
    }
    // Local states: the places, then the state of the thread that starts others, then the auxiliary states.
    let starter = places as u32;
    let aside = |i: usize| starter + 1 + i as u32;
    let local = |place: PlaceId| place.index() as u32;
    let gone = aside(most_taken);
    let mut shared_states = 1;
    let mut rules = Vec::new();
    for transition in &net.transitions {
        let mut chain: Vec<(Arrow, u32, u32)> = Vec::new();
        let each = |marking: &Marking| -> Vec<u32> {
            marking.iter().flat_map(|(p, n)| std::iter::repeat_n(local(p), n as usize)).collect()
        };
        let (taken, given) = (each(&transition.take), each(&transition.give));
        chain.extend(taken.iter().enumerate().map(|(i, &from)| (Arrow::Step, from, aside(i))));
        let moving = chain.len();
        chain.push((Arrow::Step, starter, starter));
        for i in 0..taken.len().max(given.len()) {
            chain.push(match (i < taken.len(), given.get(i)) {
                (true, to) => (Arrow::Step, aside(i), to.copied().unwrap_or(gone)),
                (false, to) => (Arrow::Spawn, starter, to.copied().unwrap_or(gone)),
            });
        }
        let mut passive: Vec<(u32, BTreeSet<u32>)> = Vec::new();
        for m in &transition.moves {
            let to: BTreeSet<u32> = m.flow.places().iter().map(|&place| local(place)).collect();
            passive.push((local(m.from), if to.is_empty() { BTreeSet::from([gone]) } else { to }));
        }
        let mut shared = 0;
        for (i, &(arrow, from, to)) in chain.iter().enumerate() {
            let after = if i + 1 == chain.len() { 0 } else { shared_states };
            shared_states += u32::from(after != 0);
            let passive = if i == moving { passive.clone() } else { Vec::new() };
            let (from, to) = (ThreadState { shared, local: from }, ThreadState { shared: after, local: to });
            rules.push(Rule { arrow, from, to, passive, span: transition.span });
            shared = after;
        }
    }
    let mut initial =
        InitialState { shared: 0, threads: BTreeMap::from([(starter, 1)]), unbounded: BTreeSet::new() };
    for &(place, range) in net.initial.ranges() {
        start(&mut initial, local(place), range);
    }
    let targets = net.targets.iter().map(|target| TargetState {
        shared: 0,
        threads: target.least.iter().map(|(place, n)| (local(place), n)).collect(),
        span: target.span,
    });
    let system = System { shared_states, local_states: gone + 1, rules };
    Ok((system, initial, targets.collect()))
}
