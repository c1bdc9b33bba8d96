//! Forall-exists queries: the trait of their solvers, their answers and certificates.
//!
//! A [`Question`] asks whether for all values of its universal variables there are values of its existential
//! variables that make a term true. Inclusion of parametric sets is such a query; see [`crate::inclusion`].
//!
//! ```text
//! verify    re-checks an answer with a fresh SAT solver and fresh clauses
//! embedded  counterexample-guided, with functional witnesses
//! external  any program that reads QDIMACS
//! race      two solvers side by side
//! ```
//!
//! # Certificates
//!
//! True: vectors `t1 .. tk` of terms over the universal variables, one term for each existential variable, such that
//! for all universal values at least one of them is a witness: `not M(x, t1(x)) & .. & not M(x, tk(x))` has no model.
//! False: values `x*` such that `M(x*, y)` has no model. Checking either takes one SAT call in [`verify()`].

pub mod embedded;
pub mod external;
mod point;
pub mod race;
mod scratch;
mod search;
mod shape;
pub mod verify;
mod witness;

use cusp_encodings::{Term, TermArena, VarId};

pub use self::embedded::Embedded;
pub use self::external::ExternalQbf;
pub use self::race::Race;
pub(crate) use self::scratch::copy_terms;
pub use self::verify::{CertificateError, Proofs, verify};
use crate::interrupt::Interrupt;
use crate::sat::{Limits, UnknownReason};

/// Asks whether for all `universal` variables there are `existential` ones such that `matrix` is true.
///
/// Every variable of the matrix is in exactly one of the two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The variables of the outer block.
    pub universal: Vec<VarId>,
    /// The variables of the inner block.
    pub existential: Vec<VarId>,
    /// The term that is to be made true.
    pub matrix: Term,
}

/// The answer of a solver to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QbfAnswer {
    /// It is true. A solver that cannot give certificates gives no witness; then the answer is a claim that cannot be
    /// checked.
    True(Option<Witness>),
    /// It is false.
    False(Counterexample),
    /// Neither is known.
    Unknown(UnknownReason),
}

/// Why a question is true: for all universal values, one of the vectors makes the matrix true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// For each vector, one term over the universal variables for each existential variable, in their order.
    pub vectors: Vec<Vec<Term>>,
}

/// Why a question is false: for these universal values, no existential values make the matrix true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// One value for each universal variable, in their order.
    pub values: Vec<bool>,
}

/// A solver for forall-exists questions.
///
/// Contract: an answer is never guessed. `False` always has its counterexample, and `True` its witness if the solver
/// can give one; whatever goes wrong is `Unknown` with a reason. The same calls in the same order give the same
/// answers, including certificates, unless a deadline or an interrupt stops the solver.
pub trait QbfSolver {
    /// The name used in reports.
    fn name(&self) -> &str;

    /// Decides `question` within `limits`, which are for the whole call, and unless interrupted. The terms of a
    /// witness are made in `arena`.
    ///
    /// # Panics
    /// Panics if the matrix has a variable that is not in the question.
    fn solve(&mut self, arena: &mut TermArena, question: &Question, limits: &Limits) -> QbfAnswer;

    /// The handle that stops a running or future `solve` from another thread, within 100 ms.
    fn interrupt(&self) -> Interrupt;

    /// Replaces the solver's interrupt, so that one handle stops many solvers.
    fn share_interrupt(&mut self, interrupt: &Interrupt);

    /// The work done so far, over all calls.
    fn statistics(&self) -> QbfStatistics;
}

/// The work of one solver since it was made. Numbers that a solver does not know are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QbfStatistics {
    /// The number of calls of `solve`.
    pub solves: u64,
    /// The number of questions answered with true.
    pub trues: u64,
    /// The number of questions answered with false.
    pub falses: u64,
    /// The number of candidates for a counterexample that had a witness.
    pub refinements: u64,
    /// The number of refinements by terms that were derived from the structure of both sides, without a SAT solver.
    pub structural: u64,
    /// The number of refinements by terms that are not all constant.
    pub functional: u64,
    /// The number of calls of a SAT solver.
    pub sat_calls: u64,
    /// The number of conflicts of the SAT solvers.
    pub conflicts: u64,
}
