//! What the embedded solver says when it is not allowed to finish.

use std::thread;
use std::time::{Duration, Instant};

use cusp_encodings::{Term, TermArena, VarId};
use cusp_solvers::qbf::{Embedded, QbfAnswer, QbfSolver, Question};
use cusp_solvers::{Limits, UnknownReason};

/// Whether all products of two large numbers that are 3 modulo 4 are products of two that are 1 modulo 4. They are
/// not if the factors are prime, but showing that for one of them takes as long as factoring it.
fn factoring(arena: &mut TermArena, bits: usize) -> Question {
    let mut product = || {
        let [a, b] = [(); 2].map(|()| (0..bits).map(|_| arena.fresh()).collect::<Vec<_>>());
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
        (a, b, sum)
    };
    let ((a, b, mine), (c, d, theirs)) = (product(), product());
    let vars = |arena: &TermArena, terms: [&[Term]; 2]| -> Vec<VarId> { arena.support(&terms.concat()) };
    let (universal, existential) = (vars(arena, [&a, &b]), vars(arena, [&c, &d]));
    let premise = arena.and_all([a[bits - 1], b[bits - 1], a[0], b[0], a[1], b[1]]);
    let mut matrix = arena.and_all([c[0], d[0], !c[1], !d[1]]);
    for (left, right) in mine.into_iter().zip(theirs) {
        let equal = arena.iff(left, right);
        matrix = arena.and(matrix, equal);
    }
    let matrix = arena.implies(premise, matrix);
    Question { universal, existential, matrix }
}

#[test]
fn a_requested_interrupt_a_past_deadline_and_used_up_limits_are_reasons() {
    let mut arena = TermArena::new();
    let question = factoring(&mut arena, 5);
    let nodes = arena.len();
    let mut solver = Embedded::new();
    let mut ask = |limits: &Limits, interrupt: bool| {
        let handle = solver.interrupt();
        if interrupt {
            handle.request();
        }
        let answer = solver.solve(&mut arena, &question, limits);
        handle.clear();
        answer
    };
    let unknown = |reason| QbfAnswer::Unknown(reason);
    assert_eq!(ask(&Limits::NONE, true), unknown(UnknownReason::Interrupted));
    let past = Limits { deadline: Some(Instant::now()), ..Limits::NONE };
    assert_eq!(ask(&past, false), unknown(UnknownReason::Deadline));
    let no_conflicts = Limits { conflicts: Some(0), ..Limits::NONE };
    assert_eq!(ask(&no_conflicts, false), unknown(UnknownReason::ConflictLimit));
    let no_decisions = Limits { decisions: Some(0), ..Limits::NONE };
    assert_eq!(ask(&no_decisions, false), unknown(UnknownReason::DecisionLimit));
    assert!(matches!(ask(&Limits::NONE, false), QbfAnswer::False(_)));
    assert_eq!(arena.len(), nodes, "only witnesses are made in the arena of the caller");
}

#[test]
fn limits_count_over_the_whole_call_and_not_over_the_life_of_the_solver() {
    let mut arena = TermArena::new();
    let question = factoring(&mut arena, 14);
    let mut solver = Embedded::new();
    let limits = Limits { conflicts: Some(300), ..Limits::NONE };
    for round in 1..=2 {
        let answer = solver.solve(&mut arena, &question, &limits);
        assert_eq!(answer, QbfAnswer::Unknown(UnknownReason::ConflictLimit));
        let conflicts = solver.statistics().conflicts;
        assert!((round * 300..=round * 310).contains(&conflicts), "{conflicts} conflicts");
    }
}

#[test]
fn an_interrupt_from_another_thread_ends_a_hard_question() {
    let mut arena = TermArena::new();
    let question = factoring(&mut arena, 32);
    let mut solver = Embedded::new();
    let handle = solver.interrupt();
    let requester = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        handle.request();
    });
    let answer = solver.solve(&mut arena, &question, &Limits::NONE);
    assert_eq!(answer, QbfAnswer::Unknown(UnknownReason::Interrupted));
    requester.join().expect("the other thread only asks");
}
