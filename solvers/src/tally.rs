//! What the solvers of a run did, counted from any thread.

use std::fmt::Display;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one solver did. Shared by all of its instances in a run.
#[derive(Debug, Default)]
pub struct Tally {
    answers: AtomicU64,
    claims: AtomicU64,
    failures: AtomicU64,
    last_failure: Mutex<Option<String>>,
}

impl Tally {
    /// A question was answered.
    pub fn count_answer(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer that nobody could check was used.
    pub fn count_claim(&self) {
        self.claims.fetch_add(1, Ordering::Relaxed);
    }

    /// A question was not answered, and not because a limit was reached.
    pub fn count_failure(&self, why: &dyn Display) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_string());
    }

    /// Questions that were answered.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Answers that were used although nobody could check them.
    #[must_use]
    pub fn claims(&self) -> u64 {
        self.claims.load(Ordering::Relaxed)
    }

    /// Questions that the solver failed to answer.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Why the last one failed.
    #[must_use]
    pub fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
