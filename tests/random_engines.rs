//! Random sequential programs: all engines agree with the reference and with a naive checker, and all
//! evidence is accepted.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range. A failure prints the command that repeats it
//! and a shrunk program, which then goes to `tests/corpus/regress`.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, prepare};
use cusp::engines::explicit::Explicit;
use cusp::engines::{Bounds, Engine};
use cusp::evidence::{Reason, Verdict};
use cusp::model::Task;
use cusp::pipeline::table::HasEngines;
use cusp::pipeline::{Route, Setup};
use cusp::progress::Quiet;
use cusp::source::Source;
use support::engines::{LIMITS, Said, engines, may_give_up, run};
use support::features::FEATURES;
use support::mutate::mutated;
use support::naive::{Limits, Seen, explore};
use support::odd_labels::odd_sequential;
use support::random_programs::{Limits as Size, sequential_within};
use support::rng::Rng;
use support::{RandomProgram, for_each_seed, options_of, seeds, sequential};

fn task_of(source: &Source) -> Result<Task, String> {
    match prepare(source, &options_of(source.text())) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(source, &findings, false)),
    }
}

/// What the explicit engine without any reduction says.
fn reference(task: &Task) -> Result<Said, String> {
    let budget = Budget::unlimited();
    let plain = Explicit { forget_dead: false, symmetry: false, ..Explicit::default() };
    let certified = certify(task, plain.run(task, &budget, &Quiet), &budget);
    let certified = certified.map_err(|why| format!("the reference is rejected: {why}"))?;
    Ok(certified.verdict().into())
}

/// Compares all engines on so many programs.
/// Recursion that comes back to itself on many ways may have to be unrolled very far.
const BOUNDS: Bounds = Bounds { depth: Some(12), recursion: Some(3), unwind: None, switches: None };

fn compare_all_engines(count: u64, generator: fn(u64) -> RandomProgram) {
    let all = engines();
    let decided: Vec<AtomicUsize> = all.iter().map(|_| AtomicUsize::new(0)).collect();
    for_each_seed(count, generator, |text| {
        let source = Source::new("random.bp", text);
        let task = task_of(&source)?;
        let expected = reference(&task)?;
        match (explore(&task, Limits { stack: 5, states: 2_000 }), &expected) {
            (Seen::Violation { .. }, Said::Unsafe) | (Seen::All, Said::Safe) | (Seen::TooMuch, _) => {}
            (seen, said) => return Err(format!("the reference says {}, seen is {seen:?}", said.word())),
        }
        // On the reduced program and on the program itself.
        for no_reduce in [false, true] {
            let setup = Setup { reduces: !no_reduce, bounds: BOUNDS, ..Setup::default() };
            let options = Options { setup, ..options_of(text) };
            let how = if no_reduce { " --no-reduce" } else { "" };
            for ((name, engine), decided) in all.iter().zip(&decided) {
                let said = run(&source, &options, *engine);
                match said.map_err(|why| format!("--engine {name}{how}: {why}"))? {
                    said if said == expected => {
                        decided.fetch_add(1, Ordering::Relaxed);
                    }
                    // Nothing is asked of an engine for programs with threads.
                    Said::Unknown(Reason::ThreadsOnly { .. }) => {
                        decided.fetch_add(1, Ordering::Relaxed);
                    }
                    Said::Unknown(reason) if may_give_up(name, &reason) => {}
                    said => {
                        let word = expected.word();
                        return Err(format!("--engine {name}{how}: {said:?}, but it is {word}"));
                    }
                }
            }
        }
        Ok(())
    });
    // An engine that mostly gives up is not tested by this.
    let runs = 2 * seeds(count).count();
    for ((name, _), decided) in all.iter().zip(decided) {
        let decided = decided.into_inner();
        assert!(decided * 4 >= runs, "{name} decides {decided} times in {runs} runs");
    }
}

#[test]
fn all_engines_agree_with_the_reference() {
    compare_all_engines(5_000, sequential);
}

#[test]
fn all_engines_agree_with_the_reference_on_labels_in_odd_places() {
    compare_all_engines(500, odd_sequential);
}

/// More procedures, more variables, more paths that meet.
#[test]
fn all_engines_agree_with_the_reference_on_larger_programs() {
    compare_all_engines(300, larger);
}

fn larger(seed: u64) -> RandomProgram {
    sequential_within(seed, Size { globals: 4, locals: 4, returns: 3, procs: 6, statements: 12 })
}

/// Evidence that an engine gave for one program, presented for others of the same shape. It may fit them too,
/// but then they have that verdict.
#[test]
fn evidence_is_never_accepted_for_a_program_with_the_other_verdict() {
    let (mut kept, mut rejected, mut turned) = (0, 0, 0);
    for seed in 1..=400 {
        let program = sequential(seed);
        let mut rng = Rng::new(seed);
        let source = Source::new("random.bp", program.text());
        let task = task_of(&source).expect("a program");
        let others: Vec<(String, Task, Said)> = (0..6)
            .filter_map(|_| {
                let text = mutated(&program, &mut rng)?.text();
                let task = task_of(&Source::new("random.bp", &text)).ok()?;
                let said = reference(&task).expect("the reference is right");
                Some((text, task, said))
            })
            .collect();
        for row in Task::ENGINES {
            let (budget, _watch) = Budget::start(LIMITS);
            let verdict = row.engine(BOUNDS).run(&task, &budget, &Quiet);
            let verdict = task.complete(verdict, &budget).expect("witnesses");
            let word = Said::from(&verdict);
            if matches!(word, Said::Unknown(_)) {
                continue;
            }
            for (text, task, expected) in &others {
                if *expected != word {
                    turned += 1;
                }
                if certify(task, verdict.clone(), &Budget::unlimited()).is_err() {
                    rejected += 1;
                    continue;
                }
                kept += 1;
                let (name, word) = (row.name, word.word());
                assert_eq!(
                    word,
                    expected.word(),
                    "seed {seed}: the evidence of {name} for\n{}is accepted for\n{text}",
                    source.text()
                );
            }
        }
    }
    assert!(
        kept > 500 && rejected > 500 && turned > 200,
        "{kept} kept, {rejected} rejected, {turned} turned"
    );
}

#[test]
fn every_feature_and_both_verdicts_are_frequent() {
    let count = 1_000;
    let programs: Vec<_> = (1..=count).map(sequential).collect();
    for (feature, is_in) in FEATURES {
        let found = programs.iter().filter(|program| is_in(program)).count();
        assert!(found * 20 >= programs.len(), "{feature}: in {found} of {count} programs");
    }
    let is_unsafe = |text: String| {
        let task = task_of(&Source::new("random.bp", text)).expect("a program");
        matches!(Explicit::default().run(&task, &Budget::unlimited(), &Quiet), Verdict::Unsafe(_))
    };
    let unsafe_ones = programs.iter().filter(|program| is_unsafe(program.text())).count();
    let range = programs.len() / 4..=programs.len() * 3 / 4;
    assert!(range.contains(&unsafe_ones), "{unsafe_ones} of {count} are unsafe");
}
