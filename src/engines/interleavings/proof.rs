//! All states that were found, as a proof.

use rustc_hash::FxHashMap;

use super::persistent::members;
use super::search::Search;
use super::states::StateId;
use super::steps::Threads;
use super::stop::Stop;
use crate::budget::Budget;
use crate::evidence::threads::{
    Followed, ListedStates, PackedStates, ThreadAtCut, ThreadInvariant, ThreadProof,
};
use crate::evidence::trace::Valuation;
use crate::threads::Location;
use std::ops::ControlFlow;

impl Search<'_> {
    /// The proof that no violation is reachable, after a search that found none.
    pub(super) fn proof(mut self, budget: &Budget) -> Result<ThreadProof, Stop> {
        let followed = self.ranks(budget)?;
        let system = self.steps.moves.system;
        let cuts: Vec<Location> = system.cuts().collect();
        let number: FxHashMap<Location, u32> = cuts.iter().copied().zip(0..).collect();
        let globals: Vec<u32> = system.relevance.globals().collect();
        let positions: Vec<Vec<u32>> = cuts
            .iter()
            .map(|&cut| system.live(cut).iter().map(|position| position as u32).collect())
            .collect();
        let shared = self.steps.moves.shared.iter();
        let shared = shared.map(|bits| globals.iter().map(|&g| bits.get(g as usize)).collect());
        let shared = shared.map(Valuation).collect();
        let threads = self.steps.moves.threads.iter().map(|thread| {
            let cut = number[&thread.location];
            let values = positions[cut as usize].iter().map(|&p| thread.values.get(p as usize)).collect();
            ThreadAtCut { cut, holds: thread.holds, values: Valuation(values) }
        });
        let threads = threads.collect();
        let mut states = PackedStates::default();
        let (mut orders, mut kept) = (Orders::default(), Vec::new());
        let mut found = followed.into_iter().peekable();
        for (number, (_, record)) in (0..).zip(self.states.iter()) {
            let mut threads = Threads::from_slice(record.threads());
            threads.sort_unstable();
            let followed = found.next_if(|followed| followed.state == number);
            if self.symmetry {
                states.push(record.shared(), threads);
                kept.extend(followed);
            } else if orders.add(record.shared(), &threads, followed) {
                states.push(record.shared(), threads);
            }
        }
        let followed = if self.symmetry { kept } else { orders.best.into_iter().flatten().collect() };
        let listed = ListedStates { globals, positions, shared, threads, states, followed };
        Ok(system.proof(ThreadInvariant::States(listed)))
    }

    /// The states from which some threads were followed, with ranks. A large step of such a thread leads to a state that was
    /// found later, so ranks are known when states are looked at from the last to the first.
    fn ranks(&mut self, budget: &Budget) -> Result<Vec<Followed>, Stop> {
        let marked: Vec<(u32, StateId)> = (0..)
            .zip(self.states.iter())
            .filter(|(_, (_, record))| record.mark().is_some())
            .map(|(number, (id, _))| (number, id))
            .collect();
        let mut ranks: FxHashMap<StateId, u32> = FxHashMap::default();
        let mut followed = Vec::with_capacity(marked.len());
        for &(number, id) in marked.iter().rev() {
            let Self { steps, states, symmetry, independence, .. } = self;
            let record = states.record(id);
            let location = |at: usize| steps.moves.facts(record.threads()[at]).location;
            let find = |first| independence.as_ref()?.group(record.threads().len(), first, location);
            let Some(group) = record.mark().and_then(find) else { continue };
            let mut least = u32::MAX;
            for at in members(group) {
                steps.for_each(record.shared(), record.threads(), at, budget, |next, mut after| {
                    if *symmetry {
                        after.sort_unstable();
                    }
                    match states.find(next.shared, &after) {
                        Some(later) if later > id => {
                            least = least.min(ranks.get(&later).copied().unwrap_or(0));
                        }
                        _ => {}
                    }
                    Ok(ControlFlow::<()>::Continue(()))
                })?;
            }
            debug_assert!(least < u32::MAX, "a step leads on");
            let rank = least.saturating_add(1);
            ranks.insert(id, rank);
            let mut threads: Vec<u32> = members(group).map(|at| record.threads()[at]).collect();
            threads.sort_unstable();
            threads.dedup();
            followed.push(Followed { state: number, threads, rank });
        }
        followed.reverse();
        Ok(followed)
    }
}

/// States that differ only in the order of their threads, for a search without symmetry: a proof lists one of them. If all
/// threads were followed from one, it is that one, and otherwise the one with the least rank: its large steps lead to states
/// of which the least ranks are smaller still.
#[derive(Default)]
struct Orders {
    numbers: FxHashMap<(u32, Threads), usize>,
    /// For every listed state, the threads that are followed in the best order.
    best: Vec<Option<Followed>>,
}

impl Orders {
    /// Adds a state; returns whether it is the first one of its kind.
    fn add(&mut self, shared: u32, threads: &Threads, followed: Option<Followed>) -> bool {
        let next = self.best.len();
        let number = *self.numbers.entry((shared, threads.clone())).or_insert(next);
        let followed = followed.map(|followed| Followed { state: number as u32, ..followed });
        if number == next {
            self.best.push(followed);
            return true;
        }
        let rank = |followed: &Option<Followed>| followed.as_ref().map_or(0, |followed| followed.rank);
        if rank(&followed) < rank(&self.best[number]) {
            self.best[number] = followed;
        }
        false
    }
}
