//! Rules of the project that the compiler does not know.

#[path = "support/modules.rs"]
mod modules;

use modules::{Modules, name};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// All Rust sources with their paths relative to the project.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> =
        ["src", "encodings", "solvers", "tests", "benches"].iter().map(|dir| root.join(dir)).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path).expect("a readable directory").map(|e| e.expect("an entry").path()),
            );
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).expect("inside the project").display().to_string();
            found.push((name.replace('\\', "/"), fs::read_to_string(&path).expect("UTF-8")));
        }
    }
    found.sort();
    assert!(found.len() > 20, "the sources were not found");
    found
}

fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn layers_point_downwards() {
    let forbidden = [
        ("encodings/src/", "cusp_solvers"),
        ("encodings/src/", "cusp::"),
        ("solvers/src/", "cusp::"),
        ("src/certify/", "engines::"),
        ("src/certify/", "model::eval"),
        ("src/certify/", "witnesses::"),
        ("src/certify/", "cusp_encodings::state"),
        ("src/certify/", "model::reduce"),
        ("src/certify/", "lift::"),
        ("src/lift/", "engines::"),
        ("src/certify/", "net::fire::"),
        ("src/certify/", "net::predecessors"),
        ("src/certify/", "net::index"),
        ("src/evidence/", "engines::"),
        ("src/net/", "engines::"),
        ("src/net/", "evidence::"),
        ("src/model/", "engines::"),
        ("src/model/", "evidence::"),
        ("src/engines/", "syntax::"),
        ("src/engines/", "report::"),
        ("src/engines/", "certify::"),
        ("src/engines/", "cli::"),
        ("src/syntax/", "model::"),
        // The interpreter over the tree knows the tree only.
        ("tests/support/tree/", "model::"),
        ("tests/support/tree/", "resolve"),
        ("tests/support/tree/", "engines::"),
        ("tests/support/tree/", "certify::"),
        ("tests/support/tree/", "check::"),
    ];
    for (path, text) in sources() {
        for (layer, name) in forbidden {
            let uses = path.starts_with(layer) && code_lines(&text).any(|line| line.contains(name));
            assert!(!uses, "{path} must not use `{name}`");
        }
    }
}

#[test]
fn every_engine_names_its_source_its_theorem_and_its_evidence() {
    // Beside the files that implement the trait, those that hold one of several searches of an engine.
    let searches = [
        "src/engines/bdd/path_edges.rs",
        "src/engines/cutoff/mod.rs",
        "src/engines/explicit/interleavings.rs",
        "src/engines/explicit/path_edges.rs",
    ];
    let only_dispatches = ["src/engines/bdd/mod.rs", "src/engines/explicit/mod.rs"];
    let mut looked_at = 0;
    for (path, text) in sources() {
        let is_engine = path.starts_with("src/engines/") && !engines_in(&text).is_empty();
        if (!is_engine || only_dispatches.contains(&path.as_str())) && !searches.contains(&path.as_str()) {
            continue;
        }
        looked_at += 1;
        for label in ["Implements:", "Theorem used:", "Evidence:"] {
            let prefix = format!("//! {label}");
            assert!(text.lines().any(|line| line.starts_with(&prefix)), "{path} has no `{label}`");
        }
    }
    assert!(looked_at >= 16, "only {looked_at} files of engines were found");
}

/// The types that implement the trait of engines in a source.
fn engines_in(text: &str) -> Vec<&str> {
    let name = |line: &'_ str| -> Option<usize> {
        ["impl Engine for ", "impl Engine<Net> for "]
            .iter()
            .find(|start| line.starts_with(**start))
            .map(|s| s.len())
    };
    code_lines(text).filter_map(|line| Some(line[name(line)?..].trim_end_matches([' ', '{']))).collect()
}

#[test]
fn every_engine_is_in_the_one_table() {
    let all = sources();
    let table = all.iter().find(|(path, _)| path == "src/pipeline/table.rs").map(|(_, text)| text.as_str());
    let table = table.expect("the table of engines");
    // The same engine with a limit, which other engines use.
    let helpers = ["DirectedWithin"];
    for (path, text) in all.iter().filter(|(path, _)| path.starts_with("src/engines/")) {
        for engine in engines_in(text).into_iter().filter(|engine| !helpers.contains(engine)) {
            let constructed = format!("::{engine}");
            let is_there = table.match_indices(&constructed).any(|(at, found)| {
                !table[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            });
            assert!(is_there, "`{engine}` of {path} is not in the table of engines");
        }
    }
}

#[test]
fn mentions_of_errata_are_links() {
    for (path, text) in sources().into_iter().filter(|(path, _)| path != "src/errata.rs") {
        for line in text.lines().filter(|line| line.trim_start().starts_with("//")) {
            for (start, word) in line.match_indices("errata ") {
                let digits: String =
                    line[start + word.len()..].chars().take_while(char::is_ascii_digit).collect();
                let link = format!("[errata {digits}](crate::errata::item_{digits})");
                let is_linked = line.contains(&link);
                let is_elsewhere = line.contains(&format!("errata {digits} of the crate `cusp`"));
                assert!(
                    digits.is_empty() || is_linked || is_elsewhere,
                    "{path} should say `{link}`:\n{line}"
                );
            }
        }
    }
}

#[test]
fn errata_are_numbered_without_gaps() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/errata.rs")).expect("UTF-8");
    let items: Vec<&str> = text.lines().filter(|line| line.starts_with("pub mod ")).collect();
    let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("/// Errata ")).collect();
    assert_eq!(items.len(), titles.len());
    assert!(items.len() >= 37, "an item was removed");
    for (number, (item, title)) in (1..).zip(items.iter().zip(&titles)) {
        assert_eq!(*item, format!("pub mod item_{number} {{}}"));
        assert!(title.starts_with(&format!("/// Errata {number}: ")), "{title}");
    }
}

/// A test that looks for the corpus by itself could pass without it. The file is linked into the other crates.
#[test]
fn one_file_knows_where_the_corpus_is() {
    let users: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| code_lines(text).any(|line| line.contains(concat!("var_os(\"CUSP_", "CORPUS"))))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        users,
        [
            "encodings/tests/common/shared_corpus.rs",
            "solvers/tests/common/shared_corpus.rs",
            "tests/support/shared_corpus.rs"
        ]
    );
}

#[test]
fn no_file_is_too_long_to_read() {
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.starts_with("tests/")) {
        let lines = text.split("#[cfg(test)]").next().unwrap_or_default().lines().count();
        assert!(lines <= 800, "{path} has {lines} lines");
    }
}

#[test]
fn nothing_is_unfinished_or_switched_off() {
    for (path, text) in sources() {
        for word in [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "ignore")] {
            assert!(!code_lines(&text).any(|line| line.contains(word)), "{path} has `{word}`");
        }
    }
}

fn modules() -> Modules {
    let modules = Modules::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    let uses: usize = modules.uses.values().map(BTreeSet::len).sum();
    assert!(modules.uses.len() > 100 && uses > 300, "the sources were not understood");
    modules
}

/// Modules that use each other in a circle, each with the room they are in: single ideas that were written down in two
/// files. There is none between the modules of `src` itself.
const CIRCLES: &[(&str, &str)] = &[
    ("engines::explicit", "call_tree, path_edges"),
    ("engines::explicit", "interleavings, schedule"),
    ("engines::nets::karp_miller", "accelerate, tree"),
    ("engines::summarising", "nesting, saturate"),
    ("evidence::text", "read, threads, write"),
    ("syntax", "expression, parser, readings"),
];

#[test]
fn modules_do_not_use_each_other_in_circles() {
    // A module and those below it belong together, and may use each other; modules beside each other must not.
    let modules = modules();
    let mut found = Vec::new();
    for room in modules.uses.keys() {
        for circle in modules.circles(room) {
            let members: Vec<&str> = circle.iter().map(String::as_str).collect();
            found.push((name(room), members.join(", ")));
        }
    }
    let known: Vec<(String, String)> =
        CIRCLES.iter().map(|&(room, circle)| (room.to_owned(), circle.to_owned())).collect();
    assert_eq!(found, known);
}

/// What the checker may reach outside of its own room, directly or through others: the question, which is the program or
/// the net, the evidence about it, and the limits of the user. None of it finds answers.
const TRUSTED: &[&str] = &[
    "budget",
    "evidence",
    "evidence::certificate",
    "evidence::cutoff",
    "evidence::formula",
    "evidence::net",
    "evidence::threads",
    "evidence::trace",
    "model",
    "model::cube",
    "model::expr",
    "net",
    "net::marking",
    "reason",
    "source",
];

#[test]
fn the_checker_reaches_nothing_but_the_question_and_the_evidence() {
    let modules = modules();
    let reached = modules.reach(|module| module.first().is_some_and(|room| room == "certify"));
    assert!(reached.len() > 20, "the checker was not found");
    let mut missing: BTreeSet<&str> = TRUSTED.iter().copied().collect();
    let mut wrong = Vec::new();
    for (module, by) in &reached {
        let module_name = name(module);
        let is_own = module.first().is_some_and(|room| room == "certify");
        if !is_own && !missing.remove(&*module_name) {
            wrong.push(format!("`{module_name}`, which `{}` uses", name(by)));
        }
    }
    assert!(wrong.is_empty(), "the checker reaches {}", wrong.join("; "));
    assert!(missing.is_empty(), "the checker does not need to reach {missing:?} any more: shorten the list");
}

#[test]
fn the_search_for_uses_follows_what_the_compiler_follows() {
    let uses = &modules().uses;
    let used = |from: &str, to: &str| {
        let module: Vec<String> = from.split("::").map(str::to_owned).collect();
        uses[&module].iter().any(|used| name(used) == to)
    };
    // By `use`, by a re-export from another module, by a path of its own, and relative to itself.
    assert!(used("certify::net", "evidence::net"));
    assert!(used("certify::cutoff", "evidence::cutoff"));
    assert!(used("evidence::net", "evidence"));
    assert!(used("certify::induction::locations", "certify::live"));
    // What is only re-exported, compiled for tests, or named in a comment is not used.
    assert!(!used("net", "net::builder"));
    assert!(!used("evidence::certificate", "certify"));
    assert!(!used("certify::live", "model::live"));
}
