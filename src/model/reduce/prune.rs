//! Removes code that control cannot reach, and simplifies the rest by the known values.
//!
//! An edge is removed if the known values forbid it: its condition cannot hold, or `enforce` cannot hold after it. An
//! edge that might close a loop is kept as `assume F` if control may reach both of its ends. Otherwise the loop would
//! be missing in the reduced program, and a certificate for that program would say nothing about the node where the
//! original loop has to be cut.
//!
//! `enforce` is not simplified, because the known values may follow from it.

use super::constants::{Constants, Transfer, own_conditions};
use super::facts::Facts;
use super::simplify::{Form, Simplifier};
use super::work::{Map, ProcedureMap, Work, first_edges};
use crate::model::cuts::Cuts;
use crate::model::{
    Action, Assign, Call, Edge, Expr, ExprPool, Node, Op, Place, ProcId, Procedure, Program, Property,
    Target, Task, Var,
};

/// Reduces a task to what control can reach.
pub(super) fn prune(task: &Task, constants: &Constants) -> Work {
    let program = &task.program;
    let mut ids = vec![None; program.procedures.len()];
    let mut kept = Vec::new();
    for id in program.procedure_ids() {
        if id == program.start || constants.is_reachable(id, Procedure::ENTRY) {
            ids[id.index()] = Some(ProcId::from_index(kept.len()));
            kept.push(id);
        }
    }
    let mut pruning = Pruning {
        task,
        program,
        constants,
        transfer: Transfer::new(program, constants.layout()),
        ids: &ids,
        simplifier: Simplifier::default(),
        exprs: ExprPool::default(),
    };
    let (procedures, maps) = kept.iter().map(|&id| pruning.procedure(id)).unzip();
    let exprs = pruning.exprs;
    let start = ids[program.start.index()].expect("the start procedure stays");
    Work {
        task: Task {
            program: Program {
                globals: program.globals.clone(),
                procedures,
                start,
                exprs,
                starts_threads: false,
                // A sequential program has no context switches that the flag could forbid.
                atomic_flag: None,
            },
            property: task.property.clone(),
            threads: task.threads,
        },
        map: Map {
            globals: (0..program.globals.len() as u32).collect(),
            procedures: maps,
            through: Map::nowhere(program),
        },
    }
}

struct Pruning<'a> {
    task: &'a Task,
    program: &'a Program,
    constants: &'a Constants,
    transfer: Transfer<'a>,
    /// The new ids of the procedures; `None` for removed ones.
    ids: &'a [Option<ProcId>],
    simplifier: Simplifier,
    exprs: ExprPool,
}

impl Pruning<'_> {
    fn procedure(&mut self, id: ProcId) -> (Procedure, ProcedureMap) {
        let program = self.program;
        let procedure = program.procedure(id);
        let mut number = vec![None; procedure.nodes as usize];
        let mut nodes = Vec::new();
        for node in (0..procedure.nodes as usize).map(Node::from_index) {
            let always = node == Procedure::ENTRY || node == Procedure::EXIT;
            if always || self.constants.is_reachable(id, node) {
                number[node.index()] = Some(Node::from_index(nodes.len()));
                nodes.push(node);
            }
        }
        let mut cuts = None;
        let mut edges = Vec::new();
        let mut origins = Vec::new();
        for &node in &nodes {
            let Some(facts) = self.constants.facts(id, node) else { continue };
            for (edge_id, edge) in procedure.edges_from(node) {
                let action = match self.action(id, facts, edge) {
                    Some(action) => action,
                    None if number[edge.to.index()].is_some_and(|_| {
                        self.constants.is_reachable(id, edge.to)
                            && goes_back(cuts.get_or_insert_with(|| Cuts::of(procedure)), edge)
                    }) =>
                    {
                        Action::Assume(self.exprs.single(Op::Const(false)))
                    }
                    None => continue,
                };
                edges.push(Edge {
                    from: number[node.index()].expect("it is one of those that stay"),
                    // Control never reaches the target: the assertion does not pass, or the call does not return.
                    to: number[edge.to.index()].unwrap_or(Procedure::EXIT),
                    branch: edge.branch.filter(|_| !matches!(action, Action::Skip)),
                    silent: edge.silent && matches!(action, Action::Skip),
                    action,
                    span: edge.span,
                });
                origins.push(smallvec::smallvec![edge_id]);
            }
        }
        let labels = procedure.labels.iter();
        let pruned = Procedure {
            name: procedure.name.clone(),
            span: procedure.span,
            params: procedure.params,
            locals: procedure.locals.clone(),
            returns: procedure.returns,
            enforce: procedure.enforce.and_then(|enforce| self.condition(enforce, |_| None)),
            labels: labels.filter_map(|(label, node)| Some((label.clone(), number[node.index()]?))).collect(),
            nodes: nodes.len() as u32,
            first_edge: first_edges(nodes.len() as u32, edges.iter().map(|edge| edge.from)),
            edges,
        };
        let map = ProcedureMap {
            original: id,
            nodes,
            edges: origins,
            locals: (0..procedure.locals.len() as u32).collect(),
            is_stale: vec![false; procedure.locals.len()],
        };
        (pruned, map)
    }

    /// The simplified action of an edge; `None` if the edge is removed.
    fn action(&mut self, id: ProcId, facts: &Facts, edge: &Edge) -> Option<Action> {
        let layout = self.constants.layout();
        let known = |place: Place| layout.get(id, facts, place.var);
        match &edge.action {
            Action::Assert(condition) if self.task.property == Property::Assertions => {
                let form = self.simplifier.read(self.program.exprs.ops(*condition), known);
                if form != Form::Const(true) {
                    return Some(Action::Assert(self.simplifier.write(&mut self.exprs, |place| place)));
                }
                self.transfer.step(id, facts, edge).map(|_| Action::Skip)
            }
            Action::EndThread => Some(Action::EndThread),
            Action::Call(call) => {
                self.transfer.enter(id, facts, call)?;
                let args = call.args.iter().map(|&arg| self.value(arg, known)).collect();
                let callee = self.ids[call.callee.index()].expect("it can be entered");
                Some(Action::Call(Box::new(Call { callee, args, targets: call.targets.clone() })))
            }
            action => {
                self.transfer.step(id, facts, edge)?;
                Some(match action {
                    Action::Assume(condition) | Action::Assert(condition) => {
                        self.condition(*condition, known).map_or(Action::Skip, Action::Assume)
                    }
                    Action::Assign(assign) => self.assign(assign, known),
                    _ => Action::Skip,
                })
            }
        }
    }

    fn value(&mut self, expr: Expr, known: impl Fn(Place) -> Option<bool>) -> Expr {
        self.simplifier.read(self.program.exprs.ops(expr), known);
        self.simplifier.write(&mut self.exprs, |place| place)
    }

    /// The simplified condition; `None` if it can always hold.
    fn condition(&mut self, expr: Expr, known: impl Fn(Place) -> Option<bool>) -> Option<Expr> {
        let form = self.simplifier.read(self.program.exprs.ops(expr), known);
        (!form.can_always_hold()).then(|| self.simplifier.write(&mut self.exprs, |place| place))
    }

    fn assign(&mut self, assign: &Assign, known: impl Fn(Place) -> Option<bool>) -> Action {
        let mut pairs: Vec<(Target, Expr)> = Vec::with_capacity(assign.pairs.len());
        let mut assigned: Vec<(Var, Option<bool>)> = Vec::with_capacity(assign.pairs.len());
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| !target.passive) {
            let code = self.program.exprs.ops(value);
            let form = self.simplifier.read(code, &known);
            let constant = if let Form::Const(value) = form { Some(value) } else { None };
            assigned.push((target.var, constant));
            let old = Place { var: target.var, primed: false, passive: false };
            let is_read_of_target = *code == [Op::Read(old)];
            let stays = is_read_of_target || constant.is_some() && known(old) == constant;
            if !stays {
                pairs.push((target, self.simplifier.write(&mut self.exprs, |place| place)));
            }
        }
        let around = |place: Place| {
            let new = assigned.iter().find(|(var, _)| place.primed && *var == place.var);
            new.map_or_else(|| known(place), |&(_, constant)| constant)
        };
        let mut constrain = Vec::new();
        for &condition in own_conditions(self.program, assign) {
            constrain.extend(self.condition(condition, around));
        }
        if pairs.is_empty() && constrain.is_empty() {
            return Action::Skip;
        }
        Action::Assign(Box::new(Assign { pairs, constrain }))
    }
}

/// Whether an edge closes a loop of its procedure.
fn goes_back(cuts: &Cuts, edge: &Edge) -> bool {
    cuts.is_head(edge.to) && cuts.place(edge.to) <= cuts.place(edge.from)
}
