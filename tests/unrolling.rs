//! The engines that unroll: against the explicit engine on random programs, and on programs for each of
//! their features.

mod support;

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, prepare};
use cusp::engines::Engine;
use cusp::engines::bmc::Bmc;
use cusp::engines::explicit::Explicit;
use cusp::engines::kinduction::KInduction;
use cusp::evidence::{Certificate, Reason, Trace, Verdict};
use cusp::model::{Property, Task};
use cusp::progress::{Progress, Quiet};
use cusp::source::Source;
use support::{for_each_seed, sequential};

fn task_of(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    match prepare(&source, &Options::default()) {
        Ok(prepared) => Ok(prepared.task),
        Err(findings) => Err(cusp::diagnostic::render(&source, &findings, false)),
    }
}

/// Runs an engine and has its evidence checked.
fn certified(task: &Task, engine: &dyn Engine) -> Result<Verdict, String> {
    let budget = Budget::unlimited();
    let verdict = engine.run(task, &budget, &Quiet);
    let certified = certify(task, verdict, &budget);
    let certified = certified.map_err(|why| format!("{}: rejected: {why}", engine.name()))?;
    Ok(certified.verdict().clone())
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Safe(_) => "safe",
        Verdict::Unsafe(_) => "unsafe",
        Verdict::Unknown(_) => "unknown",
    }
}

/// The task itself, and the reachability of each of its labels.
fn questions(task: &Task) -> Vec<Task> {
    let labels = task.program.procedures.iter().flat_map(|p| p.labels.iter().map(|(label, _)| label.clone()));
    let mut labels: Vec<String> = labels.collect();
    labels.sort();
    labels.dedup();
    let by_label =
        labels.into_iter().map(|label| Task { property: Property::LabelUnreachable(label), ..task.clone() });
    std::iter::once(task.clone()).chain(by_label).collect()
}

/// Compares an engine with the explicit one on all questions about random programs; answers how many there
/// were, and to how many the engine had no answer.
fn compare(
    count: u64,
    engine: &(dyn Engine + Sync),
    is_excused: impl Fn(&Reason) -> bool + Sync,
) -> (u32, u32) {
    let (asked, unknown) = (AtomicU32::new(0), AtomicU32::new(0));
    for_each_seed(count, sequential, |text| {
        for task in questions(&task_of(text)?) {
            asked.fetch_add(1, Ordering::Relaxed);
            let found = certified(&task, engine)?;
            if let Verdict::Unknown(it) = &found {
                if !is_excused(&it.reason) {
                    return Err(format!("{:?}: unknown: {}", task.property, it.reason));
                }
                unknown.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let expected = certified(&task, &Explicit::default())?;
            if word(&found) != word(&expected) {
                return Err(format!("{:?}: says {}, it is {}", task.property, word(&found), word(&expected)));
            }
        }
        Ok(())
    });
    (asked.into_inner(), unknown.into_inner())
}

#[test]
fn bmc_agrees_with_the_explicit_engine() {
    // Recursion that comes back to itself on many ways may have to be unrolled very far.
    let engine = Bmc { depth: Some(12), recursion: Some(3), ..Bmc::default() };
    let is_excused =
        |reason: &Reason| matches!(reason, Reason::DepthBound { .. } | Reason::RecursionBound { .. });
    let (asked, unknown) = compare(1000, &engine, is_excused);
    assert!(unknown * 5 < asked, "{unknown} of {asked} are unknown");
}

#[test]
fn kinduction_agrees_with_the_explicit_engine_and_decides_everything_that_is_not_recursive() {
    let is_excused = |reason: &Reason| matches!(reason, Reason::Recursive { .. });
    let (asked, unknown) = compare(1500, &KInduction::default(), is_excused);
    assert!(unknown * 4 < asked * 3, "{unknown} of {asked} are recursive");
}

#[test]
fn bmc_agrees_with_k_induction_on_programs_without_recursion() {
    // Counting loops may have to be unrolled very far.
    let engine = Bmc { depth: Some(12), recursion: Some(3), ..Bmc::default() };
    for_each_seed(200, sequential, |text| {
        for task in questions(&task_of(text)?) {
            let by_induction = certified(&task, &KInduction { depth: Some(12) })?;
            let unrolled = certified(&task, &engine)?;
            if matches!(by_induction, Verdict::Unknown(_)) || matches!(unrolled, Verdict::Unknown(_)) {
                continue;
            }
            if word(&unrolled) != word(&by_induction) {
                return Err(format!("{:?}: bmc says {}", task.property, word(&unrolled)));
            }
        }
        Ok(())
    });
}

/// A program with the word that is expected; whether it is recursive.
fn features() -> Vec<(&'static str, &'static str, bool, &'static str)> {
    vec![
        ("mutual recursion that comes to an end", "safe", true, "
            void main() begin decl r; r := even(T, T); assert(!r | r); r := even(F, F); assert(r); end
            bool even(a, b) begin decl r; if (!a & !b) then return T; fi r := odd(a & b, a & !b); return r; end
            bool odd(a, b) begin decl r; if (!a & !b) then return F; fi r := even(a & b, a & !b); return r; end"),
        ("mutual recursion with a wrong base case", "unsafe", true, "
            void main() begin decl r; r := even(T, F); assert(r); end
            bool even(a, b) begin decl r; if (!a & !b) then return F; fi r := odd(a & b, a & !b); return r; end
            bool odd(a, b) begin decl r; if (!a & !b) then return F; fi r := even(a & b, a & !b); return r; end"),
        ("recursion in a loop", "unsafe", true, "
            decl g;
            void main() begin g := F; f(T); assert(!g); end
            void f(again) begin decl i; i := T; while (i) do i := *; if (again) then f(F); fi g := !g; od end"),
        ("recursion in a loop that keeps its invariant", "safe", true, "
            decl g, h;
            void main() begin g := F; h := F; f(); assert(g = h); end
            void f() begin while (*) do g := !g; h := !h; f(); od end"),
        ("recursion without an end", "safe", true, "
            decl g;
            void main() begin f(); assert(F); end
            void f() begin g := !g; f(); f(); end"),
        ("main calls itself", "unsafe", true, "
            decl g;
            void main() begin decl l; l := g; g := !g; if (*) then main(); fi assert(l != g | *); end"),
        ("several return values, some dropped", "safe", false, "
            decl g;
            bool<3> rotate(a, b, c) begin return b, c, a; end
            void main() begin decl x, y, z; x, y, z := T, F, F; x, y, z := rotate(x, y, z); assert(z & !x);
              g, _, _ := rotate(F, g, T); x, y, _ := rotate(y, z, x); assert(x); end"),
        ("several return values in the wrong order", "unsafe", false, "
            bool<2> swap(a, b) begin return b, a; end
            void main() begin decl x, y; x, y := T, F; y, x := swap(x, y); assert(!x); end"),
        ("a return value that goes to a global which the callee writes", "safe", false, "
            decl g;
            bool f() begin g := F; return T; end
            void main() begin g := f(); assert(g); end"),
        ("an irreducible loop", "unsafe", false, "
            decl a, b;
            void main() begin a := F; b := F; goto L, M; L: a := !a; goto M, N; M: b := !b; goto L, N;
              N: assert(!(a & b)); end"),
        ("an irreducible loop that keeps its invariant", "safe", false, "
            decl a, b, c;
            void main() begin a, b, c := F, F, F; goto L, M; L: a := !a; c := !c; goto M, N;
              M: b := !b; c := !c; goto L, N; N: assert(c = (a ^ b)); end"),
        ("enforce cuts off the run", "safe", false, "
            decl g;
            void main() begin g := F; f(); assert(F); end
            void f() begin enforce !g; while (*) do skip; od g := T; end"),
        ("enforce of the caller after the return", "safe", false, "
            decl g;
            void main() begin enforce !g; f(); assert(!g); end
            void f() begin while (*) do g := !g; od end"),
        ("constrain relates old and new values", "safe", false, "
            void main() begin decl x, y; x := T; y := F; while (*) do x, y := *, * constrain ('x = y & 'y = x); od
              assert(x != y); end"),
        ("constrain that allows too much", "unsafe", false, "
            void main() begin decl x, y; x := T; y := F; while (*) do x, y := *, * constrain ('x | 'y); od
              assert(x != y); end"),
        ("choices as arguments and in conditions", "unsafe", false, "
            void main() begin f(*, schoose[F, F]); end
            void f(a, b) begin if (a & *) then assert(b | !a); fi end"),
        ("a counter of three bits", "unsafe", false, "
            decl a, b, c;
            void main() begin a, b, c := F, F, F; while (*) do
              a, b, c := !a, b ^ a, c ^ (a & b); assert(!(a & b & c)); od end"),
        ("a counter of three bits that skips a value", "safe", false, "
            decl a, b, c;
            void main() begin a, b, c := F, F, F; while (*) do
              if (!a & b & c) then a, b, c := F, F, F; else a, b, c := !a, b ^ a, c ^ (a & b); fi
              assert(!(a & b & c)); od end"),
        ("nested loops in a helper that is called twice", "unsafe", false, "
            decl g, h;
            void main() begin g, h := F, F; twist(); twist(); assert(g | !h); end
            void twist() begin while (*) do h := !h; while (*) do g := !g; od od end"),
        ("a loop that is entered at the entry of its procedure", "unsafe", false, "
            decl g;
            void main() begin g := F; f(); f(); end
            void f() begin L: g := !g; if (*) then goto L; fi assert(!g | *); end"),
        ("dead code behind a call that never returns", "safe", true, "
            decl g, h;
            void main() begin g := F; f(); n(); assert(!g); end
            void f() begin g := T; end
            void n() begin n(); end"),
    ]
}

#[test]
fn every_feature_is_decided_and_certified() {
    for (name, expected, is_recursive, text) in features() {
        let task = task_of(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let explicit = certified(&task, &Explicit::default()).expect("accepted");
        assert_eq!(word(&explicit), expected, "{name}");
        let unrolled = certified(&task, &Bmc::default());
        assert_eq!(unrolled.as_ref().map(word), Ok(expected), "{name}: {unrolled:?}");
        let inductive = certified(&task, &KInduction::default());
        let expected = if is_recursive { "unknown" } else { expected };
        assert_eq!(inductive.as_ref().map(word), Ok(expected), "{name}: {inductive:?}");
    }
}

#[test]
fn labels_on_loop_heads_and_exits_are_reached() {
    let text = "
        decl g;
        void main() begin g := F; ERROR: while (g) do skip; od f(); end
        void f() begin if (g) then goto L; fi return; L: skip; M: return; end";
    for (label, expected) in [("ERROR", "unsafe"), ("L", "safe"), ("M", "safe")] {
        let task = Task {
            property: Property::LabelUnreachable(label.to_owned()),
            ..task_of(text).expect("a program")
        };
        for engine in [&Bmc::default() as &dyn Engine, &KInduction::default()] {
            assert_eq!(
                certified(&task, engine).as_ref().map(word),
                Ok(expected),
                "{label} {}",
                engine.name()
            );
        }
    }
}

#[test]
fn engines_say_why_they_do_not_take_a_program() {
    let reason = |text: &str, engine: &dyn Engine| match certified(&task_of(text).expect("a program"), engine)
    {
        Ok(Verdict::Unknown(unknown)) => unknown.reason,
        other => panic!("{other:?}"),
    };
    let threads = "decl g; void main() begin start_thread f(); assert(g); end void f() begin g := T; end";
    assert_eq!(reason(threads, &KInduction::default()), Reason::UnboundedThreads);
    let recursive = "void main() begin f(); end void f() begin assert(*); f(); end";
    let because = Reason::Recursive { engine: "kinduction", procedure: "f".to_owned() };
    assert_eq!(reason(recursive, &KInduction::default()), because);
    let mut chain = "decl g; void main() begin p1(); p1(); assert(g); end\n".to_owned();
    for i in 1..40 {
        let _ = writeln!(chain, "void p{i}() begin p{}(); p{}(); end", i + 1, i + 1);
    }
    chain += "void p40() begin g := !g; end\n";
    let Reason::TooLargeInlined { what, count, .. } = reason(&chain, &KInduction::default()) else {
        panic!("a tree of 2^40 calls was inlined");
    };
    assert_eq!((what, count.as_str()), ("calls", "about 2.2e12"));
    let loops = "decl a, b, c; void main() begin a, b, c := F, F, F; while (*) do
        a, b, c := !a, b ^ a, c ^ (a & b); od assert(!(a & b & c)); end";
    assert_eq!(
        reason(loops, &Bmc { depth: Some(3), recursion: None, ..Bmc::default() }),
        Reason::DepthBound { bound: 3 }
    );
    assert_eq!(reason(loops, &KInduction { depth: Some(3) }), Reason::DepthBound { bound: 3 });
    let nested = counting_recursion(3);
    let bounded = Bmc { depth: None, recursion: Some(3), ..Bmc::default() };
    assert_eq!(reason(&nested, &bounded), Reason::RecursionBound { bound: 3 });
}

/// A program that fails when a counter of so many bits, passed down a recursion, has only ones.
fn counting_recursion(bits: usize) -> String {
    let params: Vec<String> = (0..bits).map(|i| format!("p{i}")).collect();
    let next: Vec<String> = (0..bits)
        .map(|i| if i == 0 { "!p0".to_owned() } else { format!("p{i} ^ ({})", params[..i].join(" & ")) })
        .collect();
    format!(
        "void main() begin f({}); end\n\
         void f({}) begin if ({}) then assert(F); else f({}); fi end\n",
        vec!["F"; bits].join(", "),
        params.join(", "),
        params.join(" & "),
        next.join(", ")
    )
}

/// The last thing that an engine said.
#[derive(Default)]
struct LastLine(Mutex<String>);

impl Progress for LastLine {
    fn say(&self, line: &dyn Fn() -> String) {
        *self.0.lock().expect("one thread") = line();
    }
}

/// How many blocks were unrolled and how many questions asked, as the engine says it.
fn effort(task: &Task) -> (Verdict, u64, u64) {
    let progress = LastLine::default();
    let verdict = Bmc::default().run(task, &Budget::unlimited(), &progress);
    let line = progress.0.into_inner().expect("one thread");
    let number = |word: &str| -> u64 {
        let before = line.split(word).next().expect("a line").trim_end();
        before
            .rsplit([' ', ','])
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("{line}"))
    };
    (verdict, number("blocks"), number("queries"))
}

#[test]
fn deep_recursion_takes_few_questions_and_one_copy_a_level() {
    let task = task_of(&counting_recursion(10)).expect("a program");
    let (verdict, blocks, queries) = effort(&task);
    assert!(blocks < 2_500, "{blocks} blocks");
    assert!(queries < 300, "{queries} queries");
    let Verdict::Unsafe(Trace::Sequential(tree)) = &verdict else { panic!("{verdict:?}") };
    assert_eq!(tree.runs.len(), 1025);
    certify(&task, verdict, &Budget::unlimited()).expect("accepted");
}

#[test]
fn a_long_loop_takes_few_questions() {
    let task = task_of(
        "decl a, b, c, d, e, f, g, h; void main() begin a, b, c, d, e, f, g, h := F, F, F, F, F, F, F, F;
         while (*) do
           a, b, c, d := !a, b ^ a, c ^ (a & b), d ^ (a & b & c);
           if (!a & !b & !c & !d) then e, f, g, h := !e, f ^ e, g ^ (e & f), h ^ (e & f & g); fi
           assert(!(a & b & c & d & e & f & g & h));
         od end",
    );
    let task = task.expect("a program");
    let (verdict, blocks, queries) = effort(&task);
    assert_eq!(word(&verdict), "unsafe");
    assert!(blocks < 700 && queries < 200, "{blocks} blocks, {queries} queries");
    certify(&task, verdict, &Budget::unlimited()).expect("accepted");
}

#[test]
fn a_proof_leaves_calls_open_that_do_not_matter() {
    let mut text = "decl g, h; void main() begin g := T; t0(); assert(g); end\n".to_owned();
    for i in 0..40 {
        let _ = writeln!(text, "void t{i}() begin t{}(); if (*) then t{}(); fi end", i + 1, i + 1);
    }
    text += "void t40() begin h := !h; end\n";
    let verdict = certified(&task_of(&text).expect("a program"), &Bmc::default()).expect("accepted");
    let Verdict::Safe(Certificate::Unrolling(proof)) = verdict else { panic!("{verdict:?}") };
    assert_eq!(proof.copies.len(), 0);
}

#[test]
fn a_run_through_few_of_many_calls_is_found() {
    let mut text = "decl g; void main() begin g := F; t0(); end\n".to_owned();
    for i in 0..30 {
        let next = i + 1;
        let _ = writeln!(text, "void t{i}() begin if (*) then t{next}(); else t{next}(); t{next}(); fi end");
    }
    text += "void t30() begin g := !g; if (*) then assert(!g); fi end\n";
    let task = task_of(&text).expect("a program");
    let (verdict, blocks, _) = effort(&task);
    assert_eq!(word(&verdict), "unsafe");
    assert!(blocks < 200, "{blocks} blocks");
    certify(&task, verdict, &Budget::unlimited()).expect("accepted");
}

#[test]
fn an_interrupted_run_ends_at_once() {
    let task = task_of(&counting_recursion(10)).expect("a program");
    let budget = Budget::unlimited();
    budget.interrupt();
    for engine in [&Bmc::default() as &dyn Engine, &KInduction::default()] {
        match engine.run(&task, &budget, &Quiet) {
            Verdict::Unknown(unknown) if engine.name() == "bmc" => {
                assert_eq!(unknown.reason, Reason::Interrupted);
            }
            Verdict::Unknown(_) => {}
            other => panic!("{other:?}"),
        }
    }
}
