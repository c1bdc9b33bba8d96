//! The semantics of transitions ([`super`]) as an interpreter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use super::{Choice, Firing, Flow, Marking, Net, Overflow, PlaceId, Transition, TransitionId};

/// Why a transition does not fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FireError {
    /// Tokens are missing, or a zero test fails.
    NotEnabled,
    /// The given choices do not fit the tokens that have to choose.
    WrongChoices,
    /// There would be too many tokens.
    Overflow,
}

impl From<Overflow> for FireError {
    fn from(_: Overflow) -> Self {
        Self::Overflow
    }
}

impl fmt::Display for FireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEnabled => f.write_str("the transition is not enabled"),
            Self::WrongChoices => f.write_str("the choices do not fit the tokens that have to choose"),
            Self::Overflow => Overflow.fmt(f),
        }
    }
}

impl std::error::Error for FireError {}

/// Whether the transition can fire, zero tests included.
#[must_use]
pub fn is_enabled(transition: &Transition, marking: &Marking) -> bool {
    marking.covers(&transition.take) && transition.upper.iter().all(|&(place, n)| marking.get(place) <= n)
}

/// Fires a transition, with its zero tests.
///
/// # Errors
/// If the transition is not enabled, the choices do not fit, or there would be too many tokens.
pub fn fire(transition: &Transition, marking: &Marking, choices: &[Choice]) -> Result<Marking, FireError> {
    if !is_enabled(transition, marking) {
        return Err(FireError::NotEnabled);
    }
    let left = marking.minus(&transition.take);
    let mut after = certain(transition, &left)?;
    let mut choices = choices.iter();
    for (place, n, places) in uncertain(transition, &left) {
        let choice = choices.next().filter(|choice| choice.from == place).ok_or(FireError::WrongChoices)?;
        let allowed = choice.to.iter().all(|(to, _)| places.contains(&to));
        if !allowed || choice.to.total() != u128::from(n) {
            return Err(FireError::WrongChoices);
        }
        after = after.plus(&choice.to)?;
    }
    if choices.next().is_some() {
        return Err(FireError::WrongChoices);
    }
    Ok(after)
}

/// The part of the result that does not depend on choices: tokens that stay, transfers, copies, and the tokens of
/// `give`.
fn certain(transition: &Transition, left: &Marking) -> Result<Marking, Overflow> {
    if transition.moves.is_empty() {
        return left.plus(&transition.give);
    }
    let mut entries: Vec<(PlaceId, u64)> = transition.give.entries().to_vec();
    for (place, n) in left.iter() {
        match transition.flow(place) {
            None => entries.push((place, n)),
            Some(Flow::All(places)) => entries.extend(places.iter().map(|&to| (to, n))),
            Some(Flow::Each(_)) => {}
        }
    }
    Marking::sum_of(entries)
}

/// The marked places whose tokens choose where to go, with the places they can choose.
fn uncertain<'a>(
    transition: &'a Transition,
    left: &'a Marking,
) -> impl Iterator<Item = (PlaceId, u64, &'a [PlaceId])> {
    left.iter().filter_map(|(place, n)| match transition.flow(place) {
        Some(Flow::Each(places)) => Some((place, n, &places[..])),
        _ => None,
    })
}

/// The markings that one firing can lead to, each with the choices that lead there.
pub type Successors = Vec<(Vec<Choice>, Marking)>;

/// All markings that firing the transition once can lead to, zero tests included, each with the choices that lead
/// there. There may be very many of them, so this is for small systems only.
///
/// # Errors
/// If there would be too many tokens.
pub fn successors(transition: &Transition, marking: &Marking) -> Result<Successors, Overflow> {
    Ok(successors_unless(transition, marking, &|| false)?.unwrap_or_default())
}

/// Like [`successors`], for callers that may have to give up: `stop` is called at every thousandth choice, and the
/// result is `None` if it returned `true`.
///
/// # Errors
/// If there would be too many tokens.
pub fn successors_unless(
    transition: &Transition,
    marking: &Marking,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Successors>, Overflow> {
    if !is_enabled(transition, marking) {
        return Ok(Some(Vec::new()));
    }
    let left = marking.minus(&transition.take);
    let mut steps = 0_u32;
    let mut must_stop = || {
        steps = steps.wrapping_add(1);
        steps.is_multiple_of(1_000) && stop()
    };
    let mut partial = vec![(Vec::new(), certain(transition, &left)?)];
    for (from, n, places) in uncertain(transition, &left) {
        let mut extended: BTreeMap<Marking, Vec<Choice>> = BTreeMap::new();
        let Some(ways) = distributions(n, places, &mut must_stop) else { return Ok(None) };
        for to in ways {
            for (choices, sum) in &partial {
                if must_stop() {
                    return Ok(None);
                }
                let all = || choices.iter().cloned().chain([Choice { from, to: to.clone() }]).collect();
                extended.entry(sum.plus(&to)?).or_insert_with(all);
            }
        }
        partial = extended.into_iter().map(|(sum, choices)| (choices, sum)).collect();
    }
    Ok(Some(partial))
}

/// All ways to distribute `n` tokens over a non-empty list of places; `None` if it was stopped before it was done.
fn distributions(n: u64, places: &[PlaceId], must_stop: &mut dyn FnMut() -> bool) -> Option<Vec<Marking>> {
    let mut partial = vec![(Marking::new(), n)];
    let (last, others) = places.split_last().expect("tokens that move go somewhere");
    for &place in others {
        let mut extended = Vec::new();
        for (marking, left) in &partial {
            for here in 0..=*left {
                if must_stop() {
                    return None;
                }
                let mut more = marking.clone();
                more.set(place, here);
                extended.push((more, left - here));
            }
        }
        partial = extended;
    }
    for (marking, left) in &mut partial {
        marking.set(*last, *left);
    }
    Some(partial.into_iter().map(|(marking, _)| marking).collect())
}

/// Fires a transition so that the result covers `goal`, if that is possible, zero tests included. Tokens that are not
/// needed for the goal go to the first place that they can choose.
///
/// # Errors
/// If there would be too many tokens.
pub fn fire_towards(
    transition: &Transition,
    marking: &Marking,
    goal: &Marking,
) -> Result<Option<(Vec<Choice>, Marking)>, Overflow> {
    if !is_enabled(transition, marking) {
        return Ok(None);
    }
    let left = marking.minus(&transition.take);
    let certain = certain(transition, &left)?;
    let demand = goal.minus(&certain);
    let choosers: Vec<(PlaceId, u64, &[PlaceId])> = uncertain(transition, &left).collect();
    let Some(sent) = transport(&choosers, &demand) else { return Ok(None) };
    let mut after = certain;
    let mut choices = Vec::with_capacity(choosers.len());
    for (&(from, n, places), mut to) in choosers.iter().zip(sent) {
        let used = u64::try_from(to.total()).map_err(|_| Overflow)?;
        to.add(places[0], n - used)?;
        after = after.plus(&to)?;
        choices.push(Choice { from, to });
    }
    Ok(Some((choices, after)))
}

/// Fires a transition so that the result covers a goal. If a zero test forbids it, another transition is fired
/// instead, if there is one whose result covers what the first one would lead to without the test.
///
/// # Errors
/// If there would be too many tokens.
pub fn fire_or_replace(
    net: &Net,
    transition: TransitionId,
    marking: &Marking,
    goal: &Marking,
) -> Result<Option<(Firing, Marking)>, Overflow> {
    let wanted = net.transition(transition);
    if let Some((choices, after)) = fire_towards(wanted, marking, goal)? {
        return Ok(Some((Firing { transition, choices }, after)));
    }
    if is_enabled(wanted, marking) {
        return Ok(None);
    }
    let weaker = Transition { upper: Vec::new(), ..wanted.clone() };
    let Some((_, least)) = fire_towards(&weaker, marking, goal)? else { return Ok(None) };
    for transition in net.transition_ids() {
        if let Some((choices, after)) = fire_towards(net.transition(transition), marking, &least)? {
            return Ok(Some((Firing { transition, choices }, after)));
        }
    }
    Ok(None)
}

/// Distributes the tokens of the choosers so that every demand is met, if that is possible. This is a flow in a
/// bipartite graph, found by augmenting paths.
fn transport(choosers: &[(PlaceId, u64, &[PlaceId])], demand: &Marking) -> Option<Vec<Marking>> {
    let mut sent = vec![Marking::new(); choosers.len()];
    let mut free: Vec<u64> = choosers.iter().map(|&(_, n, _)| n).collect();
    for (place, wanted) in demand.iter() {
        let mut missing = wanted;
        while missing > 0 {
            // Breadth-first search from the place that lacks tokens to a chooser with tokens left. Each chooser on
            // the path redirects tokens from the next place to the one before.
            let mut reached: BTreeSet<PlaceId> = BTreeSet::from([place]);
            let mut via: Vec<Option<(PlaceId, Option<usize>)>> = vec![None; choosers.len()];
            let mut queue = VecDeque::from([(place, None)]);
            let mut found = None;
            'search: while let Some((at, before)) = queue.pop_front() {
                for (i, &(_, _, places)) in choosers.iter().enumerate() {
                    if via[i].is_some() || !places.contains(&at) {
                        continue;
                    }
                    via[i] = Some((at, before));
                    if free[i] > 0 {
                        found = Some(i);
                        break 'search;
                    }
                    for (other, _) in sent[i].iter() {
                        if reached.insert(other) {
                            queue.push_back((other, Some(i)));
                        }
                    }
                }
            }
            let last = found?;
            let mut path = vec![last];
            let mut amount = missing.min(free[last]);
            let mut step = via[last];
            while let Some((at, Some(i))) = step {
                amount = amount.min(sent[i].get(at));
                path.push(i);
                step = via[i];
            }
            free[last] -= amount;
            let mut give_up: Option<PlaceId> = None;
            for &i in &path {
                let (at, _) = via[i]?;
                if let Some(other) = give_up {
                    let rest = sent[i].get(other) - amount;
                    sent[i].set(other, rest);
                }
                let more = sent[i].get(at) + amount;
                sent[i].set(at, more);
                give_up = Some(at);
            }
            missing -= amount;
        }
    }
    Some(sent)
}

#[cfg(test)]
mod tests {
    use super::super::Move;
    use super::*;

    fn p(i: usize) -> PlaceId {
        PlaceId::from_index(i)
    }

    fn marking(entries: &[(usize, u64)]) -> Marking {
        Marking::sum_of(entries.iter().map(|&(i, n)| (p(i), n))).expect("small")
    }

    #[test]
    fn the_taken_tokens_do_not_move_with_the_others() {
        // think >= 1 -> use' = use + 1, wait' = wait + think - 1, think' = 0
        let transition = Transition {
            take: marking(&[(0, 1)]),
            give: marking(&[(1, 1)]),
            moves: vec![Move { from: p(0), flow: Flow::All(vec![p(2)]) }],
            ..Transition::default()
        };
        assert_eq!(fire(&transition, &marking(&[(0, 5)]), &[]), Ok(marking(&[(1, 1), (2, 4)])));
        assert_eq!(fire(&transition, &marking(&[(1, 5)]), &[]), Err(FireError::NotEnabled));
    }

    #[test]
    fn resets_copies_and_zero_tests() {
        let transition = Transition {
            moves: vec![
                Move { from: p(0), flow: Flow::All(vec![]) },
                Move { from: p(1), flow: Flow::All(vec![p(1), p(2), p(2)]) },
            ],
            upper: vec![(p(3), 0)],
            ..Transition::default()
        };
        assert_eq!(fire(&transition, &marking(&[(0, 9), (1, 2)]), &[]), Ok(marking(&[(1, 2), (2, 4)])));
        assert_eq!(fire(&transition, &marking(&[(3, 1)]), &[]), Err(FireError::NotEnabled));
        assert_eq!(fire(&transition, &marking(&[(1, u64::MAX)]), &[]), Err(FireError::Overflow));
    }

    #[test]
    fn every_token_of_a_set_valued_move_chooses_for_itself() {
        let transition = Transition {
            moves: vec![
                Move { from: p(0), flow: Flow::Each(vec![p(0), p(1)]) },
                Move { from: p(2), flow: Flow::Each(vec![p(1), p(3)]) },
            ],
            ..Transition::default()
        };
        let before = marking(&[(0, 2), (2, 1)]);
        let all = successors(&transition, &before).expect("small");
        assert_eq!(all.len(), 6);
        for (choices, after) in &all {
            assert_eq!(fire(&transition, &before, choices).as_ref(), Ok(after));
            let (choices, reached) =
                fire_towards(&transition, &before, after).expect("small").expect("possible");
            assert_eq!(reached, *after);
            assert_eq!(fire(&transition, &before, &choices).as_ref(), Ok(after));
        }
        assert_eq!(fire_towards(&transition, &before, &marking(&[(0, 2), (1, 2)])), Ok(None));
        assert_eq!(fire(&transition, &before, &[]), Err(FireError::WrongChoices));
        let to = marking(&[(1, 3)]);
        assert_eq!(fire(&transition, &before, &[Choice { from: p(0), to }]), Err(FireError::WrongChoices));
    }

    #[test]
    fn a_search_that_must_stop_does_not_list_all_choices() {
        // 60 places to choose from allow far too many choices to list them all.
        let places: Vec<PlaceId> = (0..60).map(p).collect();
        let moves = vec![Move { from: p(0), flow: Flow::Each(places) }];
        let transition = Transition { moves, ..Transition::default() };
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() == 3
        };
        assert_eq!(successors_unless(&transition, &marking(&[(0, 1 << 40)]), &stop), Ok(None));
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn tokens_already_sent_are_redirected_when_others_need_them() {
        let transition = Transition {
            moves: vec![
                Move { from: p(0), flow: Flow::Each(vec![p(2), p(3)]) },
                Move { from: p(1), flow: Flow::Each(vec![p(2), p(4)]) },
            ],
            ..Transition::default()
        };
        let before = marking(&[(0, 3), (1, 3)]);
        let goal = marking(&[(2, 3), (3, 3)]);
        let (_, after) = fire_towards(&transition, &before, &goal).expect("small").expect("possible");
        assert_eq!(after, goal);
    }
}
