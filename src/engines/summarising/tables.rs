//! The relations from the entry of every procedure to its cuts, and how each of them was derived.
//!
//! Every *addition* to a table has a stamp, and was made by a run that used only additions with smaller stamps. So
//! a run that leads to a state in an addition can be put together backwards: see [`super::reconstruct`].
//!
//! Before an addition is made, an inclusion check decides whether the relation contains anything new; its layers
//! are those of `cusp_solvers::inclusion`. Where it gives up, loop-free paths decide: if every path of an edge
//! reaches some loop head twice in the same state, the edge contains nothing that a shorter path does not (the
//! recurrence diameter; thesis, 4.2.2). This is a plain SAT question, and guarantees that the unrolling of a loop
//! ends. For recursion, [`super::nesting`] has the same role.

use std::ops::Range;
use std::rc::Rc;

use cusp_encodings::state::different_state;
use cusp_encodings::{SymbolicState, Term, TermArena};
use cusp_solvers::Limits;
use cusp_solvers::inclusion::{Inclusion, InclusionAnswer};
use rustc_hash::FxHashMap;

use super::diagram::{Diagrams, Projected};
use super::edge::{Edge, Names};
use super::run::{CalleeSummary, Run};
use crate::budget::Budget;
use crate::evidence::{Place, Reason};
use crate::model::{Node, ProcId, Procedure};
use crate::symbolic::block::Blocks;

/// The number of conflicts after which the embedded 2QBF solver gives up on a question.
const CONFLICTS: u64 = 100_000;

/// The key of a table: a procedure and a place in it.
pub type Key = (ProcId, Place);

/// How an addition was derived.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The addition contains all entry states; nothing is assumed about how the procedure is entered.
    Arbitrary,
    /// The addition was made by a run of a block of the same procedure.
    Block(Source),
    /// The addition contains the entries made by a call in a run of a block of the caller.
    Call {
        /// The caller.
        caller: ProcId,
        /// The run of the caller's block.
        source: Source,
        /// The position of the call in the block.
        call: usize,
    },
}

/// The beginning of a run of a block, and the summaries that it used.
#[derive(Clone, Debug)]
pub struct Source {
    /// The beginning of the block.
    pub node: Node,
    /// The edge from which the run starts.
    pub edge: Rc<Edge>,
    /// The positions of the additions whose union the edge is.
    pub additions: Range<usize>,
    /// The run used additions about callees only up to this stamp.
    pub stamp: u32,
}

/// What a relation and a term count as [work](Budget::spend).
const WORK_OF_A_RELATION: u64 = 200;
const WORK_OF_A_TERM: u64 = 5;

/// A relation that was added to a table.
pub struct Addition {
    /// The stamp; later additions have greater stamps.
    pub stamp: u32,
    /// The relation.
    pub edge: Rc<Edge>,
    /// The same relation as a diagram, unless that was too large.
    projected: Option<Projected>,
    /// How it was derived.
    pub origin: Origin,
}

/// All relations at one place.
#[derive(Default)]
pub struct Table {
    /// The additions in the order of their stamps.
    pub additions: Vec<Addition>,
    /// The union of all projected additions.
    union: Option<Projected>,
    /// The additions that are not part of the union.
    parametric: Vec<Rc<Edge>>,
    /// For each addition, the edges whose union is everything up to this addition.
    known: Vec<Vec<Rc<Edge>>>,
}

impl Table {
    /// Edges whose union is everything that was added.
    #[must_use]
    pub fn known(&self) -> &[Rc<Edge>] {
        self.known.last().map_or(&[], Vec::as_slice)
    }

    /// Edges whose union is everything that was added up to a stamp.
    #[must_use]
    pub fn known_at(&self, stamp: u32) -> &[Rc<Edge>] {
        let count = self.additions.partition_point(|addition| addition.stamp <= stamp);
        count.checked_sub(1).map_or(&[], |last| self.known[last].as_slice())
    }
}

/// The tables, and the terms, diagrams and solvers that they need.
pub struct Tables<'a> {
    /// The program's blocks.
    pub blocks: &'a Blocks<'a>,
    /// The arena of all terms except those of blocks.
    pub arena: TermArena,
    /// The variables of edges.
    pub names: Names,
    /// The budget of the engine.
    pub budget: &'a Budget,
    /// Nothing if all edges stay in parametric form.
    diagrams: Option<Diagrams>,
    inclusion: Inclusion,
    places: FxHashMap<Key, Table>,
    empty: Table,
    clock: u32,
    /// The number of edges that were too large to be projected.
    pub copies: u64,
    /// The number of terms when work was last counted.
    counted_terms: usize,
    /// The number of edges for which the inclusion check could not tell whether they contain anything new.
    pub undecided: u64,
}

impl<'a> Tables<'a> {
    /// Empty tables. If `projects` is false, if the solver settings ask for parametric form, or if the system has no
    /// thread for diagrams, all edges stay in parametric form.
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
            diagrams: if projects && !budget.solvers().is_parametric() { Diagrams::new(width) } else { None },
            inclusion: budget.inclusion(CONFLICTS),
            places: FxHashMap::default(),
            empty: Table::default(),
            clock: 0,
            copies: 0,
            counted_terms: 0,
            undecided: 0,
        }
    }

    /// The table of a place; an empty one if nothing was added there.
    #[must_use]
    pub fn table(&self, key: Key) -> &Table {
        self.places.get(&key).unwrap_or(&self.empty)
    }

    /// Removes the table of a place.
    pub fn forget(&mut self, key: Key) {
        self.places.remove(&key);
    }

    /// The stamp of the last addition.
    #[must_use]
    pub fn stamp(&self) -> u32 {
        self.clock
    }

    /// The summary of a procedure for calls, made of the additions up to a stamp.
    #[must_use]
    pub fn callee_summary_at(&self, callee: ProcId, stamp: u32) -> CalleeSummary {
        let known = |place| self.table((callee, place)).known_at(stamp).to_vec();
        CalleeSummary::Relations {
            exits: known(Place::Node(Procedure::EXIT)),
            failures: known(Place::Failure),
        }
    }

    /// Runs the block at a cut, starting from the edge of `source`. For callees that `star` selects, nothing is
    /// assumed about the result of calls; the value says whether they may fail.
    pub fn run(&mut self, procedure: ProcId, source: &Source, star: impl Fn(ProcId) -> Option<bool>) -> Run {
        let block = self.blocks.block(procedure, source.node);
        let callees: Vec<(ProcId, CalleeSummary)> = block
            .calls
            .iter()
            .map(|call| match star(call.callee) {
                Some(may_fail) => (call.callee, CalleeSummary::Arbitrary { may_fail }),
                None => (call.callee, self.callee_summary_at(call.callee, source.stamp)),
            })
            .collect();
        let outcome = |callee: ProcId| {
            let known = callees.iter().find(|(id, _)| *id == callee);
            known.map_or(CalleeSummary::Arbitrary { may_fail: true }, |(_, outcome)| outcome.clone())
        };
        Run::new(self.blocks, &mut self.arena, &mut self.names, block, Rc::clone(&source.edge), outcome)
    }

    /// Adds a relation if it contains anything new. Returns whether it was added.
    ///
    /// # Errors
    /// The reason why this could not be decided.
    pub fn insert(&mut self, key: Key, edge: &Edge, origin: Origin) -> Result<bool, Reason> {
        if edge.guard == Term::FALSE {
            return Ok(false);
        }
        self.count_work();
        if let Some(reason) = self.budget.exhausted() {
            return Err(reason);
        }
        let diagrams = self.diagrams.as_mut();
        let projected = diagrams.and_then(|diagrams| diagrams.project(&mut self.arena, &self.names, edge));
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
                    Some(old) => {
                        let diagrams = self.diagrams.as_mut();
                        diagrams.and_then(|diagrams| diagrams.union(arena, names, old, new))
                    }
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

    /// Counts the terms that were made since the last time as work, and some for the relation at hand.
    fn count_work(&mut self) {
        let terms = self.arena.len();
        let fresh = terms.saturating_sub(std::mem::replace(&mut self.counted_terms, terms));
        // Inclusion checks look at all terms again.
        let work = self.diagrams.as_mut().map_or(0, Diagrams::take_work) + terms as u64;
        self.budget.spend(WORK_OF_A_RELATION + WORK_OF_A_TERM * fresh as u64 + work);
    }

    /// Whether an edge contains nothing new; `None` if that could not be decided.
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

    /// Whether every path of an edge reaches some cut twice in the same state. The path is only followed back to
    /// where the last projected relation begins, because a projection loses the path.
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

    /// The additions from a position on, merged into few edges, each with the positions that it covers.
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
                    let diagrams = self.diagrams.as_mut();
                    let union =
                        diagrams.and_then(|diagrams| diagrams.union(&mut self.arena, &self.names, &old, new));
                    if let Some(union) = union {
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

    /// How many inclusion questions each layer answered.
    #[must_use]
    pub fn inclusion(&self) -> cusp_solvers::inclusion::InclusionStatistics {
        self.inclusion.statistics()
    }
}

/// The condition under which an edge relates these values.
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
