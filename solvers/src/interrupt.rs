//! Stopping a solver from another thread.
//!
//! Invariant (sticky): a requested interrupt stays requested until it is cleared, so a request that arrives between
//! two calls of `solve` is never lost.

use std::fmt;
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

#[derive(Default)]
struct Shared {
    requested: AtomicBool,
    parent: Option<Interrupt>,
    /// Asked whenever somebody wants to know.
    also: Option<Box<Question>>,
}

/// A question whose answer may be that solvers have to stop.
type Question = dyn Fn() -> bool + Send + Sync;

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, parent, also: _ } = self;
        f.debug_struct("Shared").field("requested", requested).field("parent", parent).finish_non_exhaustive()
    }
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
        Interrupt { shared: Arc::new(Shared { parent: Some(self.clone()), ..Shared::default() }) }
    }

    /// An interrupt that counts as requested also whenever this question is answered with yes. Solvers ask it often,
    /// so it has to be answered quickly.
    #[must_use]
    pub fn asking(question: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt { shared: Arc::new(Shared { also: Some(Box::new(question)), ..Shared::default() }) }
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
            let Shared { requested, also, .. } = &*interrupt.shared;
            if requested.load(Ordering::Acquire) || also.as_ref().is_some_and(|question| question()) {
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
    fn a_question_is_asked_through_children() {
        let answer = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let asked = std::sync::Arc::clone(&answer);
        let child = Interrupt::asking(move || asked.load(std::sync::atomic::Ordering::Relaxed)).child();
        assert!(!child.is_requested());
        answer.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(child.is_requested());
    }

    #[test]
    fn handles_travel_between_threads() {
        fn is_send_and_sync<T: Send + Sync + Clone + 'static>() {}
        is_send_and_sync::<Interrupt>();
    }
}
