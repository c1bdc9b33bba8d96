//! Text to tree and back: lexer, error-tolerant parser, printer.

pub mod ast;
