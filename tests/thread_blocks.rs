//! Large steps as formulas against large steps state by state, on random programs with threads.
//!
//! For every cut and for values of all inputs, the formula allows the same results and the same violations as executing the
//! steps one by one, and an assignment with `x$` does the same to other threads.

mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::check::prepare;
use cusp::model::{Property, Task, Var};
use cusp::source::Source;
use cusp::threads::explicit::{self, Outcome, Thread, View};
use cusp::threads::formula::{Block, Blocks, Creation, End, Instance};
use cusp::threads::{Bits, Location, Reductions, StepId, ThreadSystem};
use cusp_encodings::{Term, TermArena, VarId};
use support::odd_labels::with_odd_labels;
use support::program::Mode;
use support::random_programs::{concurrent, concurrent_in};
use support::rng::Rng;
use support::{RandomProgram, for_each_seed, options_of};

/// States on the way of a large step.
const LIMIT: usize = 1 << 16;
/// Values of the inputs that are tried for every cut, and of other threads for every assignment with `x$`.
const MOST_VIEWS: usize = 32;
const MOST_OTHERS: usize = 8;

/// A result of a large step, as both sides describe it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reached {
    shared: Bits,
    thread: Option<Thread>,
    created: Option<Thread>,
    at_bound: bool,
    passive: Option<StepId>,
}

impl Reached {
    fn of(outcome: &Outcome) -> Self {
        let (created, at_bound) = match &outcome.creation {
            explicit::Creation::None => (None, false),
            explicit::Creation::New(thread) => (Some(thread.clone()), false),
            explicit::Creation::AtBound => (None, true),
        };
        Self {
            shared: outcome.shared.clone(),
            thread: outcome.thread.clone(),
            created,
            at_bound,
            passive: outcome.passive.as_ref().map(|passive| passive.step),
        }
    }
}

/// The values of six variables in all 64 assignments.
const WORDS: [u64; 6] = [
    0xAAAA_AAAA_AAAA_AAAA,
    0xCCCC_CCCC_CCCC_CCCC,
    0xF0F0_F0F0_F0F0_F0F0,
    0xFF00_FF00_FF00_FF00,
    0xFFFF_0000_FFFF_0000,
    0xFFFF_FFFF_0000_0000,
];

/// All values of some terms under assignments that satisfy a guard.
fn solutions(arena: &TermArena, guard: Term, terms: &[Term]) -> BTreeSet<Vec<bool>> {
    let mut found = BTreeSet::new();
    if guard == Term::FALSE {
        return found;
    }
    let roots: Vec<Term> = std::iter::once(guard).chain(terms.iter().copied()).collect();
    let support = arena.support(&roots);
    assert!(support.len() <= 22, "{} choices are too many to try all", support.len());
    // The first six variables have all values within a word.
    for round in 0..1_u64 << support.len().saturating_sub(6) {
        let word = |var: VarId| {
            let position = support.iter().position(|&it| it == var).expect("a variable of the terms");
            match WORDS.get(position) {
                Some(&word) => word,
                None if round >> (position - 6) & 1 == 1 => u64::MAX,
                None => 0,
            }
        };
        let words = arena.simulate(&roots, word);
        for bit in (0..64).filter(|bit| words[0] >> bit & 1 == 1) {
            found.insert(words[1..].iter().map(|word| word >> bit & 1 == 1).collect());
        }
    }
    found
}

/// All vectors of values for some positions, or a random choice of them if there are too many.
fn valuations(positions: &[usize], most: usize, rng: &mut Rng) -> Vec<Bits> {
    let with = |values: u64| {
        let mut bits = Bits::default();
        for (i, &position) in positions.iter().enumerate() {
            bits.set(position, values >> (i % 64) & 1 == 1);
        }
        bits
    };
    if positions.len() < 16 && 1 << positions.len() <= most {
        return (0..1 << positions.len()).map(with).collect();
    }
    let mut random = || (0..4).fold(0, |word, _| word << 16 | rng.below(1 << 16) as u64);
    (0..most).map(|_| with(random())).collect()
}

/// Views that were compared, and those of them that only agree about values that matter all the way.
static COMPARED: AtomicUsize = AtomicUsize::new(0);
static EXCUSED: AtomicUsize = AtomicUsize::new(0);

struct Comparison<'a> {
    system: &'a ThreadSystem<'a>,
    blocks: &'a Blocks<'a>,
    globals: Vec<usize>,
}

/// A block with constants for its inputs.
struct Fixed {
    arena: TermArena,
    instance: Instance,
}

impl Comparison<'_> {
    fn fix(&self, block: &Block, view: &View, at_bound: bool) -> Fixed {
        let mut arena = TermArena::new();
        let inputs = &block.inputs;
        let instance = self.blocks.instantiate(block, &mut arena, |arena, var| {
            let global = inputs.shared.iter().position(|input| *input == Some(var));
            let value = inputs.values.iter().find(|(_, input)| *input == var);
            match (global, value) {
                (Some(global), _) => Term::constant(view.shared.get(global)),
                (_, Some(&(position, _))) => Term::constant(view.thread.values.get(position as usize)),
                _ if var == inputs.holds => Term::constant(view.thread.holds),
                _ if var == inputs.at_bound => Term::constant(at_bound),
                _ => arena.fresh(),
            }
        });
        Fixed { arena, instance }
    }

    /// The terms of a result, and how to read them.
    fn terms(&self, end: &End, instance: &Instance) -> Vec<Term> {
        let shared = self.globals.iter().map(|&global| end.shared[global]);
        let values = end.values.iter().map(|&(_, term)| term);
        let created = end.created.iter().map(|&(_, term)| term);
        shared.chain(values).chain(created).chain([end.holds]).map(|term| instance.term(term)).collect()
    }

    fn read(&self, end: &End, values: &[bool]) -> Reached {
        let mut values = values.iter().copied();
        let mut bits = |positions: &mut dyn Iterator<Item = usize>| {
            let mut bits = Bits::default();
            positions.for_each(|position| bits.set(position, values.next().expect("a value")));
            bits
        };
        let shared = bits(&mut self.globals.iter().copied());
        let own = bits(&mut end.values.iter().map(|&(position, _)| position as usize));
        let new = bits(&mut end.created.iter().map(|&(position, _)| position as usize));
        let holds = values.next().expect("a value");
        let created = match end.creation {
            Creation::New(location) => Some(Thread { location, values: new, holds: false }),
            _ => None,
        };
        Reached {
            shared,
            thread: end.to.map(|location| Thread { location, values: own, holds }),
            created,
            at_bound: end.creation == Creation::AtBound,
            passive: end.passive,
        }
    }

    /// Compares the large steps from one state of a thread.
    fn view(&self, block: &Block, view: &View, others: &[Thread]) -> Result<(), String> {
        let listed = self.system.large_steps(view, LIMIT).map_err(|_| "too many results".to_owned())?;
        let is_bad = |outcome: &Outcome| {
            let created = match &outcome.creation {
                explicit::Creation::New(thread) => Some(thread),
                _ => None,
            };
            outcome.thread.iter().chain(created).any(|thread| self.system.is_forbidden(thread.location))
        };
        let expected: BTreeSet<Reached> =
            listed.outcomes().filter(|outcome| !is_bad(outcome)).map(Reached::of).collect();
        let violates =
            self.system.is_forbidden(block.start) || listed.violates() || listed.outcomes().any(is_bad);
        let mut found = BTreeSet::new();
        let mut fails = false;
        for at_bound in [false, true] {
            let Fixed { mut arena, instance } = self.fix(block, view, at_bound);
            fails |= !solutions(&arena, instance.term(block.fails), &[]).is_empty();
            for end in &block.ends {
                let guard = instance.term(end.guard);
                for values in solutions(&arena, guard, &self.terms(end, &instance)) {
                    let result = self.read(end, &values);
                    if (result.at_bound && !at_bound) || (result.created.is_some() && at_bound) {
                        return Err(format!("{result:?} is possible although at_bound is {at_bound}"));
                    }
                    found.insert(result);
                }
                if let (Some(step), false) = (end.passive, at_bound) {
                    self.passive(&mut arena, &instance, end, step, view, others)?;
                }
            }
            self.paths(block, &arena, &instance)?;
        }
        // Behind a label that violates the property, only the listed steps go on.
        let is_cut_off = violates && !self.system.asserts();
        let agree = |found: &BTreeSet<Reached>, expected: &BTreeSet<Reached>| {
            found == expected || is_cut_off && found.is_subset(expected)
        };
        COMPARED.fetch_add(1, Ordering::Relaxed);
        if !agree(&found, &expected) {
            // What is behind a call that cannot return is not alive before it, but alive where it would return. Such a
            // value is false in listed states then, and arbitrary or kept in formulas.
            let alive = self.alive_throughout(block.start);
            let without = |all: &BTreeSet<Reached>| -> BTreeSet<Reached> {
                let mut all: Vec<Reached> = all.iter().cloned().collect();
                for thread in all.iter_mut().filter_map(|it| it.thread.as_mut()) {
                    thread.values.keep(&alive);
                }
                all.into_iter().collect()
            };
            if !agree(&without(&found), &without(&expected)) {
                let missing: Vec<_> = expected.difference(&found).collect();
                let wrong: Vec<_> = found.difference(&expected).collect();
                return Err(format!("from {view:?}: missing {missing:?}, wrong {wrong:?}"));
            }
            EXCUSED.fetch_add(1, Ordering::Relaxed);
        }
        if fails != violates {
            return Err(format!("from {view:?}: the formula says {fails}, the steps say {violates}"));
        }
        Ok(())
    }

    /// The positions of values that matter at a cut and everywhere on the way to the next ones.
    fn alive_throughout(&self, cut: Location) -> Bits {
        let mut alive = self.system.live(cut).clone();
        let mut seen = BTreeSet::from([cut]);
        let mut open = vec![cut];
        while let Some(location) = open.pop() {
            alive.keep(self.system.live(location));
            let next = self.system.steps_from(location).filter_map(|(_, step)| step.to);
            open.extend(next.filter(|&to| !self.system.is_cut(to) && seen.insert(to)));
        }
        alive
    }

    /// Under random choices, the path that a block describes leads from its start to an end or a violation.
    fn paths(&self, block: &Block, arena: &TermArena, instance: &Instance) -> Result<(), String> {
        for seed in 0..4 {
            let is_true = |term: Term| {
                let value = |var| cusp_encodings::random_word(seed, var);
                arena.simulate(&[instance.term(term)], value)[0] & 1 == 1
            };
            let ends: Vec<&End> = block.ends.iter().filter(|end| is_true(end.guard)).collect();
            let failures: Vec<_> = block.failures.iter().filter(|failure| is_true(failure.guard)).collect();
            if ends.len() + failures.len() > 1 {
                return Err(format!("several ends at once: {ends:?}, {failures:?}"));
            }
            let (steps, violation) = self.blocks.path(block, is_true);
            if violation != failures.first().map(|failure| (failure.violation, failure.by_created)) {
                return Err(format!("the path {steps:?} violates {violation:?}, but not {failures:?}"));
            }
            let mut at = Some(block.start);
            for &step in &steps {
                let step = self.system.step(step);
                if at != Some(step.from) {
                    return Err(format!("the path {steps:?} has gaps"));
                }
                at = step.to;
            }
            if let [end] = ends[..]
                && end.to != at
            {
                return Err(format!("the path {steps:?} leads to {at:?} instead of {:?}", end.to));
            }
        }
        Ok(())
    }

    /// Compares what an assignment with `x$` does to other threads.
    fn passive(
        &self,
        arena: &mut TermArena,
        instance: &Instance,
        end: &End,
        step: StepId,
        view: &View,
        others: &[Thread],
    ) -> Result<(), String> {
        let system = self.system;
        let listed = system.large_steps(view, LIMIT).map_err(|_| "too many results".to_owned())?;
        let base = system.context(system.step(step).from).base;
        for other in others {
            let mut expected = BTreeSet::new();
            for outcome in listed.outcomes() {
                let Some(passive) = outcome.passive.as_ref().filter(|passive| passive.step == step) else {
                    continue;
                };
                let images =
                    system.passive_images(passive, other, LIMIT).map_err(|_| "too many images".to_owned())?;
                expected.extend(images.into_iter().map(|image| (Reached::of(outcome), image)));
            }
            let before = |_: &mut TermArena, var: Var| {
                Term::constant(match var {
                    Var::Global(i) => view.shared.get(i as usize),
                    Var::Local(i) => view.thread.values.get((base + i) as usize),
                })
            };
            let globals = system.program().globals.len();
            let after = |_: &mut TermArena, var: Var| instance.term(end.own(globals, base, var));
            let value = |position: u32| Term::constant(other.values.get(position as usize));
            let (condition, changed) =
                system.passive_terms(arena, step, before, after, other.location, value);
            let guard = arena.and(instance.term(end.guard), condition);
            let mut terms = self.terms(end, instance);
            let own = terms.len();
            terms.extend(changed.iter().map(|&(_, term)| term));
            let mut found = BTreeSet::new();
            for values in solutions(arena, guard, &terms) {
                let mut image = other.clone();
                for (&(position, _), &value) in changed.iter().zip(&values[own..]) {
                    image.values.set(position as usize, value);
                }
                found.insert((self.read(end, &values[..own]), image));
            }
            if found != expected {
                return Err(format!("{step:?} does to {other:?}: {found:?} instead of {expected:?}"));
            }
        }
        Ok(())
    }
}

fn compare(task: &Task, reductions: Reductions) -> Result<(), String> {
    let system = ThreadSystem::new(task, reductions, Some(2)).map_err(|reason| reason.to_string())?;
    let blocks = Blocks::new(&system);
    let globals: Vec<usize> = system.relevance.globals().map(|global| global as usize).collect();
    let mut rng = Rng::new(7);
    let cuts: Vec<Location> = system.cuts().collect();
    let others: Vec<Thread> = (0..MOST_OTHERS)
        .map(|_| {
            let location = *rng.pick(&cuts);
            let positions: Vec<usize> = system.live(location).iter().collect();
            let values = valuations(&positions, 1, &mut rng).swap_remove(0);
            Thread { location, values, holds: false }
        })
        .collect();
    let comparison = Comparison { system: &system, blocks: &blocks, globals };
    for block in blocks.blocks() {
        let positions: Vec<usize> = system.live(block.start).iter().collect();
        let inputs = comparison.globals.len() + positions.len() + 1;
        // The globals, the values and whether the thread holds the system, in one vector.
        let all: Vec<usize> = (0..inputs).collect();
        for values in valuations(&all, MOST_VIEWS, &mut rng) {
            let mut view = View {
                shared: Bits::default(),
                thread: Thread { location: block.start, values: Bits::default(), holds: values.get(0) },
            };
            for (i, &global) in comparison.globals.iter().enumerate() {
                view.shared.set(global, values.get(1 + i));
            }
            for (i, &position) in positions.iter().enumerate() {
                view.thread.values.set(position, values.get(1 + comparison.globals.len() + i));
            }
            comparison.view(block, &view, &others)?;
        }
    }
    Ok(())
}

/// Compares everything that is asked about a program, with all reductions and without each of them.
fn check(text: &str) -> Result<(), String> {
    let source = Source::new("random.bp", text);
    let prepared = prepare(&source, &options_of(text));
    let task = prepared.map_err(|findings| cusp::diagnostic::render(&source, &findings, false))?.task;
    let mut tasks = vec![task.clone()];
    for label in ["L0", "L1", "N0"] {
        if task.program.procedures.iter().any(|procedure| procedure.nodes_labelled(label).next().is_some()) {
            tasks.push(Task { property: Property::LabelUnreachable(label.to_owned()), ..task.clone() });
        }
    }
    for task in &tasks {
        for relevance in [false, true] {
            for large_steps in [false, true] {
                let reductions = Reductions { relevance, large_steps };
                compare(task, reductions)
                    .map_err(|why| format!("{reductions:?}, {:?}: {why}", task.property))?;
            }
        }
    }
    Ok(())
}

fn check_all(count: u64, generator: impl Fn(u64) -> RandomProgram + Sync) {
    for_each_seed(count, generator, check);
    let [compared, excused] = [&COMPARED, &EXCUSED].map(|counter| counter.load(Ordering::Relaxed));
    assert!(compared >= 1_000 && excused * 20 <= compared, "{excused} of {compared} comparisons are excused");
}

#[test]
fn formulas_and_listed_steps_agree() {
    check_all(50, concurrent);
}

#[test]
fn formulas_and_listed_steps_agree_at_a_bound_of_threads() {
    check_all(50, |seed| concurrent_in(Mode::Threads(2), seed));
}

#[test]
fn formulas_and_listed_steps_agree_on_copies_of_main() {
    check_all(25, |seed| concurrent_in(Mode::Copies(2), seed));
    check_all(25, |seed| concurrent_in(Mode::AnyCopies, seed));
}

#[test]
fn formulas_and_listed_steps_agree_in_the_dialect_of_getafix() {
    check_all(50, |seed| concurrent_in(Mode::Getafix, seed));
}

#[test]
fn formulas_and_listed_steps_agree_on_labels_in_odd_places() {
    check_all(30, |seed| with_odd_labels(concurrent(seed), seed));
}
