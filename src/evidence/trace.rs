//! Counterexamples: concrete runs that violate the property.
//!
//! A sequential run can be exponentially longer than the program: when each of N procedures calls
//! the next twice, the shortest run has 2^N steps. A sequential trace is therefore a *shared
//! call tree*: every run of a procedure is described once, by its entry state and its steps,
//! and a step that calls refers to the callee's run ([errata 18](crate::errata::item_18)).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{EdgeId, Node, ProcId, Procedure, Program};

define_id!(
    /// A run of a procedure in one [`CallTree`].
    RunId, "r"
);

/// One value for each variable of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Valuation(pub Vec<bool>);

impl Valuation {
    /// The values of `count` variables from the lowest bits of a word.
    #[must_use]
    pub fn from_bits(bits: u128, count: usize) -> Self {
        Self((0..count).map(|i| i < 128 && bits >> i & 1 == 1).collect())
    }

    /// The value of the variable at this position.
    ///
    /// # Panics
    /// If there is no such variable. [`crate::certify`] checks the lengths first.
    #[must_use]
    pub fn get(&self, var: u32) -> bool {
        self.0[var as usize]
    }
}

/// The values of the globals and of the locals of one frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The globals, in the order of [`crate::model::Program::globals`].
    pub globals: Valuation,
    /// The locals, in the order of [`crate::model::Procedure::locals`].
    pub locals: Valuation,
}

/// How the property is violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Violation {
    /// This assertion, an edge from the current node, can fail in the current state.
    Assertion(EdgeId),
    /// The current node carries the forbidden label.
    Label,
}

/// One step of a run. A call, with everything that happens in it, is one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The edge taken.
    pub edge: EdgeId,
    /// For a call edge: the callee's run, from entry to exit.
    pub call: Option<RunId>,
    /// The state after the step.
    pub after: State,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// At the exit node.
    Exit,
    /// In a state that violates the property.
    Violation(Violation),
    /// In a call that does not return, because the violation lies in it.
    Inside {
        /// The call edge.
        edge: EdgeId,
        /// The callee's run.
        run: RunId,
    },
}

/// A run of one procedure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The procedure.
    pub procedure: ProcId,
    /// The state at the entry node.
    pub entry: State,
    /// The steps, from the entry node on.
    pub steps: Vec<Step>,
    /// What happens after the last step.
    pub end: End,
}

/// A sequential run with its calls.
///
/// Invariant (order): a run refers only to runs before it. The last run is that of the start procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTree {
    /// All runs.
    pub runs: Vec<Run>,
}

impl CallTree {
    /// The run with this id.
    #[must_use]
    pub fn run(&self, id: RunId) -> &Run {
        &self.runs[id.index()]
    }

    /// For every run, its number of steps with all calls expanded; a call and a return count as one step
    /// each. The numbers are floating-point numbers because they can be as large as 2^800.
    #[must_use]
    pub fn lengths(&self) -> Vec<f64> {
        let mut lengths: Vec<f64> = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let inside = |id: RunId| lengths[id.index()];
            let mut length: f64 = run.steps.iter().map(|s| s.call.map_or(1.0, |id| inside(id) + 2.0)).sum();
            if let End::Inside { run, .. } = run.end {
                length += inside(run) + 1.0;
            }
            lengths.push(length);
        }
        lengths
    }
}

impl CallTree {
    /// The same run without detours: if a procedure comes back to a program counter in the same state, the steps
    /// in between are removed. Runs that are not referred to any more are removed, too.
    #[must_use]
    pub fn without_detours(mut self, program: &Program) -> Self {
        for run in &mut self.runs {
            let procedure = program.procedure(run.procedure);
            let mut kept: Vec<Step> = Vec::with_capacity(run.steps.len());
            let mut seen: FxHashMap<(Node, State), usize> = FxHashMap::default();
            let mut visited = vec![(Procedure::ENTRY, run.entry.clone())];
            seen.insert(visited[0].clone(), 0);
            for step in run.steps.drain(..) {
                let place = (procedure.edge(step.edge).to, step.after.clone());
                if let Some(&length) = seen.get(&place) {
                    visited.drain(length + 1..).for_each(|place| {
                        seen.remove(&place);
                    });
                    kept.truncate(length);
                } else {
                    kept.push(step);
                    seen.insert(place.clone(), kept.len());
                    visited.push(place);
                }
            }
            run.steps = kept;
        }
        self.without_unused_runs()
    }

    /// The same tree without runs that the last run does not need, directly or indirectly.
    #[must_use]
    pub fn without_unused_runs(self) -> Self {
        let mut is_used = vec![false; self.runs.len()];
        if let Some(last) = is_used.last_mut() {
            *last = true;
        }
        for (position, run) in self.runs.iter().enumerate().rev() {
            if is_used[position] {
                let inside = match run.end {
                    End::Inside { run, .. } => Some(run),
                    End::Exit | End::Violation(_) => None,
                };
                for callee in run.steps.iter().filter_map(|step| step.call).chain(inside) {
                    is_used[callee.index()] = true;
                }
            }
        }
        let mut next = 0;
        let number = |&used: &bool| {
            next += usize::from(used);
            next.saturating_sub(1)
        };
        let numbers: Vec<usize> = is_used.iter().map(number).collect();
        let renamed = |id: RunId| RunId::from_index(numbers[id.index()]);
        let mut runs = Vec::with_capacity(next);
        for (mut run, _) in self.runs.into_iter().zip(&is_used).filter(|(_, used)| **used) {
            run.steps.iter_mut().for_each(|step| step.call = step.call.map(renamed));
            if let End::Inside { run, .. } = &mut run.end {
                *run = renamed(*run);
            }
            runs.push(run);
        }
        Self { runs }
    }
}

/// A frame of a thread's stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The procedure.
    pub procedure: ProcId,
    /// Its program counter.
    pub node: Node,
    /// Its locals.
    pub locals: Valuation,
}

/// A thread with its identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Threads are numbered in the order of their creation, from 0.
    pub id: u32,
    /// Its stack, bottom first; never empty. States share frames that stay the same: a run with deep stacks would be far
    /// too large otherwise.
    pub frames: Vec<Arc<Frame>>,
}

/// A state of the whole system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct System {
    /// The shared variables.
    pub globals: Valuation,
    /// The threads that have not ended, by their numbers.
    pub threads: Vec<Thread>,
    /// The only thread that may run, if some thread is in an atomic section.
    pub holder: Option<u32>,
}

/// What a thread does in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// It takes an edge from the node of its topmost frame.
    Edge(EdgeId),
    /// It returns from its topmost frame, which is at its exit, and passes the return values to the caller.
    Return,
}

/// One step of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadStep {
    /// The number of the thread.
    pub thread: u32,
    /// What it does.
    pub action: Move,
    /// The state after the step.
    pub after: System,
}

/// A run of several threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interleaving {
    /// The first state: one thread at the entry of the start procedure.
    pub initial: System,
    /// The steps from there on.
    pub steps: Vec<ThreadStep>,
    /// The thread that violates the property in the last state.
    pub thread: u32,
    /// How it violates the property.
    pub violation: Violation,
}

impl Interleaving {
    /// How often control passes from one thread to another.
    #[must_use]
    pub fn switches(&self) -> usize {
        switches(self.steps.iter().map(|step| step.thread), self.thread, self.violation)
    }
}

/// How often control passes from one thread to another: `movers` are the threads that make the steps. The thread whose
/// assertion fails evaluates it, so control is with it at the end; one that is at a label need not do anything more.
#[must_use]
pub fn switches(movers: impl Iterator<Item = u32>, violator: u32, violation: Violation) -> usize {
    let last = matches!(violation, Violation::Assertion(_)).then_some(violator);
    let (mut count, mut before) = (0, None);
    for thread in movers.chain(last) {
        count += usize::from(before.is_some_and(|before| before != thread));
        before = Some(thread);
    }
    count
}

/// A run that violates the property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// A run of a program without threads.
    Sequential(CallTree),
    /// A run of several threads.
    Interleaved(Interleaving),
}
