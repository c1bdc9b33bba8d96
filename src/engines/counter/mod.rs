//! Symbolic counter abstraction: multisets of program counters, each with one set of values, for at most n threads.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", PhD thesis, ETH Zurich 2010, chapter 7, corrected by
//! [errata 23](crate::errata::item_23) and [errata 24](crate::errata::item_24).
//!
//! Theorem used: threads run the same program and have no identity that the program can observe, so a set of states can be
//! closed under permutations of threads without changing the verdict. A least fixed point of images over finitely many
//! control states and values is reached after finitely many steps.
//!
//! Evidence: [`Certificate::Threads`](crate::evidence::Certificate::Threads) with one formula for each control state that was reached, or an interleaving.
//!
//! Deviation: the thesis counts threads in symbolic local states, and cannot relate these to shared variables ([errata 24](crate::errata::item_24)). Here
//! a *control state* says only at which cut ([`crate::threads`]) every thread is, and who holds the system. Its data is one set
//! of values of the globals and of all values that matter of all its threads, as a decision diagram. The set is closed under
//! permutations of threads at the same cut, and what is new is followed once, wherever it came from.
//!
//! - `search`: the fixed point; `control`: control states; `moves`, `relation`: large steps as relations, and images.
//! - `levels`: the variables of the diagrams and their order. No order is good for all programs, so searches take turns.
//! - `proof`: the certificate; `walk_back`: the run.
//!
//! Memory and time are limited as in [`super::bdd`].

mod control;
mod levels;
mod moves;
mod proof;
mod relation;
mod search;
mod walk_back;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::bdd::diagrams::{Capacity, Diagrams, Stop};
use super::bdd::{FIRST_NODES, GROWTH, STACK, nodes_that_fit, supervised};
use super::{Bounds, Engine};
use crate::budget::Budget;
use crate::evidence::{Reason, Trace, Verdict};
use crate::model::Task;
use crate::model::reduce::Keep;
use crate::progress::Progress;
use crate::threads::formula::Blocks;
use crate::threads::schedule::concretise;
use crate::threads::{Reductions, ThreadSystem};
use levels::{Arrangement, Levels};
use search::{Ended, Search};

/// The engine `counter`.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The number of nodes of the first tables.
    pub first_nodes: usize,
    /// What is left out of the thread system.
    pub reductions: Reductions,
}

impl Counter {
    /// The engine as the user wants it.
    #[must_use]
    pub fn within(bounds: Bounds) -> Self {
        Self { reductions: bounds.without.of_systems(), ..Self::default() }
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self { first_nodes: FIRST_NODES, reductions: Reductions::ALL }
    }
}

/// The number of slots for threads at first.
const FIRST_SLOTS: u32 = 8;
/// If the number of threads has no bound, more than this many are not followed: there will probably be even more.
const MOST_UNBOUNDED: u32 = 16;
/// The greatest number of variables of the diagrams.
const MOST_VARIABLES: usize = 1 << 16;
/// The greatest number of variables for choices that are not near anything.
const MOST_CHOICES: usize = 1 << 12;

/// What a search has done so far.
#[derive(Debug, Default)]
struct Counters {
    controls: AtomicU64,
    layers: AtomicU64,
    images: AtomicU64,
    nodes: AtomicU64,
}

impl Counters {
    fn count_image(&self) {
        self.images.fetch_add(1, Ordering::Relaxed);
    }

    fn update(&self, search: &Search<'_>) {
        self.controls.store(search.controls.len() as u64, Ordering::Relaxed);
        self.layers.store(search.layers.len() as u64, Ordering::Relaxed);
        self.nodes.store(search.diagrams.nodes() as u64, Ordering::Relaxed);
    }

    fn figures(&self) -> [(&'static str, u64); 4] {
        [
            ("control states", &self.controls),
            ("sets followed", &self.layers),
            ("images", &self.images),
            ("nodes", &self.nodes),
        ]
        .map(|(what, number)| (what, number.load(Ordering::Relaxed)))
    }
}

impl Engine for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        if task.program.starts_threads { Ok(()) } else { Err(Reason::ThreadsOnly { engine: self.name() }) }
    }

    /// The certificate is about cuts of the program itself.
    fn reduction(&self) -> Option<Keep> {
        None
    }

    fn search(&self, task: &Task, budget: &Budget, progress: &dyn Progress) -> Verdict {
        if let Ok(system) = ThreadSystem::new(task, self.reductions, None) {
            system.count_reductions(progress);
        }
        let counters = Arc::new(Counters::default());
        let most = nodes_that_fit(budget);
        let first = self.first_nodes.clamp(1, most);
        let search = {
            let (task, budget, counters) = (task.clone(), budget.clone(), Arc::clone(&counters));
            let reductions = self.reductions;
            move || decide(&task, reductions, first..=most, &budget, &counters)
        };
        let say = || {
            let figures = counters.figures().map(|(what, number)| format!("{number} {what}"));
            figures.join(", ")
        };
        let verdict = supervised(stack_size(task), search, first, budget, || progress.say(&say));
        for (what, number) in counters.figures() {
            progress.count(what, number);
        }
        verdict
    }
}

/// A stack for as many variables as the diagrams can have.
fn stack_size(task: &Task) -> usize {
    let program = &task.program;
    // Without recursion, no procedure has two frames on the stack of a thread.
    let locals: usize = program.procedures.iter().map(|procedure| procedure.locals.len()).sum();
    let threads = task.threads.unwrap_or(MOST_UNBOUNDED) as usize + 1;
    let places = locals.saturating_mul(threads).saturating_add(program.globals.len());
    let variables = places.saturating_mul(3).saturating_add(MOST_CHOICES).min(MOST_VARIABLES);
    STACK.0 + variables * STACK.1
}

/// Searches with both orders of variables in turn, with increasingly large tables and more and more slots.
fn decide(
    task: &Task,
    reductions: Reductions,
    sizes: RangeInclusive<usize>,
    budget: &Budget,
    counters: &Counters,
) -> Verdict {
    let system = match ThreadSystem::new(task, reductions, None) {
        Ok(system) => system,
        Err(reason) => return reason.into(),
    };
    let blocks = Blocks::new(&system);
    let most_slots = task.threads.unwrap_or(MOST_UNBOUNDED);
    let (mut nodes, most) = sizes.into_inner();
    let mut slots = most_slots.min(FIRST_SLOTS);
    loop {
        for arrangement in [Arrangement::ByThread, Arrangement::ByColumn] {
            let capacity = Capacity { nodes, cache: nodes / 4 + 1, is_last: nodes == most };
            loop {
                match attempt(&blocks, slots, arrangement, capacity, budget, counters) {
                    Ok(verdict) => return verdict,
                    Err(Ended::Stopped(Stop::Budget(reason))) => return reason.into(),
                    Err(Ended::Stopped(Stop::Full)) => break,
                    Err(Ended::MoreThreads) if slots >= most_slots => return Reason::UnboundedThreads.into(),
                    Err(Ended::MoreThreads) => slots = slots.saturating_mul(2).min(most_slots),
                }
            }
        }
        if nodes == most {
            return Reason::DiagramsFull { nodes }.into();
        }
        nodes = nodes.saturating_mul(GROWTH).min(most);
    }
}

fn attempt(
    blocks: &Blocks<'_>,
    slots: u32,
    arrangement: Arrangement,
    capacity: Capacity,
    budget: &Budget,
    counters: &Counters,
) -> Result<Verdict, Ended> {
    // Every other thread may have choices of its own in an assignment with `x$`.
    let choices = blocks.blocks().iter().map(|block| blocks.variables(block)).max().unwrap_or(0);
    let choices = (choices * slots as usize).min(MOST_CHOICES);
    let levels = Levels::new(blocks.system, slots, arrangement, choices as u32);
    if levels.variables() as usize > MOST_VARIABLES {
        let message = format!("the counter engine has no more than {MOST_VARIABLES} variables");
        return Ok(Reason::GaveUp(message).into());
    }
    let diagrams = Diagrams::new(capacity, levels.variables(), budget)?;
    let mut search = Search::new(blocks, &diagrams, &levels, counters);
    let Some(found) = search.saturate()? else {
        return Ok(Verdict::Safe(proof::proof(&search)?));
    };
    let schedule = walk_back::schedule(&mut search, &found, budget)?;
    let run = concretise(blocks.system.task, &schedule, budget);
    Ok(match run {
        Ok(Some(run)) => Verdict::Unsafe(Trace::Interleaved(run)),
        Ok(None) => Reason::GaveUp("the counter engine cannot repeat its run".to_owned()).into(),
        Err(reason) => reason.into(),
    })
}
