//! Which variables the relations of a procedure contain.
//!
//! A path edge of a procedure relates its entry state to its current state. Variables that a relation does not need
//! are left out, since every variable costs nodes in every relation:
//! - *Globals that neither the procedure nor its callees mention* are not in its relations at all. A call leaves
//!   them unchanged.
//! - *Constants*, that is, globals and parameters that neither the procedure nor its callees assign, have one
//!   variable, the current one, for both states.
//! - *Dead variables* have no current value. A variable that is dead at the entry has no entry value either.
//! - *A procedure that is never called* needs no entry values, because its summaries are not used.

use crate::model::live::Live;
use crate::model::{Action, Node, ProcId, Procedure, Program, Task, Var};

use super::diagrams::Variable;
use super::order::Order;

/// A variable whose value at the entry of a procedure matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub var: Var,
    /// Whether the variable is never assigned.
    pub is_constant: bool,
}

/// The variables of one procedure.
#[derive(Debug)]
pub(super) struct Frame {
    /// Whether some procedure calls it.
    pub is_called: bool,
    /// The globals that it or its callees mention, and its locals; each with a flag that says whether it is a
    /// constant.
    scope: Vec<(Var, bool)>,
    /// The globals and parameters whose value at the entry matters; empty if the procedure is never called.
    pub inputs: Vec<Input>,
    /// Globals that it or its callees may assign.
    pub modified: Vec<u32>,
}

/// The variables of all procedures.
#[derive(Debug)]
pub(super) struct Frames<'a> {
    pub task: &'a Task,
    pub order: Order,
    live: Live,
    procedures: Vec<Frame>,
}

impl<'a> Frames<'a> {
    pub fn of(task: &'a Task) -> Self {
        let program = &task.program;
        let live = Live::of(task);
        let mut is_called = vec![false; program.procedures.len()];
        for edge in program.procedures.iter().flat_map(|procedure| &procedure.edges) {
            if let Action::Call(call) = &edge.action {
                is_called[call.callee.index()] = true;
            }
        }
        let procedures = program.procedure_ids().zip(is_called);
        let procedures = procedures.map(|(id, is_called)| Frame::of(program, id, is_called, &live)).collect();
        Self { task, order: Order::of(program), live, procedures }
    }

    pub fn of_procedure(&self, procedure: ProcId) -> &Frame {
        &self.procedures[procedure.index()]
    }

    pub fn procedure(&self, procedure: ProcId) -> &'a Procedure {
        self.task.program.procedure(procedure)
    }

    /// Whether relations at a node contain the current value of a variable that is assigned somewhere.
    pub fn is_live(&self, procedure: ProcId, node: Node, var: Var) -> bool {
        self.live.is_live(procedure, node, var)
    }

    /// The variables whose current values the relations at a node contain.
    pub fn known(&self, procedure: ProcId, node: Node) -> impl Iterator<Item = Var> + '_ {
        let scope = self.procedures[procedure.index()].scope.iter();
        scope
            .filter(move |(var, constant)| *constant || self.live.is_live(procedure, node, *var))
            .map(|s| s.0)
    }

    /// The variables of the diagrams for the entry values of inputs that are not constants.
    pub fn entries(&self, procedure: ProcId) -> impl Iterator<Item = Variable> + '_ {
        let inputs = self.procedures[procedure.index()].inputs.iter();
        inputs.filter(|input| !input.is_constant).map(move |input| self.order.entry(procedure, input.var))
    }

    /// All variables of the diagrams that relations at a node contain.
    pub fn support(&self, procedure: ProcId, node: Node) -> impl Iterator<Item = Variable> + '_ {
        let now = self.known(procedure, node).map(move |var| self.order.now(procedure, var));
        self.entries(procedure).chain(now)
    }

    /// The part of a relation at the exit that callers see, as pairs of a variable at the exit and the variable for
    /// it in a summary. Globals use current variables before the call and next variables after it. Parameters and
    /// return values use next variables of the callee's slots, which are free at a call.
    pub fn interface(&self, procedure: ProcId) -> Vec<(Variable, Variable)> {
        let frame = &self.procedures[procedure.index()];
        let order = &self.order;
        let mut pairs = Vec::new();
        for &Input { var, is_constant } in &frame.inputs {
            let inside = if is_constant { order.now(procedure, var) } else { order.entry(procedure, var) };
            let outside = match var {
                Var::Global(_) => order.now(procedure, var),
                Var::Local(_) => order.next(procedure, var),
            };
            pairs.push((inside, outside));
        }
        for var in self.outputs(procedure) {
            pairs.push((order.now(procedure, var), order.next(procedure, var)));
        }
        pairs
    }

    /// The assigned globals and the return values that are live at the exit.
    pub fn outputs(&self, procedure: ProcId) -> impl Iterator<Item = Var> + '_ {
        let code = self.procedure(procedure);
        let globals = self.procedures[procedure.index()].modified.iter().map(|&global| Var::Global(global));
        let returns = (code.first_return()..code.locals.len() as u32).map(Var::Local);
        globals.chain(returns).filter(move |&var| self.live.is_live(procedure, Procedure::EXIT, var))
    }
}

impl Frame {
    fn of(program: &Program, id: ProcId, is_called: bool, live: &Live) -> Self {
        let procedure = program.procedure(id);
        let facts = live.mod_ref();
        let (modified, mentioned) = (facts.may_modify(id), facts.may_reference(id));
        let mut is_assigned = vec![false; procedure.locals.len()];
        let mut assign = |var: Var| {
            if let Var::Local(i) = var {
                is_assigned[i as usize] = true;
            }
        };
        for edge in &procedure.edges {
            match &edge.action {
                Action::Assign(code) => {
                    let own = code.pairs.iter().filter(|(target, _)| !target.passive);
                    own.for_each(|(target, _)| assign(target.var));
                }
                Action::Call(call) => call.targets.iter().flatten().for_each(|&var| assign(var)),
                _ => {}
            }
        }
        let constant = |var: Var| match var {
            Var::Global(i) => !modified.contains(i),
            Var::Local(i) => i < procedure.params && !is_assigned[i as usize],
        };
        let globals =
            (0..program.globals.len() as u32).filter(|&i| modified.contains(i) || mentioned.contains(i));
        let locals = (0..procedure.locals.len() as u32).map(Var::Local);
        let is_interface = |var: Var| match var {
            Var::Global(_) => true,
            Var::Local(i) => i < procedure.params,
        };
        let mut scope = Vec::new();
        let mut inputs = Vec::new();
        for var in globals.map(Var::Global).chain(locals) {
            let is_input = is_called && is_interface(var) && live.is_live(id, Procedure::ENTRY, var);
            let is_constant = is_input && constant(var);
            scope.push((var, is_constant));
            if is_input {
                inputs.push(Input { var, is_constant });
            }
        }
        Self { is_called, scope, inputs, modified: modified.iter().collect() }
    }
}
