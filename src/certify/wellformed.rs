//! Checks the properties of a program that every other check relies on.
//!
//! Lowering makes well-formed programs. This is checked again here, because a program that is not well-formed could
//! make every other check unsound.

use rustc_hash::FxHashSet;

use super::{Stop, reject, values};
use crate::model::{Action, Call, Edge, Expr, ProcId, Procedure, Program, Target, Var};

/// The kind of place where an expression occurs, which determines what it may read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// It may read the current values of the own thread.
    Plain,
    /// It may also read the current values of the other thread.
    PassiveValue,
    /// It may read the values of both threads before and after the step.
    Constrain,
}

/// Checks all ids and all expressions of a program.
pub(super) fn check(program: &Program) -> Result<(), Stop> {
    let outside = |id: ProcId| id.index() >= program.procedures.len();
    if outside(program.start) {
        return malformed(format!("there is no start procedure {}", program.start));
    }
    if program.atomic_flag.is_some_and(|flag| flag as usize >= program.globals.len()) {
        return malformed("the global `atomic` does not exist");
    }
    for procedure in &program.procedures {
        Checker { program, procedure }
            .procedure()
            .map_err(|stop| stop.at(format_args!("the model is malformed: `{}`", procedure.name)))?;
    }
    Ok(())
}

fn malformed(problem: impl AsRef<str>) -> Result<(), Stop> {
    reject(format!("the model is malformed: {}", problem.as_ref()))
}

struct Checker<'a> {
    program: &'a Program,
    procedure: &'a Procedure,
}

impl Checker<'_> {
    fn procedure(&self) -> Result<(), Stop> {
        let Procedure { params, locals, returns, labels, nodes, edges, first_edge, .. } = self.procedure;
        if *params as usize + *returns as usize > locals.len() {
            return reject("there are more parameters and return slots than locals");
        }
        if *nodes < 2 || first_edge.len() != *nodes as usize + 1 {
            return reject("the nodes and the table of their edges do not match");
        }
        let ordered = first_edge.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ordered || first_edge[0] != 0 || first_edge[*nodes as usize] as usize != edges.len() {
            return reject("the table of edges is not ordered");
        }
        let outgoing = |node: usize| first_edge[node] as usize..first_edge[node + 1] as usize;
        for node in 0..*nodes as usize {
            if edges[outgoing(node)].iter().any(|edge| edge.from.index() != node) {
                return reject(format!("n{node} has an edge that starts elsewhere"));
            }
        }
        if !outgoing(Procedure::EXIT.index()).is_empty() {
            return reject("an edge leaves the exit");
        }
        for (label, node) in labels {
            // A thread that reaches the exit of its last frame has ended, so no thread is ever at such a label.
            if node.index() >= *nodes as usize || *node == Procedure::EXIT {
                return reject(format!("label `{label}` is at no node where control may stand"));
            }
        }
        if let Some(enforce) = self.procedure.enforce {
            self.expr(enforce, Position::Plain)?;
        }
        edges.iter().try_for_each(|edge| self.edge(edge))
    }

    fn edge(&self, edge: &Edge) -> Result<(), Stop> {
        if edge.to.index() >= self.procedure.nodes as usize {
            return reject(format!("an edge leads to {}, which does not exist", edge.to));
        }
        if edge.silent && !matches!(edge.action, Action::Skip) {
            return reject("a step that no statement makes does more than move control");
        }
        match &edge.action {
            Action::Skip | Action::EndThread | Action::AtomicBegin | Action::AtomicEnd => Ok(()),
            Action::Assume(condition) | Action::Assert(condition) => self.expr(*condition, Position::Plain),
            Action::Assign(assign) => {
                let mut seen = FxHashSet::default();
                for &(target, value) in &assign.pairs {
                    self.target(target)?;
                    if !seen.insert((target.var, target.passive)) {
                        return reject("a variable is assigned twice in one step");
                    }
                    self.expr(value, if target.passive { Position::PassiveValue } else { Position::Plain })?;
                }
                assign.constrain.iter().try_for_each(|&condition| self.expr(condition, Position::Constrain))
            }
            Action::Call(call) => self.call(call),
            Action::Spawn(call) => {
                if !call.targets.is_empty() {
                    return reject("a new thread cannot return values");
                }
                self.starts_thread()?;
                self.call(call)
            }
            Action::Fork(node) => {
                // A thread at its exit would have ended already.
                if node.index() >= self.procedure.nodes as usize || *node == Procedure::EXIT {
                    return reject(format!("a thread cannot begin at {node}"));
                }
                self.starts_thread()
            }
        }
    }

    fn starts_thread(&self) -> Result<(), Stop> {
        if self.program.starts_threads {
            return Ok(());
        }
        reject("a thread is started in a program that claims to start none")
    }

    fn call(&self, call: &Call) -> Result<(), Stop> {
        let Some(callee) = self.program.procedures.get(call.callee.index()) else {
            return reject(format!("it calls {}, which does not exist", call.callee));
        };
        if call.args.len() != callee.params as usize {
            return reject(format!("it calls `{}` with a wrong number of arguments", callee.name));
        }
        if !call.targets.is_empty() && call.targets.len() != callee.returns as usize {
            return reject(format!("it takes a wrong number of values from `{}`", callee.name));
        }
        let mut seen = FxHashSet::default();
        for &var in call.targets.iter().flatten() {
            self.target(Target { var, passive: false })?;
            if !seen.insert(var) {
                return reject("a variable is assigned twice in one call");
            }
        }
        call.args.iter().try_for_each(|&arg| self.expr(arg, Position::Plain))
    }

    fn target(&self, target: Target) -> Result<(), Stop> {
        self.variable(target.var)?;
        passive(target.var, target.passive)
    }

    fn variable(&self, var: Var) -> Result<(), Stop> {
        let (position, count) = match var {
            Var::Global(i) => (i, self.program.globals.len()),
            Var::Local(i) => (i, self.procedure.locals.len()),
        };
        if (position as usize) < count {
            return Ok(());
        }
        reject(format!("variable {var:?} does not exist"))
    }

    fn expr(&self, expr: Expr, position: Position) -> Result<(), Stop> {
        for place in self.program.exprs.reads(expr) {
            self.variable(place.var)?;
            passive(place.var, place.passive)?;
            if place.primed && position != Position::Constrain {
                return reject(format!("the new value of {:?} is read outside `constrain`", place.var));
            }
            if place.passive && position == Position::Plain {
                return reject(format!("another thread's {:?} is read outside its assignment", place.var));
            }
        }
        values::evaluate::<()>(self.program.exprs.ops(expr), |_| Err(())).map(|_| ())
    }
}

fn passive(var: Var, passive: bool) -> Result<(), Stop> {
    if passive && matches!(var, Var::Global(_)) {
        return reject(format!("the global {var:?} has no copy in other threads"));
    }
    Ok(())
}
