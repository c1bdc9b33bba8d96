//! Programs as formulas: what the engines that ask SAT solvers have in common.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scope`] | which variables a procedure has to do with, and its interface to callers |
//! | `values` | vectors of terms that share what they have in common |
//! | `expression` | expressions as terms |
//! | [`block`] | the loop-free code from one cut to the next ones as one formula, calls left open |
//! | [`template`] | a block with the meaning of its variables |
//! | [`nesting`] | how deep the calls of a recursive component have to be nested |
//! | [`walk`] | the run through a block that a model describes |
//! | [`trace`] | from the edges of runs and the values that matter to a shared call tree |
//! | [`shorten`] | shorter traces, by solving again |

pub mod block;
pub mod calls;
pub mod diagram;
pub mod edge;
pub mod export;
mod expression;
pub mod nesting;
pub mod reconstruct;
pub mod run;
pub mod sat;
pub mod saturate;
pub mod scope;
pub mod shorten;
pub mod tables;
pub mod template;
pub mod trace;
pub(super) mod values;
pub mod walk;
