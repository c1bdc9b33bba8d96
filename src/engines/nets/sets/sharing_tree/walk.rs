//! Walks over trees, layer by layer, without recursion.
//!
//! An operation says for one *task* (a node and whatever it must remember) which tasks the layer below
//! consists of, and how their results become a node. The driver keeps its own stack and does no task
//! twice. An operation may use another one, never itself, so the depth of calls is a constant.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::{Forest, Tree};
use crate::budget::Budget;
use crate::evidence::Reason;
use crate::net::{Overflow, PlaceId};

/// Why a walk ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The budget is used up.
    Budget(Reason),
    /// A number of tokens does not fit 64 bits.
    Overflow,
    /// It took more steps than it may.
    TooManySteps,
}

impl From<Overflow> for Stop {
    fn from(_: Overflow) -> Self {
        Self::Overflow
    }
}

/// How far walks may go.
#[derive(Debug)]
pub struct Meter<'a> {
    budget: &'a Budget,
    left: u64,
}

impl<'a> Meter<'a> {
    /// So many steps, if the budget lasts.
    #[must_use]
    pub fn new(budget: &'a Budget, steps: u64) -> Self {
        Self { budget, left: steps }
    }

    /// As long as the budget lasts.
    #[must_use]
    pub fn unlimited(budget: &'a Budget) -> Self {
        Self::new(budget, u64::MAX)
    }

    /// One step more.
    pub(super) fn step(&mut self) -> Result<(), Stop> {
        self.left = self.left.checked_sub(1).ok_or(Stop::TooManySteps)?;
        // The budget is shared between threads: asking it at every step would cost more than the step.
        let is_due = self.left.is_multiple_of(64);
        match self.budget.exhausted().filter(|_| is_due) {
            Some(reason) => Err(Stop::Budget(reason)),
            None => Ok(()),
        }
    }
}

/// What there is to do for a task.
pub(super) enum Split<T> {
    /// Nothing.
    Done(Tree),
    /// The parts of a layer: tokens in the place, and what follows.
    Layer(PlaceId, Vec<(u64, T)>),
}

/// An operation on trees.
pub(super) trait Walk {
    /// What the result depends on.
    type Task: Clone + Eq + Hash;

    /// What there is to do.
    fn split(
        &mut self,
        forest: &mut Forest,
        task: &Self::Task,
        meter: &mut Meter<'_>,
    ) -> Result<Split<Self::Task>, Stop>;

    /// The results of the parts become one; of parts with the same tokens, the union.
    fn join(
        &mut self,
        forest: &mut Forest,
        place: PlaceId,
        parts: Vec<(u64, Tree)>,
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        forest.layer(place, parts, meter)
    }
}

/// A layer whose parts are not all done.
struct Frame<T> {
    task: T,
    place: PlaceId,
    /// In reverse: the last is next.
    open: Vec<(u64, T)>,
    /// Tokens of the part that is being done.
    tokens: u64,
    done: Vec<(u64, Tree)>,
}

/// Does a task and all it consists of; `known` remembers results.
pub(super) fn run<W: Walk>(
    forest: &mut Forest,
    walk: &mut W,
    known: &mut FxHashMap<W::Task, Tree>,
    task: W::Task,
    meter: &mut Meter<'_>,
) -> Result<Tree, Stop> {
    let mut stack: Vec<Frame<W::Task>> = Vec::new();
    let mut next = Some(task);
    let mut result = None;
    loop {
        if let Some(task) = next.take() {
            result = known.get(&task).copied();
            if result.is_none() {
                meter.step()?;
                match walk.split(forest, &task, meter)? {
                    Split::Done(tree) => result = Some(tree),
                    Split::Layer(place, mut open) => {
                        open.reverse();
                        let done = Vec::with_capacity(open.len());
                        stack.push(Frame { task, place, open, tokens: 0, done });
                    }
                }
            }
        }
        let Some(mut frame) = stack.pop() else { return Ok(result.unwrap_or(Forest::EMPTY)) };
        if let Some(tree) = result.take() {
            frame.done.push((frame.tokens, tree));
        }
        if let Some((tokens, part)) = frame.open.pop() {
            frame.tokens = tokens;
            next = Some(part);
            stack.push(frame);
        } else {
            let tree = walk.join(forest, frame.place, frame.done, meter)?;
            known.insert(frame.task, tree);
            result = Some(tree);
        }
    }
}
