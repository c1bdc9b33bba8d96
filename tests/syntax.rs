//! The front end for Boolean programs, as its users see it.

#[path = "syntax/diagnostics.rs"]
mod diagnostics;
#[path = "syntax/laws.rs"]
mod laws;
#[path = "syntax/precedence.rs"]
mod precedence;
#[path = "syntax/printing.rs"]
mod printing;
#[path = "syntax/recovery.rs"]
mod recovery;
#[path = "syntax/scale.rs"]
mod scale;
#[path = "syntax/tree.rs"]
mod tree;

use cusp::diagnostic::{Diagnostic, has_errors, render};
use cusp::source::Source;
use cusp::syntax::ast::{Ast, Dialect};
use cusp::syntax::{parse, print};

/// Reads a program that must be free of errors.
fn read(text: &str, dialect: Dialect) -> Ast {
    let (ast, diagnostics) = parse_text(text, dialect);
    assert!(!has_errors(&diagnostics), "{text}\n{}", shown(text, &diagnostics));
    ast
}

fn parse_text(text: &str, dialect: Dialect) -> (Ast, Vec<Diagnostic>) {
    parse(&Source::new("demo.bp", text), dialect)
}

fn shown(text: &str, diagnostics: &[Diagnostic]) -> String {
    render(&Source::new("demo.bp", text), diagnostics, false)
}

/// What the user is told about a program.
fn told_in(text: &str, dialect: Dialect) -> String {
    shown(text, &parse_text(text, dialect).1)
}

/// What the user is told about a program in the default dialect.
fn told(text: &str) -> String {
    told_in(text, Dialect::Boom)
}

/// What the user is told about the body of a procedure, which begins on line 2.
fn told_of_body(body: &str) -> String {
    told(&format!("void main() begin\n{body}\nend\n"))
}

/// The messages alone.
fn messages(text: &str, dialect: Dialect) -> Vec<String> {
    parse_text(text, dialect).1.into_iter().map(|d| d.message).collect()
}

/// A program as `cusp fmt` prints it; the laws of printing are checked on the way.
fn formatted(text: &str) -> String {
    assert!(laws::printing_laws_hold("demo.bp", text, Dialect::Boom), "{}", told(text));
    print(&read(text, Dialect::Boom))
}
