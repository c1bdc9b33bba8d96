//! The two plain searches agree, and what they show for it is accepted; what was tampered with is
//! not.

use cusp::budget::Budget;
use cusp::certify::certify_net;
use cusp::engines::nets::explicit::{Explicit, Found, Limits, search};
use cusp::engines::nets::reference::Reference;
use cusp::engines::{Bounds, Engine};
use cusp::evidence::net::{LinearInvariant, OmegaMarking, Tokens, UncoverabilityBasis};
use cusp::evidence::{FiringSequence, NetCertificate, NetVerdict};
use cusp::net::fire::fire;
use cusp::net::tts::System;
use cusp::net::{Builder, Marking, Net, PlaceId, Range, Transition};
use cusp::pipeline::table::{HasEngines, Row};
use cusp::progress::Quiet;

use crate::support::nets::{Shape, random_marking, random_net};
use crate::support::rng::Rng;
use crate::support::seeds;

fn answer(engine: &dyn Engine<Net>, net: &Net) -> NetVerdict {
    engine.run(net, &Budget::unlimited(), &Quiet)
}

fn is_accepted(net: &Net, verdict: NetVerdict) -> bool {
    certify_net(net, verdict, &Budget::unlimited()).is_ok()
}

fn within(net: &Net, tokens: u128) -> Found {
    search(net, Limits { tokens, markings: 50_000 }, &Budget::unlimited(), &Quiet)
}

/// The markings of a run as the interpreter sees them, or `None` if it is none.
fn replayed(net: &Net, run: &FiringSequence) -> Option<Vec<Marking>> {
    let ranges = net.place_ids().map(|place| (net.initial.range(place), run.initial.get(place)));
    let starts = ranges.into_iter().all(|(range, n)| range.contains(n));
    let mut markings = vec![run.initial.clone()];
    for step in &run.steps {
        let transition = net.transitions.get(step.transition.index())?;
        markings.push(fire(transition, markings.last()?, &step.choices).ok()?);
    }
    let ends = net.target_met_by(markings.last()?).is_some();
    (starts && ends).then_some(markings)
}

const SEEDS: u64 = 3000;

#[test]
fn backward_and_forward_search_agree_on_random_nets() {
    let (mut safe, mut refuted) = (0, 0);
    let all = seeds(20_000);
    for seed in all.clone() {
        let net = random_net(seed, Shape::SMALL);
        let verdict = answer(&Reference, &net);
        let context = format!("CUSP_SEED={seed}: {net:?}");
        assert!(is_accepted(&net, verdict.clone()), "{context}");
        let bounded: Vec<Found> = (1..=6).map(|tokens| within(&net, tokens)).collect();
        for found in &bounded {
            match found {
                Found::Run(run) => {
                    assert!(matches!(verdict, NetVerdict::Unsafe(_)), "{context}");
                    assert!(is_accepted(&net, NetVerdict::Unsafe(run.clone())), "{context}");
                }
                Found::All(_) => assert!(matches!(verdict, NetVerdict::Safe(_)), "{context}"),
                Found::Bounded | Found::TooMany => {}
                Found::Stopped(reason) => panic!("{reason} {context}"),
            }
        }
        match verdict {
            NetVerdict::Safe(_) => safe += 1,
            NetVerdict::Unsafe(run) => {
                refuted += 1;
                let markings = replayed(&net, &run).unwrap_or_else(|| panic!("not a run: {context}"));
                let most = markings.iter().map(Marking::total).max().unwrap_or(0);
                // As many tokens as the run needs are enough to find one.
                if most <= 6 {
                    assert!(bounded.iter().any(|found| matches!(found, Found::Run(_))), "{context}");
                }
            }
            NetVerdict::Unknown(unknown) => panic!("{} {context}", unknown.reason),
        }
    }
    let enough = (all.end - all.start) / 10;
    assert!(safe >= enough && refuted >= enough, "{safe} safe, {refuted} unsafe");
}

#[test]
fn a_basis_without_one_of_its_elements_is_rejected() {
    let mut rejected = 0;
    for seed in 1..=SEEDS {
        let net = random_net(seed, Shape::SMALL);
        let NetVerdict::Safe(NetCertificate::Basis(basis)) = answer(&Reference, &net) else { continue };
        for i in 0..basis.elements.len() {
            let mut elements = basis.elements.clone();
            elements.remove(i);
            let smaller = UncoverabilityBasis { elements, ..UncoverabilityBasis::default() };
            let verdict = NetVerdict::Safe(NetCertificate::Basis(smaller));
            assert!(!is_accepted(&net, verdict), "seed {seed}, without {:?}", basis.elements[i]);
            rejected += 1;
        }
        let mut larger = basis.clone();
        larger.elements.push(net.initial.least());
        assert!(!is_accepted(&net, NetVerdict::Safe(NetCertificate::Basis(larger))), "seed {seed}");
    }
    assert!(rejected > 500, "{rejected}");
}

#[test]
fn a_coverability_set_without_one_of_its_elements_is_rejected() {
    let mut rejected = 0;
    for seed in 1..=SEEDS {
        let net = random_net(seed, Shape { parametric: false, ..Shape::SMALL });
        let explicit = Explicit { most_markings: 2000 };
        let verdict = answer(&explicit, &net);
        let NetVerdict::Safe(NetCertificate::CoverabilitySet(set)) = &verdict else { continue };
        for i in 0..set.len() {
            let mut smaller = set.clone();
            smaller.remove(i);
            let verdict = NetVerdict::Safe(NetCertificate::CoverabilitySet(smaller));
            assert!(!is_accepted(&net, verdict), "seed {seed}, without {:?}", set[i]);
            rejected += 1;
        }
        assert!(is_accepted(&net, verdict), "seed {seed}");
    }
    assert!(rejected > 500, "{rejected}");
}

#[test]
fn no_proof_is_accepted_for_a_net_that_is_unsafe() {
    for seed in 1..=SEEDS {
        let net = random_net(seed, Shape::SMALL);
        if !matches!(answer(&Reference, &net), NetVerdict::Unsafe(_)) {
            continue;
        }
        let mut rng = Rng::new(seed);
        let places: Vec<PlaceId> = net.place_ids().collect();
        let some = |rng: &mut Rng| random_marking(rng, &places, 2, 40);
        for _ in 0..20 {
            let invariant = LinearInvariant { weights: some(&mut rng), bound: rng.below(4) as u64 };
            let basis = UncoverabilityBasis {
                never_marked: places.iter().copied().filter(|_| rng.chance(20)).collect(),
                invariants: if rng.chance(50) { vec![invariant] } else { Vec::new() },
                elements: (0..rng.below(4)).map(|_| some(&mut rng)).collect(),
            };
            let verdict = NetVerdict::Safe(NetCertificate::Basis(basis.clone()));
            assert!(!is_accepted(&net, verdict), "seed {seed}: {basis:?}");
            let limits = |rng: &mut Rng| {
                let tokens = |rng: &mut Rng| match rng.below(4) {
                    0 => Tokens::Omega,
                    n => Tokens::AtMost(n as u64 - 1),
                };
                OmegaMarking::new(places.iter().map(|&place| (place, tokens(rng))))
            };
            let set: Vec<OmegaMarking> = (0..rng.between(1, 3)).map(|_| limits(&mut rng)).collect();
            let verdict = NetVerdict::Safe(NetCertificate::CoverabilitySet(set.clone()));
            assert!(!is_accepted(&net, verdict), "seed {seed}: {set:?}");
        }
    }
}

#[test]
fn a_run_is_accepted_iff_the_interpreter_can_follow_it() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 1..=SEEDS {
        let net = random_net(seed, Shape::SMALL);
        let NetVerdict::Unsafe(run) = answer(&Reference, &net) else { continue };
        let mut rng = Rng::new(seed);
        let places: Vec<PlaceId> = net.place_ids().collect();
        for _ in 0..5 {
            let mut other = run.clone();
            match rng.below(4) {
                0 if !other.steps.is_empty() => drop(other.steps.remove(rng.below(other.steps.len()))),
                1 if !other.steps.is_empty() => {
                    let at = rng.below(other.steps.len());
                    match other.steps[at].choices.first_mut() {
                        Some(choice) => choice.to = random_marking(&mut rng, &places, 2, 50),
                        None => other.steps.swap(0, at),
                    }
                }
                2 => {
                    let again = other.steps.clone();
                    other.steps.extend(again);
                }
                _ => {
                    let place = *rng.pick(&places);
                    let n = (other.initial.get(place) + 1) % 3;
                    other.initial.set(place, n);
                }
            }
            let is_run = replayed(&net, &other).is_some();
            assert_eq!(is_accepted(&net, NetVerdict::Unsafe(other)), is_run, "seed {seed}");
            accepted += usize::from(is_run);
            rejected += usize::from(!is_run);
        }
    }
    assert!(accepted > 100 && rejected > 100, "{accepted} accepted, {rejected} rejected");
}

#[test]
fn a_net_and_its_thread_transition_system_have_the_same_verdict() {
    let mut compared = 0;
    for seed in 1..=150 {
        let net =
            random_net(seed, Shape { places: 3, transitions: 2, weight: 1, copies: false, ..Shape::SMALL });
        let Ok((system, initial, targets)) = System::of(&net) else { continue };
        let other = system.net(&initial, &targets);
        let verdict = answer(&Reference, &other);
        let same = matches!(
            (&answer(&Reference, &net), &verdict),
            (NetVerdict::Safe(_), NetVerdict::Safe(_)) | (NetVerdict::Unsafe(_), NetVerdict::Unsafe(_))
        );
        assert!(same, "seed {seed}: {net:?}");
        assert!(is_accepted(&other, verdict), "seed {seed}");
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

fn p(i: usize) -> PlaceId {
    PlaceId::from_index(i)
}

fn marking(entries: &[(usize, u64)]) -> Marking {
    Marking::sum_of(entries.iter().map(|&(i, n)| (p(i), n))).expect("small")
}

/// A net of `places` places with ordinary transitions, from one marking to one target.
fn petri(places: usize, transitions: &[(Marking, Marking)], initial: &Marking, target: Marking) -> Net {
    let mut builder = Builder::new();
    for i in 0..places {
        let place = builder.counter(&format!("x{i}"));
        builder.initial(place, Range::exactly(initial.get(place)));
    }
    for (take, give) in transitions {
        builder.transition(Transition { take: take.clone(), give: give.clone(), ..Transition::default() });
    }
    builder.cover(target);
    builder.finish()
}

/// The verdicts of all engines, which must be the same and certified.
fn word(net: &Net) -> &'static str {
    let word = |row: &Row<Net>| {
        let verdict = answer(&*row.engine(Bounds::default()), net);
        let word = match verdict {
            NetVerdict::Safe(_) => "safe",
            NetVerdict::Unsafe(_) => "unsafe",
            NetVerdict::Unknown(_) => "unknown",
        };
        assert!(is_accepted(net, verdict), "{row:?}");
        word
    };
    let mut words: Vec<&str> = Net::ENGINES.iter().map(word).collect();
    words.sort_unstable();
    let known: Vec<&str> = words.iter().copied().filter(|word| *word != "unknown").collect();
    assert!(known.iter().all(|word| *word == known[0]), "{words:?}");
    known.first().copied().unwrap_or("unknown")
}

#[test]
fn corner_cases() {
    let one = marking(&[(0, 1)]);
    // Covered at the start, with and without transitions.
    assert_eq!(word(&petri(1, &[], &one, one.clone())), "unsafe");
    assert_eq!(word(&petri(1, &[(one.clone(), Marking::new())], &one, one.clone())), "unsafe");
    // No transitions; an empty target, which everything covers; no target at all.
    assert_eq!(word(&petri(2, &[], &one, marking(&[(1, 1)]))), "safe");
    assert_eq!(word(&petri(1, &[], &one, Marking::new())), "unsafe");
    let mut none = petri(1, &[], &one, Marking::new());
    none.targets.clear();
    assert_eq!(word(&none), "safe");
    assert_eq!(word(&Net::default()), "safe");
    // A guard that nothing ever satisfies.
    let rules = [(marking(&[(1, 1)]), marking(&[(2, 1)]))];
    assert_eq!(word(&petri(3, &rules, &one, marking(&[(2, 1)]))), "safe");
    // The same rule twice.
    let rule = (one.clone(), marking(&[(1, 1)]));
    assert_eq!(word(&petri(2, &[rule.clone(), rule], &one, marking(&[(1, 2)]))), "safe");
}

#[test]
fn weights_may_be_large() {
    for n in [127, 128, 200, 255, 256, 65_536, 100_000] {
        let rules = [(marking(&[(0, n)]), marking(&[(1, 1)]))];
        let target = marking(&[(1, 1)]);
        assert_eq!(word(&petri(2, &rules, &marking(&[(0, n)]), target.clone())), "unsafe", "{n}");
        assert_eq!(word(&petri(2, &rules, &marking(&[(0, n - 1)]), target)), "safe", "{n}");
    }
    // A number that no 64 bits hold is not wrapped around.
    let rules = [(marking(&[(0, 1)]), marking(&[(0, 1), (1, u64::MAX)]))];
    let net = petri(2, &rules, &marking(&[(0, 1)]), marking(&[(1, u64::MAX), (0, 2)]));
    assert_eq!(word(&net), "safe");
}

#[test]
fn a_thousand_places_are_no_problem() {
    // Every tenth place has a way to the next.
    let step = |i: usize| (marking(&[(10 * i, 1)]), marking(&[(10 * i + 10, 1)]));
    let rules: Vec<(Marking, Marking)> = (0..99).map(step).collect();
    let start = marking(&[(0, 1)]);
    assert_eq!(word(&petri(1000, &rules, &start, marking(&[(990, 1)]))), "unsafe");
    assert_eq!(word(&petri(1000, &rules, &start, marking(&[(990, 1), (999, 1)]))), "safe");
}

#[test]
fn zero_tests_are_ignored_for_safe_and_obeyed_for_unsafe() {
    // x1 = 0 is asked for, but x1 never is 0: the weaker net is unsafe, the net itself is not.
    let mut net = petri(
        3,
        &[(marking(&[(0, 1)]), marking(&[(2, 1)]))],
        &marking(&[(0, 1), (1, 1)]),
        marking(&[(2, 1)]),
    );
    net.transitions[0].upper = vec![(p(1), 0)];
    assert_eq!(word(&net), "unknown");
    net.initial = cusp::net::Initial::new([(p(0), Range::exactly(1))]);
    assert_eq!(word(&net), "unsafe");
    net.initial = cusp::net::Initial::new([(p(1), Range::exactly(1))]);
    assert_eq!(word(&net), "safe");
}

#[test]
fn invariants_and_places_that_are_never_marked_may_take_part_in_a_proof() {
    // A token goes from 0 to 1 and back; 2 would need a token in 3, where none ever is.
    let rules = [
        (marking(&[(0, 1)]), marking(&[(1, 1)])),
        (marking(&[(1, 1)]), marking(&[(0, 1)])),
        (marking(&[(3, 1)]), marking(&[(0, 9), (2, 1)])),
    ];
    let start = marking(&[(0, 1)]);
    let accepts = |target: &[(usize, u64)], basis: &UncoverabilityBasis| {
        let net = petri(4, &rules, &start, marking(target));
        is_accepted(&net, NetVerdict::Safe(NetCertificate::Basis(basis.clone())))
    };
    let invariant = LinearInvariant { weights: marking(&[(0, 1), (1, 1)]), bound: 1 };
    let proof = UncoverabilityBasis {
        never_marked: vec![p(2), p(3)],
        invariants: vec![invariant.clone()],
        elements: Vec::new(),
    };
    assert!(accepts(&[(0, 1), (1, 1)], &proof));
    assert!(accepts(&[(2, 1)], &proof));
    assert!(!accepts(&[(1, 1)], &proof));
    // Without the dead places, the last transition breaks the invariant.
    assert!(!accepts(&[(0, 1), (1, 1)], &UncoverabilityBasis { never_marked: vec![p(2)], ..proof.clone() }));
    assert!(!accepts(&[(0, 1), (1, 1)], &UncoverabilityBasis { never_marked: Vec::new(), ..proof.clone() }));
    // A bound that the start exceeds, or that proves nothing.
    for bound in [0, 2] {
        let invariants = vec![LinearInvariant { bound, ..invariant.clone() }];
        assert!(!accepts(&[(0, 1), (1, 1)], &UncoverabilityBasis { invariants, ..proof.clone() }), "{bound}");
    }
}

#[test]
fn omega_is_accepted_where_tokens_really_grow() {
    // 0 makes tokens in 1; the target asks for two in 0.
    let rules = [(marking(&[(0, 1)]), marking(&[(0, 1), (1, 1)]))];
    let net = petri(2, &rules, &marking(&[(0, 1)]), marking(&[(0, 2)]));
    let set = |limits: &[(usize, Tokens)]| {
        let limits = OmegaMarking::new(limits.iter().map(|&(i, tokens)| (p(i), tokens)));
        NetVerdict::Safe(NetCertificate::CoverabilitySet(vec![limits]))
    };
    assert!(is_accepted(&net, set(&[(0, Tokens::AtMost(1)), (1, Tokens::Omega)])));
    assert!(!is_accepted(&net, set(&[(0, Tokens::AtMost(1)), (1, Tokens::AtMost(100))])));
    assert!(!is_accepted(&net, set(&[(0, Tokens::Omega), (1, Tokens::Omega)])));
    assert!(!is_accepted(&net, set(&[(1, Tokens::Omega)])));
}
