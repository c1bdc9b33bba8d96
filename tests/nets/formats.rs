//! `.spec`, `.tts` and `.prop`, and `.cm` here and there: what is read, what is written, and what is complained about.

use cusp::cover::{Format, Input, Options, prepare};
use cusp::diagnostic::{Diagnostic, render};
use cusp::net::fire::{fire, successors};
use cusp::net::tts::state::parse_property;
use cusp::net::tts::{self, InitialState, System, TargetState};
use cusp::net::{Marking, Net, PlaceId, Range, cm, spec};
use cusp::source::Source;

use crate::support::nets::{Shape, random_net};
use crate::support::rng::Rng;

fn spec_of(text: &str) -> (Net, Vec<Diagnostic>) {
    let source = Source::new("demo.spec", text);
    spec::parse(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors, false)))
}

/// What is said about a text in the format of MIST.
fn told(text: &str) -> String {
    let source = Source::new("demo.spec", text);
    let findings = match spec::parse(&source) {
        Ok((_, warnings)) => warnings,
        Err(findings) => findings,
    };
    render(&source, &findings, false)
}

fn told_of_tts(text: &str) -> String {
    let source = Source::new("demo.tts", text);
    let findings = match tts::parse(&source) {
        Ok((_, warnings)) => warnings,
        Err(findings) => findings,
    };
    render(&source, &findings, false)
}

/// `x=1 y=2`.
fn shown(net: &Net, marking: &Marking) -> String {
    let tokens: Vec<String> =
        marking.iter().map(|(place, n)| format!("{}={n}", net.place(place).name)).collect();
    tokens.join(" ")
}

/// What the first rule makes of a marking of `a`, `b` and `c`.
fn fired(rule: &str, tokens: [u64; 3]) -> String {
    let (net, _) = spec_of(&format!("vars a b c\nrules {rule}\ninit a=0\ntarget a>=1\n"));
    let places: Vec<PlaceId> = net.place_ids().collect();
    let marking = Marking::sum_of(places.into_iter().zip(tokens)).expect("small");
    let results = net.transitions.iter().filter_map(|t| fire(t, &marking, &[]).ok());
    let mut shown: Vec<String> = results.map(|after| shown(&net, &after)).collect();
    shown.dedup();
    shown.join("; ")
}

#[test]
fn updates_happen_at_once_and_read_the_state_before() {
    assert_eq!(fired("a>=1 -> a'=a-1, b'=b+2;", [3, 0, 0]), "a=2 b=2");
    assert_eq!(fired("true -> a'=b, b'=a;", [3, 5, 1]), "a=5 b=3 c=1");
    assert_eq!(fired("a>=1 -> b'=b+1, c'=c+a-1, a'=0;", [4, 1, 1]), "b=2 c=4");
    assert_eq!(fired("true -> a'=0;", [3, 5, 1]), "b=5 c=1");
    assert_eq!(fired("true -> a'=7;", [3, 5, 1]), "a=7 b=5 c=1");
    assert_eq!(fired("true -> c'=a+b;", [3, 5, 1]), "a=3 b=5 c=8");
    assert_eq!(fired("true -> a'=a+a+1;", [3, 0, 0]), "a=7");
    assert_eq!(fired("a>=200 -> a'=a-200, b'=b+100000;", [200, 0, 0]), "b=100000");
    assert_eq!(fired("a>=1 ->;", [1, 1, 1]), "a=1 b=1 c=1");
}

#[test]
fn zero_tests_are_exact_when_transitions_fire() {
    assert_eq!(fired("a=1 -> b'=b+1;", [1, 0, 0]), "a=1 b=1");
    assert_eq!(fired("a=1 -> b'=b+1;", [2, 0, 0]), "");
    assert_eq!(fired("a in [1,2] -> b'=b+1;", [2, 0, 0]), "a=2 b=1");
    assert_eq!(fired("a in [1,2] -> b'=b+1;", [3, 0, 0]), "");
}

#[test]
fn a_rule_that_subtracts_too_much_gets_the_missing_guard() {
    assert_eq!(fired("true -> a'=a-2;", [1, 0, 0]), "");
    assert_eq!(fired("true -> a'=a-2;", [3, 0, 0]), "a=1");
    // Either of the two can supply what is subtracted from their sum.
    assert_eq!(fired("true -> a'=a+b-2, b'=0;", [1, 1, 0]), "");
    assert_eq!(fired("true -> a'=a+b-2, b'=0;", [0, 3, 0]), "a=1");
    assert_eq!(fired("true -> a'=a+b-2, b'=0;", [3, 0, 0]), "a=1");
    assert_eq!(fired("true -> a'=a+b-1, b'=0;", [0, 0, 0]), "");
}

#[test]
fn alternatives_are_separated_by_the_absence_of_a_comma() {
    let text = "vars a b rules init a=1, b>=2 target a>=1,\n b>=1 b>=3\na=0 invariants a=1,\nb=2 b=1";
    let (net, warnings) = spec_of(text);
    assert!(warnings.is_empty());
    let targets: Vec<String> = net.targets.iter().map(|t| shown(&net, &t.least)).collect();
    assert_eq!(targets, ["a=1 b=1", "b=3", ""]);
    assert_eq!(net.targets[2].upper, [(PlaceId::from_index(0), 0)]);
    let claims: Vec<String> = net.claims.iter().map(|c| shown(&net, &c.weights)).collect();
    assert_eq!(claims, ["a=1 b=2", "b=1"]);
}

#[test]
fn what_init_does_not_mention_may_have_any_value() {
    let (net, _) = spec_of("vars a b c d rules init a=1, b>=2, d in [3,4] target a>=1");
    let ranges: Vec<Range> = net.place_ids().map(|place| net.initial.range(place)).collect();
    let between = Range { least: 3, most: Some(4) };
    assert_eq!(ranges, [Range::exactly(1), Range::at_least(2), Range::at_least(0), between]);
}

#[test]
fn line_ends_of_dos_and_comments_are_white_space() {
    let (net, _) = spec_of(
        "#expected result: safe\r\nvars\r\n a # b\r\nrules\r\na>=1 -> a'=a-1;\r\ninit a=1\r\ntarget a>=1\u{1a}",
    );
    assert_eq!((net.places.len(), net.transitions.len()), (1, 1));
}

#[test]
fn all_mistakes_are_reported_at_once() {
    insta::assert_snapshot!(told("vars counter x x\nrules\n  countr >= 1 -> x' = x - y, x' = 1;\n  x >= -> x' = 1;\n  x > 1 -> ;\n  x >= 1 -> x = 2;\ninit x = 1, x = 2\ntarget x >= 99999999999999999999\n"), @"
    error: variable `x` is declared twice
     --> demo.spec:1:16
      |
    1 | vars counter x x
      |              - ^
      |              |
      |              first declared here

    error: variable `countr` is not declared
     --> demo.spec:3:3
      |
    3 |   countr >= 1 -> x' = x - y, x' = 1;
      |   ^^^^^^
      |
    help: did you mean `counter`?

    error: expected a number, found `y`
     --> demo.spec:3:27
      |
    3 |   countr >= 1 -> x' = x - y, x' = 1;
      |                           ^

    error: expected a number, found `->`
     --> demo.spec:4:8
      |
    4 |   x >= -> x' = 1;
      |        ^^

    error: expected `=`, `>=` or `in`, found `>`
     --> demo.spec:5:5
      |
    5 |   x > 1 -> ;
      |     ^

    error: expected `'`, found `=`
     --> demo.spec:6:15
      |
    6 |   x >= 1 -> x = 2;
      |               ^

    error: these conditions contradict each other, so there is no initial marking
     --> demo.spec:7:6
      |
    7 | init x = 1, x = 2
      |      ^^^^^^^^^^^^

    error: `99999999999999999999` does not fit into 64 bits
     --> demo.spec:8:13
      |
    8 | target x >= 99999999999999999999
      |             ^^^^^^^^^^^^^^^^^^^^
    ");
}

#[test]
fn a_section_that_is_missing_or_misplaced_is_named() {
    insta::assert_snapshot!(told("vars x\ninit x = 1\nrules x >= 1 -> ;\n"), @"
    error: `rules` is missing before `init`
     --> demo.spec:2:1
      |
    2 | init x = 1
      | ^^^^

    error: `rules` is in the wrong place
     --> demo.spec:3:1
      |
    3 | rules x >= 1 -> ;
      | ^^^^^
      |
    help: the order is `vars`, `rules`, `init`, `target`, `invariants`

    error: `target` is missing at the end of the file
     --> demo.spec:3:18
      |
    3 | rules x >= 1 -> ;
      |                  ^
    ");
    insta::assert_snapshot!(told("5 43\n0 0 -> 0 2\n"), @"
    error: expected `vars`, found `5`
     --> demo.spec:1:1
      |
    1 | 5 43
      | ^

    error: `vars` is missing at the end of the file
     --> demo.spec:2:11
      |
    2 | 0 0 -> 0 2
      |           ^

    error: `rules` is missing at the end of the file
     --> demo.spec:2:11
      |
    2 | 0 0 -> 0 2
      |           ^

    error: `init` is missing at the end of the file
     --> demo.spec:2:11
      |
    2 | 0 0 -> 0 2
      |           ^

    error: `target` is missing at the end of the file
     --> demo.spec:2:11
      |
    2 | 0 0 -> 0 2
      |           ^
    ");
}

#[test]
fn warnings_say_how_a_rule_is_read() {
    insta::assert_snapshot!(told("vars x y\nrules\n  x >= 1 -> x' = x - 2;\n  true -> x' = x + y - 1, y' = 0;\n  x in [3, 2] -> y' = 1;\ninit x = 1\ntarget x >= 2, x = 1\n"), @"
    warning: this rule subtracts more than its guard promises
     --> demo.spec:3:3
      |
    3 |   x >= 1 -> x' = x - 2;
      |   ^^^^^^^^^^^^^^^^^^^^
      |
    help: it is read as if its guard had `x >= 2`

    warning: this rule subtracts more than its guard promises
     --> demo.spec:4:3
      |
    4 |   true -> x' = x + y - 1, y' = 0;
      |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
    help: it fires only where no variable goes below zero

    warning: this rule can never fire
     --> demo.spec:5:3
      |
    5 |   x in [3, 2] -> y' = 1;
      |   ^^^^^^^^^^^^^^^^^^^^^ its guard cannot hold

    warning: these conditions contradict each other, so this target cannot be met
     --> demo.spec:7:8
      |
    7 | target x >= 2, x = 1
      |        ^^^^^^^^^^^^^
    ");
}

#[test]
fn mistakes_in_thread_transition_systems_are_reported_at_once() {
    insta::assert_snapshot!(told_of_tts("2 3\n0 0 -> 5 1\n0 0 => 1 1\n0 0 -> 1\n0 0 ~> 1 1 2 ~> 2\n0 0 -> 1 1 2 -> 2\nx\n0 7 +> 0 1\n"), @"
    error: there is no shared state 5
     --> demo.tts:2:8
      |
    2 | 0 0 -> 5 1
      |        ^
      |
    help: the first line says that shared states go from 0 to 1

    error: expected `->`, `~>` or `+>`, found `=`
     --> demo.tts:3:5
      |
    3 | 0 0 => 1 1
      |     ^

    error: expected a local state, found the end of the line
     --> demo.tts:4:9
      |
    4 | 0 0 -> 1
      |         ^

    error: passive moves follow `->`, not `~>`
     --> demo.tts:5:12
      |
    5 | 0 0 ~> 1 1 2 ~> 2
      |            ^

    error: expected `~>`, found `->`
     --> demo.tts:6:14
      |
    6 | 0 0 -> 1 1 2 -> 2
      |              ^^

    error: expected a shared state, found `x`
     --> demo.tts:7:1
      |
    7 | x
      | ^

    error: there is no local state 7
     --> demo.tts:8:3
      |
    8 | 0 7 +> 0 1
      |   ^
      |
    help: the first line says that local states go from 0 to 2
    ");
    insta::assert_snapshot!(told_of_tts("vars x\n"), @"
    error: expected the number of shared states, found `vars`
     --> demo.tts:1:1
      |
    1 | vars x
      | ^^^^
    ");
}

#[test]
fn a_transition_with_other_passive_moves_is_another_transition() {
    let text =
        "1 3\n0 0 -> 0 1 1 ~> 2\n0 0 -> 0 1 1 ~> 1 1 ~> 2\n0 0 -> 0 1 1 ~> 2\n0 1 -> 0 1\n0 1 ~> 0 1\n";
    insta::assert_snapshot!(told_of_tts(text), @"
    warning: this transition is given twice, with different passive moves
     --> demo.tts:3:1
      |
    2 | 0 0 -> 0 1 1 ~> 2
      | ----------------- given here before
    3 | 0 0 -> 0 1 1 ~> 1 1 ~> 2
      | ^^^^^^^^^^^^^^^^^^^^^^^^
      |
    help: both are kept, as two transitions
    ");
    let (system, _) = tts::parse(&Source::new("demo.tts", text)).expect("a system");
    let net = system.net(&InitialState::default(), &[]);
    // The third is the first again, and the last two change nothing.
    assert_eq!(net.transitions.len(), 2);
}

/// All that the first transition makes of threads in these local states.
fn moved(text: &str, initial: &str) -> Vec<String> {
    let (system, _) = tts::parse(&Source::new("demo.tts", text)).expect("a system");
    let net = system.net(&initial.parse().expect("a state"), &[]);
    let all = successors(&net.transitions[0], &net.initial.least()).expect("small");
    all.iter().map(|(_, after)| shown(&net, after)).collect()
}

#[test]
fn threads_move_as_the_arrows_say() {
    assert_eq!(moved("2 3\n0 0 -> 1 1", "0|0,0"), ["shared1=1 local0=1 local1=1"]);
    assert_eq!(moved("2 3\n0 0 +> 1 1", "0|0"), ["shared1=1 local0=1 local1=1"]);
    assert_eq!(moved("2 3\n0 0 ~> 1 1", "0|0,0,1"), ["shared1=1 local1=3"]);
    assert_eq!(moved("2 3\n0 0 ~> 1 1", "0|"), ["shared1=1"]);
    // The thread that moves does not obey its own broadcast.
    assert_eq!(moved("2 3\n0 0 -> 1 1 0 ~> 2 1 ~> 0", "0|0,0,1"), ["shared1=1 local0=1 local1=1 local2=1"]);
    // Each passive thread stays or goes.
    assert_eq!(moved("1 3\n0 0 -> 0 0 1 ~> 1 1 ~> 2", "0|0,1,1").len(), 3);
}

#[test]
fn states_far_apart_cost_nothing() {
    let text = "52429 524289\n0 0 -> 52428 524288\n";
    let (system, _) = tts::parse(&Source::new("demo.tts", text)).expect("a system");
    let target: TargetState = "52428|524288".parse().expect("a target");
    let net = system.net(&InitialState::default(), &[target]);
    assert_eq!((net.places.len(), net.transitions.len()), (4, 1));
}

fn prepared(text: &str, initial: Option<&str>, targets: &[&str], property: Option<&str>) -> String {
    let input = Input {
        source: Source::new("demo.tts", text),
        format: Format::Tts,
        property: property.map(|text| Source::new("demo.prop", text)),
    };
    let options = Options {
        initial: initial.map(|text| text.parse().expect("a state")),
        targets: targets.iter().map(|text| text.parse().expect("a target")).collect(),
        ..Options::default()
    };
    let (net, findings) = match prepare(&input, &options) {
        Ok(prepared) => (Some(prepared.net), prepared.warnings),
        Err(errors) => (None, errors),
    };
    let mut out = net.map_or("errors".to_owned(), |net| format!("{} targets", net.targets.len()));
    for finding in findings.iter().flat_map(|f| &f.diagnostics) {
        out.push('\n');
        out.push_str(&finding.message);
    }
    out
}

#[test]
fn targets_come_from_the_command_line_or_the_property_file() {
    let text = "2 2\n0 0 -> 1 1\n";
    assert_eq!(prepared(text, None, &[], Some("# two\r\n1|0,1\r\n\r\n1|\n")), "2 targets");
    assert_eq!(prepared(text, None, &["1|1"], None), "1 targets");
    assert_eq!(
        prepared(text, None, &["7|1", "1|9", "1|0"], None),
        "errors\n\
         the target `7|1` is impossible: there is no shared state 7\n\
         the target `1|9` is impossible: there is no local state 9"
    );
    assert_eq!(
        prepared(text, None, &[], Some("1|2\n")),
        "0 targets\ntarget `1|2` cannot be covered: there is no local state 2"
    );
    assert_eq!(
        prepared(text, Some("5/0"), &["1|"], None),
        "errors\nthe initial state `5/0` is impossible: there is no shared state 5"
    );
    assert_eq!(prepared(text, None, &[], None), "errors\nnothing is said about what must not be covered");
    assert!(parse_property(&Source::new("p", "1|x\n2\n")).expect_err("wrong").len() == 2);
    // Mistakes in both files are reported at once.
    assert_eq!(prepared("2 2\n0 9 -> 0 0\n", None, &[], Some("x")).lines().count(), 3);
}

#[test]
fn nets_are_written_as_they_are_read() {
    for seed in 1..=2000 {
        let net = random_net(seed, Shape::SMALL);
        let Ok(text) = spec::print(&net) else { continue };
        let (again, warnings) = spec_of(&text);
        assert!(warnings.is_empty(), "seed {seed}\n{text}");
        assert_eq!(spec::print(&again).as_ref(), Ok(&text), "seed {seed}");
        assert_eq!((&net.initial, &net.places), (&again.initial, &again.places), "seed {seed}\n{text}");
        for (one, other) in net.transitions.iter().zip(&again.transitions) {
            let differ = one.take != other.take || one.give != other.give || one.moves != other.moves;
            assert!(!differ, "seed {seed}\n{text}\n{one:?}\n{other:?}");
        }
    }
}

#[test]
fn a_system_survives_the_way_to_a_net_and_back() {
    let text =
        "3 4\n0 0 -> 1 1 1 ~> 2 3 ~> 1 3 ~> 3\n1 1 ~> 2 3\n2 3 +> 0 0\n2 3 +> 0 3\n1 1 -> 1 1 2 ~> 1\n";
    let (system, _) = tts::parse(&Source::new("demo.tts", text)).expect("a system");
    let (initial, target): (InitialState, TargetState) =
        ("0|0,2/1".parse().expect("a state"), "2|3,3".parse().expect("a target"));
    let net = system.net(&initial, std::slice::from_ref(&target));
    let (again, initial_again, targets) = System::of(&net).expect("a system");
    assert_eq!(tts::print(&again), text);
    assert_eq!((initial_again, targets), (initial, vec![target]));
}

#[test]
fn no_text_makes_the_readers_panic() {
    let seeds = [
        "vars a b\nrules a>=1, b=0 -> a'=a-1, b'=a+b+2; true -> ;\ninit a>=1, b in [0,3]\ntarget a>=1 b=2\ninvariants a=1, b=2\n",
        "2 3\n0 0 -> 1 1 0 ~> 2 1 ~> 0 1 ~> 1 # why\n1 1 ~> 0 0\n1 2 +> 0 2\n",
        "var x := T, y;\nmachine A [1..2] { states s, t; s -> t : e~! when !(x | y) do x := *, y := x = y;\n\
         t -> s : e~?; }\ntarget A.s, A.t >= 2 when x & y != T;\n",
    ];
    let pieces = [
        "",
        " ",
        "\n",
        ",",
        ";",
        "'",
        "->",
        "~>",
        "+>",
        ">=",
        "[",
        "]",
        "99999999999999999999",
        "0",
        "a",
        "é",
        "\u{0}",
        "#",
        "target",
        "init",
        "-",
        "~",
        "!",
        "??",
        ":=",
        "..",
        "(",
        "}",
        "machine",
        "states",
        "when",
    ];
    let mut rng = Rng::new(7);
    for _ in 0..20_000 {
        let mut text: Vec<char> = rng.pick(&seeds).chars().collect();
        for _ in 0..rng.between(1, 6) {
            let at = rng.below(text.len() + 1);
            let end = (at + rng.below(4)).min(text.len());
            text.splice(at..end, rng.pick(&pieces).chars());
        }
        let source = Source::new("fuzz", text.into_iter().collect::<String>());
        let machines = cm::parse(&source).and_then(|(system, warnings)| {
            let (_, more) = cm::compile(&system)?;
            Ok([warnings, more].concat())
        });
        for findings in [spec::parse(&source).map(|(_, w)| w), tts::parse(&source).map(|(_, w)| w), machines]
        {
            let findings = findings.unwrap_or_else(|errors| errors);
            assert_eq!(findings.is_empty(), render(&source, &findings, false).is_empty());
        }
        let _ = parse_property(&source);
    }
}

#[test]
fn a_stopped_parser_ends_with_the_rules_that_it_has_read() {
    let mut text = "2 2\n".to_owned();
    for _ in 0..20_000 {
        text.push_str("0 0 -> 1 1\n");
    }
    text.push_str("this is no rule\n");
    let source = Source::new("large.tts", text);
    assert!(tts::parse(&source).is_err());
    let asked = std::cell::Cell::new(0);
    let (system, findings) =
        tts::parse_unless(&source, &|| asked.replace(asked.get() + 1) == 1).expect("stopped");
    assert_eq!((asked.get(), findings.len()), (2, 0));
    assert!((1_000..20_000).contains(&system.rules.len()), "{}", system.rules.len());
    let initial = tts::InitialState::default();
    assert!(system.net_unless(&initial, &[], &|| true).transitions.is_empty());
}
