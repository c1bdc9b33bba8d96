//! Makes programs smaller without changing the verdict, and records how to go back.
//!
//! Implements: preprocessing of sequential programs before an engine sees them. The evidence that an engine finds for
//! the reduced program is *lifted* (`crate::lift`) to evidence about the original one, and the lifted evidence is
//! certified. So a bug here cannot make a wrong verdict pass.
//!
//! | pass | what it does |
//! |---|---|
//! | `constants`, `prune` | propagates constants, removes unreachable code and procedures, simplifies expressions |
//! | `collapse` | merges chains of steps that do nothing into one node, and edges that do the same into one |
//! | `influence` | removes variables whose values never reach a condition, and assignments whose value is not read |
//!
//! The last two passes create work for each other, so they alternate until nothing changes, for a limited number of
//! rounds.
//!
//! Exactness. Let `C` be the facts that `constants` finds: an inductive invariant of the original program `P`. The
//! reduced program `Q` has some of `P`'s variables and some of its nodes.
//! - *Every run of `P` is a run of `Q`, except for the values of dead locals*: leave out the removed variables and
//!   the nodes that are passed through. Removed edges allow no step from a state in `C`, simplified expressions have
//!   the same values under `C`, and where `Q` assigns `*`, the value in `P` is one of the two.
//! - *Every run of `Q` that violates the property is a run of `P`, except for the values of variables that are dead
//!   or removed*: execute the edges of `P` instead, and where there is a choice, take `Q`'s values. Conditions read
//!   variables that matter and are live, so they hold in one program iff they hold in the other.
//! - *A relation that is inductive for `Q` is inductive for `P`*, once it is restricted to `C` and leaves removed
//!   variables and dead locals unconstrained. That needs the first point for every single step and for all states
//!   that `C` allows, whether they can be reached or not. It is the reason why assignments to dead globals become
//!   `g := *` and are not removed: a callee is entered with all globals, and if a dead one could have another value
//!   in `Q` than in `P`, the entry state of the callee in `P` would not be known. Calls that `Q` lacks cannot satisfy
//!   the callee's `enforce`, so they neither return nor fail, whatever the relations of the callee say about such an
//!   entry.
//!
//! Evidence about paths is different: a k-inductive proof starts its paths at any state, even outside of `C`, and
//! distinguishes states that differ only in removed variables. [`Keep::States`] is for such evidence.

mod collapse;
mod constants;
mod facts;
mod influence;
mod prune;
mod restore;
mod simplify;
mod work;

pub(crate) use constants::Constants;
pub use restore::{Restore, Size, Summary};
pub(crate) use work::ProcedureMap;

use super::Task;
use super::live::Live;
use work::{Map, Work};

/// What a reduction preserves, and so which evidence can be lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The verdict. Traces and relations can be lifted, and so can unrollings that leave nothing open and do not
    /// demand that states differ.
    Verdict,
    /// All states at all remaining nodes: only steps that do nothing are removed. All evidence can be lifted that
    /// refers only to nodes on cycles, calls, entries and exits.
    States,
}

/// A reduced task, and how to go back to the original one.
#[derive(Debug)]
pub struct Reduced<'a> {
    /// The reduced task.
    pub task: Task,
    /// How to go back to the original task.
    pub restore: Restore<'a>,
}

/// The largest number of rounds. Few programs still change after that many, and they change little.
const MOST_ROUNDS: usize = 4;

/// Reduces a task. A task that starts threads is not changed.
#[must_use]
pub fn reduce(task: &Task, keep: Keep) -> Reduced<'_> {
    let program = &task.program;
    let threads = program.starts_threads;
    let keep = if threads { Keep::States } else { keep };
    let (constants, mut work) = match keep {
        Keep::Verdict => {
            let constants = Constants::of(program);
            let work = prune::prune(task, &constants);
            (constants, work)
        }
        Keep::States => {
            let work = Work { task: task.clone(), map: Map::identity(program) };
            (Constants::unknown(program), work)
        }
    };
    let mut live = None;
    for _ in 0..if threads { 0 } else { MOST_ROUNDS } {
        let changed = collapse::collapse(&mut work, keep);
        if keep == Keep::Verdict && (live.is_none() || changed) {
            live = influence::keep_what_matters(&mut work);
        } else if !changed {
            break;
        }
    }
    let is_stale = work.map.procedures.iter().any(|map| map.is_stale.contains(&true));
    let live = is_stale.then(|| live.unwrap_or_else(|| Live::of(&work.task)));
    let summary = Summary { before: Size::of(program), after: Size::of(&work.task.program) };
    let Work { task: reduced, map } = work;
    let may_violate = restore::may_violate(&reduced);
    let restore = Restore { original: task, constants, map, keep, may_violate, live, summary };
    Reduced { task: reduced, restore }
}
