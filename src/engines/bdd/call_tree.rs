//! Turns outlines into a call tree with all values, which can be replayed.
//!
//! An outline fixes what the search distinguished: the values of live variables, and the assigned values that
//! matter. Here each run is built from its entry on with values for all variables. A variable that the outline
//! leaves open keeps its value; if it is assigned, it takes a value that its right side allows. Runs with the same
//! outline and the same entry are the same run.

use rustc_hash::FxHashMap;

use super::diagrams::{DiagramResult, Stop};
use super::steps::Space;
use super::walk_back::{Facts, Outline, OutlineId, OutlineStep, OutlinedRun};
use crate::budget::Budget;
use crate::evidence::trace::{CallTree, End, Run, RunId, State, Step, Valuation, Violation};
use crate::model::eval::eval;
use crate::model::{Action, Call, EdgeId, Expr, Place, ProcId, Var};

/// Builds the call tree of a run to a violation.
pub(super) fn build(
    space: &Space<'_>,
    run: &OutlinedRun,
    violation: Violation,
    budget: &Budget,
) -> DiagramResult<CallTree> {
    let mut builder =
        Builder { space, budget, outlines: &run.outlines, runs: Vec::new(), built: FxHashMap::default() };
    // This goes from the start procedure inwards.
    let mut unfinished: Vec<(UnfinishedRun<'_>, Option<EdgeId>)> = Vec::new();
    for (outline, edge) in run.levels.iter().rev() {
        let entry = match (unfinished.last(), edge) {
            (Some((caller, _)), Some(edge)) => {
                builder.entry_of_call(caller.outline.procedure, &caller.state, *edge, outline)
            }
            _ => builder.first_entry(outline),
        };
        let mut open = UnfinishedRun::new(outline, None, entry);
        builder.finish(&mut open)?;
        unfinished.push((open, *edge));
    }
    let mut end = End::Violation(violation);
    while let Some((open, edge)) = unfinished.pop() {
        let finished = builder.push(open, end);
        if let Some(edge) = edge {
            end = End::Inside { edge, run: finished };
        }
    }
    Ok(CallTree { runs: builder.runs })
}

/// A run that is being built.
struct UnfinishedRun<'a> {
    outline: &'a Outline,
    /// The outline's number, if the run returns.
    id: Option<OutlineId>,
    entry: State,
    state: State,
    steps: Vec<Step>,
}

impl<'a> UnfinishedRun<'a> {
    fn new(outline: &'a Outline, id: Option<OutlineId>, entry: State) -> Self {
        Self { outline, id, state: entry.clone(), entry, steps: Vec::new() }
    }
}

struct Builder<'a> {
    space: &'a Space<'a>,
    budget: &'a Budget,
    outlines: &'a [Outline],
    runs: Vec<Run>,
    /// The finished runs by outline and entry, each with its state at the exit.
    built: FxHashMap<(OutlineId, State), (RunId, State)>,
}

impl<'a> Builder<'a> {
    fn push(&mut self, open: UnfinishedRun<'_>, end: End) -> RunId {
        let id = RunId::from_index(self.runs.len());
        self.runs.push(Run { procedure: open.outline.procedure, entry: open.entry, steps: open.steps, end });
        id
    }

    /// Builds a run to the end of its outline, and the runs that it calls.
    fn finish(&mut self, run: &mut UnfinishedRun<'a>) -> DiagramResult<()> {
        let mut callees: Vec<UnfinishedRun<'a>> = Vec::new();
        loop {
            if let Some(reason) = self.budget.exhausted() {
                return Err(Stop::Budget(reason));
            }
            let top = callees.last_mut().unwrap_or(run);
            if let Some(taken) = top.outline.steps.get(top.steps.len()) {
                if let Some(callee) = self.advance(top, taken) {
                    callees.push(callee);
                }
                continue;
            }
            let Some(done) = callees.pop() else { return Ok(()) };
            if let Some(id) = done.id {
                let (key, exit) = ((id, done.entry.clone()), done.state.clone());
                let run = self.push(done, End::Exit);
                self.built.insert(key, (run, exit));
            }
        }
    }

    /// Takes the next step of a run, or returns the callee's run that must be built first.
    fn advance(&self, run: &mut UnfinishedRun<'a>, taken: &OutlineStep) -> Option<UnfinishedRun<'a>> {
        let procedure = run.outline.procedure;
        let mut after = run.state.clone();
        let mut callee_run = None;
        match &self.space.frames.procedure(procedure).edge(taken.edge).action {
            Action::Assign(assign) => {
                for (target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
                    let counts = taken.values.binary_search_by_key(&target.var, |(var, _)| *var);
                    *slot(&mut after, target.var) = match counts {
                        Ok(position) => taken.values[position].1,
                        Err(_) => self.some_value(*value, &run.state),
                    };
                }
            }
            Action::Call(call) => {
                let id = taken.call.expect("a call has the outline of its callee");
                let outline = &self.outlines[id.index()];
                let entry = self.entry_of_call(procedure, &run.state, taken.edge, outline);
                let key = (id, entry);
                let Some((built, exit)) = self.built.get(&key) else {
                    return Some(UnfinishedRun::new(outline, Some(id), key.1));
                };
                after.globals.clone_from(&exit.globals);
                let first = self.space.frames.procedure(call.callee).first_return();
                for (returned, target) in (first..).zip(&call.targets) {
                    if let Some(var) = *target {
                        *slot(&mut after, var) = exit.locals.get(returned);
                    }
                }
                callee_run = Some(*built);
            }
            _ => {}
        }
        run.state.clone_from(&after);
        run.steps.push(Step { edge: taken.edge, call: callee_run, after });
        None
    }

    /// A value that an expression can take.
    fn some_value(&self, expr: Expr, state: &State) -> bool {
        let read = |place: Place| match place.var {
            Var::Global(i) => Ok::<bool, ()>(state.globals.get(i)),
            Var::Local(i) => Ok(state.locals.get(i)),
        };
        let values = eval(self.space.frames.task.program.exprs.ops(expr), read);
        values.is_ok_and(|values| !values.can_fail)
    }

    fn locals(&self, outline: &Outline) -> Valuation {
        let count = self.space.frames.procedure(outline.procedure).locals.len() as u32;
        Valuation((0..count).map(|i| self.fact(outline, Var::Local(i)).unwrap_or(false)).collect())
    }

    fn fact(&self, outline: &Outline, var: Var) -> Option<bool> {
        let facts: &Facts = &outline.entry;
        facts.get(&self.space.frames.order.now(outline.procedure, var)).copied()
    }

    /// The state in which the program begins.
    fn first_entry(&self, outline: &Outline) -> State {
        let count = self.space.frames.task.program.globals.len() as u32;
        let globals = (0..count).map(|i| self.fact(outline, Var::Global(i)).unwrap_or(false)).collect();
        State { globals: Valuation(globals), locals: self.locals(outline) }
    }

    /// The state in which a callee begins.
    fn entry_of_call(&self, caller: ProcId, state: &State, edge: EdgeId, outline: &Outline) -> State {
        let mut locals = self.locals(outline);
        if let Action::Call(call) = &self.space.frames.procedure(caller).edge(edge).action {
            let call: &Call = call;
            for (param, arg) in (0_u32..).zip(&call.args) {
                if self.fact(outline, Var::Local(param)).is_none() {
                    locals.0[param as usize] = self.some_value(*arg, state);
                }
            }
        }
        State { globals: state.globals.clone(), locals }
    }
}

fn slot(state: &mut State, var: Var) -> &mut bool {
    match var {
        Var::Global(i) => &mut state.globals.0[i as usize],
        Var::Local(i) => &mut state.locals.0[i as usize],
    }
}
