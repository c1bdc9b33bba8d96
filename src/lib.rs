//! A model checker for Boolean programs and for systems of arbitrarily many threads.
#[macro_use]
pub mod ids;
pub mod diagnostic;
pub mod model;
pub mod resolve;
pub mod source;
pub mod syntax;
