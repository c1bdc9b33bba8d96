//! The limits of a run, the solvers that it uses, and the thread that watches the limits.
//!
//! While a SAT solver runs, it does not poll the budget. It polls an interrupt instead, which is requested as soon as
//! the budget is used up. Engines get their solvers from [`Budget::sat_solver`] and [`Budget::inclusion`], which
//! share this interrupt. Code that makes its own solver, as the certifier does, must share
//! [`Budget::solver_interrupt`] with it.
//!
//! The budget also says whether the proofs of the SAT solver are checked, see [`Budget::with_checked_proofs`].

pub mod aside;

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cusp_solvers::{FinishLine, Inclusion, Interrupt, SatSolver, Solvers};

use crate::reason::Reason;

/// Limits that the user sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The limit of wall-clock time.
    pub time: Option<Duration>,
    /// The limit of the process's resident memory, in bytes.
    pub memory: Option<u64>,
}

const GO_ON: u8 = 0;
const TIME: u8 = 1;
const MEMORY: u8 = 2;
const INTERRUPT: u8 = 3;

/// The budget of a run. Engines ask it at every step whether to continue. Copies share their state.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    limits: Limits,
    stop: Arc<AtomicU8>,
    /// The budget that this one is a part of.
    whole: Option<Arc<Budget>>,
    /// Stops the solvers that were made under this budget. It is requested after `stop` is set, so that the reason is
    /// known when a solver has stopped.
    interrupt: Interrupt,
    /// Makes the solvers that engines use.
    solvers: Solvers,
    /// If proofs of the SAT solver are checked: how many were checked.
    proofs: Option<Arc<ProofCounts>>,
    /// Used if the system has no thread left for a [`Watch`]: then every call of [`Budget::exhausted`] looks at the
    /// clock instead.
    unwatched: Option<Arc<Unwatched>>,
    /// Threads that went on when the budget was used up.
    left_behind: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

/// What is needed to watch the limits without a thread: engines and solvers look at the clock themselves.
#[derive(Debug)]
struct Unwatched {
    limits: Limits,
    /// That of the budget.
    stop: Arc<AtomicU8>,
    begin: Instant,
    /// A counter of calls; memory is measured at every 256th call.
    asked: AtomicU8,
}

/// How many proofs of the SAT solver were checked, in all threads together.
#[derive(Debug, Default)]
pub struct ProofCounts {
    proofs: AtomicU64,
    steps: AtomicU64,
}

impl ProofCounts {
    /// Counts one more proof with this number of steps.
    pub fn add(&self, steps: u64) {
        self.proofs.fetch_add(1, Ordering::Relaxed);
        self.steps.fetch_add(steps, Ordering::Relaxed);
    }

    /// The number of unsatisfiable answers whose proof was checked.
    #[must_use]
    pub fn proofs(&self) -> u64 {
        self.proofs.load(Ordering::Relaxed)
    }

    /// The number of steps of these proofs.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

impl Budget {
    /// A budget without limits.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// A budget with these limits, which are watched as long as the returned guard lives.
    #[must_use]
    pub fn start(limits: Limits) -> (Self, Watch) {
        let budget = Self { limits, ..Self::default() };
        let watch = Watch::start(&budget);
        let is_missing = watch.is_missing(limits) && budget.exhausted().is_none();
        let budget = if is_missing { Self::unwatched(limits) } else { budget };
        (budget, watch)
    }

    /// A budget with these limits that no thread watches.
    fn unwatched(limits: Limits) -> Self {
        let stop = Arc::default();
        let (begin, asked) = (Instant::now(), AtomicU8::new(0));
        let unwatched = Arc::new(Unwatched { limits, stop: Arc::clone(&stop), begin, asked });
        let asked = Arc::clone(&unwatched);
        let interrupt = Interrupt::asking(move || asked.is_over());
        Self { limits, stop, interrupt, unwatched: Some(unwatched), ..Self::default() }
    }

    /// This budget with other solvers.
    #[must_use]
    pub fn asking(self, solvers: Solvers) -> Self {
        Self { solvers, ..self }
    }

    /// A part of this budget: it can be ended separately, and it ends when the whole budget does.
    #[must_use]
    pub fn part(&self) -> Self {
        Self {
            limits: self.limits,
            stop: Arc::default(),
            whole: Some(Arc::new(self.clone())),
            interrupt: self.interrupt.child(),
            solvers: self.solvers.clone(),
            proofs: self.proofs.clone(),
            unwatched: None,
            left_behind: Arc::clone(&self.left_behind),
        }
    }

    /// A part for one engine in a race: it also ends when another one has won, by the [work](Budget::spend) that each
    /// of them takes.
    #[must_use]
    pub fn racing(&self, rank: usize, line: &FinishLine) -> Self {
        Self { interrupt: self.interrupt.racing(rank, line), ..self.part() }
    }

    /// Counts work: about a tenth of a microsecond on a usual machine for each unit, but in steps and never by a clock, so that
    /// the same search always takes the same work. The SAT solvers of the budget count their own.
    pub fn spend(&self, work: u64) {
        self.interrupt.spend(work);
    }

    /// The handle by which the work of an engine is counted.
    #[must_use]
    pub fn meter(&self) -> &Interrupt {
        &self.interrupt
    }

    /// This budget with checked proofs: `certify` accepts an unsatisfiable answer of the SAT solver only if its proof
    /// was checked. This also applies to copies and parts that are made from the result.
    #[must_use]
    pub fn with_checked_proofs(mut self) -> Self {
        self.proofs = Some(Arc::default());
        self
    }

    /// How many proofs were checked so far, if proofs of the SAT solver are to be checked.
    #[must_use]
    pub fn checked_proofs(&self) -> Option<&ProofCounts> {
        self.proofs.as_deref()
    }

    /// The solvers that engines use, with their statistics, which all parts of a budget share.
    #[must_use]
    pub fn solvers(&self) -> &Solvers {
        &self.solvers
    }

    /// A SAT solver for an engine, of the kind that the user has chosen. It stops when the budget is used up.
    #[must_use]
    pub fn sat_solver(&self) -> Box<dyn SatSolver> {
        self.solvers.sat_solver(&self.interrupt, self.limits.memory)
    }

    /// An inclusion check for an engine, with the QBF solver that the user has chosen. It stops when the budget is
    /// used up. The embedded solver gives up on a query after this number of conflicts.
    #[must_use]
    pub fn inclusion(&self, conflicts: u64) -> Inclusion {
        self.solvers.inclusion(conflicts, &self.interrupt, self.limits.memory)
    }

    /// Ends the run from outside, for example after Ctrl-C.
    pub fn interrupt(&self) {
        self.stop.store(INTERRUPT, Ordering::Relaxed);
        self.interrupt.request();
    }

    /// Takes back an [interrupt](Budget::interrupt) of this part.
    pub(crate) fn resume(&self) {
        self.stop.store(GO_ON, Ordering::Relaxed);
        self.interrupt.clear();
    }

    /// An interrupt that is requested when the budget is used up, and that stops the solvers it is shared with even
    /// in the middle of a search. Requesting it otherwise stops only these solvers, not the run.
    #[must_use]
    pub fn solver_interrupt(&self) -> Interrupt {
        self.interrupt.child()
    }

    /// The limit of memory in bytes, if there is one.
    #[must_use]
    pub fn memory_limit(&self) -> Option<u64> {
        self.limits.memory
    }

    /// The reason why the run must end now, if it must.
    #[must_use]
    pub fn exhausted(&self) -> Option<Reason> {
        if let Some(unwatched) = &self.unwatched {
            unwatched.is_over();
        }
        match self.stop.load(Ordering::Relaxed) {
            GO_ON if self.interrupt.is_beaten() => Some(Reason::Interrupted),
            GO_ON => self.whole.as_ref().and_then(|whole| whole.exhausted()),
            TIME => Some(Reason::Timeout(self.limits.time.unwrap_or_default())),
            MEMORY => Some(Reason::Memory { limit: self.limits.memory.unwrap_or_default() }),
            _ => Some(Reason::Interrupted),
        }
    }

    fn stop_with(&self, cause: u8) {
        // An interrupt by the user is not overwritten.
        let _ = self.stop.compare_exchange(GO_ON, cause, Ordering::Relaxed, Ordering::Relaxed);
        self.interrupt.request();
    }
}

impl Unwatched {
    /// Checks the limits, as a [`Watch`] would, and says whether the run must end.
    fn is_over(&self) -> bool {
        let Limits { time, memory } = self.limits;
        let stop_with = |cause| {
            let _ = self.stop.compare_exchange(GO_ON, cause, Ordering::Relaxed, Ordering::Relaxed);
        };
        if time.is_some_and(|limit| self.begin.elapsed() >= limit) {
            stop_with(TIME);
        }
        let looks_at_memory = self.asked.fetch_add(1, Ordering::Relaxed) == 0;
        if looks_at_memory && memory.is_some_and(|limit| resident_memory().is_some_and(|used| used > limit)) {
            stop_with(MEMORY);
        }
        self.stop.load(Ordering::Relaxed) != GO_ON
    }
}

/// Watches time and memory in a thread, until it is dropped.
#[derive(Debug)]
pub struct Watch {
    done: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// How often memory is measured. Engines may grow by a few hundred megabytes in a second.
    const PERIOD: Duration = Duration::from_millis(10);

    fn start(budget: &Budget) -> Self {
        let budget = budget.clone();
        let done = Arc::new(AtomicU8::new(GO_ON));
        let Limits { time, memory } = budget.limits;
        if time.is_none() && memory.is_none() {
            return Self { done, thread: None };
        }
        if memory.is_some_and(|limit| resident_memory().is_some_and(|used| used > limit)) {
            // Nothing fits into this limit, so what is said does not depend on when the thread begins.
            budget.stop_with(MEMORY);
            return Self { done, thread: None };
        }
        let ended = Arc::clone(&done);
        let begin = Instant::now();
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
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
        Self { done, thread: thread.ok() }
    }

    /// Whether a thread is needed but could not be started.
    fn is_missing(&self, limits: Limits) -> bool {
        self.thread.is_none() && (limits.time.is_some() || limits.memory.is_some())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(TIME, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread does not panic; if it did, nothing could be done about it here.
            let _ = thread.join();
        }
    }
}

/// The default memory limit: three quarters of the machine's memory, if the system tells how much there is. A run
/// that used all memory would block everything else on the machine.
#[must_use]
pub fn most_memory() -> Option<u64> {
    let machine = kilobytes("/proc/meminfo", "MemTotal:").map(|kilobytes| kilobytes << 10);
    let limits = [machine, container_limit(Path::new("/sys/fs/cgroup")), address_space()];
    limits.into_iter().flatten().min().map(|bytes| bytes / 4 * 3)
}

/// The limit of the container that the process runs in, if it runs in one: that of version 2 of control groups, or of
/// version 1. Without a limit the file holds the word `max`, or a number that no machine has.
fn container_limit(groups: &Path) -> Option<u64> {
    let read = |file: &str| std::fs::read_to_string(groups.join(file)).ok()?.trim().parse().ok();
    read("memory.max").or_else(|| read("memory/memory.limit_in_bytes"))
}

/// The address space that the process may use, if `ulimit -v` limits it.
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The number of bytes of memory in use, if the system tells.
#[must_use]
pub fn resident_memory() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:").map(|kilobytes| kilobytes << 10)
}

/// The processor time that all threads of the process have used, if the system tells.
#[must_use]
pub fn cpu_time() -> Option<Duration> {
    // The scheduler counts in nanoseconds, but for one thread only; this table counts in ticks, of which every system
    // that has it tells programs that a second has a hundred.
    const TICK: Duration = Duration::from_millis(10);
    let table = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain anything. The state follows it; the 12th and 13th fields
    // from there on are the times in the program and in the system.
    let (_, fields) = table.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11).map_while(|field| field.parse::<u32>().ok());
    Some(TICK * times.next()?.checked_add(times.next()?)?)
}

/// The largest number of bytes of memory that were in use so far, if the system tells.
#[must_use]
pub fn peak_memory() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:").map(|kilobytes| kilobytes << 10)
}

/// A number from one of the system's tables.
fn kilobytes(table: &str, name: &str) -> Option<u64> {
    let table = std::fs::read_to_string(table).ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
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
    fn limits_hold_without_a_thread_that_watches() {
        let unwatched = |time, memory| Budget::unwatched(Limits { time, memory });
        let late = unwatched(Some(Duration::ZERO), None);
        assert_eq!(late.part().exhausted(), Some(Reason::Timeout(Duration::ZERO)));
        // A solver that runs all the time asks only this.
        assert!(unwatched(Some(Duration::ZERO), None).part().solver_interrupt().is_requested());
        assert_eq!(unwatched(None, Some(1)).exhausted(), Some(Reason::Memory { limit: 1 }));
        assert_eq!(unwatched(Some(Duration::from_secs(3600)), Some(1 << 60)).exhausted(), None);
    }

    #[test]
    fn the_limit_of_a_container_is_read_in_both_versions() {
        let limit = |file: &str, text: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
            container_limit(folder.path())
        };
        assert_eq!(limit("memory.max", "536870912\n"), Some(512 << 20));
        assert_eq!(limit("memory.max", "max\n"), None);
        assert_eq!(limit("memory/memory.limit_in_bytes", "1024\n"), Some(1024));
        assert_eq!(container_limit(Path::new("/nowhere")), None);
    }

    #[test]
    fn an_interrupt_reaches_every_copy() {
        let budget = Budget::unlimited();
        let copy = budget.clone();
        copy.interrupt();
        assert_eq!(budget.exhausted(), Some(Reason::Interrupted));
        assert!(budget.solver_interrupt().is_requested());
    }

    #[test]
    fn a_part_ends_with_the_whole_but_not_the_other_way_round() {
        let whole = Budget::unlimited();
        let (left, right) = (whole.part(), whole.part());
        left.interrupt();
        assert_eq!(left.exhausted(), Some(Reason::Interrupted));
        assert!(left.solver_interrupt().is_requested());
        assert_eq!(right.exhausted(), None);
        assert!(!right.solver_interrupt().is_requested());
        whole.interrupt();
        assert_eq!(right.exhausted(), Some(Reason::Interrupted));
        assert!(right.solver_interrupt().is_requested());
    }

    /// The pigeonhole principle: more pigeons than holes, which is hard for every solver based on resolution.
    fn pigeons(solver: &mut dyn SatSolver, holes: u32) {
        let at = |pigeon: u32, hole: u32| cusp_encodings::Var::new(pigeon * holes + hole).pos_lit();
        for pigeon in 0..=holes {
            let somewhere: Vec<_> = (0..holes).map(|hole| at(pigeon, hole)).collect();
            solver.add_clause(&somewhere);
            for other in 0..pigeon {
                for hole in 0..holes {
                    solver.add_clause(&[!at(pigeon, hole), !at(other, hole)]);
                }
            }
        }
    }

    #[test]
    fn a_used_up_budget_stops_a_running_solver() {
        use cusp_solvers::{Answer, UnknownReason};
        let limits = Limits { time: Some(Duration::from_millis(50)), memory: None };
        let (budget, _watch) = Budget::start(limits);
        let mut solver = budget.sat_solver();
        pigeons(&mut *solver, 14);
        let answer = solver.solve(&[], &cusp_solvers::Limits::NONE);
        assert_eq!(answer, Answer::Unknown(UnknownReason::Interrupted));
        assert_eq!(budget.exhausted(), Some(Reason::Timeout(Duration::from_millis(50))));
    }

    #[test]
    fn a_stopped_solver_does_not_stop_the_run() {
        let budget = Budget::unlimited();
        budget.solver_interrupt().request();
        assert!(budget.exhausted().is_none() && !budget.solver_interrupt().is_requested());
        budget.interrupt();
        assert!(budget.solver_interrupt().is_requested());
    }
}
