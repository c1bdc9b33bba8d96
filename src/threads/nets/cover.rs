//! Sets of states that are described by literals, and which of the listed states are in them.

use rustc_hash::FxHashMap;

use super::excluded::Product;
use super::views::{SharedId, ThreadId, Views};
use crate::evidence::threads::{ThreadCube, UniversalClause};
use crate::threads::matching::matching;
use crate::threads::{Bits, Location, ThreadSystem};

/// The states that violate a clause.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub clause: UniversalClause,
    /// The listed shared states that satisfy what the clause says about them.
    pub shared: Bits,
    /// For every thread of the clause, the listed local states that satisfy what it says about it.
    pub threads: Vec<Bits>,
}

impl Region {
    /// What has to be said of the threads of a product so that its states are in the region: positions of sets, and what
    /// they have to be in, where they are not in it anyway. `None` if no state of the product is in the region.
    pub fn part_of(&self, product: &Product) -> Option<Vec<(usize, Bits)>> {
        if !self.shared.get(product.shared.index()) {
            return None;
        }
        let count = product.threads.len();
        let within = |i: usize, j: usize| product.threads[j].is_subset(&self.threads[i]);
        if matching(self.threads.len(), count, within).is_some() {
            return Some(Vec::new());
        }
        let meets = |i: usize, j: usize| product.threads[j].meets(&self.threads[i]);
        let map = matching(self.threads.len(), count, meets)?;
        let parts = map.into_iter().enumerate().filter(|&(i, j)| !within(i, j));
        Some(parts.map(|(i, j)| (j, self.threads[i].clone())).collect())
    }

    /// Whether all states of a region are states of this one.
    pub fn includes(&self, other: &UniversalClause) -> bool {
        let own = &self.clause;
        is_subset(&own.globals, &other.globals)
            && (own.held.is_none() || own.held == other.held)
            && matching(own.threads.len(), other.threads.len(), |i, j| {
                let (own, other) = (&own.threads[i], &other.threads[j]);
                is_subset(&own.values, &other.values)
                    && (own.holds.is_none() || own.holds == other.holds)
                    && other.cuts.iter().all(|cut| own.cuts.contains(cut))
            })
            .is_some()
    }
}

/// Whether all literals of a list are in another one.
fn is_subset(some: &[(u32, bool)], all: &[(u32, bool)]) -> bool {
    some.iter().all(|literal| all.contains(literal))
}

/// The listed states by literals.
#[derive(Debug)]
pub(super) struct Literals {
    /// The globals that matter.
    pub globals: Vec<u32>,
    /// The cuts, in the order in which proofs number them.
    pub cuts: Vec<Location>,
    cut_numbers: FxHashMap<Location, u32>,
    /// The listed shared states, by the values of a global.
    of_globals: FxHashMap<u32, [Bits; 2]>,
    held: [Bits; 2],
    all_shared: Bits,
    /// The listed local states, by the values at a position that matters.
    of_positions: Vec<[Bits; 2]>,
    holds: [Bits; 2],
    at_cuts: Vec<Bits>,
    /// For every shared state, the local states that may be seen with it.
    seen_at: Vec<Bits>,
}

impl Literals {
    pub fn new(system: &ThreadSystem<'_>, views: &Views) -> Self {
        let globals: Vec<u32> = system.relevance.globals().collect();
        let cuts: Vec<Location> = system.cuts().collect();
        let cut_numbers: FxHashMap<Location, u32> = cuts.iter().copied().zip(0..).collect();
        let mut of_globals: FxHashMap<u32, [Bits; 2]> =
            globals.iter().map(|&global| (global, Default::default())).collect();
        let mut held: [Bits; 2] = Default::default();
        for (number, shared) in views.shared.iter().enumerate() {
            for &global in &globals {
                let value = shared.values.get(global as usize);
                of_globals.entry(global).or_default()[usize::from(value)].set(number, true);
            }
            held[usize::from(shared.held)].set(number, true);
        }
        let mut of_positions: Vec<[Bits; 2]> = vec![Default::default(); system.width as usize];
        let mut holds: [Bits; 2] = Default::default();
        let mut at_cuts = vec![Bits::default(); cuts.len()];
        for (number, thread) in views.threads.iter().enumerate() {
            for position in system.live(thread.location).iter() {
                of_positions[position][usize::from(thread.values.get(position))].set(number, true);
            }
            holds[usize::from(thread.holds)].set(number, true);
            if let Some(&cut) = cut_numbers.get(&thread.location) {
                at_cuts[cut as usize].set(number, true);
            }
        }
        let bits = |threads: &Vec<ThreadId>| {
            let mut bits = Bits::default();
            for thread in threads {
                bits.set(thread.index(), true);
            }
            bits
        };
        let seen_at = views.seen_at.iter().map(bits).collect();
        let all_shared = Bits::ones(views.shared.len());
        Self {
            globals,
            cuts,
            cut_numbers,
            of_globals,
            held,
            all_shared,
            of_positions,
            holds,
            at_cuts,
            seen_at,
        }
    }

    /// The number of a cut.
    pub fn cut(&self, location: Location) -> Option<u32> {
        self.cut_numbers.get(&location).copied()
    }

    /// The states that violate a clause.
    pub fn region(&self, clause: UniversalClause) -> Region {
        let mut shared = self.all_shared.clone();
        for (global, value) in &clause.globals {
            if let Some(sides) = self.of_globals.get(global) {
                shared.keep(&sides[usize::from(*value)]);
            }
        }
        clause.held.into_iter().for_each(|held| shared.keep(&self.held[usize::from(held)]));
        let threads = clause.threads.iter().map(|cube| self.threads(cube)).collect();
        Region { clause, shared, threads }
    }

    fn threads(&self, cube: &ThreadCube) -> Bits {
        let mut threads = Bits::default();
        for &cut in &cube.cuts {
            threads.join(&self.at_cuts[cut as usize]);
        }
        for &(position, value) in &cube.values {
            threads.keep(&self.of_positions[position as usize][usize::from(value)]);
        }
        cube.holds.into_iter().for_each(|holds| threads.keep(&self.holds[usize::from(holds)]));
        threads
    }

    /// The listed states of a region with a shared state.
    pub fn product(&self, region: &Region, shared: SharedId) -> Product {
        let mut threads = region.threads.clone();
        for set in &mut threads {
            set.keep(&self.seen_at[shared.index()]);
        }
        Product { shared, threads }
    }

    /// The clause that excludes exactly this shared state with these threads, and what covers it.
    pub fn point(
        &self,
        system: &ThreadSystem<'_>,
        views: &Views,
        shared: SharedId,
        threads: &[ThreadId],
    ) -> UniversalClause {
        let state = &views.shared[shared.index()];
        let globals = self.globals.iter().map(|&global| (global, state.values.get(global as usize)));
        let cube = |&thread: &ThreadId| {
            let thread = &views.threads[thread.index()];
            let positions = system.live(thread.location).iter();
            ThreadCube {
                cuts: self.cut(thread.location).into_iter().collect(),
                values: positions.map(|position| (position as u32, thread.values.get(position))).collect(),
                holds: Some(thread.holds),
            }
        };
        let threads = threads.iter().map(cube).collect();
        UniversalClause { globals: globals.collect(), held: Some(state.held), threads }
    }
}
