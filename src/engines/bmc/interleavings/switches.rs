//! Runs with few context switches.
//!
//! Implements: S. Qadeer, J. Rehof, "Context-bounded model checking of concurrent software", TACAS 2005, on the formula for runs
//! of large steps.
//!
//! A step of another slot than that of the step before it is a *switch*. A slot that a thread leaves is free after the step
//! in which it ends, and a new thread is started by a step of a thread that lives, so two steps in a row of one slot
//! are steps of one thread. Large steps do not add switches: what they join is moved to a step of the same thread
//! (see [`crate::threads::large_steps`]).
//!
//! *Which runs are left out.* Threads in slots `b`, `a` and `b` make three steps in a row, with `b` before `a`, and the last
//! two are independent: then there is a run with `b`, `b` and `a`, in which there are as many or fewer switches,
//! and its sequence of slots comes earlier in lexicographic order. So the first run of all those with as many steps and at
//! most as many switches is never excluded; the same holds for threads in the same state (see `steps`).

use cusp_encodings::{Polarity, Term};
use cusp_solvers::{Answer, Limits};

use super::steps::Unrolling;
use crate::threads::schedule::Schedule;

/// The conflicts with which runs with fewer switches are looked for.
const MOST_CONFLICTS: u64 = 10_000;

/// A run, and what is known about it.
pub(super) struct Fewest {
    pub schedule: Schedule,
    /// Whether it is known that no run with as many large steps, and as many slots, has fewer switches.
    pub is_known: bool,
}

impl Unrolling<'_> {
    /// Counts the switches of all steps, up to a number.
    fn count_switches(&mut self, most: usize) {
        if self.counter.at_least.len() < most {
            self.counter.at_least = vec![Term::FALSE; most];
            self.counter.steps = 0;
        }
        for position in self.counter.steps.max(1)..self.steps.len() {
            let [before, now] = [position - 1, position].map(|at| &self.steps[at].moves);
            let same = before.iter().zip(now).map(|(&before, &now)| self.arena.and(before, now));
            let same: Vec<Term> = same.collect();
            let is_switch = !self.arena.or_all(same);
            for number in (0..self.counter.at_least.len()).rev() {
                let fewer = match number {
                    0 => Term::TRUE,
                    _ => self.counter.at_least[number - 1],
                };
                let one_more = self.arena.and(fewer, is_switch);
                self.counter.at_least[number] = self.arena.or(self.counter.at_least[number], one_more);
            }
        }
        self.counter.steps = self.steps.len();
    }

    /// Excludes all runs with more switches.
    pub(super) fn limit_switches(&mut self, most: usize) {
        self.count_switches(most + 1);
        let too_many = self.counter.at_least[most];
        self.require(!too_many);
    }

    /// Of independent steps, those come first that avoid switches.
    pub(super) fn order_without_switches(&mut self) {
        for position in self.counter.ordered.max(2)..self.steps.len() {
            let step = &self.steps[position];
            let depends = step.depends;
            let mut detours = Vec::new();
            for (early, &now) in step.moves.iter().enumerate() {
                let Some(&first) = self.steps[position - 2].moves.get(early) else { continue };
                let between = self.steps[position - 1].moves.iter().skip(early + 1);
                detours.extend(between.map(|&between| [first, between, now, !depends]));
            }
            for detour in detours {
                self.exclude(&detour);
            }
        }
        self.counter.ordered = self.steps.len();
    }

    /// Given a run that violates the property in the last step, the one with the fewest switches.
    pub fn with_fewest_switches(&mut self, schedule: Schedule) -> Fewest {
        let mut best = schedule;
        let (Some(step), first) = (self.steps.last(), best.switches()) else {
            return Fewest { schedule: best, is_known: false };
        };
        let fails = step.fails;
        self.order_without_switches();
        self.count_switches(first);
        let goal = self.encoder.encode(&self.arena, fails, Polarity::Positive, &mut *self.solver);
        let start = self.solver.statistics().conflicts;
        while best.switches() > 0 {
            let spent = self.solver.statistics().conflicts - start;
            let Some(conflicts) = MOST_CONFLICTS.checked_sub(spent) else {
                return Fewest { schedule: best, is_known: false };
            };
            let too_many = self.counter.at_least[best.switches() - 1];
            let fewer = self.encoder.encode(&self.arena, !too_many, Polarity::Positive, &mut *self.solver);
            let limits = Limits { conflicts: Some(conflicts), ..Limits::NONE };
            match self.solver.solve(&[goal, fewer], &limits) {
                Answer::Unsat => break,
                Answer::Unknown(_) => return Fewest { schedule: best, is_known: false },
                Answer::Sat => {
                    let found = self.schedule();
                    debug_assert!(found.switches() < best.switches(), "switches are counted");
                    if found.switches() >= best.switches() {
                        return Fewest { schedule: best, is_known: false };
                    }
                    best = found;
                }
            }
        }
        Fewest { schedule: best, is_known: true }
    }
}
