//! Small tasks for unit tests.

use crate::diagnostic::has_errors;
use crate::lower::{Replication, lower};
use crate::model::{Property, Task};
use crate::resolve::resolve;
use crate::source::Source;
use crate::syntax::ast::Dialect;
use crate::syntax::parse;

/// The task of a text about its assertions.
pub(super) fn assertions(text: &str) -> Task {
    let (ast, findings) = parse(&Source::new("test.bp", text), Dialect::Boom);
    assert!(!has_errors(&findings), "{text}\n{findings:?}");
    let (names, _) = resolve(&ast).unwrap_or_else(|findings| panic!("{text}\n{findings:?}"));
    Task { program: lower(&ast, &names, Replication::None), property: Property::Assertions, threads: None }
}
