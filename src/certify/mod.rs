//! Checks verdicts. Only a verdict that passes here can be printed.
//!
//! Everything here is written against the semantics documented in [`crate::model`] and shares no code with any
//! engine, not even the evaluation of expressions or the analysis of live variables. What it shares are the types of
//! tasks (programs, nets, and the arithmetic of markings), the types of the evidence, the budget, and the crates for
//! terms and SAT. `tests/tidy.rs` lists the modules that this one may use.
//!
//! A trace is replayed: every step must be one that the semantics allows, choices included. A certificate is a set of
//! states: it must contain the start states, be closed under every step, and contain no state that violates the
//! property. It need not be the set of reachable states: any inductive set is a proof.
//!
//! Sets that are given as formulas ([`relations`]), and proofs that are not sets but bounds (by induction, by
//! unrolling), are turned into queries to a fresh SAT solver. The translation from programs to terms is this module's
//! own; only the term arena and the solver are shared.
//!
//! The semantics of [`crate::model`] leaves some points open. They are decided as follows.
//!
//! - *Violations.* An assertion fails in a step of its thread, so it cannot fail while another thread holds the
//!   system. A label is reached as soon as a thread's topmost frame is there, whichever thread holds the system. When
//!   the property is about a label, an assertion acts as an assumption.
//! - *Calls in systems of threads.* While a call runs, the caller's frame stays at the source of the call edge, which
//!   is the only edge there, with the callee's frame above it. The return is a step of its own: it removes the
//!   callee's frame, assigns the targets, and moves the caller to the target of the edge. The caller's `enforce` must
//!   be satisfiable after the return; it is not checked at the call.
//! - *Silent edges.* `enforce` is checked after the steps of statements: after every edge that is not silent.
//! - *The prologue.* In systems of threads its last edge, the call of `main`, replaces the frame of the prologue by
//!   the frame of `main`. No step returns to the prologue, and the thread ends like all others when `main` reaches
//!   its exit.
//! - *Ends of threads.* A thread whose only frame reaches its exit ends in that same step; `enforce` must still be
//!   satisfiable in the state in which it got there. `end_thread` removes the whole stack.
//! - *New threads.* A new thread appears only if fewer threads than the bound are alive, whatever the bound is;
//!   otherwise the step only moves control. When the thread appears, the `enforce` of its procedure must be
//!   satisfiable, and so must that of the thread that made the step; otherwise the step is impossible.
//! - *Passive variables.* An assignment of a thread in procedure `p` to `x$` affects every other thread that has a
//!   frame of `p`, and in each of them the topmost such frame. A condition of `constrain` with a passive read must be
//!   satisfiable for each of these threads on its own, and it holds if there is none.
//! - *The thread that holds the system.* If some thread holds the system, only that thread may make a step. At the
//!   start no thread holds it. After a step of thread `t`, the holder is determined by the first rule that applies:
//!   1. If `t` has ended, no thread holds the system.
//!   2. If the bottom frame of `t` was the prologue before the step, `t` holds the system if its bottom frame still is
//!      the prologue, and no thread holds it if `t` has entered `main`, whatever else the step did.
//!   3. If the program does not have the Getafix global `atomic`, `t` holds the system after `atomic_begin`, no thread
//!      holds it after `atomic_end`, and other steps do not change the holder.
//!   4. If the program has that global, `t` holds the system if and only if the global is true after the step, or the
//!      step is `atomic_begin`, or all of the following are true: `t` held the system before, the global was false
//!      before (so that an atomic section was the reason for holding it), and the step is not `atomic_end`.

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
mod thread_proof;
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

/// A verdict whose evidence was checked. Only [`certify`] and [`certify_net`] make one from a definite verdict.
#[derive(Clone, Debug)]
pub struct Certified<Proof = Certificate, Run = Trace> {
    verdict: Verdict<Proof, Run>,
}

impl<Proof, Run> Certified<Proof, Run> {
    /// The verdict `unknown`, which needs no evidence.
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

/// The reason why evidence was not accepted. A rejection always shows a bug in Cusp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(pub String);

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Rejection {}

/// Checks the evidence of a verdict. If the budget is used up before the check is complete, the result is the verdict
/// `unknown`: a verdict that was not checked is never certified.
///
/// # Errors
/// Says what is wrong with the evidence.
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
        Verdict::Safe(Certificate::Threads(proof)) => thread_proof::check(task, proof, budget),
    }
}

/// Why a check ended without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The evidence is wrong.
    Rejected(String),
    /// The budget is used up.
    Exhausted(Reason),
}

impl Stop {
    /// Adds the place of the problem in front of its description.
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

/// Ends the check if the budget is used up.
fn poll(budget: &Budget) -> Result<(), Stop> {
    budget.exhausted().map_or(Ok(()), |reason| Err(Stop::Exhausted(reason)))
}

/// The nodes that must not be reached: those with a label that the property forbids.
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
