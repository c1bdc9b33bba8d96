//! Symbolic states against explicit sets of valuations, on random statements and by hand.

use std::collections::BTreeSet;

use super::*;
use crate::qbf::Quantifier;
use crate::term::VarId;
use crate::testing::{self, Rng};

type Valuations = BTreeSet<Vec<bool>>;

const VARIABLES: usize = 3;

/// The set that a state stands for: all choices, one by one.
fn valuations(arena: &TermArena, state: &SymbolicState) -> Valuations {
    let terms = state.terms();
    let choices = arena.support(&terms);
    assert!(choices.len() <= 18, "{} choices are too many for brute force", choices.len());
    let place = |var| choices.binary_search(&var).expect("in the support");
    let mut set = Valuations::new();
    for block in 0..(1u64 << choices.len()).div_ceil(64) {
        let column = |var| (0..64).fold(0, |word, bit| word | ((block * 64 + bit) >> place(var) & 1) << bit);
        let words = arena.simulate(&terms, column);
        for bit in (0..64).filter(|bit| words[0] >> bit & 1 == 1) {
            set.insert(words[1..].iter().map(|word| word >> bit & 1 == 1).collect());
        }
    }
    set
}

/// A random expression: its truth table over the values and one `*` behind them.
struct Expression(u64);

impl Expression {
    fn random(rng: &mut Rng) -> Self {
        Self(if rng.below(3) == 0 { rng.next() & rng.next() } else { rng.next() })
    }

    fn term(&self, arena: &mut TermArena, values: &[Term]) -> Term {
        let star = arena.fresh();
        self.term_with(arena, values, star)
    }

    /// The term with `star` for the `*`.
    fn term_with(&self, arena: &mut TermArena, values: &[Term], star: Term) -> Term {
        let inputs: Vec<Term> = values.iter().copied().chain([star]).collect();
        let mut rows: Vec<Term> =
            (0..1 << inputs.len()).map(|row| Term::constant(self.0 >> row & 1 == 1)).collect();
        for &input in &inputs {
            rows = rows.chunks(2).map(|pair| arena.ite(input, pair[1], pair[0])).collect();
        }
        rows[0]
    }

    fn value(&self, values: &[bool], star: bool) -> bool {
        let inputs = values.iter().chain([&star]);
        let row: u64 = inputs.enumerate().map(|(i, &value)| u64::from(value) << i).sum();
        self.0 >> row & 1 == 1
    }

    /// Whether some value of `*` makes the expression `wanted`.
    fn can_be(&self, values: &[bool], wanted: bool) -> bool {
        self.value(values, false) == wanted || self.value(values, true) == wanted
    }
}

/// Executes one random statement on the symbolic and on the explicit side.
fn random_step(
    rng: &mut Rng,
    arena: &mut TermArena,
    state: &SymbolicState,
    set: &Valuations,
) -> (SymbolicState, Valuations) {
    let expression = Expression::random(rng);
    let slot = Slot::from_index(rng.below(VARIABLES));
    let other = Slot::from_index((slot.index() + 1) % VARIABLES);
    match rng.below(5) {
        0 => {
            let condition = expression.term(arena, &state.values);
            let kept = set.iter().filter(|values| expression.can_be(values, true)).cloned().collect();
            (state.assume(arena, condition), kept)
        }
        1 => {
            let condition = expression.term(arena, &state.values);
            let Assertion { pass, fail } = state.assert(arena, condition);
            let failing: Valuations =
                set.iter().filter(|values| expression.can_be(values, false)).cloned().collect();
            assert_eq!(valuations(arena, &fail), failing);
            let passing = set.iter().filter(|values| expression.can_be(values, true)).cloned().collect();
            (pass, passing)
        }
        2 => {
            let value = expression.term(arena, &state.values);
            let updates = [(slot, value), (other, state.value(slot))];
            let mut next = Valuations::new();
            for values in set {
                for star in [false, true] {
                    let mut after = values.clone();
                    after[slot.index()] = expression.value(values, star);
                    after[other.index()] = values[slot.index()];
                    next.insert(after);
                }
            }
            (state.assign(&updates), next)
        }
        3 => {
            // slot := * constrain e(old values, new value in the place of the star)
            let choice = arena.fresh();
            let next_state = state.assign_constrained(arena, &[(slot, choice)], |arena, now, next| {
                expression.term_with(arena, now, next[slot.index()])
            });
            let mut next = Valuations::new();
            for values in set {
                for value in [false, true] {
                    if expression.value(values, value) {
                        let mut after = values.clone();
                        after[slot.index()] = value;
                        next.insert(after);
                    }
                }
            }
            (next_state, next)
        }
        _ => {
            let mut next = Valuations::new();
            for values in set {
                for value in [false, true] {
                    let mut after = values.clone();
                    after[slot.index()] = value;
                    next.insert(after);
                }
            }
            (state.havoc(arena, &[slot]), next)
        }
    }
}

/// A random state, made by a few random statements, and its set.
fn random_state(rng: &mut Rng, arena: &mut TermArena, steps: usize) -> (SymbolicState, Valuations) {
    let mut state = SymbolicState::arbitrary(arena, VARIABLES);
    let mut set = valuations(arena, &state);
    for _ in 0..steps {
        (state, set) = random_step(rng, arena, &state, &set);
    }
    (state, set)
}

#[test]
fn example_3_3_of_the_thesis() {
    let mut arena = TermArena::new();
    let star = testing::vars(&mut arena, 2);
    let guard = arena.or(star[0], star[1]);
    let state = SymbolicState { guard, values: vec![star[0], arena.and(!star[0], star[1])] };
    let [a, b] = [0, 1].map(Slot::from_index);
    let next = state.assign_constrained(&mut arena, &[(a, !state.value(a))], |arena, now, next| {
        arena.or(!now[b.index()], next[a.index()])
    });
    insta::assert_snapshot!(arena.show(&next.terms()), @r"
    x0 | x1
    !x0
    !x0 & x1
    ");
}

#[test]
fn statements_do_to_states_what_they_do_to_sets() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let mut state = SymbolicState::arbitrary(&mut arena, VARIABLES);
        let mut set = valuations(&arena, &state);
        for _ in 0..6 {
            (state, set) = random_step(&mut rng, &mut arena, &state, &set);
            assert_eq!(valuations(&arena, &state), set, "seed {seed}");
        }
    }
}

#[test]
fn the_last_of_two_updates_counts() {
    let mut arena = TermArena::new();
    let state = SymbolicState::arbitrary(&mut arena, 1);
    let slot = Slot::new(0);
    assert_eq!(state.assign(&[(slot, Term::TRUE), (slot, Term::FALSE)]).values, [Term::FALSE]);
}

#[test]
fn merge_is_union_whether_or_not_the_guards_overlap() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let (base, set) = random_state(&mut rng, &mut arena, 2);
        let (left, left_set) = random_step(&mut rng, &mut arena, &base, &set);
        let (right, right_set) = random_step(&mut rng, &mut arena, &base, &set);
        let merged = left.merge(&mut arena, &right, Guards::MayOverlap);
        let union: Valuations = left_set.union(&right_set).cloned().collect();
        assert_eq!(valuations(&arena, &merged), union, "seed {seed}");

        let condition = Expression::random(&mut rng).term(&mut arena, &base.values);
        let Assertion { pass, fail } = base.assert(&mut arena, condition);
        let pass = pass.assign(&[(Slot::new(0), Term::TRUE)]);
        let union: Valuations =
            valuations(&arena, &pass).union(&valuations(&arena, &fail)).cloned().collect();
        let variables = arena.fresh_var();
        let merged = pass.merge(&mut arena, &fail, Guards::Exclusive);
        assert_eq!(valuations(&arena, &merged), union, "seed {seed}");
        assert_eq!(arena.fresh_var().number(), variables.number() + 1, "no choice is needed");
    }
}

#[test]
fn merging_by_overlapping_guards_would_lose_valuations() {
    let mut arena = TermArena::new();
    let [one, zero] =
        [Term::TRUE, Term::FALSE].map(|value| SymbolicState { guard: Term::TRUE, values: vec![value] });
    let merged = one.merge(&mut arena, &zero, Guards::MayOverlap);
    assert_eq!(valuations(&arena, &merged).len(), 2);
    assert_eq!(arena.support(&merged.terms()).len(), 1);
}

#[test]
fn merging_is_free_where_nothing_differs() {
    let mut arena = TermArena::new();
    let state = SymbolicState::arbitrary(&mut arena, 2);
    let [left, right] =
        [state.value(Slot::new(0)), state.value(Slot::new(1))].map(|c| state.assume(&mut arena, c));
    let merged = left.merge(&mut arena, &right, Guards::MayOverlap);
    insta::assert_snapshot!(arena.show(&merged.terms()), @r"
    x0 | x1
    x0
    x1
    ");
    let empty = state.assume(&mut arena, Term::FALSE);
    assert_eq!(empty.merge(&mut arena, &left, Guards::MayOverlap), left);
    assert_eq!(left.merge(&mut arena, &empty, Guards::MayOverlap), left);
}

/// A random path edge from arbitrary entry values, and its pairs.
fn random_edge(rng: &mut Rng, arena: &mut TermArena, steps: usize) -> (PathEdge, Valuations) {
    let (entry, _) = random_state(rng, arena, steps % 2);
    let mut edge = PathEdge::at_entry(&entry);
    for _ in 0..steps {
        let state = edge.current_state();
        let (next, _) = random_step(rng, arena, &state, &valuations(arena, &state));
        edge = edge.advance(next);
    }
    let pairs = valuations(arena, &edge.pairs());
    (edge, pairs)
}

#[test]
fn path_edges_relate_entry_and_current_values() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let entry = SymbolicState::arbitrary(&mut arena, VARIABLES);
        let mut expected: BTreeSet<(Vec<bool>, Vec<bool>)> =
            valuations(&arena, &entry).into_iter().map(|values| (values.clone(), values)).collect();
        let mut edge = PathEdge::at_entry(&entry);
        for _ in 0..3 {
            // The same statement from each single current valuation gives the pairs.
            let statement = rng.next();
            let (next, _) = {
                let state = edge.current_state();
                let set = valuations(&arena, &state);
                random_step(&mut Rng::new(statement), &mut arena, &state, &set)
            };
            edge = edge.advance(next);
            let mut stepped = BTreeSet::new();
            for (from, to) in expected {
                let single = SymbolicState {
                    guard: Term::TRUE,
                    values: to.iter().map(|&value| Term::constant(value)).collect(),
                };
                let mut scratch = TermArena::new();
                let set = Valuations::from([to]);
                let (_, targets) = random_step(&mut Rng::new(statement), &mut scratch, &single, &set);
                stepped.extend(targets.into_iter().map(|target| (from.clone(), target)));
            }
            expected = stepped;
            let pairs: Valuations =
                expected.iter().map(|(from, to)| [from.as_slice(), to].concat()).collect();
            assert_eq!(valuations(&arena, &edge.pairs()), pairs, "seed {seed}");
        }
    }
}

#[test]
fn merged_path_edges_hold_the_pairs_of_both() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let (left, left_pairs) = random_edge(&mut rng, &mut arena, 2);
        let (right, right_pairs) = random_edge(&mut rng, &mut arena, 1);
        let merged = left.merge(&mut arena, &right, Guards::MayOverlap);
        let union: Valuations = left_pairs.union(&right_pairs).cloned().collect();
        assert_eq!(valuations(&arena, &merged.pairs()), union, "seed {seed}");
    }
}

#[test]
fn composition_joins_call_and_summary() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let (summary, pairs) = random_edge(&mut rng, &mut arena, 2);
        let (caller, callers) = random_state(&mut rng, &mut arena, 1);
        // Arguments: v1, !v0 and v2; results: the first two exit values go to v2 and v0.
        let [v0, v1, v2] = [0, 1, 2].map(Slot::new);
        let arguments = [caller.value(v1), !caller.value(v0), caller.value(v2)];
        let call = CallSite { arguments: &arguments, results: &[(v0, v2), (v1, v0)] };
        let after = caller.apply_summary(&mut arena, &summary, call);
        let mut expected = Valuations::new();
        for values in &callers {
            let entry = [values[1], !values[0], values[2]];
            for pair in pairs.iter().filter(|pair| pair[..VARIABLES] == entry) {
                expected.insert(vec![pair[VARIABLES + 1], values[1], pair[VARIABLES]]);
            }
        }
        assert_eq!(valuations(&arena, &after.state), expected, "seed {seed}");
        let choices: Vec<VarId> = after.choices.iter().map(|&(choice, _)| choice).collect();
        assert_eq!(choices, arena.support(&summary.pairs().terms()), "seed {seed}");
    }
}

#[test]
fn a_summary_can_be_applied_twice_with_different_choices() {
    let mut arena = TermArena::new();
    let entry = SymbolicState::arbitrary(&mut arena, 1);
    let slot = Slot::new(0);
    // f: g := g ^ *
    let star = arena.fresh();
    let flipped = arena.xor(entry.value(slot), star);
    let summary = PathEdge::at_entry(&entry).advance(entry.assign(&[(slot, flipped)]));
    let mut caller = SymbolicState { guard: Term::TRUE, values: vec![Term::FALSE] };
    for _ in 0..2 {
        let arguments = [caller.value(slot)];
        let call = CallSite { arguments: &arguments, results: &[(slot, slot)] };
        caller = caller.apply_summary(&mut arena, &summary, call).state;
    }
    insta::assert_snapshot!(arena.show(&caller.terms()), @r"
    true
    x2 ^ x3
    ");
}

#[test]
fn an_entry_value_that_is_no_bare_choice_becomes_a_constraint() {
    let mut arena = TermArena::new();
    let x = testing::vars(&mut arena, 2);
    // A summary for equal entry values: (x0, x0) -> !x0.
    let summary = PathEdge { guard: Term::TRUE, entry: vec![x[0], x[0]], current: vec![!x[0]] };
    let caller = SymbolicState::arbitrary(&mut arena, 2);
    let call = CallSite { arguments: &caller.values.clone(), results: &[(Slot::new(0), Slot::new(0))] };
    let after = caller.apply_summary(&mut arena, &summary, call);
    insta::assert_snapshot!(arena.show(&after.state.terms()), @r"
    !(x2 ^ x3)
    !x2
    x3
    ");
}

#[test]
fn simple_path_constraints_compare_valuations() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let terms = testing::random_terms(&mut rng, &mut arena, 4, 20);
        let mut random_values = || -> Vec<Term> { (0..3).map(|_| rng.pick(&terms)).collect() };
        let states = [random_values(), random_values(), random_values()];
        let different = different_state(&mut arena, &states[0], &states[1]);
        let less = lexicographically_less(&mut arena, &states[0], &states[1]);
        let simple = pairwise_different(&mut arena, &states);
        for bits in 0..16u32 {
            let value = |term| arena.evaluate(term, |var| bits >> var.number() & 1 == 1);
            let [a, b, c] = states.clone().map(|state| state.into_iter().map(value).collect::<Vec<bool>>());
            assert_eq!(value(different), a != b, "seed {seed}");
            assert_eq!(value(less), a < b, "seed {seed}");
            assert_eq!(value(simple), a != b && b != c && a != c, "seed {seed}");
        }
    }
}

#[test]
fn no_variables_means_no_difference() {
    let mut arena = TermArena::new();
    assert_eq!(different_state(&mut arena, &[], &[]), Term::FALSE);
    assert_eq!(lexicographically_less(&mut arena, &[], &[]), Term::FALSE);
    assert_eq!(pairwise_different::<Vec<Term>>(&mut arena, &[]), Term::TRUE);
}

#[test]
fn inclusion_asks_for_all_of_one_and_some_of_the_other() {
    let mut answers = [0, 0];
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let (base, _) = random_state(&mut rng, &mut arena, 1);
        let base_set = valuations(&arena, &base);
        let (small, small_set) = random_step(&mut rng, &mut arena, &base, &base_set);
        let (large, large_set) = random_step(&mut rng, &mut arena, &base, &base_set);
        let Inclusion { question, renamed } = small.inclusion_in(&mut arena, &large);
        let is_exists = |&(quantifier, _): &(Quantifier, VarId)| quantifier == Quantifier::Exists;
        assert_eq!(question.prefix.variables().filter(is_exists).count(), renamed.len());
        assert_eq!(question.closed_prefix(&arena), question.prefix, "nothing is free");
        let expected = small_set.is_subset(&large_set);
        answers[usize::from(expected)] += 1;
        // For every universal choice the matrix must be satisfiable: its projection is everything.
        let universal: Vec<Term> = question
            .prefix
            .variables()
            .filter(|entry| !is_exists(entry))
            .map(|(_, var)| arena.var(var))
            .collect();
        let projection = SymbolicState { guard: question.matrix, values: universal.clone() };
        let answer = valuations(&arena, &projection).len() == 1 << universal.len();
        assert_eq!(answer, expected, "seed {seed}");
    }
    assert!(answers.iter().all(|&count| count > 20), "{answers:?}");
}
