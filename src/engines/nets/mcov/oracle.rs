//! The forward search, which finds coverable markings, so that the proof search does not try to prove them
//! uncoverable.
//!
//! About half of the work goes into the tree of [`karp_miller`](super::super::karp_miller), and half into random
//! walks that start at limits of the tree. The tree is thorough, and the walks get far.

use crate::budget::Budget;
use crate::engines::nets::karp_miller::tree::{NodeId, Tree, TreeProgress};
use crate::net::{Net, Overflow};

/// The number of nodes after which the forward search stops.
const MOST_NODES: usize = 400_000;

/// The greatest number of ways that are enumerated in which the tokens of one firing can choose. There can be very
/// many, and a way that is left out is often found later.
const MOST_WAYS: usize = 64;
/// What a unit of effort of the tree counts as [work](Budget::spend).
const WORK_OF_A_STEP: u64 = 5;

/// The forward search.
#[derive(Debug)]
pub struct Oracle<'n> {
    /// The limits that were found.
    pub tree: Tree<'n>,
    /// A node that covers a target, if one was found.
    pub target: Option<NodeId>,
    /// Whether no node is left to expand, and all successors were enumerated.
    pub is_done: bool,
    /// Whether the search has ended.
    is_stopped: bool,
    reported: usize,
    random: u64,
}

impl<'n> Oracle<'n> {
    /// A search that knows the initial markings only.
    #[must_use]
    pub fn new(net: &'n Net) -> Self {
        let tree = Tree::with_ways(net, MOST_WAYS);
        let target = tree.target_at_start();
        Self { tree, target, is_done: false, is_stopped: false, reported: 0, random: 0 }
    }

    /// Searches until a given amount of work is done, or the search ends.
    pub fn advance(&mut self, work: u64, budget: &Budget) {
        let mut done = 0_u64;
        let mut turn = 0_u64;
        while done < work && self.target.is_none() && !self.is_stopped && budget.exhausted().is_none() {
            turn += 1;
            let before = self.tree.work();
            let progress = if turn.is_multiple_of(8) {
                let mut state = self.random;
                let mut random = |below: usize| next(&mut state, below);
                let progress = self.tree.walk(64, &mut random);
                self.random = state;
                progress
            } else {
                self.tree.expand_next()
            };
            let work = (self.tree.work() - before).max(1);
            budget.spend(WORK_OF_A_STEP * work);
            done += work;
            match progress {
                Ok(TreeProgress::More) => self.is_stopped = self.tree.len() > MOST_NODES,
                Ok(TreeProgress::Target(node)) => self.target = Some(node),
                Ok(TreeProgress::Done) => {
                    self.is_stopped = true;
                    self.is_done = self.tree.is_complete();
                }
                Err(Overflow) => self.is_stopped = true,
            }
        }
    }

    /// The maximal nodes among those found since the last call.
    pub fn news(&mut self) -> Vec<NodeId> {
        let all = self.reported..self.tree.len();
        self.reported = self.tree.len();
        all.map(NodeId::from_index).filter(|&id| self.tree.is_active(id)).collect()
    }
}

/// The next pseudorandom number below a bound, which must not be 0: `SplitMix64` (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", 2014).
fn next(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % below as u64) as usize
}
