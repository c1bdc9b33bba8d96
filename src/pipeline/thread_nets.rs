//! Programs with threads through nets: engines for nets decide programs for any number of threads.

use crate::budget::Budget;
use crate::engines::Engine;
use crate::engines::nets::backward::Backward;
use crate::engines::nets::explicit::search_despite_zero_tests;
use crate::engines::nets::mcov::Mcov;
use crate::evidence::{Certificate, NetVerdict, Reason, ThreadInvariant, Trace, Unknown, Verdict};
use crate::lift::Unliftable;
use crate::model::Task;
use crate::net::Net;
use crate::net::reduce::Extent;
use crate::progress::Progress;
use crate::threads::nets::ThreadNet;
use crate::threads::schedule::concretise;
use crate::threads::{Reductions, ThreadSystem};

use super::translate::{Translation, Translator};

/// Turns programs with threads into nets. The states of single threads are listed, so there must not be too many.
#[derive(Clone, Copy, Debug)]
pub struct ThreadNets {
    /// The name of the engine, for messages.
    pub name: &'static str,
    /// Which reductions apply to the program.
    pub reductions: Reductions,
    /// How often a procedure may be nested in itself; without it, recursion is not accepted.
    pub unwind: Option<u32>,
    /// The most pairs of shared and local states.
    pub most_states: usize,
}

impl ThreadNets {
    /// The default settings, with the user's bound of nesting.
    #[must_use]
    pub const fn new(name: &'static str, unwind: Option<u32>) -> Self {
        Self { name, reductions: Reductions::ALL, unwind, most_states: 20_000 }
    }
}

/// The engine for nets that decides them. If others can be noticed by their presence alone, that is by zero tests, the backward
/// search knows best what these exclude; otherwise clauses are best made from a coverability set.
#[derive(Clone, Copy, Debug)]
pub struct ForThreads;

impl Engine<Net> for ForThreads {
    fn name(&self) -> &'static str {
        "nets"
    }

    fn reduction(&self) -> Option<Extent> {
        Some(Extent::All)
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        if net.is_monotone() {
            return Mcov { after_the_oracle: 0, ..Mcov::USUAL }.search(net, budget, progress);
        }
        match Backward::default().search(net, budget, progress) {
            NetVerdict::Unknown(Unknown { reason: Reason::ZeroTests, .. }) => {
                search_despite_zero_tests(net, budget, progress)
            }
            verdict => verdict,
        }
    }
}

struct AsNet<'q> {
    task: &'q Task,
    threads: ThreadNet<'q>,
    unwind: Option<u32>,
}

impl Translator<Task, Net> for ThreadNets {
    fn accepts(&self, task: &Task) -> Result<(), Reason> {
        if !task.program.starts_threads {
            Err(Reason::ThreadsOnly { engine: self.name })
        } else if task.threads.is_some() {
            Err(Reason::AnyNumberOnly { engine: self.name })
        } else {
            Ok(())
        }
    }

    fn translate<'q>(
        &self,
        task: &'q Task,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Translation<Task, Net> + 'q>, Reason> {
        let system = ThreadSystem::new(task, self.reductions, self.unwind)?;
        let threads = ThreadNet::new(system, self.most_states, budget)?;
        progress.count("states of single threads", threads.pairs() as u64);
        progress.count("places", threads.net.places.len() as u64);
        progress.count("transitions", threads.net.transitions.len() as u64);
        Ok(Box::new(AsNet { task, threads, unwind: self.unwind }))
    }
}

impl AsNet<'_> {
    fn verdict(&self, verdict: NetVerdict, budget: &Budget) -> Result<Verdict, Reason> {
        let system = &self.threads.system;
        match (verdict, &system.unwound) {
            (NetVerdict::Unknown(Unknown { reason: Reason::ZeroTests, .. }), _) => {
                let why = "a violation is in reach if conditions on other threads are ignored, and no run that obeys \
                           them was found";
                Err(Reason::GaveUp(why.to_owned()))
            }
            (NetVerdict::Unknown(unknown), _) => Ok(Verdict::Unknown(unknown)),
            (NetVerdict::Unsafe(run), _) => {
                let schedule = self.threads.schedule(&run)?;
                let run = match schedule {
                    Some(schedule) => concretise(self.task, &schedule, budget)?,
                    None => None,
                };
                let run =
                    run.ok_or_else(|| Reason::GaveUp("the run that was found has no values".to_owned()))?;
                Ok(Verdict::Unsafe(Trace::Interleaved(run)))
            }
            (NetVerdict::Safe(_), Some(procedure)) => {
                let bound = self.unwind.unwrap_or_default();
                Err(Reason::Unwound { procedure: procedure.clone(), bound })
            }
            (NetVerdict::Safe(proof), None) => {
                let clauses = self.threads.clauses(&proof, budget)?;
                Ok(Verdict::Safe(Certificate::Threads(system.proof(ThreadInvariant::Clauses(clauses)))))
            }
        }
    }
}

impl Translation<Task, Net> for AsNet<'_> {
    fn question(&self) -> &Net {
        &self.threads.net
    }

    fn bring_back(&self, verdict: NetVerdict, budget: &Budget) -> Result<Verdict, Unliftable> {
        Ok(self.verdict(verdict, budget).unwrap_or_else(Verdict::from))
    }
}
