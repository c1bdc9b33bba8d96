//! Formulas for multisets of cuts, against the same sets state by state.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use cusp::evidence::threads::{ControlState, ControlStates, ThreadInvariant, ThreadProof};
use cusp::evidence::{Formulas, Gate, Literal};
use cusp::model::Task;
use cusp::threads::Reductions;

use super::accepted;
use super::generate::{Rng, concurrent};
use super::oracle_cuts::{Cuts, closure, obligations, safe};
use super::oracle_threads::{Multiset, Threads};

/// All orders of some threads in which their cuts are sorted.
fn orders(threads: &[(u32, bool, Vec<bool>)]) -> Vec<Vec<(u32, bool, Vec<bool>)>> {
    let mut orders = vec![Vec::new()];
    for _ in threads {
        let longer = |order: &Vec<usize>| {
            let rest = (0..threads.len()).filter(|i| !order.contains(i));
            rest.map(|i| order.iter().copied().chain([i]).collect()).collect::<Vec<Vec<usize>>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    let ordered = orders.iter().map(|order| order.iter().map(|&i| threads[i].clone()).collect::<Vec<_>>());
    ordered.filter(|order| order.is_sorted_by_key(|(cut, ..)| *cut)).collect()
}

/// Values of parameters.
type Cube = Vec<(usize, bool)>;

/// The proof whose formulas describe exactly these states.
fn proof(task: &Task, cuts: &Cuts, set: &HashSet<Multiset>) -> ThreadProof {
    let locals = |&(id, _): &_| task.program.procedure(id).locals.len();
    let widths = cuts.stacks.iter().map(|stack| stack.iter().map(locals).sum());
    let width: usize = widths.max().unwrap_or(0);
    let globals = task.program.globals.len();
    let mut formulas = Formulas::default();
    let count = globals + 4 * width;
    let parameters: Vec<Literal> =
        (0..count).map(|parameter| formulas.add(Gate::Parameter(parameter as u32))).collect();
    let mut groups: BTreeMap<(Vec<u32>, Option<u32>), BTreeSet<Cube>> = BTreeMap::new();
    let elements: Vec<&Multiset> = set.iter().collect();
    for (shared, threads) in elements {
        let local = |(holds, frames): &(bool, Vec<cusp::evidence::trace::Frame>)| {
            let values = frames.iter().flat_map(|frame| frame.locals.0.clone()).collect();
            (cuts.number(frames).expect("a cut"), *holds, values)
        };
        for order in orders(&threads.iter().map(local).collect::<Vec<_>>()) {
            let holder = order.iter().position(|(_, holds, _)| *holds).map(|i| i as u32);
            let mut literals: Vec<(usize, bool)> = shared.iter().copied().enumerate().collect();
            for (i, (.., values)) in order.iter().enumerate() {
                let first = globals + i * width;
                literals.extend(values.iter().enumerate().map(|(v, &value)| (first + v, value)));
            }
            let key = (order.iter().map(|(cut, ..)| *cut).collect(), holder);
            groups.entry(key).or_default().insert(literals);
        }
    }
    let mut sets = Vec::new();
    for ((cuts, holder), cubes) in groups {
        let mut none = Literal::TRUE;
        for cube in cubes {
            let mut all = Literal::TRUE;
            for (parameter, value) in cube {
                let literal = if value { parameters[parameter] } else { !parameters[parameter] };
                all = formulas.add(Gate::And(all, literal));
            }
            none = formulas.add(Gate::And(none, !all));
        }
        sets.push(ControlState { cuts, holder, condition: !none });
    }
    cuts.with(ThreadInvariant::Formulas(ControlStates { formulas, sets }))
}

#[test]
fn formulas_are_accepted_iff_large_steps_stay_in_them() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 8_000..8_250 {
        let task = concurrent(seed);
        let Some(cuts) = Cuts::of(&task, Reductions { relevance: false, large_steps: true }) else {
            continue;
        };
        let oracle = Threads { task: &task };
        let Some((_, mut set)) = closure(&oracle, &cuts, 100) else { continue };
        if set.is_empty() {
            continue;
        }
        let mut rng = Rng::new(seed + 9);
        for round in 0..5 {
            let Some((violation, missing)) = obligations(&oracle, &cuts, &set, 500) else { break };
            let is_proof = !violation && missing.is_empty();
            let accepts = accepted(&task, safe(&proof(&task, &cuts, &set)));
            assert_eq!(accepts, is_proof, "seed {seed}, round {round}: {violation} {missing:?}");
            right += usize::from(is_proof);
            wrong += usize::from(!is_proof);
            if !missing.is_empty() && rng.chance(60) {
                set.extend(missing);
                continue;
            }
            // A state changes a value, or goes.
            let mut elements: Vec<&Multiset> = set.iter().collect();
            elements.sort_by_key(|element| format!("{element:?}"));
            let element = elements[rng.below(elements.len())].clone();
            if rng.chance(40) {
                set.remove(&element);
                continue;
            }
            let mut changed = element;
            let thread = rng.below(changed.1.len() + 1);
            let value = match changed.1.get_mut(thread) {
                None => changed.0.first_mut(),
                Some((_, frames)) => frames.last_mut().and_then(|frame| frame.locals.0.first_mut()),
            };
            if let Some(value) = value {
                *value = !*value;
            }
            set.insert(Threads::multiset(&Threads::numbered(&changed)));
        }
    }
    assert!(right > 60 && wrong > 150, "{right} {wrong}");
}
