//! Linear relaxations of nets: which markings cannot be covered, whatever the order of firings.

pub mod exclusions;
pub mod relaxation;
pub mod simplex;

pub use crate::net::signs::Signs;
pub use exclusions::{Exclusions, violates};
pub use relaxation::Relaxation;
