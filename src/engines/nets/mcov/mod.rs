//! Minimal uncoverability proofs.
//!
//! Implements: A. Kaiser, D. Kroening, T. Wahl, "Efficient Coverability Analysis by Proof
//! Minimization", CONCUR 2012, algorithm 3 with a coverability oracle.
//!
//! Theorem used: an upward-closed set that contains the targets and its own covering predecessors, and no marking
//! below an initial one, contains no reachable marking. Any such set is a proof. A smaller marking represents more
//! markings, so for each marking that has to be in the set, the search instead tries a minimal marking below it
//! that is not known to be coverable. If that one turns out to be coverable, it is withdrawn and never tried again.
//! The search ends: it is fair, there are finitely many markings below a marking, and among infinitely many
//! uncoverable markings one would be above an earlier one.
//!
//! Evidence: [`NetCertificate::Basis`], a minimal uncoverability proof in the sense of the paper's definition 2:
//! every marking with fewer tokens than an element in one place can be covered (the shared state of threads is not
//! part of this order), and no elements can be left out. That threads have one shared state at a time is a linear
//! invariant of the proof, so its elements are states as in the paper. [`NetCertificate::CoverabilitySet`] if the
//! oracle has finished and no proof is found soon after; or a run, which goes backwards from a target and, from
//! where the oracle is used, along its tree.
//!
//! Deviation: the paper keeps one tree of predecessors for each candidate, and moves subtrees between them on
//! withdrawal. Here each vertex stores the vertices on which it depends, and [`graph`] expands the vertices again
//! that depended on a withdrawn one; a vertex above a new one is replaced by it. The proof consists of the vertices
//! on which the targets depend in the end. Elements that are not needed are removed then
//! ([`irreducible`](mod@irreducible)), not after every step. In the printed algorithm, the order in definition 4
//! and the test against the initial states are the wrong way round ([errata 31](crate::errata::item_31)).
//!
//! The oracle runs on a second thread. The two sides exchange their results after a fixed amount of work on each
//! side, never after a fixed time, so runs are reproducible.

pub mod coverable;
pub mod graph;
pub mod irreducible;
pub mod minimise;
pub mod oracle;

use super::explicit;
use super::karp_miller::run_to_target;
use super::karp_miller::unwind::{AimedFiring, replay, unwind};
use super::sets::ideal::Ideal;
use crate::budget::Budget;
use crate::engines::Engine;
use crate::evidence::net::UncoverabilityBasis;
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason};
use crate::net::reduce::Extent;
use crate::net::{Net, Overflow};
use crate::progress::Progress;
use coverable::Why;
use graph::{Explanation, Graph, ProofStatus};
use oracle::Oracle;

/// The engine `mcov`.
#[derive(Clone, Copy, Debug)]
pub struct Mcov {
    /// Whether to work without the oracle.
    pub alone: bool,
    /// The amount of work from which on a round uses a second thread. The answer does not depend on it.
    pub worth_a_thread: u64,
    /// When the oracle has finished, the net is decided. This is the amount of work that may still be spent to find a
    /// proof that is smaller than the coverability set.
    pub after_the_oracle: u64,
}

impl Mcov {
    /// The default settings.
    pub const USUAL: Self = Self { alone: false, worth_a_thread: 8_000, after_the_oracle: 200_000 };
}

impl Default for Mcov {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The amount of work on each side in a round; it grows from the first number to the last. Before the first round,
/// the oracle alone does the work of one round.
const ROUND: std::ops::RangeInclusive<u64> = 500..=100_000;

impl Engine<Net> for Mcov {
    fn name(&self) -> &'static str {
        "mcov"
    }

    fn reduction(&self) -> Option<Extent> {
        Some(Extent::All)
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        let mut graph = Graph::new(net);
        let mut oracle = Oracle::new(net);
        let mut round = *ROUND.start();
        let mut enough = None;
        if !self.alone {
            oracle.advance(round, budget);
        }
        loop {
            for node in if self.alone { Vec::new() } else { oracle.news() } {
                graph.learn(oracle.tree.node(node).ideal.clone(), Why::Forward(node));
            }
            if let Some(node) = oracle.target {
                let run = run_to_target(&oracle.tree, node, budget);
                return self.answer(net, run, budget, progress);
            }
            if oracle.is_done && graph.work >= *enough.get_or_insert(graph.work + self.after_the_oracle) {
                let limits = oracle.tree.active_ideals().map(Ideal::to_evidence).collect();
                return NetVerdict::Safe(NetCertificate::CoverabilitySet(limits));
            }
            if let Some(reason) = budget.exhausted() {
                return reason.into();
            }
            progress.say(&|| format!("{} to prove, {} limits coverable", graph.len(), graph.coverable.len()));
            let outcome = if self.alone || round < self.worth_a_thread {
                let outcome = graph.advance(round, budget);
                if !self.alone {
                    oracle.advance(round, budget);
                }
                outcome
            } else {
                std::thread::scope(|scope| {
                    let oracle = &mut oracle;
                    let forward = std::thread::Builder::new()
                        .spawn_scoped(scope, move || oracle.advance(round, budget));
                    let outcome = graph.advance(round, budget);
                    // If no thread can be started, the proof search continues without the oracle. The oracle panics
                    // only if there is a bug, and the panic is passed on.
                    if let Ok(forward) = forward {
                        forward.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    }
                    outcome
                })
            };
            match outcome {
                Ok(ProofStatus::More) => {}
                Ok(ProofStatus::Proved) => {
                    return match graph.proof(budget) {
                        Ok(elements) => {
                            let invariants = graph.invariants();
                            let basis = UncoverabilityBasis {
                                invariants,
                                elements,
                                ..UncoverabilityBasis::default()
                            };
                            NetVerdict::Safe(NetCertificate::Basis(basis))
                        }
                        Err(Overflow) => Reason::TooManyTokens.into(),
                    };
                }
                Ok(ProofStatus::Coverable(target)) => {
                    let run = run_backwards(net, &graph, &oracle, target, budget);
                    return self.answer(net, run, budget, progress);
                }
                Err(Overflow) => return Reason::TooManyTokens.into(),
            }
            round = (round + round / 2).min(*ROUND.end());
        }
    }
}

impl Mcov {
    fn answer(
        self,
        net: &Net,
        run: Result<FiringSequence, Reason>,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> NetVerdict {
        match run {
            Ok(run) => NetVerdict::Unsafe(run),
            Err(Reason::ZeroTests) => explicit::search_despite_zero_tests(net, budget, progress),
            // With transfers, a limit can be correct and still too hard to unwind. The backward search alone knows
            // every step of its run.
            Err(Reason::TooManyTokens) if !self.alone => {
                Self { alone: true, ..self }.run(net, budget, progress)
            }
            Err(reason) => reason.into(),
        }
    }
}

/// The run to a coverable target, built from the reasons why it is coverable.
fn run_backwards(
    net: &Net,
    graph: &Graph,
    oracle: &Oracle,
    target: usize,
    budget: &Budget,
) -> Result<FiringSequence, Reason> {
    let explained = graph.steps_to(&net.targets[target].least);
    let Explanation { steps: last_steps, why, start: goal } = explained.ok_or(Reason::ZeroTests)?;
    let (start, mut steps) = match why {
        Why::Forward(node) => unwind(&oracle.tree, node, &goal, budget)?,
        Why::Initial | Why::Step { .. } => {
            let start = net.initial.marking_that_covers(&goal).ok_or(Reason::TooManyTokens)?;
            (start, Vec::new())
        }
    };
    let rest = last_steps.iter().rev();
    steps.extend(rest.map(|(transition, goal)| AimedFiring::new(net, *transition, goal)));
    replay(net, start, &steps)
}
