//! `.cm`: what is read, what is written, and what is complained about.

use cusp::diagnostic::render;
use cusp::net::cm::{self, System};
use cusp::source::{Source, Span};

use crate::support::machines::Machines;

/// What is said about a text.
fn told(text: &str) -> String {
    let source = Source::new("demo.cm", text);
    let findings = cm::parse(&source).and_then(|(system, warnings)| {
        let (_, more) = cm::compile(&system)?;
        Ok([warnings, more].concat())
    });
    render(&source, &findings.unwrap_or_else(|errors| errors), false)
}

fn system(text: &str) -> System {
    let source = Source::new("demo.cm", text);
    cm::parse(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors, false))).0
}

/// Without places in the text.
fn without_spans(mut system: System) -> System {
    system.globals.iter_mut().for_each(|global| global.span = Span::default());
    for machine in &mut system.machines {
        machine.edges.iter_mut().for_each(|edge| edge.span = Span::default());
    }
    system.targets.iter_mut().for_each(|target| target.span = Span::default());
    system
}

#[test]
fn systems_are_written_as_they_are_read() {
    for seed in 1..=1000 {
        let machines = Machines::random(seed);
        let copies = ["0", "1", "2..", "0..3"].map(str::to_owned);
        let one = system(&machines.text(&copies[seed as usize % 3..]));
        let text = cm::print(&one);
        let again = system(&text);
        assert_eq!(cm::print(&again), text, "seed {seed}");
        assert_eq!(without_spans(one), without_spans(again), "seed {seed}\n{text}");
    }
}

#[test]
fn formulas_keep_their_shape() {
    let text = "var a := T;\nvar b := *;\n\nmachine M [1..] {\n  states s, t;\n  s -> t : e~! when !(a & (b & a)) | \
                a = b != T | !!b do a := (a | b) & F, b := *;\n  t -> s : e~?;\n}\n\ntarget M.s >= 1, M.t >= 2 when a;\n\
                target when (a | b) = (a = b);\ntarget;\n";
    assert_eq!(cm::print(&system(text)), text);
    assert_eq!(
        cm::print(&system("var a, b; target when ((a)) & (b & (!a));")),
        "var a := *;\nvar b := *;\n\ntarget when a & (b & !a);\n"
    );
    assert_eq!(cm::print(&System::default()), "");
}

#[test]
fn formulas_may_be_nested_deep() {
    for (open, close) in [("(", ")"), ("!", ""), ("(a & ", ")"), ("!(b | ", ")")] {
        let text = format!("var a, b; target when {}a{};", open.repeat(10_000), close.repeat(10_000));
        let one = system(&text);
        assert_eq!(without_spans(system(&cm::print(&one))), without_spans(one.clone()));
        let (net, _) = cm::compile(&one).expect("few cases");
        assert_eq!(net.targets.len(), 1, "{open}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    insta::assert_snapshot!(told("var count, lock := F, lock, x := 1;\nvar T;\nmachine A [3..2] {\n  states idle, busy, idle;\n  idle -> bus when !lock do lock := T;\n  idle -> busy when cuont & do lock := F;\n  idle => busy;\n  busy -> idle do lock := F, lock := T;\n  busy -> idle : e;\n  busy -> idle : e? when lock;\n  busy -> busy : e!! when (lock;\n}\nmachine A { idle -> idle; }\ntarget A.idel >= 2, B.idle, when lock;\ntarget A >= 1;\nnonsense\ntarget A.idle $ 3;\n"), @"");
}

#[test]
fn what_is_left_open_is_reported_at_the_end() {
    insta::assert_snapshot!(told("machine A { states s; s -> s"), @"");
}

#[test]
fn warnings_tell_what_can_never_happen() {
    insta::assert_snapshot!(told("var x;\nmachine A {\n  states s;\n  s -> s : lonely!;\n  s -> s : deaf!!;\n  s -> s : silent?;\n  s -> s when x & !x;\n}\ntarget A.s when x & !x;\n"), @"");
}

#[test]
fn too_many_cases_are_an_error() {
    let names: Vec<String> = (0..11).map(|i| format!("x{i}")).collect();
    let text = format!("var {};\ntarget when {};\n", names.join(", "), names.join(" = "));
    insta::assert_snapshot!(told(&text), @"");
}

#[test]
fn too_many_pairs_are_an_error() {
    // So many senders and receivers of one event, each with a state of its own to go to.
    let states: Vec<String> = (0..1500).map(|i| format!("s{i}")).collect();
    let edges = |sign: &str| states.iter().map(|s| format!("s0->{s}:e{sign};")).collect::<String>();
    let text = format!("machine A {{ states {};\n{}\n{}}}", states.join(","), edges("!"), edges("?"));
    let told = told(&text);
    assert!(
        told.starts_with("error: with this edge, there are more than 2000000 ways to move together"),
        "{told}"
    );
    assert_eq!(told.matches("error").count(), 1);
}
