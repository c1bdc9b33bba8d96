//! Bebop's way: path edges and summaries as binary decision diagrams, for sequential programs with recursion.
//!
//! It shares the control-flow graphs with the other engines and nothing else: no terms, no solver, no states of the
//! explicit engine. So it is the one to check them by.
//!
//! - `path_edges`: the search; `priority`: in which order.
//! - `frames`: what the relations of a procedure speak of; `order`, `groups`: where its variables stand in the
//!   diagrams.
//! - `values`, `steps`, `calls`: expressions, steps and calls as relations; `diagrams`: the crate behind them.
//! - `relations`: the certificate; `walk_back`, `call_tree`: the trace.
//!
//! Memory: the tables of the diagrams have a fixed size. A search that fills them begins again with tables sixteen
//! times as large, which costs little compared with what follows, until the user's memory is spent;
//! without a limit, until there are `MOST_NODES`. Then the answer is unknown, and says so.
//!
//! Time: the search runs in a thread of its own, whose stack fits the number of variables, and asks the
//! budget between operations. An operation cannot be interrupted. When the budget is spent the engine answers at once
//! and leaves the thread behind; it ends with the operation that it is in, at the latest when the tables are full.

mod call_tree;
mod calls;
mod diagrams;
mod frames;
mod groups;
mod order;
mod path_edges;
mod priority;
mod relations;
mod steps;
mod values;
mod walk_back;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::{Engine, accepts_sequential};
use crate::budget::Budget;
use crate::evidence::{Certificate, Reason, Trace, Verdict};
use crate::model::reduce::Keep;
use crate::model::{Program, Task};
use crate::progress::Progress;
use diagrams::{Capacity, Diagrams, Outcome, Stop};
use frames::Frames;
use path_edges::Search;
use steps::Space;

/// The engine.
#[derive(Clone, Copy, Debug)]
pub struct Bdd {
    /// Nodes of the first tables.
    pub first_nodes: usize,
    /// The most nodes of all diagrams together; `None` for as many as fit the memory.
    pub most_nodes: Option<usize>,
}

impl Default for Bdd {
    fn default() -> Self {
        Self { first_nodes: FIRST_NODES, most_nodes: None }
    }
}

/// Nodes of the first tables: enough for most programs, and made in no time.
const FIRST_NODES: usize = 1 << 18;
/// How much larger the next tables are.
const GROWTH: usize = 16;
/// Nodes of the largest tables: four gigabytes with everything around them.
const MOST_NODES: usize = 1 << 27;
/// Bytes that a node takes, with its part of the table that finds it and of the cache.
const NODE_BYTES: u64 = 32;

/// Stack for everything but the diagrams, and for each of their variables: the crate recurses from variable to
/// variable, with frames of a few hundred bytes.
const STACK: (usize, usize) = (16 << 20, 2 << 10);

/// How long the supervising thread sleeps between two looks at the budget.
const PERIOD: Duration = Duration::from_millis(20);

/// What a search has done so far, for people who wait.
#[derive(Debug, Default)]
struct Counters {
    steps: AtomicU64,
    summaries: AtomicU64,
    nodes: AtomicU64,
}

impl Engine for Bdd {
    fn name(&self) -> &'static str {
        "bdd"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        accepts_sequential(task, self.name())
    }

    fn reduction(&self) -> Option<Keep> {
        Some(Keep::Verdict)
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        let counters = Arc::new(Counters::default());
        let (sender, receiver) = channel();
        let most = self.most_nodes.unwrap_or_else(|| nodes_that_fit(budget));
        let first = self.first_nodes.clamp(1, most);
        let search = {
            let (task, budget, counters) = (task.clone(), budget.clone(), Arc::clone(&counters));
            move || {
                let verdict = decide(&task, first..=most, &budget, &counters);
                // If nobody waits any more, nobody wants to know.
                let _ = sender.send(verdict);
            }
        };
        let builder = std::thread::Builder::new().name("bdd".to_owned());
        let Ok(thread) = builder.stack_size(stack_size(&task.program)).spawn(search) else {
            // There is no room for its stack, and hardly any for diagrams.
            return Reason::DiagramsFull { nodes: first }.into();
        };
        loop {
            match receiver.recv_timeout(PERIOD) {
                Ok(verdict) => return verdict,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => unreachable!("the search answers before it ends"),
                },
            }
            if let Some(reason) = budget.exhausted() {
                return reason.into();
            }
            progress.say(&|| {
                let [steps, summaries, nodes] = [&counters.steps, &counters.summaries, &counters.nodes]
                    .map(|n| n.load(Ordering::Relaxed));
                format!("{steps} steps, {summaries} summaries, {nodes} nodes")
            });
        }
    }
}

/// The nodes that fit the memory limit, with a quarter left for everything else.
fn nodes_that_fit(budget: &Budget) -> usize {
    let fit = |bytes: u64| usize::try_from(bytes / 4 * 3 / NODE_BYTES).unwrap_or(usize::MAX);
    budget.memory_limit().map_or(MOST_NODES, |bytes| fit(bytes).clamp(1 << 10, MOST_NODES))
}

fn stack_size(program: &Program) -> usize {
    let locals: usize = program.procedures.iter().map(|procedure| procedure.locals.len()).sum();
    STACK.0 + 3 * (program.globals.len() + locals) * STACK.1
}

/// Searches with larger and larger tables.
fn decide(task: &Task, sizes: RangeInclusive<usize>, budget: &Budget, counters: &Counters) -> Verdict {
    let (mut nodes, most) = sizes.into_inner();
    loop {
        let capacity = Capacity { nodes, cache: nodes / 4 + 1, is_last: nodes == most };
        match attempt(task, capacity, budget, counters) {
            Ok(verdict) => return verdict,
            Err(Stop::Budget(reason)) => return reason.into(),
            Err(Stop::Full) if capacity.is_last => return Reason::DiagramsFull { nodes }.into(),
            Err(Stop::Full) => nodes = nodes.saturating_mul(GROWTH).min(most),
        }
    }
}

fn attempt(task: &Task, capacity: Capacity, budget: &Budget, counters: &Counters) -> Outcome<Verdict> {
    let frames = Frames::of(task);
    let diagrams = Diagrams::new(capacity, frames.order.variables(), budget)?;
    let space = Space { frames, diagrams };
    let mut search = Search::new(&space, counters);
    let Some(found) = search.saturate()? else {
        return Ok(Verdict::Safe(Certificate::Relations(relations::relations(&search)?)));
    };
    let story = walk_back::walk_back(&mut search, &found)?;
    let tree = call_tree::tell(&space, &story, found.violation, budget)?;
    Ok(Verdict::Unsafe(Trace::Sequential(tree)))
}
