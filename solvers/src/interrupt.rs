//! Stopping a solver from another thread.
//!
//! Invariant (sticky): a requested interrupt stays requested until it is cleared, so a request that arrives between
//! two calls of `solve` is never lost.
//!
//! # Races that do not depend on time
//!
//! Engines that race count their work in units that have nothing to do with time: see [`Interrupt::spend`]. The
//! [`FinishLine`] of a race is the least work after which somebody has an answer. Who has done more cannot win any
//! more, and is stopped; everybody else goes on. So whoever gets by with the least work wins, however the threads are
//! scheduled.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    meter: Option<Meter>,
}

/// A question whose answer may be that solvers have to stop.
type Question = dyn Fn() -> bool + Send + Sync;

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, parent, also: _, meter } = self;
        let mut shown = f.debug_struct("Shared");
        shown
            .field("requested", requested)
            .field("parent", parent)
            .field("meter", meter)
            .finish_non_exhaustive()
    }
}

/// The work of one racer.
#[derive(Debug)]
struct Meter {
    spent: AtomicU64,
    /// Decides between racers that did the same work: the lower one wins.
    rank: u64,
    line: FinishLine,
}

impl Meter {
    /// Work and rank in one number, in the order in which racers win.
    fn place(&self) -> u64 {
        self.spent.load(Ordering::Acquire).saturating_mul(FinishLine::RANKS).saturating_add(self.rank)
    }

    fn is_beaten(&self) -> bool {
        self.place() > self.line.best.load(Ordering::Acquire)
    }
}

/// Where a race ends: the best place that an answer has got so far. Clones are the same line.
#[derive(Clone, Debug)]
pub struct FinishLine {
    best: Arc<AtomicU64>,
}

impl FinishLine {
    /// The most racers; later ones share the last rank.
    const RANKS: u64 = 64;

    /// A race in which nobody has an answer.
    #[must_use]
    pub fn new() -> FinishLine {
        FinishLine { best: Arc::new(AtomicU64::new(u64::MAX)) }
    }
}

impl Default for FinishLine {
    fn default() -> FinishLine {
        FinishLine::new()
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

    /// A child for one racer, which counts its work and is stopped when it cannot win any more.
    #[must_use]
    pub fn racing(&self, rank: usize, line: &FinishLine) -> Interrupt {
        let rank = u64::try_from(rank).unwrap_or(u64::MAX).min(FinishLine::RANKS - 1);
        let meter = Meter { spent: AtomicU64::new(0), rank, line: line.clone() };
        let shared = Shared { parent: Some(self.clone()), meter: Some(meter), ..Shared::default() };
        Interrupt { shared: Arc::new(shared) }
    }

    /// The meter of the race that this is about, if there is one.
    fn meter(&self) -> Option<&Meter> {
        let mut current = Some(self);
        while let Some(interrupt) = current {
            if interrupt.shared.meter.is_some() {
                return interrupt.shared.meter.as_ref();
            }
            current = interrupt.shared.parent.as_ref();
        }
        None
    }

    /// Counts work. A unit is about a tenth of a microsecond on a usual machine, but what is counted are steps: the same question
    /// always takes the same work. Outside a race, nothing is counted.
    pub fn spend(&self, work: u64) {
        if let Some(meter) = self.meter() {
            meter.spent.fetch_add(work, Ordering::AcqRel);
        }
    }

    /// The work so far; zero outside a race.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.meter().map_or(0, |meter| meter.spent.load(Ordering::Acquire))
    }

    /// Forgets work that was done in vain and is about to be repeated, back to an earlier [`Interrupt::spent`].
    pub fn forget_since(&self, spent: u64) {
        if let Some(meter) = self.meter() {
            meter.spent.store(spent, Ordering::Release);
        }
    }

    /// Says that this racer has an answer. Those who have done more work are stopped from now on.
    pub fn finish(&self) {
        if let Some(meter) = self.meter() {
            meter.line.best.fetch_min(meter.place(), Ordering::AcqRel);
        }
    }

    /// Whether somebody else has won the race that this is about: with less work, or with the same and a lower rank.
    #[must_use]
    pub fn is_beaten(&self) -> bool {
        self.meter().is_some_and(Meter::is_beaten)
    }

    /// The place of this racer in the order of winning: by work, then by rank.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.meter().map_or(0, Meter::place)
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
            let Shared { requested, also, meter, .. } = &*interrupt.shared;
            if requested.load(Ordering::Acquire)
                || also.as_ref().is_some_and(|question| question())
                || meter.as_ref().is_some_and(Meter::is_beaten)
            {
                return true;
            }
            current = interrupt.shared.parent.as_ref();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{FinishLine, Interrupt};

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
    fn the_least_work_wins_and_then_the_lower_rank() {
        let (whole, line) = (Interrupt::new(), FinishLine::new());
        let racers: Vec<Interrupt> = (0..4).map(|rank| whole.racing(rank, &line)).collect();
        for (racer, work) in racers.iter().zip([3, 7, 5, 5]) {
            racer.child().spend(work);
        }
        racers[3].finish();
        let beaten = || racers.iter().map(Interrupt::is_requested).collect::<Vec<_>>();
        assert_eq!(beaten(), [false, true, false, false]);
        racers[2].finish();
        assert_eq!(beaten(), [false, true, false, true]);
        racers[0].spend(1);
        racers[0].finish();
        assert_eq!(beaten(), [false, true, true, true]);
        assert!(!whole.is_requested() && racers[2].child().is_requested());
    }

    #[test]
    fn work_that_is_repeated_counts_once() {
        let (whole, line) = (Interrupt::new(), FinishLine::new());
        let racer = whole.racing(0, &line);
        racer.spend(2);
        let before = racer.spent();
        racer.spend(40);
        racer.forget_since(before);
        racer.spend(5);
        assert_eq!(racer.spent(), 7);
        whole.spend(1);
        assert_eq!((whole.spent(), whole.is_beaten()), (0, false));
    }

    #[test]
    fn handles_travel_between_threads() {
        fn is_send_and_sync<T: Send + Sync + Clone + 'static>() {}
        is_send_and_sync::<Interrupt>();
    }
}
