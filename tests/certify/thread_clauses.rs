//! Universal clauses about threads, against the definition: state by state and large step by large step.

use std::collections::{BTreeSet, HashSet};

use cusp::evidence::threads::{ThreadCube, ThreadInvariant, UniversalClause};
use cusp::evidence::trace::{Frame, Valuation};
use cusp::model::{Property, Task};
use cusp::syntax::ast::Dialect;
use cusp::threads::Reductions;

use super::generate::{Rng, concurrent, task};
use super::oracle_cuts::{Cuts, closure, large_steps, safe};
use super::oracle_threads::{Multiset, Threads};
use super::{accepted, rejection};

const LARGE: Reductions = Reductions { relevance: false, large_steps: true };

/// A thread of a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Local {
    cut: u32,
    holds: bool,
    values: Vec<bool>,
}

/// A state, or some threads of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct View {
    globals: Vec<bool>,
    held: bool,
    threads: Vec<Local>,
}

fn view(cuts: &Cuts, (globals, threads): &Multiset) -> View {
    let local = |(holds, frames): &(bool, Vec<Frame>)| Local {
        cut: cuts.number(frames).expect("a cut"),
        holds: *holds,
        values: frames.iter().flat_map(|frame| frame.locals.0.clone()).collect(),
    };
    let threads: Vec<Local> = threads.iter().map(local).collect();
    View { globals: globals.clone(), held: threads.iter().any(|thread| thread.holds), threads }
}

fn state(task: &Task, cuts: &Cuts, view: &View) -> Multiset {
    let frames = |local: &Local| {
        let mut values = local.values.iter().copied();
        let frame = |&(procedure, node): &_| {
            let count = task.program.procedure(procedure).locals.len();
            Frame { procedure, node, locals: Valuation(values.by_ref().take(count).collect()) }
        };
        (local.holds, cuts.stacks[local.cut as usize].iter().map(frame).collect())
    };
    let state = (view.globals.clone(), view.threads.iter().map(frames).collect());
    Threads::multiset(&Threads::numbered(&state))
}

/// All views of `k` threads of some states, in every order.
fn views(states: &BTreeSet<View>, k: usize) -> BTreeSet<View> {
    let mut found = BTreeSet::new();
    for state in states {
        let mut picks: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..k {
            let longer = |pick: &Vec<usize>| {
                let rest = (0..state.threads.len()).filter(|i| !pick.contains(i));
                rest.map(|i| pick.iter().copied().chain([i]).collect()).collect::<Vec<Vec<usize>>>()
            };
            picks = picks.iter().flat_map(longer).collect();
        }
        for pick in picks {
            let threads = pick.iter().map(|&i| state.threads[i].clone()).collect();
            found.insert(View { threads, ..state.clone() });
        }
    }
    found
}

fn satisfies(cube: &ThreadCube, local: &Local) -> bool {
    let value = |&(position, value): &(u32, bool)| local.values.get(position as usize) == Some(&value);
    cube.cuts.contains(&local.cut)
        && cube.holds.is_none_or(|holds| holds == local.holds)
        && cube.values.iter().all(value)
}

/// Whether a view violates a clause about as many threads.
fn matches(clause: &UniversalClause, view: &View) -> bool {
    clause.globals.iter().all(|&(global, value)| view.globals[global as usize] == value)
        && clause.held.is_none_or(|held| held == view.held)
        && clause.threads.iter().zip(&view.threads).all(|(cube, local)| satisfies(cube, local))
}

/// Whether a state violates a clause.
fn violates(clause: &UniversalClause, state: &View) -> bool {
    let one = BTreeSet::from([state.clone()]);
    views(&one, clause.threads.len()).iter().any(|view| matches(clause, view))
}

/// Leaves out a condition of a clause.
type Attempt = Box<dyn Fn(&mut UniversalClause)>;

/// The clause that excludes one view, with as few conditions as the given views allow.
fn general(view: &View, seen: &BTreeSet<View>, cuts: u32) -> UniversalClause {
    let cube = |local: &Local| ThreadCube {
        cuts: vec![local.cut],
        values: (0..).zip(local.values.iter().copied()).collect(),
        holds: Some(local.holds),
    };
    let mut clause = UniversalClause {
        globals: (0..).zip(view.globals.iter().copied()).collect(),
        held: Some(view.held),
        threads: view.threads.iter().map(cube).collect(),
    };
    let mut attempts: Vec<Attempt> = vec![Box::new(|clause| clause.held = None)];
    for &(global, _) in &clause.globals {
        attempts.push(Box::new(move |clause| clause.globals.retain(|&(other, _)| other != global)));
    }
    for (i, cube) in clause.threads.iter().enumerate() {
        attempts.push(Box::new(move |clause| clause.threads[i].holds = None));
        for &(position, _) in &cube.values {
            attempts.push(Box::new(move |clause| {
                clause.threads[i].values.retain(|&(other, _)| other != position);
            }));
        }
        for cut in 0..cuts {
            attempts.push(Box::new(move |clause| {
                clause.threads[i].cuts.push(cut);
                clause.threads[i].cuts.sort_unstable();
                clause.threads[i].cuts.dedup();
            }));
        }
    }
    for attempt in attempts {
        let mut more = clause.clone();
        attempt(&mut more);
        if !seen.iter().any(|view| matches(&more, view)) {
            clause = more;
        }
    }
    clause
}

/// Clauses about `k` threads that exclude what does not occur, of all that could be made of the given threads.
fn excluding(
    states: &BTreeSet<View>,
    threads: &[Local],
    globals: usize,
    k: usize,
    cuts: u32,
    clauses: &mut Vec<UniversalClause>,
) {
    let seen = views(states, k);
    let mut candidates: Vec<Vec<Local>> = vec![Vec::new()];
    for _ in 0..k {
        let longer = |list: &Vec<Local>| {
            threads
                .iter()
                .map(|local| list.iter().cloned().chain([local.clone()]).collect())
                .collect::<Vec<Vec<Local>>>()
        };
        candidates = candidates.iter().flat_map(longer).collect();
    }
    for bits in 0..1_u128 << globals {
        for threads in &candidates {
            for held in [false, true] {
                let holders = threads.iter().filter(|thread| thread.holds).count();
                if holders > 1 || holders == 1 && !held {
                    continue;
                }
                let globals = Valuation::from_bits(bits, globals).0;
                let view = View { globals, held, threads: threads.clone() };
                let known = seen.contains(&view)
                    || clauses.iter().any(|clause| clause.threads.len() <= k && violates(clause, &view));
                if !known {
                    clauses.push(general(&view, &seen, cuts));
                }
            }
        }
    }
}

/// All threads with the control of some threads.
fn all_values(states: &BTreeSet<View>) -> Vec<Local> {
    let pairs: BTreeSet<(u32, bool, usize)> = states
        .iter()
        .flat_map(|state| &state.threads)
        .map(|local| (local.cut, local.holds, local.values.len()))
        .collect();
    let all = |(cut, holds, width): (u32, bool, usize)| {
        (0..1_u128 << width).map(move |bits| Local {
            cut,
            holds,
            values: Valuation::from_bits(bits, width).0,
        })
    };
    pairs.into_iter().flat_map(all).collect()
}

/// Whether clauses hold in all start states and after all large steps from states with few threads that satisfy
/// them, without a violation. The threads of these states are the given ones.
fn are_inductive(
    task: &Task,
    cuts: &Cuts,
    clauses: &[UniversalClause],
    threads: &[Local],
    most: usize,
) -> bool {
    let oracle = Threads { task };
    let holds = |view: &View| !clauses.iter().any(|clause| violates(clause, view));
    if !oracle.initial().iter().all(|start| holds(&view(cuts, &Threads::multiset(start)))) {
        return false;
    }
    for bits in 0..1_u128 << task.program.globals.len() {
        let mut open = vec![(0, Vec::new())];
        while let Some((from, list)) = open.pop() {
            let held = list.iter().any(|local: &Local| local.holds);
            let globals = Valuation::from_bits(bits, task.program.globals.len()).0;
            let before = View { globals, held, threads: list.clone() };
            if holds(&before) {
                let system = Threads::numbered(&state(task, cuts, &before));
                for thread in &system.threads {
                    if system.holder.is_some_and(|holder| holder != thread.id) {
                        continue;
                    }
                    let (violation, ends) = large_steps(&oracle, cuts, &system, thread.id);
                    if violation || !ends.iter().all(|end| holds(&view(cuts, &Threads::multiset(end)))) {
                        return false;
                    }
                }
            }
            for (i, local) in threads.iter().enumerate().skip(from) {
                if list.len() < most && !(held && local.holds) {
                    open.push((i, list.iter().cloned().chain([local.clone()]).collect()));
                }
            }
        }
    }
    true
}

fn mutate(clauses: &mut Vec<UniversalClause>, rng: &mut Rng) {
    let position = rng.below(clauses.len());
    let clause = &mut clauses[position];
    match rng.below(6) {
        0 => {
            clauses.remove(position);
        }
        1 if !clause.globals.is_empty() => {
            clause.globals.pop();
        }
        2 if !clause.threads.is_empty() => {
            clause.threads.pop();
        }
        3 if !clause.threads.is_empty() => {
            let i = rng.below(clause.threads.len());
            clause.threads[i].values.pop();
        }
        4 if clause.threads.iter().any(|cube| !cube.cuts.is_empty()) => {
            let some: Vec<usize> =
                (0..clause.threads.len()).filter(|&i| !clause.threads[i].cuts.is_empty()).collect();
            let i = rng.pick(&some);
            let left_out = rng.below(clause.threads[i].cuts.len());
            clause.threads[i].cuts.remove(left_out);
        }
        _ => match clause.globals.first_mut() {
            Some((_, value)) => *value = !*value,
            None => clause.held = Some(rng.chance(50)),
        },
    }
}

#[test]
fn accepted_clauses_are_inductive() {
    let (mut whole, mut changed, mut rejected, mut refuted) = (0, 0, 0, 0);
    for seed in 0..700 {
        let mut task = concurrent(seed);
        let Some(cuts) = Cuts::of(&task, LARGE) else { continue };
        if cuts.stacks.len() > 14 {
            continue;
        }
        let Some((violation, set)) = closure(&Threads { task: &task }, &cuts, 150) else { continue };
        let states: BTreeSet<View> = set.iter().map(|element| view(&cuts, element)).collect();
        let threads = all_values(&states);
        if threads.is_empty() || threads.len() > 24 {
            continue;
        }
        let mut rng = Rng::new(seed + 5);
        // Clauses for a bound, or for any number of threads.
        if rng.chance(30) {
            task.threads = None;
        }
        let mut clauses = Vec::new();
        let (globals, count) = (task.program.globals.len(), cuts.stacks.len() as u32);
        for k in 0..=1 + usize::from(rng.chance(50)) {
            excluding(&states, &threads, globals, k, count, &mut clauses);
        }
        for round in 0..6 {
            let proof = cuts.with(ThreadInvariant::Clauses(clauses.clone()));
            if accepted(&task, safe(&proof)) {
                assert!(!violation, "seed {seed}: a proof about an unsafe program: {clauses:?}");
                assert!(
                    are_inductive(
                        &task,
                        &cuts,
                        &clauses,
                        &threads,
                        task.threads.unwrap_or(2).min(2) as usize
                    ),
                    "seed {seed}, round {round}: {clauses:?}"
                );
                whole += usize::from(round == 0);
                changed += usize::from(round > 0);
            } else {
                rejected += 1;
                refuted += usize::from(violation);
            }
            if clauses.is_empty() {
                break;
            }
            mutate(&mut clauses, &mut rng);
        }
    }
    assert!(
        whole > 30 && changed > 30 && rejected > 100 && refuted > 50,
        "{whole} {changed} {rejected} {refuted}"
    );
}

/// Any number of threads, a lock, and what it protects.
const LOCK: &str = "decl lock, busy := F; void main() begin lock := F;
    L: start_thread goto M; goto L;
    M: atomic_begin; assume(!lock); lock := T; atomic_end;
       assert(!busy); busy := T; busy := F; lock := F; end";

/// The proof for the lock: nobody else is where the lock is held, and `busy` is false unless somebody is there.
fn lock_proof() -> (Task, Cuts, Vec<UniversalClause>) {
    let task = task(LOCK, Property::Assertions, None, Dialect::Boom);
    let cuts = Cuts::of(&task, Reductions::ALL).expect("no calls");
    // With four threads, all pairs of threads occur that occur at all.
    let mut bounded = task.clone();
    bounded.threads = Some(4);
    let same = Cuts::of(&bounded, LARGE).expect("no calls");
    let (violation, set) = closure(&Threads { task: &bounded }, &same, 10_000).expect("small");
    assert!(!violation);
    let states: BTreeSet<View> = set
        .iter()
        .filter(|(_, threads)| threads.iter().all(|(_, frames)| cuts.number(frames).is_some()))
        .map(|element| view(&cuts, element))
        .collect();
    let threads: Vec<Local> = all_values(&states);
    let mut clauses = Vec::new();
    for k in 0..=2 {
        excluding(&states, &threads, 2, k, cuts.stacks.len() as u32, &mut clauses);
    }
    (task, cuts, clauses)
}

#[test]
fn a_lock_is_safe_for_any_number_of_threads() {
    let (task, cuts, clauses) = lock_proof();
    let proof = cuts.with(ThreadInvariant::Clauses(clauses.clone()));
    assert!(accepted(&task, safe(&proof)), "{}\n{clauses:#?}", rejection(&task, safe(&proof)));
    // Without any one of some clauses it is no proof.
    let needed: HashSet<usize> = (0..clauses.len())
        .filter(|&left_out| {
            let mut fewer = clauses.clone();
            fewer.remove(left_out);
            !accepted(&task, safe(&cuts.with(ThreadInvariant::Clauses(fewer))))
        })
        .collect();
    assert!(!needed.is_empty());
    assert!(rejection(&task, safe(&cuts.with(ThreadInvariant::Clauses(Vec::new())))).contains("violated"));
}
