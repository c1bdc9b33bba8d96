//! The interface to SAT solvers.
//!
//! # State contract
//!
//! A solver is in one of four states. `solve` moves it to `Sat`, `Unsat` or `Unknown`; every other call that
//! takes `&mut self`, except [`SatSolver::share_interrupt`], moves it back to `Input`.
//!
//! | call | allowed in |
//! |---|---|
//! | `new_var`, `add_clause`, `set_phase`, `clear_phase`, `solve` | every state |
//! | `value` | `Sat` |
//! | `core` | `Unsat` |
//! | `num_vars`, `interrupt`, `statistics`, `name` | every state |
//!
//! Adapters check the contract with `debug_assert!`. In a release build a violation does no harm, but the returned
//! value has no meaning.

use std::time::Instant;

pub use cusp_encodings::ClauseSink;
pub use rustsat::types::{Lit, Var};
use thiserror::Error;

use crate::external_sat::ExternalFailure;
use crate::interrupt::Interrupt;
use crate::proof::ProofError;

/// An incremental SAT solver.
///
/// As a [`ClauseSink`] it receives clauses, which are permanent; repeated and complementary literals are allowed, and
/// so is the empty clause. A variable is created when it is first used in a clause, an assumption or a phase;
/// `new_var` returns one that was not used yet. Assumptions apply to one call of `solve`.
///
/// The [module documentation](self) has the state contract.
pub trait SatSolver: ClauseSink {
    /// The name used in reports.
    fn name(&self) -> &str;

    /// One more than the largest variable index in use.
    fn num_vars(&self) -> u32;

    /// Asks the search to try `lit` before its negation. This is a hint and never changes an answer.
    fn set_phase(&mut self, lit: Lit);

    /// Withdraws the hint of [`SatSolver::set_phase`] for `var`.
    fn clear_phase(&mut self, var: Var);

    /// Decides the clauses under `assumptions`, within `limits` and unless interrupted.
    fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer;

    /// Whether the model makes `lit` true. The model is total: a variable that no clause constrains has a
    /// value as well, and exactly one of `lit` and `!lit` is true.
    fn value(&self, lit: Lit) -> bool;

    /// Assumptions of the last call that are unsatisfiable together with the clauses. It is a subset of the
    /// assumptions as they were passed, not necessarily a minimal one.
    fn core(&self) -> &[Lit];

    /// The handle that stops a running or future `solve` from another thread.
    ///
    /// An interrupted `solve` returns [`UnknownReason::Interrupted`] within 100 ms; `benches/interrupt.rs`
    /// measures it. The request is sticky: later calls return at once until the interrupt is cleared.
    fn interrupt(&self) -> Interrupt;

    /// Replaces the solver's interrupt, so that one handle stops many solvers.
    fn share_interrupt(&mut self, interrupt: &Interrupt);

    /// The work done so far, over all calls.
    fn statistics(&self) -> Statistics;
}

/// The answer of a solver about a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is a model; read it with [`SatSolver::value`].
    Sat,
    /// There is no model under these assumptions; read the reason with [`SatSolver::core`].
    Unsat,
    /// Neither is known.
    Unknown(UnknownReason),
}

/// Why a solver did not decide.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnknownReason {
    /// An interrupt was requested.
    #[error("interrupted")]
    Interrupted,
    /// The deadline of the call has passed.
    #[error("the deadline has passed")]
    Deadline,
    /// The call reached its limit of conflicts.
    #[error("the limit of conflicts is reached")]
    ConflictLimit,
    /// The call reached its limit of decisions.
    #[error("the limit of decisions is reached")]
    DecisionLimit,
    /// The solver cannot count what the call limits, so it refuses the call rather than exceed the limit unknowingly.
    #[error("`{solver}` cannot limit conflicts or decisions")]
    LimitUnsupported {
        /// The name of the solver.
        solver: String,
    },
    /// The solver found no model, but its proof was not accepted.
    #[error("the proof of unsatisfiability is rejected: {0}")]
    UnverifiedUnsat(#[from] ProofError),
    /// An external program failed or gave a wrong answer.
    #[error(transparent)]
    External(#[from] ExternalFailure),
    /// The solver stopped without reaching a limit.
    #[error("the solver gave up")]
    GaveUp,
}

/// The limits of one call of `solve`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of conflicts.
    pub conflicts: Option<u64>,
    /// The largest number of decisions.
    pub decisions: Option<u64>,
    /// The time at which to stop.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// No limit at all.
    pub const NONE: Limits = Limits { conflicts: None, decisions: None, deadline: None };

    /// The reason why a call must stop now or must not start, apart from limits of conflicts and decisions.
    pub(crate) fn stop_reason(&self, interrupt: &Interrupt) -> Option<UnknownReason> {
        if interrupt.is_requested() {
            Some(UnknownReason::Interrupted)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(UnknownReason::Deadline)
        } else {
            None
        }
    }
}

/// The work of one solver since it was made.
///
/// Numbers that a solver does not know are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of calls of `solve`.
    pub solves: u64,
    /// The number of variables in use.
    pub variables: u64,
    /// The number of clauses added.
    pub clauses: u64,
    /// The number of conflicts.
    pub conflicts: u64,
    /// The number of decisions.
    pub decisions: u64,
    /// The number of propagated literals.
    pub propagations: u64,
    /// The number of proof steps that were checked.
    pub proof_steps: u64,
}

/// The state of an adapter in the state contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Input,
    Sat,
    Unsat,
    Unknown,
}

impl From<&Answer> for State {
    fn from(answer: &Answer) -> State {
        match answer {
            Answer::Sat => State::Sat,
            Answer::Unsat => State::Unsat,
            Answer::Unknown(_) => State::Unknown,
        }
    }
}

/// The smallest number of variables, at least `num_vars`, that includes those of `lits`.
pub(crate) fn raise_num_vars(num_vars: u32, lits: &[Lit]) -> u32 {
    lits.iter().map(|lit| lit.vidx32() + 1).fold(num_vars, u32::max)
}
