//! K-induction over large steps of a bounded number of threads. [`ThreadInduction`] states what is accepted and why that
//! is enough.
//!
//! That no two states of a path are alike would be one constraint for every two of them and every control, so each is
//! added only when the solver's model violates it. States are compared place by place, which excludes fewer paths.
//!
//! At the beginning of the step, the threads are sorted: the one that holds the system comes first, if there is one, and
//! the others are in the order of their cuts, free places last. Every state is of this kind, with its threads in some order.

use cusp_encodings::Term;

use super::system::{Place, State, System};
use super::{Checked, clauses};
use crate::certify::encode::{Terms, encode};
use crate::certify::question::Questions;
use crate::certify::{Stop, poll, reject};
use crate::evidence::Reason;
use crate::evidence::threads::{ThreadCube, ThreadInduction, UniversalClause};
use crate::model::Var;

/// A proof with more large steps than this is refused.
const MOST_STEPS: usize = 10_000;

/// A proof about more threads than this is refused.
const MOST_THREADS: usize = 100;

/// Checks the facts, the base case and the induction step.
pub(super) fn check(checked: &Checked<'_>, proof: &ThreadInduction) -> Result<(), Stop> {
    let Some(bound) = checked.control.most_threads() else {
        return reject("induction needs a bound on the number of threads");
    };
    let k = proof.k as usize;
    if k > MOST_STEPS {
        return Err(Stop::Exhausted(Reason::TooLargeToCheck { what: "large steps", limit: MOST_STEPS }));
    }
    if bound > MOST_THREADS {
        return Err(Stop::Exhausted(Reason::TooLargeToCheck { what: "threads", limit: MOST_THREADS }));
    }
    clauses::check_facts(checked, &proof.facts)?;
    let system = System::new(checked, &proof.positions, bound)?;
    let induction = Induction { checked, system, facts: &proof.facts };
    if induction.base(k)? { Ok(()) } else { induction.step(k) }
}

struct Induction<'a> {
    checked: &'a Checked<'a>,
    system: System<'a>,
    facts: &'a [UniversalClause],
}

impl Induction<'_> {
    /// Checks the base case; says whether no run makes `k` large steps.
    fn base(&self, k: usize) -> Result<bool, Stop> {
        let control = self.checked.control;
        if control.is_forbidden(control.start) {
            return reject("the forbidden label is where the first thread starts");
        }
        let mut questions = Questions::new(control.budget);
        let mut state = self.start(&mut questions)?;
        for i in 0..k {
            let step = self.system.step(&mut questions.terms, &state)?;
            questions.demand(step.is_allowed);
            if !questions.is_impossible(step.violation)? {
                return reject(format!("base: a run may violate the property after {i} large steps"));
            }
            questions.demand(step.ends);
            state = step.after;
        }
        questions.is_impossible(Term::TRUE)
    }

    /// The start: one thread.
    fn start(&self, questions: &mut Questions<'_>) -> Result<State, Stop> {
        let control = self.checked.control;
        let terms = &mut questions.terms;
        let globals = terms.fresh_vector(control.program.globals.len());
        let mut places = Vec::with_capacity(self.system.bound);
        for place in 0..self.system.bound {
            let stack = |&(_, stack): &_| Term::constant(place == 0 && stack == control.start);
            let values = terms.fresh_vector(control.width());
            let at = self.system.cuts.iter().map(stack).collect();
            places.push(Place { exists: Term::constant(place == 0), at, values });
        }
        let moved = (0..self.system.bound).map(|place| Term::constant(place == 0)).collect();
        if let Some(condition) = control.procedure(control.start).enforce {
            let code = control.program.exprs.ops(condition);
            let condition = encode(terms, code, |place| match place.var {
                Var::Global(i) => globals[i as usize],
                Var::Local(i) => places[0].values[i as usize],
            })?;
            questions.demand(condition);
        }
        Ok(State { globals, places, held: Term::FALSE, moved })
    }

    fn step(&self, k: usize) -> Result<(), Stop> {
        let mut questions = Questions::new(self.checked.control.budget);
        let mut state = self.anywhere(&mut questions);
        self.assume_facts(&mut questions, &state)?;
        let mut path = Vec::with_capacity(k + 1);
        for _ in 0..k {
            let step = self.system.step(&mut questions.terms, &state)?;
            questions.demand(step.is_allowed);
            questions.demand(!step.violation);
            questions.demand(step.ends);
            path.push(std::mem::replace(&mut state, step.after));
        }
        let last = self.system.step(&mut questions.terms, &state)?;
        questions.demand(last.is_allowed);
        path.push(state);
        while !questions.is_impossible(last.violation)? {
            let demands = self.broken(&mut questions, &path);
            if demands.is_empty() {
                return reject(format!(
                    "step: a run may violate the property after {k} large steps between different states"
                ));
            }
            for demand in demands {
                questions.demand(demand);
            }
        }
        Ok(())
    }

    /// All states, with their threads in order.
    fn anywhere(&self, questions: &mut Questions<'_>) -> State {
        let control = self.checked.control;
        let terms = &mut questions.terms;
        let globals = terms.fresh_vector(control.program.globals.len());
        let held = terms.fresh();
        let mut places: Vec<Place> = Vec::with_capacity(self.system.bound);
        let mut demands = Vec::new();
        for place in 0..self.system.bound {
            let exists = if place == 0 { Term::TRUE } else { terms.fresh() };
            let at = terms.alternatives(exists, self.system.cuts.len());
            let values = terms.fresh_vector(control.width());
            for (number, &here) in at.iter().enumerate() {
                // The property is not violated yet.
                if control.is_forbidden(self.system.cuts[number].1) {
                    demands.push(!here);
                }
                for holds in [false, true].into_iter().filter(|&holds| !self.system.can_be(number, holds)) {
                    let is_so = match (place, holds) {
                        (0, true) => held,
                        (0, false) => !held,
                        (_, holds) => Term::constant(!holds),
                    };
                    demands.push(!terms.arena.and(here, is_so));
                }
            }
            let here = Place { exists, at, values };
            if let Some(before) = places.last() {
                let first_holds = if place == 1 { held } else { Term::FALSE };
                let sorted = sorted(terms, before, &here);
                demands.push(terms.arena.or(first_holds, sorted));
                demands.push(terms.arena.implies(here.exists, before.exists));
            }
            places.push(here);
        }
        for demand in demands {
            questions.demand(demand);
        }
        let moved = (0..self.system.bound).map(|place| Term::constant(place == 0)).collect();
        State { globals, places, held, moved }
    }

    /// Assumes all facts about all threads of a state whose thread in the first place is the only one that may hold
    /// the system.
    fn assume_facts(&self, questions: &mut Questions<'_>, state: &State) -> Result<(), Stop> {
        for fact in self.facts {
            let globals = fact.globals.iter().map(|&(global, value)| {
                let term = state.globals[global as usize];
                if value { term } else { !term }
            });
            let held = fact.held.map(|held| if held { state.held } else { !state.held });
            let shared: Vec<Term> = globals.chain(held).collect();
            let shared = questions.terms.arena.and_all(shared);
            let mut chosen: Vec<(Vec<usize>, Term)> = vec![(Vec::new(), shared)];
            for cube in &fact.threads {
                let mut longer = Vec::new();
                for (threads, all) in &chosen {
                    poll(self.checked.control.budget)?;
                    for place in (0..state.places.len()).filter(|place| !threads.contains(place)) {
                        let here = self.satisfies(&mut questions.terms, state, place, cube);
                        let all = questions.terms.arena.and(*all, here);
                        if all != Term::FALSE {
                            longer.push((threads.iter().copied().chain([place]).collect(), all));
                        }
                    }
                }
                chosen = longer;
            }
            for (_, violated) in chosen {
                questions.demand(!violated);
            }
        }
        Ok(())
    }

    /// Whether a thread satisfies a condition.
    fn satisfies(&self, terms: &mut Terms, state: &State, place: usize, cube: &ThreadCube) -> Term {
        let control = self.checked.control;
        let Place { at, values, .. } = &state.places[place];
        let is_fit = |&(number, &(cut, stack)): &(usize, &(u32, _))| {
            let width = control.stack(stack).width;
            let fits = cube.values.iter().all(|&(position, _)| (position as usize) < width);
            (cube.cuts.contains(&cut) && fits).then_some(at[number])
        };
        let there: Vec<Term> =
            self.system.cuts.iter().enumerate().filter_map(|entry| is_fit(&entry)).collect();
        let there = terms.arena.or_all(there);
        if there == Term::FALSE {
            return there;
        }
        let holds = if place == 0 { state.held } else { Term::FALSE };
        let holds = cube.holds.map(|wanted| if wanted { holds } else { !holds });
        let values = cube.values.iter().map(|&(position, value)| {
            let term = values[position as usize];
            if value { term } else { !term }
        });
        let all: Vec<Term> = values.chain(holds).chain([there]).collect();
        terms.arena.and_all(all)
    }

    /// The constraints that the solver's model violates because two of its states are alike.
    fn broken(&self, questions: &mut Questions<'_>, path: &[State]) -> Vec<Term> {
        let roots: Vec<Term> = path.iter().flat_map(terms_of).collect();
        let arena = &questions.terms.arena;
        let words = arena.simulate(&roots, |var| if questions.value(var) { u64::MAX } else { 0 });
        let values: Vec<bool> = words.into_iter().map(|word| word & 1 == 1).collect();
        let each = values.len() / path.len();
        let seen: Vec<Seen> =
            path.iter().zip(values.chunks(each)).map(|(state, values)| self.seen(state, values)).collect();
        let mut demands = Vec::new();
        for (late, there) in seen.iter().enumerate() {
            if let Some(early) = seen[..late].iter().rposition(|here| here == there) {
                let alike = self.alike(&mut questions.terms, [&path[early], &path[late]], there);
                demands.push(!alike);
            }
        }
        demands
    }

    /// What is compared of a state in a model, given the values of [`terms_of`].
    fn seen(&self, state: &State, values: &[bool]) -> Seen {
        let mut values = values.iter().copied();
        let mut next = |count: usize| values.by_ref().take(count).collect::<Vec<bool>>();
        let visibility = self.checked.visibility;
        let mut globals = next(state.globals.len());
        for (global, value) in globals.iter_mut().enumerate() {
            *value &= !visibility.ignores_global(global);
        }
        let held = next(1)[0];
        let moved = next(state.moved.len());
        let holder = if held { moved.iter().position(|&moved| moved) } else { None };
        let places = state.places.iter().map(|place| {
            let exists = next(1)[0];
            let at = next(place.at.len()).iter().position(|&here| here);
            let values = next(place.values.len());
            let at = at.filter(|_| exists)?;
            let listed = self.system.positions[at].iter();
            Some((at, listed.map(|&position| values[position as usize]).collect()))
        });
        let places = places.collect();
        Seen { globals, held, holder, places }
    }

    /// Whether two states are alike, with the control of the given one.
    fn alike(&self, terms: &mut Terms, states: [&State; 2], seen: &Seen) -> Term {
        let visibility = self.checked.visibility;
        let mut all = Vec::new();
        for global in (0..seen.globals.len()).filter(|&global| !visibility.ignores_global(global)) {
            all.push(terms.arena.iff(states[0].globals[global], states[1].globals[global]));
        }
        for state in states {
            all.push(if seen.held { state.held } else { !state.held });
            all.extend(seen.holder.map(|holder| state.moved[holder]));
        }
        for (place, thread) in seen.places.iter().enumerate() {
            let [first, second] = states.map(|state| &state.places[place]);
            let Some((at, _)) = thread else {
                all.extend([!first.exists, !second.exists]);
                continue;
            };
            all.extend([first.at[*at], second.at[*at]]);
            for &position in self.system.positions[*at] {
                all.push(terms.arena.iff(first.values[position as usize], second.values[position as usize]));
            }
        }
        terms.arena.and_all(all)
    }
}

/// What is compared of a state: the globals, whether the system is held and by whom, and the threads with the
/// listed values.
#[derive(PartialEq, Eq)]
struct Seen {
    globals: Vec<bool>,
    held: bool,
    holder: Option<usize>,
    places: Vec<Option<(usize, Vec<bool>)>>,
}

/// All terms that a state consists of.
fn terms_of(state: &State) -> Vec<Term> {
    let mut all = state.globals.clone();
    all.push(state.held);
    all.extend(&state.moved);
    for Place { exists, at, values } in &state.places {
        all.push(*exists);
        all.extend(at);
        all.extend(values);
    }
    all
}

/// Whether the cut in one place does not come after the cut in the next one, if there is a thread.
fn sorted(terms: &mut Terms, first: &Place, second: &Place) -> Term {
    let mut all = Vec::with_capacity(first.at.len());
    // Whether the second thread is at an earlier cut.
    let mut earlier = Term::FALSE;
    for (&here, &there) in first.at.iter().zip(&second.at) {
        all.push(!terms.arena.and(here, earlier));
        earlier = terms.arena.or(earlier, there);
    }
    terms.arena.and_all(all)
}
