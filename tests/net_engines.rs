//! Engines for nets agree with the plain backward search on random nets, and show it.

mod support;

use std::time::Duration;

use cusp::budget::{Budget, Limits};
use cusp::certify::certify_net;
use cusp::engines::nets::NetEngine;
use cusp::engines::nets::karp_miller::KarpMiller;
use cusp::engines::nets::mcov::Mcov;
use cusp::engines::nets::mcov::minimise::{Size, minimise};
use cusp::engines::nets::reference::Reference;
use cusp::evidence::{NetCertificate, NetVerdict};
use cusp::progress::Quiet;
use support::nets::{Shape, random_net};
use support::seeds;

/// Whether an engine that may be unable to decide the net has to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    Decide,
    Try,
}

fn word(verdict: &NetVerdict) -> &'static str {
    match verdict {
        NetVerdict::Safe(_) => "safe",
        NetVerdict::Unsafe(_) => "unsafe",
        NetVerdict::Unknown(_) => "unknown",
    }
}

/// Counts the nets that the engine decides; fails on a wrong answer or evidence that is not accepted.
fn agree(engine: &dyn NetEngine, count: u64, shape: Shape, duty: Duty) -> usize {
    let mut decided = 0;
    for seed in seeds(count) {
        let net = random_net(seed, shape);
        let expected = word(&Reference.run(&net, &Budget::unlimited(), &Quiet));
        // Nothing here takes long; a search that does not end is stopped.
        let time = Duration::from_millis(if duty == Duty::Decide { 20_000 } else { 500 });
        let (budget, _watch) = Budget::start(Limits { time: Some(time), memory: Some(2 << 30) });
        let verdict = engine.run(&net, &budget, &Quiet);
        let context = || format!("CUSP_SEED={seed} {}: {net:?}", engine.name());
        if duty == Duty::Try && word(&verdict) == "unknown" {
            continue;
        }
        assert_eq!(word(&verdict), expected, "{} {verdict:?}", context());
        if let Err(rejection) = certify_net(&net, verdict, &Budget::unlimited()) {
            panic!("{rejection} {}", context());
        }
        decided += 1;
    }
    decided
}

#[test]
fn karp_miller_decides_petri_nets() {
    agree(&KarpMiller, 3000, Shape { moves: false, copies: false, ..Shape::SMALL }, Duty::Decide);
}

#[test]
fn karp_miller_is_right_about_transfers_resets_and_copies() {
    let decided = agree(&KarpMiller, 3000, Shape::SMALL, Duty::Try);
    assert!(decided > 2900 || std::env::var("CUSP_SEED").is_ok(), "{decided}");
}

#[test]
fn minimal_proofs_decide_all_nets() {
    agree(&Mcov { alone: true }, 3000, Shape::SMALL, Duty::Decide);
    agree(&Mcov::default(), 3000, Shape::SMALL, Duty::Decide);
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
        let answers =
            [(); 2].map(|()| format!("{:?}", Mcov::default().run(&net, &Budget::unlimited(), &Quiet)));
        assert_eq!(answers[0], answers[1], "CUSP_SEED={seed}");
    }
}
