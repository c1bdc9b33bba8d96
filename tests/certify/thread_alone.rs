//! Lists of states in which some threads are followed alone: what is accepted about a program says the truth.

use std::collections::HashMap;

use cusp::evidence::threads::{Followed, ThreadInvariant, ThreadProof};
use cusp::evidence::trace::System;
use cusp::model::{Property, Task};
use cusp::syntax::ast::Dialect;
use cusp::threads::Reductions;

use super::generate::{Rng, task};
use super::oracle_cuts::{Cuts, closure, large_steps, safe};
use super::oracle_threads::{Multiset, Threads};
use super::{accepted, rejection};

const LIMIT: usize = 400;

/// A state with the numbers of its successors, by thread, and the thread that is followed alone.
struct Explored {
    state: Multiset,
    next: Vec<(usize, Vec<usize>)>,
    alone: Option<usize>,
}

/// Explores with large steps. In some states, only one thread is followed. `None` if there is a violation on the way,
/// or too much to explore.
fn explore(
    task: &Task,
    cuts: &Cuts,
    mut alone: impl FnMut(&System) -> Option<usize>,
) -> Option<Vec<Explored>> {
    let oracle = Threads { task };
    let mut numbers: HashMap<Multiset, usize> = HashMap::new();
    let mut found: Vec<Explored> = Vec::new();
    let mut number = |state: Multiset, found: &mut Vec<Explored>| {
        *numbers.entry(state.clone()).or_insert_with(|| {
            found.push(Explored { state, next: Vec::new(), alone: None });
            found.len() - 1
        })
    };
    for start in oracle.initial() {
        number(Threads::multiset(&start), &mut found);
    }
    let mut position = 0;
    while position < found.len() {
        let state = Threads::numbered(&found[position].state);
        let only = if state.holder.is_none() { alone(&state) } else { None };
        for (at, thread) in state.threads.iter().enumerate() {
            if only.is_some_and(|only| only != at) || state.holder.is_some_and(|holder| holder != thread.id) {
                continue;
            }
            let (violation, ends) = large_steps(&oracle, cuts, &state, thread.id);
            if violation || found.len() > LIMIT {
                return None;
            }
            let next = ends.iter().map(|end| number(Threads::multiset(end), &mut found)).collect();
            found[position].next.push((at, next));
        }
        found[position].alone = only;
        position += 1;
    }
    Some(found)
}

/// The smallest ranks, if there are any.
fn ranks(found: &[Explored]) -> Vec<u32> {
    let mut ranks: Vec<u32> =
        found.iter().map(|state| if state.alone.is_some() { u32::MAX } else { 0 }).collect();
    for _ in 0..found.len() {
        for (position, state) in found.iter().enumerate().filter(|(_, state)| state.alone.is_some()) {
            let next = state.next.iter().flat_map(|(_, next)| next);
            let least = next.map(|&next| ranks[next]).min().unwrap_or(u32::MAX);
            ranks[position] = ranks[position].min(least.saturating_add(1));
        }
    }
    ranks
}

/// The proof that lists these states.
fn proof(cuts: &Cuts, found: &[Explored], ranks: &[u32]) -> Option<ThreadProof> {
    let states: Option<Vec<_>> = found.iter().map(|explored| cuts.state(&explored.state)).collect();
    let states = states?;
    let mut proof = cuts.proof(&states);
    let ThreadInvariant::States(listed) = &mut proof.invariant else { unreachable!("a list") };
    for ((explored, (shared, threads)), &rank) in found.iter().zip(&states).zip(ranks) {
        let Some(alone) = explored.alone else { continue };
        let number = |thread| listed.threads.iter().position(|other| other == thread).expect("listed") as u32;
        let shared = listed.shared.iter().position(|other| other == shared).expect("listed") as u32;
        let mut numbers: Vec<u32> = threads.iter().map(number).collect();
        let thread = numbers[alone];
        numbers.sort_unstable();
        let state = listed.states.iter().position(|state| state == (shared, &numbers[..]));
        let state = state.expect("listed") as u32;
        listed.followed.push(Followed { state, threads: vec![thread], rank });
    }
    listed.followed.sort_by_key(|followed| followed.state);
    Some(proof)
}

/// Two threads with a few statements each, most of which concern the other thread now and then.
fn two_threads(rng: &mut Rng) -> Task {
    let statements = [
        "a := T;",
        "a := !a;",
        "b := F;",
        "b := !b;",
        "b := a;",
        "x := *;",
        "x := !x;",
        "x := a;",
        "assume(a);",
        "assume(x | !b);",
        "assert(!a | b);",
        "assert(x | !x);",
        "assert(!x | !b);",
        "atomic_begin; a := b; b := *; atomic_end;",
        "while (*) do x := !x; od",
        "if (x) then b := !b; else skip; fi",
        "x$ := F;",
    ];
    let mut block = |count: usize| {
        let mut text = String::new();
        for _ in 0..count {
            // Steps with `x$` concern everybody, so they are rare.
            let rare = usize::from(!rng.chance(10));
            text.extend([statements[rng.below(statements.len() - rare)], " "]);
        }
        text
    };
    let (first, second, third) = (block(1), block(3), block(3));
    let text = format!(
        "decl a, b := F; void main() begin decl x; a := F; {first} start_thread f(); {second} end
         void f() begin decl x; {third} end"
    );
    task(&text, Property::Assertions, rng.pick(&[None, Some(2)]), Dialect::Boom)
}

#[test]
fn threads_that_are_followed_alone_hide_no_violation() {
    let (mut proofs, mut refused, mut bogus) = (0, 0, 0);
    for seed in 0..600 {
        let mut rng = Rng::new(seed + 7);
        let task = two_threads(&mut rng);
        let reductions = Reductions { relevance: false, large_steps: true };
        let cuts = Cuts::of(&task, reductions).expect("no calls");
        let Some((violation, _)) = closure(&Threads { task: &task }, &cuts, LIMIT) else { continue };
        for percent in [50, 90, 100, 100] {
            // Mostly the same thread, as an engine would choose.
            let preferred = rng.below(2);
            let alone = |state: &System| {
                let several = state.threads.len() > 1 && rng.chance(percent);
                several.then(|| if rng.chance(80) { preferred } else { 1 - preferred })
            };
            let Some(found) = explore(&task, &cuts, alone) else { continue };
            if found.iter().all(|state| state.alone.is_none()) {
                continue;
            }
            let Some(proof) = proof(&cuts, &found, &ranks(&found)) else { continue };
            let accepts = accepted(&task, safe(&proof));
            assert!(!(accepts && violation), "seed {seed}, {percent}: {proof:?}");
            proofs += usize::from(accepts);
            refused += usize::from(!accepts);
            bogus += usize::from(violation);
        }
    }
    assert!(proofs > 20 && refused > 100 && bogus > 20, "{proofs} {refused} {bogus}");
}

/// Two threads that count with variables of their own.
const APART: &str = "decl a, b := F; void main() begin start_thread f();
    a := T; a := !a; assert(!a); end
    void f() begin b := T; b := !b; assert(!b); end";

#[test]
fn independent_threads_may_be_followed_one_after_the_other() {
    let task = task(APART, Property::Assertions, None, Dialect::Boom);
    let cuts = Cuts::of(&task, Reductions::ALL).expect("no recursion");
    // Always the same thread, as long as there are two.
    let alone = |state: &System| (state.threads.len() > 1).then_some(0);
    let found = explore(&task, &cuts, alone).expect("small");
    let all = explore(&task, &cuts, |_| None).expect("small");
    assert!(found.len() < all.len(), "{} {}", found.len(), all.len());
    let ranks = ranks(&found);
    let right = proof(&cuts, &found, &ranks).expect("at cuts");
    assert!(accepted(&task, safe(&right)), "{}", rejection(&task, safe(&right)));
    // The same without one of the two threads' progress: the ranks do not decrease.
    let flat: Vec<u32> = ranks.iter().map(|&rank| rank.min(1)).collect();
    assert!(flat != ranks, "some rank is larger");
    let wrong = proof(&cuts, &found, &flat).expect("at cuts");
    assert!(rejection(&task, safe(&wrong)).contains("smaller rank"));
    // If the other thread looks at `a`, it is not independent.
    let text = APART.replace("assert(!b)", "assert(!b | !a | a)");
    let other = super::generate::task(&text, Property::Assertions, None, Dialect::Boom);
    let cuts = Cuts::of(&other, Reductions::ALL).expect("no recursion");
    let found = explore(&other, &cuts, alone).expect("small");
    let wrong = proof(&cuts, &found, &self::ranks(&found)).expect("at cuts");
    assert!(rejection(&other, safe(&wrong)).contains("depend"));
}
