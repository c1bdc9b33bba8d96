//! How many threads are enough: thread-state cutoffs.
//!
//! Implements: A. Kaiser, D. Kroening, T. Wahl, "Dynamic Cutoff Detection in Parameterized Concurrent
//! Programs", CAV 2010, algorithm 1 with explicit states (ECUT).
//!
//! Theorem used: see [`candidates`](mod@candidates). `n` is a cutoff iff no candidate of the thread
//! states that `n` threads reach is realizable; since the rounds go up from the fewest threads, the first
//! cutoff found is the least. With threads that start threads, the rounds are over the *most* threads at
//! once, and one too many is not started.
//!
//! Evidence: that no candidate is realizable is an uncoverability proof that is certified. A cutoff is
//! about single thread states; whether the targets can be covered, which may ask for several threads, is
//! answered on its own, and certified, too.
//!
//! Deviation: candidates that an earlier proof rules out are not asked about again, and one that was
//! found realizable ends later rounds as long as it is a candidate. The search for the next round and the
//! proof run side by side, and each ends the other when its answer makes it pointless.

pub mod candidates;
pub mod threads;
pub mod translate;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::budget::Budget;
use crate::certify::{CertifiedNet, Rejection, certify_net};
use crate::engines::nets::NetEngine;
use crate::engines::nets::mcov::Mcov;
use crate::engines::nets::sets::vectors::Vectors;
use crate::evidence::{NetCertificate, NetVerdict, Reason};
use crate::net::tts::NotATts;
use crate::net::{Marking, Net, PlaceKind, Target};
use crate::progress::Progress;
use candidates::{Candidates, candidates};
use threads::{Action, Reached, actions, explore, fewest_threads};

/// One number of threads.
#[derive(Clone, Debug)]
pub struct Round {
    /// The number.
    pub threads: usize,
    /// Thread states that are reached.
    pub thread_states: usize,
    /// Global states, up to the names of threads.
    pub states: usize,
    /// Candidate triples.
    pub candidates: usize,
    /// Whether a candidate is realizable; unknown if the next round made the question pointless.
    pub realizable: Option<bool>,
    /// How long the forward search took.
    pub forward: Duration,
    /// How long the proof took.
    pub backward: Duration,
}

/// What the rounds came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// So many threads reach all thread states that any number can reach, and fewer do not.
    Cutoff(usize),
    /// So many threads reach a target, and fewer do not.
    Target(usize),
    /// Neither, since the budget was used up.
    Unknown(Reason),
}

/// The answer.
#[derive(Debug)]
pub struct Answer {
    /// The net whose tokens are the threads that were counted.
    pub threads: Net,
    /// One line of the table for each number of threads.
    pub rounds: Vec<Round>,
    /// What they came to.
    pub found: Found,
    /// Whether a target can be covered by any number of threads.
    pub certified: CertifiedNet,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// The net is no system of threads, and cannot be made one.
    NotThreads(NotATts),
    /// Evidence was rejected: a bug in Cusp.
    Rejected(Rejection),
}

/// Finds the least cutoff, or the fewest threads that cover a target.
///
/// # Errors
/// If the net cannot be read as threads, or evidence was rejected.
pub fn cutoff(net: &Net, budget: &Budget, progress: &dyn Progress) -> Result<Answer, Failure> {
    let threads = translate::thread_net(net).map_err(Failure::NotThreads)?;
    let Some(actions) = actions(&threads) else {
        let why = "a transition is not one of a thread".to_owned();
        return Err(Failure::NotThreads(NotATts(why)));
    };
    // The verdict comes first: the rounds may take much longer, and it says what they will find.
    let verdict = Mcov::default().run(net, budget, progress);
    let mut certified = certify_net(net, verdict, budget).map_err(Failure::Rejected)?;
    let mut search = Search {
        net: &threads,
        actions,
        rounds: Vec::new(),
        ruled_out: Vectors::new(threads.places.len()),
        realizable: BTreeSet::new(),
    };
    let found = search.run(budget, progress)?;
    let rounds = std::mem::take(&mut search.rounds);
    drop(search);
    if let (Found::Target(_), NetVerdict::Unknown(_)) = (&found, certified.verdict()) {
        // The rounds know more; a net of threads is the net itself.
        if !threads.targets.is_empty() && net.has_threads() {
            let verdict = Mcov { alone: true }.run(net, budget, progress);
            certified = certify_net(net, verdict, budget).map_err(Failure::Rejected)?;
        }
    }
    Ok(Answer { threads, rounds, found, certified })
}

struct Search<'n> {
    net: &'n Net,
    actions: Vec<Action>,
    rounds: Vec<Round>,
    /// Proofs of earlier rounds: what is above one of these is not coverable.
    ruled_out: Vectors,
    /// Candidates that are realizable.
    realizable: BTreeSet<Marking>,
}

/// What the proof said about the candidates.
enum Backward {
    Unrealizable,
    Realizable(BTreeSet<Marking>),
    Unknown(Reason),
}

impl Search<'_> {
    fn run(&mut self, budget: &Budget, progress: &dyn Progress) -> Result<Found, Failure> {
        let begin = Instant::now();
        let first = fewest_threads(self.net);
        let mut reached = match explore(self.net, &self.actions, first, budget) {
            Ok(reached) => reached,
            Err(reason) => return Ok(Found::Unknown(reason)),
        };
        let mut forward = begin.elapsed();
        loop {
            let found = candidates(&self.actions, &reached.thread_states);
            progress.say(&|| {
                let (n, count) = (reached.threads, reached.thread_states.len());
                format!("{n} threads: {count} thread states, {} candidates", found.triples.len())
            });
            self.rounds.push(Round {
                threads: reached.threads,
                thread_states: reached.thread_states.len(),
                states: reached.states,
                candidates: found.triples.len(),
                realizable: None,
                forward,
                backward: Duration::ZERO,
            });
            if reached.target.is_some() {
                return Ok(Found::Target(reached.threads));
            }
            let open = self.open(&found);
            let known = found.starts_new
                || self.start_is_new(&reached)
                || found.pairs.iter().any(|pair| self.realizable.contains(pair));
            let ahead = self.ahead(&reached, if known { None } else { Some(open) }, budget)?;
            let realizable = match &ahead.backward {
                None => known.then_some(true),
                Some(Backward::Unrealizable) => Some(false),
                Some(Backward::Realizable(_)) => Some(true),
                Some(Backward::Unknown(_)) => None,
            };
            if let Some(round) = self.rounds.last_mut() {
                round.realizable = realizable;
                round.backward = ahead.backward_time;
            }
            match (ahead.backward, ahead.next) {
                (Some(Backward::Unrealizable), _) => return Ok(Found::Cutoff(reached.threads)),
                (backward, Some(Ok(next))) => {
                    if let Some(Backward::Realizable(pairs)) = backward {
                        self.realizable.extend(pairs);
                    }
                    if let Some(reason) = budget.exhausted() {
                        return Ok(Found::Unknown(reason));
                    }
                    reached = next;
                    forward = ahead.forward_time;
                }
                (Some(Backward::Unknown(reason)), _) | (_, Some(Err(reason))) => {
                    return Ok(Found::Unknown(budget.exhausted().unwrap_or(reason)));
                }
                (_, None) => return Ok(Found::Unknown(Reason::Interrupted)),
            }
        }
    }

    /// Whether there are initial states with thread states that were not reached: so few threads do not
    /// stand in all local states that threads may start in.
    fn start_is_new(&self, reached: &Reached) -> bool {
        let ranges = self.net.initial.ranges();
        let is_shared = |place| matches!(self.net.place(place).kind, PlaceKind::Shared(_));
        let shared = ranges.iter().map(|&(place, _)| place).find(|&place| is_shared(place));
        let free = ranges.iter().filter(|(_, range)| range.most.is_none()).map(|&(place, _)| place);
        shared.is_some_and(|shared| {
            free.into_iter().any(|local| !reached.thread_states.contains(&(shared, local)))
        })
    }

    /// Candidates that no earlier proof rules out.
    fn open(&self, found: &Candidates) -> Vec<Marking> {
        let is_open = |pair: &&Marking| self.ruled_out.below(pair.entries()).next().is_none();
        found.pairs.iter().filter(is_open).cloned().collect()
    }

    /// Asks whether candidates are realizable, and explores the next number of threads, side by side.
    fn ahead(
        &mut self,
        reached: &Reached,
        open: Option<Vec<Marking>>,
        budget: &Budget,
    ) -> Result<Ahead, Failure> {
        if open.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Ahead { backward: Some(Backward::Unrealizable), ..Ahead::default() });
        }
        let question = open.map(|pairs| {
            let target = |least| Target { least, ..Target::default() };
            Net { targets: pairs.into_iter().map(target).collect(), ..self.net.clone() }
        });
        let (for_proof, for_search) = (Budget::unlimited(), Budget::unlimited());
        let (net, actions) = (self.net, &self.actions);
        let mut ahead = Ahead::default();
        let mut proof = None;
        std::thread::scope(|scope| {
            let backward = question.as_ref().map(|question| {
                let budget = &for_proof;
                scope.spawn(move || {
                    let begin = Instant::now();
                    let verdict = Mcov::default().run(question, budget, &crate::progress::Quiet);
                    (certify_net(question, verdict, budget), begin.elapsed())
                })
            });
            let forward = {
                let budget = &for_search;
                scope.spawn(move || {
                    let begin = Instant::now();
                    (explore(net, actions, reached.threads + 1, budget), begin.elapsed())
                })
            };
            let mut backward = backward;
            let mut forward = Some(forward);
            while backward.is_some() || forward.is_some() {
                if budget.exhausted().is_some() {
                    for_proof.interrupt();
                    for_search.interrupt();
                }
                if let Some(handle) = backward.take_if(|handle| handle.is_finished()) {
                    let (checked, time) = join(handle);
                    ahead.backward_time = time;
                    let is_proof = matches!(&checked, Ok(c) if matches!(c.verdict(), NetVerdict::Safe(_)));
                    if is_proof {
                        for_search.interrupt();
                    }
                    proof = Some(checked);
                }
                if let Some(handle) = forward.take_if(|handle| handle.is_finished()) {
                    let (next, time) = join(handle);
                    ahead.forward_time = time;
                    let grows =
                        |next: &Reached| next.target.is_some() || next.thread_states != reached.thread_states;
                    if next.as_ref().is_ok_and(grows) {
                        for_proof.interrupt();
                    }
                    ahead.next = Some(next);
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        if let (Some(checked), Some(question)) = (proof, &question) {
            ahead.backward = Some(self.learn(checked.map_err(Failure::Rejected)?.verdict(), question));
        }
        Ok(ahead)
    }

    /// What a certified verdict about candidates says, also for later.
    fn learn(&mut self, verdict: &NetVerdict, question: &Net) -> Backward {
        match verdict {
            NetVerdict::Safe(certificate) => {
                match certificate {
                    NetCertificate::Basis(basis) => {
                        for element in &basis.elements {
                            self.ruled_out.insert(element.entries());
                        }
                    }
                    NetCertificate::CoverabilitySet(_) => {
                        for target in &question.targets {
                            self.ruled_out.insert(target.least.entries());
                        }
                    }
                }
                Backward::Unrealizable
            }
            NetVerdict::Unsafe(run) => {
                let mut marking = run.initial.clone();
                for step in &run.steps {
                    let transition = question.transition(step.transition);
                    if let Ok(after) = crate::net::fire::fire(transition, &marking, &step.choices) {
                        marking = after;
                    }
                }
                let met = question.targets.iter().filter(|target| target.is_met_by(&marking));
                Backward::Realizable(met.map(|target| target.least.clone()).collect())
            }
            NetVerdict::Unknown(unknown) => Backward::Unknown(unknown.reason.clone()),
        }
    }
}

/// What is known about the next round.
#[derive(Default)]
struct Ahead {
    backward: Option<Backward>,
    backward_time: Duration,
    next: Option<Result<Reached, Reason>>,
    forward_time: Duration,
}

/// Nothing that runs there panics unless there is a bug, and then this thread shall, too.
fn join<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
