//! A model checker for Boolean programs and for systems of arbitrarily many threads.
//!
//! To use Cusp as a library, begin with [`embed`]: one function decides a program, a builder adds options.
//!
//! One path of data, in reading order:
//!
//! ```text
//! text -> [syntax] tree -> [resolve] names -> [lower] control-flow graphs of the [model]
//! text -> [net] places and transitions
//!      -> [pipeline] reduce -> [engines] verdict + evidence -> [lift] -> [certify] checked verdict -> [shorten]
//!      -> [report] text, JSON
//! ```
//!
//! [`check`] and [`cover`] read texts and put questions; [`pipeline`] owns everything between a question and its
//! certified answer, for programs and nets alike. [`evidence`] is what engines answer with. `report` takes nothing that
//! [`certify`] has not checked, and `certify` shares no code with the engines. [`symbolic`] is what engines that ask SAT
//! solvers share: programs as formulas. The formula core itself lives in the crates `cusp-encodings` and `cusp-solvers`.
//! Decisions about the semantics, and errors in the papers that the engines come from, are numbered in [`errata`].

#[macro_use]
pub mod ids;
pub mod budget;
pub mod certify;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod cover;
pub mod diagnostic;
pub mod embed;
pub mod engines;
pub mod errata;
pub mod evidence;
pub mod lift;
pub mod lower;
pub mod model;
pub mod net;
pub mod pipeline;
pub mod progress;
pub mod reason;
pub mod report;
pub mod resolve;
pub mod shorten;
pub mod source;
pub mod symbolic;
pub mod syntax;
pub mod threads;

pub use embed::check_str;
