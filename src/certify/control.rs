//! Checks a proof of safety that looks at control flow alone.

use super::values::{self, Answer};
use super::{Forbidden, Stop, poll, reject};
use crate::budget::Budget;
use crate::model::{Action, Node, ProcId, Procedure, Property, Task};

/// Checks that control can reach no forbidden label and no assertion that could fail, whatever the values of
/// variables. Every edge counts as possible, every call as returning, and every thread as able to start.
pub(super) fn check(task: &Task, budget: &Budget) -> Result<(), Stop> {
    let program = &task.program;
    let forbidden = Forbidden::of(task);
    let mut seen: Vec<Vec<bool>> = program.procedures.iter().map(|p| vec![false; p.nodes as usize]).collect();
    let mut work: Vec<(ProcId, Node)> = vec![(program.start, Procedure::ENTRY)];
    while let Some((id, node)) = work.pop() {
        if std::mem::replace(&mut seen[id.index()][node.index()], true) {
            continue;
        }
        poll(budget)?;
        let procedure = program.procedure(id);
        if forbidden.contains(id, node) {
            return reject(format!("control may reach the label at {node} of `{}`", procedure.name));
        }
        for (edge_id, edge) in procedure.edges_from(node) {
            match &edge.action {
                Action::EndThread => continue,
                Action::Assert(condition) if task.property == Property::Assertions => {
                    let values = values::evaluate(program.exprs.ops(*condition), Err)?;
                    if values.can_be_false != Answer::No {
                        let name = &procedure.name;
                        return reject(format!("control may reach the assertion {edge_id} of `{name}`"));
                    }
                }
                Action::Call(call) | Action::Spawn(call) => work.push((call.callee, Procedure::ENTRY)),
                Action::Fork(at) => work.push((id, *at)),
                Action::Skip
                | Action::Assume(_)
                | Action::Assert(_)
                | Action::Assign(_)
                | Action::AtomicBegin
                | Action::AtomicEnd => {}
            }
            work.push((id, edge.to));
        }
    }
    Ok(())
}
