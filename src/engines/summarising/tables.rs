//! What is known about every procedure: relations from its entry to its cuts, and how each came about.
//!
//! Every *addition* to a table has a stamp, and was made by a run that used only additions with smaller stamps.
//! So a run that leads to a state in an addition can be put together backwards: see [`super::reconstruct`].
//!
//! Before an addition is made, the inclusion stack is asked whether it says anything new; the layers are
//! those of `cusp_solvers::inclusion`. Where it gives up, loop-free paths decide: an edge all of whose paths
//! come to a loop head twice in the same state says nothing that a shorter path does not (the recurrence
//! diameter; thesis, 4.2.2). That is plain SAT, and always ends the unrolling of a loop. For recursion there is
//! [`super::nesting`].

use std::ops::Range;
use std::rc::Rc;

use cusp_encodings::state::different_state;
use cusp_encodings::{SymbolicState, Term, TermArena};
use cusp_solvers::Limits;
use cusp_solvers::inclusion::{Inclusion, InclusionAnswer};
use rustc_hash::FxHashMap;

use super::diagram::{Diagrams, Projected};
use super::edge::{Edge, Names};
use super::run::{Outcome, Run};
use crate::budget::Budget;
use crate::evidence::{Place, Reason};
use crate::model::{Node, ProcId, Procedure};
use crate::symbolic::block::Blocks;

/// Conflicts of the embedded 2QBF solver before it gives up on a question.
const CONFLICTS: u64 = 100_000;

/// Where a relation is kept.
pub type Key = (ProcId, Place);

/// How an addition came about.
#[derive(Clone, Debug)]
pub enum Origin {
    /// All states in which the program, or any call, may enter the procedure.
    Arbitrary,
    /// A run of a block of the same procedure.
    Block(Source),
    /// A call in a run of a block of the caller.
    Call {
        /// The caller.
        caller: ProcId,
        /// Its run.
        source: Source,
        /// The position of the call in the block.
        call: usize,
    },
}

/// Where a run began, and what it knew.
#[derive(Clone, Debug)]
pub struct Source {
    /// The beginning of the block.
    pub node: Node,
    /// The edge there.
    pub edge: Rc<Edge>,
    /// The additions that the edge stands for.
    pub additions: Range<usize>,
    /// Only additions up to this stamp were known about callees.
    pub stamp: u32,
}

/// A relation that was not known before.
pub struct Addition {
    /// Later additions have greater ones.
    pub stamp: u32,
    /// The relation.
    pub edge: Rc<Edge>,
    /// The same as a diagram, unless that was too large.
    projected: Option<Projected>,
    /// How it came about.
    pub origin: Origin,
}

/// All that is known at one place.
#[derive(Default)]
pub struct Table {
    /// In the order of their stamps.
    pub additions: Vec<Addition>,
    /// All projected additions in one.
    union: Option<Projected>,
    /// The others.
    parametric: Vec<Rc<Edge>>,
    /// What stands for all additions, after each of them.
    known: Vec<Vec<Rc<Edge>>>,
}

impl Table {
    /// Edges that stand for all additions.
    #[must_use]
    pub fn known(&self) -> &[Rc<Edge>] {
        self.known.last().map_or(&[], Vec::as_slice)
    }

    /// Edges that stood for all additions up to a stamp.
    #[must_use]
    pub fn known_at(&self, stamp: u32) -> &[Rc<Edge>] {
        let count = self.additions.partition_point(|addition| addition.stamp <= stamp);
        count.checked_sub(1).map_or(&[], |last| self.known[last].as_slice())
    }
}

/// The tables, and everything that formulas need.
pub struct Tables<'a> {
    /// The program's blocks.
    pub blocks: &'a Blocks<'a>,
    /// All terms but those of blocks.
    pub arena: TermArena,
    /// The variables of edges.
    pub names: Names,
    /// What the run may cost.
    pub budget: &'a Budget,
    diagrams: Diagrams,
    projects: bool,
    inclusion: Inclusion,
    places: FxHashMap<Key, Table>,
    empty: Table,
    clock: u32,
    /// Edges that were too large to be projected.
    pub copies: u64,
    /// Edges of which it is not known whether they say anything new.
    pub undecided: u64,
}

impl<'a> Tables<'a> {
    /// Knows nothing yet. Without projection, or if the user says so, all edges stay in parametric form.
    #[must_use]
    pub fn new(blocks: &'a Blocks<'a>, budget: &'a Budget, projects: bool) -> Self {
        let procedures = blocks.task.program.procedure_ids();
        let width = procedures.map(|id| blocks.scopes.scope(id).width()).max().unwrap_or(0);
        let mut arena = TermArena::new();
        let names = Names::new(&mut arena, width);
        Self {
            blocks,
            arena,
            names,
            budget,
            diagrams: Diagrams::new(width),
            projects: projects && !budget.solvers().is_parametric(),
            inclusion: budget.inclusion(CONFLICTS),
            places: FxHashMap::default(),
            empty: Table::default(),
            clock: 0,
            copies: 0,
            undecided: 0,
        }
    }

    /// What is known at a place.
    #[must_use]
    pub fn table(&self, key: Key) -> &Table {
        self.places.get(&key).unwrap_or(&self.empty)
    }

    /// Forgets what is known at a place.
    pub fn forget(&mut self, key: Key) {
        self.places.remove(&key);
    }

    /// The stamp of the last addition.
    #[must_use]
    pub fn stamp(&self) -> u32 {
        self.clock
    }

    /// What is known about calls to a procedure up to a stamp.
    #[must_use]
    pub fn outcome_at(&self, callee: ProcId, stamp: u32) -> Outcome {
        let known = |place| self.table((callee, place)).known_at(stamp).to_vec();
        Outcome::Relations { exits: known(Place::Node(Procedure::EXIT)), failures: known(Place::Failure) }
    }

    /// Runs the block at a cut from an edge there.
    pub fn run(&mut self, procedure: ProcId, source: &Source, star: impl Fn(ProcId) -> Option<bool>) -> Run {
        let block = self.blocks.block(procedure, source.node);
        let callees: Vec<(ProcId, Outcome)> = block
            .calls
            .iter()
            .map(|call| match star(call.callee) {
                Some(may_fail) => (call.callee, Outcome::Arbitrary { may_fail }),
                None => (call.callee, self.outcome_at(call.callee, source.stamp)),
            })
            .collect();
        let outcome = |callee: ProcId| {
            let known = callees.iter().find(|(id, _)| *id == callee);
            known.map_or(Outcome::Arbitrary { may_fail: true }, |(_, outcome)| outcome.clone())
        };
        Run::new(self.blocks, &mut self.arena, &mut self.names, block, Rc::clone(&source.edge), outcome)
    }

    /// Adds a relation if it says anything new, and tells whether it did.
    ///
    /// # Errors
    /// Why it is not known whether it does.
    pub fn insert(&mut self, key: Key, edge: &Edge, origin: Origin) -> Result<bool, Reason> {
        if edge.guard == Term::FALSE {
            return Ok(false);
        }
        if let Some(reason) = self.budget.exhausted() {
            return Err(reason);
        }
        let projected =
            if self.projects { self.diagrams.project(&mut self.arena, &self.names, edge) } else { None };
        if projected.as_ref().is_some_and(Projected::is_empty) {
            return Ok(false);
        }
        let edge = if let Some(projected) = &projected {
            Rc::clone(&projected.edge)
        } else {
            if super::sat::solve(&self.arena, edge.guard, self.budget)?.is_none() {
                return Ok(false);
            }
            self.copies += 1;
            Rc::new(self.names.keep(&mut self.arena, edge))
        };
        match self.is_included(key, &edge)? {
            Some(true) => return Ok(false),
            Some(false) => {}
            None => {
                if self.repeats(key, &edge, &origin)? {
                    return Ok(false);
                }
                self.undecided += 1;
            }
        }
        self.clock += 1;
        let stamp = self.clock;
        let table = self.places.entry(key).or_default();
        match &projected {
            None => table.parametric.push(Rc::clone(&edge)),
            Some(new) => {
                let (arena, names) = (&mut self.arena, &self.names);
                let union = match &table.union {
                    None => Some(new.clone()),
                    Some(old) => self.diagrams.union(arena, names, old, new),
                };
                match union {
                    Some(union) => table.union = Some(union),
                    None => table.parametric.push(Rc::clone(&edge)),
                }
            }
        }
        let union = table.union.iter().map(|union| Rc::clone(&union.edge));
        table.known.push(union.chain(table.parametric.iter().cloned()).collect());
        table.additions.push(Addition { stamp, edge, projected, origin });
        Ok(true)
    }

    /// Whether an edge says nothing new, if that can be found out.
    fn is_included(&mut self, key: Key, edge: &Edge) -> Result<Option<bool>, Reason> {
        let known = self.places.get(&key).map_or(&[][..], Table::known);
        let Some((first, rest)) = known.split_first() else { return Ok(Some(false)) };
        if **first == *edge {
            return Ok(Some(true));
        }
        let mut larger = state_of(first);
        for other in rest {
            larger = larger.merge(&mut self.arena, &state_of(other));
        }
        let smaller = state_of(edge);
        match self.inclusion.check(&mut self.arena, &smaller, &larger, &[], &Limits::NONE) {
            InclusionAnswer::Included(..) | InclusionAnswer::Claimed(_) => Ok(Some(true)),
            InclusionAnswer::NotIncluded(..) => Ok(Some(false)),
            InclusionAnswer::Unknown(_) => match self.budget.exhausted() {
                Some(reason) => Err(reason),
                None => Ok(None),
            },
        }
    }

    /// Whether every path of an edge comes to a cut twice in the same state, as far as the path can be told:
    /// back to where the last projected relation begins.
    fn repeats(&mut self, key: Key, edge: &Edge, origin: &Origin) -> Result<bool, Reason> {
        let (procedure, Place::Node(node)) = key else { return Ok(false) };
        let mut path: Vec<(Node, Vec<Option<Term>>)> = vec![(node, edge.now.clone())];
        let mut origin = origin.clone();
        while let Origin::Block(source) = origin {
            path.push((source.node, source.edge.now.clone()));
            let table = self.table((procedure, Place::Node(source.node)));
            let only = (source.additions.len() == 1).then(|| &table.additions[source.additions.start]);
            let Some(only) = only.filter(|addition| addition.projected.is_none()) else { break };
            origin = only.origin.clone();
        }
        let mut simple = edge.guard;
        for (i, (node, values)) in path.iter().enumerate() {
            for (_, others) in path[i + 1..].iter().filter(|(other, _)| other == node) {
                let pairs = values.iter().zip(others).filter_map(|(&a, &b)| Some((a?, b?)));
                let (mine, theirs): (Vec<Term>, Vec<Term>) = pairs.unzip();
                let differ = different_state(&mut self.arena, &mine, &theirs);
                simple = self.arena.and(simple, differ);
            }
        }
        Ok(super::sat::solve(&self.arena, simple, self.budget)?.is_none())
    }

    /// The additions from a position on as few edges, each with the positions it stands for.
    pub fn since(&mut self, key: Key, first: usize) -> Vec<(Rc<Edge>, Range<usize>)> {
        let Some(table) = self.places.get(&key) else { return Vec::new() };
        let mut merged: Vec<(Rc<Edge>, Range<usize>)> = Vec::new();
        let mut together: Option<(Projected, Range<usize>)> = None;
        for (position, addition) in table.additions.iter().enumerate().skip(first) {
            let range = position..position + 1;
            let Some(new) = &addition.projected else {
                merged.push((Rc::clone(&addition.edge), range));
                continue;
            };
            together = Some(match together.take() {
                None => (new.clone(), range),
                Some((old, range)) => {
                    if let Some(union) = self.diagrams.union(&mut self.arena, &self.names, &old, new) {
                        (union, range.start..position + 1)
                    } else {
                        merged.push((old.edge, range));
                        (new.clone(), position..position + 1)
                    }
                }
            });
        }
        merged.extend(together.map(|(union, range)| (union.edge, range)));
        merged
    }

    /// The first of some additions that relates these values.
    ///
    /// # Errors
    /// Why the question was not answered.
    pub fn find(
        &mut self,
        key: Key,
        range: Range<usize>,
        entry: &[Option<bool>],
        now: &[Option<bool>],
    ) -> Result<Option<usize>, Reason> {
        let Some(table) = self.places.get(&key) else { return Ok(None) };
        for position in range {
            let addition = &table.additions[position];
            let found = if let Some(projected) = &addition.projected {
                projected.contains(entry, now)
            } else {
                let term = equals(&mut self.arena, &addition.edge, entry, now);
                super::sat::solve(&self.arena, term, self.budget)?.is_some()
            };
            if found {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    /// Who answered inclusion questions.
    #[must_use]
    pub fn inclusion(&self) -> cusp_solvers::inclusion::InclusionStatistics {
        self.inclusion.statistics()
    }
}

/// The guard of an edge with these values.
pub fn equals(arena: &mut TermArena, edge: &Edge, entry: &[Option<bool>], now: &[Option<bool>]) -> Term {
    let mut all = edge.guard;
    let values = edge.entry.iter().zip(entry).chain(edge.now.iter().zip(now));
    for (term, value) in values {
        if let (Some(term), Some(value)) = (*term, *value) {
            all = arena.and(all, term.complement_if(!value));
        }
    }
    all
}

fn state_of(edge: &Edge) -> SymbolicState {
    let mut terms = edge.terms();
    let values = terms.split_off(1);
    SymbolicState { guard: edge.guard, values }
}
