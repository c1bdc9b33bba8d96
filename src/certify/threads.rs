//! The checker's own exploration of the states of a given number of threads, for nets whose tokens are threads.
//!
//! It is written from the semantics of transitions in [`crate::net`]. A state consists of the shared state and the
//! number of threads in each local state.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::{Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::cutoff::ThreadState;
use crate::net::{Flow, Marking, Net, PlaceId, PlaceKind, Transition};

/// A transition, read as a step of a thread.
pub(super) struct Step {
    /// The shared state after the step.
    pub after: PlaceId,
    /// The local states of the moving thread before and after the step; `None` for a step without a moving thread.
    pub mover: Option<(PlaceId, PlaceId)>,
    /// The local state of a thread that is started.
    pub started: Option<PlaceId>,
    /// For some local states, the local states to which the step may take other threads from there. In all other
    /// local states, other threads stay.
    flows: BTreeMap<PlaceId, Vec<PlaceId>>,
}

impl Step {
    /// The local states that a thread other than the moving one may have after the step.
    pub fn others<'a>(&'a self, local: &'a PlaceId) -> &'a [PlaceId] {
        self.flows.get(local).map_or(std::slice::from_ref(local), |places| places)
    }
}

/// A net whose tokens are threads.
pub(super) struct Threads<'a> {
    net: &'a Net,
    /// The initial shared state.
    pub shared: PlaceId,
    /// The threads that every initial state has.
    certain: Marking,
    /// The local states that hold any number of further threads initially.
    pub free: Vec<PlaceId>,
    steps: BTreeMap<PlaceId, Vec<Step>>,
    starts_more: bool,
}

impl<'a> Threads<'a> {
    pub fn of(net: &'a Net) -> Result<Self, Stop> {
        if !net.is_monotone() {
            return reject("the threads test for zero");
        }
        let (mut shared, mut certain, mut free) = (None, Marking::new(), Vec::new());
        for &(place, range) in net.initial.ranges() {
            match (net.place(place).kind, range.most) {
                (PlaceKind::Shared(_), Some(1)) if range.least == 1 && shared.is_none() => {
                    shared = Some(place);
                }
                (PlaceKind::Local(_), None) => {
                    certain.set(place, range.least);
                    free.push(place);
                }
                (PlaceKind::Local(_), Some(most)) if most == range.least => certain.set(place, most),
                _ => return reject(format!("`{}` does not start like threads", net.place(place).name)),
            }
        }
        let Some(shared) = shared else { return reject("the threads start in no shared state") };
        let mut steps: BTreeMap<PlaceId, Vec<Step>> = BTreeMap::new();
        for id in net.transition_ids() {
            let Some((before, step)) = step(net, net.transition(id)) else {
                return reject(format!("{id} is not a transition of a thread"));
            };
            steps.entry(before).or_default().push(step);
        }
        let starts_more = steps.values().flatten().any(|step| step.started.is_some());
        Ok(Self { net, shared, certain, free, steps, starts_more })
    }

    /// The steps that a shared state allows.
    pub fn steps_from(&self, shared: PlaceId) -> &[Step] {
        self.steps.get(&shared).map_or(&[], |steps| steps)
    }

    /// The least number of threads that a round can have.
    pub fn fewest(&self) -> u128 {
        self.certain.total().max(1)
    }

    /// Whether no thread is ever started.
    pub fn keep_their_number(&self) -> bool {
        !self.starts_more
    }

    /// The threads that every initial state has.
    pub fn certain(&self) -> &Marking {
        &self.certain
    }

    /// The thread states of all initial states.
    pub fn first_thread_states(&self) -> impl Iterator<Item = ThreadState> + '_ {
        let certain = self.certain.entries().iter().map(|&(place, _)| place);
        certain.chain(self.free.iter().copied()).map(|local| (self.shared, local))
    }

    /// All initial states with at least one thread and at most the given number of threads; if no thread is ever
    /// started, those with exactly that number. `None` if there are more than `limit`.
    fn initial(&self, threads: u64, limit: usize, budget: &Budget) -> Result<Option<Vec<State>>, Stop> {
        let certain = u64::try_from(self.certain.total()).unwrap_or(u64::MAX);
        let most = threads.saturating_sub(certain);
        let least = if self.starts_more { most.min(u64::from(certain == 0)) } else { most };
        let mut found = Vec::new();
        // Partial states: how many places are decided, how many threads are left for the others, and the threads
        // placed so far.
        let mut open = vec![(0, most, self.certain.clone())];
        while let Some((decided, left, locals)) = open.pop() {
            poll(budget)?;
            let Some(&place) = self.free.get(decided) else {
                if self.free.is_empty() || most - left >= least {
                    found.push(State { shared: self.shared, locals });
                }
                continue;
            };
            // The last place must get at least as many threads as are needed for the required total.
            let is_last = decided + 1 == self.free.len();
            let lowest = if is_last { least.saturating_sub(most - left) } else { 0 };
            if found.len() + open.len() > limit || left - lowest > limit as u64 {
                return Ok(None);
            }
            for here in lowest..=left {
                let mut more = locals.clone();
                add(&mut more, place, here)?;
                open.push((decided + 1, left - here, more));
            }
        }
        Ok(Some(found))
    }

    /// Explores the states of a given number of threads.
    pub fn explore(&self, search: &Search<'_>, budget: &Budget) -> Result<Explored, Stop> {
        let mut explored = Explored::default();
        let Some(initial) = self.initial(search.threads, search.limit, budget)? else {
            return Ok(explored);
        };
        let mut seen: FxHashSet<State> = FxHashSet::default();
        // States with a new thread state are expanded first. To confirm a round that ended early, it is enough to
        // find the thread states that it claims.
        let (mut promising, mut rest) = (Vec::new(), std::collections::VecDeque::new());
        let mut found = initial;
        loop {
            for state in found.drain(..) {
                if seen.contains(&state) {
                    continue;
                }
                if seen.len() == search.limit {
                    return Ok(explored);
                }
                explored.meets_target |= self.meets_target(&state);
                let mut is_new = false;
                for &(local, _) in state.locals.entries() {
                    is_new |= explored.thread_states.insert((state.shared, local));
                }
                if is_new {
                    promising.push(state.clone());
                } else {
                    rest.push_back(state.clone());
                }
                seen.insert(state);
            }
            explored.states = seen.len();
            if search.is_enough(&explored) {
                return Ok(explored);
            }
            let Some(state) = promising.pop().or_else(|| rest.pop_front()) else {
                explored.is_complete = true;
                return Ok(explored);
            };
            poll(budget)?;
            for step in self.steps_from(state.shared) {
                if !successors(step, &state, search, &mut found, budget)? {
                    return Ok(explored);
                }
            }
        }
    }

    fn meets_target(&self, state: &State) -> bool {
        self.net.targets.iter().any(|target| {
            let count = |place| if place == state.shared { 1 } else { state.locals.get(place) };
            target.least.entries().iter().all(|&(place, n)| count(place) >= n)
        })
    }
}

/// What an exploration looks for.
pub(super) struct Search<'a> {
    /// The largest number of threads at once.
    pub threads: u64,
    /// The largest number of states.
    pub limit: usize,
    /// If only a part of the states is needed: stop when these thread states and, if the flag is set, a target were
    /// found.
    pub part: Option<(&'a BTreeSet<ThreadState>, bool)>,
}

impl Search<'_> {
    /// Whether the thread states and the target that `part` asks for were found.
    pub fn is_enough(&self, explored: &Explored) -> bool {
        self.part.is_some_and(|(wanted, target)| {
            (explored.meets_target || !target)
                && explored.thread_states.len() >= wanted.len()
                && wanted.is_subset(&explored.thread_states)
        })
    }
}

/// What an exploration has found.
#[derive(Default)]
pub(super) struct Explored {
    pub thread_states: BTreeSet<ThreadState>,
    pub states: usize,
    pub meets_target: bool,
    /// Whether all states were explored.
    pub is_complete: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    shared: PlaceId,
    locals: Marking,
}

fn add(marking: &mut Marking, place: PlaceId, n: u64) -> Result<(), Stop> {
    match marking.get(place).checked_add(n) {
        Some(sum) => marking.set(place, sum),
        None => return reject("there are more threads than 64 bits can count"),
    }
    Ok(())
}

/// Adds all successors by a step; returns `false` if there are too many.
fn successors(
    step: &Step,
    state: &State,
    search: &Search<'_>,
    found: &mut Vec<State>,
    budget: &Budget,
) -> Result<bool, Stop> {
    let (mut others, mut moved) = (state.locals.clone(), Marking::new());
    if let Some((from, to)) = step.mover {
        let Some(left) = others.get(from).checked_sub(1) else { return Ok(true) };
        others.set(from, left);
        add(&mut moved, to, 1)?;
    }
    if let Some(started) = step.started
        && state.locals.total() < u128::from(search.threads)
    {
        add(&mut moved, started, 1)?;
    }
    // Partial successors: how many local states of other threads are decided, which choices are decided for the next
    // one, and how many of its threads are left.
    let groups = others.entries();
    let mut open = vec![(0, 0, groups.first().map_or(0, |&(_, n)| n), moved)];
    while let Some((group, choice, left, locals)) = open.pop() {
        let Some((from, _)) = groups.get(group) else {
            found.push(State { shared: step.after, locals });
            if found.len() > search.limit {
                return Ok(false);
            }
            continue;
        };
        poll(budget)?;
        let places = step.others(from);
        let is_last = choice + 1 == places.len();
        if open.len() > search.limit || !is_last && left > search.limit as u64 {
            return Ok(false);
        }
        for here in if is_last { left } else { 0 }..=left {
            let mut more = locals.clone();
            add(&mut more, places[choice], here)?;
            open.push(if is_last {
                (group + 1, 0, groups.get(group + 1).map_or(0, |&(_, n)| n), more)
            } else {
                (group, choice + 1, left - here, more)
            });
        }
    }
    Ok(true)
}

/// Reads a transition as a step of a thread, with the shared state before it; `None` if it is not one.
fn step(net: &Net, transition: &Transition) -> Option<(PlaceId, Step)> {
    let (before, taken) = split(net, &transition.take)?;
    let (after, mut given) = split(net, &transition.give)?;
    let (mover, started) = match (&taken[..], given.len()) {
        ([], 0) => (None, None),
        (&[from], 1) => (Some((from, given[0])), None),
        (&[from], 2) => {
            // The thread that starts another one keeps its local state.
            given.remove(given.iter().position(|&to| to == from)?);
            (Some((from, from)), Some(given[0]))
        }
        _ => return None,
    };
    let mut flows = BTreeMap::new();
    for m in &transition.moves {
        let is_local = |place: &PlaceId| matches!(net.place(*place).kind, PlaceKind::Local(_));
        let places = match &m.flow {
            Flow::All(places) if places.len() == 1 => places,
            Flow::Each(places) if !places.is_empty() => places,
            _ => return None,
        };
        if !is_local(&m.from) || !places.iter().all(is_local) {
            return None;
        }
        flows.insert(m.from, places.clone());
    }
    Some((before, Step { after, mover, started, flows }))
}

/// The shared state of a marking and the local states of its threads, of which there may be at most two.
fn split(net: &Net, marking: &Marking) -> Option<(PlaceId, Vec<PlaceId>)> {
    let (mut shared, mut locals) = (None, Vec::new());
    for &(place, n) in marking.entries() {
        match net.place(place).kind {
            PlaceKind::Shared(_) if n == 1 && shared.is_none() => shared = Some(place),
            PlaceKind::Local(_) if n <= 2 => locals.extend(std::iter::repeat_n(place, n as usize)),
            _ => return None,
        }
    }
    Some((shared?, locals))
}
