//! Block steps: from a location to the next ones, through calls and returns.
//!
//! The frames of a call string lie one after the other in a state. A call appends the callee's locals and a return
//! removes them; the callers' locals stay where they are.

use cusp_encodings::Term;

use super::Moment;
use super::locations::Locations;
use crate::certify::Stop;
use crate::certify::encode::body::Body;
use crate::certify::encode::walk::{CallSite, Frame, Walk, enforce};
use crate::certify::encode::{Model, State, Terms};
use crate::model::{Action, Node, Procedure};

/// Computes block steps.
pub(super) struct Stepper<'a> {
    pub model: &'a Model<'a>,
    pub bodies: &'a [Body<'a>],
    pub locations: &'a Locations,
}

/// An activation on the stack while one block is walked through.
struct Level<'a> {
    context: u32,
    walk: Walk<'a>,
}

impl<'a> Stepper<'a> {
    /// One block step from every location. Also returns the condition under which the property is violated on the
    /// way.
    pub fn all(&self, terms: &mut Terms, moment: Moment) -> Result<(Moment, Term), Stop> {
        let mut next = Moment::new();
        let mut violation = Term::FALSE;
        for (location, state) in moment {
            let inside = self.block(terms, location, state, &mut next)?;
            violation = terms.arena.or(violation, inside);
        }
        Ok((next, violation))
    }

    /// Follows all runs from a location to the next ones, and adds the states there to `next`. Returns the condition
    /// under which the property is violated.
    fn block(&self, terms: &mut Terms, location: u32, state: State, next: &mut Moment) -> Result<Term, Stop> {
        let (context, node) = self.locations.place(location);
        let walk = Walk::new(self.model, self.body(context), self.frame(context), node, state);
        let mut violation = Term::FALSE;
        let mut stack = vec![Level { context, walk }];
        while let Some(mut top) = stack.pop() {
            if let Some(site) = top.walk.next_call(terms)? {
                let Some(callee) = self.locations.callee(top.context, site.id) else {
                    // Control does not reach the callee in this context, so no run enters it.
                    stack.push(top);
                    continue;
                };
                let inside = self.enter(terms, callee, &site)?;
                if self.body(callee).is_cut(Procedure::ENTRY) {
                    self.arrive(terms, next, callee, Procedure::ENTRY, inside);
                    stack.push(top);
                } else {
                    let body = self.body(callee);
                    let walk = Walk::new(self.model, body, self.frame(callee), Procedure::ENTRY, inside);
                    stack.extend([top, Level { context: callee, walk }]);
                }
                continue;
            }
            violation = terms.arena.or(violation, top.walk.violation);
            let mut exit = None;
            for (node, state) in std::mem::take(&mut top.walk.arrivals) {
                if node == Procedure::EXIT {
                    exit = Some(state);
                } else {
                    self.arrive(terms, next, top.context, node, state);
                }
            }
            if let Some(exit) = exit {
                self.leave(terms, &mut stack, top.context, &exit)?;
            }
        }
        Ok(violation)
    }

    fn body(&self, context: u32) -> &'a Body<'a> {
        &self.bodies[self.locations.procedure(context).index()]
    }

    fn frame(&self, context: u32) -> Frame {
        Frame { base: self.locations.base(context) }
    }

    fn arrive(&self, terms: &mut Terms, next: &mut Moment, context: u32, node: Node, state: State) {
        // Every cut that control can reach is a location.
        if let Some(location) = self.locations.at(context, node) {
            let merged = match next.remove(&location) {
                Some(other) => other.merge(terms, state),
                None => state,
            };
            next.insert(location, merged);
        }
    }

    /// The state with which a call enters its callee.
    fn enter(&self, terms: &mut Terms, context: u32, site: &CallSite<'_>) -> Result<State, Stop> {
        let callee = self.body(context).procedure;
        let mut state = site.state.clone();
        for &arg in &site.args {
            state.values.push(arg);
        }
        for _ in callee.params as usize..callee.locals.len() {
            let any = terms.fresh();
            state.values.push(any);
        }
        enforce(self.model, callee, self.frame(context), terms, &mut state)?;
        Ok(state)
    }

    /// The procedure of a context returns, either to the caller below it on the stack or, if it was already running
    /// when the block began, to the caller that the call string names.
    fn leave(
        &self,
        terms: &mut Terms,
        stack: &mut Vec<Level<'a>>,
        context: u32,
        exit: &State,
    ) -> Result<(), Stop> {
        let Some((caller, edge)) = self.locations.caller(context) else { return Ok(()) };
        let mut level = stack.pop().unwrap_or_else(|| {
            let walk = Walk::after_call(self.model, self.body(caller), self.frame(caller));
            Level { context: caller, walk }
        });
        let edge = self.body(caller).procedure.edge(edge);
        if let Action::Call(call) = &edge.action {
            let first_slot =
                self.locations.base(context) + self.body(context).procedure.first_return() as usize;
            let mut behind = State { guard: exit.guard, values: exit.values.clone() };
            behind.values.truncate(self.locations.end(caller));
            let (global, slot) = (|i| exit.values.get(i), |i| exit.values.get(first_slot + i));
            level.walk.land_after_call(terms, edge, call, behind, global, slot)?;
        }
        stack.push(level);
        Ok(())
    }
}
