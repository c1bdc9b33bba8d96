//! The variables of the diagrams, and their order.
//!
//! A *column* is a global that matters, or a position of a thread's values that matters at some cut. Globals take one
//! *place* in the order, positions one place for each slot, that is, for each thread that a control state can have, and
//! one for a thread that is being started. A place has three variables: the value before a step, the value after it, and
//! a choice nearby. So a step that copies values costs a few nodes, and renaming keeps the order.

use super::super::bdd::diagrams::Variable;
use super::super::bdd::order::places;
use crate::threads::ThreadSystem;

/// How the places are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// The globals, then one thread after the other: best where it matters how many threads have some values.
    ByThread,
    /// One column after the other, all threads next to each other: best where the values of threads and globals are
    /// related bit by bit.
    ByColumn,
}

/// The number of variables of a place.
const PER_PLACE: u32 = 3;

/// The variables.
#[derive(Debug)]
pub(super) struct Levels {
    /// The places of the globals; `None` for those that do not matter.
    globals: Vec<Option<u32>>,
    /// The places of the first slot, for every position; `None` for those that never matter.
    positions: Vec<Option<u32>>,
    /// The distance of the places of two neighbouring slots.
    stride: u32,
    /// The number of slots for threads of a control state.
    pub slots: u32,
    places: u32,
    spare: u32,
}

impl Levels {
    /// The variables for control states with at most this many threads, with `spare` variables for choices that are not
    /// near anything.
    pub fn new(system: &ThreadSystem<'_>, slots: u32, arrangement: Arrangement, spare: u32) -> Self {
        let program = system.program();
        let (of_globals, of_locals) = places(program);
        let mut rank_of_position: Vec<Option<u32>> = vec![None; system.width as usize];
        for context in &system.contexts {
            for (local, &rank) in (0..).zip(&of_locals[context.procedure.index()]) {
                let old = &mut rank_of_position[(context.base + local) as usize];
                *old = Some(old.map_or(rank, |old| old.min(rank)));
            }
        }
        let mut is_used = vec![false; system.width as usize];
        for cut in system.cuts() {
            system.live(cut).iter().for_each(|position| is_used[position] = true);
        }
        // Globals before positions, in the order of their ranks.
        let mut globals: Vec<(u32, u32)> =
            system.relevance.globals().map(|global| (of_globals[global as usize], global)).collect();
        let mut positions: Vec<(u32, u32)> = (0..)
            .zip(&is_used)
            .filter(|(_, used)| **used)
            .map(|(position, _)| (rank_of_position[position as usize].unwrap_or(u32::MAX), position))
            .collect();
        globals.sort_unstable();
        positions.sort_unstable();
        let all = slots + 1;
        let mut levels = Self {
            globals: vec![None; program.globals.len()],
            positions: vec![None; system.width as usize],
            stride: if arrangement == Arrangement::ByThread { positions.len() as u32 } else { 1 },
            slots,
            places: globals.len() as u32 + positions.len() as u32 * all,
            spare,
        };
        let mut next = 0;
        match arrangement {
            Arrangement::ByThread => {
                for (_, global) in globals {
                    levels.globals[global as usize] = Some(next);
                    next += 1;
                }
                for (_, position) in positions {
                    levels.positions[position as usize] = Some(next);
                    next += 1;
                }
            }
            Arrangement::ByColumn => {
                let mut columns: Vec<(u32, bool, u32)> = Vec::new();
                columns.extend(globals.into_iter().map(|(rank, global)| (rank, false, global)));
                columns.extend(positions.into_iter().map(|(rank, position)| (rank, true, position)));
                columns.sort_unstable();
                for (_, is_position, index) in columns {
                    if is_position {
                        levels.positions[index as usize] = Some(next);
                        next += all;
                    } else {
                        levels.globals[index as usize] = Some(next);
                        next += 1;
                    }
                }
            }
        }
        levels
    }

    /// The number of variables.
    pub fn variables(&self) -> u32 {
        PER_PLACE * self.places + self.spare
    }

    /// The variable for the value of a global before a step.
    ///
    /// # Panics
    /// If the global does not matter.
    pub fn global(&self, global: u32) -> Variable {
        PER_PLACE * self.globals[global as usize].expect("a global that matters")
    }

    /// The globals that matter, with their variables.
    pub fn globals(&self) -> impl Iterator<Item = (u32, Variable)> {
        (0..).zip(&self.globals).filter_map(|(global, place)| Some((global, PER_PLACE * (*place)?)))
    }

    /// The variable for a value of the thread in a slot before a step. The slot after the last one belongs to a thread that
    /// is being started.
    ///
    /// # Panics
    /// If the position never matters.
    pub fn value(&self, slot: u32, position: u32) -> Variable {
        let first = self.positions[position as usize].expect("a position that matters");
        PER_PLACE * (first + slot * self.stride)
    }

    /// The positions that matter at some cut, with their variables for the thread in a slot.
    pub fn values(&self, slot: u32) -> impl Iterator<Item = (u32, Variable)> {
        let used = (0..).zip(&self.positions).filter(|(_, place)| place.is_some());
        used.map(move |(position, _)| (position, self.value(slot, position)))
    }

    /// The slot of a thread that is being started.
    pub fn started(&self) -> u32 {
        self.slots
    }

    /// The choices that are not near anything.
    pub fn spare(&self) -> std::ops::Range<Variable> {
        PER_PLACE * self.places..self.variables()
    }
}

/// The variable for the value after a step.
pub(super) fn after(variable: Variable) -> Variable {
    variable + 1
}

/// The variable for a choice near a variable.
pub(super) fn choice_near(variable: Variable) -> Variable {
    variable / PER_PLACE * PER_PLACE + 2
}
