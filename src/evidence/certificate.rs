//! Proofs that the property holds.

use crate::model::cube::Cube;
use crate::model::{Node, ProcId};

/// What shows that a program is safe.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Certificate {
    /// Whatever the data, control never comes to a statement that could violate the property.
    NoViolationInReach,
    /// A set of path edges that holds the start, is closed under all steps, and violates nothing.
    PathEdges(Vec<PathEdge>),
    /// A set of system states that holds the start, is closed under all steps, and violates
    /// nothing.
    SystemStates(Vec<SystemState>),
}

/// A set of (entry state, current state) pairs of one procedure: if some run enters the procedure
/// with the first, it may come to `node` with the second.
///
/// Variables are numbered globals first, then the locals of the procedure; the entry state fixes
/// globals and parameters only.
///
/// Invariant (links): a linked variable is open in both states, and has the same value in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathEdge {
    /// Whose.
    pub procedure: ProcId,
    /// The program counter of the current state.
    pub node: Node,
    /// Values at entry.
    pub entry: Cube,
    /// Values now.
    pub now: Cube,
    /// Open variables that still have their value from the entry.
    pub linked: u128,
}

/// A set of states of a system of threads that may be told apart by their local states only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemState {
    /// The shared variables.
    pub globals: Cube,
    /// The stacks of all threads, bottom first; sorted if threads are not told apart.
    pub threads: Vec<Vec<ThreadFrame>>,
    /// The only thread that may run, as a position in `threads`.
    pub holder: Option<usize>,
}

/// One frame of a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadFrame {
    /// Whose.
    pub procedure: ProcId,
    /// Its program counter.
    pub node: Node,
    /// Its locals.
    pub locals: Cube,
}
