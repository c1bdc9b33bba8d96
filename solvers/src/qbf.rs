//! Forall-exists questions: the trait of their solvers, answers and certificates.
//!
//! A [`Question`] asks whether for all values of its universal variables there are values of its existential
//! ones that make a term true. Inclusion of parametric sets is of this kind; see [`crate::inclusion`].
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
//! True: vectors `t1 .. tk` of terms over the universal variables, one term per existential variable, such
//! that everywhere at least one of them is a witness: `not M(x, t1(x)) & .. & not M(x, tk(x))` has no model.
//! False: values `x*` such that `M(x*, y)` has no model. Either is one SAT call for [`verify()`].

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

/// Is it true that for all `universal` there are `existential` such that `matrix`?
///
/// Every variable of the matrix is in one of the two lists, none in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The variables of the outer block.
    pub universal: Vec<VarId>,
    /// The variables of the inner block.
    pub existential: Vec<VarId>,
    /// What is to be made true.
    pub matrix: Term,
}

/// What a solver says about a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QbfAnswer {
    /// It is true. A solver without certificates gives none; then this is a claim, and nobody can check it.
    True(Option<Witness>),
    /// It is false.
    False(Counterexample),
    /// Neither is known.
    Unknown(UnknownReason),
}

/// Why a question is true: everywhere one of the vectors makes the matrix true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// Per vector one term over the universal variables for each existential variable, in their order.
    pub vectors: Vec<Vec<Term>>,
}

/// Why a question is false: here no existential values make the matrix true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// One value per universal variable, in their order.
    pub values: Vec<bool>,
}

/// A solver for forall-exists questions.
///
/// Contract: an answer is never guessed. `False` always carries its counterexample, `True` its witness if the
/// solver can give one; whatever goes wrong is `Unknown` with a reason. The same calls in the same order give
/// the same answers, certificates included, unless a deadline or an interrupt cuts in.
pub trait QbfSolver {
    /// The name used in reports.
    fn name(&self) -> &str;

    /// Decides `question` within `limits`, which count over the whole call, and until interrupted. The terms of
    /// a witness are made in `arena`.
    ///
    /// # Panics
    /// If the matrix has a variable that is not in the question.
    fn solve(&mut self, arena: &mut TermArena, question: &Question, limits: &Limits) -> QbfAnswer;

    /// The handle that stops a running or future `solve` from another thread, within 100 ms.
    fn interrupt(&self) -> Interrupt;

    /// Replaces the solver's interrupt, so that one handle stops many solvers.
    fn share_interrupt(&mut self, interrupt: &Interrupt);

    /// Work done so far, over all calls.
    fn statistics(&self) -> QbfStatistics;
}

/// Work of one solver since it was made. A solver that does not know a number leaves it at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QbfStatistics {
    /// Calls of `solve`.
    pub solves: u64,
    /// Questions answered with true.
    pub trues: u64,
    /// Questions answered with false.
    pub falses: u64,
    /// Candidates for a counterexample that had a witness.
    pub refinements: u64,
    /// Refinements by the terms that the shapes of both sides suggest, without help of a SAT solver.
    pub structural: u64,
    /// Refinements by terms, of which not all are constants.
    pub functional: u64,
    /// Calls of a SAT solver.
    pub sat_calls: u64,
    /// Conflicts of the SAT solvers.
    pub conflicts: u64,
}
