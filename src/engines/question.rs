//! The kinds of questions that Cusp answers, and the types of the evidence for the answers.

use std::fmt::Debug;

use crate::evidence::{Certificate, FiringSequence, NetCertificate, Trace, Verdict};
use crate::model::Task;
use crate::model::control::Reach;
use crate::model::reduce::Keep;
use crate::net::Net;
use crate::net::reduce::Extent;

/// A kind of question that engines decide.
pub trait Question: Sync {
    /// Evidence for the answer safe.
    type Proof: Clone + Debug + Send;
    /// Evidence for the answer unsafe.
    type Run: Clone + Debug + Send;
    /// Says how much of a question a reduction keeps. This determines which evidence can be lifted from the reduced
    /// question.
    type Keep: Copy + Eq + Debug + Send + Sync;

    /// The answer to a question that needs no search, because no violation can be reached whatever the data; `None`
    /// if an engine has to search.
    fn without_search(&self) -> Option<VerdictOn<Self>>;
}

/// A verdict with the evidence types of this kind of question.
pub type VerdictOn<Q> = Verdict<<Q as Question>::Proof, <Q as Question>::Run>;

/// The question whether a program can violate its property.
impl Question for Task {
    type Proof = Certificate;
    type Run = Trace;
    type Keep = Keep;

    fn without_search(&self) -> Option<Verdict> {
        let is_in_reach = Reach::of(self).violation_is_in_reach();
        (!is_in_reach).then_some(Verdict::Safe(Certificate::NoViolationInReach))
    }
}

/// The question whether some target of a net can be covered.
impl Question for Net {
    type Proof = NetCertificate;
    type Run = FiringSequence;
    type Keep = Extent;

    fn without_search(&self) -> Option<VerdictOn<Self>> {
        None
    }
}
