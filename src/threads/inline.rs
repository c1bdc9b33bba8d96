//! Inlines calls: call strings, locations and steps that control can reach.

use rustc_hash::FxHashMap;

use super::{Context, ContextId, Location, MOST_LOCATIONS, Site, Step};
use crate::evidence::trace::Move;
use crate::model::calls::CallGraph;
use crate::model::{Action, EdgeId, Node, ProcId, Procedure, Program};
use crate::reason::Reason;

/// The control of a thread system.
pub(super) struct Inlined {
    pub contexts: Vec<Context>,
    pub sites: Vec<Site>,
    pub steps: Vec<Step>,
    pub first_step: Vec<u32>,
    pub start: Location,
    pub unwound: Option<String>,
}

struct Inliner<'a> {
    program: &'a Program,
    unwind: Option<u32>,
    contexts: Vec<Context>,
    /// For every procedure, whether calls of it can nest.
    is_recursive: Vec<bool>,
    /// The number of activations of each context's procedure in its call string.
    nesting: Vec<u32>,
    bottoms: FxHashMap<ProcId, ContextId>,
    callees: FxHashMap<(ContextId, EdgeId), ContextId>,
    sites: Vec<Site>,
    numbers: FxHashMap<Site, Location>,
    unwound: Option<String>,
}

/// Finds all locations that control can reach, whatever the data, and the steps between them.
pub(super) fn inline(program: &Program, unwind: Option<u32>) -> Result<Inlined, Reason> {
    let calls = CallGraph::of(program);
    let mut inliner = Inliner {
        program,
        unwind,
        is_recursive: program.procedure_ids().map(|id| calls.is_recursive(id)).collect(),
        contexts: Vec::new(),
        nesting: Vec::new(),
        bottoms: FxHashMap::default(),
        callees: FxHashMap::default(),
        sites: Vec::new(),
        numbers: FxHashMap::default(),
        unwound: None,
    };
    let start = inliner.bottom(program.start, Procedure::ENTRY);
    // The loop appends locations while it goes through them, so steps come out sorted by their source.
    let (mut steps, mut first_step) = (Vec::new(), Vec::new());
    let mut next = 0;
    while next < inliner.sites.len() {
        if inliner.sites.len() > MOST_LOCATIONS {
            return Err(Reason::TooLargeInlined {
                what: "locations",
                count: format!("more than {MOST_LOCATIONS}"),
                limit: MOST_LOCATIONS,
            });
        }
        first_step.push(steps.len() as u32);
        inliner.steps_from(Location::from_index(next), &mut steps)?;
        next += 1;
    }
    first_step.push(steps.len() as u32);
    let Inliner { contexts, sites, unwound, .. } = inliner;
    Ok(Inlined { contexts, sites, steps, first_step, start, unwound })
}

impl Inliner<'_> {
    /// The location at a node of a procedure at the bottom of a stack.
    fn bottom(&mut self, procedure: ProcId, node: Node) -> Location {
        let next = ContextId::from_index(self.contexts.len());
        let context = *self.bottoms.entry(procedure).or_insert(next);
        if context == next {
            let base = 0;
            self.contexts.push(Context { procedure, caller: None, base, bottom: procedure });
            self.nesting.push(1);
        }
        self.at(Site { context, node })
    }

    fn at(&mut self, site: Site) -> Location {
        let next = Location::from_index(self.sites.len());
        let location = *self.numbers.entry(site).or_insert(next);
        if location == next {
            self.sites.push(site);
        }
        location
    }

    /// The context of a call; `None` if the call is cut off because it nests too deeply.
    fn callee(
        &mut self,
        caller: ContextId,
        edge: EdgeId,
        callee: ProcId,
    ) -> Result<Option<ContextId>, Reason> {
        if let Some(&context) = self.callees.get(&(caller, edge)) {
            return Ok(Some(context));
        }
        let nesting = self.nesting_of(caller, callee);
        if nesting > 0 {
            let name = &self.program.procedure(callee).name;
            match self.unwind {
                None => return Err(Reason::UnboundedRecursion { procedure: name.clone() }),
                Some(most) if nesting >= most.max(1) => {
                    self.unwound.get_or_insert_with(|| name.clone());
                    return Ok(None);
                }
                Some(_) => {}
            }
        }
        let Context { procedure, base, bottom, .. } = self.contexts[caller.index()];
        let base = base + self.program.procedure(procedure).locals.len() as u32;
        let context = ContextId::from_index(self.contexts.len());
        self.contexts.push(Context { procedure: callee, caller: Some((caller, edge)), base, bottom });
        self.nesting.push(nesting + 1);
        self.callees.insert((caller, edge), context);
        Ok(Some(context))
    }

    /// How often a procedure occurs in a call string. The nearest occurrence knows the number of those below it.
    /// Only recursive procedures are looked for, so that deep calls of others cost no time.
    fn nesting_of(&self, context: ContextId, procedure: ProcId) -> u32 {
        if !self.is_recursive[procedure.index()] {
            return 0;
        }
        let mut at = context;
        loop {
            if self.contexts[at.index()].procedure == procedure {
                return self.nesting[at.index()];
            }
            match self.contexts[at.index()].caller {
                Some((caller, _)) => at = caller,
                None => return 0,
            }
        }
    }

    fn steps_from(&mut self, from: Location, steps: &mut Vec<Step>) -> Result<(), Reason> {
        let program = self.program;
        let Site { context, node } = self.sites[from.index()];
        let Context { procedure: id, caller, .. } = self.contexts[context.index()];
        let procedure = program.procedure(id);
        if node == Procedure::EXIT {
            let (caller, edge) =
                caller.unwrap_or_else(|| unreachable!("a thread at its last exit has ended"));
            let below = program.procedure(self.contexts[caller.index()].procedure);
            let to = Some(self.arrival(caller, below.edge(edge).to));
            steps.push(Step { from, to: to.flatten(), action: Move::Return, creates: None });
            return Ok(());
        }
        for (edge, data) in procedure.edges_from(node) {
            let action = Move::Edge(edge);
            let (mut to, mut creates) = (None, None);
            match &data.action {
                Action::EndThread => {}
                Action::Call(call) if program.leaves_prologue(id, data) => {
                    to = Some(self.bottom(call.callee, Procedure::ENTRY));
                }
                Action::Call(call) => match self.callee(context, edge, call.callee)? {
                    Some(context) => to = Some(self.at(Site { context, node: Procedure::ENTRY })),
                    None => continue,
                },
                Action::Spawn(call) => {
                    creates = Some(self.bottom(call.callee, Procedure::ENTRY));
                    to = self.arrival(context, data.to);
                }
                Action::Fork(at) => {
                    creates = Some(self.bottom(id, *at));
                    to = self.arrival(context, data.to);
                }
                _ => to = self.arrival(context, data.to),
            }
            steps.push(Step { from, to, action, creates });
        }
        Ok(())
    }

    /// The location at a node of a context; `None` at the exit of a bottom frame, where the thread has ended.
    fn arrival(&mut self, context: ContextId, node: Node) -> Option<Location> {
        let ends = node == Procedure::EXIT && self.contexts[context.index()].caller.is_none();
        (!ends).then(|| self.at(Site { context, node }))
    }
}
