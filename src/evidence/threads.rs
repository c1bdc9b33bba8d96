//! Proofs about programs with threads.
//!
//! The *control* of a thread is its stack: procedures with their nodes, bottom first; every frame but the topmost one is
//! at the node of its call. The *values* of a thread are the locals of its frames, one frame after the other, bottom
//! first; a *position* is a place in that list.
//!
//! A *cut* is a stack at which a thread may be interrupted. A *large step* of a thread is a path of steps from one cut to the
//! next, through calls and returns, or to the end of the thread. The proof is about states in which every thread is at a
//! cut. That is enough if nobody else can notice where between two cuts a thread is, which the checker establishes
//! as follows.
//!
//! *Ignored variables.* No condition (of `assume`, `assert`, `constrain`, `enforce`) reads an ignored variable, and no
//! variable that is not ignored gets its value from an expression, an argument or a return slot that depends on
//! one. The Getafix global that forbids context switches is not ignored. So all conditions are the same whatever
//! the ignored variables are, and steps that only read and write ignored variables do nothing.
//!
//! *Visible variables* are the globals, and the locals that some `x$` reads or writes, unless they are ignored.
//! A step is an *access* if it (or an `enforce` that must hold after it, of the procedure in which it ends, or of the
//! procedure that a new thread begins with) reads or writes a visible variable; if it starts a thread; if it begins or
//! ends an atomic section; if it enters or leaves a frame of a procedure that contains some `x$`; if it ends the
//! thread, provided that the program contains some `x$`, or that it starts threads and their number is bounded. All other
//! steps are *internal*.
//!
//! *Large steps.* On every path from a cut to the next ones,
//! 1. first come internal steps;
//! 2. then comes at most one action: one access, or several steps during all of which, except before the first, the thread
//!    certainly holds the system (it is in an atomic section, in the prologue, or has set the Getafix global to true).
//!    A step that starts a thread ends the action;
//! 3. then come internal steps which cannot block: from every stack on the way that is not a cut, some step is
//!    possible whatever the values are, or two steps have a condition and its negation.
//!
//! Every cycle goes through a cut. Stacks where threads begin are cuts. The stacks before and after a step that reads or
//! writes `x$` are cuts. When the prologue enters `main`, that stack is a cut. No procedure is called while it runs.
//!
//! Whether a thread certainly holds the system is decided along each path from a cut, once for threads that hold the
//! system at the cut and once for threads that do not, as far as control can get there. A thread that holds the system
//! goes on holding it unless it ends the atomic section, assigns something to the Getafix global, leaves the prologue, or ends. Without
//! the Getafix global, a thread that does not hold the system does not get it before `atomic_begin`; with it, any step may
//! give the system to the thread that makes it, since a thread that ends may leave the global true.
//!
//! *Facts.* Of every state in reach, a proof may use without showing it: every thread is at a cut where control can get with
//! this knowledge about holding; at most one thread holds the system; only that thread moves if there is one; and no more threads live than
//! the bound allows.
//!
//! The Getafix global and internal steps: while the global is true and nobody holds the system, even an internal step gives the
//! system to its thread. That does no harm. If others move between two steps of a thread, then the thread does
//! not hold the system in between. An internal step before the action may be moved to the action: the thread may move there, and after the
//! action it holds the system, or not, for the same reason in both cases. An internal step behind the action may be moved to
//! the action: there the global is false, so it gives nothing; and if the thread got the system later by that
//! step, then it gets it by its next step instead.
//!
//! Why that is enough is explained in the documentation of the engines' large steps (`threads::large_steps`); the
//! checker does not use their code.

use super::formula::{Formulas, Literal};
use super::trace::Valuation;
use crate::model::{Node, ProcId};

/// A proof about a program with threads: variables that do not matter, cuts, and a set of states at cuts that contains the
/// start, is closed under large steps, and from which no large step violates the property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadProof {
    /// The globals that are ignored, in order.
    pub ignored_globals: Vec<u32>,
    /// The locals that are ignored, in order.
    pub ignored_locals: Vec<(ProcId, u32)>,
    /// The cuts.
    pub cuts: Vec<Vec<(ProcId, Node)>>,
    /// The set of states.
    pub invariant: ThreadInvariant,
}

/// A set of states in which all threads are at cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadInvariant {
    /// The states are listed.
    States(ListedStates),
    /// The states that satisfy all these clauses.
    Clauses(Vec<UniversalClause>),
    /// For some multisets of cuts, the states that satisfy a formula.
    Formulas(ControlStates),
    /// No states are named: the property is inductive over several large steps.
    Induction(ThreadInduction),
}

impl ThreadInvariant {
    /// What the set consists of, and how many of them there are.
    #[must_use]
    pub fn size(&self) -> (&'static str, usize) {
        match self {
            Self::States(listed) => ("states", listed.states.len()),
            Self::Clauses(clauses) => ("clauses", clauses.len()),
            Self::Formulas(sets) => ("formulas", sets.sets.len()),
            Self::Induction(induction) => ("steps", induction.k as usize),
        }
    }
}

/// States as a list. A state belongs to the set if its globals and threads, up to their order, are those of a listed one,
/// except for the values that are not fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedStates {
    /// The globals that are fixed, in order. The others may have any value.
    pub globals: Vec<u32>,
    /// For every cut, the positions of values that are fixed, in order. The others may have any value.
    pub positions: Vec<Vec<u32>>,
    /// Values of the fixed globals.
    pub shared: Vec<Valuation>,
    /// Threads.
    pub threads: Vec<ThreadAtCut>,
    /// The states.
    pub states: PackedStates,
    /// The states from which not all large steps have to lead to listed states, because those of some threads are enough;
    /// in the order of their numbers.
    pub followed: Vec<Followed>,
}

/// A listed state from which only the large steps of some threads are followed (a persistent set).
///
/// Accepted if nobody holds the system in the state, and
/// - all large steps of these threads lead to listed states in which they do not hold the system;
/// - none of their large steps from their cuts starts a thread, ends a thread where others can notice that, reads or
///   writes `x$`, or enters or leaves a frame of a procedure that contains some `x$`;
/// - nothing that their large steps from their cuts access is written, and nothing that they write is accessed, by any step
///   that another thread of the state, or a thread started by one, may make from its cut on, whatever the values; here every
///   step reads the Getafix global, and a local that some `x$` reads or writes is accessed in the thread itself by its own
///   steps, and in all others by that `x$`;
/// - one of their large steps leads to a listed state with a smaller rank, where a state that is not in
///   [`ListedStates::followed`] has rank 0.
///
/// Why that is enough. Let `w` be a run from the state to a violation. If none of these threads makes a step in `w`, the large
/// step to the state with the smaller rank can be put before `w`, since nobody in `w` notices it. Otherwise the first large
/// step in `w` that one of them makes can be moved to the front: those before it are by others. In both cases the rest is a
/// run from a listed state to a violation, in the first one as long as `w` and with a smaller rank, in the second one
/// shorter than `w`. So a violation in reach of the state is also one in reach of a listed state from which all steps are
/// followed, by a run that is not longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The number of the state.
    pub state: u32,
    /// The threads, as numbers in [`ListedStates::threads`], in order. If several threads of the state have one number,
    /// all of them are meant.
    pub threads: Vec<u32>,
    /// The rank; at least 1.
    pub rank: u32,
}

/// For each of some multisets of cuts, a formula. A state belongs to the set if its threads can be assigned to the
/// positions of a listed multiset, each to a position with its cut, such that the formula holds. States with other multisets
/// do not belong to the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlStates {
    /// All formulas. Parameter `g` is the global with number `g`. Then come, for position `p` of the multiset, the values
    /// of the thread there, in the order of positions: `globals + p * width + v` is its value at position `v`, where
    /// `width` is the largest number of values that a thread has at a cut where control can get.
    pub formulas: Formulas,
    /// The multisets with their formulas.
    pub sets: Vec<ControlState>,
}

/// A multiset of cuts, and a formula about the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlState {
    /// The numbers of the cuts of the threads, in order.
    pub cuts: Vec<u32>,
    /// The position of the thread that holds the system, if one does.
    pub holder: Option<u32>,
    /// The condition on the values.
    pub condition: Literal,
}

/// A proof by induction over `k` large steps, for a bounded number of threads.
///
/// Two states are *alike* if, with their threads in some order, they agree about the globals that are not ignored, the
/// cuts of the threads, who holds the system, and the values at the positions that are listed for these cuts. Here
/// a run may replace its state by one that is alike before each step; so values at other positions are arbitrary.
///
/// Accepted if
/// - the facts hold at the start, and large steps from states that satisfy all of them lead to such states;
/// - base: no run from the start makes fewer than `k` large steps and then one that violates the property;
/// - one of these: no run from the start makes `k` large steps; or step: no run through `k + 1` states, of which no two
///   are alike and the first of which satisfies all facts, violates the property in the large step behind them, but not before.
///
/// Why that is enough. A violation is reached by a run all of whose states are in reach without replacements, so all
/// satisfy the facts. Take a shortest run to a violation all of whose states are alike to some that satisfy the facts.
/// By the base it makes at least `k` large steps, which the first alternative excludes. No two of its states are alike,
/// or what lies between them could be left out. So its last `k` large steps, and the one that violates the property,
/// contradict the step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadInduction {
    /// The number of large steps before the one that must not violate the property.
    pub k: u32,
    /// For every cut, the positions of values that tell states apart, in order.
    pub positions: Vec<Vec<u32>>,
    /// Clauses that hold in all states in reach.
    pub facts: Vec<UniversalClause>,
}

/// A thread at a cut.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadAtCut {
    /// The number of the cut.
    pub cut: u32,
    /// Whether only this thread may run.
    pub holds: bool,
    /// The values at the fixed positions of the cut.
    pub values: Valuation,
}

/// Many states, each of them a number in [`ListedStates::shared`] and a sorted list of numbers in
/// [`ListedStates::threads`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedStates {
    words: Vec<u32>,
    /// The end of every state in `words`.
    ends: Vec<usize>,
}

impl PackedStates {
    /// Adds a state.
    pub fn push(&mut self, shared: u32, threads: impl IntoIterator<Item = u32>) {
        self.words.push(shared);
        self.words.extend(threads);
        self.ends.push(self.words.len());
    }

    /// The number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All states: the number of the values of the globals, and the numbers of the threads.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (self.words[start], &self.words[start + 1..end]))
    }
}

/// For all distinct threads `t1, .., tk`: not all of these conditions hold, the ones about the globals and the ones about
/// each of the threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UniversalClause {
    /// Values of globals, in order.
    pub globals: Vec<(u32, bool)>,
    /// Whether some thread holds the system, if that matters.
    pub held: Option<bool>,
    /// The conditions about `k` distinct threads.
    pub threads: Vec<ThreadCube>,
}

/// A condition about one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadCube {
    /// The thread is at one of these cuts; in order.
    pub cuts: Vec<u32>,
    /// Values at positions, in order. A thread with fewer values does not satisfy the condition.
    pub values: Vec<(u32, bool)>,
    /// Whether the thread holds the system, if that matters.
    pub holds: Option<bool>,
}
