//! Replay of sequential traces.
//!
//! Every run of the call tree is checked once and on its own: whether a call enters it legally depends only on the
//! two states at the call. So the cost is linear in the size of the tree, however many steps the tree stands for.

use super::values::can_be;
use super::{Forbidden, Stop, poll, reject};
use crate::budget::Budget;
use crate::evidence::trace::{CallTree, End, Run, RunId, State, Step, Violation};
use crate::model::{Action, Assign, Call, EdgeId, Expr, Node, Place, Procedure, Property, Task, Var};

/// Checks that a call tree is a run of the start procedure that violates the property.
pub(super) fn check(task: &Task, tree: &CallTree, budget: &Budget) -> Result<(), Stop> {
    let program = &task.program;
    if program.starts_threads {
        return reject("the trace is sequential, but the program starts threads");
    }
    let Some(last) = tree.runs.last() else { return reject("the trace is empty") };
    if last.procedure != program.start {
        return reject("the last run is not one of the start procedure");
    }
    if last.end == End::Exit {
        return reject("the run of the start procedure ends without a violation");
    }
    let forbidden = Forbidden::of(task);
    for (index, run) in tree.runs.iter().enumerate() {
        let Some(procedure) = program.procedures.get(run.procedure.index()) else {
            return reject(format!("run r{index} is one of {}, which does not exist", run.procedure));
        };
        let replay = Replay { task, forbidden: &forbidden, earlier: &tree.runs[..index], procedure, run };
        replay.check(budget).map_err(|stop| stop.at(format_args!("run r{index} of `{}`", procedure.name)))?;
    }
    Ok(())
}

/// Replays one run of a call tree.
struct Replay<'a> {
    task: &'a Task,
    forbidden: &'a Forbidden,
    /// The runs before this one, which are the ones that it may refer to.
    earlier: &'a [Run],
    procedure: &'a Procedure,
    run: &'a Run,
}

impl Replay<'_> {
    fn check(&self, budget: &Budget) -> Result<(), Stop> {
        let mut state = &self.run.entry;
        let mut node = Procedure::ENTRY;
        self.state(state).map_err(|stop| stop.at("entry"))?;
        for (position, step) in self.run.steps.iter().enumerate() {
            poll(budget)?;
            self.step(state, step, node)
                .map_err(|stop| stop.at(format_args!("step {} ({})", position + 1, step.edge)))?;
            node = self.procedure.edge(step.edge).to;
            state = &step.after;
        }
        self.end(state, node).map_err(|stop| stop.at("end"))
    }

    /// The action of an edge, which must leave the given node.
    fn edge(&self, id: EdgeId, node: Node) -> Result<&Action, Stop> {
        match self.procedure.edges.get(id.index()) {
            None => reject(format!("there is no edge {id}")),
            Some(edge) if edge.from != node => {
                reject(format!("edge {id} leaves {}, but control is at {node}", edge.from))
            }
            Some(edge) => Ok(&edge.action),
        }
    }

    /// Checks a state by itself: its numbers of variables, and `enforce`.
    fn state(&self, state: &State) -> Result<(), Stop> {
        let (globals, locals) = (self.task.program.globals.len(), self.procedure.locals.len());
        if state.globals.0.len() != globals || state.locals.0.len() != locals {
            return reject(format!("the state does not have {globals} globals and {locals} locals"));
        }
        match self.procedure.enforce {
            Some(condition) if !self.can_be(condition, true, state)? => {
                reject("the state violates `enforce`")
            }
            _ => Ok(()),
        }
    }

    /// Whether an expression can take a value in a state.
    fn can_be(&self, expr: Expr, value: bool, state: &State) -> Result<bool, Stop> {
        can_be(&self.task.program, expr, value, |place| read(state, place.var))
    }

    fn step(&self, before: &State, step: &Step, node: Node) -> Result<(), Stop> {
        let action = self.edge(step.edge, node)?;
        self.state(&step.after)?;
        if step.call.is_some() && !matches!(action, Action::Call(_)) {
            return reject("it refers to a run, but its edge is no call");
        }
        match action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => self.only_changes(before, step, &[]),
            Action::Assume(condition) | Action::Assert(condition) => {
                if !self.can_be(*condition, true, before)? {
                    return reject("its condition cannot hold");
                }
                self.only_changes(before, step, &[])
            }
            Action::Assign(assign) => self.assign(before, step, assign),
            Action::Call(call) => {
                let Some(id) = step.call else { return reject("it is a call without a run") };
                let callee = self.call(before, call, id)?;
                if callee.end != End::Exit {
                    return reject(format!("the call returns, but run {id} does not end at the exit"));
                }
                self.returns(before, step, call, id, callee)
            }
            Action::EndThread => reject("nothing comes after the end of the thread"),
            Action::Spawn(_) | Action::Fork(_) => reject("a sequential program cannot start a thread"),
        }
    }

    /// Checks that a step leaves all variables unchanged except the given ones.
    fn only_changes(&self, before: &State, step: &Step, changed: &[Var]) -> Result<(), Stop> {
        let mut expected = before.clone();
        for &var in changed {
            *write(&mut expected, var) = read(&step.after, var);
        }
        if expected == step.after {
            return Ok(());
        }
        let globals = (0..self.task.program.globals.len() as u32).map(Var::Global);
        let locals = (0..self.procedure.locals.len() as u32).map(Var::Local);
        let differs = |&var: &Var| read(&expected, var) != read(&step.after, var);
        match globals.chain(locals).find(differs) {
            Some(var) => {
                let name = &self.task.program.variable(self.run.procedure, var).name;
                reject(format!("it changes `{name}`, which it does not assign"))
            }
            None => reject("it changes a variable that it does not assign"),
        }
    }

    fn assign(&self, before: &State, step: &Step, assign: &Assign) -> Result<(), Stop> {
        let mut targets = Vec::with_capacity(assign.pairs.len());
        // There is no other thread, so a passive target denotes no variable.
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            if !self.can_be(value, read(&step.after, target.var), before)? {
                let name = &self.task.program.variable(self.run.procedure, target.var).name;
                return reject(format!("`{name}` gets a value that its right side cannot have"));
            }
            targets.push(target.var);
        }
        self.only_changes(before, step, &targets)?;
        let read = |place: Place| read(if place.primed { &step.after } else { before }, place.var);
        for &condition in &assign.constrain {
            // A condition with passive reads is about every other thread, and there is none.
            let passive = self.task.program.exprs.reads(condition).any(|place| place.passive);
            if !passive && !can_be(&self.task.program, condition, true, read)? {
                return reject("its `constrain` cannot hold");
            }
        }
        Ok(())
    }

    /// Checks the entry of a call, and returns the callee's run.
    fn call(&self, before: &State, call: &Call, id: RunId) -> Result<&Run, Stop> {
        let Some(callee) = self.earlier.get(id.index()) else {
            return reject(format!("it refers to run {id}, which does not come before it"));
        };
        if callee.procedure != call.callee {
            return reject(format!("run {id} is not one of the procedure that is called"));
        }
        // The run itself was checked before this one, so its entry has the right lengths.
        if callee.entry.globals != before.globals {
            return reject(format!("run {id} does not start with the caller's globals"));
        }
        for (position, &arg) in call.args.iter().enumerate() {
            let given = read(&callee.entry, Var::Local(position as u32));
            if !self.can_be(arg, given, before)? {
                let position = position + 1;
                return reject(format!(
                    "argument {position} cannot have the value that run {id} starts with"
                ));
            }
        }
        Ok(callee)
    }

    fn returns(&self, before: &State, step: &Step, call: &Call, id: RunId, callee: &Run) -> Result<(), Stop> {
        let exit = callee.steps.last().map_or(&callee.entry, |step| &step.after);
        let first_slot = self.task.program.procedure(call.callee).first_return();
        let mut expected = State { globals: exit.globals.clone(), locals: before.locals.clone() };
        for (slot, target) in (first_slot..).zip(&call.targets) {
            if let Some(var) = *target {
                *write(&mut expected, var) = read(exit, Var::Local(slot));
            }
        }
        if expected == step.after {
            return Ok(());
        }
        reject(format!("the state after the call is not what run {id} leaves behind"))
    }

    fn end(&self, state: &State, node: Node) -> Result<(), Stop> {
        match self.run.end {
            End::Exit if node == Procedure::EXIT => Ok(()),
            End::Exit => reject(format!("it claims to be at the exit, but control is at {node}")),
            End::Violation(Violation::Label) => {
                if self.forbidden.contains(self.run.procedure, node) {
                    return Ok(());
                }
                reject(format!("the forbidden label is not at {node}"))
            }
            End::Violation(Violation::Assertion(id)) => {
                if self.task.property != Property::Assertions {
                    return reject("a failing assertion does not violate the property");
                }
                match self.edge(id, node)? {
                    Action::Assert(condition) if self.can_be(*condition, false, state)? => Ok(()),
                    Action::Assert(_) => reject(format!("the assertion {id} cannot fail")),
                    _ => reject(format!("edge {id} is no assertion")),
                }
            }
            End::Inside { edge, run } => {
                let Action::Call(call) = self.edge(edge, node)? else {
                    return reject(format!("edge {edge} is no call"));
                };
                if self.call(state, call, run)?.end == End::Exit {
                    return reject(format!("the violation should lie in run {run}, which ends at its exit"));
                }
                Ok(())
            }
        }
    }
}

fn read(state: &State, var: Var) -> bool {
    match var {
        Var::Global(i) => state.globals.get(i),
        Var::Local(i) => state.locals.get(i),
    }
}

fn write(state: &mut State, var: Var) -> &mut bool {
    match var {
        Var::Global(i) => &mut state.globals.0[i as usize],
        Var::Local(i) => &mut state.locals.0[i as usize],
    }
}
