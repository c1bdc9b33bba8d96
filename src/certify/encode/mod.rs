//! The checker's own translation from programs to terms.
//!
//! Certificates that consist of formulas are checked with a SAT solver. This module translates the program for these
//! checks. It is written from the semantics in [`crate::model`] and shares nothing with the engines' encoders but the
//! term arena.
//!
//! ```text
//! expression   postfix code to one term; every `*` is a fresh variable
//! values       one term for each variable, copied only where it changes
//! body         a procedure with its cuts, and the order of the loop-free code between them
//! walk         one block: from a cut to the next ones, call by call
//! ```
//!
//! Invariant (one run): under an assignment to all variables, the guards that hold are those along a single run.
//! Where several edges leave a node, fresh variables choose one of them, and a failing assertion ends the run. So the
//! guards of paths that join exclude each other, and merging two states by if-then-else is exact.
//!
//! Invariant (structure): which variables are made, and in which order, depends only on the program and the
//! certificate, and not on how terms are simplified.

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

/// The task, in the form that every walk uses.
pub(super) struct Model<'a> {
    /// The task whose verdict is checked.
    pub task: &'a Task,
    /// The program of the task.
    pub program: &'a Program,
    /// The nodes that must not be reached.
    pub forbidden: Forbidden,
    /// The budget, which is polled at every node.
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

/// A term arena that makes all its variables in one function, so that they can be counted.
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

    /// A vector of new variables.
    pub fn fresh_vector(&mut self, count: usize) -> Vec<Term> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// How many variables there are.
    pub fn variables(&self) -> u32 {
        self.made
    }

    /// A term that holds if the two terms of every pair are equal.
    pub fn equal(&mut self, pairs: impl IntoIterator<Item = (Term, Term)>) -> Term {
        let mut all = Term::TRUE;
        for (a, b) in pairs {
            let same = self.arena.iff(a, b);
            all = self.arena.and(all, same);
        }
        all
    }

    /// Divides `guard` into `count` guards. Each of them implies `guard`, no two hold together, and whenever `guard`
    /// holds, exactly one of them does. A new variable is made for each of them but the last, so that any of them can
    /// be made to hold.
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

/// A set of states at one program counter, represented symbolically: every assignment to the variables that satisfies
/// the guard yields one state.
#[derive(Clone)]
pub(super) struct State {
    /// The condition under which an assignment to the variables counts.
    pub guard: Term,
    /// The values of the globals, followed by the locals of the frames on the stack.
    pub values: Values,
}

impl State {
    /// The union of two sets of states. The guards must exclude each other.
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

    /// Keeps only the states in which a condition holds.
    pub fn restrict(&mut self, terms: &mut Terms, condition: Term) {
        self.guard = terms.arena.and(self.guard, condition);
    }
}
