//! Covering sharing trees do what sets of markings do, and share.

use cusp::budget::Budget;
use cusp::engines::nets::sets::sharing_tree::walk::{Meter, Stop};
use cusp::engines::nets::sets::sharing_tree::{Forest, Tree};
use cusp::evidence::net::LinearInvariant;
use cusp::net::predecessors::{minimal, predecessors};
use cusp::net::{Marking, Overflow, PlaceId, Transition};

use crate::support::nets::{Shape, all_markings, random_marking, random_transition};
use crate::support::rng::Rng;

const SETS: u64 = 3_000;

/// A random set of markings as a tree.
struct Sample {
    seed: u64,
    rng: Rng,
    places: Vec<PlaceId>,
    forest: Forest,
}

impl Sample {
    /// A set and its tree.
    fn set(&mut self) -> (Vec<Marking>, Tree) {
        let count = self.rng.below(9);
        let percent = self.rng.between(20, 70);
        let mut set: Vec<Marking> =
            (0..count).map(|_| random_marking(&mut self.rng, &self.places, 3, percent)).collect();
        let tree = self.forest.of(&set, &mut meter()).expect("no limit");
        set.sort_unstable();
        set.dedup();
        (set, tree)
    }

    /// The elements of a tree, which are listed once each.
    fn elements(&self, tree: Tree) -> Vec<Marking> {
        let mut elements: Vec<Marking> = self.forest.elements(tree).collect();
        assert_eq!(elements.len() as u128, self.forest.count(tree), "seed {}", self.seed);
        elements.sort_unstable();
        elements
    }

    fn check(&self, tree: Tree, expected: &[Marking]) {
        assert_eq!(self.elements(tree), expected, "seed {}", self.seed);
    }
}

fn meter() -> Meter<'static> {
    static BUDGET: std::sync::LazyLock<Budget> = std::sync::LazyLock::new(Budget::unlimited);
    Meter::unlimited(&BUDGET)
}

fn for_each_sample(mut check: impl FnMut(&mut Sample)) {
    for seed in 1..=SETS {
        let mut rng = Rng::new(seed);
        // More than 64 places apart, so that classes of places meet.
        let places = (0..rng.between(1, 5)).map(|i| PlaceId::from_index(i * 32)).collect();
        check(&mut Sample { seed, rng, places, forest: Forest::default() });
    }
}

fn covers_one(marking: &Marking, set: &[Marking]) -> bool {
    set.iter().any(|element| marking.covers(element))
}

#[test]
fn a_tree_has_the_elements_it_was_made_of_and_is_the_only_one_with_them() {
    for_each_sample(|sample| {
        let (set, tree) = sample.set();
        sample.check(tree, &set);
        let by_number: Vec<Marking> =
            (0..).map_while(|number| sample.forest.element(tree, number)).take(set.len() + 1).collect();
        let in_order: Vec<Marking> = sample.forest.elements(tree).collect();
        assert_eq!(by_number, in_order, "seed {}", sample.seed);
        let again = set.iter().rev().fold(Forest::EMPTY, |all, marking| {
            let one = sample.forest.singleton(marking);
            sample.forest.union(one, all, &mut meter()).expect("no limit")
        });
        assert_eq!(again, tree, "seed {}", sample.seed);
        assert_eq!(tree == Forest::EMPTY, set.is_empty());
        let most: usize = set.iter().map(|marking| marking.entries().len()).sum();
        assert!(sample.forest.nodes_of([tree]).len() <= most, "seed {}", sample.seed);
    });
}

#[test]
fn a_marking_is_held_iff_it_covers_an_element() {
    for_each_sample(|sample| {
        let (set, tree) = sample.set();
        for _ in 0..20 {
            let marking = random_marking(&mut sample.rng, &sample.places, 3, 60);
            let held = sample.forest.holds(tree, &marking);
            assert_eq!(held, covers_one(&marking, &set), "seed {}: {marking:?} in {set:?}", sample.seed);
        }
    });
}

#[test]
fn unions_and_differences_are_those_of_sets() {
    for_each_sample(|sample| {
        let (one, one_tree) = sample.set();
        let (other, other_tree) = sample.set();
        let (third, third_tree) = sample.set();
        let mut all = [&one[..], &other].concat();
        all.sort_unstable();
        all.dedup();
        let union = sample.forest.union(one_tree, other_tree, &mut meter()).expect("no limit");
        sample.check(union, &all);
        let left: Vec<Marking> =
            one.into_iter().filter(|m| !covers_one(m, &other) && !covers_one(m, &third)).collect();
        let others = [other_tree, third_tree];
        let rest = sample.forest.uncovered(one_tree, &others, &mut meter()).expect("no limit");
        sample.check(rest, &left);
        let smallest = sample.forest.minimal(union, &mut meter()).expect("no limit");
        sample.check(smallest, &minimal(all));
    });
}

#[test]
fn simulation_is_enough_for_covering_but_not_needed() {
    let (mut simulated, mut covered) = (0, 0);
    for_each_sample(|sample| {
        let (one, one_tree) = sample.set();
        let (other, other_tree) = sample.set();
        let is_covered = one.iter().all(|marking| covers_one(marking, &other));
        let is_simulated = sample.forest.is_simulated(one_tree, other_tree, &mut meter()).expect("no limit");
        assert!(is_covered || !is_simulated, "seed {}: {one:?} {other:?}", sample.seed);
        simulated += u32::from(is_simulated && !one.is_empty());
        covered += u32::from(is_covered && !one.is_empty());
        let local = sample.forest.without_simulated_arcs(one_tree, &mut meter()).expect("no limit");
        let kept = sample.elements(local);
        assert!(kept.iter().all(|marking| one.contains(marking)), "seed {}", sample.seed);
        assert_eq!(minimal(kept), minimal(one), "seed {}", sample.seed);
    });
    assert!(simulated > 100 && covered > simulated, "{simulated} of {covered}");
}

#[test]
fn restrictions_keep_what_they_should() {
    for_each_sample(|sample| {
        let (set, tree) = sample.set();
        let bound = random_marking(&mut sample.rng, &sample.places, 4, 80);
        let below = sample.forest.below(tree, bound.entries(), &mut meter()).expect("no limit");
        let expected: Vec<Marking> = set.iter().filter(|m| bound.covers(m)).cloned().collect();
        sample.check(below, &expected);

        let rng = &mut sample.rng;
        let wanted: Vec<PlaceId> = sample.places.iter().copied().filter(|_| rng.chance(40)).collect();
        let marking = sample.forest.marking_one_of(tree, &wanted, &mut meter()).expect("no limit");
        let marks = |m: &Marking| wanted.iter().any(|&place| m.get(place) > 0);
        let expected: Vec<Marking> = set.iter().filter(|m| marks(m)).cloned().collect();
        sample.check(marking, &expected);

        let weights = random_marking(&mut sample.rng, &sample.places, 3, 60);
        let invariant = LinearInvariant { weights, bound: sample.rng.below(12) as u64 };
        let weigh = |m: &Marking| -> u64 { m.iter().map(|(p, n)| n * invariant.weights.get(p)).sum() };
        let light = sample.forest.not_heavier(tree, &invariant, &mut meter()).expect("no limit");
        let expected: Vec<Marking> = set.iter().filter(|m| weigh(m) <= invariant.bound).cloned().collect();
        sample.check(light, &expected);

        let largest = set.iter().fold(Marking::new(), |all, marking| all.join(marking));
        assert_eq!(sample.forest.largest(tree), largest, "seed {}", sample.seed);
    });
}

#[test]
fn predecessors_of_a_tree_are_those_of_its_elements() {
    let mut with_moves = 0;
    for_each_sample(|sample| {
        let (mut set, _) = sample.set();
        let capped = *sample.rng.pick(&sample.places);
        let most = if sample.rng.chance(30) { 1 } else { u64::MAX };
        set.retain(|marking| marking.get(capped) <= most);
        let tree = sample.forest.of(&set, &mut meter()).expect("no limit");
        let mut transition = random_transition(&mut sample.rng, &sample.places, Shape::SMALL);
        if sample.rng.chance(30) {
            transition.upper = vec![(sample.places[0], sample.rng.below(3) as u64)];
        }
        let passes = |m: &Marking| {
            m.get(capped) <= most && transition.upper.iter().all(|&(place, n)| m.get(place) <= n)
        };
        let cap = |place: PlaceId| if place == capped { most } else { u64::MAX };
        let found = sample.forest.predecessors(tree, &transition, &cap, &mut meter()).expect("small");
        let elementwise = set.iter().flat_map(|goal| predecessors(&transition, goal, &mut |_| true));
        let elementwise: Vec<Marking> = elementwise.flatten().filter(passes).collect();
        let context = format!("seed {}: {set:?} {transition:?}", sample.seed);
        let found = sample.elements(found);
        if transition.copies() {
            assert_eq!(minimal(found), minimal(elementwise), "{context}");
        } else {
            let mut exactly = elementwise;
            exactly.sort_unstable();
            exactly.dedup();
            assert_eq!(found, exactly, "{context}");
        }
        with_moves += u32::from(!transition.moves.is_empty() && !set.is_empty());
    });
    assert!(with_moves > 500, "{with_moves}");
}

#[test]
fn what_is_kept_keeps_its_elements_and_its_neighbours_go() {
    for_each_sample(|sample| {
        let (set, mut tree) = sample.set();
        let (other_set, mut other) = sample.set();
        sample.set();
        sample.forest.keep_only([&mut tree, &mut other]);
        sample.check(tree, &set);
        sample.check(other, &other_set);
        // The two ends are nodes, too.
        assert_eq!(sample.forest.len(), sample.forest.nodes_of([tree, other]).len() + 2);
    });
}

fn p(i: usize) -> PlaceId {
    PlaceId::from_index(i)
}

/// One token in each pair of places, in either of the two: `2^n` elements.
fn one_of_each_pair(forest: &mut Forest, pairs: usize) -> Tree {
    let mut start = Marking::new();
    (0..pairs).for_each(|i| start.set(p(2 * i), 1));
    let mut all = forest.singleton(&start);
    for i in 0..pairs {
        // Undoing it moves a token from the first place of the pair to the second.
        let swap = Transition {
            take: Marking::sum_of([(p(2 * i + 1), 1)]).expect("small"),
            give: Marking::sum_of([(p(2 * i), 1)]).expect("small"),
            ..Transition::default()
        };
        let moved = forest.predecessors(all, &swap, &|_| u64::MAX, &mut meter()).expect("small");
        all = forest.union(all, moved, &mut meter()).expect("no limit");
    }
    all
}

#[test]
fn exponentially_many_elements_share_few_nodes() {
    let mut forest = Forest::default();
    let pairs = 100;
    let all = one_of_each_pair(&mut forest, pairs);
    assert_eq!(forest.count(all), 1 << pairs);
    assert_eq!(forest.nodes_of([all]).len(), 2 * pairs);
    // They cover each other only where they are the same, and that is seen without listing them.
    assert_eq!(forest.minimal(all, &mut meter()), Ok(all));
    assert_eq!(forest.uncovered(all, &[all], &mut meter()), Ok(Forest::EMPTY));
    // Tokens in one place come from any of many.
    let sources: Vec<PlaceId> = (1..=40).map(p).collect();
    let demand = Marking::sum_of([(p(0), 10)]).expect("small");
    let one = forest.singleton(&demand);
    let moves = sources.iter().map(|&from| cusp::net::Move { from, flow: cusp::net::Flow::All(vec![p(0)]) });
    let collect = Transition { moves: moves.collect(), ..Transition::default() };
    let before = forest.predecessors(one, &collect, &|_| u64::MAX, &mut meter()).expect("small");
    // Ten tokens over 41 places: 50 over 10 ways.
    assert_eq!(forest.count(before), 10_272_278_170);
    assert!(forest.nodes_of([before]).len() < 500, "{}", forest.nodes_of([before]).len());
}

#[test]
fn a_walk_ends_where_its_meter_does_and_tokens_do_not_overflow() {
    let mut forest = Forest::default();
    let all = one_of_each_pair(&mut forest, 20);
    let budget = Budget::unlimited();
    let swap = Transition { take: Marking::sum_of([(p(39), 1)]).expect("small"), ..Transition::default() };
    let few = forest.predecessors(all, &swap, &|_| u64::MAX, &mut Meter::new(&budget, 5));
    assert_eq!(few, Err(Stop::TooManySteps));
    let full = Marking::sum_of([(p(39), u64::MAX)]).expect("fits");
    let tree = forest.singleton(&full);
    let before = forest.predecessors(tree, &swap, &|_| u64::MAX, &mut meter());
    assert_eq!(before, Err(Overflow.into()));
}

#[test]
fn layers_are_as_deep_as_there_are_places() {
    let mut forest = Forest::default();
    let deep = 50_000;
    let mut long = Marking::sum_of((0..deep).map(|i| (p(i), 1))).expect("small");
    let one = forest.singleton(&long);
    long.set(p(deep - 1), 2);
    let other = forest.singleton(&long);
    let both = forest.union(one, other, &mut meter()).expect("no limit");
    assert_eq!(forest.minimal(both, &mut meter()), Ok(one));
    assert_eq!(forest.is_simulated(other, one, &mut meter()), Ok(true));
    assert_eq!(forest.elements(both).count(), 2);
    // One node for each of many single marks, and any of them is found at once.
    let each: Vec<Marking> = (0..2_000).map(|i| Marking::sum_of([(p(10 * i), 1)]).expect("small")).collect();
    let wide = forest.of(&each, &mut meter()).expect("no limit");
    assert_eq!(forest.nodes_of([wide]).len(), 2_000);
    assert!(forest.holds(wide, &each[1_999]) && !forest.holds(wide, &Marking::new()));
    let last = [(p(19_990), 3)];
    let below = forest.below(wide, &last, &mut meter()).expect("no limit");
    assert_eq!(forest.elements(below).collect::<Vec<_>>(), [each[1_999].clone()]);
}

#[test]
fn all_small_markings_are_covered_by_the_empty_one() {
    let mut forest = Forest::default();
    let places = [p(3), p(4), p(9)];
    let all = forest.of(&all_markings(&places, 2), &mut meter()).expect("no limit");
    // Three arcs for each of three layers.
    assert_eq!((forest.count(all), forest.nodes_of([all]).len()), (27, 3));
    assert_eq!(forest.minimal(all, &mut meter()), Ok(Forest::END));
}
