//! Where the shared corpus is: one file for the tests and benches of all three crates.
#![allow(dead_code, reason = "every user needs a part of it")]

use std::path::{Path, PathBuf};

/// The directory of the shared corpus: `CUSP_CORPUS`, or else `shared/corpus` in the nearest directory above this
/// crate that has one.
///
/// # Panics
/// If there is no corpus. A test that needs it must not pass without it.
pub fn shared_corpus() -> PathBuf {
    corpus_at(std::env::var_os("CUSP_CORPUS").map_or_else(default_corpus, PathBuf::from))
}

/// This directory, if it holds a corpus.
///
/// # Panics
/// If it does not.
pub fn corpus_at(root: PathBuf) -> PathBuf {
    assert!(
        root.join("manifest.tsv").is_file(),
        "there is no corpus at `{}`: set CUSP_CORPUS to the directory that holds its `manifest.tsv`",
        root.display()
    );
    root
}

fn default_corpus() -> PathBuf {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let candidates = crate_root.ancestors().skip(1).map(|above| above.join("shared/corpus"));
    let found = candidates.into_iter().find(|corpus| corpus.join("manifest.tsv").is_file());
    found.unwrap_or_else(|| crate_root.join("../shared/corpus"))
}
