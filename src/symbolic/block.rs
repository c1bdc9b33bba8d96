//! Blocks: the loop-free code from one cut to the next ones as one formula.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", 2010, sections 3.2 and 4.2.1 (path formulas
//! merged at every join, in topological order; algorithm 10.1 is that order on loop-free code).
//!
//! A block begins at the entry of a procedure or at a loop head, and ends at loop heads and at the exit. The
//! variables of its formula are the values of the slots at the beginning (*inputs*), choices and, for every call in
//! it, the outcome of the call: whether it returns, whether it fails, and the results. Calls are left open: the
//! engine that uses the block decides which outcomes are possible.
//!
//! Invariant (determinism): an assignment to these variables describes at most one run through the block. Where
//! several edges leave a node and their conditions do not exclude each other, fresh choices select one. So the guards
//! of all runs that reach a join exclude each other, and merging by `ite` is exact.
//!
//! Invariant (range): no block shares variables with another, so all terms of a block are nodes of one range of the
//! templates' arena. Instantiating a block is a loop over that range.

use std::cell::{Ref, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::rc::Rc;

use cusp_encodings::{Node as TermNode, Term, TermArena, VarId};
use rustc_hash::FxHashMap;

use super::expression::term_of;
use super::scope::{Scope, Scopes};
use super::values::Values;
use crate::evidence::trace::Violation;
use crate::model::cuts::Cuts;
use crate::model::{
    Action, Assign, Call, Edge, EdgeId, Expr, Node, Op, Place, ProcId, Procedure, Property, Task, Var,
};

/// A block as a formula. All terms are in the arena of [`Blocks`].
#[derive(Debug)]
pub struct Block {
    /// The procedure that the code belongs to.
    pub procedure: ProcId,
    /// The node where the block begins.
    pub start: Node,
    /// The variables for the values at the beginning; `None` for slots that do not matter there.
    pub inputs: Vec<Option<VarId>>,
    /// The ends of the block, each cut once. Their guards exclude each other.
    pub arrivals: Vec<Arrival>,
    /// The calls, ordered so that the outcome of a call comes before the calls that depend on it.
    pub calls: Vec<OpenCall>,
    /// The violations in the block itself.
    pub failures: Vec<Failure>,
    /// The condition under which the property is violated, in the block itself or in a call.
    pub fails: Term,
    variables: Vec<VarId>,
    /// The meaning of the variables that are neither choices nor selectors.
    pub(crate) roles: FxHashMap<VarId, Role>,
    /// All edges of the block, by their source in topological order; [`super::walk`] uses them.
    pub(super) steps: Vec<Step>,
    /// The range of the block's nodes in the arena. Variables are numbered consecutively: first the inputs, then the
    /// others.
    pub(super) range: Range<usize>,
}

impl Block {
    /// All variables: inputs, choices, and outcomes of calls.
    #[must_use]
    pub fn variables(&self) -> &[VarId] {
        &self.variables
    }
}

/// The meaning of a variable of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The value of a slot at the beginning.
    Input(usize),
    /// Whether a call returns. Calls are given by their position in [`Block::calls`].
    Returns(usize),
    /// Whether a call fails.
    Fails(usize),
    /// An exit slot of a call: the call, and the position of the slot.
    Result(usize, usize),
}

/// An end of a block.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The cut where the block ends.
    pub node: Node,
    /// The condition under which control reaches the cut.
    pub guard: Term,
    /// The values of all slots. The values of slots that do not matter there have no meaning.
    pub values: Vec<Term>,
}

/// A call in a block.
#[derive(Clone, Debug)]
pub struct OpenCall {
    /// The call edge.
    pub edge: EdgeId,
    /// The procedure that is called.
    pub callee: ProcId,
    /// The condition under which control reaches the call.
    pub guard: Term,
    /// The values of the callee's globals and parameters, in the order of its slots.
    pub arguments: Vec<Term>,
    /// The values of the caller's slots at the call.
    values: Values,
    /// Whether the call returns.
    pub returns: VarId,
    /// Whether the property is violated before it returns.
    pub fails: VarId,
    /// The values of the callee's exit slots.
    pub results: Vec<VarId>,
}

impl OpenCall {
    /// The value of one of the caller's slots at the call.
    #[must_use]
    pub fn value(&self, slot: usize) -> Term {
        self.values.get(slot)
    }
}

/// A violation in a block.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The condition under which it happens.
    pub guard: Term,
    /// The node at which it happens.
    pub node: Node,
    /// What is violated.
    pub violation: Violation,
}

/// An edge of a block.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub from: Node,
    pub edge: EdgeId,
    /// The condition under which the edge is taken.
    pub guard: Term,
    /// The slots that it changes, with their new values.
    pub updates: Vec<(u32, Term)>,
    /// For a call, its position in [`Block::calls`].
    pub call: Option<u32>,
}

/// The blocks of a program, built on demand.
pub struct Blocks<'a> {
    /// The task.
    pub task: &'a Task,
    /// The slots of all procedures.
    pub scopes: &'a Scopes,
    arena: RefCell<TermArena>,
    cuts: Vec<Cuts>,
    targets: FxHashMap<ProcId, Vec<Node>>,
    made: RefCell<FxHashMap<(ProcId, Node), Rc<Block>>>,
}

impl<'a> Blocks<'a> {
    /// Finds the cuts of all procedures; no block is built yet.
    #[must_use]
    pub fn new(task: &'a Task, scopes: &'a Scopes) -> Self {
        let program = &task.program;
        let mut targets: FxHashMap<ProcId, Vec<Node>> = FxHashMap::default();
        if let Property::LabelUnreachable(label) = &task.property {
            for id in program.procedure_ids() {
                let nodes: Vec<Node> = program.procedure(id).nodes_labelled(label).collect();
                if !nodes.is_empty() {
                    targets.insert(id, nodes);
                }
            }
        }
        let cuts = program.procedures.iter().map(Cuts::of).collect();
        let arena = RefCell::new(TermArena::new());
        Self { task, scopes, arena, cuts, targets, made: RefCell::default() }
    }

    /// The cuts of a procedure.
    #[must_use]
    pub fn cuts(&self, procedure: ProcId) -> &Cuts {
        &self.cuts[procedure.index()]
    }

    /// The arena that holds the terms of all blocks.
    #[must_use]
    pub fn arena(&self) -> Ref<'_, TermArena> {
        self.arena.borrow()
    }

    /// Whether reaching a node violates the property.
    #[must_use]
    pub fn is_target(&self, procedure: ProcId, node: Node) -> bool {
        self.targets.get(&procedure).is_some_and(|nodes| nodes.contains(&node))
    }

    /// The condition that the `enforce` of a procedure is satisfied, with new choices; `value` gives the terms of its
    /// slots.
    pub fn enforce(
        &self,
        into: &mut TermArena,
        procedure: ProcId,
        mut value: impl FnMut(usize) -> Term,
    ) -> Term {
        let scope = self.scopes.scope(procedure);
        match self.task.program.procedure(procedure).enforce {
            None => Term::TRUE,
            Some(condition) => {
                let code = self.task.program.exprs.ops(condition);
                term_of(into, code, |place| value(slot_of(scope, place)))
            }
        }
    }

    /// The block that begins at the entry, at a loop head, or after a call of a procedure.
    #[must_use]
    pub fn block(&self, procedure: ProcId, start: Node) -> Rc<Block> {
        if let Some(block) = self.made.borrow().get(&(procedure, start)) {
            return Rc::clone(block);
        }
        let block = Rc::new(Builder::build(self, procedure, start));
        self.made.borrow_mut().insert((procedure, start), Rc::clone(&block));
        block
    }

    /// Copies a block to another arena. `image` is called once for each variable of the block and gives the term that
    /// replaces it.
    pub fn instantiate(
        &self,
        block: &Block,
        into: &mut TermArena,
        mut image: impl FnMut(&mut TermArena, VarId) -> Term,
    ) -> Instance {
        self.instantiate_in_order(block, into, |into, _, var| image(into, var))
    }

    /// Like [`Blocks::instantiate`], but the image of a variable may depend on the copies of terms that come before
    /// it: the outcome of a call comes after its arguments.
    pub fn instantiate_in_order(
        &self,
        block: &Block,
        into: &mut TermArena,
        mut image: impl FnMut(&mut TermArena, &Instance, VarId) -> Term,
    ) -> Instance {
        let arena = self.arena.borrow();
        let images = Vec::with_capacity(block.range.len());
        let mut instance = Instance { first: block.range.start, images };
        for position in block.range.clone() {
            let term = match arena.node(arena.term_at(position)) {
                TermNode::True => Term::TRUE,
                TermNode::Var(var) => image(into, &instance, var),
                TermNode::And(a, b) => into.and(instance.term(a), instance.term(b)),
                TermNode::Xor(a, b) => into.xor(instance.term(a), instance.term(b)),
            };
            instance.images.push(term);
        }
        instance
    }

    /// Continues a copy until `image` returns no term for a variable, and returns that variable. At that point,
    /// everything that the variable may depend on has been copied: for the outcome of a call, its guard and its
    /// arguments.
    pub fn advance(
        &self,
        block: &Block,
        instance: &mut Instance,
        into: &mut TermArena,
        mut image: impl FnMut(&mut TermArena, VarId) -> Option<Term>,
    ) -> Option<VarId> {
        let arena = self.arena.borrow();
        let next = block.range.start + instance.images.len();
        for position in next..block.range.end {
            let term = match arena.node(arena.term_at(position)) {
                TermNode::True => Term::TRUE,
                TermNode::Var(var) => match image(into, var) {
                    Some(term) => term,
                    None => return Some(var),
                },
                TermNode::And(a, b) => {
                    let (a, b) = (instance.term(a), instance.term(b));
                    into.and(a, b)
                }
                TermNode::Xor(a, b) => {
                    let (a, b) = (instance.term(a), instance.term(b));
                    into.xor(a, b)
                }
            };
            instance.images.push(term);
        }
        None
    }
}

/// A copy of a block: the image of each of its terms.
#[derive(Clone, Debug)]
pub struct Instance {
    first: usize,
    images: Vec<Term>,
}

impl Instance {
    /// A copy to which no term was added yet.
    #[must_use]
    pub fn begin(block: &Block) -> Self {
        Self { first: block.range.start, images: Vec::with_capacity(block.range.len()) }
    }

    /// The copy of a term of the block.
    #[must_use]
    pub fn term(&self, term: Term) -> Term {
        match term.as_constant() {
            Some(_) => term,
            None => self.images[term.index() - self.first].complement_if(term.is_complemented()),
        }
    }

    /// The copies of several terms.
    #[must_use]
    pub fn terms(&self, terms: &[Term]) -> Vec<Term> {
        terms.iter().map(|&term| self.term(term)).collect()
    }
}

/// The state at a node while the block is built.
struct State {
    guard: Term,
    values: Values,
}

struct Builder<'a, 'b> {
    blocks: &'b Blocks<'a>,
    arena: &'b mut TermArena,
    id: ProcId,
    procedure: &'a Procedure,
    scope: &'a Scope,
    /// The nodes that control has reached and that were not visited yet; the first one in topological order comes out
    /// first.
    waiting: BinaryHeap<Reverse<(u32, Node)>>,
    states: FxHashMap<Node, State>,
    arrivals: FxHashMap<Node, State>,
    /// The cuts in the order in which control reached them.
    arrived: Vec<Node>,
    calls: Vec<OpenCall>,
    failures: Vec<Failure>,
    steps: Vec<Step>,
    /// The slots that `enforce` reads.
    enforced: Vec<bool>,
}

impl<'a, 'b> Builder<'a, 'b> {
    fn build(blocks: &'b Blocks<'a>, id: ProcId, start: Node) -> Block {
        let mut arena = blocks.arena.borrow_mut();
        let first = arena.len();
        let procedure = blocks.task.program.procedure(id);
        let scope = blocks.scopes.scope(id);
        let mut enforced = vec![false; scope.width()];
        if let Some(condition) = procedure.enforce {
            for place in blocks.task.program.exprs.reads(condition) {
                enforced[slot_of(scope, place)] = true;
            }
        }
        let mut inputs = vec![None; scope.width()];
        for slot in blocks.scopes.live_slots(id, start) {
            inputs[slot] = Some(arena.fresh_var());
        }
        // A value that does not matter is arbitrary, not false: it may be passed to a procedure in which, because of
        // other callers, the variable does count as one that matters.
        let terms: Vec<Term> = inputs
            .iter()
            .map(|input| match *input {
                Some(var) => arena.var(var),
                None => arena.fresh(),
            })
            .collect();
        let mut builder = Builder {
            blocks,
            arena: &mut arena,
            id,
            procedure,
            scope,
            waiting: BinaryHeap::new(),
            states: FxHashMap::default(),
            arrivals: FxHashMap::default(),
            arrived: Vec::new(),
            calls: Vec::new(),
            failures: Vec::new(),
            steps: Vec::new(),
            enforced,
        };
        let values = Values::new(&terms);
        let guard = if start == Procedure::ENTRY { builder.enforce(&values) } else { Term::TRUE };
        builder.waiting.push(Reverse((0, start)));
        builder.states.insert(start, State { guard, values });
        while let Some(Reverse((_, node))) = builder.waiting.pop() {
            builder.leave(node);
        }
        let width = scope.width();
        let Builder { mut arrivals, arrived, calls, mut failures, steps, .. } = builder;
        let mut ends = Vec::with_capacity(arrived.len());
        for node in arrived {
            let Some(State { guard, values }) = arrivals.remove(&node) else { continue };
            if node == Procedure::EXIT && blocks.is_target(id, node) {
                failures.push(Failure { guard, node, violation: Violation::Label });
            } else {
                ends.push(Arrival { node, guard, values: values.to_vec(width) });
            }
        }
        let mut fails = Term::FALSE;
        for failure in &failures {
            fails = arena.or(fails, failure.guard);
        }
        for call in &calls {
            let inside = arena.var(call.fails);
            let inside = arena.and(call.guard, inside);
            fails = arena.or(fails, inside);
        }
        let range = first..arena.len();
        let roles = roles(&inputs, &calls);
        let variables = range.clone().filter_map(|i| arena.as_var(arena.term_at(i))).collect();
        Block {
            procedure: id,
            start,
            inputs,
            arrivals: ends,
            calls,
            failures,
            fails,
            variables,
            roles,
            steps,
            range,
        }
    }

    fn term(&mut self, values: &Values, expr: Expr) -> Term {
        let scope = self.scope;
        term_of(self.arena, self.blocks.task.program.exprs.ops(expr), |place| {
            values.get(slot_of(scope, place))
        })
    }

    fn enforce(&mut self, values: &Values) -> Term {
        match self.procedure.enforce {
            None => Term::TRUE,
            Some(condition) => self.term(values, condition),
        }
    }

    /// Takes all edges from a node, after all states have arrived there.
    fn leave(&mut self, node: Node) {
        let Some(State { guard, values }) = self.states.remove(&node) else { return };
        if guard == Term::FALSE {
            return;
        }
        if self.blocks.is_target(self.id, node) {
            self.failures.push(Failure { guard, node, violation: Violation::Label });
            return;
        }
        let edges: Vec<(EdgeId, &'a Edge)> = self.procedure.edges_from(node).collect();
        let chosen = self.choose(guard, &values, &edges);
        for (&(id, edge), guard) in edges.iter().zip(chosen) {
            self.take(id, edge, guard, &values);
        }
    }

    /// For each edge from a node, the condition under which it is taken. If the edge is an assumption, its condition
    /// is included.
    fn choose(&mut self, guard: Term, values: &Values, edges: &[(EdgeId, &'a Edge)]) -> Vec<Term> {
        let exprs = &self.blocks.task.program.exprs;
        if let [(_, Edge { action: Action::Assume(a), .. }), (_, Edge { action: Action::Assume(b), .. })] =
            edges
        {
            // These are the two sides of one condition: a choice in it is made once, and enables exactly one side.
            let (first, second) = (exprs.ops(*a), exprs.ops(*b));
            let is_negation = |of: &[Op], code: &[Op]| matches!(code, [rest @ .., Op::Not] if rest == of);
            if is_negation(first, second) || is_negation(second, first) {
                let condition = self.term(values, *a);
                return vec![self.arena.and(guard, condition), self.arena.and(guard, !condition)];
            }
        }
        let own: Vec<Term> = edges
            .iter()
            .map(|(_, edge)| match edge.action {
                Action::Assume(condition) => self.term(values, condition),
                _ => Term::TRUE,
            })
            .collect();
        let mut left = guard;
        let mut chosen = Vec::with_capacity(edges.len());
        for (position, &condition) in own.iter().enumerate() {
            let is_last = position + 1 == own.len();
            let excludes_rest =
                own[position + 1..].iter().all(|&other| self.arena.and(condition, other) == Term::FALSE);
            let selector = if is_last || excludes_rest { Term::TRUE } else { self.arena.fresh() };
            let taken = self.arena.and(selector, condition);
            chosen.push(self.arena.and(left, taken));
            if !excludes_rest {
                left = self.arena.and(left, !selector);
            }
        }
        chosen
    }

    /// Takes one edge.
    fn take(&mut self, id: EdgeId, edge: &'a Edge, guard: Term, values: &Values) {
        if guard == Term::FALSE {
            return;
        }
        let mut after = values.clone();
        let mut updates = Vec::new();
        let (mut taken, mut call) = (guard, None);
        match &edge.action {
            Action::Skip | Action::AtomicBegin | Action::AtomicEnd | Action::Assume(_) => {}
            Action::EndThread => return,
            Action::Assert(condition) => {
                let condition = self.term(values, *condition);
                if self.blocks.task.property == Property::Assertions {
                    let failing = self.arena.and(guard, !condition);
                    if failing != Term::FALSE {
                        let violation = Violation::Assertion(id);
                        self.failures.push(Failure { guard: failing, node: edge.from, violation });
                    }
                }
                taken = self.arena.and(guard, condition);
            }
            Action::Assign(assign) => {
                updates = self.assign(values, assign);
                apply(&mut after, &updates);
                let constraint = self.constrain(values, &after, assign);
                taken = self.arena.and(guard, constraint);
            }
            Action::Call(callee) => {
                call = Some(self.calls.len() as u32);
                updates = self.call(id, callee, guard, values);
                apply(&mut after, &updates);
                let returns = self.calls[self.calls.len() - 1].returns;
                let returns = self.arena.var(returns);
                taken = self.arena.and(guard, returns);
            }
            Action::Spawn(_) | Action::Fork(_) => unreachable!("a sequential program starts no threads"),
        }
        // If no variable that `enforce` reads has changed, the condition is still satisfied.
        if updates.iter().any(|&(slot, _)| self.enforced[slot as usize]) {
            let condition = self.enforce(&after);
            taken = self.arena.and(taken, condition);
        }
        if taken == Term::FALSE && call.is_none() {
            return;
        }
        self.steps.push(Step { from: edge.from, edge: id, guard: taken, updates, call });
        self.arrive(edge.to, State { guard: taken, values: after });
    }

    fn assign(&mut self, values: &Values, assign: &Assign) -> Vec<(u32, Term)> {
        // There is no other thread, so passive targets have no effect.
        let own = assign.pairs.iter().filter(|(target, _)| !target.passive);
        own.map(|&(target, value)| {
            let slot = self.scope.slot(target.var).expect("a procedure has to do with what it assigns");
            (slot as u32, self.term(values, value))
        })
        .collect()
    }

    fn constrain(&mut self, before: &Values, after: &Values, assign: &Assign) -> Term {
        let exprs = &self.blocks.task.program.exprs;
        let scope = self.scope;
        let mut all = Term::TRUE;
        for &condition in &assign.constrain {
            // The condition is about every other thread, and there is none.
            if exprs.reads(condition).any(|place| place.passive) {
                continue;
            }
            let condition = term_of(self.arena, exprs.ops(condition), |place| {
                let state = if place.primed { after } else { before };
                state.get(slot_of(scope, place))
            });
            all = self.arena.and(all, condition);
        }
        all
    }

    fn call(&mut self, edge: EdgeId, call: &Call, guard: Term, values: &Values) -> Vec<(u32, Term)> {
        let callee = self.blocks.scopes.scope(call.callee);
        let own_slot = |global: u32| {
            let slot = self.scope.slot(Var::Global(global));
            slot.expect("a procedure has to do with what its callees have to do with")
        };
        // The arguments must be made before the outcomes, see `Blocks::instantiate_in_order`.
        let mut arguments: Vec<Term> =
            callee.globals().iter().map(|&global| values.get(own_slot(global))).collect();
        for &argument in &call.args {
            arguments.push(self.term(values, argument));
        }
        let results: Vec<VarId> = callee.exit_slots().iter().map(|_| self.arena.fresh_var()).collect();
        let mut updates = Vec::new();
        // Globals that the callee may write, and that do not matter afterwards, are arbitrary from here on.
        for (slot, &global) in callee.globals().iter().enumerate() {
            let is_needed = callee.exit_slots().binary_search(&(slot as u32)).is_ok();
            if self.blocks.scopes.may_write(call.callee, slot) && !is_needed {
                updates.push((own_slot(global) as u32, self.arena.fresh()));
            }
        }
        for (&slot, &result) in callee.exit_slots().iter().zip(&results) {
            let result = self.arena.var(result);
            match callee.var(slot as usize) {
                Var::Global(global) => updates.push((own_slot(global) as u32, result)),
                Var::Local(local) => {
                    let first = self.blocks.task.program.procedure(call.callee).first_return();
                    let target = call.targets.get((local - first) as usize).copied().flatten();
                    if let Some(target) = target {
                        let slot =
                            self.scope.slot(target).expect("a procedure has to do with what it assigns");
                        updates.retain(|&(other, _)| other != slot as u32);
                        updates.push((slot as u32, result));
                    }
                }
            }
        }
        let (returns, fails) = (self.arena.fresh_var(), self.arena.fresh_var());
        let values = values.clone();
        let callee = call.callee;
        self.calls.push(OpenCall { edge, callee, guard, arguments, values, returns, fails, results });
        updates
    }

    /// Adds states that reach a node.
    fn arrive(&mut self, node: Node, state: State) {
        let is_cut = self.blocks.cuts(self.id).is_cut(node);
        let states = if is_cut { &mut self.arrivals } else { &mut self.states };
        if let Some(known) = states.get_mut(&node) {
            let (scopes, id) = (self.blocks.scopes, self.id);
            let is_live = |slot: usize| slot < self.scope.width() && scopes.is_live(id, node, slot);
            known.values.merge(self.arena, state.guard, &state.values, is_live);
            known.guard = self.arena.or(known.guard, state.guard);
            return;
        }
        states.insert(node, state);
        if is_cut {
            self.arrived.push(node);
        } else {
            self.waiting.push(Reverse((self.blocks.cuts(self.id).place(node), node)));
        }
    }
}

fn roles(inputs: &[Option<VarId>], calls: &[OpenCall]) -> FxHashMap<VarId, Role> {
    let inputs = inputs.iter().enumerate().filter_map(|(slot, &var)| Some((var?, Role::Input(slot))));
    let outcomes = calls.iter().enumerate().flat_map(|(i, call)| {
        let results = call.results.iter().enumerate().map(move |(j, &var)| (var, Role::Result(i, j)));
        results.chain([(call.returns, Role::Returns(i)), (call.fails, Role::Fails(i))])
    });
    inputs.chain(outcomes).collect()
}

fn slot_of(scope: &Scope, place: Place) -> usize {
    scope.slot(place.var).expect("a procedure has to do with what it reads")
}

fn apply(values: &mut Values, updates: &[(u32, Term)]) {
    for &(slot, value) in updates {
        values.set(slot as usize, value);
    }
}
