//! What a run may cost, and the one thread that watches over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use crate::evidence::Reason;

/// Limits that the user sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Resident memory of the process, in bytes.
    pub memory: Option<u64>,
}

const GO_ON: u8 = 0;
const TIME: u8 = 1;
const MEMORY: u8 = 2;
const INTERRUPT: u8 = 3;

/// Asked by engines at every step whether to go on. Copies share their state.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    limits: Limits,
    stop: Arc<AtomicU8>,
}

impl Budget {
    /// Without limits.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// With these limits, which hold as long as the returned guard lives.
    #[must_use]
    pub fn start(limits: Limits) -> (Self, Watch) {
        let budget = Self { limits, stop: Arc::default() };
        (budget.clone(), Watch::start(budget))
    }

    /// Ends the run from outside.
    pub fn interrupt(&self) {
        self.stop.store(INTERRUPT, Ordering::Relaxed);
    }

    /// Why the run must end now, if it must.
    #[must_use]
    pub fn exhausted(&self) -> Option<Reason> {
        match self.stop.load(Ordering::Relaxed) {
            GO_ON => None,
            TIME => Some(Reason::Timeout(self.limits.time.unwrap_or_default())),
            MEMORY => Some(Reason::Memory { limit: self.limits.memory.unwrap_or_default() }),
            _ => Some(Reason::Interrupted),
        }
    }

    fn stop_with(&self, cause: u8) {
        // An interrupt by the user is not overwritten.
        let _ = self.stop.compare_exchange(GO_ON, cause, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Watches time and memory until it is dropped.
#[derive(Debug)]
pub struct Watch {
    done: Arc<AtomicU8>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watch {
    /// How often memory is looked at. Engines may grow by a few hundred megabytes a second.
    const PERIOD: Duration = Duration::from_millis(10);

    fn start(budget: Budget) -> Self {
        let done = Arc::new(AtomicU8::new(GO_ON));
        let Limits { time, memory } = budget.limits;
        if time.is_none() && memory.is_none() {
            return Self { done, thread: None };
        }
        let ended = Arc::clone(&done);
        let begin = Instant::now();
        let thread = std::thread::spawn(move || {
            while ended.load(Ordering::Relaxed) == GO_ON {
                let left = time.map(|limit| limit.saturating_sub(begin.elapsed()));
                if left.is_some_and(|left| left.is_zero()) {
                    return budget.stop_with(TIME);
                }
                if memory.is_some_and(|limit| resident_memory().is_some_and(|used| used > limit)) {
                    return budget.stop_with(MEMORY);
                }
                std::thread::park_timeout(left.map_or(Self::PERIOD, |left| left.min(Self::PERIOD)));
            }
        });
        Self { done, thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(TIME, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The watcher cannot panic; if it did, there is nothing left to do for it.
            let _ = thread.join();
        }
    }
}

/// Bytes of memory in use, where the system tells.
#[must_use]
pub fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_time_limit_stops_the_run_and_says_so() {
        let (budget, _watch) = Budget::start(Limits { time: Some(Duration::ZERO), memory: None });
        while budget.exhausted().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(budget.exhausted(), Some(Reason::Timeout(Duration::ZERO)));
    }

    #[test]
    fn a_small_memory_limit_stops_the_run_and_says_so() {
        let (budget, _watch) = Budget::start(Limits { time: None, memory: Some(1) });
        while budget.exhausted().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(budget.exhausted(), Some(Reason::Memory { limit: 1 }));
    }

    #[test]
    fn an_interrupt_reaches_every_copy() {
        let budget = Budget::unlimited();
        let copy = budget.clone();
        copy.interrupt();
        assert_eq!(budget.exhausted(), Some(Reason::Interrupted));
    }
}
