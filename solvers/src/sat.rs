//! The narrow interface to SAT solvers.
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
//! Adapters check the contract with `debug_assert!`. In a release build a violation is harmless, but what it
//! returns means nothing.

use std::time::Instant;

pub use cusp_encodings::ClauseSink;
pub use rustsat::types::{Lit, Var};
use thiserror::Error;

use crate::external_sat::ExternalFailure;
use crate::interrupt::Interrupt;
use crate::proof::ProofError;

/// An incremental SAT solver.
///
/// As a [`ClauseSink`] it receives clauses, which stay for good; repeated and complementary literals are allowed,
/// and so is the empty clause. Variables come into being when they are first used, in a clause, an assumption or
/// a phase; `new_var` hands out one that nobody has used yet. Assumptions hold for one call of `solve`.
///
/// See the [module documentation](self) for the state contract.
pub trait SatSolver: ClauseSink {
    /// The name used in reports.
    fn name(&self) -> &str;

    /// One more than the largest variable index in use.
    fn num_vars(&self) -> u32;

    /// Asks the search to try `lit` before its negation. A hint: it never changes an answer.
    fn set_phase(&mut self, lit: Lit);

    /// Takes back the hint of [`SatSolver::set_phase`] for `var`.
    fn clear_phase(&mut self, var: Var);

    /// Decides the clauses under `assumptions`, within `limits` and until interrupted.
    fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Answer;

    /// Whether the model makes `lit` true. The model is total: a variable that no clause constrains has a
    /// value as well, and exactly one of `lit` and `!lit` is true.
    fn value(&self, lit: Lit) -> bool;

    /// Assumptions of the last call that cannot hold together with the clauses. A subset of the assumptions as
    /// they were passed, not necessarily a minimal one.
    fn core(&self) -> &[Lit];

    /// The handle that stops a running or future `solve` from another thread.
    ///
    /// An interrupted `solve` returns [`UnknownReason::Interrupted`] within 100 ms; `benches/interrupt.rs`
    /// measures it. The request is sticky: later calls return at once until the interrupt is cleared.
    fn interrupt(&self) -> Interrupt;

    /// Replaces the solver's interrupt, so that one handle stops many solvers.
    fn share_interrupt(&mut self, interrupt: &Interrupt);

    /// Work done so far, over all calls.
    fn statistics(&self) -> Statistics;
}

/// What a solver says about a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is a model; read it with [`SatSolver::value`].
    Sat,
    /// There is none under these assumptions; read the reason with [`SatSolver::core`].
    Unsat,
    /// Neither is known.
    Unknown(UnknownReason),
}

/// Why a solver did not decide.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnknownReason {
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The deadline of the call has passed.
    #[error("the deadline has passed")]
    Deadline,
    /// The call used up its conflicts.
    #[error("the limit of conflicts is reached")]
    ConflictLimit,
    /// The call used up its decisions.
    #[error("the limit of decisions is reached")]
    DecisionLimit,
    /// This solver cannot count what the call wants limited, and will not exceed a limit unknowingly.
    #[error("`{solver}` cannot limit conflicts or decisions")]
    LimitUnsupported {
        /// Name of the solver.
        solver: String,
    },
    /// The solver found no model, but its proof was not accepted.
    #[error("the proof of unsatisfiability is rejected: {0}")]
    UnverifiedUnsat(#[from] ProofError),
    /// An external program failed or was caught lying.
    #[error(transparent)]
    External(#[from] ExternalFailure),
    /// The solver stopped of its own accord.
    #[error("the solver gave up")]
    GaveUp,
}

/// How much work one call of `solve` may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most conflicts.
    pub conflicts: Option<u64>,
    /// Most decisions.
    pub decisions: Option<u64>,
    /// When to stop.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// No limit at all.
    pub const NONE: Limits = Limits { conflicts: None, decisions: None, deadline: None };

    /// Why a call must not go on, or not even start, whatever work it has done.
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

/// Work of one solver since it was made.
///
/// A solver that does not know a number leaves it at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Calls of `solve`.
    pub solves: u64,
    /// Variables in use.
    pub variables: u64,
    /// Clauses added.
    pub clauses: u64,
    /// Conflicts.
    pub conflicts: u64,
    /// Decisions.
    pub decisions: u64,
    /// Propagated literals.
    pub propagations: u64,
    /// Proof steps that were checked.
    pub proof_steps: u64,
}

/// Where an adapter stands in the state contract.
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

/// The smallest number of variables that covers `lits` as well.
pub(crate) fn raise_num_vars(num_vars: u32, lits: &[Lit]) -> u32 {
    lits.iter().map(|lit| lit.vidx32() + 1).fold(num_vars, u32::max)
}
