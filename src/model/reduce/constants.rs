//! Computes which variables are constant at which nodes, and which nodes control can reach.
//!
//! Implements: M. N. Wegman, F. K. Zadeck, "Constant propagation with conditional branches", 1991, over whole
//! control-flow graphs instead of single assignments, and between procedures. The facts at the entry of a procedure
//! are those on which all calls agree. The facts about globals and return values after a call are those at the exit
//! of the callee. Steps that the known values forbid are not followed. Conditions yield facts as assignments do:
//! after `assume x & !y`, `x` and `y` are known.
//!
//! Guarantee: the facts are an inductive invariant. Every start state satisfies the facts at the entry of the start
//! procedure. A step from a state that satisfies the facts at its node leads to a state that satisfies those at the
//! next node; the same is true, frame by frame, of calls and returns. In particular no step leads from a reachable
//! node to an unreachable one.
//!
//! After a call, a global is known only if it is known at the callee's exit, even if the callee does not assign it.
//! Then the invariant is a statement about single states, and a relation between entry states and current states
//! stays inductive when it is restricted to the invariant.

use super::facts::{Facts, Layout};
use super::simplify::{Form, Simplifier};
use crate::model::live::order::{Sweeps, Table, inverse, postorder, starts};
use crate::model::{Action, Assign, Call, Edge, Expr, Node, Place, ProcId, Procedure, Program, Var};

/// The facts at every node of a program.
#[derive(Clone, Debug)]
pub(crate) struct Constants {
    layout: Layout,
    first_node: Vec<u32>,
    /// The facts of each node; `None` if control cannot reach it. The list is empty if the program was not analysed.
    at: Vec<Option<Facts>>,
}

impl Constants {
    /// Analyses a program that starts no threads.
    pub fn of(program: &Program) -> Self {
        let layout = Layout::new(program);
        let mut analysis = Analysis::new(program, &layout);
        analysis.run();
        let Analysis { at, first_node, .. } = analysis;
        Self { layout, first_node, at }
    }

    /// The result without an analysis: no value is known, and control may be anywhere.
    pub fn unknown(program: &Program) -> Self {
        Self { layout: Layout::new(program), first_node: Vec::new(), at: Vec::new() }
    }

    /// Whether control may reach a node.
    pub fn is_reachable(&self, procedure: ProcId, node: Node) -> bool {
        self.at.is_empty() || self.facts(procedure, node).is_some()
    }

    /// The value that a variable has whenever control is at a node.
    pub fn known(&self, procedure: ProcId, node: Node, var: Var) -> Option<bool> {
        self.layout.get(procedure, self.facts(procedure, node)?, var)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn facts(&self, procedure: ProcId, node: Node) -> Option<&Facts> {
        let first = *self.first_node.get(procedure.index())? as usize;
        self.at[first + node.index()].as_ref()
    }
}

/// Computes how steps change the facts.
pub(super) struct Transfer<'a> {
    program: &'a Program,
    layout: &'a Layout,
    simplifier: Simplifier,
}

impl<'a> Transfer<'a> {
    pub fn new(program: &'a Program, layout: &'a Layout) -> Self {
        Self { program, layout, simplifier: Simplifier::default() }
    }

    /// The facts after a step within the procedure; `None` if the step is impossible.
    pub fn step(&mut self, procedure: ProcId, before: &Facts, edge: &Edge) -> Option<Facts> {
        let mut after = before.clone();
        match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => {}
            Action::Assume(condition) | Action::Assert(condition) => {
                self.assume(procedure, *condition, &mut after)?;
            }
            Action::Assign(assign) => self.assign(procedure, before, assign, &mut after)?,
            Action::Call(_) | Action::Spawn(_) | Action::Fork(_) | Action::EndThread => return None,
        }
        self.arrive(procedure, after)
    }

    /// The facts at the entry of a callee; `None` if it cannot be entered.
    pub fn enter(&mut self, procedure: ProcId, before: &Facts, call: &Call) -> Option<Facts> {
        let mut entry = self.layout.nothing(call.callee);
        self.layout.copy_globals(before, &mut entry);
        for (param, &arg) in (0..).zip(&call.args) {
            let value = self.value(procedure, before, arg);
            self.layout.set(call.callee, &mut entry, Var::Local(param), value);
        }
        self.arrive(call.callee, entry)
    }

    /// The facts after a call has returned; `None` if it cannot return.
    pub fn leave(&mut self, procedure: ProcId, before: &Facts, call: &Call, exit: &Facts) -> Option<Facts> {
        let mut after = before.clone();
        self.layout.copy_globals(exit, &mut after);
        let slots = self.program.procedure(call.callee).first_return()..;
        for (slot, &target) in slots.zip(&call.targets) {
            if let Some(var) = target {
                let value = self.layout.get(call.callee, exit, Var::Local(slot));
                self.layout.set(procedure, &mut after, var, value);
            }
        }
        self.arrive(procedure, after)
    }

    /// Adds what `enforce` implies in a new state; `None` if it cannot hold.
    fn arrive(&mut self, procedure: ProcId, mut facts: Facts) -> Option<Facts> {
        if let Some(enforce) = self.program.procedure(procedure).enforce {
            self.assume(procedure, enforce, &mut facts)?;
        }
        Some(facts)
    }

    fn value(&mut self, procedure: ProcId, facts: &Facts, expr: Expr) -> Option<bool> {
        let known = |place: Place| self.layout.get(procedure, facts, place.var);
        match self.simplifier.read(self.program.exprs.ops(expr), known) {
            Form::Const(value) => Some(value),
            _ => None,
        }
    }

    fn assume(&mut self, procedure: ProcId, condition: Expr, facts: &mut Facts) -> Option<()> {
        let known = |place: Place| self.layout.get(procedure, facts, place.var);
        let form = self.simplifier.read(self.program.exprs.ops(condition), known);
        self.learn(procedure, form, facts, |_| true)
    }

    /// Adds the values that a condition demands; the simplifier must have read it just before.
    fn learn(
        &self,
        procedure: ProcId,
        condition: Form,
        facts: &mut Facts,
        concerns: impl Fn(Place) -> bool,
    ) -> Option<()> {
        if condition == Form::Const(false) {
            return None;
        }
        let mut possible = true;
        self.simplifier.demands(|place, value| {
            if concerns(place) {
                possible &= self.layout.get(procedure, facts, place.var) != Some(!value);
                self.layout.set(procedure, facts, place.var, Some(value));
            }
        });
        possible.then_some(())
    }

    fn assign(
        &mut self,
        procedure: ProcId,
        before: &Facts,
        assign: &Assign,
        after: &mut Facts,
    ) -> Option<()> {
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            let value = self.value(procedure, before, value);
            self.layout.set(procedure, after, target.var, value);
        }
        for &condition in own_conditions(self.program, assign) {
            let assigned = after.clone();
            let known = |place: Place| {
                self.layout.get(procedure, if place.primed { &assigned } else { before }, place.var)
            };
            let form = self.simplifier.read(self.program.exprs.ops(condition), known);
            let is_target = |place: Place| assign.pairs.iter().any(|(target, _)| target.var == place.var);
            self.learn(procedure, form, after, |place| place.primed || !is_target(place))?;
        }
        Some(())
    }
}

/// The conditions of an assignment that are not about other threads. In a sequential program there is no other
/// thread, so the rest hold.
pub(super) fn own_conditions<'a>(program: &'a Program, assign: &'a Assign) -> impl Iterator<Item = &'a Expr> {
    assign.constrain.iter().filter(|condition| !program.exprs.reads(**condition).any(|place| place.passive))
}

/// The computation of the fixed point.
struct Analysis<'a> {
    program: &'a Program,
    layout: &'a Layout,
    transfer: Transfer<'a>,
    first_node: Vec<u32>,
    proc_of: Vec<ProcId>,
    at: Vec<Option<Facts>>,
    /// For every procedure, the nodes that call it.
    callers: Table,
    /// The nodes sorted by rank: except on cycles, predecessors have a lower rank.
    by_rank: Vec<u32>,
    rank: Vec<u32>,
    work: Sweeps,
}

impl<'a> Analysis<'a> {
    fn new(program: &'a Program, layout: &'a Layout) -> Self {
        let first_node = starts(program.procedures.iter().map(|p| p.nodes as usize));
        let nodes = first_node.last().map_or(0, |&nodes| nodes as usize);
        let mut proc_of = Vec::with_capacity(nodes);
        let mut flows = Vec::new();
        let mut calls = Vec::new();
        for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
            proc_of.extend(std::iter::repeat_n(id, procedure.nodes as usize));
            let number = |id: ProcId, node: Node| first_node[id.index()] + node.index() as u32;
            for edge in &procedure.edges {
                let (from, to) = (number(id, edge.from), number(id, edge.to));
                if let Action::Call(call) = &edge.action {
                    calls.push((call.callee.index() as u32, from));
                    flows.push((from, number(call.callee, Procedure::ENTRY)));
                    flows.push((number(call.callee, Procedure::EXIT), to));
                }
                flows.push((from, to));
            }
        }
        let mut by_rank = postorder(&Table::new(nodes, flows.iter().copied()));
        by_rank.reverse();
        let rank = inverse(by_rank.iter().map(|&node| node as usize), nodes);
        Self {
            program,
            layout,
            transfer: Transfer::new(program, layout),
            proc_of,
            at: vec![None; nodes],
            callers: Table::new(program.procedures.len(), calls.iter().copied()),
            by_rank,
            rank,
            work: Sweeps::new(nodes),
            first_node,
        }
    }

    fn run(&mut self) {
        let start = self.program.start;
        if let Some(facts) = self.transfer.arrive(start, self.layout.nothing(start)) {
            self.merge(start, Procedure::ENTRY, facts);
        }
        while let Some(rank) = self.work.next() {
            self.node(self.by_rank[rank] as usize);
        }
    }

    /// Follows the steps that leave a node.
    fn node(&mut self, number: usize) {
        let id = self.proc_of[number];
        let node = Node::from_index(number - self.first_node[id.index()] as usize);
        let Some(before) = self.at[number].clone() else { return };
        for (_, edge) in self.program.procedure(id).edges_from(node) {
            let after = match &edge.action {
                Action::Call(call) => {
                    let Some(entry) = self.transfer.enter(id, &before, call) else { continue };
                    self.merge(call.callee, Procedure::ENTRY, entry);
                    let exit = &self.at[self.number(call.callee, Procedure::EXIT)];
                    exit.as_ref().and_then(|exit| self.transfer.leave(id, &before, call, exit))
                }
                _ => self.transfer.step(id, &before, edge),
            };
            if let Some(after) = after {
                self.merge(id, edge.to, after);
            }
        }
    }

    fn number(&self, id: ProcId, node: Node) -> usize {
        self.first_node[id.index()] as usize + node.index()
    }

    /// Records that control may reach a node with these facts.
    fn merge(&mut self, id: ProcId, node: Node, facts: Facts) {
        let number = self.number(id, node);
        let changed = match &mut self.at[number] {
            Some(old) => old.join(&facts),
            new => {
                *new = Some(facts);
                true
            }
        };
        if !changed {
            return;
        }
        if node == Procedure::EXIT {
            for &caller in self.callers.row(id.index()) {
                self.work.add(self.rank[caller as usize]);
            }
        } else {
            self.work.add(self.rank[number]);
        }
    }
}
