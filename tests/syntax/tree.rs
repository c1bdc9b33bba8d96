//! The tree: what is in it, and where things stand.

use cusp::syntax::ast::{Dialect, ExprKind, Item, StmtKind};

use crate::{formatted, parse_text, read};

/// The stretches that a trace shows, one for each statement.
fn stretches(text: &str) -> Vec<String> {
    let ast = read(text, Dialect::Boom);
    ast.stmts.iter().map(|s| text[s.span.start as usize..s.span.end as usize].to_owned()).collect()
}

#[test]
fn statements_know_their_place_without_labels_and_blocks() {
    let text = "\
main() begin
  L: x, y := T, (F) constrain 'x;
  if (x | y) then skip; elsif x then return x; else M: fi
  while x
    do f(x); od
end";
    insta::assert_snapshot!(stretches(text).join("\n"), @r"
    x, y := T, (F) constrain 'x
    skip
    return x

    if (x | y) then
    f(x)
    while x
        do
    ");
}

#[test]
fn procedures_know_their_end() {
    let text = "dfs bool<2> f(a, {b.c}) begin skip; end";
    let ast = read(text, Dialect::Boom);
    let [Item::Procedure(f)] = &ast.items[..] else { panic!("one procedure") };
    assert_eq!((f.dfs, f.returns, f.name.name.as_str()), (true, Some(2), "f"));
    assert_eq!(f.params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["a", "b.c"]);
    assert_eq!(&text[f.end.start as usize..f.end.end as usize], "end");
    assert_eq!((f.span.start, f.span.end as usize), (0, text.len()));
}

#[test]
fn expressions_know_their_place() {
    let text = "main() begin x := !(a & 'b') | schoose[c, d'] ? * : {e f}; end".replace("'b'", "'b");
    let ast = read(&text, Dialect::Boom);
    let stretches: Vec<&str> =
        ast.exprs.iter().map(|e| &text[e.span.start as usize..e.span.end as usize]).collect();
    insta::assert_snapshot!(stretches.join("\n"), @r"
    a
    'b
    a & 'b
    (a & 'b)
    !(a & 'b)
    c
    d'
    schoose[c, d']
    !(a & 'b) | schoose[c, d']
    *
    {e f}
    !(a & 'b) | schoose[c, d'] ? * : {e f}
    ");
}

#[test]
fn parts_come_before_the_whole() {
    let text = "main() begin if a & (b | !c) then while T do skip; od else x := a ? b : c; fi end";
    let ast = read(text, Dialect::Boom);
    for (index, expr) in ast.exprs.iter().enumerate() {
        let parts = match expr.kind {
            ExprKind::Not(a) | ExprKind::Paren(a) => vec![a],
            ExprKind::Binary(_, a, b) | ExprKind::Schoose(a, b) => vec![a, b],
            ExprKind::Ite(a, b, c) => vec![a, b, c],
            _ => Vec::new(),
        };
        assert!(parts.iter().all(|part| part.index() < index));
    }
    for (index, stmt) in ast.stmts.iter().enumerate() {
        let parts = match &stmt.kind {
            StmtKind::If { arms, otherwise } => {
                arms.iter().flat_map(|(_, block)| block).chain(otherwise.iter().flatten()).collect()
            }
            StmtKind::While(_, block) => block.iter().collect(),
            _ => Vec::new(),
        };
        assert!(parts.iter().all(|part| part.index() < index));
    }
}

#[test]
fn names_may_hold_hyphens_dollars_and_hashes() {
    let text = "decl c$$main, adder-process, x#1, y$, _0, a-1-b;\n";
    assert_eq!(formatted(text), text);
}

#[test]
fn quotes_stay_only_where_they_are_needed() {
    let text = "main() begin {1}: {L}: {a b}, {x}, {skip}, {_}, {0} := {0}, {_}, {y}, '{p-}, {q.r}'; goto {1}, 2, {x y}; end";
    insta::assert_snapshot!(formatted(text), @r"
    main() begin
    1: L: {a b}, x, {skip}, {_}, {0} := {0}, {_}, y, '{p-}, '{q.r};
      goto 1, 2, {x y};
    end
    ");
}

#[test]
fn an_empty_text_is_an_empty_program() {
    let (ast, diagnostics) = parse_text(" \r\n\t\u{c} \u{1a}", Dialect::Boom);
    assert!(ast.items.is_empty() && diagnostics.is_empty());
}

#[test]
fn different_programs_are_not_the_same() {
    let bodies = [
        "",
        ";",
        "skip;",
        "L: skip;",
        "M: skip;",
        "L: M: skip;",
        "skip; skip;",
        "x := T;",
        "x := F;",
        "y := T;",
        "_ := T;",
        "x := T constrain T;",
        "x, y := T, F;",
        "x := y;",
        "x := 'y;",
        "x := !y;",
        "x := *;",
        "x := y & z;",
        "x := y | z;",
        "x := z & y;",
        "x := (y & z) & z;",
        "x := y & (z & z);",
        "x := a ? b : c;",
        "x := a ? b : d;",
        "x := schoose[a, b];",
        "x := schoose[b, a];",
        "f();",
        "f(x);",
        "f(y);",
        "g();",
        "x := f();",
        "x, _ := f();",
        "goto L;",
        "goto M;",
        "goto L, M;",
        "return;",
        "return x;",
        "return x, y;",
        "assume(x);",
        "assert(x);",
        "abortif x;",
        "constrain(x);",
        "enforce x;",
        "print(x);",
        "print();",
        "dead x;",
        "dead x, y;",
        "if x then fi",
        "if y then fi",
        "if x then skip; fi",
        "if x then else fi",
        "if x then skip; else fi",
        "if x then else skip; fi",
        "if x then elsif y then fi",
        "if x then elsif y then else fi",
        "while x do od",
        "while x do skip; od",
        "while x do od skip;",
        "start_thread L;",
        "start_thread goto L;",
        "start_thread L();",
        "start_thread L(x);",
        "end_thread;",
        "atomic_begin;",
        "atomic_end;",
        "decl x;",
        "decl y;",
        "decl x := T;",
        "decl x, y;",
    ];
    let texts = bodies.map(|body| format!("void f() begin {body} end"));
    let heads = [
        "",
        "decl x;",
        "decl y;",
        "decl x := T;",
        "f() begin end",
        "void g() begin end",
        "bool f() begin end",
        "bool<2> f() begin end",
        "dfs void f() begin end",
        "void f(x) begin end",
        "void f(y) begin end",
        "decl x; void f() begin end",
        "void f() begin end decl x;",
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain(heads).collect();
    for (i, a) in texts.iter().enumerate() {
        for (j, b) in texts.iter().enumerate() {
            let (first, second) = (read(a, Dialect::Boom), read(b, Dialect::Boom));
            assert_eq!(first.same_program(&second), i == j, "{a}\n{b}");
        }
    }
}

#[test]
fn spellings_do_not_matter() {
    let same = |a: &str, b: &str| {
        let (a, b) = (format!("f() begin {a} end"), format!("f() begin {b} end"));
        assert!(read(&a, Dialect::Boom).same_program(&read(&b, Dialect::Boom)), "{a}\n{b}");
    };
    same("x := T & F;", "x := 1 && 0");
    same("assume(x);", "assume x;");
    same("assert((x) | y);", "assert (x) | y;");
    same("x := y';", "x := ('{y});");
    same("end_thread;", "thread_end");
    same("print(a, b);", "print a, b;");
    same("if (a) then skip; fi;", "if a then /* x */ skip fi // y\n");
}
