//! The fast engines agree with the plain ones, and what they show for it is accepted.

use std::time::Duration;

use super::support::portfolio::Auto;
use cusp::budget::{self, Budget};
use cusp::certify::certify_net;
use cusp::engines::nets::backward::Backward;
use cusp::engines::nets::backward::sharing::SharingTrees;
use cusp::engines::nets::directed::Directed;
use cusp::engines::nets::explicit::{Found, Limits, search};
use cusp::engines::nets::linear::Relaxation;
use cusp::engines::nets::linear::simplex::Equation;
use cusp::engines::nets::reference::Reference;
use cusp::engines::{Bounds, Engine};
use cusp::evidence::{NetCertificate, NetVerdict, Reason};
use cusp::net::{Builder, Claim, Marking, Net, PlaceId, Range, Transition};
use cusp::pipeline::table::HasEngines;
use cusp::progress::{Counting, Quiet};
use cusp::source::Span;

use crate::support::nets::{Shape, random_net};
use crate::support::rng::Rng;
use crate::support::seeds;

fn answer(engine: &dyn Engine<Net>, net: &Net, context: &str) -> NetVerdict {
    answer_within(engine, net, &Budget::unlimited(), context)
}

fn answer_within(engine: &dyn Engine<Net>, net: &Net, budget: &Budget, context: &str) -> NetVerdict {
    let verdict = engine.run(net, budget, &Quiet);
    if let Err(rejection) = certify_net(net, verdict.clone(), &Budget::unlimited()) {
        panic!("{} is rejected: {rejection:?} {context}", engine.name());
    }
    verdict
}

fn word(verdict: &NetVerdict) -> &'static str {
    match verdict {
        NetVerdict::Safe(_) => "safe",
        NetVerdict::Unsafe(_) => "unsafe",
        NetVerdict::Unknown(_) => "unknown",
    }
}

#[test]
fn fast_and_plain_backward_search_agree_on_random_nets() {
    for seed in seeds(20_000) {
        let net = random_net(seed, Shape::SMALL);
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let expected = word(&answer(&Reference, &net, &context));
        assert_eq!(word(&answer(&Backward::default(), &net, &context)), expected, "{context}");
    }
}

#[test]
fn the_portfolio_agrees_on_random_nets() {
    for seed in seeds(3_000) {
        let net = random_net(seed, Shape { places: 5, transitions: 6, weight: 3, ..Shape::SMALL });
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let expected = word(&answer(&Reference, &net, &context));
        assert_eq!(word(&answer(&Auto, &net, &context)), expected, "{context}");
    }
}

#[test]
fn directed_search_finds_runs_where_there_are_some() {
    let (mut found, mut missed) = (0, 0);
    for seed in seeds(3_000) {
        // Without copies and choices the search is exhaustive up to its limits.
        let net = random_net(seed, Shape { copies: false, ..Shape::SMALL });
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let expected = word(&answer(&Reference, &net, &context));
        if expected == "safe" {
            // It need not end there.
            continue;
        }
        // Where only a run with very many tokens will do, it may go on and on.
        let limits = budget::Limits { time: Some(Duration::from_secs(2)), memory: None };
        let (budget, _watch) = Budget::start(limits);
        match answer_within(&Directed, &net, &budget, &context) {
            NetVerdict::Unsafe(_) => found += 1,
            NetVerdict::Unknown(_) => missed += 1,
            NetVerdict::Safe(_) => panic!("it proves nothing: {context}"),
        }
    }
    assert!(found > 100 * missed, "{found} found, {missed} missed");
}

#[test]
fn zero_tests_in_proofs_and_runs_agree_with_forward_search() {
    let mut proofs_by_tests = 0;
    for seed in seeds(6_000) {
        let mut net = random_net(seed, Shape { parametric: seed % 2 == 0, ..Shape::SMALL });
        let mut rng = Rng::new(seed);
        let weak = word(&answer(&Reference, &net, ""));
        let places: Vec<PlaceId> = net.place_ids().collect();
        for transition in &mut net.transitions {
            if !rng.chance(60) {
                continue;
            }
            let tested = places[rng.below(places.len())];
            transition.upper = vec![(tested, rng.below(2) as u64)];
        }
        for target in &mut net.targets {
            if !rng.chance(30) {
                continue;
            }
            target.upper = vec![(places[rng.below(places.len())], rng.below(3) as u64)];
        }
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let verdict = word(&answer(&Backward::default(), &net, &context));
        let other = word(&answer(&SharingTrees, &net, &context));
        let both = [verdict, other];
        assert!(!(both.contains(&"safe") && both.contains(&"unsafe")), "{context}");
        proofs_by_tests += u32::from(verdict == "safe" && weak == "unsafe");
        for tokens in 1..=5 {
            let limits = Limits { tokens, markings: 20_000 };
            match search(&net, limits, &Budget::unlimited(), &Quiet) {
                Found::Run(_) => assert_ne!(verdict, "safe", "{context}"),
                Found::All(_) => assert_ne!(verdict, "unsafe", "{context}"),
                _ => {}
            }
        }
    }
    assert!(proofs_by_tests > 100, "{proofs_by_tests} proofs need zero tests");
}

#[test]
fn what_the_state_equation_separates_cannot_be_covered() {
    for seed in seeds(2_000) {
        let net = random_net(seed, Shape::SMALL);
        let relaxation = Relaxation::of(&net);
        let mut equation = relaxation.equation();
        let mut start = Marking::new();
        for &(place, range) in net.initial.ranges() {
            start.set(place, range.most.unwrap_or(0));
        }
        for target in &net.targets {
            if target.least.iter().any(|(place, _)| !relaxation.signs.is_markable(place)) {
                continue;
            }
            let need = relaxation.need(&target.least, &start);
            let answers = [0, 1].map(|_| equation.ask(&need, &Budget::unlimited()));
            let kinds = answers.map(|answer| matches!(answer, Equation::Separated(_)));
            assert_eq!(kinds[0], kinds[1], "seed {seed}: a second question, another answer");
            if kinds[0] {
                let alone = Net { targets: vec![target.clone()], ..net.clone() };
                assert_eq!(word(&answer(&Reference, &alone, "")), "safe", "seed {seed}: {alone:?}");
            }
        }
    }
}

fn marking(entries: &[(PlaceId, u64)]) -> Marking {
    Marking::sum_of(entries.iter().copied()).expect("small")
}

fn take_give(take: &[(PlaceId, u64)], give: &[(PlaceId, u64)]) -> Transition {
    Transition { take: marking(take), give: marking(give), ..Transition::default() }
}

/// All engines on one net; those that answer give this answer.
fn all_say(net: &Net, expected: &str) {
    for row in Net::ENGINES {
        let engine = row.engine(Bounds::default());
        let found = word(&answer(engine.as_ref(), net, engine.name()));
        let silent = ["directed", "explicit"].contains(&row.name) && found == "unknown";
        assert!(found == expected || silent, "{}: {found}, not {expected}", engine.name());
    }
}

#[test]
fn a_target_that_is_covered_at_the_start_needs_no_step() {
    let mut builder = Builder::new();
    let place = builder.counter("p");
    builder.initial(place, Range::exactly(200));
    builder.cover(marking(&[(place, 200)]));
    let net = builder.finish();
    all_say(&net, "unsafe");
    let NetVerdict::Unsafe(run) = answer(&Auto, &net, "") else { panic!("it is covered") };
    assert!(run.steps.is_empty());
}

#[test]
fn a_target_without_tokens_is_always_covered_and_no_target_never() {
    let mut builder = Builder::new();
    builder.counter("p");
    let without = builder.clone().finish();
    all_say(&without, "safe");
    builder.cover(Marking::new());
    all_say(&builder.finish(), "unsafe");
}

#[test]
fn large_weights_are_counted_one_by_one_only_where_they_must() {
    for (weight, expected) in [(200, "unsafe"), (100_000, "unsafe"), (100_001, "safe")] {
        let mut builder = Builder::new();
        let [money, goods] = ["money", "goods"].map(|name| builder.counter(name));
        builder.transition(take_give(&[(money, 1)], &[(goods, 100)]));
        builder.initial(money, Range::exactly(1_000));
        builder.cover(marking(&[(goods, weight)]));
        all_say(&builder.finish(), expected);
    }
}

#[test]
fn a_weight_of_64_bits_is_no_reason_to_panic() {
    let mut builder = Builder::new();
    let [p, q] = ["p", "q"].map(|name| builder.counter(name));
    builder.transition(take_give(&[(p, u64::MAX)], &[(q, 1)]));
    builder.transition(take_give(&[(q, 1)], &[(q, 2)]));
    builder.initial(p, Range::at_least(0));
    builder.cover(marking(&[(q, 1), (p, 5)]));
    let net = builder.finish();
    for engine in [&Backward::default() as &dyn Engine<Net>, &SharingTrees, &Directed, &Auto] {
        assert_ne!(word(&answer(engine, &net, "")), "safe", "{}", engine.name());
    }
}

#[test]
fn guards_that_nothing_reaches_are_excluded_by_signs() {
    let mut builder = Builder::new();
    let [start, never, bad] = ["start", "never", "bad"].map(|name| builder.counter(name));
    builder.transition(take_give(&[(never, 1), (start, 1)], &[(bad, 1), (never, 1)]));
    builder.initial(start, Range::at_least(1));
    builder.cover(marking(&[(bad, 1)]));
    let net = builder.finish();
    all_say(&net, "safe");
    let NetVerdict::Safe(NetCertificate::Basis(basis)) = answer(&Backward::default(), &net, "") else {
        panic!("a basis")
    };
    assert_eq!(basis.never_marked, [never, bad]);
    assert!(basis.elements.is_empty() && basis.invariants.is_empty());
}

#[test]
fn a_thousand_places_and_every_rule_twice() {
    let mut builder = Builder::new();
    let places: Vec<PlaceId> = (0..1_000).map(|i| builder.counter(&format!("p{i}"))).collect();
    for pair in places.windows(2) {
        for _ in 0..2 {
            builder.transition(take_give(&[(pair[0], 1)], &[(pair[1], 1)]));
        }
    }
    builder.initial(places[0], Range::exactly(1));
    let mut safe = builder.clone();
    builder.cover(marking(&[(places[999], 1)]));
    let net = builder.finish();
    let NetVerdict::Unsafe(run) = answer(&Auto, &net, "") else { panic!("it walks through") };
    assert_eq!(run.steps.len(), 999);
    assert_eq!(word(&answer(&Directed, &net, "")), "unsafe");
    safe.cover(marking(&[(places[999], 1), (places[500], 1)]));
    let NetVerdict::Safe(NetCertificate::Basis(basis)) = answer(&Auto, &safe.finish(), "") else {
        panic!("one token is not in two places")
    };
    assert!(basis.elements.is_empty(), "an invariant says it all");
}

#[test]
fn claims_are_believed_only_if_they_hold() {
    let mut builder = Builder::new();
    let [p, q, r] = ["p", "q", "r"].map(|name| builder.counter(name));
    builder.transition(take_give(&[(p, 1)], &[(q, 1)]));
    builder.transition(take_give(&[(q, 1)], &[(q, 1), (r, 1)]));
    builder.initial(p, Range::exactly(1));
    for weights in [marking(&[(p, 1), (q, 1)]), marking(&[(p, 1), (q, 1), (r, 1)])] {
        builder.claim(Claim { weights, span: Span::default() });
    }
    let mut safe = builder.clone();
    safe.cover(marking(&[(p, 1), (q, 1)]));
    all_say(&safe.finish(), "safe");
    builder.cover(marking(&[(q, 1), (r, 3)]));
    all_say(&builder.finish(), "unsafe");
}

#[test]
fn engines_stop_when_they_are_told_to() {
    let net = random_net(7, Shape::SMALL);
    let budget = Budget::unlimited();
    budget.interrupt();
    for engine in [&Backward::default() as &dyn Engine<Net>, &SharingTrees, &Directed, &Auto] {
        match engine.run(&net, &budget, &Quiet) {
            NetVerdict::Unknown(unknown) => assert!(matches!(unknown.reason, Reason::Interrupted)),
            // Some nets need no search.
            verdict => assert!(certify_net(&net, verdict, &Budget::unlimited()).is_ok()),
        }
    }
}

#[test]
fn sharing_trees_agree_with_plain_backward_search_on_random_nets() {
    let shapes = [
        Shape::SMALL,
        Shape { copies: false, ..Shape::SMALL },
        Shape { moves: false, weight: 3, ..Shape::SMALL },
        Shape { places: 5, transitions: 6, parametric: false, ..Shape::SMALL },
    ];
    for seed in seeds(4_000) {
        let net = random_net(seed, shapes[seed as usize % shapes.len()]);
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let expected = word(&answer(&Reference, &net, &context));
        assert_eq!(word(&answer(&SharingTrees, &net, &context)), expected, "{context}");
    }
}

/// A net whose basis has one of two places marked for each of `pairs`, in all combinations; no linear
/// argument excludes any of them.
fn all_combinations(pairs: usize) -> Net {
    let mut builder = Builder::new();
    let catalyst = builder.counter("catalyst");
    builder.initial(catalyst, Range::exactly(1));
    // It takes two to make a third, and there is one.
    builder.transition(take_give(&[(catalyst, 2)], &[(catalyst, 3)]));
    let mut target = vec![(catalyst, 2)];
    for i in 0..pairs {
        let [from, to] = ["from", "to"].map(|name| builder.counter(&format!("{name}{i}")));
        builder.initial(from, Range::at_least(1));
        builder.transition(take_give(&[(from, 1)], &[(to, 1)]));
        target.push((to, 1));
    }
    builder.cover(marking(&target));
    builder.finish()
}

#[test]
fn exponentially_many_elements_are_found_in_few_nodes() {
    for (pairs, expected) in [(10, "safe"), (24, "unknown")] {
        let progress = Counting::new(Box::new(Quiet));
        let net = all_combinations(pairs);
        let verdict = SharingTrees.run(&net, &Budget::unlimited(), &progress);
        assert_eq!(word(&verdict), expected, "{pairs} pairs");
        assert!(certify_net(&net, verdict.clone(), &Budget::unlimited()).is_ok());
        let figures: Vec<u64> = progress.counts().into_iter().map(|(_, number)| number).collect();
        assert_eq!(figures, [pairs as u64 + 1, 1 << pairs, 2 * pairs as u64 + 1], "{pairs} pairs");
        match verdict {
            NetVerdict::Safe(NetCertificate::Basis(basis)) => assert_eq!(basis.elements.len(), 1 << pairs),
            // The search ended, but nobody could check a list of so many.
            NetVerdict::Unknown(unknown) => assert!(matches!(unknown.reason, Reason::GaveUp(_))),
            other => panic!("{other:?}"),
        }
    }
}
