//! From a schedule to a run: which thread makes which step is known, the values are found by one question to a SAT solver.
//!
//! Engines work on reduced systems and remember control only. The steps of the run are executed here on terms, with all
//! variables of the program, straight ahead, so the formula is as long as the run. The semantics is the one of
//! [`crate::model`]; what comes out is replayed by [`crate::certify`] like every run.
//!
//! [`is_possible`] asks the same question without writing the run down, for those who try many schedules.

use std::rc::Rc;
use std::sync::Arc;

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, TermArena, VarId};
use cusp_solvers::{Answer, Limits};
use rustc_hash::FxHashSet;

use crate::budget::Budget;
use crate::evidence::trace::{self, Interleaving, Move, ThreadStep, Valuation, Violation};
use crate::model::{
    Action, Assign, Call, Edge, Expr, Node, Place, ProcId, Procedure, Program, Property, Task, Var,
};
use crate::reason::Reason;
use crate::symbolic::expression::term_of;

/// A run without values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The steps: the number of the thread that moves, in the order of creation, and what it does.
    pub steps: Vec<(u32, Move)>,
    /// The thread that violates the property at the end.
    pub thread: u32,
    /// How it violates the property.
    pub violation: Violation,
}

impl Schedule {
    /// How often control passes from one thread to another.
    #[must_use]
    pub fn switches(&self) -> usize {
        trace::switches(self.steps.iter().map(|&(thread, _)| thread), self.thread, self.violation)
    }
}

/// The run with this schedule and with values for all variables; `None` if there is none.
///
/// # Errors
/// If the budget is used up.
pub fn concretise(task: &Task, schedule: &Schedule, budget: &Budget) -> Result<Option<Interleaving>, Reason> {
    let Some(run) = Run::follow(task, schedule, budget, |_| {})? else { return Ok(None) };
    let Some(model) = run.solve(&Limits::NONE, budget)? else { return Ok(None) };
    let all: Vec<Term> = run.arena.terms().collect();
    let words = run.arena.simulate(&all, |var| if model.contains(&var.number()) { u64::MAX } else { 0 });
    // The states are made once more, with the same terms, now that the values are known: keeping them all would take long
    // lists of terms.
    let mut writer = Writer { words, last: Vec::new() };
    let mut systems = Vec::with_capacity(schedule.steps.len() + 1);
    Run::follow(task, schedule, budget, |system| systems.push(writer.concrete(system)))?;
    let mut systems = systems.into_iter();
    let Some(initial) = systems.next() else { return Ok(None) };
    let steps = schedule.steps.iter().zip(systems);
    let steps = steps.map(|(&(thread, action), after)| ThreadStep { thread, action, after }).collect();
    Ok(Some(Interleaving { initial, steps, thread: schedule.thread, violation: schedule.violation }))
}

/// Whether there is a run with this schedule.
///
/// # Errors
/// If that was not found out within the limits.
pub fn is_possible(
    task: &Task,
    schedule: &Schedule,
    limits: &Limits,
    budget: &Budget,
) -> Result<bool, Reason> {
    match Run::follow(task, schedule, budget, |_| {})? {
        None => Ok(false),
        Some(run) => Ok(run.solve(limits, budget)?.is_some()),
    }
}

#[derive(Clone)]
struct Frame {
    procedure: ProcId,
    node: Node,
    locals: Vec<Term>,
}

struct Thread {
    id: u32,
    /// Frames are shared between moments.
    frames: Vec<Rc<Frame>>,
}

struct System {
    globals: Vec<Term>,
    /// The threads that have not ended, by their numbers.
    threads: Vec<Thread>,
    /// Whether the thread that moved last holds the system; false if it has ended.
    held: Term,
    /// The thread that moved last.
    last: u32,
}

/// Writes states down. Frames that stay the same are shared between states, so that runs with deep stacks stay small.
struct Writer {
    /// The value of every term, in the lowest bit.
    words: Vec<u64>,
    /// The threads of the last state that was written: their numbers, and their frames as terms and as values.
    last: Vec<(u32, Vec<SharedFrame>)>,
}

type SharedFrame = (Rc<Frame>, Arc<trace::Frame>);

impl Writer {
    fn value(&self, term: Term) -> bool {
        (self.words[term.index()] & 1 == 1) != term.is_complemented()
    }

    fn values(&self, terms: &[Term]) -> Valuation {
        Valuation(terms.iter().map(|&term| self.value(term)).collect())
    }

    fn concrete(&mut self, system: &System) -> trace::System {
        let last = std::mem::take(&mut self.last);
        let mut threads = Vec::with_capacity(system.threads.len());
        for thread in &system.threads {
            let old = last.binary_search_by_key(&thread.id, |(id, _)| *id).map_or(&[][..], |at| &last[at].1);
            let frame = |(position, frame): (usize, &Rc<Frame>)| {
                let same = old.get(position).filter(|(terms, _)| Rc::ptr_eq(terms, frame));
                let written = if let Some((_, written)) = same {
                    Arc::clone(written)
                } else {
                    let Frame { procedure, node, ref locals } = **frame;
                    Arc::new(trace::Frame { procedure, node, locals: self.values(locals) })
                };
                (Rc::clone(frame), written)
            };
            let frames: Vec<SharedFrame> = thread.frames.iter().enumerate().map(frame).collect();
            let written = frames.iter().map(|(_, written)| Arc::clone(written)).collect();
            threads.push(trace::Thread { id: thread.id, frames: written });
            self.last.push((thread.id, frames));
        }
        let holder = self.value(system.held).then_some(system.last);
        trace::System { globals: self.values(&system.globals), threads, holder }
    }
}

struct Run<'a> {
    task: &'a Task,
    program: &'a Program,
    arena: TermArena,
    /// What the values have to satisfy.
    condition: Term,
    system: System,
    created: u32,
}

/// A step that is not possible, whatever the values are.
type Possible = Option<()>;

impl<'a> Run<'a> {
    fn new(task: &'a Task) -> Self {
        let program = &task.program;
        let mut arena = TermArena::new();
        let mut fresh = |count: usize| (0..count).map(|_| arena.fresh()).collect::<Vec<_>>();
        let globals = fresh(program.globals.len());
        let locals = fresh(program.procedure(program.start).locals.len());
        let frame = Frame { procedure: program.start, node: Procedure::ENTRY, locals };
        let threads = vec![Thread { id: 0, frames: vec![Rc::new(frame.clone())] }];
        let system = System { globals, threads, held: Term::FALSE, last: 0 };
        let mut run = Self { task, program, arena, condition: Term::TRUE, system, created: 1 };
        run.enforce(&frame);
        run
    }

    /// Makes all steps of a schedule, and shows the state before the first and after every step; `None` if it is not
    /// possible, whatever the values are.
    fn follow(
        task: &'a Task,
        schedule: &Schedule,
        budget: &Budget,
        mut show: impl FnMut(&System),
    ) -> Result<Option<Self>, Reason> {
        let mut run = Self::new(task);
        show(&run.system);
        for &(thread, action) in &schedule.steps {
            if let Some(reason) = budget.exhausted() {
                return Err(reason);
            }
            if run.step(thread, action).is_none() || run.condition == Term::FALSE {
                return Ok(None);
            }
            show(&run.system);
        }
        let violates = run.violates(schedule.thread, schedule.violation).is_some();
        Ok((violates && run.condition != Term::FALSE).then_some(run))
    }

    fn require(&mut self, condition: Term) {
        self.condition = self.arena.and(self.condition, condition);
    }

    /// The value of an expression in a frame.
    fn term(&mut self, expr: Expr, frame: &Frame) -> Term {
        let Self { arena, program, system, .. } = self;
        term_of(arena, program.exprs.ops(expr), |place| read(&system.globals, &frame.locals, place.var))
    }

    fn enforce(&mut self, frame: &Frame) {
        if let Some(condition) = self.program.procedure(frame.procedure).enforce {
            let condition = self.term(condition, frame);
            self.require(condition);
        }
    }

    /// The position of a living thread, which may move.
    fn mover(&mut self, thread: u32) -> Option<usize> {
        if self.system.last != thread {
            let held = self.system.held;
            self.require(!held);
        }
        self.position(thread)
    }

    fn position(&self, thread: u32) -> Option<usize> {
        self.system.threads.binary_search_by_key(&thread, |thread| thread.id).ok()
    }

    fn step(&mut self, thread: u32, action: Move) -> Possible {
        let at = self.mover(thread)?;
        let bottom = self.system.threads[at].frames.first()?.procedure;
        let flag = self.program.atomic_flag.map(|flag| flag as usize);
        let flag_before = flag.map(|flag| self.system.globals[flag]);
        let edge = match action {
            Move::Return => {
                self.returns(at)?;
                None
            }
            Move::Edge(id) => {
                let top = self.system.threads[at].frames.last()?.clone();
                let edge = self.program.procedure(top.procedure).edges.get(id.index())?;
                if edge.from != top.node {
                    return None;
                }
                self.edge(at, &top, edge)?;
                Some(&edge.action)
            }
        };
        self.system.held = match self.position(thread).map(|at| self.system.threads[at].frames[0].procedure) {
            None => Term::FALSE,
            Some(now) if self.program.is_prologue(bottom) => Term::constant(self.program.is_prologue(now)),
            Some(_) => {
                let before = flag_before.unwrap_or(Term::FALSE);
                let after = flag.map_or(Term::FALSE, |flag| self.system.globals[flag]);
                let in_section = match edge {
                    Some(Action::AtomicBegin) => Term::TRUE,
                    Some(Action::AtomicEnd) => Term::FALSE,
                    _ => self.arena.and(self.system.held, !before),
                };
                self.arena.or(in_section, after)
            }
        };
        self.system.last = thread;
        Some(())
    }

    fn returns(&mut self, at: usize) -> Possible {
        let frames = &mut self.system.threads[at].frames;
        let left = frames.pop()?;
        let caller = Rc::make_mut(frames.last_mut()?);
        if left.node != Procedure::EXIT {
            return None;
        }
        let procedure = self.program.procedure(caller.procedure);
        let mut edges = procedure.edges_from(caller.node);
        let (_, edge) = edges.find(|(_, edge)| matches!(edge.action, Action::Call(_)))?;
        let Action::Call(call) = &edge.action else { return None };
        let first = self.program.procedure(left.procedure).first_return();
        for (slot, target) in (first..).zip(&call.targets) {
            let value = left.locals[slot as usize];
            match *target {
                Some(Var::Global(i)) => self.system.globals[i as usize] = value,
                Some(Var::Local(i)) => caller.locals[i as usize] = value,
                None => {}
            }
        }
        self.arrive(at, edge)
    }

    /// Moves the topmost frame to the target of an edge, and ends the thread if that is the exit of its only frame.
    fn arrive(&mut self, at: usize, edge: &Edge) -> Possible {
        let frames = &mut self.system.threads[at].frames;
        let ends = frames.len() == 1 && edge.to == Procedure::EXIT;
        Rc::make_mut(frames.last_mut()?).node = edge.to;
        let top = Rc::clone(frames.last()?);
        if !edge.silent {
            self.enforce(&top);
        }
        if ends {
            self.system.threads.remove(at);
        }
        Some(())
    }

    fn edge(&mut self, at: usize, top: &Frame, edge: &'a Edge) -> Possible {
        match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => {}
            Action::Assume(condition) | Action::Assert(condition) => {
                let condition = self.term(*condition, top);
                self.require(condition);
            }
            Action::Assign(assign) => self.assign(at, top, assign),
            Action::Call(call) => {
                let new = self.entered(call, top);
                let frames = &mut self.system.threads[at].frames;
                if self.program.leaves_prologue(top.procedure, edge) {
                    frames.clear();
                }
                frames.push(Rc::new(new));
                return Some(());
            }
            Action::Spawn(call) => {
                if self.may_start() {
                    let new = self.entered(call, top);
                    self.start(new);
                }
            }
            Action::Fork(node) => {
                if self.may_start() {
                    self.start(Frame { node: *node, ..top.clone() });
                }
            }
            Action::EndThread => {
                self.system.threads.remove(at);
                return Some(());
            }
        }
        self.arrive(at, edge)
    }

    fn may_start(&self) -> bool {
        self.task.threads.is_none_or(|bound| self.system.threads.len() < bound as usize)
    }

    fn start(&mut self, frame: Frame) {
        self.system.threads.push(Thread { id: self.created, frames: vec![Rc::new(frame)] });
        self.created += 1;
    }

    /// The frame with which a call or a new thread begins.
    fn entered(&mut self, call: &Call, caller: &Frame) -> Frame {
        let mut locals: Vec<Term> = call.args.iter().map(|&arg| self.term(arg, caller)).collect();
        let count = self.program.procedure(call.callee).locals.len();
        locals.resize_with(count, || self.arena.fresh());
        let frame = Frame { procedure: call.callee, node: Procedure::ENTRY, locals };
        self.enforce(&frame);
        frame
    }

    fn assign(&mut self, at: usize, top: &Frame, assign: &Assign) {
        let Self { arena, system, program, .. } = self;
        let depth = system.threads[at].frames.len() - 1;
        // The frames that `x$` means, with what they are before the step.
        let others = (0..system.threads.len()).filter(|&other| other != at).filter_map(|other| {
            let frames = &system.threads[other].frames;
            let position = frames.iter().rposition(|frame| frame.procedure == top.procedure)?;
            Some((other, position, Rc::clone(&frames[position])))
        });
        let others: Vec<(usize, usize, Rc<Frame>)> = others.collect();
        let own = [(at, depth, Rc::clone(&system.threads[at].frames[depth]))];
        let mut writes = Vec::with_capacity(assign.pairs.len());
        for &(target, value) in &assign.pairs {
            for (thread, frame, before) in if target.passive { &others[..] } else { &own } {
                let value = term_of(arena, program.exprs.ops(value), |place| {
                    let locals = if place.passive { &before.locals } else { &top.locals };
                    read(&system.globals, locals, place.var)
                });
                writes.push((*thread, *frame, target.var, value));
            }
        }
        let globals_before = system.globals.clone();
        for (thread, frame, var, value) in writes {
            match var {
                Var::Global(i) => system.globals[i as usize] = value,
                Var::Local(i) => {
                    Rc::make_mut(&mut system.threads[thread].frames[frame]).locals[i as usize] = value;
                }
            }
        }
        let mut conditions = Vec::new();
        for &condition in &assign.constrain {
            let of_others = program.exprs.reads(condition).any(|place| place.passive);
            for (thread, frame, before) in if of_others { &others[..] } else { &own } {
                conditions.push(term_of(arena, program.exprs.ops(condition), |place: Place| {
                    let (thread, frame) = if place.passive { (*thread, *frame) } else { (at, depth) };
                    let old = if place.passive { &before.locals } else { &top.locals };
                    if place.primed {
                        read(&system.globals, &system.threads[thread].frames[frame].locals, place.var)
                    } else {
                        read(&globals_before, old, place.var)
                    }
                }));
            }
        }
        for condition in conditions {
            self.require(condition);
        }
    }

    fn violates(&mut self, thread: u32, violation: Violation) -> Possible {
        match violation {
            Violation::Label => {
                let Property::LabelUnreachable(label) = &self.task.property else { return None };
                let top = self.system.threads[self.position(thread)?].frames.last()?;
                let mut nodes = self.program.procedure(top.procedure).nodes_labelled(label);
                nodes.any(|node| node == top.node).then_some(())
            }
            Violation::Assertion(id) => {
                let at = self.mover(thread)?;
                let top = self.system.threads[at].frames.last()?.clone();
                let edge = self.program.procedure(top.procedure).edges.get(id.index())?;
                let Action::Assert(condition) = edge.action else { return None };
                let condition = self.term(condition, &top);
                self.require(!condition);
                (edge.from == top.node).then_some(())
            }
        }
    }

    /// The variables that are true in some values that satisfy the condition.
    fn solve(&self, limits: &Limits, budget: &Budget) -> Result<Option<FxHashSet<u32>>, Reason> {
        let mut solver = budget.sat_solver();
        let mut encoder = CnfEncoder::new(CnfStyle::PlaistedGreenbaum);
        let goal = encoder.encode(&self.arena, self.condition, Polarity::Positive, &mut *solver);
        match solver.solve(&[goal], limits) {
            Answer::Unsat => Ok(None),
            Answer::Unknown(why) => {
                Err(budget.exhausted().unwrap_or_else(|| Reason::GaveUp(why.to_string())))
            }
            Answer::Sat => {
                let vars = self.arena.support(&[self.condition]);
                let is_true =
                    |var| encoder.var_literal(&self.arena, var).is_some_and(|lit| solver.value(lit));
                Ok(Some(vars.into_iter().filter(|&var| is_true(var)).map(VarId::number).collect()))
            }
        }
    }
}

fn read(globals: &[Term], locals: &[Term], var: Var) -> Term {
    match var {
        Var::Global(i) => globals[i as usize],
        Var::Local(i) => locals[i as usize],
    }
}
