//! Reachability for recursive programs by path edges and summary edges, as decision diagrams.
//!
//! Implements: T. Ball, S. K. Rajamani, "Bebop: A Symbolic Model Checker for Boolean Programs", SPIN 2000. Each
//! program counter has one diagram over the values at the entry of its procedure and the current values.
//!
//! Theorem used: a state of a procedure is reachable iff some path edge from a reachable entry leads to it. Calls
//! are stepped over by the summaries of the callee, which are its path edges at the exit, restricted to its
//! interface. Stacks are never explored, so recursion needs no special treatment.
//!
//! Evidence: [`crate::evidence::Certificate::Relations`] at the entry, the exit and the loop heads of all procedures,
//! or a shared call tree.
//!
//! Deviation: the order of work is that of [`super::priority`]. Only the new states at a program counter are
//! propagated. A call always enters the callee and is always recorded, and every summary of the callee is applied
//! to it, both those that exist and those that are found later.
//!
//! Invariant (layers): every version of the growing set at a program counter is kept, with the step that made it
//! grow and a time. The states that a step adds at time `t` come from states, and for a call from summaries, that
//! existed before `t`. So a walk back along the layers ends at the start: see [`super::walk_back`].

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use super::Counters;
use super::calls::{ProcedureEnds, Site};
use super::diagrams::{Diagram, DiagramResult};
use super::priority::Priority;
use super::steps::{Space, Transition};
use crate::evidence::trace::Violation;
use crate::model::{Action, EdgeId, Node, ProcId, Procedure, Property};

/// A time stamp; different layers have different times.
pub(super) type Time = u32;

/// The step that made a set grow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// The program starts here.
    Start,
    /// A call from this procedure along this edge.
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

/// The set as it was before a time.
pub(super) fn before(layers: &[Layer], time: Time) -> Option<&Diagram> {
    let count = layers.partition_point(|layer| layer.time < time);
    Some(&layers[count.checked_sub(1)?].all)
}

/// The states that a search has found at a program counter.
#[derive(Default)]
struct NodeStates {
    layers: Vec<Layer>,
    /// The origin of each layer.
    origins: Vec<Origin>,
    /// The states that were not propagated yet.
    frontier: Option<Diagram>,
    is_forbidden: bool,
}

/// A control-flow edge as operations on diagrams.
pub(super) enum EdgeRelation {
    Step(Transition),
    Call(Site),
}

/// Where a search found a violation; at least one of these states is a violation.
pub(super) struct Found {
    pub procedure: ProcId,
    pub node: Node,
    pub states: Diagram,
    pub violation: Violation,
}

/// A search: the growing sets of states and summaries.
pub(super) struct Search<'a> {
    pub space: &'a Space<'a>,
    counters: &'a Counters,
    priority: Priority,
    places: Vec<Vec<NodeStates>>,
    /// The layers of the summaries, over the variables that summaries have at calls.
    summaries: Vec<Vec<Layer>>,
    gates: Vec<Option<Rc<ProcedureEnds>>>,
    code: Vec<Vec<Option<Rc<EdgeRelation>>>>,
    /// For every procedure, the call edges to it that control has reached.
    callers: Vec<BTreeSet<(ProcId, EdgeId)>>,
    waiting: BTreeSet<u32>,
    time: Time,
    found: Option<Found>,
}

impl<'a> Search<'a> {
    pub fn new(space: &'a Space<'a>, counters: &'a Counters) -> Self {
        let program = &space.frames.task.program;
        let place = |procedure: &Procedure| (0..procedure.nodes).map(|_| NodeStates::default()).collect();
        let mut places: Vec<Vec<NodeStates>> = program.procedures.iter().map(place).collect();
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

    /// Searches until a violation is found or there are no new states.
    pub fn saturate(&mut self) -> DiagramResult<Option<Found>> {
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

    /// The origin of a layer of a program counter.
    pub fn origin(&self, procedure: ProcId, node: Node, layer: usize) -> Origin {
        self.places[procedure.index()][node.index()].origins[layer]
    }

    /// The layers of a procedure's summary.
    pub fn summary(&self, procedure: ProcId) -> &[Layer] {
        &self.summaries[procedure.index()]
    }

    /// All states found at a program counter; `None` if there are none.
    pub fn reached(&self, procedure: ProcId, node: Node) -> Option<&Diagram> {
        self.layers(procedure, node).last().map(|layer| &layer.all)
    }

    fn gate(&mut self, procedure: ProcId) -> DiagramResult<Rc<ProcedureEnds>> {
        if let Some(gate) = &self.gates[procedure.index()] {
            return Ok(Rc::clone(gate));
        }
        let gate = Rc::new(ProcedureEnds::of(self.space, procedure)?);
        self.gates[procedure.index()] = Some(Rc::clone(&gate));
        Ok(gate)
    }

    /// The operations of an edge that control has reached; the edge does not end the thread.
    pub fn code(&mut self, procedure: ProcId, edge: EdgeId) -> DiagramResult<Rc<EdgeRelation>> {
        if let Some(code) = &self.code[procedure.index()][edge.index()] {
            return Ok(Rc::clone(code));
        }
        let taken = self.space.frames.procedure(procedure).edge(edge);
        let code = Rc::new(match &taken.action {
            Action::Call(call) => {
                self.callers[call.callee.index()].insert((procedure, edge));
                EdgeRelation::Call(Site::of(self.space, procedure, taken, call)?)
            }
            _ => EdgeRelation::Step(Transition::of(self.space, procedure, taken)?),
        });
        self.code[procedure.index()][edge.index()] = Some(Rc::clone(&code));
        Ok(code)
    }

    /// Adds states to a program counter.
    fn add(&mut self, procedure: ProcId, node: Node, states: &Diagram, origin: Origin) -> DiagramResult<()> {
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

    /// Propagates the new states of a program counter.
    fn expand(&mut self, procedure: ProcId, node: Node) -> DiagramResult<()> {
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
                EdgeRelation::Step(transition) => {
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
                EdgeRelation::Call(site) => {
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

    /// Adds new exit states of a procedure to its summary, and applies the new part at its callers.
    fn leave(&mut self, procedure: ProcId, exits: &Diagram) -> DiagramResult<()> {
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
            let (EdgeRelation::Call(site), Some(reached)) = (&*code, self.reached(caller, edge.from)) else {
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
