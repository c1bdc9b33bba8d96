//! Petri nets and extensions in the format of MIST, `.spec`.
//!
//! ```text
//! spec   ::= "vars" ID*  "rules" rule*  "init" conj  "target" conj+  ["invariants" inv+]
//! rule   ::= guard ("," guard)* "->" [update ("," update)*] ";"
//! guard  ::= "true" | atom            atom ::= ID "=" N | ID ">=" N | ID "in" "[" N "," N "]"
//! update ::= ID "'" "=" expr          expr ::= ID ("+" ID)* [("+"|"-") N] | N
//! conj   ::= atom ("," atom)*         inv  ::= ID "=" N ("," ID "=" N)*
//! ```
//!
//! Alternatives in `target` and `invariants` are separated by the absence of a comma, not by line ends. A variable
//! that `init` does not mention may have any value. [`parse`] reads a net, [`print()`] writes it; `rule` translates
//! guards and updates to transitions.

mod parser;
mod print;
mod rule;

pub use parser::{parse, parse_unless};
pub use print::{NotASpec, print};
