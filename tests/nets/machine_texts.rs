//! `.cm`: what is read, what is written, and what is complained about.

use cusp::diagnostic::render;
use cusp::net::cm::{self, System};
use cusp::source::{Source, Span};

use crate::support::machines::RandomSystem;

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
        let machines = RandomSystem::random(seed);
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
    insta::assert_snapshot!(told("var count, lock := F, lock, x := 1;\nvar T;\nmachine A [3..2] {\n  states idle, busy, idle;\n  idle -> bus when !lock do lock := T;\n  idle -> busy when cuont & do lock := F;\n  idle => busy;\n  busy -> idle do lock := F, lock := T;\n  busy -> idle : e;\n  busy -> idle : e? when lock;\n  busy -> busy : e!! when (lock;\n}\nmachine A { idle -> idle; }\ntarget A.idel >= 2, B.idle, when lock;\ntarget A >= 1;\nnonsense\ntarget A.idle $ 3;\n"), @"
    error: variable `lock` is declared twice
     --> demo.cm:1:23
      |
    1 | var count, lock := F, lock, x := 1;
      |            ----       ^^^^
      |            |
      |            first declared here

    error: expected `T`, `F` or `*`, found `1`
     --> demo.cm:1:34
      |
    1 | var count, lock := F, lock, x := 1;
      |                                  ^

    error: expected the name of a variable, found `T`
     --> demo.cm:2:5
      |
    2 | var T;
      |     ^

    error: no number of copies is at least 3 and at most 2
     --> demo.cm:3:11
      |
    3 | machine A [3..2] {
      |           ^^^^^^

    error: state `idle` is declared twice
     --> demo.cm:4:22
      |
    4 |   states idle, busy, idle;
      |          ----        ^^^^
      |          |
      |          first declared here

    error: machine `A` has no state `bus`
     --> demo.cm:5:11
      |
    5 |   idle -> bus when !lock do lock := T;
      |           ^^^
      |
    help: did you mean `busy`?

    error: variable `cuont` is not declared
     --> demo.cm:6:21
      |
    6 |   idle -> busy when cuont & do lock := F;
      |                     ^^^^^

    error: expected a formula, found `do`
     --> demo.cm:6:29
      |
    6 |   idle -> busy when cuont & do lock := F;
      |                             ^^

    error: expected `->`, found `=`
     --> demo.cm:7:8
      |
    7 |   idle => busy;
      |        ^

    error: `lock` is updated twice in one step
     --> demo.cm:8:30
      |
    8 |   busy -> idle do lock := F, lock := T;
      |                   ---------  ^^^^^^^^^
      |                   |
      |                   first here

    error: expected `!`, `?`, `~!`, `~?`, `!!` or `??`, found `;`
     --> demo.cm:9:19
      |
    9 |   busy -> idle : e;
      |                   ^

    error: an edge that receives has no condition and no updates
      --> demo.cm:10:21
       |
    10 |   busy -> idle : e? when lock;
       |                     ^^^^^^^^^
       |
    help: write them on the edge that sends `e`

    error: `e` is a broadcast here, and a rendez-vous before
      --> demo.cm:11:18
       |
    10 |   busy -> idle : e? when lock;
       |                  -- first used here
    11 |   busy -> busy : e!! when (lock;
       |                  ^^^

    error: expected an operator or `)`, found `;`
      --> demo.cm:11:32
       |
    11 |   busy -> busy : e!! when (lock;
       |                                ^

    error: machine `A` is declared twice
      --> demo.cm:13:9
       |
     3 | machine A [3..2] {
       |         - first declared here
    ...
    13 | machine A { idle -> idle; }
       |         ^

    error: expected `states`, found `idle`
      --> demo.cm:13:13
       |
    13 | machine A { idle -> idle; }
       |             ^^^^

    error: machine `A` has no state `idle`
      --> demo.cm:13:13
       |
    13 | machine A { idle -> idle; }
       |             ^^^^

    error: machine `A` has no state `idle`
      --> demo.cm:13:21
       |
    13 | machine A { idle -> idle; }
       |                     ^^^^

    error: machine `A` has no state `idel`
      --> demo.cm:14:10
       |
    14 | target A.idel >= 2, B.idle, when lock;
       |          ^^^^

    error: machine `B` is not declared
      --> demo.cm:14:21
       |
    14 | target A.idel >= 2, B.idle, when lock;
       |                     ^

    error: expected a machine, found `when`
      --> demo.cm:14:29
       |
    14 | target A.idel >= 2, B.idle, when lock;
       |                             ^^^^

    error: expected `.`, found `>=`
      --> demo.cm:15:10
       |
    15 | target A >= 1;
       |          ^^

    error: expected `var`, `machine` or `target`, found `nonsense`
      --> demo.cm:16:1
       |
    16 | nonsense
       | ^^^^^^^^

    error: unknown character `$`
      --> demo.cm:17:15
       |
    17 | target A.idle $ 3;
       |               ^
    ");
}

#[test]
fn what_is_left_open_is_reported_at_the_end() {
    insta::assert_snapshot!(told("machine A { states s; s -> s"), @"
    error: expected `:`, `when`, `do` or `;`, found the end of the file
     --> demo.cm:1:29
      |
    1 | machine A { states s; s -> s
      |                             ^

    error: expected `}`, found the end of the file
     --> demo.cm:1:29
      |
    1 | machine A { states s; s -> s
      |                             ^
    ");
}

#[test]
fn warnings_tell_what_can_never_happen() {
    insta::assert_snapshot!(told("var x;\nmachine A {\n  states s;\n  s -> s : lonely!;\n  s -> s : deaf!!;\n  s -> s : silent?;\n  s -> s when x & !x;\n}\ntarget A.s when x & !x;\n"), @"
    warning: `lonely` is never received, so it is never sent
     --> demo.cm:4:12
      |
    4 |   s -> s : lonely!;
      |            ^^^^^^^

    warning: `deaf` is never received
     --> demo.cm:5:12
      |
    5 |   s -> s : deaf!!;
      |            ^^^^^^

    warning: `silent` is never sent
     --> demo.cm:6:12
      |
    6 |   s -> s : silent?;
      |            ^^^^^^^

    warning: this step can never happen
     --> demo.cm:7:3
      |
    7 |   s -> s when x & !x;
      |   ^^^^^^^^^^^^^^^^^^ its condition cannot hold

    warning: this target cannot be met
     --> demo.cm:9:1
      |
    9 | target A.s when x & !x;
      | ^^^^^^^^^^^^^^^^^^^^^^ its condition cannot hold
    ");
}

#[test]
fn too_many_cases_are_an_error() {
    let names: Vec<String> = (0..11).map(|i| format!("x{i}")).collect();
    let text = format!("var {};\ntarget when {};\n", names.join(", "), names.join(" = "));
    insta::assert_snapshot!(told(&text), @"
    error: this distinguishes more than 1024 cases of the variables
     --> demo.cm:2:1
      |
    2 | target when x0 = x1 = x2 = x3 = x4 = x5 = x6 = x7 = x8 = x9 = x10;
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
    help: split it into several, or use fewer variables at once
    ");
}

#[test]
fn too_many_pairs_are_an_error() {
    // So many senders and receivers of one event, each with a state of its own to go to.
    let states: Vec<String> = (0..1500).map(|i| format!("s{i}")).collect();
    let edges = |sign: &str| states.iter().map(|s| format!("s0->{s}:e{sign};")).collect::<Vec<_>>().concat();
    let text = format!("machine A {{ states {};\n{}\n{}}}", states.join(","), edges("!"), edges("?"));
    let told = told(&text);
    assert!(
        told.starts_with("error: with this edge, there are more than 2000000 ways to move together"),
        "{told}"
    );
    assert_eq!(told.matches("error").count(), 1);
}
