//! Large steps as formulas: everything that a thread can do from a cut to the next ones, merged at every join.
//!
//! Implements: G. Basler, "Model Checking Boolean Programs", 2010, section 3.2 (path formulas merged at joins), for
//! the steps of one thread; the same idea as [`crate::symbolic::block`], with calls inlined.
//!
//! The variables of a block are its *inputs* (the globals and the thread's values that matter at the cut, whether the thread
//! holds the system, and whether there are as many threads as the bound allows) and choices. Engines copy blocks to their
//! own arenas, with terms in place of the variables ([`Blocks::instantiate`]).
//!
//! Invariant (determinism): an assignment to the variables describes at most one path. Where several steps leave a location
//! and their conditions do not exclude each other, fresh choices select one. So the guards of all ends and failures exclude
//! each other, and merging by if-then-else is exact.
//!
//! Invariant (range): no block shares variables with another, so all its terms are nodes of one range of the arena.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use cusp_encodings::{Node as TermNode, Term, TermArena, VarId};

use super::{Context, Location, Step, StepId, ThreadSystem};
use crate::evidence::trace::{Move, Violation};
use crate::model::{Action, Assign, Call, Expr, Op, Place, Var};
use crate::progress::Progress;
use crate::symbolic::expression::term_of;
use crate::symbolic::values::Values;

/// What happens to the number of threads on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Creation {
    /// Nothing is started.
    None,
    /// A thread is started here.
    New(Location),
    /// Nothing is started because the bound is reached.
    AtBound,
}

/// The variables for the state before a large step.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The globals; `None` for those that do not matter.
    pub shared: Vec<Option<VarId>>,
    /// The values of the thread that matter at the cut: positions, in order, with their variables.
    pub values: Vec<(u32, VarId)>,
    /// Whether the thread holds the system.
    pub holds: VarId,
    /// Whether there are as many threads as the bound allows.
    pub at_bound: VarId,
}

/// One end of a block: large steps that lead to the same cut.
#[derive(Clone, Debug)]
pub struct End {
    /// The condition under which the thread gets there.
    pub guard: Term,
    /// The cut; `None` if the thread has ended.
    pub to: Option<Location>,
    /// Whether a thread is started.
    pub creation: Creation,
    /// The assignment with `x$` that the large step consists of, if it does. Then the condition does not say what is
    /// required of other threads: see [`ThreadSystem::passive_terms`].
    pub passive: Option<StepId>,
    /// The globals afterwards. Those that do not matter are meaningless.
    pub shared: Vec<Term>,
    /// The values of the thread afterwards, at the positions that matter at the cut, in order.
    pub values: Vec<(u32, Term)>,
    /// For an assignment with `x$`: the values of all positions afterwards.
    own: Option<Values>,
    /// Whether the thread holds the system afterwards.
    pub holds: Term,
    /// The values of the thread that is started, at the positions that matter where it begins, in order.
    pub created: Vec<(u32, Term)>,
}

/// A violation on the way.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The condition under which it happens.
    pub guard: Term,
    /// What is violated.
    pub violation: Violation,
    /// Whether the thread violates the property that was just started, and not the one that moves.
    pub by_created: bool,
    /// Where the path is before the last step.
    at: Key,
    /// The last step, for a violation that is reached by it.
    last: Option<StepId>,
}

/// A place on a path: the location, and whether a thread was started on the way.
type Key = (Location, Creation);

/// All large steps from a cut.
#[derive(Debug)]
pub struct Block {
    /// The cut.
    pub start: Location,
    /// The state before.
    pub inputs: Inputs,
    /// The ends. Their guards exclude each other.
    pub ends: Vec<End>,
    /// The violations. Their guards exclude each other and those of the ends.
    pub failures: Vec<Failure>,
    /// The condition under which the property is violated on the way.
    pub fails: Term,
    /// All steps with the conditions under which they are taken, sorted by where they begin.
    steps: Vec<(Key, StepId, Term, Creation)>,
    range: Range<usize>,
}

/// All large steps of a thread system.
#[derive(Debug)]
pub struct Blocks<'s> {
    /// The thread system.
    pub system: &'s ThreadSystem<'s>,
    arena: TermArena,
    all: Vec<Block>,
    /// For every location, the position of its block.
    of_cut: Vec<Option<u32>>,
}

/// A copy of a block: the image of each of its terms.
#[derive(Clone, Debug)]
pub struct Instance {
    first: usize,
    images: Vec<Term>,
}

impl Instance {
    /// The copy of a term of the block.
    #[must_use]
    pub fn term(&self, term: Term) -> Term {
        match term.as_constant() {
            Some(_) => term,
            None => self.images[term.index() - self.first].complement_if(term.is_complemented()),
        }
    }
}

impl<'s> Blocks<'s> {
    /// The blocks of all cuts.
    #[must_use]
    pub fn new(system: &'s ThreadSystem<'s>) -> Self {
        let mut arena = TermArena::new();
        let mut of_cut = vec![None; system.len()];
        let mut blocks = Vec::new();
        for cut in system.cuts() {
            of_cut[cut.index()] = Some(blocks.len() as u32);
            blocks.push(Builder::build(system, &mut arena, cut));
        }
        Self { system, arena, all: blocks, of_cut }
    }

    /// The blocks, in the order of their cuts.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.all
    }

    /// The block of a cut.
    ///
    /// # Panics
    /// If the location is not a cut.
    #[must_use]
    pub fn block(&self, cut: Location) -> &Block {
        &self.all[self.position(cut)]
    }

    /// The position of the block of a cut among all blocks.
    ///
    /// # Panics
    /// If the location is not a cut.
    #[must_use]
    pub fn position(&self, cut: Location) -> usize {
        self.of_cut[cut.index()].expect("large steps begin at cuts") as usize
    }

    /// Says in `--stats` what the reductions have left.
    pub fn count(&self, progress: &dyn Progress) {
        self.system.count_reductions(progress);
        progress.count("large steps", self.all.iter().map(|block| block.ends.len() as u64).sum());
    }

    /// The number of nodes of all formulas.
    #[must_use]
    pub fn size(&self) -> usize {
        self.arena.len()
    }

    /// The number of variables of a block: its inputs and choices.
    #[must_use]
    pub fn variables(&self, block: &Block) -> usize {
        let nodes = block.range.clone().map(|position| self.arena.node(self.arena.term_at(position)));
        nodes.filter(|node| matches!(node, TermNode::Var(_))).count()
    }

    /// The variables that some terms of the blocks depend on.
    #[must_use]
    pub fn support(&self, terms: &[Term]) -> Vec<VarId> {
        self.arena.support(terms)
    }

    /// Whether a term of a block is just this variable.
    #[must_use]
    pub fn is_var(&self, term: Term, var: Option<VarId>) -> bool {
        !term.is_complemented() && self.arena.as_var(term).is_some_and(|is| Some(is) == var)
    }

    /// Copies a block to another arena. `image` is called once for each variable of the block.
    pub fn instantiate(
        &self,
        block: &Block,
        into: &mut TermArena,
        mut image: impl FnMut(&mut TermArena, VarId) -> Term,
    ) -> Instance {
        let mut instance =
            Instance { first: block.range.start, images: Vec::with_capacity(block.range.len()) };
        for position in block.range.clone() {
            let term = match self.arena.node(self.arena.term_at(position)) {
                TermNode::True => Term::TRUE,
                TermNode::Var(var) => image(into, var),
                TermNode::And(a, b) => into.and(instance.term(a), instance.term(b)),
                TermNode::Xor(a, b) => into.xor(instance.term(a), instance.term(b)),
            };
            instance.images.push(term);
        }
        instance
    }

    /// Like [`Blocks::path`], for an assignment to the variables of the block.
    pub fn path_of(
        &self,
        block: &Block,
        mut value_of: impl FnMut(VarId) -> bool,
    ) -> (Vec<StepId>, Option<(Violation, bool)>) {
        let guards = block.steps.iter().map(|&(_, _, guard, _)| guard);
        let roots: Vec<Term> = guards.chain(block.failures.iter().map(|failure| failure.guard)).collect();
        let words = self.arena.simulate(&roots, |var| if value_of(var) { u64::MAX } else { 0 });
        let mut values: Vec<(Term, u64)> = roots.into_iter().zip(words).collect();
        values.sort_unstable();
        self.path(block, |term| {
            values.binary_search_by_key(&term, |&(root, _)| root).is_ok_and(|at| values[at].1 & 1 == 1)
        })
    }

    /// The steps of the path that an assignment describes, and the violation at its end if there is one. `is_true` gives the
    /// values of terms of the block.
    pub fn path(
        &self,
        block: &Block,
        mut is_true: impl FnMut(Term) -> bool,
    ) -> (Vec<StepId>, Option<(Violation, bool)>) {
        let mut key = (block.start, Creation::None);
        let mut path = Vec::new();
        loop {
            let failure = block.failures.iter().find(|failure| failure.at == key && is_true(failure.guard));
            if let Some(failure) = failure {
                path.extend(failure.last);
                return (path, Some((failure.violation, failure.by_created)));
            }
            let first = block.steps.partition_point(|&(from, ..)| from < key);
            let mut steps = block.steps[first..].iter().take_while(|&&(from, ..)| from == key);
            let Some(&(_, id, _, creation)) = steps.find(|&&(_, _, guard, _)| is_true(guard)) else {
                return (path, None);
            };
            path.push(id);
            match self.system.step(id).to {
                Some(to) if !self.system.is_cut(to) => key = (to, creation),
                _ => return (path, None),
            }
        }
    }
}

impl ThreadSystem<'_> {
    /// What holds of the first thread when it begins: its `enforce`. `shared` gives the globals, and `value` the values of
    /// the thread.
    pub fn initial_term(
        &self,
        arena: &mut TermArena,
        shared: impl Fn(u32) -> Term,
        value: impl Fn(u32) -> Term,
    ) -> Term {
        let Some(condition) = self.procedure(self.start).enforce else { return Term::TRUE };
        let base = self.context(self.start).base;
        term_of(arena, self.program().exprs.ops(condition), |place| match place.var {
            Var::Global(i) => shared(i),
            Var::Local(i) => value(base + i),
        })
    }

    /// What an assignment with `x$` does to another thread at a cut: the condition under which it is possible, and the new
    /// values of the positions that it changes. `before` and `after` give the globals and all values of the thread that
    /// moves, `other` the values of the other thread; every call makes new choices.
    pub fn passive_terms(
        &self,
        arena: &mut TermArena,
        step: StepId,
        before: impl Fn(&mut TermArena, Var) -> Term,
        after: impl Fn(&mut TermArena, Var) -> Term,
        at: Location,
        other: impl Fn(u32) -> Term,
    ) -> (Term, Vec<(u32, Term)>) {
        let step = self.step(step);
        let procedure = self.context(step.from).procedure;
        let Some(Action::Assign(assign)) = self.edge(step).map(|edge| &edge.action) else {
            return (Term::TRUE, Vec::new());
        };
        let Some(&Context { base, .. }) = self.frame_of(at, procedure) else {
            return (Term::TRUE, Vec::new());
        };
        let exprs = &self.program().exprs;
        let mut changed: Vec<(u32, Term)> = Vec::new();
        for &(target, value) in assign.pairs.iter().filter(|(target, _)| target.passive) {
            let Var::Local(i) = target.var else { continue };
            if self.relevance.matters(procedure, target.var) {
                let value =
                    self.passive_term(arena, exprs.ops(value), &before, &before, |i, _| other(base + i));
                changed.push((base + i, value));
            }
        }
        let mut condition = Term::TRUE;
        for &demanded in &assign.constrain {
            if exprs.reads(demanded).any(|place| place.passive) {
                let new = |position: u32| {
                    let changed = changed.iter().find(|(changed, _)| *changed == position);
                    changed.map_or_else(|| other(position), |&(_, value)| value)
                };
                let value = |i: u32, primed: bool| if primed { new(base + i) } else { other(base + i) };
                let holds = self.passive_term(arena, exprs.ops(demanded), &before, &after, value);
                condition = arena.and(condition, holds);
            }
        }
        changed.retain(|&(position, _)| self.live(at).get(position as usize));
        (condition, changed)
    }

    #[expect(clippy::unused_self, reason = "a part of the translation of a system")]
    fn passive_term(
        &self,
        arena: &mut TermArena,
        code: &[Op],
        before: &impl Fn(&mut TermArena, Var) -> Term,
        after: &impl Fn(&mut TermArena, Var) -> Term,
        other: impl Fn(u32, bool) -> Term,
    ) -> Term {
        // Reading may make terms, so it happens before the expression is built.
        let reads = code.iter().filter_map(|op| match op {
            Op::Read(place) => Some(*place),
            _ => None,
        });
        let terms: Vec<Term> = reads
            .map(|place| match place.var {
                Var::Local(i) if place.passive => other(i, place.primed),
                var if place.primed => after(arena, var),
                var => before(arena, var),
            })
            .collect();
        let mut terms = terms.into_iter();
        term_of(arena, code, |_| terms.next().unwrap_or(Term::FALSE))
    }
}

/// The state on a path.
#[derive(Clone)]
struct State {
    guard: Term,
    /// Globals, then the values of the thread.
    values: Values,
    holds: Term,
    created: Vec<(u32, Term)>,
}

struct Builder<'b, 's> {
    system: &'b ThreadSystem<'s>,
    arena: &'b mut TermArena,
    globals: u32,
    at_bound: Term,
    waiting: BinaryHeap<Reverse<(u32, Key)>>,
    states: BTreeMap<Key, State>,
    ends: BTreeMap<(Option<Location>, Creation, Option<StepId>), State>,
    failures: Vec<Failure>,
    steps: Vec<(Key, StepId, Term, Creation)>,
}

impl<'b, 's> Builder<'b, 's> {
    fn build(system: &'b ThreadSystem<'s>, arena: &'b mut TermArena, start: Location) -> Block {
        let first = arena.len();
        let globals = system.program().globals.len();
        let mut inputs = Inputs {
            shared: vec![None; globals],
            values: Vec::new(),
            holds: arena.fresh_var(),
            at_bound: arena.fresh_var(),
        };
        for global in system.relevance.globals() {
            inputs.shared[global as usize] = Some(arena.fresh_var());
        }
        inputs.values =
            system.live(start).iter().map(|position| (position as u32, arena.fresh_var())).collect();
        // What does not matter is arbitrary.
        let mut terms = vec![None; globals + system.width as usize];
        for (global, var) in inputs.shared.iter().enumerate() {
            terms[global] = var.map(|var| arena.var(var));
        }
        for &(position, var) in &inputs.values {
            terms[globals + position as usize] = Some(arena.var(var));
        }
        let terms: Vec<Term> = terms.into_iter().map(|term| term.unwrap_or_else(|| arena.fresh())).collect();
        let (holds, at_bound) = (arena.var(inputs.holds), arena.var(inputs.at_bound));
        let mut builder = Self {
            system,
            arena,
            globals: globals as u32,
            at_bound,
            waiting: BinaryHeap::new(),
            states: BTreeMap::new(),
            ends: BTreeMap::new(),
            failures: Vec::new(),
            steps: Vec::new(),
        };
        let key = (start, Creation::None);
        let state = State { guard: Term::TRUE, values: Values::new(&terms), holds, created: Vec::new() };
        if system.is_forbidden(start) {
            let violation = Violation::Label;
            builder.failures.push(Failure {
                guard: Term::TRUE,
                violation,
                by_created: false,
                at: key,
                last: None,
            });
        } else {
            builder.states.insert(key, state);
            builder.waiting.push(Reverse((0, key)));
        }
        while let Some(Reverse((_, key))) = builder.waiting.pop() {
            builder.leave(key);
        }
        let Self { arena, ends, failures, mut steps, .. } = builder;
        steps.sort_by_key(|&(from, id, ..)| (from, id));
        let ends = ends.into_iter().map(|((to, creation, passive), state)| {
            let value = |position: usize| state.values.get(globals + position);
            let live =
                |at: Location| system.live(at).iter().map(|position| (position as u32, value(position)));
            End {
                guard: state.guard,
                to,
                creation,
                passive,
                shared: (0..globals).map(|global| state.values.get(global)).collect(),
                values: to.map_or_else(Vec::new, |to| live(to).collect()),
                own: passive.map(|_| state.values.clone()),
                holds: state.holds,
                created: state.created.clone(),
            }
        });
        let ends = ends.collect();
        let fails = arena.or_all(failures.iter().map(|failure| failure.guard));
        Block { start, inputs, ends, failures, fails, steps, range: first..arena.len() }
    }

    /// The position of a variable of a frame among the values.
    fn slot(&self, base: u32, var: Var) -> usize {
        (match var {
            Var::Global(i) => i,
            Var::Local(i) => self.globals + base + i,
        }) as usize
    }

    fn term(&mut self, values: &Values, base: u32, expr: Expr) -> Term {
        let (program, globals) = (self.system.program(), self.globals);
        term_of(self.arena, program.exprs.ops(expr), |place| match place.var {
            Var::Global(i) => values.get(i as usize),
            Var::Local(i) => values.get((globals + base + i) as usize),
        })
    }

    fn enforced(&mut self, values: &Values, at: Location) -> Term {
        match self.system.procedure(at).enforce {
            None => Term::TRUE,
            Some(condition) => self.term(values, self.system.context(at).base, condition),
        }
    }

    /// Takes all steps from a place, after all paths have come there.
    fn leave(&mut self, key: Key) {
        let Some(state) = self.states.remove(&key) else { return };
        if state.guard == Term::FALSE {
            return;
        }
        let steps: Vec<(StepId, &Step)> = self.system.steps_from(key.0).collect();
        let chosen = self.choose(key.0, &state, &steps);
        for (&(id, step), guard) in steps.iter().zip(chosen) {
            if guard != Term::FALSE {
                let state = State { guard, ..state.clone() };
                self.take(key, id, step, state);
            }
        }
    }

    /// For each step from a location, the condition under which it is taken. If the step is an assumption, its condition
    /// is included.
    fn choose(&mut self, at: Location, state: &State, steps: &[(StepId, &Step)]) -> Vec<Term> {
        let system = self.system;
        let base = system.context(at).base;
        let assumed = |step: &Step| match system.edge(step).map(|edge| &edge.action) {
            Some(Action::Assume(condition)) => Some(*condition),
            _ => None,
        };
        let exprs = &system.program().exprs;
        if let [(_, first), (_, second)] = steps
            && let (Some(a), Some(b)) = (assumed(first), assumed(second))
        {
            let is_negation = |of: &[Op], code: &[Op]| matches!(code, [rest @ .., Op::Not] if rest == of);
            let (first, second) = (exprs.ops(a), exprs.ops(b));
            if is_negation(first, second) || is_negation(second, first) {
                let condition = self.term(&state.values, base, a);
                return vec![self.arena.and(state.guard, condition), self.arena.and(state.guard, !condition)];
            }
        }
        let own: Vec<Term> = steps
            .iter()
            .map(|(_, step)| {
                assumed(step).map_or(Term::TRUE, |condition| self.term(&state.values, base, condition))
            })
            .collect();
        let mut left = state.guard;
        let mut chosen = Vec::with_capacity(steps.len());
        for (position, &condition) in own.iter().enumerate() {
            let rest = &own[position + 1..];
            let excludes_rest = rest.iter().all(|&other| self.arena.and(condition, other) == Term::FALSE);
            let selector = if excludes_rest { Term::TRUE } else { self.arena.fresh() };
            let taken = self.arena.and(selector, condition);
            chosen.push(self.arena.and(left, taken));
            if !excludes_rest {
                left = self.arena.and(left, !selector);
            }
        }
        chosen
    }

    fn fail(&mut self, at: Key, guard: Term, violation: Violation, by_created: bool, last: Option<StepId>) {
        if guard != Term::FALSE {
            self.failures.push(Failure { guard, violation, by_created, at, last });
        }
    }

    /// Takes one step, whose guard is in the state.
    fn take(&mut self, from: Key, id: StepId, step: &Step, mut state: State) {
        let system = self.system;
        let (at, mut creation) = from;
        let base = system.context(at).base;
        let before = state.values.clone();
        let action = system.edge(step).map(|edge| &edge.action);
        let mut passive = None;
        match action {
            None => self.hand_over(step, &mut state.values),
            Some(
                Action::Skip
                | Action::AtomicBegin
                | Action::AtomicEnd
                | Action::EndThread
                | Action::Assume(_),
            ) => {}
            Some(Action::Assert(condition)) => {
                let condition = self.term(&before, base, *condition);
                if system.asserts()
                    && let Move::Edge(edge) = step.action
                {
                    let failing = self.arena.and(state.guard, !condition);
                    self.fail(from, failing, Violation::Assertion(edge), false, None);
                }
                state.guard = self.arena.and(state.guard, condition);
            }
            Some(Action::Assign(assign)) => {
                let condition = self.assign(at, assign, &before, &mut state.values);
                state.guard = self.arena.and(state.guard, condition);
                passive = super::large_steps::is_passive(system, step).then_some(id);
            }
            Some(Action::Call(call)) => {
                if let Some(entry) = step.to {
                    let entered = self.entered(&before, base, call, entry);
                    for (position, term) in entered {
                        state.values.set((self.globals + position) as usize, term);
                    }
                }
            }
            Some(Action::Spawn(_) | Action::Fork(_)) => {
                if let Some(created) = step.creates {
                    let bounded = self.arena.and(state.guard, self.at_bound);
                    let without = State { guard: bounded, ..state.clone() };
                    self.arrive(from, id, step, Creation::AtBound, None, &before, without);
                    state.guard = self.arena.and(state.guard, !self.at_bound);
                    let condition = self.start(step, created, base, &before, &mut state);
                    state.guard = self.arena.and(state.guard, condition);
                    creation = Creation::New(created);
                }
            }
        }
        self.arrive(from, id, step, creation, passive, &before, state);
    }

    /// Comes to the location after a step.
    #[expect(clippy::too_many_arguments, reason = "all that is known about a step")]
    fn arrive(
        &mut self,
        from: Key,
        id: StepId,
        step: &Step,
        creation: Creation,
        passive: Option<StepId>,
        before: &Values,
        mut state: State,
    ) {
        let system = self.system;
        if system.is_statement(step) {
            let condition = self.enforced(&state.values, step.to.unwrap_or(step.from));
            state.guard = self.arena.and(state.guard, condition);
        }
        if state.guard == Term::FALSE {
            return;
        }
        self.update_holding(step, before, &mut state);
        if let (Creation::New(created), true) = (creation, step.creates.is_some())
            && system.is_forbidden(created)
        {
            return self.fail(from, state.guard, Violation::Label, true, Some(id));
        }
        if step.to.is_some_and(|to| system.is_forbidden(to)) {
            return self.fail(from, state.guard, Violation::Label, false, Some(id));
        }
        self.steps.push((from, id, state.guard, creation));
        match step.to {
            Some(to) if !system.is_cut(to) => {
                let key = (to, creation);
                match self.states.remove(&key) {
                    None => self.waiting.push(Reverse((system.order(to), key))),
                    Some(old) => state = self.merged(old, &state, Some(to)),
                }
                self.states.insert(key, state);
            }
            to => {
                let key = (to, creation, passive);
                if let Some(old) = self.ends.remove(&key) {
                    state = self.merged(old, &state, to);
                }
                self.ends.insert(key, state);
            }
        }
    }

    fn merged(&mut self, mut old: State, new: &State, at: Option<Location>) -> State {
        let (system, globals) = (self.system, self.globals as usize);
        let is_live = |slot: usize| match slot.checked_sub(globals) {
            None => true,
            Some(position) => at.is_some_and(|at| system.live(at).get(position)),
        };
        old.values.merge(self.arena, new.guard, &new.values, is_live);
        old.holds = self.arena.ite(new.guard, new.holds, old.holds);
        for (old, new_term) in old.created.iter_mut().zip(&new.created) {
            old.1 = self.arena.ite(new.guard, new_term.1, old.1);
        }
        old.guard = self.arena.or(old.guard, new.guard);
        old
    }

    fn update_holding(&mut self, step: &Step, before: &Values, state: &mut State) {
        let system = self.system;
        let Some(to) = step.to else {
            state.holds = Term::FALSE;
            return;
        };
        if system.in_prologue(step.from) {
            state.holds = Term::constant(system.in_prologue(to));
            return;
        }
        let flag = system.program().atomic_flag.map(|flag| flag as usize);
        let (old, new) =
            flag.map_or((Term::FALSE, Term::FALSE), |flag| (before.get(flag), state.values.get(flag)));
        let in_section = match system.edge(step).map(|edge| &edge.action) {
            Some(Action::AtomicBegin) => Term::TRUE,
            Some(Action::AtomicEnd) => Term::FALSE,
            _ => self.arena.and(state.holds, !old),
        };
        state.holds = self.arena.or(in_section, new);
    }

    /// Hands the return values to the caller.
    fn hand_over(&mut self, step: &Step, values: &mut Values) {
        let system = self.system;
        let Some((caller, edge)) = system.returns_to(step) else { return };
        let Action::Call(call) = &edge.action else { return };
        let caller = &system.contexts[caller.index()];
        let first = system.position(step.from, system.procedure(step.from).first_return());
        let returned: Vec<Term> = (first..)
            .zip(&call.targets)
            .map(|(slot, _)| values.get((self.globals + slot) as usize))
            .collect();
        for (target, value) in call.targets.iter().zip(returned) {
            if let Some(var) = *target
                && system.relevance.matters(caller.procedure, var)
            {
                values.set(self.slot(caller.base, var), value);
            }
        }
    }

    /// Assigns, without what concerns other threads; returns the condition under which that is possible.
    fn assign(&mut self, at: Location, assign: &Assign, before: &Values, after: &mut Values) -> Term {
        let system = self.system;
        let &Context { procedure, base, .. } = system.context(at);
        for &(target, value) in &assign.pairs {
            if !target.passive && system.relevance.matters(procedure, target.var) {
                let value = self.term(before, base, value);
                after.set(self.slot(base, target.var), value);
            }
        }
        let exprs = &system.program().exprs;
        let mut condition = Term::TRUE;
        for &demanded in &assign.constrain {
            if exprs.reads(demanded).any(|place| place.passive) {
                continue;
            }
            let globals = self.globals;
            let holds = term_of(self.arena, exprs.ops(demanded), |place: Place| {
                let values = if place.primed { &*after } else { before };
                match place.var {
                    Var::Global(i) => values.get(i as usize),
                    Var::Local(i) => values.get((globals + base + i) as usize),
                }
            });
            condition = self.arena.and(condition, holds);
        }
        condition
    }

    /// The values of a frame at the entry of a procedure that is called: arguments, and anything else.
    fn entered(&mut self, before: &Values, base: u32, call: &Call, entry: Location) -> Vec<(u32, Term)> {
        let system = self.system;
        let first = system.context(entry).base;
        let callee = system.program().procedure(call.callee);
        (0..callee.locals.len() as u32)
            .map(|local| {
                let matters = system.relevance.matters(call.callee, Var::Local(local));
                let value = match call.args.get(local as usize) {
                    Some(&arg) if matters => self.term(before, base, arg),
                    _ => self.arena.fresh(),
                };
                (first + local, value)
            })
            .collect()
    }

    /// Starts a thread; returns the condition under which that is possible.
    fn start(
        &mut self,
        step: &Step,
        created: Location,
        base: u32,
        before: &Values,
        state: &mut State,
    ) -> Term {
        let system = self.system;
        let (mut condition, mut values) = (Term::TRUE, before.clone());
        match system.edge(step).map(|edge| &edge.action) {
            Some(Action::Spawn(call)) => {
                for (position, term) in self.entered(before, base, call, created) {
                    values.set((self.globals + position) as usize, term);
                }
                condition = self.enforced(&values, created);
            }
            _ => {
                for local in 0..system.procedure(step.from).locals.len() as u32 {
                    let value = before.get((self.globals + base + local) as usize);
                    values.set((self.globals + local) as usize, value);
                }
            }
        }
        let live = system.live(created).iter();
        state.created =
            live.map(|position| (position as u32, values.get(self.globals as usize + position))).collect();
        condition
    }
}

impl End {
    /// The value of a variable of the thread that moves, after an assignment with `x$`; `base` is the position of its frame,
    /// and `globals` the number of globals.
    #[must_use]
    pub fn own(&self, globals: usize, base: u32, var: Var) -> Term {
        match (var, &self.own) {
            (Var::Global(i), _) => self.shared[i as usize],
            (Var::Local(i), Some(values)) => values.get(globals + (base + i) as usize),
            (Var::Local(_), None) => Term::FALSE,
        }
    }
}
