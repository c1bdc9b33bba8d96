//! Several threads as terms: the one that moves, and others that do not, and clauses about them.
//!
//! What is true of all states, and therefore may be used without proof: a thread is at a pair of [`LargeSteps`]; at most
//! one thread holds the system, and if one moves, it or nobody does. So no other thread than the one that
//! moves holds the system, before and after its step.

use cusp_encodings::{Term, VarId};

use super::Checked;
use super::control::StackId;
use crate::certify::encode::Terms;
use crate::certify::question::Questions;
use crate::certify::{Stop, reject};
use crate::evidence::threads::{ThreadCube, UniversalClause};

/// A thread that does not move.
pub(super) struct Idle {
    /// Whether there is such a thread. If not, its values do not matter, and no clause is about it.
    pub exists: Term,
    /// For every position of [`Slots::cuts`], whether the thread is at that cut.
    pub at: Vec<Term>,
    pub values: Vec<Term>,
    /// The numbers of the first variables of `at` and of `values`.
    first_bit: u32,
    first_value: u32,
}

/// The globals, the thread that moves, and others.
pub(super) struct Slots<'a> {
    checked: &'a Checked<'a>,
    /// The cuts at which a thread can be that does not hold the system, with their stacks.
    pub cuts: Vec<(u32, StackId)>,
    /// Variables for the globals.
    pub globals: Vec<Term>,
    first_global: u32,
    /// Where the thread that moves is, and whether it holds the system.
    pub mover: (u32, bool),
    /// Variables for its values.
    pub values: Vec<Term>,
    first_value: u32,
    pub idle: Vec<Idle>,
}

/// A thread in a model.
struct Point {
    cut: u32,
    holds: bool,
    width: usize,
    first_value: u32,
}

impl<'a> Slots<'a> {
    /// The globals and a thread at a cut.
    pub fn new(checked: &'a Checked<'a>, terms: &mut Terms, mover: (u32, bool)) -> Result<Self, Stop> {
        let control = checked.control;
        let Some(stack) = control.cuts[mover.0 as usize] else {
            return reject("no thread can be at this cut");
        };
        let first_global = terms.variables();
        let globals = terms.fresh_vector(control.program.globals.len());
        let first_value = terms.variables();
        let values = terms.fresh_vector(control.stack(stack).width);
        let free = checked.large_steps.pairs.iter().filter(|&&(_, holds)| !holds);
        let cuts = free.filter_map(|&(cut, _)| Some((cut, control.cuts[cut as usize]?))).collect();
        Ok(Self { checked, cuts, globals, first_global, mover, values, first_value, idle: Vec::new() })
    }

    /// Adds threads that do not move, until there are so many.
    pub fn grow(&mut self, questions: &mut Questions<'_>, count: usize) {
        while self.idle.len() < count {
            let terms = &mut questions.terms;
            let exists = terms.fresh();
            let first_bit = terms.variables();
            let bits = terms.fresh_vector(bits_for(self.cuts.len()));
            let number = |terms: &mut Terms, number: usize| {
                let bit = |(i, &bit): (usize, &Term)| if number >> i & 1 == 1 { bit } else { !bit };
                let bits: Vec<Term> = bits.iter().enumerate().map(bit).collect();
                terms.arena.and_all(bits)
            };
            let at: Vec<Term> = (0..self.cuts.len()).map(|i| number(terms, i)).collect();
            let somewhere = terms.arena.or_all(at.iter().copied());
            let first_value = terms.variables();
            let values = terms.fresh_vector(self.checked.control.width());
            questions.demand(somewhere);
            self.idle.push(Idle { exists, at, values, first_bit, first_value });
        }
    }

    /// Whether a thread with the given values, at a cut, satisfies a condition.
    pub fn cube(&self, terms: &mut Terms, cube: &ThreadCube, cut: u32, holds: Term, values: &[Term]) -> Term {
        let stack = self.checked.control.cuts[cut as usize];
        let width = stack.map_or(0, |stack| self.checked.control.stack(stack).width);
        let fits = cube.values.iter().all(|&(position, _)| (position as usize) < width);
        if !fits || !cube.cuts.contains(&cut) {
            return Term::FALSE;
        }
        let literals = cube.values.iter().map(|&(position, value)| {
            let term = values[position as usize];
            if value { term } else { !term }
        });
        let holds = cube.holds.map(|wanted| if wanted { holds } else { !holds });
        let literals: Vec<Term> = literals.chain(holds).collect();
        terms.arena.and_all(literals)
    }

    /// Whether a thread that does not move satisfies a condition, given its values at every cut.
    pub fn idle_cube<'v>(
        &self,
        terms: &mut Terms,
        cube: &ThreadCube,
        idle: &Idle,
        values: impl Fn(usize) -> &'v [Term],
    ) -> Term {
        let mut any = Term::FALSE;
        for (i, &(cut, _)) in self.cuts.iter().enumerate() {
            let here = self.cube(terms, cube, cut, Term::FALSE, values(i));
            let here = terms.arena.and(idle.at[i], here);
            any = terms.arena.or(any, here);
        }
        any
    }

    /// The condition of a clause on the globals and on whether the system is held.
    pub fn shared(terms: &mut Terms, clause: &UniversalClause, globals: &[Term], held: Term) -> Term {
        let literals = clause.globals.iter().map(|&(global, value)| {
            let term = globals[global as usize];
            if value { term } else { !term }
        });
        let held = clause.held.map(|wanted| if wanted { held } else { !held });
        let literals: Vec<Term> = literals.chain(held).collect();
        terms.arena.and_all(literals)
    }

    /// An instance of a clause, before the step: its thread `i` is thread `map[i]`, where 0 moves.
    fn instance(&self, terms: &mut Terms, clause: &UniversalClause, map: &[usize]) -> Term {
        let mut all = Self::shared(terms, clause, &self.globals, Term::constant(self.mover.1));
        for (cube, &thread) in clause.threads.iter().zip(map) {
            let here = match thread.checked_sub(1) {
                None => {
                    let (cut, holds) = self.mover;
                    self.cube(terms, cube, cut, Term::constant(holds), &self.values)
                }
                Some(i) => {
                    let idle = &self.idle[i];
                    let here = self.idle_cube(terms, cube, idle, |_| &idle.values);
                    terms.arena.and(idle.exists, here)
                }
            };
            all = terms.arena.and(all, here);
        }
        !all
    }

    /// Whether a condition is impossible in states that satisfy all clauses, where the thread that moves and the
    /// first `idle` others exist. Only the instances of clauses that are needed are added.
    pub fn is_impossible(
        &self,
        questions: &mut Questions<'_>,
        clauses: &[UniversalClause],
        condition: Term,
        idle: usize,
    ) -> Result<bool, Stop> {
        let exist: Vec<Term> = self.idle[..idle].iter().map(|idle| idle.exists).collect();
        let exist = questions.terms.arena.and_all(exist);
        let query = questions.terms.arena.and(condition, exist);
        while !questions.is_impossible(query)? {
            let threads = self.model(questions, idle);
            let mut instances = Vec::new();
            for clause in clauses {
                let global = |&(global, value): &(u32, bool)| {
                    questions.value(VarId::new(self.first_global + global)) == value
                };
                if clause.held.is_some_and(|held| held != self.mover.1) || !clause.globals.iter().all(global)
                {
                    continue;
                }
                let satisfies = |cube: &ThreadCube, thread: &Point| {
                    let value = |&(position, value): &(u32, bool)| {
                        (position as usize) < thread.width
                            && questions.value(VarId::new(thread.first_value + position)) == value
                    };
                    cube.cuts.contains(&thread.cut)
                        && cube.holds.is_none_or(|holds| holds == thread.holds)
                        && cube.values.iter().all(value)
                };
                let fits = |cube: &ThreadCube| {
                    (0..threads.len()).filter(|&i| satisfies(cube, &threads[i])).collect::<Vec<_>>()
                };
                let choices: Vec<Vec<usize>> = clause.threads.iter().map(fits).collect();
                if let Some(map) = matching(&choices, threads.len()) {
                    instances.push((clause, map));
                }
            }
            if instances.is_empty() {
                return Ok(false);
            }
            for (clause, map) in instances {
                let instance = self.instance(&mut questions.terms, clause, &map);
                questions.demand(instance);
            }
        }
        Ok(true)
    }

    /// The threads of the solver's model.
    fn model(&self, questions: &Questions<'_>, idle: usize) -> Vec<Point> {
        let (cut, holds) = self.mover;
        let width = self.values.len();
        let mut threads = vec![Point { cut, holds, width, first_value: self.first_value }];
        for idle in &self.idle[..idle] {
            let bit = |i: usize| usize::from(questions.value(VarId::new(idle.first_bit + i as u32))) << i;
            let number: usize = (0..bits_for(self.cuts.len())).map(bit).sum();
            let Some(&(cut, stack)) = self.cuts.get(number) else { continue };
            let width = self.checked.control.stack(stack).width;
            threads.push(Point { cut, holds: false, width, first_value: idle.first_value });
        }
        threads
    }
}

/// The number of bits that tell so many things apart.
fn bits_for(count: usize) -> usize {
    (usize::BITS - count.saturating_sub(1).leading_zeros()) as usize
}

/// Chooses a different number below `count` for every list, from that list, if that is possible.
fn matching(choices: &[Vec<usize>], count: usize) -> Option<Vec<usize>> {
    let mut owner: Vec<Option<usize>> = vec![None; count];
    for list in 0..choices.len() {
        // Breadth-first search for an augmenting path; `from[number]` is the list that came to the number.
        let mut from: Vec<Option<usize>> = vec![None; count];
        let mut open = vec![list];
        let mut next = 0;
        let mut free = None;
        while next < open.len() && free.is_none() {
            let at = open[next];
            next += 1;
            for &number in &choices[at] {
                if from[number].is_some() {
                    continue;
                }
                from[number] = Some(at);
                match owner[number] {
                    Some(other) => open.push(other),
                    None => free = free.or(Some(number)),
                }
            }
        }
        let mut number = free?;
        loop {
            let at = from[number]?;
            let previous = owner.iter().position(|&owner| owner == Some(at));
            owner[number] = Some(at);
            match previous {
                Some(previous) if at != list => {
                    owner[previous] = None;
                    number = previous;
                }
                _ => break,
            }
        }
    }
    let place = |list: usize| owner.iter().position(|&owner| owner == Some(list));
    (0..choices.len()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether there is a choice, by trying all.
    fn exists(choices: &[Vec<usize>], used: &mut Vec<usize>) -> bool {
        let Some(list) = choices.get(used.len()) else { return true };
        list.iter().any(|&number| {
            if used.contains(&number) {
                return false;
            }
            used.push(number);
            let found = exists(choices, used);
            used.pop();
            found
        })
    }

    #[test]
    fn matchings_are_found_iff_there_are_some() {
        let (mut seed, mut found, mut none) = (1_u64, 0, 0);
        for _ in 0..3_000 {
            let mut random = |below: u64| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) % below
            };
            let (lists, count) = (random(5) as usize, 1 + random(5) as usize);
            let mut list = || (0..count).filter(|_| random(3) == 0).collect::<Vec<_>>();
            let choices: Vec<Vec<usize>> = (0..lists).map(|_| list()).collect();
            if let Some(map) = matching(&choices, count) {
                found += 1;
                assert!(map.iter().zip(&choices).all(|(number, list)| list.contains(number)));
                let mut sorted = map.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), map.len(), "{choices:?} {map:?}");
            } else {
                none += 1;
                assert!(!exists(&choices, &mut Vec::new()), "{choices:?}");
            }
        }
        assert!(found > 500 && none > 500, "{found} {none}");
    }

    #[test]
    fn bits_tell_things_apart() {
        assert_eq!([0, 1, 2, 3, 4, 5, 8, 9].map(bits_for), [0, 0, 1, 2, 2, 3, 3, 4]);
    }
}
