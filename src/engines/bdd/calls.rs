//! Calls as relations: how a callee is entered, and how a summary is applied at a call.
//!
//! A summary relates the inputs of a callee to its outputs, over the variables that they have at a call: globals
//! use current variables before the call and next variables after it; parameters and return values use the next
//! variables of the callee's slots. Callers use the same slots for their own locals, but never the next variables
//! at a call.

use super::diagrams::{Diagram, DiagramResult, Diagrams, Renaming, Variable};
use super::frames::Input;
use super::steps::Space;
use crate::model::{Call, Edge, ProcId, Procedure, Var};

/// A call edge.
pub(super) struct Site {
    pub callee: ProcId,
    /// The relation between the caller's state and the parameters that matter.
    pub args: Diagram,
    /// The variables of the caller's state that the callee does not see.
    hidden: Diagram,
    entering: Option<Renaming>,
    params: Diagram,
    written: Diagram,
    returning: Option<Renaming>,
    after: Diagram,
    dead: Diagram,
    /// The origin of the state after a return: pairs of a current variable of the caller and the variable of the
    /// summary that gives its value.
    pub returned: Vec<(Variable, Variable)>,
    /// The globals that the call may assign, and the variables that take return values.
    assigned: Vec<Var>,
}

impl Site {
    /// The call along an edge.
    pub fn of(space: &Space<'_>, caller: ProcId, edge: &Edge, call: &Call) -> DiagramResult<Self> {
        let Space { frames, diagrams } = space;
        let order = &frames.order;
        let callee = call.callee;
        let inputs = &frames.of_procedure(callee).inputs;
        let mut args = diagrams.truth();
        let (mut params, mut entering, mut passed) = (Vec::new(), Vec::new(), Vec::new());
        for Input { var, .. } in inputs {
            match *var {
                Var::Global(_) => passed.push(order.now(caller, *var)),
                Var::Local(param) => {
                    let next = order.next(callee, *var);
                    let value = space.values(caller, call.args[param as usize])?;
                    args = diagrams.and(&args, &value.taken_by(next, diagrams)?)?;
                    params.push(next);
                    entering.push((next, order.now(callee, *var)));
                }
            }
        }
        passed.sort_unstable();
        let hidden = frames.support(caller, edge.from).filter(|var| passed.binary_search(var).is_err());
        let hidden = diagrams.cube(hidden)?;

        let modified = frames.of_procedure(callee).modified.iter().map(|&global| Var::Global(global));
        let mut assigned: Vec<Var> = modified.chain(call.targets.iter().flatten().copied()).collect();
        assigned.sort_unstable();
        assigned.dedup();
        let first_return = frames.procedure(callee).first_return();
        let target_of = |var: Var| match var {
            Var::Global(_) if call.targets.contains(&Some(var)) => None,
            Var::Global(_) => Some(var),
            Var::Local(slot) => call.targets.get((slot - first_return) as usize).copied().flatten(),
        };
        let mut written: Vec<Variable> = assigned.iter().map(|&var| order.now(caller, var)).collect();
        let mut returned = Vec::new();
        for output in frames.outputs(callee) {
            let next = order.next(callee, output);
            match target_of(output) {
                Some(var) if frames.is_live(caller, edge.to, var) => {
                    returned.push((order.now(caller, var), next));
                }
                _ => written.push(next),
            }
        }
        let renamed: Vec<(Variable, Variable)> = returned.iter().map(|&(now, next)| (next, now)).collect();
        let is_assigned = |var: Var| assigned.binary_search(&var).is_ok();
        Ok(Self {
            callee,
            args,
            hidden,
            entering: diagrams.renaming(&entering),
            params: diagrams.cube(params)?,
            written: diagrams.cube(written)?,
            returning: diagrams.renaming(&renamed),
            after: space.enforced(caller)?,
            dead: space.dying(caller, edge.from, edge.to, is_assigned)?,
            returned,
            assigned,
        })
    }

    /// Whether the call may change a variable of the caller.
    pub fn assigns(&self, var: Var) -> bool {
        self.assigned.binary_search(&var).is_ok()
    }

    /// The inputs with which the callee is entered, as current values of the callee.
    pub fn enter(&self, from: &Diagram, diagrams: &Diagrams) -> DiagramResult<Diagram> {
        let passed = diagrams.and_exists(from, &self.args, &self.hidden)?;
        diagrams.rename(&passed, self.entering.as_ref())
    }

    /// The states after the call according to one summary.
    pub fn image(&self, from: &Diagram, summary: &Diagram, diagrams: &Diagrams) -> DiagramResult<Diagram> {
        let body = diagrams.and_exists(&self.args, summary, &self.params)?;
        let moved = diagrams.and_exists(from, &body, &self.written)?;
        let renamed = diagrams.rename(&moved, self.returning.as_ref())?;
        diagrams.and_exists(&renamed, &self.after, &self.dead)
    }
}

/// The entry and the exit of a procedure, as relations.
pub(super) struct ProcedureEnds {
    /// The relation at the entry: current values equal entry values, and `enforce` holds.
    pub entry: Diagram,
    /// The variables at the exit that callers do not see.
    hidden: Diagram,
    renaming: Option<Renaming>,
}

impl ProcedureEnds {
    pub fn of(space: &Space<'_>, procedure: ProcId) -> DiagramResult<Self> {
        let Space { frames, diagrams } = space;
        let mut entry = diagrams.truth();
        let mut pairs: Vec<(Variable, Variable)> = frames
            .of_procedure(procedure)
            .inputs
            .iter()
            .filter(|input| !input.is_constant)
            .map(|input| (frames.order.entry(procedure, input.var), frames.order.now(procedure, input.var)))
            .collect();
        pairs.sort_unstable();
        for &(then, now) in pairs.iter().rev() {
            let same = diagrams.equal(&diagrams.variable(then), &diagrams.variable(now))?;
            entry = diagrams.and(&same, &entry)?;
        }
        let interface = frames.interface(procedure);
        let mut seen: Vec<Variable> = interface.iter().map(|pair| pair.0).collect();
        seen.sort_unstable();
        let hidden =
            frames.support(procedure, Procedure::EXIT).filter(|var| seen.binary_search(var).is_err());
        let renamed: Vec<_> = interface.into_iter().filter(|(inside, outside)| inside != outside).collect();
        Ok(Self {
            entry: diagrams.and(&entry, &space.enforced(procedure)?)?,
            hidden: diagrams.cube(hidden)?,
            renaming: diagrams.renaming(&renamed),
        })
    }

    /// The part of the summary that is given by these path edges at the exit.
    pub fn summary(&self, exits: &Diagram, diagrams: &Diagrams) -> DiagramResult<Diagram> {
        let seen = diagrams.exists(exits, &self.hidden)?;
        diagrams.rename(&seen, self.renaming.as_ref())
    }
}
