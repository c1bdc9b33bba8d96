//! What an engine answers, and what it shows for it.
//!
//! Evidence is plain data about the model. It can be checked without the engine that made it:
//! see [`crate::certify`].

pub mod certificate;
pub mod formula;
pub mod net;
pub mod text;
pub mod trace;

pub use certificate::{
    BlockCopy, Certificate, KInductive, PathEdge, Place, Relation, Relations, Site, SystemState, ThreadFrame,
    Unrolling, Witness,
};
pub use formula::{Formulas, Gate, Literal};
pub use net::{FiringSequence, NetCertificate, NetVerdict};
pub use trace::Trace;

pub use crate::reason::{Reason, Unknown};

/// Outcome of one engine on one task.
///
/// There is deliberately no "safe up to a bound": a bound that was reached without a proof is
/// [`Verdict::Unknown`], and says so.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Proved; the certificate can be checked without the engine.
    Safe(Certificate),
    /// Refuted; the trace can be replayed without the engine.
    Unsafe(Trace),
    /// Neither.
    Unknown(Unknown),
}

impl From<Reason> for Verdict {
    fn from(reason: Reason) -> Self {
        Self::Unknown(reason.into())
    }
}
