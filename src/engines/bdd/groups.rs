//! Which variables occur together in a program.
//!
//! Whole expressions alone are not enough: a long conjunction of equalities says little about the order of its
//! variables, but each equality says a lot. So every subexpression with few variables is a group of its own. A
//! variable that is assigned under a condition also belongs to a group with the variables of the condition.

use std::collections::BTreeSet;

use crate::model::{Action, Expr, Op, ProcId, Program, Var};

/// The greatest number of variables of a group that is useful for their order.
pub(super) const SMALL: usize = 8;

/// The groups of variables that occur together. Vertices are the globals, then the locals of one procedure after
/// the other.
pub(super) struct Groups<'a> {
    program: &'a Program,
    /// The number of each procedure's first local.
    pub first_local: Vec<u32>,
    pub vertices: u32,
    /// The groups; each has at least two vertices, which are sorted.
    pub found: Vec<Vec<u32>>,
}

/// The vertices of a subexpression; `None` if there are too many.
type Small = Option<BTreeSet<u32>>;

fn union(a: Small, b: Small) -> Small {
    let (mut a, mut b) = (a?, b?);
    a.append(&mut b);
    (a.len() <= SMALL).then_some(a)
}

impl<'a> Groups<'a> {
    /// All groups of a program.
    pub fn of(program: &'a Program) -> Self {
        let mut vertices = program.globals.len() as u32;
        let mut first_local = Vec::with_capacity(program.procedures.len());
        for procedure in &program.procedures {
            first_local.push(vertices);
            vertices += procedure.locals.len() as u32;
        }
        let mut groups = Self { program, first_local, vertices, found: Vec::new() };
        for id in program.procedure_ids() {
            groups.add_procedure(id);
        }
        groups
    }

    fn vertex(&self, procedure: ProcId, var: Var) -> u32 {
        match var {
            Var::Global(i) => i,
            Var::Local(i) => self.first_local[procedure.index()] + i,
        }
    }

    fn add_procedure(&mut self, id: ProcId) {
        let program = self.program;
        let procedure = program.procedure(id);
        if let Some(enforce) = procedure.enforce {
            self.add(id, enforce, None);
        }
        // For each node, the variables in the conditions of the edges that lead to it.
        let mut asked: Vec<Small> = vec![Some(BTreeSet::new()); procedure.nodes as usize];
        for edge in &procedure.edges {
            if let Action::Assume(condition) = edge.action {
                let reads = self.vertices_of(id, condition);
                let asked = &mut asked[edge.to.index()];
                *asked = union(asked.take(), Some(reads));
            }
        }
        for edge in &procedure.edges {
            match &edge.action {
                Action::Assume(condition) | Action::Assert(condition) => self.add(id, *condition, None),
                Action::Assign(assign) => {
                    for (target, value) in &assign.pairs {
                        let target = self.vertex(id, target.var);
                        self.add(id, *value, Some(target));
                        let under = union(asked[edge.from.index()].clone(), Some(BTreeSet::from([target])));
                        self.push(under.unwrap_or_default());
                    }
                    for &condition in &assign.constrain {
                        self.add(id, condition, None);
                    }
                }
                Action::Call(call) => {
                    for (param, arg) in (0..).zip(&call.args) {
                        self.add(id, *arg, Some(self.vertex(call.callee, Var::Local(param))));
                    }
                    let first = program.procedure(call.callee).first_return();
                    for (slot, target) in (first..).zip(&call.targets) {
                        if let Some(target) = target {
                            let returned = self.vertex(call.callee, Var::Local(slot));
                            self.push(BTreeSet::from([self.vertex(id, *target), returned]));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn vertices_of(&self, procedure: ProcId, expr: Expr) -> BTreeSet<u32> {
        self.program.exprs.reads(expr).map(|place| self.vertex(procedure, place.var)).collect()
    }

    fn push(&mut self, group: BTreeSet<u32>) {
        if group.len() > 1 {
            self.found.push(group.into_iter().collect());
        }
    }

    /// Adds groups for the subexpressions of an expression, and for the whole expression together with the variable
    /// that takes its value.
    fn add(&mut self, procedure: ProcId, expr: Expr, taker: Option<u32>) {
        let program = self.program;
        let mut stack: Vec<Small> = Vec::new();
        for op in program.exprs.ops(expr) {
            let part = match op {
                Op::Const(_) | Op::Choice => Some(BTreeSet::new()),
                Op::Read(place) => Some(BTreeSet::from([self.vertex(procedure, place.var)])),
                Op::Not => continue,
                Op::And | Op::Or | Op::Xor | Op::Ite => {
                    let count = if *op == Op::Ite { 3 } else { 2 };
                    let parts = stack.split_off(stack.len().saturating_sub(count));
                    let part = parts.into_iter().fold(Some(BTreeSet::new()), union);
                    self.push(part.clone().unwrap_or_default());
                    part
                }
            };
            stack.push(part);
        }
        // Without such a variable, a small expression was already added as its own last subexpression.
        let is_large = stack.last().is_none_or(Option::is_none);
        if taker.is_some() || is_large {
            let mut whole = self.vertices_of(procedure, expr);
            whole.extend(taker);
            self.push(whole);
        }
    }
}
