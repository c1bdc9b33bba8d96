//! Karp and Miller's coverability set, forwards from the initial markings.
//!
//! Implements: R. M. Karp, R. E. Miller, "Parallel Program Schemata", Journal of Computer and System Sciences 3(2),
//! 1969; as a minimal coverability set after A. Valmari, H. Hansen, "Old and New Algorithms for Minimal
//! Coverability Sets", Fundamenta Informaticae 131(1), 2014, which like P.-A. Reynier and F. Servais, "Minimal
//! Coverability Set for Petri Nets: Karp and Miller Algorithm with Pruning", Petri Nets 2011, repairs the minimal
//! coverability tree of A. Finkel, 1991 ([errata 29](crate::errata::item_29)); with the shared state of T. Ball, S.
//! Chaki, S. K. Rajamani, "Parameterized Verification of Multithreaded Software Libraries" (Beacon), TACAS 2001.
//!
//! Theorem used: a set of limits that contains the initial markings and is closed under firing covers all reachable
//! markings, and every limit that firing and [`accelerate`] produce can be approached by runs. For Petri nets the
//! search ends: on an infinite branch, some limit would be above an earlier one infinitely often, and each time one
//! more place would hold any number of tokens. With transfers and resets the search need not end, but the limits
//! that it finds can be covered, and if it ends, they are complete.
//!
//! Evidence: [`NetCertificate::CoverabilitySet`], the maximal limits; or a run, for which [`unwind`](mod@unwind)
//! computes how often the accelerated steps are repeated.
//!
//! Deviation: a node that is no longer maximal is not expanded, but stays in the tree as history. So no subtree has
//! to be moved, and all ancestors can be used for acceleration. Accelerations of Petri nets are stored and tried on
//! all new nodes, as in A. Finkel, S. Haddad, I. Khmelnitsky, "Minimal Coverability Tree Construction Made Complete
//! and Efficient", Foundations of Software Science and Computation Structures 2020.

pub mod accelerate;
pub mod tree;
pub mod unwind;

use super::explicit;
use crate::budget::Budget;
use crate::engines::Engine;
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason};
use crate::net::reduce::Extent;
use crate::net::{Net, Overflow};
use crate::progress::Progress;
use tree::{NodeId, Tree};

/// The engine `karp-miller`.
#[derive(Clone, Copy, Debug, Default)]
pub struct KarpMiller {
    /// The number of limits after which the engine gives up, since with transfers and resets it need not end.
    pub most_limits: Option<usize>,
}

impl Engine<Net> for KarpMiller {
    fn name(&self) -> &'static str {
        "karp-miller"
    }

    fn reduction(&self) -> Option<Extent> {
        Some(Extent::All)
    }

    fn search(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict {
        let mut tree = Tree::new(net).within(budget);
        let mut found = tree.target_at_start();
        while found.is_none() {
            if let Some(reason) = budget.exhausted() {
                return reason.into();
            }
            if self.most_limits.is_some_and(|most| tree.len() > most) {
                return Reason::UnboundedTokens.into();
            }
            progress.say(&|| format!("{} limits, {} maximal", tree.len(), tree.active()));
            match tree.expand_next() {
                Ok(tree::TreeProgress::More) => {}
                Ok(tree::TreeProgress::Target(node)) => found = Some(node),
                Ok(tree::TreeProgress::Done) if tree.is_complete() => {
                    let limits = tree.active_ideals().map(super::sets::ideal::Ideal::to_evidence);
                    return NetVerdict::Safe(NetCertificate::CoverabilitySet(limits.collect()));
                }
                Ok(tree::TreeProgress::Done) => return Reason::UnboundedTokens.into(),
                Err(Overflow) => return Reason::TooManyTokens.into(),
            }
        }
        match found.map(|node| run_to_target(&tree, node, budget)) {
            Some(Ok(run)) => NetVerdict::Unsafe(run),
            Some(Err(Reason::ZeroTests)) => explicit::search_despite_zero_tests(net, budget, progress),
            Some(Err(reason)) => reason.into(),
            None => Reason::UnboundedTokens.into(),
        }
    }
}

/// A run to a target that a node covers.
///
/// # Errors
/// If none was found within the limits, or zero tests forbid it.
pub fn run_to_target(tree: &Tree, node: NodeId, budget: &Budget) -> Result<FiringSequence, Reason> {
    let ideal = &tree.node(node).ideal;
    let covered = tree.net().targets.iter().filter(|target| ideal.includes(target.least.entries()));
    let mut why = Reason::ZeroTests;
    for target in covered {
        let run = unwind::unwind(tree, node, &target.least, budget)
            .and_then(|(start, steps)| unwind::replay(tree.net(), start, &steps));
        match run {
            Ok(run) => return Ok(run),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}
