//! A model checker for Boolean programs and for systems of arbitrarily many threads.
//!
//! One path of data, in reading order; each arrow is one module:
//!
//! ```text
//! text -> [syntax] tree -> [resolve] names -> [model] control-flow graphs
//! text -> [net] places and transitions
//!      -> [engines] verdict + evidence -> [certify] checked verdict -> [report] text, JSON
//! ```
//!
//! [`check`] is that path in one function. [`evidence`] is what engines answer with, helped by [`witnesses`]; `report` takes
//! nothing that `certify` has not checked, and `certify` shares no code with the engines. The
//! formula core that engines are phrased in lives in the crates `cusp-encodings` and
//! `cusp-solvers`; [`witnesses`] helps engines to make formulas that are easy to check.

#[macro_use]
pub mod ids;
pub mod budget;
pub mod certify;
pub mod check;
pub mod cli;
pub mod cover;
pub mod cutoff;
pub mod decide_cutoff;
pub mod decide_net;
pub mod diagnostic;
pub mod engines;
pub mod evidence;
pub mod lift;
pub mod model;
pub mod net;
pub mod portfolio;
pub mod progress;
pub mod report;
pub mod resolve;
pub mod source;
pub mod syntax;
pub mod witnesses;
