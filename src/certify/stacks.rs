//! Rules about the stacks of threads that replay and proofs share.

use super::{Stop, reject};
use crate::model::{Action, Call, Edge, Node, ProcId, Procedure, Program};

/// The call at a node, if the only edge that leaves the node is a call. A frame there is waiting for this call's
/// return if another frame is above it.
pub(super) fn pending_call(procedure: &Procedure, node: Node) -> Option<(&Call, &Edge)> {
    let mut edges = procedure.edges_from(node);
    match (edges.next(), edges.next()) {
        (Some((_, edge)), None) => match &edge.action {
            Action::Call(call) => Some((call, edge)),
            _ => None,
        },
        _ => None,
    }
}

/// Checks the control part of a stack: that its nodes exist, that every frame but the topmost waits for the one above
/// it, and that the thread has not ended.
pub(super) fn check_stack(program: &Program, stack: &[(ProcId, Node)]) -> Result<(), Stop> {
    let Some(&(_, top)) = stack.last() else { return reject("its stack is empty") };
    for (id, node) in stack {
        match program.procedures.get(id.index()) {
            None => return reject(format!("there is no procedure {id}")),
            Some(procedure) if node.index() >= procedure.nodes as usize => {
                return reject(format!("`{}` has no node {node}", procedure.name));
            }
            Some(_) => {}
        }
    }
    for pair in stack.windows(2) {
        let (id, node) = pair[0];
        let procedure = program.procedure(id);
        if pending_call(procedure, node).is_none_or(|(call, _)| call.callee != pair[1].0) {
            let name = &procedure.name;
            return reject(format!("at {node}, `{name}` does not wait for the frame above it"));
        }
    }
    if stack.len() == 1 && top == Procedure::EXIT {
        return reject("it is at the exit of its only frame, so it has ended");
    }
    Ok(())
}

/// Whether a living thread that made a step in the prologue holds the system after it, which it does as long as it is
/// in the prologue. `None` if it was not in the prologue. The arguments are the procedures at the bottom of its stack
/// before and after the step.
pub(super) fn holds_by_prologue(program: &Program, before: ProcId, after: ProcId) -> Option<bool> {
    program.is_prologue(before).then(|| program.is_prologue(after))
}

/// Whether a living thread that made a step outside of the prologue holds the system after it. `action` is `None` for
/// a return, `held` tells whether it held the system before, and `flag` is the value of the Getafix global before and
/// after. The rule is stated in the documentation of [`crate::certify`].
pub(super) fn holds_after(action: Option<&Action>, held: bool, flag: Option<(bool, bool)>) -> bool {
    match (action, flag) {
        (Some(Action::AtomicBegin), _) | (_, Some((_, true))) => true,
        (Some(Action::AtomicEnd), _) | (_, Some((true, false))) => false,
        (_, None | Some((false, false))) => held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_follows_the_rule() {
        let actions = [Some(Action::AtomicBegin), Some(Action::AtomicEnd), Some(Action::Skip), None];
        for action in &actions {
            let begins = matches!(action, Some(Action::AtomicBegin));
            let ends = matches!(action, Some(Action::AtomicEnd));
            for held in [false, true] {
                let without = holds_after(action.as_ref(), held, None);
                assert_eq!(without, begins || held && !ends);
                for (before, after) in [(false, false), (false, true), (true, false), (true, true)] {
                    let with = holds_after(action.as_ref(), held, Some((before, after)));
                    assert_eq!(with, after || begins || held && !before && !ends);
                }
            }
        }
    }
}
