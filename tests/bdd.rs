//! The engine on decision diagrams: families that grow, tables that are too small, and random programs.

mod support;

use std::fmt::Write as _;

use cusp::budget::Budget;
use cusp::certify::certify;
use cusp::check::{Options, prepare};
use cusp::engines::Engine;
use cusp::engines::bdd::Bdd;
use cusp::engines::explicit::Explicit;
use cusp::evidence::{Certificate, Reason, Trace, Verdict};
use cusp::model::Task;
use cusp::progress::Quiet;
use cusp::source::Source;
use support::{for_each_seed, options_of, sequential};

fn task_of(text: &str) -> Task {
    let source = Source::new("test.bp", text);
    match prepare(&source, &Options::default()) {
        Ok(prepared) => prepared.task,
        Err(findings) => panic!("{}", cusp::diagnostic::render(&source, &findings, false)),
    }
}

/// The engine's answer, after its evidence was checked.
fn certified(task: &Task, engine: &dyn Engine) -> Verdict {
    let budget = Budget::unlimited();
    let verdict = engine.run(task, &budget, &Quiet);
    match certify(task, verdict, &budget) {
        Ok(certified) => certified.verdict().clone(),
        Err(rejection) => panic!("{}: {rejection}", engine.name()),
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Safe(_) => "safe",
        Verdict::Unsafe(_) => "unsafe",
        Verdict::Unknown(_) => "unknown",
    }
}

fn bdd_says(text: &str) -> Verdict {
    certified(&task_of(text), &Bdd::default())
}

/// Bebop's example: each procedure runs a three-bit counter or calls the next one twice, and toggles a
/// global. All of them toggle it in the end, so two calls leave it as it was.
fn chain(procedures: usize, claim: &str) -> String {
    let mut text = format!("decl g;\nvoid main() begin g := F; p1(); p1(); assert({claim}); end\n");
    for i in 1..=procedures {
        let calls =
            if i < procedures { format!("p{next}(); p{next}();", next = i + 1) } else { "skip;".to_owned() };
        let _ = writeln!(
            text,
            "void p{i}() begin decl a, b, c;
               if (g) then
                 a, b, c := F, F, F;
                 while (!a | !b | !c) do
                   if (!a) then a := T; elsif (!b) then a, b := F, T; else a, b, c := F, F, T; fi
                 od
               else {calls} fi
               g := !g;
             end"
        );
    }
    text
}

#[test]
fn a_chain_of_procedures_is_decided_both_ways() {
    assert_eq!(word(&bdd_says(&chain(300, "!g"))), "safe");
    let Verdict::Unsafe(Trace::Sequential(tree)) = bdd_says(&chain(300, "g")) else { panic!("not unsafe") };
    assert!(tree.runs.len() <= 4 * 300, "{} runs", tree.runs.len());
}

/// Counts down from the largest number of so many bits, one activation for each value.
fn countdown(bits: usize, claim: &str) -> String {
    let names: Vec<String> = (0..bits).map(|i| format!("c{i}")).collect();
    let some = names.join(" | ");
    let lower = |i: usize| names[..i].join(" | ");
    let minus_one: Vec<String> =
        (0..bits).map(|i| if i == 0 { "!c0".to_owned() } else { format!("c{i} = ({})", lower(i)) }).collect();
    let (params, full) = (names.join(", "), vec!["T"; bits].join(", "));
    let less = minus_one.join(", ");
    format!(
        "decl g;
         void main() begin g := F; f({full}); assert({claim}); end
         void f({params}) begin if ({some}) then f({less}); else g := T; fi end"
    )
}

#[test]
fn deep_recursion_is_decided_both_ways() {
    assert_eq!(word(&bdd_says(&countdown(10, "g"))), "safe");
    let Verdict::Unsafe(Trace::Sequential(tree)) = bdd_says(&countdown(10, "!g")) else {
        panic!("not unsafe")
    };
    assert_eq!(tree.runs.len(), 1024 + 1);
}

#[test]
fn ten_thousand_calls_that_do_not_return_are_shown() {
    let count = 10_000;
    let mut text = "decl g;\nvoid main() begin g := F; q1(); end\n".to_owned();
    for i in 1..=count {
        let rest = if i < count { format!("q{}();", i + 1) } else { "assert(t);".to_owned() };
        let _ = writeln!(text, "void q{i}() begin decl t; t := g; {rest} end");
    }
    let Verdict::Unsafe(Trace::Sequential(tree)) = bdd_says(&text) else { panic!("not unsafe") };
    assert_eq!(tree.runs.len(), count + 1);
}

/// Assigns all of many globals one by one, branches on each, and forgets them in a loop.
fn many_globals(count: usize, claim: &str) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("x{i}")).collect();
    let all = names.join(", ");
    let mut text = format!("decl {all};\nvoid main() begin\n");
    for (i, name) in names.iter().enumerate() {
        let _ = writeln!(text, "{name} := {};", if i % 2 == 0 { "F" } else { "T" });
    }
    for pair in names.windows(2) {
        let _ = writeln!(text, "if ({0} & !{1}) then {0} := {1}; fi", pair[0], pair[1]);
    }
    let _ = writeln!(text, "while (*) do {all} := {}; od\nx0 := F;", vec!["*"; count].join(", "));
    for pair in names.windows(2) {
        let _ = writeln!(text, "{1} := {1} & {0};", pair[0], pair[1]);
    }
    let _ = writeln!(text, "assert({claim}{}); end", names[count - 1]);
    text
}

#[test]
fn a_thousand_globals_are_no_problem() {
    assert_eq!(word(&bdd_says(&many_globals(1000, "!"))), "safe");
    assert_eq!(word(&bdd_says(&many_globals(1000, ""))), "unsafe");
}

/// Helpers that take a lock or do not, give it up for a moment or do not, and release it if they took it; the
/// last one may forget to.
fn lock_discipline(helpers: usize, last: &str) -> String {
    let labels: Vec<String> = (0..helpers).map(|i| format!("L{i}")).collect();
    let mut text = format!(
        "decl locked;
         void acquire() begin assert(!locked); locked := T; end
         void release() begin assert(locked); locked := F; end
         void yield() begin decl z; z := *; if (z & locked) then release(); acquire(); fi end
         void main() begin locked := F; while (*) do goto {};\n",
        labels.join(", ")
    );
    for i in 0..helpers {
        let _ = writeln!(text, "L{i}: h{i}(); goto DONE;");
    }
    text.push_str("DONE: skip; od end\n");
    for i in 0..helpers {
        let release = if i + 1 == helpers { last } else { "y" };
        let _ = writeln!(
            text,
            "void h{i}() begin decl x, y; x := *; y := x;
               if (x) then acquire(); fi if (*) then yield(); fi if ({release}) then release(); fi
             end"
        );
    }
    text
}

#[test]
fn three_hundred_helpers_keep_their_lock_discipline() {
    assert_eq!(word(&bdd_says(&lock_discipline(300, "y"))), "safe");
    assert_eq!(word(&bdd_says(&lock_discipline(300, "y & *"))), "unsafe");
}

#[test]
fn a_callee_costs_nothing_for_globals_that_it_leaves_alone() {
    // The relations of `leaf` speak of one variable, whatever else there is.
    let names: Vec<String> = (0..200).map(|i| format!("x{i}")).collect();
    let text = format!(
        "decl g, {all};
         void main() begin g := F; {all} := {values}; leaf(); leaf(); assert(!g & !x7); end
         void leaf() begin g := !g; end",
        all = names.join(", "),
        values = vec!["F"; names.len()].join(", ")
    );
    let Verdict::Safe(Certificate::Relations(proof)) = bdd_says(&text) else { panic!("not safe") };
    assert!(proof.formulas.gates().len() < 4 * names.len(), "{} gates", proof.formulas.gates().len());
}

#[test]
fn small_tables_grow_without_changing_the_answer() {
    for_each_seed(200, sequential, |text| {
        let task = task_of(text);
        let expected = word(&certified(&task, &Explicit::default()));
        let growing = Bdd { first_nodes: 40, most_nodes: Some(1 << 20) };
        let verdict = word(&certified(&task, &growing));
        if verdict == expected { Ok(()) } else { Err(format!("{verdict}, but {expected}")) }
    });
}

#[test]
fn full_tables_are_a_reason_that_one_can_act_on() {
    let engine = Bdd { first_nodes: 500, most_nodes: Some(500) };
    let Verdict::Unknown(unknown) = certified(&task_of(&many_globals(200, "!")), &engine) else {
        panic!("an answer with 500 nodes")
    };
    assert_eq!(unknown.reason, Reason::DiagramsFull { nodes: 500 });
    assert!(cusp::report::advice::advice(&unknown.reason).is_some());
}

#[test]
fn threads_are_for_others() {
    let task =
        task_of("decl g; void main() begin start_thread f(); assert(g); end void f() begin g := T; end");
    let Verdict::Unknown(unknown) = certified(&task, &Bdd::default()) else { panic!("an answer") };
    assert_eq!(unknown.reason, Reason::SequentialOnly { engine: "bdd" });
}

#[test]
fn a_spent_budget_ends_the_run() {
    let budget = Budget::unlimited();
    budget.interrupt();
    let Verdict::Unknown(unknown) = Bdd::default().run(&task_of(&chain(50, "!g")), &budget, &Quiet) else {
        panic!("an answer")
    };
    assert_eq!(unknown.reason, Reason::Interrupted);
}

#[test]
fn the_same_program_gets_the_same_evidence() {
    for text in [countdown(5, "g"), countdown(5, "!g"), lock_discipline(5, "y"), lock_discipline(5, "y & *")]
    {
        match (bdd_says(&text), bdd_says(&text)) {
            (Verdict::Safe(a), Verdict::Safe(b)) => assert_eq!(a, b),
            (Verdict::Unsafe(a), Verdict::Unsafe(b)) => assert_eq!(a, b),
            (a, b) => panic!("{a:?} and {b:?}"),
        }
    }
}

#[test]
fn explicit_states_and_diagrams_agree_on_random_programs() {
    for_each_seed(2000, sequential, |text| {
        let source = Source::new("random.bp", text);
        let Ok(prepared) = prepare(&source, &options_of(text)) else { return Err("no program".to_owned()) };
        let expected = word(&certified(&prepared.task, &Explicit::default()));
        let verdict = word(&certified(&prepared.task, &Bdd::default()));
        if verdict == expected { Ok(()) } else { Err(format!("{verdict}, but {expected}")) }
    });
}
