//! A model checker for Boolean programs and for systems of arbitrarily many threads.
#[macro_use]
pub mod ids;
pub mod budget;
pub mod certify;
pub mod check;
pub mod cli;
pub mod diagnostic;
pub mod engines;
pub mod evidence;
pub mod model;
pub mod progress;
pub mod report;
pub mod resolve;
pub mod source;
pub mod syntax;
