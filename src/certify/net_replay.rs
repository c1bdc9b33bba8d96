//! Replays runs of nets step by step, zero tests included.

use std::collections::BTreeMap;

use crate::budget::Budget;
use crate::evidence::FiringSequence;
use crate::net::{Firing, Flow, Net, PlaceId, Target};

use super::{Stop, poll, reject};

/// The numbers of tokens in marked places.
type Tokens = BTreeMap<PlaceId, u64>;

/// Checks that the run starts in an initial marking, that every step is possible, and that the last marking meets a
/// target.
pub(super) fn check(net: &Net, run: &FiringSequence, budget: &Budget) -> Result<(), Stop> {
    let mut tokens: Tokens = run.initial.entries().iter().copied().collect();
    for (&place, &n) in &tokens {
        if place.index() >= net.places.len() {
            return reject(format!("the run starts with tokens in {place}, which does not exist"));
        }
        let most = net.initial.ranges().iter().find(|(p, _)| *p == place).map_or(Some(0), |(_, r)| r.most);
        if most.is_some_and(|most| n > most) {
            return reject(format!("the run starts with too many tokens in `{}`", net.place(place).name));
        }
    }
    for &(place, range) in net.initial.ranges() {
        if tokens.get(&place).copied().unwrap_or(0) < range.least {
            return reject(format!("the run starts with too few tokens in `{}`", net.place(place).name));
        }
    }
    for (i, firing) in run.steps.iter().enumerate() {
        poll(budget)?;
        tokens = step(net, &tokens, firing).map_err(|stop| stop.at(format!("step {}", i + 1)))?;
    }
    if net.targets.iter().any(|target| is_met(target, &tokens)) {
        return Ok(());
    }
    reject("the run ends in a marking that meets no target")
}

fn is_met(target: &Target, tokens: &Tokens) -> bool {
    let count = |place: &PlaceId| tokens.get(place).copied().unwrap_or(0);
    target.least.entries().iter().all(|(place, n)| count(place) >= *n)
        && target.upper.iter().all(|(place, n)| count(place) <= *n)
}

fn step(net: &Net, before: &Tokens, firing: &Firing) -> Result<Tokens, Stop> {
    let id = firing.transition;
    if id.index() >= net.transitions.len() {
        return reject(format!("there is no transition {id}"));
    }
    let transition = net.transition(id);
    for (place, n) in &transition.upper {
        if before.get(place).copied().unwrap_or(0) > *n {
            return reject(format!("`{}` has too many tokens for {id}", net.place(*place).name));
        }
    }
    let mut left = before.clone();
    for &(place, n) in transition.take.entries() {
        let Some(rest) = before.get(&place).copied().unwrap_or(0).checked_sub(n) else {
            return reject(format!("`{}` has too few tokens for {id}", net.place(place).name));
        };
        left.insert(place, rest);
    }
    left.retain(|_, n| *n > 0);
    let mut after = Tokens::new();
    let mut choices = firing.choices.iter();
    for (&place, &n) in &left {
        match transition.moves.iter().find(|m| m.from == place).map(|m| &m.flow) {
            None => add(&mut after, place, n)?,
            Some(Flow::All(places)) => {
                for &to in places {
                    add(&mut after, to, n)?;
                }
            }
            Some(Flow::Each(places)) => {
                let Some(choice) = choices.next().filter(|choice| choice.from == place) else {
                    return reject(format!(
                        "the run does not say where the tokens in `{}` go",
                        net.place(place).name
                    ));
                };
                let mut sum = 0_u128;
                for &(to, n) in choice.to.entries() {
                    if !places.contains(&to) {
                        return reject(format!("tokens in `{}` do not go there", net.place(place).name));
                    }
                    sum += u128::from(n);
                    add(&mut after, to, n)?;
                }
                if sum != u128::from(n) {
                    return reject(format!("not all tokens in `{}` go somewhere", net.place(place).name));
                }
            }
        }
    }
    if choices.next().is_some() {
        return reject("the run says where tokens go that do not exist");
    }
    for &(place, n) in transition.give.entries() {
        add(&mut after, place, n)?;
    }
    Ok(after)
}

fn add(tokens: &mut Tokens, place: PlaceId, n: u64) -> Result<(), Stop> {
    let count = tokens.entry(place).or_insert(0);
    match count.checked_add(n) {
        Some(sum) => *count = sum,
        None => return reject("there are more tokens than 64 bits can count"),
    }
    Ok(())
}
