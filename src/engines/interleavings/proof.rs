//! All states that were found, as a proof.

use rustc_hash::FxHashMap;

use super::search::{Search, Stop};
use super::states::{Record, StateId, States};
use super::steps::Threads;
use crate::budget::Budget;
use crate::evidence::threads::{
    Alone, ListedStates, PackedStates, ThreadAtCut, ThreadInvariant, ThreadProof,
};
use crate::evidence::trace::Valuation;
use crate::model::Var;
use crate::threads::{Location, ThreadSystem};
use std::ops::ControlFlow;

impl Search<'_> {
    /// The proof that no violation is reachable, after a search that found none.
    pub(super) fn proof(mut self, budget: &Budget) -> Result<ThreadProof, Stop> {
        if !self.symmetry {
            self.sort_threads()?;
        }
        let alone = self.ranks(budget)?;
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
        for (_, record) in self.states.iter() {
            states.push(record.shared(), record.threads().iter().copied());
        }
        let (ignored_globals, ignored_locals) = ignored(system);
        let listed = ListedStates { globals, positions, shared, threads, states, alone };
        let cuts = cuts.into_iter().map(|cut| system.stack(cut)).collect();
        Ok(ThreadProof { ignored_globals, ignored_locals, cuts, invariant: ThreadInvariant::States(listed) })
    }

    /// Identifies states that differ only in the order of their threads. The one that was found last stands for all of
    /// them, so that what leads on from it still leads to a state that comes later.
    fn sort_threads(&mut self) -> Result<(), Stop> {
        let sorted = |record: Record<'_>| {
            let mut threads = Threads::from_slice(record.threads());
            threads.sort_unstable();
            threads
        };
        let mut names = States::new();
        let mut last: FxHashMap<StateId, StateId> = FxHashMap::default();
        for (id, record) in self.states.iter() {
            last.insert(names.insert(record.shared(), &sorted(record), None)?, id);
        }
        let mut states = States::new();
        for (id, record) in self.states.iter() {
            let threads = sorted(record);
            let name = names.insert(record.shared(), &threads, None)?;
            if last[&name] != id {
                continue;
            }
            let new = states.insert(record.shared(), &threads, None)?;
            let marked = record.mark().map(|at| record.threads()[at]);
            if let Some(at) = threads.iter().position(|&thread| Some(thread) == marked) {
                states.mark(new, at);
            }
        }
        self.states = states;
        self.symmetry = true;
        Ok(())
    }

    /// The states from which one thread was followed, with ranks. A large step of that thread leads to a state that was found
    /// later, so ranks are known when states are looked at from the last to the first.
    fn ranks(&mut self, budget: &Budget) -> Result<Vec<Alone>, Stop> {
        let marked: Vec<(u32, StateId)> = (0..)
            .zip(self.states.iter())
            .filter(|(_, (_, record))| record.mark().is_some())
            .map(|(number, (id, _))| (number, id))
            .collect();
        let mut ranks: FxHashMap<StateId, u32> = FxHashMap::default();
        let mut alone = Vec::with_capacity(marked.len());
        for &(number, id) in marked.iter().rev() {
            let Self { steps, states, symmetry, .. } = self;
            let record = states.record(id);
            let Some(at) = record.mark() else { continue };
            let mut least = u32::MAX;
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
            debug_assert!(least < u32::MAX, "a step leads on");
            let rank = least.saturating_add(1);
            ranks.insert(id, rank);
            alone.push(Alone { state: number, thread: record.threads()[at], rank });
        }
        alone.reverse();
        Ok(alone)
    }
}

/// The variables that do not matter.
fn ignored(system: &ThreadSystem<'_>) -> (Vec<u32>, Vec<(crate::model::ProcId, u32)>) {
    let program = system.program();
    let matters = |id, var| system.relevance.matters(id, var);
    let globals = (0..program.globals.len() as u32).filter(|&g| !matters(program.start, Var::Global(g)));
    let locals = program.procedure_ids().flat_map(|id| {
        let count = program.procedure(id).locals.len() as u32;
        (0..count).filter(move |&local| !matters(id, Var::Local(local))).map(move |local| (id, local))
    });
    (globals.collect(), locals.collect())
}
