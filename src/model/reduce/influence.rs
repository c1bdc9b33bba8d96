//! Finds the variables that matter, and removes all others from the program.
//!
//! A variable matters if a condition reads it (`assume`, `assert`, `enforce`, `constrain`), or if its value may flow
//! into a variable that matters: by an assignment, as an argument, or as a return value. All others are removed,
//! together with the assignments, arguments and return values for them. No step depends on the removed variables, so
//! the two programs have the same runs except for the values of these variables.
//!
//! A value does not count as flow if the variable is assigned again before it is read. If the variable is a local,
//! the assignment is removed; where the local is dead, its value in the original program is then not known from the
//! reduced one. If the variable is a global or the value is passed as an argument, the value becomes `*`: callees see
//! globals and parameters at their entry, and their effect is distinguished by their entry state, so the reduced
//! program must have every entry state that the original one has.

use std::ops::Range;

use super::work::Work;
use crate::model::live::Live;
use crate::model::live::order::{Table, starts};
use crate::model::{Action, Assign, Call, Expr, ExprPool, Node, Op, Place, ProcId, Procedure, Program, Var};

/// Removes what does not matter. If there is nothing to remove, returns the live variables, which were computed on
/// the way.
pub(super) fn keep_what_matters(work: &mut Work) -> Option<Live> {
    let live = Live::of(&work.task);
    let scopes = Scopes::new(&work.task.program);
    let Flows { into, seeds, unread } = Flows::collect(&work.task.program, &scopes, &live);
    let flows = Table::new(scopes.count(), into.iter().copied());
    let mut matters = vec![false; scopes.count()];
    let mut open = seeds;
    while let Some(variable) = open.pop() {
        if !std::mem::replace(&mut matters[variable as usize], true) {
            open.extend_from_slice(flows.row(variable as usize));
        }
    }
    if !unread && matters.iter().all(|&matters| matters) {
        return Some(live);
    }
    Rewriting { scopes: &scopes, matters: &matters, live: &live, exprs: ExprPool::default() }.run(work);
    None
}

/// Numbers all variables of a program: the globals, then the locals of each procedure.
struct Scopes {
    globals: u32,
    first_local: Vec<u32>,
}

impl Scopes {
    fn new(program: &Program) -> Self {
        Self {
            globals: program.globals.len() as u32,
            first_local: starts(program.procedures.iter().map(|p| p.locals.len())),
        }
    }

    fn count(&self) -> usize {
        (self.globals + self.first_local.last().copied().unwrap_or_default()) as usize
    }

    fn number(&self, id: ProcId, var: Var) -> u32 {
        match var {
            Var::Global(i) => i,
            Var::Local(i) => self.globals + self.first_local[id.index()] + i,
        }
    }

    fn locals(&self, id: ProcId) -> Range<usize> {
        let at = |i: usize| (self.globals + self.first_local[i]) as usize;
        at(id.index())..at(id.index() + 1)
    }
}

/// The flow of values between variables.
struct Flows {
    /// Pairs of a variable and another one whose value flows into it.
    into: Vec<(u32, u32)>,
    /// The variables that conditions read.
    seeds: Vec<u32>,
    /// Whether some assignment or argument can be removed or replaced by `*` because its value is never read.
    unread: bool,
}

impl Flows {
    fn collect(program: &Program, scopes: &Scopes, live: &Live) -> Self {
        let mut found = Self { into: Vec::new(), seeds: Vec::new(), unread: false };
        for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
            let reads = |expr: Expr| program.exprs.reads(expr).map(|place| scopes.number(id, place.var));
            found.seeds.extend(procedure.enforce.into_iter().flat_map(reads));
            for edge in &procedure.edges {
                match &edge.action {
                    Action::Assume(e) | Action::Assert(e) => found.seeds.extend(reads(*e)),
                    Action::Assign(assign) => {
                        found.seeds.extend(assign.constrain.iter().flat_map(|&e| reads(e)));
                        for &(target, value) in &assign.pairs {
                            if assign.constrain.is_empty() && !live.is_live(id, edge.to, target.var) {
                                found.unread |= is_local(target.var) || reads(value).next().is_some();
                            } else {
                                let into = scopes.number(id, target.var);
                                found.into.extend(reads(value).map(|from| (into, from)));
                            }
                        }
                    }
                    Action::Call(call) => {
                        for (param, &arg) in (0..).map(Var::Local).zip(&call.args) {
                            if live.is_live(call.callee, Procedure::ENTRY, param) {
                                let into = scopes.number(call.callee, param);
                                found.into.extend(reads(arg).map(|from| (into, from)));
                            } else {
                                found.unread |= reads(arg).next().is_some();
                            }
                        }
                        let slots = program.procedure(call.callee).first_return()..;
                        for (slot, target) in slots.map(Var::Local).zip(&call.targets) {
                            let Some(var) = *target else { continue };
                            if is_local(var) && !live.is_live(id, edge.to, var) {
                                found.unread = true;
                            } else {
                                let from = scopes.number(call.callee, slot);
                                found.into.push((scopes.number(id, var), from));
                            }
                        }
                    }
                    Action::Skip
                    | Action::Spawn(_)
                    | Action::Fork(_)
                    | Action::EndThread
                    | Action::AtomicBegin
                    | Action::AtomicEnd => {}
                }
            }
        }
        found
    }
}

fn is_local(var: Var) -> bool {
    matches!(var, Var::Local(_))
}

struct Rewriting<'a> {
    scopes: &'a Scopes,
    matters: &'a [bool],
    live: &'a Live,
    exprs: ExprPool,
}

impl Rewriting<'_> {
    fn run(mut self, work: &mut Work) {
        let program = &mut work.task.program;
        // The new positions of the variables; the entries of removed variables are not used.
        let mut positions = vec![0; self.matters.len()];
        let locals = program.procedure_ids().map(|id| self.scopes.locals(id));
        for scope in std::iter::once(0..self.scopes.globals as usize).chain(locals) {
            let mut next = 0..;
            for variable in scope.filter(|&variable| self.matters[variable]) {
                positions[variable] = next.next().unwrap_or_default();
            }
        }
        let old = std::mem::take(&mut program.exprs);
        let frames: Vec<Frame> = program
            .procedures
            .iter()
            .map(|p| Frame { first_return: p.first_return(), returns: p.returns })
            .collect();
        for id in program.procedure_ids() {
            let procedure = &mut program.procedures[id.index()];
            let map = &mut work.map.procedures[id.index()];
            let renaming = Renaming { scopes: self.scopes, positions: &positions, id, old: &old };
            procedure.enforce = procedure.enforce.map(|enforce| self.copy(&renaming, enforce));
            for edge in &mut procedure.edges {
                match &mut edge.action {
                    Action::Assume(e) | Action::Assert(e) => *e = self.copy(&renaming, *e),
                    Action::Assign(assign) => {
                        let is_left = self.assign(&renaming, assign, edge.to, &mut map.is_stale);
                        if !is_left {
                            edge.action = Action::Skip;
                        }
                    }
                    Action::Call(call) => {
                        let callee = frames[call.callee.index()];
                        self.call(&renaming, call, callee, edge.to, &mut map.is_stale);
                    }
                    _ => {}
                }
            }
            self.locals(id, procedure);
            let mut matters = self.matters[self.scopes.locals(id)].iter();
            map.locals.retain(|_| matters.next() == Some(&true));
            let mut matters = self.matters[self.scopes.locals(id)].iter();
            map.is_stale.retain(|_| matters.next() == Some(&true));
        }
        let mut matters = self.matters.iter();
        program.globals.retain(|_| matters.next() == Some(&true));
        let mut matters = self.matters.iter();
        work.map.globals.retain(|_| matters.next() == Some(&true));
        program.exprs = self.exprs;
    }

    fn locals(&self, id: ProcId, procedure: &mut Procedure) {
        let matters = &self.matters[self.scopes.locals(id)];
        let count = |range: &[bool]| range.iter().filter(|&&matters| matters).count() as u32;
        let first_return = procedure.first_return() as usize;
        procedure.returns = count(&matters[first_return..]);
        procedure.params = count(&matters[..procedure.params as usize]);
        let mut matters = matters.iter();
        procedure.locals.retain(|_| matters.next() == Some(&true));
    }

    /// Rewrites an assignment; returns `false` if nothing of it is left.
    fn assign(
        &mut self,
        renaming: &Renaming<'_>,
        assign: &mut Assign,
        to: Node,
        is_stale: &mut [bool],
    ) -> bool {
        let free = assign.constrain.is_empty();
        assign.pairs.retain_mut(|(target, value)| {
            if !self.matters(renaming.id, target.var) {
                return false;
            }
            let is_read = !free || self.live.is_live(renaming.id, to, target.var);
            if let (Var::Local(i), false) = (target.var, is_read) {
                is_stale[i as usize] = true;
                return false;
            }
            *value = self.value(renaming, *value, is_read);
            target.var = renaming.var(target.var);
            true
        });
        for condition in &mut assign.constrain {
            *condition = self.copy(renaming, *condition);
        }
        !(assign.pairs.is_empty() && assign.constrain.is_empty())
    }

    fn call(
        &mut self,
        renaming: &Renaming<'_>,
        call: &mut Call,
        callee: Frame,
        to: Node,
        is_stale: &mut [bool],
    ) {
        let mut params = (0..).map(Var::Local);
        call.args.retain_mut(|arg| {
            let Some(param) = params.next() else { return false };
            let matters = self.matters(call.callee, param);
            if matters {
                let is_read = self.live.is_live(call.callee, Procedure::ENTRY, param);
                *arg = self.value(renaming, *arg, is_read);
            }
            matters
        });
        let mut slots = (callee.first_return..callee.first_return + callee.returns).map(Var::Local);
        call.targets.retain_mut(|target| {
            *target = target.filter(|&var| {
                let is_read = !is_local(var) || self.live.is_live(renaming.id, to, var);
                if let (Var::Local(i), false) = (var, is_read) {
                    is_stale[i as usize] = true;
                }
                is_read && self.matters(renaming.id, var)
            });
            *target = target.map(|var| renaming.var(var));
            slots.next().is_some_and(|slot| self.matters(call.callee, slot))
        });
        if call.targets.iter().all(Option::is_none) {
            call.targets.clear();
        }
    }

    fn matters(&self, id: ProcId, var: Var) -> bool {
        self.matters[self.scopes.number(id, var) as usize]
    }

    /// The rewritten value, or `*` if the value is never read.
    fn value(&mut self, renaming: &Renaming<'_>, expr: Expr, is_read: bool) -> Expr {
        if is_read || renaming.old.reads(expr).next().is_none() {
            return self.copy(renaming, expr);
        }
        self.exprs.single(Op::Choice)
    }

    fn copy(&mut self, renaming: &Renaming<'_>, expr: Expr) -> Expr {
        let start = self.exprs.begin();
        for &op in renaming.old.ops(expr) {
            self.exprs.push(match op {
                Op::Read(place) => Op::Read(Place { var: renaming.var(place.var), ..place }),
                op => op,
            });
        }
        self.exprs.finish(start)
    }
}

/// The positions of the return slots of a procedure before it is rewritten.
#[derive(Clone, Copy)]
struct Frame {
    first_return: u32,
    returns: u32,
}

/// The old code and the new variable numbers within one procedure.
struct Renaming<'a> {
    scopes: &'a Scopes,
    positions: &'a [u32],
    id: ProcId,
    old: &'a ExprPool,
}

impl Renaming<'_> {
    fn var(&self, var: Var) -> Var {
        let position = self.positions[self.scopes.number(self.id, var) as usize];
        match var {
            Var::Global(_) => Var::Global(position),
            Var::Local(_) => Var::Local(position),
        }
    }
}
