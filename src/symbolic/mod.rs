//! Programs as formulas: the code that is shared by everything that uses SAT solvers to reason about programs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scope`] | the variables that matter to a procedure, and its interface to callers |
//! | [`values`] | vectors of terms that share what they have in common |
//! | [`expression`] | expressions as terms |
//! | [`block`] | the loop-free code from one cut point to the next ones as one formula, with calls left open |
//! | [`template`] | a block together with the meaning of its variables |
//! | [`walk`] | the path through a block that a model of its formula describes |
//! | [`trace`] | from paths and the values that matter to a shared call tree |

pub mod block;
pub mod expression;
pub mod scope;
pub mod template;
pub mod trace;
pub mod values;
pub mod walk;
