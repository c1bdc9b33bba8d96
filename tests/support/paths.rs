//! The naive reading of "live": walk the paths and look.
//!
//! Stacks are explicit and nothing is summarised, so this shares no idea with the analysis that
//! it checks; it is fit for graphs of a few dozen nodes.

use std::collections::HashSet;

use cusp::model::{Action, Call, Edge, EdgeId, Expr, Node, ProcId, Procedure, Program, Property, Task, Var};

/// What lies below the frame that a search starts in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bottom {
    /// Some caller, any of them.
    Caller,
    /// Nothing: the search ends at the exit.
    End,
    /// Nothing: the thread, which is not the one of the start, ends at the exit.
    Thread,
}

/// A node under a stack of calls that were made during the search.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Procedure on top.
    pub proc: ProcId,
    /// Where it stands.
    pub node: Node,
    /// Calls that were made during the search.
    pub stack: Vec<(ProcId, EdgeId)>,
    /// What lies below them.
    pub bottom: Bottom,
}

/// What a search has met.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// A read, behind a write only if the search crosses writes.
    pub read: bool,
    /// A write.
    pub written: bool,
    /// The end of the first frame.
    pub end: bool,
}

/// Walks all paths with matching calls and returns, for one variable.
struct Search<'a> {
    task: &'a Task,
    var: Var,
    /// Whether paths go on behind a write.
    cross_writes: bool,
    met: Met,
    seen: HashSet<State>,
    open: Vec<State>,
}

/// What all paths from a state meet, up to a write of the variable or across it. A local is that of
/// the frame at the bottom of the stack.
pub fn walk(task: &Task, var: Var, cross_writes: bool, start: State) -> Met {
    let mut search =
        Search { task, var, cross_writes, met: Met::default(), seen: HashSet::new(), open: Vec::new() };
    search.visit(start);
    while let Some(state) = search.open.pop() {
        search.expand(&state);
    }
    search.met
}

impl Search<'_> {
    fn program(&self) -> &Program {
        &self.task.program
    }

    fn visit(&mut self, state: State) {
        // If there is a path, there is one where the calls that are open at its end are of different
        // procedures, and so are the nested ones inside each finished call.
        let deepest = 2 * self.program().procedures.len();
        if state.stack.len() <= deepest && self.seen.insert(state.clone()) {
            self.open.push(state);
        }
    }

    /// Whether the code of the top frame can name the variable at all.
    fn can_see(&self, state: &State) -> bool {
        matches!(self.var, Var::Global(_)) || state.stack.is_empty()
    }

    fn reads(&self, expr: Expr) -> bool {
        self.program().exprs.reads(expr).any(|place| !place.passive && place.var == self.var)
    }

    /// Tells whether the path goes on.
    fn write(&mut self) -> bool {
        self.met.written = true;
        self.cross_writes
    }

    fn expand(&mut self, state: &State) {
        let task = self.task;
        let procedure = task.program.procedure(state.proc);
        if self.can_see(state) && procedure.enforce.is_some_and(|e| self.reads(e)) {
            self.met.read = true;
        }
        if let Property::LabelUnreachable(label) = &task.property
            && procedure.nodes_labelled(label).any(|node| node == state.node)
        {
            return;
        }
        if state.node == Procedure::EXIT {
            self.leave(state);
            return;
        }
        for (id, edge) in procedure.edges_from(state.node) {
            self.step(state, id, edge);
        }
    }

    fn step(&mut self, state: &State, id: EdgeId, edge: &Edge) {
        let next = State { node: edge.to, ..state.clone() };
        let is_own = self.can_see(state);
        match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => {}
            Action::EndThread => return,
            Action::Assume(e) | Action::Assert(e) => self.met.read |= is_own && self.reads(*e),
            Action::Assign(assign) => {
                let writes = assign.pairs.iter().any(|(t, _)| !t.passive && t.var == self.var);
                let values = assign.pairs.iter().any(|&(_, value)| self.reads(value));
                let exprs = &self.task.program.exprs;
                let mut places = assign.constrain.iter().flat_map(|&e| exprs.reads(e));
                let old = places.any(|p| p.var == self.var && !p.passive && !(p.primed && writes));
                self.met.read |= is_own && (values || old);
                if is_own && writes && !self.write() {
                    return;
                }
            }
            Action::Call(call) => {
                self.met.read |= is_own && call.args.iter().any(|&arg| self.reads(arg));
                let mut stack = state.stack.clone();
                stack.push((state.proc, id));
                self.visit(State { proc: call.callee, node: Procedure::ENTRY, stack, bottom: state.bottom });
                return;
            }
            Action::Spawn(call) => {
                self.met.read |= is_own && call.args.iter().any(|&arg| self.reads(arg));
                if matches!(self.var, Var::Global(_)) {
                    self.start_thread(call.callee, Procedure::ENTRY);
                }
            }
            Action::Fork(node) => {
                if is_own {
                    self.start_thread(state.proc, *node);
                }
            }
        }
        self.visit(next);
    }

    fn start_thread(&mut self, proc: ProcId, node: Node) {
        self.visit(State { proc, node, stack: Vec::new(), bottom: Bottom::Thread });
    }

    fn leave(&mut self, state: &State) {
        let mut stack = state.stack.clone();
        if let Some((caller, id)) = stack.pop() {
            self.hand_over(caller, id, stack, state.bottom);
            return;
        }
        match (state.bottom, self.var) {
            (Bottom::End, _) => self.met.end = true,
            (Bottom::Thread, _) => {}
            (Bottom::Caller, Var::Local(slot)) => {
                let first = self.program().procedure(state.proc).first_return();
                let target = |call: &Call| *call.targets.get(slot.checked_sub(first)? as usize)?;
                let kept = call_sites(self.program(), state.proc).iter().any(|(_, _, c)| target(c).is_some());
                self.met.read |= kept;
            }
            (Bottom::Caller, Var::Global(_)) => {
                let sites = call_sites(&self.task.program, state.proc);
                for (caller, id, _) in sites {
                    self.hand_over(caller, id, Vec::new(), Bottom::Caller);
                }
            }
        }
    }

    /// The step that ends a call.
    fn hand_over(&mut self, caller: ProcId, id: EdgeId, stack: Vec<(ProcId, EdgeId)>, bottom: Bottom) {
        let edge = self.program().procedure(caller).edge(id);
        let Action::Call(call) = &edge.action else { unreachable!("only calls are on the stack") };
        let writes = call.targets.contains(&Some(self.var));
        let next = State { proc: caller, node: edge.to, stack, bottom };
        if !(writes && self.can_see(&next)) || self.write() {
            self.visit(next);
        }
    }
}

fn call_sites(program: &Program, callee: ProcId) -> Vec<(ProcId, EdgeId, &Call)> {
    let mut sites = Vec::new();
    for (proc, procedure) in program.procedure_ids().zip(&program.procedures) {
        for (i, edge) in procedure.edges.iter().enumerate() {
            if let Action::Call(call) = &edge.action
                && call.callee == callee
            {
                sites.push((proc, EdgeId::from_index(i), &**call));
            }
        }
    }
    sites
}

/// Whether some thread may look at the variable at any time.
pub fn is_always_live(program: &Program, proc: ProcId, var: Var) -> bool {
    let Var::Local(_) = var else {
        return program.starts_threads || program.atomic_flag.map(Var::Global) == Some(var);
    };
    let is_read = |&e: &Expr| program.exprs.reads(e).any(|place| place.passive && place.var == var);
    program.procedure(proc).edges.iter().any(|edge| match &edge.action {
        Action::Assign(a) => a.pairs.iter().map(|(_, e)| e).chain(&a.constrain).any(is_read),
        _ => false,
    })
}
