//! Snapshots show what is emitted, truth tables that it is right.

use rustsat::types::Lit;

use super::*;
use crate::testing::{self, Rng};

/// The clauses of one term over variables `x0..`, which get the numbers 1...
fn cnf_of(
    style: CnfStyle,
    polarity: Polarity,
    build: impl FnOnce(&mut TermArena, &[Term]) -> Term,
) -> String {
    let mut arena = TermArena::new();
    let vars = testing::vars(&mut arena, 4);
    let term = build(&mut arena, &vars);
    let (mut encoder, mut clauses) = (CnfEncoder::new(style), ClauseList::new());
    let lit = encoder.encode(&arena, term, polarity, &mut clauses);
    format!("{clauses}output {}", lit.to_ipasir())
}

#[test]
fn tseitin_conjunction_of_x_and_not_y() {
    let text = cnf_of(CnfStyle::Tseitin, Polarity::Positive, |a, x| a.and(x[0], !x[1]));
    insta::assert_snapshot!(text, @r"
    p cnf 3 3
    -3 1 0
    -3 -2 0
    3 -1 2 0
    output 3
    ");
}

#[test]
fn nested_conjunctions_become_one_gate() {
    let text = cnf_of(CnfStyle::Tseitin, Polarity::Both, |a, x| a.and_all([x[0], !x[1], x[2], x[3]]));
    insta::assert_snapshot!(text, @r"
    p cnf 5 5
    -5 1 0
    -5 -2 0
    -5 3 0
    -5 4 0
    5 -1 2 -3 -4 0
    output 5
    ");
}

#[test]
fn positive_disjunction_is_one_clause() {
    let text = cnf_of(CnfStyle::PlaistedGreenbaum, Polarity::Positive, |a, x| a.or_all(x.iter().copied()));
    insta::assert_snapshot!(text, @r"
    p cnf 5 1
    5 1 2 3 4 0
    output -5
    ");
}

#[test]
fn tseitin_exclusive_disjunction() {
    let text = cnf_of(CnfStyle::Tseitin, Polarity::Both, |a, x| a.xor(x[0], x[1]));
    insta::assert_snapshot!(text, @r"
    p cnf 3 4
    -3 1 2 0
    -3 -1 -2 0
    3 1 -2 0
    3 -1 2 0
    output 3
    ");
}

#[test]
fn negative_if_then_else() {
    let text = cnf_of(CnfStyle::PlaistedGreenbaum, Polarity::Negative, |a, x| a.ite(x[0], x[1], x[2]));
    insta::assert_snapshot!(text, @r"
    p cnf 4 3
    -4 -1 -2 0
    -4 1 -3 0
    -4 -2 -3 0
    output -4
    ");
}

#[test]
fn a_constant_is_a_unit_clause() {
    let text = cnf_of(CnfStyle::PlaistedGreenbaum, Polarity::Positive, |_, _| Term::FALSE);
    insta::assert_snapshot!(text, @r"
    p cnf 1 1
    1 0
    output -1
    ");
}

#[test]
fn the_missing_half_is_emitted_when_it_is_first_needed() {
    let mut arena = TermArena::new();
    let x = testing::vars(&mut arena, 3);
    let both = arena.and(x[0], x[1]);
    let root = arena.or(both, x[2]);
    let (mut encoder, mut clauses) = (CnfEncoder::new(CnfStyle::PlaistedGreenbaum), ClauseList::new());
    let mut log = Vec::new();
    for (term, polarity) in [
        (root, Polarity::Positive),
        (root, Polarity::Positive),
        (both, Polarity::Positive),
        (root, Polarity::Negative),
        (!root, Polarity::Both),
    ] {
        let before = clauses.len();
        let lit = encoder.encode(&arena, term, polarity, &mut clauses);
        let added = clauses.iter().skip(before).map(|clause| clause.iter().map(|lit| lit.to_ipasir()));
        let added: Vec<Vec<i32>> = added.map(Iterator::collect).collect();
        log.push(format!("{polarity:?} {}: {added:?}", lit.to_ipasir()));
    }
    insta::assert_snapshot!(log.join("\n"), @r"
    Positive -5: [[-4, 1], [-4, 2], [5, 3, 4]]
    Positive -5: []
    Positive 4: []
    Negative -5: [[4, -1, -2], [-5, -3], [-5, -4]]
    Both 5: []
    ");
}

#[test]
fn a_shared_conjunction_keeps_its_own_variable() {
    let text = cnf_of(CnfStyle::PlaistedGreenbaum, Polarity::Positive, |a, x| {
        let both = a.and(x[0], x[1]);
        let with_third = a.and(both, x[2]);
        let with_fourth = a.and(both, x[3]);
        a.xor(with_third, with_fourth)
    });
    insta::assert_snapshot!(text, @r"
    p cnf 8 11
    -5 1 0
    -5 2 0
    5 -1 -2 0
    -6 3 0
    -6 5 0
    6 -3 -5 0
    -7 4 0
    -7 5 0
    7 -4 -5 0
    -8 6 7 0
    -8 -6 -7 0
    output 8
    ");
}

#[test]
fn literals_are_remembered() {
    let mut arena = TermArena::new();
    let x = testing::vars(&mut arena, 2);
    let both = arena.and(x[0], x[1]);
    let (mut encoder, mut clauses) = (CnfEncoder::new(CnfStyle::PlaistedGreenbaum), ClauseList::new());
    assert_eq!(encoder.literal(both), None);
    let lit = encoder.encode(&arena, !both, Polarity::Positive, &mut clauses);
    assert_eq!(encoder.literal(!both), Some(lit));
    assert_eq!(encoder.literal(both), Some(!lit));
    assert_eq!(encoder.var_literal(&arena, VarId::new(1)), encoder.literal(x[1]));
    assert_eq!(encoder.var_literal(&arena, VarId::new(9)), None);
    encoder.assert_term(&arena, both, &mut clauses);
    assert_eq!(clauses.iter().last(), Some(&[!lit][..]));
}

/// Whether the clauses have a model that extends `fixed`; the variables of `clauses` are few.
fn models(clauses: &ClauseList, fixed: &[(Lit, bool)]) -> usize {
    (0..1u32 << clauses.var_count())
        .filter(|model| {
            let holds = |lit: Lit| (model >> lit.vidx32() & 1 == 1) == lit.is_pos();
            fixed.iter().all(|&(lit, value)| holds(lit) == value)
                && clauses.iter().all(|clause| clause.iter().any(|&lit| holds(lit)))
        })
        .count()
}

/// The values that the inputs known to the encoder have in the assignment `bits`.
fn inputs(arena: &TermArena, encoder: &CnfEncoder, bits: u32) -> Vec<(Lit, bool)> {
    let known = |number| Some((encoder.var_literal(arena, VarId::new(number))?, bits >> number & 1 == 1));
    (0..3).filter_map(known).collect()
}

#[test]
fn tseitin_preserves_models_on_all_small_terms() {
    testing::for_each_term(3, |arena, root| {
        let (mut encoder, mut clauses) = (CnfEncoder::new(CnfStyle::Tseitin), ClauseList::new());
        let output = encoder.encode(arena, root, Polarity::Positive, &mut clauses);
        for bits in 0..8 {
            let value = arena.evaluate(root, |var| bits >> var.number() & 1 == 1);
            let mut fixed = inputs(arena, &encoder, bits);
            assert_eq!(models(&clauses, &fixed), 1, "{root} {clauses}");
            fixed.push((output, value));
            assert_eq!(models(&clauses, &fixed), 1, "{root} {clauses}");
        }
    });
}

#[test]
fn each_polarity_implies_its_direction_on_all_small_terms() {
    testing::for_each_term(3, |arena, root| {
        for polarity in [Polarity::Positive, Polarity::Negative, Polarity::Both] {
            let (mut encoder, mut clauses) =
                (CnfEncoder::new(CnfStyle::PlaistedGreenbaum), ClauseList::new());
            let output = encoder.encode(arena, root, polarity, &mut clauses);
            assert_direction(arena, root, polarity, &encoder, &clauses, output);
        }
    });
}

fn assert_direction(
    arena: &TermArena,
    root: Term,
    polarity: Polarity,
    encoder: &CnfEncoder,
    clauses: &ClauseList,
    output: Lit,
) {
    for bits in 0..8 {
        let value = arena.evaluate(root, |var| bits >> var.number() & 1 == 1);
        let mut fixed = inputs(arena, encoder, bits);
        fixed.push((output, value));
        assert!(models(clauses, &fixed) > 0, "the right value is possible: {root} {clauses}");
        fixed.pop();
        fixed.push((output, !value));
        let is_excluded = match polarity {
            Polarity::Positive => !value,
            Polarity::Negative => value,
            Polarity::Both => true,
        };
        if is_excluded {
            assert_eq!(models(clauses, &fixed), 0, "the wrong value is not: {root} {clauses}");
        }
    }
}

#[test]
fn growing_by_random_requests_keeps_every_direction() {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let mut pool = testing::vars(&mut arena, 3);
        let (mut encoder, mut clauses) = (CnfEncoder::new(CnfStyle::PlaistedGreenbaum), ClauseList::new());
        let mut asked = Vec::new();
        for _ in 0..7 {
            let made = testing::random_gate(&mut rng, &mut arena, &pool);
            pool.push(made);
            let root = rng.pick(&pool);
            let polarity = [Polarity::Positive, Polarity::Negative, Polarity::Both][rng.below(3)];
            let output = encoder.encode(&arena, root, polarity, &mut clauses);
            asked.push((root, polarity, output));
        }
        assert!(clauses.var_count() < 16);
        for (root, polarity, output) in asked {
            assert_direction(&arena, root, polarity, &encoder, &clauses, output);
        }
    }
}

#[test]
fn a_deep_chain_is_encoded_without_stack() {
    let (arena, root) = testing::chain(200_000);
    let (mut encoder, mut clauses) = (CnfEncoder::new(CnfStyle::PlaistedGreenbaum), ClauseList::new());
    encoder.encode(&arena, root, Polarity::Positive, &mut clauses);
    assert!(clauses.len() > 200_000);
    let done = clauses.len();
    encoder.encode(&arena, root, Polarity::Positive, &mut clauses);
    assert_eq!(clauses.len(), done);
}
