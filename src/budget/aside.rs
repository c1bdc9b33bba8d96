//! Work in a thread that nobody waits for once the limits are reached.
//!
//! Engines, readers and checkers ask the budget often, and end soon after it is used up. Some things cannot ask: one
//! operation on decision diagrams, a table that grows, the system call that opens a pipe. So whoever has to answer in
//! time does its work in [`aside`], which answers even then, and leaves the thread behind. A thread that is left
//! behind still takes time and memory, so [`Budget::leave_behind`] keeps it, and [`Budget::wait_for_threads`] waits
//! for its end before something else is measured.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Budget, cpu_time, resident_memory};
use crate::reason::Reason;

/// How long the work may go on after the budget is used up.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Processor time of the whole process, so that other processes on the machine do not matter.
    pub cpu: Duration,
    /// Time on the clock, for work that waits for something else.
    pub wall: Duration,
}

impl Patience {
    /// None at all.
    pub const NONE: Self = Self { cpu: Duration::ZERO, wall: Duration::ZERO };
    /// Enough for everything that asks the budget.
    pub const SHORT: Self = Self { cpu: Duration::from_millis(200), wall: Duration::from_secs(5) };
}

/// Why there is no result.
#[derive(Debug)]
pub enum NotDone<Work> {
    /// The budget is used up, and the work still goes on, in this thread.
    LeftBehind(Reason, JoinHandle<()>),
    /// The system has no thread left; the work has not begun.
    NoThread(Work),
}

/// Whether so many threads can be started at once.
#[must_use]
pub fn can_start_threads(count: usize) -> bool {
    let (sender, receiver) = channel::<()>();
    let receiver = Arc::new(Mutex::new(receiver));
    let wait = || {
        let receiver = Arc::clone(&receiver);
        // All of them wait until nobody can send any more.
        move || drop(receiver.lock().map(|receiver| receiver.recv()))
    };
    let started: Vec<_> = (0..count).map_while(|_| std::thread::Builder::new().spawn(wait()).ok()).collect();
    drop(sender);
    let is_enough = started.len() == count;
    for handle in started {
        // They do nothing that could go wrong.
        let _ = handle.join();
    }
    is_enough
}

/// How often the budget is asked.
const PERIOD: Duration = Duration::from_millis(5);

/// Does some work in a thread with a stack of this size, until the budget is used up and patience is at its end, too.
/// Calls `waiting` now and then. A panic of the work is passed on.
///
/// # Errors
/// If the work was not done.
///
/// # Panics
/// If the work panics.
pub fn aside<T: Send + 'static, Work: FnOnce() -> T + Send + 'static>(
    budget: &Budget,
    stack: usize,
    patience: Patience,
    work: Work,
    mut waiting: impl FnMut(),
) -> Result<T, NotDone<Work>> {
    let (sender, receiver) = channel();
    // A thread that cannot be started must not take the work with it.
    let shared = Arc::new(Mutex::new(Some(work)));
    let taken = Arc::clone(&shared);
    let take = |work: &Mutex<Option<Work>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let run = move || {
        let Some(work) = take(&taken) else { return };
        // An error means that nobody waits any more.
        let _ = sender.send(work());
    };
    let thread = std::thread::Builder::new().name("aside".to_owned()).stack_size(stack).spawn(run);
    let Ok(thread) = thread else {
        let work = take(&shared);
        return Err(NotDone::NoThread(work.expect("the thread that would take it has not begun")));
    };
    let mut over: Option<Over> = None;
    loop {
        match receiver.recv_timeout(PERIOD) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("the work sends its result before it ends"),
            },
        }
        if let Some(reason) = budget.exhausted() {
            let over = over.get_or_insert_with(Over::begin);
            if over.is_past(patience, budget) {
                return Err(NotDone::LeftBehind(reason, thread));
            }
        }
        waiting();
    }
}

/// The moment at which the budget was found used up.
struct Over {
    clock: Instant,
    cpu: Option<Duration>,
}

impl Over {
    fn begin() -> Self {
        Self { clock: Instant::now(), cpu: cpu_time() }
    }

    /// Whether patience is at its end: the time is over, or memory goes on growing.
    fn is_past(&self, patience: Patience, budget: &Budget) -> bool {
        let used = self.cpu.and_then(|begin| Some(cpu_time()?.saturating_sub(begin)));
        let grows = || {
            let limit = budget.memory_limit()?;
            Some(resident_memory()? > limit + limit / 10)
        };
        // Where the system does not tell processor time, the clock has to do.
        used.unwrap_or_else(|| self.clock.elapsed()) >= patience.cpu
            || self.clock.elapsed() >= patience.wall
            || grows().unwrap_or(false)
    }
}

impl Budget {
    /// Keeps a thread that goes on although the budget is used up.
    pub fn leave_behind(&self, thread: JoinHandle<()>) {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    /// Waits for all threads that were left behind under this budget, its copies and its parts.
    pub fn wait_for_threads(&self) {
        let threads = std::mem::take(&mut *self.left_behind.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // If it panicked, nobody is interested any more.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender};

    const STACK: usize = 1 << 20;

    /// Work that goes on until it is told to end, whatever the budget says.
    fn stubborn() -> (impl FnOnce() -> u32 + Send + 'static, Sender<()>) {
        let (end, ended): (Sender<()>, Receiver<()>) = channel();
        let work = move || {
            let _ = ended.recv();
            7
        };
        (work, end)
    }

    #[test]
    fn work_that_ends_in_time_has_a_result() {
        let done = aside(&Budget::unlimited(), STACK, Patience::NONE, || 7, || ());
        assert!(matches!(done, Ok(7)));
        // Work that ends soon after the end has one, too.
        let budget = Budget::unlimited();
        budget.interrupt();
        let (work, end) = stubborn();
        let mut end = Some(end);
        let done = aside(&budget, STACK, Patience::SHORT, work, || drop(end.take()));
        assert!(matches!(done, Ok(7)));
    }

    #[test]
    fn work_that_does_not_end_is_left_behind_and_waited_for() {
        let budget = Budget::unlimited();
        budget.interrupt();
        let (work, end) = stubborn();
        let part = budget.part();
        match aside(&part, STACK, Patience::NONE, work, || ()) {
            Err(NotDone::LeftBehind(Reason::Interrupted, thread)) => {
                assert!(!thread.is_finished());
                part.leave_behind(thread);
            }
            other => panic!("{:?}", other.map_err(|_| "another reason")),
        }
        drop(end);
        budget.wait_for_threads();
        assert!(budget.left_behind.lock().expect("not poisoned").is_empty());
    }

    #[test]
    fn a_panic_is_passed_on() {
        let work = || -> u32 { panic!("on purpose") };
        let caught = std::panic::catch_unwind(|| {
            drop(aside(&Budget::unlimited(), STACK, Patience::NONE, work, || ()));
        });
        let message = caught.expect_err("a panic").downcast_ref::<&str>().copied().map(str::to_owned);
        assert_eq!(message.as_deref(), Some("on purpose"));
    }

    #[test]
    fn without_a_thread_the_work_comes_back() {
        // No system has room for such a stack.
        let done = aside(&Budget::unlimited(), usize::MAX / 4, Patience::NONE, || 7, || ());
        match done {
            Err(NotDone::NoThread(work)) => assert_eq!(work(), 7),
            other => panic!("{:?}", other.map_err(|_| "another reason")),
        }
    }
}
