//! What every SAT solver must do: one suite, one line per adapter.

use std::thread;
use std::time::{Duration, Instant};

use cusp_solvers::cadical::CadicalSolver;
use cusp_solvers::external_sat::ExternalSat;
use cusp_solvers::interrupt::Interrupt;
use cusp_solvers::process::Program;
use cusp_solvers::sat::{Answer, ClauseSink, Limits, SatSolver, UnknownReason};
use cusp_solvers::{Choice, SatChoice, Solvers};
use rustsat::types::{Lit, Var};

use crate::pigeon::pigeon_hole;
use crate::random::Rng;
use crate::reference::Reference;
use crate::{fake, first_seed};

macro_rules! conformance {
    ($adapter:ident, $make:expr) => {
        conformance!(
            @cases $adapter, $make,
            the_empty_formula_has_a_model
            the_empty_clause_has_none
            the_model_is_total_and_satisfies_every_clause
            assumptions_do_not_outlive_the_call
            assumptions_hold_in_the_model
            the_core_is_a_subset_of_the_assumptions_and_refutes_the_clauses
            contradictory_assumptions_are_a_core
            repeated_assumptions_are_one
            clauses_can_be_added_after_every_answer
            repeated_and_complementary_literals_are_allowed
            new_variables_are_fresh
            variables_without_clauses_can_be_assumed_and_read
            phases_do_not_change_answers
            limits_give_unknown
            limits_hold_for_one_call
            a_passed_deadline_gives_unknown
            a_deadline_ends_a_running_solve
            a_requested_interrupt_gives_unknown_until_cleared
            an_interrupt_reaches_a_running_solve
            one_interrupt_stops_many_solvers
            many_variables_are_no_problem
            statistics_count_what_was_done
            random_formulas_agree_with_the_truth_table
        );
    };
    (@cases $adapter:ident, $make:expr, $($case:ident)*) => {
        mod $adapter {
            use super::*;

            fn make() -> Box<dyn SatSolver> {
                $make
            }

            $(#[test]
            fn $case() {
                super::$case(make);
            })*

            #[test]
            #[cfg(debug_assertions)]
            #[should_panic(expected = "value() outside the sat state")]
            fn values_outside_the_sat_state_are_a_bug() {
                make().value(Lit::positive(0));
            }

            #[test]
            #[cfg(debug_assertions)]
            #[should_panic(expected = "core() outside the unsat state")]
            fn cores_outside_the_unsat_state_are_a_bug() {
                let mut solver = make();
                assert_eq!(solver.solve(&[], &Limits::NONE), Answer::Sat);
                solver.core();
            }
        }
    };
}

conformance!(reference, Box::new(Reference::default()));
conformance!(cadical, Box::new(CadicalSolver::new()));
conformance!(cadical_with_proof_check, Box::new(CadicalSolver::with_proof_check()));
conformance!(external_by_pipe, Box::new(ExternalSat::new(fake("honest"))));
conformance!(external_by_file, Box::new(ExternalSat::new(fake("honest").argument(Program::INPUT))));
conformance!(external_trusted, Box::new(ExternalSat::trusting(fake("honest"))));
conformance!(chosen_by_default, chosen(SatChoice::Cadical));
conformance!(chosen_program, chosen(SatChoice::Program(fake("honest"))));
conformance!(substitute_of_a_program_that_crashes, chosen(SatChoice::Program(fake("crash"))));

/// The solver that an engine gets.
fn chosen(sat: SatChoice) -> Box<dyn SatSolver> {
    Solvers::new(Choice { sat, ..Choice::default() }).sat_solver(&Interrupt::new(), None)
}

type Make = fn() -> Box<dyn SatSolver>;

fn solve(solver: &mut dyn SatSolver, assumptions: &[Lit]) -> Answer {
    solver.solve(assumptions, &Limits::NONE)
}

fn lit(dimacs: i32) -> Lit {
    Lit::from_ipasir(dimacs).expect("a literal")
}

/// A solver with the given clauses in DIMACS numbering.
fn with(make: Make, clauses: &[&[i32]]) -> Box<dyn SatSolver> {
    let mut solver = make();
    for clause in clauses {
        solver.add_clause(&clause.iter().map(|&number| lit(number)).collect::<Vec<_>>());
    }
    solver
}

fn with_pigeons(make: Make, holes: u32) -> Box<dyn SatSolver> {
    let mut solver = make();
    for clause in pigeon_hole(holes) {
        solver.add_clause(&clause);
    }
    solver
}

fn the_empty_formula_has_a_model(make: Make) {
    assert_eq!(solve(&mut *make(), &[]), Answer::Sat);
}

fn the_empty_clause_has_none(make: Make) {
    let mut solver = with(make, &[&[1, 2], &[]]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Unsat);
    assert_eq!(solver.core(), []);
    assert_eq!(solve(&mut *solver, &[lit(1)]), Answer::Unsat);
    assert!(solver.core().len() <= 1);
    solver.add_clause(&[lit(3)]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Unsat);
}

fn the_model_is_total_and_satisfies_every_clause(make: Make) {
    let mut solver = with(make, &[&[1, 2], &[-1, 3], &[-2, 3], &[-3, 5], &[-5, -6]]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
    for index in 0..solver.num_vars() {
        let lit = Lit::positive(index);
        assert_ne!(solver.value(lit), solver.value(!lit));
    }
    assert!(solver.value(lit(1)) || solver.value(lit(2)));
    assert!(solver.value(lit(3)) && solver.value(lit(5)) && solver.value(lit(-6)));
}

fn assumptions_do_not_outlive_the_call(make: Make) {
    let mut solver = with(make, &[&[-1, 2]]);
    assert_eq!(solve(&mut *solver, &[lit(1), lit(-2)]), Answer::Unsat);
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
    assert_eq!(solve(&mut *solver, &[lit(1)]), Answer::Sat);
    assert_eq!(solve(&mut *solver, &[lit(-2)]), Answer::Sat);
}

fn assumptions_hold_in_the_model(make: Make) {
    let mut solver = with(make, &[&[1, 2, 3], &[-1, -2, -3]]);
    for bits in 0..8 {
        let assumptions = [0, 1, 2].map(|i| Lit::new(i, bits >> i & 1 == 1));
        let expected = if bits == 0 || bits == 7 { Answer::Unsat } else { Answer::Sat };
        assert_eq!(solve(&mut *solver, &assumptions), expected);
        if expected == Answer::Sat {
            assert!(assumptions.iter().all(|&lit| solver.value(lit)));
        }
    }
}

fn the_core_is_a_subset_of_the_assumptions_and_refutes_the_clauses(make: Make) {
    let mut solver = with(make, &[&[-1, 4], &[-2, -4], &[5, 6]]);
    let assumptions = [5, 1, 3, 2, -6].map(lit);
    assert_eq!(solve(&mut *solver, &assumptions), Answer::Unsat);
    let core = solver.core().to_vec();
    assert!(core.iter().all(|lit| assumptions.contains(lit)));
    assert!(core.contains(&lit(1)) && core.contains(&lit(2)));
    assert_eq!(solve(&mut *solver, &core), Answer::Unsat);
}

fn contradictory_assumptions_are_a_core(make: Make) {
    let mut solver = with(make, &[&[1, 2]]);
    for number in [1, 7] {
        let assumptions = [lit(2), lit(number), lit(-number)];
        assert_eq!(solve(&mut *solver, &assumptions), Answer::Unsat);
        assert!(solver.core().contains(&lit(number)) && solver.core().contains(&lit(-number)));
    }
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
}

fn repeated_assumptions_are_one(make: Make) {
    let mut solver = with(make, &[&[-1, 2]]);
    assert_eq!(solve(&mut *solver, &[lit(1), lit(1), lit(2), lit(1)]), Answer::Sat);
    assert_eq!(solve(&mut *solver, &[lit(1), lit(1), lit(-2), lit(-2)]), Answer::Unsat);
    let core = solver.core().to_vec();
    assert_eq!(solve(&mut *solver, &core), Answer::Unsat);
}

fn clauses_can_be_added_after_every_answer(make: Make) {
    let mut solver = with(make, &[&[1, 2]]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
    solver.add_clause(&[lit(-1), lit(3)]);
    assert_eq!(solve(&mut *solver, &[lit(1), lit(-3)]), Answer::Unsat);
    solver.add_clause(&[lit(-2)]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
    assert!(solver.value(lit(1)) && solver.value(lit(3)));
    solver.interrupt().request();
    assert_eq!(solve(&mut *solver, &[]), Answer::Unknown(UnknownReason::Interrupted));
    solver.interrupt().clear();
    solver.add_clause(&[lit(-3)]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Unsat);
}

fn repeated_and_complementary_literals_are_allowed(make: Make) {
    let mut solver = with(make, &[&[1, -1], &[2, 2], &[-2, -2, 3, -2], &[3, -3, 4]]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
    assert!(solver.value(lit(2)) && solver.value(lit(3)));
    assert_eq!(solve(&mut *solver, &[lit(-3)]), Answer::Unsat);
    solver.add_clause(&[lit(-3), lit(-3)]);
    assert_eq!(solve(&mut *solver, &[]), Answer::Unsat);
}

fn new_variables_are_fresh(make: Make) {
    let mut solver = make();
    assert_eq!(solver.num_vars(), 0);
    let first = solver.new_var();
    solver.add_clause(&[lit(5), first.pos_lit()]);
    assert_eq!(solver.new_var(), Var::new(5));
    assert_eq!(solve(&mut *solver, &[lit(9)]), Answer::Sat);
    assert_eq!(solver.new_var(), Var::new(9));
    solver.set_phase(lit(20));
    assert_eq!(solver.new_var(), Var::new(20));
    assert_eq!(solver.num_vars(), 21);
}

fn variables_without_clauses_can_be_assumed_and_read(make: Make) {
    let mut solver = make();
    let free = solver.new_var().pos_lit();
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
    assert_ne!(solver.value(free), solver.value(!free));
    for lit in [free, !free] {
        assert_eq!(solve(&mut *solver, &[lit]), Answer::Sat);
        assert!(solver.value(lit));
    }
}

fn phases_do_not_change_answers(make: Make) {
    let mut solver = with(make, &[&[1, 2], &[-1, 3]]);
    for phase in [1, -1, 2, -2, 3, -3] {
        solver.set_phase(lit(phase));
        assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
        assert!(solver.value(lit(1)) || solver.value(lit(2)));
        assert_eq!(solve(&mut *solver, &[lit(1), lit(-3)]), Answer::Unsat);
    }
    for index in 0..3 {
        solver.clear_phase(Var::new(index));
    }
    assert_eq!(solve(&mut *solver, &[lit(-1), lit(-2)]), Answer::Unsat);
}

fn limits_give_unknown(make: Make) {
    let mut solver = with_pigeons(make, 4);
    let conflicts = Limits { conflicts: Some(0), ..Limits::NONE };
    let decisions = Limits { decisions: Some(0), ..Limits::NONE };
    for (limits, reason) in
        [(conflicts, UnknownReason::ConflictLimit), (decisions, UnknownReason::DecisionLimit)]
    {
        match solver.solve(&[], &limits) {
            // A solver that cannot count must not run at all.
            Answer::Unknown(UnknownReason::LimitUnsupported { solver: name }) => {
                assert_eq!(name, solver.name());
            }
            answer => assert_eq!(answer, Answer::Unknown(reason)),
        }
    }
}

fn limits_hold_for_one_call(make: Make) {
    let mut solver = with_pigeons(make, 4);
    let none_left = Limits { conflicts: Some(0), decisions: Some(0), ..Limits::NONE };
    assert!(matches!(solver.solve(&[], &none_left), Answer::Unknown(_)));
    assert_eq!(solve(&mut *solver, &[]), Answer::Unsat);
}

fn a_passed_deadline_gives_unknown(make: Make) {
    let mut solver = with(make, &[&[1]]);
    let passed = Limits { deadline: Some(Instant::now()), ..Limits::NONE };
    assert_eq!(solver.solve(&[], &passed), Answer::Unknown(UnknownReason::Deadline));
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
}

fn a_deadline_ends_a_running_solve(make: Make) {
    let mut solver = with_pigeons(make, 12);
    let soon = Limits { deadline: Some(Instant::now() + Duration::from_millis(20)), ..Limits::NONE };
    match solver.solve(&[], &soon) {
        Answer::Unknown(UnknownReason::GaveUp) => {}
        answer => assert_eq!(answer, Answer::Unknown(UnknownReason::Deadline)),
    }
}

fn a_requested_interrupt_gives_unknown_until_cleared(make: Make) {
    let mut solver = with(make, &[&[1]]);
    let interrupt = solver.interrupt();
    interrupt.request();
    for _ in 0..2 {
        assert_eq!(solve(&mut *solver, &[]), Answer::Unknown(UnknownReason::Interrupted));
    }
    interrupt.clear();
    assert_eq!(solve(&mut *solver, &[lit(-1)]), Answer::Unsat);
    assert_eq!(solve(&mut *solver, &[]), Answer::Sat);
}

fn an_interrupt_reaches_a_running_solve(make: Make) {
    let mut solver = with_pigeons(make, 12);
    let interrupt = solver.interrupt();
    let requester = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        interrupt.request();
    });
    let answer = solve(&mut *solver, &[]);
    requester.join().expect("the requester does not panic");
    match answer {
        Answer::Unknown(UnknownReason::GaveUp) => {}
        answer => assert_eq!(answer, Answer::Unknown(UnknownReason::Interrupted)),
    }
}

fn one_interrupt_stops_many_solvers(make: Make) {
    let interrupt = Interrupt::new();
    let mut solvers = [make(), make(), make()];
    for solver in &mut solvers {
        solver.share_interrupt(&interrupt);
    }
    interrupt.request();
    for solver in &mut solvers {
        assert_eq!(solve(&mut **solver, &[]), Answer::Unknown(UnknownReason::Interrupted));
    }
}

fn many_variables_are_no_problem(make: Make) {
    let mut solver = make();
    let last = 20_000;
    for i in 0..last {
        solver.add_clause(&[Lit::negative(i), Lit::positive(i + 1)]);
    }
    match solve(&mut *solver, &[Lit::positive(0)]) {
        Answer::Unknown(UnknownReason::GaveUp) => {}
        answer => {
            assert_eq!(answer, Answer::Sat);
            assert!((0..=last).all(|i| solver.value(Lit::positive(i))));
            assert_eq!(solve(&mut *solver, &[Lit::positive(0), Lit::negative(last)]), Answer::Unsat);
            assert_eq!(solve(&mut *solver, &[Lit::negative(last)]), Answer::Sat);
        }
    }
}

fn statistics_count_what_was_done(make: Make) {
    let mut solver = with(make, &[&[1, 2], &[3]]);
    solve(&mut *solver, &[lit(4)]);
    solve(&mut *solver, &[]);
    let statistics = solver.statistics();
    assert_eq!((statistics.solves, statistics.variables, statistics.clauses), (2, 4, 2));
}

/// Grows formulas in three steps, and asks under random assumptions after each.
fn random_formulas_agree_with_the_truth_table(make: Make) {
    for seed in (first_seed()..).take(80) {
        let mut random = Rng(seed);
        let num_vars = 2 + random.below(8);
        let mut solver = make();
        let mut table = Reference::default();
        let mut clauses = Vec::new();
        for _ in 0..3 {
            for _ in 0..random.below(2 * num_vars) {
                // Up to four literals, repeated and complementary ones included.
                let clause: Vec<Lit> = (0..=random.below(4)).map(|_| random.lit(num_vars)).collect();
                solver.add_clause(&clause);
                table.add_clause(&clause);
                clauses.push(clause);
            }
            let assumptions: Vec<Lit> = (0..random.below(4)).map(|_| random.lit(num_vars)).collect();
            let answer = solve(&mut *solver, &assumptions);
            assert_eq!(
                answer,
                solve(&mut table, &assumptions),
                "seed {seed}: {clauses:?} under {assumptions:?}"
            );
            if answer == Answer::Sat {
                let is_true = |&lit: &Lit| solver.value(lit);
                assert!(assumptions.iter().all(is_true), "seed {seed}");
                assert!(clauses.iter().all(|clause| clause.iter().any(is_true)), "seed {seed}");
            } else {
                let core = solver.core();
                assert!(core.iter().all(|lit| assumptions.contains(lit)), "seed {seed}");
                assert_eq!(solve(&mut table, core), Answer::Unsat, "seed {seed}");
            }
        }
    }
}
