//! Errors and warnings, as they are shown.

use cusp::diagnostic::Severity;
use cusp::syntax::ast::Dialect;

use crate::{messages, parse_text, shown, told, told_in, told_of_body};

#[test]
fn five_mistakes_are_five_errors() {
    let text = "\
decl a, b, c;

void main() begin
  a := b &;
  skp;
  if a
    b := T;
  fi
  assert(a | b;
  c := @ a;
end
";
    let (_, diagnostics) = parse_text(text, Dialect::Boom);
    assert_eq!(diagnostics.len(), 5, "{}", shown(text, &diagnostics));
    insta::assert_snapshot!(shown(text, &diagnostics), @r"
    error: expected an expression, found `;`
     --> demo.bp:4:11
      |
    4 |   a := b &;
      |           ^

    error: unknown word `skp`
     --> demo.bp:5:3
      |
    5 |   skp;
      |   ^^^
      |
    help: did you mean `skip`?

    error: expected `then` after the condition of `if`
     --> demo.bp:6:7
      |
    6 |   if a
      |       ^

    error: expected `)` or an operator, found `;`
     --> demo.bp:9:15
      |
    9 |   assert(a | b;
      |         -     ^
      |         |
      |         opened here

    error: unknown character `@`
      --> demo.bp:10:8
       |
    10 |   c := @ a;
       |        ^
    ");
}

#[test]
fn a_missing_semicolon_is_shown_where_it_should_be() {
    insta::assert_snapshot!(told_of_body("  a := b\n  // why\n  c := d;"), @r"
    error: expected `;`
     --> demo.bp:2:9
      |
    2 |   a := b
      |         ^
    ");
}

#[test]
fn blocks_that_do_not_match_show_where_they_began() {
    insta::assert_snapshot!(told_of_body("  if a then\n    while b do\n      skip;\n  fi;"), @r"
    error: `while` without `od`
     --> demo.bp:5:3
      |
    3 |     while b do
      |     ----- this `while` is open
    4 |       skip;
    5 |   fi;
      |   ^^ `od` is missing before this
    ");
    insta::assert_snapshot!(told_of_body("  while a do\n    skip;\n  fi;"), @r"
    error: `while` is closed by `od`, not by `fi`
     --> demo.bp:4:3
      |
    2 |   while a do
      |   ----- the block begins here
    3 |     skip;
    4 |   fi;
      |   ^^
    ");
}

#[test]
fn a_body_without_end_shows_what_follows() {
    let text = "main() begin\n  skip;\n\nvoid f() begin\n  if a then\n";
    insta::assert_snapshot!(told(text), @r"
    error: `begin` is never closed
     --> demo.bp:1:8
      |
    1 | main() begin
      |        ^^^^^
    ...
    4 | void f() begin
      | ---- the next procedure begins here
      |
    help: close it with `end`

    error: `begin` is never closed
     --> demo.bp:4:10
      |
    4 | void f() begin
      |          ^^^^^
      |
    help: close it with `end`

    error: `if` without `fi`
     --> demo.bp:5:3
      |
    5 |   if a then
      |   ^^ never closed
    ");
}

#[test]
fn reserved_and_misspelt_words_are_named() {
    insta::assert_snapshot!(told_of_body("  skip := T;\n  retrun a;\n  if a thne skip; fi"), @r"
    error: `skip` is a keyword and cannot be a variable
     --> demo.bp:2:3
      |
    2 |   skip := T;
      |   ^^^^
      |
    help: choose another name, or quote it: `{skip}`

    error: unknown word `retrun`
     --> demo.bp:3:3
      |
    3 |   retrun a;
      |   ^^^^^^
      |
    help: did you mean `return`?

    error: expected `then` after the condition of `if`, found `thne`
     --> demo.bp:4:8
      |
    4 |   if a thne skip; fi
      |        ^^^^
    ");
}

#[test]
fn statements_of_other_tools_are_refused() {
    insta::assert_snapshot!(told_of_body("  sync e;\n  wait(a);\n  thread_local x;"), @r"
    error: the statement `sync` of other tools is not supported
     --> demo.bp:2:3
      |
    2 |   sync e;
      |   ^^^^
      |
    help: a variable, label or procedure may be called `sync`

    error: the statement `wait` of other tools is not supported
     --> demo.bp:3:3
      |
    3 |   wait(a);
      |   ^^^^
      |
    help: a variable, label or procedure may be called `wait`

    error: the statement `thread_local` of other tools is not supported
     --> demo.bp:4:3
      |
    4 |   thread_local x;
      |   ^^^^^^^^^^^^
      |
    help: a variable, label or procedure may be called `thread_local`
    ");
}

#[test]
fn words_of_other_tools_can_be_names() {
    let text = "\
decl sync, wait := T, thread_local;
void signal(broadcast) begin
  wait := broadcast;
  sync, thread_local := T, wait;
  broadcast: goto broadcast;
  dead sync;
end
void main() begin
  signal(T);
  start_thread signal(F);
end
";
    assert_eq!(told(text), "");
}

#[test]
fn a_choice_of_getafix_is_refused_elsewhere() {
    let text = "void main() begin\n  a := ?;\n  b := ? ? c : ?;\nend\n";
    assert_eq!(told_in(text, Dialect::Getafix), "");
    insta::assert_snapshot!(told(&text.replace("? ? c : ?", "c ? ? : c")), @r"
    error: a bare `?` is a choice in the Getafix dialect only
     --> demo.bp:2:8
      |
    2 |   a := ?;
      |        ^
      |
    help: write `*`, or use `--dialect getafix`

    error: a bare `?` is a choice in the Getafix dialect only
     --> demo.bp:3:12
      |
    3 |   b := c ? ? : c;
      |            ^
      |
    help: write `*`, or use `--dialect getafix`
    ");
}

#[test]
fn debatable_expressions_are_shown_in_both_readings() {
    let text = "void main() begin\n  a := b & c = d;\n  assume((x | y) != z ^ T => *);\nend\n";
    insta::assert_snapshot!(told(text), @r"
    warning: the dialects read this expression differently
     --> demo.bp:2:8
      |
    2 |   a := b & c = d;
      |        ^^^^^^^^^
      |
    help: read here as `b & (c = d)`, with `--dialect boppo` as `(b & c) = d`; add parentheses

    warning: the dialects read this expression differently
     --> demo.bp:3:10
      |
    3 |   assume((x | y) != z ^ T => *);
      |          ^^^^^^^^^^^^^^^^^^^^^
      |
    help: read here as `(((x | y) != z) ^ T) => *`, with `--dialect boppo` as `(x | y) != ((z ^ T) => *)`; add parentheses
    ");
    insta::assert_snapshot!(told_in(text, Dialect::Boppo), @r"
    warning: the dialects read this expression differently
     --> demo.bp:2:8
      |
    2 |   a := b & c = d;
      |        ^^^^^^^^^
      |
    help: read here as `(b & c) = d`, without `--dialect boppo` as `b & (c = d)`; add parentheses

    warning: the dialects read this expression differently
     --> demo.bp:3:10
      |
    3 |   assume((x | y) != z ^ T => *);
      |          ^^^^^^^^^^^^^^^^^^^^^
      |
    help: read here as `(x | y) != ((z ^ T) => *)`, without `--dialect boppo` as `(((x | y) != z) ^ T) => *`; add parentheses
    ");
    insta::assert_snapshot!(told_in("void f() begin x := a = b & c; end", Dialect::Getafix), @r"
    warning: the dialects read this expression differently
     --> demo.bp:1:21
      |
    1 | void f() begin x := a = b & c; end
      |                     ^^^^^^^^^
      |
    help: read here as `(a = b) & c`, by Boppo as `a = (b & c)`; add parentheses
    ");
}

#[test]
fn a_long_debatable_expression_is_cut() {
    let chain: Vec<String> = (0..40).map(|i| format!("variable_{i}")).collect();
    let text = format!("void main() begin\n  a := {}\n    & (this | that) = b;\nend\n", chain.join(" & "));
    insta::assert_snapshot!(told(&text), @r"
    warning: the dialects read this expression differently
     --> demo.bp:3:7
      |
    3 |     & (this | that) = b;
      |       ^^^^^^^^^^^^^
      |
    help: read here as `variable_39 & ((this | that) = b)`, with `--dialect boppo` as `(variable_39 & (this | that)) = b`; add parentheses
    ");
}

#[test]
fn warnings_are_not_errors() {
    let (_, diagnostics) = parse_text("void f() begin x := a = b & c; end", Dialect::Boom);
    assert_eq!(diagnostics[0].severity, Severity::Warning);
}

#[test]
fn strange_characters_are_named() {
    let body = "  a := b\u{a0}& c;\n  gr\u{f6}\u{df}e := T;\n  a := b + c;";
    insta::assert_snapshot!(told_of_body(body), @r"
    error: unknown character U+00A0
     --> demo.bp:2:9
      |
    2 |   a := b & c;
      |         ^

    error: unknown characters `öß`
     --> demo.bp:3:5
      |
    3 |   größe := T;
      |     ^^
      |
    help: names are made of `A-Z a-z 0-9 _ $ # -`; others can be quoted: `{...}`

    error: unknown character `+`
     --> demo.bp:4:10
      |
    4 |   a := b + c;
      |          ^
    ");
    let invisible = messages("decl a\u{200b}, b\u{feff}\u{202e};", Dialect::Boom);
    assert_eq!(invisible, ["unknown character U+200B", "unknown characters U+FEFF U+202E"]);
}

#[test]
fn an_open_comment_is_the_only_error() {
    insta::assert_snapshot!(told("void main() begin\n  if a then /* b\n  fi\nend\n"), @r"
    error: this comment is never closed
     --> demo.bp:2:13
      |
    2 |   if a then /* b
      |             ^^
      |
    help: close it with `*/`
    ");
}

#[test]
fn places_are_right_with_tabs_and_carriage_returns() {
    insta::assert_snapshot!(told("void main() begin\r\n\ta := ;\r\n\tb := c\r\nskip;\r\nend"), @r"
    error: expected an expression, found `;`
     --> demo.bp:2:7
      |
    2 |     a := ;
      |          ^

    error: expected `;`
     --> demo.bp:3:8
      |
    3 |     b := c
      |           ^
    ");
}

#[test]
fn errors_at_the_end_of_the_file_are_shown() {
    insta::assert_snapshot!(told("decl a"), @r"
    error: expected `;`
     --> demo.bp:1:7
      |
    1 | decl a
      |       ^
    ");
    insta::assert_snapshot!(told("decl"), @r"
    error: expected a variable, found the end of the file
     --> demo.bp:1:5
      |
    1 | decl
      |     ^
    ");
    insta::assert_snapshot!(told("void main() begin\n  a := (b\n"), @r"
    error: `begin` is never closed
     --> demo.bp:1:13
      |
    1 | void main() begin
      |             ^^^^^
      |
    help: close it with `end`

    error: expected `)` or an operator, found the end of the file
     --> demo.bp:2:10
      |
    2 |   a := (b
      |        - ^
      |        |
      |        opened here
    ");
}

#[test]
fn a_long_line_is_not_shown_whole() {
    let text = format!("void main() begin a := {} b; end", vec!["a"; 500_000].join(" & "));
    let output = told(&text);
    assert!(output.len() < 1000, "{} bytes", output.len());
    insta::assert_snapshot!(output, @r"
    error: expected `;`, found `b`
     --> demo.bp:1:2000022
      |
     ::: 
    1 | ...& a & a & a & a & a & a & a & a & a & a & a & a & a & a & a & a b; end
      |                                                                    ^
    ");
}

#[test]
fn a_file_of_nothing_but_errors_does_not_list_them_all() {
    let text = "@ ".repeat(100_000);
    let (_, diagnostics) = parse_text(&text, Dialect::Boom);
    assert_eq!(diagnostics.len(), 1001);
    let last = diagnostics.last().map(|d| d.message.as_str());
    assert_eq!(last, Some("more than 1000 errors; further ones are not shown"));
}
