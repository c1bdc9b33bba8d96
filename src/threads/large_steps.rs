//! Large steps: what nobody else can notice happens in one step.
//!
//! Implements: R. J. Lipton, "Reduction: a method of proving properties of parallel programs", 1975, for steps that are
//! movers because they touch nothing that others can touch; [errata 21](crate::errata::item_21) says what may block.
//!
//! A step is *internal* if it reads and writes only what no other thread can read or write. Everything else is an
//! *access*: to globals that matter, to locals that some `x$` reads or writes, to the number of living threads, to the
//! right to move. A *large step* is a path from one cut to the next. On each of them,
//! 1. first come internal steps, which may block;
//! 2. then comes at most one action: one access, or several steps in a row during all of which the thread holds the system
//!    (these may block as well);
//! 3. then come internal steps that cannot block: at every location some step is possible, or an assertion fails.
//!
//! Every loop goes through a cut, threads begin at cuts, and cuts surround steps with `x$`, so that a large step starts
//! at most one thread and has at most one passive assignment.
//!
//! Why nothing is lost. Take a run in which thread `t` violates the property in its last step, and look at a large step
//! that another thread `u` has begun and not finished. If `u` has not made its action, its steps can be left out: nobody
//! noticed them. If `u` is in the middle of an action, then it holds the system, nobody else has moved since, and
//! either `u` is `t` or `u`'s steps can be left out. If `u` has made its action, it can be made to finish with internal
//! steps, or it violates the property on the way, which is just as well. Internal steps commute with all steps
//! of other threads, so the steps of each large step can be moved to its action. What remains is a run of large
//! steps, and the violation lies on the way of the last one. Conversely, every run of large steps is a run.
//!
//! The right to move: a thread that holds the system excludes the others. At [`Holding::Always`] nobody else can
//! move, whatever happens. At [`Holding::Mixed`] a thread is treated as if it did not hold the system, which only adds
//! cuts.

use super::{Holding, Location, Step, ThreadSystem};
use crate::model::{Action, Expr, Op, ProcId, Program, Var};

/// How far a large step may be when it comes to a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Before its action.
    Before,
    /// In its action, or behind it.
    After,
}

/// The variables that some `x$` reads or writes, with their procedures.
pub fn passive_variables(program: &Program) -> impl Iterator<Item = (ProcId, Var)> + '_ {
    program.procedure_ids().flat_map(move |id| {
        let edges = program.procedure(id).edges.iter();
        edges.flat_map(move |edge| {
            let Action::Assign(assign) = &edge.action else { return Vec::new() };
            let targets = assign.pairs.iter().filter(|(target, _)| target.passive);
            let sides = assign.pairs.iter().map(|&(_, value)| value).chain(assign.constrain.iter().copied());
            let places = sides.flat_map(|expr| program.exprs.reads(expr)).filter(|place| place.passive);
            let vars = targets.map(|(target, _)| target.var).chain(places.map(|place| place.var));
            vars.map(|var| (id, var)).collect()
        })
    })
}

/// What other threads can see of a program.
struct Visibility {
    /// For every procedure, the locals that some `x$` reads or writes.
    exposed: Vec<Vec<bool>>,
    /// The procedures with some `x$`: others can notice whether a thread has a frame of them.
    watched: Vec<bool>,
    /// Whether others can notice that a thread ends.
    counts_threads: bool,
}

impl Visibility {
    fn of(system: &ThreadSystem<'_>) -> Self {
        let program = system.program();
        let mut exposed: Vec<Vec<bool>> =
            program.procedures.iter().map(|procedure| vec![false; procedure.locals.len()]).collect();
        let mut watched = vec![false; program.procedures.len()];
        for (id, var) in passive_variables(program) {
            watched[id.index()] = true;
            if let Var::Local(local) = var {
                exposed[id.index()][local as usize] = true;
            }
        }
        let mut edges = program.procedures.iter().flat_map(|procedure| &procedure.edges);
        let creates = edges.any(|edge| matches!(edge.action, Action::Spawn(_) | Action::Fork(_)));
        let counts_threads = creates && system.task.threads.is_some() || watched.contains(&true);
        Self { exposed, watched, counts_threads }
    }

    /// Whether others can see or change a variable of a procedure.
    fn sees(&self, system: &ThreadSystem<'_>, procedure: ProcId, var: Var) -> bool {
        system.relevance.matters(procedure, var)
            && match var {
                Var::Global(_) => true,
                Var::Local(local) => self.exposed[procedure.index()][local as usize],
            }
    }

    /// Whether an expression reads a variable that others can change.
    fn reads_visible(&self, system: &ThreadSystem<'_>, procedure: ProcId, expr: Expr) -> bool {
        let mut reads = system.program().exprs.reads(expr);
        reads.any(|place| place.passive || self.sees(system, procedure, place.var))
    }

    /// Whether others can notice a step, or influence it.
    fn is_access(&self, system: &ThreadSystem<'_>, step: &Step) -> bool {
        let program = system.program();
        let id = system.context(step.from).procedure;
        let enforces = |procedure: ProcId| {
            let enforce = program.procedure(procedure).enforce;
            enforce.is_some_and(|condition| self.reads_visible(system, procedure, condition))
        };
        if step.to.is_none() && self.counts_threads
            || system.is_statement(step) && enforces(system.lands_in(step).procedure)
        {
            return true;
        }
        let Some(edge) = system.edge(step) else {
            let Some((caller, edge)) = system.returns_to(step) else { return true };
            let Action::Call(call) = &edge.action else { return true };
            let caller = system.contexts[caller.index()].procedure;
            let assigns = call.targets.iter().flatten().any(|&var| self.sees(system, caller, var));
            return assigns || self.watched[id.index()];
        };
        match &edge.action {
            Action::Skip | Action::EndThread => false,
            Action::Assume(condition) | Action::Assert(condition) => {
                self.reads_visible(system, id, *condition)
            }
            Action::Assign(assign) => {
                let pairs = assign
                    .pairs
                    .iter()
                    .filter(|(target, _)| target.passive || system.relevance.matters(id, target.var));
                let mut pairs = pairs.map(|&(target, value)| {
                    target.passive
                        || self.sees(system, id, target.var)
                        || self.reads_visible(system, id, value)
                });
                let mut conditions = assign.constrain.iter();
                pairs.any(|visible| visible)
                    || conditions.any(|&condition| self.reads_visible(system, id, condition))
            }
            Action::Call(call) => {
                let mut matching = (0..)
                    .zip(&call.args)
                    .filter(|&(parameter, _)| system.relevance.matters(call.callee, Var::Local(parameter)));
                self.watched[call.callee.index()]
                    || matching.any(|(_, &arg)| self.reads_visible(system, id, arg))
            }
            Action::Spawn(_) | Action::Fork(_) | Action::AtomicBegin | Action::AtomicEnd => true,
        }
    }
}

/// Whether a step reads or writes `x$`.
pub(super) fn is_passive(system: &ThreadSystem<'_>, step: &Step) -> bool {
    let Some(Action::Assign(assign)) = system.edge(step).map(|edge| &edge.action) else { return false };
    let sides = assign.pairs.iter().map(|&(_, value)| value).chain(assign.constrain.iter().copied());
    assign.is_passive()
        || sides.flat_map(|expr| system.program().exprs.reads(expr)).any(|place| place.passive)
}

/// Whether a step is possible in every state, unless it violates the property.
fn is_always_possible(system: &ThreadSystem<'_>, step: &Step) -> bool {
    let program = system.program();
    if system.is_statement(step) && program.procedure(system.lands_in(step).procedure).enforce.is_some() {
        return false;
    }
    match system.edge(step).map(|edge| &edge.action) {
        None | Some(Action::Skip | Action::EndThread | Action::Call(_)) => true,
        Some(Action::Assert(_)) => system.asserts(),
        Some(Action::Assign(assign)) => assign.constrain.is_empty(),
        Some(_) => false,
    }
}

/// Whether a thread at a location may be unable to make a step.
fn may_block(system: &ThreadSystem<'_>, location: Location) -> bool {
    let steps: Vec<&Step> = system.steps_from(location).map(|(_, step)| step).collect();
    if steps.iter().any(|step| is_always_possible(system, step)) {
        return false;
    }
    // A condition and its negation: one of them can hold.
    let condition = |step: &Step| match system.edge(step)?.action {
        Action::Assume(condition) if system.procedure(step.from).enforce.is_none() => {
            Some(system.program().exprs.ops(condition))
        }
        _ => None,
    };
    let conditions: Vec<_> = steps.iter().filter_map(|step| condition(step)).collect();
    let negates = |long: &[_], short: &[_]| {
        long.split_last().is_some_and(|(last, rest)| *last == Op::Not && rest == short)
    };
    !conditions.iter().any(|a| conditions.iter().any(|b| negates(a, b)))
}

/// Finds the cuts, and an order of the locations between them. Without the reduction every location is a cut.
pub(super) fn choose_cuts(system: &mut ThreadSystem<'_>, reduces: bool) {
    system.holding = holding(system);
    let (reverse_postorder, heads) = order(system);
    system.order = vec![0; system.len()];
    for (position, location) in reverse_postorder.iter().enumerate() {
        system.order[location.index()] = position as u32;
    }
    if !reduces {
        return;
    }
    let visibility = Visibility::of(system);
    let mut is_cut = heads;
    is_cut[system.start.index()] = true;
    for step in system.steps() {
        if let Some(created) = step.creates {
            is_cut[created.index()] = true;
            if let Some(to) = step.to {
                is_cut[to.index()] |= system.holding(to) == Holding::Always;
            }
        }
        if is_passive(system, step) {
            is_cut[step.from.index()] = true;
            step.to.into_iter().for_each(|to| is_cut[to.index()] = true);
        }
        // The thread that leaves the prologue is like all others from there on.
        if let Some(to) = step.to
            && system.in_prologue(step.from)
            && !system.in_prologue(to)
        {
            is_cut[to.index()] = true;
        }
    }
    let mut phase = vec![Phase::Before; system.len()];
    for location in reverse_postorder {
        let holds = system.holding(location) == Holding::Always;
        let is_access = |step: &Step| visibility.is_access(system, step);
        if !is_cut[location.index()] && !holds && phase[location.index()] == Phase::After {
            let mut steps = system.steps_from(location).map(|(_, step)| step);
            is_cut[location.index()] = steps.any(is_access) || may_block(system, location);
        }
        let at = if is_cut[location.index()] { Phase::Before } else { phase[location.index()] };
        for (_, step) in system.steps_from(location) {
            let Some(to) = step.to else { continue };
            let next = if holds || is_access(step) { Phase::After } else { at };
            phase[to.index()] = phase[to.index()].max(next);
        }
    }
    system.is_cut = is_cut;
}

/// What is known at every location: whether a thread there holds the system.
fn holding(system: &ThreadSystem<'_>) -> Vec<Holding> {
    let program = system.program();
    let mut known: Vec<Option<Holding>> = vec![None; system.len()];
    let mut open = Vec::new();
    let arrive = |known: &mut Vec<Option<Holding>>, open: &mut Vec<Location>, to: Location, holding| {
        let joined = match known[to.index()] {
            Some(old) if old != holding => Holding::Mixed,
            _ => holding,
        };
        if known[to.index()] != Some(joined) {
            known[to.index()] = Some(joined);
            open.push(to);
        }
    };
    // With the Getafix global, the first step of a thread may find it true.
    let fresh = if program.atomic_flag.is_some() { Holding::Mixed } else { Holding::Never };
    let first = if system.in_prologue(system.start) { Holding::Always } else { fresh };
    arrive(&mut known, &mut open, system.start, first);
    for step in system.steps() {
        step.creates.into_iter().for_each(|created| arrive(&mut known, &mut open, created, fresh));
    }
    let edges = program.procedures.iter().flat_map(|procedure| &procedure.edges);
    let uses_sections =
        edges.into_iter().any(|edge| matches!(edge.action, Action::AtomicBegin | Action::AtomicEnd));
    while let Some(location) = open.pop() {
        let before = known[location.index()].unwrap_or(Holding::Mixed);
        for (_, step) in system.steps_from(location) {
            let Some(to) = step.to else { continue };
            let after = if system.in_prologue(to) {
                Holding::Always
            } else if system.in_prologue(location) {
                fresh
            } else {
                holding_after(system, step, before, uses_sections)
            };
            arrive(&mut known, &mut open, to, after);
        }
    }
    known.into_iter().map(|holding| holding.unwrap_or(Holding::Mixed)).collect()
}

/// What is known after a step outside of the prologue.
fn holding_after(system: &ThreadSystem<'_>, step: &Step, before: Holding, uses_sections: bool) -> Holding {
    let program = system.program();
    let action = system.edge(step).map(|edge| &edge.action);
    let Some(flag) = program.atomic_flag else {
        return match action {
            Some(Action::AtomicBegin) => Holding::Always,
            Some(Action::AtomicEnd) => Holding::Never,
            _ => before,
        };
    };
    // The rule about the global is subtle if both it and sections are used; only what is certain counts.
    let flag = Var::Global(flag);
    let assigned = match action {
        Some(Action::Assign(assign)) => assign.pairs.iter().find(|(target, _)| target.var == flag),
        _ => None,
    };
    let returned = system.returns_to(step).is_some_and(|(_, edge)| match &edge.action {
        Action::Call(call) => call.targets.contains(&Some(flag)),
        _ => false,
    });
    match (assigned, action) {
        (_, Some(Action::AtomicBegin)) => Holding::Always,
        (Some(&(_, value)), _) => match program.exprs.ops(value) {
            [Op::Const(true)] => Holding::Always,
            [Op::Const(false)] if !uses_sections => Holding::Never,
            _ => Holding::Mixed,
        },
        _ if returned || matches!(action, Some(Action::AtomicEnd)) => Holding::Mixed,
        // While a thread holds the system because of the global, nobody else can change the global.
        _ if before == Holding::Always && uses_sections => Holding::Mixed,
        _ if before == Holding::Always => Holding::Always,
        // A thread may have ended and left the global true: then whoever makes the next step holds the system.
        _ => Holding::Mixed,
    }
}

/// The locations in reverse postorder of a depth-first search, and for each whether it is the head of a loop.
fn order(system: &ThreadSystem<'_>) -> (Vec<Location>, Vec<bool>) {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; system.len()];
    let mut heads = vec![false; system.len()];
    let mut postorder = Vec::with_capacity(system.len());
    for root in system.locations() {
        if marks[root.index()] != Mark::New {
            continue;
        }
        marks[root.index()] = Mark::Open;
        let mut stack = vec![(root, system.steps_from(root))];
        while let Some((location, steps)) = stack.last_mut() {
            let location = *location;
            let Some((_, step)) = steps.next() else {
                marks[location.index()] = Mark::Done;
                postorder.push(location);
                stack.pop();
                continue;
            };
            let Some(to) = step.to else { continue };
            match marks[to.index()] {
                Mark::Done => {}
                Mark::Open => heads[to.index()] = true,
                Mark::New => {
                    marks[to.index()] = Mark::Open;
                    stack.push((to, system.steps_from(to)));
                }
            }
        }
    }
    postorder.reverse();
    (postorder, heads)
}
