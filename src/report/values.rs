//! Values of variables: those that changed, and those that are shown when a frame begins.

use crate::evidence::Trace;
use crate::evidence::trace::{CallTree, End, Interleaving, Move, Valuation, Violation};
use crate::model::{Action, EdgeId, Expr, ProcId, Program, Var};

/// The positions where two valuations of the same variables differ, with the new value.
pub fn changes<'a>(before: &'a Valuation, after: &'a Valuation) -> impl Iterator<Item = (u32, bool)> + 'a {
    let pairs = before.0.iter().zip(&after.0).enumerate();
    pairs.filter(|(_, (old, new))| old != new).map(|(i, (_, new))| (i as u32, *new))
}

/// The variables that the steps of a trace read.
pub struct Reads {
    globals: Vec<bool>,
    locals: Vec<Vec<bool>>,
}

impl Reads {
    /// Collects the reads of all steps.
    #[must_use]
    pub fn of(program: &Program, trace: &Trace) -> Self {
        let locals = |p: &crate::model::Procedure| vec![false; p.locals.len()];
        let mut reads = Self {
            globals: vec![false; program.globals.len()],
            locals: program.procedures.iter().map(locals).collect(),
        };
        let mut seen: Vec<Vec<bool>> =
            program.procedures.iter().map(|p| vec![false; p.edges.len()]).collect();
        for (procedure, edge) in edges_taken(trace) {
            if !std::mem::replace(&mut seen[procedure.index()][edge.index()], true) {
                reads.add_edge(program, procedure, edge);
            }
        }
        reads
    }

    fn add_edge(&mut self, program: &Program, procedure: ProcId, edge: EdgeId) {
        let enforce = program.procedure(procedure).enforce;
        let expressions = expressions_of(&program.procedure(procedure).edge(edge).action);
        for expression in expressions.into_iter().chain(enforce) {
            for place in program.exprs.reads(expression) {
                match place.var {
                    Var::Global(i) => self.globals[i as usize] = true,
                    Var::Local(i) => self.locals[procedure.index()][i as usize] = true,
                }
            }
        }
    }

    fn contains(&self, procedure: ProcId, var: Var) -> bool {
        match var {
            Var::Global(i) => self.globals[i as usize],
            Var::Local(i) => self.locals[procedure.index()][i as usize],
        }
    }
}

fn expressions_of(action: &Action) -> Vec<Expr> {
    match action {
        Action::Assume(e) | Action::Assert(e) => vec![*e],
        Action::Assign(assign) => {
            assign.pairs.iter().map(|&(_, e)| e).chain(assign.constrain.iter().copied()).collect()
        }
        Action::Call(call) | Action::Spawn(call) => call.args.clone(),
        Action::Skip | Action::Fork(_) | Action::EndThread | Action::AtomicBegin | Action::AtomicEnd => {
            Vec::new()
        }
    }
}

/// All edges of a trace, and the edge of the assertion that fails.
fn edges_taken(trace: &Trace) -> Vec<(ProcId, EdgeId)> {
    match trace {
        Trace::Sequential(tree) => edges_of_tree(tree),
        Trace::Interleaved(interleaving) => edges_of_interleaving(interleaving),
    }
}

fn edges_of_tree(tree: &CallTree) -> Vec<(ProcId, EdgeId)> {
    let mut edges = Vec::new();
    for run in &tree.runs {
        edges.extend(run.steps.iter().map(|step| (run.procedure, step.edge)));
        match run.end {
            End::Inside { edge, .. } | End::Violation(Violation::Assertion(edge)) => {
                edges.push((run.procedure, edge));
            }
            End::Exit | End::Violation(Violation::Label) => {}
        }
    }
    edges
}

fn edges_of_interleaving(interleaving: &Interleaving) -> Vec<(ProcId, EdgeId)> {
    let mut edges = Vec::new();
    let mut before = &interleaving.initial;
    for step in &interleaving.steps {
        let thread = before.threads.iter().find(|thread| thread.id == step.thread);
        if let (Move::Edge(edge), Some(frame)) = (step.action, thread.and_then(|t| t.frames.last())) {
            edges.push((frame.procedure, edge));
        }
        before = &step.after;
    }
    let thread = before.threads.iter().find(|thread| thread.id == interleaving.thread);
    if let (Violation::Assertion(edge), Some(frame)) =
        (interleaving.violation, thread.and_then(|t| t.frames.last()))
    {
        edges.push((frame.procedure, edge));
    }
    edges
}

/// Writes values as `name=1`.
pub struct ValueWriter<'a> {
    program: &'a Program,
    reads: Reads,
}

impl<'a> ValueWriter<'a> {
    /// A frame that begins with more values than this shows only those that are read in the trace.
    const MANY: usize = 12;

    /// A writer for the variables of one trace.
    #[must_use]
    pub fn new(program: &'a Program, trace: &Trace) -> Self {
        Self { program, reads: Reads::of(program, trace) }
    }

    /// One value. A global that is hidden by a local is written with its full name.
    #[must_use]
    pub fn value(&self, procedure: ProcId, var: Var, value: bool) -> String {
        let name = &self.program.variable(procedure, var).name;
        let hidden = matches!(var, Var::Global(_))
            && self.program.procedure(procedure).locals.iter().any(|local| local.name == *name);
        format!("{}{name}={}", if hidden { "global " } else { "" }, u8::from(value))
    }

    /// Adds the globals that differ.
    pub fn globals(&self, procedure: ProcId, before: &Valuation, after: &Valuation, out: &mut Vec<String>) {
        out.extend(changes(before, after).map(|(i, value)| self.value(procedure, Var::Global(i), value)));
    }

    /// Adds the locals that differ, without return slots.
    pub fn locals(&self, procedure: ProcId, before: &Valuation, after: &Valuation, out: &mut Vec<String>) {
        let first_return = self.program.procedure(procedure).first_return();
        let changed = changes(before, after).filter(|&(i, _)| i < first_return);
        out.extend(changed.map(|(i, value)| self.value(procedure, Var::Local(i), value)));
    }

    /// Adds the values that an edge puts into the return slots, such as `returns 1, 0`.
    pub fn returned(&self, procedure: ProcId, edge: EdgeId, after: &Valuation, out: &mut Vec<String>) {
        let procedure = self.program.procedure(procedure);
        let first = procedure.first_return();
        let Action::Assign(assign) = &procedure.edge(edge).action else { return };
        let fills = assign.pairs.iter().any(|(target, _)| matches!(target.var, Var::Local(i) if i >= first));
        if fills {
            let values: Vec<&str> =
                after.0[first as usize..].iter().map(|&value| if value { "1" } else { "0" }).collect();
            out.push(format!("returns {}", values.join(", ")));
        }
    }

    /// The values at the beginning of a frame: the globals if given, then parameters and locals.
    #[must_use]
    pub fn initial(&self, procedure: ProcId, globals: Option<&Valuation>, locals: &Valuation) -> Vec<String> {
        let declared = self.program.procedure(procedure).first_return() as usize;
        let globals = globals.into_iter().flat_map(|g| &g.0).enumerate();
        let globals = globals.map(|(i, &value)| (Var::Global(i as u32), value));
        let locals = locals.0.iter().take(declared).enumerate();
        let locals = locals.map(|(i, &value)| (Var::Local(i as u32), value));
        let mut values: Vec<(Var, bool)> = globals.chain(locals).collect();
        let all = values.len();
        if all > Self::MANY {
            values.retain(|&(var, _)| self.reads.contains(procedure, var));
        }
        let left_out = all - values.len();
        let mut shown: Vec<String> =
            values.into_iter().map(|(var, value)| self.value(procedure, var, value)).collect();
        if left_out > 0 {
            shown.push(format!("({left_out} not read)"));
        }
        shown
    }
}
