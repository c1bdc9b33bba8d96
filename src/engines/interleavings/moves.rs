//! What single threads can do, as numbers: every large step is computed once for each pair of a shared valuation and a
//! thread.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::evidence::Reason;
use crate::threads::explicit::{Creation, LargeSteps, Outcome, PassiveMove, Thread, TooMany, View};
use crate::threads::{Bits, StepId, ThreadSystem};

/// A number that is none.
pub(super) const NONE: u32 = u32::MAX;

/// Instead of the number of a new thread: nothing is started because the bound is reached.
pub(super) const AT_BOUND: u32 = u32::MAX - 1;

/// The most states on the way of the large steps from one state, and the most first states.
const MOST_ON_THE_WAY: usize = 1 << 20;

/// The end of a large step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// The shared valuation.
    pub shared: u32,
    /// The thread; [`NONE`] if it has ended.
    pub thread: u32,
    /// The thread that is started, [`AT_BOUND`] or [`NONE`].
    pub created: u32,
    /// The assignment to the other threads, or [`NONE`].
    pub passive: u32,
}

impl Next {
    /// Whether a thread is started.
    pub fn starts_thread(&self) -> bool {
        self.created < AT_BOUND
    }
}

/// All large steps of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    first: u32,
    count: u32,
    /// Whether one of them violates the property.
    pub violates: bool,
    /// Whether the thread does not hold the system after any of them.
    pub releases: bool,
}

/// What is known about a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Whether only it may move.
    pub holds: bool,
    /// Whether it is at a forbidden label.
    pub is_forbidden: bool,
    /// The index of its location.
    pub location: u32,
}

/// The numbers of valuations and threads, and the large steps found so far.
pub(super) struct Moves<'a> {
    pub system: &'a ThreadSystem<'a>,
    pub shared: IndexSet<Bits, FxBuildHasher>,
    pub threads: IndexSet<Thread, FxBuildHasher>,
    facts: Vec<Facts>,
    entries: FxHashMap<(u32, u32), Entry>,
    nexts: Vec<Next>,
    passive: IndexSet<PassiveMove, FxBuildHasher>,
    /// For an assignment with `x$` and another thread, a range of `image_threads`.
    images: FxHashMap<(u32, u32), (u32, u32)>,
    image_threads: Vec<u32>,
}

impl<'a> Moves<'a> {
    pub fn new(system: &'a ThreadSystem<'a>) -> Self {
        Self {
            system,
            shared: IndexSet::default(),
            threads: IndexSet::default(),
            facts: Vec::new(),
            entries: FxHashMap::default(),
            nexts: Vec::new(),
            passive: IndexSet::default(),
            images: FxHashMap::default(),
            image_threads: Vec::new(),
        }
    }

    /// The states in which the first thread begins, as pairs of numbers.
    pub fn initial(&mut self) -> Result<Vec<(u32, u32)>, Reason> {
        let views = self.system.initial_views(MOST_ON_THE_WAY).map_err(|_| too_many("first states"))?;
        Ok(views
            .into_iter()
            .map(|view| (self.shared_number(view.shared), self.number(view.thread)))
            .collect())
    }

    /// What is known about a thread.
    pub fn facts(&self, thread: u32) -> Facts {
        self.facts[thread as usize]
    }

    /// How many pairs of a shared valuation and a thread were looked at.
    pub fn pairs(&self) -> usize {
        self.entries.len()
    }

    /// The large steps of a thread.
    pub fn entry(&mut self, shared: u32, thread: u32) -> Result<Entry, Reason> {
        if let Some(&entry) = self.entries.get(&(shared, thread)) {
            return Ok(entry);
        }
        let steps = self.large_steps(shared, thread)?;
        let first = self.nexts.len() as u32;
        let mut releases = true;
        for outcome in steps.outcomes() {
            let next = self.next(outcome);
            releases &= outcome.thread.as_ref().is_none_or(|thread| !thread.holds);
            // What changes nothing is left out.
            if next != (Next { shared, thread, created: NONE, passive: NONE }) {
                self.nexts.push(next);
            }
        }
        let count = self.nexts.len() as u32 - first;
        let entry = Entry { first, count, violates: steps.violates(), releases };
        self.entries.insert((shared, thread), entry);
        Ok(entry)
    }

    fn next(&mut self, outcome: &Outcome) -> Next {
        Next {
            shared: self.shared_number(outcome.shared.clone()),
            thread: outcome.thread.clone().map_or(NONE, |thread| self.number(thread)),
            created: match &outcome.creation {
                Creation::None => NONE,
                Creation::AtBound => AT_BOUND,
                Creation::New(thread) => self.number(thread.clone()),
            },
            passive: outcome
                .passive
                .clone()
                .map_or(NONE, |passive| self.passive.insert_full(passive).0 as u32),
        }
    }

    /// The steps of a large step with this end.
    pub fn path(&mut self, shared: u32, thread: u32, end: &Next) -> Result<Vec<StepId>, Reason> {
        let steps = self.large_steps(shared, thread)?;
        let number = steps.outcomes().position(|outcome| self.next(outcome) == *end);
        Ok(steps.path(number.unwrap_or_else(|| unreachable!("large steps do not change"))))
    }

    /// The ends of the large steps.
    pub fn nexts(&self, entry: Entry) -> &[Next] {
        &self.nexts[entry.first as usize..(entry.first + entry.count) as usize]
    }

    /// The large steps of a thread with their paths.
    pub fn large_steps(&self, shared: u32, thread: u32) -> Result<LargeSteps, Reason> {
        let view = View {
            shared: self.shared[shared as usize].clone(),
            thread: self.threads[thread as usize].clone(),
        };
        let found = match self.system.task.threads {
            None => self.system.large_steps_without_bound(&view, MOST_ON_THE_WAY),
            Some(_) => self.system.large_steps(&view, MOST_ON_THE_WAY),
        };
        found.map_err(|TooMany| too_many("ways in which one thread can make a step"))
    }

    /// All that an assignment with `x$` can make of another thread.
    pub fn images(&mut self, passive: u32, other: u32) -> Result<std::ops::Range<usize>, Reason> {
        if let Some(&(first, end)) = self.images.get(&(passive, other)) {
            return Ok(first as usize..end as usize);
        }
        let (step, thread) = (&self.passive[passive as usize], &self.threads[other as usize]);
        let images = self.system.passive_images(step, thread, MOST_ON_THE_WAY);
        let images = images.map_err(|TooMany| too_many("values that `x$` can take"))?;
        let first = self.image_threads.len() as u32;
        for image in images {
            let number = self.number(image);
            self.image_threads.push(number);
        }
        let end = self.image_threads.len() as u32;
        self.images.insert((passive, other), (first, end));
        Ok(first as usize..end as usize)
    }

    /// The thread at a position of a range that [`Self::images`] gave.
    pub fn image(&self, position: usize) -> u32 {
        self.image_threads[position]
    }

    fn shared_number(&mut self, shared: Bits) -> u32 {
        self.shared.insert_full(shared).0 as u32
    }

    fn number(&mut self, thread: Thread) -> u32 {
        let facts = Facts {
            holds: thread.holds,
            is_forbidden: self.system.is_forbidden(thread.location),
            location: thread.location.index() as u32,
        };
        let (number, is_new) = self.threads.insert_full(thread);
        if is_new {
            self.facts.push(facts);
        }
        number as u32
    }
}

fn too_many(what: &str) -> Reason {
    Reason::GaveUp(format!("there are more than {MOST_ON_THE_WAY} {what}, too many to list them"))
}
