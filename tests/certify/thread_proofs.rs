//! Proofs about programs with threads, against the definition of large steps and against all small steps.

use std::collections::HashSet;

use cusp::evidence::threads::ThreadAtCut;
use cusp::evidence::trace::Valuation;
use cusp::model::Task;
use cusp::threads::Reductions;

use super::generate::{Rng, concurrent};
use super::oracle_cuts::{Cuts, closure, obligations, safe};
use super::oracle_threads::{Multiset, Threads};
use super::{accepted, rejection};

const LIMIT: usize = 1_500;

type Listed = Vec<(Valuation, Vec<ThreadAtCut>)>;

/// Random programs without recursion, with all their states; too large ones are left out.
fn programs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Task, HashSet<Multiset>, bool)> {
    seeds.filter_map(|seed| {
        let task = concurrent(seed);
        Cuts::of(&task, Reductions::NONE)?;
        let oracle = Threads { task: &task };
        let set = oracle.closure(HashSet::new(), LIMIT)?;
        let (violation, _) = oracle.obligations(&set)?;
        (!set.is_empty()).then_some((seed, task, set, violation))
    })
}

/// The states at cuts, as a certificate lists them.
fn at_cuts(cuts: &Cuts, set: &HashSet<Multiset>) -> Listed {
    let mut states: Listed = set.iter().filter_map(|element| cuts.state(element)).collect();
    states.sort_by_cached_key(|state| format!("{state:?}"));
    states
}

#[test]
fn states_in_reach_are_a_proof_and_less_is_none() {
    let (mut safe_programs, mut unsafe_programs, mut smaller) = (0, 0, 0);
    for (seed, task, set, violation) in programs(0..400) {
        for reductions in
            [Reductions::ALL, Reductions::NONE, Reductions { relevance: false, large_steps: true }]
        {
            let cuts = Cuts::of(&task, reductions).expect("it was possible before");
            let states = at_cuts(&cuts, &set);
            let proof = cuts.proof(&states);
            if violation {
                unsafe_programs += 1;
                assert!(!accepted(&task, safe(&proof)), "seed {seed}");
                continue;
            }
            safe_programs += 1;
            assert!(
                accepted(&task, safe(&proof)),
                "seed {seed}, {reductions:?}: {}",
                rejection(&task, safe(&proof))
            );
            if task.program.atomic_flag.is_some() {
                // A thread in the middle of a large step takes the flag that another one left behind; at a cut it
                // would not yet be the last to move. Such states are in reach by small steps only, and nothing
                // follows from them that does not follow without them.
                continue;
            }
            // Every state is in reach, so none can be left out.
            let distinct: HashSet<_> = states.iter().map(|state| format!("{state:?}")).collect();
            let mut rng = Rng::new(seed + 1);
            for _ in 0..4 {
                let left_out = rng.below(states.len());
                let without = format!("{:?}", cuts.proof(&states[left_out..=left_out]).invariant);
                let mut fewer = states.clone();
                fewer.retain(|state| {
                    format!("{:?}", cuts.proof(std::slice::from_ref(state)).invariant) != without
                });
                assert!(fewer.len() < states.len() && distinct.len() <= states.len());
                assert!(!accepted(&task, safe(&cuts.proof(&fewer))), "seed {seed}, {reductions:?}");
                smaller += 1;
            }
        }
    }
    assert!(
        safe_programs > 100 && unsafe_programs > 100 && smaller > 400,
        "{safe_programs} {unsafe_programs} {smaller}"
    );
}

#[test]
fn listed_states_are_accepted_iff_large_steps_stay_in_them() {
    let (mut right, mut wrong) = (0, 0);
    for (seed, task, set, _) in programs(1_000..1_300) {
        let oracle = Threads { task: &task };
        let cuts = Cuts::of(&task, Reductions { relevance: false, large_steps: true }).expect("as before");
        let mut set: HashSet<Multiset> =
            set.into_iter().filter(|element| cuts.state(element).is_some()).collect();
        let mut rng = Rng::new(seed + 2);
        for _ in 0..3 {
            // One value of one state changes, and then the set is closed again.
            let mut elements: Vec<&Multiset> = set.iter().collect();
            elements.sort_by_key(|element| format!("{element:?}"));
            let mut changed = elements[rng.below(elements.len())].clone();
            let thread = rng.below(changed.1.len() + 1);
            match changed.1.get_mut(thread) {
                None => changed.0[0] = !changed.0[0],
                Some((_, frames)) => {
                    let depth = rng.below(frames.len());
                    if let Some(value) = frames[depth].locals.0.first_mut() {
                        *value = !*value;
                    }
                }
            }
            changed.1.sort_by_key(|(holds, frames)| format!("{holds} {frames:?}"));
            let changed = Threads::multiset(&Threads::numbered(&changed));
            set.insert(changed);
            for _ in 0..6 {
                let Some((violation, missing)) = obligations(&oracle, &cuts, &set, LIMIT) else { break };
                let is_proof = !violation && missing.is_empty();
                let accepts = accepted(&task, safe(&cuts.proof(&at_cuts(&cuts, &set))));
                assert_eq!(accepts, is_proof, "seed {seed}: {violation} {missing:?}");
                if is_proof {
                    right += 1;
                } else {
                    wrong += 1;
                }
                if missing.is_empty() {
                    break;
                }
                set.extend(missing);
            }
        }
    }
    assert!(right > 50 && wrong > 100, "{right} {wrong}");
}

#[test]
fn no_cuts_prove_an_unsafe_program() {
    // The programs and cuts that look safe, and those of them that are not.
    let (mut proofs, mut refused, mut bogus) = (0, 0, 0);
    for (seed, task, _, violation) in programs(2_000..3_200) {
        let oracle = Threads { task: &task };
        let all = Cuts::of(&task, Reductions { relevance: false, large_steps: false }).expect("as before");
        let few = Cuts::of(&task, Reductions { relevance: false, large_steps: true }).expect("as before");
        let mut rng = Rng::new(seed + 3);
        for round in 0..if violation { 8 } else { 2 } {
            let mut cuts = if round % 2 == 0 { few.clone() } else { all.clone() };
            for _ in 0..=rng.below(if round % 2 == 0 { 2 } else { all.stacks.len() }) {
                let left_out = rng.below(cuts.stacks.len());
                if cuts.stacks.len() > 1 {
                    cuts.stacks.remove(left_out);
                    cuts.positions.remove(left_out);
                }
            }
            let Some((violates, set)) = closure(&oracle, &cuts, LIMIT) else { continue };
            if violates {
                continue;
            }
            bogus += usize::from(violation);
            let listed: Option<Listed> = set.iter().map(|element| cuts.state(element)).collect();
            let listed = listed.unwrap_or_else(|| at_cuts(&cuts, &set));
            let accepts = accepted(&task, safe(&cuts.proof(&listed)));
            assert!(!(accepts && violation), "seed {seed}: {cuts:?}");
            proofs += usize::from(accepts);
            refused += usize::from(!accepts);
        }
    }
    assert!(proofs > 40 && refused > 100 && bogus > 20, "{proofs} {refused} {bogus}");
}
