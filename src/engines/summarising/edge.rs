//! Path edges over the slots of a procedure, and the names of the variables in them.
//!
//! Invariant (names): an edge that is kept uses variables that mean the same in every procedure: the value of slot
//! `i` at the entry is `entry(i)`, and its current value is `now(i)`. So procedures of the same shape have the same
//! formulas, and results about one of them are reused for the other. The choices of a run through a block are
//! scratch variables, which the next run uses again; if an edge that is kept contains scratch variables, they are
//! replaced by new variables.

use cusp_encodings::{Substitution, Term, TermArena, VarId};

/// A relation between entry values and current values, in parametric form: every assignment that satisfies the
/// guard gives one pair. `None` stands for any value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The condition that selects the assignments.
    pub guard: Term,
    /// Globals and parameters at the entry, by slot.
    pub entry: Vec<Option<Term>>,
    /// Current values of globals and locals, by slot.
    pub now: Vec<Option<Term>>,
}

impl Edge {
    /// The guard, then all values that are not arbitrary.
    #[must_use]
    pub fn terms(&self) -> Vec<Term> {
        let values = self.entry.iter().chain(&self.now).copied().flatten();
        std::iter::once(self.guard).chain(values).collect()
    }

    /// The edge with every term replaced.
    #[must_use]
    pub fn map(&self, mut image: impl FnMut(Term) -> Term) -> Self {
        let guard = image(self.guard);
        let mut all = |terms: &[Option<Term>]| terms.iter().map(|term| term.map(&mut image)).collect();
        let entry = all(&self.entry);
        Self { guard, entry, now: all(&self.now) }
    }
}

/// The variables of edges.
#[derive(Debug, Default)]
pub struct Names {
    entry: Vec<VarId>,
    now: Vec<VarId>,
    scratch: Vec<VarId>,
    used: usize,
}

impl Names {
    /// The variables for procedures of at most `width` slots.
    #[must_use]
    pub fn new(arena: &mut TermArena, width: usize) -> Self {
        let entry = (0..width).map(|_| arena.fresh_var()).collect();
        let now = (0..width).map(|_| arena.fresh_var()).collect();
        Self { entry, now, ..Self::default() }
    }

    /// The value of a slot at the entry.
    pub fn entry(&self, arena: &mut TermArena, slot: usize) -> Term {
        arena.var(self.entry[slot])
    }

    /// The current value of a slot.
    pub fn now(&self, arena: &mut TermArena, slot: usize) -> Term {
        arena.var(self.now[slot])
    }

    /// The variables of all slots at the entry.
    #[must_use]
    pub fn entries(&self) -> &[VarId] {
        &self.entry
    }

    /// The variables for the current values of all slots.
    #[must_use]
    pub fn nows(&self) -> &[VarId] {
        &self.now
    }

    /// Begins a new run: all scratch variables are free again.
    pub fn begin_run(&mut self) {
        self.used = 0;
    }

    /// A scratch variable for a choice of the current run.
    pub fn choice(&mut self, arena: &mut TermArena) -> Term {
        if self.used == self.scratch.len() {
            self.scratch.push(arena.fresh_var());
        }
        self.used += 1;
        arena.var(self.scratch[self.used - 1])
    }

    /// The edge with its scratch variables replaced by new ones, so that it can be kept.
    pub fn keep(&self, arena: &mut TermArena, edge: &Edge) -> Edge {
        let is_scratch = |var: &VarId| self.scratch.binary_search(var).is_ok();
        let support = arena.support(&edge.terms());
        let renamed: Vec<(VarId, Term)> =
            support.into_iter().filter(is_scratch).map(|var| (var, arena.fresh())).collect();
        let mut substitution = Substitution::new(renamed);
        edge.map(|term| substitution.apply(arena, term))
    }
}
