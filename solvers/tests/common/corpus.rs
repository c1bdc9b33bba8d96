//! The forall-exists instances of the corpus, with their answers.

use std::fs;
use std::path::PathBuf;

/// One instance.
pub struct Instance {
    /// Its name in the manifest.
    pub name: String,
    /// The answer.
    pub is_true: bool,
    /// The formula as QCIR.
    pub qcir: String,
}

/// All instances of the manifest; says so if there is no corpus.
///
/// # Panics
/// If the manifest lists a file that is missing.
#[allow(clippy::print_stderr, reason = "whoever runs this should know that nothing was checked")]
pub fn instances() -> Option<Vec<Instance>> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let corpus = std::env::var_os("CUSP_CORPUS").map_or(default, PathBuf::from).join("qbf");
    let Ok(manifest) = fs::read_to_string(corpus.join("manifest.tsv")) else {
        eprintln!("no corpus at `{}`: nothing is checked; set CUSP_CORPUS", corpus.display());
        return None;
    };
    let mut instances = Vec::new();
    for line in manifest.lines().skip(1) {
        let mut columns = line.split('\t');
        if let (Some(name), Some(expected)) = (columns.next(), columns.next()) {
            let qcir = fs::read_to_string(corpus.join(format!("{name}.qcir")));
            let qcir = qcir.unwrap_or_else(|error| panic!("`{name}` is in the manifest, but: {error}"));
            instances.push(Instance { name: name.to_owned(), is_true: expected == "true", qcir });
        }
    }
    Some(instances)
}
