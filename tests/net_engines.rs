//! Engines for nets agree with the plain backward search on random nets, and show it.

mod support;

use cusp::budget::Budget;
use cusp::certify::certify_net;
use cusp::engines::Engine;
use cusp::engines::nets::backward::Backward;
use cusp::engines::nets::directed::DirectedWithin;
use cusp::engines::nets::karp_miller::KarpMiller;
use cusp::engines::nets::mcov::Mcov;
use cusp::engines::nets::mcov::minimise::{Size, minimise};
use cusp::engines::nets::mcov::oracle::Oracle;
use cusp::engines::nets::reference::Reference;
use cusp::engines::nets::sets::ideal::OMEGA;
use cusp::evidence::{NetCertificate, NetVerdict};
use cusp::net::predecessors::predecessors;
use cusp::net::{Marking, Net, PlaceId, PlaceKind, Target, Transition, tts};
use cusp::progress::Quiet;
use cusp::source::Source;
use support::nets::{Shape, random_net};
use support::portfolio::Auto;
use support::seeds;

fn word(verdict: &NetVerdict) -> &'static str {
    match verdict {
        NetVerdict::Safe(_) => "safe",
        NetVerdict::Unsafe(_) => "unsafe",
        NetVerdict::Unknown(_) => "unknown",
    }
}

/// Whether an engine has to decide every net.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    Decide,
    /// Not those with transfers, resets and choices.
    DecidePetriNets,
    /// It looks for runs only.
    Try,
}

/// Fails on a wrong answer, evidence that is not accepted, or a net that has to be decided and is not;
/// returns how many of the nets are decided.
fn agree(engine: &dyn Engine<Net>, nets: &[(u64, Net, &'static str)], duty: Duty) -> usize {
    let mut decided = 0;
    for (seed, net, expected) in nets {
        let verdict = engine.run(net, &Budget::unlimited(), &Quiet);
        let context = || format!("CUSP_SEED={seed} {}: {net:?}", engine.name());
        let found = word(&verdict);
        let is_petri = net.transitions.iter().all(Transition::is_plain);
        if found == "unknown" && (duty == Duty::Try || duty == Duty::DecidePetriNets && !is_petri) {
            continue;
        }
        assert_eq!(found, *expected, "{} {verdict:?}", context());
        if let Err(rejection) = certify_net(net, verdict, &Budget::unlimited()) {
            panic!("{rejection} {}", context());
        }
        decided += 1;
    }
    decided
}

#[test]
fn all_engines_agree_on_random_nets() {
    // The limits are numbers of markings, so that the same nets are decided everywhere. The explicit engine
    // has its own test in `nets/agreement.rs`.
    let engines: [(&(dyn Engine<Net> + Sync), Duty, usize); 7] = [
        (&Auto, Duty::Decide, 100),
        (&Backward { most_elements: None }, Duty::Decide, 100),
        (&Mcov { alone: true, worth_a_thread: u64::MAX, ..Mcov::default() }, Duty::Decide, 100),
        (&Mcov { alone: false, worth_a_thread: 8_000, ..Mcov::default() }, Duty::Decide, 100),
        (&Mcov { after_the_oracle: 0, ..Mcov::default() }, Duty::Decide, 100),
        (&KarpMiller { most_limits: Some(2_000) }, Duty::DecidePetriNets, 90),
        (&DirectedWithin { most_markings: 200 }, Duty::Try, 30),
    ];
    let seeds: Vec<u64> = seeds(20_000).collect();
    let tests = |seeds: &[u64]| -> Vec<usize> {
        let nets: Vec<(u64, Net, &str)> = seeds
            .iter()
            .map(|&seed| {
                let net = random_net(seed, Shape::SMALL);
                let expected = word(&Reference.run(&net, &Budget::unlimited(), &Quiet));
                (seed, net, expected)
            })
            .collect();
        engines.iter().map(|&(engine, duty, _)| agree(engine, &nets, duty)).collect()
    };
    let halves: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let halves = seeds.chunks(seeds.len().div_ceil(2));
        let running: Vec<_> = halves.map(|half| scope.spawn(|| tests(half))).collect();
        running.into_iter().map(|half| half.join().expect("no engine is wrong")).collect()
    });
    for (i, &(engine, _, percent)) in engines.iter().enumerate() {
        let decided: usize = halves.iter().map(|half| half[i]).sum();
        let is_enough = decided * 100 >= seeds.len() * percent;
        assert!(is_enough || std::env::var("CUSP_SEED").is_ok(), "{}: {decided}", engine.name());
    }
}

#[test]
fn what_the_oracle_reports_can_be_covered() {
    let mut accelerated = 0;
    for seed in seeds(600) {
        let net = random_net(seed, Shape::SMALL);
        let mut oracle = Oracle::new(&net);
        oracle.advance(200, &Budget::unlimited());
        for ideal in oracle.tree.active_ideals().take(20) {
            // Of any number of tokens, five are asked for.
            let tokens = |&(place, n): &(PlaceId, u64)| (place, if n == OMEGA { 5 } else { n });
            let below = Marking::sum_of(ideal.entries().iter().map(tokens)).expect("small");
            accelerated += usize::from(ideal.entries().iter().any(|&(_, n)| n == OMEGA));
            if below.total() > 12 {
                // The plain search takes long on those.
                continue;
            }
            let targets = vec![Target { least: below.clone(), ..Target::default() }];
            let question = Net { targets, ..net.clone() };
            let verdict = Backward::default().run(&question, &Budget::unlimited(), &Quiet);
            assert_eq!(word(&verdict), "unsafe", "CUSP_SEED={seed}: {below:?} {net:?}");
        }
    }
    assert!(accelerated > 100 || std::env::var("CUSP_SEED").is_ok(), "{accelerated}");
}

/// The elements of a proof by elements.
fn elements(verdict: NetVerdict) -> Option<Vec<Marking>> {
    match verdict {
        NetVerdict::Safe(NetCertificate::Basis(basis)) => Some(basis.elements),
        _ => None,
    }
}

/// The part of the elements that is left if those go that ask for something no element answers, again
/// and again.
fn closed_part(net: &Net, elements: &[Marking]) -> Vec<Marking> {
    let mut part = elements.to_vec();
    loop {
        let answered = |m: &Marking| part.iter().any(|element| m.covers(element));
        let stays = |element: &&Marking| {
            net.transitions.iter().all(|t| {
                let before = predecessors(t, element, &mut |_| true).expect("small");
                before.iter().all(answered)
            })
        };
        let smaller: Vec<Marking> = part.iter().filter(stays).cloned().collect();
        if smaller.len() == part.len() {
            return part;
        }
        part = smaller;
    }
}

#[test]
fn minimal_proofs_are_minimal() {
    let mut proofs = 0;
    for seed in seeds(1_500) {
        let net = random_net(seed, Shape::SMALL);
        for engine in [Mcov::default(), Mcov { alone: true, ..Mcov::default() }] {
            let Some(elements) = elements(engine.run(&net, &Budget::unlimited(), &Quiet)) else { continue };
            proofs += 1;
            for (i, element) in elements.iter().enumerate() {
                // One token less anywhere, and it can be covered.
                for (place, n) in element.iter() {
                    let mut least = element.clone();
                    least.set(place, n - 1);
                    let targets = vec![Target { least, ..Target::default() }];
                    let question = Net { targets, ..net.clone() };
                    let verdict = Backward::default().run(&question, &Budget::unlimited(), &Quiet);
                    assert_eq!(word(&verdict), "unsafe", "CUSP_SEED={seed} {element:?} {net:?}");
                }
                // Without it, and all that cannot do without it, a target is not excluded.
                let mut others = elements.clone();
                others.remove(i);
                let part = closed_part(&net, &others);
                let is_excluded = |t: &Target| part.iter().any(|element| t.least.covers(element));
                let is_proof = net.targets.iter().all(is_excluded);
                assert!(!is_proof, "CUSP_SEED={seed} without {element:?} of {elements:?} {net:?}");
            }
        }
    }
    assert!(proofs > 500 || std::env::var("CUSP_SEED").is_ok(), "{proofs}");
}

#[test]
fn the_example_of_the_paper_has_a_proof_of_seven_elements_and_two_threads() {
    let text = "4 4\n2 2 -> 3 0\n0 2 -> 2 0\n1 2 -> 0 0\n1 1 -> 1 2\n0 0 -> 1 1\n";
    let (system, _) = tts::parse(&Source::new("paper.tts", text)).expect("a system");
    let net = system.net(&"0/0".parse().expect("a state"), &["3|".parse().expect("a target")]);
    let proof = |engine: &dyn Engine<Net>| {
        let verdict = engine.run(&net, &Budget::unlimited(), &Quiet);
        certify_net(&net, verdict.clone(), &Budget::unlimited()).expect("evidence");
        elements(verdict).expect("a proof")
    };
    // To the paper, what has two shared states is no state; to the plain search it is a marking like others.
    let of_states = |mut elements: Vec<Marking>| {
        let is_shared = |place: PlaceId| matches!(net.place(place).kind, PlaceKind::Shared(_));
        elements.retain(|m| m.iter().filter(|&(p, _)| is_shared(p)).map(|(_, n)| n).sum::<u64>() == 1);
        elements
    };
    assert_eq!(Size::of(&net, &of_states(proof(&Reference))), Size { elements: 9, threads: 3 });
    for engine in [Mcov { alone: true, ..Mcov::default() }, Mcov::default()] {
        assert_eq!(Size::of(&net, &proof(&engine)), Size { elements: 7, threads: 2 });
    }
}

#[test]
fn a_minimised_proof_is_a_proof_and_not_larger() {
    for seed in seeds(1500) {
        let net = random_net(seed, Shape::SMALL);
        let verdict = Reference.run(&net, &Budget::unlimited(), &Quiet);
        let NetVerdict::Safe(NetCertificate::Basis(basis)) = verdict else { continue };
        let smaller = minimise(&net, &basis, &Budget::unlimited()).expect("small");
        let (before, after) = (Size::of(&net, &basis.elements), Size::of(&net, &smaller.elements));
        assert!(after.elements <= before.elements && after.threads <= before.threads, "CUSP_SEED={seed}");
        let verdict = NetVerdict::Safe(NetCertificate::Basis(smaller));
        if let Err(rejection) = certify_net(&net, verdict, &Budget::unlimited()) {
            panic!("CUSP_SEED={seed}: {rejection} {net:?}");
        }
    }
}

#[test]
fn the_same_question_gets_the_same_proof() {
    for seed in seeds(300) {
        let net = random_net(seed, Shape::SMALL);
        // Without a second thread, with one in every round, and once more.
        let answers = [u64::MAX, 0, 0].map(|worth_a_thread| {
            let engine = Mcov { worth_a_thread, ..Mcov::default() };
            format!("{:?}", engine.run(&net, &Budget::unlimited(), &Quiet))
        });
        assert!(answers.iter().all(|answer| *answer == answers[0]), "CUSP_SEED={seed} {answers:?}");
    }
}
