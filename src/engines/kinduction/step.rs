//! Block steps: from a location to the next locations, into calls and out of them.
//!
//! A block step is put together from *pieces*, which are copies of the blocks of single procedures: the block at
//! the location, one block for each call on the way, and one block behind each call of the call string that
//! returns. When the piece of a call is complete, the outcome of the call is known and replaces the variables of
//! the call in the caller's piece, so constants are propagated through calls. Calls may be nested deeply, so the
//! pieces that wait for a call are kept on an explicit stack.
//!
//! Invariant (one run): under every assignment to all variables, at most one of these holds: the guard of one state
//! after the block step, or the violation. So states that arrive at the same location can be merged by `ite`.

use std::collections::BTreeMap;
use std::rc::Rc;

use cusp_encodings::{Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::locations::{Context, Locations};
use crate::model::{Action, Call, Node, ProcId, Procedure, Var};
use crate::symbolic::block::{Blocks, Instance, OpenCall};
use crate::symbolic::template::{Role, Template};
use crate::symbolic::values::Values;

/// The states at one location, in parametric form.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The condition under which a run is there.
    pub guard: Term,
    /// The values by position; see [`super::locations`].
    pub values: Values,
}

/// The states after a certain number of block steps, by location.
pub(super) type Moment = BTreeMap<u32, State>;

/// The variables of the pieces of one block step, from which a model is read. The first piece is the one at the
/// location.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces(Vec<Piece>);

#[derive(Clone, Copy, Debug)]
struct Piece {
    parent: u32,
    /// The number of the call in the parent, or [`BEHIND`].
    site: u32,
    /// The first of the variables for locals whose initial values are arbitrary.
    locals: u32,
    /// The first of the variables for choices.
    choices: u32,
}

/// The site of a piece that continues after its parent's activation has returned.
pub(super) const BEHIND: u32 = u32::MAX;

impl Pieces {
    /// The numbers of pieces by parent and site; the first piece has neither and is left out.
    pub fn index(&self) -> FxHashMap<(u32, u32), u32> {
        let pieces = (0..).zip(&self.0).skip(1);
        pieces.map(|(number, piece)| ((piece.parent, piece.site), number)).collect()
    }

    /// The variable for the initial value of a local that is no parameter, by its position among these locals.
    pub fn local(&self, piece: u32, position: u32) -> VarId {
        VarId::new(self.0[piece as usize].locals + position)
    }

    /// The variable of a choice, by its position in the block.
    pub fn choice(&self, piece: u32, position: u32) -> VarId {
        VarId::new(self.0[piece as usize].choices + position)
    }
}

/// Builds the formulas of block steps.
pub(super) struct Stepper<'a> {
    pub blocks: &'a Blocks<'a>,
    pub locations: Locations,
    templates: Vec<Rc<Template>>,
    by_start: FxHashMap<(ProcId, Node), usize>,
}

/// A piece that is being built.
struct Level {
    context: u32,
    template: Rc<Template>,
    piece: u32,
    first_choice: u32,
    /// The whole state at the beginning of the piece.
    state: State,
    instance: Instance,
    outcomes: Vec<Option<CallOutcome>>,
    /// The call for which the next level on the stack is built.
    waiting: usize,
}

/// The outcome of a call: the condition at its entry under which it returns, and its results.
struct CallOutcome {
    returns: Term,
    results: Vec<Term>,
}

/// The result of a block step, as it is built.
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

    /// The position in a state of a slot of the procedure that runs in a context.
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

    /// Adds to `next` the states in which the runs from a location arrive. Returns the condition under which they
    /// violate the property, and the pieces from which the step was put together.
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

    /// Builds a piece up to the next call whose outcome is needed, and returns that call; `None` if the piece is
    /// complete.
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
                // A violation in the callee is recorded when its piece is complete.
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

    /// Begins the piece for a call of `level`, or decides that the call does not return within this block step.
    fn call(&mut self, step: &mut Step<'_>, stack: &mut Vec<Level>, mut level: Level, number: usize) {
        let template = Rc::clone(&level.template);
        let call = &template.block.calls[number];
        let guard = level.instance.term(call.guard);
        let guard = step.arena.and(level.state.guard, guard);
        let callee = self.locations.callee(level.context, call.edge);
        let Some(callee) = callee.filter(|_| guard != Term::FALSE) else {
            level.outcomes[number] = Some(CallOutcome::never(call));
            stack.push(level);
            return;
        };
        // The values are: the state at the call, then the arguments, then the locals that start arbitrary.
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
            // The entry is a loop head, so the run continues there in the next block step.
            let (parent, site) = (level.piece, number as u32);
            step.pieces.0.push(Piece { parent, site, locals: first_local, choices: 0 });
            self.arrive(step, callee, Procedure::ENTRY, state);
            level.outcomes[number] = Some(CallOutcome::never(call));
            stack.push(level);
            return;
        }
        level.waiting = number;
        let origin = (level.piece, number as u32, first_local);
        stack.push(level);
        let above = self.level(step, callee, Procedure::ENTRY, state, origin);
        stack.push(above);
    }

    /// Handles a complete piece: records its violations and arrivals, and passes its outcome to the waiting caller
    /// or continues behind the call of the call string.
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
                None => CallOutcome::never(call),
                Some((returns, state)) => {
                    let running = self.locations.context(*context);
                    let slots = self.blocks.scopes.scope(running.procedure).exit_slots();
                    let value = |&slot: &u32| state.values.get(self.position(running, slot as usize));
                    CallOutcome { returns, results: slots.iter().map(value).collect() }
                }
            };
            caller.outcomes[caller.waiting] = Some(outcome);
        } else if let Some((_, state)) = exit {
            stack.extend(self.return_from(step, *context, state, level.piece));
        }
    }

    /// Handles the return of a procedure on the call string: continues behind the call.
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

    /// Whether a return to a procedure can change a variable that its `enforce` reads. If not, `enforce` is not
    /// required again. So a step that begins in a callee, with arbitrary values for the locals of its callers, may
    /// return to a caller whose `enforce` does not hold.
    fn may_break_enforce(&self, caller: ProcId, call: &Call) -> bool {
        let program = &self.blocks.task.program;
        let condition = program.procedure(caller).enforce;
        condition.is_some_and(|condition| {
            let changes = |var: Var| matches!(var, Var::Global(_)) || call.targets.contains(&Some(var));
            program.exprs.reads(condition).any(|place| changes(place.var))
        })
    }

    /// The condition under which the `enforce` of the procedure that runs in a context can be satisfied.
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

impl CallOutcome {
    /// The outcome of a call that does not return before the block step ends.
    fn never(call: &OpenCall) -> Self {
        Self { returns: Term::FALSE, results: vec![Term::FALSE; call.results.len()] }
    }
}

/// Makes `count` variables with consecutive numbers, and returns the number of the first.
fn fresh(arena: &mut TermArena, count: u32) -> u32 {
    let mut first = None;
    for _ in 0..count {
        let var = arena.fresh_var();
        first.get_or_insert(var.number());
    }
    first.unwrap_or(0)
}
