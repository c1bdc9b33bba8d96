//! Verdicts of engines, and the evidence for them: certificates and traces.
//!
//! Evidence is plain data about the model. It can be checked without the engine that made it:
//! see [`crate::certify`].

pub mod certificate;
pub mod cutoff;
pub mod formula;
pub mod net;
pub mod text;
pub mod threads;
pub mod trace;

pub use certificate::{
    BlockCopy, Certificate, KInductive, PathEdge, Place, Relation, Relations, Site, SystemState, ThreadFrame,
    Unrolling, Witness,
};
pub use cutoff::CutoffEvidence;
pub use formula::{Formulas, Gate, Literal};
pub use net::{FiringSequence, NetCertificate, NetVerdict};
pub use threads::{ThreadInvariant, ThreadProof};
pub use trace::Trace;

pub use crate::reason::{Reason, Unknown};

/// What an engine says about one question.
///
/// There is deliberately no "safe up to a bound": a bound that was reached without a proof is
/// [`Verdict::Unknown`], with the bound as the reason.
#[derive(Clone, Debug)]
pub enum Verdict<Proof = Certificate, Run = Trace> {
    /// Proved; the certificate can be checked without the engine.
    Safe(Proof),
    /// Refuted; the run can be replayed without the engine.
    Unsafe(Run),
    /// Neither proved nor refuted.
    Unknown(Unknown),
}

impl<Proof, Run> Verdict<Proof, Run> {
    /// `safe`, `unsafe` or `unknown`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Safe(_) => "safe",
            Self::Unsafe(_) => "unsafe",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Whether it is an answer: safe or unsafe.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

impl<Proof, Run> From<Reason> for Verdict<Proof, Run> {
    fn from(reason: Reason) -> Self {
        Self::Unknown(reason.into())
    }
}
