//! The kinds of questions that Cusp answers, and what counts as evidence for an answer.

use std::fmt::Debug;

use crate::evidence::{Certificate, FiringSequence, NetCertificate, Trace, Verdict};
use crate::model::Task;
use crate::model::control::Reach;
use crate::model::reduce::Keep;
use crate::net::Net;
use crate::net::reduce::Extent;

/// A kind of question.
pub trait Question: Sync {
    /// What shows that the answer is safe.
    type Proof: Clone + Debug + Send;
    /// What shows that the answer is unsafe.
    type Run: Clone + Debug + Send;
    /// How much of a question a reduction keeps, and so which evidence can be lifted from it.
    type Keep: Copy + Eq + Debug + Send + Sync;

    /// The answer to a question that needs no engine, because nothing in it could ever go wrong.
    fn without_search(&self) -> Option<VerdictOn<Self>>;
}

/// A verdict on this kind of question.
pub type VerdictOn<Q> = Verdict<<Q as Question>::Proof, <Q as Question>::Run>;

/// Can a program violate its property?
impl Question for Task {
    type Proof = Certificate;
    type Run = Trace;
    type Keep = Keep;

    fn without_search(&self) -> Option<Verdict> {
        let is_in_reach = Reach::of(self).violation_is_in_reach();
        (!is_in_reach).then_some(Verdict::Safe(Certificate::NoViolationInReach))
    }
}

/// Can a target of a net be covered?
impl Question for Net {
    type Proof = NetCertificate;
    type Run = FiringSequence;
    type Keep = Extent;

    fn without_search(&self) -> Option<VerdictOn<Self>> {
        None
    }
}
