//! Calls: what goes into a callee, and what a summary makes of a call.
//!
//! A summary relates the callee's inputs to its outputs, under the names that they have at a call: globals are
//! current before it and next after it, parameters and return values are next values of the callee's slots. The
//! callers use these slots for their own locals, but never their next values at a call.

use super::diagrams::{Diagram, Diagrams, Outcome, Renaming, Variable};
use super::frames::Input;
use super::steps::Space;
use crate::model::{Call, Edge, ProcId, Procedure, Var};

/// A call edge.
pub(super) struct Site {
    pub callee: ProcId,
    /// Relates the caller's state to the parameters that count.
    pub args: Diagram,
    /// What of the caller's state the callee does not see.
    hidden: Diagram,
    entering: Option<Renaming>,
    params: Diagram,
    written: Diagram,
    returning: Option<Renaming>,
    after: Diagram,
    dead: Diagram,
    /// Where the state after a return comes from: current variables of the caller, and what they are called in
    /// the summary.
    pub returned: Vec<(Variable, Variable)>,
    /// Globals that the call assigns, and the variables that take return values.
    assigned: Vec<Var>,
}

impl Site {
    /// The call along an edge.
    pub fn of(space: &Space<'_>, caller: ProcId, edge: &Edge, call: &Call) -> Outcome<Self> {
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

    /// The inputs with which the callee is entered, as its current values.
    pub fn enter(&self, from: &Diagram, diagrams: &Diagrams) -> Outcome<Diagram> {
        let passed = diagrams.and_exists(from, &self.args, &self.hidden)?;
        diagrams.rename(&passed, self.entering.as_ref())
    }

    /// The states after the call, by one summary.
    pub fn image(&self, from: &Diagram, summary: &Diagram, diagrams: &Diagrams) -> Outcome<Diagram> {
        let body = diagrams.and_exists(&self.args, summary, &self.params)?;
        let moved = diagrams.and_exists(from, &body, &self.written)?;
        let renamed = diagrams.rename(&moved, self.returning.as_ref())?;
        diagrams.and_exists(&renamed, &self.after, &self.dead)
    }
}

/// The two ends of a procedure.
pub(super) struct Gate {
    /// At the entry, inputs are what they are now, and `enforce` holds.
    pub entry: Diagram,
    /// What callers do not see at the exit.
    hidden: Diagram,
    renaming: Option<Renaming>,
}

impl Gate {
    pub fn of(space: &Space<'_>, procedure: ProcId) -> Outcome<Self> {
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

    /// The part of a summary that path edges at the exit stand for.
    pub fn summary(&self, exits: &Diagram, diagrams: &Diagrams) -> Outcome<Diagram> {
        let seen = diagrams.exists(exits, &self.hidden)?;
        diagrams.rename(&seen, self.renaming.as_ref())
    }
}
