//! Reachability for recursive programs by saturating path edges and summary edges.
//!
//! Implements: T. Reps, S. Horwitz, M. Sagiv, "Precise Interprocedural Dataflow Analysis via
//! Graph Reachability", POPL 1995, in the form of T. Ball, S. K. Rajamani, "Bebop: A Symbolic
//! Model Checker for Boolean Programs", SPIN 2000, with explicit states.
//!
//! Theorem used: a state of a procedure is reachable iff some path edge from a reachable entry leads to it. Calls
//! are stepped over by the summaries of the callee, which are its path edges at the exit. Stacks are never
//! explored, so recursion needs no special treatment.
//!
//! Evidence: [`Certificate::PathEdges`], or a shared call tree.
//!
//! Deviation: values are chosen lazily. A path edge fixes only the variables on which some statement has depended.
//! The others are *open*: they may have any value. An open variable that is *linked* has the same value as at the
//! entry, whatever that is. If a statement depends on an open variable, both values are tried.

use std::cell::Cell;
use std::collections::VecDeque;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::scope::Scopes;
use crate::budget::Budget;
use crate::evidence::trace::Violation;
use crate::evidence::{Certificate, PathEdge, Reason, Trace, Verdict};
use crate::model::cube::{Cube, bits, low_bits};
use crate::model::eval::{Values, eval};
use crate::model::{
    Action, Assign, Call, Edge, EdgeId, Expr, Node, Place, ProcId, Procedure, Property, Task,
};
use crate::progress::Progress;

/// Entry and current state of a path edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub entry: Cube,
    pub now: Cube,
    pub linked: u128,
}

impl Pair {
    /// Gives an open variable a value; a linked variable gets it at the entry, too.
    fn decide(mut self, var: u32, value: bool) -> Self {
        if self.linked >> var & 1 == 1 {
            self.entry = self.entry.with(var, value);
            self.linked &= !(1 << var);
        }
        self.now = self.now.with(var, value);
        self
    }

    fn both_ways(self, var: u32) -> [Self; 2] {
        [self.decide(var, true), self.decide(var, false)]
    }

    fn write(mut self, var: u32, value: Option<bool>) -> Self {
        self.linked &= !(1 << var);
        self.now = self.now.set(var, value);
        self
    }
}

/// How a path edge was derived; [`super::call_tree`] follows origins backwards.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// The procedure was entered by this caller, or as the start procedure.
    Entry { caller: Option<u32> },
    /// One step of the procedure itself.
    Step {
        from: u32,
        edge: EdgeId,
        /// The state before the step, with the values that the step decided.
        before: Cube,
        /// The state after the step, before dead variables were forgotten.
        after: Cube,
    },
    /// A call was stepped over.
    Return { caller: u32, summary: u32, before: Cube, after: Cube },
}

/// A call that waits for summaries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub from: u32,
    pub edge: EdgeId,
    /// The state at the call, with the values that the arguments decided.
    pub before: Pair,
    /// The globals and arguments as the callee sees them.
    pub passed: Cube,
}

/// The violation with which the search ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub path_edge: u32,
    pub state: Cube,
    pub violation: Violation,
}

/// What a path edge counts as [work](Budget::spend).
const WORK_OF_A_PATH_EDGE: u64 = 3;

/// The growing set of path edges.
pub(super) struct Saturation<'a> {
    pub task: &'a Task,
    pub scopes: &'a Scopes,
    /// The budget, which is also checked within steps, since one step can have exponentially many results.
    budget: &'a Budget,
    /// The greatest number of path edges, and of results of one step.
    most: usize,
    /// Whether `most` was exceeded.
    is_cut_short: Cell<bool>,
    pub path_edges: IndexSet<PathEdge, FxBuildHasher>,
    pub origins: Vec<Origin>,
    pub callers: Vec<Caller>,
    waiting: VecDeque<u32>,
    callers_of: Vec<Vec<u32>>,
    summaries_of: Vec<Vec<u32>>,
    /// The summaries that were applied, without locals: summaries that differ only in locals are applied once.
    seen_summaries: FxHashSet<(ProcId, Cube, Cube, u128)>,
    found: Option<Found>,
}

/// Decides a sequential task.
pub(super) fn run(
    task: &Task,
    scopes: &Scopes,
    most: usize,
    budget: &Budget,
    progress: &dyn Progress,
) -> Verdict {
    let mut saturation = Saturation::new(task, scopes, most, budget);
    match saturation.saturate(progress) {
        Err(reason) => reason.into(),
        Ok(Some(found)) => Verdict::Unsafe(Trace::Sequential(super::call_tree::build(&saturation, found))),
        Ok(None) => Verdict::Safe(Certificate::PathEdges(saturation.path_edges.into_iter().collect())),
    }
}

impl<'a> Saturation<'a> {
    fn new(task: &'a Task, scopes: &'a Scopes, most: usize, budget: &'a Budget) -> Self {
        let procedures = task.program.procedures.len();
        Self {
            task,
            scopes,
            budget,
            most,
            is_cut_short: Cell::new(false),
            path_edges: IndexSet::default(),
            origins: Vec::new(),
            callers: Vec::new(),
            waiting: VecDeque::new(),
            callers_of: vec![Vec::new(); procedures],
            summaries_of: vec![Vec::new(); procedures],
            seen_summaries: FxHashSet::default(),
            found: None,
        }
    }

    fn saturate(&mut self, progress: &dyn Progress) -> Result<Option<Found>, Reason> {
        self.enter(self.task.program.start, Cube::ANY, None);
        while let Some(id) = self.waiting.pop_front() {
            if let Some(found) = self.found {
                return Ok(Some(found));
            }
            if self.stops(self.path_edges.len()) {
                return Err(self.reason());
            }
            progress
                .say(&|| format!("{} path edges, {} to expand", self.path_edges.len(), self.waiting.len()));
            self.expand(id);
        }
        // The last step may have been stopped early.
        if self.found.is_none() && self.stops(self.path_edges.len()) {
            return Err(self.reason());
        }
        Ok(self.found)
    }

    /// Whether to end the search after `made` path edges or results of a step.
    fn stops(&self, made: usize) -> bool {
        self.budget.spend(WORK_OF_A_PATH_EDGE);
        if made > self.most {
            self.is_cut_short.set(true);
        }
        self.is_cut_short.get() || self.budget.exhausted().is_some()
    }

    fn reason(&self) -> Reason {
        let too_many = || Reason::GaveUp(format!("there are more than {} path edges", self.most));
        self.budget.exhausted().unwrap_or_else(too_many)
    }

    /// Adds the entry states of a procedure.
    fn enter(&mut self, procedure: ProcId, passed: Cube, caller: Option<u32>) {
        let scope = self.scopes.of(procedure);
        let live = scope.live(Procedure::ENTRY);
        let passed = passed.keep(live);
        let linked = low_bits(self.scopes.globals + scope.params) & live & !passed.known();
        let pair = Pair { entry: passed, now: passed, linked };
        for pair in self.enforced(procedure, pair) {
            self.add(procedure, Procedure::ENTRY, pair, Origin::Entry { caller });
        }
    }

    /// The parts of a state that satisfy the procedure's `enforce`.
    fn enforced(&self, procedure: ProcId, pair: Pair) -> Vec<Pair> {
        match self.task.program.procedure(procedure).enforce {
            None => vec![pair],
            Some(condition) => settle(
                pair,
                |made| self.stops(made),
                |pair| self.values(condition, pair.now).map(|values| values.can_hold),
            ),
        }
    }

    fn values(&self, expr: Expr, now: Cube) -> Result<Values, u32> {
        let read = |place: Place| {
            let var = self.scopes.slot(place.var);
            now.get(var).ok_or(var)
        };
        eval(self.task.program.exprs.ops(expr), read)
    }

    fn add(&mut self, procedure: ProcId, node: Node, pair: Pair, origin: Origin) {
        let live = self.scopes.of(procedure).live(node);
        let Pair { entry, now, linked } = pair;
        let edge = PathEdge { procedure, node, entry, now: now.keep(live), linked: linked & live };
        let (position, is_new) = self.path_edges.insert_full(edge);
        if !is_new {
            return;
        }
        let id = position as u32;
        self.origins.push(origin);
        self.waiting.push_back(id);
        if self.scopes.of(procedure).is_target(node) {
            self.violated(id, edge.now, Violation::Label);
        }
        if node == Procedure::EXIT {
            self.add_summary(id);
        }
    }

    fn violated(&mut self, path_edge: u32, state: Cube, violation: Violation) {
        self.found.get_or_insert(Found { path_edge, state, violation });
    }

    fn expand(&mut self, id: u32) {
        let PathEdge { procedure, node, entry, now, linked } = self.path_edges[id as usize];
        // `task` outlives `self`, so its edges can be read while path edges are added.
        let task = self.task;
        for (edge_id, edge) in task.program.procedure(procedure).edges_from(node) {
            let mut open = vec![Pair { entry, now, linked }];
            while let Some(before) = open.pop() {
                if self.stops(self.path_edges.len()) {
                    return;
                }
                if let Err(var) = self.step(id, procedure, before, edge_id, edge) {
                    open.extend(before.both_ways(var));
                }
            }
        }
    }

    /// Takes an edge; an error names an open variable on which it depends.
    fn step(
        &mut self,
        id: u32,
        procedure: ProcId,
        before: Pair,
        edge_id: EdgeId,
        edge: &Edge,
    ) -> Result<(), u32> {
        let after = match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => vec![before],
            Action::EndThread => return Ok(()),
            Action::Assume(condition) => {
                if !self.values(*condition, before.now)?.can_hold {
                    return Ok(());
                }
                vec![before]
            }
            Action::Assert(condition) => {
                let values = self.values(*condition, before.now)?;
                if values.can_fail && self.task.property == Property::Assertions {
                    self.violated(id, before.now, Violation::Assertion(edge_id));
                }
                if !values.can_hold {
                    return Ok(());
                }
                vec![before]
            }
            Action::Assign(assign) => self.assign(before, assign)?,
            Action::Call(call) => return self.call(id, before, edge_id, call),
            Action::Spawn(_) | Action::Fork(_) => unreachable!("a sequential program starts no threads"),
        };
        for pair in after {
            for pair in self.enforced(procedure, pair) {
                let origin = Origin::Step { from: id, edge: edge_id, before: before.now, after: pair.now };
                self.add(procedure, edge.to, pair, origin);
            }
        }
        Ok(())
    }

    fn assign(&self, before: Pair, assign: &Assign) -> Result<Vec<Pair>, u32> {
        let mut after = before;
        let mut written = 0_u128;
        // There is no other thread, so passive targets do not exist.
        for (target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            let var = self.scopes.slot(target.var);
            after = after.write(var, self.values(*value, before.now)?.single());
            written |= 1 << var;
        }
        let exprs = &self.task.program.exprs;
        let mut parts = vec![after];
        for &condition in &assign.constrain {
            // The condition is about all other threads, and there are none.
            if exprs.reads(condition).any(|place| place.passive) {
                continue;
            }
            let mut open = std::mem::take(&mut parts);
            while let Some(after) = open.pop() {
                if self.stops(parts.len()) {
                    break;
                }
                let values = eval(exprs.ops(condition), |place: Place| {
                    let var = self.scopes.slot(place.var);
                    let is_new = place.primed && written >> var & 1 == 1;
                    let state = if is_new { after.now } else { before.now };
                    state.get(var).ok_or((var, is_new))
                });
                match values {
                    Ok(values) if values.can_hold => parts.push(after),
                    Ok(_) => {}
                    Err((var, true)) => open.extend([true, false].map(|b| after.write(var, Some(b)))),
                    Err((var, false)) => return Err(var),
                }
            }
        }
        Ok(parts)
    }

    fn call(&mut self, id: u32, before: Pair, edge: EdgeId, call: &Call) -> Result<(), u32> {
        let globals = self.scopes.globals;
        let mut passed = before.now.keep(low_bits(globals));
        for (i, &arg) in call.args.iter().enumerate() {
            passed = passed.set((globals + i) as u32, self.values(arg, before.now)?.single());
        }
        let caller = self.callers.len() as u32;
        self.callers.push(Caller { from: id, edge, before, passed });
        self.callers_of[call.callee.index()].push(caller);
        self.enter(call.callee, passed, Some(caller));
        for i in 0..self.summaries_of[call.callee.index()].len() {
            self.apply(caller, self.summaries_of[call.callee.index()][i]);
        }
        Ok(())
    }

    fn add_summary(&mut self, id: u32) {
        let PathEdge { procedure, entry, now, linked, .. } = self.path_edges[id as usize];
        let interface = self.scopes.of(procedure).interface_at_exit();
        let seen = (procedure, entry, now.keep(interface), linked & interface);
        if !self.seen_summaries.insert(seen) {
            return;
        }
        self.summaries_of[procedure.index()].push(id);
        for i in 0..self.callers_of[procedure.index()].len() {
            self.apply(self.callers_of[procedure.index()][i], id);
        }
    }

    /// Steps over a call by a summary of its callee, if both agree on the values at the entry.
    fn apply(&mut self, caller_id: u32, summary_id: u32) {
        let caller = self.callers[caller_id as usize];
        let summary = self.path_edges[summary_id as usize];
        if caller.passed.meet(summary.entry).is_none() {
            return;
        }
        let globals = low_bits(self.scopes.globals);
        // The callee depends on globals that are open in the caller: they are decided now.
        let news = summary.entry.known() & !caller.passed.known() & globals;
        let mut before = caller.before;
        for var in bits(news) {
            before = before.decide(var, summary.entry.value() >> var & 1 == 1);
        }
        let untouched = summary.linked | !globals;
        let mut after = Pair {
            entry: before.entry,
            now: before.now.keep(untouched).or(summary.now.keep(globals)),
            linked: before.linked & untouched,
        };
        let task = self.task;
        let PathEdge { procedure, .. } = self.path_edges[caller.from as usize];
        let edge = task.program.procedure(procedure).edge(caller.edge);
        let Action::Call(call) = &edge.action else { unreachable!("callers wait at calls") };
        let first_return = self.scopes.of(call.callee).first_return;
        for (i, target) in call.targets.iter().enumerate() {
            if let Some(var) = target {
                let value = summary.now.get((first_return + i) as u32);
                after = after.write(self.scopes.slot(*var), value);
            }
        }
        for pair in self.enforced(procedure, after) {
            let (before, after) = (before.now, pair.now);
            let origin = Origin::Return { caller: caller_id, summary: summary_id, before, after };
            self.add(procedure, edge.to, pair, origin);
        }
    }
}

/// The parts of a pair for which a test holds. An error of the test names an open variable on which it depends.
fn settle(pair: Pair, stops: impl Fn(usize) -> bool, test: impl Fn(&Pair) -> Result<bool, u32>) -> Vec<Pair> {
    let mut parts = Vec::new();
    let mut open = vec![pair];
    while let Some(pair) = open.pop() {
        if stops(parts.len()) {
            break;
        }
        match test(&pair) {
            Ok(true) => parts.push(pair),
            Ok(false) => {}
            Err(var) => open.extend(pair.both_ways(var)),
        }
    }
    parts
}
