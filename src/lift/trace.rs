//! Lifts runs of the reduced program to runs of the original one.
//!
//! The original edges are executed from the entry on. Where a value can be chosen, the value in the reduced program
//! or the known value is taken; if there is none, because the variable was removed or is dead, any possible value is
//! taken. Original nodes that control only passes through are left by an edge that can be taken.
//!
//! A run is lifted once for every state in which it is entered. So a shared call tree stays shared as far as the
//! removed variables allow: two calls that are equal in the reduced program may differ in them. Pending calls are
//! kept on an explicit list, so nesting costs no stack.

use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::evidence::Reason;
use crate::evidence::trace::{CallTree, End, Run, RunId, State, Step, Valuation, Violation};
use crate::model::eval::{Values, eval};
use crate::model::reduce::{ProcedureMap, Restore};
use crate::model::{Action, Assign, Call, EdgeId, Expr, Node, Place, ProcId, Procedure, Program, Var};

/// Lifts a call tree.
///
/// # Errors
/// If the budget is used up.
pub(super) fn lift(restore: &Restore<'_>, tree: &CallTree, budget: &Budget) -> Result<CallTree, Reason> {
    let program = &restore.original.program;
    let inverse = |count: usize, kept: &[u32]| {
        let mut inverse = vec![None; count];
        (0..).zip(kept).for_each(|(new, &old)| inverse[old as usize] = Some(new));
        inverse
    };
    let locals = |map: &ProcedureMap| inverse(program.procedure(map.original).locals.len(), &map.locals);
    let mut lifting = Lifting {
        restore,
        program,
        tree,
        globals: inverse(program.globals.len(), &restore.map.globals),
        locals: restore.map.procedures.iter().map(locals).collect(),
        runs: Vec::new(),
        done: FxHashMap::default(),
    };
    lifting.run(budget)?;
    Ok(CallTree { runs: lifting.runs })
}

struct Lifting<'a> {
    restore: &'a Restore<'a>,
    program: &'a Program,
    tree: &'a CallTree,
    /// The reduced number of each original global, if it was kept.
    globals: Vec<Option<u32>>,
    /// For each reduced procedure, the reduced number of each original local, if it was kept.
    locals: Vec<Vec<Option<u32>>>,
    runs: Vec<Run>,
    /// The lifted runs, by reduced run and entry state.
    done: FxHashMap<(RunId, State), RunId>,
}

/// A run that is being lifted.
struct Frame {
    /// The run of the reduced program.
    run: RunId,
    /// The original procedure.
    procedure: ProcId,
    entry: State,
    /// The current node of the original program.
    node: Node,
    state: State,
    steps: Vec<Step>,
    /// The number of steps of the reduced run that have been lifted.
    made: usize,
}

impl Lifting<'_> {
    fn run(&mut self, budget: &Budget) -> Result<(), Reason> {
        let Some(last) = self.tree.runs.len().checked_sub(1).map(RunId::from_index) else {
            return Ok(());
        };
        let start = self.original(self.tree.run(last));
        let globals = (0..self.program.globals.len() as u32)
            .map(|i| self.wanted(last, start, Var::Global(i)).unwrap_or_default())
            .collect();
        let params = self.program.procedure(start).params;
        let mut waiting = vec![self.frame(last, Valuation(globals), &vec![Values::EITHER; params as usize])];
        while let Some(mut frame) = waiting.pop() {
            if let Some(reason) = budget.exhausted() {
                return Err(reason);
            }
            match self.advance(&mut frame) {
                Ok(end) => {
                    let id = RunId::from_index(self.runs.len());
                    let Frame { run, procedure, entry, steps, .. } = frame;
                    self.done.insert((run, entry.clone()), id);
                    self.runs.push(Run { procedure, entry, steps, end });
                }
                Err(callee) => waiting.extend([frame, *callee]),
            }
        }
        Ok(())
    }

    /// Continues a run to its end, or up to a call whose run must be lifted first.
    fn advance(&mut self, frame: &mut Frame) -> Result<End, Box<Frame>> {
        let run = self.tree.run(frame.run);
        let ways = &self.restore.map.procedures[run.procedure.index()].edges;
        loop {
            self.pass_through(frame);
            let Some(step) = run.steps.get(frame.made) else { break };
            let edge = self.possible(frame, &ways[step.edge.index()]);
            let call = match &self.program.procedure(frame.procedure).edge(edge).action {
                Action::Call(call) => {
                    let callee = step.call.unwrap_or(frame.run);
                    let id = self.called(frame, call, callee)?;
                    self.leave(frame, call, id);
                    Some(id)
                }
                _ => None,
            };
            self.take(frame, edge, call, Some(&step.after));
            frame.made += 1;
        }
        Ok(match run.end {
            End::Exit => End::Exit,
            End::Violation(Violation::Label) => End::Violation(Violation::Label),
            End::Violation(Violation::Assertion(edge)) => {
                End::Violation(Violation::Assertion(self.failing(frame, &ways[edge.index()])))
            }
            End::Inside { edge, run } => {
                let edge = ways[edge.index()][0];
                match &self.program.procedure(frame.procedure).edge(edge).action {
                    Action::Call(call) => End::Inside { edge, run: self.called(frame, call, run)? },
                    _ => End::Exit,
                }
            }
        })
    }

    /// Passes through the nodes that the reduced program does not have.
    fn pass_through(&self, frame: &mut Frame) {
        loop {
            let ways = &self.restore.map.through[frame.procedure.index()][frame.node.index()];
            if ways.is_empty() {
                return;
            }
            let edge = self.possible(frame, ways);
            self.take(frame, edge, None, None);
        }
    }

    /// One of several alternative edges that can be taken.
    fn possible(&self, frame: &Frame, ways: &[EdgeId]) -> EdgeId {
        let procedure = self.program.procedure(frame.procedure);
        let can_be_taken = |edge: &&EdgeId| match procedure.edge(**edge).action {
            Action::Assume(condition) | Action::Assert(condition) => {
                self.values(condition, &frame.state).can_hold
            }
            _ => true,
        };
        if ways.len() == 1 {
            return ways[0];
        }
        *ways.iter().find(can_be_taken).unwrap_or(&ways[0])
    }

    /// One of several alternative assertions that can fail.
    fn failing(&self, frame: &Frame, ways: &[EdgeId]) -> EdgeId {
        let procedure = self.program.procedure(frame.procedure);
        let can_fail = |edge: &&EdgeId| match procedure.edge(**edge).action {
            Action::Assert(condition) => self.values(condition, &frame.state).can_fail,
            _ => false,
        };
        *ways.iter().find(can_fail).unwrap_or(&ways[0])
    }

    /// Takes an edge. For a call, the frame already has the state after it.
    fn take(&self, frame: &mut Frame, edge: EdgeId, call: Option<RunId>, wanted: Option<&State>) {
        let step = self.program.procedure(frame.procedure).edge(edge);
        if let Action::Assign(assign) = &step.action {
            self.assign(frame, assign, step.to, wanted);
        }
        frame.node = step.to;
        frame.steps.push(Step { edge, call, after: frame.state.clone() });
    }

    fn assign(&self, frame: &mut Frame, assign: &Assign, to: Node, wanted: Option<&State>) {
        let reduced = self.tree.run(frame.run).procedure;
        let mut after = frame.state.clone();
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            let values = self.values(value, &frame.state);
            let wish = wanted.and_then(|state| self.reduced_value(reduced, state, target.var));
            let fact = self.restore.constants.known(frame.procedure, to, target.var);
            *write(&mut after, target.var) = choose(values, [wish, fact]);
        }
        frame.state = after;
    }

    /// The lifted run of a call, or the frame to be lifted first.
    fn called(&self, frame: &Frame, call: &Call, run: RunId) -> Result<RunId, Box<Frame>> {
        let args: Vec<Values> = call.args.iter().map(|&arg| self.values(arg, &frame.state)).collect();
        let callee = self.frame(run, frame.state.globals.clone(), &args);
        match self.done.get(&(run, callee.entry.clone())) {
            Some(&id) => Ok(id),
            None => Err(Box::new(callee)),
        }
    }

    /// Applies the effect of a call whose run was lifted.
    fn leave(&self, frame: &mut Frame, call: &Call, id: RunId) {
        let run = &self.runs[id.index()];
        let exit = run.steps.last().map_or(&run.entry, |step| &step.after);
        frame.state.globals.clone_from(&exit.globals);
        let slots = self.program.procedure(call.callee).first_return()..;
        for (slot, target) in slots.zip(&call.targets) {
            if let Some(var) = *target {
                *write(&mut frame.state, var) = exit.locals.get(slot);
            }
        }
    }

    /// A frame at the beginning of a run.
    fn frame(&self, run: RunId, globals: Valuation, params: &[Values]) -> Frame {
        let procedure = self.original(self.tree.run(run));
        let locals = (0..self.program.procedure(procedure).locals.len())
            .map(|i| {
                let values = params.get(i).copied().unwrap_or(Values::EITHER);
                choose(values, [self.wanted(run, procedure, Var::Local(i as u32)), None])
            })
            .collect();
        let entry = State { globals, locals: Valuation(locals) };
        Frame {
            run,
            procedure,
            node: Procedure::ENTRY,
            state: entry.clone(),
            entry,
            steps: Vec::new(),
            made: 0,
        }
    }

    fn original(&self, run: &Run) -> ProcId {
        self.restore.map.procedures[run.procedure.index()].original
    }

    /// The value that a variable should have at the entry of a run, if there is one.
    fn wanted(&self, run: RunId, procedure: ProcId, var: Var) -> Option<bool> {
        let run = self.tree.run(run);
        let value = self.reduced_value(run.procedure, &run.entry, var);
        value.or_else(|| self.restore.constants.known(procedure, Procedure::ENTRY, var))
    }

    /// The value of a variable in a state of the reduced program, if it has the variable.
    fn reduced_value(&self, reduced: ProcId, state: &State, var: Var) -> Option<bool> {
        match var {
            Var::Global(i) => self.globals[i as usize].map(|i| state.globals.get(i)),
            Var::Local(i) => self.locals[reduced.index()][i as usize].map(|i| state.locals.get(i)),
        }
    }

    fn values(&self, expr: Expr, state: &State) -> Values {
        let read = |place: Place| Ok::<bool, ()>(read(state, place.var));
        eval(self.program.exprs.ops(expr), read).unwrap_or(Values::EITHER)
    }
}

/// A possible value; one of the wishes, if it is possible.
fn choose(values: Values, wishes: [Option<bool>; 2]) -> bool {
    let possible = |value: &bool| if *value { values.can_hold } else { values.can_fail };
    wishes.into_iter().flatten().find(possible).unwrap_or(!values.can_fail)
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
