//! Large steps by the definition: small steps of one thread, state by state, until it is at a cut.

use std::borrow::Borrow;
use std::collections::HashSet;

use cusp::evidence::threads::{ListedStates, PackedStates, ThreadAtCut, ThreadInvariant, ThreadProof};
use cusp::evidence::trace::{Frame, Move, System, Valuation};
use cusp::evidence::{Certificate, Verdict};
use cusp::model::{Node, ProcId, Task, Var};
use cusp::threads::{Reductions, ThreadSystem};

use super::oracle_threads::{Multiset, Threads};

/// The control of a thread.
pub type Stack = Vec<(ProcId, Node)>;

/// Where threads may be interrupted, and what a proof says about their values there.
#[derive(Clone, Debug)]
pub struct Cuts {
    pub ignored_globals: Vec<u32>,
    pub ignored_locals: Vec<(ProcId, u32)>,
    pub stacks: Vec<Stack>,
    /// For every cut, the positions of values that are listed.
    pub positions: Vec<Vec<u32>>,
    pub globals: Vec<u32>,
}

impl Cuts {
    /// The cuts that the engines choose; `None` if calls cannot be inlined.
    pub fn of(task: &Task, reductions: Reductions) -> Option<Self> {
        let system = ThreadSystem::new(task, reductions, None).ok()?;
        let program = &task.program;
        let ignored = |&global: &u32| !system.relevance.matters(program.start, Var::Global(global));
        let globals: Vec<u32> = (0..program.globals.len() as u32).collect();
        let locals = program
            .procedure_ids()
            .flat_map(|id| (0..program.procedure(id).locals.len() as u32).map(move |local| (id, local)));
        let ignored_local = |&(id, local): &(ProcId, u32)| !system.relevance.matters(id, Var::Local(local));
        let cuts: Vec<_> = system.cuts().collect();
        Some(Self {
            ignored_globals: globals.iter().copied().filter(ignored).collect(),
            ignored_locals: locals.filter(ignored_local).collect(),
            stacks: cuts.iter().map(|&cut| system.stack(cut)).collect(),
            positions: cuts
                .iter()
                .map(|&cut| system.live(cut).iter().map(|position| position as u32).collect())
                .collect(),
            globals: globals.into_iter().filter(|global| !ignored(global)).collect(),
        })
    }

    /// The number of a stack.
    pub fn number(&self, frames: &[impl Borrow<Frame>]) -> Option<u32> {
        let frames = frames.iter().map(Borrow::borrow);
        let stack: Stack = frames.map(|frame: &Frame| (frame.procedure, frame.node)).collect();
        self.stacks.iter().position(|cut| *cut == stack).map(|cut| cut as u32)
    }

    /// A thread as a certificate lists it.
    pub fn thread(&self, holds: bool, frames: &[Frame]) -> Option<ThreadAtCut> {
        let cut = self.number(frames)?;
        let all: Vec<bool> = frames.iter().flat_map(|frame| frame.locals.0.clone()).collect();
        let values = self.positions[cut as usize].iter().map(|&position| all[position as usize]).collect();
        Some(ThreadAtCut { cut, holds, values: Valuation(values) })
    }

    /// A state as a certificate lists it; `None` if some thread is not at a cut.
    pub fn state(&self, (globals, threads): &Multiset) -> Option<(Valuation, Vec<ThreadAtCut>)> {
        let shared = self.globals.iter().map(|&global| globals[global as usize]).collect();
        let threads = threads.iter().map(|(holds, frames)| self.thread(*holds, frames));
        Some((Valuation(shared), threads.collect::<Option<Vec<_>>>()?))
    }

    /// The certificate that lists states.
    pub fn proof(&self, states: &[(Valuation, Vec<ThreadAtCut>)]) -> ThreadProof {
        let mut listed = ListedStates {
            globals: self.globals.clone(),
            positions: self.positions.clone(),
            ..ListedStates::default()
        };
        let mut packed: Vec<(u32, Vec<u32>)> = Vec::new();
        for (shared, threads) in states {
            let shared = number(&mut listed.shared, shared);
            let mut threads: Vec<u32> =
                threads.iter().map(|thread| number(&mut listed.threads, thread)).collect();
            threads.sort_unstable();
            packed.push((shared, threads));
        }
        packed.sort();
        packed.dedup();
        let mut states = PackedStates::default();
        for (shared, threads) in packed {
            states.push(shared, threads);
        }
        self.with(ThreadInvariant::States(ListedStates { states, ..listed }))
    }

    /// A proof with these cuts.
    pub fn with(&self, invariant: ThreadInvariant) -> ThreadProof {
        ThreadProof {
            ignored_globals: self.ignored_globals.clone(),
            ignored_locals: self.ignored_locals.clone(),
            cuts: self.stacks.clone(),
            invariant,
        }
    }
}

fn number<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T) -> u32 {
    let position = list.iter().position(|other| other == item).unwrap_or_else(|| {
        list.push(item.clone());
        list.len() - 1
    });
    position as u32
}

pub fn safe(proof: &ThreadProof) -> Verdict {
    Verdict::Safe(Certificate::Threads(proof.clone()))
}

/// All ends of the large steps of a thread, and whether there may be a violation on the way.
pub fn large_steps(oracle: &Threads<'_>, cuts: &Cuts, state: &System, mover: u32) -> (bool, Vec<System>) {
    let (mut open, mut seen, mut ends) = (vec![state.clone()], Vec::new(), Vec::new());
    let mut violation = false;
    while let Some(state) = open.pop() {
        let before = state.threads.len();
        let next = state.threads.iter().map(|thread| thread.id + 1).max().unwrap_or(0);
        let thread = state.threads.iter().find(|thread| thread.id == mover).expect("it lives");
        violation |= !oracle.violations(&state, thread).is_empty();
        for (id, action, after) in oracle.steps(&state, next) {
            if id != mover {
                continue;
            }
            let new = after.threads.iter().filter(|thread| thread.id == next);
            violation |= action != Move::Return
                && new.into_iter().any(|thread| is_at_label(oracle, &after, thread.id));
            let thread = after.threads.iter().find(|thread| thread.id == mover);
            violation |= thread.is_some_and(|thread| is_at_label(oracle, &after, thread.id));
            assert!(after.threads.len() <= before + 1);
            if thread.is_none_or(|thread| cuts.number(&thread.frames).is_some()) {
                ends.push(after);
            } else if !seen.contains(&after) {
                seen.push(after.clone());
                open.push(after);
            }
        }
    }
    (violation, ends)
}

fn is_at_label(oracle: &Threads<'_>, state: &System, id: u32) -> bool {
    use cusp::evidence::trace::Violation::Label;
    let thread = state.threads.iter().find(|thread| thread.id == id).expect("it lives");
    oracle.violations(state, thread).contains(&Label)
}

/// Whether large steps from these states may violate the property, and where else they lead; `None` if there is
/// too much for this oracle.
pub fn obligations(
    oracle: &Threads<'_>,
    cuts: &Cuts,
    set: &HashSet<Multiset>,
    limit: usize,
) -> Option<(bool, HashSet<Multiset>)> {
    let starts = oracle.initial();
    let mut violation = starts.iter().any(|state| is_at_label(oracle, state, 0));
    let mut demanded: HashSet<Multiset> = starts.iter().map(Threads::multiset).collect();
    let elements: Vec<&Multiset> = set.iter().collect();
    for element in elements {
        let state = Threads::numbered(element);
        for thread in &state.threads {
            if state.holder.is_some_and(|holder| holder != thread.id) {
                continue;
            }
            let (violates, ends) = large_steps(oracle, cuts, &state, thread.id);
            violation |= violates;
            demanded.extend(ends.iter().map(Threads::multiset));
        }
        if demanded.len() > limit {
            return None;
        }
    }
    demanded.retain(|element| !set.contains(element));
    Some((violation, demanded))
}

/// All states in reach of large steps, and whether there may be a violation on the way.
pub fn closure(oracle: &Threads<'_>, cuts: &Cuts, limit: usize) -> Option<(bool, HashSet<Multiset>)> {
    let mut set = HashSet::new();
    let mut violation = false;
    let mut new: HashSet<Multiset> = HashSet::new();
    loop {
        let (violates, missing) = obligations(oracle, cuts, &new, limit)?;
        violation |= violates;
        new = missing.difference(&set).cloned().collect();
        if new.is_empty() {
            return Some((violation, set));
        }
        set.extend(new.iter().cloned());
        if set.len() > limit {
            return None;
        }
    }
}
