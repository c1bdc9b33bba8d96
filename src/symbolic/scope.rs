//! The variables that each procedure uses, and its interface to callers.
//!
//! A procedure's *slots* are the globals that it or a callee reads or writes, followed by its locals. Other globals
//! have the same value before and after it, so formulas about the procedure need not mention them: a program with a
//! thousand globals and a thousand procedures has small formulas as long as each procedure uses few globals.
//!
//! All statements count, whether control can reach them or not, because blocks have formulas for all of them.

use rustc_hash::FxHashSet;

use crate::model::calls::{CallGraph, callees};
use crate::model::live::Live;
use crate::model::{Action, Edge, Expr, Node, Op, Place, ProcId, Procedure, Program, Property, Task, Var};

/// The slots of one procedure.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The globals that it uses, sorted.
    globals: Vec<u32>,
    /// For each of these globals, whether it may be written.
    written: Vec<bool>,
    params: u32,
    locals: u32,
    returns: u32,
    exit: Vec<u32>,
}

impl Scope {
    /// The number of slots.
    #[must_use]
    pub fn width(&self) -> usize {
        self.globals.len() + self.locals as usize
    }

    /// The slot of a variable, if the procedure uses it.
    #[must_use]
    pub fn slot(&self, var: Var) -> Option<usize> {
        match var {
            Var::Global(i) => self.globals.binary_search(&i).ok(),
            Var::Local(i) => Some(self.globals.len() + i as usize),
        }
    }

    /// The variable of a slot.
    #[must_use]
    pub fn var(&self, slot: usize) -> Var {
        match slot.checked_sub(self.globals.len()) {
            None => Var::Global(self.globals[slot]),
            Some(local) => Var::Local(local as u32),
        }
    }

    /// The globals; the slot of each is its position.
    #[must_use]
    pub fn globals(&self) -> &[u32] {
        &self.globals
    }

    /// The number of slots that a caller passes: globals and parameters, which come first.
    #[must_use]
    pub fn entry_width(&self) -> usize {
        self.globals.len() + self.params as usize
    }

    /// Whether a slot is a global or a return slot.
    #[must_use]
    pub fn is_seen_by_callers(&self, slot: usize) -> bool {
        slot < self.globals.len() || slot >= self.width() - self.returns as usize
    }

    /// The slots that a call may change for its caller: globals that may be written and still matter, then return
    /// slots.
    #[must_use]
    pub fn exit_slots(&self) -> &[u32] {
        &self.exit
    }
}

/// The slots of all procedures, and where they matter.
#[derive(Debug)]
pub struct Scopes {
    scopes: Vec<Scope>,
    /// The live variables; `None` if everything matters everywhere.
    live: Option<Live>,
}

impl Scopes {
    /// Computes the slots of all procedures.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self::new(task, live_if_calls_return(task), true)
    }

    /// Computes the slots of all procedures. At a call, the globals that matter at the callee's entry count as
    /// mattering. Then the same variables matter at the entry for all calls of a procedure, so the entries of
    /// different calls can be compared.
    #[must_use]
    pub fn of_comparable_entries(task: &Task) -> Self {
        Self::new(task, live_if_entries_are_whole(task), true)
    }

    /// Computes the slots of all procedures, and lets all of them matter everywhere, so that formulas describe whole
    /// states.
    #[must_use]
    pub fn of_whole_states(task: &Task) -> Self {
        // The analysis would stop at the label, but here a state may be anywhere, also after it.
        let task = Task { property: Property::Assertions, ..task.clone() };
        Self::new(&task, live_if_calls_return(&task), false)
    }

    fn new(task: &Task, live: Live, forget_dead: bool) -> Self {
        let program = &task.program;
        let touched = Touched::of(program);
        let scope = |id: ProcId| {
            let procedure = program.procedure(id);
            let (read, written) = (&touched.read[id.index()], &touched.written[id.index()]);
            let touches = |&g: &u32| read.contains(g) || written.contains(g);
            let globals: Vec<u32> = (0..program.globals.len() as u32).filter(touches).collect();
            let matters = |var: Var| !forget_dead || live.is_live(id, Procedure::EXIT, var);
            let changed =
                globals.iter().enumerate().filter(|&(_, &g)| written.contains(g) && matters(Var::Global(g)));
            let mut exit: Vec<u32> = changed.map(|(slot, _)| slot as u32).collect();
            let first_local = globals.len() as u32;
            exit.extend(
                (procedure.first_return()..procedure.locals.len() as u32).map(|local| first_local + local),
            );
            Scope {
                params: procedure.params,
                locals: procedure.locals.len() as u32,
                returns: procedure.returns,
                written: globals.iter().map(|&g| written.contains(g)).collect(),
                globals,
                exit,
            }
        };
        let scopes = program.procedure_ids().map(scope).collect();
        Self { scopes, live: forget_dead.then_some(live) }
    }

    /// The slots of a procedure.
    #[must_use]
    pub fn scope(&self, procedure: ProcId) -> &Scope {
        &self.scopes[procedure.index()]
    }

    /// Whether a procedure or a callee may write the global of a slot.
    #[must_use]
    pub fn may_write(&self, procedure: ProcId, slot: usize) -> bool {
        self.scope(procedure).written[slot]
    }

    /// Whether the value of a slot matters at a node.
    #[must_use]
    pub fn is_live(&self, procedure: ProcId, node: Node, slot: usize) -> bool {
        let var = self.scope(procedure).var(slot);
        self.live.as_ref().is_none_or(|live| live.is_live(procedure, node, var))
    }

    /// The slots whose values matter at a node.
    pub fn live_slots(&self, procedure: ProcId, node: Node) -> impl Iterator<Item = usize> + '_ {
        (0..self.scope(procedure).width()).filter(move |&slot| self.is_live(procedure, node, slot))
    }
}

/// The live variables under the assumption that every call may return. Code after a call that never returns is
/// unreachable, and normally nothing that it reads is live; but an abstraction in which the outcome of a call is
/// arbitrary does reach that code.
fn live_if_calls_return(task: &Task) -> Live {
    let live = Live::of(task);
    let never_returns = |id: &ProcId| !live.mod_ref().returns(*id);
    let silent: Vec<ProcId> = task.program.procedure_ids().filter(never_returns).collect();
    if silent.is_empty() {
        return live;
    }
    let mut returning = task.clone();
    for id in silent {
        let procedure = &mut returning.program.procedures[id.index()];
        add_edges(procedure, vec![(Procedure::ENTRY, Procedure::EXIT, Action::Skip)]);
    }
    Live::of(&returning)
}

/// A set of globals, as a bit vector.
#[derive(Clone, Debug)]
struct Globals(Vec<u64>);

impl Globals {
    fn contains(&self, global: u32) -> bool {
        self.0[global as usize / 64] >> (global % 64) & 1 == 1
    }

    fn insert(&mut self, var: Var) {
        if let Var::Global(global) = var {
            self.0[global as usize / 64] |= 1 << (global % 64);
        }
    }

    fn insert_all(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

/// The globals that each procedure reads and writes, with its callees.
struct Touched {
    read: Vec<Globals>,
    written: Vec<Globals>,
}

impl Touched {
    fn of(program: &Program) -> Self {
        let none = Globals(vec![0; program.globals.len().div_ceil(64)]);
        let count = program.procedures.len();
        let mut touched = Self { read: vec![none.clone(); count], written: vec![none; count] };
        for id in program.procedure_ids() {
            touched.add_own(program, id);
        }
        for component in &CallGraph::of(program).components {
            for sets in [&mut touched.read, &mut touched.written] {
                let mut all = sets[component[0].index()].clone();
                for &id in component {
                    all.insert_all(&sets[id.index()]);
                    callees(program.procedure(id)).for_each(|callee| all.insert_all(&sets[callee.index()]));
                }
                for &id in component {
                    sets[id.index()] = all.clone();
                }
            }
        }
        touched
    }

    /// Adds the statements of one procedure.
    fn add_own(&mut self, program: &Program, id: ProcId) {
        let procedure = program.procedure(id);
        let (read, written) = (&mut self.read[id.index()], &mut self.written[id.index()]);
        let mut reads = |expr: Expr| program.exprs.reads(expr).for_each(|place| read.insert(place.var));
        procedure.enforce.into_iter().for_each(&mut reads);
        for edge in &procedure.edges {
            match &edge.action {
                Action::Assume(condition) | Action::Assert(condition) => reads(*condition),
                Action::Assign(assign) => {
                    for &(target, value) in &assign.pairs {
                        written.insert(target.var);
                        reads(value);
                    }
                    assign.constrain.iter().copied().for_each(&mut reads);
                }
                Action::Call(call) | Action::Spawn(call) => {
                    call.args.iter().copied().for_each(&mut reads);
                    call.targets.iter().flatten().for_each(|&var| written.insert(var));
                }
                Action::Skip
                | Action::Fork(_)
                | Action::EndThread
                | Action::AtomicBegin
                | Action::AtomicEnd => {}
            }
        }
    }
}

/// The live variables under the assumption that every call may return, and that a call also reads the globals that
/// matter at its callee's entry only because of other calls.
fn live_if_entries_are_whole(task: &Task) -> Live {
    let mut task = task.clone();
    let mut looked_at: FxHashSet<(ProcId, Node, u32)> = FxHashSet::default();
    loop {
        let live = live_if_calls_return(&task);
        let program = &mut task.program;
        let mut missing: Vec<Vec<(Node, Vec<u32>)>> = Vec::with_capacity(program.procedures.len());
        for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
            let mut calls = Vec::new();
            for edge in &procedure.edges {
                let Action::Call(call) = &edge.action else { continue };
                let matters = live.live_at(call.callee, Procedure::ENTRY).filter_map(|var| match var {
                    Var::Global(i) if !live.is_live(id, edge.from, var) => Some(i),
                    _ => None,
                });
                // At the forbidden label control does not continue, so an added edge has no effect there; nor is
                // there a call.
                let matters: Vec<u32> =
                    matters.filter(|&global| looked_at.insert((id, edge.from, global))).collect();
                if !matters.is_empty() {
                    calls.push((edge.from, matters));
                }
            }
            missing.push(calls);
        }
        if missing.iter().all(Vec::is_empty) {
            return live;
        }
        // An edge from the call node that reads these globals makes them live there.
        for (procedure, calls) in program.procedures.iter_mut().zip(missing) {
            let look = |(node, globals): (Node, Vec<u32>)| {
                let start = program.exprs.begin();
                program.exprs.push(Op::Const(true));
                for global in globals {
                    let var = Var::Global(global);
                    program.exprs.push(Op::Read(Place { var, primed: false, passive: false }));
                    program.exprs.push(Op::Or);
                }
                (node, node, Action::Assume(program.exprs.finish(start)))
            };
            add_edges(procedure, calls.into_iter().map(look).collect());
        }
    }
}

fn add_edges(procedure: &mut Procedure, new: Vec<(Node, Node, Action)>) {
    let span = procedure.span;
    procedure.edges.extend(new.into_iter().map(|(from, to, action)| Edge {
        from,
        to,
        action,
        span,
        branch: None,
        silent: false,
    }));
    procedure.sort_edges();
}
