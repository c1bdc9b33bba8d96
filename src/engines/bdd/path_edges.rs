//! Reachability for recursive programs by path edges and summary edges, as decision diagrams.
//!
//! Implements: T. Ball, S. K. Rajamani, "Bebop: A Symbolic Model Checker for Boolean Programs", SPIN 2000. Each
//! program counter has one diagram over the values at the entry of its procedure and the current ones.
//!
//! Theorem used: a state of a procedure is reachable iff some path edge from a reachable entry leads to it; calls
//! are stepped over by the summaries of the callee, which are its path edges at the exit, seen through
//! its interface. Stacks are never explored, so recursion does no harm.
//!
//! Evidence: [`crate::evidence::Certificate::Relations`] at the entry, the exit and the loop heads of all procedures,
//! or a shared call tree.
//!
//! Deviation: the order of work is that of [`super::priority`]. Only what is new at a program counter is
//! propagated. At a call the callee is always entered, the caller is always remembered, and every summary is applied to
//! it, the ones that are there and the ones to come.
//!
//! Invariant (layers): the sets at a program counter are kept as they grew, each with the step that made it grow and
//! with a time. What a step at time `t` adds comes from states, and for a call from summaries, that
//! were there before `t`. So a walk back along the layers ends at the start: see [`super::walk_back`].

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use super::Counters;
use super::calls::{Gate, Site};
use super::diagrams::{Diagram, Outcome};
use super::priority::Priority;
use super::steps::{Space, Transition};
use crate::evidence::trace::Violation;
use crate::model::{Action, EdgeId, Node, ProcId, Procedure, Property};

/// A point in time; times of different layers differ.
pub(super) type Time = u32;

/// What made a set grow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// The program begins here.
    Start,
    /// A procedure calls this one.
    Call(ProcId, EdgeId),
    /// A step of the procedure itself, or a return into it.
    Step(EdgeId),
}

/// A set after it grew.
pub(super) struct Layer {
    pub time: Time,
    /// The whole set, with what was there before.
    pub all: Diagram,
}

/// The set before a time.
pub(super) fn before(layers: &[Layer], time: Time) -> Option<&Diagram> {
    let count = layers.partition_point(|layer| layer.time < time);
    Some(&layers[count.checked_sub(1)?].all)
}

/// What a search knows of a program counter.
#[derive(Default)]
struct Place {
    layers: Vec<Layer>,
    /// What made each layer grow.
    origins: Vec<Origin>,
    /// The part that was not propagated yet.
    frontier: Option<Diagram>,
    is_forbidden: bool,
}

/// An edge as it works on diagrams.
pub(super) enum Code {
    Step(Transition),
    Call(Site),
}

/// Where a search found a violation: some of these states.
pub(super) struct Found {
    pub procedure: ProcId,
    pub node: Node,
    pub states: Diagram,
    pub violation: Violation,
}

/// The growing sets.
pub(super) struct Search<'a> {
    pub space: &'a Space<'a>,
    counters: &'a Counters,
    priority: Priority,
    places: Vec<Vec<Place>>,
    /// Summaries under the names they have at calls, as they grew.
    summaries: Vec<Vec<Layer>>,
    gates: Vec<Option<Rc<Gate>>>,
    code: Vec<Vec<Option<Rc<Code>>>>,
    /// For every procedure the call edges that control has come to.
    callers: Vec<BTreeSet<(ProcId, EdgeId)>>,
    waiting: BTreeSet<u32>,
    time: Time,
    found: Option<Found>,
}

impl<'a> Search<'a> {
    pub fn new(space: &'a Space<'a>, counters: &'a Counters) -> Self {
        let program = &space.frames.task.program;
        let place = |procedure: &Procedure| (0..procedure.nodes).map(|_| Place::default()).collect();
        let mut places: Vec<Vec<Place>> = program.procedures.iter().map(place).collect();
        if let Property::LabelUnreachable(label) = &space.frames.task.property {
            for (places, procedure) in places.iter_mut().zip(&program.procedures) {
                procedure.nodes_labelled(label).for_each(|node| places[node.index()].is_forbidden = true);
            }
        }
        let count = program.procedures.len();
        Self {
            space,
            counters,
            priority: Priority::of(program),
            places,
            summaries: (0..count).map(|_| Vec::new()).collect(),
            gates: vec![None; count],
            code: program.procedures.iter().map(|procedure| vec![None; procedure.edges.len()]).collect(),
            callers: vec![BTreeSet::new(); count],
            waiting: BTreeSet::new(),
            time: 0,
            found: None,
        }
    }

    /// Runs until a violation is found or nothing is new.
    pub fn saturate(&mut self) -> Outcome<Option<Found>> {
        let start = self.space.frames.task.program.start;
        let entry = self.gate(start)?.entry.clone();
        self.add(start, Procedure::ENTRY, &entry, Origin::Start)?;
        while self.found.is_none() {
            let Some(rank) = self.waiting.pop_first() else { break };
            self.space.diagrams.poll()?;
            self.counters.steps.fetch_add(1, Ordering::Relaxed);
            self.counters.nodes.store(self.space.diagrams.nodes() as u64, Ordering::Relaxed);
            let (procedure, node) = self.priority.at(rank);
            self.expand(ProcId::from_index(procedure), Node::from_index(node))?;
        }
        Ok(self.found.take())
    }

    /// The layers of a program counter.
    pub fn layers(&self, procedure: ProcId, node: Node) -> &[Layer] {
        &self.places[procedure.index()][node.index()].layers
    }

    /// What made a layer of a program counter grow.
    pub fn origin(&self, procedure: ProcId, node: Node, layer: usize) -> Origin {
        self.places[procedure.index()][node.index()].origins[layer]
    }

    /// The layers of a procedure's summary.
    pub fn summary(&self, procedure: ProcId) -> &[Layer] {
        &self.summaries[procedure.index()]
    }

    /// All states of a program counter, if there is one.
    pub fn reached(&self, procedure: ProcId, node: Node) -> Option<&Diagram> {
        self.layers(procedure, node).last().map(|layer| &layer.all)
    }

    fn gate(&mut self, procedure: ProcId) -> Outcome<Rc<Gate>> {
        if let Some(gate) = &self.gates[procedure.index()] {
            return Ok(Rc::clone(gate));
        }
        let gate = Rc::new(Gate::of(self.space, procedure)?);
        self.gates[procedure.index()] = Some(Rc::clone(&gate));
        Ok(gate)
    }

    /// An edge that control has come to, other than the end of the thread.
    pub fn code(&mut self, procedure: ProcId, edge: EdgeId) -> Outcome<Rc<Code>> {
        if let Some(code) = &self.code[procedure.index()][edge.index()] {
            return Ok(Rc::clone(code));
        }
        let taken = self.space.frames.procedure(procedure).edge(edge);
        let code = Rc::new(match &taken.action {
            Action::Call(call) => {
                self.callers[call.callee.index()].insert((procedure, edge));
                Code::Call(Site::of(self.space, procedure, taken, call)?)
            }
            _ => Code::Step(Transition::of(self.space, procedure, taken)?),
        });
        self.code[procedure.index()][edge.index()] = Some(Rc::clone(&code));
        Ok(code)
    }

    /// Adds states to a program counter.
    fn add(&mut self, procedure: ProcId, node: Node, states: &Diagram, origin: Origin) -> Outcome<()> {
        let diagrams = &self.space.diagrams;
        let place = &mut self.places[procedure.index()][node.index()];
        let (new, all) = match place.layers.last() {
            None => (states.clone(), states.clone()),
            Some(last) => (diagrams.minus(states, &last.all)?, diagrams.or(states, &last.all)?),
        };
        if diagrams.is_empty(&new) {
            return Ok(());
        }
        self.time += 1;
        place.layers.push(Layer { time: self.time, all });
        place.origins.push(origin);
        place.frontier = Some(match place.frontier.take() {
            None => new.clone(),
            Some(frontier) => diagrams.or(&frontier, &new)?,
        });
        if place.is_forbidden {
            self.found = Some(Found { procedure, node, states: new, violation: Violation::Label });
        }
        self.waiting.insert(self.priority.rank(procedure.index(), node.index()));
        Ok(())
    }

    /// Goes on from what is new at a program counter.
    fn expand(&mut self, procedure: ProcId, node: Node) -> Outcome<()> {
        let Some(frontier) = self.places[procedure.index()][node.index()].frontier.take() else {
            return Ok(());
        };
        if node == Procedure::EXIT {
            return self.leave(procedure, &frontier);
        }
        let space = self.space;
        for (id, edge) in space.frames.procedure(procedure).edges_from(node) {
            if matches!(edge.action, Action::EndThread) {
                continue;
            }
            match &*self.code(procedure, id)? {
                Code::Step(transition) => {
                    if let Some(can_fail) = &transition.can_fail
                        && space.frames.task.property == Property::Assertions
                    {
                        let states = space.diagrams.and(&frontier, can_fail)?;
                        if !space.diagrams.is_empty(&states) {
                            let violation = Violation::Assertion(id);
                            self.found = Some(Found { procedure, node, states, violation });
                            return Ok(());
                        }
                    }
                    let image = transition.image(&frontier, &space.diagrams)?;
                    self.add(procedure, edge.to, &image, Origin::Step(id))?;
                }
                Code::Call(site) => {
                    let inputs = site.enter(&frontier, &space.diagrams)?;
                    let gate = self.gate(site.callee)?;
                    let entry = space.diagrams.and(&inputs, &gate.entry)?;
                    self.add(site.callee, Procedure::ENTRY, &entry, Origin::Call(procedure, id))?;
                    if let Some(summary) = self.summaries[site.callee.index()].last() {
                        let image = site.image(&frontier, &summary.all, &space.diagrams)?;
                        self.add(procedure, edge.to, &image, Origin::Step(id))?;
                    }
                }
            }
            if self.found.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Hands what is new at the exit of a procedure to its callers.
    fn leave(&mut self, procedure: ProcId, exits: &Diagram) -> Outcome<()> {
        let space = self.space;
        if !space.frames.of_procedure(procedure).is_called {
            return Ok(());
        }
        let diagrams = &space.diagrams;
        let part = self.gate(procedure)?.summary(exits, diagrams)?;
        let layers = &mut self.summaries[procedure.index()];
        let (new, all) = match layers.last() {
            None => (part.clone(), part),
            Some(last) => (diagrams.minus(&part, &last.all)?, diagrams.or(&part, &last.all)?),
        };
        if diagrams.is_empty(&new) {
            return Ok(());
        }
        self.time += 1;
        layers.push(Layer { time: self.time, all });
        self.counters.summaries.fetch_add(1, Ordering::Relaxed);
        let callers: Vec<(ProcId, EdgeId)> = self.callers[procedure.index()].iter().copied().collect();
        for (caller, id) in callers {
            let edge = space.frames.procedure(caller).edge(id);
            let code = self.code(caller, id)?;
            let (Code::Call(site), Some(reached)) = (&*code, self.reached(caller, edge.from)) else {
                continue;
            };
            let image = site.image(reached, &new, diagrams)?;
            self.add(caller, edge.to, &image, Origin::Step(id))?;
            if self.found.is_some() {
                break;
            }
        }
        Ok(())
    }
}
