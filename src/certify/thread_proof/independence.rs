//! Threads that may be followed without others: what their large steps do concerns none of these.

use rustc_hash::FxHashMap;

use super::accesses::Shared;
use super::control::Control;
use super::large_steps::{LargeSteps, Summary};
use crate::certify::{Stop, reject};

/// Decides which threads are independent of which others, from their cuts.
pub(super) struct Independence<'a> {
    large_steps: &'a LargeSteps,
    /// The Getafix global: every step reads it.
    flag: Option<Shared>,
    /// For each position of [`LargeSteps`], everything that may be done from there on: reads and writes.
    futures: Vec<[Vec<Shared>; 2]>,
    /// Whether two cuts are independent.
    known: FxHashMap<(u32, u32), bool>,
}

/// What is accessed of others, as the others see it.
fn seen_by_others(shared: Shared) -> Option<Shared> {
    match shared {
        Shared::Global(_) => Some(shared),
        Shared::Others(procedure, local) => Some(Shared::Own(procedure, local)),
        Shared::Own(..) => None,
    }
}

impl<'a> Independence<'a> {
    pub fn new(control: &Control<'_>, large_steps: &'a LargeSteps) -> Self {
        let flag = control.program.atomic_flag.map(Shared::Global);
        Self { large_steps, flag, futures: Vec::new(), known: FxHashMap::default() }
    }

    /// Adds up what may be done from every cut on, including by threads that are started.
    fn futures(&mut self) {
        let steps = self.large_steps;
        let own = |summary: &Summary| {
            let seen = |list: &[Shared]| list.iter().copied().filter_map(seen_by_others).collect::<Vec<_>>();
            [seen(&summary.reads), seen(&summary.writes)]
        };
        self.futures = steps.summaries.iter().map(own).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (position, summary) in steps.summaries.iter().enumerate().rev() {
                for next in summary.leads_to.iter().filter_map(|&pair| steps.position(pair)) {
                    for kind in 0..2 {
                        let more = self.futures[next][kind].clone();
                        let mine = &mut self.futures[position][kind];
                        let count = mine.len();
                        mine.extend(more);
                        mine.sort_unstable();
                        mine.dedup();
                        changed |= mine.len() != count;
                    }
                }
            }
        }
    }

    /// Checks that a thread at a cut, which does not hold the system, may be followed without others
    /// at these cuts.
    pub fn check(&mut self, cut: u32, others: impl Iterator<Item = u32>) -> Result<(), Stop> {
        if self.futures.is_empty() {
            self.futures();
        }
        let Some(position) = self.large_steps.position((cut, false)) else {
            return reject(format!("no thread can be at cut {cut}"));
        };
        if self.large_steps.summaries[position].is_noticed {
            return reject(format!("a large step from cut {cut} concerns all others"));
        }
        for other in others {
            if !self.known.contains_key(&(cut, other)) {
                let independent = self.is_independent(position, other);
                self.known.insert((cut, other), independent);
            }
            let independent = self.known[&(cut, other)];
            if !independent {
                return reject(format!("large steps from cut {cut} depend on a thread at cut {other}"));
            }
        }
        Ok(())
    }

    fn is_independent(&self, position: usize, other: u32) -> bool {
        let summary = &self.large_steps.summaries[position];
        let Some(other) = self.large_steps.position((other, false)) else { return false };
        let [reads, writes] = &self.futures[other];
        let contains = |list: &[Shared], shared: &Shared| list.binary_search(shared).is_ok();
        let accesses =
            |list: &Shared| contains(reads, list) || contains(writes, list) || self.flag == Some(*list);
        let accessed = summary.reads.iter().chain(&summary.writes).chain(&self.flag);
        !accessed.into_iter().any(|shared| contains(writes, shared)) && !summary.writes.iter().any(accesses)
    }
}
