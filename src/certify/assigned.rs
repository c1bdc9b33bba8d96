//! The globals that a procedure may change, whatever the values of variables.
//!
//! Only edges that control may reach from the entry of their procedure are counted, under the assumptions that every
//! call returns and that a run ends when it reaches a forbidden label.

use super::encode::Model;
use super::{Stop, poll};
use crate::model::{Action, Edge, ProcId, Procedure, Var};

/// For every procedure, the set of globals that are assigned by it or by a procedure that it calls, directly or not.
pub(super) struct Assigned {
    /// One set for each procedure; a set is a bit vector with one bit for each global.
    sets: Vec<Vec<u64>>,
}

impl Assigned {
    pub fn of(model: &Model<'_>) -> Result<Self, Stop> {
        let program = model.program;
        let words = model.globals().div_ceil(64);
        let mut assigned = Self { sets: vec![vec![0; words]; program.procedures.len()] };
        let mut callers: Vec<Vec<ProcId>> = vec![Vec::new(); program.procedures.len()];
        for id in program.procedure_ids() {
            poll(model.budget)?;
            let set = &mut assigned.sets[id.index()];
            let mut assign = |var: Var| {
                if let Var::Global(i) = var {
                    set[i as usize / 64] |= 1 << (i % 64);
                }
            };
            for edge in reachable(model, id) {
                match &edge.action {
                    Action::Assign(it) => it.pairs.iter().for_each(|(target, _)| assign(target.var)),
                    Action::Call(call) => {
                        call.targets.iter().copied().flatten().for_each(&mut assign);
                        callers[call.callee.index()].push(id);
                    }
                    _ => {}
                }
            }
        }
        let mut work: Vec<ProcId> = program.procedure_ids().collect();
        while let Some(callee) = work.pop() {
            poll(model.budget)?;
            for &caller in &callers[callee.index()] {
                if assigned.add(callee, caller) {
                    work.push(caller);
                }
            }
        }
        Ok(assigned)
    }

    /// Adds the callee's globals to the caller's, and tells whether the caller's set has grown.
    fn add(&mut self, callee: ProcId, caller: ProcId) -> bool {
        let mut grown = false;
        for word in 0..self.sets[callee.index()].len() {
            let new = self.sets[callee.index()][word] & !self.sets[caller.index()][word];
            self.sets[caller.index()][word] |= new;
            grown |= new != 0;
        }
        grown
    }

    /// Whether a global may change while the procedure runs.
    pub fn may_change(&self, procedure: ProcId, global: usize) -> bool {
        self.sets[procedure.index()][global / 64] >> (global % 64) & 1 == 1
    }
}

/// The edges that control may take in a procedure if every condition may hold.
fn reachable<'a>(model: &Model<'a>, id: ProcId) -> Vec<&'a Edge> {
    let procedure = model.program.procedure(id);
    let mut seen = vec![false; procedure.nodes as usize];
    let mut open = vec![Procedure::ENTRY];
    let mut edges = Vec::new();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut seen[node.index()], true) || model.forbidden.contains(id, node) {
            continue;
        }
        for (_, edge) in procedure.edges_from(node) {
            edges.push(edge);
            if !matches!(edge.action, Action::EndThread) {
                open.push(edge.to);
            }
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::certify::testing::assertions;

    #[test]
    fn what_is_assigned_below_counts_for_all_callers() {
        let task = assertions(
            "decl a, b, c; void main() begin a := T; even(); assert(c); end
             void even() begin if (c) then odd(); fi end
             void odd() begin b := even2(); even(); end
             bool even2() begin return c; a := F; end",
        );
        let budget = Budget::unlimited();
        let model = Model::new(&task, &budget).expect("sequential");
        let assigned = Assigned::of(&model).expect("no limit");
        let of = |name: &str| -> Vec<usize> {
            let position = task.program.procedures.iter().position(|p| p.name == name).expect(name);
            (0..3).filter(|&global| assigned.may_change(ProcId::from_index(position), global)).collect()
        };
        assert_eq!([of("main"), of("even"), of("odd"), of("even2")], [vec![0, 1], vec![1], vec![1], vec![]]);
    }
}
