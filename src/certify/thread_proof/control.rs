//! The control of threads: all stacks that a thread can have whatever the values are, and the steps between them.
//!
//! A procedure that can be called while it runs would have infinitely many stacks, so it is rejected, and the number of
//! stacks is limited: a wrong certificate cannot make the check run for ever. A stack refers to the stack of the caller, so
//! deep calls do not make many stacks long.

use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::certify::stacks::{check_stack, pending_call};
use crate::certify::{Forbidden, Stop, poll, reject};
use crate::model::{Action, Call, Edge, EdgeId, Node, ProcId, Procedure, Program, Property, Task};

define_id!(
    /// A stack that a thread can have.
    StackId, "stack "
);

/// The largest number of stacks.
const MOST_STACKS: usize = 1 << 20;

/// A frame of a stack.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub procedure: ProcId,
    pub node: Node,
    /// The position of its first local among the values of the thread.
    pub base: usize,
}

/// A stack.
pub(super) struct Stack {
    /// The frame that runs.
    pub top: Frame,
    /// The stack without it; `None` if it is the only frame.
    pub below: Option<StackId>,
    /// The procedure of the first frame.
    pub bottom: ProcId,
    /// The number of values of a thread with this stack.
    pub width: usize,
    /// The number of the cut, if the stack is one.
    pub cut: Option<u32>,
}

/// A step of a thread from one stack to another.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub from: StackId,
    /// The edge of the procedure that runs; `None` for a return.
    pub edge: Option<EdgeId>,
    /// The stack after the step; `None` if the thread ends.
    pub to: Option<StackId>,
    /// The stack of the thread that is started.
    pub created: Option<StackId>,
}

/// All stacks and steps.
pub(super) struct Control<'a> {
    pub task: &'a Task,
    pub program: &'a Program,
    pub budget: &'a Budget,
    forbidden: Forbidden,
    stacks: Vec<Stack>,
    steps: Vec<Step>,
    /// The position of the first step of every stack, and one past the last step.
    first_step: Vec<u32>,
    /// The stack with which the first thread starts.
    pub start: StackId,
    /// For every cut, its stack; `None` if no thread can have it.
    pub cuts: Vec<Option<StackId>>,
    /// The position of every stack in an order in which steps lead forwards unless they lead to a cut.
    order: Vec<u32>,
}

/// Stacks as lists of procedures and nodes, as certificates have them, bottom first.
type Nodes = Vec<(ProcId, Node)>;

/// A stack as it is found: the stack of the caller, and what is above it.
type Found = (Option<StackId>, ProcId, Node);

/// The stacks that were found so far.
struct Explorer<'a> {
    program: &'a Program,
    found: Vec<Found>,
    numbers: FxHashMap<Found, StackId>,
}

impl Explorer<'_> {
    fn number(&mut self, stack: Found) -> StackId {
        let next = StackId::from_index(self.found.len());
        *self.numbers.entry(stack).or_insert_with(|| {
            self.found.push(stack);
            next
        })
    }

    /// The stack of a thread that begins.
    fn bottom(&mut self, procedure: ProcId, node: Node) -> StackId {
        self.number((None, procedure, node))
    }

    /// The stack after the topmost frame has come to a node; `None` if the thread ends there.
    fn arrive(&mut self, (below, procedure, _): Found, to: Node) -> Option<StackId> {
        let ends = below.is_none() && to == Procedure::EXIT;
        (!ends).then(|| self.number((below, procedure, to)))
    }

    /// Whether a procedure has a frame in a stack.
    fn contains(&self, stack: StackId, procedure: ProcId) -> bool {
        let stacks = std::iter::successors(Some(stack), |id| self.found[id.index()].0);
        stacks.into_iter().any(|id| self.found[id.index()].1 == procedure)
    }

    /// The number of a stack in a list of procedures and nodes; `None` if no thread can have it.
    fn look_up(&self, nodes: &[(ProcId, Node)]) -> Option<StackId> {
        let mut stack = None;
        for &(procedure, node) in nodes {
            stack = Some(*self.numbers.get(&(stack, procedure, node))?);
        }
        stack
    }

    fn steps_from(&mut self, from: StackId, steps: &mut Vec<Step>) -> Result<(), Stop> {
        let program = self.program;
        let stack = self.found[from.index()];
        let (below, id, node) = stack;
        let procedure = program.procedure(id);
        if node == Procedure::EXIT {
            let caller = below.map(|below| self.found[below.index()]);
            let call = caller.and_then(|stack| {
                let (_, edge) = pending_call(program.procedure(stack.1), stack.2)?;
                Some((stack, edge))
            });
            let Some((caller, edge)) = call else {
                return reject(format!("`{}` has no caller to return to", procedure.name));
            };
            let to = self.arrive(caller, edge.to);
            steps.push(Step { from, edge: None, to, created: None });
            return Ok(());
        }
        for (edge, data) in procedure.edges_from(node) {
            let mut created = None;
            let to = match &data.action {
                Action::EndThread => None,
                Action::Call(call) if program.leaves_prologue(id, data) => {
                    Some(self.bottom(call.callee, Procedure::ENTRY))
                }
                Action::Call(call) => {
                    if pending_call(procedure, node).is_none() {
                        return reject(format!("a call of `{}` is not the only edge", procedure.name));
                    }
                    if self.contains(from, call.callee) {
                        let name = &program.procedure(call.callee).name;
                        return reject(format!("`{name}` is recursive"));
                    }
                    Some(self.number((Some(from), call.callee, Procedure::ENTRY)))
                }
                action => {
                    created = match action {
                        Action::Spawn(call) => Some(self.bottom(call.callee, Procedure::ENTRY)),
                        Action::Fork(at) => Some(self.bottom(id, *at)),
                        _ => None,
                    };
                    self.arrive(stack, data.to)
                }
            };
            steps.push(Step { from, edge: Some(edge), to, created });
        }
        Ok(())
    }
}

impl<'a> Control<'a> {
    /// Explores the control of a program, and looks for the cuts in it. Rejects cuts that are no stacks or occur
    /// twice, recursion, and cycles without a cut.
    pub fn new(task: &'a Task, cuts: &[Nodes], budget: &'a Budget) -> Result<Self, Stop> {
        let program = &task.program;
        let mut explorer = Explorer { program, found: Vec::new(), numbers: FxHashMap::default() };
        let start = explorer.bottom(program.start, Procedure::ENTRY);
        let (mut steps, mut first_step) = (Vec::new(), Vec::new());
        let mut next = 0;
        while next < explorer.found.len() {
            poll(budget)?;
            if explorer.found.len() > MOST_STACKS {
                return reject(format!("there are more than {MOST_STACKS} stacks"));
            }
            first_step.push(steps.len() as u32);
            explorer.steps_from(StackId::from_index(next), &mut steps)?;
            next += 1;
        }
        first_step.push(steps.len() as u32);
        // The stack of a caller is found before that of the callee.
        let mut stacks: Vec<Stack> = Vec::with_capacity(explorer.found.len());
        for &(below, procedure, node) in &explorer.found {
            let caller = below.map(|below| &stacks[below.index()]);
            let (base, bottom) = caller.map_or((0, procedure), |caller| (caller.width, caller.bottom));
            let width = base + program.procedure(procedure).locals.len();
            stacks.push(Stack { top: Frame { procedure, node, base }, below, bottom, width, cut: None });
        }
        let mut places = Vec::with_capacity(cuts.len());
        for (number, cut) in cuts.iter().enumerate() {
            check_stack(program, cut).map_err(|stop| stop.at(format_args!("cut {number}")))?;
            let place = explorer.look_up(cut);
            if let Some(id) = place
                && stacks[id.index()].cut.replace(number as u32).is_some()
            {
                return reject(format!("cut {number} is listed twice"));
            }
            places.push(place);
        }
        let forbidden = Forbidden::of(task);
        let order = Vec::new();
        let mut control =
            Self { task, program, budget, forbidden, stacks, steps, first_step, start, cuts: places, order };
        control.sort()?;
        Ok(control)
    }

    /// The stack with a number.
    pub fn stack(&self, id: StackId) -> &Stack {
        &self.stacks[id.index()]
    }

    /// The frames of a stack, the topmost first.
    pub fn frames(&self, id: StackId) -> impl Iterator<Item = Frame> + '_ {
        std::iter::successors(Some(id), |&id| self.stack(id).below).map(|id| self.stack(id).top)
    }

    /// The frame of a procedure that `x$` refers to: the topmost one.
    pub fn frame_of(&self, id: StackId, procedure: ProcId) -> Option<Frame> {
        self.frames(id).find(|frame| frame.procedure == procedure)
    }

    /// The number of a stack as a cut.
    pub fn cut(&self, id: StackId) -> Option<u32> {
        self.stack(id).cut
    }

    /// The steps from a stack.
    pub fn steps_from(&self, id: StackId) -> &[Step] {
        &self.steps[self.first_step[id.index()] as usize..self.first_step[id.index() + 1] as usize]
    }

    /// The position of a stack in an order in which steps lead forwards unless they lead to a cut.
    pub fn position(&self, id: StackId) -> u32 {
        self.order[id.index()]
    }

    /// The procedure that runs.
    pub fn procedure(&self, id: StackId) -> &'a Procedure {
        self.program.procedure(self.stack(id).top.procedure)
    }

    /// The edge of a step; `None` for a return.
    pub fn edge(&self, step: &Step) -> Option<&'a Edge> {
        step.edge.map(|edge| self.procedure(step.from).edge(edge))
    }

    /// What a step does; `None` for a return.
    pub fn action(&self, step: &Step) -> Option<&'a Action> {
        self.edge(step).map(|edge| &edge.action)
    }

    /// For a return: the frame of the caller, and the call.
    pub fn returns(&self, step: &Step) -> Option<(Frame, &'a Call)> {
        let caller = self.stack(self.stack(step.from).below?).top;
        let (call, _) = pending_call(self.program.procedure(caller.procedure), caller.node)?;
        step.edge.is_none().then_some((caller, call))
    }

    /// The frame whose `enforce` has to be satisfiable after a step: the topmost one, also if the thread ends there.
    /// `None` if nothing is required, because no statement makes the step, or because it is `end_thread`.
    pub fn enforced(&self, step: &Step) -> Option<Frame> {
        let edge = self.edge(step);
        if edge.is_some_and(|edge| edge.silent || matches!(edge.action, Action::EndThread)) {
            return None;
        }
        let stack = match (step.to, edge) {
            (Some(to), _) => to,
            (None, Some(_)) => step.from,
            // The thread ends when its only caller gets to its exit by a return.
            (None, None) => self.stack(step.from).below?,
        };
        Some(self.stack(stack).top)
    }

    /// Whether the bottom frame of a stack is the prologue.
    pub fn in_prologue(&self, id: StackId) -> bool {
        self.program.is_prologue(self.stack(id).bottom)
    }

    /// Whether a thread violates the property by having a stack.
    pub fn is_forbidden(&self, id: StackId) -> bool {
        let top = self.stack(id).top;
        self.forbidden.contains(top.procedure, top.node)
    }

    /// Whether failing assertions are violations; otherwise assertions are assumptions.
    pub fn asserts(&self) -> bool {
        self.task.property == Property::Assertions
    }

    /// The largest number of living threads, if there is one. The first thread exists whatever the bound is.
    pub fn most_threads(&self) -> Option<usize> {
        self.task.threads.map(|bound| bound.max(1) as usize)
    }

    /// The number of values of the thread with the most values at a cut.
    pub fn width(&self) -> usize {
        self.cuts.iter().flatten().map(|&id| self.stack(id).width).max().unwrap_or(0)
    }

    /// Computes the order by depth-first search: a stack is finished after all stacks that it leads to.
    fn sort(&mut self) -> Result<(), Stop> {
        const NEW: u32 = u32::MAX;
        const OPEN: u32 = u32::MAX - 1;
        let count = self.stacks.len();
        self.order = vec![NEW; count];
        let mut left = count as u32;
        let mut path: Vec<(StackId, usize)> = Vec::new();
        for root in (0..count).map(StackId::from_index) {
            if self.order[root.index()] != NEW {
                continue;
            }
            self.order[root.index()] = OPEN;
            path.push((root, 0));
            while let Some((id, next)) = path.last_mut() {
                let id = *id;
                let Some(step) = self.steps_from(id).get(*next).copied() else {
                    left -= 1;
                    self.order[id.index()] = left;
                    path.pop();
                    continue;
                };
                *next += 1;
                let Some(to) = step.to.filter(|&to| self.cut(to).is_none()) else { continue };
                match self.order[to.index()] {
                    NEW => {
                        self.order[to.index()] = OPEN;
                        path.push((to, 0));
                    }
                    OPEN => {
                        let (name, node) = (&self.procedure(to).name, self.stack(to).top.node);
                        return reject(format!("a cycle through {node} of `{name}` goes through no cut"));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
