//! The run that a model describes, block step by block step, with the values of every state.
//!
//! The run is executed. A piece of a block step is evaluated with the model's choices, and calls that were not made
//! yet do not return; so the evaluation ends at the first such call. That call is executed, and the piece is
//! evaluated again with its results. Each activation on the stack has an outline, which grows piece by piece.

use std::rc::Rc;

use cusp_encodings::VarId;

use super::step::{BEHIND, Pieces, Stepper};
use crate::evidence::trace::Violation;
use crate::model::{Action, Node, Procedure, Var};
use crate::symbolic::template::{Role, Template};
use crate::symbolic::trace::{Outline, OutlineEnd, OutlineStep};
use crate::symbolic::walk::{End, Goal, Truth, run};

/// A run that begins at a location.
pub(super) struct Replay<'a, 'b> {
    stepper: &'b mut Stepper<'a>,
    /// One outline per activation. Those of the call string where the run begins come first, callers before
    /// callees.
    pub outlines: Vec<Outline>,
    /// The activations on the stack.
    stack: Vec<Activation>,
    values: Vec<bool>,
}

struct Activation {
    context: u32,
    outline: usize,
}

/// A piece that is being executed.
struct Frame {
    context: u32,
    start: Node,
    piece: u32,
    /// The state at the beginning of the piece.
    values: Vec<bool>,
    /// For each call of the block that has returned: its results, and the position of its outline.
    outcomes: Vec<Option<(Vec<bool>, usize)>>,
}

/// Where a block step leads.
enum StepEnd {
    Location(u32),
    Violation,
}

impl<'a, 'b> Replay<'a, 'b> {
    /// Begins a run at a location.
    pub fn begin(stepper: &'b mut Stepper<'a>, location: u32, values: Vec<bool>) -> Self {
        let (context, _) = stepper.locations.place(location);
        let mut string = vec![context];
        while let Some((caller, _)) = string.last().and_then(|&it| stepper.locations.context(it).caller) {
            string.push(caller);
        }
        let mut replay = Self { stepper, outlines: Vec::new(), stack: Vec::new(), values };
        for context in string.into_iter().rev() {
            let values = replay.values.clone();
            replay.enter(context, &values);
        }
        replay
    }

    /// The values at the location where the run is, by position.
    pub fn values(&self) -> &[bool] {
        &self.values
    }

    /// Follows one block step, and returns the next location; `None` if the run ends with a violation.
    pub fn step(&mut self, location: u32, pieces: &Pieces, value_of: &dyn Fn(VarId) -> bool) -> Option<u32> {
        let (context, node) = self.stepper.locations.place(location);
        let values = std::mem::take(&mut self.values);
        let first = self.frame(context, node, values, 0);
        match self.execute(first, pieces, value_of) {
            StepEnd::Location(location) => Some(location),
            StepEnd::Violation => None,
        }
    }

    /// Pushes a new activation onto the stack.
    fn enter(&mut self, context: u32, values: &[bool]) {
        let running = self.stepper.locations.context(context);
        let width = self.stepper.blocks.scopes.scope(running.procedure).width();
        let entry =
            (0..width).map(|slot| values.get(self.stepper.position(running, slot)).copied()).collect();
        let procedure = running.procedure;
        self.stack.push(Activation { context, outline: self.outlines.len() });
        self.outlines.push(Outline { procedure, entry, steps: Vec::new(), end: OutlineEnd::Exit });
    }

    fn frame(&mut self, context: u32, start: Node, values: Vec<bool>, piece: u32) -> Frame {
        let procedure = self.stepper.locations.context(context).procedure;
        let calls = self.stepper.template(procedure, start).block.calls.len();
        Frame { context, start, piece, values, outcomes: vec![None; calls] }
    }

    fn execute(&mut self, first: Frame, pieces: &Pieces, value_of: &dyn Fn(VarId) -> bool) -> StepEnd {
        let index = pieces.index();
        let mut frames = vec![first];
        loop {
            let Some(frame) = frames.last() else {
                unreachable!("a block step ends at a location or with a violation")
            };
            let truth = self.truth(frame, pieces, value_of);
            let goal = self.goal(frame, &truth);
            let (number, piece) = (frame.context, frame.piece);
            if let Goal::Call(call) = goal {
                let Some(&piece) = index.get(&(piece, call as u32)) else {
                    unreachable!("every executed call has a piece");
                };
                let first_local = |i: u32| value_of(pieces.local(piece, i));
                let (callee, values) = self.passed(frame, &truth, call, &first_local);
                self.enter(callee, &values);
                if self.stepper.is_head(callee, Procedure::ENTRY) {
                    self.suspend(&frames, pieces, value_of);
                    return self.arrive(callee, Procedure::ENTRY, values);
                }
                let above = self.frame(callee, Procedure::ENTRY, values, piece);
                frames.push(above);
                continue;
            }
            let (steps, end) = self.steps(frame, &truth, goal);
            let values = self.arrived(frame, &truth, goal);
            self.top().steps.extend(steps);
            match end {
                End::Inside(_) => unreachable!("the variables for failing calls are false here"),
                End::Violation(violation) => {
                    frames.pop();
                    self.suspend(&frames, pieces, value_of);
                    return self.violate(violation);
                }
                End::Cut(Procedure::EXIT) if frames.len() > 1 => {
                    frames.pop();
                    if let Some(caller) = frames.last_mut() {
                        self.hand_over(caller, number, &values);
                    }
                }
                End::Cut(Procedure::EXIT) => match self.return_from(number, values) {
                    Ok((caller, node, values)) => {
                        let Some(&piece) = index.get(&(piece, BEHIND)) else {
                            unreachable!("the code behind a returning call has a piece");
                        };
                        frames = vec![self.frame(caller, node, values, piece)];
                    }
                    Err(next) => return next,
                },
                End::Cut(node) => {
                    frames.pop();
                    self.suspend(&frames, pieces, value_of);
                    return self.arrive(number, node, values);
                }
            }
        }
    }

    /// The values of all terms of a piece, where calls that were not made yet do not return.
    fn truth(&mut self, frame: &Frame, pieces: &Pieces, value_of: &dyn Fn(VarId) -> bool) -> Truth {
        let template = self.template(frame);
        let stepper = &*self.stepper;
        let context = stepper.locations.context(frame.context);
        Truth::of(stepper.blocks, &template.block, |var| match template.role(var) {
            Role::Input(position) => {
                let slot = template.inputs[position as usize] as usize;
                frame.values[stepper.position(context, slot)]
            }
            Role::Choice(position) => value_of(pieces.choice(frame.piece, position)),
            Role::Fails(_) => false,
            Role::Returns(call) => frame.outcomes[call as usize].is_some(),
            Role::Result(call, result) => {
                let outcome = frame.outcomes[call as usize].as_ref();
                outcome.is_some_and(|(results, _)| results[result as usize])
            }
        })
    }

    fn template(&mut self, frame: &Frame) -> Rc<Template> {
        let procedure = self.stepper.locations.context(frame.context).procedure;
        self.stepper.template(procedure, frame.start)
    }

    /// Where the run goes in a piece: to the next call that was not made yet, or to the end of the piece.
    fn goal(&mut self, frame: &Frame, truth: &Truth) -> Goal {
        let block = &self.template(frame).block;
        let is_next = |&call: &usize| frame.outcomes[call].is_none() && truth.value(block.calls[call].guard);
        if let Some(call) = (0..block.calls.len()).find(is_next) {
            return Goal::Call(call);
        }
        if block.failures.iter().any(|failure| truth.value(failure.guard)) {
            return Goal::Failure;
        }
        let arrival = block.arrivals.iter().find(|arrival| truth.value(arrival.guard));
        let Some(arrival) = arrival else {
            unreachable!("a block step ends at a location or with a violation")
        };
        Goal::Cut(arrival.node)
    }

    /// The edges of a piece up to its goal.
    fn steps(&mut self, frame: &Frame, truth: &Truth, goal: Goal) -> (Vec<OutlineStep>, End) {
        let block = &self.template(frame).block;
        let Some((walked, end)) = run(self.stepper.blocks, block, truth, goal) else {
            unreachable!("the path to a place exists if its guard holds");
        };
        let callee = |call: usize| frame.outcomes[call].as_ref().map(|(_, outline)| *outline);
        let steps = walked.into_iter().map(|step| OutlineStep {
            edge: step.edge,
            updates: step.updates,
            callee: step.call.and_then(callee),
        });
        (steps.collect(), end)
    }

    /// The state at the end of a piece.
    fn arrived(&mut self, frame: &Frame, truth: &Truth, goal: Goal) -> Vec<bool> {
        let block = &self.template(frame).block;
        let context = self.stepper.locations.context(frame.context);
        let mut values = frame.values.clone();
        for arrival in block.arrivals.iter().filter(|arrival| goal == Goal::Cut(arrival.node)) {
            for (slot, &value) in arrival.values.iter().enumerate() {
                values[self.stepper.position(context, slot)] = truth.value(value);
            }
        }
        values
    }

    /// The context and the state with which a call enters its callee.
    fn passed(
        &mut self,
        frame: &Frame,
        truth: &Truth,
        call: usize,
        local: &dyn Fn(u32) -> bool,
    ) -> (u32, Vec<bool>) {
        let block = &self.template(frame).block;
        let call = &block.calls[call];
        let (stepper, blocks) = (&*self.stepper, self.stepper.blocks);
        let Some(callee) = stepper.locations.callee(frame.context, call.edge) else {
            unreachable!("a call that control reaches has a context");
        };
        let context = stepper.locations.context(frame.context);
        let mut values = frame.values.clone();
        values.truncate(context.end);
        for slot in 0..block.inputs.len() {
            values[stepper.position(context, slot)] = truth.value(call.value(slot));
        }
        let globals = blocks.scopes.scope(call.callee).globals().len();
        values.extend(call.arguments[globals..].iter().map(|&argument| truth.value(argument)));
        let procedure = blocks.task.program.procedure(call.callee);
        values.extend((0..procedure.locals.len() as u32 - procedure.params).map(local));
        (callee, values)
    }

    /// Passes the results of a call that returns to the piece of its caller.
    fn hand_over(&mut self, caller: &mut Frame, callee: u32, values: &[bool]) {
        let Some(activation) = self.stack.pop() else { unreachable!("the callee is on the stack") };
        let block = &self.template(caller).block;
        let stepper = &*self.stepper;
        let context = stepper.locations.context(callee);
        let slots = stepper.blocks.scopes.scope(context.procedure).exit_slots().iter();
        let results = slots.map(|&slot| values[stepper.position(context, slot as usize)]).collect();
        let call = block.calls.iter().position(|call| Some((caller.context, call.edge)) == context.caller);
        if let Some(call) = call {
            caller.outcomes[call] = Some((results, activation.outline));
        }
    }

    /// Handles the return of the activation on top of the call string: `Ok` with the place in the caller where the
    /// run continues, or `Err` with where the block step ends.
    fn return_from(
        &mut self,
        mut context: u32,
        mut values: Vec<bool>,
    ) -> Result<(u32, Node, Vec<bool>), StepEnd> {
        loop {
            let callee = *self.stepper.locations.context(context);
            let (Some((number, id)), Some(activation)) = (callee.caller, self.stack.pop()) else {
                unreachable!("a run that violates does not return from the start procedure");
            };
            let caller = *self.stepper.locations.context(number);
            let program = &self.stepper.blocks.task.program;
            let edge = program.procedure(caller.procedure).edge(id);
            let Action::Call(call) = &edge.action else { unreachable!("contexts are entered by calls") };
            let first_return = program.procedure(callee.procedure).first_return() as usize;
            for (i, target) in call.targets.iter().enumerate() {
                let position = match *target {
                    None => continue,
                    Some(Var::Global(global)) => global as usize,
                    Some(Var::Local(local)) => caller.base + local as usize,
                };
                values[position] = values[callee.base + first_return + i];
            }
            values.truncate(caller.end);
            let step = OutlineStep { edge: id, updates: Vec::new(), callee: Some(activation.outline) };
            self.top().steps.push(step);
            if self.stepper.is_head(number, edge.to) {
                return Err(self.arrive(number, edge.to, values));
            }
            if edge.to != Procedure::EXIT {
                return Ok((number, edge.to, values));
            }
            if self.stepper.blocks.is_target(caller.procedure, edge.to) {
                return Err(self.violate(Violation::Label));
            }
            context = number;
        }
    }

    /// Records the steps of the callers up to their calls, when the block step ends in the activation on top of the
    /// stack.
    fn suspend(&mut self, frames: &[Frame], pieces: &Pieces, value_of: &dyn Fn(VarId) -> bool) {
        let first = self.stack.len() - 1 - frames.len();
        for (position, frame) in frames.iter().enumerate() {
            let truth = self.truth(frame, pieces, value_of);
            let goal = self.goal(frame, &truth);
            let (steps, _) = self.steps(frame, &truth, goal);
            let outline = self.stack[first + position].outline;
            self.outlines[outline].steps.extend(steps);
        }
    }

    fn arrive(&mut self, context: u32, node: Node, values: Vec<bool>) -> StepEnd {
        let Some(location) = self.stepper.locations.at(context, node) else {
            unreachable!("every loop head that control reaches is a location");
        };
        self.values = values;
        StepEnd::Location(location)
    }

    /// Ends the run with a violation in the activation on top of the stack.
    fn violate(&mut self, violation: Violation) -> StepEnd {
        self.top().end = OutlineEnd::Violation(violation);
        for pair in self.stack.windows(2) {
            if let Some((_, edge)) = self.stepper.locations.context(pair[1].context).caller {
                self.outlines[pair[0].outline].end = OutlineEnd::Inside { edge, callee: pair[1].outline };
            }
        }
        StepEnd::Violation
    }

    fn top(&mut self) -> &mut Outline {
        let Some(activation) = self.stack.last() else { unreachable!("the stack of a run is never empty") };
        &mut self.outlines[activation.outline]
    }
}
