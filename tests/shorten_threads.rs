//! Runs of several threads are shortened: fewer context switches, fewer threads, fewer steps, and still runs.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::prepare;
use cusp::engines::Bounds;
use cusp::evidence::trace::Interleaving;
use cusp::evidence::{Trace, Verdict};
use cusp::model::Task;
use cusp::pipeline::table::Choice;
use cusp::progress::Quiet;
use cusp::shorten::interleaving::shorten;
use cusp::source::Source;
use support::naive::{Limits, fewest_switches};
use support::odd_labels::with_odd_labels;
use support::program::Mode;
use support::random_programs::concurrent_in;
use support::{RandomProgram, for_each_seed, options_of};

fn task_of(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    let prepared = prepare(&source, &options_of(text));
    prepared.map(|prepared| prepared.task).map_err(|f| cusp::diagnostic::render(&source, &f, false))
}

/// The run that an engine finds, if it finds one.
fn run_of(task: &Task, engine: &str) -> Option<Interleaving> {
    let Some(Choice::Only(row)) = Choice::<Task>::named(engine) else { panic!("no engine {engine}") };
    let engine =
        row.engine(Bounds { depth: Some(12), recursion: Some(2), unwind: Some(2), ..Bounds::default() });
    match engine.run(task, &Budget::unlimited(), &Quiet) {
        Verdict::Unsafe(Trace::Interleaved(run)) => Some(run),
        _ => None,
    }
}

/// What is made smaller.
fn size(run: &Interleaving) -> [usize; 3] {
    let mut movers: Vec<u32> = run.steps.iter().map(|step| step.thread).chain([run.thread]).collect();
    movers.sort_unstable();
    movers.dedup();
    [run.switches(), movers.len(), run.steps.len()]
}

/// Shortens a run, and checks that the result is a run that is better if there is one.
fn shortened(task: &Task, run: &Interleaving) -> Result<Interleaving, String> {
    let Some(shorter) = shorten(task, run, &Budget::unlimited()) else { return Ok(run.clone()) };
    let verdict = Verdict::Unsafe(Trace::Interleaved(shorter.clone()));
    certify(task, verdict, &Budget::unlimited()).map_err(|why| format!("rejected: {why}"))?;
    let [before, after] = [size(run), size(&shorter)];
    if after < before { Ok(shorter) } else { Err(format!("{before:?} became {after:?}")) }
}

/// What became of the runs of some random programs.
#[derive(Default)]
struct Tally {
    runs: AtomicUsize,
    better: AtomicUsize,
    /// The naive search knows the fewest switches.
    known: AtomicUsize,
    fewest: AtomicUsize,
    fewest_before: AtomicUsize,
}

impl Tally {
    fn add(counter: &AtomicUsize, holds: bool) {
        counter.fetch_add(usize::from(holds), Ordering::Relaxed);
    }

    fn of(count: u64, generator: impl Fn(u64) -> RandomProgram + Sync, engines: &[&str]) -> Self {
        let tally = Self::default();
        for_each_seed(count, generator, |text| {
            let task = task_of(text)?;
            if !task.program.starts_threads {
                return Ok(());
            }
            let mut fewest = None;
            for &engine in engines {
                let Some(run) = run_of(&task, engine) else { continue };
                let shorter = shortened(&task, &run)?;
                Self::add(&tally.runs, true);
                Self::add(&tally.better, shorter != run);
                let limits = Limits { stack: 8, states: 30_000 };
                if let Some(fewest) = *fewest.get_or_insert_with(|| fewest_switches(&task, limits)) {
                    Self::add(&tally.known, true);
                    Self::add(&tally.fewest, shorter.switches() == fewest);
                    Self::add(&tally.fewest_before, run.switches() == fewest);
                    if shorter.switches() < fewest {
                        return Err(format!("{} switches, but {fewest} are the fewest", shorter.switches()));
                    }
                }
            }
            Ok(())
        });
        tally
    }

    /// At least this share of the runs has the fewest switches, and something was there to be shortened.
    fn assert_fewest(self, percent: usize) {
        let Self { runs, better, known, fewest, fewest_before } = self;
        let [runs, better, known, fewest, fewest_before] =
            [runs, better, known, fewest, fewest_before].map(AtomicUsize::into_inner);
        let all = format!(
            "{runs} runs, {better} made better, {fewest} of {known} with the fewest switches, before {fewest_before}"
        );
        // A few programs that somebody asked for need not be typical.
        let is_small = runs < 50;
        assert!(is_small || known * 2 >= runs && better * 50 >= runs, "{all}");
        assert!(is_small || fewest * 100 >= known * percent, "{all}");
    }
}

const ENGINES: [&str; 4] = ["interleavings", "counter", "bmc", "pdr"];

#[test]
fn runs_of_two_threads_get_few_switches() {
    Tally::of(150, |seed| concurrent_in(Mode::Threads(2), seed), &ENGINES).assert_fewest(90);
}

#[test]
fn runs_of_four_threads_get_few_switches() {
    Tally::of(100, |seed| concurrent_in(Mode::Threads(4), seed), &ENGINES).assert_fewest(90);
}

#[test]
fn runs_to_labels_get_few_switches() {
    let labelled = |seed| with_odd_labels(concurrent_in(Mode::Threads(3), seed), seed);
    Tally::of(60, labelled, &ENGINES).assert_fewest(90);
}

#[test]
fn runs_of_copies_get_few_switches() {
    Tally::of(60, |seed| concurrent_in(Mode::Copies(3), seed), &ENGINES[..3]).assert_fewest(95);
}

#[test]
fn runs_in_the_dialect_of_getafix_get_few_switches() {
    Tally::of(60, |seed| concurrent_in(Mode::Getafix, seed), &ENGINES).assert_fewest(70);
}
