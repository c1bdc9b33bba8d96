//! Linear relaxations of nets. They prove that certain markings cannot be covered, by any order of firings.

pub mod exclusions;
pub mod relaxation;
pub mod simplex;

pub use crate::net::signs::Signs;
pub use exclusions::{Exclusions, violates};
pub use relaxation::Relaxation;
