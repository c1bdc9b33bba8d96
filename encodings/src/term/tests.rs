//! One test per rewrite rule, and the semantics of all of them together.

use super::*;
use crate::testing::{self, Rng};

/// Three variables and an arena.
fn pqr() -> (TermArena, Term, Term, Term) {
    let mut arena = TermArena::new();
    let vars = testing::vars(&mut arena, 3);
    (arena, vars[0], vars[1], vars[2])
}

/// The conjunction is the expected term, in both orders, and costs no node.
fn assert_and(arena: &mut TermArena, a: Term, b: Term, expected: Term) {
    let nodes = arena.len();
    assert_eq!(arena.and(a, b), expected);
    assert_eq!(arena.and(b, a), expected);
    assert_eq!(arena.len(), nodes);
}

/// As [`assert_and`], for exclusive disjunction.
fn assert_xor(arena: &mut TermArena, a: Term, b: Term, expected: Term) {
    let nodes = arena.len();
    assert_eq!(arena.xor(a, b), expected);
    assert_eq!(arena.xor(b, a), expected);
    assert_eq!(arena.xor(!a, b), !expected);
    assert_eq!(arena.xor(!a, !b), expected);
    assert_eq!(arena.len(), nodes);
}

#[test]
fn terms_print_as_numbers() {
    let (mut arena, p, q, _) = pqr();
    let both = arena.and(p, q);
    assert_eq!(format!("{both} {} {} {}", !both, Term::TRUE, Term::FALSE), "t4 !t4 true false");
    assert_eq!(VarId::new(3).to_string(), "x3");
}

#[test]
fn nodes_are_what_was_built() {
    let (mut arena, p, q, _) = pqr();
    let and = arena.and(!q, p);
    let xor = arena.xor(!q, p);
    assert_eq!(arena.node(and), Node::And(p, !q));
    assert_eq!(arena.node(!and), Node::And(p, !q));
    assert_eq!(arena.node(xor), Node::Xor(p, q));
    assert!(xor.is_complemented());
    assert_eq!(arena.node(q), Node::Var(VarId::new(1)));
    assert_eq!(arena.node(Term::FALSE), Node::True);
}

#[test]
fn equal_requests_share_a_node() {
    let (mut arena, p, q, _) = pqr();
    let first = arena.and(p, q);
    let nodes = arena.len();
    assert_eq!(arena.and(q, p), first);
    assert_eq!(arena.len(), nodes);
}

#[test]
fn fresh_variables_are_new_and_any_variable_may_be_named() {
    let mut arena = TermArena::new();
    let named = arena.var(VarId::new(7));
    assert_eq!(arena.fresh_var(), VarId::new(8));
    assert_eq!(arena.find_var(VarId::new(7)), Some(named));
    assert_eq!(arena.find_var(VarId::new(6)), None);
    let last = arena.var(VarId::new(u32::MAX));
    assert_eq!(arena.node(last), Node::Var(VarId::new(u32::MAX)));
    assert_ne!(last, Term::TRUE);
}

#[test]
fn an_arena_can_be_sent_to_a_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<TermArena>();
}

#[test]
fn the_table_grows_and_keeps_everything() {
    let mut arena = TermArena::new();
    let vars: Vec<Term> = (0..40_000).map(|_| arena.fresh()).collect();
    let pairs: Vec<Term> = vars.windows(2).map(|pair| arena.and(pair[0], pair[1])).collect();
    assert_eq!(arena.len(), 1 + vars.len() + pairs.len());
    for (pair, &known) in vars.windows(2).zip(&pairs) {
        assert_eq!(arena.and(pair[1], pair[0]), known);
    }
}

#[test]
fn a_node_takes_at_most_24_bytes() {
    let mut arena = TermArena::new();
    for size in 0..700_000 {
        arena.fresh();
        // Right after the table has doubled is the worst moment.
        assert!(size < 20_000 || arena.memory_bytes() <= 24 * arena.len(), "{size} nodes");
    }
}

mod rule {
    use super::*;

    #[test]
    fn and_neutrality() {
        let (mut arena, p, ..) = pqr();
        assert_and(&mut arena, Term::TRUE, p, p);
    }

    #[test]
    fn and_boundedness() {
        let (mut arena, p, ..) = pqr();
        assert_and(&mut arena, Term::FALSE, p, Term::FALSE);
    }

    #[test]
    fn and_idempotence() {
        let (mut arena, p, ..) = pqr();
        assert_and(&mut arena, !p, !p, !p);
    }

    #[test]
    fn and_contradiction() {
        let (mut arena, p, ..) = pqr();
        assert_and(&mut arena, p, !p, Term::FALSE);
    }

    #[test]
    fn absorption() {
        let (mut arena, p, q, _) = pqr();
        let both = arena.and(p, !q);
        assert_and(&mut arena, both, p, both);
        assert_and(&mut arena, both, !q, both);
    }

    #[test]
    fn deep_contradiction() {
        let (mut arena, p, q, _) = pqr();
        let both = arena.and(p, !q);
        assert_and(&mut arena, both, !p, Term::FALSE);
        assert_and(&mut arena, both, q, Term::FALSE);
    }

    #[test]
    fn subsumption() {
        let (mut arena, p, q, _) = pqr();
        let both = arena.and(p, q);
        assert_and(&mut arena, !both, !p, !p);
        assert_and(&mut arena, !both, !q, !q);
    }

    #[test]
    fn substitution() {
        let (mut arena, p, q, _) = pqr();
        let both = arena.and(p, q);
        let (left, right) = (arena.and(p, !q), arena.and(!p, q));
        assert_and(&mut arena, !both, p, left);
        assert_and(&mut arena, !both, q, right);
    }

    #[test]
    fn substitution_into_xor() {
        let (mut arena, p, q, _) = pqr();
        let xor = arena.xor(p, q);
        let (only_p, only_q) = (arena.and(p, !q), arena.and(!p, q));
        let (both, none) = (arena.and(p, q), arena.and(!p, !q));
        assert_and(&mut arena, xor, p, only_p);
        assert_and(&mut arena, xor, !p, only_q);
        assert_and(&mut arena, xor, q, only_q);
        assert_and(&mut arena, !xor, p, both);
        assert_and(&mut arena, !xor, !q, none);
    }

    #[test]
    fn symmetric_contradiction() {
        let (mut arena, p, q, r) = pqr();
        let (left, right) = (arena.and(p, q), arena.and(!p, r));
        assert_and(&mut arena, left, right, Term::FALSE);
    }

    #[test]
    fn symmetric_idempotence() {
        let (mut arena, p, q, r) = pqr();
        let (left, right) = (arena.and(p, q), arena.and(p, r));
        let all = arena.and(left, r);
        assert_and(&mut arena, left, right, all);
        assert_eq!(arena.node(all), Node::And(r, left));
    }

    #[test]
    fn symmetric_subsumption() {
        let (mut arena, p, q, r) = pqr();
        let (left, right) = (arena.and(p, q), arena.and(!p, r));
        assert_and(&mut arena, !left, right, right);
        assert_and(&mut arena, left, !right, left);
    }

    #[test]
    fn symmetric_substitution() {
        let (mut arena, p, q, r) = pqr();
        let (left, right) = (arena.and(p, q), arena.and(p, r));
        let (without_q, without_r) = (arena.and(!q, right), arena.and(!r, left));
        assert_and(&mut arena, !left, right, without_q);
        assert_and(&mut arena, left, !right, without_r);
    }

    #[test]
    fn resolution() {
        let (mut arena, p, q, _) = pqr();
        let (left, right) = (arena.and(p, q), arena.and(p, !q));
        assert_and(&mut arena, !left, !right, !p);
    }

    #[test]
    fn xor_shape() {
        let (mut arena, p, q, _) = pqr();
        let (both, none) = (arena.and(p, q), arena.and(!p, !q));
        let (only_p, only_q) = (arena.and(p, !q), arena.and(!p, q));
        let xor = arena.xor(p, q);
        assert_and(&mut arena, !both, !none, xor);
        assert_and(&mut arena, !only_p, !only_q, !xor);
    }

    #[test]
    fn xor_complement() {
        let (mut arena, p, q, _) = pqr();
        let xor = arena.xor(p, q);
        assert_xor(&mut arena, p, q, xor);
    }

    #[test]
    fn xor_neutrality() {
        let (mut arena, p, ..) = pqr();
        assert_xor(&mut arena, Term::FALSE, p, p);
    }

    #[test]
    fn xor_cancellation() {
        let (mut arena, p, ..) = pqr();
        assert_xor(&mut arena, p, p, Term::FALSE);
    }

    #[test]
    fn deep_cancellation() {
        let (mut arena, p, q, _) = pqr();
        let xor = arena.xor(p, q);
        assert_xor(&mut arena, xor, p, q);
        assert_xor(&mut arena, xor, q, p);
    }

    #[test]
    fn difference() {
        let (mut arena, p, q, _) = pqr();
        let (both, only_q) = (arena.and(p, q), arena.and(!p, q));
        let (only_p, none) = (arena.and(p, !q), arena.and(!p, !q));
        assert_xor(&mut arena, both, p, only_p);
        assert_xor(&mut arena, both, q, only_q);
        assert_xor(&mut arena, only_q, p, !none);
        assert_xor(&mut arena, only_p, q, !none);
    }

    #[test]
    fn symmetric_cancellation() {
        let (mut arena, p, q, r) = pqr();
        let (left, right, rest) = (arena.xor(p, q), arena.xor(r, p), arena.xor(q, r));
        assert_xor(&mut arena, left, right, rest);
    }

    #[test]
    fn ite_same_branches() {
        let (mut arena, p, q, _) = pqr();
        assert_eq!(arena.ite(p, q, q), q);
    }

    #[test]
    fn ite_opposite_branches() {
        let (mut arena, p, q, _) = pqr();
        let iff = arena.iff(p, q);
        assert_eq!(arena.ite(p, q, !q), iff);
    }

    #[test]
    fn ite_constant_condition() {
        let (mut arena, p, q, _) = pqr();
        assert_eq!(arena.ite(Term::TRUE, p, q), p);
        assert_eq!(arena.ite(Term::FALSE, p, q), q);
    }

    #[test]
    fn ite_known_in_then() {
        let (mut arena, p, q, _) = pqr();
        let (or, and) = (arena.or(p, q), arena.and(!p, q));
        assert_eq!(arena.ite(p, p, q), or);
        assert_eq!(arena.ite(p, !p, q), and);
    }

    #[test]
    fn ite_known_in_else() {
        let (mut arena, p, q, _) = pqr();
        let (and, or) = (arena.and(p, q), arena.or(!p, q));
        assert_eq!(arena.ite(p, q, p), and);
        assert_eq!(arena.ite(p, q, !p), or);
    }

    #[test]
    fn ite_constant_branch() {
        let (mut arena, p, q, _) = pqr();
        let (either, not_p, implies, both) =
            (arena.or(p, q), arena.and(!p, q), arena.implies(p, q), arena.and(p, q));
        assert_eq!(arena.ite(p, Term::TRUE, q), either);
        assert_eq!(arena.ite(p, Term::FALSE, q), not_p);
        assert_eq!(arena.ite(p, q, Term::TRUE), implies);
        assert_eq!(arena.ite(p, q, Term::FALSE), both);
    }
}

#[test]
fn if_then_else_is_recognised() {
    let (mut arena, p, q, r) = pqr();
    let ite = arena.ite(p, q, !r);
    assert_eq!(arena.as_ite(ite), Some((p, q, !r)));
    assert_eq!(arena.as_ite(!ite), Some((p, !q, r)));
    assert_eq!(arena.ite(!p, !r, q), ite);
    let and = arena.and(p, q);
    let xor = arena.xor(p, q);
    assert_eq!(arena.as_ite(and), None);
    assert_eq!(arena.as_ite(xor), None);
    assert_eq!(arena.as_ite(Term::TRUE), None);
}

#[test]
fn n_ary_connectives_fold() {
    let (mut arena, p, q, r) = pqr();
    assert_eq!(arena.and_all([]), Term::TRUE);
    assert_eq!(arena.or_all([]), Term::FALSE);
    let all = arena.and_all([p, q, r]);
    let any = arena.or_all([!p, !q, !r]);
    assert_eq!(all, !any);
}

#[test]
fn a_cascade_of_rewrites_is_cut_off_and_stays_right() {
    let (mut arena, p, q, r) = pqr();
    let (mut deep, both) = (r, arena.and(p, q));
    for i in 0..40 {
        // Every second conjunct repeats, two levels apart, where no rule sees it.
        deep = arena.and(if i % 2 == 0 { p } else { q }, deep);
    }
    let cut = arena.and(!deep, both);
    let expected = arena.and(!r, both);
    assert_eq!(testing::truth_table(&arena, cut), testing::truth_table(&arena, expected));
}

#[test]
fn rewriting_preserves_the_truth_table_of_all_small_terms() {
    let mut checked = 0;
    testing::for_each_term(3, |arena, term| {
        let expected = testing::truth_table(arena, term);
        let mut other = TermArena::new();
        testing::vars(&mut other, 3);
        // The same function again, gate by gate, from the other side of every gate.
        let mut copies = vec![Term::TRUE; term.index() + 1];
        for node in arena.cone(&[term]) {
            let copy = |child: Term| copies[child.index()].complement_if(child.is_complemented());
            copies[node.index()] = match arena.node(node) {
                Node::True => Term::TRUE,
                Node::Var(var) => other.var(var),
                Node::And(a, b) => {
                    let (a, b) = (copy(a), copy(b));
                    let (or, xor) = (other.or(a, b), other.xor(a, b));
                    other.and(or, !xor)
                }
                Node::Xor(a, b) => {
                    let (a, b) = (copy(a), copy(b));
                    let (or, both) = (other.or(a, b), other.and(b, a));
                    other.and(!both, or)
                }
            };
        }
        let copy = copies[term.index()].complement_if(term.is_complemented());
        assert_eq!(testing::truth_table(&other, copy), expected);
        checked += 1;
    });
    assert!(checked > 500, "{checked}");
}

#[test]
fn random_gates_have_the_value_of_their_operands() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let mut pool = testing::vars(&mut arena, 4);
        pool.push(Term::TRUE);
        for _ in 0..40 {
            let [a, b, c] = [(); 3].map(|()| rng.pick(&pool));
            let [ta, tb, tc] = [a, b, c].map(|term| testing::truth_table(&arena, term));
            let (made, expected) = match rng.below(6) {
                0 => (arena.and(a, b), ta & tb),
                1 => (arena.or(a, b), ta | tb),
                2 => (arena.xor(a, b), ta ^ tb),
                3 => (arena.iff(a, b), !(ta ^ tb)),
                4 => (arena.implies(a, b), !ta | tb),
                _ => (arena.ite(a, b, c), ta & tb | !ta & tc),
            };
            assert_eq!(testing::truth_table(&arena, made), expected, "seed {seed}");
            if let Some((condition, then, otherwise)) = arena.as_ite(made) {
                let [condition, then, otherwise] =
                    [condition, then, otherwise].map(|term| testing::truth_table(&arena, term));
                assert_eq!(condition & then | !condition & otherwise, expected, "seed {seed}");
            }
            pool.push(made);
        }
    }
}
