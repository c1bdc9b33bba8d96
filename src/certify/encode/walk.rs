//! Walks through one block: from a cut to the next ones, stopping at every call.
//!
//! Nodes are visited in the order of [`Body`]. So all states that arrive at a node are merged before its edges are
//! followed, and the state of a node is dropped once its edges were followed. The effect of a call differs between
//! the kinds of proofs. So a walk stops at every call: whoever calls [`Walk::next_call`] computes the effect and
//! passes the state after the call to [`Walk::land`].

use std::collections::BTreeMap;

use cusp_encodings::Term;

use super::body::Body;
use super::{Model, State, Terms, encode};
use crate::certify::{Stop, poll, reject};
use crate::model::{Action, Assign, Call, Edge, EdgeId, Expr, Node, Procedure, Var};

/// Tells where a state holds the variables of the running procedure: first the globals, and from `base` on the
/// procedure's locals.
#[derive(Clone, Copy)]
pub(in crate::certify) struct Frame {
    /// The position of the first local.
    pub base: usize,
}

impl Frame {
    /// The position of a variable.
    pub fn position(self, var: Var) -> usize {
        match var {
            Var::Global(i) => i as usize,
            Var::Local(i) => self.base + i as usize,
        }
    }
}

/// A walk through one block.
pub(in crate::certify) struct Walk<'a> {
    model: &'a Model<'a>,
    body: &'a Body<'a>,
    frame: Frame,
    /// The states that have arrived at nodes not visited yet, by the position of the node.
    waiting: BTreeMap<u32, State>,
    /// Edges of the current node that were not followed yet, with the states that take them; the last one is followed
    /// next.
    edges: Vec<(&'a Edge, EdgeId, State)>,
    /// The condition under which the property is violated in this block.
    pub violation: Term,
    /// The cuts where the block ends, with the states that arrive there.
    pub arrivals: BTreeMap<Node, State>,
}

/// A call at which a walk has stopped.
pub(in crate::certify) struct CallSite<'a> {
    /// The id of the call edge.
    pub id: EdgeId,
    /// The call edge.
    pub edge: &'a Edge,
    /// The call of that edge.
    pub call: &'a Call,
    /// The states before the call.
    pub state: State,
    /// The values of the arguments.
    pub args: Vec<Term>,
}

impl<'a> Walk<'a> {
    /// Starts a walk at a node with the given states, which must satisfy `enforce`.
    pub fn new(model: &'a Model<'a>, body: &'a Body<'a>, frame: Frame, from: Node, state: State) -> Self {
        let waiting = BTreeMap::from([(body.position(from), state)]);
        let arrivals = BTreeMap::new();
        Self { model, body, frame, waiting, edges: Vec::new(), violation: Term::FALSE, arrivals }
    }

    /// A walk without a start state, for code that continues after a call; the first state comes from [`Walk::land`].
    pub fn after_call(model: &'a Model<'a>, body: &'a Body<'a>, frame: Frame) -> Self {
        let (waiting, arrivals) = (BTreeMap::new(), BTreeMap::new());
        Self { model, body, frame, waiting, edges: Vec::new(), violation: Term::FALSE, arrivals }
    }

    /// The procedure whose block this is.
    pub fn body(&self) -> &'a Body<'a> {
        self.body
    }

    /// Continues to the next call; `None` at the end of the block.
    pub fn next_call(&mut self, terms: &mut Terms) -> Result<Option<CallSite<'a>>, Stop> {
        loop {
            let Some((edge, id, state)) = self.edges.pop() else {
                match self.waiting.pop_first() {
                    Some((position, state)) => self.visit(terms, self.body.node(position), &state)?,
                    None => return Ok(None),
                }
                continue;
            };
            if let Action::Call(call) = &edge.action {
                let mut args = Vec::with_capacity(call.args.len());
                for &arg in &call.args {
                    args.push(self.value(terms, arg, &state)?);
                }
                return Ok(Some(CallSite { id, edge, call, state, args }));
            }
            self.step(terms, edge, state)?;
        }
    }

    /// Adds states that arrive at a node. They must satisfy `enforce`.
    pub fn land(&mut self, terms: &mut Terms, node: Node, state: State) {
        let place = if self.body.is_cut(node) {
            self.arrivals.remove(&node)
        } else {
            self.waiting.remove(&self.body.position(node))
        };
        let merged = match place {
            Some(other) => other.merge(terms, state),
            None => state,
        };
        if self.body.is_cut(node) {
            self.arrivals.insert(node, merged);
        } else {
            self.waiting.insert(self.body.position(node), merged);
        }
    }

    /// Adds states that arrive at the target of a call edge after the call returned. `global` and `slot` give the
    /// values of globals and return slots by position; all other values are those before the call. Applies `enforce`
    /// of the caller where it may have changed.
    pub fn land_after_call(
        &mut self,
        terms: &mut Terms,
        edge: &Edge,
        call: &Call,
        mut state: State,
        global: impl Fn(usize) -> Term,
        slot: impl Fn(usize) -> Term,
    ) -> Result<(), Stop> {
        for i in 0..self.model.globals() {
            state.values.set(i, global(i));
        }
        for (i, target) in call.targets.iter().enumerate() {
            if let Some(var) = *target {
                state.values.set(self.frame.position(var), slot(i));
            }
        }
        let targets = call.targets.iter().flatten().copied();
        if self.body.enforces_globals() || self.body.is_enforced(targets) {
            enforce(self.model, self.body.procedure, self.frame, terms, &mut state)?;
        }
        self.land(terms, edge.to, state);
        Ok(())
    }

    /// Visits a node after all states have arrived there: notes violations, and passes the states on to the node's
    /// edges.
    fn visit(&mut self, terms: &mut Terms, node: Node, state: &State) -> Result<(), Stop> {
        poll(self.model.budget)?;
        if self.model.forbidden.contains(self.body.id, node) {
            self.violation = terms.arena.or(self.violation, state.guard);
            return Ok(());
        }
        let edges: Vec<_> = self.body.edges_from(node).collect();
        let mut guards = terms.alternatives(state.guard, edges.len());
        // If a condition has no choices, it and its negation exclude each other, and the variable that chooses between
        // the two edges is not used.
        if let [
            (_, Edge { action: Action::Assume(holds), .. }),
            (_, Edge { action: Action::Assume(fails), .. }),
        ] = &edges[..]
        {
            let conditions = [self.value(terms, *holds, state)?, self.value(terms, *fails, state)?];
            if conditions[0] == !conditions[1] {
                guards = vec![state.guard; 2];
            }
            for ((_, edge), (guard, condition)) in edges.iter().zip(guards.into_iter().zip(conditions)) {
                let mut state = State { guard, values: state.values.clone() };
                state.restrict(terms, condition);
                self.land(terms, edge.to, state);
            }
            return Ok(());
        }
        for ((id, edge), guard) in edges.into_iter().zip(guards).rev() {
            self.edges.push((edge, id, State { guard, values: state.values.clone() }));
        }
        Ok(())
    }

    /// Takes an edge that is not a call.
    fn step(&mut self, terms: &mut Terms, edge: &Edge, mut state: State) -> Result<(), Stop> {
        match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd => {}
            Action::Assume(condition) => {
                let condition = self.value(terms, *condition, &state)?;
                state.restrict(terms, condition);
            }
            Action::Assert(condition) => {
                let condition = self.value(terms, *condition, &state)?;
                if self.model.asserts() {
                    let fails = terms.arena.and(state.guard, !condition);
                    self.violation = terms.arena.or(self.violation, fails);
                }
                state.restrict(terms, condition);
            }
            Action::Assign(assign) => self.assign(terms, assign, &mut state)?,
            Action::EndThread => return Ok(()),
            Action::Call(_) | Action::Spawn(_) | Action::Fork(_) => {
                return reject("a proof about a sequential program cannot start a thread");
            }
        }
        self.land(terms, edge.to, state);
        Ok(())
    }

    fn assign(&self, terms: &mut Terms, assign: &Assign, state: &mut State) -> Result<(), Stop> {
        // A sequential program has no other thread: passive targets denote no variable, and passive conditions hold.
        let own = || assign.pairs.iter().filter(|(target, _)| !target.passive);
        let mut after = state.values.clone();
        for &(target, value) in own() {
            let value = self.value(terms, value, state)?;
            after.set(self.frame.position(target.var), value);
        }
        let exprs = &self.model.program.exprs;
        for &condition in &assign.constrain {
            if exprs.reads(condition).any(|place| place.passive) {
                continue;
            }
            let condition = encode(terms, exprs.ops(condition), |place| {
                let values = if place.primed { &after } else { &state.values };
                values.get(self.frame.position(place.var))
            })?;
            state.restrict(terms, condition);
        }
        state.values = after;
        if self.body.is_enforced(own().map(|(target, _)| target.var)) {
            enforce(self.model, self.body.procedure, self.frame, terms, state)?;
        }
        Ok(())
    }

    /// The value of an expression in a state.
    fn value(&self, terms: &mut Terms, expr: Expr, state: &State) -> Result<Term, Stop> {
        let code = self.model.program.exprs.ops(expr);
        encode(terms, code, |place| state.values.get(self.frame.position(place.var)))
    }
}

/// Keeps only the states that satisfy the `enforce` of a procedure.
pub(in crate::certify) fn enforce(
    model: &Model<'_>,
    procedure: &Procedure,
    frame: Frame,
    terms: &mut Terms,
    state: &mut State,
) -> Result<(), Stop> {
    if let Some(condition) = procedure.enforce {
        let code = model.program.exprs.ops(condition);
        let condition = encode(terms, code, |place| state.values.get(frame.position(place.var)))?;
        state.restrict(terms, condition);
    }
    Ok(())
}
