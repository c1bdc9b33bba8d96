//! Block formulas against brute force: what a formula allows is what executing the code step by step gives.

mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use cusp::check::{Options, prepare};
use cusp::evidence::trace::Violation;
use cusp::model::eval::eval;
use cusp::model::{Action, Edge, EdgeId, Expr, Node, Place, ProcId, Procedure, Property, Task, Var};
use cusp::source::Source;
use cusp::symbolic::block::{Block, Blocks};
use cusp::symbolic::scope::Scopes;
use cusp::symbolic::template::{Role, Template};
use cusp::symbolic::walk::{End, Goal, Truth, run};
use support::{for_each_seed, sequential};

/// Something that a run through a block comes to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A cut, with the values that matter there.
    Arrival(Node, Vec<(usize, bool)>),
    /// A call, with the globals and arguments that are passed.
    Call(EdgeId, Vec<bool>),
    /// A violation: a label, or an assertion.
    Violation(Node, Option<EdgeId>),
}

fn task_of(text: &str) -> Result<Task, String> {
    match prepare(&Source::new("random.bp", text), &Options::default()) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(format!("{findings:?}")),
    }
}

/// The slots and the block that are compared.
struct Comparison<'a> {
    blocks: &'a Blocks<'a>,
    scopes: &'a Scopes,
    id: ProcId,
}

impl Comparison<'_> {
    fn procedure(&self) -> &Procedure {
        self.blocks.task.program.procedure(self.id)
    }

    fn slot(&self, var: Var) -> usize {
        self.scopes.scope(self.id).slot(var).expect("a slot")
    }

    fn arrival(&self, node: Node, value: impl Fn(usize) -> bool) -> Event {
        Event::Arrival(node, self.scopes.live_slots(self.id, node).map(|slot| (slot, value(slot))).collect())
    }

    /// The values that some choice gives an expression.
    fn values(&self, expr: Expr, read: impl Fn(Place) -> bool) -> Vec<bool> {
        let values = eval(self.blocks.task.program.exprs.ops(expr), |place| Ok::<_, ()>(read(place)));
        let values = values.expect("everything has a value");
        [(false, values.can_fail), (true, values.can_hold)]
            .into_iter()
            .filter(|it| it.1)
            .map(|it| it.0)
            .collect()
    }

    fn own_values(&self, expr: Expr, state: &[bool]) -> Vec<bool> {
        self.values(expr, |place| state[self.slot(place.var)])
    }

    fn is_enforced(&self, state: &[bool]) -> bool {
        self.procedure().enforce.is_none_or(|condition| self.own_values(condition, state).contains(&true))
    }

    /// Everything that executing the code comes to.
    fn executed(&self, start: Node, first: &[bool]) -> BTreeSet<Event> {
        let mut events = BTreeSet::new();
        let mut seen: BTreeSet<(Node, Vec<bool>)> = BTreeSet::new();
        let mut open = vec![(start, first.to_vec())];
        if start == Procedure::ENTRY && !self.is_enforced(first) {
            open.clear();
        }
        let mut is_first = true;
        while let Some((node, state)) = open.pop() {
            let began = std::mem::replace(&mut is_first, false);
            let is_target = self.blocks.is_target(self.id, node);
            if is_target && (began || !self.blocks.cuts(self.id).is_head(node)) {
                events.insert(Event::Violation(node, None));
                continue;
            }
            if !began && self.blocks.cuts(self.id).is_cut(node) {
                events.insert(self.arrival(node, |slot| state[slot]));
                continue;
            }
            if seen.insert((node, state.clone())) {
                for (id, edge) in self.procedure().edges_from(node) {
                    for after in self.take(id, edge, &state, &mut events) {
                        let changed = after != state;
                        if !changed || self.is_enforced(&after) {
                            open.push((edge.to, after));
                        }
                    }
                }
            }
        }
        events
    }

    fn take(&self, id: EdgeId, edge: &Edge, state: &[bool], events: &mut BTreeSet<Event>) -> Vec<Vec<bool>> {
        match &edge.action {
            Action::Assume(condition) => {
                if self.own_values(*condition, state).contains(&true) {
                    vec![state.to_vec()]
                } else {
                    vec![]
                }
            }
            Action::Assert(condition) => {
                let values = self.own_values(*condition, state);
                if values.contains(&false) && self.blocks.task.property == Property::Assertions {
                    events.insert(Event::Violation(edge.from, Some(id)));
                }
                if values.contains(&true) { vec![state.to_vec()] } else { vec![] }
            }
            Action::EndThread => vec![],
            Action::Assign(assign) => {
                let mut results = vec![state.to_vec()];
                for &(target, value) in &assign.pairs {
                    let values = self.own_values(value, state);
                    let slot = self.slot(target.var);
                    results = vary(&results, |result| {
                        values.iter().map(|&value| with(result, slot, value)).collect()
                    });
                }
                let holds = |after: &[bool], condition: Expr| {
                    let read = |place: Place| {
                        let state = if place.primed { after } else { state };
                        state[self.slot(place.var)]
                    };
                    self.values(condition, read).contains(&true)
                };
                results.retain(|after| assign.constrain.iter().all(|&condition| holds(after, condition)));
                results
            }
            Action::Call(call) => {
                let callee = self.scopes.scope(call.callee);
                let globals = callee.globals().iter().map(|&global| state[self.slot(Var::Global(global))]);
                let mut passed = vec![globals.collect::<Vec<bool>>()];
                for &argument in &call.args {
                    let values = self.own_values(argument, state);
                    passed = vary(&passed, |passed| {
                        values.iter().map(|&value| [passed.clone(), vec![value]].concat()).collect()
                    });
                }
                events.extend(passed.into_iter().map(|passed| self.call(id, passed)));
                // It returns with anything; a return value that goes to a global comes last.
                let first_return = self.blocks.task.program.procedure(call.callee).first_return();
                let mut changed: Vec<usize> = Vec::new();
                for &slot in callee.exit_slots() {
                    match callee.var(slot as usize) {
                        Var::Global(global) => changed.push(self.slot(Var::Global(global))),
                        Var::Local(local) => {
                            let target = call.targets.get((local - first_return) as usize).copied().flatten();
                            changed.extend(target.map(|target| self.slot(target)));
                        }
                    }
                }
                let mut results = vec![state.to_vec()];
                for slot in changed {
                    results =
                        vary(&results, |result| [false, true].map(|value| with(result, slot, value)).into());
                }
                results
            }
            _ => vec![state.to_vec()],
        }
    }

    /// A call with these values; those of globals that do not matter at the call are arbitrary, so they count as
    /// false.
    fn call(&self, edge: EdgeId, mut passed: Vec<bool>) -> Event {
        let edge_of = self.blocks.task.program.procedure(self.id).edge(edge);
        let Action::Call(call) = &edge_of.action else { panic!("a call") };
        for (value, &global) in passed.iter_mut().zip(self.scopes.scope(call.callee).globals()) {
            *value &= self.scopes.is_live(self.id, edge_of.from, self.slot(Var::Global(global)));
        }
        Event::Call(edge, passed)
    }

    /// Everything that the formula allows with these inputs.
    fn allowed(&self, template: &Template, inputs: &[bool]) -> BTreeSet<Event> {
        let block = &template.block;
        let own = own_variables(template);
        let mut events = BTreeSet::new();
        for bits in 0_u32..1 << own {
            let truth = Truth::of(self.blocks, block, |var| match template.role(var) {
                Role::Input(position) => inputs[template.inputs[position as usize] as usize],
                _ => bits >> template.own(var) & 1 == 1,
            });
            let mut ends = 0;
            for arrival in block.arrivals.iter().filter(|arrival| truth.value(arrival.guard)) {
                ends += 1;
                events.insert(self.arrival(arrival.node, |slot| truth.value(arrival.values[slot])));
                self.check_walk(block, inputs, &truth, arrival.node);
            }
            for call in block.calls.iter().filter(|call| truth.value(call.guard)) {
                let passed = call.arguments.iter().map(|&argument| truth.value(argument)).collect();
                events.insert(self.call(call.edge, passed));
            }
            for failure in block.failures.iter().filter(|failure| truth.value(failure.guard)) {
                ends += 1;
                let edge = match failure.violation {
                    Violation::Assertion(edge) => Some(edge),
                    Violation::Label => None,
                };
                events.insert(Event::Violation(failure.node, edge));
                // A call on the way that fails ends the run before.
                let found = run(self.blocks, block, &truth, Goal::Failure).map(|(_, end)| end);
                let expected = matches!(found, Some(End::Violation(_) | End::Inside(_)));
                assert!(expected, "{found:?} instead of {failure:?}");
            }
            assert!(ends <= 1, "one assignment describes several runs");
        }
        events
    }

    /// The edges that are read off an assignment lead to the cut, and to the values there.
    fn check_walk(&self, block: &Block, inputs: &[bool], truth: &Truth, cut: Node) {
        let (steps, end) = run(self.blocks, block, truth, Goal::Cut(cut)).expect("a run");
        assert_eq!(end, End::Cut(cut));
        let mut at = block.start;
        let mut state = inputs.to_vec();
        for step in steps {
            let edge = self.procedure().edge(step.edge);
            assert_eq!(edge.from, at);
            at = edge.to;
            for (slot, value) in step.updates {
                state[slot as usize] = value;
            }
        }
        let arrival = block.arrivals.iter().find(|arrival| arrival.node == cut).expect("an arrival");
        for slot in self.scopes.live_slots(self.id, cut) {
            assert_eq!(state[slot], truth.value(arrival.values[slot]), "slot {slot}");
        }
    }
}

fn with(state: &[bool], slot: usize, value: bool) -> Vec<bool> {
    let mut state = state.to_vec();
    state[slot] = value;
    state
}

fn vary(states: &[Vec<bool>], change: impl Fn(&Vec<bool>) -> Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    states.iter().flat_map(change).collect()
}

/// How many variables of a block are no inputs.
fn own_variables(template: &Template) -> u32 {
    let calls = template.block.calls.iter().map(|call| 2 + call.results.len() as u32);
    template.choices + calls.sum::<u32>()
}

fn compare_all_blocks(task: &Task, compared: &mut u32) -> Result<(), String> {
    let scopes = Scopes::of(task);
    let blocks = Blocks::new(task, &scopes);
    for id in task.program.procedure_ids() {
        let comparison = Comparison { blocks: &blocks, scopes: &scopes, id };
        let heads = blocks.cuts(id).heads().filter(|&head| head != Procedure::ENTRY);
        for start in [Procedure::ENTRY].into_iter().chain(heads) {
            let template = Template::of(&blocks, id, start);
            if own_variables(&template) + template.inputs.len() as u32 > 13 {
                continue;
            }
            *compared += 1;
            for bits in 0_u32..1 << template.inputs.len() {
                // What does not matter is false: nobody reads it.
                let mut inputs = vec![false; scopes.scope(id).width()];
                for (position, &slot) in template.inputs.iter().enumerate() {
                    inputs[slot as usize] = bits >> position & 1 == 1;
                }
                // Whoever comes to a loop head satisfies `enforce`.
                if start != Procedure::ENTRY && !comparison.is_enforced(&inputs) {
                    continue;
                }
                let (executed, allowed) =
                    (comparison.executed(start, &inputs), comparison.allowed(&template, &inputs));
                if executed != allowed {
                    return Err(format!("{id} {start} {inputs:?}: {executed:?} is not {allowed:?}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_block_allows_what_executing_it_gives() {
    let compared = AtomicU32::new(0);
    let programs = AtomicU32::new(0);
    for_each_seed(250, sequential, |text| {
        let task = task_of(text)?;
        let mut labels: Vec<String> =
            task.program.procedures.iter().flat_map(|p| p.labels.iter().map(|it| it.0.clone())).collect();
        labels.sort();
        labels.dedup();
        let by_label = labels.into_iter().take(1).map(Property::LabelUnreachable);
        let mut count = 0;
        for property in [Property::Assertions].into_iter().chain(by_label) {
            compare_all_blocks(&Task { property, ..task.clone() }, &mut count)?;
        }
        compared.fetch_add(count, Ordering::Relaxed);
        programs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let (compared, programs) = (compared.into_inner(), programs.into_inner());
    assert!(compared > programs, "only {compared} blocks are small enough");
}
