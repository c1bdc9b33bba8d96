//! The forall-exists instances of the corpus, with their answers.

#[path = "shared_corpus.rs"]
mod shared_corpus;

use std::fs;

/// One instance.
pub struct Instance {
    /// Its name in the manifest.
    pub name: String,
    /// The answer.
    pub is_true: bool,
    /// The formula as QCIR.
    pub qcir: String,
}

/// All instances of the manifest.
///
/// # Panics
/// If there is no corpus, or the manifest lists a file that is missing.
pub fn instances() -> Vec<Instance> {
    let corpus = shared_corpus::shared_corpus().join("qbf");
    let manifest = fs::read_to_string(corpus.join("manifest.tsv")).expect("a manifest of the instances");
    let mut instances = Vec::new();
    for line in manifest.lines().skip(1) {
        let mut columns = line.split('\t');
        if let (Some(name), Some(expected)) = (columns.next(), columns.next()) {
            let qcir = fs::read_to_string(corpus.join(format!("{name}.qcir")));
            let qcir = qcir.unwrap_or_else(|error| panic!("`{name}` is in the manifest, but: {error}"));
            instances.push(Instance { name: name.to_owned(), is_true: expected == "true", qcir });
        }
    }
    instances
}
