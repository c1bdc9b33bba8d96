//! Certificates of system states against a naive check of the same sets, state by state.

use std::collections::HashSet;

use cusp::evidence::{Certificate, SystemState, Verdict};
use cusp::model::cube::Cube;
use cusp::model::{Node, ProcId, Property, Task};
use cusp::syntax::ast::Dialect;

use super::generate::{Rng, concurrent, task};
use super::oracle_threads::Threads;
use super::{accepted, rejection};

fn safe(states: &[SystemState]) -> Verdict {
    Verdict::Safe(Certificate::SystemStates(states.to_vec()))
}

/// Both checks of one certificate must agree; tells what they say.
fn agree(task: &Task, states: &[SystemState], what: &str, seed: u64) -> Option<bool> {
    let oracle = Threads { task };
    let set = states.iter().flat_map(|state| oracle.elements(state)).collect();
    let (violation, missing) = oracle.obligations(&set)?;
    let inductive = !violation && missing.is_empty();
    let accepts = accepted(task, safe(states));
    assert_eq!(accepts, inductive, "seed {seed}, {what}: {violation} {missing:?}\n{states:#?}");
    Some(accepts)
}

#[test]
fn random_certificates_are_accepted_if_and_only_if_they_are_inductive() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..300 {
        let task = concurrent(seed);
        let oracle = Threads { task: &task };
        let mut rng = Rng::new(seed + 2_000_000);
        let mut set = Some(HashSet::new());
        for _ in 0..3 {
            set = set.and_then(|set| oracle.closure(set, 1_500));
            let Some(reached) = set.as_ref().filter(|set| !set.is_empty()) else { break };
            let states = oracle.compress(reached, &mut rng);
            let mut fewer = states.clone();
            fewer.remove(rng.below(fewer.len()));
            let mut wider = states.clone();
            let position = rng.below(wider.len());
            wider[position] = Threads::loosened(&wider[position], &mut rng);
            let mut narrower = states.clone();
            let position = rng.below(narrower.len());
            let globals = narrower[position].globals;
            narrower[position].globals = globals.set(0, globals.get(0).or(Some(rng.chance(50))));
            let kinds = [
                ("compressed", &states),
                ("without a state", &fewer),
                ("with a larger state", &wider),
                ("with a smaller state", &narrower),
            ];
            for (what, states) in kinds {
                match agree(&task, states, what, seed) {
                    Some(true) => accepted += 1,
                    Some(false) => rejected += 1,
                    None => {}
                }
            }
            set = Some(wider.iter().flat_map(|state| oracle.elements(state)).collect());
        }
    }
    assert!(accepted > 200 && rejected > 200, "{accepted} accepted, {rejected} rejected");
}

/// A thread that starts another at the same place, under a bound.
fn forking(threads: Option<u32>) -> Task {
    let text = "decl g; void main() begin decl x; L: start_thread goto L; x := !x; assert(x | !x); end";
    task(text, Property::Assertions, threads, Dialect::Boom)
}

fn forking_certificate() -> (Task, Vec<SystemState>) {
    let task = forking(Some(2));
    let oracle = Threads { task: &task };
    let set = oracle.closure(HashSet::new(), 10_000).expect("a small program");
    let states = oracle.compress(&set, &mut Rng::new(3));
    (task, states)
}

#[test]
fn a_proof_for_a_bound_proves_nothing_for_more_threads() {
    let (task, states) = forking_certificate();
    assert!(accepted(&task, safe(&states)));
    for threads in [Some(3), None] {
        let why = rejection(&forking(threads), safe(&states));
        assert!(why.contains("the successor"), "{why}");
    }
}

#[test]
fn malformed_system_states_are_rejected_with_a_sentence() {
    type Damage = fn(&mut SystemState);
    let (task, states) = forking_certificate();
    let damages: [(Damage, &str); 8] = [
        (|state| state.globals = state.globals.with(9, true), "fixes a global"),
        (|state| state.threads.push(Vec::new()), "stack is empty"),
        (|state| state.holder = Some(7), "does not live"),
        (|state| state.threads[0][0].procedure = ProcId::from_index(5), "no procedure p5"),
        (|state| state.threads[0][0].node = Node::from_index(77), "no node n77"),
        (|state| state.threads[0][0].locals = Cube::ANY.with(127, true), "does not have"),
        (|state| state.threads[0][0].node = Node::from_index(1), "has ended"),
        (
            |state| {
                let frame = state.threads[0][0];
                state.threads[0].push(frame);
            },
            "does not wait",
        ),
    ];
    for (damage, sentence) in damages {
        for position in (0..states.len()).filter(|&i| !states[i].threads.is_empty()) {
            let mut damaged = states.clone();
            damage(&mut damaged[position]);
            let why = rejection(&task, safe(&damaged));
            assert!(why.contains(sentence), "{why}");
        }
    }
    assert!(rejection(&task, safe(&[])).contains("the start"));
}

/// Only a thread whose `x` is false sets `h`, and only one whose `x` is true looks at it.
fn correlated(locals: &str) -> Task {
    let text = format!(
        "decl h; void main() begin decl {locals}; h := F; start_thread goto L; assume(!x); h := T; end_thread;
         L: assume(x); assert(!h); end"
    );
    task(&text, Property::Assertions, Some(2), Dialect::Boom)
}

#[test]
fn forks_tie_open_locals_to_their_copies_as_far_as_that_matters() {
    let small = correlated("x");
    let oracle = Threads { task: &small };
    let set = oracle.closure(HashSet::new(), 10_000).expect("a small program");
    let names: Vec<String> = (0..100).map(|i| format!("y{i}")).collect();
    // The same with 100 locals that nothing reads: to decide them all would never end.
    let large = correlated(&format!("x, {}", names.join(", ")));
    for seed in 0..20 {
        let states = oracle.compress(&set, &mut Rng::new(seed));
        assert!(accepted(&small, safe(&states)));
        assert!(accepted(&large, safe(&states)));
        let mut fewer = states.clone();
        fewer.pop();
        assert!(!accepted(&small, safe(&fewer)));
        assert!(!accepted(&large, safe(&fewer)));
    }
}
