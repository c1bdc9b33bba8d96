//! The thread states that a fixed number of threads can reach.
//!
//! Invariant (sorted): a state consists of its shared state, followed by the sorted local states of its threads. So
//! states that differ only in the names of threads are equal.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::budget::Budget;
use crate::engines::nets::karp_miller::unwind::{AimedFiring, replay};
pub use crate::evidence::cutoff::ThreadState;
use crate::evidence::{FiringSequence, Reason};
use crate::net::{Flow, Marking, Net, PlaceId, PlaceKind, Transition, TransitionId};

/// The effect of a transition on threads.
#[derive(Clone, Debug)]
pub struct Action {
    /// The transition of the net.
    pub transition: TransitionId,
    /// The shared state before and after.
    pub shared: (PlaceId, PlaceId),
    /// The local states of the moving thread before and after.
    pub moves: Option<(PlaceId, PlaceId)>,
    /// The local state of a thread that is started.
    pub starts: Option<PlaceId>,
    /// The local states to which other threads may go. A thread whose local state is missing here stays.
    pub passive: BTreeMap<PlaceId, Vec<PlaceId>>,
}

impl Action {
    /// The local states to which a thread may go when another thread moves.
    #[must_use]
    pub fn passively(&self, local: PlaceId) -> Vec<PlaceId> {
        self.passive.get(&local).cloned().unwrap_or_else(|| vec![local])
    }
}

/// The actions of a net whose tokens are threads; `None` if some transition is not an action of threads.
#[must_use]
pub fn actions(net: &Net) -> Option<Vec<Action>> {
    net.transition_ids().map(|id| action(net, id, net.transition(id))).collect()
}

fn action(net: &Net, id: TransitionId, transition: &Transition) -> Option<Action> {
    let (shared, taken) = split(net, &transition.take)?;
    let (shared_after, mut given) = split(net, &transition.give)?;
    let (moves, starts) = match (taken[..].first(), taken.len(), given.len()) {
        (None, 0, 0) => (None, None),
        (Some(&from), 1, 1) => (Some((from, given[0])), None),
        (Some(&from), 1, 2) => {
            let stays = given.iter().position(|&to| to == from)?;
            given.remove(stays);
            (Some((from, from)), given.first().copied())
        }
        _ => return None,
    };
    let mut passive = BTreeMap::new();
    for m in &transition.moves {
        match &m.flow {
            Flow::All(places) if places.len() == 1 => drop(passive.insert(m.from, places.clone())),
            Flow::Each(places) => drop(passive.insert(m.from, places.clone())),
            Flow::All(_) => return None,
        }
    }
    Some(Action { transition: id, shared: (shared, shared_after), moves, starts, passive })
}

/// The shared state and the threads of a marking.
fn split(net: &Net, marking: &Marking) -> Option<(PlaceId, Vec<PlaceId>)> {
    let mut shared = None;
    let mut locals = Vec::new();
    for (place, n) in marking.iter() {
        match net.place(place).kind {
            PlaceKind::Shared(_) if shared.is_none() && n == 1 => shared = Some(place),
            PlaceKind::Local(_) if n <= 2 => locals.extend(std::iter::repeat_n(place, n as usize)),
            _ => return None,
        }
    }
    Some((shared?, locals))
}

/// The states that a number of threads can reach.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The greatest number of threads at once.
    pub threads: usize,
    /// The number of global states, up to the names of threads.
    pub states: usize,
    /// The thread states.
    pub thread_states: BTreeSet<ThreadState>,
    /// A run to a target, if one was met. In that case, and after a pause, the other fields are not complete.
    pub target: Option<FiringSequence>,
}

/// The smallest number of threads in an initial state, but at least one.
#[must_use]
pub fn fewest_threads(net: &Net) -> usize {
    usize::try_from(net.threads(&net.initial.least())).unwrap_or(usize::MAX).max(1)
}

type State = Box<[u32]>;

/// The greatest number of threads that is explored. A state lists its threads, so every state takes memory for each
/// of them.
pub const MOST_THREADS: usize = 10_000;

/// How far an exploration has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// All states were expanded, or a target was met.
    Complete,
    /// No new thread state was found while the number of expanded states doubled.
    Settled,
}

/// Explores what at most a given number of threads at once can do. A thread beyond this number is not started, but
/// the rest of the transition happens.
///
/// States that have shown a new thread state are expanded first: the goal is to find thread states, and most of
/// them are found long before the last state is expanded.
#[derive(Debug)]
pub struct Exploration<'a> {
    net: &'a Net,
    by_shared: BTreeMap<u32, Vec<&'a Action>>,
    states: IndexSet<State, FxBuildHasher>,
    /// For each state, the state and the transition from which it was first reached.
    origins: Vec<(u32, TransitionId)>,
    looked_at: Vec<bool>,
    promising: Vec<u32>,
    next: usize,
    /// The number of expanded states: now, and when the last thread state was found or the last pause was made.
    done: usize,
    done_before: usize,
    reached: Reached,
}

impl<'a> Exploration<'a> {
    /// Begins an exploration with the initial states.
    ///
    /// # Errors
    /// If there are too many threads for states that list them one by one, or the budget is used up.
    pub fn new(net: &'a Net, actions: &'a [Action], threads: usize, budget: &Budget) -> Result<Self, Reason> {
        if threads > MOST_THREADS {
            let why = format!("{threads} threads are more than the {MOST_THREADS} that can be explored");
            return Err(Reason::GaveUp(why));
        }
        let mut by_shared: BTreeMap<u32, Vec<&Action>> = BTreeMap::new();
        for action in actions {
            by_shared.entry(action.shared.0.index() as u32).or_default().push(action);
        }
        let reached = Reached { threads, states: 0, thread_states: BTreeSet::new(), target: None };
        let mut exploration = Self {
            net,
            by_shared,
            states: IndexSet::default(),
            origins: Vec::new(),
            looked_at: Vec::new(),
            promising: Vec::new(),
            next: 0,
            done: 0,
            done_before: 0,
            reached,
        };
        // If threads can start threads, initial states with fewer threads are explored, too.
        let can_start = actions.iter().any(|action| action.starts.is_some());
        let least = if can_start { fewest_threads(net).min(threads) } else { threads };
        let start = (u32::MAX, TransitionId::from_index(0));
        for number in least..=threads {
            for state in initial_states(net, number, budget)? {
                exploration.add(state, start);
            }
        }
        Ok(exploration)
    }

    /// The states that were reached so far.
    #[must_use]
    pub fn reached(&self) -> &Reached {
        &self.reached
    }

    /// Ends the exploration and returns what was reached.
    #[must_use]
    pub fn into_reached(self) -> Reached {
        self.reached
    }

    /// Expands states until all are expanded or it is time for a pause. There is no pause before `least` states
    /// were expanded.
    ///
    /// # Errors
    /// If the budget is used up, or a run to a target does not replay.
    pub fn advance(&mut self, least: usize, budget: &Budget) -> Result<Stage, Reason> {
        let mut successors = Vec::new();
        while let Some(at) = self.take() {
            if self.done.is_multiple_of(256)
                && let Some(reason) = budget.exhausted()
            {
                return Err(reason);
            }
            self.done += 1;
            let Some(state) = self.states.get_index(at).cloned() else { continue };
            if self.net.targets.iter().any(|target| is_met(&target.least, &state)) {
                self.reached.target = Some(run_to(self.net, &self.states, &self.origins, at)?);
                return Ok(Stage::Complete);
            }
            for i in 0..self.by_shared.get(&state[0]).map_or(0, Vec::len) {
                let action = self.by_shared[&state[0]][i];
                fire(action, &state, self.reached.threads, &mut successors, budget)?;
                for successor in successors.drain(..) {
                    self.add(successor, (at as u32, action.transition));
                }
            }
            if self.done >= least && self.done >= self.done_before.saturating_mul(2) {
                self.done_before = self.done;
                return Ok(Stage::Settled);
            }
        }
        Ok(Stage::Complete)
    }

    /// The next state to expand.
    fn take(&mut self) -> Option<usize> {
        let promising = self.promising.pop().map(|at| at as usize);
        let at = promising.or_else(|| {
            while *self.looked_at.get(self.next)? {
                self.next += 1;
            }
            Some(self.next)
        })?;
        self.looked_at[at] = true;
        Some(at)
    }

    fn add(&mut self, state: State, origin: (u32, TransitionId)) {
        let (at, is_new) = self.states.insert_full(state);
        if !is_new {
            return;
        }
        self.reached.states = self.states.len();
        self.origins.push(origin);
        self.looked_at.push(false);
        let Some(state) = self.states.get_index(at) else { return };
        let shared = PlaceId::from_index(state[0] as usize);
        let locals = state[1..].iter().map(|&l| (shared, PlaceId::from_index(l as usize)));
        let mut is_promising = false;
        for thread_state in locals {
            is_promising |= self.reached.thread_states.insert(thread_state);
        }
        if is_promising {
            self.promising.push(at as u32);
            self.done_before = self.done;
        }
    }
}

/// The initial states with a number of threads. If the number of threads is fixed by the net, there are as many as
/// the net says.
fn initial_states(net: &Net, threads: usize, budget: &Budget) -> Result<Vec<State>, Reason> {
    let mut shared = None;
    let mut fixed: Vec<u32> = Vec::new();
    let mut unbounded: Vec<u32> = Vec::new();
    for &(place, range) in net.initial.ranges() {
        let number = place.index() as u32;
        match net.place(place).kind {
            PlaceKind::Shared(_) => shared = Some(number),
            PlaceKind::Local(_) | PlaceKind::Counter | PlaceKind::Value | PlaceKind::Machine => {
                fixed.extend(std::iter::repeat_n(number, range.least as usize));
                if range.most.is_none() {
                    unbounded.push(number);
                }
            }
        }
    }
    let Some(shared) = shared else { return Ok(Vec::new()) };
    let rest = if unbounded.is_empty() { 0 } else { threads.saturating_sub(fixed.len()) };
    let mut all = Vec::new();
    // Each entry holds the number of unbounded places that are decided, the number of threads left for the others,
    // and the local states so far.
    let mut open = vec![(0, rest, fixed)];
    while let Some((decided, left, locals)) = open.pop() {
        if let Some(reason) = budget.exhausted() {
            return Err(reason);
        }
        let Some(&place) = unbounded.get(decided) else {
            let mut locals = locals;
            locals.sort_unstable();
            all.push([&[shared], &locals[..]].concat().into());
            continue;
        };
        let is_last = decided + 1 == unbounded.len();
        for here in if is_last { left } else { 0 }..=left {
            let mut more = locals.clone();
            more.extend(std::iter::repeat_n(place, here));
            open.push((decided + 1, left - here, more));
        }
    }
    Ok(all)
}

fn is_met(target: &Marking, state: &[u32]) -> bool {
    target.iter().all(|(place, n)| {
        let number = place.index() as u32;
        state.iter().filter(|&&x| x == number).count() as u64 >= n
    })
}

/// All successors of a state by an action.
///
/// If threads can choose where they go, there are very many successors, so the budget is checked meanwhile.
fn fire(
    action: &Action,
    state: &[u32],
    most: usize,
    found: &mut Vec<State>,
    budget: &Budget,
) -> Result<(), Reason> {
    let number = |place: PlaceId| place.index() as u32;
    let locals = &state[1..];
    let mut others: Vec<u32> = locals.to_vec();
    let mut moved: Vec<u32> = vec![number(action.shared.1)];
    if let Some((from, to)) = action.moves {
        let Ok(at) = locals.binary_search(&number(from)) else { return Ok(()) };
        others.remove(at);
        moved.push(number(to));
    }
    if let Some(started) = action.starts
        && locals.len() < most
    {
        moved.push(number(started));
    }
    let mut partial: Vec<Vec<u32>> = vec![moved];
    if action.passive.is_empty() {
        partial[0].extend(&others);
    } else {
        // Threads in the same local state are interchangeable: only the number of threads that go to each local
        // state matters.
        let mut i = 0;
        while i < others.len() {
            let same = others[i..].iter().take_while(|&&l| l == others[i]).count();
            let to = action.passively(PlaceId::from_index(others[i] as usize));
            let mut extended = Vec::new();
            let splits = splits(same, &to, budget)?;
            for before in &partial {
                for split in &splits {
                    check_budget_sometimes(extended.len(), budget)?;
                    extended.push([&before[..], split].concat());
                }
            }
            partial = extended;
            i += same;
        }
    }
    found.extend(partial.into_iter().map(|mut state| -> State {
        state[1..].sort_unstable();
        state.into()
    }));
    Ok(())
}

/// Checks the budget when `steps` is a multiple of a thousand.
fn check_budget_sometimes(steps: usize, budget: &Budget) -> Result<(), Reason> {
    let reason = if steps.is_multiple_of(1_000) { budget.exhausted() } else { None };
    reason.map_or(Ok(()), Err)
}

/// All multisets of `count` elements of the places.
fn splits(count: usize, places: &[PlaceId], budget: &Budget) -> Result<Vec<Vec<u32>>, Reason> {
    let mut partial: Vec<(Vec<u32>, usize)> = vec![(Vec::new(), count)];
    for (i, &place) in places.iter().enumerate() {
        let is_last = i + 1 == places.len();
        let mut extended = Vec::new();
        for (split, left) in partial {
            for here in if is_last { left } else { 0 }..=left {
                check_budget_sometimes(extended.len(), budget)?;
                let mut more = split.clone();
                more.extend(std::iter::repeat_n(place.index() as u32, here));
                extended.push((more, left - here));
            }
        }
        partial = extended;
    }
    Ok(partial.into_iter().map(|(split, _)| split).collect())
}

/// The run that led to a state, replayed on the net. In the replay, threads beyond the bound are started as well;
/// additional threads do not prevent any step.
fn run_to(
    net: &Net,
    states: &IndexSet<State, FxBuildHasher>,
    origins: &[(u32, TransitionId)],
    mut at: usize,
) -> Result<FiringSequence, Reason> {
    let marking = |at: usize| -> Result<Marking, Reason> {
        let tokens = states.get_index(at).into_iter().flat_map(|state| state.iter());
        Ok(Marking::sum_of(tokens.map(|&number| (PlaceId::from_index(number as usize), 1)))?)
    };
    let mut steps = Vec::new();
    while let (before, transition) = origins[at]
        && before != u32::MAX
    {
        steps.push(AimedFiring::new(net, transition, &marking(at)?));
        at = before as usize;
    }
    steps.reverse();
    replay(net, marking(at)?, &steps)
}
