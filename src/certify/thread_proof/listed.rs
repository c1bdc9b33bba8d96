//! Listed states: the start is listed, and so is whatever a large step of a thread leads to.
//!
//! What a thread can do depends on the globals and on the thread only. So it is computed once for all listed states with
//! the same globals and the same thread, and then looked up in a table of the listed states.

use rustc_hash::FxHashMap;

use super::explicit::{Creation, End, Executor, Moment, Partial, PassiveMove};
use super::independence::Independence;
use super::large_steps::LargeSteps;
use super::{Checked, control::StackId};
use crate::certify::{Stop, poll, reject};
use crate::evidence::threads::{Followed, ListedStates, ThreadAtCut};
use crate::evidence::trace::Valuation;
use crate::model::Var;

/// Checks that listed states are an inductive set without a violation.
pub(super) fn check(checked: &Checked<'_>, listed: &ListedStates) -> Result<(), Stop> {
    let mut checker = Checker::new(checked, listed)?;
    checker.start()?;
    let budget = checked.control.budget;
    for (number, (shared, threads)) in listed.states.iter().enumerate() {
        if number % 1024 == 0 {
            poll(budget)?;
        }
        checker.state(number, shared, threads).map_err(|stop| stop.at(format_args!("state {number}")))?;
    }
    Ok(())
}

/// Told the other threads after a passive move.
type Visit<'v, 'a> = dyn FnMut(&Checker<'a>, Vec<u32>) -> Result<(), Stop> + 'v;

/// A thread or values that are not listed.
const MISSING: u32 = u32::MAX;

/// The end of a large step, by numbers of listed things.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Outcome {
    shared: u32,
    /// `None` if the thread has ended.
    thread: Option<u32>,
    holds: bool,
    new: New,
    /// A number in [`Checker::moves`].
    passive: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum New {
    None,
    AtBound,
    Thread(u32),
}

struct Checker<'a> {
    listed: &'a ListedStates,
    large_steps: &'a LargeSteps,
    executor: Executor<'a>,
    shared: FxHashMap<&'a Valuation, u32>,
    threads: FxHashMap<&'a ThreadAtCut, u32>,
    states: FxHashMap<(u32, &'a [u32]), u32>,
    /// For states from which only some threads are followed, these threads and the rank.
    followed: FxHashMap<u32, &'a Followed>,
    independence: Independence<'a>,
    /// For the globals and a thread, and whether there are few enough threads to start another one: all its large steps,
    /// or `None` if one of them may violate the property.
    outcomes: FxHashMap<(u32, u32, bool), Option<Vec<Outcome>>>,
    moves: Vec<PassiveMove>,
    /// What becomes of a thread by a passive move.
    images: FxHashMap<(u32, u32), Vec<u32>>,
}

fn is_increasing(list: &[u32], below: usize) -> bool {
    list.windows(2).all(|pair| pair[0] < pair[1]) && list.last().is_none_or(|&last| (last as usize) < below)
}

impl<'a> Checker<'a> {
    /// Checks that the list is well-formed, and prepares the tables.
    fn new(checked: &'a Checked<'a>, listed: &'a ListedStates) -> Result<Self, Stop> {
        let Checked { control, visibility, large_steps } = checked;
        if !is_increasing(&listed.globals, control.program.globals.len()) {
            return reject("the fixed globals are not in order, or do not exist");
        }
        if listed.positions.len() != control.cuts.len() {
            return reject("the fixed positions are not given for every cut");
        }
        let mut fixed = Vec::with_capacity(control.cuts.len());
        for (cut, (positions, stack)) in listed.positions.iter().zip(&control.cuts).enumerate() {
            let width = stack.map_or(0, |stack| control.stack(stack).width);
            if stack.is_some() && !is_increasing(positions, width) {
                return reject(format!("the fixed positions of cut {cut} are not in order, or do not exist"));
            }
            let mut is_fixed = vec![false; width];
            let positions = positions.iter().filter(|_| stack.is_some());
            positions.for_each(|&position| is_fixed[position as usize] = true);
            fixed.push(is_fixed);
        }
        let executor = Executor { control, visibility, fixed, may_start: true };
        let mut checker = Self {
            listed,
            large_steps,
            executor,
            shared: FxHashMap::default(),
            threads: FxHashMap::default(),
            states: FxHashMap::default(),
            followed: FxHashMap::default(),
            independence: Independence::new(control, large_steps),
            outcomes: FxHashMap::default(),
            moves: Vec::new(),
            images: FxHashMap::default(),
        };
        for (number, shared) in (0..).zip(&listed.shared) {
            let fits = shared.0.len() == listed.globals.len();
            if !fits || checker.shared.insert(shared, number).is_some() {
                return reject(format!("the values {number} of globals do not fit, or are listed twice"));
            }
        }
        for (number, thread) in (0..).zip(&listed.threads) {
            let positions = listed.positions.get(thread.cut as usize);
            let fits = positions.is_some_and(|positions| thread.values.0.len() == positions.len());
            if !fits || checker.threads.insert(thread, number).is_some() {
                return reject(format!("thread {number} does not fit its cut, or is listed twice"));
            }
        }
        checker.read_states()?;
        Ok(checker)
    }

    fn read_states(&mut self) -> Result<(), Stop> {
        let listed = self.listed;
        for (number, (shared, threads)) in (0..).zip(listed.states.iter()) {
            let holders = threads.iter().filter_map(|&t| listed.threads.get(t as usize));
            if shared as usize >= listed.shared.len()
                || threads.last().is_some_and(|&last| last as usize >= listed.threads.len())
                || threads.windows(2).any(|pair| pair[0] > pair[1])
                || holders.filter(|thread| thread.holds).count() > 1
            {
                return reject(format!(
                    "state {number} is not a list of threads in order, at most one of which holds the system"
                ));
            }
            self.states.insert((shared, threads), number);
        }
        for followed in &listed.followed {
            if followed.rank == 0 || self.followed.insert(followed.state, followed).is_some() {
                return reject(format!("state {} is given two ranks, or 0", followed.state));
            }
        }
        Ok(())
    }

    fn rank(&self, state: u32) -> u32 {
        self.followed.get(&state).map_or(0, |followed| followed.rank)
    }

    /// Values of the fixed globals.
    fn project_globals(&self, globals: &Partial) -> Partial {
        let visibility = self.executor.visibility;
        let value =
            |&global: &u32| globals[global as usize].filter(|_| !visibility.ignores_global(global as usize));
        self.listed.globals.iter().map(value).collect()
    }

    /// Values of the fixed positions of a cut.
    fn project_values(&self, stack: StackId, cut: u32, values: &Partial) -> Partial {
        let control = self.executor.control;
        let value = |&position: &u32| {
            let position = position as usize;
            let frame = control.frames(stack).find(|frame| frame.base <= position)?;
            let local = Var::Local((position - frame.base) as u32);
            values[position].filter(|_| !self.executor.visibility.ignores(frame.procedure, local))
        };
        self.listed.positions[cut as usize].iter().map(value).collect()
    }

    /// The numbers of all listed values of globals that complete the given ones, or [`MISSING`].
    fn listed_shared(&self, globals: &Partial) -> Vec<u32> {
        complete(&self.project_globals(globals), |values| {
            self.shared.get(&Valuation(values.to_vec())).copied().unwrap_or(MISSING)
        })
    }

    /// The numbers of all listed threads that complete the given one, or [`MISSING`].
    fn listed_threads(&self, stack: StackId, values: &Partial, holds: bool) -> Vec<u32> {
        let Some(cut) = self.executor.control.cut(stack) else { return vec![MISSING] };
        complete(&self.project_values(stack, cut, values), |values| {
            let thread = ThreadAtCut { cut, holds, values: Valuation(values.to_vec()) };
            self.threads.get(&thread).copied().unwrap_or(MISSING)
        })
    }

    fn start(&self) -> Result<(), Stop> {
        for Moment { globals, stack, values, holds, .. } in self.executor.starts()? {
            if self.executor.control.is_forbidden(stack) {
                return reject("the forbidden label is where the first thread starts");
            }
            for shared in self.listed_shared(&globals) {
                for thread in self.listed_threads(stack, &values, holds) {
                    if !self.states.contains_key(&(shared, &[thread][..])) {
                        return reject("a start state is not listed");
                    }
                }
            }
        }
        Ok(())
    }

    /// The values of a listed thread, and its stack.
    fn thread(&self, thread: u32) -> Result<(StackId, Partial, bool), Stop> {
        let ThreadAtCut { cut, holds, values } = &self.listed.threads[thread as usize];
        let Some(stack) = self.executor.control.cuts[*cut as usize] else {
            return reject(format!("no thread can be at cut {cut}"));
        };
        let mut partial = vec![None; self.executor.control.stack(stack).width];
        for (&position, &value) in self.listed.positions[*cut as usize].iter().zip(&values.0) {
            partial[position as usize] = Some(value);
        }
        Ok((stack, partial, *holds))
    }

    /// Computes all large steps of a thread.
    fn compute(&mut self, shared: u32, thread: u32) -> Result<Option<Vec<Outcome>>, Stop> {
        let mut globals = vec![None; self.executor.control.program.globals.len()];
        let values = &self.listed.shared[shared as usize].0;
        for (&global, &value) in self.listed.globals.iter().zip(values) {
            globals[global as usize] = Some(value);
        }
        let (stack, values, holds) = self.thread(thread)?;
        let from = Moment { globals, stack, values, holds, creation: Creation::None };
        let Some(ends) = self.executor.large_steps(from)? else { return Ok(None) };
        let mut outcomes = Vec::new();
        for End { globals, thread, creation, passive } in ends {
            let passive = passive.map(|passive| {
                self.moves.push(passive);
                self.moves.len() as u32 - 1
            });
            let holds = thread.as_ref().is_some_and(|&(.., holds)| holds);
            let threads = match thread {
                None => vec![None],
                Some((stack, values, holds)) => {
                    self.listed_threads(stack, &values, holds).into_iter().map(Some).collect()
                }
            };
            let created = match creation {
                Creation::None => vec![New::None],
                Creation::AtBound => vec![New::AtBound],
                Creation::New { stack, values } => {
                    self.listed_threads(stack, &values, false).into_iter().map(New::Thread).collect()
                }
            };
            for shared in self.listed_shared(&globals) {
                for &thread in &threads {
                    outcomes.extend(created.iter().map(|&new| Outcome {
                        shared,
                        thread,
                        holds,
                        new,
                        passive,
                    }));
                }
            }
            poll(self.executor.control.budget)?;
        }
        outcomes.sort_unstable();
        outcomes.dedup();
        Ok(Some(outcomes))
    }

    /// Checks all large steps from a state, or those of some threads if that is enough.
    fn state(&mut self, number: usize, shared: u32, threads: &[u32]) -> Result<(), Stop> {
        let listed = self.listed;
        let holder = threads.iter().position(|&thread| listed.threads[thread as usize].holds);
        // A state with a thread where no thread can be is not in reach.
        let unreachable = |thread: u32| {
            let thread = &listed.threads[thread as usize];
            self.large_steps.position((thread.cut, thread.holds)).is_none()
        };
        if threads.iter().any(|&thread| unreachable(thread)) {
            return Ok(());
        }
        let followed = u32::try_from(number).ok().and_then(|number| self.followed.get(&number).copied());
        if let Some(followed) = followed {
            if holder.is_some() {
                return reject("only from a state that nobody holds can some threads be followed");
            }
            return self.some_threads(shared, threads, followed);
        }
        for position in 0..threads.len() {
            let is_repeated = position > 0 && threads[position - 1] == threads[position];
            if is_repeated || holder.is_some_and(|holder| holder != position) {
                continue;
            }
            self.steps(shared, threads, position, &mut |_, _, _| Ok(()))?;
        }
        Ok(())
    }

    /// Checks that the large steps of some threads are enough.
    fn some_threads(&mut self, shared: u32, threads: &[u32], followed: &Followed) -> Result<(), Stop> {
        let listed = self.listed;
        let is_member = |thread: u32| followed.threads.contains(&thread);
        if followed.threads.len() > threads.len() || !followed.threads.iter().all(|one| threads.contains(one))
        {
            return reject("it does not contain all threads that are followed");
        }
        let cut = |thread: u32| listed.threads[thread as usize].cut;
        let mut descends = false;
        for position in 0..threads.len() {
            let is_repeated = position > 0 && threads[position - 1] == threads[position];
            if is_repeated || !is_member(threads[position]) {
                continue;
            }
            let others = threads.iter().copied().filter(|&thread| !is_member(thread)).map(cut);
            self.independence.check(cut(threads[position]), others)?;
            self.steps(shared, threads, position, &mut |checker, outcome, state| {
                descends |= checker.rank(state) < followed.rank;
                if outcome.holds { reject("a thread that is followed holds the system") } else { Ok(()) }
            })?;
        }
        if descends {
            Ok(())
        } else {
            reject("no large step of the threads that are followed leads to a smaller rank")
        }
    }

    /// Checks that the large steps of one thread lead to listed states; `visit` is told the number of each.
    fn steps(
        &mut self,
        shared: u32,
        threads: &[u32],
        position: usize,
        visit: &mut dyn FnMut(&Self, Outcome, u32) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mover = threads[position];
        let may_start = self.executor.control.task.threads.is_none_or(|bound| threads.len() < bound as usize);
        let key = (shared, mover, may_start);
        if !self.outcomes.contains_key(&key) {
            self.executor.may_start = may_start;
            let outcomes = self.compute(shared, mover)?;
            self.outcomes.insert(key, outcomes);
        }
        let Some(Some(outcomes)) = self.outcomes.get(&key).cloned() else {
            return reject(format!("a large step of thread {mover} may violate the property"));
        };
        let mut others = threads.to_vec();
        others.remove(position);
        for outcome in outcomes {
            let new = match outcome.new {
                New::Thread(new) => Some(new),
                New::None | New::AtBound => None,
            };
            let moved: Vec<u32> = outcome.thread.into_iter().chain(new).collect();
            let mut visit = |checker: &Self, mut successor: Vec<u32>| {
                successor.extend(&moved);
                successor.sort_unstable();
                match checker.states.get(&(outcome.shared, &successor[..])) {
                    Some(&state) => visit(checker, outcome, state),
                    None => {
                        reject(format!("a large step of thread {mover} leads to a state that is not listed"))
                    }
                }
            };
            match outcome.passive {
                None => visit(self, others.clone())?,
                Some(passive) => self.passive_successors(passive, &others, &mut visit)?,
            }
        }
        Ok(())
    }

    /// All that can become of the other threads by a passive move, each of them by itself.
    fn passive_successors(
        &mut self,
        passive: u32,
        others: &[u32],
        visit: &mut Visit<'_, 'a>,
    ) -> Result<(), Stop> {
        let mut choices = Vec::with_capacity(others.len());
        for &other in others {
            if !self.images.contains_key(&(passive, other)) {
                let (stack, values, holds) = self.thread(other)?;
                let images = self.executor.images(&self.moves[passive as usize], stack, values)?;
                let mut images: Vec<u32> =
                    images.iter().flat_map(|values| self.listed_threads(stack, values, holds)).collect();
                images.sort_unstable();
                images.dedup();
                self.images.insert((passive, other), images);
            }
            choices.push(self.images[&(passive, other)].clone());
        }
        if choices.iter().any(Vec::is_empty) {
            return Ok(());
        }
        // Counts through all combinations; each of them has to be listed.
        let mut digits = vec![0; choices.len()];
        loop {
            visit(self, choices.iter().zip(&digits).map(|(images, &digit)| images[digit]).collect())?;
            let Some(next) = (0..digits.len()).find(|&i| digits[i] + 1 < choices[i].len()) else {
                return Ok(());
            };
            digits[..next].fill(0);
            digits[next] += 1;
            poll(self.executor.control.budget)?;
        }
    }
}

/// Looks up all completions of partial values. If one of them is missing, the others do not matter.
fn complete(values: &Partial, find: impl Fn(&[bool]) -> u32) -> Vec<u32> {
    let open: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_none()).collect();
    let mut total: Vec<bool> = values.iter().map(|value| value.unwrap_or(false)).collect();
    let mut found = Vec::new();
    loop {
        let number = find(&total);
        if number == MISSING {
            return vec![MISSING];
        }
        found.push(number);
        // The next completion in the order of binary numbers.
        let Some(next) = open.iter().position(|&i| !total[i]) else { return found };
        open[..next].iter().for_each(|&i| total[i] = false);
        total[open[next]] = true;
    }
}
