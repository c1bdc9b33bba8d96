//! What can be seen of a run if one looks at one thread at a time: pairs of a shared and a local state.
//!
//! A step of a thread is possible from every pair in which the thread may be seen. It leads to a pair for the thread, one for
//! the thread that it starts, and one for every other thread that may be seen with the same shared state. Of other threads only
//! this is known: at most one thread holds the system, and at most one is at a location where threads never
//! begin and to which those that are started never come.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::budget::Budget;
use crate::reason::Reason;
use crate::threads::explicit::{Creation, LargeSteps, PassiveMove, Thread, TooMany, View};
use crate::threads::{Bits, Location, ThreadSystem};

define_id!(
    /// A shared state.
    SharedId, "g"
);
define_id!(
    /// A local state.
    ThreadId, "l"
);
define_id!(
    /// A pair of both.
    PairId, "v"
);

/// A shared state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shared {
    /// The values of the globals that matter.
    pub values: Bits,
    /// Whether some thread holds the system.
    pub held: bool,
}

/// A large step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its number among the large steps from its pair.
    pub outcome: u32,
    /// The shared state.
    pub shared: SharedId,
    /// The thread; `None` if it has ended.
    pub thread: Option<ThreadId>,
    /// The thread that is started.
    pub creates: Option<ThreadId>,
    /// What happens to the other threads.
    pub passive: Option<PassiveMove>,
}

/// A pair of a shared and a local state.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The shared state.
    pub shared: SharedId,
    /// The local state.
    pub thread: ThreadId,
    /// The large steps of the thread.
    pub steps: Vec<Step>,
    /// Whether some large step of the thread violates the property.
    pub violates: bool,
}

/// What a step means for other threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Change {
    by: ThreadId,
    to: SharedId,
    passive: Option<PassiveMove>,
}

/// All pairs.
#[derive(Debug, Default)]
pub struct Views {
    /// The shared states.
    pub shared: IndexSet<Shared, FxBuildHasher>,
    /// The local states.
    pub threads: IndexSet<Thread, FxBuildHasher>,
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// For every shared state, the local states that may be seen with it.
    pub seen_at: Vec<Vec<ThreadId>>,
    /// The pairs in which the first thread begins.
    pub initial: Vec<(SharedId, ThreadId)>,
    numbers: IndexSet<(SharedId, ThreadId), FxBuildHasher>,
    /// For every shared state, what steps from there mean for other threads.
    changes: Vec<Vec<Change>>,
    /// For every location, whether at most one thread is there or at another such location.
    is_single: Vec<bool>,
}

/// What a pair and what a large step count as [work](Budget::spend).
const WORK_OF_A_PAIR: u64 = 50;
const WORK_OF_A_STEP: u64 = 50;

/// The most states on the way of the large steps from one pair, and the most states that a thread can be sent to.
const MOST_ON_THE_WAY: usize = 1 << 16;

impl Views {
    /// Finds all pairs.
    ///
    /// # Errors
    /// If there are more than `limit`, or the budget is used up.
    pub fn explore(system: &ThreadSystem<'_>, limit: usize, budget: &Budget) -> Result<Self, Reason> {
        let mut views = Self { is_single: single_locations(system), ..Self::default() };
        for view in system.initial_views(limit).map_err(|TooMany| too_many(limit))? {
            let shared = views.shared_id(Shared { values: view.shared, held: false });
            let thread = views.thread_id(view.thread);
            views.initial.push((shared, thread));
            views.see(shared, thread);
        }
        // Pairs are looked at in the order in which they are found.
        let mut changed: FxHashSet<(SharedId, Change)> = FxHashSet::default();
        while views.pairs.len() < views.numbers.len() {
            if let Some(reason) = budget.exhausted() {
                return Err(reason);
            }
            if views.numbers.len() > limit {
                return Err(too_many(limit));
            }
            let (shared, thread) = views.numbers[views.pairs.len()];
            for at in 0..views.changes[shared.index()].len() {
                let change = views.changes[shared.index()][at].clone();
                views.apply(system, &change, thread)?;
            }
            let (steps, violates) = views.steps(system, shared, thread)?;
            budget.spend(WORK_OF_A_PAIR + WORK_OF_A_STEP * steps.len() as u64);
            for step in &steps {
                step.thread.into_iter().chain(step.creates).for_each(|thread| views.see(step.shared, thread));
                // Which of several threads that are treated alike makes a step does not matter to others.
                let (is_single, holds) = (views.is_single(thread), views.threads[thread.index()].holds);
                let same = |&other: &ThreadId| {
                    views.is_single(other) == is_single && views.threads[other.index()].holds == holds
                };
                let by = views.seen_at[shared.index()].iter().copied().find(same).unwrap_or(thread);
                let change = Change { by, to: step.shared, passive: step.passive.clone() };
                let is_nothing = change.to == shared && change.passive.is_none();
                if is_nothing || !changed.insert((shared, change.clone())) {
                    continue;
                }
                for at in 0..views.seen_at[shared.index()].len() {
                    views.apply(system, &change, views.seen_at[shared.index()][at])?;
                }
                views.changes[shared.index()].push(change);
            }
            views.pairs.push(Pair { shared, thread, steps, violates });
        }
        Ok(views)
    }

    /// All pairs with their numbers.
    pub fn pair_ids(&self) -> impl Iterator<Item = (PairId, &Pair)> {
        self.pairs.iter().enumerate().map(|(number, pair)| (PairId::from_index(number), pair))
    }

    /// Whether a thread may be in this local state while the shared state is this one.
    #[must_use]
    pub fn sees(&self, shared: SharedId, thread: ThreadId) -> bool {
        self.numbers.contains(&(shared, thread))
    }

    /// Whether at most one thread is in this local state or in another such one.
    #[must_use]
    pub fn is_single(&self, thread: ThreadId) -> bool {
        self.is_single_at(self.threads[thread.index()].location)
    }

    /// Whether at most one thread is at this location or at another such one.
    #[must_use]
    pub fn is_single_at(&self, location: Location) -> bool {
        self.is_single[location.index()]
    }

    /// Whether two threads may be in these local states at once, as far as that does not depend on the shared state.
    #[must_use]
    pub fn can_be_beside(&self, one: ThreadId, other: ThreadId) -> bool {
        let holds = |thread: ThreadId| self.threads[thread.index()].holds;
        !(self.is_single(one) && self.is_single(other) || holds(one) && holds(other))
    }

    /// The large steps from a pair.
    ///
    /// # Errors
    /// If there are too many states on the way.
    pub fn large_steps(
        &self,
        system: &ThreadSystem<'_>,
        shared: SharedId,
        thread: ThreadId,
    ) -> Result<LargeSteps, Reason> {
        let (shared, thread) = (&self.shared[shared.index()], &self.threads[thread.index()]);
        if shared.held && !thread.holds {
            return Ok(LargeSteps::default());
        }
        let view = View { shared: shared.values.clone(), thread: thread.clone() };
        system.large_steps_without_bound(&view, MOST_ON_THE_WAY).map_err(|TooMany| too_many(MOST_ON_THE_WAY))
    }

    /// What can become of another thread by an assignment with `x$`.
    ///
    /// # Errors
    /// If there are too many possibilities.
    pub fn images(
        &self,
        system: &ThreadSystem<'_>,
        passive: &PassiveMove,
        other: ThreadId,
    ) -> Result<Vec<ThreadId>, Reason> {
        let images = images(system, passive, &self.threads[other.index()])?;
        Ok(images.iter().filter_map(|image| self.find(image)).collect())
    }

    /// The number of a local state that was found.
    #[must_use]
    pub fn find(&self, thread: &Thread) -> Option<ThreadId> {
        self.threads.get_index_of(thread).map(ThreadId::from_index)
    }

    fn steps(
        &mut self,
        system: &ThreadSystem<'_>,
        shared: SharedId,
        thread: ThreadId,
    ) -> Result<(Vec<Step>, bool), Reason> {
        let large_steps = self.large_steps(system, shared, thread)?;
        let mut steps = Vec::with_capacity(large_steps.outcomes().len());
        for (outcome, end) in (0..).zip(large_steps.outcomes()) {
            let creates = match &end.creation {
                Creation::None => None,
                Creation::New(thread) => Some(self.thread_id(thread.clone())),
                // There is no bound.
                Creation::AtBound => continue,
            };
            let held = end.thread.as_ref().is_some_and(|thread| thread.holds);
            let shared = self.shared_id(Shared { values: end.shared.clone(), held });
            let thread = end.thread.clone().map(|thread| self.thread_id(thread));
            steps.push(Step { outcome, shared, thread, creates, passive: end.passive.clone() });
        }
        Ok((steps, large_steps.violates()))
    }

    /// Another thread sees a step.
    fn apply(&mut self, system: &ThreadSystem<'_>, change: &Change, other: ThreadId) -> Result<(), Reason> {
        if !self.can_be_beside(change.by, other) {
            return Ok(());
        }
        let Some(passive) = &change.passive else {
            self.see(change.to, other);
            return Ok(());
        };
        for image in images(system, passive, &self.threads[other.index()])? {
            let image = self.thread_id(image);
            self.see(change.to, image);
        }
        Ok(())
    }

    fn see(&mut self, shared: SharedId, thread: ThreadId) {
        if self.numbers.insert((shared, thread)) {
            self.seen_at[shared.index()].push(thread);
        }
    }

    fn shared_id(&mut self, shared: Shared) -> SharedId {
        let (number, is_new) = self.shared.insert_full(shared);
        if is_new {
            self.seen_at.push(Vec::new());
            self.changes.push(Vec::new());
        }
        SharedId::from_index(number)
    }

    fn thread_id(&mut self, thread: Thread) -> ThreadId {
        ThreadId::from_index(self.threads.insert_full(thread).0)
    }
}

fn images(system: &ThreadSystem<'_>, passive: &PassiveMove, other: &Thread) -> Result<Vec<Thread>, Reason> {
    system.passive_images(passive, other, MOST_ON_THE_WAY).map_err(|TooMany| too_many(MOST_ON_THE_WAY))
}

fn too_many(limit: usize) -> Reason {
    Reason::GaveUp(format!("there are more than {limit} states of single threads, too many to list them"))
}

/// For every location, whether no thread begins there, and none that was started by another comes there.
fn single_locations(system: &ThreadSystem<'_>) -> Vec<bool> {
    let mut is_single = vec![true; system.len()];
    let mut open: Vec<_> = system.steps().iter().filter_map(|step| step.creates).collect();
    while let Some(location) = open.pop() {
        if std::mem::replace(&mut is_single[location.index()], false) {
            open.extend(system.steps_from(location).filter_map(|(_, step)| step.to));
        }
    }
    is_single
}
