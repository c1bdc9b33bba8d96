//! One mistake is one error.

use cusp::syntax::ast::Dialect;

use crate::messages;

/// Bodies with some number of mistakes, each to be reported once.
#[test]
fn no_mistake_is_reported_twice() {
    let cases: &[(usize, &str)] = &[
        (0, "skip"),
        (0, "L:"),
        (0, "if a then skip fi while a do skip od skip"),
        (0, ";; L: ; skip;"),
        (0, "if a then L: else M: N: fi; while T do L2: od;"),
        (1, "a := b c;"),
        (1, "a := (b;\nskip;"),
        (1, "a := b);"),
        (1, "a := ((b & c) d;"),
        (1, "a := f(b, c;\nskip;"),
        (1, "a, := b;"),
        (1, "a := b,;"),
        (1, "goto;"),
        (1, "goto L M;"),
        (1, "if then skip; fi"),
        (1, "if a skip; fi"),
        (1, "if a do skip; fi"),
        (1, "if a & then skip; else skip; fi"),
        (1, "if (a then skip; fi"),
        (1, "if f(a) then skip; fi"),
        (1, "while a then skip; od"),
        (1, "if a then skip;"),
        (1, "if a then while b do skip; fi"),
        (1, "if a then skip; od"),
        (1, "if a then skip; else skip; else skip; fi"),
        (1, "if a then skip; else skip; elsif b then skip; fi"),
        (1, "skip; fi"),
        (1, "skip; od; skip"),
        (1, "else skip;"),
        (1, "elsif a then skip;"),
        (1, "begin skip; end; skip"),
        (1, "esle skip;"),
        (1, "if a then skip; esle skip; fi"),
        (1, "iff a then skip; fi"),
        (1, "skip := T;"),
        (1, "end := T; skip"),
        (1, "T := F;"),
        (1, "while: skip;"),
        (1, "a = b;"),
        (1, "a == b;"),
        (1, "a := b == c;"),
        (1, "a := b -> c;"),
        (1, "2 := T;"),
        (1, "a := 2 & b;"),
        (1, "a := _;"),
        (1, "decl a, if;"),
        (1, "decl a b;"),
        (1, "decl _;"),
        (1, "decl ;"),
        (1, "bool x; skip;"),
        (1, "return f(x);"),
        (1, "return\na := T;"),
        (1, "a := b ? c;"),
        (1, "a := b ? : c;"),
        (1, "a := schoose[b];"),
        (1, "a := schoose b;"),
        (1, "a := 'b';"),
        (1, "a := '(b);"),
        (1, "start_thread;"),
        (1, "start_thread skip;"),
        (1, "f(a) & b;"),
        (1, "a := f(b) constrain c;"),
        (1, "a := b $ c;"),
        (1, "a := \u{e9};"),
        (1, "a := \"x\" & b;"),
        (1, "sync;"),
        (1, "wait a;"),
        (1, "signal(a);"),
        (1, "a := {b\nc := T;"),
        (1, "a := {} & b;"),
        (1, "1x: skip;"),
        (2, "a := ;\nb := ;"),
        (2, "if a then\nskip\nskip\nfi\nwhile b skip; od"),
        (2, "if a then if b then skip;"),
        (3, "x y z;\n@;\nif a then b := ; fi"),
    ];
    for &(count, body) in cases {
        let text = format!("void main() begin\n{body}\nend\n\nvoid g() begin skip; end\n");
        let found = messages(&text, Dialect::Boom);
        assert_eq!(found.len(), count, "{body}: {found:#?}");
    }
}

/// The same at the top level.
#[test]
fn no_mistake_around_procedures_is_reported_twice() {
    let cases: &[(usize, &str)] = &[
        (0, ""),
        (0, "\u{1a}"),
        (0, "// nothing"),
        (0, "decl a;; void main() begin end; ;"),
        (
            0,
            "decl a := T, b; main() begin end dfs void f() begin end dfs bool<3> g(a) begin end dfs h() begin end",
        ),
        (0, "void dfs() begin end dfs() begin end dfs dfs() begin end"),
        (1, "decl a b; void main() begin end"),
        (1, "decl a, ; void main() begin end"),
        (1, "dcl a; void main() begin end"),
        (1, "viod main() begin skip; end"),
        (1, "int main() begin skip; end"),
        (1, "void main( begin skip; end"),
        (1, "void main(a b) begin skip; end"),
        (1, "void main(bool a) begin skip; end"),
        (1, "void main begin skip; end"),
        (1, "void () begin skip; end"),
        (1, "void if() begin skip; end"),
        (1, "void main() skip; end"),
        (1, "void main(); void f() begin end"),
        (1, "void main()\nvoid f() begin end"),
        (1, "bool<x> main() begin end"),
        (1, "bool<2 main() begin end"),
        (1, "bool<0> main() begin end"),
        (1, "void main() begin skip;"),
        (1, "void main() begin skip;\nvoid f() begin skip; end"),
        (1, "void main() begin skip;\nbool f() begin skip; end"),
        (1, "main() begin skip;\nf(a, b) begin skip; end"),
        (1, "void main() begin skip; end end"),
        (1, "a := T; b := F; end void main() begin end"),
        (1, "begin skip; end void main() begin end"),
        (1, "enforce a; void main() begin end"),
        (1, "thread_local a; void main() begin end"),
        (1, "decl thread_local a; void main() begin end"),
        (1, "/* void main() begin"),
        (1, "void main() begin if a then /* fi end"),
        (1, "@ void main() begin end"),
        (1, ") void main() begin end"),
        (2, "void main() begin if a then skip;"),
        (2, "decl a, ;\ndecl if;"),
    ];
    for &(count, text) in cases {
        let found = messages(text, Dialect::Boom);
        assert_eq!(found.len(), count, "{text}: {found:#?}");
    }
}
