//! External QBF programs and races with them: `fake-solver` plays the honest and the dishonest ones, and `depqbf`
//! is really run if it is installed.
//!
//! `CUSP_COUNT` sets the number of random questions for it, `CUSP_SEED` the first of them.

#[path = "common/questions.rs"]
#[allow(dead_code, reason = "shared with the tests of the embedded solver")]
mod questions;
#[path = "common/random.rs"]
#[allow(dead_code, reason = "shared with the tests of SAT solvers")]
mod random;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cusp_encodings::{Term, TermArena, VarId};
use cusp_solvers::external_sat::ExternalFailure;
use cusp_solvers::process::{ProcessError, Program};
use cusp_solvers::qbf::{
    CertificateError, Counterexample, Embedded, ExternalQbf, Proofs, QbfAnswer, QbfSolver, QbfStatistics,
    Question, Race, verify,
};
use cusp_solvers::{Interrupt, Limits, UnknownReason};

use crate::questions::{number_from_environment, random_question, truth};
use crate::random::Rng;

/// The fake solver in one of its modes, reading standard input.
fn fake(mode: &str) -> Program {
    Program::new(env!("CARGO_BIN_EXE_fake-solver")).argument(mode)
}

/// For all `a b c` there is `y` equal to `a & b`; and if `is_true` is not, `a & !b & c` never happens: it does,
/// in one place.
fn question(arena: &mut TermArena, is_true: bool) -> Question {
    let vars: Vec<VarId> = (0..4).map(|_| arena.fresh_var()).collect();
    let [a, b, c, y] = [0, 1, 2, 3].map(|i| arena.var(vars[i]));
    let both = arena.and(a, b);
    let mut matrix = arena.iff(y, both);
    if !is_true {
        let place = arena.and_all([a, !b, c]);
        matrix = arena.and(matrix, !place);
    }
    Question { universal: vars[..3].to_vec(), existential: vec![vars[3]], matrix }
}

/// What a program says about the true or the false question, which [`verify`] accepts if it has a certificate.
fn ask(solver: &mut dyn QbfSolver, is_true: bool) -> QbfAnswer {
    let mut arena = TermArena::new();
    let question = question(&mut arena, is_true);
    let answer = solver.solve(&mut arena, &question, &Limits::NONE);
    if let QbfAnswer::True(Some(_)) | QbfAnswer::False(_) = answer {
        assert_eq!(verify(&arena, &question, &answer, Proofs::Checked, &Limits::NONE), Ok(()));
    }
    answer
}

fn answer_of(mode: &str, is_true: bool) -> QbfAnswer {
    let solver = ExternalQbf::new(fake(mode)).with_output_limit(1 << 20).with_memory_limit(1 << 30);
    ask(&mut { solver }, is_true)
}

fn counterexample() -> QbfAnswer {
    QbfAnswer::False(Counterexample { values: vec![true, false, true] })
}

fn failed(failure: ExternalFailure) -> QbfAnswer {
    QbfAnswer::Unknown(failure.into())
}

#[test]
fn honest_programs_of_all_styles_are_understood() {
    for mode in ["qbf-honest", "qbf-one-line", "qbf-signs", "qbf-words"] {
        assert_eq!(answer_of(mode, true), QbfAnswer::True(None), "{mode}");
        assert_eq!(answer_of(mode, false), counterexample(), "{mode}");
    }
}

#[test]
fn an_input_file_is_as_good_as_standard_input() {
    let mut solver = ExternalQbf::new(fake("qbf-honest").argument(Program::INPUT));
    assert_eq!(ask(&mut solver, false), counterexample());
    assert_eq!(ask(&mut solver, true), QbfAnswer::True(None));
    let statistics = solver.statistics();
    assert_eq!((statistics.solves, statistics.trues, statistics.falses), (2, 1, 1));
    assert_eq!(statistics.sat_calls, 1, "a good counterexample costs one call");
}

#[test]
fn a_missing_or_wrong_counterexample_is_replaced_if_the_answer_is_right() {
    for mode in ["qbf-false", "qbf-exit-code-false", "qbf-half-values", "qbf-opposite-values"] {
        assert_eq!(answer_of(mode, false), counterexample(), "{mode}");
    }
}

#[test]
fn a_wrong_false_is_caught() {
    for mode in ["qbf-false", "qbf-exit-code-false", "qbf-opposite"] {
        assert_eq!(answer_of(mode, true), failed(ExternalFailure::WrongUnsat), "{mode}");
    }
}

#[test]
fn a_true_is_a_claim_that_no_verifier_accepts() {
    let mut arena = TermArena::new();
    let question = question(&mut arena, false);
    for mode in ["qbf-true", "qbf-opposite"] {
        let answer = ExternalQbf::new(fake(mode)).solve(&mut arena, &question, &Limits::NONE);
        assert_eq!(answer, QbfAnswer::True(None));
        let verdict = verify(&arena, &question, &answer, Proofs::Trusted, &Limits::NONE);
        assert_eq!(verdict, Err(CertificateError::Missing));
    }
}

/// Modes that are caught whatever the question, and what they are caught at.
fn caught() -> Vec<(&'static str, ExternalFailure)> {
    let malformed = |line| ExternalFailure::Malformed { line };
    let silent = |code| ExternalFailure::NoStatus { code, complaint: String::new() };
    vec![
        ("crash", ExternalFailure::Crashed { signal: 6 }),
        ("qbf-crash-after-answer", ExternalFailure::Crashed { signal: 6 }),
        ("silent", silent(0)),
        ("unknown", ExternalFailure::AnswersUnknown),
        ("garbage", silent(10)),
        ("qbf-exit-code-true", silent(10)),
        ("qbf-two-answers", malformed(2)),
        ("qbf-truncated-status", malformed(1)),
        ("qbf-foreign-values", malformed(2)),
        ("qbf-contradictory-values", malformed(3)),
    ]
}

#[test]
fn whatever_is_no_answer_is_unknown_with_a_reason() {
    for (mode, failure) in caught() {
        for is_true in [true, false] {
            assert_eq!(answer_of(mode, is_true), failed(failure.clone()), "{mode}");
        }
    }
    assert_eq!(answer_of("qbf-wrong-exit-code", true), failed(ExternalFailure::WrongExitCode { code: 20 }));
    assert_eq!(answer_of("qbf-wrong-exit-code", false), failed(ExternalFailure::WrongExitCode { code: 10 }));
    let complaint = "unknown mode 'qbf-no-such-mode'".to_owned();
    assert_eq!(answer_of("qbf-no-such-mode", true), failed(ExternalFailure::NoStatus { code: 2, complaint }));
}

#[test]
fn the_answer_to_another_instance_proves_nothing() {
    // That instance is false where the first variable is; ours are not.
    assert_eq!(answer_of("qbf-other-instance", true), failed(ExternalFailure::WrongUnsat));
    assert_eq!(answer_of("qbf-other-instance", false), counterexample());
}

#[test]
fn a_flood_is_cut_off_and_a_hog_fails_alone() {
    let QbfAnswer::Unknown(UnknownReason::External(ExternalFailure::Process(error))) =
        answer_of("flood", true)
    else {
        panic!("a flood is an answer");
    };
    assert!(matches!(error, ProcessError::OutputTooLarge { limit: 1_048_576, .. }), "{error}");
    if cfg!(target_os = "linux") {
        assert_eq!(answer_of("hog", true), failed(ExternalFailure::Crashed { signal: 6 }));
    }
}

#[test]
fn what_is_no_program_does_not_start() {
    let file = tempfile::NamedTempFile::new().expect("a file that nobody may execute");
    for path in [Path::new("no-such-solver-anywhere"), Path::new("/"), file.path()] {
        let answer = ask(&mut ExternalQbf::new(Program::new(path)), true);
        let QbfAnswer::Unknown(UnknownReason::External(ExternalFailure::Process(error))) = answer else {
            panic!("{} answers", path.display());
        };
        assert!(matches!(error, ProcessError::Start { .. }), "{error}");
        let answer = ask(&mut Race::between(Embedded::new(), ExternalQbf::new(Program::new(path))), false);
        assert_eq!(answer, counterexample(), "{}", path.display());
    }
    let missing = ExternalQbf::detect("/nowhere/depqbf", &Interrupt::new());
    assert!(matches!(missing, Err(ProcessError::Start { .. })));
    let unknown = ExternalQbf::detect("/nowhere/solver", &Interrupt::new()).expect("it is not run yet");
    assert_eq!(unknown.program(), &Program::new("/nowhere/solver").argument(Program::INPUT));
    assert_eq!(unknown.version(), None);
}

#[test]
fn a_known_program_is_called_as_its_version_wants() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let path = directory.path().join("depqbf-6.03");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fake-solver"), &path).expect("a link to the program");
    let mut solver = ExternalQbf::detect(&path, &Interrupt::new()).expect("it starts");
    let version = solver.version().expect("it tells");
    assert_eq!(
        (version.line.as_str(), version.numbers.as_slice()),
        ("A fake solver 6.03, for tests", &[6, 3][..])
    );
    assert_eq!(solver.program().arguments, ["--qdo", "--no-dynamic-nenofex", Program::INPUT]);
    assert_eq!(ask(&mut solver, false), counterexample());
    let interrupt = Interrupt::new();
    interrupt.request();
    assert!(matches!(ExternalQbf::detect(&path, &interrupt), Err(ProcessError::Interrupted { .. })));
}

#[test]
fn limits_that_a_program_cannot_keep_are_refused() {
    let mut arena = TermArena::new();
    let question = question(&mut arena, true);
    let mut solver = ExternalQbf::new(fake("qbf-true"));
    let mut reason = |limits: &Limits| match solver.solve(&mut arena, &question, limits) {
        QbfAnswer::Unknown(reason) => reason,
        answer => panic!("{answer:?}"),
    };
    let unsupported = UnknownReason::LimitUnsupported { solver: "fake-solver".to_owned() };
    assert_eq!(reason(&Limits { conflicts: Some(9), ..Limits::NONE }), unsupported);
    assert_eq!(reason(&Limits { decisions: Some(9), ..Limits::NONE }), unsupported);
    assert_eq!(reason(&Limits { deadline: Some(Instant::now()), ..Limits::NONE }), UnknownReason::Deadline);
}

#[test]
#[should_panic(expected = "every variable of the matrix is in the question")]
fn a_free_variable_is_an_error_of_the_caller() {
    let mut arena = TermArena::new();
    let question = Question { existential: Vec::new(), ..question(&mut arena, true) };
    ExternalQbf::new(fake("qbf-true")).solve(&mut arena, &question, &Limits::NONE);
}

/// Processes of a fake solver, as it wrote them down.
fn process_ids(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `test` with a hanging program of two processes and the file with their ids; sees both of them gone.
fn leaves_nothing_behind(test: impl FnOnce(ExternalQbf, &Path)) {
    let directory = tempfile::tempdir().expect("a directory for the process ids");
    let pids = directory.path().join("pids");
    test(ExternalQbf::new(fake("hang-with-child").argument("--pids").argument(&pids)), &pids);
    let ids = process_ids(&pids);
    assert_eq!(ids.len(), 2);
    assert!(!Path::new("/proc").join(&ids[0]).exists(), "a zombie is left");
    // The grandchild was killed with its group; whoever inherits it reaps it.
    wait_until(|| {
        let status = fs::read_to_string(Path::new("/proc").join(&ids[1]).join("stat")).unwrap_or_default();
        status.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
    });
}

/// Requests `interrupt` once both processes are there.
fn request_when_started(interrupt: Interrupt, pids: &Path) -> thread::JoinHandle<()> {
    let pids = pids.to_owned();
    thread::spawn(move || {
        wait_until(|| process_ids(&pids).len() == 2);
        interrupt.request();
    })
}

#[test]
fn a_hanging_program_is_killed_with_its_children_on_interrupt() {
    leaves_nothing_behind(|mut solver, pids| {
        let requester = request_when_started(solver.interrupt(), pids);
        assert_eq!(ask(&mut solver, true), QbfAnswer::Unknown(UnknownReason::Interrupted));
        requester.join().expect("the requester does not panic");
    });
}

#[test]
fn a_hanging_program_is_killed_with_its_children_at_the_deadline() {
    leaves_nothing_behind(|mut solver, pids| {
        let mut arena = TermArena::new();
        let question = question(&mut arena, true);
        let mut patience = Duration::from_millis(50);
        // On a busy machine the program may not even have started in time.
        while process_ids(pids).len() < 2 {
            let limits = Limits { deadline: Some(Instant::now() + patience), ..Limits::NONE };
            let answer = solver.solve(&mut arena, &question, &limits);
            assert_eq!(answer, QbfAnswer::Unknown(UnknownReason::Deadline));
            patience *= 2;
        }
    });
}

/// A solver of the tests: what it does is a function of the interrupt, the arena and the question.
struct Scripted<F> {
    script: F,
    interrupt: Interrupt,
}

impl<F: FnMut(&Interrupt, &mut TermArena, &Question) -> QbfAnswer> Scripted<F> {
    fn new(script: F) -> Scripted<F> {
        Scripted { script, interrupt: Interrupt::new() }
    }
}

impl<F: FnMut(&Interrupt, &mut TermArena, &Question) -> QbfAnswer> QbfSolver for Scripted<F> {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn solve(&mut self, arena: &mut TermArena, question: &Question, _: &Limits) -> QbfAnswer {
        (self.script)(&self.interrupt, arena, question)
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn statistics(&self) -> QbfStatistics {
        QbfStatistics::default()
    }
}

/// Answers nothing until it is stopped.
fn stubborn() -> impl QbfSolver + Send {
    Scripted::new(|interrupt: &Interrupt, _: &mut TermArena, _: &Question| {
        wait_until(|| interrupt.is_requested());
        QbfAnswer::Unknown(UnknownReason::Interrupted)
    })
}

/// Answers at once.
fn prompt(answer: QbfAnswer) -> impl QbfSolver + Send {
    Scripted::new(move |_: &Interrupt, _: &mut TermArena, _: &Question| answer.clone())
}

#[test]
fn a_race_is_right_and_certified_whatever_the_program_does() {
    let liars = ["qbf-true", "qbf-false", "qbf-opposite", "qbf-opposite-values", "qbf-half-values"];
    let others = ["qbf-honest", "qbf-other-instance", "qbf-wrong-exit-code", "qbf-words", "hang", "flood"];
    for mode in caught().iter().map(|(mode, _)| *mode).chain(liars).chain(others) {
        let mut race =
            Race::between(Embedded::new(), ExternalQbf::new(fake(mode)).with_output_limit(1 << 20));
        for _ in 0..3 {
            assert_eq!(ask(&mut race, false), counterexample(), "{mode}");
            assert!(matches!(ask(&mut race, true), QbfAnswer::True(Some(_))), "{mode}");
        }
        let statistics = race.statistics();
        assert_eq!((statistics.solves, statistics.trues, statistics.falses), (6, 3, 3));
        assert_eq!(race.wins().iter().sum::<u64>(), 6);
    }
}

#[test]
fn the_program_wins_a_race_against_a_solver_that_does_not_end() {
    let mut race = Race::between(stubborn(), ExternalQbf::new(fake("qbf-honest")));
    assert_eq!(ask(&mut race, false), counterexample());
    assert_eq!(race.wins(), [0, 1]);
    assert_eq!(race.name(), "scripted | fake-solver");
    assert!(!race.interrupt().is_requested(), "the loser is stopped by an interrupt of its own");
}

#[test]
fn the_witness_of_the_second_solver_comes_back_in_the_arena_of_the_caller() {
    let mut race = Race::between(stubborn(), Embedded::new());
    assert!(matches!(ask(&mut race, true), QbfAnswer::True(Some(_))), "and `ask` has verified it");
    assert_eq!(race.wins(), [0, 1]);
}

#[test]
fn a_claim_ends_no_race_and_is_its_answer_only_if_there_is_no_other() {
    let claim = || prompt(QbfAnswer::True(None));
    assert_eq!(ask(&mut Race::between(Embedded::new(), claim()), false), counterexample());
    assert_eq!(ask(&mut Race::between(claim(), Embedded::new()), false), counterexample());
    let gave_up = QbfAnswer::Unknown(UnknownReason::GaveUp);
    for race in [
        Race::between(prompt(gave_up.clone()), claim()),
        Race::between(claim(), prompt(gave_up.clone())),
        Race::between(claim(), claim()),
    ] {
        assert_eq!(ask(&mut { race }, true), QbfAnswer::True(None));
    }
    assert_eq!(ask(&mut Race::between(prompt(gave_up.clone()), prompt(gave_up.clone())), true), gave_up);
}

#[test]
fn the_loser_of_a_race_is_killed_with_its_children() {
    leaves_nothing_behind(|external, pids| {
        let pids = pids.to_owned();
        let patient = Scripted::new(move |_: &Interrupt, arena: &mut TermArena, question: &Question| {
            wait_until(|| process_ids(&pids).len() == 2);
            Embedded::new().solve(arena, question, &Limits::NONE)
        });
        assert_eq!(ask(&mut Race::between(patient, external), false), counterexample());
    });
}

#[test]
fn an_interrupt_ends_both_sides_of_a_race() {
    leaves_nothing_behind(|external, pids| {
        let mut race = Race::between(stubborn(), external);
        let requester = request_when_started(race.interrupt(), pids);
        let interrupted = QbfAnswer::Unknown(UnknownReason::Interrupted);
        assert_eq!(ask(&mut race, true), interrupted);
        requester.join().expect("the requester does not panic");
        assert_eq!(ask(&mut race, true), interrupted, "a request is sticky");
        let mut shared = Race::between(stubborn(), stubborn());
        shared.share_interrupt(&race.interrupt());
        assert_eq!(ask(&mut shared, true), interrupted);
    });
}

#[test]
fn a_panic_on_either_side_ends_the_race() {
    leaves_nothing_behind(|external, pids| {
        let pids = pids.to_owned();
        let broken = Scripted::new(move |_: &Interrupt, _: &mut TermArena, _: &Question| {
            wait_until(|| process_ids(&pids).len() == 2);
            panic!("the first side is broken")
        });
        let mut race = Race::between(broken, external);
        assert!(catch_unwind(AssertUnwindSafe(|| ask(&mut race, true))).is_err());
    });
    let broken = Scripted::new(|_: &Interrupt, _: &mut TermArena, _: &Question| panic!("the second is"));
    let mut race = Race::between(stubborn(), broken);
    assert!(catch_unwind(AssertUnwindSafe(|| ask(&mut race, true))).is_err());
}

/// The real program, if it is installed; says so if it is not. Where `CUSP_NEEDS_SOLVERS` is set it must be.
#[allow(clippy::print_stderr, reason = "whoever runs this should know that nothing was checked")]
fn depqbf() -> Option<ExternalQbf> {
    match ExternalQbf::detect("depqbf", &Interrupt::new()) {
        Ok(solver) => Some(solver),
        Err(error) => {
            assert!(std::env::var_os("CUSP_NEEDS_SOLVERS").is_none(), "`depqbf` is not installed: {error}");
            eprintln!("`depqbf` is not installed: nothing is checked with a real QBF program ({error})");
            None
        }
    }
}

#[test]
fn depqbf_tells_its_version() {
    let Some(solver) = depqbf() else { return };
    let version = solver.version().expect("it has an option for it");
    assert!(version.line.starts_with("DepQBF ") && version.numbers[0] >= 3, "{version:?}");
    assert_eq!(solver.name(), "depqbf");
    assert!(solver.program().arguments.iter().any(|argument| argument == "--qdo"));
}

/// Asks `depqbf`, and checks its answer against the truth table and the verifier.
fn check_against_truth(solver: &mut dyn QbfSolver, arena: &mut TermArena, question: &Question, what: &str) {
    let answer = solver.solve(arena, question, &Limits::NONE);
    match &answer {
        QbfAnswer::True(_) => assert!(truth(arena, question), "{what}: {answer:?}"),
        QbfAnswer::False(_) => assert!(!truth(arena, question), "{what}: {answer:?}"),
        QbfAnswer::Unknown(reason) => panic!("{what}: {reason}"),
    }
    if answer != QbfAnswer::True(None) {
        let verdict = verify(arena, question, &answer, Proofs::Trusted, &Limits::NONE);
        assert_eq!(verdict, Ok(()), "{what}");
    }
}

#[test]
fn depqbf_agrees_with_the_embedded_solver_and_the_truth_table_on_random_questions() {
    let Some(mut external) = depqbf() else { return };
    let first = number_from_environment("CUSP_SEED", 0);
    let count = number_from_environment("CUSP_COUNT", 2000);
    let mut race = Race::between(Embedded::new(), external.clone());
    for seed in first..first + count {
        let mut arena = TermArena::new();
        let question = random_question(&mut Rng(seed), &mut arena);
        let what = format!("CUSP_SEED={seed} CUSP_COUNT=1");
        check_against_truth(&mut external, &mut arena, &question, &what);
        check_against_truth(&mut Embedded::new(), &mut arena, &question, &what);
        if seed % 4 == 0 {
            check_against_truth(&mut race, &mut arena, &question, &what);
        }
    }
    let statistics = external.statistics();
    assert_eq!(statistics.trues + statistics.falses, count);
}

#[test]
fn depqbf_copes_with_constants_unused_variables_gaps_and_missing_blocks() {
    let Some(mut solver) = depqbf() else { return };
    for (universal, existential) in [(0, 0), (0, 3), (3, 0), (3, 3), (1, 0), (0, 1)] {
        let mut arena = TermArena::new();
        // Variables of the arena that are not in the question, and a question whose order is not theirs.
        let vars: Vec<VarId> = (0..20).map(|_| arena.fresh_var()).collect();
        let universal: Vec<VarId> = vars.iter().copied().step_by(3).skip(1).take(universal).collect();
        let existential: Vec<VarId> = vars.iter().rev().copied().step_by(3).take(existential).collect();
        let mut matrices = vec![Term::TRUE, Term::FALSE];
        for vars in [&universal, &existential] {
            let terms: Vec<Term> = vars.iter().map(|&var| arena.var(var)).collect();
            matrices.extend(terms.iter().flat_map(|&term| [term, !term]));
            matrices.extend([arena.and_all(terms.iter().copied()), arena.or_all(terms)]);
        }
        if let (Some(&x), Some(&y)) = (universal.last(), existential.last()) {
            let (x, y) = (arena.var(x), arena.var(y));
            matrices.extend([arena.xor(x, y), arena.and(x, y), arena.or(x, y)]);
        }
        for matrix in matrices {
            let question =
                Question { universal: universal.clone(), existential: existential.clone(), matrix };
            let what = format!("{question:?}");
            check_against_truth(&mut solver, &mut arena, &question, &what);
        }
    }
}

#[test]
fn values_of_depqbf_certify_a_true_question_without_universal_variables() {
    let Some(mut solver) = depqbf() else { return };
    let mut arena = TermArena::new();
    let vars: Vec<VarId> = (0..3).map(|_| arena.fresh_var()).collect();
    let [a, b, c] = [0, 1, 2].map(|i| arena.var(vars[i]));
    let differ = arena.xor(a, b);
    let matrix = arena.and_all([differ, b, !c]);
    let question = Question { universal: Vec::new(), existential: vars, matrix };
    let answer = solver.solve(&mut arena, &question, &Limits::NONE);
    let QbfAnswer::True(Some(witness)) = &answer else { panic!("{answer:?}") };
    assert_eq!(witness.vectors, [[Term::FALSE, Term::TRUE, Term::FALSE]]);
    assert_eq!(verify(&arena, &question, &answer, Proofs::Checked, &Limits::NONE), Ok(()));
}

/// Whether all products of two large numbers that are 3 modulo 4 are products of two that are 1 modulo 4. They are
/// not if the factors are prime, but showing that for one of them takes as long as factoring it.
fn hard_question(arena: &mut TermArena, bits: usize) -> Question {
    let vars: Vec<VarId> = (0..4 * bits).map(|_| arena.fresh_var()).collect();
    let numbers: Vec<Vec<Term>> =
        vars.chunks(bits).map(|number| number.iter().map(|&var| arena.var(var)).collect()).collect();
    let mut product = |a: &[Term], b: &[Term]| {
        let mut sum = vec![Term::FALSE; 2 * bits];
        for (i, &bit) in a.iter().enumerate() {
            let mut carry = Term::FALSE;
            for (j, &other) in b.iter().enumerate() {
                let partial = arena.and(bit, other);
                let half = arena.xor(sum[i + j], partial);
                let both = arena.and(sum[i + j], partial);
                sum[i + j] = arena.xor(half, carry);
                let overflow = arena.and(half, carry);
                carry = arena.or(both, overflow);
            }
            sum[i + bits] = carry;
        }
        sum
    };
    let (mine, theirs) = (product(&numbers[0], &numbers[1]), product(&numbers[2], &numbers[3]));
    let mut matrix = arena.and_all([2, 3].iter().flat_map(|&i: &usize| [numbers[i][0], !numbers[i][1]]));
    for (left, right) in mine.into_iter().zip(theirs) {
        let equal = arena.iff(left, right);
        matrix = arena.and(matrix, equal);
    }
    let large = [0, 1].iter().flat_map(|&i: &usize| [0, 1, bits - 1].map(|bit| numbers[i][bit]));
    let premise = arena.and_all(large);
    let matrix = arena.implies(premise, matrix);
    Question { universal: vars[..2 * bits].to_vec(), existential: vars[2 * bits..].to_vec(), matrix }
}

#[test]
fn depqbf_is_stopped_by_interrupt_and_deadline() {
    let Some(mut solver) = depqbf() else { return };
    let mut arena = TermArena::new();
    let question = hard_question(&mut arena, 32);
    let limits = Limits { deadline: Some(Instant::now() + Duration::from_millis(50)), ..Limits::NONE };
    let answer = solver.solve(&mut arena, &question, &limits);
    assert_eq!(answer, QbfAnswer::Unknown(UnknownReason::Deadline));
    let interrupt = solver.interrupt();
    let requester = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        interrupt.request();
    });
    let answer = solver.solve(&mut arena, &question, &Limits::NONE);
    assert_eq!(answer, QbfAnswer::Unknown(UnknownReason::Interrupted));
    requester.join().expect("the requester does not panic");
}
