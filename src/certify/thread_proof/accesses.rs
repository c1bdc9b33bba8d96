//! What other threads can notice of a step, and what influence they have on it.

use super::control::{Control, Step};
use crate::certify::{Stop, reject};
use crate::evidence::threads::ThreadProof;
use crate::model::{Action, Expr, Node, ProcId, Program, Var};

/// Something that several threads may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shared {
    /// A global.
    Global(u32),
    /// A local of the thread itself that some `x$` reads or writes.
    Own(ProcId, u32),
    /// The same local of all other threads.
    Others(ProcId, u32),
}

/// What a step accesses.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "the kinds of accesses are independent")]
pub(super) struct Accesses {
    pub reads: Vec<Shared>,
    pub writes: Vec<Shared>,
    /// Whether others can notice that the thread ends.
    pub ends: bool,
    /// Whether it starts a thread.
    pub starts: bool,
    /// Whether it reads or writes `x$`.
    pub passive: bool,
    /// Whether it begins or ends an atomic section.
    pub section: bool,
    /// Whether it enters or leaves a frame of a procedure with some `x$`.
    pub frame: bool,
}

impl Accesses {
    /// Whether the step is not internal.
    pub fn any(&self) -> bool {
        !self.reads.is_empty()
            || !self.writes.is_empty()
            || self.ends
            || self.starts
            || self.passive
            || self.section
            || self.frame
    }
}

/// Which variables are ignored, and which others can see.
pub(super) struct Visibility<'a> {
    program: &'a Program,
    ignored_globals: Vec<bool>,
    ignored_locals: Vec<Vec<bool>>,
    /// For every procedure, the locals that some `x$` reads or writes.
    exposed: Vec<Vec<bool>>,
    /// The procedures that contain some `x$`.
    watched: Vec<bool>,
    /// Whether others can notice that a thread ends.
    counts_threads: bool,
}

impl<'a> Visibility<'a> {
    /// Checks that the ignored variables of a proof influence no condition.
    pub fn new(control: &Control<'a>, proof: &ThreadProof) -> Result<Self, Stop> {
        let program = control.program;
        let none: Vec<Vec<bool>> = program.procedures.iter().map(|p| vec![false; p.locals.len()]).collect();
        let mut visibility = Self {
            program,
            ignored_globals: vec![false; program.globals.len()],
            ignored_locals: none.clone(),
            exposed: none,
            watched: vec![false; program.procedures.len()],
            counts_threads: false,
        };
        for &global in &proof.ignored_globals {
            match visibility.ignored_globals.get_mut(global as usize) {
                Some(ignored) => *ignored = true,
                None => return reject(format!("there is no global {global} to ignore")),
            }
        }
        for &(procedure, local) in &proof.ignored_locals {
            let locals = visibility.ignored_locals.get_mut(procedure.index());
            match locals.and_then(|locals| locals.get_mut(local as usize)) {
                Some(ignored) => *ignored = true,
                None => return reject(format!("{procedure} has no local {local} to ignore")),
            }
        }
        if program.atomic_flag.is_some_and(|flag| visibility.ignored_globals[flag as usize]) {
            return reject("the global that forbids context switches is ignored");
        }
        for id in program.procedure_ids() {
            visibility.check_procedure(id)?;
            visibility.expose(id);
        }
        let bounded = program.starts_threads && control.task.threads.is_some();
        visibility.counts_threads = bounded || visibility.watched.contains(&true);
        Ok(visibility)
    }

    /// Whether a variable, seen from a procedure, is ignored.
    pub fn ignores(&self, procedure: ProcId, var: Var) -> bool {
        match var {
            Var::Global(i) => self.ignored_globals[i as usize],
            Var::Local(i) => self.ignored_locals[procedure.index()][i as usize],
        }
    }

    /// Whether a global is ignored.
    pub fn ignores_global(&self, global: usize) -> bool {
        self.ignored_globals[global]
    }

    /// Checks that no condition depends on an ignored variable, and no variable that is not ignored gets its value
    /// from one.
    fn check_procedure(&self, id: ProcId) -> Result<(), Stop> {
        let procedure = self.program.procedure(id);
        let depends = |expr: Expr| self.program.exprs.reads(expr).any(|place| self.ignores(id, place.var));
        let at = |node: Node| format!("at {node} of `{}`", procedure.name);
        if procedure.enforce.is_some_and(depends) {
            return reject(format!("`enforce` of `{}` reads an ignored variable", procedure.name));
        }
        for edge in &procedure.edges {
            let (mut condition, mut value) = (false, false);
            match &edge.action {
                Action::Assume(expr) | Action::Assert(expr) => condition = depends(*expr),
                Action::Assign(assign) => {
                    condition = assign.constrain.iter().any(|&expr| depends(expr));
                    let mut pairs = assign.pairs.iter();
                    value = pairs.any(|&(target, expr)| !self.ignores(id, target.var) && depends(expr));
                }
                Action::Call(call) | Action::Spawn(call) => {
                    let kept = |parameter: u32| !self.ignores(call.callee, Var::Local(parameter));
                    value = (0..).zip(&call.args).any(|(parameter, &arg)| kept(parameter) && depends(arg));
                    let slots = self.program.procedure(call.callee).first_return()..;
                    value |= slots.zip(&call.targets).any(|(slot, target)| {
                        target.is_some_and(|var| !self.ignores(id, var) && !kept(slot))
                    });
                }
                Action::Skip
                | Action::Fork(_)
                | Action::EndThread
                | Action::AtomicBegin
                | Action::AtomicEnd => {}
            }
            if condition {
                return reject(format!("a condition {} reads an ignored variable", at(edge.from)));
            }
            if value {
                return reject(format!("an ignored variable gives a value {}", at(edge.from)));
            }
        }
        Ok(())
    }

    /// Notes the locals that the `x$` of a procedure reads and writes.
    fn expose(&mut self, id: ProcId) {
        let program = self.program;
        for edge in &program.procedure(id).edges {
            let Action::Assign(assign) = &edge.action else { continue };
            let sides = assign.pairs.iter().map(|&(_, value)| value).chain(assign.constrain.iter().copied());
            let read = sides.flat_map(|expr| program.exprs.reads(expr)).filter(|place| place.passive);
            let written = assign.pairs.iter().filter(|(target, _)| target.passive);
            for var in read.map(|place| place.var).chain(written.map(|(target, _)| target.var)) {
                self.watched[id.index()] = true;
                if let Var::Local(local) = var {
                    self.exposed[id.index()][local as usize] = true;
                }
            }
        }
    }

    /// The variable as something shared, if others can see it.
    fn shared(&self, procedure: ProcId, var: Var, passive: bool) -> Option<Shared> {
        if self.ignores(procedure, var) {
            return None;
        }
        match var {
            Var::Global(i) => Some(Shared::Global(i)),
            Var::Local(i) if passive => Some(Shared::Others(procedure, i)),
            Var::Local(i) => self.exposed[procedure.index()][i as usize].then_some(Shared::Own(procedure, i)),
        }
    }

    fn read(&self, found: &mut Accesses, procedure: ProcId, expr: Expr) {
        for place in self.program.exprs.reads(expr) {
            found.passive |= place.passive;
            found.reads.extend(self.shared(procedure, place.var, place.passive));
        }
    }

    /// What a step accesses.
    pub fn accesses(&self, control: &Control<'_>, step: &Step) -> Accesses {
        let mut found = Accesses {
            ends: step.to.is_none() && self.counts_threads,
            starts: step.created.is_some(),
            ..Accesses::default()
        };
        let id = control.stack(step.from).top.procedure;
        let mut entered = control.enforced(step).map(|frame| frame.procedure).into_iter().collect::<Vec<_>>();
        entered.extend(step.created.map(|created| control.stack(created).top.procedure));
        for procedure in entered {
            if let Some(condition) = self.program.procedure(procedure).enforce {
                self.read(&mut found, procedure, condition);
            }
        }
        match control.action(step) {
            None => {
                found.frame = self.watched[id.index()];
                if let Some((caller, call)) = control.returns(step) {
                    let targets = call.targets.iter().flatten();
                    found.writes.extend(targets.filter_map(|&var| self.shared(caller.procedure, var, false)));
                }
            }
            Some(Action::Skip | Action::EndThread | Action::Fork(_)) => {}
            Some(Action::AtomicBegin | Action::AtomicEnd) => found.section = true,
            Some(Action::Assume(condition) | Action::Assert(condition)) => {
                self.read(&mut found, id, *condition);
            }
            Some(Action::Assign(assign)) => {
                for &(target, value) in &assign.pairs {
                    found.passive |= target.passive;
                    found.writes.extend(self.shared(id, target.var, target.passive));
                    if !self.ignores(id, target.var) {
                        self.read(&mut found, id, value);
                    }
                }
                assign.constrain.iter().for_each(|&condition| self.read(&mut found, id, condition));
                // Also if all of it is ignored.
                let mut sides = assign.pairs.iter().map(|&(_, value)| value);
                found.passive |=
                    sides.any(|value| self.program.exprs.reads(value).any(|place| place.passive));
            }
            Some(Action::Call(call) | Action::Spawn(call)) => {
                for (parameter, &arg) in (0..).zip(&call.args) {
                    if !self.ignores(call.callee, Var::Local(parameter)) {
                        self.read(&mut found, id, arg);
                    }
                }
                found.frame = self.watched[call.callee.index()];
            }
        }
        // The prologue's frame is left when `main` is entered.
        if let Some(to) = step.to
            && control.in_prologue(step.from)
            && !control.in_prologue(to)
        {
            found.frame |= self.watched[id.index()];
        }
        found
    }
}
