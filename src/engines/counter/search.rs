//! The search: which control states can be reached, and with which values.
//!
//! Invariant (symmetry): the sets of values of a control state are closed under permutations of the threads of each group. A
//! step of one thread keeps the symmetry of all others, so it is enough to take steps of one thread of each group, and to
//! close under exchanging the threads that are new in a group with each of its members.

use std::collections::VecDeque;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::super::bdd::diagrams::{Diagram, DiagramResult, Diagrams, Renaming, Stop, Variable};
use super::Counters;
use super::control::{Control, Key, Origin, Successor};
use super::levels::Levels;
use super::moves::{Move, Relations};
use super::relation::{Demands, Relation, Terms};
use crate::model::Var;
use crate::symbolic::expression::term_of;
use crate::threads::formula::Blocks;

/// Some states were found by this large step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// The number of the layer with the states before.
    pub layer: u32,
    /// The slot of the thread that moves.
    pub slot: u32,
    /// The large step, by its position in [`super::moves::Moves::moves`].
    pub step: u32,
}

/// New states of one control state that are followed together.
pub(super) struct Layer {
    /// The number of the control state.
    pub control: u32,
    pub states: Diagram,
    /// Where the states come from. All sources are earlier layers.
    pub sources: Vec<Source>,
}

/// A violation: a thread of some states can violate the property in its next large step.
pub(super) struct Found {
    pub layer: u32,
    pub slot: u32,
    pub states: Diagram,
}

/// The growing sets of states.
pub(super) struct Search<'a> {
    pub blocks: &'a Blocks<'a>,
    pub diagrams: &'a Diagrams,
    pub levels: &'a Levels,
    pub relations: Relations<'a>,
    pub controls: IndexSet<Control, FxBuildHasher>,
    /// All states of every control state.
    pub known: Vec<Diagram>,
    pub layers: Vec<Layer>,
    /// The states of every control state that were not followed yet, with their sources.
    open: Vec<Option<(Diagram, Vec<Source>)>>,
    queue: VecDeque<u32>,
    renamings: FxHashMap<Vec<(Variable, Variable)>, Option<Renaming>>,
    counters: &'a Counters,
}

/// Why a search did not come to its end.
pub(super) enum Ended {
    /// As for all searches with diagrams.
    Stopped(Stop),
    /// A control state has more threads than there are slots.
    MoreThreads,
}

impl From<Stop> for Ended {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

impl<'a> Search<'a> {
    pub fn new(
        blocks: &'a Blocks<'a>,
        diagrams: &'a Diagrams,
        levels: &'a Levels,
        counters: &'a Counters,
    ) -> Self {
        Self {
            blocks,
            diagrams,
            levels,
            relations: Relations::new(blocks, diagrams, levels),
            controls: IndexSet::default(),
            known: Vec::new(),
            layers: Vec::new(),
            open: Vec::new(),
            queue: VecDeque::new(),
            renamings: FxHashMap::default(),
            counters,
        }
    }

    /// Whether no more threads can be started in a control state.
    pub fn is_at_bound(&self, control: &Control) -> bool {
        self.blocks.system.task.threads.is_some_and(|bound| control.0.len() >= bound as usize)
    }

    /// Follows all steps until nothing new is found, or a violation.
    pub fn saturate(&mut self) -> Result<Option<Found>, Ended> {
        let start = Control(vec![Key { location: self.blocks.system.start, holds: false }]);
        let states = self.initial()?;
        self.add(start, &states, None)?;
        while let Some(number) = self.queue.pop_front() {
            self.diagrams.poll()?;
            let Some((states, sources)) = self.open[number as usize].take() else { continue };
            self.counters.update(self);
            self.layers.push(Layer { control: number, states, sources });
            if let Some(found) = self.follow(self.layers.len() as u32 - 1)? {
                return Ok(Some(found));
            }
        }
        self.counters.update(self);
        Ok(None)
    }

    /// The states in which the first thread can begin: arbitrary values that satisfy `enforce`.
    fn initial(&self) -> DiagramResult<Diagram> {
        let system = self.blocks.system;
        let Some(condition) = system.procedure(system.start).enforce else {
            return Ok(self.diagrams.truth());
        };
        let base = system.context(system.start).base;
        let mut terms = Terms::default();
        let exprs = &system.program().exprs;
        let reads: Vec<Var> = exprs.reads(condition).map(|place| place.var).collect();
        let variables: FxHashMap<Var, _> = reads
            .into_iter()
            .map(|var| {
                let variable = match var {
                    Var::Global(global) => self.levels.global(global),
                    Var::Local(local) => self.levels.value(0, base + local),
                };
                (var, terms.variable(variable))
            })
            .collect();
        let condition = term_of(&mut terms.arena, exprs.ops(condition), |place| variables[&place.var]);
        let demands = Demands { conditions: vec![condition], ..Demands::default() };
        let relation = Relation::new(self.diagrams, self.levels, &terms, &demands)?;
        relation.image(self.diagrams, &self.diagrams.truth())
    }

    /// Takes all large steps from the states of a layer.
    fn follow(&mut self, number: u32) -> Result<Option<Found>, Ended> {
        let Layer { control, states, .. } = &self.layers[number as usize];
        let (control, states) = (self.controls[*control as usize].clone(), states.clone());
        let at_bound = self.is_at_bound(&control);
        for slot in control.movers() {
            let moves = self.relations.moves(&control, slot, at_bound)?;
            if let Some(fails) = &moves.fails {
                let image = fails.image(self.diagrams, &states)?;
                if !self.diagrams.is_empty(&image) {
                    return Ok(Some(Found { layer: number, slot, states: image }));
                }
            }
            for (step, a_move) in (0..).zip(&moves.moves) {
                let image = a_move.relation.image(self.diagrams, &states)?;
                self.counters.count_image();
                if self.diagrams.is_empty(&image) {
                    continue;
                }
                let successor = control.after(slot, a_move.to, a_move.creates);
                if successor.control.0.len() > self.levels.slots as usize {
                    return Err(Ended::MoreThreads);
                }
                let image = self.arrange(&image, &control, &successor, a_move)?;
                let image = self.close(image, &successor)?;
                self.add(successor.control, &image, Some(Source { layer: number, slot, step }))?;
            }
        }
        Ok(None)
    }

    /// Adds states of a control state.
    fn add(&mut self, control: Control, states: &Diagram, source: Option<Source>) -> DiagramResult<()> {
        if self.diagrams.is_empty(states) {
            return Ok(());
        }
        let (number, is_new) = self.controls.insert_full(control);
        if is_new {
            self.known.push(self.diagrams.falsity());
            self.open.push(None);
        }
        let new = self.diagrams.minus(states, &self.known[number])?;
        if self.diagrams.is_empty(&new) {
            return Ok(());
        }
        self.known[number] = self.diagrams.or(&self.known[number], &new)?;
        if let Some((waiting, sources)) = &mut self.open[number] {
            *waiting = self.diagrams.or(waiting, &new)?;
            sources.extend(source);
        } else {
            self.open[number] = Some((new, source.into_iter().collect()));
            self.queue.push_back(number as u32);
        }
        Ok(())
    }

    /// Renames variables, all at once.
    fn rename(&mut self, set: &Diagram, pairs: Vec<(Variable, Variable)>) -> DiagramResult<Diagram> {
        let diagrams = self.diagrams;
        let renaming = self.renamings.entry(pairs).or_insert_with_key(|pairs| diagrams.renaming(pairs));
        diagrams.rename(set, renaming.as_ref())
    }

    /// Moves the values after a step to the variables for the values before the next one.
    fn arrange(
        &mut self,
        image: &Diagram,
        before: &Control,
        successor: &Successor,
        a_move: &Move,
    ) -> DiagramResult<Diagram> {
        let mut pairs: Vec<(Variable, Variable)> = Vec::new();
        pairs.extend(a_move.globals.iter().map(|&(before, now)| (now, before)));
        for (slot, &origin) in (0..).zip(&successor.origins) {
            for (position, now) in self.places(before, a_move, origin) {
                pairs.push((now, self.levels.value(slot, position)));
            }
        }
        pairs.retain(|(from, to)| from != to);
        self.rename(image, pairs)
    }

    /// The variables that contain the values of a thread after a step, before they are renamed.
    pub fn places(&self, before: &Control, a_move: &Move, origin: Origin) -> Vec<(u32, Variable)> {
        match (origin, &a_move.others) {
            (Origin::Mover, _) => a_move.values.clone(),
            (Origin::Created, _) => a_move.created.clone(),
            (Origin::Slot(slot), Some(others)) => others[slot as usize].clone(),
            (Origin::Slot(slot), None) => {
                let live = self.blocks.system.live(before.0[slot as usize].location);
                live.iter()
                    .map(|position| (position as u32, self.levels.value(slot, position as u32)))
                    .collect()
            }
        }
    }

    /// Closes a set under permutations of the threads of each group, if it is closed under those of all threads but the
    /// ones that moved or were started.
    fn close(&mut self, mut set: Diagram, successor: &Successor) -> DiagramResult<Diagram> {
        let newcomers = [Origin::Mover, Origin::Created].map(|origin| successor.slot_of(origin));
        for (i, newcomer) in newcomers.iter().enumerate() {
            let Some(newcomer) = *newcomer else { continue };
            let later = &newcomers[i + 1..];
            let group = successor.control.group(newcomer).filter(|&slot| !later.contains(&Some(slot)));
            let location = successor.control.0[newcomer as usize].location;
            let live: Vec<u32> =
                self.blocks.system.live(location).iter().map(|position| position as u32).collect();
            if live.is_empty() {
                continue;
            }
            let (left, right): (Vec<u32>, Vec<u32>) =
                group.filter(|&slot| slot != newcomer).partition(|&slot| slot < newcomer);
            let original = set.clone();
            for side in [left.into_iter().rev().collect(), right] {
                // The newcomer changes places with one neighbour after the other.
                let (mut at, mut moved) = (newcomer, original.clone());
                for neighbour in side {
                    let (a, b) = (at, neighbour);
                    let pair = |&position: &u32| {
                        let (a, b) = (self.levels.value(a, position), self.levels.value(b, position));
                        [(a, b), (b, a)]
                    };
                    let pairs = live.iter().flat_map(pair).collect();
                    let exchanged = self.rename(&moved, pairs)?;
                    if exchanged == moved {
                        break;
                    }
                    moved = exchanged;
                    set = self.diagrams.or(&set, &moved)?;
                    at = neighbour;
                }
            }
        }
        Ok(set)
    }
}
