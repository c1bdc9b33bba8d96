//! Thread systems: programs with threads as one flat control-flow graph that every thread runs through.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", 2010, chapter 5, for programs whose calls can be inlined.
//!
//! A *location* is a call string and a node of the procedure that runs: all that is to know about the control of one
//! thread. Calls are inlined, so a step goes from one location to another. The values of a thread are those of
//! its frames, one frame after the other from the bottom of the stack, so that frames of different calls at the same
//! depth share their positions. A state of the system is a value for every global and a multiset of threads: a location
//! and values each, and whether the thread *holds* the system, so that only it may move.
//!
//! Steps refer to the edges of the program; nothing is translated, and the semantics is the one of [`crate::model`]. What
//! is added is which variables matter at which location (all others may take any value there), and at which locations
//! a thread may be interrupted:
//!
//! | module | what it computes |
//! |---|---|
//! | `inline` | call strings, locations and steps |
//! | [`relevance`] | variables that influence no condition |
//! | [`large_steps`] | the locations between which nobody can notice what a thread does: the *cuts* |
//! | [`explicit`] | the large steps of one thread, state by state |
//! | [`formula`] | the large steps of one thread, as formulas |
//! | `facts` | what control alone says about all states at cuts, as clauses |
//! | [`mod@print`] | thread systems as text |
//! | [`schedule`] | from schedules to runs with values |
//! | [`nets`] | thread systems with few states as nets |
//! | [`mod@matching`] | threads that satisfy conditions, each another one |
//!
//! Both reductions can be switched off ([`Reductions`]): then all variables matter, and every location is a cut.

pub mod explicit;
mod facts;
pub mod formula;
mod inline;
pub mod large_steps;
pub mod matching;
pub mod nets;
pub mod print;
pub mod relevance;
pub mod schedule;
mod values;

pub use values::Bits;

use rustc_hash::FxHashSet;

use crate::evidence::trace::Move;
use crate::evidence::{ThreadInvariant, ThreadProof};
use crate::model::live::Live;
use crate::model::{Action, Edge, EdgeId, Node, ProcId, Procedure, Program, Property, Task, Var};
use crate::progress::Progress;
use crate::reason::Reason;
use relevance::Relevance;

define_id!(
    /// A call string: the frames of a thread.
    ContextId, "c"
);
define_id!(
    /// The control of one thread: a call string and a node.
    Location, "q"
);
define_id!(
    /// A step of one thread from a location to another.
    StepId, "s"
);

/// A program whose calls are inlined has at most this many locations.
pub const MOST_LOCATIONS: usize = 1 << 20;

/// Which reductions apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// Variables that influence no condition, or that are not read any more, are left out.
    pub relevance: bool,
    /// What nobody else can notice happens in one step.
    pub large_steps: bool,
}

impl Reductions {
    /// All of them.
    pub const ALL: Self = Self { relevance: true, large_steps: true };
    /// None of them.
    pub const NONE: Self = Self { relevance: false, large_steps: false };
}

/// A call string.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The procedure that runs.
    pub procedure: ProcId,
    /// The call string without its last call, and the edge of that call; `None` for the bottom frame of a thread.
    pub caller: Option<(ContextId, EdgeId)>,
    /// The position of the procedure's first local among the values of the thread.
    pub base: u32,
    /// The procedure at the bottom of the stack.
    pub bottom: ProcId,
}

/// A location: where it is in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The call string.
    pub context: ContextId,
    /// The node of the procedure that runs.
    pub node: Node,
}

/// A step of one thread: one edge of the program, or a return.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The location before.
    pub from: Location,
    /// The location after; `None` if the thread ends.
    pub to: Option<Location>,
    /// The edge, or a return.
    pub action: Move,
    /// Where a new thread begins, if the step starts one.
    pub creates: Option<Location>,
}

/// What is known about a thread that holds the system, at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// It never holds the system there.
    Never,
    /// It always does.
    Always,
    /// It depends on the run.
    Mixed,
}

/// A program with threads, all calls inlined.
#[derive(Debug)]
pub struct ThreadSystem<'a> {
    /// The task.
    pub task: &'a Task,
    /// The call strings; callers come before callees.
    pub contexts: Vec<Context>,
    sites: Vec<Site>,
    steps: Vec<Step>,
    /// The position of the first step of every location, and one past the last step.
    first_step: Vec<u32>,
    /// Where the first thread begins.
    pub start: Location,
    /// The number of values of a thread with the deepest stack.
    pub width: u32,
    /// The variables that influence some condition.
    pub relevance: Relevance,
    /// The positions of a thread's values that matter, for every location.
    live: Vec<Bits>,
    /// The locations with the forbidden label.
    is_forbidden: Vec<bool>,
    holding: Vec<Holding>,
    is_cut: Vec<bool>,
    /// The position of every location in an order in which steps lead forwards unless they lead to a cut.
    order: Vec<u32>,
    /// A recursive procedure whose calls were cut off at the bound of nesting: safety cannot be claimed.
    pub unwound: Option<String>,
}

impl<'a> ThreadSystem<'a> {
    /// Says in `--stats` what the reductions have left.
    pub fn count_reductions(&self, progress: &dyn Progress) {
        let program = self.program();
        let locals: usize = program.procedures.iter().map(|procedure| procedure.locals.len()).sum();
        let (globals_that_matter, locals_that_matter) = self.relevance.counts();
        progress.count("globals", program.globals.len() as u64);
        progress.count("globals that matter", globals_that_matter as u64);
        progress.count("locals", locals as u64);
        progress.count("locals that matter", locals_that_matter as u64);
        progress.count("locations", self.len() as u64);
        progress.count("locations where threads are interrupted", self.cuts().count() as u64);
        progress.count("steps", self.steps().len() as u64);
    }

    /// Inlines the calls of a program and reduces the result. Calls that nest a procedure more than `unwind` times are
    /// cut off; without that bound, recursion is an error.
    ///
    /// # Errors
    /// If a procedure is recursive, or if the program is too large.
    pub fn new(task: &'a Task, reductions: Reductions, unwind: Option<u32>) -> Result<Self, Reason> {
        let inline::Inlined { contexts, sites, steps, first_step, start, unwound } =
            inline::inline(&task.program, unwind)?;
        let program = &task.program;
        let end = |context: &Context| context.base + program.procedure(context.procedure).locals.len() as u32;
        let width = contexts.iter().map(end).max().unwrap_or(0);
        let relevance =
            if reductions.relevance { Relevance::of(task) } else { Relevance::everything(program) };
        let is_forbidden = match &task.property {
            Property::Assertions => vec![false; sites.len()],
            Property::LabelUnreachable(label) => {
                let labelled: Vec<Vec<Node>> =
                    program.procedures.iter().map(|p| p.nodes_labelled(label).collect()).collect();
                let procedure = |site: &Site| contexts[site.context.index()].procedure;
                sites.iter().map(|site| labelled[procedure(site).index()].contains(&site.node)).collect()
            }
        };
        let count = sites.len();
        let mut system = Self {
            task,
            contexts,
            sites,
            steps,
            first_step,
            start,
            width,
            relevance,
            live: Vec::new(),
            is_forbidden,
            holding: Vec::new(),
            is_cut: vec![true; count],
            order: Vec::new(),
            unwound,
        };
        system.live = system.live_positions(reductions.relevance);
        large_steps::choose_cuts(&mut system, reductions.large_steps);
        Ok(system)
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        &self.task.program
    }

    /// The number of locations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there is no location; there always is one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// All locations.
    pub fn locations(&self) -> impl DoubleEndedIterator<Item = Location> + use<> {
        (0..self.sites.len()).map(Location::from_index)
    }

    /// Where a location is in the program.
    #[must_use]
    pub fn site(&self, location: Location) -> Site {
        self.sites[location.index()]
    }

    /// The call string of a location.
    #[must_use]
    pub fn context(&self, location: Location) -> &Context {
        &self.contexts[self.site(location).context.index()]
    }

    /// The procedure that runs at a location.
    #[must_use]
    pub fn procedure(&self, location: Location) -> &'a Procedure {
        self.program().procedure(self.context(location).procedure)
    }

    /// The steps from a location.
    pub fn steps_from(&self, location: Location) -> impl Iterator<Item = (StepId, &Step)> {
        let range =
            self.first_step[location.index()] as usize..self.first_step[location.index() + 1] as usize;
        range.map(|i| (StepId::from_index(i), &self.steps[i]))
    }

    /// All steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step with an id.
    #[must_use]
    pub fn step(&self, id: StepId) -> &Step {
        &self.steps[id.index()]
    }

    /// The edge of a step; `None` for a return.
    #[must_use]
    pub fn edge(&self, step: &Step) -> Option<&'a Edge> {
        match step.action {
            Move::Edge(id) => Some(self.procedure(step.from).edge(id)),
            Move::Return => None,
        }
    }

    /// The call that a step returns from: the context of the caller, and the call edge.
    #[must_use]
    pub fn returns_to(&self, step: &Step) -> Option<(ContextId, &'a Edge)> {
        let (caller, edge) = self.context(step.from).caller?;
        let procedure = self.program().procedure(self.contexts[caller.index()].procedure);
        (step.action == Move::Return).then(|| (caller, procedure.edge(edge)))
    }

    /// The position of a local of the procedure that runs at a location among the values of the thread.
    #[must_use]
    pub fn position(&self, location: Location, local: u32) -> u32 {
        self.context(location).base + local
    }

    /// The topmost frame of a procedure in the stack of a location; its variables are the ones that `x$` means.
    #[must_use]
    pub fn frame_of(&self, location: Location, procedure: ProcId) -> Option<&Context> {
        let mut context = self.context(location);
        loop {
            if context.procedure == procedure {
                return Some(context);
            }
            context = &self.contexts[context.caller?.0.index()];
        }
    }

    /// The stack of a location, bottom first. Frames below the topmost one are at the node of their call.
    #[must_use]
    pub fn stack(&self, location: Location) -> Vec<(ProcId, Node)> {
        let Site { context, node } = self.site(location);
        let mut context = &self.contexts[context.index()];
        let mut stack = vec![(context.procedure, node)];
        while let Some((caller, edge)) = context.caller {
            context = &self.contexts[caller.index()];
            let node = self.program().procedure(context.procedure).edge(edge).from;
            stack.push((context.procedure, node));
        }
        stack.reverse();
        stack
    }

    /// The positions of a thread's values that matter at a location. The others may have any value there.
    #[must_use]
    pub fn live(&self, location: Location) -> &Bits {
        &self.live[location.index()]
    }

    /// Whether a thread violates the property just by being at a location.
    #[must_use]
    pub fn is_forbidden(&self, location: Location) -> bool {
        self.is_forbidden[location.index()]
    }

    /// What is known about a thread at a location: whether it holds the system.
    #[must_use]
    pub fn holding(&self, location: Location) -> Holding {
        self.holding[location.index()]
    }

    /// Whether a thread may be interrupted at a location: large steps lead from one cut to the next.
    #[must_use]
    pub fn is_cut(&self, location: Location) -> bool {
        self.is_cut[location.index()]
    }

    /// All cuts.
    pub fn cuts(&self) -> impl Iterator<Item = Location> + '_ {
        self.locations().filter(|&location| self.is_cut(location))
    }

    /// The position of a location in an order in which every step that does not lead to a cut leads forwards.
    #[must_use]
    pub fn order(&self, location: Location) -> u32 {
        self.order[location.index()]
    }

    /// Whether the bottom frame of a location is the prologue.
    #[must_use]
    pub fn in_prologue(&self, location: Location) -> bool {
        self.program().is_prologue(self.context(location).bottom)
    }

    /// Whether a step is made by a statement, after which `enforce` must hold.
    #[must_use]
    pub fn is_statement(&self, step: &Step) -> bool {
        self.edge(step).is_none_or(|edge| !edge.silent && !matches!(edge.action, Action::EndThread))
    }

    /// The frame in which a step ends, whose `enforce` must hold after a statement. If the thread ends, that is the frame in
    /// which it did so: after a return, the frame of the caller.
    #[must_use]
    pub fn lands_in(&self, step: &Step) -> &Context {
        match (step.to, self.returns_to(step)) {
            (Some(to), _) => self.context(to),
            (None, Some((caller, _))) => &self.contexts[caller.index()],
            (None, None) => self.context(step.from),
        }
    }

    /// Whether assertions are the property; otherwise they are assumptions.
    #[must_use]
    pub fn asserts(&self) -> bool {
        self.task.property == Property::Assertions
    }

    /// A proof about the program, from a set of states at the cuts of this system.
    #[must_use]
    pub fn proof(&self, invariant: ThreadInvariant) -> ThreadProof {
        let program = self.program();
        let globals = 0..program.globals.len() as u32;
        let is_ignored = |&(id, local): &(ProcId, u32)| !self.relevance.matters(id, Var::Local(local));
        let locals = program
            .procedure_ids()
            .flat_map(|id| (0..program.procedure(id).locals.len() as u32).map(move |local| (id, local)));
        ThreadProof {
            ignored_globals: globals
                .filter(|&g| !self.relevance.matters(program.start, Var::Global(g)))
                .collect(),
            ignored_locals: locals.filter(is_ignored).collect(),
            cuts: self.cuts().map(|cut| self.stack(cut)).collect(),
            invariant,
        }
    }

    /// For every location, the positions of the values that matter: those of live variables of the procedure that runs,
    /// and of its callers those that are live behind the call and not assigned by it. What a call assigns can be seen until
    /// it returns if some `x$` reads it.
    fn live_positions(&self, reduces: bool) -> Vec<Bits> {
        let program = self.program();
        if !reduces {
            let all = |location: Location| {
                let context = self.context(location);
                Bits::ones(context.base as usize + program.procedure(context.procedure).locals.len())
            };
            return self.locations().map(all).collect();
        }
        let live = Live::of(self.task);
        let seen: FxHashSet<(ProcId, Var)> = large_steps::passive_variables(program).collect();
        let mark = |bits: &mut Bits, context: &Context, node: Node, except: &[Option<Var>]| {
            let count = program.procedure(context.procedure).locals.len() as u32;
            for local in 0..count {
                let var = Var::Local(local);
                if self.relevance.matters(context.procedure, var)
                    && live.is_live(context.procedure, node, var)
                    && (!except.contains(&Some(var)) || seen.contains(&(context.procedure, var)))
                {
                    bits.set((context.base + local) as usize, true);
                }
            }
        };
        // Callers come before callees.
        let mut of_callers: Vec<Bits> = Vec::with_capacity(self.contexts.len());
        for context in &self.contexts {
            let mut bits = Bits::default();
            if let Some((caller, edge)) = context.caller {
                let below = &self.contexts[caller.index()];
                let edge = program.procedure(below.procedure).edge(edge);
                if let Action::Call(call) = &edge.action {
                    bits.clone_from(&of_callers[caller.index()]);
                    // What is not alive before a call that cannot return has no value inside of it.
                    let (mut before, mut behind) = (Bits::default(), Bits::default());
                    mark(&mut before, below, edge.from, &[]);
                    mark(&mut behind, below, edge.to, &call.targets);
                    behind.keep(&before);
                    behind.iter().for_each(|position| bits.set(position, true));
                }
            }
            of_callers.push(bits);
        }
        let of = |location: Location| {
            let Site { context, node } = self.site(location);
            let mut bits = of_callers[context.index()].clone();
            mark(&mut bits, &self.contexts[context.index()], node, &[]);
            bits
        };
        self.locations().map(of).collect()
    }
}
