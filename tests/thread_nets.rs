//! The engine `nets` on programs with any number of threads: it agrees with naive searches for few threads and with `pdr`, and
//! its evidence is accepted.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range. A failure prints the command that repeats it
//! and a shrunk program, which then goes to `tests/corpus/regress`.

#[path = "../benches/families/mod.rs"]
mod families;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, ThreadLimit, prepare};
use cusp::cli::parse_check_options;
use cusp::engines::interleavings::Interleavings;
use cusp::engines::nets::backward::Backward;
use cusp::engines::nets::mcov::Mcov;
use cusp::engines::pdr::Pdr;
use cusp::engines::{Bounds, Engine};
use cusp::evidence::{Certificate, Reason, ThreadInvariant, Verdict};
use cusp::model::Task;
use cusp::net::Net;
use cusp::pipeline::table::{BoxedEngine, Choice};
use cusp::pipeline::thread_nets::{ForThreads, ThreadNets};
use cusp::pipeline::translate::Through;
use cusp::progress::{Counting, Quiet};
use cusp::source::Source;
use cusp::threads::Reductions;
use families::Variant;
use families::threads::ALL;
use support::naive::{Limits, Seen, explore};
use support::program::Mode;
use support::random_programs::concurrent_in;
use support::{RandomProgram, for_each_seed, options_of};

fn task_with(text: &str, options: &Options) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    match prepare(&source, options) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(&source, &findings, false)),
    }
}

/// Threads that are started by statements, copies of `main`, and those of Getafix, always as many as there may be.
fn threads(seed: u64) -> RandomProgram {
    concurrent_in([Mode::Plain, Mode::Plain, Mode::AnyCopies, Mode::Getafix][(seed % 4) as usize], seed)
}

/// The engine, with few states and with an engine for nets.
fn through(engine: BoxedEngine<Net>, reductions: Reductions) -> Through<ThreadNets, Net> {
    let translator = ThreadNets { reductions, most_states: 3_000, ..ThreadNets::new("nets", None) };
    Through { name: "nets", translator, engine }
}

/// The verdict, with evidence that was accepted.
fn verdict(task: &Task, engine: &dyn Engine) -> Result<Verdict, String> {
    let budget = Budget::unlimited();
    let verdict = engine.run(task, &budget, &Quiet);
    if let Verdict::Unknown(unknown) = &verdict {
        let is_expected = match &unknown.reason {
            Reason::GaveUp(why) => {
                ["too many to list", "conditions on other threads"].iter().any(|part| why.contains(part))
            }
            Reason::Recursive { .. } | Reason::ThreadsOnly { .. } => true,
            _ => false,
        };
        return if is_expected { Ok(verdict) } else { Err(unknown.reason.to_string()) };
    }
    let said = verdict.clone();
    match certify(task, verdict, &budget) {
        Ok(certified) if certified.verdict().is_decided() => Ok(said),
        Ok(_) => Err(format!("{}, not checked to the end", said.word())),
        Err(why) => Err(format!("{}, rejected: {why}", said.word())),
    }
}

/// Whether a program has the threads that Getafix gives it: a few that all exist from the start.
fn has_fixed_threads(text: &str) -> bool {
    text.contains("// options: --dialect getafix")
}

/// The program with any number of threads. Those of Getafix have a bound that is never reached, since nothing starts more of them.
fn unbounded(text: &str) -> Result<Task, String> {
    let task = task_with(text, &options_of(text))?;
    Ok(if has_fixed_threads(text) { Task { threads: None, ..task } } else { task })
}

/// What up to four threads do, as far as that can be seen, contradicts no verdict.
fn agrees_with_few_threads(text: &str, verdict: &Verdict) -> Result<(), String> {
    const LIMITS: Limits = Limits { stack: 6, states: 20_000 };
    if has_fixed_threads(text) {
        let seen = explore(&task_with(text, &options_of(text))?, LIMITS);
        return match (seen, verdict) {
            (Seen::Violation { .. }, Verdict::Safe(_)) | (Seen::All, Verdict::Unsafe(_)) => {
                Err(format!("{}, but the naive search says {seen:?}", verdict.word()))
            }
            _ => Ok(()),
        };
    }
    let options = options_of(text);
    // With more threads a start may block, or `x$` may demand something of the new thread, where at the bound nothing is started.
    if !options.replicate && (text.contains("enforce") || text.contains('$')) {
        return Ok(());
    }
    for bound in 1..=4 {
        let options = Options { threads: ThreadLimit::AtMost(bound), ..options.clone() };
        let seen = explore(&task_with(text, &options)?, LIMITS);
        if let (Seen::Violation { steps }, Verdict::Safe(_)) = (seen, verdict) {
            return Err(format!("safe, but {bound} threads violate the property in {steps} steps"));
        }
    }
    Ok(())
}

#[test]
fn verdicts_agree_with_naive_searches_for_few_threads_and_with_property_directed_search() {
    let counts: [AtomicUsize; 3] = Default::default();
    for_each_seed(400, threads, |text| {
        let task = unbounded(text)?;
        let found = verdict(&task, &through(Box::new(ForThreads), Reductions::ALL))?;
        let kind = ["safe", "unsafe", "unknown"].iter().position(|word| *word == found.word());
        if let Some(kind) = kind {
            counts[kind].fetch_add(1, Ordering::Relaxed);
        }
        agrees_with_few_threads(text, &found)?;
        let pdr = Pdr { most_questions: 2_000, ..Pdr::default() }.run(&task, &Budget::unlimited(), &Quiet);
        if pdr.is_decided() && found.is_decided() && pdr.word() != found.word() {
            return Err(format!("nets says {}, pdr {}", found.word(), pdr.word()));
        }
        Ok(())
    });
    if std::env::var_os("CUSP_COUNT").is_none() {
        let [safe, unsafe_, unknown] = counts.map(AtomicUsize::into_inner);
        assert!(
            safe > 100 && unsafe_ > 100 && unknown < 20,
            "{safe} safe, {unsafe_} unsafe, {unknown} unknown"
        );
    }
}

/// Without reductions there are more cuts and more variables, and other engines for nets give other kinds of proofs.
#[test]
fn proofs_come_from_bases_and_from_coverability_sets_with_and_without_reductions() {
    let by_kind: [AtomicUsize; 2] = Default::default();
    for_each_seed(150, threads, |text| {
        let task = unbounded(text)?;
        let mut words = Vec::new();
        for reductions in [Reductions::ALL, Reductions::NONE] {
            let engines: [BoxedEngine<Net>; 2] = [
                Box::new(Mcov { after_the_oracle: 0, ..Mcov::default() }),
                Box::new(Mcov { alone: true, ..Mcov::default() }),
            ];
            for (kind, engine) in engines.into_iter().enumerate() {
                let found = verdict(&task, &through(engine, reductions))?;
                if found.is_decided() {
                    words.push(found.word());
                }
                if let Verdict::Safe(Certificate::Threads(proof)) = found {
                    assert!(matches!(proof.invariant, ThreadInvariant::Clauses(_)));
                    by_kind[kind].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        words.dedup();
        if words.len() > 1 { Err(format!("{words:?}")) } else { Ok(()) }
    });
    if std::env::var_os("CUSP_COUNT").is_none() {
        let by_kind = by_kind.map(AtomicUsize::into_inner);
        assert!(by_kind.iter().all(|&count| count > 30), "{by_kind:?} proofs");
    }
}

/// The small members of the families with any number of threads.
#[test]
fn every_small_member_of_the_families_is_decided_for_any_number_of_threads() {
    for family in ALL {
        for (&(size, _), variant) in family.small.iter().flat_map(|m| Variant::ALL.map(|v| (m, v))) {
            let options = parse_check_options(&family.options(None).join(" ")).expect("options");
            let task = task_with(&(family.text)(size, variant), &options).expect("a program");
            let Some(Choice::Only(row)) = Choice::<Task>::named("nets") else {
                panic!("there is no such engine");
            };
            let engine = row.engine(Bounds::default());
            let found = verdict(&task, &*engine)
                .unwrap_or_else(|why| panic!("{} {size} {}: {why}", family.name, variant.name()));
            assert_eq!(found.word(), family.verdict(size, variant, None), "{} {size}", family.name);
        }
    }
}

#[test]
fn figures_say_how_large_the_net_is_and_too_large_nets_are_not_made() {
    let text = "decl g := F; void main() begin while (*) do g := !g; od assert(g | !g); end";
    let options = parse_check_options("--replicate").expect("options");
    let task = task_with(text, &options).expect("a program");
    let counting = Counting::new(Box::new(Quiet));
    let engine = through(Box::new(Backward::default()), Reductions::ALL);
    assert_eq!(engine.run(&task, &Budget::unlimited(), &counting).word(), "safe");
    let names: Vec<String> = counting.counts().into_iter().map(|(name, _)| name).collect();
    assert!(["places", "transitions"].iter().all(|name| names.iter().any(|said| said == name)), "{names:?}");

    let translator = ThreadNets { most_states: 1, ..ThreadNets::new("nets", None) };
    let engine =
        Through { name: "nets", translator, engine: Box::new(Backward::default()) as BoxedEngine<Net> };
    let Verdict::Unknown(unknown) = engine.run(&task, &Budget::unlimited(), &Quiet) else {
        panic!("more than one state was listed");
    };
    assert!(unknown.reason.to_string().contains("too many to list"), "{}", unknown.reason);
}

#[test]
fn bounded_numbers_of_threads_and_sequential_programs_are_left_to_others() {
    let engine = through(Box::new(Backward::default()), Reductions::ALL);
    for (text, options, part) in [
        ("void main() begin assert(*); end", "--replicate --threads 2", "bounded"),
        ("void main() begin assert(*); end", "", "starts no threads"),
    ] {
        let task = task_with(text, &parse_check_options(options).expect("options")).expect("a program");
        let reason = engine.accepts(&task).expect_err("not for this engine");
        assert!(reason.to_string().contains(part), "{reason}");
    }
}

/// `x$` moves all other threads at once; what it demands of them is a zero test.
#[test]
fn passive_assignments_move_all_other_threads() {
    let program = |statement: &str| {
        format!(
            "decl g := F; void main() begin decl x; x := F; if (*) then {statement} fi assert(!x | !g); end"
        )
    };
    for (statement, expected) in
        [("g, x$ := T, T;", "unsafe"), ("g, x$ := T, F;", "safe"), ("g, x$ := T, T constrain !x$;", "unsafe")]
    {
        let text = program(statement);
        let options = parse_check_options("--replicate").expect("options");
        let task = task_with(&text, &options).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let engine = through(Box::new(ForThreads), Reductions::ALL);
        let found = verdict(&task, &engine).unwrap_or_else(|why| panic!("{why}\n{text}"));
        assert_eq!(found.word(), expected, "{text}");
    }
}

/// No thread can begin in `f`, so that starting one blocks; only at a bound nothing would be started.
#[test]
fn a_start_that_is_not_possible_blocks_if_there_is_no_bound() {
    let text = "void main() begin start_thread f(); assert(F); end void f() begin enforce F; end";
    let task = task_with(text, &Options::default()).expect("a program");
    for engine in [&through(Box::new(ForThreads), Reductions::ALL) as &dyn Engine, &Interleavings::default()]
    {
        let found = verdict(&task, engine).unwrap_or_else(|why| panic!("{}: {why}", engine.name()));
        assert_eq!(found.word(), "safe", "{}", engine.name());
    }
}

/// A thread goes on only if nobody else has gone on, so that it is alone. That somebody is inside if `inside` is true cannot be said by
/// clauses for all threads, so there is no proof; but a run that ignores the condition is not shown either.
#[test]
fn conditions_on_all_other_threads_are_obeyed_by_runs() {
    for (condition, expected) in [(" constrain !x$", "unknown"), ("", "unsafe")] {
        let text = format!(
            "decl inside := F;
             void main() begin
               decl x;
               x := F;
               x := T{condition};
               assert(!inside);
               inside := T;
               inside := F;
               x := F;
             end"
        );
        let options = parse_check_options("--replicate").expect("options");
        let task = task_with(&text, &options).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let found = through(Box::new(ForThreads), Reductions::ALL).run(&task, &Budget::unlimited(), &Quiet);
        assert_eq!(found.word(), expected, "{text}");
        if let Verdict::Unknown(unknown) = &found {
            assert!(unknown.reason.to_string().contains("conditions on other threads"), "{}", unknown.reason);
        } else {
            certify(&task, found, &Budget::unlimited()).expect("a run of the program");
        }
    }
}
