//! Counts what the solvers of a run did, from any thread.

use std::fmt::Display;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one solver, shared by all of its instances in a run.
#[derive(Debug, Default)]
pub struct Tally {
    answers: AtomicU64,
    claims: AtomicU64,
    failures: AtomicU64,
    last_failure: Mutex<Option<String>>,
}

impl Tally {
    /// Counts a query that was answered.
    pub fn count_answer(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer that was used although it could not be checked.
    pub fn count_claim(&self) {
        self.claims.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a query that was not answered, for a reason other than a limit.
    pub fn count_failure(&self, why: &dyn Display) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_string());
    }

    /// The number of queries that were answered.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// The number of answers that were used although they could not be checked.
    #[must_use]
    pub fn claims(&self) -> u64 {
        self.claims.load(Ordering::Relaxed)
    }

    /// The number of queries that the solver failed to answer.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The reason of the last failure.
    #[must_use]
    pub fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
