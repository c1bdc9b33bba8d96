//! Goes through all obligations of a certificate in order.

use cusp_encodings::Term;

use super::index::{Index, interface};
use super::instance::Instances;
use super::{Conclude, Goal, What};
use crate::budget::Budget;
use crate::certify::encode::body::Body;
use crate::certify::encode::walk::{CallSite, Frame, Walk, enforce};
use crate::certify::encode::{Model, State, Terms, Values};
use crate::certify::question::Questions;
use crate::certify::{Stop, reject};
use crate::evidence::{Place, Relations};
use crate::model::{Node, ProcId, Procedure, Task};

/// What obligations are made from: the task, the certificate, and the solver with its terms.
pub(super) struct View<'a> {
    pub model: &'a Model<'a>,
    pub index: &'a Index<'a>,
    pub instances: Instances<'a>,
    pub questions: Questions<'a>,
}

impl View<'_> {
    pub fn terms(&mut self) -> &mut Terms {
        &mut self.questions.terms
    }

    /// The condition, as a premise, under which an entry state is among the failures of a procedure.
    fn may_be_failure(&mut self, procedure: ProcId, entry: &[Term]) -> Term {
        let mut any = Term::FALSE;
        for &position in self.index.at(procedure, Place::Failure) {
            let relation = self.index.relation(position);
            let components = relation.entry.iter().copied().zip(entry.iter().copied());
            let terms = &mut self.questions.terms;
            let condition = self.instances.relate(terms, relation.guard, components, &mut any_value);
            any = terms.arena.or(any, condition.unwrap_or(Term::TRUE));
        }
        any
    }
}

/// Gives a parameter its value in a premise: a new variable.
#[expect(clippy::unnecessary_wraps, reason = "one of several ways to give a parameter its value")]
fn any_value(terms: &mut Terms, _: u32) -> Option<Term> {
    Some(terms.fresh())
}

pub(super) struct Traversal<'a, C> {
    view: View<'a>,
    conclude: C,
    next: u32,
    first_variable: u32,
}

impl<C: Conclude> Traversal<'_, C> {
    pub fn run(task: &Task, certificate: &Relations, budget: &Budget, conclude: C) -> Result<(), Stop> {
        let model = Model::new(task, budget)?;
        let index = Index::new(&task.program, certificate, budget)?;
        let instances = Instances::new(&certificate.formulas);
        let view = View { model: &model, index: &index, instances, questions: Questions::new(budget) };
        let mut traversal = Traversal { view, conclude, next: 0, first_variable: 0 };
        traversal.start()?;
        task.program.procedure_ids().try_for_each(|id| traversal.procedure(id))?;
        let obligations = traversal.next;
        match certificate.witnesses.iter().find(|witness| witness.obligation >= obligations) {
            Some(witness) => reject(format!(
                "a witness refers to obligation {}, and there are {obligations}",
                witness.obligation
            )),
            None => Ok(()),
        }
    }

    fn goal(
        &mut self,
        what: What,
        (procedure, place): (ProcId, Place),
        guard: Term,
        entry: &[Term],
        now: &[Term],
    ) -> Result<(), Stop> {
        let (number, first_variable) = (self.next, self.first_variable);
        self.next += 1;
        let goal = Goal { number, first_variable, what, guard, entry, now, procedure, place };
        self.conclude.conclude(&mut self.view, &goal)
    }

    fn start(&mut self) -> Result<(), Stop> {
        let model = self.view.model;
        let start = model.program.start;
        let procedure = model.program.procedure(start);
        self.first_variable = self.view.questions.begin();
        let terms = self.view.terms();
        let now = terms.fresh_vector(model.globals() + procedure.locals.len());
        let mut state = State { guard: Term::TRUE, values: now.iter().copied().collect() };
        enforce(model, procedure, Frame { base: model.globals() }, terms, &mut state)?;
        let entry = &now[..interface(model.program, procedure)];
        self.goal(What::Start, (start, Place::Node(Procedure::ENTRY)), state.guard, entry, &now)?;
        let failure = self.view.may_be_failure(start, entry);
        let failure = self.view.terms().arena.and(state.guard, failure);
        self.conclude.refute(
            &mut self.view,
            failure,
            "a start state is among the failures of the start procedure",
        )
    }

    fn procedure(&mut self, id: ProcId) -> Result<(), Stop> {
        let program = self.view.model.program;
        let nodes = self.view.index.nodes(id);
        let mut cuts = nodes.clone();
        cuts.push(Procedure::ENTRY);
        let body = Body::new(program, id, &cuts)?;
        for from in nodes {
            if from != Procedure::EXIT {
                self.block(&body, from)?;
            }
        }
        Ok(())
    }

    /// Follows all runs from a cut to the next cuts.
    fn block(&mut self, body: &Body<'_>, from: Node) -> Result<(), Stop> {
        let model = self.view.model;
        self.first_variable = self.view.questions.begin();
        let (entry, mut state) = self.pairs(body, from);
        let frame = Frame { base: model.globals() };
        enforce(model, body.procedure, frame, self.view.terms(), &mut state)?;
        let mut walk = Walk::new(model, body, frame, from, state);
        let mut failure = Term::FALSE;
        while let Some(site) = walk.next_call(self.view.terms())? {
            let inside = self.call(&mut walk, site)?;
            failure = self.view.terms().arena.or(failure, inside);
        }
        for (node, state) in std::mem::take(&mut walk.arrivals) {
            let now: Vec<Term> = state.values.iter().collect();
            self.goal(What::Arrival { from }, (body.id, Place::Node(node)), state.guard, &entry, &now)?;
        }
        failure = self.view.terms().arena.or(failure, walk.violation);
        self.goal(What::Failure { from }, (body.id, Place::Failure), failure, &entry, &[])
    }

    /// The pairs in the relations at a cut: entry states and current states.
    fn pairs(&mut self, body: &Body<'_>, at: Node) -> (Vec<Term>, State) {
        let View { model, index, instances, questions } = &mut self.view;
        let terms = &mut questions.terms;
        let positions = index.at(body.id, Place::Node(at));
        let guards = terms.alternatives(Term::TRUE, positions.len());
        let mut union: Option<State> = None;
        for (&position, choice) in positions.iter().zip(guards) {
            let relation = index.relation(position);
            let guard = instances.relate(terms, relation.guard, std::iter::empty(), &mut any_value);
            let components = relation.entry.iter().chain(&relation.now);
            let mut component = |literal: &Option<_>| {
                instances.component(terms, *literal, &mut any_value).unwrap_or(Term::TRUE)
            };
            let values: Values = components.map(&mut component).collect();
            let mut pairs = State { guard: choice, values };
            pairs.restrict(terms, guard.unwrap_or(Term::TRUE));
            union = Some(match union {
                Some(others) => others.merge(terms, pairs),
                None => pairs,
            });
        }
        let union = union.unwrap_or(State { guard: Term::FALSE, values: Values::default() });
        let width = interface(model.program, body.procedure);
        let entry = union.values.iter().take(width).collect();
        let now = union.values.iter().skip(width).collect();
        (entry, State { guard: union.guard, values: now })
    }

    /// Handles a call: its entry must be covered, and the states after its return continue the walk. Returns the
    /// condition under which the property may be violated inside the call.
    fn call(&mut self, walk: &mut Walk<'_>, site: CallSite<'_>) -> Result<Term, Stop> {
        let model = self.view.model;
        let callee_id = site.call.callee;
        let callee = model.program.procedure(callee_id);
        let CallSite { id, edge, call, state, args } = site;
        let globals = state.values.iter().take(model.globals());
        let entry: Vec<Term> = globals.chain(args).collect();
        let terms = self.view.terms();
        let mut now = entry.clone();
        now.extend(terms.fresh_vector(callee.locals.len() - callee.params as usize));
        let mut inside = State { guard: state.guard, values: now.iter().copied().collect() };
        enforce(model, callee, Frame { base: model.globals() }, terms, &mut inside)?;
        let what = What::Call { procedure: walk.body().id, edge: id };
        let place = (callee_id, Place::Node(Procedure::ENTRY));
        self.goal(what, place, inside.guard, &entry, &now)?;

        // If no locals satisfy the callee's `enforce`, the callee is not entered: it neither fails nor returns.
        let failure = self.view.may_be_failure(callee_id, &entry);
        let failure = self.view.terms().arena.and(inside.guard, failure);
        let View { index, instances, questions, .. } = &mut self.view;
        let terms = &mut questions.terms;
        let positions = index.at(callee_id, Place::Node(Procedure::EXIT));
        let guards = terms.alternatives(inside.guard, positions.len());
        let first_slot = model.globals() + callee.first_return() as usize;
        let mut results: Option<State> = None;
        for (&position, choice) in positions.iter().zip(guards) {
            let relation = index.relation(position);
            let given = relation.entry.iter().copied().zip(entry.iter().copied());
            let guard = instances.relate(terms, relation.guard, given, &mut any_value);
            let components = relation.now[..model.globals()].iter().chain(&relation.now[first_slot..]);
            let mut component = |literal: &Option<_>| {
                instances.component(terms, *literal, &mut any_value).unwrap_or(Term::TRUE)
            };
            let values: Values = components.map(&mut component).collect();
            let mut result = State { guard: choice, values };
            result.restrict(terms, guard.unwrap_or(Term::TRUE));
            results = Some(match results {
                Some(others) => others.merge(terms, result),
                None => result,
            });
        }
        if let Some(results) = results {
            let behind = State { guard: results.guard, values: state.values };
            let global = |i| results.values.get(i);
            let slot = |i| results.values.get(model.globals() + i);
            walk.land_after_call(terms, edge, call, behind, global, slot)?;
        }
        Ok(failure)
    }
}
