//! The only way from a verdict to something that can be printed.
//!
//! Everything here is written against the semantics documented in [`crate::model`] and shares
//! no code with any engine, not even the evaluation of expressions or the analysis of live variables. What it
//! shares are the types of the question (programs, nets, and the arithmetic of markings), the types of the evidence,
//! the budget, and the crates for terms and SAT. `tests/tidy.rs` has the list of modules that it may reach.
//!
//! A trace is replayed: every step must be one that the semantics allows, choices included. A
//! certificate is a set of states; it must hold the start, be closed under every step, and violate
//! nothing. It need not be the set of reachable states: any inductive set is a proof.
//!
//! Sets that are written down as formulas ([`relations`]), and proofs that are no sets but bounds (by
//! induction, by unrolling), become questions to a fresh SAT solver. The way from programs to terms is this
//! module's own; only the term arena and the solver are shared.
//!
//! What the semantics of [`crate::model`] leaves open is decided as follows.
//!
//! - *Violations.* An assertion fails in a step of its thread: where another thread holds the
//!   system, it cannot. A label is reached as soon as a thread's topmost frame stands there, whoever
//!   holds the system. When a label is asked for, an assertion acts as an assumption.
//! - *Calls in systems of threads.* While a call runs, the caller's frame stays at the source of
//!   the call edge, which is the only edge there, with the callee's frame above it. The return is a
//!   step of its own: it drops the callee's frame, assigns the targets, and moves the caller to the
//!   target of the edge. The caller's `enforce` counts after the return, not at the call.
//! - *Silent edges.* `enforce` counts after the steps of statements: after every edge that is not silent.
//! - *The prologue.* In systems of threads its last edge, the call of `main`, replaces the frame of the
//!   prologue by the frame of `main`: no step returns to the prologue, and the thread ends like all others
//!   when `main` comes to its exit.
//! - *Ends of threads.* A thread whose only frame comes to its exit ends in that same step;
//!   `enforce` must still be satisfiable in the state with which it got there. `end_thread` drops
//!   the whole stack.
//! - *New threads.* They appear if fewer threads than the bound live, whatever the bound is; else
//!   the step does nothing else than go on. The `enforce` of the new thread's procedure must be
//!   satisfiable when it appears, or the step is impossible, and so must that of the thread that
//!   made the step.
//! - *Passive variables.* An assignment of a thread in procedure `p` to `x$` concerns every other
//!   thread with a frame of `p`, and there the topmost such frame. a condition of
//!   `constrain` with a passive read must be satisfiable for each of them on its own, and holds if
//!   there is none.
//! - *Who holds the system.* Only the holder may make a step, if there is one. There is none at the
//!   start. After a step of thread `t`: none, if `t` has ended. Otherwise, if the bottom frame of `t` was
//!   the prologue before the step: `t`, if it still is, and none, if `t` has entered `main`, whatever else
//!   the step did. Otherwise, without the Getafix global
//!   `atomic`, `t` after `atomic_begin`, none after `atomic_end`, and as before after other steps.
//!   With that global, `t` if and only if the global holds after the step, or the step is
//!   `atomic_begin`, or `t` was the holder before, the global did not hold before (so that it was a
//!   section that held the system), and the step is not `atomic_end`.

mod assigned;
mod control;
mod cover;
mod cutoff;
mod cuts;
mod draft;
mod encode;
mod induction;
mod live;
mod net;
mod net_basis;
mod net_coverability;
mod net_replay;
mod path_edges;
mod question;
mod reach;
mod region;
pub mod relations;
mod replay_sequential;
mod replay_threads;
mod stacks;
mod system_states;
#[cfg(test)]
mod testing;
mod threads;
mod tokens;
mod unrolling;
mod values;
mod wellformed;

use std::fmt;

use rustc_hash::FxHashSet;

use crate::budget::Budget;
use crate::evidence::{Certificate, Reason, Trace, Unknown, Verdict};
use crate::model::{Node, ProcId, Property, Task};

pub use cutoff::{CertifiedCutoff, certify_cutoff, certify_cutoff_within};
pub use net::{CertifiedNet, certify_net};

/// A verdict whose evidence was checked. Only [`certify`] and [`certify_net`] make one.
#[derive(Clone, Debug)]
pub struct Certified<Proof = Certificate, Run = Trace> {
    verdict: Verdict<Proof, Run>,
}

impl<Proof, Run> Certified<Proof, Run> {
    /// No answer needs no evidence.
    #[must_use]
    pub fn unknown(unknown: Unknown) -> Self {
        Self { verdict: Verdict::Unknown(unknown) }
    }

    /// The checked verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict<Proof, Run> {
        &self.verdict
    }
}

/// Why evidence was not accepted: a bug in Cusp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(pub String);

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Rejection {}

/// Checks the evidence of a verdict. If the budget is used up before that is done, the verdict
/// is unknown: nothing unchecked is ever certified.
///
/// # Errors
/// What is wrong with the evidence.
pub fn certify(task: &Task, verdict: Verdict, budget: &Budget) -> Result<Certified, Rejection> {
    match check(task, &verdict, budget) {
        Ok(()) => Ok(Certified { verdict }),
        Err(Stop::Exhausted(reason)) => Ok(Certified { verdict: reason.into() }),
        Err(Stop::Rejected(sentence)) => Err(Rejection(sentence)),
    }
}

fn check(task: &Task, verdict: &Verdict, budget: &Budget) -> Result<(), Stop> {
    if matches!(verdict, Verdict::Unknown(_)) {
        return Ok(());
    }
    wellformed::check(&task.program)?;
    match verdict {
        Verdict::Unknown(_) => Ok(()),
        Verdict::Unsafe(Trace::Sequential(tree)) => replay_sequential::check(task, tree, budget),
        Verdict::Unsafe(Trace::Interleaved(run)) => replay_threads::check(task, run, budget),
        Verdict::Safe(Certificate::NoViolationInReach) => control::check(task, budget),
        Verdict::Safe(Certificate::PathEdges(edges)) => path_edges::check(task, edges, budget),
        Verdict::Safe(Certificate::SystemStates(states)) => system_states::check(task, states, budget),
        Verdict::Safe(Certificate::Relations(relations)) => relations::check(task, relations, budget),
        Verdict::Safe(Certificate::KInductive(proof)) => induction::check(task, proof, budget),
        Verdict::Safe(Certificate::Unrolling(unrolling)) => unrolling::check(task, unrolling, budget),
    }
}

/// Why a check ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The evidence is wrong.
    Rejected(String),
    /// The user's limits are reached.
    Exhausted(Reason),
}

impl Stop {
    /// Says where the problem is, in front of it.
    fn at(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Rejected(problem) => Self::Rejected(format!("{place}: {problem}")),
            exhausted @ Self::Exhausted(_) => exhausted,
        }
    }
}

/// Shorthand for a rejection.
fn reject<T>(sentence: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Rejected(sentence.into()))
}

/// Ends the check if the budget says so.
fn poll(budget: &Budget) -> Result<(), Stop> {
    budget.exhausted().map_or(Ok(()), |reason| Err(Stop::Exhausted(reason)))
}

/// The nodes that must not be reached.
struct Forbidden(FxHashSet<(ProcId, Node)>);

impl Forbidden {
    fn of(task: &Task) -> Self {
        let Property::LabelUnreachable(label) = &task.property else {
            return Self(FxHashSet::default());
        };
        let program = &task.program;
        let nodes = program
            .procedure_ids()
            .flat_map(|id| program.procedure(id).nodes_labelled(label).map(move |node| (id, node)));
        Self(nodes.collect())
    }

    fn contains(&self, procedure: ProcId, node: Node) -> bool {
        self.0.contains(&(procedure, node))
    }
}
