//! Variables that influence no condition, through all threads.
//!
//! A variable matters if a condition reads it (of `assume`, `assert`, `constrain` or `enforce`), or if a variable that
//! matters is assigned from it, in whatever procedure and thread. The other variables can be left out.
//!
//! Why that is sound and complete: conditions and assignments to variables that matter read only variables that matter. So
//! the projection of a run to these variables is a run of the projected system, and conversely every run of the
//! projected system is the projection of a run: where it assigns nothing, the program assigns what its right side
//! gives, and that never blocks. The Getafix global that forbids context switches always matters.

use crate::model::{Action, Expr, ProcId, Program, Task, Var};

/// The variables that matter.
#[derive(Clone, Debug)]
pub struct Relevance {
    globals: Vec<bool>,
    /// For every procedure, its locals.
    locals: Vec<Vec<bool>>,
}

/// A variable of the whole program.
type Variable = (ProcId, Var);

impl Relevance {
    /// All variables matter.
    #[must_use]
    pub fn everything(program: &Program) -> Self {
        let locals = program.procedures.iter().map(|procedure| vec![true; procedure.locals.len()]).collect();
        Self { globals: vec![true; program.globals.len()], locals }
    }

    /// Follows influence backwards from all conditions.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        let program = &task.program;
        let mut relevance = Self::everything(program);
        relevance.globals.fill(false);
        relevance.locals.iter_mut().for_each(|locals| locals.fill(false));
        let mut open: Vec<Variable> = Vec::new();
        // For every variable, the expressions whose values it gets, with the procedures in which they stand.
        let mut sources = Sources::new(program);
        if let Some(flag) = program.atomic_flag {
            open.push((program.start, Var::Global(flag)));
        }
        for id in program.procedure_ids() {
            let procedure = program.procedure(id);
            let mut condition =
                |expr: Expr| open.extend(program.exprs.reads(expr).map(|place| (id, place.var)));
            procedure.enforce.into_iter().for_each(&mut condition);
            for edge in &procedure.edges {
                match &edge.action {
                    Action::Assume(expr) | Action::Assert(expr) => condition(*expr),
                    Action::Assign(assign) => {
                        assign.constrain.iter().copied().for_each(&mut condition);
                        for &(target, value) in &assign.pairs {
                            sources.add((id, target.var), id, program, value);
                        }
                    }
                    Action::Call(call) | Action::Spawn(call) => {
                        for (parameter, &arg) in (0..).zip(&call.args) {
                            sources.add((call.callee, Var::Local(parameter)), id, program, arg);
                        }
                        let first = program.procedure(call.callee).first_return();
                        for (slot, target) in (first..).zip(&call.targets) {
                            if let Some(target) = *target {
                                sources.link((id, target), (call.callee, Var::Local(slot)));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        while let Some((id, var)) = open.pop() {
            if !std::mem::replace(relevance.entry(id, var), true) {
                open.append(sources.of(id, var));
            }
        }
        relevance
    }

    /// Whether a variable, seen from a procedure, matters.
    #[must_use]
    pub fn matters(&self, procedure: ProcId, var: Var) -> bool {
        match var {
            Var::Global(i) => self.globals[i as usize],
            Var::Local(i) => self.locals[procedure.index()][i as usize],
        }
    }

    /// The globals that matter.
    pub fn globals(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.globals).filter(|(_, matters)| **matters).map(|(global, _)| global)
    }

    /// How many variables matter: globals, and locals of all procedures.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let count = |matters: &[bool]| matters.iter().filter(|matters| **matters).count();
        (count(&self.globals), self.locals.iter().map(|locals| count(locals)).sum())
    }

    fn entry(&mut self, procedure: ProcId, var: Var) -> &mut bool {
        match var {
            Var::Global(i) => &mut self.globals[i as usize],
            Var::Local(i) => &mut self.locals[procedure.index()][i as usize],
        }
    }
}

/// From where every variable gets its values.
struct Sources {
    globals: Vec<Vec<Variable>>,
    locals: Vec<Vec<Vec<Variable>>>,
}

impl Sources {
    fn new(program: &Program) -> Self {
        let locals =
            program.procedures.iter().map(|procedure| vec![Vec::new(); procedure.locals.len()]).collect();
        Self { globals: vec![Vec::new(); program.globals.len()], locals }
    }

    /// The sources of a variable; they are asked for once.
    fn of(&mut self, procedure: ProcId, var: Var) -> &mut Vec<Variable> {
        match var {
            Var::Global(i) => &mut self.globals[i as usize],
            Var::Local(i) => &mut self.locals[procedure.index()][i as usize],
        }
    }

    fn add(&mut self, (procedure, var): Variable, reader: ProcId, program: &Program, value: Expr) {
        let reads = program.exprs.reads(value).map(|place| (reader, place.var));
        self.of(procedure, var).extend(reads);
    }

    fn link(&mut self, (procedure, var): Variable, source: Variable) {
        self.of(procedure, var).push(source);
    }
}
