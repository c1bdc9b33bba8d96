//! Which large steps commute.
//!
//! The globals that the large steps from a cut read and write are those that their formulas mention. Large steps that
//! start threads, or that contain an assignment with `x$`, count as dependent on all others. If the Getafix global that
//! forbids context switches exists, every step reads it.
//!
//! Two large steps of different threads are *independent* if neither writes what the other reads or writes. Then they can
//! be exchanged, with the same choices and the same result, unless a thread holds the system before, between or after
//! them.

use cusp_encodings::Term;
use rustc_hash::FxHashSet;

use crate::threads::formula::{Block, Blocks};
use crate::threads::{Bits, Location, ThreadSystem};

/// What the large steps from every cut read and write.
pub(in crate::engines) struct Independence {
    /// In the order of the blocks.
    pub accesses: Vec<Accesses>,
}

/// What the large steps from one cut do.
#[derive(Clone, Debug, Default)]
pub(in crate::engines) struct Accesses {
    /// The globals that they read or write.
    pub touched: Bits,
    /// The globals that they write.
    pub written: Bits,
    /// Whether they are dependent on all other steps.
    pub is_special: bool,
}

impl Independence {
    /// Unless `reduces`, no steps are independent of each other.
    pub fn of(blocks: &Blocks<'_>, reduces: bool) -> Self {
        let of_block = |block: &Block| {
            let accesses = Accesses::of(blocks, block);
            Accesses { is_special: accesses.is_special || !reduces, ..accesses }
        };
        Self { accesses: blocks.blocks().iter().map(of_block).collect() }
    }
}

impl Accesses {
    fn of(blocks: &Blocks<'_>, block: &Block) -> Self {
        let system = blocks.system;
        let mut accesses = Self {
            is_special: block.ends.iter().any(|end| end.passive.is_some())
                || starts_threads(system, block.start),
            ..Self::default()
        };
        let globals: Vec<usize> = system.relevance.globals().map(|global| global as usize).collect();
        let inputs = &block.inputs.shared;
        let mut terms: Vec<Term> = vec![block.fails];
        for end in &block.ends {
            terms.extend([end.guard, end.holds]);
            terms.extend(end.values.iter().chain(&end.created).map(|&(_, term)| term));
            for &global in &globals {
                if !blocks.is_var(end.shared[global], inputs[global]) {
                    terms.push(end.shared[global]);
                    accesses.written.set(global, true);
                    accesses.touched.set(global, true);
                }
            }
        }
        let support = blocks.support(&terms);
        for &global in &globals {
            if inputs[global].is_some_and(|var| support.contains(&var)) {
                accesses.touched.set(global, true);
            }
        }
        if let Some(flag) = system.program().atomic_flag {
            accesses.touched.set(flag as usize, true);
        }
        accesses
    }
}

/// Whether some large step from a cut starts a thread.
fn starts_threads(system: &ThreadSystem<'_>, cut: Location) -> bool {
    let mut seen: FxHashSet<Location> = FxHashSet::default();
    let mut open = vec![cut];
    while let Some(location) = open.pop() {
        for (_, step) in system.steps_from(location) {
            if step.creates.is_some() {
                return true;
            }
            if let Some(to) = step.to
                && !system.is_cut(to)
                && seen.insert(to)
            {
                open.push(to);
            }
        }
    }
    false
}
