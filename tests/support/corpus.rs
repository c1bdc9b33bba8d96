//! The shared corpus with its manifest, and our own programs, which say in their first lines what they are.

use std::fs;
use std::path::{Path, PathBuf};

use super::shared_corpus::shared_corpus;

/// One line of the manifest.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As the manifest names it.
    pub name: String,
    pub path: PathBuf,
    /// `safe`, `unsafe`, `unknown`, or for our own programs `error`.
    pub expected: String,
    /// Options of `cusp check`.
    pub options: String,
}

/// All entries of one format.
///
/// # Panics
/// If there is no corpus, or none of its files has this format.
pub fn manifest(format: &str) -> Vec<Entry> {
    let root = shared_corpus();
    let text = fs::read_to_string(root.join("manifest.tsv")).expect("a readable manifest");
    let entries: Vec<Entry> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|fields| fields[1] == format)
        .map(|fields| Entry {
            name: fields[0].to_owned(),
            path: root.join(fields[0]),
            expected: fields[2].to_owned(),
            options: fields[3].to_owned(),
        })
        .collect();
    assert!(!entries.is_empty(), "the manifest lists no {format} file");
    entries
}

/// Our own programs.
///
/// # Panics
/// If one of them does not say what is expected of it, and why.
pub fn own_programs() -> Vec<Entry> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut entries = Vec::new();
    let mut open = vec![root];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let inside = fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            open.extend(inside.map(|entry| entry.expect("a readable directory").path()));
        } else if path.extension().is_some_and(|extension| extension == "bp") {
            entries.push(own_program(path));
        }
    }
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    entries
}

fn own_program(path: PathBuf) -> Entry {
    let text = fs::read_to_string(&path).expect("a readable program");
    let name = path.display().to_string();
    let field = |field: &str| {
        let prefix = format!("// {field}:");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).map(|rest| rest.trim().to_owned())
    };
    let expected = field("expect").unwrap_or_else(|| panic!("{name}: no `// expect:`"));
    assert!(field("why").is_some(), "{name}: no `// why:`");
    Entry { name, path, expected, options: field("options").unwrap_or_default() }
}
