//! Shortens runs of several threads: as few context switches as possible, then few threads, then few steps.
//!
//! Steps may be left out, the order of threads may change, and threads may exchange their roles. A new order is asked about
//! as a whole ([`is_possible`]): values are found anew, so it need not be one that keeps them. The orders that are
//! tried, again and again until none of them helps:
//! 1. without a thread, and without those that it starts;
//! 2. without the last steps of a thread, as many as possible;
//! 3. without the steps of a thread between two visits of a location;
//! 4. with a *block*, the steps of a thread between two switches, moved to the block of the same thread before or after it,
//!    as a whole or in two parts;
//! 5. with the roles of two threads exchanged from a switch on, if they are at the same location.
//!
//! Guarantee: the result is smaller than the given run in the lexicographic order of switches, threads that move, and
//! steps. It need not be a smallest one. The work is limited by numbers of questions, of values and of conflicts and
//! not by time, so the result is the same on every machine unless the budget is used up.

use cusp_solvers::Limits;
use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::evidence::trace::{Interleaving, Move, System, Violation, switches};
use crate::model::{Action, Node, ProcId, Task};
use crate::threads::schedule::{Schedule, concretise, is_possible};

/// Longer runs are shown as they are.
const MOST_STEPS: usize = 20_000;
/// Limits for all questions together: how many there are, and how many values there are in the states of their runs.
const MOST_QUESTIONS: usize = 2_000;
const MOST_VALUES: usize = 20_000_000;
/// The conflicts of one question. Most questions need none.
const EFFORT: Limits = Limits { conflicts: Some(1_000), decisions: None, deadline: None };
/// How often everything is tried again.
const MOST_ROUNDS: usize = 8;

/// A better run, if one is found.
#[must_use]
pub fn shorten(task: &Task, run: &Interleaving, budget: &Budget) -> Option<Interleaving> {
    if run.steps.len() > MOST_STEPS {
        return None;
    }
    let events = Events::of(task, run)?;
    let items = run.steps.iter().enumerate().map(|(event, step)| Item { event, thread: step.thread });
    let order = Order { items: items.collect(), violator: run.thread };
    let size = events.size(&order);
    let mut shortener = Shortener {
        task,
        events: &events,
        budget,
        order,
        size,
        questions: MOST_QUESTIONS,
        values: MOST_VALUES,
        is_over: false,
    };
    for _ in 0..MOST_ROUNDS {
        let before = shortener.size;
        shortener.drop_threads();
        shortener.cut_ends();
        shortener.skip_loops();
        shortener.join_blocks();
        shortener.exchange_roles();
        if shortener.size == before || shortener.is_over {
            break;
        }
    }
    if shortener.size == size {
        return None;
    }
    let schedule = events.schedule(&shortener.order)?;
    concretise(task, &schedule, budget).ok().flatten()
}

/// A step of the given run, without values.
struct Event {
    action: Move,
    /// Whether it starts a thread if there is room for one.
    starts: bool,
    /// The thread that it started in the given run.
    started: Option<u32>,
    /// The stack of the thread before it, as a number.
    stack: u32,
    /// The stack of the thread after it; `None` if the thread ends with it.
    after: Option<u32>,
    /// The stack of the thread that it started.
    started_at: Option<u32>,
}

/// An event, and the thread that it is an event of.
#[derive(Clone, Copy)]
struct Item {
    event: usize,
    thread: u32,
}

/// A run without values. Threads have the numbers of the given run.
#[derive(Clone)]
struct Order {
    items: Vec<Item>,
    violator: u32,
}

/// The steps of the given run.
struct Events {
    all: Vec<Event>,
    /// How many threads there are in the given run.
    threads: usize,
    /// The most threads that may live at once.
    bound: Option<u32>,
    violation: Violation,
    /// The stack of the first thread at the start.
    first_stack: u32,
    /// The stack of the violator at the end, as a number.
    last_stack: u32,
    /// The values in a state, at most.
    width: usize,
}

/// What is made smaller, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Size {
    switches: usize,
    /// Threads that move or violate the property.
    threads: usize,
    steps: usize,
}

/// The numbers of stacks: of the topmost frame, and the number of what is below it.
#[derive(Default)]
struct Stacks(FxHashMap<(Option<u32>, ProcId, Node), u32>);

impl Stacks {
    fn number(&mut self, system: &System, thread: u32) -> Option<u32> {
        let at = system.threads.binary_search_by_key(&thread, |thread| thread.id).ok()?;
        system.threads[at].frames.iter().fold(None, |below, frame| {
            let next = self.0.len() as u32;
            Some(*self.0.entry((below, frame.procedure, frame.node)).or_insert(next))
        })
    }
}

impl Events {
    /// The events of a run; `None` if it is none.
    fn of(task: &Task, run: &Interleaving) -> Option<Self> {
        let program = &task.program;
        let mut stacks = Stacks::default();
        let first_stack = stacks.number(&run.initial, 0)?;
        // Where every thread is.
        let mut now = vec![Some(first_stack)];
        let mut events = Vec::with_capacity(run.steps.len());
        let mut before = &run.initial;
        let mut threads = 1;
        let mut width = 0;
        for step in &run.steps {
            let at = before.threads.binary_search_by_key(&step.thread, |thread| thread.id).ok()?;
            let top = before.threads[at].frames.last()?;
            let starts = match step.action {
                Move::Return => false,
                Move::Edge(id) => {
                    let edge = program.procedure(top.procedure).edges.get(id.index())?;
                    matches!(edge.action, Action::Spawn(_) | Action::Fork(_))
                }
            };
            let lives = |id: u32| step.after.threads.binary_search_by_key(&id, |thread| thread.id).is_ok();
            let started = lives(threads).then_some(threads);
            let stack = (*now.get(step.thread as usize)?)?;
            let after = stacks.number(&step.after, step.thread);
            now[step.thread as usize] = after;
            let started_at = started.and_then(|thread| stacks.number(&step.after, thread));
            now.extend(started.map(|_| started_at));
            events.push(Event { action: step.action, starts, started, stack, after, started_at });
            threads += u32::from(started.is_some());
            let frames = step.after.threads.iter().flat_map(|thread| &thread.frames);
            let locals: usize = frames.map(|frame| frame.locals.0.len()).sum();
            width = width.max(locals + step.after.globals.0.len());
            before = &step.after;
        }
        Some(Self {
            all: events,
            threads: threads as usize,
            bound: task.threads,
            violation: run.violation,
            first_stack,
            last_stack: stacks.number(before, run.thread)?,
            width,
        })
    }

    /// The schedule of an order, with threads numbered in the order in which they are started; `None` if a thread moves
    /// that was not started.
    fn schedule(&self, order: &Order) -> Option<Schedule> {
        let mut numbers: Vec<Option<u32>> = vec![None; self.threads];
        numbers[0] = Some(0);
        let (mut started, mut living) = (1, 1_u32);
        let mut steps = Vec::with_capacity(order.items.len());
        for item in &order.items {
            let event = &self.all[item.event];
            steps.push((numbers[item.thread as usize]?, event.action));
            if event.starts && self.bound.is_none_or(|bound| living < bound) {
                if let Some(thread) = event.started {
                    numbers[thread as usize] = Some(started);
                }
                started += 1;
                living += 1;
            }
            living -= u32::from(event.after.is_none());
        }
        Some(Schedule { steps, thread: numbers[order.violator as usize]?, violation: self.violation })
    }

    fn size(&self, order: &Order) -> Size {
        let movers = || order.items.iter().map(|item| item.thread);
        let mut moves = vec![false; self.threads];
        movers().chain([order.violator]).for_each(|thread| moves[thread as usize] = true);
        Size {
            switches: switches(movers(), order.violator, self.violation),
            threads: moves.into_iter().filter(|&moves| moves).count(),
            steps: order.items.len(),
        }
    }

    /// An order without some events, and without the threads that these start; `None` if the violator is one of them.
    fn without(&self, order: &Order, is_left_out: impl Fn(usize) -> bool) -> Option<Order> {
        let mut is_gone = vec![false; self.threads];
        let mut items = Vec::with_capacity(order.items.len());
        for (position, &item) in order.items.iter().enumerate() {
            if is_gone[item.thread as usize] || is_left_out(position) {
                if let Some(thread) = self.all[item.event].started {
                    is_gone[thread as usize] = true;
                }
            } else {
                items.push(item);
            }
        }
        (!is_gone[order.violator as usize]).then_some(Order { items, violator: order.violator })
    }
}

/// Consecutive steps of one thread, by their positions.
#[derive(Clone, Copy)]
struct Block {
    thread: u32,
    from: usize,
    to: usize,
}

struct Shortener<'a> {
    task: &'a Task,
    events: &'a Events,
    budget: &'a Budget,
    /// The best run so far.
    order: Order,
    size: Size,
    /// What questions may still cost.
    questions: usize,
    values: usize,
    is_over: bool,
}

impl Shortener<'_> {
    /// Whether the limits allow so many more values; whatever is done with an order counts.
    fn affords(&mut self, values: usize) -> bool {
        let left = self.values.checked_sub(values).filter(|_| self.budget.exhausted().is_none());
        self.is_over |= left.is_none();
        self.values = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether there is a run with this order; false if that is not known.
    fn asks(&mut self, order: &Order) -> bool {
        let Some(questions) = self.questions.checked_sub(1) else {
            self.is_over = true;
            return false;
        };
        if !self.affords(order.items.len() * (1 + self.events.width)) {
            return false;
        }
        let Some(schedule) = self.events.schedule(order) else { return false };
        self.questions = questions;
        is_possible(self.task, &schedule, &EFFORT, self.budget) == Ok(true)
    }

    /// Takes an order if it is better and if there is a run with it.
    fn takes(&mut self, order: Order) -> bool {
        let size = self.events.size(&order);
        let is_better = self.affords(order.items.len()) && size < self.size && self.asks(&order);
        if is_better {
            (self.order, self.size) = (order, size);
        }
        is_better
    }

    fn takes_without(&mut self, is_left_out: impl Fn(usize) -> bool) -> bool {
        self.events.without(&self.order, is_left_out).is_some_and(|order| self.takes(order))
    }

    /// The positions of the steps of a thread.
    fn positions(&mut self, thread: u32) -> Vec<usize> {
        self.affords(self.order.items.len());
        (0..self.order.items.len()).filter(|&at| self.order.items[at].thread == thread).collect()
    }

    /// The threads that move, the youngest first.
    fn movers(&self) -> Vec<u32> {
        let mut movers: Vec<u32> = self.order.items.iter().map(|item| item.thread).collect();
        movers.sort_unstable();
        movers.dedup();
        movers.reverse();
        movers
    }

    fn drop_threads(&mut self) {
        for thread in self.movers() {
            if self.is_over {
                return;
            }
            let positions = self.positions(thread);
            self.takes_without(|position| positions.binary_search(&position).is_ok());
        }
    }

    /// Leaves out last steps of threads, by bisection.
    fn cut_ends(&mut self) {
        for thread in self.movers() {
            if thread == self.order.violator {
                continue;
            }
            // So many steps are not enough; so many are.
            let (mut too_few, mut enough) = (0, self.positions(thread).len());
            while too_few < enough && !self.is_over {
                let kept = too_few + (enough - too_few) / 2;
                let positions = self.positions(thread);
                let Some(&first) = positions.get(kept) else { break };
                let left_out =
                    |position: usize| position >= first && positions.binary_search(&position).is_ok();
                if self.takes_without(left_out) {
                    enough = kept;
                } else {
                    too_few = kept + 1;
                }
            }
        }
    }

    /// Leaves out what a thread does between two visits of a location: as many visits as possible, then half of them and so
    /// on.
    fn skip_loops(&mut self) {
        for thread in self.movers() {
            let mut from = 0;
            let mut visits = Visits::of(self, thread);
            while from < visits.positions.len() && !self.is_over {
                let later = visits.later(from);
                let mut skipped = later.len();
                while skipped > 0 && !self.is_over {
                    let inside = &visits.positions[from..later[skipped - 1]];
                    if self.takes_without(|position| inside.binary_search(&position).is_ok()) {
                        break;
                    }
                    skipped /= 2;
                }
                // After a success, the same place is looked at again.
                if skipped == 0 {
                    from += 1;
                } else {
                    visits = Visits::of(self, thread);
                }
            }
        }
    }

    /// The blocks of the best run. The last step of a violated assertion belongs to the last of them, which may be empty.
    fn blocks(&mut self) -> Vec<Block> {
        self.affords(self.order.items.len());
        let mut blocks: Vec<Block> = Vec::new();
        for (position, &Item { thread, .. }) in self.order.items.iter().enumerate() {
            match blocks.last_mut() {
                Some(last) if last.thread == thread => last.to = position + 1,
                _ => blocks.push(Block { thread, from: position, to: position + 1 }),
            }
        }
        let (end, thread) = (self.order.items.len(), self.order.violator);
        let is_there = blocks.last().is_some_and(|last| last.thread == thread);
        if !is_there && matches!(self.events.violation, Violation::Assertion(_)) {
            blocks.push(Block { thread, from: end, to: end });
        }
        blocks
    }

    /// Moves blocks to the blocks of the same thread before and after them.
    fn join_blocks(&mut self) {
        let mut next = 2;
        while !self.is_over {
            let blocks = self.blocks();
            let Some(&block) = blocks.get(next) else { return };
            let is_same = |other: &&Block| other.thread == block.thread;
            let before = blocks[..next].iter().rev().find(is_same).copied();
            let after = blocks[next + 1..].iter().find(is_same).copied();
            let Some(before) = before else {
                next += 1;
                continue;
            };
            let is_last =
                next + 1 == blocks.len() && matches!(self.events.violation, Violation::Assertion(_));
            let joined = !is_last && self.takes(self.moved(block.from, block.to, before.to))
                || self.takes(self.moved(before.from, before.to, block.from))
                || after.is_some_and(|after| self.splits(before, block, after));
            // Blocks before this one may have new neighbours.
            next = if joined { next.saturating_sub(2).max(2) } else { next + 1 };
        }
    }

    /// Moves the first steps of a block to the block before it, as many as possible, and the others to the block after it.
    fn splits(&mut self, before: Block, block: Block, after: Block) -> bool {
        let (mut possible, mut too_many) = (block.from, block.to);
        while possible + 1 < too_many && !self.is_over {
            let to = possible + (too_many - possible) / 2;
            let order = self.moved(block.from, to, before.to);
            if self.asks(&order) {
                possible = to;
            } else {
                too_many = to;
            }
        }
        if possible == block.from {
            return false;
        }
        // The second part first: what stands before it stays where it is.
        let later = moved(&self.order, possible, block.to, after.from);
        self.takes(moved(&later, block.from, possible, before.to))
    }

    /// Lets the thread that moved before a switch go on instead of the one that control passes to, if they are at the same
    /// location, and exchanges their roles from there on.
    fn exchange_roles(&mut self) {
        let mut next = 1;
        while !self.is_over {
            let blocks = self.blocks();
            let Some(pair) = blocks.get(next - 1..=next) else { return };
            let (from, [before, after]) = (pair[1].from, [pair[0].thread, pair[1].thread]);
            let [left, right] = [before, after].map(|thread| self.stack_at(thread, from));
            let exchanged = left.is_some() && left == right && {
                let mut order = self.order.clone();
                let exchange = |thread: &mut u32| {
                    *thread = match *thread {
                        thread if thread == before => after,
                        thread if thread == after => before,
                        thread => thread,
                    }
                };
                order.items[from..].iter_mut().for_each(|item| exchange(&mut item.thread));
                exchange(&mut order.violator);
                self.takes(order)
            };
            next += usize::from(!exchanged);
        }
    }

    /// The stack of a thread before the step at a position; `None` if it does not live.
    fn stack_at(&mut self, thread: u32, position: usize) -> Option<u32> {
        self.affords(position);
        let first = (thread == 0).then_some(self.events.first_stack);
        self.order.items[..position].iter().fold(first, |stack, item| {
            let event = &self.events.all[item.event];
            match () {
                () if item.thread == thread => event.after,
                () if event.started == Some(thread) => event.started_at,
                () => stack,
            }
        })
    }

    fn moved(&self, from: usize, to: usize, target: usize) -> Order {
        moved(&self.order, from, to, target)
    }
}

/// Where a thread is before each of its steps, and at the end if it violates the property.
struct Visits {
    /// The positions of its steps in the run.
    positions: Vec<usize>,
    /// Its stacks, as numbers.
    stacks: Vec<u32>,
    /// For every stack, when the thread has it, in its own steps.
    times: FxHashMap<u32, Vec<usize>>,
}

impl Visits {
    fn of(shortener: &mut Shortener<'_>, thread: u32) -> Self {
        let positions = shortener.positions(thread);
        let Shortener { events, order, .. } = shortener;
        let stack = |&at: &usize| events.all[order.items[at].event].stack;
        let mut stacks: Vec<u32> = positions.iter().map(stack).collect();
        stacks.extend((thread == order.violator).then_some(events.last_stack));
        let mut times: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (time, &stack) in stacks.iter().enumerate() {
            times.entry(stack).or_default().push(time);
        }
        Self { positions, stacks, times }
    }

    /// When the thread comes back to where it is before one of its steps.
    fn later(&self, time: usize) -> &[usize] {
        let times = &self.times[&self.stacks[time]];
        &times[times.partition_point(|&other| other <= time)..]
    }
}

/// An order in which the steps at some positions come before the one at another position.
fn moved(order: &Order, from: usize, to: usize, target: usize) -> Order {
    let mut order = order.clone();
    if target <= from {
        order.items[target..to].rotate_right(to - from);
    } else {
        order.items[from..target].rotate_left(to - from);
    }
    order
}
