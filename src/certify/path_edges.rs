//! Checks path edges as a proof about a sequential program.
//!
//! The set must satisfy four conditions. It contains every start state as an edge from itself. It is closed under
//! steps within a procedure. It contains the entry state of every call. For every call and every exit of the callee
//! whose entry state matches the call, it contains the state after the return. Then, by induction over runs, it
//! contains for every reachable state the pair of that state and the entry state of its frame. So if no pair violates
//! the property, no reachable state does.

use rustc_hash::FxHashMap;

use super::cover::Group;
use super::draft::{
    Draft, Effect, Fragment, Scope, falsifying, local_step, missing_successor, values_before,
};
use super::region::{Cell, ENTRY_WORD, NOW_WORD, Region};
use super::values::Answer;
use super::{Forbidden, Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::PathEdge;
use crate::model::cube::{Cube, bits, low_bits};
use crate::model::{Action, Call, Edge, Node, ProcId, Procedure, Program, Property, Task, Var};

type Pairs = Region<[u128; 2]>;

/// Checks that path edges are an inductive set without a violation.
pub(super) fn check(task: &Task, edges: &[PathEdge], budget: &Budget) -> Result<(), Stop> {
    let program = &task.program;
    if program.starts_threads {
        return reject("path edges prove nothing about a program that starts threads");
    }
    let mut groups: Vec<Vec<Group<[u128; 2]>>> = program
        .procedures
        .iter()
        .map(|procedure| (0..procedure.nodes).map(|_| Group::default()).collect())
        .collect();
    for (position, edge) in edges.iter().enumerate() {
        poll(budget)?;
        wellformed(program, edge).map_err(|stop| stop.at(format_args!("path edge {position}")))?;
        groups[edge.procedure.index()][edge.node.index()].insert(region(edge));
    }
    groups.iter_mut().flatten().for_each(Group::finish);
    let summaries = Summaries::new(program, edges);
    let mut checker = Checker { task, program, budget, forbidden: Forbidden::of(task), groups, summaries };
    checker.start()?;
    for (position, edge) in edges.iter().enumerate() {
        checker.edge(edge).map_err(|stop| stop.at(format_args!("path edge {position}")))?;
    }
    Ok(())
}

fn region(edge: &PathEdge) -> Pairs {
    Region {
        known: [edge.entry.known(), edge.now.known()],
        value: [edge.entry.value(), edge.now.value()],
        linked: edge.linked,
    }
}

/// Checks that an edge is well-formed, before anything else uses it.
fn wellformed(program: &Program, edge: &PathEdge) -> Result<(), Stop> {
    let Some(procedure) = program.procedures.get(edge.procedure.index()) else {
        return reject(format!("there is no procedure {}", edge.procedure));
    };
    if edge.node.index() >= procedure.nodes as usize {
        return reject(format!("`{}` has no node {}", procedure.name, edge.node));
    }
    let globals = program.globals.len();
    let scope = scope_mask(program, procedure)?;
    let interface = low_bits(globals + procedure.params as usize);
    if edge.now.known() & !scope != 0 {
        return reject(format!("it fixes a variable that `{}` does not have", procedure.name));
    }
    if (edge.entry.known() | edge.linked) & !interface != 0 {
        return reject(
            "it fixes or links the entry value of a variable that is neither global nor parameter",
        );
    }
    if edge.linked & (edge.entry.known() | edge.now.known()) != 0 {
        return reject("it links a variable that is fixed");
    }
    Ok(())
}

/// A mask of the variables that a procedure sees, which must fit into one word.
fn scope_mask(program: &Program, procedure: &Procedure) -> Result<u128, Stop> {
    let count = program.globals.len() + procedure.locals.len();
    if count > Cube::WIDTH {
        let name = &procedure.name;
        return reject(format!("`{name}` sees {count} variables, and path edges hold {}", Cube::WIDTH));
    }
    Ok(low_bits(count))
}

struct Checker<'a> {
    task: &'a Task,
    program: &'a Program,
    budget: &'a Budget,
    forbidden: Forbidden,
    /// The path edges by procedure and node.
    groups: Vec<Vec<Group<[u128; 2]>>>,
    summaries: Summaries,
}

impl Checker<'_> {
    fn group(&self, procedure: ProcId, node: Node) -> &Group<[u128; 2]> {
        &self.groups[procedure.index()][node.index()]
    }

    /// The cells that hold the current values of a procedure's variables.
    fn scope(&self) -> Scope {
        Scope { globals: NOW_WORD, locals: NOW_WORD, offset: self.program.globals.len() as u32 }
    }

    fn start(&self) -> Result<(), Stop> {
        let start = self.program.start;
        let procedure = self.program.procedure(start);
        scope_mask(self.program, procedure)?;
        let linked = low_bits(self.program.globals.len() + procedure.params as usize);
        let all = Region { known: [0; 2], value: [0; 2], linked };
        let enter = |fragment: &Fragment<_>| {
            let draft = Draft::unchanged(&fragment.before);
            self.arrive(draft, start, Procedure::ENTRY)
        };
        match missing_successor(all, enter, self.budget)? {
            None => Ok(()),
            Some(hole) => reject(format!("the start {} is not covered", show(&hole))),
        }
    }

    /// The effect of reaching a node with the states of a draft; only those that satisfy `enforce` count.
    fn arrive(
        &self,
        mut draft: Draft<[u128; 2]>,
        procedure: ProcId,
        node: Node,
    ) -> Result<Effect<'_, [u128; 2]>, Stop> {
        let enforce = self.program.procedure(procedure).enforce;
        if !draft.enforce(self.program, self.scope(), enforce)? {
            return Ok(Effect::Nothing);
        }
        Ok(Effect::Successor {
            group: Some(self.group(procedure, node)),
            region: draft.region,
            classes: Vec::new(),
            undecided: draft.undecided,
        })
    }

    fn edge(&mut self, path_edge: &PathEdge) -> Result<(), Stop> {
        let (id, node) = (path_edge.procedure, path_edge.node);
        let procedure = self.program.procedure(id);
        if self.forbidden.contains(id, node) {
            return reject(format!("the forbidden label is at {node} of `{}`", procedure.name));
        }
        let before = region(path_edge);
        for (edge_id, edge) in procedure.edges_from(node) {
            match &edge.action {
                Action::EndThread => continue,
                Action::Call(call) => self.call(id, edge, call, &before),
                Action::Assert(condition) if self.task.property == Property::Assertions => {
                    let failing =
                        falsifying(self.program, before.clone(), self.scope(), *condition, self.budget)?;
                    match failing {
                        Some(failing) => reject(format!("the assertion can fail with {}", show(&failing))),
                        None => self.step(id, edge, &before),
                    }
                }
                _ => self.step(id, edge, &before),
            }
            .map_err(|stop| stop.at(format_args!("{edge_id} of `{}`", procedure.name)))?;
        }
        Ok(())
    }

    /// Checks that the successors of a step within the procedure are covered.
    fn step(&self, procedure: ProcId, edge: &Edge, before: &Pairs) -> Result<(), Stop> {
        let step = |fragment: &Fragment<_>| match local_step(
            self.program,
            &edge.action,
            self.scope(),
            &[],
            fragment,
        )? {
            None => Ok(Effect::Nothing),
            Some(draft) => self.arrive(draft, procedure, edge.to),
        };
        match missing_successor(before.clone(), step, self.budget)? {
            None => Ok(()),
            Some(hole) => reject(format!("the successor {} at {} is not covered", show(&hole), edge.to)),
        }
    }

    fn call(&mut self, procedure: ProcId, edge: &Edge, call: &Call, before: &Pairs) -> Result<(), Stop> {
        let callee = &self.program.procedure(call.callee).name;
        let enter = |fragment: &Fragment<_>| self.enter(call, fragment);
        if let Some(hole) = missing_successor(before.clone(), enter, self.budget)? {
            return reject(format!("the entry {} of `{callee}` is not covered", show(&hole)));
        }
        let passed = self.passed(call, before)?;
        for summary in self.summaries.fitting(call.callee, passed) {
            let compose = |fragment: &Fragment<_>| self.compose(procedure, edge, call, &summary, fragment);
            if let Some(hole) = missing_successor(before.clone(), compose, self.budget)? {
                return reject(format!(
                    "the state {} at {} after a return from `{callee}` is not covered",
                    show(&hole),
                    edge.to
                ));
            }
        }
        Ok(())
    }

    /// The values of globals and parameters with which the callee is entered, as far as they are the same for all
    /// states before the call.
    fn passed(&self, call: &Call, before: &Pairs) -> Result<Cube, Stop> {
        let globals = self.program.globals.len();
        let mut passed = Cube::new(before.known[NOW_WORD], before.value[NOW_WORD]).keep(low_bits(globals));
        for (bit, &arg) in (globals as u32..).zip(&call.args) {
            let values = values_before(self.program, before, self.scope(), None, arg)?;
            if values.can_be_false == Answer::No {
                passed = passed.with(bit, true);
            } else if values.can_be_true == Answer::No {
                passed = passed.with(bit, false);
            }
        }
        Ok(passed)
    }

    /// The entry of a call. The entry values of globals and parameters are also their current values there.
    fn enter(&self, call: &Call, fragment: &Fragment<[u128; 2]>) -> Result<Effect<'_, [u128; 2]>, Stop> {
        let callee = self.program.procedure(call.callee);
        scope_mask(self.program, callee)?;
        let before = &fragment.before;
        let globals = low_bits(self.program.globals.len());
        let known = before.known[NOW_WORD] & globals;
        let value = before.value[NOW_WORD] & globals;
        let mut draft = Draft {
            region: Region { known: [known; 2], value: [value; 2], linked: globals & !known },
            fresh: [!globals; 2],
            undecided: None,
        };
        let scope = self.scope();
        let place = |local: usize| scope.cell(Var::Local(local as u32));
        for (position, &arg) in call.args.iter().enumerate() {
            let values = values_before(self.program, before, scope, None, arg)?;
            let now = place(position);
            if !draft.assign(fragment, now, values) {
                return Ok(Effect::Nothing);
            }
            match draft.region.get(now) {
                None => draft.region.linked |= now.mask(),
                value => draft.region.overwrite(Cell { word: ENTRY_WORD, ..now }, value),
            }
        }
        for local in call.args.len()..callee.locals.len() {
            draft.set(fragment, place(local), None);
        }
        self.arrive(draft, call.callee, Procedure::ENTRY)
    }

    /// The effect of a call whose callee returns with the given summary.
    fn compose(
        &self,
        procedure: ProcId,
        edge: &Edge,
        call: &Call,
        summary: &Summary,
        fragment: &Fragment<[u128; 2]>,
    ) -> Result<Effect<'_, [u128; 2]>, Stop> {
        let scope = self.scope();
        let globals = low_bits(self.program.globals.len());
        // The globals before the call are those at the callee's entry.
        let mut before = fragment.before.clone();
        let wanted = summary.entry.keep(globals);
        let common = before.known[NOW_WORD] & wanted.known();
        if (before.value[NOW_WORD] ^ wanted.value()) & common != 0 {
            return Ok(Effect::Nothing);
        }
        for bit in bits(wanted.known() & !common) {
            before.fix(Cell { word: NOW_WORD, bit }, wanted.value() >> bit & 1 == 1);
        }
        let mut draft = Draft::unchanged(&before);
        for (position, &arg) in call.args.iter().enumerate() {
            let Some(value) = summary.entry.get(scope.cell(Var::Local(position as u32)).bit) else {
                continue;
            };
            let values = values_before(self.program, &before, scope, None, arg)?;
            if !draft.require(values.can_be(value)) {
                return Ok(Effect::Nothing);
            }
        }
        for bit in bits(globals & !summary.linked) {
            draft.set(fragment, Cell { word: NOW_WORD, bit }, summary.now.get(bit));
        }
        let first_slot = self.program.procedure(call.callee).first_return();
        for (slot, target) in (first_slot..).zip(&call.targets) {
            if let Some(var) = *target {
                let returned = summary.now.get(scope.cell(Var::Local(slot)).bit);
                draft.set(fragment, scope.cell(var), returned);
            }
        }
        self.arrive(draft, procedure, edge.to)
    }
}

/// The part of a path edge at an exit that callers can observe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Summary {
    entry: Cube,
    /// The globals and return slots at the exit.
    now: Cube,
    /// The globals that still have the value they had at the entry.
    linked: u128,
}

/// All summaries, indexed by the values passed at the entry.
#[derive(Default)]
struct Summaries {
    /// The summaries of each procedure, by the variables that they fix at the entry.
    by_mask: Vec<Vec<(u128, Vec<Summary>)>>,
    /// An index that is built on demand. The key is a procedure, a position in its list above, and a subset of the
    /// mask there; the value maps the values of that subset to the summaries.
    projections: FxHashMap<(ProcId, usize, u128), FxHashMap<u128, Vec<Summary>>>,
}

impl Summaries {
    fn new(program: &Program, edges: &[PathEdge]) -> Self {
        let globals = program.globals.len();
        let mut lists: Vec<Vec<Summary>> = program.procedures.iter().map(|_| Vec::new()).collect();
        for edge in edges.iter().filter(|edge| edge.node == Procedure::EXIT) {
            let procedure = program.procedure(edge.procedure);
            let hidden = low_bits(globals + procedure.first_return() as usize) & !low_bits(globals);
            lists[edge.procedure.index()].push(Summary {
                entry: edge.entry,
                now: edge.now.keep(!hidden),
                linked: edge.linked & low_bits(globals),
            });
        }
        let by_mask = lists.into_iter().map(|mut list| {
            list.sort_unstable_by_key(|summary| (summary.entry.known(), *summary));
            list.dedup();
            let chunks = list.chunk_by(|a, b| a.entry.known() == b.entry.known());
            chunks.map(|chunk| (chunk[0].entry.known(), chunk.to_vec())).collect()
        });
        Self { by_mask: by_mask.collect(), projections: FxHashMap::default() }
    }

    /// The summaries whose entry states overlap the values that are passed.
    fn fitting(&mut self, callee: ProcId, passed: Cube) -> Vec<Summary> {
        let mut fitting = Vec::new();
        for (position, (mask, list)) in self.by_mask[callee.index()].iter().enumerate() {
            let common = mask & passed.known();
            let table = self.projections.entry((callee, position, common)).or_insert_with(|| {
                let mut table: FxHashMap<u128, Vec<Summary>> = FxHashMap::default();
                for summary in list {
                    table.entry(summary.entry.value() & common).or_default().push(*summary);
                }
                table
            });
            fitting.extend(table.get(&(passed.value() & common)).into_iter().flatten());
        }
        fitting
    }
}

fn show(region: &Pairs) -> String {
    let cube = |word: usize| Cube::new(region.known[word], region.value[word]);
    let links = bits(region.linked).map(|bit| bit.to_string()).collect::<Vec<_>>().join(" ");
    format!("(entry `{:?}`, now `{:?}`, linked `{links}`)", cube(ENTRY_WORD), cube(NOW_WORD))
}
