//! The path to a certified number of threads: a net is read as threads, searched, and the evidence is checked.

use crate::budget::Budget;
use crate::certify::{CertifiedCutoff, Rejection, certify_cutoff, certify_net};
use crate::engines::Engine;
use crate::engines::cutoff::translate::thread_net;
use crate::engines::cutoff::{Patience, coverable, search};
use crate::engines::nets::mcov::Mcov;
use crate::evidence::NetVerdict;
use crate::evidence::cutoff::Found;
use crate::net::Net;
use crate::net::tts::NotATts;
use crate::progress::Progress;

/// The answer.
#[derive(Debug)]
pub struct Answer {
    /// The net whose tokens are the threads that were counted.
    pub threads: Net,
    /// What was found about them.
    pub certified: CertifiedCutoff,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// The net is no system of threads, and cannot be made one.
    NotThreads(NotATts),
    /// Evidence was rejected: a bug in Cusp.
    Rejected(Rejection),
}

/// Finds the least cutoff, or the fewest threads that cover a target, and checks it.
///
/// # Errors
/// If the net cannot be read as threads, or evidence was rejected.
pub fn cutoff(
    net: &Net,
    patience: Patience,
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<Answer, Failure> {
    let threads = thread_net(net).map_err(Failure::NotThreads)?;
    // The verdict is checked before the rounds begin: it stands even if they take all the time there is.
    let verdict = coverable(net, budget, progress);
    let mut verdict = certify_net(net, verdict, budget).map_err(Failure::Rejected)?;
    let evidence =
        search(&threads, verdict.verdict(), patience, budget, progress).map_err(Failure::NotThreads)?;
    if let (Found::Target(_), NetVerdict::Unknown(_)) = (&evidence.found, verdict.verdict()) {
        // The rounds know more; a net of threads is the net itself.
        if !threads.targets.is_empty() && net.has_threads() {
            let again = Mcov { alone: true, ..Mcov::default() }.run(net, budget, progress);
            verdict = certify_net(net, again, budget).map_err(Failure::Rejected)?;
        }
    }
    let certified = certify_cutoff(&threads, evidence, verdict, budget).map_err(Failure::Rejected)?;
    Ok(Answer { threads, certified })
}
