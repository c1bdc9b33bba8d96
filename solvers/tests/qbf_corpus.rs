//! The instances of the corpus that take less than a second; `benches/inclusion.rs` runs all of them.
//!
//! `CUSP_CORPUS` is the directory of the corpus; by default the one next to the project. Without it, the test fails.

#[path = "common/corpus.rs"]
mod corpus;
#[path = "common/qcir.rs"]
mod qcir;

use cusp_encodings::TermArena;
use cusp_solvers::Limits;
use cusp_solvers::qbf::{Embedded, Proofs, QbfAnswer, QbfSolver, verify};

#[test]
fn corpus_instances_have_their_expected_answers() {
    let instances = corpus::instances();
    assert_eq!(instances.len(), 25, "the manifest lists all instances");
    for instance in instances {
        let mut arena = TermArena::new();
        let question = qcir::read(&instance.qcir, &mut arena);
        let answer = Embedded::new().solve(&mut arena, &question, &Limits::NONE);
        match &answer {
            QbfAnswer::True(_) => assert!(instance.is_true, "{} is false", instance.name),
            QbfAnswer::False(_) => assert!(!instance.is_true, "{} is true", instance.name),
            QbfAnswer::Unknown(reason) => panic!("{}: {reason}", instance.name),
        }
        let verdict = verify(&arena, &question, &answer, Proofs::Checked, &Limits::NONE);
        assert_eq!(verdict, Ok(()), "{}", instance.name);
    }
}
