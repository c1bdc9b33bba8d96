//! The call strings and locations of a program without recursion.
//!
//! Calls are inlined, and a chain of N procedures that each call the next one twice has 2^N call strings. They are
//! counted before anything is encoded, and a proof with too many is refused.

use std::collections::{BTreeMap, BTreeSet};

use super::too_large;
use crate::certify::encode::Model;
use crate::certify::encode::body::Body;
use crate::certify::live::Live;
use crate::certify::{Stop, poll, reject};
use crate::model::{Action, Call, Edge, EdgeId, Node, ProcId, Procedure, Var};

/// A proof about a program with more call strings than this is refused.
pub(in crate::certify) const MOST_CALL_STRINGS: usize = 1 << 14;
/// A proof about a program with more locations than this is refused.
pub(in crate::certify) const MOST_LOCATIONS: usize = 1 << 16;

/// A call string, and the procedure that it leads to.
struct Context {
    /// The procedure that runs.
    procedure: ProcId,
    /// The call string without its last call edge, and that edge; `None` for the start procedure.
    caller: Option<(u32, EdgeId)>,
    /// The position in a state of the running procedure's first local.
    base: usize,
}

/// All call strings and locations that control may reach. Location 0 is the entry of the start procedure.
pub(super) struct Locations {
    contexts: Vec<Context>,
    callees: BTreeMap<(u32, EdgeId), u32>,
    places: Vec<(u32, Node)>,
    numbers: BTreeMap<(u32, Node), u32>,
    /// The number of locals of the procedure of every context.
    locals: Vec<usize>,
}

impl Locations {
    pub fn new(model: &Model<'_>, bodies: &[Body<'_>]) -> Result<Self, Stop> {
        let program = model.program;
        let outlines: Vec<Outline<'_>> = bodies.iter().map(Outline::of).collect();
        check_calls_are_acyclic(model, &outlines)?;
        let root = Context { procedure: program.start, caller: None, base: model.globals() };
        let mut contexts = vec![root];
        let mut callees = BTreeMap::new();
        let mut places = vec![(0, Procedure::ENTRY)];
        let mut locals = Vec::new();
        // The loop appends contexts while it goes through them.
        let mut context = 0;
        while context < contexts.len() {
            poll(model.budget)?;
            let Context { procedure, base, .. } = contexts[context];
            let outline = &outlines[procedure.index()];
            locals.push(program.procedure(procedure).locals.len());
            let cuts = outline.cuts.iter().filter(|&&cut| context > 0 || cut != Procedure::ENTRY);
            places.extend(cuts.map(|&cut| (context as u32, cut)));
            for &(edge, call) in &outline.calls {
                let base = base + locals[context];
                callees.insert((context as u32, edge), contexts.len() as u32);
                let caller = Some((context as u32, edge));
                contexts.push(Context { procedure: call.callee, caller, base });
            }
            if contexts.len() > MOST_CALL_STRINGS {
                return too_large("call strings", MOST_CALL_STRINGS);
            }
            if places.len() > MOST_LOCATIONS {
                return too_large("locations", MOST_LOCATIONS);
            }
            context += 1;
        }
        let numbers = places.iter().copied().zip(0..).collect();
        Ok(Self { contexts, callees, places, numbers, locals })
    }

    /// The number of locations.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// The call string and the node of a location.
    pub fn place(&self, location: u32) -> (u32, Node) {
        self.places[location as usize]
    }

    /// The location at a node of a call string.
    pub fn at(&self, context: u32, node: Node) -> Option<u32> {
        self.numbers.get(&(context, node)).copied()
    }

    /// The procedure that runs at a location, and the position of its first local.
    pub fn running(&self, location: u32) -> (ProcId, usize) {
        let (context, _) = self.place(location);
        (self.procedure(context), self.base(context))
    }

    /// The number of values that a state at a location has.
    pub fn width(&self, location: u32) -> usize {
        let (context, _) = self.place(location);
        self.end(context)
    }

    /// The procedure that runs in a call string.
    pub fn procedure(&self, context: u32) -> ProcId {
        self.contexts[context as usize].procedure
    }

    /// The position of the first local of the procedure that runs in a call string.
    pub fn base(&self, context: u32) -> usize {
        self.contexts[context as usize].base
    }

    /// One more than the position of the last local of the procedure that runs in a call string.
    pub fn end(&self, context: u32) -> usize {
        self.base(context) + self.locals[context as usize]
    }

    /// The call string with one more call edge.
    pub fn callee(&self, context: u32, edge: EdgeId) -> Option<u32> {
        self.callees.get(&(context, edge)).copied()
    }

    /// The call string without its last call edge, and that edge.
    pub fn caller(&self, context: u32) -> Option<(u32, EdgeId)> {
        self.contexts[context as usize].caller
    }

    /// For every location, the positions of the values that are compared when two states are tested for equality: the
    /// live variables.
    pub fn compared(&self, model: &Model<'_>) -> Result<Vec<Vec<usize>>, Stop> {
        let cuts = self.places.iter().map(|&(context, node)| (self.procedure(context), node));
        let behind_calls = self.contexts.iter().filter_map(|context| {
            let (caller, edge) = context.caller?;
            let id = self.procedure(caller);
            Some((id, model.program.procedure(id).edge(edge).to))
        });
        let live = Live::at(model, cuts.chain(behind_calls).collect::<BTreeSet<_>>())?;
        let locals = |context: u32, node: Node, dropped: &[Option<Var>]| -> Vec<usize> {
            let base = self.base(context);
            live.variables(self.procedure(context), node)
                .iter()
                .filter(|var| !dropped.contains(&Some(**var)))
                .filter_map(|var| match var {
                    Var::Local(i) => Some(base + *i as usize),
                    Var::Global(_) => None,
                })
                .collect()
        };
        // For every call string, the positions of the callers' values that are still needed after the return. Callers
        // come before callees.
        let mut kept: Vec<Vec<usize>> = Vec::with_capacity(self.contexts.len());
        for context in &self.contexts {
            let mut mine = Vec::new();
            if let Some((caller, edge)) = context.caller {
                let edge = model.program.procedure(self.procedure(caller)).edge(edge);
                if let Action::Call(call) = &edge.action {
                    mine.clone_from(&kept[caller as usize]);
                    mine.extend(locals(caller, edge.to, &call.targets));
                }
            }
            kept.push(mine);
        }
        let positions = |&(context, node): &(u32, Node)| {
            let globals = live.variables(self.procedure(context), node).iter().filter_map(|var| match var {
                Var::Global(i) => Some(*i as usize),
                Var::Local(_) => None,
            });
            let mut positions: Vec<usize> = globals.collect();
            positions.extend(&kept[context as usize]);
            positions.extend(locals(context, node, &[]));
            positions
        };
        Ok(self.places.iter().map(positions).collect())
    }
}

/// The cuts and calls that control may reach in a procedure, assuming that calls return.
struct Outline<'a> {
    cuts: Vec<Node>,
    calls: Vec<(EdgeId, &'a Call)>,
}

impl<'a> Outline<'a> {
    fn of(body: &Body<'a>) -> Self {
        let mut seen = vec![false; body.procedure.nodes as usize];
        let mut work = vec![Procedure::ENTRY];
        let mut calls: Vec<(EdgeId, &'a Call)> = Vec::new();
        while let Some(node) = work.pop() {
            if std::mem::replace(&mut seen[node.index()], true) {
                continue;
            }
            for (id, edge) in body.edges_from(node) {
                let edge: &'a Edge = edge;
                if let Action::Call(call) = &edge.action {
                    calls.push((id, call));
                }
                work.push(edge.to);
            }
        }
        calls.sort_by_key(|&(id, _)| id);
        let nodes = (0..seen.len()).filter(|&i| seen[i]).map(Node::from_index);
        let cuts = nodes.filter(|&node| node != Procedure::EXIT && body.is_cut(node)).collect();
        Self { cuts, calls }
    }
}

/// Rejects recursion, by a depth-first search of the calls from the start procedure.
fn check_calls_are_acyclic(model: &Model<'_>, outlines: &[Outline<'_>]) -> Result<(), Stop> {
    let (mut open, mut done) = (vec![false; outlines.len()], vec![false; outlines.len()]);
    let start = model.program.start;
    open[start.index()] = true;
    let mut stack = vec![(start, 0)];
    while let Some((id, next)) = stack.last_mut() {
        let id = *id;
        let Some((_, call)) = outlines[id.index()].calls.get(*next) else {
            (open[id.index()], done[id.index()]) = (false, true);
            stack.pop();
            continue;
        };
        *next += 1;
        let callee = call.callee;
        if open[callee.index()] {
            let name = &model.program.procedure(callee).name;
            return reject(format!(
                "`{name}` is recursive, and k-induction is for programs without recursion"
            ));
        }
        if !done[callee.index()] {
            open[callee.index()] = true;
            stack.push((callee, 0));
        }
    }
    Ok(())
}
