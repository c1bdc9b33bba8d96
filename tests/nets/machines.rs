//! Communicating machines: the net does what the machines do, and the engines agree about it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cusp::budget::Budget;
use cusp::certify::certify_net;
use cusp::cover::{Input, Options, prepare};
use cusp::diagnostic::render;
use cusp::engines::cutoff::{Found, Patience};
use cusp::engines::nets::explicit::Explicit;
use cusp::engines::nets::reference::Reference;
use cusp::engines::{Bounds, Engine};
use cusp::evidence::NetVerdict;
use cusp::net::fire::{fire_or_replace, successors};
use cusp::net::{Marking, Net, cm};
use cusp::pipeline::cutoff::{Failure, cutoff};
use cusp::pipeline::table::HasEngines;
use cusp::progress::Quiet;
use cusp::source::Source;

use crate::support::machines::{RandomSystem, State};
use crate::support::rng::Rng;
use crate::support::seeds;

fn net(text: &str) -> Net {
    let source = Source::new("test.cm", text);
    let (system, _) = cm::parse(&source).unwrap_or_else(|e| panic!("{}\n{text}", render(&source, &e, false)));
    cm::compile(&system).unwrap_or_else(|e| panic!("{}\n{text}", render(&source, &e, false))).0
}

/// The certified verdict of an engine, and the copies of each machine at the start of a run.
fn verdict(engine: &dyn Engine<Net>, net: &Net, context: &str) -> (&'static str, Vec<u64>) {
    let verdict = engine.run(net, &Budget::unlimited(), &Quiet);
    let word = match &verdict {
        NetVerdict::Safe(_) => ("safe", Vec::new()),
        NetVerdict::Unsafe(run) => {
            let copies = |name: &str| {
                let place = net.place_ids().find(|&place| net.place(place).name == name);
                place.map(|place| run.initial.get(place))
            };
            ("unsafe", (0..).map_while(|i| copies(&format!("M{i}.s0"))).collect())
        }
        NetVerdict::Unknown(_) => ("unknown", Vec::new()),
    };
    if let Err(rejection) = certify_net(net, verdict, &Budget::unlimited()) {
        panic!("{}: {rejection}\n{context}", engine.name());
    }
    word
}

/// The marked places by name, or `None` if the value of a variable is not decided yet.
fn described(net: &Net, marking: &Marking) -> Option<BTreeSet<(String, u64)>> {
    let entries: BTreeSet<(String, u64)> =
        marking.iter().map(|(place, n)| (net.place(place).name.clone(), n)).collect();
    entries.iter().all(|(name, _)| !name.ends_with("=*")).then_some(entries)
}

/// The same for a state of the interpreter.
fn counted(state: &State) -> BTreeSet<(String, u64)> {
    let values = state.values.iter().enumerate();
    let values = values.map(|(i, &value)| (format!("g{i}={}", if value { "T" } else { "F" }), 1));
    let copies: BTreeSet<(usize, usize)> = state.copies.iter().copied().collect();
    let count = |copy| state.copies.iter().filter(|&&other| other == copy).count() as u64;
    values.chain(copies.iter().map(|&(m, s)| (format!("M{m}.s{s}"), count((m, s))))).collect()
}

/// All that the net can reach.
fn reached(net: &Net) -> BTreeSet<Marking> {
    let start = net.initial.least();
    let mut seen = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(marking) = open.pop() {
        for transition in &net.transitions {
            for (_, after) in successors(transition, &marking).expect("small") {
                if seen.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
    }
    seen
}

#[test]
fn nets_of_random_machines_reach_what_the_interpreter_does() {
    let (mut safe, mut refuted) = (0_u64, 0_u64);
    let all = seeds(3000);
    for seed in all.clone() {
        let machines = RandomSystem::random(seed);
        let mut rng = Rng::new(seed);
        let copies: Vec<usize> = machines.machines.iter().map(|_| rng.below(4)).collect();
        let written: Vec<String> = copies.iter().map(usize::to_string).collect();
        let text = machines.text(&written);
        let context = format!("CUSP_SEED={seed} CUSP_COUNT=1\n{text}");
        let net = net(&text);
        let expected = machines.reached(&copies);
        let found = reached(&net);
        let described: BTreeSet<_> = found.iter().filter_map(|marking| described(&net, marking)).collect();
        assert_eq!(described, expected.iter().map(counted).collect(), "{context}");
        let is_bad = expected.iter().any(|state| machines.is_bad(state));
        let is_met = found.iter().any(|marking| net.target_met_by(marking).is_some());
        assert_eq!(is_met, is_bad, "{context}");
        // Zero tests are weakened, and that must not matter.
        let word = if is_bad { "unsafe" } else { "safe" };
        assert_eq!(verdict(&Reference, &net, &context).0, word, "{context}");
        *(if is_bad { &mut refuted } else { &mut safe }) += 1;
    }
    let enough = (all.end - all.start) / 10;
    assert!(safe >= enough && refuted >= enough, "{safe} safe, {refuted} unsafe");
}

#[test]
fn verdicts_for_any_number_of_copies_are_those_of_small_numbers() {
    let mut refuted = 0_u64;
    let all = seeds(1000);
    for seed in all.clone() {
        let machines = RandomSystem::random(seed);
        let written: Vec<String> = machines.machines.iter().map(|_| "0..".to_owned()).collect();
        let text = machines.text(&written);
        let context = format!("CUSP_SEED={seed} CUSP_COUNT=1\n{text}");
        let net = net(&text);
        let (word, copies) = verdict(&Reference, &net, &context);
        let is_bad = |copies: &[usize]| machines.reached(copies).iter().any(|state| machines.is_bad(state));
        let copies: Vec<usize> = copies.into_iter().map(|n| n as usize).collect();
        match word {
            "unsafe" if copies.iter().sum::<usize>() <= 5 => {
                assert!(is_bad(&copies), "{copies:?} {context}");
                refuted += 1;
            }
            "unsafe" => {}
            _ => {
                assert_eq!(word, "safe", "{context}");
                let pairs = (0..3).flat_map(|one| (0..3).map(move |other| [one, other]));
                for pair in pairs {
                    assert!(!is_bad(&pair[..machines.machines.len()]), "{pair:?} {context}");
                }
            }
        }
        for row in Net::ENGINES.iter().filter(|row| ["backward", "mcov"].contains(&row.name)) {
            assert_eq!(verdict(&*row.engine(Bounds::default()), &net, &context).0, word, "{row:?} {context}");
        }
    }
    assert!(refuted >= (all.end - all.start) / 10, "{refuted}");
}

#[test]
fn every_system_of_the_corpus_has_the_expected_verdict_on_every_engine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/nets");
    let mut words = Vec::new();
    for entry in fs::read_dir(folder).expect("a corpus") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "cm") {
            continue;
        }
        let input = Input::load(&path, &Options::default()).expect("a text");
        let expected = input.source.text().strip_prefix("# expect: ").and_then(|text| text.lines().next());
        let expected = expected.unwrap_or_else(|| panic!("{} begins with `# expect:`", path.display()));
        let prepared = prepare(&input, &Options::default()).expect("a system");
        assert!(prepared.warnings.is_empty() && prepared.notes.is_empty(), "{}", path.display());
        for row in Net::ENGINES {
            let context = format!("{} {row:?}", path.display());
            // A search that proves nothing need not end where there is nothing to find; one that looks at
            // one marking after the other does not end with any number of copies.
            let engine: Box<dyn Engine<Net>> = match row.name {
                "directed" if expected == "safe" => continue,
                "explicit" => Box::new(Explicit { most_markings: 2000 }),
                _ => row.engine(Bounds::default()),
            };
            let (word, _) = verdict(&*engine, &prepared.net, &context);
            let may_give_up = row.name == "explicit";
            assert!(word == expected || word == "unknown" && may_give_up, "{context}: {word}");
        }
        words.push(expected.to_owned());
    }
    words.sort();
    assert_eq!(words, ["safe", "safe", "safe", "safe", "unsafe", "unsafe", "unsafe"]);
}

/// The verdict of all engines that decide it.
fn word(text: &str) -> &'static str {
    let net = net(text);
    let words: BTreeSet<&str> =
        Net::ENGINES.iter().map(|row| verdict(&*row.engine(Bounds::default()), &net, text).0).collect();
    let known: Vec<&str> = words.into_iter().filter(|word| *word != "unknown").collect();
    assert_eq!(known.len(), 1, "{known:?}\n{text}");
    known[0]
}

#[test]
fn corner_cases() {
    // Nothing at all; no machines; an empty target, which everything meets.
    assert_eq!(word(""), "safe");
    assert_eq!(word("target;"), "unsafe");
    assert_eq!(word("var x := F; target when x;"), "safe");
    assert_eq!(word("var x; target when x;"), "unsafe");
    assert_eq!(word("var x := F; target when x | !x;"), "unsafe");
    // No copies, some, and any number.
    let copies = |n: &str| format!("machine A {n} {{ states s; }} target A.s >= 2;");
    assert_eq!(
        ["[0]", "[1]", "[2]", "[0..1]", "[0..2]", "[3]"].map(|n| word(&copies(n))),
        ["safe", "safe", "unsafe", "safe", "unsafe", "unsafe"]
    );
    assert_eq!(["", "[0..]", "[5..]"].map(|n| word(&copies(n))), ["unsafe"; 3]);
    assert_eq!(word("machine A [0] { states s; } target A.s >= 0;"), "unsafe");
}

#[test]
fn a_copy_never_meets_itself() {
    let meet = |n: u32, send: &str, receive: &str| {
        format!(
            "machine A [{n}] {{ states s, sent, received; s -> sent : e{send}; s -> received : e{receive}; }}
             target A.sent, A.received;"
        )
    };
    assert_eq!([1, 2].map(|n| word(&meet(n, "!", "?"))), ["safe", "unsafe"]);
    assert_eq!([1, 2].map(|n| word(&meet(n, "~!", "~?"))), ["safe", "unsafe"]);
    assert_eq!([1, 2].map(|n| word(&meet(n, "!!", "??"))), ["safe", "unsafe"]);
    // Alone, it cannot even send a rendez-vous, but the others.
    let alone = |send: &str, receive: &str| {
        let text = meet(1, send, receive);
        word(&text.replace("target A.sent, A.received", "target A.sent"))
    };
    assert_eq!([alone("!", "?"), alone("~!", "~?"), alone("!!", "??")], ["safe", "unsafe", "unsafe"]);
}

#[test]
fn a_broadcast_reaches_all_at_once_and_those_that_do_not_listen_stay() {
    let text = |target: &str| {
        format!(
            "machine S [1] {{ states s, t; s -> t : e!!; }}
             machine R [2] {{ states a, b; a -> b : e??; b -> a : e??; }}
             machine N [1] {{ states n; }}
             target {target};"
        )
    };
    assert_eq!(word(&text("S.t, R.a")), "safe");
    assert_eq!(word(&text("S.t, R.b >= 2, N.n")), "unsafe");
    // Nobody has to be there.
    assert_eq!(word(&text("S.t").replace("R [2]", "R [0]")), "unsafe");
    assert_eq!(word("machine S [1] { states s, t; s -> t : e!!; } target S.t;"), "unsafe");
}

#[test]
fn an_asynchronous_send_is_not_lost_on_somebody_who_listens() {
    let text = |n: u32, target: &str| {
        format!(
            "machine S [1] {{ states s, t; s -> t : e~!; }}
             machine R [{n}] {{ states a, b; a -> b : e~?; }}
             target {target};"
        )
    };
    assert_eq!(word(&text(0, "S.t")), "unsafe");
    assert_eq!(word(&text(1, "S.t, R.a")), "safe");
    assert_eq!(word(&text(2, "S.t, R.a, R.b")), "unsafe");
    assert_eq!(word(&text(2, "S.t, R.a >= 2")), "safe");
    assert_eq!(word(&text(2, "S.t, R.b >= 2")), "safe");
}

#[test]
fn a_rendez_vous_takes_the_place_of_a_step_that_wants_nobody_to_be_there() {
    let net = net("machine S [1] { states s, t; s -> t : e~!; } machine R { states a, b; a -> b : e~?; }");
    let alone = net.transition_ids().find(|&id| !net.transition(id).is_monotone()).expect("a zero test");
    let marking = |names: &[&str]| {
        let place = |name: &str| net.place_ids().find(|&id| net.place(id).name == name).expect("a place");
        Marking::sum_of(names.iter().map(|name| (place(name), 1))).expect("small")
    };
    let goal = marking(&["S.t"]);
    let fired = |names: &[&str]| fire_or_replace(&net, alone, &marking(names), &goal).expect("small");
    let (step, after) = fired(&["S.s", "R.b"]).expect("nobody listens");
    assert_eq!((step.transition, after), (alone, marking(&["S.t", "R.b"])));
    let (step, after) = fired(&["S.s", "R.a", "R.a"]).expect("somebody listens");
    assert!(step.transition != alone);
    assert_eq!(after, marking(&["S.t", "R.a", "R.b"]));
    assert!(fired(&["R.a"]).is_none());
    assert_eq!(fire_or_replace(&net, alone, &marking(&["S.s"]), &marking(&["R.a"])), Ok(None));
}

#[test]
fn values_that_nobody_knows_are_guessed_once() {
    let text = |edge: &str, target: &str| {
        format!("var x, y := F; machine A [1] {{ states s, t; s -> t {edge}; }} target {target};")
    };
    assert_eq!(word(&text("do y := x", "A.t when x != y")), "safe");
    assert_eq!(word(&text("do y := x", "A.t when x & y")), "unsafe");
    assert_eq!(word(&text("when x do y := T", "A.t when !x")), "safe");
    assert_eq!(word(&text("do y := *", "A.t when x != y")), "unsafe");
    assert_eq!(word(&text("when x do x := *", "A.t when !x")), "unsafe");
    // Updates read the values before the step.
    assert_eq!(word(&text("when x do x := y, y := x", "A.t when !x & y")), "unsafe");
    assert_eq!(word(&text("when x do x := y, y := x", "A.t when x | !y")), "safe");
}

#[test]
fn cutoffs_are_found_where_nothing_is_asked_to_be_empty() {
    let answer = |text: &str| cutoff(&net(text), Patience::default(), &Budget::unlimited(), &Quiet);
    let lock = "var lock := F;
        machine A { states s, t; s -> t when !lock do lock := T; t -> s when lock do lock := F; }
        target A.t >= 2;";
    let found = answer(lock).expect("threads");
    assert!(matches!(found.certified.found(), Found::Cutoff(_)), "{:?}", found.certified.found());
    assert!(matches!(found.certified.verdict(), NetVerdict::Safe(_)));
    let bell = "machine A { states s, t; s -> t : e~!; s -> t : e~?; } target A.t;";
    match answer(bell) {
        Err(Failure::NotThreads(why)) => assert_eq!(why.to_string(), "the net tests for zero"),
        other => panic!("{other:?}"),
    }
}
