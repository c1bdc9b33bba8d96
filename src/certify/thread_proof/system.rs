//! A bounded number of threads as terms: a state of all of them, and one large step of one of them.
//!
//! A state has one place for each thread that may live. One thread moves; its state is selected first, so that there is
//! one walk for each cut and not one for each place. A new thread comes to the first free place. If some thread
//! holds the system, it is the one that moved last, since whoever holds the system is the only one that moves.
//!
//! Values at positions that are not listed for a cut are arbitrary whenever they are read.

use cusp_encodings::Term;

use super::Checked;
use super::control::StackId;
use super::symbolic::{Arrival, Creation, Passive, Walk};
use crate::certify::encode::Terms;
use crate::certify::{Stop, poll, reject};

/// A place for a thread.
#[derive(Clone)]
pub(super) struct Place {
    /// Whether there is a thread.
    pub exists: Term,
    /// For every position of [`System::cuts`], whether the thread is at that cut.
    pub at: Vec<Term>,
    pub values: Vec<Term>,
}

/// A state of all threads.
#[derive(Clone)]
pub(super) struct State {
    pub globals: Vec<Term>,
    pub places: Vec<Place>,
    /// Whether some thread holds the system.
    pub held: Term,
    /// For every place, whether its thread moved last.
    pub moved: Vec<Term>,
}

/// A large step from a state.
pub(super) struct Step {
    /// Whoever moves may do so.
    pub is_allowed: Term,
    /// The property is violated on the way.
    pub violation: Term,
    /// The step comes to its end.
    pub ends: Term,
    /// The state there.
    pub after: State,
}

/// The threads of a program.
pub(super) struct System<'a> {
    pub checked: &'a Checked<'a>,
    /// The cuts at which a thread can be, with their stacks.
    pub cuts: Vec<(u32, StackId)>,
    /// For each of them, the positions that are listed.
    pub positions: Vec<&'a [u32]>,
    /// How many threads may live.
    pub bound: usize,
}

/// What comes to a place.
struct Thread {
    exists: Term,
    at: Vec<Term>,
    values: Vec<Term>,
}

impl<'a> System<'a> {
    pub fn new(checked: &'a Checked<'a>, positions: &'a [Vec<u32>], bound: usize) -> Result<Self, Stop> {
        let control = checked.control;
        if positions.len() != control.cuts.len() {
            return reject("there is not one list of positions for every cut");
        }
        let mut numbers: Vec<u32> = checked.large_steps.pairs.iter().map(|&(cut, _)| cut).collect();
        numbers.dedup();
        let stack = |&cut: &u32| Some((cut, control.cuts[cut as usize]?));
        let cuts: Vec<(u32, StackId)> = numbers.iter().filter_map(stack).collect();
        let positions: Vec<&[u32]> = cuts.iter().map(|&(cut, _)| &positions[cut as usize][..]).collect();
        for (&(cut, stack), positions) in cuts.iter().zip(&positions) {
            let width = control.stack(stack).width;
            if positions.iter().any(|&position| position as usize >= width) {
                return reject(format!("a thread at cut {cut} has no such position"));
            }
        }
        Ok(Self { checked, cuts, positions, bound })
    }

    /// The place of a cut in [`System::cuts`].
    fn number(&self, cut: u32) -> Result<usize, Stop> {
        let found = self.cuts.binary_search_by_key(&cut, |&(cut, _)| cut);
        found.or_else(|_| reject("a large step leads to a cut where no thread can be"))
    }

    /// Whether a thread can be at a cut, and hold the system there or not.
    pub fn can_be(&self, number: usize, holds: bool) -> bool {
        self.checked.large_steps.position((self.cuts[number].0, holds)).is_some()
    }

    /// One large step.
    pub fn step(&self, terms: &mut Terms, state: &State) -> Result<Step, Stop> {
        let moves = terms.alternatives(Term::TRUE, state.places.len());
        let mut is_allowed = Term::TRUE;
        for ((place, &moves), &moved) in state.places.iter().zip(&moves).zip(&state.moved) {
            let goes_on = terms.arena.implies(state.held, moved);
            let may_move = terms.arena.and(place.exists, goes_on);
            let allowed = terms.arena.implies(moves, may_move);
            is_allowed = terms.arena.and(is_allowed, allowed);
        }
        let mover = self.selected(terms, &state.places, &moves);
        let is_full = terms.arena.and_all(state.places.iter().map(|place| place.exists));
        let mut violation = Term::FALSE;
        let mut arrivals: Vec<(Term, Arrival<'a>)> = Vec::new();
        let unlisted = terms.fresh_vector(self.checked.control.width());
        for (number, &(_, stack)) in self.cuts.iter().enumerate() {
            let values = self.listed(number, &mover.values, &unlisted);
            for holds in [false, true].into_iter().filter(|&holds| self.can_be(number, holds)) {
                poll(self.checked.control.budget)?;
                let held = if holds { state.held } else { !state.held };
                let here = terms.arena.and(mover.at[number], held);
                if here == Term::FALSE {
                    continue;
                }
                let from = (&state.globals[..], &values[..]);
                let walked = Walk::run(self.checked, terms, stack, from, holds, Some(is_full))?;
                let violated = terms.arena.and(here, walked.violation);
                violation = terms.arena.or(violation, violated);
                for arrival in walked.arrivals {
                    let taken = terms.arena.and(here, arrival.guard);
                    if taken != Term::FALSE {
                        arrivals.push((taken, arrival));
                    }
                }
            }
        }
        let (ends, after) = self.after(terms, state, &moves, &arrivals)?;
        Ok(Step { is_allowed, violation, ends, after })
    }

    /// The values of a thread at a cut as they are read.
    fn listed(&self, number: usize, values: &[Term], unlisted: &[Term]) -> Vec<Term> {
        let width = self.checked.control.stack(self.cuts[number].1).width;
        let listed = self.positions[number];
        let value = |position: usize| {
            if listed.contains(&(position as u32)) { values[position] } else { unlisted[position] }
        };
        (0..width).map(value).collect()
    }

    /// The thread that moves.
    fn selected(&self, terms: &mut Terms, places: &[Place], moves: &[Term]) -> Thread {
        let mut select = |of: &dyn Fn(&Place) -> Term| {
            let terms_of: Vec<(Term, Term)> =
                moves.iter().zip(places).map(|(&moves, place)| (moves, of(place))).collect();
            any_of(terms, &terms_of)
        };
        Thread {
            exists: Term::TRUE,
            at: (0..self.cuts.len()).map(|number| select(&|place| place.at[number])).collect(),
            values: (0..self.checked.control.width())
                .map(|position| select(&|place| place.values[position]))
                .collect(),
        }
    }

    /// Whether some large step comes to its end, and the state there.
    fn after(
        &self,
        terms: &mut Terms,
        state: &State,
        moves: &[Term],
        arrivals: &[(Term, Arrival<'a>)],
    ) -> Result<(Term, State), Stop> {
        let mut ends = terms.arena.or_all(arrivals.iter().map(|&(taken, _)| taken));
        let (mut mover, mut new) = (Vec::new(), Vec::new());
        for (taken, arrival) in arrivals {
            if let Some(cut) = arrival.cut {
                mover.push((*taken, self.number(cut)?, &arrival.values[..]));
            }
            if let Creation::New(stack) = arrival.creation {
                let Some(cut) = self.checked.control.cut(stack) else {
                    return reject("a thread begins at no cut");
                };
                new.push((*taken, self.number(cut)?, &arrival.new[..]));
            }
        }
        let (mover, new) = (self.arrived(terms, &mover), self.arrived(terms, &new));
        let globals = (0..state.globals.len()).map(|global| {
            let changes = arrivals.iter().map(|(taken, arrival)| (*taken, arrival.globals[global]));
            changed(terms, state.globals[global], changes)
        });
        let globals: Vec<Term> = globals.collect();
        let holds: Vec<(Term, Term)> =
            arrivals.iter().map(|(taken, arrival)| (*taken, arrival.holds)).collect();
        let held = any_of(terms, &holds);
        let mut places = Vec::with_capacity(state.places.len());
        // Whether there is a new thread, and all places so far are in use.
        let mut searches = new.exists;
        for (place, &moves) in state.places.iter().zip(moves) {
            let takes = terms.arena.and(searches, !place.exists);
            searches = terms.arena.and(searches, place.exists);
            let mut idle = place.clone();
            for (taken, arrival) in arrivals {
                if let Some(passive) = &arrival.passive {
                    let here = terms.arena.and(*taken, !moves);
                    let possible = self.affect(terms, place, passive, here, &mut idle.values)?;
                    ends = terms.arena.and(ends, possible);
                }
            }
            let mut choose = |moved: Term, new: Term, old: Term| {
                let old = terms.arena.ite(takes, new, old);
                terms.arena.ite(moves, moved, old)
            };
            places.push(Place {
                exists: choose(mover.exists, new.exists, idle.exists),
                at: (0..self.cuts.len())
                    .map(|number| choose(mover.at[number], new.at[number], idle.at[number]))
                    .collect(),
                values: (0..idle.values.len())
                    .map(|position| {
                        choose(mover.values[position], new.values[position], idle.values[position])
                    })
                    .collect(),
            });
        }
        Ok((ends, State { globals, places, held, moved: moves.to_vec() }))
    }

    /// A thread that comes to a cut, by one of several large steps that exclude each other.
    fn arrived(&self, terms: &mut Terms, all: &[(Term, usize, &[Term])]) -> Thread {
        let exists = terms.arena.or_all(all.iter().map(|&(taken, ..)| taken));
        let at = (0..self.cuts.len()).map(|number| {
            let here = all.iter().filter(|&&(_, at, _)| at == number);
            terms.arena.or_all(here.map(|&(taken, ..)| taken).collect::<Vec<_>>())
        });
        let at = at.collect();
        let values = (0..self.checked.control.width()).map(|position| {
            let value = |&(taken, _, values): &(Term, usize, &[Term])| Some((taken, *values.get(position)?));
            any_of(terms, &all.iter().filter_map(value).collect::<Vec<_>>())
        });
        Thread { exists, at, values: values.collect() }
    }

    /// What a step with `x$` does to a thread that does not move, if `here` holds: changes its values, and returns the
    /// condition under which the step is possible.
    fn affect(
        &self,
        terms: &mut Terms,
        place: &Place,
        passive: &Passive<'_>,
        here: Term,
        values: &mut [Term],
    ) -> Result<Term, Stop> {
        let mut all = Term::TRUE;
        if here == Term::FALSE {
            return Ok(all);
        }
        let unlisted = terms.fresh_vector(self.checked.control.width());
        for (number, &(_, stack)) in self.cuts.iter().enumerate() {
            let Some(frame) = self.checked.control.frame_of(stack, passive.procedure()) else {
                continue;
            };
            let affected = terms.arena.and(here, place.at[number]);
            if affected == Term::FALSE {
                continue;
            }
            let old = self.listed(number, &place.values, &unlisted);
            let (possible, new) = passive.apply(self.checked, terms, &old, frame.base)?;
            let possible = terms.arena.implies(affected, possible);
            all = terms.arena.and(all, possible);
            for (position, (&new, &old)) in new.iter().zip(&old).enumerate() {
                if new != old {
                    values[position] = terms.arena.ite(affected, new, values[position]);
                }
            }
        }
        Ok(all)
    }
}

/// Whether one of some conditions holds together with its value.
fn any_of(terms: &mut Terms, all: &[(Term, Term)]) -> Term {
    let both: Vec<Term> = all.iter().map(|&(when, value)| terms.arena.and(when, value)).collect();
    terms.arena.or_all(both)
}

/// A term that takes new values under conditions that exclude each other.
fn changed(terms: &mut Terms, old: Term, changes: impl Iterator<Item = (Term, Term)>) -> Term {
    let changes: Vec<(Term, Term)> = changes.filter(|&(_, new)| new != old).collect();
    let new = any_of(terms, &changes);
    let is_changed = terms.arena.or_all(changes.iter().map(|&(when, _)| when));
    terms.arena.ite(is_changed, new, old)
}
