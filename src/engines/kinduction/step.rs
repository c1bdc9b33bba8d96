//! Block steps: from a location to the next ones, into calls and out of them.
//!
//! A block step is put together from *pieces*, copies of the blocks of single procedures: the one at the
//! location, one for each call on the way, and one behind each call of the call string that returns. The
//! outcome of a call is known when its piece is complete, and takes the place of the call's variables in
//! the caller's piece; so constants pass through calls. Calls may nest deeply, so pieces that wait for a call
//! are kept on a stack.
//!
//! Invariant (one run): with values for all variables, at most one guard of the states after a block step
//! holds, or a violation. So states that come to one location are merged by `ite`.

use std::collections::BTreeMap;
use std::rc::Rc;

use cusp_encodings::{Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::locations::{Context, Locations};
use crate::model::{Action, Call, Node, ProcId, Procedure, Var};
use crate::symbolic::block::{Blocks, Instance, OpenCall};
use crate::symbolic::template::{Role, Template};
use crate::symbolic::values::Values;

/// States at one location.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// When a run is there.
    pub guard: Term,
    /// By position, see [`super::locations`].
    pub values: Values,
}

/// The states at one time, by location.
pub(super) type Moment = BTreeMap<u32, State>;

/// The pieces of one block step, so that a model can be read: the first one is at the location.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces(Vec<Piece>);

#[derive(Clone, Copy, Debug)]
struct Piece {
    parent: u32,
    /// The call of the parent, or [`BEHIND`].
    site: u32,
    /// The first variable for a local that starts arbitrary.
    locals: u32,
    /// The first choice.
    choices: u32,
}

/// The site of a piece that goes on where its parent's activation has returned.
pub(super) const BEHIND: u32 = u32::MAX;

impl Pieces {
    /// The pieces by their parents and sites; the first one has neither.
    pub fn index(&self) -> FxHashMap<(u32, u32), u32> {
        let pieces = (0..).zip(&self.0).skip(1);
        pieces.map(|(number, piece)| ((piece.parent, piece.site), number)).collect()
    }

    /// The variable of a local that starts arbitrary, by its position among them.
    pub fn local(&self, piece: u32, position: u32) -> VarId {
        VarId::new(self.0[piece as usize].locals + position)
    }

    /// The variable of a choice, by its position in the block.
    pub fn choice(&self, piece: u32, position: u32) -> VarId {
        VarId::new(self.0[piece as usize].choices + position)
    }
}

/// Makes block steps.
pub(super) struct Stepper<'a> {
    pub blocks: &'a Blocks<'a>,
    pub locations: Locations,
    templates: Vec<Rc<Template>>,
    by_start: FxHashMap<(ProcId, Node), usize>,
}

/// A piece in the making.
struct Level {
    context: u32,
    template: Rc<Template>,
    piece: u32,
    first_choice: u32,
    /// The whole state at its beginning.
    state: State,
    instance: Instance,
    outcomes: Vec<Option<Outcome>>,
    /// The call that the level above is for.
    waiting: usize,
}

/// What a call does: when it returns, seen from its entry, and the results.
struct Outcome {
    returns: Term,
    results: Vec<Term>,
}

/// What a block step leads to.
struct Step<'b> {
    arena: &'b mut TermArena,
    next: &'b mut Moment,
    violation: Term,
    pieces: Pieces,
}

impl<'a> Stepper<'a> {
    pub fn new(blocks: &'a Blocks<'a>, locations: Locations) -> Self {
        Self { blocks, locations, templates: Vec::new(), by_start: FxHashMap::default() }
    }

    /// The block that begins at a node.
    pub fn template(&mut self, procedure: ProcId, start: Node) -> Rc<Template> {
        let next = self.templates.len();
        let number = *self.by_start.entry((procedure, start)).or_insert(next);
        if number == next {
            self.templates.push(Rc::new(Template::of(self.blocks, procedure, start)));
        }
        Rc::clone(&self.templates[number])
    }

    /// The position of a slot of the procedure that runs in a context.
    pub fn position(&self, context: &Context, slot: usize) -> usize {
        match self.blocks.scopes.scope(context.procedure).var(slot) {
            Var::Global(i) => i as usize,
            Var::Local(i) => context.base + i as usize,
        }
    }

    /// Whether a node is a loop head.
    pub fn is_head(&self, context: u32, node: Node) -> bool {
        self.blocks.cuts(self.locations.context(context).procedure).is_head(node)
    }

    /// All runs from a location to the next ones; when they violate the property, and how they were put
    /// together.
    pub fn step(
        &mut self,
        arena: &mut TermArena,
        location: u32,
        state: &State,
        next: &mut Moment,
    ) -> (Term, Pieces) {
        let (context, node) = self.locations.place(location);
        let mut step = Step { arena, next, violation: Term::FALSE, pieces: Pieces::default() };
        let first = self.level(&mut step, context, node, state.clone(), (0, 0, 0));
        let mut stack = vec![first];
        while let Some(mut level) = stack.pop() {
            if let Some(call) = self.advance(step.arena, &mut level) {
                self.call(&mut step, &mut stack, level, call);
            } else {
                self.finish(&mut step, &mut stack, &level);
            }
        }
        (step.violation, step.pieces)
    }

    fn level(
        &mut self,
        step: &mut Step<'_>,
        context: u32,
        start: Node,
        state: State,
        (parent, site, locals): (u32, u32, u32),
    ) -> Level {
        let template = self.template(self.locations.context(context).procedure, start);
        let choices = fresh(step.arena, template.choices);
        let piece = step.pieces.0.len() as u32;
        step.pieces.0.push(Piece { parent, site, locals, choices });
        Level {
            context,
            piece,
            state,
            first_choice: choices,
            instance: Instance::begin(&template.block),
            outcomes: template.block.calls.iter().map(|_| None).collect(),
            waiting: 0,
            template,
        }
    }

    /// Goes on with a piece to the next call whose outcome is needed.
    fn advance(&self, arena: &mut TermArena, level: &mut Level) -> Option<usize> {
        let Level { template, state, first_choice, instance, outcomes, .. } = level;
        let context = self.locations.context(level.context);
        let wanted =
            self.blocks.advance(&template.block, instance, arena, |arena, var| match template.role(var) {
                Role::Input(position) => {
                    let slot = template.inputs[position as usize] as usize;
                    Some(state.values.get(self.position(context, slot)))
                }
                Role::Choice(position) => Some(arena.var(VarId::new(*first_choice + position))),
                // A violation in the callee is noted when its piece is complete.
                Role::Fails(_) => Some(Term::FALSE),
                Role::Returns(call) => outcomes[call as usize].as_ref().map(|outcome| outcome.returns),
                Role::Result(call, result) => {
                    outcomes[call as usize].as_ref().map(|outcome| outcome.results[result as usize])
                }
            });
        wanted.map(|var| match template.role(var) {
            Role::Returns(call) | Role::Result(call, _) => call as usize,
            _ => unreachable!("only the outcomes of calls are not known"),
        })
    }

    /// Goes into a call of a piece.
    fn call(&mut self, step: &mut Step<'_>, stack: &mut Vec<Level>, mut level: Level, number: usize) {
        let template = Rc::clone(&level.template);
        let call = &template.block.calls[number];
        let guard = level.instance.term(call.guard);
        let guard = step.arena.and(level.state.guard, guard);
        let callee = self.locations.callee(level.context, call.edge);
        let Some(callee) = callee.filter(|_| guard != Term::FALSE) else {
            level.outcomes[number] = Some(Outcome::never(call));
            stack.push(level);
            return;
        };
        // The state at the call, then the arguments, then locals that start arbitrary.
        let context = self.locations.context(level.context);
        let mut values = level.state.values.to_vec(context.end);
        for slot in 0..template.block.inputs.len() {
            values[self.position(context, slot)] = level.instance.term(call.value(slot));
        }
        let procedure = self.blocks.task.program.procedure(call.callee);
        let passed = self.blocks.scopes.scope(call.callee).globals().len()..call.arguments.len();
        values.extend(call.arguments[passed].iter().map(|&argument| level.instance.term(argument)));
        let locals = procedure.locals.len() as u32 - procedure.params;
        let first_local = fresh(step.arena, locals);
        values.extend((0..locals).map(|i| step.arena.var(VarId::new(first_local + i))));
        let state = State { guard, values: Values::new(&values) };
        if self.is_head(callee, Procedure::ENTRY) {
            // The run goes on there in the next block step.
            let (parent, site) = (level.piece, number as u32);
            step.pieces.0.push(Piece { parent, site, locals: first_local, choices: 0 });
            self.arrive(step, callee, Procedure::ENTRY, state);
            level.outcomes[number] = Some(Outcome::never(call));
            stack.push(level);
            return;
        }
        level.waiting = number;
        let origin = (level.piece, number as u32, first_local);
        stack.push(level);
        let above = self.level(step, callee, Procedure::ENTRY, state, origin);
        stack.push(above);
    }

    /// A piece is complete: notes violations and arrivals, and goes on where its procedure returns.
    fn finish(&mut self, step: &mut Step<'_>, stack: &mut Vec<Level>, level: &Level) {
        let Level { context, template, state, instance, .. } = level;
        let block = &template.block;
        for failure in &block.failures {
            let violation = instance.term(failure.guard);
            let violation = step.arena.and(state.guard, violation);
            step.violation = step.arena.or(step.violation, violation);
        }
        let mut exit = None;
        for arrival in &block.arrivals {
            let returns = instance.term(arrival.guard);
            let guard = step.arena.and(state.guard, returns);
            if guard == Term::FALSE {
                continue;
            }
            let mut values = state.values.clone();
            let running = self.locations.context(*context);
            for (slot, &value) in arrival.values.iter().enumerate() {
                values.set(self.position(running, slot), instance.term(value));
            }
            if arrival.node == Procedure::EXIT {
                exit = Some((returns, State { guard, values }));
            } else {
                self.arrive(step, *context, arrival.node, State { guard, values });
            }
        }
        if let Some(caller) = stack.last_mut() {
            let call = &caller.template.block.calls[caller.waiting];
            let outcome = match exit {
                None => Outcome::never(call),
                Some((returns, state)) => {
                    let running = self.locations.context(*context);
                    let slots = self.blocks.scopes.scope(running.procedure).exit_slots();
                    let value = |&slot: &u32| state.values.get(self.position(running, slot as usize));
                    Outcome { returns, results: slots.iter().map(value).collect() }
                }
            };
            caller.outcomes[caller.waiting] = Some(outcome);
        } else if let Some((_, state)) = exit {
            stack.extend(self.return_from(step, *context, state, level.piece));
        }
    }

    /// A procedure on the call string returns: goes on behind the call.
    fn return_from(
        &mut self,
        step: &mut Step<'_>,
        mut context: u32,
        mut state: State,
        piece: u32,
    ) -> Option<Level> {
        loop {
            let callee = *self.locations.context(context);
            let (number, edge) = callee.caller?;
            let caller = *self.locations.context(number);
            let edge = self.blocks.task.program.procedure(caller.procedure).edge(edge);
            let Action::Call(call) = &edge.action else { unreachable!("contexts are entered by calls") };
            let first_return = self.blocks.task.program.procedure(callee.procedure).first_return() as usize;
            let mut values = state.values.to_vec(callee.end);
            for (i, target) in call.targets.iter().enumerate() {
                let position = match *target {
                    None => continue,
                    Some(Var::Global(global)) => global as usize,
                    Some(Var::Local(local)) => caller.base + local as usize,
                };
                values[position] = values[callee.base + first_return + i];
            }
            values.truncate(caller.end);
            state.values = Values::new(&values);
            if self.may_break_enforce(caller.procedure, call) {
                let enforced = self.enforce(step.arena, number, &state.values);
                state.guard = step.arena.and(state.guard, enforced);
            }
            if state.guard == Term::FALSE {
                return None;
            }
            if self.is_head(number, edge.to) {
                self.arrive(step, number, edge.to, state);
                return None;
            }
            if edge.to != Procedure::EXIT {
                return Some(self.level(step, number, edge.to, state, (piece, BEHIND, 0)));
            }
            if self.blocks.is_target(caller.procedure, edge.to) {
                step.violation = step.arena.or(step.violation, state.guard);
                return None;
            }
            context = number;
        }
    }

    /// Whether a return to a procedure can change what its `enforce` reads. Otherwise it is not asked
    /// again: the step may begin in a callee with any locals of its callers.
    fn may_break_enforce(&self, caller: ProcId, call: &Call) -> bool {
        let program = &self.blocks.task.program;
        let condition = program.procedure(caller).enforce;
        condition.is_some_and(|condition| {
            let changes = |var: Var| matches!(var, Var::Global(_)) || call.targets.contains(&Some(var));
            program.exprs.reads(condition).any(|place| changes(place.var))
        })
    }

    /// When the `enforce` of the procedure that runs in a context can be satisfied.
    pub fn enforce(&self, arena: &mut TermArena, context: u32, values: &Values) -> Term {
        let running = self.locations.context(context);
        let value = |slot: usize| values.get(self.position(running, slot));
        self.blocks.enforce(arena, running.procedure, value)
    }

    fn arrive(&self, step: &mut Step<'_>, context: u32, node: Node, state: State) {
        let Some(location) = self.locations.at(context, node) else { return };
        match step.next.get_mut(&location) {
            None => {
                step.next.insert(location, state);
            }
            Some(known) => {
                known.values.merge(step.arena, state.guard, &state.values, |_| true);
                known.guard = step.arena.or(known.guard, state.guard);
            }
        }
    }
}

impl Outcome {
    /// The call does not return before the block step ends.
    fn never(call: &OpenCall) -> Self {
        Self { returns: Term::FALSE, results: vec![Term::FALSE; call.results.len()] }
    }
}

/// So many variables in a row; the number of the first.
fn fresh(arena: &mut TermArena, count: u32) -> u32 {
    let mut first = None;
    for _ in 0..count {
        let var = arena.fresh_var();
        first.get_or_insert(var.number());
    }
    first.unwrap_or(0)
}
