//! Shortens traces that engines have found, by solving again.
//!
//! Engines that join summaries find some run, which need not be short. This module looks for a run between the same
//! states with fewer steps: first for the whole trace and, if that is too long, for parts of its runs, callees before
//! callers, each run of the shared call tree once. Parts are halved until they are short enough to be solved. The
//! calls in a part are chosen anew, together with everything in them, so a part may lose calls, make other calls, or
//! make the same calls with other arguments.
//!
//! Theorem used: the steps from one state of a frame to another may be replaced by any others that lead from the one
//! to the other, as long as the states agree on all variables that are read later. A run of a callee may be replaced
//! by one with the same entry values and the same results. If no run of the unrolled program reaches a violation in
//! fewer steps than the trace has, the trace is a shortest one, because the unrolling contains all runs of this
//! length.
//!
//! Guarantee: the result has no more steps than the given trace. It is a shortest run if [`Shortened::is_shortest`]
//! is set. The work is limited by numbers of states and conflicts and not by time, so the result is the same on every
//! machine unless the budget is used up.
//!
//! | module | what it computes |
//! |---|---|
//! | `distance` | lower bounds for the number of steps; locations that are too far away are not unrolled |
//! | `unroll` | all short runs between two states as formulas |
//! | `search` | a shortest one of these runs |
//!
//! All that is about sequential runs; [`interleaving`] shortens runs of several threads.

mod distance;
pub mod interleaving;
mod search;
mod unroll;

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use self::distance::Distances;
use self::search::{Effort, Found, shortest};
use self::unroll::{Goal, Move, Start, TooLarge, Unrolling, Walk};
use crate::budget::Budget;
use crate::evidence::trace::{CallTree, End, Run, RunId, State, Step, Valuation};
use crate::model::live::Live;
use crate::model::{Action, EdgeId, Node, ProcId, Procedure, Task, Var};

/// A trace, and what is known about its length.
#[derive(Clone, Debug)]
pub struct Shortened {
    /// The trace.
    pub tree: CallTree,
    /// Whether it is known that no run with fewer steps violates the property.
    pub is_shortest: bool,
}

/// The largest number of steps of a run that is searched for.
const MOST_STEPS: u64 = 200;
/// Parts with more steps than this are cut at once into pieces of about [`PIECE`] steps.
const LONG: u64 = 4 * MOST_STEPS;
const PIECE: u64 = 40;
/// Limits for the symbolic states and the conflicts of all queries together; this takes well below a second.
const MOST_STATES: usize = 30_000;
const MOST_CONFLICTS: u64 = 20_000;
/// How often the parts are cut again, each time at other places.
const MOST_ROUNDS: usize = 3;

/// Shortens a trace of a sequential program.
#[must_use]
pub fn shorten(task: &Task, tree: CallTree, budget: &Budget) -> Shortened {
    let Some(last) = tree.runs.last() else { return Shortened { tree, is_shortest: false } };
    let mut shortener = Shortener {
        task,
        budget,
        distances: Distances::of(task),
        live: OnceCell::new(),
        effort: Effort { conflicts: MOST_CONFLICTS, states: MOST_STATES },
        placed: Placed::default(),
    };
    // If a shortest run of the whole trace is found at once, its parts need not be examined.
    let (whole, given) = (last.clone(), tree.runs.len() - 1);
    tree.runs[..given].iter().for_each(|run| shortener.placed.add(run.clone()));
    let mut root = whole;
    let part = Part { from: 0, to: None, is_start: true };
    if let PartResult::Done { closed: true, .. } = shortener.part(&mut root, part) {
        shortener.placed.add(root);
        return Shortened { tree: shortener.placed.take(), is_shortest: true };
    }
    shortener.placed.add(root);
    let mut tree = shortener.placed.take();
    for round in 0..MOST_ROUNDS {
        let shorter = shortener.round(&tree, round);
        tree = shortener.placed.take();
        if !shorter || shortener.is_over() {
            break;
        }
    }
    Shortened { tree, is_shortest: false }
}

/// The part of a run between two of its states.
#[derive(Clone, Copy)]
struct Part {
    /// The number of steps of the run before the part.
    from: usize,
    /// The number of steps of the run up to the end of the part; `None` for the end of the run, which may lie in a
    /// call.
    to: Option<usize>,
    /// Whether the run is that of the start procedure, which may begin in any state.
    is_start: bool,
}

/// The result of trying to shorten a part.
enum PartResult {
    /// The part needs no further queries.
    Done {
        /// Whether the part became shorter.
        shorter: bool,
        /// Whether it is known that nothing shorter is possible.
        closed: bool,
    },
    /// The part should be cut into smaller ones.
    Open,
}

struct Shortener<'a> {
    task: &'a Task,
    budget: &'a Budget,
    distances: Distances,
    live: OnceCell<Live>,
    effort: Effort,
    placed: Placed,
}

impl Shortener<'_> {
    fn is_over(&self) -> bool {
        self.effort.is_used_up() || self.budget.exhausted().is_some()
    }

    /// Tries to shorten all runs of a tree, callees first, and tells whether one became shorter.
    fn round(&mut self, tree: &CallTree, round: usize) -> bool {
        let mut shorter = false;
        let mut ids: Vec<RunId> = Vec::with_capacity(tree.runs.len());
        for (position, run) in tree.runs.iter().enumerate() {
            let mut run = run.clone();
            let renamed = |id: RunId| ids[id.index()];
            run.steps.iter_mut().for_each(|step| step.call = step.call.map(renamed));
            if let End::Inside { run, .. } = &mut run.end {
                *run = renamed(*run);
            }
            let is_start = position + 1 == tree.runs.len();
            shorter |= self.run(&mut run, is_start, round);
            let interface = Interface::of(self.task, &run);
            self.placed.add(run);
            let (id, better) = self.placed.cheapest(interface);
            shorter |= better;
            ids.push(id);
        }
        shorter
    }

    /// Tries to shorten the parts of a run, the last ones first, and tells whether one became shorter.
    fn run(&mut self, run: &mut Run, is_start: bool, round: usize) -> bool {
        let mut shorter = false;
        let mut open = vec![Part { from: 0, to: None, is_start }];
        while let Some(part) = open.pop() {
            if self.is_over() {
                break;
            }
            match self.part(run, part) {
                PartResult::Done { shorter: now, .. } => shorter |= now,
                PartResult::Open => self.cut(run, part, round, &mut open),
            }
        }
        shorter
    }

    /// Cuts a part into smaller ones. A long part is cut into many at once, since a query about half of a long loop
    /// rarely succeeds; other parts are cut into two. If the run ends in a call, that call becomes a part of its own
    /// in the end.
    fn cut(&self, run: &Run, part: Part, round: usize, open: &mut Vec<Part>) {
        let Part { from, to, .. } = part;
        let end = to.unwrap_or(run.steps.len());
        let is_long = self.cost(run, part) > LONG;
        let mut cuts = Vec::new();
        if is_long {
            let mut room = PIECE * (round as u64 + 1) / MOST_ROUNDS as u64;
            for (position, step) in (from + 1..end).zip(&run.steps[from..]) {
                let left = room.checked_sub(self.placed.cost_of(step)).filter(|&left| left > 0);
                if left.is_none() {
                    cuts.push(position);
                }
                room = left.unwrap_or(PIECE);
            }
        }
        if cuts.is_empty() {
            let (steps, ends_inside) = (end - from, to.is_none());
            match steps {
                0 => return,
                1 if !ends_inside => return,
                _ if ends_inside && (is_long || steps == 1) => cuts.push(end),
                _ => cuts.push(from + steps * (round + 1) / (round + 2)),
            }
        }
        let begins = std::iter::once(from).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().map(Some).chain([to]);
        open.extend(begins.zip(ends).map(|(from, to)| Part { from, to, ..part }));
    }

    fn part(&mut self, run: &mut Run, part: Part) -> PartResult {
        let cost = self.cost(run, part);
        let Some(fewer) = cost.checked_sub(1) else {
            return PartResult::Done { shorter: false, closed: true };
        };
        let limit = fewer.min(MOST_STEPS);
        let (start, goal) = (self.start(run, part), self.goal(run, part));
        let unrolling = Unrolling::new(self.task, &self.distances, &start, &goal, limit as u32, self.budget);
        let mut unrolling = match unrolling {
            Ok(unrolling) if self.budget.exhausted().is_none() => unrolling,
            Ok(_) => return PartResult::Done { shorter: false, closed: false },
            Err(TooLarge) => {
                self.effort.states = self.effort.states.saturating_sub(unroll::MOST_STATES);
                return PartResult::Open;
            }
        };
        self.effort.states = self.effort.states.saturating_sub(unrolling.states);
        match shortest(&mut unrolling, &mut self.effort, self.budget) {
            Found { walk: Some(walk), closed } => {
                self.replace(run, part, walk);
                PartResult::Done { shorter: true, closed }
            }
            Found { walk: None, closed: true } if limit == fewer => {
                PartResult::Done { shorter: false, closed: true }
            }
            Found { walk: None, .. } => PartResult::Open,
        }
    }

    /// The number of steps of a part.
    fn cost(&self, run: &Run, part: Part) -> u64 {
        let steps = &run.steps[part.from..part.to.unwrap_or(run.steps.len())];
        let steps = steps.iter().fold(0, |sum: u64, step| sum.saturating_add(self.placed.cost_of(step)));
        match run.end {
            End::Inside { run, .. } if part.to.is_none() => {
                steps.saturating_add(self.placed.length(run)).saturating_add(1)
            }
            _ => steps,
        }
    }

    fn start(&self, run: &Run, part: Part) -> Start {
        let (node, state) = self.place(run, part.from);
        let params = self.task.program.procedure(run.procedure).params as usize;
        // At the entry, locals other than parameters may have any value; at the start of the program, all variables
        // may.
        let fixed = match (part.from, part.is_start) {
            (0, true) => None,
            (0, false) => Some(params),
            _ => Some(usize::MAX),
        };
        let is_fixed = |i: usize| fixed.is_some_and(|fixed| i < fixed);
        let globals = state.globals.0.iter().map(|&value| fixed.map(|_| value)).collect();
        let locals = (0..).zip(&state.locals.0).map(|(i, &value)| is_fixed(i).then_some(value)).collect();
        Start { procedure: run.procedure, node, globals, locals }
    }

    fn goal(&self, run: &Run, part: Part) -> Goal {
        if part.to.is_none() && run.end != End::Exit {
            return Goal::Violation;
        }
        let (node, state) = self.place(run, part.to.unwrap_or(run.steps.len()));
        let first_return = self.task.program.procedure(run.procedure).first_return();
        let is_needed = |i: u32| {
            if part.to.is_none() {
                // Callers see only globals and return slots.
                return i >= first_return;
            }
            let live = self.live.get_or_init(|| Live::of(self.task));
            live.is_live(run.procedure, node, Var::Local(i))
        };
        let local = |(i, &value): (u32, &bool)| is_needed(i).then_some(value);
        let locals = (0..).zip(&state.locals.0).map(local).collect();
        Goal::State { node, globals: state.globals.clone(), locals }
    }

    /// The node and the state of a run after a number of steps.
    fn place<'r>(&self, run: &'r Run, steps: usize) -> (Node, &'r State) {
        match steps.checked_sub(1) {
            None => (Procedure::ENTRY, &run.entry),
            Some(last) => {
                let step = &run.steps[last];
                (self.task.program.procedure(run.procedure).edge(step.edge).to, &step.after)
            }
        }
    }

    /// Replaces a part of a run by a walk.
    fn replace(&mut self, run: &mut Run, part: Part, walk: Walk) {
        let (entry, steps, end) = self.placed.add_calls(walk);
        let to = part.to.unwrap_or(run.steps.len());
        let (_, before) = self.place(run, to);
        let after = steps.last().map_or(&entry, |step| &step.after);
        let differs = |&(i, value): &(usize, bool)| before.locals.0[i] != value;
        let changed: Vec<(usize, bool)> =
            after.locals.0.iter().copied().enumerate().filter(differs).collect();
        let behind = part.from + steps.len();
        if part.from == 0 {
            run.entry = entry;
        }
        run.steps.splice(part.from..to, steps);
        match end {
            Some(end) => run.end = end,
            None => self.carry(run, behind, changed),
        }
    }

    /// Updates the values of dead locals after a part was replaced: until they are assigned, they keep the values
    /// that they have now.
    fn carry(&self, run: &mut Run, from: usize, mut changed: Vec<(usize, bool)>) {
        let procedure = self.task.program.procedure(run.procedure);
        for step in &mut run.steps[from..] {
            if changed.is_empty() {
                return;
            }
            let mut keep = |var: Var| changed.retain(|&(i, _)| var != Var::Local(i as u32));
            match &procedure.edge(step.edge).action {
                Action::Assign(assign) => {
                    assign.pairs.iter().filter(|(target, _)| !target.passive).for_each(|(t, _)| keep(t.var));
                }
                Action::Call(call) => call.targets.iter().flatten().for_each(|&var| keep(var)),
                _ => {}
            }
            for &(i, value) in &changed {
                step.after.locals.0[i] = value;
            }
        }
    }
}

/// The runs of the new tree, callees first.
#[derive(Default)]
struct Placed {
    runs: Vec<Run>,
    /// For each run, the number of steps if all calls are written out; the largest number if it does not fit.
    lengths: Vec<u64>,
    /// The runs that were made here, so that equal ones are shared.
    made: FxHashMap<Run, RunId>,
    /// For each interface, the shortest run with it.
    best: FxHashMap<Interface, RunId>,
}

/// The effect of a run that its caller can observe: globals and parameters at the entry, globals and return values at
/// the exit.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Interface {
    procedure: ProcId,
    entry: Vec<bool>,
    /// The values at the exit; `None` if the run violates the property.
    exit: Option<Vec<bool>>,
}

impl Interface {
    fn of(task: &Task, run: &Run) -> Self {
        let procedure = task.program.procedure(run.procedure);
        let join = |globals: &Valuation, locals: &[bool]| [&globals.0[..], locals].concat();
        let entry = join(&run.entry.globals, &run.entry.locals.0[..procedure.params as usize]);
        let last = run.steps.last().map_or(&run.entry, |step| &step.after);
        let results = &last.locals.0[procedure.first_return() as usize..];
        let exit = (run.end == End::Exit).then(|| join(&last.globals, results));
        Self { procedure: run.procedure, entry, exit }
    }
}

impl Placed {
    fn length(&self, id: RunId) -> u64 {
        self.lengths[id.index()]
    }

    /// The number of steps of a step, with everything in it if it is a call.
    fn cost_of(&self, step: &Step) -> u64 {
        step.call.map_or(1, |id| self.length(id).saturating_add(2))
    }

    fn add(&mut self, run: Run) {
        let steps = run.steps.iter().fold(0, |sum: u64, step| sum.saturating_add(self.cost_of(step)));
        let inside = match run.end {
            End::Inside { run, .. } => self.length(run).saturating_add(1),
            End::Exit | End::Violation(_) => 0,
        };
        self.lengths.push(steps.saturating_add(inside));
        self.runs.push(run);
    }

    /// The shortest run with the same interface as the last one, and whether it is shorter than the last one.
    fn cheapest(&mut self, interface: Interface) -> (RunId, bool) {
        let last = RunId::from_index(self.runs.len() - 1);
        let best = *self
            .best
            .entry(interface)
            .and_modify(|best| {
                if self.lengths[last.index()] < self.lengths[best.index()] {
                    *best = last;
                }
            })
            .or_insert(last);
        (best, self.length(best) < self.length(last))
    }

    /// Adds the runs of the calls of a walk. Returns the steps of the walk's own frame, with its entry and its end.
    fn add_calls(&mut self, walk: Walk) -> (State, Vec<Step>, Option<End>) {
        struct Frame {
            procedure: ProcId,
            /// The call edge.
            edge: EdgeId,
            entry: State,
            steps: Vec<Step>,
        }
        let Walk { entry, moves, violation } = walk;
        let mut own: Vec<Step> = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        for (action, after) in moves {
            let step = match action {
                Move::Enter(edge, procedure) => {
                    frames.push(Frame { procedure, edge, entry: after, steps: Vec::new() });
                    continue;
                }
                Move::Step(edge) => Step { edge, call: None, after },
                Move::Return => {
                    let Some(Frame { procedure, edge, entry, steps }) = frames.pop() else { continue };
                    let call = Some(self.share(Run { procedure, entry, steps, end: End::Exit }));
                    Step { edge, call, after }
                }
            };
            frames.last_mut().map_or(&mut own, |frame| &mut frame.steps).push(step);
        }
        let mut end = violation.map(End::Violation);
        while let (Some(Frame { procedure, edge, entry, steps }), Some(inside)) = (frames.pop(), end) {
            let run = self.share(Run { procedure, entry, steps, end: inside });
            end = Some(End::Inside { edge, run });
        }
        (entry, own, end)
    }

    fn share(&mut self, run: Run) -> RunId {
        if let Some(&id) = self.made.get(&run) {
            return id;
        }
        let id = RunId::from_index(self.runs.len());
        self.made.insert(run.clone(), id);
        self.add(run);
        id
    }

    /// The tree whose root is the last run.
    fn take(&mut self) -> CallTree {
        CallTree { runs: std::mem::take(self).runs }.without_unused_runs()
    }
}
