//! One block: from a cut to the next ones, call by call.
//!
//! Nodes are visited in the order of [`Body`], so all states that come to a node are merged before its
//! edges are looked at, and a state is dropped as soon as it has gone on. A walk stops at every call:
//! what a call does is different in every kind of proof, so the caller of [`Walk::next_call`] decides it
//! and hands the state behind the call to [`Walk::land`].

use std::collections::BTreeMap;

use cusp_encodings::Term;

use super::body::Body;
use super::{Model, State, Terms, encode};
use crate::certify::{Stop, poll, reject};
use crate::model::{Action, Assign, Call, Edge, EdgeId, Expr, Node, Procedure, Var};

/// Where the variables of the running procedure are: globals first, its locals from `base` on.
#[derive(Clone, Copy)]
pub(in crate::certify) struct Frame {
    /// The position of the first local.
    pub base: usize,
}

impl Frame {
    /// Where a variable is.
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
    /// States that wait at nodes, by the positions of the nodes.
    waiting: BTreeMap<u32, State>,
    /// The edges of the current node that were not looked at, the next one last.
    edges: Vec<(&'a Edge, EdgeId, State)>,
    /// Where the property is violated.
    pub violation: Term,
    /// Where the block ends, and how.
    pub arrivals: BTreeMap<Node, State>,
}

/// A call on the way.
pub(in crate::certify) struct CallSite<'a> {
    /// The call edge.
    pub id: EdgeId,
    /// The same.
    pub edge: &'a Edge,
    /// What is called.
    pub call: &'a Call,
    /// The state before it.
    pub state: State,
    /// The values of the arguments.
    pub args: Vec<Term>,
}

impl<'a> Walk<'a> {
    /// A walk that has not begun. The state must satisfy `enforce`.
    pub fn new(model: &'a Model<'a>, body: &'a Body<'a>, frame: Frame, from: Node, state: State) -> Self {
        let waiting = BTreeMap::from([(body.position(from), state)]);
        let arrivals = BTreeMap::new();
        Self { model, body, frame, waiting, edges: Vec::new(), violation: Term::FALSE, arrivals }
    }

    /// A walk that begins behind a call from the procedure.
    pub fn behind(model: &'a Model<'a>, body: &'a Body<'a>, frame: Frame) -> Self {
        let (waiting, arrivals) = (BTreeMap::new(), BTreeMap::new());
        Self { model, body, frame, waiting, edges: Vec::new(), violation: Term::FALSE, arrivals }
    }

    /// Whose block it is.
    pub fn body(&self) -> &'a Body<'a> {
        self.body
    }

    /// Goes on to the next call; `None` at the end of the block.
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

    /// Control comes to a node with these states, which satisfy `enforce`.
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

    /// Control comes back behind a call with these values of the globals and the return slots, given as
    /// functions of their positions; the rest of the state is the one before the call.
    pub fn land_behind_call(
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

    /// All states have come to a node: notes a violation, and spreads them over the edges.
    fn visit(&mut self, terms: &mut Terms, node: Node, state: &State) -> Result<(), Stop> {
        poll(self.model.budget)?;
        if self.model.forbidden.contains(self.body.id, node) {
            self.violation = terms.arena.or(self.violation, state.guard);
            return Ok(());
        }
        let edges: Vec<_> = self.body.edges_from(node).collect();
        let mut guards = terms.alternatives(state.guard, edges.len());
        // The two sides of a condition without choices exclude each other as they are.
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

    /// A step that is no call.
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
        // There is no other thread: passive targets are no variables, passive conditions concern nobody.
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

/// Only the states that satisfy the `enforce` of a procedure.
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
