//! The checker's own way from programs to terms.
//!
//! Proofs that are formulas are checked by SAT. This is the translation they are checked with: written
//! from the semantics in [`crate::model`], and sharing nothing with the encoders of the engines but the
//! term arena itself.
//!
//! ```text
//! expression   postfix code to one term; every `*` is a fresh variable
//! values       one term for each variable, copied only where it changes
//! body         a procedure with its cuts, and the order of the loop-free code between them
//! walk         one block: from a cut to the next ones, call by call
//! ```
//!
//! Invariant (one run): with values for all variables, the guards that hold are those along a single
//! run. Where several edges leave a node, fresh variables choose one of them; a failing assertion
//! ends the run. So guards exclude each other where paths join, and merging two states there by
//! if-then-else is exact.
//!
//! Invariant (structure): which variables are made, and in which order, depends on the program and the
//! certificate only, and not on what terms are simplified to.

pub(super) mod body;
mod expression;
mod values;
pub(super) mod walk;

use cusp_encodings::{Term, TermArena, VarId};

pub(super) use expression::encode;
pub(super) use values::Values;

use super::{Forbidden, Stop, reject};
use crate::budget::Budget;
use crate::model::{Program, Property, Task};

/// What every walk looks at.
pub(super) struct Model<'a> {
    /// The question.
    pub task: &'a Task,
    /// Its program.
    pub program: &'a Program,
    /// The nodes that must not be reached.
    pub forbidden: Forbidden,
    /// Asked at every node.
    pub budget: &'a Budget,
}

impl<'a> Model<'a> {
    pub fn new(task: &'a Task, budget: &'a Budget) -> Result<Self, Stop> {
        if task.program.starts_threads {
            return reject("this proof says nothing about a program that starts threads");
        }
        Ok(Self { task, program: &task.program, forbidden: Forbidden::of(task), budget })
    }

    /// Whether a failing assertion is a violation; otherwise assertions are assumptions.
    pub fn asserts(&self) -> bool {
        self.task.property == Property::Assertions
    }

    /// The number of globals.
    pub fn globals(&self) -> usize {
        self.program.globals.len()
    }
}

/// An arena whose variables are made in one place, so that they can be counted.
#[derive(Default)]
pub(super) struct Terms {
    /// The arena. Variables are made by [`Terms::fresh`] only.
    pub arena: TermArena,
    made: u32,
}

impl Terms {
    /// A new variable: the next number.
    pub fn fresh(&mut self) -> Term {
        let var = VarId::new(self.made);
        self.made += 1;
        self.arena.var(var)
    }

    /// So many new variables.
    pub fn fresh_vector(&mut self, count: usize) -> Vec<Term> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// How many variables there are.
    pub fn variables(&self) -> u32 {
        self.made
    }

    /// Whether two vectors agree everywhere.
    pub fn equal(&mut self, pairs: impl IntoIterator<Item = (Term, Term)>) -> Term {
        let mut all = Term::TRUE;
        for (a, b) in pairs {
            let same = self.arena.iff(a, b);
            all = self.arena.and(all, same);
        }
        all
    }

    /// One new variable for each item but the last: guards of which at most one holds. All of them
    /// imply `guard`, and wherever it holds, each can be made to hold.
    pub fn alternatives(&mut self, guard: Term, count: usize) -> Vec<Term> {
        let mut left = guard;
        let mut guards = Vec::with_capacity(count);
        for i in 0..count {
            if i + 1 == count {
                guards.push(left);
            } else {
                let choice = self.fresh();
                guards.push(self.arena.and(left, choice));
                left = self.arena.and(left, !choice);
            }
        }
        guards
    }
}

/// States at one program counter: those that some values of the variables yield under the guard.
#[derive(Clone)]
pub(super) struct State {
    /// Which values of the variables count.
    pub guard: Term,
    /// Globals, then the locals of the frames on the stack.
    pub values: Values,
}

impl State {
    /// The states of both. The guards must exclude each other.
    pub fn merge(self, terms: &mut Terms, other: Self) -> Self {
        if self.guard == Term::FALSE {
            return other;
        }
        if other.guard == Term::FALSE {
            return self;
        }
        let values = Values::choose(terms, other.guard, &other.values, &self.values);
        Self { guard: terms.arena.or(self.guard, other.guard), values }
    }

    /// Only those where a condition holds.
    pub fn restrict(&mut self, terms: &mut Terms, condition: Term) {
        self.guard = terms.arena.and(self.guard, condition);
    }
}
