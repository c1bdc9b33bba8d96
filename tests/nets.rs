//! Nets: what transitions do, and what undoes it.

#[path = "nets/agreement.rs"]
mod agreement;
#[path = "nets/corpus.rs"]
mod corpus;
#[path = "nets/fast.rs"]
mod fast;
#[path = "nets/formats.rs"]
mod formats;
#[path = "nets/machine_texts.rs"]
mod machine_texts;
#[path = "nets/machines.rs"]
mod machines;
#[path = "nets/sharing_trees.rs"]
mod sharing_trees;
mod support;

use cusp::net::fire::{fire, fire_towards, successors};
use cusp::net::index::Producers;
use cusp::net::predecessors::predecessors;
use cusp::net::{Builder, Net, PlaceId, TransitionId};
use support::nets::{Shape, all_markings, random_marking, random_net};
use support::rng::Rng;

/// The transitions of many random nets.
fn for_each_transition(check: impl Fn(u64, &Net, TransitionId, &[PlaceId])) {
    for seed in 1..=1500 {
        let net = random_net(seed, Shape { places: 3, ..Shape::SMALL });
        let places: Vec<PlaceId> = net.place_ids().collect();
        for id in net.transition_ids() {
            check(seed, &net, id, &places);
        }
    }
}

#[test]
fn covering_predecessors_are_exactly_the_minimal_markings_that_lead_there() {
    for_each_transition(|seed, net, id, places| {
        let transition = net.transition(id);
        let goal = random_marking(&mut Rng::new(seed), places, 2, 60);
        let found = predecessors(transition, &goal, &mut |_| true).expect("small");
        for (i, one) in found.iter().enumerate() {
            for (j, other) in found.iter().enumerate() {
                assert!(i == j || !one.covers(other), "seed {seed} {id}: not minimal");
            }
        }
        for marking in all_markings(places, 4) {
            let leads = successors(transition, &marking).expect("small").iter().any(|(_, m)| m.covers(&goal));
            let covers = found.iter().any(|smaller| marking.covers(smaller));
            assert_eq!(leads, covers, "seed {seed} {id}: {marking:?} to {goal:?}, found {found:?}");
            let towards = fire_towards(transition, &marking, &goal).expect("small");
            assert_eq!(leads, towards.is_some(), "seed {seed} {id}: {marking:?} towards {goal:?}");
            if let Some((choices, after)) = towards {
                assert_eq!(fire(transition, &marking, &choices), Ok(after.clone()));
                assert!(after.covers(&goal));
            }
        }
    });
}

#[test]
fn what_is_refused_on_the_way_does_not_come_back() {
    for_each_transition(|seed, net, id, places| {
        let mut rng = Rng::new(seed);
        let goal = random_marking(&mut rng, places, 2, 60);
        let known = random_marking(&mut rng, places, 2, 60);
        let transition = net.transition(id);
        let all = predecessors(transition, &goal, &mut |_| true).expect("small");
        let kept = predecessors(transition, &goal, &mut |m| !m.covers(&known)).expect("small");
        let expected: Vec<_> = all.into_iter().filter(|m| !m.covers(&known)).collect();
        assert_eq!(kept, expected, "seed {seed} {id}");
    });
}

#[test]
fn transitions_that_bring_nothing_to_a_goal_need_not_be_undone() {
    for_each_transition(|seed, net, id, places| {
        let goal = random_marking(&mut Rng::new(seed), places, 2, 60);
        let useful = Producers::of(net).of_places(goal.iter().map(|(place, _)| place));
        if !useful.contains(&id) {
            let found = predecessors(net.transition(id), &goal, &mut |_| true).expect("small");
            assert!(found.iter().all(|m| m.covers(&goal)), "seed {seed} {id}");
        }
    });
}

#[test]
fn places_exist_only_for_what_is_mentioned() {
    let mut builder = Builder::new();
    let (shared, local) = (builder.shared(52_428), builder.local(524_288));
    assert_ne!(shared, local);
    assert_eq!(builder.local(524_288), local);
    assert_eq!(builder.finish().places.len(), 2);
}
