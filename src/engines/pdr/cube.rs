//! Cubes: conditions on the globals and on some different threads.
//!
//! A cube with `k` thread cubes stands for all states in which `k` different threads satisfy them, whoever else is there. So
//! cubes are upward closed, and their negations are universal clauses.

use std::cmp::Ordering;

use crate::evidence::threads::{ThreadCube as Condition, UniversalClause};
use crate::threads::Bits;
use crate::threads::matching::matching;

/// A condition on one thread. It says something about a value only at cuts where that value matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ThreadCube {
    /// The numbers of the cuts at which the thread may be.
    pub cuts: Bits,
    /// Values at positions, in order.
    pub values: Vec<(u32, bool)>,
    /// Whether it holds the system.
    pub holds: Option<bool>,
}

/// A condition on the globals and on some different threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cube {
    /// Values of globals, in order.
    pub shared: Vec<(u32, bool)>,
    /// Whether some thread holds the system.
    pub held: Option<bool>,
    /// The threads, in order.
    pub threads: Vec<ThreadCube>,
}

/// A thread of a concrete state.
#[derive(Clone, Debug)]
pub(super) struct ThreadState {
    pub cut: usize,
    pub holds: bool,
    pub values: Bits,
}

/// A concrete state.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub shared: Bits,
    pub held: bool,
    pub threads: Vec<ThreadState>,
}

/// A part of a cube that can be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Part {
    Shared(u32),
    Held,
    /// That this thread exists.
    Thread(u32),
    /// That this thread is not at this cut.
    Excluded(u32, u32),
    Value(u32, u32),
    Holds(u32),
}

impl ThreadCube {
    fn contains(&self, thread: &ThreadState) -> bool {
        self.cuts.get(thread.cut)
            && self.holds.is_none_or(|holds| holds == thread.holds)
            && self.values.iter().all(|&(position, value)| thread.values.get(position as usize) == value)
    }

    /// Whether every thread that satisfies the other condition satisfies this one.
    fn includes(&self, other: &Self) -> bool {
        (self.holds.is_none() || self.holds == other.holds)
            && is_subset(&self.values, &other.values)
            && other.cuts.iter().all(|cut| self.cuts.get(cut))
    }
}

/// Whether all literals of a list are in another one; both are in order.
fn is_subset(some: &[(u32, bool)], all: &[(u32, bool)]) -> bool {
    let mut all = all.iter();
    some.iter().all(|literal| all.by_ref().find(|other| other.0 >= literal.0) == Some(literal))
}

impl Cube {
    /// The number of literals.
    pub fn size(&self) -> usize {
        let threads = self.threads.iter();
        let of_threads = threads.map(|thread| thread.values.len() + 1 + usize::from(thread.holds.is_some()));
        self.shared.len() + usize::from(self.held.is_some()) + of_threads.sum::<usize>()
    }

    /// Whether every state of the other cube is one of this cube.
    pub fn includes(&self, other: &Self) -> bool {
        self.threads.len() <= other.threads.len()
            && (self.held.is_none() || self.held == other.held)
            && is_subset(&self.shared, &other.shared)
            && matching(self.threads.len(), other.threads.len(), |i, j| {
                self.threads[i].includes(&other.threads[j])
            })
            .is_some()
    }

    /// For every thread of the cube, a thread of a state that satisfies it, if the state is in the cube.
    pub fn matches(&self, state: &State) -> Option<Vec<usize>> {
        let shared = self.shared.iter().all(|&(global, value)| state.shared.get(global as usize) == value);
        if !shared || self.held.is_some_and(|held| held != state.held) {
            return None;
        }
        matching(self.threads.len(), state.threads.len(), |i, j| self.threads[i].contains(&state.threads[j]))
    }

    /// The cube with its threads in order, so that equal cubes are equal.
    pub fn sorted(mut self) -> Self {
        self.threads.sort_unstable();
        self
    }

    /// The clause that excludes the cube.
    pub fn clause(&self) -> UniversalClause {
        let threads = self.threads.iter().map(|thread| Condition {
            cuts: thread.cuts.iter().map(|cut| cut as u32).collect(),
            values: thread.values.clone(),
            holds: thread.holds,
        });
        UniversalClause { globals: self.shared.clone(), held: self.held, threads: threads.collect() }
    }

    /// The cube that consists of these parts only. A thread whose existence is no part is left out altogether.
    pub fn restricted(&self, keep: impl Fn(Part) -> bool, every_cut: &Bits, live: &[Bits]) -> Self {
        let shared = self.shared.iter().copied().filter(|&(global, _)| keep(Part::Shared(global))).collect();
        let mut threads = Vec::new();
        for (i, thread) in (0..).zip(&self.threads) {
            if !keep(Part::Thread(i)) {
                continue;
            }
            let values: Vec<(u32, bool)> = thread
                .values
                .iter()
                .copied()
                .filter(|&(position, _)| keep(Part::Value(i, position)))
                .collect();
            let mut cuts = thread.cuts.clone();
            for cut in every_cut.iter().filter(|&cut| !thread.cuts.get(cut)) {
                // Values say something only where they matter.
                let matter = values.iter().all(|&(position, _)| live[cut].get(position as usize));
                if matter && !keep(Part::Excluded(i, cut as u32)) {
                    cuts.set(cut, true);
                }
            }
            threads.push(ThreadCube { cuts, values, holds: thread.holds.filter(|_| keep(Part::Holds(i))) });
        }
        Self { shared, held: self.held.filter(|_| keep(Part::Held)), threads }
    }
}

/// Larger cubes first: fewer threads, then fewer literals.
pub(super) fn by_size(a: &Cube, b: &Cube) -> Ordering {
    (a.threads.len(), a.size()).cmp(&(b.threads.len(), b.size()))
}
