//! The embedded solver against truth tables, and its certificates against [`verify`].
//!
//! `CUSP_COUNT` sets the number of random questions, `CUSP_SEED` the first of them.

#[path = "common/questions.rs"]
mod questions;
#[path = "common/random.rs"]
#[allow(dead_code, reason = "shared with the tests of SAT solvers")]
mod random;

use cusp_encodings::{Term, TermArena, VarId};
use cusp_solvers::Limits;
use cusp_solvers::qbf::{
    CertificateError, Counterexample, Embedded, Proofs, QbfAnswer, QbfSolver, Question, verify,
};

use crate::questions::{number_from_environment, random_question, truth};
use crate::random::Rng;

fn check(arena: &TermArena, question: &Question, answer: &QbfAnswer) -> Result<(), CertificateError> {
    verify(arena, question, answer, Proofs::Trusted, &Limits::NONE)
}

#[test]
fn random_questions_have_the_answers_of_the_truth_table_and_all_certificates_hold() {
    let first = number_from_environment("CUSP_SEED", 0);
    let (mut trues, mut functional) = (0, 0);
    let count = number_from_environment("CUSP_COUNT", 10_000);
    let mut solver = Embedded::new();
    for seed in first..first + count {
        let mut arena = TermArena::new();
        let question = random_question(&mut Rng(seed), &mut arena);
        let answer = solver.solve(&mut arena, &question, &Limits::NONE);
        let expected = truth(&arena, &question);
        match &answer {
            QbfAnswer::True(Some(_)) => assert!(expected, "CUSP_SEED={seed} answers true"),
            QbfAnswer::False(_) => assert!(!expected, "CUSP_SEED={seed} answers false"),
            other => panic!("CUSP_SEED={seed} answers {other:?}"),
        }
        let proofs = if seed % 16 == 0 { Proofs::Checked } else { Proofs::Trusted };
        let verdict = verify(&arena, &question, &answer, proofs, &Limits::NONE);
        assert_eq!(verdict, Ok(()), "CUSP_SEED={seed}: {answer:?}");
        trues += u64::from(expected);
    }
    functional += solver.statistics().functional;
    assert!(trues > count / 10 && trues < count - count / 10, "{trues} of {count} are true");
    assert!(functional > count / 20, "{functional} functional witnesses");
}

#[test]
fn the_same_question_gets_the_same_answer_and_certificate() {
    for seed in 0..200 {
        let run = || {
            let mut arena = TermArena::new();
            let question = random_question(&mut Rng(seed), &mut arena);
            let answer = Embedded::new().solve(&mut arena, &question, &Limits::NONE);
            (arena.len(), answer)
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

#[test]
fn mutated_certificates_are_rejected_unless_they_are_certificates_themselves() {
    let mut rejected = [0, 0];
    for seed in 0..400 {
        let rng = &mut Rng(seed);
        let mut arena = TermArena::new();
        let question = random_question(rng, &mut arena);
        match Embedded::new().solve(&mut arena, &question, &Limits::NONE) {
            QbfAnswer::True(Some(mut witness)) if !question.existential.is_empty() => {
                if witness.vectors.is_empty() {
                    continue;
                }
                let vector = rng.below(witness.vectors.len() as u32) as usize;
                let place = rng.below(question.existential.len() as u32) as usize;
                witness.vectors[vector][place] = !witness.vectors[vector][place];
                let covers = |x: u64| {
                    witness.vectors.iter().any(|vector| {
                        let value = |var: VarId| match questions::position(&question.existential, var) {
                            Some(j) => arena.evaluate(vector[j], |var| questions::bit(&question, x, var)),
                            None => questions::bit(&question, x, var),
                        };
                        arena.evaluate(question.matrix, value)
                    })
                };
                let expected = (0..1 << question.universal.len()).all(covers);
                let verdict = check(&arena, &question, &QbfAnswer::True(Some(witness)));
                assert_eq!(verdict.is_ok(), expected, "seed {seed}: {verdict:?}");
                rejected[0] += u32::from(!expected);
            }
            QbfAnswer::False(mut counterexample) if !question.universal.is_empty() => {
                let place = rng.below(question.universal.len() as u32) as usize;
                counterexample.values[place] = !counterexample.values[place];
                let x = counterexample.values.iter().rev().fold(0, |x, &value| x << 1 | u64::from(value));
                let expected = !questions::has_witness(&arena, &question, x);
                let verdict = check(&arena, &question, &QbfAnswer::False(counterexample));
                assert_eq!(verdict.is_ok(), expected, "seed {seed}: {verdict:?}");
                rejected[1] += u32::from(!expected);
            }
            _ => {}
        }
    }
    assert!(rejected.into_iter().all(|count| count > 20), "{rejected:?} mutants were rejected");
}

#[test]
fn malformed_certificates_are_rejected() {
    let mut arena = TermArena::new();
    let (x, y) = (arena.fresh_var(), arena.fresh_var());
    let (tx, ty) = (arena.var(x), arena.var(y));
    let matrix = arena.iff(tx, ty);
    let question = Question { universal: vec![x], existential: vec![y], matrix };
    let witness = |vectors: Vec<Vec<Term>>| QbfAnswer::True(Some(cusp_solvers::qbf::Witness { vectors }));
    let judge = |answer: &QbfAnswer| check(&arena, &question, answer);
    assert_eq!(judge(&witness(vec![vec![tx]])), Ok(()));
    assert_eq!(judge(&witness(vec![vec![Term::TRUE], vec![Term::FALSE]])), Ok(()));
    assert_eq!(judge(&witness(vec![vec![ty]])), Err(CertificateError::NotUniversal(y)));
    assert_eq!(judge(&witness(vec![vec![]])), Err(CertificateError::Length { expected: 1, found: 0 }));
    assert_eq!(judge(&witness(vec![vec![Term::TRUE]])), Err(CertificateError::Uncovered(vec![false])));
    assert_eq!(judge(&witness(vec![])).map_err(|error| error.to_string().len() > 10), Err(true));
    assert_eq!(judge(&QbfAnswer::True(None)), Err(CertificateError::Missing));
    let counterexample = |values: &[bool]| QbfAnswer::False(Counterexample { values: values.to_vec() });
    assert_eq!(judge(&counterexample(&[true])), Err(CertificateError::HasWitness(vec![true])));
    assert_eq!(
        judge(&counterexample(&[true, true])),
        Err(CertificateError::Length { expected: 1, found: 2 })
    );
}
