//! Inclusion of parametric sets against enumeration of their states.
//!
//! `CUSP_COUNT` sets the number of random questions, `CUSP_SEED` the first of them.

#[path = "common/questions.rs"]
#[allow(dead_code, reason = "shared with the tests of the embedded solver")]
mod questions;
#[path = "common/random.rs"]
#[allow(dead_code, reason = "shared with the tests of SAT solvers")]
mod random;
#[path = "common/sets.rs"]
#[allow(dead_code, reason = "shared with the bench")]
mod sets;

use std::collections::BTreeSet;
use std::sync::Arc;

use cusp_encodings::{SymbolicState, Term, TermArena, VarId};
use cusp_solvers::inclusion::{Inclusion, InclusionAnswer, Layer, verify};
use cusp_solvers::qbf::{
    CertificateError, Counterexample, Proofs, QbfAnswer, QbfSolver, QbfStatistics, Question,
};
use cusp_solvers::{Interrupt, Limits, Tally, UnknownReason};

use crate::questions::{COLUMNS, number_from_environment, random_terms};
use crate::random::Rng;
use crate::sets::{arbitrary, renamed};

/// All states of a set over at most eight choices.
fn states(arena: &TermArena, set: &SymbolicState) -> BTreeSet<u64> {
    let choices = arena.support(&set.terms());
    assert!(choices.len() <= 10, "small sets only");
    let mut states = BTreeSet::new();
    for high in 0..1u64 << choices.len().saturating_sub(6) {
        let words =
            arena.simulate(&set.terms(), |var| match choices.iter().position(|&choice| choice == var) {
                Some(place) if place < 6 => COLUMNS[place],
                Some(place) if high >> (place - 6) & 1 == 1 => u64::MAX,
                _ => 0,
            });
        for lane in 0..64 {
            if words[0] >> lane & 1 == 1 {
                states.insert(words[1..].iter().fold(0, |state, word| state << 1 | (word >> lane & 1)));
            }
        }
    }
    states
}

fn random_set(rng: &mut Rng, arena: &mut TermArena, choices: &[VarId], values: u32) -> SymbolicState {
    let gates = 1 + rng.below(12);
    let pool = random_terms(rng, arena, choices, gates);
    let pick = |rng: &mut Rng| {
        let term = pool[rng.below(pool.len() as u32) as usize];
        term.complement_if(rng.below(2) == 0)
    };
    let guard = if rng.below(3) == 0 { pick(rng) } else { Term::TRUE };
    SymbolicState { guard, values: (0..values).map(|_| pick(rng)).collect() }
}

/// Two sets that are related in one of the ways that programs relate them, and what the caller knows about it.
fn random_pair(rng: &mut Rng, arena: &mut TermArena) -> (SymbolicState, SymbolicState, Vec<(VarId, Term)>) {
    let values = 1 + rng.below(5);
    let mut fresh = |count: u32| -> Vec<VarId> { (0..count).map(|_| arena.fresh_var()).collect() };
    let (mine, theirs) = (fresh(1 + rng.below(5)), fresh(1 + rng.below(4)));
    let larger = random_set(rng, arena, &theirs, values);
    match rng.below(5) {
        // Unrelated sets.
        0 => (random_set(rng, arena, &mine, values), larger, Vec::new()),
        // A branch and the merge it went into.
        1 => {
            let smaller = random_set(rng, arena, &mine, values);
            let merge = larger.merge(arena, &smaller);
            (smaller, merge, Vec::new())
        }
        // An instance of the larger set, sometimes with the way back.
        2 => {
            let pool = random_terms(rng, arena, &mine, 4);
            let map: Vec<(VarId, Term)> =
                theirs.iter().map(|&var| (var, pool[rng.below(pool.len() as u32) as usize])).collect();
            let terms =
                cusp_encodings::Substitution::new(map.iter().copied()).apply_all(arena, &larger.terms());
            let smaller = SymbolicState { guard: terms[0], values: terms[1..].to_vec() };
            let map = if rng.below(2) == 0 { map } else { Vec::new() };
            (smaller, larger, map)
        }
        // The same set under other names.
        3 => (renamed(arena, &larger), larger, Vec::new()),
        // Everything, or everything under a condition.
        _ => {
            let smaller = random_set(rng, arena, &mine, values);
            let mut everything = arbitrary(arena, values as usize);
            if rng.below(2) == 0 {
                let condition = random_terms(rng, arena, &arena.support(&everything.values), 4);
                everything.guard = condition[condition.len() - 1];
            }
            (smaller, everything, Vec::new())
        }
    }
}

#[test]
fn random_sets_are_included_iff_their_states_are_and_every_layer_answers() {
    let first = number_from_environment("CUSP_SEED", 0);
    let count = number_from_environment("CUSP_COUNT", 10_000);
    let mut inclusion = Inclusion::new();
    let mut included = 0;
    for seed in first..first + count {
        let rng = &mut Rng(seed);
        let mut arena = TermArena::new();
        let (smaller, larger, provenance) = random_pair(rng, &mut arena);
        let expected = states(&arena, &smaller).is_subset(&states(&arena, &larger));
        let answer = inclusion.check(&mut arena, &smaller, &larger, &provenance, &Limits::NONE);
        match &answer {
            InclusionAnswer::Included(..) => assert!(expected, "CUSP_SEED={seed}: {answer:?}"),
            InclusionAnswer::NotIncluded(..) => assert!(!expected, "CUSP_SEED={seed}: {answer:?}"),
            answer => panic!("CUSP_SEED={seed}: {answer:?}"),
        }
        let proofs = if seed % 16 == 0 { Proofs::Checked } else { Proofs::Trusted };
        let verdict = verify(&arena, &smaller, &larger, &answer, proofs, &Limits::NONE);
        assert_eq!(verdict, Ok(()), "CUSP_SEED={seed}: {answer:?}");
        included += u64::from(expected);
    }
    let statistics = inclusion.statistics();
    assert_eq!(statistics.checks, count);
    assert_eq!(Layer::ALL.iter().map(|&layer| statistics.answered(layer)).sum::<u64>(), count);
    for layer in Layer::ALL {
        let answered = statistics.answered(layer);
        assert!(layer == Layer::External || answered > count / 400, "{}: {statistics:?}", layer.name());
    }
    assert!(included > count / 5 && included < count - count / 5, "{included} of {count} are included");
}

#[test]
fn both_answers_of_each_layer_have_certificates_that_do_not_fit_other_questions() {
    let mut rejected = 0;
    for seed in 0..300 {
        let rng = &mut Rng(seed);
        let mut arena = TermArena::new();
        let (smaller, larger, provenance) = random_pair(rng, &mut arena);
        let answer = Inclusion::new().check(&mut arena, &smaller, &larger, &provenance, &Limits::NONE);
        let mutated = match answer {
            InclusionAnswer::Included(layer, mut containment) => {
                let Some(term) = containment.vectors.first_mut().and_then(|vector| vector.first_mut()) else {
                    continue;
                };
                *term = !*term;
                InclusionAnswer::Included(layer, containment)
            }
            InclusionAnswer::NotIncluded(layer, mut escape) => {
                let Some((_, value)) = escape.choices.first_mut() else { continue };
                *value = !*value;
                InclusionAnswer::NotIncluded(layer, escape)
            }
            answer => panic!("seed {seed}: {answer:?}"),
        };
        let verdict = verify(&arena, &smaller, &larger, &mutated, Proofs::Trusted, &Limits::NONE);
        let is_included = states(&arena, &smaller).is_subset(&states(&arena, &larger));
        if verdict.is_ok() {
            assert_eq!(matches!(mutated, InclusionAnswer::Included(..)), is_included, "seed {seed}");
        }
        rejected += u32::from(verdict.is_err());
    }
    assert!(rejected > 60, "{rejected} mutants were rejected");
}

#[test]
fn a_question_about_renamed_choices_is_answered_from_the_cache() {
    let mut arena = TermArena::new();
    let mut inclusion = Inclusion::new();
    for round in 0..3 {
        let [a, b, c] = [(); 3].map(|()| arena.fresh());
        let (both, differ) = (arena.and(a, b), arena.xor(b, c));
        let smaller = SymbolicState { guard: Term::TRUE, values: vec![both, a] };
        let larger = SymbolicState { guard: a, values: vec![both, differ] };
        let answer = inclusion.check(&mut arena, &smaller, &larger, &[], &Limits::NONE);
        assert_eq!(answer.layer() == Some(Layer::Cache), round > 0, "{answer:?}");
        assert_eq!(verify(&arena, &smaller, &larger, &answer, Proofs::Checked, &Limits::NONE), Ok(()));
    }
}

#[test]
fn interrupts_and_limits_leave_the_question_open() {
    let mut arena = TermArena::new();
    let [a, b, c] = [(); 3].map(|()| arena.fresh());
    let (both, differ) = (arena.and(a, b), arena.xor(b, c));
    let smaller = SymbolicState { guard: a, values: vec![both, differ] };
    let larger = SymbolicState { guard: c, values: vec![both, a] };
    let mut inclusion = Inclusion::new();
    let interrupt = inclusion.interrupt();
    interrupt.request();
    let answer = inclusion.check(&mut arena, &smaller, &larger, &[], &Limits::NONE);
    assert_eq!(answer, InclusionAnswer::Unknown(UnknownReason::Interrupted));
    interrupt.clear();
    let past = Limits { deadline: Some(std::time::Instant::now()), ..Limits::NONE };
    let answer = inclusion.check(&mut arena, &smaller, &larger, &[], &past);
    assert_eq!(answer, InclusionAnswer::Unknown(UnknownReason::Deadline));
    assert_eq!(inclusion.statistics().unknown, 2);
    let error = verify(&arena, &smaller, &larger, &answer, Proofs::Trusted, &Limits::NONE);
    assert_eq!(error, Err(CertificateError::Missing));
}

/// An external solver that gives a fixed answer to everything.
struct Stubborn(QbfAnswer);

impl QbfSolver for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
    }

    fn solve(&mut self, _: &mut TermArena, question: &Question, _: &Limits) -> QbfAnswer {
        match &self.0 {
            QbfAnswer::False(_) => {
                QbfAnswer::False(Counterexample { values: vec![true; question.universal.len()] })
            }
            other => other.clone(),
        }
    }

    fn interrupt(&self) -> Interrupt {
        Interrupt::new()
    }

    fn share_interrupt(&mut self, _: &Interrupt) {}

    fn statistics(&self) -> QbfStatistics {
        QbfStatistics::default()
    }
}

/// A question that no layer before the external one may decide: no state is random enough, and nothing is
/// defined. With what was counted for the embedded and for the external solver.
fn ask_external(answer: QbfAnswer, is_included: bool) -> (InclusionAnswer, [Arc<Tally>; 2]) {
    let mut arena = TermArena::new();
    let x: Vec<Term> = (0..9).map(|_| arena.fresh()).collect();
    let y: Vec<Term> = (0..9).map(|_| arena.fresh()).collect();
    let pairs = |arena: &mut TermArena, vars: &[Term]| -> Vec<Term> {
        vars.windows(2).map(|pair| arena.and(pair[0], pair[1])).collect()
    };
    let smaller = SymbolicState { guard: Term::TRUE, values: pairs(&mut arena, &x) };
    let all = arena.and_all(y.iter().copied());
    let guard = if is_included { arena.or(y[0], y[1]) } else { !all };
    let larger = SymbolicState { guard, values: pairs(&mut arena, &y) };
    let tallies = [(); 2].map(|()| Arc::new(Tally::default()));
    let external = Box::new(Stubborn(answer));
    let mut inclusion = Inclusion::with_external(external).counting_in(&tallies[0], &tallies[1]);
    let answer = inclusion.check(&mut arena, &smaller, &larger, &[], &Limits::NONE);
    if let InclusionAnswer::Claimed(_) = &answer {
        let again = inclusion.check(&mut arena, &smaller, &larger, &[], &Limits::NONE);
        assert_eq!(again, InclusionAnswer::Claimed(Layer::Cache), "a claim stays one");
        let verified = verify(&arena, &smaller, &larger, &answer, Proofs::Trusted, &Limits::NONE);
        assert_eq!(verified, Err(CertificateError::Missing));
    }
    (answer, tallies)
}

#[test]
fn a_confirmed_counterexample_of_the_external_solver_is_the_answer() {
    let counterexample = QbfAnswer::False(Counterexample { values: Vec::new() });
    let (refuted, [embedded, external]) = ask_external(counterexample, false);
    assert!(matches!(refuted, InclusionAnswer::NotIncluded(Layer::External, _)), "{refuted:?}");
    assert_eq!((embedded.answers(), external.claims(), external.failures()), (0, 0, 0));
}

#[test]
fn the_embedded_solver_answers_what_the_external_one_does_not() {
    let counterexample = QbfAnswer::False(Counterexample { values: Vec::new() });
    let (lie, [embedded, external]) = ask_external(counterexample, true);
    assert!(matches!(lie, InclusionAnswer::Included(Layer::Embedded, _)), "{lie:?}");
    assert_eq!((embedded.answers(), external.claims(), external.failures()), (1, 0, 1));
    assert_eq!(external.last_failure().as_deref(), Some("the counterexample has a witness"));
    let (open, [embedded, external]) = ask_external(QbfAnswer::Unknown(UnknownReason::GaveUp), false);
    assert!(matches!(open, InclusionAnswer::NotIncluded(Layer::Embedded, _)), "{open:?}");
    assert_eq!((embedded.answers(), external.claims()), (1, 0));
    let (stopped, _) = ask_external(QbfAnswer::Unknown(UnknownReason::Deadline), false);
    assert_eq!(stopped, InclusionAnswer::Unknown(UnknownReason::Deadline));
}

#[test]
fn an_inclusion_without_a_witness_is_a_claim() {
    let (claim, [embedded, external]) = ask_external(QbfAnswer::True(None), false);
    assert_eq!(claim, InclusionAnswer::Claimed(Layer::External));
    assert_eq!((embedded.answers(), external.claims(), external.failures()), (0, 1, 0));
}
