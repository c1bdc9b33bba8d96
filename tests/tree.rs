//! The interpreter over the syntax tree against the explicit engine: random programs, with labels in odd places,
//! and programs that differ only in which thread has which text.
//!
//! `CUSP_COUNT` and `CUSP_SEED` widen and move the range. A failure prints the command that repeats it
//! and a shrunk program, which then goes to `tests/corpus/regress`.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, Prepared, ThreadLimit, prepare};
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::evidence::{Trace, Verdict};
use cusp::model::Property;
use cusp::progress::Quiet;
use cusp::source::Source;
use cusp::syntax;
use cusp::syntax::ast::{Ast, Dialect};
use support::odd_labels::{odd_sequential, with_odd_labels};
use support::program::Mode;
use support::random_programs::concurrent_in;
use support::tree::{Answer, Question, decide};
use support::{RandomProgram, for_each_seed, options_of, seeds};

/// States that the interpreter looks at before it gives up.
const STATES: usize = 100_000;

/// Programs that were decided, by verdict, and those that are too large for the interpreter.
#[derive(Default)]
struct Tally {
    safe: AtomicUsize,
    unsafe_ones: AtomicUsize,
    too_much: AtomicUsize,
}

impl Tally {
    fn count(&self, answer: Answer) {
        let counter = match answer {
            Answer::Safe => &self.safe,
            Answer::Unsafe => &self.unsafe_ones,
            Answer::TooMuch => &self.too_much,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Both verdicts are frequent, and next to nothing is too large.
    #[allow(clippy::print_stdout, reason = "the figures of a campaign")]
    fn check(self, name: &str, count: u64) {
        let [safe, bad, too_much] = [self.safe, self.unsafe_ones, self.too_much].map(AtomicUsize::into_inner);
        println!("{name}: {safe} safe, {bad} unsafe, {too_much} too large");
        if seeds(count).count() >= 100 {
            let all = safe + bad + too_much;
            assert!(safe * 8 >= all && bad * 8 >= all, "{name}: {safe} safe and {bad} unsafe of {all}");
            assert!(too_much * 50 <= all, "{name}: {too_much} of {all} are too large");
        }
    }
}

fn read(text: &str) -> Result<(Options, Ast, Prepared), String> {
    let options = options_of(text);
    let source = Source::new("random.bp", text);
    let prepared =
        prepare(&source, &options).map_err(|findings| cusp::diagnostic::render(&source, &findings, false))?;
    let (ast, _) = syntax::parse(&source, options.dialect);
    Ok((options, ast, prepared))
}

/// What is asked, with so many copies of `main`.
fn question(options: &Options, prepared: &Prepared, copies: u32) -> Question {
    let label = match &prepared.task.property {
        Property::Assertions => None,
        Property::LabelUnreachable(label) => Some(label.clone()),
    };
    let threads = match options.threads {
        ThreadLimit::AtMost(n) if options.dialect != Dialect::Getafix => Some(n),
        _ => None,
    };
    Question { label, threads, copies, states: STATES }
}

/// The certified verdict of the explicit engine.
fn verdict(prepared: &Prepared, engine: Explicit) -> Result<Verdict, String> {
    let budget = Budget::unlimited();
    let verdict = engine.run(&prepared.task, &budget, &Quiet);
    let certified = certify(&prepared.task, verdict, &budget).map_err(|why| format!("rejected: {why}"))?;
    Ok(certified.verdict().clone())
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Safe(_) => "safe",
        Verdict::Unsafe(_) => "unsafe",
        Verdict::Unknown(_) => "unknown",
    }
}

/// Compares interpreter and engine.
fn agree(text: &str, tally: &Tally) -> Result<(), String> {
    let (options, ast, prepared) = read(text)?;
    let copies = match options.threads {
        ThreadLimit::AtMost(n) if options.replicate => n,
        _ => 1,
    };
    let answer = decide(&ast, &question(&options, &prepared, copies));
    tally.count(answer);
    let plain = Explicit { forget_dead: false, symmetry: false, ..Explicit::default() };
    // Without its reductions the engine has no chance where the interpreter has none.
    let engines =
        if answer == Answer::TooMuch { vec![Explicit::default()] } else { vec![Explicit::default(), plain] };
    for engine in engines {
        let word = word(&verdict(&prepared, engine)?);
        match (answer, word) {
            (Answer::Safe, "safe") | (Answer::Unsafe, "unsafe") | (Answer::TooMuch, "safe" | "unsafe") => {}
            _ => return Err(format!("the tree says {answer:?}, {engine:?} says {word}")),
        }
    }
    Ok(())
}

/// Dynamic threads, copies of `main`, and Getafix's threads in turn, for two or three threads.
fn odd_concurrent(seed: u64) -> RandomProgram {
    let threads = 2 + u32::from((seed / 3).is_multiple_of(4));
    let mode = match seed % 3 {
        0 => Mode::Threads(threads),
        1 => Mode::Copies(threads),
        _ => Mode::Getafix,
    };
    with_odd_labels(concurrent_in(mode, seed), seed)
}

#[test]
fn the_tree_and_the_explicit_engine_agree_on_sequential_programs() {
    let tally = Tally::default();
    for_each_seed(2_000, odd_sequential, |text| agree(text, &tally));
    tally.check("sequential", 2_000);
}

#[test]
fn the_tree_and_the_explicit_engine_agree_on_threads() {
    let tally = Tally::default();
    for_each_seed(500, odd_concurrent, |text| agree(text, &tally));
    tally.check("concurrent", 500);
}

/// For any number of copies of `main`: what goes wrong with up to three is found, and what is found with up to
/// three goes wrong.
#[test]
fn the_tree_and_the_explicit_engine_agree_on_any_number_of_copies() {
    let generator = |seed| with_odd_labels(concurrent_in(Mode::AnyCopies, seed), seed);
    let found = AtomicUsize::new(0);
    for_each_seed(60, generator, |text| {
        let (options, ast, prepared) = read(text)?;
        let answers = (1..=3).map(|copies| {
            let question = Question { threads: None, ..question(&options, &prepared, copies) };
            decide(&ast, &question)
        });
        let answers: Vec<Answer> = answers.collect();
        let some = answers.contains(&Answer::Unsafe);
        found.fetch_add(usize::from(some), Ordering::Relaxed);
        // Where nothing goes wrong the engine tries more and more copies: a few such programs are enough.
        if !some && text.len() % 10 != 0 {
            return Ok(());
        }
        match verdict(&prepared, Explicit::default())? {
            Verdict::Safe(_) if some => Err("the engine says safe".to_owned()),
            Verdict::Unknown(unknown) if some => Err(format!("the engine does not know: {}", unknown.reason)),
            Verdict::Unsafe(Trace::Interleaved(run)) => {
                let most = run.steps.iter().map(|step| step.after.threads.len()).max().unwrap_or(1);
                let right = most > 3 || answers[..most].iter().any(|&answer| answer != Answer::Safe);
                if right { Ok(()) } else { Err(format!("unsafe with {most} copies, but the tree is safe")) }
            }
            _ => Ok(()),
        }
    });
    assert!(found.into_inner() > 0 || seeds(60).count() < 60);
}

/// A Getafix program in which `main` and `thread0` have exchanged their texts.
fn swapped(text: &str) -> String {
    let hidden = text.replace("main(", "<>(");
    hidden.replace("thread0(", "main(").replace("<>(", "thread0(")
}

#[test]
fn which_thread_has_which_text_does_not_matter() {
    let generator = |seed| with_odd_labels(concurrent_in(Mode::Getafix, seed), seed);
    for_each_seed(120, generator, |text| {
        let other = swapped(text);
        let [one, two] = [text, &other].map(|text| {
            let (.., prepared) = read(text)?;
            Ok::<_, String>(word(&verdict(&prepared, Explicit::default())?))
        });
        let (one, two) = (one?, two?);
        if one == two { Ok(()) } else { Err(format!("{one} became {two}:\n{other}")) }
    });
}

/// Checks that interpreter and engine both give a verdict.
fn check(text: &str, expected: &str) {
    let (options, ast, prepared) = read(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let copies = match options.threads {
        ThreadLimit::AtMost(n) if options.replicate => n,
        _ => 1,
    };
    let answer = decide(&ast, &question(&options, &prepared, copies));
    assert_eq!(format!("{answer:?}").to_lowercase(), expected, "the tree, about\n{text}");
    let engine = verdict(&prepared, Explicit::default()).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(word(&engine), expected, "the engine, about\n{text}");
}

#[test]
fn a_label_is_reached_only_where_control_passes_it() {
    let bodies = [
        "if (F) then skip; L: fi",
        "if (F) then L: ; fi skip;",
        "if (F) then L: fi M: ",
        "if (T) then skip; else L: fi",
        "if (F) then if (*) then skip; fi L: fi skip;",
        "if (T) then skip; elsif (T) then L: fi",
        "while (F) do skip; L: od",
        "while (F) do L: od skip;",
        "goto M; L: ; M: skip;",
        "goto M; L: K: ; M: ; skip;",
        "goto M; L: decl x; M: skip;",
        "goto M; L: enforce T; M: skip;",
        "goto M; L: ; M: ",
        "goto 7; L: ; 7: f();",
        "goto M; L: ; while (F) do M: skip; od",
        "start_thread goto M; end_thread; L: ; M: skip;",
        "end_thread; L: ",
    ];
    for body in bodies {
        check(&with_label(body), "safe");
    }
}

#[test]
fn a_label_is_reached_wherever_control_passes_it() {
    let bodies = [
        "L: ",
        "L: ; skip;",
        "L: K: ; M: ; skip;",
        "K: ; L: ; M: ; skip;",
        "if (*) then L: fi",
        "if (*) then skip; else L: fi",
        "while (*) do skip; L: od",
        "while (*) do L: od",
        "goto L; K: ; L: ; M: skip;",
        "L: f();",
        "L: decl x; skip;",
        "L: while (F) do skip; od",
        "goto M; L: while (F) do M: skip; od",
        "start_thread goto L; end_thread; L: ; M: skip;",
        "ASYNC_1: L: f(); end_thread;",
    ];
    for body in bodies {
        check(&with_label(body), "unsafe");
    }
}

fn with_label(body: &str) -> String {
    format!("// options: --label L --threads 2\nvoid main() begin {body} end\nvoid f() begin skip; end\n")
}

/// Programs of two threads, each with the verdict that it has whichever thread runs which text.
#[test]
fn threads_are_alike() {
    let cases = [
        // The creation of a thread waits for its `enforce`, and everybody for the creation.
        ("g := F;", "g := T;", "enforce g; assert(F);", "safe"),
        ("g := T;", "g := F;", "enforce g; assert(F);", "unsafe"),
        // While the flag is set, the first that moves keeps the others out.
        ("atomic := T;", "assert(F);", "assume(F);", "unsafe"),
        ("atomic, g := T, F;", "g := T; end_thread;", "assert(!g);", "unsafe"),
        ("atomic, g := T, F;", "g := T; assume(F);", "assert(!g);", "safe"),
        ("atomic, g := T, T;", "g := F; atomic := F;", "enforce g; assert(g);", "unsafe"),
        ("atomic := T; atomic := F; g := F;", "g := T;", "assert(!g);", "unsafe"),
    ];
    for (init, one, other, expected) in cases {
        for [main, thread] in [[one, other], [other, one]] {
            let text = format!(
                "// options: --dialect getafix\ndecl g, atomic;\nvoid init() begin {init} end\n\
                 void main() begin {main} end\nvoid thread0() begin {thread} end\n"
            );
            check(&text, expected);
        }
    }
}

#[test]
fn copies_of_main_exist_before_anybody_moves() {
    for threads in ["2", "3"] {
        let text = |assertion: &str| {
            format!(
                "// options: --replicate --threads {threads}\ndecl g := F;\nvoid main() begin decl x;\n  \
                 if (!g) then g, x, x$ := T, F, F; fi\n  assert({assertion});\nend\n"
            )
        };
        check(&text("!x"), "safe");
        check(&text("x"), "unsafe");
    }
}
