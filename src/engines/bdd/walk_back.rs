//! Follows the layers of the search from a violation back to the start.
//!
//! A *point* is one path edge: a program counter with values for the variables of the relations there. It first
//! appeared in some layer. The step that made this layer says where a predecessor of the point is: among the states
//! that were there before the time of the layer. A call is stepped over with one pair of inputs and outputs of the
//! callee. The run of the callee is a separate outline that depends only on the callee and this pair, so it is
//! built once however often the callee is called.
//!
//! Termination: times decrease along a walk. They also decrease from a call to the outline of the callee, since
//! that outline begins at the first layer of the summary that contains the pair. There is no recursion: outlines to
//! build wait in a list.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::calls::Site;
use super::diagrams::{Diagram, DiagramResult, Fact, Pick, Variable, contains, pick};
use super::path_edges::{EdgeRelation, Found, Layer, Origin, Search, Time, before};
use super::steps::Transition;
use crate::model::{EdgeId, Node, ProcId, Procedure, Var};

define_id!(
    /// Identifies the outline of a run that returns.
    OutlineId, "o"
);

/// Values of some variables of the diagrams.
pub(super) type Facts = BTreeMap<Variable, bool>;

/// One path edge.
struct Point {
    procedure: ProcId,
    node: Node,
    facts: Facts,
}

/// A step of an outline.
pub(super) struct OutlineStep {
    pub edge: EdgeId,
    /// The assigned variables whose new values matter, sorted.
    pub values: Vec<(Var, bool)>,
    /// For a call, the outline of the callee's run.
    pub call: Option<OutlineId>,
}

/// A run of a procedure, without the values that do not matter.
pub(super) struct Outline {
    pub procedure: ProcId,
    /// Values at the entry.
    pub entry: Facts,
    pub steps: Vec<OutlineStep>,
}

/// A run to a violation, as outlines.
pub(super) struct OutlinedRun {
    /// The activations that do not return, innermost first, each with the call edge that entered it.
    pub levels: Vec<(Outline, Option<EdgeId>)>,
    /// The outlines of calls that return.
    pub outlines: Vec<Outline>,
}

/// Builds the run to a violation, backwards.
pub(super) fn walk_back(search: &mut Search<'_>, found: &Found) -> DiagramResult<OutlinedRun> {
    let mut walker = Walker { search, ids: FxHashMap::default(), keys: Vec::new() };
    let mut levels = Vec::new();
    let mut point = walker.pick_point(found.procedure, found.node, &found.states, &Facts::new())?;
    loop {
        let (outline, entered) = walker.outline(point)?;
        let Some((caller, edge, time)) = entered else {
            levels.push((outline, None));
            break;
        };
        point = walker.before_entry(&outline, caller, edge, time)?;
        levels.push((outline, Some(edge)));
    }
    let mut outlines = Vec::new();
    while outlines.len() < walker.keys.len() {
        let exit = walker.exit_of(outlines.len())?;
        outlines.push(walker.outline(exit)?.0);
    }
    Ok(OutlinedRun { levels, outlines })
}

/// The caller that entered a procedure, the call edge, and the time.
type Entered = (ProcId, EdgeId, Time);

/// A callee, with values for its inputs and outputs in the order of its interface.
type CallKey = (ProcId, Vec<bool>);

struct Walker<'s, 'a> {
    search: &'s mut Search<'a>,
    ids: FxHashMap<CallKey, OutlineId>,
    keys: Vec<CallKey>,
}

impl Walker<'_, '_> {
    /// Values that satisfy all parts. Each part comes with facts that fix some of its variables.
    fn solve(&self, parts: &[(&Diagram, &Facts)]) -> DiagramResult<Pick> {
        let diagrams = &self.search.space.diagrams;
        let mut all = diagrams.truth();
        for (part, facts) in parts {
            let rest = diagrams.restrict(part, &diagrams.facts(pairs(facts))?)?;
            all = diagrams.and(&all, &rest)?;
        }
        Ok(pick(&all).expect("every layer comes from an earlier one"))
    }

    /// A point of a set that agrees with these facts.
    fn pick_point(
        &self,
        procedure: ProcId,
        node: Node,
        states: &Diagram,
        facts: &Facts,
    ) -> DiagramResult<Point> {
        let pick = self.solve(&[(states, facts)])?;
        Ok(self.point(procedure, node, facts, &pick))
    }

    fn point(&self, procedure: ProcId, node: Node, facts: &Facts, pick: &Pick) -> Point {
        let value = |var: Variable| (var, facts.get(&var).copied().unwrap_or_else(|| pick.value(var)));
        let facts = self.search.space.frames.support(procedure, node).map(value).collect();
        Point { procedure, node, facts }
    }

    fn reached_before(&self, procedure: ProcId, node: Node, time: Time) -> Diagram {
        let layers = self.search.layers(procedure, node);
        before(layers, time).cloned().unwrap_or_else(|| self.search.space.diagrams.falsity())
    }

    /// The outline of the run that leads to a point, and the call that entered the procedure.
    fn outline(&mut self, mut point: Point) -> DiagramResult<(Outline, Option<Entered>)> {
        let mut steps = Vec::new();
        let entered = loop {
            let layers = self.search.layers(point.procedure, point.node);
            let first = first_layer(layers, &point.facts);
            let time = layers[first].time;
            match self.search.origin(point.procedure, point.node, first) {
                Origin::Start => break None,
                Origin::Call(caller, edge) => break Some((caller, edge, time)),
                Origin::Step(edge) => {
                    let code = self.search.code(point.procedure, edge)?;
                    let (earlier, taken) = match &*code {
                        EdgeRelation::Step(transition) => self.over_step(&point, time, edge, transition)?,
                        EdgeRelation::Call(site) => self.over_call(&point, time, edge, site)?,
                    };
                    steps.push(taken);
                    point = earlier;
                }
            }
        };
        steps.reverse();
        Ok((Outline { procedure: point.procedure, entry: point.facts, steps }, entered))
    }

    /// The facts of a point about variables that a step does not assign.
    fn kept(&self, point: &Point, is_assigned: impl Fn(Var) -> bool) -> Facts {
        let frames = &self.search.space.frames;
        let mut kept = point.facts.clone();
        for var in frames.known(point.procedure, point.node).filter(|&var| is_assigned(var)) {
            kept.remove(&frames.order.now(point.procedure, var));
        }
        kept
    }

    fn over_step(
        &self,
        point: &Point,
        time: Time,
        edge: EdgeId,
        transition: &Transition,
    ) -> DiagramResult<(Point, OutlineStep)> {
        let frames = &self.search.space.frames;
        let procedure = point.procedure;
        let from = frames.procedure(procedure).edge(edge).from;
        let assigned = &transition.assigned;
        let kept = self.kept(point, |var| transition.assigns(var));
        let mut between = kept.clone();
        for target in assigned.iter().filter(|target| target.has_next) {
            if let Some(&value) = point.facts.get(&frames.order.now(procedure, target.var)) {
                between.insert(frames.order.next(procedure, target.var), value);
            }
        }
        let reached = self.reached_before(procedure, from, time);
        let parts = [(&reached, &kept), (&transition.before, &between), (&transition.after, &point.facts)];
        let pick = self.solve(&parts)?;
        let value_of = |var: Var, has_next: bool| {
            let known = point.facts.get(&frames.order.now(procedure, var)).copied();
            known.or_else(|| has_next.then(|| pick.value(frames.order.next(procedure, var))))
        };
        let values = assigned.iter().filter_map(|a| Some((a.var, value_of(a.var, a.has_next)?))).collect();
        Ok((self.point(procedure, from, &kept, &pick), OutlineStep { edge, values, call: None }))
    }

    fn over_call(
        &mut self,
        point: &Point,
        time: Time,
        edge: EdgeId,
        site: &Site,
    ) -> DiagramResult<(Point, OutlineStep)> {
        let frames = &self.search.space.frames;
        let procedure = point.procedure;
        let from = frames.procedure(procedure).edge(edge).from;
        let kept = self.kept(point, |var| site.assigns(var));
        let mut between = kept.clone();
        for (now, next) in &site.returned {
            between.extend(point.facts.get(now).map(|&value| (*next, value)));
        }
        let reached = self.reached_before(procedure, from, time);
        let summary = before(self.search.summary(site.callee), time).cloned();
        let summary = summary.unwrap_or_else(|| self.search.space.diagrams.falsity());
        let pick = self.solve(&[(&reached, &kept), (&site.args, &kept), (&summary, &between)])?;
        let value = |var: Variable| between.get(&var).copied().unwrap_or_else(|| pick.value(var));
        let interface =
            frames.interface(site.callee).into_iter().map(|(_, outside)| value(outside)).collect();
        let earlier = self.point(procedure, from, &kept, &pick);
        let call = Some(self.outline_id((site.callee, interface)));
        Ok((earlier, OutlineStep { edge, values: Vec::new(), call }))
    }

    fn outline_id(&mut self, key: CallKey) -> OutlineId {
        *self.ids.entry(key).or_insert_with_key(|key| {
            self.keys.push(key.clone());
            OutlineId::from_index(self.keys.len() - 1)
        })
    }

    /// A point at the exit of a callee with the requested inputs and outputs.
    fn exit_of(&self, outline: usize) -> DiagramResult<Point> {
        let (callee, values) = &self.keys[outline];
        let interface = self.search.space.frames.interface(*callee);
        let outside: Facts = interface.iter().map(|pair| pair.1).zip(values.iter().copied()).collect();
        let inside: Facts = interface.iter().map(|pair| pair.0).zip(values.iter().copied()).collect();
        let layers = self.search.summary(*callee);
        let time = layers[first_layer(layers, &outside)].time;
        // The layer was made from the exit states that existed at that time.
        let exits = self.reached_before(*callee, Procedure::EXIT, time);
        self.pick_point(*callee, Procedure::EXIT, &exits, &inside)
    }

    /// The caller's point at the call that entered a procedure with the entry of this outline.
    fn before_entry(
        &mut self,
        outline: &Outline,
        caller: ProcId,
        edge: EdgeId,
        time: Time,
    ) -> DiagramResult<Point> {
        let code = self.search.code(caller, edge)?;
        let EdgeRelation::Call(site) = &*Rc::clone(&code) else {
            unreachable!("procedures are entered by calls");
        };
        let frames = &self.search.space.frames;
        let from = frames.procedure(caller).edge(edge).from;
        let (mut globals, mut passed) = (Facts::new(), Facts::new());
        for input in &frames.of_procedure(outline.procedure).inputs {
            let now = frames.order.now(outline.procedure, input.var);
            let value = outline.entry[&now];
            match input.var {
                Var::Global(_) => globals.insert(now, value),
                Var::Local(_) => passed.insert(frames.order.next(outline.procedure, input.var), value),
            };
        }
        passed.extend(&globals);
        let reached = self.reached_before(caller, from, time);
        let pick = self.solve(&[(&reached, &globals), (&site.args, &passed)])?;
        Ok(self.point(caller, from, &globals, &pick))
    }
}

/// The index of the first layer that contains a point with these facts.
fn first_layer(layers: &[Layer], facts: &Facts) -> usize {
    layers.partition_point(|layer| !contains(&layer.all, pairs(facts)))
}

fn pairs(facts: &Facts) -> impl Iterator<Item = Fact> + '_ {
    facts.iter().map(|(&variable, &value)| (variable, value))
}
