//! Thread-state cutoffs: how many threads are enough to reach all thread states.
//!
//! Implements: A. Kaiser, D. Kroening, T. Wahl, "Dynamic Cutoff Detection in Parameterized Concurrent
//! Programs", CAV 2010, algorithm 1 with explicit states (ECUT).
//!
//! Theorem used: see [`candidates`](mod@candidates). `n` is a cutoff iff no candidate of the thread states that `n`
//! threads reach is realizable. The rounds go up from the fewest threads, so the first cutoff found is the least.
//! If threads can start threads, a round bounds the number of threads that exist *at once*, and a thread beyond the
//! bound is not started.
//!
//! Evidence: [`CutoffEvidence`], which `certify` checks: it explores the rounds again to check what they reach, and
//! checks an uncoverability proof to see that no candidate is realizable. A cutoff is about single thread states.
//! Whether the targets can be covered, which may need several threads at once, is a separate answer
//! ([errata 27](crate::errata::item_27)).
//!
//! Deviation: candidates that an earlier proof rules out are not checked again, and a round ends without a new
//! proof if one of its candidates is already known to be realizable. The exploration of the next round and the
//! proof run in parallel, and each stops the other when its answer makes the other one superfluous. If no target
//! can be covered, a round ends early when the set that it has reached is closed under moves and no candidate of
//! this set is realizable: then no number of threads reaches more. If a target can be covered and the rounds grow
//! large, [`fewest`](mod@fewest) looks for the number of threads by proofs instead.

pub mod candidates;
pub mod fewest;
pub mod threads;
pub mod translate;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::budget::Budget;
use crate::engines::Engine;
use crate::engines::nets::mcov::Mcov;
use crate::engines::nets::sets::vectors::Vectors;
pub use crate::evidence::cutoff::{CutoffEvidence, Found, Round};
use crate::evidence::cutoff::{Fewest, Realizable, Unrealizable};
use crate::evidence::{NetCertificate, NetVerdict, Reason};
use crate::net::tts::NotATts;
use crate::net::{Marking, Net, PlaceKind, Target};
use crate::progress::{Progress, Quiet};
use candidates::{Candidates, candidates};
use fewest::{Effort, fewest};
use threads::{Action, Exploration, Reached, Stage, actions, fewest_threads};

/// When the search switches from exploring rounds to proofs. The settings do not affect the correctness of the
/// result, but they affect whether one is found.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The number of states of one round after which the search first checks whether any number of threads reaches
    /// more.
    pub in_a_round: usize,
    /// The number of states of all rounds after which the number of threads for a target is searched by
    /// [`fewest`](mod@fewest).
    pub in_all: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self { in_a_round: 100_000, in_all: 500_000 }
    }
}

/// Decides whether a target of a net can be covered by any number of threads. This is asked before the rounds,
/// which may take much longer, because the verdict says what they will find.
#[must_use]
pub fn coverable(net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
    Mcov::default().run(net, budget, progress)
}

/// Finds the least cutoff of a net of threads, or the fewest threads that cover a target. `verdict` says whether
/// targets can be covered, if that is known. The result has not been checked yet.
///
/// # Errors
/// If some transition is not a move of a thread.
pub fn search(
    threads: &Net,
    verdict: &NetVerdict,
    patience: Patience,
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<CutoffEvidence, NotATts> {
    let Some(actions) = actions(threads) else {
        return Err(NotATts("some transition is not a move of a thread".to_owned()));
    };
    let mut search = Search {
        net: threads,
        actions,
        rounds: Vec::new(),
        ruled_out: Vectors::new(threads.places.len()),
        can_be_covered: BTreeSet::new(),
        unrealizable: Vec::new(),
        realizable: Vec::new(),
        fewest: None,
        verdict,
        patience,
    };
    let found = search.run(budget, progress);
    let Search { rounds, unrealizable, realizable, fewest: mut shown, .. } = search;
    let threads_to_target = match (&found, verdict) {
        (Found::Target(n), _) => Some(*n),
        // A cutoff is about single thread states; a target may need several threads.
        (Found::Cutoff(_), NetVerdict::Unsafe(_)) => {
            let counted = fewest(threads, Effort::FIRST, budget);
            counted.map(|(n, why)| {
                shown = Some(why);
                n
            })
        }
        _ => None,
    };
    Ok(CutoffEvidence { rounds, found, threads_to_target, unrealizable, realizable, fewest: shown })
}

struct Search<'n> {
    net: &'n Net,
    actions: Vec<Action>,
    rounds: Vec<Round>,
    /// Minimal markings of earlier proofs: a marking above one of these is not coverable.
    ruled_out: Vectors,
    /// The candidates that are known to be realizable.
    can_be_covered: BTreeSet<Marking>,
    /// The evidence for `ruled_out`.
    unrealizable: Vec<Unrealizable>,
    /// The evidence for `can_be_covered`.
    realizable: Vec<Realizable>,
    /// The evidence for the number of threads that cover a target, if it was not found by rounds.
    fewest: Option<Fewest>,
    /// Whether targets can be covered, if that is known.
    verdict: &'n NetVerdict,
    patience: Patience,
}

/// The answer of the proof search about the candidates.
enum CandidateAnswer {
    Unrealizable,
    Realizable,
    Unknown(Reason),
}

impl Search<'_> {
    fn run(&mut self, budget: &Budget, progress: &dyn Progress) -> Found {
        let (mut patience, mut effort) = (self.patience.in_all, Effort::FIRST);
        let mut states = 0;
        let mut now = match self.explore(fewest_threads(self.net), budget) {
            Ok(explored) => explored,
            Err(reason) => return Found::Unknown(reason),
        };
        loop {
            self.unrealizable.append(&mut now.proof);
            let Explored { reached, .. } = &now;
            let found = candidates(&self.actions, &reached.thread_states);
            progress.say(&|| {
                let (n, count) = (reached.threads, reached.thread_states.len());
                format!("{n} threads: {count} thread states, {} candidates", found.triples.len())
            });
            self.rounds.push(Round {
                threads: reached.threads,
                thread_states: reached.thread_states.clone(),
                states: reached.states,
                is_complete: !now.is_all && reached.target.is_none(),
                candidates: found.triples.len(),
                realizable: now.is_all.then_some(false),
                forward: now.forward_time,
                backward: now.backward_time,
            });
            if reached.target.is_some() {
                return Found::Target(reached.threads);
            }
            if now.is_all {
                return Found::Cutoff(reached.threads);
            }
            states += reached.states;
            if states > patience && matches!(self.verdict, NetVerdict::Unsafe(_)) {
                if let Some((threads, why)) = fewest(self.net, effort, budget) {
                    self.fewest = Some(why);
                    return Found::Target(threads);
                }
                (patience, effort) = (patience.saturating_mul(4), effort.more());
            }
            let open = self.open(&found);
            let known = self.is_known_to_grow(&found, reached);
            let ahead = self.ahead(&now, if known { None } else { Some(open) }, budget);
            let realizable = match &ahead.backward {
                None => known.then_some(true),
                Some(CandidateAnswer::Unrealizable) => Some(false),
                Some(CandidateAnswer::Realizable) => Some(true),
                Some(CandidateAnswer::Unknown(_)) => None,
            };
            if let Some(round) = self.rounds.last_mut() {
                round.realizable = realizable;
                round.backward += ahead.backward_time;
            }
            match (ahead.backward, ahead.next) {
                (Some(CandidateAnswer::Unrealizable), _) => return Found::Cutoff(reached.threads),
                (_, Some(Ok(next))) => {
                    if next.is_all && next.reached.thread_states == reached.thread_states {
                        // The next round reached the same thread states, so its proof also holds for this round.
                        self.unrealizable.extend(next.proof);
                        if let Some(round) = self.rounds.last_mut() {
                            round.realizable = Some(false);
                        }
                        return Found::Cutoff(reached.threads);
                    }
                    if let Some(reason) = budget.exhausted() {
                        return Found::Unknown(reason);
                    }
                    now = next;
                }
                (Some(CandidateAnswer::Unknown(reason)), _) | (_, Some(Err(reason))) => {
                    return Found::Unknown(budget.exhausted().unwrap_or(reason));
                }
                (_, None) => return Found::Unknown(Reason::Interrupted),
            }
        }
    }

    /// Whether more threads are known to reach more thread states, without a new proof search.
    fn is_known_to_grow(&self, found: &Candidates, reached: &Reached) -> bool {
        found.starts_new
            || self.start_is_new(reached)
            || found.pairs.iter().any(|pair| self.can_be_covered.contains(pair))
    }

    /// Explores a number of threads, with pauses to check whether the set reached so far is everything that any
    /// number of threads reaches.
    fn explore(&self, threads: usize, budget: &Budget) -> Result<Explored, Reason> {
        let begin = Instant::now();
        let mut exploration = Exploration::new(self.net, &self.actions, threads, budget)?;
        let mut backward_time = Duration::ZERO;
        let mut asked_about = 0;
        loop {
            let stage = exploration.advance(self.patience.in_a_round, budget)?;
            let so_far = exploration.reached();
            let size = so_far.thread_states.len();
            let is_safe = matches!(self.verdict, NetVerdict::Safe(_));
            let mut all = None;
            if stage == Stage::Settled && is_safe && std::mem::replace(&mut asked_about, size) != size {
                let begin = Instant::now();
                all = self.shown_to_be_all(so_far, budget);
                backward_time += begin.elapsed();
            }
            if all.is_some() || stage == Stage::Complete {
                let reached = exploration.into_reached();
                let forward_time = begin.elapsed().saturating_sub(backward_time);
                let (is_all, proof) = (all.is_some(), all.unwrap_or_default());
                return Ok(Explored { reached, is_all, proof, forward_time, backward_time });
            }
        }
    }

    /// Checks whether `part` contains all thread states that any number of threads reaches. If so, returns the
    /// proof about its candidates, as far as earlier proofs do not cover them.
    fn shown_to_be_all(&self, part: &Reached, budget: &Budget) -> Option<Vec<Unrealizable>> {
        let found = candidates(&self.actions, &part.thread_states);
        if found.moves_on || self.is_known_to_grow(&found, part) {
            return None;
        }
        let open = self.open(&found);
        if open.is_empty() {
            return Some(Vec::new());
        }
        match ask(&self.question(open.clone()), budget) {
            NetVerdict::Safe(certificate) => Some(vec![Unrealizable { markings: open, certificate }]),
            NetVerdict::Unsafe(_) | NetVerdict::Unknown(_) => None,
        }
    }

    /// The net in which the question is whether one of these markings can be covered.
    fn question(&self, pairs: Vec<Marking>) -> Net {
        let target = |least| Target { least, ..Target::default() };
        Net { targets: pairs.into_iter().map(target).collect(), ..self.net.clone() }
    }

    /// Whether there are initial states with thread states that were not reached. This happens if there are fewer
    /// threads than local states in which threads may start.
    fn start_is_new(&self, reached: &Reached) -> bool {
        let ranges = self.net.initial.ranges();
        let is_shared = |place| matches!(self.net.place(place).kind, PlaceKind::Shared(_));
        let shared = ranges.iter().map(|&(place, _)| place).find(|&place| is_shared(place));
        let free = ranges.iter().filter(|(_, range)| range.most.is_none()).map(|&(place, _)| place);
        shared.is_some_and(|shared| {
            free.into_iter().any(|local| !reached.thread_states.contains(&(shared, local)))
        })
    }

    /// The candidates that no earlier proof rules out.
    fn open(&self, found: &Candidates) -> Vec<Marking> {
        let is_open = |pair: &&Marking| self.ruled_out.below(pair.entries()).next().is_none();
        found.pairs.iter().filter(is_open).cloned().collect()
    }

    /// Checks whether candidates are realizable, and explores the next number of threads in parallel.
    fn ahead(&mut self, now: &Explored, open: Option<Vec<Marking>>, budget: &Budget) -> Ahead {
        if open.as_ref().is_some_and(Vec::is_empty) {
            return Ahead { backward: Some(CandidateAnswer::Unrealizable), ..Ahead::default() };
        }
        let reached = &now.reached;
        let question = open.map(|pairs| self.question(pairs));
        let (for_proof, for_search) = (Budget::unlimited(), Budget::unlimited());
        let this = &*self;
        let mut ahead = Ahead::default();
        let mut answer = None;
        let decides = |next: &Explored| {
            let Explored { reached: next, is_all, .. } = next;
            *is_all || next.target.is_some() || next.thread_states != reached.thread_states
        };
        let prove = |question, budget: &Budget| {
            let begin = Instant::now();
            (ask(question, budget), begin.elapsed())
        };
        let search = |budget: &Budget| this.explore(reached.threads + 1, budget);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new;
            let mut forward = thread().spawn_scoped(scope, || search(&for_search)).ok();
            let for_proof = &for_proof;
            let in_parallel =
                |question| thread().spawn_scoped(scope, move || prove(question, for_proof)).ok();
            let mut backward = question.as_ref().and_then(in_parallel);
            // Where the system has no thread for it, work is done here, one thing after the other.
            if forward.is_none() {
                ahead.next = Some(search(budget));
            }
            let is_decided = ahead.next.as_ref().is_some_and(|next| next.as_ref().is_ok_and(decides));
            if is_decided {
                for_proof.interrupt();
            }
            if let (Some(question), None, false) = (&question, &backward, is_decided) {
                let (verdict, time) = prove(question, budget);
                ahead.backward_time = time;
                answer = Some(verdict);
            }
            while backward.is_some() || forward.is_some() {
                if budget.exhausted().is_some() {
                    for_proof.interrupt();
                    for_search.interrupt();
                }
                if let Some(handle) = backward.take_if(|handle| handle.is_finished()) {
                    let (verdict, time) = join(handle);
                    ahead.backward_time = time;
                    answer = Some(verdict);
                }
                if matches!(answer, Some(NetVerdict::Safe(_))) {
                    for_search.interrupt();
                }
                if let Some(handle) = forward.take_if(|handle| handle.is_finished()) {
                    let next = join(handle);
                    if next.as_ref().is_ok_and(decides) {
                        for_proof.interrupt();
                    }
                    ahead.next = Some(next);
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        if let (Some(verdict), Some(question)) = (answer, &question) {
            ahead.backward = Some(self.learn(verdict, question));
        }
        ahead
    }

    /// Turns a verdict about candidates into an answer, and stores its evidence for later rounds.
    fn learn(&mut self, verdict: NetVerdict, question: &Net) -> CandidateAnswer {
        match verdict {
            NetVerdict::Safe(certificate) => {
                let markings: Vec<Marking> =
                    question.targets.iter().map(|target| target.least.clone()).collect();
                let elements = match &certificate {
                    NetCertificate::Basis(basis) => &basis.elements,
                    NetCertificate::CoverabilitySet(_) => &markings,
                };
                for element in elements {
                    self.ruled_out.insert(element.entries());
                }
                self.unrealizable.push(Unrealizable { markings, certificate });
                CandidateAnswer::Unrealizable
            }
            NetVerdict::Unsafe(run) => {
                let mut marking = run.initial.clone();
                for step in &run.steps {
                    let transition = question.transition(step.transition);
                    if let Ok(after) = crate::net::fire::fire(transition, &marking, &step.choices) {
                        marking = after;
                    }
                }
                for target in question.targets.iter().filter(|target| target.is_met_by(&marking)) {
                    self.can_be_covered.insert(target.least.clone());
                    self.realizable.push(Realizable { marking: target.least.clone(), run: run.clone() });
                }
                CandidateAnswer::Realizable
            }
            NetVerdict::Unknown(unknown) => CandidateAnswer::Unknown(unknown.reason),
        }
    }
}

/// The result of exploring a number of threads.
struct Explored {
    reached: Reached,
    /// Whether it is proved that no number of threads reaches more. Then the exploration may have been stopped
    /// early.
    is_all: bool,
    /// The proof of this, as far as earlier proofs do not cover it.
    proof: Vec<Unrealizable>,
    forward_time: Duration,
    backward_time: Duration,
}

/// What was found out while looking ahead to the next round.
#[derive(Default)]
struct Ahead {
    backward: Option<CandidateAnswer>,
    backward_time: Duration,
    next: Option<Result<Explored, Reason>>,
}

/// Answers a question about candidates.
fn ask(question: &Net, budget: &Budget) -> NetVerdict {
    Mcov::default().run(question, budget, &Quiet)
}

/// The result of a thread. A panic there is a bug, and is passed on.
fn join<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
