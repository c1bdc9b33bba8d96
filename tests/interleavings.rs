//! The engine `interleavings`: every combination of its reductions agrees with the explicit engine, and runs replay.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range of random programs.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::prepare;
use cusp::cli::parse_check_options;
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::engines::interleavings::Interleavings;
use cusp::evidence::{Reason, Verdict};
use cusp::model::Task;
use cusp::progress::{Counting, Quiet};
use cusp::source::Source;
use cusp::threads::Reductions;
use support::bluetooth::bluetooth;
use support::corpus::{manifest, own_programs};
use support::odd_labels::with_odd_labels;
use support::program::Mode;
use support::random_programs::{Limits, concurrent_in, concurrent_within};
use support::rng::Rng;
use support::{RandomProgram, for_each_seed, options_of, seeds};

/// Every combination of reductions, the plain one first.
fn variants() -> Vec<Interleavings> {
    let on = |bits: u32, bit: u32| bits >> bit & 1 == 1;
    let variant = |bits: u32| Interleavings {
        reductions: Reductions { relevance: on(bits, 0), large_steps: on(bits, 1) },
        symmetry: on(bits, 2),
        persistent: on(bits, 3),
        ..Interleavings::default()
    };
    (0..16).map(variant).collect()
}

fn task_of(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    match prepare(&source, &options_of(text)) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(&source, &findings, false)),
    }
}

/// The verdict in a word; its evidence is checked.
fn word(task: &Task, engine: &dyn Engine) -> Result<&'static str, String> {
    let budget = Budget::unlimited();
    let verdict = engine.run(task, &budget, &Quiet);
    let word = verdict.word();
    match certify(task, verdict, &budget) {
        Ok(certified) => match certified.verdict() {
            Verdict::Unknown(unknown) => Err(format!("unknown: {}", unknown.reason)),
            _ => Ok(word),
        },
        Err(why) => Err(format!("{word}, rejected: {why}")),
    }
}

/// What the explicit engine says, which all variants have to say as well; `None` if the program is too large for a
/// comparison.
fn agreed(task: &Task) -> Result<Option<&'static str>, String> {
    let mut expected = None;
    // The most reduced one first.
    for engine in variants().into_iter().rev() {
        let most_work = if expected.is_none() { 3_000 } else { 150_000 };
        let engine = Interleavings { most_work, ..engine };
        let word = match word(task, &engine) {
            Ok(word) => word,
            Err(why) if why.contains("gave up before") && expected.is_none() => return Ok(None),
            Err(why) if why.contains("gave up before") => continue,
            Err(why) => return Err(format!("{engine:?}: {why}")),
        };
        let expected = if let Some(expected) = expected {
            expected
        } else {
            let reference = self::word(task, &Explicit::default());
            *expected.insert(reference.map_err(|why| format!("the explicit engine: {why}"))?)
        };
        if word != expected {
            return Err(format!("{engine:?} says {word}, the explicit engine {expected}"));
        }
    }
    Ok(expected)
}

/// Threads that are started by statements, copies of `main`, and Getafix's threads, up to four of them; half of
/// the programs ask for a label.
fn with_all_features(seed: u64) -> RandomProgram {
    let threads = 1 + Rng::new(seed).weighted(&[1, 4, 4, 1]) as u32;
    let mode = match seed % 3 {
        0 => Mode::Threads(threads),
        1 => Mode::Copies(threads.min(3)),
        _ => Mode::Getafix,
    };
    with_odd_labels(concurrent_in(mode, seed), seed)
}

/// More globals and procedures, so that there are threads that do not get in each other's way.
fn larger(seed: u64) -> RandomProgram {
    let limits = Limits { globals: 4, locals: 2, returns: 1, procs: 4, statements: 5 };
    let program = concurrent_within(seed, limits);
    RandomProgram { mode: Mode::Threads(2 + (seed % 2) as u32), ..program }
}

/// Compares on so many programs, with and without `x$`.
fn compare(count: u64, generator: fn(u64) -> RandomProgram) {
    let found = [(); 2].map(|()| AtomicUsize::new(0));
    let unsafe_ones = AtomicUsize::new(0);
    for_each_seed(count, generator, |text| {
        let without_passive = text.replace('$', "");
        for (text, found) in [text, &without_passive].into_iter().zip(&found) {
            // Where `x` and `x$` are assigned at once there is no program without `x$`.
            let Ok(task) = task_of(text) else { continue };
            // Shrinking may take away all threads.
            if !task.program.starts_threads {
                continue;
            }
            let Some(expected) = agreed(&task).map_err(|why| format!("{why}\n{text}"))? else { continue };
            found.fetch_add(1, Ordering::Relaxed);
            unsafe_ones.fetch_add(usize::from(expected == "unsafe"), Ordering::Relaxed);
        }
        Ok(())
    });
    let [found, without] = found.map(AtomicUsize::into_inner);
    let count = seeds(count).count();
    assert!(found * 4 >= count * 3, "{found} of {count} were compared");
    assert!(without * 2 >= count, "{without} of {count} without `x$` were compared");
    let unsafe_ones = unsafe_ones.into_inner();
    let all = found + without;
    assert!(
        count < 100 || (all / 5..=all * 4 / 5).contains(&unsafe_ones),
        "{unsafe_ones} of {all} are unsafe"
    );
}

#[test]
fn all_reductions_agree_with_the_explicit_engine() {
    compare(1_500, with_all_features);
}

#[test]
fn all_reductions_agree_with_the_explicit_engine_on_larger_programs() {
    compare(500, larger);
}

/// Two pairs of threads. Each pair has globals of its own, which the other one looks at now and then.
fn two_pairs(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut text = "// options: --threads 5\ndecl a0, a1, b0, b1 := F;\nvoid main() begin\n".to_owned();
    text += "  a0, a1, b0, b1 := F, F, F, F;\n";
    text += "  start_thread f0(); start_thread g0(); start_thread f1(); start_thread g1();\nend\n";
    for (name, own, other) in [("f0", 'a', 'b'), ("f1", 'a', 'b'), ("g0", 'b', 'a'), ("g1", 'b', 'a')] {
        let mut body = vec!["x := F;".to_owned()];
        for _ in 0..rng.between(2, 3) {
            let group = if rng.chance(4) { other } else { own };
            let (v, w) = (format!("{group}{}", rng.below(2)), format!("{own}{}", rng.below(2)));
            body.push(match rng.below(5) {
                0 => format!("{v} := !{w};"),
                1 => format!("x := {v};"),
                2 => format!("assume({v} | !x);"),
                3 => format!("{w} := x;"),
                _ => format!("assert(!{v} | {w} | x | {});", if rng.chance(20) { "T" } else { "F" }),
            });
        }
        text.extend([&format!("void {name}() begin\n  decl x := F;\n  "), &body.join("\n  "), "\nend\n"]);
    }
    text
}

#[test]
fn pairs_of_threads_are_followed_without_the_others() {
    let (mut reduced, mut verdicts) = (0, [0; 2]);
    for seed in seeds(300) {
        let text = two_pairs(seed);
        let task = task_of(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let expected = word(&task, &Explicit::default()).unwrap_or_else(|why| panic!("{why}\n{text}"));
        verdicts[usize::from(expected == "unsafe")] += 1;
        let mut states = [0; 2];
        for (persistent, states) in [false, true].into_iter().zip(&mut states) {
            for symmetry in [false, true] {
                let engine = Interleavings { persistent, symmetry, ..Interleavings::default() };
                assert_eq!(word(&task, &engine), Ok(expected), "seed {seed}, {engine:?}\n{text}");
                let counting = Counting::new(Box::new(Quiet));
                engine.run(&task, &Budget::unlimited(), &counting);
                *states = counting.counts().iter().find(|(what, _)| what == "states").map_or(0, |(_, n)| *n);
            }
        }
        reduced += usize::from(expected == "safe" && states[1] * 2 < states[0]);
    }
    assert!(reduced > 30 && verdicts[0] > 80 && verdicts[1] > 50, "{reduced} {verdicts:?}");
}

/// The Bluetooth driver for some threads.
fn driver(repaired: bool, threads: u32) -> Task {
    let text = bluetooth(2, repaired);
    task_of(&text.replace("--replicate", &format!("--replicate --threads {threads}"))).expect("a program")
}

#[test]
fn every_reduction_makes_the_driver_smaller_and_keeps_its_verdict() {
    assert_eq!(agreed(&driver(true, 3)), Ok(Some("safe")));
    assert_eq!(agreed(&driver(false, 3)), Ok(Some("unsafe")));
    let task = driver(true, 3);
    let states = |engine: Interleavings| {
        let counting = Counting::new(Box::new(Quiet));
        assert_eq!(engine.run(&task, &Budget::unlimited(), &counting).word(), "safe");
        counting.counts().iter().find(|(what, _)| what == "states").map(|(_, number)| *number)
    };
    let all = states(Interleavings::default());
    let plain = Reductions::NONE;
    assert!(all.is_some());
    assert!(all < states(Interleavings { symmetry: false, ..Interleavings::default() }));
    assert!(all < states(Interleavings { persistent: false, ..Interleavings::default() }));
    let without_large_steps = Reductions { large_steps: false, ..Reductions::ALL };
    assert!(all < states(Interleavings { reductions: without_large_steps, ..Interleavings::default() }));
    let without_relevance = Reductions { relevance: false, ..Reductions::ALL };
    assert!(all < states(Interleavings { reductions: without_relevance, ..Interleavings::default() }));
    let none =
        Interleavings { reductions: plain, symmetry: false, persistent: false, ..Interleavings::default() };
    assert!(all.map(|all| all * 50) < states(none));
}

#[test]
fn recursion_is_cut_off_where_the_user_says_and_then_nothing_is_proved() {
    let text = "// options: --threads 2\ndecl g;\nvoid main() begin\n  g := F;\n  start_thread goto L;\n  f(T);\n  \
                L: assert(!g);\nend\nvoid f(p) begin\n  if (p) then f(*); else f2(T); fi\nend\n\
                void f2(p) begin\n  if (p) then f2(F); else g := T; fi\nend\n";
    let task = task_of(text).expect("a program");
    let reason = |unwind| {
        let engine = Interleavings { unwind, ..Interleavings::default() };
        match engine.run(&task, &Budget::unlimited(), &Quiet) {
            Verdict::Unknown(unknown) => Some(unknown.reason),
            _ => None,
        }
    };
    assert!(matches!(reason(None), Some(Reason::UnboundedRecursion { .. })));
    // `f2` has to call itself once.
    assert!(matches!(reason(Some(1)), Some(Reason::Unwound { bound: 1, .. })));
    let engine = Interleavings { unwind: Some(2), ..Interleavings::default() };
    assert_eq!(word(&task, &engine), Ok("unsafe"));
}

/// Programs with threads that have a recorded verdict for a bounded number of threads, or that a few threads decide.
#[test]
fn programs_of_the_corpus_have_the_recorded_verdicts() {
    let mut decided = 0;
    let mut wrong = Vec::new();
    for entry in manifest("bp").into_iter().chain(own_programs()) {
        if !["safe", "unsafe"].contains(&entry.expected.as_str()) {
            continue;
        }
        let Ok(source) = Source::load(&entry.path) else { continue };
        let options = parse_check_options(&entry.options).expect("the manifest's options are ours");
        let Ok(prepared) = prepare(&source, &options) else { continue };
        let task = prepared.task;
        if !task.program.starts_threads {
            continue;
        }
        let most_work = if task.threads.is_none() { 200_000 } else { usize::MAX };
        match word(&task, &Interleavings { most_work, ..Interleavings::default() }) {
            Ok(word) if word == entry.expected => decided += 1,
            // More and more threads show nothing.
            Err(why) if task.threads.is_none() && why.contains("arbitrarily many threads") => {}
            other => wrong.push(format!("{}: expected {}, got {other:?}", entry.name, entry.expected)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(decided >= 40, "only {decided} programs with threads were decided");
}
