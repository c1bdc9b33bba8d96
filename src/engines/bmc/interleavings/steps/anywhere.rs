//! Runs that begin anywhere, for the step of an induction.
//!
//! The first state is arbitrary, with its threads in a certain order: the one that holds the system comes first, if there
//! is one, and the others are in the order of their cuts, free slots last. Every state is of this kind, with its threads in
//! some order. Runs are not left out for other reasons than in `find_slot`, since the checker of the proof would
//! have to leave out the same ones.
//!
//! States are compared slot by slot, and only after a model in which they are equal.

use cusp_encodings::{CnfEncoder, CnfStyle, Polarity, Term, TermArena, VarId};
use cusp_solvers::{Answer, Limits};
use rustc_hash::FxHashMap;

use super::super::independence::Independence;
use super::{Counter, Extent, Slot, State, Unrolling, stopped};
use crate::budget::Budget;
use crate::evidence::Reason;
use crate::evidence::threads::{ThreadCube, UniversalClause};
use crate::threads::formula::Blocks;

/// What tells states of a model apart: values of globals, whether the system is held and by whom, and for every slot
/// the cut and the values there.
#[derive(PartialEq, Eq, Hash)]
struct Seen {
    shared: Vec<bool>,
    holder: Option<usize>,
    slots: Vec<Option<(usize, Vec<bool>)>>,
}

impl<'a> Unrolling<'a> {
    /// Runs from every state with at most so many threads that satisfies the facts.
    pub fn anywhere(
        blocks: &'a Blocks<'a>,
        independence: &'a Independence,
        threads: usize,
        facts: &[UniversalClause],
        budget: &Budget,
    ) -> Self {
        let system = blocks.system;
        let mut arena = TermArena::new();
        let mut shared = vec![Term::FALSE; system.program().globals.len()];
        for global in system.relevance.globals() {
            shared[global as usize] = arena.fresh();
        }
        let mut is_live = vec![false; system.width as usize];
        for block in blocks.blocks() {
            system.live(block.start).iter().for_each(|position| is_live[position] = true);
        }
        let slot = |arena: &mut TermArena, number: usize| Slot {
            at: (0..blocks.blocks().len()).map(|cut| (cut, arena.fresh())).collect(),
            values: is_live.iter().map(|&live| if live { arena.fresh() } else { Term::FALSE }).collect(),
            lives: if number == 0 { Term::TRUE } else { arena.fresh() },
        };
        let slots: Vec<Slot> = (0..threads).map(|number| slot(&mut arena, number)).collect();
        let held = arena.fresh();
        let mut unrolling = Self {
            blocks,
            system,
            independence,
            extent: Extent { slots: threads, is_bound: true, switches: None },
            arena,
            encoder: CnfEncoder::new(CnfStyle::PlaistedGreenbaum),
            solver: budget.sat_solver(),
            state: State { shared, slots, held },
            steps: Vec::new(),
            // A step before the first one may have been ordered before it.
            is_ordered: Term::FALSE,
            counter: Counter::default(),
            lacks_slots: false,
            is_closed: false,
            is_anywhere: true,
            history: Vec::new(),
        };
        unrolling.order_slots();
        unrolling.assume(facts);
        unrolling.step();
        unrolling
    }

    /// What holds of all states, with their threads in order.
    fn order_slots(&mut self) {
        let slots = self.state.slots.clone();
        let held = self.state.held;
        for (number, slot) in slots.iter().enumerate() {
            // A slot is at one cut if there is a thread in it.
            let mut all = vec![slot.lives];
            all.extend(slot.at.values().map(|&at| !at));
            self.exclude(&all);
            let mut seen = Term::FALSE;
            for (&cut, &at) in &slot.at {
                // The property is not violated yet.
                if self.system.is_forbidden(self.blocks.blocks()[cut].start) {
                    self.exclude(&[at]);
                }
                self.exclude(&[at, seen]);
                self.exclude(&[at, !slot.lives]);
                seen = self.arena.or(seen, at);
            }
            let Some(before) = number.checked_sub(1).map(|before| &slots[before]) else { continue };
            self.exclude(&[slot.lives, !before.lives]);
            // The thread that holds the system comes first, wherever it is.
            let free = if number == 1 { !held } else { Term::TRUE };
            let mut earlier = Term::FALSE;
            for (here, there) in before.at.values().zip(slot.at.values()) {
                self.exclude(&[free, *here, earlier]);
                earlier = self.arena.or(earlier, *there);
            }
        }
    }

    /// Leaves out the states that do not satisfy some facts.
    fn assume(&mut self, facts: &[UniversalClause]) {
        for fact in facts {
            let signed = |term: Term, value: bool| if value { term } else { !term };
            let globals =
                fact.globals.iter().map(|&(global, value)| signed(self.state.shared[global as usize], value));
            let held = fact.held.map(|held| signed(self.state.held, held));
            let mut chosen: Vec<(Vec<usize>, Vec<Term>)> = vec![(Vec::new(), globals.chain(held).collect())];
            for cube in &fact.threads {
                let mut longer = Vec::new();
                for (slots, terms) in &chosen {
                    for slot in (0..self.state.slots.len()).filter(|slot| !slots.contains(slot)) {
                        let mut terms = terms.clone();
                        terms.extend(self.satisfies(slot, cube));
                        longer.push((slots.iter().copied().chain([slot]).collect(), terms));
                    }
                }
                chosen = longer;
            }
            for (_, terms) in chosen {
                self.exclude(&terms);
            }
        }
    }

    /// The terms that hold if the thread in a slot satisfies a condition. Only the one in the first slot may hold the system.
    fn satisfies(&mut self, slot: usize, cube: &ThreadCube) -> Vec<Term> {
        let Slot { at, values, .. } = &self.state.slots[slot];
        let cuts: Vec<Term> = cube.cuts.iter().map(|&cut| at[&(cut as usize)]).collect();
        let mut terms = vec![self.arena.or_all(cuts)];
        terms.extend(cube.values.iter().map(|&(position, value)| {
            let term = values[position as usize];
            if value { term } else { !term }
        }));
        let holds = if slot == 0 { self.state.held } else { Term::FALSE };
        terms.extend(cube.holds.map(|wanted| if wanted { holds } else { !holds }));
        terms
    }

    /// Whether a run through pairwise different states may violate the property in the last step.
    pub fn violates_after_different_states(&mut self, budget: &Budget) -> Result<bool, Reason> {
        let Some(step) = self.steps.last() else { return Ok(false) };
        let goal = self.encoder.encode(&self.arena, step.fails, Polarity::Positive, &mut *self.solver);
        loop {
            match self.solver.solve(&[goal], &Limits::NONE) {
                Answer::Unsat => return Ok(false),
                Answer::Unknown(why) => return Err(stopped(&why, budget)),
                Answer::Sat => {}
            }
            let seen = self.seen();
            let mut last: FxHashMap<&Seen, usize> = FxHashMap::default();
            let equal = seen
                .iter()
                .enumerate()
                .filter_map(|(late, state)| last.insert(state, late).map(|early| (early, late)));
            let equal: Vec<(usize, usize)> = equal.collect();
            if equal.is_empty() {
                return Ok(true);
            }
            for (early, late) in equal {
                self.tell_apart(early, late, &seen[late]);
            }
        }
    }

    /// The states of the solver's model.
    fn seen(&self) -> Vec<Seen> {
        let all: Vec<Term> = self.arena.terms().collect();
        let value = |var: VarId| {
            let lit = self.encoder.var_literal(&self.arena, var);
            if lit.is_some_and(|lit| self.solver.value(lit)) { u64::MAX } else { 0 }
        };
        let words = self.arena.simulate(&all, value);
        let is_true = |term: Term| (words[term.index()] & 1 == 1) != term.is_complemented();
        let slot = |slot: &Slot| {
            let cut = slot.at.iter().find(|&(_, &at)| is_true(at)).map(|(&cut, _)| cut)?;
            let live = self.system.live(self.blocks.blocks()[cut].start);
            Some((cut, live.iter().map(|position| is_true(slot.values[position])).collect()))
        };
        let states = self.history.iter().enumerate().map(|(number, state)| Seen {
            shared: state.shared.iter().map(|&term| is_true(term)).collect(),
            holder: is_true(state.held).then(|| match number.checked_sub(1) {
                None => 0,
                Some(before) => {
                    self.steps[before].moves.iter().position(|&moves| is_true(moves)).unwrap_or(0)
                }
            }),
            slots: state.slots.iter().map(slot).collect(),
        });
        states.collect()
    }

    /// Leaves out the runs in which two states have the same control as in a model, and the same values.
    fn tell_apart(&mut self, early: usize, late: usize, seen: &Seen) {
        let mut equal = Vec::new();
        let states = [early, late].map(|number| self.history[number].clone());
        for (&first, &second) in states[0].shared.iter().zip(&states[1].shared) {
            equal.push(self.arena.iff(first, second));
        }
        for (number, state) in [early, late].into_iter().zip(&states) {
            equal.push(if seen.holder.is_some() { state.held } else { !state.held });
            if let (Some(holder), Some(before)) = (seen.holder, number.checked_sub(1)) {
                equal.push(self.steps[before].moves[holder]);
            }
        }
        for (slot, thread) in seen.slots.iter().enumerate() {
            let [first, second] = [0, 1].map(|number: usize| &states[number].slots[slot]);
            let Some((cut, _)) = thread else {
                equal.extend([!first.lives, !second.lives]);
                continue;
            };
            let at = |slot: &Slot| slot.at.get(cut).copied().unwrap_or(Term::FALSE);
            equal.extend([at(first), at(second)]);
            for position in self.system.live(self.blocks.blocks()[*cut].start).iter() {
                equal.push(self.arena.iff(first.values[position], second.values[position]));
            }
        }
        self.exclude(&equal);
    }
}
