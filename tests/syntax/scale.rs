//! Large and deep programs. Tests run on threads with the default stack, which is small.

use std::fmt::Write;

use cusp::syntax::ast::Dialect;
use cusp::syntax::print;

use crate::laws::printing_laws_hold;
use crate::{messages, parse_text, read};

const DEPTH: usize = 100_000;

fn in_body(body: &str) -> String {
    format!("void main() begin\n{body}\nend\n")
}

/// Parses, prints, parses and compares a program that nests some text around some other.
fn laws_hold_when_nested(open: &str, inner: &str, close: &str) {
    let text = in_body(&format!("{}{inner}{};", open.repeat(DEPTH), close.repeat(DEPTH)));
    assert!(printing_laws_hold("nested", &text, Dialect::Boom), "{open}");
}

#[test]
fn blocks_may_nest_deeply() {
    laws_hold_when_nested("if a then ", "skip", " fi");
    laws_hold_when_nested("while a do ", "skip;", " od");
    laws_hold_when_nested("if a then skip; else ", "skip;", " fi;");
    laws_hold_when_nested("if a then skip; elsif b then L: while T do ", "skip;", " od fi;");
}

#[test]
fn expressions_may_nest_deeply() {
    for (open, close) in [
        ("(", ")"),
        ("!", ""),
        ("!(", ")"),
        ("a => ", ""),
        ("a & (", ")"),
        ("a = ", ""),
        ("a ? b : ", ""),
        ("a ? ", " : b"),
        ("(a ? ", " : b)"),
        ("schoose[", ", a]"),
        ("schoose[a, ", "]"),
    ] {
        let text = in_body(&format!("x := {}a{};", open.repeat(DEPTH), close.repeat(DEPTH)));
        assert!(printing_laws_hold("nested", &text, Dialect::Boom), "{open}");
    }
}

#[test]
fn open_blocks_and_brackets_may_nest_deeply() {
    let unclosed = in_body(&"if a then ".repeat(DEPTH));
    assert_eq!(messages(&unclosed, Dialect::Boom).len(), 1001);
    let unclosed = in_body(&format!("x := {}a;", "(".repeat(DEPTH)));
    assert_eq!(messages(&unclosed, Dialect::Boom).len(), 1);
    for text in ["f() begin ", "begin ", "if ", "{", "fi od ", "L: ", "a ? ", "((", "/*/"] {
        let (ast, _) = parse_text(&text.repeat(DEPTH), Dialect::Boom);
        assert!(print(&ast).len() < 100 * DEPTH);
    }
}

#[test]
fn a_large_program_keeps_all_its_statements() {
    let mut text = String::from("decl g;\n");
    for procedure in 0..10_000 {
        write!(text, "void p{procedure}(a) begin decl x; ").expect("a string");
        text.push_str("L: x, g := g & !a | x, *; if x then p0(g); goto L; else skip; fi ");
        text.push_str(&"x := !x; ".repeat(12));
        text.push_str("end\n");
    }
    let ast = read(&text, Dialect::Boom);
    assert_eq!((ast.items.len(), ast.stmts.len()), (10_001, 180_000));
    assert_eq!(read(&print(&ast), Dialect::Boom).stmts.len(), 180_000);
}
