//! What the engines that compute summaries as formulas have in common: `summaries`, `universal` and `lazy`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`edge`] | a path edge or summary edge: a parametric set of pairs of states |
//! | [`tables`] | all edges found so far, by procedure and node, and the inclusion checks that keep them small |
//! | [`diagram`] | projection of an edge onto its interface, through a decision diagram |
//! | [`run`] | applying a block to an edge |
//! | [`saturate`] | the fix-point over all edges |
//! | [`nesting`] | how deep the calls of a recursive component have to be nested |
//! | [`sat`] | one SAT question at a time |
//! | [`reconstruct`] | from a violated edge back to a run |
//! | [`export`] | edges as a certificate |
//!
//! Blocks, scopes and the way from models to runs are in [`crate::symbolic`], because other engines use them, too.

pub mod diagram;
pub mod edge;
pub mod export;
pub mod nesting;
pub mod reconstruct;
pub mod run;
pub mod sat;
pub mod saturate;
pub mod tables;
