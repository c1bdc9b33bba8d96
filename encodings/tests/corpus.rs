//! The instances of the shared corpus, in both of their forms.

#[path = "common/shared_corpus.rs"]
mod shared_corpus;

use std::fs;
use std::path::PathBuf;

use cusp_encodings::qbf::{Qcir, Qcnf, Quantifier};
use cusp_encodings::{CnfStyle, TermArena, VarId};

use crate::shared_corpus::shared_corpus;

/// The directory of the instances, with their names and answers.
fn instances() -> (PathBuf, Vec<(String, bool)>) {
    let root = shared_corpus().join("qbf");
    let manifest = fs::read_to_string(root.join("manifest.tsv")).expect("a manifest of the instances");
    let line = |line: &str| {
        let mut fields = line.split('\t');
        (fields.next().unwrap_or_default().to_owned(), fields.next() == Some("true"))
    };
    (root, manifest.lines().skip(1).map(line).collect())
}

#[test]
fn every_instance_is_read_in_both_forms_and_written_back() {
    let (root, instances) = instances();
    assert!(instances.len() >= 25);
    for (name, _) in instances {
        let text = |extension: &str| {
            fs::read_to_string(root.join(format!("{name}.{extension}"))).expect("an instance of the manifest")
        };
        let mut arena = TermArena::new();
        let circuit = Qcir::from_qcir(&text("qcir"), &mut arena).expect("a circuit");
        let clauses = Qcnf::from_qdimacs(&text("qdimacs")).expect("clauses");
        let forall_exists = [Quantifier::Forall, Quantifier::Exists];
        assert!(circuit.prefix.blocks().iter().map(|block| block.quantifier).eq(forall_exists), "{name}");
        assert!(clauses.prefix.blocks().iter().map(|block| block.quantifier).eq(forall_exists), "{name}");
        assert_eq!(Qcnf::from_qdimacs(&clauses.to_string()).as_ref(), Ok(&clauses), "{name}");
        let again = Qcir::from_qcir(&circuit.to_qcir(&arena).to_string(), &mut TermArena::new());
        assert_eq!(again.expect("our own text").prefix.blocks().len(), 2, "{name}");
        let encoded = circuit.to_qcnf(&arena, CnfStyle::PlaistedGreenbaum);
        assert!(encoded.prefix.blocks().iter().map(|block| block.quantifier).eq(forall_exists), "{name}");
    }
}

/// Tries every assignment, on the instances that are small enough.
#[test]
fn small_instances_have_their_recorded_answers() {
    let (root, instances) = instances();
    let mut decided = 0;
    for (name, expected) in instances {
        let text = fs::read_to_string(root.join(format!("{name}.qcir"))).expect("a circuit file");
        let mut arena = TermArena::new();
        let circuit = Qcir::from_qcir(&text, &mut arena).expect("a circuit");
        let [forall, exists] = circuit.prefix.blocks() else { panic!("{name} is not forall-exists") };
        let (universal, existential) = (&forall.variables, &exists.variables);
        if universal.len() + existential.len() > 20 {
            continue;
        }
        decided += 1;
        let holds = |x: u32| {
            (0..1_u32 << existential.len()).any(|y| {
                let value = |var: VarId| {
                    let place = universal.iter().position(|&u| u == var);
                    match place {
                        Some(i) => x >> i & 1 == 1,
                        None => existential.iter().position(|&e| e == var).is_some_and(|i| y >> i & 1 == 1),
                    }
                };
                arena.evaluate(circuit.matrix, value)
            })
        };
        assert_eq!((0..1_u32 << universal.len()).all(holds), expected, "{name}");
    }
    assert!(decided >= 1, "no instance was small enough");
}
