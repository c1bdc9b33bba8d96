//! Hash-consed Boolean terms and everything that formulas go through on their way to a solver.
//!
//! Pure: no solver, no program, no input or output. One path of data, in reading order; each arrow is one
//! module:
//!
//! ```text
//! guards and values [state] -> [term] one shared graph
//!                           -> [cnf]  clauses, incrementally, into any sink
//!                           -> [qbf]  forall-exists formulas in clauses, as QDIMACS text
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`term`] | [`TermArena`]: nodes in pages, hash-consing behind one door, rewrite rules, connectives |
//! | `cone` | [`TermArena::cone`], [`TermArena::support`]: what a term depends on |
//! | `evaluate` | [`TermArena::evaluate`], [`TermArena::simulate`] (64 ways), [`random_word`] |
//! | `substitute` | [`Substitution`] |
//! | [`cnf`] | [`CnfEncoder`]: Tseitin and Plaisted-Greenbaum with upgradeable polarity; [`ClauseSink`] |
//! | [`mod@qbf`] | [`Qcnf`]: forall-exists formulas in clauses, printed as QDIMACS |
//! | [`mod@state`] | [`SymbolicState`]: sets in parametric form, and their union |
//!
//! Literals, variables and clauses are rustsat's, re-exported here.
//!
//! Nothing here recurses on the depth of a formula: children have smaller numbers than their parents, so
//! loops over numbers (or an explicit stack) do.
//!
//! ```
//! use cusp_encodings::{ClauseList, CnfEncoder, CnfStyle, Polarity, TermArena};
//!
//! let mut arena = TermArena::new();
//! let (x, y) = (arena.fresh(), arena.fresh());
//! let differ = arena.xor(x, y);
//! let goal = arena.and(differ, !y);
//! assert_eq!(goal, arena.and(x, !y));
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
pub mod qbf;
pub mod state;
mod substitute;
pub mod term;
#[cfg(test)]
mod testing;

pub use cnf::{ClauseList, ClauseSink, CnfEncoder, CnfStyle, Polarity};
pub use evaluate::random_word;
pub use qbf::Qcnf;
pub use rustsat::types::{Clause, Lit, Var};
pub use state::SymbolicState;
pub use substitute::Substitution;
pub use term::{Node, Term, TermArena, VarId};
