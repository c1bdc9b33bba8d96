//! Code shared by the engines that compute summaries as formulas: `summaries`, `universal` and `lazy`.
//!
//! | module | contents |
//! |---|---|
//! | [`edge`] | a path edge or summary edge: a parametric set of pairs of states |
//! | [`tables`] | all edges found so far, by procedure and node, and the inclusion checks that keep them small |
//! | [`diagram`] | projection of an edge onto its interface, through a decision diagram |
//! | [`run`] | applying a block to an edge |
//! | [`saturate`] | the fix-point over all edges |
//! | [`nesting`] | a bound on the useful nesting depth of calls in a recursive component |
//! | [`sat`] | single SAT questions, each with its own solver |
//! | [`reconstruct`] | building a run from a violated edge backwards |
//! | [`export`] | turning edges into a certificate |
//!
//! Blocks, scopes and the construction of runs from models are in [`crate::symbolic`], because other engines use
//! them, too.

pub mod diagram;
pub mod edge;
pub mod export;
pub mod nesting;
pub mod reconstruct;
pub mod run;
pub mod sat;
pub mod saturate;
pub mod tables;
