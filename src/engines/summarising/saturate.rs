//! Saturation of tables by runs of blocks.
//!
//! A worklist of blocks to run: callees before callers, and within a procedure in the order of the code. A run
//! adds edges at the cuts it comes to; an edge at an exit is a summary, and blocks with calls to its
//! procedure are run again.

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

/// Which entries of procedures count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Those that some run from the start comes to. The first violation ends the saturation.
    Reachable,
    /// All. Violations are relations like others: the entries that lead to one.
    Arbitrary,
}

/// The beginning of a block that waits to be run.
#[derive(Clone, Copy, Debug, Default)]
struct Progressed {
    /// Additions up to here were run.
    done: usize,
    /// A callee has a new summary: all additions have to be run again.
    again: bool,
}

/// Tables that grow until nothing new comes up.
pub struct Saturation<'a> {
    blocks: &'a Blocks<'a>,
    /// The call graph.
    pub calls: CallGraph,
    /// What is known.
    pub tables: Tables<'a>,
    entries: Entries,
    /// Procedures about whose calls nothing is assumed.
    star: Vec<bool>,
    may_fail: Vec<bool>,
    /// Blocks to run: callees first, then in the order of the code.
    waiting: BTreeSet<(usize, u32, ProcId, Node)>,
    progressed: FxHashMap<(ProcId, Node), Progressed>,
    /// Blocks with calls to a procedure.
    callers: FxHashMap<ProcId, BTreeSet<(ProcId, Node)>>,
    /// Places with relations, in the order they came up.
    places: Vec<Key>,
    seen: FxHashSet<Key>,
    runs: u64,
    /// The most rounds that a recursive component took.
    pub most_rounds: usize,
    /// The most different heads that nested calls of a recursive component can have, if anybody asked.
    pub most_heads: Option<usize>,
    /// The round of nesting, if there are rounds.
    nested: Option<Nested>,
}

/// A round of nesting.
#[derive(Clone, Debug)]
struct Nested {
    /// The position of the component.
    rank: usize,
    /// What calls into the component know.
    stamp: u32,
    /// A procedure of the component has a new summary.
    grows: bool,
}

impl<'a> Saturation<'a> {
    /// Knows nothing yet. Without projection all relations stay in parametric form.
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

    /// Assumes nothing about calls to a procedure, or what its tables say.
    pub fn set_star(&mut self, procedure: ProcId, star: bool) {
        self.star[procedure.index()] = star;
    }

    /// For a procedure about whose calls nothing is assumed: whether they may fail.
    #[must_use]
    pub fn star(&self, procedure: ProcId) -> Option<bool> {
        self.star[procedure.index()].then(|| self.may_fail[procedure.index()])
    }

    /// Whether a statement that could violate the property is in a procedure or its callees.
    #[must_use]
    pub fn may_fail(&self, procedure: ProcId) -> bool {
        self.may_fail[procedure.index()]
    }

    /// The places with relations, in order.
    #[must_use]
    pub fn places(&self) -> Vec<Key> {
        let mut places: Vec<Key> =
            self.places.iter().copied().filter(|&key| !self.tables.table(key).additions.is_empty()).collect();
        places.sort_unstable();
        places
    }

    /// Enters a procedure in all states.
    ///
    /// # Errors
    /// Why the saturation ends early.
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

    /// Forgets all about a procedure.
    pub fn forget(&mut self, procedure: ProcId) {
        for &key in self.places.iter().filter(|(id, _)| *id == procedure) {
            self.tables.forget(key);
        }
        let cuts = self.blocks.cuts(procedure);
        for node in cuts.heads().chain([Procedure::ENTRY]) {
            self.progressed.remove(&(procedure, node));
        }
    }

    /// Runs blocks until nothing new comes up, or the start procedure is found to fail. With
    /// [`Entries::Reachable`], the source of a run that violates the property ends it.
    ///
    /// # Errors
    /// Why it ends early.
    pub fn saturate(&mut self, progress: &dyn Progress) -> Result<Option<(ProcId, Source)>, Reason> {
        while let Some((_, _, procedure, node)) = self.waiting.pop_first() {
            progress.say(&|| {
                format!(
                    "{} runs of blocks, {} relations, {} to go on from",
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

    /// How many activations of a recursive component have to be nested, if that is found out.
    ///
    /// # Errors
    /// If the budget is used up.
    pub fn most_nested(&self, component: &[ProcId]) -> Result<Option<usize>, Reason> {
        most_nested(self.blocks.task, component, &|id| self.may_fail(id), self.tables.budget)
    }

    /// Whether the start procedure is known to come to a violation.
    fn start_fails(&self) -> bool {
        !self.tables.table((self.blocks.task.program.start, Place::Failure)).additions.is_empty()
    }

    /// Enters the procedures of a recursive component in all states, and saturates by rounds: the summaries of
    /// round `r` are those of runs in which at most `r` activations of the component are nested. After every
    /// round, `ends` is told its number and whether there are new summaries, and says whether it was the last;
    /// a violation that the start procedure is found to come to ends them, too. The answer is the number of rounds.
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
            // What is known about the start may be older than the component, unless it is a part of it.
            let fails = component.contains(&self.blocks.task.program.start) && self.start_fails();
            if fails || ends(self, round, grows)? {
                return Ok(round);
            }
            for &procedure in component {
                self.wake_callers(procedure, |calls, caller| calls.rank(caller) == rank);
            }
        }
        unreachable!("rounds without an end")
    }

    /// Runs the block at a cut from everything that is new there.
    fn run_block(&mut self, procedure: ProcId, node: Node) -> Result<Option<Source>, Reason> {
        let key = (procedure, Place::Node(node));
        let count = self.tables.table(key).additions.len();
        let progressed = self.progressed.entry((procedure, node)).or_default();
        let Progressed { done, again } =
            std::mem::replace(progressed, Progressed { done: count, again: false });
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

    /// Something new is known at a place.
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

    /// Has blocks with calls to a procedure run again from everything.
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

    /// Tells what was done.
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

/// For every procedure, whether a statement that could violate the property is in it or its callees.
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
