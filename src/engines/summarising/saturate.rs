//! Computes the fix-point of the tables by running blocks.
//!
//! A worklist holds the blocks to run: callees before callers, and within a procedure in the order of the code. A
//! run adds edges at the cuts that it reaches. An edge at an exit is a summary, and when there is a new one, the
//! blocks with calls to its procedure are run again.

use std::collections::BTreeSet;

use cusp_encodings::Term;
use cusp_solvers::inclusion::Layer;
use rustc_hash::{FxHashMap, FxHashSet};

use super::edge::Edge;
use super::nesting::most_nested;
use super::run::{Run, entry_edge};
use super::sat;
use super::tables::{Key, Origin, Source, Tables};
use crate::budget::Budget;
use crate::evidence::{Place, Reason};
use crate::model::calls::{CallGraph, callees};
use crate::model::{Action, Node, ProcId, Procedure, Property};
use crate::progress::Progress;
use crate::symbolic::block::Blocks;

/// Which entries of procedures are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Only entries that some run from the start reaches. The first violation ends the saturation.
    Reachable,
    /// All entries. The entries that lead to a violation form a relation like any other.
    Arbitrary,
}

/// How much of the table at the beginning of a block was run.
#[derive(Clone, Copy, Debug, Default)]
struct BlockProgress {
    /// The number of additions that were run.
    done: usize,
    /// Whether a callee has a new summary, so that all additions have to be run again.
    again: bool,
}

/// Tables that grow until a fix-point is reached.
pub struct Saturation<'a> {
    blocks: &'a Blocks<'a>,
    /// The call graph.
    pub calls: CallGraph,
    /// The relations found so far.
    pub tables: Tables<'a>,
    entries: Entries,
    /// Whether a procedure is *starred*: nothing is assumed about the results of calls to it.
    star: Vec<bool>,
    may_fail: Vec<bool>,
    /// Blocks to run: callees first, then in the order of the code.
    waiting: BTreeSet<(usize, u32, ProcId, Node)>,
    progressed: FxHashMap<(ProcId, Node), BlockProgress>,
    /// For each procedure, the blocks with calls to it.
    callers: FxHashMap<ProcId, BTreeSet<(ProcId, Node)>>,
    /// The places that have had relations, in the order in which they got them.
    places: Vec<Key>,
    seen: FxHashSet<Key>,
    runs: u64,
    /// The greatest number of rounds that a recursive component took.
    pub most_rounds: usize,
    /// The greatest number of different heads that nested calls of a recursive component can have, if it was
    /// computed.
    pub most_heads: Option<usize>,
    /// The current round, while a recursive component is saturated by rounds.
    nested: Option<Nested>,
}

/// A round of the saturation of a recursive component.
#[derive(Clone, Debug)]
struct Nested {
    /// The position of the component in the call graph.
    rank: usize,
    /// Calls into the component use only summaries up to this stamp.
    stamp: u32,
    /// Whether a procedure of the component has got a new summary in this round.
    grows: bool,
}

impl<'a> Saturation<'a> {
    /// Empty tables. If `projects` is false, all relations stay in parametric form.
    #[must_use]
    pub fn new(blocks: &'a Blocks<'a>, budget: &'a Budget, entries: Entries, projects: bool) -> Self {
        let calls = CallGraph::of(&blocks.task.program);
        let may_fail = may_fail(blocks, &calls);
        Self {
            blocks,
            calls,
            tables: Tables::new(blocks, budget, projects),
            entries,
            star: vec![false; may_fail.len()],
            may_fail,
            waiting: BTreeSet::new(),
            progressed: FxHashMap::default(),
            callers: FxHashMap::default(),
            places: Vec::new(),
            seen: FxHashSet::default(),
            runs: 0,
            most_rounds: 0,
            most_heads: None,
            nested: None,
        }
    }

    /// Stars a procedure, so that nothing is assumed about calls to it, or removes the star, so that calls use its
    /// tables.
    pub fn set_star(&mut self, procedure: ProcId, star: bool) {
        self.star[procedure.index()] = star;
    }

    /// For a starred procedure, whether calls to it may fail; `None` for other procedures.
    #[must_use]
    pub fn star(&self, procedure: ProcId) -> Option<bool> {
        self.star[procedure.index()].then(|| self.may_fail[procedure.index()])
    }

    /// Whether a procedure or one of its direct or indirect callees contains a statement that could violate the
    /// property.
    #[must_use]
    pub fn may_fail(&self, procedure: ProcId) -> bool {
        self.may_fail[procedure.index()]
    }

    /// The places with relations, sorted.
    #[must_use]
    pub fn places(&self) -> Vec<Key> {
        let mut places: Vec<Key> =
            self.places.iter().copied().filter(|&key| !self.tables.table(key).additions.is_empty()).collect();
        places.sort_unstable();
        places
    }

    /// Adds all states at the entry of a procedure.
    ///
    /// # Errors
    /// The reason why the saturation ends early.
    pub fn enter(&mut self, procedure: ProcId) -> Result<(), Reason> {
        let Tables { arena, names, .. } = &mut self.tables;
        let value = |arena: &mut _, names: &super::edge::Names, slot| names.entry(arena, slot);
        let entry = entry_edge(arena, names, self.blocks.scopes, procedure, Term::TRUE, value);
        let key = (procedure, Place::Node(Procedure::ENTRY));
        if self.tables.insert(key, &entry, Origin::Arbitrary)? {
            self.changed(key);
        }
        Ok(())
    }

    /// Removes all relations of a procedure.
    pub fn forget(&mut self, procedure: ProcId) {
        for &key in self.places.iter().filter(|(id, _)| *id == procedure) {
            self.tables.forget(key);
        }
        let cuts = self.blocks.cuts(procedure);
        for node in cuts.heads().chain([Procedure::ENTRY]) {
            self.progressed.remove(&(procedure, node));
        }
    }

    /// Runs blocks until a fix-point is reached, or the start procedure is found to fail. With
    /// [`Entries::Reachable`], the first run that violates the property ends the saturation, and its source is
    /// returned.
    ///
    /// # Errors
    /// Why it ends early.
    pub fn saturate(&mut self, progress: &dyn Progress) -> Result<Option<(ProcId, Source)>, Reason> {
        while let Some((_, _, procedure, node)) = self.waiting.pop_first() {
            progress.say(&|| {
                format!(
                    "{} runs of blocks, {} relations, {} blocks to run",
                    self.runs,
                    self.places.len(),
                    self.waiting.len()
                )
            });
            if let Some(source) = self.run_block(procedure, node)? {
                return Ok(Some((procedure, source)));
            }
            if procedure == self.blocks.task.program.start && self.start_fails() {
                self.waiting.clear();
            }
        }
        Ok(None)
    }

    /// A number of nested activations of a recursive component that is enough to find all its summaries; `None` if
    /// no such number was found.
    ///
    /// # Errors
    /// If the budget is used up.
    pub fn most_nested(&self, component: &[ProcId]) -> Result<Option<usize>, Reason> {
        most_nested(self.blocks.task, component, &|id| self.may_fail(id), self.tables.budget)
    }

    /// Whether the start procedure is known to reach a violation.
    fn start_fails(&self) -> bool {
        !self.tables.table((self.blocks.task.program.start, Place::Failure)).additions.is_empty()
    }

    /// Enters the procedures of a recursive component in all states, and saturates in rounds: the summaries of
    /// round `r` are those of runs in which at most `r` activations of the component are nested. After every round,
    /// `ends` gets its number and whether there are new summaries, and decides whether it was the last one. The
    /// rounds also end when the start procedure is found to reach a violation. Returns the number of rounds.
    ///
    /// # Errors
    /// Why it ends early.
    pub fn saturate_by_nesting(
        &mut self,
        component: &[ProcId],
        progress: &dyn Progress,
        mut ends: impl FnMut(&Self, usize, bool) -> Result<bool, Reason>,
    ) -> Result<usize, Reason> {
        let rank = self.calls.rank(component[0]);
        for &procedure in component {
            self.enter(procedure)?;
        }
        for round in 1.. {
            self.nested = Some(Nested { rank, stamp: self.tables.stamp(), grows: false });
            let stopped = self.saturate(progress);
            let grows = self.nested.take().is_some_and(|nested| nested.grows);
            stopped?;
            // If the start procedure is not part of the component, its failures may be from an earlier computation.
            let fails = component.contains(&self.blocks.task.program.start) && self.start_fails();
            if fails || ends(self, round, grows)? {
                return Ok(round);
            }
            for &procedure in component {
                self.wake_callers(procedure, |calls, caller| calls.rank(caller) == rank);
            }
        }
        unreachable!("the loop over rounds has no end")
    }

    /// Runs the block at a cut, starting from the additions that were not run yet.
    fn run_block(&mut self, procedure: ProcId, node: Node) -> Result<Option<Source>, Reason> {
        let key = (procedure, Place::Node(node));
        let count = self.tables.table(key).additions.len();
        let progressed = self.progressed.entry((procedure, node)).or_default();
        let BlockProgress { done, again } =
            std::mem::replace(progressed, BlockProgress { done: count, again: false });
        let new = if again {
            self.tables.table(key).known().iter().map(|edge| (edge.clone(), 0..count)).collect()
        } else {
            self.tables.since(key, done)
        };
        for (edge, additions) in new {
            self.runs += 1;
            let stamp = self.nested.as_ref().map_or(self.tables.stamp(), |nested| nested.stamp);
            let source = Source { node, edge, additions, stamp };
            let run = self.tables.run(procedure, &source, |callee| {
                self.star[callee.index()].then(|| self.may_fail[callee.index()])
            });
            let fails = run.fails(&mut self.tables.arena);
            match self.entries {
                Entries::Reachable => {
                    if sat::solve(&self.tables.arena, fails, self.tables.budget)?.is_some() {
                        return Ok(Some(source));
                    }
                    self.enter_callees(procedure, &run, &source)?;
                }
                Entries::Arbitrary => {
                    for call in &run.block.calls {
                        self.callers.entry(call.callee).or_default().insert((procedure, node));
                    }
                    let failing = Edge { guard: fails, entry: run.source.entry.clone(), now: Vec::new() };
                    self.insert((procedure, Place::Failure), &failing, Origin::Block(source.clone()))?;
                }
            }
            for position in 0..run.block.arrivals.len() {
                let edge = run.arrival(&mut self.tables.arena, self.blocks.scopes, position);
                let key = (procedure, Place::Node(run.block.arrivals[position].node));
                self.insert(key, &edge, Origin::Block(source.clone()))?;
            }
        }
        Ok(None)
    }

    fn enter_callees(&mut self, caller: ProcId, run: &Run, source: &Source) -> Result<(), Reason> {
        for (call, open) in run.block.calls.iter().enumerate() {
            self.callers.entry(open.callee).or_default().insert((caller, source.node));
            let Tables { arena, names, .. } = &mut self.tables;
            let edge = run.entry_of_call(arena, names, self.blocks.scopes, call);
            let origin = Origin::Call { caller, source: source.clone(), call };
            self.insert((open.callee, Place::Node(Procedure::ENTRY)), &edge, origin)?;
        }
        Ok(())
    }

    fn insert(&mut self, key: Key, edge: &Edge, origin: Origin) -> Result<(), Reason> {
        if self.tables.insert(key, edge, origin)? {
            self.changed(key);
        }
        Ok(())
    }

    /// Puts the blocks that depend on a place on the worklist, after an addition there.
    fn changed(&mut self, key: Key) {
        if self.seen.insert(key) {
            self.places.push(key);
        }
        match key {
            (procedure, Place::Node(node)) if node != Procedure::EXIT => self.wait(procedure, node),
            (procedure, _) => match &mut self.nested {
                Some(nested) if nested.rank == self.calls.rank(procedure) => nested.grows = true,
                _ => self.wake_callers(procedure, |_, _| true),
            },
        }
    }

    /// Puts the blocks with calls to a procedure on the worklist, to be run again from all their additions.
    fn wake_callers(&mut self, procedure: ProcId, wakes: impl Fn(&CallGraph, ProcId) -> bool) {
        let callers = self.callers.get(&procedure).into_iter().flatten().copied();
        let callers: Vec<(ProcId, Node)> =
            callers.filter(|&(caller, _)| wakes(&self.calls, caller)).collect();
        for (caller, node) in callers {
            self.progressed.entry((caller, node)).or_default().again = true;
            self.wait(caller, node);
        }
    }

    fn wait(&mut self, procedure: ProcId, node: Node) {
        let place = self.blocks.cuts(procedure).place(node);
        self.waiting.insert((self.calls.rank(procedure), place, procedure, node));
    }

    /// Reports the statistics of the saturation.
    pub fn record(&self, progress: &dyn Progress) {
        let statistics = self.tables.inclusion();
        progress.count("runs of blocks", self.runs);
        progress.count("inclusion checks", statistics.checks);
        for layer in Layer::ALL {
            progress.count(
                &format!("inclusion checks answered by layer `{}`", layer.name()),
                statistics.answered(layer),
            );
        }
        progress.count("relations too large to project", self.tables.copies);
        if self.most_rounds > 0 {
            progress.count("most rounds of nested calls", self.most_rounds as u64);
        }
        if let Some(heads) = self.most_heads {
            progress.count("most different heads of nested calls", heads as u64);
        }
        progress.count("terms", self.tables.arena.len() as u64);
    }
}

/// For every procedure, whether it or one of its callees contains a statement that could violate the property.
fn may_fail(blocks: &Blocks<'_>, calls: &CallGraph) -> Vec<bool> {
    let program = &blocks.task.program;
    let asserts = blocks.task.property == Property::Assertions;
    let mut may_fail: Vec<bool> = program
        .procedure_ids()
        .map(|id| {
            let procedure = program.procedure(id);
            asserts && procedure.edges.iter().any(|edge| matches!(edge.action, Action::Assert(_)))
                || (0..procedure.nodes as usize).any(|node| blocks.is_target(id, Node::from_index(node)))
        })
        .collect();
    for component in &calls.components {
        let fails = component.iter().any(|&id| {
            may_fail[id.index()] || callees(program.procedure(id)).any(|callee| may_fail[callee.index()])
        });
        for id in component {
            may_fail[id.index()] = fails;
        }
    }
    may_fail
}
