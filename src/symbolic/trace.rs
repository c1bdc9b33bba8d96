//! Turns outlines of runs into a shared call tree with the values of all variables.
//!
//! Engines know the edges of a run and the values that matter. The other values are computed by executing the
//! statements: a variable that does not matter may have any value that its assignment allows.
//!
//! Nothing here recurses, so calls may be nested arbitrarily deeply.

use rustc_hash::FxHashMap;

use super::scope::Scopes;
use crate::evidence::trace::{CallTree, End, Run, RunId, State, Step, Valuation, Violation};
use crate::model::eval::{Values, eval};
use crate::model::{Action, Call, EdgeId, Expr, Place, ProcId, Task, Var};

/// A run of a procedure, as far as an engine has determined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The procedure.
    pub procedure: ProcId,
    /// The values at the entry by slot; `None` where they do not matter. Globals have the caller's values, and so do
    /// parameters if the arguments determine them.
    pub entry: Vec<Option<bool>>,
    /// The steps, in order.
    pub steps: Vec<OutlineStep>,
    /// How the run ends after the last step.
    pub end: OutlineEnd,
}

/// A step of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineStep {
    /// The edge.
    pub edge: EdgeId,
    /// The slots that it changes, with the values that they have if they matter.
    pub updates: Vec<(u32, bool)>,
    /// For a call: the position of the callee's outline.
    pub callee: Option<usize>,
}

/// How an outline ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineEnd {
    /// At the exit of the procedure.
    Exit,
    /// With a violation of the property.
    Violation(Violation),
    /// In a call that does not return.
    Inside {
        /// The call edge.
        edge: EdgeId,
        /// The position of the callee's outline.
        callee: usize,
    },
}

/// Completes the run whose outline is at `root` to a call tree.
///
/// # Panics
/// Panics if an outline takes a step that its procedure does not have.
#[must_use]
pub fn complete(task: &Task, scopes: &Scopes, outlines: &[Outline], root: usize) -> CallTree {
    let mut completion = Completion { task, scopes, outlines, runs: Vec::new(), done: FxHashMap::default() };
    let globals: Vec<bool> = completion.start_globals(root);
    let first = completion.begin(root, globals, &[]);
    let mut stack = vec![first];
    while let Some(frame) = stack.last_mut() {
        match completion.advance(frame) {
            Progress::Stepped => {}
            Progress::Needs(callee) => stack.push(*callee),
            Progress::Ended(run, exit) => {
                if let Some(frame) = stack.pop() {
                    let id = RunId::from_index(completion.runs.len());
                    completion.runs.push(run);
                    completion.done.insert(frame.key, (id, exit));
                }
            }
        }
    }
    CallTree { runs: completion.runs }
}

/// The position of an outline, and the state in which its run begins.
type Key = (usize, State);

struct Completion<'a> {
    task: &'a Task,
    scopes: &'a Scopes,
    outlines: &'a [Outline],
    runs: Vec<Run>,
    /// The completed runs, with the states in which they end.
    done: FxHashMap<Key, (RunId, State)>,
}

/// A run that is being completed.
struct Frame {
    key: Key,
    state: State,
    steps: Vec<Step>,
}

enum Progress {
    Stepped,
    Needs(Box<Frame>),
    Ended(Run, State),
}

impl Completion<'_> {
    fn start_globals(&self, root: usize) -> Vec<bool> {
        let outline = &self.outlines[root];
        let scope = self.scopes.scope(outline.procedure);
        let value = |global: usize| {
            let slot = scope.slot(Var::Global(global as u32));
            slot.and_then(|slot| outline.entry[slot]).unwrap_or(false)
        };
        (0..self.task.program.globals.len()).map(value).collect()
    }

    /// A run at its entry; `passed` are the values of the parameters, which the caller has chosen.
    fn begin(&self, outline: usize, globals: Vec<bool>, passed: &[bool]) -> Frame {
        let Outline { procedure, entry, .. } = &self.outlines[outline];
        let scope = self.scopes.scope(*procedure);
        let local = |i: usize| {
            let slot = scope.globals().len() + i;
            passed.get(i).copied().or(entry[slot]).unwrap_or(false)
        };
        let locals = (0..self.task.program.procedure(*procedure).locals.len()).map(local).collect();
        let state = State { globals: Valuation(globals), locals: Valuation(locals) };
        Frame { key: (outline, state.clone()), state, steps: Vec::new() }
    }

    fn advance(&self, frame: &mut Frame) -> Progress {
        let outline = &self.outlines[frame.key.0];
        let procedure = self.task.program.procedure(outline.procedure);
        let Some(step) = outline.steps.get(frame.steps.len()) else {
            let end = match outline.end {
                OutlineEnd::Exit => End::Exit,
                OutlineEnd::Violation(violation) => End::Violation(violation),
                OutlineEnd::Inside { edge, callee } => {
                    let Action::Call(call) = &procedure.edge(edge).action else {
                        unreachable!("a run ends in a call");
                    };
                    match self.callee(&frame.state, call, callee) {
                        Ok((run, _)) => End::Inside { edge, run },
                        Err(callee) => return Progress::Needs(callee),
                    }
                }
            };
            let entry = frame.key.1.clone();
            let steps = std::mem::take(&mut frame.steps);
            return Progress::Ended(
                Run { procedure: outline.procedure, entry, steps, end },
                frame.state.clone(),
            );
        };
        let mut after = frame.state.clone();
        let mut called = None;
        match &procedure.edge(step.edge).action {
            Action::Assign(assign) => {
                for &(target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
                    let wanted = self.wanted(outline, &step.updates, target.var);
                    write(&mut after, target.var, self.choose(value, &frame.state, wanted));
                }
            }
            Action::Call(call) => {
                let Some(callee) = step.callee else { unreachable!("a call has a callee") };
                let (run, exit) = match self.callee(&frame.state, call, callee) {
                    Ok(done) => done,
                    Err(callee) => return Progress::Needs(callee),
                };
                called = Some(run);
                after.globals = exit.globals.clone();
                let first = self.task.program.procedure(call.callee).first_return();
                for (slot, target) in (first..).zip(&call.targets) {
                    if let Some(var) = *target {
                        write(&mut after, var, exit.locals.get(slot));
                    }
                }
            }
            _ => {}
        }
        frame.state = after.clone();
        frame.steps.push(Step { edge: step.edge, call: called, after });
        Progress::Stepped
    }

    /// The run of a call with the state in which it ends, or the frame that must be completed first.
    fn callee(&self, state: &State, call: &Call, callee: usize) -> Result<(RunId, &State), Box<Frame>> {
        let entry = &self.outlines[callee].entry;
        let first = self.scopes.scope(call.callee).globals().len();
        let passed: Vec<bool> = call
            .args
            .iter()
            .enumerate()
            .map(|(i, &argument)| self.choose(argument, state, entry[first + i]))
            .collect();
        let frame = self.begin(callee, state.globals.0.clone(), &passed);
        match self.done.get(&frame.key) {
            Some((run, exit)) => Ok((*run, exit)),
            None => Err(Box::new(frame)),
        }
    }

    fn wanted(&self, outline: &Outline, updates: &[(u32, bool)], var: Var) -> Option<bool> {
        let slot = self.scopes.scope(outline.procedure).slot(var)?;
        updates.iter().find(|&&(updated, _)| updated as usize == slot).map(|&(_, value)| value)
    }

    /// A value that the expression can take in this state: the wanted one if possible.
    fn choose(&self, expr: Expr, state: &State, wanted: Option<bool>) -> bool {
        let read = |place: Place| -> Result<bool, Var> { Ok(read(state, place.var)) };
        let values = eval(self.task.program.exprs.ops(expr), read).unwrap_or(Values::EITHER);
        match wanted {
            Some(true) if values.can_hold => true,
            Some(false) if values.can_fail => false,
            _ => !values.can_fail,
        }
    }
}

fn read(state: &State, var: Var) -> bool {
    match var {
        Var::Global(i) => state.globals.get(i),
        Var::Local(i) => state.locals.get(i),
    }
}

fn write(state: &mut State, var: Var, value: bool) {
    match var {
        Var::Global(i) => state.globals.0[i as usize] = value,
        Var::Local(i) => state.locals.0[i as usize] = value,
    }
}
