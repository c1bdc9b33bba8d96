//! The call graph, divided into components of mutually recursive procedures, callees first.

use crate::model::{Action, ProcId, Procedure, Program};

/// The strongly connected components of the part of the call graph that the start procedure can reach, or a thread that is
/// started there.
#[derive(Debug)]
pub struct CallGraph {
    /// The components, callees first. The procedures of one component call each other, directly or through others.
    pub components: Vec<Vec<ProcId>>,
    component_of: Vec<Option<u32>>,
    calls_itself: Vec<bool>,
}

/// The procedures that a procedure calls.
pub fn callees(procedure: &Procedure) -> impl Iterator<Item = ProcId> + '_ {
    procedure.edges.iter().filter_map(|edge| match &edge.action {
        Action::Call(call) => Some(call.callee),
        _ => None,
    })
}

/// The procedures that new threads of a procedure begin with.
fn started(procedure: &Procedure) -> impl Iterator<Item = ProcId> + '_ {
    procedure.edges.iter().filter_map(|edge| match &edge.action {
        Action::Spawn(call) => Some(call.callee),
        _ => None,
    })
}

impl CallGraph {
    /// Finds the components by Tarjan's algorithm, without recursion.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        const NEW: u32 = u32::MAX;
        let count = program.procedures.len();
        let targets: Vec<Vec<ProcId>> = program.procedures.iter().map(|p| callees(p).collect()).collect();
        let mut number = vec![NEW; count];
        let mut low = vec![0_u32; count];
        let mut component_of = vec![None; count];
        let mut components: Vec<Vec<ProcId>> = Vec::new();
        let mut open: Vec<ProcId> = Vec::new();
        let mut next = 0;
        // To start a thread is no call: its first procedure is a new root.
        let mut roots = vec![program.start];
        let mut stack: Vec<(ProcId, usize)> = Vec::new();
        loop {
            if stack.is_empty() {
                let Some(root) = roots.pop() else { break };
                if number[root.index()] == NEW {
                    stack.push((root, 0));
                }
            }
            let Some((id, position)) = stack.last_mut() else { continue };
            let id = *id;
            if *position == 0 && number[id.index()] == NEW {
                number[id.index()] = next;
                low[id.index()] = next;
                next += 1;
                open.push(id);
                roots.extend(started(program.procedure(id)));
            }
            if let Some(&callee) = targets[id.index()].get(*position) {
                *position += 1;
                if number[callee.index()] == NEW {
                    stack.push((callee, 0));
                } else if component_of[callee.index()].is_none() {
                    low[id.index()] = low[id.index()].min(number[callee.index()]);
                }
                continue;
            }
            stack.pop();
            if let Some(&(caller, _)) = stack.last() {
                low[caller.index()] = low[caller.index()].min(low[id.index()]);
            }
            if low[id.index()] == number[id.index()] {
                let first = open.iter().rposition(|&other| other == id).unwrap_or(0);
                let component: Vec<ProcId> = open.split_off(first);
                for member in &component {
                    component_of[member.index()] = Some(components.len() as u32);
                }
                components.push(component);
            }
        }
        let calls_itself =
            targets.iter().enumerate().map(|(i, t)| t.contains(&ProcId::from_index(i))).collect();
        Self { components, component_of, calls_itself }
    }

    /// The position of a procedure's component. A callee has a smaller one than its caller, unless both are in the
    /// same component.
    #[must_use]
    pub fn rank(&self, procedure: ProcId) -> usize {
        self.component_of[procedure.index()].map_or(usize::MAX, |position| position as usize)
    }

    /// Whether a procedure can call itself, directly or through others.
    #[must_use]
    pub fn is_recursive(&self, procedure: ProcId) -> bool {
        self.calls_itself[procedure.index()]
            || self.components.get(self.rank(procedure)).is_some_and(|component| component.len() > 1)
    }
}
