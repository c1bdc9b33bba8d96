//! From a violation back to the start: which thread made which steps.
//!
//! States are followed backwards from layer to layer, by decision diagrams. The path of each large step is found by a question
//! to a SAT solver about a single block with fixed values before and after it. What comes out is a [`Schedule`].

use std::collections::BTreeMap;

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, TermArena, VarId};
use cusp_solvers::{Answer, Limits};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::bdd::diagrams::{Diagram, DiagramResult, Stop, Variable, pick};
use super::control::{Control, Origin};
use super::search::{Found, Search, Source};
use crate::budget::Budget;
use crate::evidence::trace::Violation;
use crate::reason::Reason;
use crate::threads::StepId;
use crate::threads::formula::{Block, Instance};
use crate::threads::schedule::Schedule;

/// The values of all variables that matter in one state.
type Values = BTreeMap<Variable, bool>;

/// One large step of the run.
struct Passed {
    source: Source,
    before: Values,
    after: Values,
    /// For every slot afterwards, from where its thread comes.
    origins: Vec<Origin>,
}

/// The violation that a path ends with, and whether the thread violates the property that was just started.
type Violated = Option<(Violation, bool)>;

/// The schedule of a run to a violation.
pub(super) fn schedule(search: &mut Search<'_>, found: &Found, budget: &Budget) -> DiagramResult<Schedule> {
    let mut control = search.controls[search.layers[found.layer as usize].control as usize].clone();
    let last = some_values(search, &control, &found.states)?;
    let (last_control, mut values, mut layer) = (control.clone(), last.clone(), found.layer);
    let mut passed: Vec<Passed> = Vec::new();
    while !search.layers[layer as usize].sources.is_empty() {
        let step = step_before(search, layer, &control, &values)?;
        layer = step.source.layer;
        control = search.controls[search.layers[layer as usize].control as usize].clone();
        values.clone_from(&step.before);
        passed.push(step);
    }
    let mut schedule = Schedule { steps: Vec::new(), thread: 0, violation: Violation::Label };
    // The threads in the slots, numbered in the order of their creation.
    let (mut threads, mut created) = (vec![0_u32], 1_u32);
    for step in passed.iter().rev() {
        let layer = &search.layers[step.source.layer as usize];
        let control = search.controls[layer.control as usize].clone();
        let (path, _) = path(search, &control, step.source.slot, &step.before, Some(step), budget)?;
        let mover = threads[step.source.slot as usize];
        let moves = path.iter().map(|&id| (mover, search.blocks.system.step(id).action));
        schedule.steps.extend(moves);
        let thread = |origin: &Origin| match *origin {
            Origin::Slot(slot) => threads[slot as usize],
            Origin::Mover => mover,
            Origin::Created => created,
        };
        threads = step.origins.iter().map(thread).collect();
        created += u32::from(step.origins.contains(&Origin::Created));
    }
    let (path, violated) = path(search, &last_control, found.slot, &last, None, budget)?;
    let Some((violation, by_created)) = violated else { return Err(lost("the violation")) };
    let mover = threads[found.slot as usize];
    schedule.steps.extend(path.iter().map(|&id| (mover, search.blocks.system.step(id).action)));
    schedule.thread = if by_created { created } else { mover };
    schedule.violation = violation;
    Ok(schedule)
}

/// The search is wrong; the run cannot be shown.
fn lost(what: &str) -> Stop {
    Stop::Budget(Reason::GaveUp(format!("the counter engine cannot find {what} again")))
}

/// The variables for the values of a control state.
fn variables(search: &Search<'_>, control: &Control) -> Vec<Variable> {
    let globals = search.levels.globals().map(|(_, variable)| variable);
    let threads = (0..).zip(&control.0).flat_map(|(slot, key)| {
        let live = search.blocks.system.live(key.location).iter();
        live.map(move |position| search.levels.value(slot, position as u32))
    });
    globals.chain(threads).collect()
}

fn some_values(search: &Search<'_>, control: &Control, states: &Diagram) -> DiagramResult<Values> {
    let picked = pick(states).ok_or_else(|| lost("a state"))?;
    Ok(variables(search, control).into_iter().map(|variable| (variable, picked.value(variable))).collect())
}

/// A large step from an earlier layer to a state.
fn step_before(
    search: &mut Search<'_>,
    layer: u32,
    control: &Control,
    after: &Values,
) -> DiagramResult<Passed> {
    for source in search.layers[layer as usize].sources.clone() {
        let earlier = &search.layers[source.layer as usize];
        let (before, states) = (search.controls[earlier.control as usize].clone(), earlier.states.clone());
        let at_bound = search.is_at_bound(&before);
        let moves = search.relations.moves(&before, source.slot, at_bound)?;
        let a_move = &moves.moves[source.step as usize];
        let successor = before.after(source.slot, a_move.to, a_move.creates);
        // The set of states was closed under permutations: the thread that moved may be in any slot of its group.
        let slots = |origin: Origin| match successor.slot_of(origin) {
            Some(slot) => control.group(slot).map(Some).collect(),
            None => vec![None],
        };
        for mover in slots(Origin::Mover) {
            for created in slots(Origin::Created).into_iter().filter(|slot| slot.is_none() || *slot != mover)
            {
                let mut origins = successor.origins.clone();
                for (origin, slot) in [(Origin::Mover, mover), (Origin::Created, created)] {
                    let old = origins.iter().position(|other| *other == origin);
                    if let (Some(old), Some(new)) = (old, slot) {
                        origins.swap(old, new as usize);
                    }
                }
                let mut facts: Values =
                    a_move.globals.iter().map(|(before, now)| (*now, after[before])).collect();
                for (slot, &origin) in (0..).zip(&origins) {
                    for (position, now) in search.places(&before, a_move, origin) {
                        facts.insert(now, after[&search.levels.value(slot, position)]);
                    }
                }
                let facts = search.diagrams.facts(facts)?;
                let found = a_move.relation.before(search.diagrams, &states, &facts)?;
                if !search.diagrams.is_empty(&found) {
                    let before = some_values(search, &before, &found)?;
                    return Ok(Passed { source, before, after: after.clone(), origins });
                }
            }
        }
    }
    Err(lost("a step"))
}

/// The path of a large step between two states, or to a violation.
fn path(
    search: &Search<'_>,
    control: &Control,
    slot: u32,
    before: &Values,
    step: Option<&Passed>,
    budget: &Budget,
) -> DiagramResult<(Vec<StepId>, Violated)> {
    let key = control.0[slot as usize];
    let block = search.blocks.block(key.location);
    let mut inputs: FxHashMap<VarId, Term> = FxHashMap::default();
    for (global, variable) in search.levels.globals() {
        let var = block.inputs.shared[global as usize];
        inputs.extend(var.map(|var| (var, Term::constant(before[&variable]))));
    }
    for &(position, var) in &block.inputs.values {
        inputs.insert(var, Term::constant(before[&search.levels.value(slot, position)]));
    }
    inputs.insert(block.inputs.holds, Term::constant(key.holds));
    inputs.insert(block.inputs.at_bound, Term::constant(search.is_at_bound(control)));
    let mut arena = TermArena::new();
    let image =
        |arena: &mut TermArena, var: VarId| inputs.get(&var).copied().unwrap_or_else(|| arena.fresh());
    let instance = search.blocks.instantiate(block, &mut arena, image);
    let condition = match step {
        None => instance.term(block.fails),
        Some(step) => leads_to(search, &mut arena, block, &instance, control, step)?,
    };
    let is_true = solve(&arena, condition, budget)?.ok_or_else(|| lost("a path"))?;
    let value = |term: Term| arena.evaluate(instance.term(term), |var| is_true.contains(&var.number()));
    Ok(search.blocks.path(block, value))
}

/// The condition that a large step leads to the given state.
fn leads_to(
    search: &Search<'_>,
    arena: &mut TermArena,
    block: &Block,
    instance: &Instance,
    control: &Control,
    Passed { source, after, origins, .. }: &Passed,
) -> DiagramResult<Term> {
    let moves = search.relations.known(control, source.slot, search.is_at_bound(control));
    let moves = moves.ok_or_else(|| lost("a large step"))?;
    let a_move = &moves.moves[source.step as usize];
    let end = &block.ends[a_move.end];
    let holds = instance.term(end.holds).complement_if(!a_move.to.is_some_and(|key| key.holds));
    let mut condition = arena.and(instance.term(end.guard), holds);
    let mut demand = |term: Term, value: bool| {
        condition = arena.and(condition, instance.term(term).complement_if(!value));
    };
    for (global, variable) in search.levels.globals() {
        demand(end.shared[global as usize], after[&variable]);
    }
    for (slot, origin) in (0..).zip(origins) {
        let terms = match origin {
            Origin::Mover => &end.values,
            Origin::Created => &end.created,
            Origin::Slot(_) => continue,
        };
        for &(position, term) in terms {
            demand(term, after[&search.levels.value(slot, position)]);
        }
    }
    Ok(condition)
}

/// The variables that are true in some values that satisfy a condition.
fn solve(arena: &TermArena, condition: Term, budget: &Budget) -> DiagramResult<Option<FxHashSet<u32>>> {
    let mut solver = budget.sat_solver();
    let mut encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
    let goal = encoder.encode(arena, condition, Polarity::Positive, &mut *solver);
    match solver.solve(&[goal], &Limits::NONE) {
        Answer::Unsat => Ok(None),
        Answer::Unknown(why) => {
            let reason = budget.exhausted().unwrap_or_else(|| Reason::GaveUp(why.to_string()));
            Err(Stop::Budget(reason))
        }
        Answer::Sat => {
            let vars = arena.support(&[condition]).into_iter();
            let is_true = |var: &VarId| encoder.var_literal(arena, *var).is_some_and(|lit| solver.value(lit));
            Ok(Some(vars.filter(is_true).map(VarId::number).collect()))
        }
    }
}
