//! Traces are minimised: never longer than before, still runs of the program, and mostly shortest ones.

#[path = "../benches/families/mod.rs"]
mod families;
mod support;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::prepare;
use cusp::engines::Bounds;
use cusp::evidence::trace::{CallTree, End, RunId, Step};
use cusp::evidence::{Trace, Verdict};
use cusp::model::Task;
use cusp::pipeline::table::Choice;
use cusp::pipeline::{Reductions, decide};
use cusp::progress::Quiet;
use cusp::shorten::{Shortened, shorten};
use cusp::source::Source;
use families::{Variant, all as all_families};
use support::naive::{Limits, Seen, explore};
use support::random_programs::{Limits as Size, sequential_within};
use support::{RandomProgram, for_each_seed, options_of, sequential};

fn task_of(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    let prepared = prepare(&source, &options_of(text));
    prepared.map(|prepared| prepared.task).map_err(|f| cusp::diagnostic::render(&source, &f, false))
}

/// The trace that an engine finds, if it finds one.
fn trace_of(task: &Task, engine: &str) -> Option<CallTree> {
    let Some(Choice::Only(row)) = Choice::<Task>::named(engine) else { panic!("no engine {engine}") };
    let engine = row.engine(Bounds { depth: Some(12), recursion: Some(3), unwind: None, switches: None });
    let budget = Budget::unlimited();
    match decide(&*engine, &Reductions::new(task, true, &budget), &budget, &Quiet) {
        Verdict::Unsafe(Trace::Sequential(tree)) => Some(tree),
        _ => None,
    }
}

/// The steps of all runs with everything written out; the largest number if it does not fit.
fn lengths(tree: &CallTree) -> Vec<u64> {
    let mut lengths: Vec<u64> = Vec::with_capacity(tree.runs.len());
    for run in &tree.runs {
        let inside = |id: RunId| lengths[id.index()];
        let step = |sum: u64, step: &Step| {
            sum.saturating_add(step.call.map_or(1, |id| inside(id).saturating_add(2)))
        };
        let steps = run.steps.iter().fold(0, step);
        lengths.push(match run.end {
            End::Inside { run, .. } => steps.saturating_add(inside(run)).saturating_add(1),
            End::Exit | End::Violation(_) => steps,
        });
    }
    lengths
}

fn length(tree: &CallTree) -> u64 {
    *lengths(tree).last().expect("a run of the start procedure")
}

/// Shortens a trace, and checks that the result is a run that is not longer.
fn shortened(task: &Task, tree: CallTree) -> Result<Shortened, String> {
    let before = length(&tree);
    let result = shorten(task, tree, &Budget::unlimited());
    let after = length(&result.tree);
    let verdict = Verdict::Unsafe(Trace::Sequential(result.tree.clone()));
    certify(task, verdict, &Budget::unlimited()).map_err(|why| format!("rejected: {why}"))?;
    if after > before { Err(format!("{before} steps became {after}")) } else { Ok(result) }
}

/// What became of the traces of some random programs.
#[derive(Default)]
struct Tally {
    traces: AtomicUsize,
    shorter: AtomicUsize,
    /// The naive checker knows how long a shortest run is.
    known: AtomicUsize,
    shortest: AtomicUsize,
}

impl Tally {
    fn add(counter: &AtomicUsize, holds: bool) {
        counter.fetch_add(usize::from(holds), Ordering::Relaxed);
    }

    fn of(count: u64, generator: fn(u64) -> RandomProgram, engines: &[&str]) -> Self {
        let tally = Self::default();
        for_each_seed(count, generator, |text| {
            let task = task_of(text)?;
            let mut least = None;
            for &engine in engines {
                let Some(tree) = trace_of(&task, engine) else { continue };
                let before = length(&tree);
                let Shortened { tree, is_shortest } = shortened(&task, tree)?;
                let after = length(&tree);
                Self::add(&tally.traces, true);
                Self::add(&tally.shorter, after < before);
                let seen = *least.get_or_insert_with(|| explore(&task, Limits { stack: 60, states: 20_000 }));
                if let Seen::Violation { steps } = seen {
                    let optimal = after == steps as u64;
                    Self::add(&tally.known, true);
                    Self::add(&tally.shortest, optimal);
                    if after < steps as u64 || is_shortest && !optimal {
                        return Err(format!("{after} steps, shortest: {is_shortest}, but it is {steps}"));
                    }
                }
            }
            Ok(())
        });
        tally
    }

    /// At least this share of the traces are shortest ones, and something was there to be shortened.
    fn assert_shortest(self, percent: usize) {
        let Self { traces, shorter, known, shortest } = self;
        let [traces, shorter, known, shortest] =
            [traces, shorter, known, shortest].map(AtomicUsize::into_inner);
        let all = format!("{traces} traces, {shorter} shortened, {shortest} of {known} shortest");
        // A few programs that somebody asked for need not be typical.
        let is_small = traces < 50;
        assert!(is_small || known * 2 >= traces && shorter * 20 >= traces, "{all}");
        assert!(is_small || shortest * 100 >= known * percent, "{all}");
    }
}

const ENGINES: [&str; 3] = ["summaries", "lazy", "bdd"];

#[test]
fn traces_of_small_programs_become_shortest_ones() {
    Tally::of(300, sequential, &ENGINES).assert_shortest(95);
}

#[test]
fn traces_of_larger_programs_become_shorter() {
    let larger =
        |seed| sequential_within(seed, Size { globals: 4, locals: 4, returns: 3, procs: 6, statements: 12 });
    Tally::of(40, larger, &ENGINES).assert_shortest(80);
}

#[test]
fn families_have_runs_that_are_not_longer() {
    for family in all_families() {
        let Some(&size) = family.small.first() else { continue };
        let task = task_of(&(family.text)(size, Variant::Buggy)).expect("a program");
        let tree = trace_of(&task, "summaries").expect("a trace");
        shortened(&task, tree).unwrap_or_else(|why| panic!("{}: {why}", family.name));
    }
}

/// Every procedure calls the next one twice; at the end there is a detour that a shorter run leaves out.
#[test]
fn a_run_of_two_to_the_power_of_eight_hundred_steps_loses_its_detours() {
    let mut text = String::from("decl g;\n");
    for i in 0..800 {
        let callee = i + 1;
        let _ = writeln!(text, "void p{i}() begin p{callee}(); p{callee}(); end");
    }
    text += "void p800() begin if (*) then skip; skip; skip; fi g := !g; end\n";
    text += "void main() begin g := F; p0(); assert(g); end\n";
    let task = task_of(&text).expect("a program");
    let tree = trace_of(&task, "summaries").expect("a trace");
    assert!(lengths(&tree)[0] > 4, "there is nothing to leave out");
    let Shortened { tree, is_shortest } = shortened(&task, tree).expect("a run");
    assert_eq!(length(&tree), u64::MAX, "not as long as it has to be");
    // The condition, the way behind `fi`, the assignment, and the end of the procedure.
    assert_eq!(lengths(&tree)[0], 4, "the innermost run takes the detour");
    assert!(!is_shortest, "nobody has looked at all runs of this length");
}

/// A counter of 11 bits: no run is shorter than its 2,047 rounds, but each of them may take a detour.
#[test]
fn a_long_loop_is_shortened_round_by_round() {
    let bits = 11;
    let names: Vec<String> = (0..bits).map(|i| format!("b{i}")).collect();
    let carries: Vec<String> = (0..bits)
        .map(|i| match i {
            0 => "!b0".to_owned(),
            _ => format!("b{i} != ({})", names[..i].join(" & ")),
        })
        .collect();
    let all = names.join(" & ");
    let zero = vec!["F"; bits].join(", ");
    let text = format!(
        "void main() begin decl {}; {} := {zero}; while (!({all})) do if (*) then skip; skip; fi {} := {}; od \
         assert(F); end\n",
        names.join(", "),
        names.join(", "),
        names.join(", "),
        carries.join(", ")
    );
    let task = task_of(&text).expect("a program");
    let tree = trace_of(&task, "bdd").expect("a trace");
    let before = length(&tree);
    assert!(before > 4_000, "{before} steps");
    let Shortened { tree, .. } = shortened(&task, tree).expect("a run");
    let after = length(&tree);
    assert!(after < before - before / 10, "{before} steps became {after}");
}
