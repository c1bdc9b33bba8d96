//! Small tasks for unit tests.

use crate::diagnostic::has_errors;
use crate::lower::{Replication, lower};
use crate::model::{Property, Task};
use crate::resolve::resolve;
use crate::source::Source;
use crate::syntax::ast::Dialect;
use crate::syntax::parse;

/// The task of checking the assertions of a program, given as text.
pub(super) fn assertions(text: &str) -> Task {
    let (ast, findings) = parse(&Source::new("test.bp", text), Dialect::Boom);
    assert!(!has_errors(&findings), "{text}\n{findings:?}");
    let (names, _) = resolve(&ast).unwrap_or_else(|findings| panic!("{text}\n{findings:?}"));
    Task { program: lower(&ast, &names, Replication::None), property: Property::Assertions, threads: None }
}

/// The sequential programs among the test inputs, each as the task of checking its assertions.
pub(super) fn sequential_corpus() -> Vec<Task> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut tasks = Vec::new();
    for directory in [root.clone(), root.join("regress")] {
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .expect("a directory")
            .map(|file| file.expect("a file").path())
            .collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "bp")) {
            let source = Source::load(file).expect("a readable file");
            for dialect in [Dialect::Boom, Dialect::Boppo] {
                let (ast, findings) = parse(&source, dialect);
                if has_errors(&findings) {
                    continue;
                }
                let Ok((names, _)) = resolve(&ast) else { continue };
                let program = lower(&ast, &names, Replication::None);
                if !program.starts_threads {
                    tasks.push(Task { program, property: Property::Assertions, threads: None });
                }
                break;
            }
        }
    }
    tasks
}
