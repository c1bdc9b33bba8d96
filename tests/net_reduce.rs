//! Reduced nets have the verdict of the original ones, and what engines show about them can be lifted.

mod support;

use cusp::budget::Budget;
use cusp::certify::certify_net;
use cusp::engines::Engine;
use cusp::engines::nets::backward::Backward;
use cusp::engines::nets::explicit::{Found, Limits, search};
use cusp::engines::nets::karp_miller::KarpMiller;
use cusp::engines::nets::reference::Reference;
use cusp::evidence::net::OmegaMarking;
use cusp::evidence::{FiringSequence, NetCertificate, NetVerdict, Reason};
use cusp::lift::net::{LiftedNet, lift_net};
use cusp::net::reduce::{Counts, Extent, Fate, Reduced, reduce, reduce_unless};
use cusp::net::{
    Builder, Firing, Marking, Net, Place, PlaceId, PlaceKind, Range, Transition, TransitionId, spec,
};
use cusp::pipeline::table::Choice;
use cusp::pipeline::{Setup, answer};
use cusp::progress::Quiet;
use cusp::source::Source;
use support::nets::{Shape, random_net};
use support::rng::Rng;
use support::seeds;

fn word(verdict: &NetVerdict) -> &'static str {
    match verdict {
        NetVerdict::Safe(_) => "safe",
        NetVerdict::Unsafe(_) => "unsafe",
        NetVerdict::Unknown(_) => "unknown",
    }
}

fn run(engine: &dyn Engine<Net>, net: &Net) -> NetVerdict {
    engine.run(net, &Budget::unlimited(), &Quiet)
}

/// The verdict of an engine that sees the reduced net, after its lifted evidence was accepted.
fn decided(net: &Net, name: &str, context: &str) -> &'static str {
    let setup = Setup { engine: Choice::named(name).expect("an engine"), ..Setup::default() };
    let answer = answer(net, setup, &Budget::unlimited(), &Quiet);
    assert!(answer.failures.is_empty(), "{:?} {context}", answer.failures);
    answer.result.unwrap_or_else(|rejection| panic!("{rejection} {context}")).verdict().word()
}

fn accept(net: &Net, verdict: NetVerdict, context: &str) -> &'static str {
    let word = word(&verdict);
    if let Err(rejection) = certify_net(net, verdict, &Budget::unlimited()) {
        panic!("{rejection} {context}");
    }
    word
}

/// What evidence about the reduced net becomes; fails if it cannot be lifted, or is not accepted.
fn lifted(net: &Net, reduced: &Reduced, verdict: NetVerdict, context: &str) -> &'static str {
    match lift_net(net, reduced, verdict, &Budget::unlimited()) {
        Ok(LiftedNet::Verdict(verdict)) => accept(net, verdict, context),
        Ok(LiftedNet::Uncoverable(_)) => "uncoverable",
        Err(why) => panic!("{why} {context}"),
    }
}

fn add(sum: &mut Counts, more: Counts) {
    let Counts { never_marked, dead, idle, dominated, irrelevant_places, irrelevant_transitions, .. } = more;
    let Counts { unlimited, implied, enough, passed_on, on_demand, .. } = more;
    sum.never_marked += never_marked;
    sum.dead += dead;
    sum.idle += idle;
    sum.dominated += dominated;
    sum.irrelevant_places += irrelevant_places;
    sum.irrelevant_transitions += irrelevant_transitions;
    sum.unlimited += unlimited;
    sum.implied += implied;
    sum.enough += enough;
    sum.passed_on += passed_on;
    sum.on_demand += on_demand;
}

/// Nets of different kinds, in turn.
fn shaped(seed: u64) -> Net {
    let plain = Shape { moves: false, copies: false, ..Shape::SMALL };
    let shape = match seed % 8 {
        0 => Shape::SMALL,
        1 => plain,
        2 => Shape { places: 7, transitions: 8, weight: 1, ..plain },
        3 => Shape { places: 6, transitions: 7, weight: 1, copies: false, ..Shape::SMALL },
        4..=6 => Shape { places: 5, transitions: 8, weight: 1, parametric: false, ..plain },
        _ => Shape { transitions: 5, weight: 1, copies: false, parametric: false, ..Shape::SMALL },
    };
    let mut net = random_net(seed, shape);
    if seed % 8 >= 4 {
        take_detours(&mut net, &mut Rng::new(seed));
    }
    net
}

/// Splits some transitions in two, with a place between them that a third one may also take from.
fn take_detours(net: &mut Net, rng: &mut Rng) {
    for i in 0..net.transitions.len() {
        if !rng.chance(85) {
            continue;
        }
        // Often the first gives nothing else, or the second takes nothing else.
        let [early, late] = [(); 2].map(|()| rng.chance(50));
        let early: Vec<bool> = net.places.iter().map(|_| early && rng.chance(50)).collect();
        let late: Vec<bool> = net.places.iter().map(|_| late && rng.chance(50)).collect();
        let via = PlaceId::from_index(net.places.len());
        net.places.push(Place { name: format!("via{i}"), kind: PlaceKind::Counter });
        let is_early = |place: PlaceId| early[place.index()];
        let is_late = |place: PlaceId| late[place.index()];
        let Transition { take, give, moves, .. } = net.transitions[i].clone();
        let one = |mut marking: Marking| {
            marking.set(via, 1);
            marking
        };
        let first_give = one(give.restricted(is_early));
        let first = Transition {
            take: take.restricted(|place| !is_late(place)),
            give: first_give,
            ..Transition::default()
        };
        let second_take = one(take.restricted(is_late));
        let second_give = give.restricted(|place| !is_early(place));
        let second = Transition { take: second_take, give: second_give, ..Transition::default() };
        // The moves go with one of the two.
        let (first, second) = if rng.chance(50) {
            (Transition { moves, ..first }, second)
        } else {
            (first, Transition { moves, ..second })
        };
        if rng.chance(25) {
            let other = Transition { moves: Vec::new(), give: take, ..second.clone() };
            net.transitions.push(other);
        }
        net.transitions[i] = first;
        net.transitions.push(second);
    }
}

#[test]
fn verdicts_stay_and_evidence_is_lifted_on_random_nets() {
    let mut counts = Counts::default();
    let mut completed = 0;
    for seed in seeds(12_000) {
        let net = shaped(seed);
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let expected = word(&run(&Reference, &net));
        for extent in [Extent::All, Extent::Markings] {
            let reduced = reduce(&net, extent);
            let verdict = run(&Reference, &reduced.net);
            assert_eq!(word(&verdict), expected, "{extent:?} {context}");
            match lifted(&net, &reduced, verdict, &context) {
                "uncoverable" => completed += 1,
                word => assert_eq!(word, expected, "{context}"),
            }
            add(&mut counts, reduced.counts);
        }
        assert_eq!(decided(&net, "backward", &context), expected, "{context}");
    }
    if std::env::var("CUSP_SEED").is_err() {
        let Counts { never_marked, dead, idle, dominated, irrelevant_places, .. } = counts;
        let Counts { irrelevant_transitions, unlimited, implied, enough, passed_on, on_demand, .. } = counts;
        let often = [never_marked, dead, idle, dominated, irrelevant_places, irrelevant_transitions];
        assert!(often.into_iter().chain([unlimited, enough]).all(|n| n > 500), "{counts:?}");
        assert!(
            [implied, passed_on, on_demand, completed].into_iter().all(|n| n > 50),
            "{completed} {counts:?}"
        );
    }
}

#[test]
fn coverability_sets_are_lifted_on_random_petri_nets() {
    let mut sets = 0;
    for seed in seeds(2_000) {
        let plain = Shape { moves: false, copies: false, ..Shape::SMALL };
        let net = random_net(seed, Shape { places: 5, transitions: 5, ..plain });
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let reduced = reduce(&net, Extent::Markings);
        let verdict = run(&KarpMiller::default(), &reduced.net);
        sets += usize::from(word(&verdict) == "safe");
        let expected = word(&run(&Reference, &net));
        assert_eq!(lifted(&net, &reduced, verdict, &context), expected, "{context}");
        assert_eq!(decided(&net, "mcov", &context), expected, "{context}");
    }
    assert!(sets > 100, "{sets}");
}

#[test]
fn zero_tests_are_obeyed_on_random_nets() {
    let (mut decided, mut reductions) = (0, 0);
    for seed in seeds(6_000) {
        let mut net = shaped(seed);
        let mut rng = Rng::new(seed);
        let places: Vec<PlaceId> = net.place_ids().collect();
        for transition in &mut net.transitions {
            if rng.chance(30) {
                transition.upper = vec![(*rng.pick(&places), rng.below(2) as u64)];
            }
        }
        for target in &mut net.targets {
            if rng.chance(20) {
                target.upper = vec![(*rng.pick(&places), rng.below(3) as u64)];
            }
        }
        let context = format!("CUSP_SEED={seed}: {net:?}");
        let reduced = reduce(&net, Extent::All);
        reductions += reduced.counts.total();
        let verdict = run(&Backward::default(), &reduced.net);
        let found = lifted(&net, &reduced, verdict, &context);
        // What the original net can do, the reduced one can, and the other way round.
        for (one, other) in [(&net, &reduced.net), (&reduced.net, &net)] {
            let limits = Limits { tokens: 4, markings: 3_000 };
            let is_run = |found: &Found| matches!(found, Found::Run(_));
            if is_run(&search(one, limits, &Budget::unlimited(), &Quiet)) {
                assert_ne!(found, "safe", "{context}");
                let other = run(&Backward::default(), other);
                assert_ne!(word(&other), "safe", "{context}");
            }
        }
        decided += usize::from(found != "unknown");
    }
    assert!(decided > 3_000 && reductions > 3_000, "{decided} decided, {reductions} reductions");
}

/// A net from its text.
fn net(rules: &str, init: &str, target: &str) -> Net {
    let names = "a b c d k m p q r s x";
    let zeros = names
        .split(' ')
        .filter(|name| !init.contains(&format!("{name}=")) && !init.contains(&format!("{name}>")));
    let init = zeros.map(|name| format!("{name}=0")).chain([init.to_owned()]).collect::<Vec<_>>().join(", ");
    let text = format!("vars {names} rules {rules} init {init} target {target}");
    spec::parse(&Source::new("example", text)).expect("a net").0
}

fn place(net: &Net, name: &str) -> PlaceId {
    net.place_ids().find(|&id| net.place(id).name == name).expect("a place")
}

/// Reduces and checks the verdict, with evidence; returns what was done.
fn example(net: &Net, expected: &str) -> Reduced {
    if net.is_monotone() {
        assert_eq!(decided(net, "backward", "example"), expected);
    }
    assert_eq!(decided(net, "auto", "example"), expected);
    reduce(net, Extent::All)
}

#[test]
fn what_never_fires_goes_and_what_may_fire_stays() {
    let dead = net("p>=1,a>=1 -> p'=p-1, b'=b+1; a>=1 -> a'=a-1, c'=c+1;", "a=1", "b>=1, c>=1");
    let Reduced { counts, net: small, restore } = example(&dead, "safe");
    assert!(
        counts.dead == 1 && restore.fate(place(&dead, "p")) == Fate::NeverMarked && small.targets.is_empty()
    );
    let alive = net("p>=1,a>=1 -> p'=p-1, b'=b+1; s>=1 -> s'=s-1, p'=p+1;", "a=1, s=1", "b>=1");
    assert_eq!(example(&alive, "unsafe").counts.dead, 0);
}

#[test]
fn what_only_removes_tokens_goes_unless_somebody_waits_for_that() {
    let idle = net("a>=1 -> a'=a-1; a>=2,k>=1 -> k'=k-1, b'=b+1;", "a=2, k=1", "b>=1");
    assert_eq!(example(&idle, "unsafe").counts.idle, 1);
    let waiting = net("a>=1 -> a'=a-1; a=0,k>=1 -> k'=k-1, b'=b+1;", "a=1, k=1", "b>=1");
    assert_eq!(example(&waiting, "unsafe").counts.idle, 0);
}

#[test]
fn the_stronger_transition_stands_in_for_the_weaker() {
    let equal = net("a>=1 -> a'=a-1, b'=b+1; a>=1 -> a'=a-1, b'=b+1;", "a=2", "b>=2");
    assert_eq!(example(&equal, "unsafe").counts.dominated, 1);
    let weaker = net("a>=1 -> a'=a-1, b'=b+2; a>=2 -> a'=a-2, b'=b+1;", "a=2", "b>=4");
    assert_eq!(example(&weaker, "unsafe").counts.dominated, 1);
    let both = net("a>=1 -> a'=a-1, b'=b+1; a>=2 -> a'=a-2, b'=b+3;", "a=2", "b>=3");
    assert_eq!(example(&both, "unsafe").counts.dominated, 0);
    // What the second leaves in `p` does not stay there.
    let moved = net("p>=2 -> p'=1, b'=b+1; p>=1 -> p'=0, b'=b+1;", "p=2", "p>=1, b>=1");
    assert_eq!(example(&moved, "unsafe").counts.dominated, 0);
    // The stronger one is tested for more.
    let tested = net("a>=1,k=0 -> a'=a-1, b'=b+1; a>=1,k>=1 -> a'=a-1, b'=b+1, k'=k;", "a=1, k=1", "b>=1");
    assert_eq!(example(&tested, "unsafe").counts.dominated, 0);
}

#[test]
fn what_does_not_lead_to_a_target_goes() {
    let aside = net("a>=1 -> a'=a-1, b'=b+1; a>=1 -> a'=a-1, c'=c+1; c>=1 -> c'=c-1, d'=d+1;", "a=2", "b>=2");
    let Reduced { counts, restore, .. } = example(&aside, "unsafe");
    assert_eq!((counts.irrelevant_transitions, restore.fate(place(&aside, "d"))), (2, Fate::Free));
    // What is in `x` comes to `b` with a transfer.
    let transfer = net("a>=1 -> a'=a-1, b'=b+x, x'=0; c>=1 -> c'=c-1, x'=x+1;", "a=1, c=2", "b>=2");
    assert_eq!(example(&transfer, "unsafe").counts.irrelevant_transitions, 0);
    // Who takes from `x` does so for a zero test.
    let test = net("x=0,a>=1 -> a'=a-1, b'=b+1; x>=1 -> x'=x-1, d'=d+1;", "a=1, x=2", "b>=1");
    assert_eq!(example(&test, "unsafe").counts.irrelevant_transitions, 0);
}

#[test]
fn places_that_can_be_filled_at_will_go_unless_somebody_empties_them() {
    let filled =
        net("a>=2 -> a'=a-2, b'=b+1; b>=1,k>=1 -> b'=b-1, k'=k-1, c'=c+1;", "a>=0, k=3", "c>=3, b>=2");
    let Reduced { counts, restore, .. } = example(&filled, "unsafe");
    assert_eq!((counts.unlimited, restore.fillings().len()), (2, 1));
    let emptied = "s>=1 -> s'=s-1, a'=0, r'=r+1; r>=1,a>=1 -> r'=r-1, a'=a-1, b'=b+1;";
    assert_eq!(example(&net(emptied, "a>=0, s=1", "b>=1"), "safe").counts.unlimited, 0);
}

#[test]
fn a_place_that_always_holds_enough_goes() {
    let rules = "a>=1,k>=1 -> a'=a-1, b'=b+1;";
    assert_eq!(example(&net(rules, "a=1, k=1", "b>=1"), "unsafe").counts.enough, 1);
    let more = "a>=1,k>=2 -> a'=a-1, b'=b+1;";
    assert_eq!(example(&net(more, "a=1, k=1", "b>=1"), "safe").counts.enough, 0);
    let taken = "a>=1,k>=1 -> a'=a-1, k'=k-1, b'=b+1;";
    assert_eq!(example(&net(taken, "a=2, k=1", "b>=2"), "safe").counts.enough, 0);
}

#[test]
fn of_two_places_the_one_that_holds_fewer_tokens_decides() {
    let rules = "p>=1,q>=1 -> p'=p-1, q'=q-1, b'=b+1; b>=1,c>=1 -> b'=b-1, c'=c-1, q'=q+1, p'=p+1, d'=d+1;";
    let equal = net(rules, "p=1, q=1, c=2", "d>=2, b>=1");
    assert_eq!(example(&equal, "unsafe").counts.implied, 1);
    let fewer = net("p>=1,q>=1 -> p'=p-1, q'=q-1, b'=b+1;", "p=1, q=2", "b>=2");
    let Reduced { restore, .. } = example(&fewer, "safe");
    assert!(matches!(restore.fate(place(&fewer, "p")), Fate::Kept(_)), "`p` is the one that runs out");
    // `q` gets tokens that `p` does not.
    let rules = "p>=1,q>=1 -> p'=p-1, q'=q-1, b'=b+1; k>=1 -> k'=k-1, q'=q+2;";
    let gains = net(rules, "p=1, q=1, k=1", "b>=2");
    assert!(matches!(example(&gains, "safe").restore.fate(place(&gains, "p")), Fate::Kept(_)));
    // `p` is also needed alone.
    let rules = "p>=1,q>=1 -> p'=p-1, q'=q-1, b'=b+1; p>=1,b>=1 -> p'=p-1, d'=d+1;";
    let alone = net(rules, "p=1, q=1", "d>=1");
    assert!(matches!(example(&alone, "safe").restore.fate(place(&alone, "p")), Fate::Kept(_)));
}

#[test]
fn tokens_are_passed_on_at_once_unless_somebody_moves_them_meanwhile() {
    let rules = "a>=1,k>=1 -> a'=a-1, k'=k-1, c'=c+1, p'=p+1; p>=1 -> p'=p-1, b'=b+1;";
    let Reduced { counts, .. } = example(&net(rules, "a=2, k=2", "b>=2, c>=2"), "unsafe");
    assert_eq!((counts.passed_on, counts.on_demand), (1, 0));
    assert_eq!(example(&net(rules, "a=2, k=1", "b>=2, c>=2"), "safe").counts.passed_on, 1);
    // The token has to wait in `p` while `b` is emptied.
    let rules = "a>=1 -> a'=a-1, p'=p+1, k'=k+1; p>=1 -> p'=p-1, b'=b+1; k>=1 -> k'=k-1, b'=0, m'=m+1;";
    assert_eq!(example(&net(rules, "a=1", "b>=1, m>=1"), "unsafe").counts.passed_on, 0);
    // There is a token in `p` from the start.
    let rules = "a>=1,k>=1 -> a'=a-1, c'=c+1, p'=p+1; p>=1 -> p'=p-1, b'=b+1;";
    assert_eq!(example(&net(rules, "a=1, k=1, p=1", "b>=2, c>=1"), "unsafe").counts.passed_on, 0);
}

#[test]
fn tokens_come_when_they_are_needed_unless_somebody_moves_them_before() {
    let rules = "x>=1,k>=1 -> x'=x-1, k'=k-1, p'=p+1; p>=1,s>=1 -> p'=p-1, s'=s-1, d'=d+1, c'=c+1;";
    let Reduced { counts, .. } = example(&net(rules, "x=2, k=2, s=2", "d>=2, c>=2"), "unsafe");
    assert_eq!((counts.passed_on, counts.on_demand), (0, 1));
    // What `p` comes from is gone when it is needed.
    let rules = "x>=1 -> x'=x-1, p'=p+1; s>=1 -> s'=s-1, x'=0, m'=m+1; p>=1,m>=1 -> p'=p-1, m'=m-1, d'=d+1;";
    assert_eq!(example(&net(rules, "x=1, s=1", "d>=1"), "unsafe").counts.on_demand, 0);
    // Two tokens are needed at once.
    let rules = "x>=1,k>=1 -> x'=x-1, k'=k-1, p'=p+1; p>=2,s>=1 -> p'=p-2, s'=s-1, d'=d+1, c'=c+1;";
    assert_eq!(example(&net(rules, "x=2, k=2, s=1", "d>=1, c>=1"), "unsafe").counts.on_demand, 0);
}

fn marking(entries: &[(PlaceId, u64)]) -> Marking {
    Marking::sum_of(entries.iter().copied()).expect("small")
}

fn take_give(take: &[(PlaceId, u64)], give: &[(PlaceId, u64)]) -> Transition {
    Transition { take: marking(take), give: marking(give), ..Transition::default() }
}

#[test]
fn a_thousand_places_and_27_000_transitions_are_reduced_to_what_differs() {
    let mut builder = Builder::new();
    let places: Vec<PlaceId> = (0..1_000).map(|i| builder.counter(&format!("p{i}"))).collect();
    let lock = builder.counter("lock");
    for copy in 0..27 {
        for (i, pair) in places.windows(2).enumerate() {
            // Every rule many times, some with a guard that the first one does not need.
            let guard = if copy % 2 == 1 { 2 } else { 1 };
            let take = [(pair[0], guard), (lock, 1)];
            let left = [(pair[0], guard - 1), (pair[1], 1), (lock, 1), (places[i / 2], u64::from(copy == 0))];
            builder.transition(take_give(&take, &left));
        }
    }
    builder.initial(places[0], Range::exactly(1));
    builder.initial(lock, Range::exactly(1));
    builder.cover(marking(&[(places[999], 1), (places[3], 2)]));
    let net = builder.finish();
    assert_eq!(net.transitions.len(), 27 * 999);
    let Reduced { counts, net: small, .. } = reduce(&net, Extent::All);
    // Only the first copy gives more than the others.
    assert!(counts.dominated >= 26 * 999, "{counts:?}");
    assert!(counts.enough > 0 && small.transitions.len() <= 999, "{counts:?}");
    assert_eq!(decided(&net, "auto", "large"), "unsafe");
}

#[test]
fn a_long_chain_becomes_one_step_and_the_run_is_long_again() {
    const LENGTH: usize = 20_000;
    let mut builder = Builder::new();
    let places: Vec<PlaceId> = (0..=LENGTH).map(|i| builder.counter(&format!("p{i}"))).collect();
    for pair in places.windows(2) {
        builder.transition(take_give(&[(pair[0], 1)], &[(pair[1], 1)]));
    }
    builder.initial(places[0], Range::exactly(2));
    let mut safe = builder.clone();
    builder.cover(marking(&[(places[LENGTH], 2)]));
    let net = builder.finish();
    let Reduced { counts, net: small, .. } = reduce(&net, Extent::All);
    assert_eq!((counts.passed_on, small.transitions.len()), (LENGTH - 1, 1));
    let answer = answer(&net, Setup::default(), &Budget::unlimited(), &Quiet);
    let certified = answer.result.expect("evidence that holds");
    let NetVerdict::Unsafe(run) = certified.verdict() else { panic!("it walks through") };
    assert_eq!((run.steps.len(), answer.engine), (2 * LENGTH, "backward"));
    safe.cover(marking(&[(places[LENGTH], 3)]));
    assert_eq!(word(&run_reduced(&safe.finish())), "safe");
}

/// The verdict about the reduced net alone.
fn run_reduced(net: &Net) -> NetVerdict {
    run(&Reference, &reduce(net, Extent::All).net)
}

#[test]
fn reducing_and_lifting_end_with_the_budget() {
    let net = short_chain();
    let asked = std::cell::Cell::new(0_usize);
    let full = reduce(&net, Extent::Markings);
    let stop = |most: usize| {
        asked.set(asked.get() + 1);
        asked.get() > most
    };
    // Stopped before the first reduction, it changes nothing; stopped later, less than when it is not.
    let none = reduce_unless(&net, Extent::Markings, &|| stop(0));
    assert_eq!((asked.get(), none.counts.total()), (1, 0));
    assert!(full.counts.total() > 0);
    // A spent budget decides and lifts nothing, and says so.
    let budget = Budget::unlimited();
    budget.interrupt();
    let answer = answer(&net, Setup::default(), &budget, &Quiet);
    assert_eq!(answer.result.expect("nothing to reject").verdict().word(), "unknown");
    let ideals = vec![OmegaMarking::default(); 3];
    let run = FiringSequence { initial: full.net.initial.least(), steps: vec![firing(0)] };
    for verdict in [NetVerdict::Safe(NetCertificate::CoverabilitySet(ideals)), NetVerdict::Unsafe(run)] {
        let lifted = lift_net(&net, &none, verdict, &budget).expect("nothing that cannot be lifted");
        let LiftedNet::Verdict(NetVerdict::Unknown(unknown)) = lifted else { panic!("{lifted:?}") };
        assert_eq!(unknown.reason, Reason::Interrupted);
    }
}

fn firing(transition: usize) -> Firing {
    Firing { transition: TransitionId::from_index(transition), choices: Vec::new() }
}

/// One place after the other, and one more that nobody takes from.
fn short_chain() -> Net {
    let text = "vars x y z\nrules\nx >= 1 -> x' = x - 1, y' = y + 1, z' = z + 1;\n\
                init x >= 1, y = 0, z = 0\ntarget y >= 2\n";
    spec::parse(&Source::new("test.spec", text)).expect("a net").0
}
