//! Walks over trees, layer by layer, without recursion.
//!
//! An operation says, for one *task* (a node and additional data), which tasks make up the next layer, and how
//! their results are combined into a node. The driver keeps its own stack and performs no task twice. An operation
//! may use other operations but never itself, so the depth of calls is constant.

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
    /// A number of tokens does not fit into 64 bits.
    Overflow,
    /// The walk took more steps than allowed.
    TooManySteps,
}

impl From<Overflow> for Stop {
    fn from(_: Overflow) -> Self {
        Self::Overflow
    }
}

/// Limits the number of steps of walks.
#[derive(Debug)]
pub struct Meter<'a> {
    budget: &'a Budget,
    left: u64,
}

impl<'a> Meter<'a> {
    /// Allows the given number of steps, within the budget.
    #[must_use]
    pub fn new(budget: &'a Budget, steps: u64) -> Self {
        Self { budget, left: steps }
    }

    /// Allows any number of steps within the budget.
    #[must_use]
    pub fn unlimited(budget: &'a Budget) -> Self {
        Self::new(budget, u64::MAX)
    }

    /// Counts one step.
    pub(super) fn step(&mut self) -> Result<(), Stop> {
        self.left = self.left.checked_sub(1).ok_or(Stop::TooManySteps)?;
        // The budget is shared between threads: checking it at every step would cost more than the step.
        let is_due = self.left.is_multiple_of(64);
        match self.budget.exhausted().filter(|_| is_due) {
            Some(reason) => Err(Stop::Budget(reason)),
            None => Ok(()),
        }
    }
}

/// How to perform a task.
pub(super) enum Split<T> {
    /// The result is known.
    Done(Tree),
    /// The result is a layer with these parts: the number of tokens in the place, and the task for what follows.
    Layer(PlaceId, Vec<(u64, T)>),
}

/// An operation on trees.
pub(super) trait Walk {
    /// Everything on which the result depends.
    type Task: Clone + Eq + Hash;

    /// Says how to perform a task.
    fn split(
        &mut self,
        forest: &mut Forest,
        task: &Self::Task,
        meter: &mut Meter<'_>,
    ) -> Result<Split<Self::Task>, Stop>;

    /// Combines the results of the parts. Parts with the same number of tokens are united.
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

/// A layer of which some parts are not done yet.
struct Frame<T> {
    task: T,
    place: PlaceId,
    /// The parts to do, in reverse order: the last one is next.
    open: Vec<(u64, T)>,
    /// The number of tokens of the part that is being done.
    tokens: u64,
    done: Vec<(u64, Tree)>,
}

/// Performs a task and all its parts; `known` stores the results.
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
