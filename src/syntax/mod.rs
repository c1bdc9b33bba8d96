//! Lexer, error-tolerant parser and printer for Boolean programs.
//!
//! ```text
//! text --[lexer]--> tokens --[parser: items, blocks, statement, simple, expression]--> Ast --[printer]--> text
//! ```
//! [`parse`] reports every error of a file at once and never recurses on the nesting of its
//! input. [`print()`] is its inverse: `parse(print(ast))` is the same program, and printing that
//! again gives the same text.

pub mod ast;
mod blocks;
mod expression;
mod items;
mod keyword;
mod lexer;
mod output;
mod parser;
mod printer;
mod readings;
mod same;
mod simple;
mod statement;

pub(crate) use lexer::spelled_out;
pub use parser::{parse, parse_unless};
pub use printer::print;
