//! Theorem 4.5: how deep calls have to be nested, and that no deeper nesting shows anything new.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, prepare};
use cusp::engines::Engine;
use cusp::engines::explicit::Explicit;
use cusp::engines::universal::{Completeness, Universal};
use cusp::evidence::Verdict;
use cusp::model::Task;
use cusp::progress::{Counting, Quiet};
use cusp::source::Source;
use support::{for_each_seed, sequential};

const BY_HEADS: Universal = Universal { projects: true, completeness: Completeness::DifferentHeads };

fn task_of(text: &str) -> Result<Task, String> {
    let source = Source::new("random.bp", text);
    prepare(&source, &Options::default())
        .map(|prepared| prepared.task)
        .map_err(|findings| cusp::diagnostic::render(&source, &findings, false))
}

/// What an engine says, checked, and a figure about it.
fn run(task: &Task, engine: &dyn Engine, figure: &str) -> Result<(&'static str, Option<u64>), String> {
    let budget = Budget::unlimited();
    let counting = Counting::new(Box::new(Quiet));
    let verdict = engine.run(task, &budget, &counting);
    let certified = certify(task, verdict, &budget).map_err(|why| format!("rejected: {why}"))?;
    let word = match certified.verdict() {
        Verdict::Safe(_) => "safe",
        Verdict::Unsafe(_) => "unsafe",
        Verdict::Unknown(_) => "unknown",
    };
    let figure = counting.counts().into_iter().find(|(what, _)| what == figure).map(|(_, number)| number);
    Ok((word, figure))
}

#[test]
fn different_heads_end_recursion_on_random_programs() {
    let recursive = AtomicU32::new(0);
    for_each_seed(300, sequential, |text| {
        let task = task_of(text)?;
        let (expected, _) = run(&task, &Explicit::default(), "")?;
        let (by_heads, heads) = run(&task, &BY_HEADS, "most different heads of nested calls")?;
        if by_heads != expected {
            return Err(format!("{by_heads}, but it is {expected}"));
        }
        // The engine itself asserts that no round beyond this depth adds anything.
        recursive.fetch_add(u32::from(heads.is_some()), Ordering::Relaxed);
        Ok(())
    });
    let recursive = recursive.into_inner();
    assert!(recursive > 20, "only {recursive} recursive programs");
}

fn heads(text: &str) -> (&'static str, Option<u64>) {
    let task = task_of(text).expect("a program");
    run(&task, &BY_HEADS, "most different heads of nested calls").expect("evidence that is accepted")
}

#[test]
fn a_counter_nests_as_often_as_it_has_values() {
    let text = "
        decl g;
        void main() begin g := F; f(T, T); assert(g); end
        void f(a, b) begin if (a | b) then f(a & b, a & !b); else g := T; fi end";
    assert_eq!(heads(text), ("safe", Some(4)));
}

#[test]
fn a_call_with_the_same_entry_and_the_same_exit_adds_nothing() {
    let text = "
        decl g;
        void main() begin g := T; f(); assert(g); end
        void f() begin if (*) then f(); f(); fi end";
    assert_eq!(heads(text), ("safe", Some(1)));
}

#[test]
fn results_make_heads_different() {
    // `f` is always entered in the same way, but it returns two values.
    let text = "
        void main() begin decl r; r := f(); assert(r | !r); end
        bool f() begin decl r; if (*) then r := f(); return !r; fi return T; end";
    assert_eq!(heads(text), ("safe", Some(2)));
}

#[test]
fn an_activation_that_fails_has_a_head_of_its_own() {
    let text = "
        void main() begin f(T, T); end
        void f(a, b) begin assert(a | b); f(a & b, a & !b); end";
    assert_eq!(heads(text).0, "unsafe");
    // No activation of `f` ever returns, and `main` never comes to call it.
    let text = "
        decl g, h;
        void main() begin assume(F); f(); end
        void f() begin while (!g) do h, g := T, h; f(); od assert(F); end";
    assert_eq!(heads(text), ("safe", Some(3)));
}
