//! Smaller programs with the same verdict, and a way back.
//!
//! Implements: preprocessing of sequential programs before an engine sees them. What an engine finds out
//! about the reduced program is then *lifted* (`crate::lift`) to evidence about the original one, and
//! that is what gets certified: nothing here has to be trusted.
//!
//! | pass | what it does |
//! |---|---|
//! | `constants`, `prune` | constant propagation; unreachable code and procedures go, expressions become simpler |
//! | `collapse` | chains of steps that do nothing become one node; edges that say the same become one |
//! | `influence` | variables go whose values never reach a condition, and assignments that nobody reads |
//!
//! The last two help each other, so they take turns until nothing changes, or a few times.
//!
//! Exactness. Let `C` be the facts that `constants` finds: an inductive invariant of the original program
//! `P`. The reduced program `Q` keeps some of `P`'s variables, and stands at some of its nodes.
//! - *Every run of `P` is one of `Q`, but for the values of locals that are dead*: leave out the variables
//!   that went and the nodes that are passed through. Edges that are gone forbid nothing that `C` allows,
//!   simplified expressions have the same values under `C`, and where `Q` assigns `*`, the value of
//!   `P` is one of the two.
//! - *Every run of `Q` that violates the property is one of `P`, but for the values of variables that are
//!   dead or gone*: execute the edges of `P` in its place, and prefer `Q`'s values where there is a choice.
//!   Conditions read variables that matter and are live, so they hold in one program iff they hold in the other.
//! - *A relation that is inductive for `Q` is inductive for `P`* once it is narrowed down to `C`, and says
//!   nothing about variables that went and locals that are dead. That needs the first point for every single
//!   step and for all states that `C` allows, whether they can be reached or not. It is the reason why
//!   assignments to dead globals become `g := *` and do not go: a callee is entered with all globals, and if
//!   a dead one had another value in `Q` than in `P`, one could not tell which entry of the callee `P` is at.
//!   Calls that `Q` lacks cannot satisfy the callee's `enforce`, so that they neither return nor fail, whatever
//!   the relations of the callee say of such an entry.
//!
//! Evidence about paths is another matter: a k-inductive proof starts its paths anywhere, where `C` need not
//! hold, and counts states as different that differ in variables that went. [`Keep::States`] is for it.

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

/// What a reduction keeps, and so what can be lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The verdict. Traces and relations can be lifted, and unrollings that leave nothing open and demand no
    /// difference.
    Verdict,
    /// All states at all nodes that are left: only steps that do nothing go. Everything can be lifted that
    /// speaks of nodes with a cycle, of calls, entries and exits only.
    States,
}

/// A reduced task, and the way back.
#[derive(Debug)]
pub struct Reduced<'a> {
    /// The task to decide.
    pub task: Task,
    /// The way back.
    pub restore: Restore<'a>,
}

/// Programs that are still changing after so many rounds are rare, and change little.
const MOST_ROUNDS: usize = 4;

/// Reduces a task. One that starts threads stays as it is.
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
