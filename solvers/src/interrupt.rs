//! Stopping a solver from another thread.
//!
//! Invariant (sticky): a requested interrupt stays requested until it is cleared, so a request that arrives between
//! two calls of `solve` is never lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle that asks every solver it is shared with to stop.
///
/// Clones are the same interrupt. A [child](Interrupt::child) also stops when its parent does, but not the other way
/// round: a race gives its solvers child interrupts and stops the loser without affecting the engine around it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    requested: AtomicBool,
    parent: Option<Interrupt>,
}

impl Interrupt {
    /// An interrupt that has not been requested.
    #[must_use]
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// A new interrupt that counts as requested also whenever `self` is requested.
    #[must_use]
    pub fn child(&self) -> Interrupt {
        Interrupt {
            shared: Arc::new(Shared { requested: AtomicBool::new(false), parent: Some(self.clone()) }),
        }
    }

    /// Asks to stop. May be called from any thread, any number of times.
    pub fn request(&self) {
        self.shared.requested.store(true, Ordering::Release);
    }

    /// Withdraws a request made through this handle or its clones; a request of a parent stays.
    pub fn clear(&self) {
        self.shared.requested.store(false, Ordering::Release);
    }

    /// Whether this interrupt or one of its ancestors was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        let mut current = Some(self);
        while let Some(interrupt) = current {
            if interrupt.shared.requested.load(Ordering::Acquire) {
                return true;
            }
            current = interrupt.shared.parent.as_ref();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Interrupt;

    #[test]
    fn clones_share_one_request() {
        let interrupt = Interrupt::new();
        let clone = interrupt.clone();
        clone.request();
        assert!(interrupt.is_requested());
        interrupt.clear();
        assert!(!clone.is_requested());
    }

    #[test]
    fn a_child_follows_its_parent_but_not_the_other_way_round() {
        let parent = Interrupt::new();
        let (left, right) = (parent.child(), parent.child());
        left.request();
        assert!(!parent.is_requested() && !right.is_requested());
        parent.request();
        left.clear();
        assert!(left.is_requested() && right.is_requested());
    }

    #[test]
    fn handles_travel_between_threads() {
        fn is_send_and_sync<T: Send + Sync + Clone + 'static>() {}
        is_send_and_sync::<Interrupt>();
    }
}
