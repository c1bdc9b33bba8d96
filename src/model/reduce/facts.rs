//! Facts about the variables of one scope: the globals and the locals of a procedure.
//!
//! Known values are kept in cubes of 128 variables: first the globals, then, in cubes of their own, the locals of the
//! procedure. The value of a variable that is not tracked is never known.

use smallvec::{SmallVec, smallvec};

use crate::model::cube::Cube;
use crate::model::{ProcId, Procedure, Program, Var};

/// The number of cubes that all nodes of a program may hold together (64 MB). If more would be needed, only the first
/// variables of a scope are tracked. Variables that are not tracked are not simplified; nothing else depends on the
/// limit.
const MOST_CUBES: usize = 2 << 20;

/// The positions of the variables of every procedure in its cubes.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    globals: u32,
    locals: Vec<u32>,
}

impl Layout {
    pub fn new(program: &Program) -> Self {
        let nodes: usize = program.procedures.iter().map(|p| p.nodes as usize).sum();
        let tracked = |nodes: usize, variables: usize| {
            let most = (MOST_CUBES / nodes.max(1)).max(1) * Cube::WIDTH;
            variables.min(most) as u32
        };
        let locals = |p: &Procedure| tracked(p.nodes as usize, p.locals.len());
        Self {
            globals: tracked(nodes, program.globals.len()),
            locals: program.procedures.iter().map(locals).collect(),
        }
    }

    /// The facts of a scope in which no value is known.
    pub fn nothing(&self, procedure: ProcId) -> Facts {
        let cubes = self.global_cubes() + (self.locals[procedure.index()] as usize).div_ceil(Cube::WIDTH);
        Facts(smallvec![Cube::ANY; cubes])
    }

    /// The value of a variable, if it is known.
    pub fn get(&self, procedure: ProcId, facts: &Facts, var: Var) -> Option<bool> {
        let (cube, bit) = self.slot(procedure, var)?;
        facts.0[cube].get(bit)
    }

    /// Sets (`Some`) or forgets (`None`) the value of a variable.
    pub fn set(&self, procedure: ProcId, facts: &mut Facts, var: Var, value: Option<bool>) {
        if let Some((cube, bit)) = self.slot(procedure, var) {
            facts.0[cube] = facts.0[cube].set(bit, value);
        }
    }

    /// Copies the facts about globals from one scope to another.
    pub fn copy_globals(&self, from: &Facts, to: &mut Facts) {
        let globals = self.global_cubes();
        to.0[..globals].copy_from_slice(&from.0[..globals]);
    }

    fn global_cubes(&self) -> usize {
        (self.globals as usize).div_ceil(Cube::WIDTH)
    }

    fn slot(&self, procedure: ProcId, var: Var) -> Option<(usize, u32)> {
        let width = Cube::WIDTH as u32;
        let (position, tracked, first) = match var {
            Var::Global(i) => (i, self.globals, 0),
            Var::Local(i) => (i, self.locals[procedure.index()], self.global_cubes()),
        };
        (position < tracked).then_some((first + (position / width) as usize, position % width))
    }
}

/// The known values of the variables of one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts(SmallVec<[Cube; 2]>);

impl Facts {
    /// Keeps the facts that both have, and tells whether any was lost.
    pub fn join(&mut self, other: &Self) -> bool {
        let mut lost = false;
        for (cube, other) in self.0.iter_mut().zip(&other.0) {
            let agree = cube.known() & other.known() & !(cube.value() ^ other.value());
            lost |= agree != cube.known();
            *cube = cube.keep(agree);
        }
        lost
    }
}
