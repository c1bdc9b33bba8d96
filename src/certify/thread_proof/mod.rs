//! Checks proofs about programs with threads.
//!
//! A proof names variables that do not matter, stacks at which threads may be interrupted, and a set of states in which
//! all threads are at such stacks; [`crate::evidence::threads`] says what all that means, and why it is enough. The
//! check is written from that and from the semantics in [`crate::model`], and shares nothing with the engines:
//!
//! ```text
//! control       the stacks that threads can have, and the steps between them
//! accesses      ignored variables, and what others can notice of a step
//! large_steps   the conditions on the paths from one cut to the next
//! explicit      large steps from partial valuations
//! listed        a list of states
//! independence  states from which only some threads are followed
//! symbolic      large steps as terms
//! slots         several threads as terms, and clauses about them
//! clauses       universal clauses
//! formulas      formulas for multisets of cuts
//! system        a bounded number of threads as terms, and their large steps
//! induction     k-induction
//! ```

mod accesses;
mod clauses;
mod control;
mod explicit;
mod formulas;
mod independence;
mod induction;
mod large_steps;
mod listed;
mod slots;
mod symbolic;
mod system;

use super::Stop;
use crate::budget::Budget;
use crate::evidence::threads::{ThreadInvariant, ThreadProof};
use crate::model::Task;
use accesses::Visibility;
use control::Control;
use large_steps::LargeSteps;

/// What is known when the cuts were checked.
struct Checked<'a> {
    control: &'a Control<'a>,
    visibility: &'a Visibility<'a>,
    large_steps: &'a LargeSteps,
}

/// Checks a proof about a program with threads.
pub(super) fn check(task: &Task, proof: &ThreadProof, budget: &Budget) -> Result<(), Stop> {
    let control = Control::new(task, &proof.cuts, budget)?;
    let visibility = Visibility::new(&control, proof)?;
    let large_steps = large_steps::check(&control, &visibility)?;
    let checked = Checked { control: &control, visibility: &visibility, large_steps: &large_steps };
    match &proof.invariant {
        ThreadInvariant::States(listed) => listed::check(&checked, listed),
        ThreadInvariant::Clauses(clauses) => clauses::check(&checked, clauses),
        ThreadInvariant::Formulas(sets) => formulas::check(&checked, sets),
        ThreadInvariant::Induction(proof) => induction::check(&checked, proof),
    }
}
