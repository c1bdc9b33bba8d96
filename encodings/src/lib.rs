//! Hash-consed Boolean terms and everything that formulas go through on their way to a solver.
//!
//! The crate is pure: it contains no solver, knows nothing about programs, and does no input or output. Data goes
//! through its modules in this order:
//!
//! ```text
//! statements -> [state] guards and values -> [term] one shared graph
//!            -> [cnf]   clauses, incrementally, into any sink
//!            -> [qbf]   prefix + circuit or clauses, QCIR and QDIMACS text
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`term`] | [`TermArena`]: storage of nodes, hash-consing, rewrite rules, connectives |
//! | `cone` | [`TermArena::cone`], [`TermArena::support`]: what a term depends on |
//! | `evaluate` | [`TermArena::evaluate`], [`TermArena::simulate`] (64 assignments at once), [`Simulator`] for growing arenas |
//! | `substitute` | [`Substitution`], [`TermArena::rename_fresh`] |
//! | `print` | [`TermArena::show`]: the stable text form, for people and snapshots |
//! | [`cnf`] | [`CnfEncoder`]: Tseitin and Plaisted-Greenbaum with upgradeable polarity; [`ClauseSink`] |
//! | [`mod@qbf`] | [`Qcir`] and [`Qcnf`], readers and writers for their texts, and conversions between them |
//! | [`mod@state`] | [`SymbolicState`], [`PathEdge`]: strongest postconditions, merge, summaries, simple paths, inclusion |
//!
//! The types of literals, variables and clauses are those of rustsat and are re-exported here.
//!
//! Nothing here recurses on the depth of a formula: children have smaller numbers than their parents, so
//! a loop over the numbers, or an explicit stack, is enough.
//!
//! ```
//! use cusp_encodings::{ClauseList, CnfEncoder, CnfStyle, Polarity, TermArena};
//!
//! let mut arena = TermArena::new();
//! let (x, y) = (arena.fresh(), arena.fresh());
//! let differ = arena.xor(x, y);
//! let goal = arena.and(differ, !y);
//! assert_eq!(arena.show(&[goal]).to_string(), "x0 & !x1");
//!
//! let (mut encoder, mut clauses) = (CnfEncoder::new(CnfStyle::PlaistedGreenbaum), ClauseList::new());
//! let lit = encoder.encode(&arena, goal, Polarity::Positive, &mut clauses);
//! assert_eq!(lit.to_ipasir(), 3);
//! assert_eq!(clauses.to_string(), "p cnf 3 2\n-3 1 0\n-3 -2 0\n");
//! ```

pub mod cnf;
mod cone;
mod evaluate;
mod gate;
mod id;
mod print;
pub mod qbf;
pub mod state;
mod substitute;
pub mod term;
#[cfg(test)]
mod testing;

pub use cnf::{ClauseList, ClauseSink, CnfEncoder, CnfStyle, Polarity};
pub use evaluate::Simulator;
pub use print::Show;
pub use qbf::{Qcir, Qcnf, Quantifier};
pub use rustsat::types::{Clause, Lit, Var};
pub use state::{PathEdge, Slot, SymbolicState};
pub use substitute::{Renaming, Substitution};
pub use term::{Node, Term, TermArena, VarId};
