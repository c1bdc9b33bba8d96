//! The proof checker accepts what CaDiCaL does and nothing else.

use std::cell::RefCell;
use std::rc::Rc;

use crate::reference::Reference;
use cadical_sys::{CaDiCal, ProofTracer, Status};
use cusp_solvers::cadical::CadicalSolver;
use cusp_solvers::proof::{ClauseId, ProofChecker, ProofError};
use cusp_solvers::sat::{Answer, ClauseSink, Limits, SatSolver};
use rustsat::types::Lit;

use crate::first_seed;
use crate::pigeon::pigeon_hole;
use crate::random::Rng;

/// One event of a proof, to be replayed as it was or otherwise.
#[derive(Clone, Debug)]
enum Step {
    Original(ClauseId, Vec<i32>),
    Derived(ClauseId, Vec<i32>, Vec<ClauseId>),
    ForConclusion(ClauseId, Vec<i32>, Vec<ClauseId>),
    Weakened(ClauseId),
    Restored(ClauseId, Vec<i32>),
    Deleted(ClauseId),
    Concluded(Vec<ClauseId>),
}

#[derive(Default)]
struct Recorder(Vec<Step>);

impl ProofTracer for Recorder {
    fn add_original_clause(&mut self, id: i64, _redundant: bool, clause: &[i32], restored: bool) {
        let make = if restored { Step::Restored } else { Step::Original };
        self.0.push(make(id, clause.to_vec()));
    }
    fn add_derived_clause(&mut self, id: i64, _: bool, witness: i32, clause: &[i32], antecedents: &[i64]) {
        assert_eq!(witness, 0);
        self.0.push(Step::Derived(id, clause.to_vec(), antecedents.to_vec()));
    }
    fn delete_clause(&mut self, id: i64, _redundant: bool, _clause: &[i32]) {
        self.0.push(Step::Deleted(id));
    }
    fn weaken_minus(&mut self, id: i64, _clause: &[i32]) {
        self.0.push(Step::Weakened(id));
    }
    fn add_assumption_clause(&mut self, id: i64, clause: &[i32], antecedents: &[i64]) {
        self.0.push(Step::ForConclusion(id, clause.to_vec(), antecedents.to_vec()));
    }
    fn conclude_unsat(&mut self, _conclusion_type: i32, clause_ids: &[i64]) {
        self.0.push(Step::Concluded(clause_ids.to_vec()));
    }
    fn strengthen(&mut self, _id: i64) {}
    fn finalize_clause(&mut self, _id: i64, _clause: &[i32]) {}
    fn add_assumption(&mut self, _lit: i32) {}
    fn add_constraint(&mut self, _clause: &[i32]) {}
    fn reset_assumptions(&mut self) {}
    fn conclude_sat(&mut self, _conclusion_type: i32, _model: &[i32]) {}
    fn conclude_unknown(&mut self, _trail: &[i32]) {}
}

type Clauses = Vec<Vec<i32>>;

/// A solver that records its proof.
fn recording() -> (CaDiCal, Rc<RefCell<Recorder>>) {
    let recorder = Rc::new(RefCell::new(Recorder::default()));
    let mut solver = CaDiCal::new();
    solver.connect_proof_tracer1(Rc::clone(&recorder), true, false);
    (solver, recorder)
}

/// The proof CaDiCaL gives for `clauses` under `assumptions`, or `None` if there is a model.
fn prove(clauses: &Clauses, assumptions: &[i32]) -> Option<Vec<Step>> {
    let (mut solver, recorder) = recording();
    for clause in clauses {
        solver.clause6(clause);
    }
    for &assumption in assumptions {
        solver.assume(assumption);
    }
    (solver.solve() == Status::UNSATISFIABLE).then(|| recorder.take().0)
}

fn replay(clauses: &Clauses, assumptions: &[i32], steps: &[Step]) -> Result<Vec<i32>, ProofError> {
    let mut checker = ProofChecker::new();
    for clause in clauses {
        checker.promise(clause);
    }
    for step in steps {
        match step {
            Step::Original(id, clause) => checker.original(*id, clause),
            Step::Derived(id, clause, hints) => checker.derived(*id, 0, clause, hints),
            Step::ForConclusion(id, clause, hints) => checker.derived_for_conclusion(*id, clause, hints),
            Step::Weakened(id) => checker.weakened(*id),
            Step::Restored(id, clause) => checker.restored(*id, clause),
            Step::Deleted(id) => checker.deleted(*id),
            Step::Concluded(ids) => checker.concluded(ids),
        }
    }
    checker.verified_core(assumptions)
}

fn to_dimacs(clauses: &[Vec<Lit>]) -> Clauses {
    clauses.iter().map(|clause| clause.iter().map(|lit| lit.to_ipasir()).collect()).collect()
}

/// Pigeon hole with a switch: refuted under the assumption of variable 1000, and only then.
fn switched_pigeons() -> Clauses {
    let mut clauses = to_dimacs(&pigeon_hole(4));
    for clause in &mut clauses {
        clause.push(-1000);
    }
    clauses
}

const SWITCH: [i32; 2] = [999, 1000];

fn proof_of_switched_pigeons() -> (Clauses, Vec<Step>) {
    let clauses = switched_pigeons();
    let steps = prove(&clauses, &SWITCH).expect("unsatisfiable");
    (clauses, steps)
}

/// All ways to change one element of `items` by `change`, at most `most` of them, evenly spread.
fn changed_once<T: Clone>(items: &[T], most: usize, change: impl Fn(&mut T) -> bool) -> Vec<Vec<T>> {
    let changed = items.iter().enumerate().filter_map(|(place, item)| {
        let mut item = item.clone();
        change(&mut item).then_some((place, item))
    });
    let changed: Vec<(usize, T)> = changed.collect();
    let stride = changed.len() / most + 1;
    let mutants = changed.into_iter().step_by(stride).map(|(place, item)| {
        let mut mutant = items.to_vec();
        mutant[place] = item;
        mutant
    });
    mutants.collect()
}

fn hints_of(step: &mut Step) -> Option<&mut Vec<ClauseId>> {
    match step {
        Step::Derived(_, _, hints) | Step::ForConclusion(_, _, hints) if !hints.is_empty() => Some(hints),
        _ => None,
    }
}

#[test]
fn unchanged_proofs_are_accepted() {
    let (clauses, steps) = proof_of_switched_pigeons();
    assert_eq!(replay(&clauses, &SWITCH, &steps), Ok(vec![1000]));
    let clauses = to_dimacs(&pigeon_hole(5));
    let steps = prove(&clauses, &[]).expect("unsatisfiable");
    assert_eq!(replay(&clauses, &[], &steps), Ok(vec![]));
}

#[test]
fn a_wrong_hint_is_rejected() {
    let (clauses, steps) = proof_of_switched_pigeons();
    let nowhere = changed_once(&steps, 50, |step| {
        hints_of(step).and_then(|hints| hints.first_mut()).map(|hint| *hint = ClauseId::MAX).is_some()
    });
    let forgotten = changed_once(&steps, 50, |step| hints_of(step).and_then(Vec::pop).is_some());
    assert!(nowhere.len() > 20 && forgotten.len() > 20);
    for mutant in nowhere {
        let result = replay(&clauses, &SWITCH, &mutant);
        assert!(matches!(result, Err(ProofError::MissingClause { id: ClauseId::MAX, .. })), "{result:?}");
    }
    for mutant in forgotten {
        let result = replay(&clauses, &SWITCH, &mutant);
        assert!(matches!(result, Err(ProofError::NoConflict { .. })), "{result:?}");
    }
}

#[test]
fn a_hint_that_forces_nothing_is_rejected() {
    let clauses = vec![vec![1, 2, 3], vec![-1], vec![-2], vec![-3]];
    let originals = clauses.iter().zip(1..).map(|(clause, id)| Step::Original(id, clause.clone()));
    let mut steps: Vec<Step> = originals.collect();
    let mut conclude = |hints: &[ClauseId]| {
        steps.truncate(4);
        steps.extend([Step::Derived(5, vec![], hints.to_vec()), Step::Concluded(vec![5])]);
        replay(&clauses, &[], &steps)
    };
    assert_eq!(conclude(&[2, 3, 4, 1]), Ok(vec![]));
    assert_eq!(conclude(&[1, 2, 3, 4]), Err(ProofError::HintNotUnit { id: 5, hint: 1 }));
    assert_eq!(conclude(&[2, 3]), Err(ProofError::NoConflict { id: 5 }));
    assert_eq!(conclude(&[]), Err(ProofError::NoConflict { id: 5 }));
}

#[test]
fn a_missing_derivation_is_rejected() {
    let (clauses, steps) = proof_of_switched_pigeons();
    let is_used = |id: ClauseId| {
        steps.iter().any(|step| hints_of(&mut step.clone()).is_some_and(|hints| hints.contains(&id)))
    };
    let mut rejected = 0;
    for (place, step) in steps.iter().enumerate() {
        if matches!(step, Step::Derived(id, ..) if is_used(*id)) {
            let mut mutant = steps.clone();
            mutant.remove(place);
            let result = replay(&clauses, &SWITCH, &mutant);
            assert!(matches!(result, Err(ProofError::MissingClause { .. })), "{result:?}");
            rejected += 1;
        }
    }
    assert!(rejected > 20);
}

#[test]
fn a_fabricated_clause_is_rejected() {
    let (clauses, steps) = proof_of_switched_pigeons();
    let conclusion = Step::Concluded(vec![1_000_000]);
    let fabricated = [Step::Derived(1_000_000, vec![], vec![]), conclusion.clone()];
    let mutant = [&steps[..], &fabricated[..]].concat();
    assert_eq!(replay(&clauses, &SWITCH, &mutant), Err(ProofError::NoConflict { id: 1_000_000 }));
    let foreign = [Step::Original(1_000_000, vec![]), conclusion];
    let mutant = [&steps[..], &foreign[..]].concat();
    assert_eq!(replay(&clauses, &SWITCH, &mutant), Err(ProofError::ForeignOriginal { id: 1_000_000 }));
    let shortened = changed_once(&steps, 50, |step| match step {
        Step::Original(_, clause) => clause.pop().is_some(),
        _ => false,
    });
    for mutant in shortened {
        let result = replay(&clauses, &SWITCH, &mutant);
        assert!(matches!(result, Err(ProofError::ForeignOriginal { .. })), "{result:?}");
    }
}

#[test]
fn a_clause_is_taken_over_as_often_as_it_was_added() {
    let clauses = vec![vec![1], vec![1]];
    let steps = [1, 2, 3].map(|id| Step::Original(id, vec![1]));
    assert_eq!(replay(&clauses, &[], &steps[..2]), Err(ProofError::NoConclusion));
    assert_eq!(replay(&clauses, &[], &steps), Err(ProofError::ForeignOriginal { id: 3 }));
}

#[test]
fn a_conclusion_must_refute_the_assumptions() {
    let (clauses, mut steps) = proof_of_switched_pigeons();
    // The same proof says nothing about other assumptions.
    let foreign = replay(&clauses, &[999], &steps);
    assert!(matches!(foreign, Err(ProofError::ForeignLiteral { literal: -1000, .. })), "{foreign:?}");
    let Some(Step::Concluded(ids)) = steps.last_mut() else { panic!("a proof ends with its conclusion") };
    ids[0] = 1;
    assert!(matches!(replay(&clauses, &SWITCH, &steps), Err(ProofError::ForeignLiteral { id: 1, .. })));
    steps.pop();
    assert_eq!(replay(&clauses, &SWITCH, &steps), Err(ProofError::NoConclusion));
}

#[test]
fn only_clauses_put_aside_come_back() {
    let clauses = vec![vec![1, 2]];
    let run = |steps: &[Step]| {
        let mut all = vec![Step::Original(1, vec![1, 2])];
        all.extend_from_slice(steps);
        replay(&clauses, &[], &all).expect_err("nothing is refuted")
    };
    let (aside, gone) = (Step::Weakened(1), Step::Deleted(1));
    let back = |clause: &[i32]| Step::Restored(1, clause.to_vec());
    assert_eq!(run(&[aside.clone(), gone.clone(), back(&[2, 1])]), ProofError::NoConclusion);
    assert_eq!(run(&[aside.clone(), gone.clone(), back(&[1])]), ProofError::WrongRestore { id: 1 });
    assert_eq!(run(&[gone.clone(), back(&[1, 2])]), ProofError::WrongRestore { id: 1 });
    assert_eq!(run(&[back(&[1, 2])]), ProofError::WrongRestore { id: 1 });
    assert_eq!(
        run(&[aside, gone.clone(), back(&[1, 2]), gone.clone(), back(&[1, 2])]),
        ProofError::WrongRestore { id: 1 }
    );
    assert_eq!(run(&[gone.clone(), gone]), ProofError::MissingClause { step: 1, id: 1 });
}

#[test]
fn ids_literals_and_witnesses_are_checked() {
    let clauses = vec![vec![1], vec![0], vec![i32::MIN]];
    let first = Step::Original(1, vec![1]);
    let repeated = replay(&clauses, &[], &[first.clone(), Step::Derived(1, vec![1], vec![1])]);
    assert_eq!(repeated, Err(ProofError::RepeatedId { id: 1 }));
    for invalid in [0, i32::MIN] {
        let result = replay(&clauses, &[], &[Step::Original(2, vec![invalid])]);
        assert_eq!(result, Err(ProofError::InvalidLiteral { id: 2 }));
    }
    let mut checker = ProofChecker::new();
    checker.derived(7, -3, &[-3], &[]);
    assert_eq!(checker.failure(), Some(&ProofError::NotImplied { id: 7 }));
}

/// Whatever is done to a proof, it does not refute a formula that has a model.
#[test]
fn no_mutation_proves_too_much() {
    let mut mutants = 0;
    for seed in (first_seed()..).take(300) {
        let mut random = Rng(seed);
        let num_vars = 3 + random.below(6);
        let clauses: Vec<Vec<Lit>> = (0..7 * num_vars).map(|_| random.clause3(num_vars)).collect();
        let Some(proof) = prove(&to_dimacs(&clauses), &[]) else { continue };
        // The longest beginning of the formula that has a model.
        let mut table = Reference::default();
        let satisfiable = clauses.iter().take_while(|clause| {
            table.add_clause(clause);
            table.solve(&[], &Limits::NONE) == Answer::Sat
        });
        let rest = to_dimacs(&satisfiable.cloned().collect::<Vec<_>>());
        for _ in 0..50 {
            let mut mutant = proof.clone();
            for _ in 0..random.below(4) {
                mutate(&mut mutant, &mut random, num_vars);
            }
            assert!(replay(&rest, &[], &mutant).is_err(), "seed {seed}");
            // The same without the steps that introduce clauses nobody added.
            mutant.retain(|step| !matches!(step, Step::Original(_, clause) if !rest.contains(clause)));
            assert!(replay(&rest, &[], &mutant).is_err(), "seed {seed}");
            mutants += 1;
        }
    }
    assert!(mutants > 5_000, "only {mutants} mutants");
}

fn mutate(steps: &mut Vec<Step>, random: &mut Rng, num_vars: u32) {
    let place = random.below(steps.len() as u32) as usize;
    let other = steps[random.below(steps.len() as u32) as usize].clone();
    match random.below(5) {
        0 => drop(steps.remove(place)),
        1 => steps[place] = other,
        2 => steps.insert(place, other),
        _ => match &mut steps[place] {
            Step::Derived(_, clause, hints) if random.below(2) == 0 && !hints.is_empty() => {
                hints.swap_remove(random.below(hints.len() as u32) as usize);
                clause.pop();
            }
            Step::Derived(_, clause, _) | Step::Original(_, clause) if !clause.is_empty() => {
                let place = random.below(clause.len() as u32) as usize;
                clause[place] = random.lit(num_vars).to_ipasir();
            }
            Step::Concluded(ids) => ids[0] = i64::from(random.below(40)),
            _ => {}
        },
    }
}

/// A random circuit that grows gate by gate, with questions about pairs of its wires: what the engines ask, and
/// large enough for elimination and the other rewritings of CaDiCaL.
fn grow(seed: u64, mut add: impl FnMut(&[Lit]), mut ask: impl FnMut(u32, &[Lit])) {
    let mut random = Rng(seed);
    let inputs = 24;
    let mut num_vars = inputs;
    for round in 0..60 {
        for _ in 0..40 {
            let mut wire = || {
                let recent = num_vars.min(40);
                Lit::new(num_vars - 1 - random.below(recent), random.below(2) == 0)
            };
            let (a, b, gate) = (wire(), wire(), Lit::positive(num_vars));
            let and = vec![vec![!gate, a], vec![!gate, b], vec![gate, !a, !b]];
            let xor = vec![vec![!gate, a, b], vec![!gate, !a, !b], vec![gate, !a, b], vec![gate, a, !b]];
            for clause in if random.below(2) == 0 { and } else { xor } {
                add(&clause);
            }
            num_vars += 1;
        }
        let assumptions: Vec<Lit> = (0..4).map(|_| random.lit(num_vars)).collect();
        ask(round, &assumptions);
    }
}

#[test]
fn long_incremental_runs_are_accepted_step_by_step() {
    let mut unsat = 0;
    for seed in (first_seed()..).take(3) {
        let checked = RefCell::new(CadicalSolver::with_proof_check());
        let plain = RefCell::new(CadicalSolver::new());
        let add = |clause: &[Lit]| {
            checked.borrow_mut().add_clause(clause);
            plain.borrow_mut().add_clause(clause);
        };
        grow(seed, add, |round, assumptions| {
            let (mut checked, mut plain) = (checked.borrow_mut(), plain.borrow_mut());
            let answer = checked.solve(assumptions, &Limits::NONE);
            assert_eq!(answer, plain.solve(assumptions, &Limits::NONE), "seed {seed}, round {round}");
            if answer == Answer::Unsat {
                unsat += 1;
                assert_eq!(plain.solve(checked.core(), &Limits::NONE), Answer::Unsat);
            }
        });
        assert!(checked.borrow().statistics().proof_steps > 10_000);
    }
    assert!(unsat > 50, "only {unsat} proofs");
}

#[test]
fn such_runs_put_clauses_aside_and_restore_them() {
    let (solver, recorder) = recording();
    let solver = RefCell::new(solver);
    let add = |clause: &[Lit]| solver.borrow_mut().clause6(&to_dimacs(&[clause.to_vec()])[0]);
    grow(0, add, |_, assumptions| {
        for lit in assumptions {
            solver.borrow_mut().assume(lit.to_ipasir());
        }
        solver.borrow_mut().solve();
    });
    let steps = recorder.take().0;
    let count = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
    assert!(count(|step| matches!(step, Step::Weakened(_))) > 100);
    assert!(count(|step| matches!(step, Step::Restored(..))) > 100);
}
