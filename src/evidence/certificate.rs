//! Proofs that the property holds.

use super::formula::{Formulas, Literal};
use super::threads::ThreadProof;
use crate::model::cube::Cube;
use crate::model::{EdgeId, Node, ProcId};

/// A proof that a program is safe.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Certificate {
    /// Even if conditions and values are ignored, control never reaches a statement that could violate the property.
    NoViolationInReach,
    /// A set of path edges that contains the start states, is closed under all steps, and contains no violation.
    PathEdges(Vec<PathEdge>),
    /// A set of system states that contains the start states, is closed under all steps, and contains no violation.
    SystemStates(Vec<SystemState>),
    /// Relations between entry states and current states at some program counters. They contain the start
    /// states, are closed under all runs from one of these program counters to the next, and contain no
    /// violation.
    Relations(Relations),
    /// The property is inductive over `k` steps.
    KInductive(KInductive),
    /// No run through these copies of the program's blocks violates the property, and no run leaves
    /// them.
    Unrolling(Unrolling),
    /// A set of states in which all threads are at cuts. It contains the start states, is closed under large steps, and
    /// no large step from it violates the property.
    Threads(ThreadProof),
}

/// What a relation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The states at a program counter.
    Node(Node),
    /// The entry states from which the property may be violated before the procedure returns. Such a relation
    /// has no current states.
    Failure,
}

/// A set of (entry state, current state) pairs of one procedure in parametric form: a pair belongs to
/// it iff some values of the parameters satisfy the guard and yield both states.
///
/// Several relations of one procedure with the same [`Place`] represent their union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The procedure.
    pub procedure: ProcId,
    /// What the relation is about.
    pub place: Place,
    /// The condition that the values of the parameters have to satisfy.
    pub guard: Literal,
    /// The globals and the parameters of the procedure at its entry; `None` for any value, independently of
    /// the others.
    pub entry: Vec<Option<Literal>>,
    /// The globals and locals in the current state; `None` for any value. Empty for [`Place::Failure`].
    pub now: Vec<Option<Literal>>,
}

/// An inductive set of relations, for sequential programs.
///
/// *Cuts* are the entry and the exit of every procedure and every program counter with a relation; every
/// cycle of a procedure goes through one. A *block* is the loop-free code from a cut to the next
/// ones. Where no relation is given for a cut, it is the empty one.
///
/// The proof is accepted if
/// - every start state (any globals and locals that satisfy `enforce`) is in the relation at the entry
///   of the start procedure, as a pair with itself;
/// - from every pair of the relation at a cut whose current state satisfies `enforce`, every run through the
///   block comes to the next cut with a pair of the relation there;
/// - at every call on the way, the callee's entry (globals and arguments, as a pair with itself and any
///   other locals that satisfy the callee's `enforce`) is in the relation at the callee's entry; if there are
///   such locals, the call may return with every pair of the relation at the callee's exit that has this entry;
/// - where the property may be violated on the way, or a call that can be entered has an entry in the callee's
///   [`Place::Failure`], the entry state of the pair is in the failures of the procedure; a run ends where it
///   violates, so nothing is required of the rest of the block;
/// - no start state is in the failures of the start procedure.
///
/// These conditions, the *obligations*, are numbered, and so are the variables of their formulas; see
/// [`crate::certify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// All formulas. A parameter has the same value in all formulas of one relation; different relations have
    /// different parameters, even if these have the same number.
    pub formulas: Formulas,
    /// The relations. Engines sort them by procedure and [`Place`]; the checker accepts any order.
    pub relations: Vec<Relation>,
    /// Values of parameters which show that the states of an obligation are in a relation. They are needed
    /// for parameters that the states do not determine. A parameter is determined if one of the components of
    /// the relation is this parameter or its complement.
    pub witnesses: Vec<Witness>,
    /// Whether the witnesses still have to be found before the relations can be checked. Files hold only relations
    /// that are complete.
    pub needs_witnesses: bool,
}

/// Values of the parameters of a relation which show that the states of an obligation are in the relation.
///
/// There may be several witnesses for one obligation and relation; for every state, one of them has to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The number of the obligation.
    pub obligation: u32,
    /// The position of the relation in the list of relations.
    pub relation: u32,
    /// The parameters that are not determined, with their values. In these formulas, parameter `n` is the
    /// variable `n` of the obligation.
    pub values: Vec<(u32, Literal)>,
}

/// A proof by induction over block steps, for sequential programs without recursion.
///
/// Calls are inlined. A *location* is a call string, that is, the call edges that lead from the start
/// procedure down to the running one, and a cut of the procedure that runs. Only what control may reach
/// counts, whatever the data and assuming that calls return. The entry of the start procedure with the
/// empty call string is the *first location*, cut or not. A *state* at a location is a value for
/// each global and for each local of every procedure on the call string.
///
/// A *block* is everything that a run may do from a location up to the next cut in whatever procedure,
/// into calls and out of them. If it comes to a cut, that is a *block step* to the location there. A
/// run that returns from the start procedure, ends its thread, or can go nowhere makes no block step. A block
/// *violates* if an assertion in it can fail, or if it comes to a node with the forbidden label; its own
/// location counts, the next one belongs to the next block. A run ends where it violates. With a
/// label as the property, assertions are assumptions.
///
/// Two states are *different* if their locations are, or if one of these variables has different
/// values in them: the variables of the running procedure that are live at the cut
/// ([`crate::model::live`]), and the locals of every caller that are live behind the call and not
/// assigned by its return.
///
/// The proof is accepted if
/// - *base:* for every `i < k`, no run from a state at the first location that satisfies the `enforce`
///   of the start procedure makes `i` block steps and then violates in the next block;
/// - *step:* no run from a state at any location that satisfies the `enforce` of the running procedure
///   makes `k` block steps such that the `k + 1` states at its cuts are pairwise different, and then
///   violates in the next block.
///
/// Why that is enough: if there is a run that violates, take one with the fewest steps. Its states at cuts are
/// pairwise different, or what lies between two equal ones could be left out. By the base it makes at
/// least `k` block steps; the last `k` of them contradict the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KInductive {
    /// The loop heads: every cycle of a procedure goes through one of them. An exit is not allowed.
    pub cuts: Vec<(ProcId, Node)>,
    /// The number of block steps before the block that must not violate the property.
    pub k: u32,
}

/// A proof by unrolling a sequential program, recursive or not.
///
/// A *block* is the loop-free code of one procedure from its entry or from a cut to its next cuts or its
/// exit; calls are in it, their bodies are not. The unrolling is a tree of *copies* of blocks. Copy 0 is the
/// block at the entry of the start procedure with any state. A copy entered by a call begins at the
/// entry of the callee with the globals and arguments of the call and any other locals. A copy entered by a
/// loop goes on in the same activation at that cut, with the state that came there.
///
/// A call without a copy of its own is *open*: it may return with any return values and any values of the
/// globals that the callee or a procedure below it assigns where control may come, or violate the property
/// inside, unless control cannot come from the callee's entry to a statement that could, in it or in
/// procedures below. In the same way, a cut without a copy of its own is open: the activation may return from
/// there with anything that it could assign, or violate.
///
/// A copy that is entered by a call *returns* if its activation comes to the exit, in this copy or in one
/// that continues it, and *fails* if the violation lies in that activation or in a call it makes. A run
/// ends where it violates.
///
/// The proof is accepted if no run through the copies and the open places violates the property and
/// satisfies these demands. For each pair `(i, j)` of `different`, the copies begin at the same node of the
/// same procedure, `i` is an ancestor of `j`, and
/// - if all sites from `i` down to `j` are loops, so that both are in one activation: if the run enters `j`,
///   some variable that is live at the node ([`crate::model::live`]) has different values where `i` and `j`
///   begin;
/// - otherwise both are entered by calls (copy 0 counts as one), and it is not the case that the run enters
///   `j`, the globals and parameters that are live at the entry have the same values in both, and either both
///   fail, or both return and the globals and return slots that are live at the exit have the same
///   values.
///
/// Why that is enough: if there is a run that violates, take one with the fewest steps. It satisfies all demands,
/// since otherwise it could be shortened: by what lies between two equal states of one activation, or by
/// running the inner call in place of the outer one, which does the same for everybody outside. The same
/// run goes through the copies as far as they reach, and open places do what it does there. So it would have
/// been found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unrolling {
    /// The loop heads: every cycle of a procedure goes through one of them. An exit is not allowed.
    pub cuts: Vec<(ProcId, Node)>,
    /// The copies of blocks, parents before children. Copy 0 is the block at the entry of the start procedure, and
    /// is not listed; copy `i + 1` is `copies[i]`. Every site has at most one copy.
    pub copies: Vec<BlockCopy>,
    /// Pairs of copies of the same block, the ancestor first, that have to differ.
    pub different: Vec<(u32, u32)>,
}

/// A copy of a block that is entered from another copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockCopy {
    /// The copy from which it is entered.
    pub parent: u32,
    /// How it is entered.
    pub site: Site,
}

/// How control leaves a block for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// By a call in the block, to the block at the entry of the callee.
    Call(EdgeId),
    /// To the block at a cut of the same procedure where the block ends.
    Loop(Node),
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
    /// The procedure.
    pub procedure: ProcId,
    /// The program counter of the current state.
    pub node: Node,
    /// The values at the entry.
    pub entry: Cube,
    /// The current values.
    pub now: Cube,
    /// Open variables that still have their value from the entry.
    pub linked: u128,
}

/// A set of states of a system of threads. Threads have no identity: only their local states matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemState {
    /// The shared variables.
    pub globals: Cube,
    /// The stacks of all threads, bottom first; sorted if symmetry reduction is used.
    pub threads: Vec<Vec<ThreadFrame>>,
    /// The only thread that may run, as a position in `threads`.
    pub holder: Option<usize>,
}

/// One frame of a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadFrame {
    /// The procedure.
    pub procedure: ProcId,
    /// Its program counter.
    pub node: Node,
    /// Its locals.
    pub locals: Cube,
}
