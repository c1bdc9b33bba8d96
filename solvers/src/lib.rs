//! SAT and QBF solvers behind two narrow traits.
//!
//! Engines and encodings use [`SatSolver`] and [`Inclusion`]; which solver is behind them is decided where they are
//! made. [`Solvers`] makes them according to the user's choice.
//!
//! ```text
//! solvers      the solvers that a run uses: the user's choice, and statistics
//! installed    the solvers of this machine, for `cusp solvers`
//! tally        counters of what one solver did in a run
//! sat          the trait, its answers, limits and state contract
//! interrupt    stopping a solver from another thread
//! cadical      CaDiCaL in this process, the default solver of every engine
//! proof        a small checker for CaDiCaL's proofs, for `--check-proofs`
//! external_sat external programs that read DIMACS
//! qbf          forall-exists questions: the trait, certificates, the embedded solver
//! inclusion    whether one parametric set of states is included in another; several methods, cheapest first
//! process      child processes, bounded and always reaped, for all external programs
//! version      the versions of external programs
//! ```
//!
//! ```
//! use cusp_solvers::{Answer, CadicalSolver, ClauseSink, Limits, SatSolver};
//!
//! let mut solver = CadicalSolver::new();
//! let (x, y) = (solver.new_var().pos_lit(), solver.new_var().pos_lit());
//! solver.add_clause(&[!x, y]);
//! assert_eq!(solver.solve(&[x], &Limits::NONE), Answer::Sat);
//! assert!(solver.value(y));
//! assert_eq!(solver.solve(&[x, !y], &Limits::NONE), Answer::Unsat);
//! assert_eq!(solver.core().len(), 2);
//! ```
//!
//! # Guarantees
//!
//! - An answer is never guessed: whatever goes wrong, a solver answers [`Answer::Unknown`] with a
//!   [reason](UnknownReason).
//! - Every adapter passes one conformance suite, `tests/solvers/conformance.rs`; a new adapter adds one line.
//! - A model of an external program is checked before it is used. Its answer "unsatisfiable" is confirmed, or counted
//!   as a claim that was not checked.
//! - Nothing is printed, and no thread and no child process outlives the call that started it.
//!
//! # Traps
//!
//! - CaDiCaL reads its options from environment variables `CADICAL_<OPTION>` when a solver is made.
//! - CaDiCaL ends the whole process when memory runs out, so a memory limit must be watched from outside.
//! - A [`CadicalSolver`] cannot move to another thread; make it where it is used and share its [`Interrupt`].
//! - Changing a build profile of the dependencies compiles CaDiCaL again, which takes minutes.

pub mod cadical;
pub mod external_sat;
pub mod inclusion;
pub mod installed;
pub mod interrupt;
pub mod process;
pub mod proof;
pub mod qbf;
pub mod sat;
pub mod solvers;
pub mod tally;
pub mod version;

pub use crate::cadical::CadicalSolver;
pub use crate::external_sat::ExternalSat;
pub use crate::inclusion::{Inclusion, InclusionAnswer};
pub use crate::interrupt::{FinishLine, Interrupt};
pub use crate::process::Program;
pub use crate::qbf::{Embedded, ExternalQbf, QbfAnswer, QbfSolver, Question, Race};
pub use crate::sat::{Answer, ClauseSink, Limits, SatSolver, Statistics, UnknownReason};
pub use crate::solvers::{Choice, QbfChoice, SatChoice, Solvers};
pub use crate::tally::Tally;
