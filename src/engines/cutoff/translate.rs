//! Translates a Petri net into a program that threads run.
//!
//! Every token is a thread, and there is one more local state than there are places: a pool in which all threads
//! start, and which supplies and collects tokens. Threads first set up an initial marking, then run transitions. A
//! transition that takes or gives several tokens is a chain of thread transitions between its own shared states,
//! and so is a target. This is the translation of the paper (its nets have as many local states as this translation
//! produces), so cutoffs can be compared. A cutoff counts the threads of the translation, including those in the
//! pool; the steps of a chain are taken by threads one after the other.
//!
//! Nets with transfers are translated by [`System::of`], in which tokens that are taken step aside.

use std::collections::{BTreeMap, BTreeSet};

use crate::net::tts::{Arrow, InitialState, NotATts, Rule, System, TargetState, ThreadState};
use crate::net::{Marking, Net, Transition};
use crate::source::Span;

/// The greatest number of thread transitions. Every token of a transition needs one; with more than this, the
/// rounds would take too long.
const MOST_RULES: u128 = 200_000;

/// A net whose tokens are threads, and whose targets can be covered iff those of the net can.
///
/// # Errors
/// If the net tests for zero, copies tokens, or starts in a bounded range.
pub fn thread_net(net: &Net) -> Result<Net, NotATts> {
    if net.has_threads() {
        return Ok(net.clone());
    }
    if !net.is_monotone() {
        return Err(NotATts("the net tests for zero".to_owned()));
    }
    // The rules are counted before any is made: every token needs one step, and every move is part of one.
    let steps = |t: &Transition| t.take.total().saturating_add(t.give.total());
    let moves = |t: &Transition| t.moves.iter().map(|m| m.flow.places().len() as u128).sum::<u128>();
    let rules = net.transitions.iter().fold(0_u128, |sum, t| sum.saturating_add(steps(t) + moves(t)));
    let others = net.targets.iter().map(|target| target.least.total()).chain([net.initial.least().total()]);
    if others.fold(rules, u128::saturating_add) > MOST_RULES {
        return Err(NotATts("the numbers of tokens are too large to be written as steps".to_owned()));
    }
    let (system, initial, targets) =
        if net.transitions.iter().all(Transition::is_plain) { pooled(net)? } else { System::of(net)? };
    Ok(system.net(&initial, &targets))
}

struct Chains {
    shared_states: u32,
    rules: Vec<Rule>,
}

const POOL: u32 = 0;

fn local(place: crate::net::PlaceId) -> u32 {
    place.index() as u32 + 1
}

fn each(marking: &Marking) -> Vec<u32> {
    marking.iter().flat_map(|(place, n)| std::iter::repeat_n(local(place), n as usize)).collect()
}

impl Chains {
    fn fresh(&mut self) -> u32 {
        self.shared_states += 1;
        self.shared_states - 1
    }

    fn rule(&mut self, shared: (u32, u32), local: (u32, u32), span: Span) {
        let from = ThreadState { shared: shared.0, local: local.0 };
        let to = ThreadState { shared: shared.1, local: local.1 };
        self.rules.push(Rule { arrow: Arrow::Step, from, to, passive: Vec::new(), span });
    }

    /// A chain of steps from one shared state to another.
    fn chain(&mut self, from: u32, to: u32, steps: &[(u32, u32)], span: Span) {
        let mut shared = from;
        for (i, &step) in steps.iter().enumerate() {
            let after = if i + 1 == steps.len() { to } else { self.fresh() };
            self.rule((shared, after), step, span);
            shared = after;
        }
    }
}

/// The steps that take tokens and give others: each thread that leaves a place goes to another one, unless a later step
/// could take it there. Then all tokens are taken before any is given.
fn firing(take: &Marking, give: &Marking) -> Vec<(u32, u32)> {
    let (taken, given) = (each(take), each(give));
    let at = |list: &[u32], i: usize| list.get(i).copied().unwrap_or(POOL);
    let pairs: Vec<(u32, u32)> =
        (0..taken.len().max(given.len())).map(|i| (at(&taken, i), at(&given, i))).collect();
    let is_taken_later = |i: usize, to: u32| to != POOL && pairs[i + 1..].iter().any(|&(from, _)| from == to);
    if pairs.iter().enumerate().all(|(i, &(_, to))| !is_taken_later(i, to)) {
        return pairs;
    }
    let takes = taken.into_iter().map(|from| (from, POOL));
    takes.chain(given.into_iter().map(|to| (POOL, to))).collect()
}

fn pooled(net: &Net) -> Result<(System, InitialState, Vec<TargetState>), NotATts> {
    let mut chains = Chains { shared_states: 1, rules: Vec::new() };
    for &(place, range) in net.initial.ranges() {
        match range.most {
            None => chains.rule((0, 0), (POOL, local(place)), Span::default()),
            Some(most) if most > range.least => {
                let name = &net.place(place).name;
                return Err(NotATts(format!("`{name}` starts with a bounded range of tokens")));
            }
            Some(_) => {}
        }
    }
    let least: Vec<(u32, u32)> = each(&net.initial.least()).into_iter().map(|to| (POOL, to)).collect();
    let main = if least.is_empty() { 0 } else { chains.fresh() };
    chains.chain(0, main, &least, Span::default());
    for transition in &net.transitions {
        chains.chain(main, main, &firing(&transition.take, &transition.give), transition.span);
    }
    let mut targets = Vec::new();
    for target in &net.targets {
        let steps: Vec<(u32, u32)> = each(&target.least).into_iter().map(|from| (from, POOL)).collect();
        let reached = if steps.is_empty() { main } else { chains.fresh() };
        chains.chain(main, reached, &steps, target.span);
        let threads = if steps.is_empty() { BTreeMap::new() } else { BTreeMap::from([(POOL, 1)]) };
        targets.push(TargetState { shared: reached, threads, span: target.span });
    }
    let initial = InitialState { shared: 0, threads: BTreeMap::new(), unbounded: BTreeSet::from([POOL]) };
    let system = System {
        shared_states: chains.shared_states,
        local_states: net.places.len() as u32 + 1,
        rules: chains.rules,
    };
    Ok((system, initial, targets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::PlaceId;

    fn marking(tokens: &[(usize, u64)]) -> Marking {
        let mut marking = Marking::default();
        for &(place, n) in tokens {
            marking.set(PlaceId::from_index(place), n);
        }
        marking
    }

    #[test]
    fn no_step_of_a_chain_takes_what_an_earlier_one_has_given() {
        // Threads move from place to place if nothing speaks against it.
        assert_eq!(firing(&marking(&[(0, 1), (1, 1)]), &marking(&[(2, 1)])), [(1, 3), (2, POOL)]);
        // A token that is only tested must be there from the beginning.
        assert_eq!(
            firing(&marking(&[(0, 1), (1, 1)]), &marking(&[(1, 1), (2, 1)])),
            [(1, POOL), (2, POOL), (POOL, 2), (POOL, 3)]
        );
        // Two tokens are two tokens, even if both come back.
        let two = marking(&[(0, 2)]);
        assert_eq!(firing(&two, &two), [(1, POOL), (1, POOL), (POOL, 1), (POOL, 1)]);
    }
}
