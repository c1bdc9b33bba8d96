//! External SAT programs that crash, lie or are missing: each yields unknown with a reason.

use cusp_solvers::external_sat::{ExternalFailure, ExternalSat};
use cusp_solvers::process::{ProcessError, Program};
use cusp_solvers::sat::{Answer, ClauseSink, Limits, SatSolver, UnknownReason};
use rustsat::types::Lit;

use crate::fake;

/// A formula with exactly one model: the first `size` variables are true. Negating all literals makes the
/// all-false assignment the only model.
fn add_all_true(solver: &mut dyn SatSolver, size: u32) {
    for index in 0..size {
        solver.add_clause(&[Lit::positive(index)]);
    }
}

/// What a program in `mode` answers to a satisfiable formula with five variables.
fn answer_of(mode: &str) -> Answer {
    let mut solver = ExternalSat::new(fake(mode)).with_output_limit(1 << 20).with_memory_limit(1 << 30);
    add_all_true(&mut solver, 5);
    solver.solve(&[], &Limits::NONE)
}

fn failure_of(mode: &str) -> ExternalFailure {
    match answer_of(mode) {
        Answer::Unknown(UnknownReason::External(failure)) => failure,
        answer => panic!("{mode}: {answer:?}"),
    }
}

#[test]
fn an_honest_program_is_believed() {
    assert_eq!(answer_of("honest"), Answer::Sat);
}

#[test]
fn a_missing_program_does_not_start() {
    let mut solver = ExternalSat::new(Program::new("no-such-solver-anywhere"));
    let Answer::Unknown(UnknownReason::External(failure)) = solver.solve(&[], &Limits::NONE) else {
        panic!("a missing program answers");
    };
    assert!(failure.to_string().starts_with("`no-such-solver-anywhere` does not start: "), "{failure}");
}

#[test]
fn a_directory_is_no_program() {
    let failure = ExternalSat::new(Program::new("/")).solve(&[], &Limits::NONE);
    let Answer::Unknown(UnknownReason::External(ExternalFailure::Process(ProcessError::Start { .. }))) =
        failure
    else {
        panic!("a directory runs");
    };
}

#[test]
fn a_crash_is_no_answer_even_after_one() {
    let aborted = ExternalFailure::Crashed { signal: 6 };
    assert_eq!(failure_of("crash"), aborted);
    assert_eq!(failure_of("crash-after-answer"), aborted);
}

#[test]
fn exit_code_and_status_line_must_agree() {
    assert_eq!(failure_of("wrong-exit-code"), ExternalFailure::WrongExitCode { code: 20 });
    let no_status = |code| ExternalFailure::NoStatus { code, complaint: String::new() };
    assert_eq!(failure_of("exit-code-only"), no_status(20));
    assert_eq!(failure_of("silent"), no_status(0));
    assert_eq!(failure_of("garbage"), no_status(10));
    assert_eq!(failure_of("unknown"), ExternalFailure::AnswersUnknown);
}

#[test]
fn the_complaint_of_a_program_is_passed_on() {
    let message = failure_of("no-such-mode").to_string();
    assert_eq!(
        message,
        "the program ends with exit code 2 and no status line (`unknown mode \\'no-such-mode\\'`)"
    );
}

#[test]
fn malformed_answers_are_no_answers() {
    assert_eq!(failure_of("truncated-status"), ExternalFailure::Malformed { line: 1 });
    assert_eq!(failure_of("two-answers"), ExternalFailure::Malformed { line: 2 });
    assert_eq!(failure_of("truncated-values"), ExternalFailure::Truncated);
    assert_eq!(failure_of("no-values"), ExternalFailure::Truncated);
    assert_eq!(failure_of("huge-values"), ExternalFailure::Malformed { line: 2 });
    assert_eq!(failure_of("foreign-values"), ExternalFailure::Malformed { line: 2 });
    assert_eq!(failure_of("contradictory-values"), ExternalFailure::Malformed { line: 2 });
    assert_eq!(failure_of("two-models"), ExternalFailure::Malformed { line: 3 });
}

#[test]
fn the_answer_to_another_instance_is_found_out() {
    assert_eq!(failure_of("other-instance"), ExternalFailure::WrongModel { clause: 1 });
    assert_eq!(failure_of("unsat"), ExternalFailure::WrongUnsat);
}

#[test]
fn a_model_must_satisfy_the_assumptions_too() {
    // The only model of the other instance, all false, satisfies the clause but not the assumption.
    let mut solver = ExternalSat::new(fake("other-instance"));
    solver.add_clause(&[Lit::positive(0), Lit::negative(1)]);
    let wrong = ExternalFailure::WrongModel { clause: 2 };
    assert_eq!(solver.solve(&[Lit::positive(2)], &Limits::NONE), Answer::Unknown(wrong.into()));
}

#[test]
fn unsat_is_believed_only_if_confirmed_or_trusted() {
    let contradict = |solver: &mut ExternalSat| {
        add_all_true(solver, 3);
        solver.solve(&[Lit::negative(1)], &Limits::NONE)
    };
    let mut confirmed = ExternalSat::new(fake("unsat"));
    assert_eq!(contradict(&mut confirmed), Answer::Unsat);
    assert_eq!(confirmed.core(), [Lit::negative(1)]);
    let mut trusted = ExternalSat::trusting(fake("unsat"));
    assert_eq!(contradict(&mut trusted), Answer::Unsat);
    assert_eq!(trusted.solve(&[], &Limits::NONE), Answer::Unsat);
}

#[test]
fn a_flood_is_cut_off() {
    let failure = failure_of("flood");
    assert!(matches!(
        failure,
        ExternalFailure::Process(ProcessError::OutputTooLarge { limit: 1_048_576, .. })
    ));
    assert_eq!(answer_of("flood-errors"), Answer::Sat);
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_wants_too_much_memory_fails_alone() {
    assert_eq!(failure_of("hog"), ExternalFailure::Crashed { signal: 6 });
}

#[test]
fn a_program_that_does_not_read_is_not_waited_for() {
    let mut solver = ExternalSat::trusting(fake("unsat"));
    for index in 0..200_000 {
        solver.add_clause(&[Lit::positive(index)]);
    }
    assert_eq!(solver.solve(&[], &Limits::NONE), Answer::Unsat);
}
