//! The formula for runs of large steps, one step after the other.
//!
//! A state has a term for each global and, for each slot, one term for each cut (at most one of them holds; none if no
//! thread is in the slot) and the values of the thread. At each step one slot moves. Its state is selected first, so
//! each block of code is in the formula once per step and not once per slot.
//!
//! *Who holds the system.* If a thread holds the system, it is the one that moved last. So one term per state is enough:
//! whether the thread that moved last holds the system.
//!
//! *Which runs are left out.* All constraints exclude only runs for which there is one that makes as many or fewer
//! steps to a violation, and whose sequence of slots comes earlier in lexicographic order. So the first of all
//! shortest runs is never excluded.
//! 1. A new thread takes the first free slot.
//! 2. If two threads are in the same state, the one in the later slot does not move, unless it moved last: the other one
//!    could do the same from here on. The states are compared where few values matter.
//! 3. If a step is independent of the one before it (`independence`), its slot is not an earlier one: they could be
//!    exchanged. If the second one violates the property, the first one is not needed.
//!    Slots are the same after the exchange, since steps that start threads are dependent on all others.
//!
//! An exchange may lead to more context switches. So the third constraint is an assumption, and where switches are counted
//! (`switches`), a weaker one takes its place, which only excludes runs for which there is one with as many or fewer
//! switches.

use std::collections::BTreeMap;

use cusp_encodings::{CnfEncoder, CnfStyle, Lit, Polarity, Term, TermArena, VarId};
use cusp_solvers::{Answer, Limits, SatSolver};
use rustc_hash::FxHashMap;

use super::independence::Independence;
use super::run::{self, Counter, LargeStep};
use crate::budget::Budget;
use crate::evidence::Reason;
use crate::model::Var;
use crate::threads::formula::{Block, Blocks, Creation, End, Instance};
use crate::threads::schedule::Schedule;
use crate::threads::{Holding, StepId, ThreadSystem};

/// The values of two threads at a cut are compared if at most so many matter there.
const FEW_VALUES: usize = 8;

/// How many threads there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The number of slots.
    pub slots: usize,
    /// Whether no more threads are allowed, so that starting one does nothing.
    pub is_bound: bool,
    /// The most context switches.
    pub switches: Option<usize>,
}

/// What a question found.
pub(super) enum Found {
    /// No violation at this depth.
    Nothing,
    /// There are no runs of this length.
    NoLongerRuns,
    /// A violation.
    Run(Schedule),
    /// The solver did not answer.
    Stopped(Reason),
}

/// A place for a thread.
#[derive(Clone, Debug)]
struct Slot {
    /// Whether the thread is at a cut, for all cuts where it may be, by the positions of their blocks.
    at: BTreeMap<usize, Term>,
    /// The values of the thread.
    values: Vec<Term>,
    /// Whether there is a thread.
    lives: Term,
}

struct State {
    shared: Vec<Term>,
    slots: Vec<Slot>,
    /// Whether the thread that moved last holds the system.
    held: Term,
}

pub(super) struct Unrolling<'a> {
    pub(super) blocks: &'a Blocks<'a>,
    system: &'a ThreadSystem<'a>,
    independence: &'a Independence,
    extent: Extent,
    pub(super) arena: TermArena,
    pub(super) encoder: CnfEncoder,
    pub(super) solver: Box<dyn SatSolver>,
    /// The state after the last step.
    state: State,
    pub(super) steps: Vec<LargeStep>,
    /// Whether independent steps are in the order of their slots.
    is_ordered: Term,
    pub(super) counter: Counter,
    /// Whether runs were left out that need more slots.
    lacks_slots: bool,
    is_closed: bool,
}

/// A thread that comes to a slot: the one that moved, or a new one.
struct Arrival {
    /// Whether it is at a cut, by the positions of the blocks.
    at: BTreeMap<usize, Term>,
    /// The values that it gets: whether it does, and which.
    values: BTreeMap<u32, [Term; 2]>,
    /// Whether there is a thread, if the step comes to its end.
    lives: Term,
}

/// An end of a block that may be reached in a step.
struct Reached<'e> {
    end: &'e End,
    /// Whether it is.
    taken: Term,
    /// The position of the copy of its block.
    copy: usize,
}

impl<'a> Unrolling<'a> {
    pub fn new(
        blocks: &'a Blocks<'a>,
        independence: &'a Independence,
        extent: Extent,
        budget: &Budget,
    ) -> Self {
        let system = blocks.system;
        let mut arena = TermArena::new();
        let mut shared = vec![Term::FALSE; system.program().globals.len()];
        for global in system.relevance.globals() {
            shared[global as usize] = arena.fresh();
        }
        let mut values = vec![Term::FALSE; system.width as usize];
        for position in system.live(system.start).iter() {
            values[position] = arena.fresh();
        }
        let initial =
            system.initial_term(&mut arena, |global| shared[global as usize], |at| values[at as usize]);
        // Where switches are limited, only the weaker constraint applies, from the first step on.
        let is_ordered = if extent.switches.is_some() { Term::FALSE } else { arena.fresh() };
        let at = BTreeMap::from([(blocks.position(system.start), Term::TRUE)]);
        let slots = vec![Slot { at, values, lives: Term::TRUE }];
        let mut unrolling = Self {
            blocks,
            system,
            independence,
            extent,
            arena,
            encoder: CnfEncoder::new(CnfStyle::PlaistedGreenbaum),
            solver: budget.sat_solver(),
            state: State { shared, slots, held: Term::FALSE },
            steps: Vec::new(),
            is_ordered,
            counter: Counter::default(),
            lacks_slots: false,
            is_closed: false,
        };
        unrolling.require(initial);
        unrolling.step();
        unrolling
    }

    /// The number of large steps before the one in question.
    pub fn depth(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }

    /// The most threads that live at once in the runs so far.
    pub fn slots(&self) -> usize {
        self.state.slots.len()
    }

    /// The number of terms.
    pub fn size(&self) -> usize {
        self.arena.len()
    }

    /// What this search has cost, in arbitrary units.
    pub fn cost(&self) -> u64 {
        self.arena.len() as u64 + self.solver.statistics().conflicts * 10
    }

    pub fn lacks_slots(&self) -> bool {
        self.lacks_slots
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Ends the search.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Asks for a violation in the last step.
    pub fn violation(&mut self, budget: &Budget) -> Found {
        let Some(step) = self.steps.last() else { return Found::NoLongerRuns };
        if step.fails == Term::FALSE {
            return if step.ends == Term::FALSE { Found::NoLongerRuns } else { self.goes_on(budget) };
        }
        let goal = self.encoder.encode(&self.arena, step.fails, Polarity::Positive, &mut *self.solver);
        match self.solve(goal) {
            Answer::Sat => Found::Run(self.schedule()),
            Answer::Unsat if !self.solver.core().contains(&goal) => Found::NoLongerRuns,
            Answer::Unsat => self.goes_on(budget),
            Answer::Unknown(why) => Found::Stopped(stopped(&why, budget)),
        }
    }

    /// Asks for a run in which independent steps are in order.
    fn solve(&mut self, goal: Lit) -> Answer {
        let mut assumptions = vec![goal];
        if self.is_ordered != Term::FALSE {
            let ordered =
                self.encoder.encode(&self.arena, self.is_ordered, Polarity::Positive, &mut *self.solver);
            assumptions.push(ordered);
        }
        self.solver.solve(&assumptions, &Limits::NONE)
    }

    /// The schedule of the run that the solver has found.
    pub(super) fn schedule(&self) -> Schedule {
        run::schedule(self.blocks, &self.arena, &self.steps, |var| {
            self.encoder.var_literal(&self.arena, var).is_some_and(|lit| self.solver.value(lit))
        })
    }

    /// Asks from time to time whether there are runs that complete the last step.
    fn goes_on(&mut self, budget: &Budget) -> Found {
        if !self.steps.len().is_power_of_two() {
            return Found::Nothing;
        }
        let Some(step) = self.steps.last() else { return Found::NoLongerRuns };
        let goal: Lit = self.encoder.encode(&self.arena, step.ends, Polarity::Positive, &mut *self.solver);
        match self.solve(goal) {
            Answer::Sat => Found::Nothing,
            Answer::Unsat => Found::NoLongerRuns,
            Answer::Unknown(why) => Found::Stopped(stopped(&why, budget)),
        }
    }

    /// Adds a step; the ones before do not violate the property.
    pub fn extend(&mut self) {
        if let Some(step) = self.steps.last() {
            let ends = step.ends;
            self.require(ends);
        }
        self.step();
    }

    /// Makes a term true in all runs.
    pub(super) fn require(&mut self, term: Term) {
        if term != Term::TRUE {
            self.encoder.assert_term(&self.arena, term, &mut *self.solver);
        }
    }

    /// Excludes runs in which all these terms hold.
    pub(super) fn exclude(&mut self, terms: &[Term]) {
        if terms.contains(&Term::FALSE) {
            return;
        }
        // A clause over literals of the terms, without a definition for their conjunction.
        let mut clause = Vec::with_capacity(terms.len());
        for &term in terms.iter().filter(|&&term| term != Term::TRUE) {
            clause.push(self.encoder.encode(&self.arena, !term, Polarity::Positive, &mut *self.solver));
        }
        self.solver.add_clause(&clause);
    }

    /// One more large step.
    fn step(&mut self) {
        let moves = self.choose_mover();
        self.order_equal_threads(&moves);
        let blocks = self.blocks;
        let (copies, values) = self.copy_blocks(&moves);
        let mut reached: Vec<Reached<'a>> = Vec::new();
        let mut failures = Vec::new();
        for (copy, (position, at, instance)) in copies.iter().enumerate() {
            let block: &'a Block = &blocks.blocks()[*position];
            failures.push(self.arena.and(*at, instance.term(block.fails)));
            for end in &block.ends {
                let taken = self.arena.and(*at, instance.term(end.guard));
                if taken != Term::FALSE {
                    reached.push(Reached { end, taken, copy });
                }
            }
        }
        let fails = self.arena.or_all(failures);
        let ends = self.arena.or_all(reached.iter().map(|reached| reached.taken));
        let either = self.arena.or(fails, ends);
        self.require(either);
        let (accesses, is_special) = self.accesses(&copies);
        let mut step = LargeStep {
            moves,
            copies,
            takes: Vec::new(),
            fails,
            ends,
            accesses,
            is_special,
            depends: Term::TRUE,
            held_before: self.state.held,
        };
        self.apply(&mut step, &reached, &values);
        let depends = self.depends(&step);
        step.depends = depends;
        self.order_independent_steps(&step);
        self.steps.push(step);
        if let Some(most) = self.extent.switches {
            self.order_without_switches();
            self.limit_switches(most);
        }
    }

    /// One variable for each slot that may move.
    fn choose_mover(&mut self) -> Vec<Term> {
        let must_move = self.state.slots.iter().position(|slot| {
            let blocks = self.blocks.blocks();
            let holds = |&block: &usize| self.system.holding(blocks[block].start) == Holding::Always;
            slot.lives == Term::TRUE && slot.at.keys().all(holds)
        });
        let is_only = self.state.slots.iter().filter(|slot| slot.lives != Term::FALSE).count() == 1;
        let mut moves = Vec::with_capacity(self.state.slots.len());
        for (position, slot) in self.state.slots.iter().enumerate() {
            moves.push(match must_move {
                Some(only) => Term::constant(only == position),
                None if slot.lives == Term::FALSE => Term::FALSE,
                None if is_only => Term::TRUE,
                None => self.arena.fresh(),
            });
        }
        let nobody: Vec<Term> = moves.iter().map(|&moves| !moves).collect();
        self.exclude(&nobody);
        for (position, &one) in moves.iter().enumerate() {
            let lives = self.state.slots[position].lives;
            self.exclude(&[one, !lives]);
            for &other in &moves[..position] {
                self.exclude(&[one, other]);
            }
        }
        // Who holds the system goes on.
        if let Some(last) = self.steps.last().map(|step| step.moves.clone()) {
            let held = self.state.held;
            for (&before, &now) in last.iter().zip(&moves) {
                self.exclude(&[held, before, !now]);
            }
        }
        moves
    }

    /// Of threads in the same state, the one in the first slot moves.
    fn order_equal_threads(&mut self, moves: &[Term]) {
        let held = self.state.held;
        for (late, &moves) in moves.iter().enumerate() {
            for early in 0..late {
                let cuts: Vec<usize> = self.state.slots[early].at.keys().copied().collect();
                for cut in cuts {
                    let live = self.system.live(self.blocks.blocks()[cut].start);
                    let Some(&there) = self.state.slots[late].at.get(&cut) else { continue };
                    if live.count() > FEW_VALUES {
                        continue;
                    }
                    let here = self.state.slots[early].at[&cut];
                    let moved_last = self.steps.last().and_then(|step| step.moves.get(late));
                    let moved_last = moved_last.copied().unwrap_or(Term::FALSE);
                    let mut equal = vec![moves, here, there, !held, !moved_last];
                    for position in live.iter() {
                        let [a, b] = [early, late].map(|slot| self.state.slots[slot].values[position]);
                        equal.push(self.arena.iff(a, b));
                    }
                    self.exclude(&equal);
                }
            }
        }
    }

    /// Copies the blocks that the slot that moves may execute; returns them, and the values of that slot.
    fn copy_blocks(&mut self, moves: &[Term]) -> (Vec<(usize, Term, Instance)>, Vec<Term>) {
        let (system, blocks, arena) = (self.system, self.blocks, &mut self.arena);
        let mut at: BTreeMap<usize, Vec<Term>> = BTreeMap::new();
        for (slot, &moves) in self.state.slots.iter().zip(moves) {
            for (&cut, &is_there) in &slot.at {
                let moves_there = arena.and(moves, is_there);
                if moves_there != Term::FALSE {
                    at.entry(cut).or_default().push(moves_there);
                }
            }
        }
        let slots: Vec<(&Slot, Term)> =
            self.state.slots.iter().zip(moves.iter().copied()).filter(|it| it.1 != Term::FALSE).collect();
        let mut values = vec![Term::FALSE; system.width as usize];
        for (position, value) in values.iter_mut().enumerate() {
            let first = slots.first().map_or(Term::FALSE, |(slot, _)| slot.values[position]);
            *value = if slots.iter().all(|(slot, _)| slot.values[position] == first) {
                first
            } else {
                let selected: Vec<Term> =
                    slots.iter().map(|(slot, moves)| arena.and(*moves, slot.values[position])).collect();
                arena.or_all(selected)
            };
        }
        let at_bound = if self.extent.is_bound && self.state.slots.len() == self.extent.slots {
            arena.and_all(self.state.slots.iter().map(|slot| slot.lives))
        } else {
            Term::FALSE
        };
        // Only one block is executed, so blocks share their choices.
        let mut choices: Vec<Term> = Vec::new();
        let mut copies = Vec::with_capacity(at.len());
        for (position, at) in at {
            let block = &blocks.blocks()[position];
            let inputs = &block.inputs;
            let mut images: FxHashMap<VarId, Term> = FxHashMap::default();
            images.insert(inputs.holds, self.state.held);
            images.insert(inputs.at_bound, at_bound);
            for (var, &term) in inputs.shared.iter().zip(&self.state.shared) {
                images.extend(var.map(|var| (var, term)));
            }
            images.extend(inputs.values.iter().map(|&(position, var)| (var, values[position as usize])));
            let mut used = 0;
            let instance = blocks.instantiate(block, arena, |arena, var| {
                images.get(&var).copied().unwrap_or_else(|| {
                    if used == choices.len() {
                        choices.push(arena.fresh());
                    }
                    used += 1;
                    choices[used - 1]
                })
            });
            let at = arena.or_all(at);
            copies.push((position, at, instance));
        }
        (copies, values)
    }

    /// For every global whether the step touches and writes it, and whether the step depends on all others.
    fn accesses(&mut self, copies: &[(usize, Term, Instance)]) -> (Vec<[Term; 2]>, Term) {
        let mut accesses = vec![[Vec::new(), Vec::new()]; self.state.shared.len()];
        let mut special = Vec::new();
        for &(position, at, _) in copies {
            let of_block = &self.independence.accesses[position];
            for global in of_block.touched.iter() {
                accesses[global][0].push(at);
            }
            for global in of_block.written.iter() {
                accesses[global][1].push(at);
            }
            if of_block.is_special {
                special.push(at);
            }
        }
        let arena = &mut self.arena;
        let accesses = accesses.into_iter().map(|pair| pair.map(|terms| arena.or_all(terms))).collect();
        (accesses, arena.or_all(special))
    }

    /// Whether a step and the one before it cannot be exchanged.
    fn depends(&mut self, step: &LargeStep) -> Term {
        let held_after = self.state.held;
        let Some(last) = self.steps.last() else { return Term::TRUE };
        let mut conflicts = vec![last.is_special, step.is_special, last.held_before, held_after];
        for (&[touched, written], &[touched_now, written_now]) in last.accesses.iter().zip(&step.accesses) {
            conflicts.push(self.arena.and(written, touched_now));
            conflicts.push(self.arena.and(touched, written_now));
        }
        self.arena.or_all(conflicts)
    }

    /// Of two independent steps, the one of the earlier slot comes first.
    fn order_independent_steps(&mut self, step: &LargeStep) {
        let Some(last) = self.steps.last().filter(|_| self.is_ordered != Term::FALSE) else { return };
        let mut inversions = Vec::new();
        for (early, &now) in step.moves.iter().enumerate() {
            for &before in last.moves.iter().skip(early + 1) {
                inversions.push([before, now]);
            }
        }
        let is_ordered = self.is_ordered;
        for [before, now] in inversions {
            self.exclude(&[before, now, !step.depends, is_ordered]);
        }
    }

    /// The state after a step.
    fn apply(&mut self, step: &mut LargeStep, reached: &[Reached<'a>], own: &[Term]) {
        let mut held = Vec::new();
        let mut arrivals: BTreeMap<usize, Vec<Term>> = BTreeMap::new();
        let mut changes: BTreeMap<u32, Vec<(Term, Term)>> = BTreeMap::new();
        let mut beginnings: BTreeMap<usize, Vec<Term>> = BTreeMap::new();
        let mut given: BTreeMap<u32, Vec<Term>> = BTreeMap::new();
        for &Reached { end, taken, copy } in reached {
            let instance = &step.copies[copy].2;
            held.push(self.arena.and(taken, instance.term(end.holds)));
            if let Some(to) = end.to {
                arrivals.entry(self.blocks.position(to)).or_default().push(taken);
            }
            for &(position, value) in &end.values {
                let value = instance.term(value);
                if value != own[position as usize] {
                    changes.entry(position).or_default().push((taken, value));
                }
            }
            if let Creation::New(location) = end.creation {
                beginnings.entry(self.blocks.position(location)).or_default().push(taken);
                for &(position, value) in &end.created {
                    let value = self.arena.and(taken, instance.term(value));
                    given.entry(position).or_default().push(value);
                }
            }
        }
        let held = self.arena.or_all(held);
        let shared = self.next_shared(step, reached);
        let at = self.merged(arrivals);
        let lives = if reached.iter().all(|reached| reached.end.to.is_some()) {
            Term::TRUE
        } else {
            self.arena.or_all(at.values().copied().collect::<Vec<_>>())
        };
        let values = changes.into_iter().map(|(position, changes)| (position, self.selected(&changes)));
        let moved = Arrival { values: values.collect(), at, lives };
        let at = self.merged(beginnings);
        let lives = self.arena.or_all(at.values().copied().collect::<Vec<_>>());
        let values = given.into_iter().map(|(position, terms)| (position, [lives, self.arena.or_all(terms)]));
        let created = Arrival { values: values.collect(), at, lives };
        step.takes = self.find_slot(created.lives);
        step.moves.resize(self.state.slots.len(), Term::FALSE);
        let passive = self.passive_changes(step, reached, own);
        let mut slots = Vec::with_capacity(self.state.slots.len());
        for (position, passive) in passive.into_iter().enumerate() {
            let moves = step.moves[position];
            let slot = self.next_slot(position, moves, step.takes[position], &moved, &created, &passive);
            slots.push(slot);
        }
        self.state = State { shared, slots, held };
    }

    fn merged(&mut self, terms: BTreeMap<usize, Vec<Term>>) -> BTreeMap<usize, Term> {
        terms.into_iter().map(|(cut, terms)| (cut, self.arena.or_all(terms))).collect()
    }

    /// Whether one of some conditions holds, which exclude each other, and the value that belongs to it.
    fn selected(&mut self, changes: &[(Term, Term)]) -> [Term; 2] {
        let arena = &mut self.arena;
        let values: Vec<Term> = changes.iter().map(|&(when, value)| arena.and(when, value)).collect();
        [arena.or_all(changes.iter().map(|&(when, _)| when)), arena.or_all(values)]
    }

    /// A term that takes the given values under conditions that exclude each other.
    fn changed(&mut self, old: Term, changes: &[(Term, Term)]) -> Term {
        let [is_changed, value] = self.selected(changes);
        self.arena.ite(is_changed, value, old)
    }

    fn next_shared(&mut self, step: &LargeStep, reached: &[Reached<'a>]) -> Vec<Term> {
        let mut shared = self.state.shared.clone();
        for global in self.system.relevance.globals() {
            let old = self.state.shared[global as usize];
            let changes: Vec<(Term, Term)> = reached
                .iter()
                .map(|&Reached { end, taken, copy }| {
                    (taken, step.copies[copy].2.term(end.shared[global as usize]))
                })
                .filter(|&(_, value)| value != old)
                .collect();
            shared[global as usize] = self.changed(old, &changes);
        }
        shared
    }

    /// For every slot, whether the new thread takes it: the first free one. There may be one slot more than before.
    fn find_slot(&mut self, creates: Term) -> Vec<Term> {
        if creates != Term::FALSE && self.state.slots.len() < self.extent.slots {
            let values = vec![Term::FALSE; self.system.width as usize];
            self.state.slots.push(Slot { at: BTreeMap::new(), values, lives: Term::FALSE });
        }
        let mut takes = Vec::with_capacity(self.state.slots.len());
        // Whether a thread is created and all slots so far are in use.
        let mut searches = creates;
        for slot in &self.state.slots {
            takes.push(self.arena.and(searches, !slot.lives));
            searches = self.arena.and(searches, slot.lives);
        }
        if !self.extent.is_bound && searches != Term::FALSE {
            self.lacks_slots = true;
            self.require(!searches);
        }
        takes
    }

    /// For every slot, the changes of its values by assignments with `x$` of the slot that moves.
    fn passive_changes(
        &mut self,
        step: &LargeStep,
        reached: &[Reached<'a>],
        own: &[Term],
    ) -> Vec<BTreeMap<u32, Vec<(Term, Term)>>> {
        let mut changes = vec![BTreeMap::new(); self.state.slots.len()];
        for &Reached { end, taken, copy } in reached {
            let Some(passive) = end.passive else { continue };
            for (slot, changes) in changes.iter_mut().enumerate() {
                let moves = step.moves.get(slot).copied().unwrap_or(Term::FALSE);
                let cuts: Vec<(usize, Term)> =
                    self.state.slots[slot].at.iter().map(|(&cut, &term)| (cut, term)).collect();
                for (cut, is_there) in cuts {
                    let here = self.arena.and_all([taken, is_there, !moves]);
                    if here == Term::FALSE {
                        continue;
                    }
                    let instance = &step.copies[copy].2;
                    let (condition, changed) = self.passive_change(passive, end, instance, cut, own, slot);
                    self.exclude(&[here, !condition]);
                    for (position, value) in changed {
                        changes.entry(position).or_insert_with(Vec::new).push((here, value));
                    }
                }
            }
        }
        changes
    }

    fn passive_change(
        &mut self,
        passive: StepId,
        end: &End,
        instance: &Instance,
        cut: usize,
        own: &[Term],
        slot: usize,
    ) -> (Term, Vec<(u32, Term)>) {
        let system = self.system;
        let base = system.context(system.step(passive).from).base;
        let globals = self.state.shared.len();
        let before_shared = &self.state.shared;
        let before = |_: &mut TermArena, var: Var| match var {
            Var::Global(i) => before_shared[i as usize],
            Var::Local(i) => own[(base + i) as usize],
        };
        let after = |_: &mut TermArena, var: Var| instance.term(end.own(globals, base, var));
        let other = &self.state.slots[slot].values;
        let at = self.blocks.blocks()[cut].start;
        let value = |position: u32| other[position as usize];
        system.passive_terms(&mut self.arena, passive, before, after, at, value)
    }

    fn next_slot(
        &mut self,
        position: usize,
        moves: Term,
        takes: Term,
        moved: &Arrival,
        created: &Arrival,
        passive: &BTreeMap<u32, Vec<(Term, Term)>>,
    ) -> Slot {
        let old = self.state.slots[position].clone();
        let old_lives = old.lives;
        let arena = &mut self.arena;
        let mut terms: BTreeMap<usize, Vec<Term>> = BTreeMap::new();
        for (from, when) in [(&old.at, !moves), (&moved.at, moves), (&created.at, takes)] {
            for (&cut, &term) in from {
                let term = arena.and(when, term);
                if term != Term::FALSE {
                    terms.entry(cut).or_default().push(term);
                }
            }
        }
        let stays = arena.ite(moves, moved.lives, old.lives);
        let lives = arena.or(stays, takes);
        let mut values = old.values;
        for (&position, &[is_changed, value]) in &moved.values {
            let old = &mut values[position as usize];
            let is_changed = arena.and(moves, is_changed);
            *old = arena.ite(is_changed, value, *old);
        }
        for (&position, &[_, value]) in &created.values {
            let old = &mut values[position as usize];
            // The values of an empty slot do not matter.
            *old = if old_lives == Term::FALSE { value } else { arena.ite(takes, value, *old) };
        }
        for (&position, changes) in passive {
            values[position as usize] = self.changed(values[position as usize], changes);
        }
        Slot { at: self.merged(terms), values, lives }
    }
}

fn stopped(why: &cusp_solvers::UnknownReason, budget: &Budget) -> Reason {
    budget.exhausted().unwrap_or_else(|| Reason::GaveUp(why.to_string()))
}
