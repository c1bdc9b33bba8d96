//! Path edges and summaries as binary decision diagrams, in the manner of Bebop, for sequential programs with
//! recursion.
//!
//! This engine shares only the control-flow graphs with the other engines: it uses no terms, no solver, and no
//! states of the explicit engine. So it is well suited for cross-checking them.
//!
//! - `path_edges`: the search; `priority`: the order of its work.
//! - `frames`: which variables the relations of a procedure contain; `order`, `groups`: the order of the variables
//!   in the diagrams.
//! - `values`, `steps`, `calls`: expressions, steps and calls as relations; `diagrams`: the interface to the BDD
//!   crate.
//! - `relations`: the certificate; `gates`: diagrams as formulas; `walk_back`, `call_tree`: the trace.
//!
//! Memory: the tables of the diagrams have a fixed size. A search that fills them starts again with tables sixteen
//! times as large; the repeated work is small compared with the work that follows. The limit is the user's memory
//! limit, or `MOST_NODES` without one. When the limit is reached, the answer is unknown, with this as the reason.
//!
//! Time: the search runs in its own thread, whose stack size fits the number of variables, and checks the budget
//! between operations. An operation cannot be interrupted. When the budget is used up, the engine answers at once
//! and leaves the thread to the budget ([`Budget::leave_behind`]). It ends after its current operation, at the latest
//! when the tables are full.

mod call_tree;
mod calls;
pub(super) mod diagrams;
mod frames;
pub(super) mod gates;
mod groups;
pub(super) mod order;
mod path_edges;
mod priority;
mod relations;
mod steps;
mod values;
mod walk_back;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Engine, accepts_sequential};
use crate::budget::Budget;
use crate::budget::aside::{NotDone, Patience, aside};
use crate::evidence::{Certificate, Reason, Trace, Verdict};
use crate::model::reduce::Keep;
use crate::model::{Program, Task};
use crate::progress::Progress;
use diagrams::{Capacity, DiagramResult, Diagrams, Stop};
use frames::Frames;
use path_edges::Search;
use steps::Space;

/// The engine `bdd`.
#[derive(Clone, Copy, Debug)]
pub struct Bdd {
    /// The number of nodes of the first tables.
    pub first_nodes: usize,
    /// The greatest number of nodes of all diagrams together; `None` for as many as fit into the memory.
    pub most_nodes: Option<usize>,
}

impl Default for Bdd {
    fn default() -> Self {
        Self { first_nodes: FIRST_NODES, most_nodes: None }
    }
}

/// The number of nodes of the first tables: enough for most programs, and allocated quickly.
pub(super) const FIRST_NODES: usize = 1 << 18;
/// The factor by which the next tables are larger.
pub(super) const GROWTH: usize = 16;
/// The number of nodes of the largest tables, which take four gigabytes including the caches.
const MOST_NODES: usize = 1 << 27;
/// The number of bytes per node, including its share of the hash table and of the cache.
const NODE_BYTES: u64 = 32;

/// The size of the stack: a fixed part, and a part for each variable of the diagrams, because the crate recurses
/// from variable to variable with stack frames of a few hundred bytes.
pub(super) const STACK: (usize, usize) = (16 << 20, 2 << 10);

/// How long an operation may go on when the budget is used up: most take less.
const PATIENCE: Patience = Patience { cpu: Duration::from_millis(20), wall: Duration::from_secs(1) };

/// What a search has done so far, for progress messages.
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
        let most = self.most_nodes.unwrap_or_else(|| nodes_that_fit(budget));
        let first = self.first_nodes.clamp(1, most);
        let search = {
            let (task, budget, counters) = (task.clone(), budget.clone(), Arc::clone(&counters));
            move || decide(&task, first..=most, &budget, &counters)
        };
        let waiting = || {
            progress.say(&|| {
                let [steps, summaries, nodes] = [&counters.steps, &counters.summaries, &counters.nodes]
                    .map(|n| n.load(Ordering::Relaxed));
                format!("{steps} steps, {summaries} summaries, {nodes} nodes")
            });
        };
        supervised(stack_size(&task.program), search, first, budget, waiting)
    }
}

/// Runs a search on diagrams in a thread of its own with a stack of this size, and does not wait for it long when the
/// budget is used up. `first` is the number of nodes with which it begins.
pub(super) fn supervised(
    stack: usize,
    search: impl FnOnce() -> Verdict + Send + 'static,
    first: usize,
    budget: &Budget,
    waiting: impl FnMut(),
) -> Verdict {
    match aside(budget, stack, PATIENCE, search, waiting) {
        Ok(verdict) => verdict,
        // There is not enough memory for the stack, and so hardly any for diagrams.
        Err(NotDone::NoThread(_)) => Reason::DiagramsFull { nodes: first }.into(),
        Err(NotDone::LeftBehind(reason, thread)) => {
            budget.leave_behind(thread);
            reason.into()
        }
    }
}

/// The number of nodes that fit into three quarters of the memory limit.
pub(super) fn nodes_that_fit(budget: &Budget) -> usize {
    let fit = |bytes: u64| usize::try_from(bytes / 4 * 3 / NODE_BYTES).unwrap_or(usize::MAX);
    budget.memory_limit().map_or(MOST_NODES, |bytes| fit(bytes).clamp(1 << 10, MOST_NODES))
}

fn stack_size(program: &Program) -> usize {
    let locals: usize = program.procedures.iter().map(|procedure| procedure.locals.len()).sum();
    STACK.0 + 3 * (program.globals.len() + locals) * STACK.1
}

/// Searches with increasingly large tables.
fn decide(task: &Task, sizes: RangeInclusive<usize>, budget: &Budget, counters: &Counters) -> Verdict {
    let (mut nodes, most) = sizes.into_inner();
    let spent = budget.meter().spent();
    loop {
        // When a table is full depends on when the crate collects garbage, so attempts that fail do not count.
        budget.meter().forget_since(spent);
        let capacity = Capacity { nodes, cache: nodes / 4 + 1, is_last: nodes == most };
        match attempt(task, capacity, budget, counters) {
            Ok(verdict) => return verdict,
            Err(Stop::Budget(reason)) => return reason.into(),
            Err(Stop::Full) if capacity.is_last => return Reason::DiagramsFull { nodes }.into(),
            Err(Stop::Full) => nodes = nodes.saturating_mul(GROWTH).min(most),
        }
    }
}

fn attempt(task: &Task, capacity: Capacity, budget: &Budget, counters: &Counters) -> DiagramResult<Verdict> {
    let frames = Frames::of(task);
    let diagrams = Diagrams::new(capacity, frames.order.variables(), budget)?;
    let space = Space { frames, diagrams };
    let mut search = Search::new(&space, counters);
    let Some(found) = search.saturate()? else {
        return Ok(Verdict::Safe(Certificate::Relations(relations::relations(&search)?)));
    };
    let run = walk_back::walk_back(&mut search, &found)?;
    let tree = call_tree::build(&space, &run, found.violation, budget)?;
    Ok(Verdict::Unsafe(Trace::Sequential(tree)))
}
