//! The forward side: finds what can be covered, so that nobody tries to prove that it cannot.
//!
//! Half of the work goes into the tree of [`karp_miller`](super::super::karp_miller), half into random
//! walks that start at what the tree has found: the tree is thorough, the walks are far-reaching.

use crate::budget::Budget;
use crate::engines::nets::karp_miller::tree::{NodeId, Progress, Tree};
use crate::net::{Net, Overflow};

/// Nodes after which the tree has told enough.
const MOST_NODES: usize = 400_000;

/// Where tokens choose, there can be very many ways, and those that are not looked at are not missed for long.
const MOST_WAYS: usize = 64;

/// The forward search.
#[derive(Debug)]
pub struct Oracle<'n> {
    /// What was found.
    pub tree: Tree<'n>,
    /// A node that covers a target.
    pub target: Option<NodeId>,
    /// Nothing is left to do, and all successors were looked at.
    pub is_done: bool,
    /// It went on as long as it made sense.
    is_stopped: bool,
    reported: usize,
    random: u64,
}

impl<'n> Oracle<'n> {
    /// Nothing but the initial markings.
    #[must_use]
    pub fn new(net: &'n Net) -> Self {
        let tree = Tree::with_ways(net, MOST_WAYS);
        let target = tree.target_at_start();
        Self { tree, target, is_done: false, is_stopped: false, reported: 0, random: 0 }
    }

    /// Works until so much work is done, or nothing is left to do.
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
            done += (self.tree.work() - before).max(1);
            match progress {
                Ok(Progress::More) => self.is_stopped = self.tree.len() > MOST_NODES,
                Ok(Progress::Target(node)) => self.target = Some(node),
                Ok(Progress::Done) => {
                    self.is_stopped = true;
                    self.is_done = self.tree.is_complete();
                }
                Err(Overflow) => self.is_stopped = true,
            }
        }
    }

    /// The maximal nodes since the last time.
    pub fn news(&mut self) -> Vec<NodeId> {
        let all = self.reported..self.tree.len();
        self.reported = self.tree.len();
        all.map(NodeId::from_index).filter(|&id| self.tree.is_active(id)).collect()
    }
}

/// The next number below a bound, which is not 0: `SplitMix64` (Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", 2014).
fn next(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % below as u64) as usize
}
