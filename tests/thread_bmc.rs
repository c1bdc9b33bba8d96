//! Bounded model checking of programs with threads against a naive search: the same violations, with runs that
//! are replayed, and none in safe programs.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range. A failure prints the command that repeats it
//! and a shrunk program, which then goes to `tests/corpus/regress`.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::prepare;
use cusp::engines::Engine;
use cusp::engines::bmc::Bmc;
use cusp::evidence::{Reason, Trace, Verdict};
use cusp::model::Task;
use cusp::progress::{Counting, Progress, Quiet};
use cusp::source::Source;
use support::corpus::own_programs;
use support::naive::{Limits, Seen, explore, fewest_switches};
use support::odd_labels::with_odd_labels;
use support::program::Mode;
use support::random_programs::{concurrent, concurrent_in};
use support::{RandomProgram, for_each_seed, options_of, seeds};

/// Large steps in which random programs are searched if they are safe.
const SAFE_DEPTH: u32 = 10;
/// Large steps in which a violation has to be found. The random programs need far fewer.
const UNSAFE_DEPTH: u32 = 60;
/// States after which the search leaves the verdict open.
const MOST_STATES: usize = 20_000;

fn task_of(text: &str, options: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    let options = match options {
        "" => options_of(text),
        options => cusp::cli::parse_check_options(options).expect("options of `cusp check`"),
    };
    match prepare(&source, &options) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(&source, &findings, false)),
    }
}

/// The verdict of an engine, after its evidence was checked.
fn certified(task: &Task, engine: &dyn Engine) -> Result<Verdict, String> {
    certified_with(task, engine, &Quiet)
}

fn certified_with(task: &Task, engine: &dyn Engine, progress: &dyn Progress) -> Result<Verdict, String> {
    let budget = Budget::unlimited();
    let verdict = engine.run(task, &budget, progress);
    let certified = certify(task, verdict, &budget);
    let certified = certified.map_err(|why| format!("{}: rejected: {why}", engine.name()))?;
    Ok(certified.verdict().clone())
}

/// Compares the engine with the search; returns whether the program is unsafe, if that is known.
fn compare(task: &Task) -> Result<Option<bool>, String> {
    let expected = match explore(task, Limits { stack: 8, states: MOST_STATES }) {
        Seen::All => Some(false),
        Seen::Violation { .. } => Some(true),
        Seen::TooMuch => None,
    };
    let depth = if expected == Some(true) { UNSAFE_DEPTH } else { SAFE_DEPTH };
    let bmc = Bmc { depth: Some(depth), recursion: None, ..Bmc::default() };
    match (certified(task, &bmc)?, expected) {
        (Verdict::Unsafe(_), Some(false)) => Err("bmc finds a violation of a safe program".to_owned()),
        (Verdict::Safe(_), Some(true)) => Err("bmc says safe, but there is a violation".to_owned()),
        (Verdict::Unknown(unknown), Some(true)) => {
            Err(format!("bmc does not find the violation: {}", unknown.reason))
        }
        (Verdict::Unknown(unknown), _) => match unknown.reason {
            Reason::DepthBound { .. } => Ok(expected),
            Reason::GaveUp(why) if why.contains("no run violates") => Ok(expected),
            reason => Err(format!("bmc gives up: {reason}")),
        },
        _ => Ok(expected),
    }
}

fn compare_all(count: u64, generator: impl Fn(u64) -> RandomProgram + Sync) {
    let unsafe_ones = AtomicUsize::new(0);
    for_each_seed(count, generator, |text| {
        if compare(&task_of(text, "")?)? == Some(true) {
            unsafe_ones.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    // Otherwise nothing is tested.
    let (unsafe_ones, all) = (unsafe_ones.into_inner(), seeds(count).count());
    assert!(all < 100 || unsafe_ones * 6 >= all, "{unsafe_ones} of {all} programs are unsafe");
}

#[test]
fn violations_are_found_with_up_to_four_threads() {
    for threads in 1..=4 {
        compare_all(150, move |seed| concurrent_in(Mode::Threads(threads), seed));
    }
}

#[test]
fn violations_are_found_with_any_number_of_threads() {
    compare_all(100, concurrent);
}

#[test]
fn violations_are_found_in_copies_of_main() {
    compare_all(100, |seed| concurrent_in(Mode::Copies(3), seed));
    compare_all(100, |seed| concurrent_in(Mode::AnyCopies, seed));
}

#[test]
fn violations_are_found_in_the_dialect_of_getafix() {
    compare_all(150, |seed| concurrent_in(Mode::Getafix, seed));
}

#[test]
fn forbidden_labels_are_found() {
    compare_all(100, |seed| with_odd_labels(concurrent_in(Mode::Threads(2), seed), seed));
}

#[test]
fn violations_of_our_own_programs_are_found() {
    let mut found = 0;
    for entry in own_programs().into_iter().filter(|entry| entry.expected == "unsafe") {
        let text = Source::load(&entry.path).expect("a program");
        let options = if entry.options.is_empty() { "--threads 3".to_owned() } else { entry.options };
        let Ok(task) = task_of(text.text(), &options) else { continue };
        if task.program.starts_threads {
            let verdict =
                certified(&task, &Bmc { depth: Some(UNSAFE_DEPTH), recursion: None, ..Bmc::default() });
            assert!(matches!(verdict, Ok(Verdict::Unsafe(_))), "{}: {verdict:?}", entry.name);
            found += 1;
        }
    }
    assert!(found >= 5, "only {found} of our own programs have threads and are unsafe");
}

#[test]
fn recursive_threads_are_unwound() {
    let text = "decl g; void main() begin g := F; start_thread f(T, T, T); assert(!g); end
        void f(a, b, c) begin if (a | b | c) then f(b & c, a & b, F); else g := T; fi end";
    let unsafe_one = certified(&task_of(text, "").expect("a program"), &Bmc::default());
    assert!(matches!(unsafe_one, Ok(Verdict::Unsafe(_))), "{unsafe_one:?}");
    let bounded = Bmc { recursion: Some(2), depth: None, ..Bmc::default() };
    match certified(&task_of(text, "").expect("a program"), &bounded) {
        Ok(Verdict::Unknown(unknown)) => assert_eq!(unknown.reason, Reason::RecursionBound { bound: 2 }),
        other => panic!("{other:?}"),
    }
}

/// Procedures that call each other, and that only a new thread calls.
#[test]
fn mutual_recursion_of_started_threads_is_unwound() {
    let text = "decl g; void main() begin g := F; start_thread f(T, T); assert(!g); end
        void f(a, b) begin if (a) then h(a, b); else g := T; fi end
        void h(a, b) begin f(b, F); end";
    let verdict = certified(&task_of(text, "--threads 2").expect("a program"), &Bmc::default());
    assert!(matches!(verdict, Ok(Verdict::Unsafe(_))), "{verdict:?}");
}

/// The context switches of the run that is found.
fn switches_of(task: &Task, engine: &Bmc) -> Result<Option<usize>, String> {
    match certified(task, engine)? {
        Verdict::Unsafe(Trace::Interleaved(run)) => Ok(Some(run.switches())),
        Verdict::Unsafe(Trace::Sequential(_)) => Err("a sequential run".to_owned()),
        Verdict::Safe(_) => Err("bmc says safe".to_owned()),
        Verdict::Unknown(unknown) => match unknown.reason {
            Reason::SwitchBound { .. } | Reason::DepthBound { .. } => Ok(None),
            reason => Err(format!("bmc gives up: {reason}")),
        },
    }
}

/// With a limit on switches, a violation is found if and only if a naive search finds one within this limit.
fn compare_limited(task: &Task, compared: &AtomicUsize) -> Result<(), String> {
    if !task.program.starts_threads {
        return Ok(());
    }
    let Some(fewest) = fewest_switches(task, Limits { stack: 8, states: MOST_STATES }) else { return Ok(()) };
    let limited =
        |depth, most: usize| Bmc { depth: Some(depth), switches: Some(most as u32), ..Bmc::default() };
    match switches_of(task, &limited(UNSAFE_DEPTH, fewest))? {
        Some(switches) if switches == fewest => {}
        other => return Err(format!("{fewest} switches are the fewest, but bmc finds {other:?}")),
    }
    if let Some(fewer) = fewest.checked_sub(1)
        && let Some(switches) = switches_of(task, &limited(SAFE_DEPTH, fewer))?
    {
        return Err(format!("{fewest} switches are the fewest, but bmc finds {switches}"));
    }
    compared.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[test]
fn violations_within_a_limit_of_switches_are_found_and_no_others() {
    let modes = [Mode::Threads(2), Mode::Threads(3), Mode::Copies(3), Mode::Getafix];
    for mode in modes {
        let compared = AtomicUsize::new(0);
        for_each_seed(
            100,
            |seed| concurrent_in(mode, seed),
            |text| compare_limited(&task_of(text, "")?, &compared),
        );
        let (compared, all) = (compared.into_inner(), seeds(100).count());
        assert!(all < 100 || compared * 6 >= all, "{compared} of {all} programs were compared");
    }
    let labelled = |seed| with_odd_labels(concurrent_in(Mode::Threads(3), seed), seed);
    for_each_seed(100, labelled, |text| compare_limited(&task_of(text, "")?, &AtomicUsize::new(0)));
}

/// If the fewest switches are promised, a search with a limit, which orders steps in another way, says the same.
#[test]
fn promises_about_switches_are_kept() {
    let (promised, fewer) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let generator = |seed| concurrent_in(Mode::Threads(3), seed);
    for_each_seed(150, generator, |text| {
        let task = task_of(text, "")?;
        if !task.program.starts_threads {
            return Ok(());
        }
        let counting = Counting::new(Box::new(Quiet));
        let unlimited = Bmc { depth: Some(SAFE_DEPTH), ..Bmc::default() };
        let Verdict::Unsafe(Trace::Interleaved(run)) = certified_with(&task, &unlimited, &counting)? else {
            return Ok(());
        };
        let counts = counting.counts();
        let count = |what: &str| counts.iter().find(|(name, _)| name == what).map(|&(_, number)| number);
        let steps = count("large steps of the run").ok_or("no large steps are counted")? as u32;
        let Some(fewest) = count("context switches that runs in as many large steps need") else {
            return Ok(());
        };
        if run.switches() as u64 != fewest {
            return Err(format!("{fewest} switches are promised, and the run has {}", run.switches()));
        }
        promised.fetch_add(1, Ordering::Relaxed);
        fewer.fetch_add(usize::from(fewest > 0), Ordering::Relaxed);
        let limited =
            |most: u64| Bmc { depth: Some(steps - 1), switches: Some(most as u32), ..Bmc::default() };
        if fewest > 0
            && let Some(switches) = switches_of(&task, &limited(fewest - 1))?
        {
            return Err(format!("{fewest} switches are promised, and there is a run with {switches}"));
        }
        match switches_of(&task, &limited(fewest))? {
            Some(_) => Ok(()),
            None => Err(format!("no run with {fewest} switches is found any more")),
        }
    });
    let [promised, fewer] = [promised, fewer].map(AtomicUsize::into_inner);
    let all = seeds(150).count();
    assert!(
        all < 100 || promised * 6 >= all && fewer * 10 >= promised,
        "{promised} promises, {fewer} with switches"
    );
}
