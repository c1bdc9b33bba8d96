//! Cutoffs: how many threads are enough.

mod support;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use cusp::budget::{Budget, Limits};
use cusp::certify::{CertifiedNet, certify_cutoff, certify_cutoff_within, certify_net};
use cusp::engines::Engine;
use cusp::engines::cutoff::fewest::{Effort, fewest};
use cusp::engines::cutoff::threads::{Exploration, actions, fewest_threads};
use cusp::engines::cutoff::translate::thread_net;
use cusp::engines::cutoff::{Found, Patience, coverable, search};
use cusp::engines::nets::explicit::Explicit;
use cusp::evidence::{CutoffEvidence, NetVerdict, Reason};
use cusp::net::fire::successors;
use cusp::net::tts::{self, InitialState, TargetState};
use cusp::net::{Initial, Marking, Net, PlaceId, PlaceKind, Range, Transition};
use cusp::pipeline::cutoff::{Answer, cutoff};
use cusp::progress::Quiet;
use cusp::source::Source;
use support::rng::Rng;
use support::seeds;

fn net(text: &str, initial: &str, target: &str) -> Net {
    let source = Source::new("test.tts", text);
    let (system, _) = tts::parse(&source).expect("a system");
    let initial: InitialState = initial.parse().expect("an initial state");
    let targets: Vec<TargetState> =
        if target.is_empty() { Vec::new() } else { vec![target.parse().expect("a target")] };
    system.net(&initial, &targets)
}

fn answer(net: &Net) -> Answer {
    answer_with(net, Patience::default())
}

fn answer_with(net: &Net, patience: Patience) -> Answer {
    // Nothing here takes long; a search that does not end is stopped.
    let (budget, _watch) = Budget::start(Limits { time: Some(Duration::from_secs(10)), memory: None });
    cutoff(net, patience, &budget, &Quiet).expect("threads")
}

fn sizes(answer: &Answer) -> Vec<usize> {
    answer.certified.rounds().map(|(round, _)| round.thread_states.len()).collect()
}

#[test]
fn a_counter_up_to_c_has_cutoff_c() {
    // The program of section 4: each thread adds one modulo c + 1 and then looks for c. The error needs
    // exactly c threads. The paper calls c the cutoff; it is that of the program up to the error. To see
    // every thread state, threads must go on while one is in the error: that with the counter at c - 1
    // again takes c more.
    for c in 1..=6 {
        let steps = (0..=c).map(|s| format!("{s} 0 -> {} 1\n", (s + 1) % (c + 1)));
        let text = format!("{} 3\n{}{c} 1 -> {c} 2\n", c + 1, steps.collect::<String>());
        let found = answer(&net(&text, "0/0", &format!("{c}|2")));
        assert_eq!(*found.certified.found(), Found::Target(c), "{c}");
        assert!(matches!(found.certified.verdict(), NetVerdict::Unsafe(_)));
        assert_eq!(*answer(&net(&text, "0/0", "")).certified.found(), Found::Cutoff(2 * c), "{c}");
    }
}

#[test]
fn a_candidate_that_never_vanishes_is_found_unrealizable() {
    // Section 5.2: no two threads can be in local state 1.
    let found = answer(&net("3 2\n0 0 -> 1 1\n1 1 -> 2 0\n", "0/0", "2|1"));
    assert_eq!(*found.certified.found(), Found::Cutoff(2));
    assert!(matches!(found.certified.verdict(), NetVerdict::Safe(_)));
    let last = found.certified.rounds().last();
    assert!(last.is_some_and(|(round, _)| round.candidates > 0 && round.realizable == Some(false)));
}

#[test]
fn a_plateau_is_not_taken_for_the_end() {
    // Three threads reach what four do, but five reach one thread state more: two must have gone to 3
    // one after the other, and a third to 2 each time.
    let found = answer(&net("3 4\n1 0 -> 0 3\n1 3 -> 2 0\n0 0 -> 1 2\n", "0/0", ""));
    assert_eq!(sizes(&found), [2, 5, 8, 8, 9]);
    assert_eq!(*found.certified.found(), Found::Cutoff(5));
    assert_eq!(found.certified.rounds().nth(3).and_then(|(round, _)| round.realizable), Some(true));
}

/// The thread states of `n` threads, from the net alone: the oracle.
fn reached(net: &Net, n: u64) -> BTreeSet<(PlaceId, PlaceId)> {
    let is_shared = |place: PlaceId| matches!(net.place(place).kind, PlaceKind::Shared(_));
    let mut open = Vec::new();
    // Of the bound, some or all threads are there at the start.
    let mut seen: BTreeSet<Marking> = BTreeSet::new();
    let mut partial = vec![net.initial.least()];
    let missing = n.saturating_sub(net.threads(&net.initial.least()) as u64);
    let free: Vec<PlaceId> =
        net.initial.ranges().iter().filter(|(_, range)| range.most.is_none()).map(|&(p, _)| p).collect();
    for _ in 0..if free.is_empty() { 0 } else { missing } {
        let more = |m: &Marking| {
            free.iter()
                .map(|&p| {
                    let mut m = m.clone();
                    m.add(p, 1).expect("small");
                    m
                })
                .collect::<Vec<_>>()
        };
        seen.extend(partial.iter().cloned());
        partial = partial.iter().flat_map(more).collect();
    }
    seen.extend(partial);
    open.extend(seen.iter().cloned());
    let mut states = BTreeSet::new();
    while let Some(marking) = open.pop() {
        let shared = marking.iter().map(|(p, _)| p).find(|&p| is_shared(p)).expect("a shared state");
        states.extend(marking.iter().map(|(p, _)| p).filter(|&p| !is_shared(p)).map(|p| (shared, p)));
        for transition in &net.transitions {
            for (_, mut after) in successors(transition, &marking).expect("small") {
                if net.threads(&after) > u128::from(n.max(net.threads(&net.initial.least()) as u64)) {
                    // The thread that was started is not.
                    let started = transition.give.minus(&transition.take);
                    let (place, _) = started.iter().find(|&(p, _)| !is_shared(p)).expect("a spawn");
                    after.set(place, after.get(place) - 1);
                }
                if seen.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
    }
    states
}

/// A random system with spawns, broadcasts and set-valued passive moves.
fn random_system(seed: u64) -> (String, &'static str) {
    let mut rng = Rng::new(seed);
    let (shared, local) = (rng.between(1, 3), rng.between(1, 4));
    let mut text = format!("{shared} {local}\n");
    for _ in 0..rng.between(1, 6) {
        let (s, l) = (rng.below(shared), rng.below(local));
        let (t, k) = (rng.below(shared), rng.below(local));
        let line = match rng.weighted(&[8, 1, 2]) {
            0 => {
                let mut line = format!("{s} {l} -> {t} {k}");
                if rng.chance(25) {
                    let (from, to) = (rng.below(local), rng.below(local));
                    let _ = write!(line, " {from} ~> {to}");
                    if rng.chance(40) {
                        let _ = write!(line, " {from} ~> {}", rng.below(local));
                    }
                }
                line
            }
            1 => format!("{s} {l} ~> {t} {k}"),
            _ => format!("{s} {l} +> {t} {k}"),
        };
        text += &line;
        text.push('\n');
    }
    let initial = if rng.chance(60) || local == 1 { "0/0" } else { ["0|0", "0|0/1", "0/0,1"][rng.below(3)] };
    (text, initial)
}

#[test]
fn cutoffs_of_random_systems_are_those_that_brute_force_finds() {
    let mut found_cutoffs: BTreeMap<usize, usize> = BTreeMap::new();
    for seed in seeds(1_500) {
        let (text, initial) = random_system(seed);
        let net = net(&text, initial, "");
        if net.transitions.iter().any(Transition::copies) {
            continue;
        }
        let all: Vec<BTreeSet<_>> = (1..=8).map(|n| reached(&net, n)).collect();
        let brute = (0..8).rev().take_while(|&i| all[i] == all[7]).last().expect("the last itself") + 1;
        let answer = answer(&net);
        let &Found::Cutoff(n) = answer.certified.found() else {
            panic!("CUSP_SEED={seed} {initial}\n{text}\n{answer:?}")
        };
        assert_eq!(answer.certified.unchecked(), None, "CUSP_SEED={seed} {initial}\n{text}");
        assert!(answer.certified.rounds().all(|(_, checked)| checked), "CUSP_SEED={seed} {initial}\n{text}");
        // Rounds begin with the fewest threads that there are.
        let brute = brute.max(cusp::engines::cutoff::threads::fewest_threads(&net));
        if n <= 7 {
            assert_eq!(n, brute, "CUSP_SEED={seed} {initial}\n{text}");
        } else {
            assert!(brute >= 7, "CUSP_SEED={seed} {initial}: {n} but {brute}\n{text}");
        }
        // Whoever asks after every few states whether that is all finds the same number.
        let hasty = answer_with(&net, Patience { in_a_round: 1, in_all: 1 });
        assert_eq!(*hasty.certified.found(), Found::Cutoff(n), "CUSP_SEED={seed} {initial}\n{text}");
        let all =
            |answer: &Answer| answer.certified.rounds().last().map(|(round, _)| round.thread_states.clone());
        assert_eq!(all(&hasty), all(&answer), "CUSP_SEED={seed} {initial}\n{text}");
        *found_cutoffs.entry(n).or_default() += 1;
    }
    let compared: usize = found_cutoffs.values().sum();
    let is_moved = std::env::var("CUSP_SEED").is_ok() || std::env::var("CUSP_COUNT").is_ok();
    assert!(is_moved || found_cutoffs.len() >= 3 && compared >= 1_000, "{found_cutoffs:?}");
}

#[test]
fn a_started_thread_may_be_new_although_there_is_no_candidate() {
    let found = answer(&net("1 2\n0 0 +> 0 1\n", "0|0", ""));
    assert_eq!(*found.certified.found(), Found::Cutoff(2));
    assert_eq!(sizes(&found), [1, 2]);
}

#[test]
fn a_cutoff_says_nothing_about_two_threads_at_once() {
    let found = answer(&net("1 2\n0 0 -> 0 1\n", "0/0", "0|1,1"));
    assert!(matches!(found.certified.verdict(), NetVerdict::Unsafe(_)));
}

#[test]
fn the_fewest_threads_by_proofs_are_those_that_brute_force_finds() {
    let mut found = 0;
    for seed in seeds(600) {
        let (text, initial) = random_system(seed);
        let mut rng = Rng::new(seed);
        let numbers: Vec<usize> =
            text.lines().next().into_iter().flat_map(str::split_whitespace).flat_map(str::parse).collect();
        let (shared, local) = (rng.below(numbers[0]), rng.below(numbers[1]));
        let net = net(&text, initial, &format!("{shared}|{local}"));
        let context = format!("CUSP_SEED={seed} {initial} {shared}|{local}\n{text}");
        let Some((n, _)) = fewest(&net, Effort::FIRST, &Budget::unlimited()) else { continue };
        let place = |kind| net.place_ids().find(|&id| net.place(id).kind == kind).expect("a place");
        let target = (place(PlaceKind::Shared(shared as u32)), place(PlaceKind::Local(local as u32)));
        let brute = (1..=8).find(|&n| reached(&net, n).contains(&target));
        match brute {
            Some(brute) => assert_eq!(n as u64, brute, "{context}"),
            None => assert!(n > 8, "{n} {context}"),
        }
        found += 1;
    }
    assert!(found > 100 || std::env::var("CUSP_SEED").is_ok(), "{found}");
}

#[test]
fn a_target_of_many_threads_is_counted_although_the_cutoff_is_small() {
    // Two threads show all thread states; the target asks for thirty.
    let target = format!("1|{}", ["2"; 30].join(","));
    let found = answer(&net("2 4\n0 0 -> 0 1\n0 1 -> 0 2\n0 2 -> 0 3\n0 2 -> 1 2\n", "0/0", &target));
    assert!(matches!(found.certified.verdict(), NetVerdict::Unsafe(_)));
    assert_eq!(*found.certified.found(), Found::Cutoff(2));
    assert_eq!(found.certified.threads_to_target(), Some(30));
    assert_eq!(found.certified.unchecked(), None);
}

fn verdict(net: &Net) -> CertifiedNet {
    let budget = Budget::unlimited();
    certify_net(net, coverable(net, &budget, &Quiet), &budget).expect("right")
}

fn evidence(net: &Net) -> CutoffEvidence {
    let verdict = verdict(net);
    search(net, verdict.verdict(), Patience::default(), &Budget::unlimited(), &Quiet).expect("threads")
}

/// Whether evidence that was changed is refused; unchanged, it is accepted.
fn is_rejected(net: &Net, change: impl Fn(&mut CutoffEvidence)) -> bool {
    let budget = Budget::unlimited();
    let mut evidence = evidence(net);
    let accepted = certify_cutoff(net, evidence.clone(), verdict(net), &budget).expect("right");
    assert_eq!(accepted.unchecked(), None);
    change(&mut evidence);
    certify_cutoff(net, evidence, verdict(net), &budget).is_err()
}

#[test]
fn wrong_claims_about_a_cutoff_are_rejected() {
    // Cutoff 5, with a plateau, and candidates that are realizable.
    let plateau = net("3 4\n1 0 -> 0 3\n1 3 -> 2 0\n0 0 -> 1 2\n", "0/0", "");
    // Cutoff 2, with a candidate that is not realizable.
    let lock = net("3 2\n0 0 -> 1 1\n1 1 -> 2 0\n", "0/0", "2|1");
    for net in [&plateau, &lock] {
        let rounds = evidence(net).rounds.len();
        for i in 0..rounds {
            assert!(
                is_rejected(net, |e| assert!(e.rounds[i].thread_states.pop_first().is_some())),
                "round {i}"
            );
            assert!(is_rejected(net, |e| e.rounds[i].candidates += 1), "round {i}");
            assert!(is_rejected(net, |e| e.rounds[i].threads += 1), "round {i}");
            assert!(is_rejected(net, |e| drop(e.rounds.remove(i))), "round {i}");
            if evidence(net).rounds[i].is_complete {
                assert!(is_rejected(net, |e| e.rounds[i].states += 1), "round {i}");
                assert!(is_rejected(net, |e| e.rounds[i].states -= 1), "round {i}");
            }
            // Whether the question about candidates is answered in time depends on the run.
            let claim = |claimed| {
                move |e: &mut CutoffEvidence| {
                    if e.rounds[i].realizable.is_some() {
                        e.rounds[i].realizable = Some(claimed);
                    }
                }
            };
            let right = i + 1 < rounds;
            assert!(!is_rejected(net, claim(right)), "round {i}");
            let asked = Cell::new(false);
            let wrong = |e: &mut CutoffEvidence| {
                asked.set(e.rounds[i].realizable.is_some());
                claim(!right)(e);
            };
            assert_eq!(is_rejected(net, wrong), asked.get(), "round {i}");
        }
        for wrong in [0, 1, rounds - 1, rounds + 1, 100] {
            assert!(is_rejected(net, |e| e.found = Found::Cutoff(wrong)), "{wrong}");
            assert!(is_rejected(net, |e| e.found = Found::Target(wrong)), "{wrong}");
            assert!(is_rejected(net, |e| e.threads_to_target = Some(wrong)), "{wrong}");
        }
    }
    // Without what shows it, a candidate is neither realizable nor unrealizable.
    assert!(is_rejected(&lock, |e| e.unrealizable.clear()));
    // A thread state that nobody reaches.
    let places: Vec<PlaceId> = plateau.place_ids().collect();
    for &shared in &places {
        for &local in &places {
            assert!(is_rejected(&plateau, |e| {
                for round in &mut e.rounds {
                    if !round.thread_states.insert((shared, local)) {
                        round.states += 1;
                    }
                }
            }));
        }
    }
}

#[test]
fn wrong_claims_about_threads_to_a_target_are_rejected() {
    // Exactly four threads reach the target, by rounds.
    let steps = (0..=4).map(|s| format!("{s} 0 -> {} 1\n", (s + 1) % 5)).collect::<Vec<_>>().concat();
    let counter = net(&format!("5 3\n{steps}4 1 -> 4 2\n"), "0/0", "4|2");
    assert_eq!(evidence(&counter).found, Found::Target(4));
    for wrong in [0, 1, 2, 3, 5] {
        assert!(is_rejected(&counter, |e| e.found = Found::Target(wrong)), "{wrong}");
        assert!(is_rejected(&counter, |e| e.threads_to_target = Some(wrong)), "{wrong}");
        let both = |e: &mut CutoffEvidence| {
            e.found = Found::Target(wrong);
            e.threads_to_target = Some(wrong);
            e.rounds.truncate(wrong);
        };
        assert!(is_rejected(&counter, both), "{wrong}");
    }
    assert!(is_rejected(&counter, |e| e.rounds[3].is_complete = true));
    assert!(is_rejected(&counter, |e| e.rounds[2].is_complete = false));
    // Thirty threads, by a run and a proof.
    let target = format!("1|{}", ["2"; 30].join(","));
    let many = net("2 4\n0 0 -> 0 1\n0 1 -> 0 2\n0 2 -> 0 3\n0 2 -> 1 2\n", "0/0", &target);
    assert!(is_rejected(&many, |e| e.threads_to_target = Some(29)));
    assert!(is_rejected(&many, |e| e.threads_to_target = Some(31)));
    assert!(is_rejected(&many, |e| e.fewest = None));
    assert!(is_rejected(&many, |e| e.fewest.as_mut().expect("by proofs").one_less = None));
    let longer = |e: &mut CutoffEvidence| {
        let run = &mut e.fewest.as_mut().expect("by proofs").run;
        let pool = run.initial.entries().iter().find(|&&(_, n)| n > 1).expect("a pool").0;
        run.initial.add(pool, 1).expect("few");
        e.threads_to_target = Some(31);
    };
    assert!(is_rejected(&many, longer));
}

#[test]
fn what_is_too_large_to_be_explored_again_is_said_to_be_unchecked() {
    let net = net("3 4\n1 0 -> 0 3\n1 3 -> 2 0\n0 0 -> 1 2\n", "0/0", "");
    let evidence = evidence(&net);
    let threads = thread_net(&net).expect("threads");
    let budget = Budget::unlimited();
    let largest = evidence.rounds.iter().map(|round| round.states).max().expect("rounds");
    let within = |limit: usize| {
        certify_cutoff_within(&threads, evidence.clone(), verdict(&net), limit, &budget).expect("right")
    };
    assert_eq!(within(largest).unchecked(), None);
    let partly = within(largest - 1);
    assert!(partly.unchecked().is_some_and(|why| why.contains("5 threads")), "{:?}", partly.unchecked());
    let checked: Vec<bool> = partly.rounds().map(|(_, checked)| checked).collect();
    assert_eq!(checked, [true, true, true, true, false]);
    // Without time, nothing is checked, and nothing is rejected.
    budget.interrupt();
    let none = within(largest);
    assert!(none.unchecked().is_some() && none.rounds().all(|(_, checked)| !checked));
}

#[test]
fn many_threads_at_the_start_are_refused_before_their_states_are_built() {
    for threads in [1_000_000, u64::MAX] {
        let mut net = net("1 2\n0 0 -> 0 1\n", "0|0", "");
        let place = net.place_ids().find(|&id| net.place(id).kind == PlaceKind::Local(0)).expect("a place");
        let others = net.initial.ranges().iter().copied().filter(|&(p, _)| p != place);
        net.initial = Initial::new(others.chain([(place, Range::exactly(threads))]));
        let found = evidence(&net);
        assert!(matches!(&found.found, Found::Unknown(Reason::GaveUp(_))), "{:?}", found.found);
        assert!(found.rounds.is_empty());
    }
}

#[test]
fn choices_of_many_threads_are_not_listed_without_asking_the_budget() {
    // Forty threads may go to any of thirty local states: nobody lists all ways to do that.
    let passive = (0..30).map(|to| format!(" 0 ~> {to}")).collect::<Vec<_>>().concat();
    let text = format!("2 31\n0 30 -> 1 30{passive}\n");
    let net = net(&text, &format!("0|30,{}", ["0"; 40].join(",")), "");
    let actions = actions(&net).expect("threads");
    let threads = fewest_threads(&net);
    let budget = Budget::unlimited();
    let mut exploration = Exploration::new(&net, &actions, threads, &budget).expect("one state");
    let later = budget.clone();
    let watch = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        later.interrupt();
    });
    assert_eq!(exploration.advance(1, &budget), Err(Reason::Interrupted));
    watch.join().expect("no panic");
    assert!(Exploration::new(&net, &actions, threads, &budget).is_err());
    // The engine for nets that lists markings asks as well.
    let (budget, _watch) = Budget::start(Limits { time: Some(Duration::from_millis(30)), memory: None });
    let verdict = Explicit::default().run(&net, &budget, &Quiet);
    assert!(matches!(verdict, NetVerdict::Unknown(_)));
}

#[test]
fn weights_that_would_be_a_million_steps_are_refused_before_they_are_written() {
    let text = "vars x y\nrules\nx >= 1000000 -> x' = x - 1000000, y' = y + 1000000;\n\
                x >= 1 -> y' = y + x - 1, x' = 0;\ninit x >= 1, y = 0\ntarget y >= 2\n";
    let (net, _) = cusp::net::spec::parse(&Source::new("test.spec", text)).expect("a net");
    assert!(!net.transitions.iter().all(Transition::is_plain));
    let refused = thread_net(&net).expect_err("too large").to_string();
    assert!(refused.contains("too large"), "{refused}");
}

#[test]
fn the_verdict_stands_when_the_rounds_take_all_the_time() {
    let net = net("2 3\n0 0 -> 1 1\n1 1 -> 0 2\n0 2 -> 0 0\n", "0/0", "1|1,1");
    let verdict = verdict(&net);
    assert!(matches!(verdict.verdict(), NetVerdict::Safe(_)));
    let spent = Budget::unlimited();
    spent.interrupt();
    let found = search(&net, verdict.verdict(), Patience::default(), &spent, &Quiet).expect("threads");
    let certified = certify_cutoff(&net, found, verdict, &spent).expect("nothing is claimed");
    assert_eq!(*certified.found(), Found::Unknown(Reason::Interrupted));
    assert!(matches!(certified.verdict(), NetVerdict::Safe(_)));
}
