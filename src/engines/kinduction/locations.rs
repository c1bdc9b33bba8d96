//! Call strings and locations of a program without recursion.
//!
//! Calls are inlined: a *context* is a call string, that is, the call edges from the start procedure down to the
//! procedure that runs, and a *location* is a loop head in a context, or the beginning of the program, which is
//! location 0. A chain of n procedures that each call the next one twice has 2^n contexts, so contexts are counted
//! before anything is encoded.
//!
//! A state has a value for every global and for every local of the procedures on the call string, callers first. A
//! context stores where the locals of its own procedure begin and end.

use rustc_hash::FxHashMap;

use crate::evidence::Reason;
use crate::model::live::Live;
use crate::model::{Action, EdgeId, Node, ProcId, Procedure, Var};
use crate::symbolic::block::Blocks;

/// The greatest number of call strings that is accepted; the checker of certificates has the same limit.
const MOST_CALLS: usize = 1 << 14;
/// The greatest number of locations that is accepted.
const MOST_LOCATIONS: usize = 20_000;

/// A call string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// The procedure that runs.
    pub procedure: ProcId,
    /// The caller's context and the call edge; `None` for the start procedure.
    pub caller: Option<(u32, EdgeId)>,
    /// The position in a state of the first local of the procedure.
    pub base: usize,
    /// One more than the position of its last local.
    pub end: usize,
}

/// All call strings and locations that control may reach, assuming that every call returns.
pub(super) struct Locations {
    contexts: Vec<Context>,
    callees: FxHashMap<(u32, EdgeId), u32>,
    places: Vec<(u32, Node)>,
    numbers: FxHashMap<(u32, Node), u32>,
    /// For each location, the positions of the values that distinguish states.
    compared: Vec<Vec<u32>>,
}

impl Locations {
    /// Finds all contexts and locations of a program.
    ///
    /// # Errors
    /// If the program is recursive, or too large when its calls are inlined.
    pub fn of(blocks: &Blocks<'_>) -> Result<Self, Reason> {
        let program = &blocks.task.program;
        let outlines: Vec<ReachableControl> =
            program.procedure_ids().map(|id| ReachableControl::of(blocks, id)).collect();
        check_calls_are_acyclic(blocks, &outlines)?;
        let count = |what: &dyn Fn(&ReachableControl) -> usize| inlined(program.start, &outlines, what);
        let sizes = [
            ("calls", count(&|_| 1), MOST_CALLS),
            ("loop heads", count(&|outline| outline.heads.len()), MOST_LOCATIONS),
        ];
        for (what, count, limit) in sizes {
            #[expect(clippy::cast_precision_loss, reason = "limits are small")]
            let most = limit as f64;
            if count > most {
                let count = if count < 1e9 { format!("{count:.0}") } else { format!("about {count:.1e}") };
                return Err(Reason::TooLargeInlined { what, count, limit });
            }
        }
        let globals = program.globals.len();
        let locals = |id: ProcId| program.procedure(id).locals.len();
        let end = globals + locals(program.start);
        let mut locations = Self {
            contexts: vec![Context { procedure: program.start, caller: None, base: globals, end }],
            callees: FxHashMap::default(),
            places: vec![(0, Procedure::ENTRY)],
            numbers: FxHashMap::default(),
            compared: Vec::new(),
        };
        // The list of contexts grows while it is traversed.
        let mut number = 0;
        while let Some(&Context { procedure, end, .. }) = locations.contexts.get(number) {
            let context = number as u32;
            let outline = &outlines[procedure.index()];
            let heads = outline.heads.iter().filter(|&&head| context > 0 || head != Procedure::ENTRY);
            locations.places.extend(heads.map(|&head| (context, head)));
            for &(edge, callee) in &outline.calls {
                locations.callees.insert((context, edge), locations.contexts.len() as u32);
                let end_of_callee = end + locals(callee);
                let caller = Some((context, edge));
                locations.contexts.push(Context { procedure: callee, caller, base: end, end: end_of_callee });
            }
            number += 1;
        }
        locations.numbers = locations.places.iter().copied().zip(0..).collect();
        locations.compared = locations.compared(blocks);
        Ok(locations)
    }

    /// The number of locations.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// The context and the node of a location.
    pub fn place(&self, location: u32) -> (u32, Node) {
        self.places[location as usize]
    }

    /// The location at a node in a context, if that is a location.
    pub fn at(&self, context: u32, node: Node) -> Option<u32> {
        self.numbers.get(&(context, node)).copied()
    }

    pub fn context(&self, context: u32) -> &Context {
        &self.contexts[context as usize]
    }

    /// The context that a call edge of this context leads to.
    pub fn callee(&self, context: u32, edge: EdgeId) -> Option<u32> {
        self.callees.get(&(context, edge)).copied()
    }

    /// The positions of the values that distinguish the states of a location: the variables that are live there in
    /// the procedure that runs, and the locals of its callers that are live behind their calls.
    pub fn told_apart_by(&self, location: u32) -> &[u32] {
        &self.compared[location as usize]
    }

    fn compared(&self, blocks: &Blocks<'_>) -> Vec<Vec<u32>> {
        let live = Live::of(blocks.task);
        let locals = |context: &Context, node: Node, dropped: &[Option<Var>]| -> Vec<u32> {
            let vars = live.live_at(context.procedure, node).filter(|var| !dropped.contains(&Some(*var)));
            vars.filter_map(|var| match var {
                Var::Local(i) => Some(context.base as u32 + i),
                Var::Global(_) => None,
            })
            .collect()
        };
        // For each context, the positions of the locals of its callers that are live behind their calls. Callers
        // come before callees, so theirs are known.
        let mut kept: Vec<Vec<u32>> = Vec::with_capacity(self.contexts.len());
        for context in &self.contexts {
            let mut mine = Vec::new();
            if let Some((caller, edge)) = context.caller {
                let of_caller = self.context(caller);
                let edge = blocks.task.program.procedure(of_caller.procedure).edge(edge);
                if let Action::Call(call) = &edge.action {
                    mine.clone_from(&kept[caller as usize]);
                    mine.extend(locals(of_caller, edge.to, &call.targets));
                }
            }
            kept.push(mine);
        }
        let positions = |&(number, node): &(u32, Node)| {
            let context = self.context(number);
            let globals = live.live_at(context.procedure, node).filter_map(|var| match var {
                Var::Global(i) => Some(i),
                Var::Local(_) => None,
            });
            let mut positions: Vec<u32> = globals.collect();
            positions.extend(&kept[number as usize]);
            positions.extend(locals(context, node, &[]));
            positions
        };
        self.places.iter().map(positions).collect()
    }
}

/// The loop heads and calls that control may reach in a procedure, assuming that every call returns.
struct ReachableControl {
    heads: Vec<Node>,
    calls: Vec<(EdgeId, ProcId)>,
}

impl ReachableControl {
    fn of(blocks: &Blocks<'_>, id: ProcId) -> Self {
        let procedure = blocks.task.program.procedure(id);
        let mut seen = vec![false; procedure.nodes as usize];
        let mut calls = Vec::new();
        let mut open = vec![Procedure::ENTRY];
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut seen[node.index()], true) {
                continue;
            }
            for (edge_id, edge) in procedure.edges_from(node) {
                match &edge.action {
                    Action::EndThread => continue,
                    Action::Call(call) => calls.push((edge_id, call.callee)),
                    _ => {}
                }
                open.push(edge.to);
            }
        }
        calls.sort_unstable();
        let heads = blocks.cuts(id).heads().filter(|head| seen[head.index()]).collect();
        Self { heads, calls }
    }
}

/// The sum of a number over all contexts, in floating point, since sums such as 2^800 occur.
fn inlined(start: ProcId, outlines: &[ReachableControl], what: &dyn Fn(&ReachableControl) -> usize) -> f64 {
    let mut sums: Vec<Option<f64>> = vec![None; outlines.len()];
    let mut stack = vec![start];
    while let Some(&id) = stack.last() {
        let outline = &outlines[id.index()];
        let missing = outline.calls.iter().find(|(_, callee)| sums[callee.index()].is_none());
        if let Some(&(_, callee)) = missing {
            stack.push(callee);
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "a program has fewer than 2^52 of anything")]
        let own = what(outline) as f64;
        let below: f64 = outline.calls.iter().filter_map(|(_, callee)| sums[callee.index()]).sum();
        sums[id.index()] = Some(own + below);
        stack.pop();
    }
    sums[start.index()].unwrap_or(0.0)
}

fn check_calls_are_acyclic(blocks: &Blocks<'_>, outlines: &[ReachableControl]) -> Result<(), Reason> {
    let program = &blocks.task.program;
    let (mut open, mut done) = (vec![false; outlines.len()], vec![false; outlines.len()]);
    open[program.start.index()] = true;
    let mut stack = vec![(program.start, 0)];
    while let Some((id, next)) = stack.last_mut() {
        let id = *id;
        let Some(&(_, callee)) = outlines[id.index()].calls.get(*next) else {
            (open[id.index()], done[id.index()]) = (false, true);
            stack.pop();
            continue;
        };
        *next += 1;
        if open[callee.index()] {
            let procedure = program.procedure(callee).name.clone();
            return Err(Reason::Recursive { engine: super::NAME, procedure });
        }
        if !done[callee.index()] {
            open[callee.index()] = true;
            stack.push((callee, 0));
        }
    }
    Ok(())
}
