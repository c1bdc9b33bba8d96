//! From a limit to a run: how often the repeated steps have to be repeated.
//!
//! The answer is found backwards. A goal, a finite marking, is carried from a node to its parent:
//! over a firing, it becomes what has to be there before. Over repeated steps it stays, if what was
//! there before they were repeated is enough; otherwise it is carried once through them, and the
//! question is asked again. So every loop runs as often as it has to, and each time its own inner
//! loops do, without a number being guessed.
//!
//! Invariant (bound): the goal is below what can be covered where it is. Inside repeated steps that
//! is not the limit in the tree, but what the same steps lead to from the limit they have.
//!
//! In a Petri net there is one way back over a firing, and the goal shrinks with every round where
//! it has to, so this ends. With transfers there may be several ways: they are tried in an order
//! that prefers the ones that shrink the goal, and there is a limit to it.

use std::rc::Rc;

use super::tree::{NodeId, Step, Tree};
use crate::budget::Budget;
use crate::engines::nets::sets::ideal::{Ideal, OMEGA, successors};
use crate::evidence::{FiringSequence, Reason};
use crate::net::fire::fire_or_replace;
use crate::net::predecessors::predecessors;
use crate::net::{Flow, Marking, Net, Overflow, Transition, TransitionId};

/// Steps of a run that are written down at most.
const MOST_STEPS: usize = 4_000_000;

/// Ways back that are looked at in all, where there may be several: then most of them lead nowhere.
const MOST_WORK: usize = 300_000;

/// Ways back over one firing that are looked at.
const MOST_WAYS: usize = 20_000;

/// Ways back over one firing that are kept for later.
const MOST_OTHERS: usize = 64;

/// A firing, and what must be covered after it where tokens choose.
#[derive(Clone, Debug)]
pub struct Directed {
    /// What fires.
    pub transition: TransitionId,
    /// What it must lead to, if it can lead to more than one marking.
    pub goal: Option<Marking>,
}

impl Directed {
    /// A firing that must cover the goal.
    #[must_use]
    pub fn new(net: &Net, transition: TransitionId, goal: &Marking) -> Self {
        let chooses = net.transition(transition).moves.iter().any(|m| matches!(m.flow, Flow::Each(_)));
        Self { transition, goal: chooses.then(|| goal.clone()) }
    }
}

/// Repeated steps that the goal is being carried through.
#[derive(Clone, Debug)]
struct Loop {
    /// The node that stands for their repetition.
    node: NodeId,
    /// Where they begin.
    from: NodeId,
    /// The goal when this round began.
    goal: Marking,
    /// What can be covered at their nodes, from `from` on.
    bounds: Vec<(NodeId, Ideal)>,
}

/// Where the goal is.
#[derive(Clone, Debug)]
struct Position {
    node: NodeId,
    goal: Marking,
    loops: Vec<Rc<Loop>>,
    /// So many steps lead from here to the end.
    steps: usize,
}

/// A run from an initial marking that covers the goal, which is below the node's limit; the start
/// of the run, and its steps.
///
/// # Errors
/// If none was found within the limits.
pub fn unwind(
    tree: &Tree,
    node: NodeId,
    goal: &Marking,
    budget: &Budget,
) -> Result<(Marking, Vec<Directed>), Reason> {
    let mut steps: Vec<Directed> = Vec::new();
    // Positions that were left for a better one.
    let mut others: Vec<Position> = Vec::new();
    let is_plain = tree.net().transitions.iter().all(Transition::is_plain);
    let most_work = if is_plain { usize::MAX } else { MOST_WORK };
    let mut work = 0_usize;
    let mut at = Position { node, goal: goal.clone(), loops: Vec::new(), steps: 0 };
    loop {
        if let Some(reason) = budget.exhausted() {
            return Err(reason);
        }
        work += 1;
        if steps.len() >= MOST_STEPS || work >= most_work {
            return Err(Reason::TooManyTokens);
        }
        match back(tree, &mut at, &mut steps, &mut others, &mut work)
            .map_err(|Overflow| Reason::TooManyTokens)?
        {
            Way::On => {}
            Way::Start(start) => {
                steps.reverse();
                return Ok((start, steps));
            }
            Way::Dead => {
                let Some(other) = others.pop() else { return Err(Reason::TooManyTokens) };
                steps.truncate(other.steps);
                at = other;
            }
        }
    }
}

/// Where one step back leads.
enum Way {
    On,
    Dead,
    Start(Marking),
}

fn back(
    tree: &Tree,
    at: &mut Position,
    steps: &mut Vec<Directed>,
    others: &mut Vec<Position>,
    work: &mut usize,
) -> Result<Way, Overflow> {
    if let Some(innermost) = at.loops.pop_if(|innermost| innermost.from == at.node) {
        at.node = innermost.node;
        // A round that asks for no less would be followed by the same round again.
        return Ok(if at.goal.covers(&innermost.goal) { Way::Dead } else { Way::On });
    }
    let node = tree.node(at.node);
    match node.step {
        Step::Root => Ok(tree.net().initial.marking_that_covers(&at.goal).map_or(Way::Dead, Way::Start)),
        Step::Repeat { from, to, .. } => {
            if bound(tree, &at.loops, node.parent).includes(at.goal.entries()) {
                at.node = node.parent;
            } else {
                let bounds = bounds(tree, bound(tree, &at.loops, at.node).clone(), from, to)?;
                let goal = at.goal.clone();
                at.loops.push(Rc::new(Loop { node: at.node, from, goal, bounds }));
                at.node = to;
            }
            Ok(Way::On)
        }
        Step::Fire(id) => {
            let transition = tree.net().transition(id);
            let bound = bound(tree, &at.loops, node.parent);
            let mut asked = 0;
            let mut ways = predecessors(transition, &at.goal, &mut |marking| {
                asked += 1;
                asked <= MOST_WAYS && bound.includes(marking.entries())
            })?;
            *work += asked;
            // Where a loop has made a place endless, less is better: last comes first.
            let limit = &tree.node(node.parent).ideal;
            let endless = |m: &Marking| -> u128 {
                let places = m.iter().filter(|&(p, _)| bound.get(p) == OMEGA && limit.get(p) != OMEGA);
                places.map(|(_, n)| u128::from(n)).sum()
            };
            ways.sort_by_cached_key(|m| std::cmp::Reverse((endless(m), m.clone())));
            let Some(best) = ways.pop() else { return Ok(Way::Dead) };
            steps.push(Directed::new(tree.net(), id, &at.goal));
            for goal in ways.into_iter().rev().take(MOST_OTHERS).rev() {
                others.push(Position {
                    node: node.parent,
                    goal,
                    loops: at.loops.clone(),
                    steps: steps.len(),
                });
            }
            at.node = node.parent;
            at.goal = best;
            Ok(Way::On)
        }
    }
}

/// What can be covered at a node, inside the loops or outside of them.
fn bound<'a>(tree: &'a Tree, loops: &'a [Rc<Loop>], node: NodeId) -> &'a Ideal {
    let inside = loops.last().and_then(|innermost| {
        let at = innermost.bounds.binary_search_by_key(&node, |&(n, _)| n).ok()?;
        Some(&innermost.bounds[at].1)
    });
    inside.unwrap_or(&tree.node(node).ideal)
}

/// What the steps from one node to another lead to from this limit on; parents have smaller
/// numbers, so the list is sorted.
fn bounds(tree: &Tree, start: Ideal, from: NodeId, to: NodeId) -> Result<Vec<(NodeId, Ideal)>, Overflow> {
    let mut path = Vec::new();
    let mut at = to;
    while at != from {
        path.push(at);
        at = tree.node(at).parent;
    }
    let mut bounds = vec![(from, start.clone())];
    let mut now = start;
    for &id in path.iter().rev() {
        let node = tree.node(id);
        now = match node.step {
            Step::Root => now,
            Step::Fire(transition) => {
                let (found, _) = successors(tree.net().transition(transition), &now, 256)?;
                let choose = |ideal: &&Ideal| ideal.includes(node.ideal.entries());
                found.iter().find(choose).cloned().unwrap_or_else(|| node.ideal.clone())
            }
            Step::Repeat { .. } => {
                let endless = node.ideal.entries().iter().filter(|&&(_, n)| n == OMEGA);
                now.with_omegas(&endless.map(|&(place, _)| place).collect::<Vec<_>>())
            }
        };
        bounds.push((id, now.clone()));
    }
    Ok(bounds)
}

/// Fires the steps one after the other, or what takes their place where zero tests forbid them, and
/// looks whether a target is met.
///
/// # Errors
/// If a zero test forbids a step or the target, or there are too many tokens.
pub fn replay(net: &Net, start: Marking, steps: &[Directed]) -> Result<FiringSequence, Reason> {
    let mut firings = Vec::with_capacity(steps.len());
    let mut marking = start.clone();
    // Without choices there is nothing to aim at.
    let anything = Marking::new();
    for step in steps {
        let goal = step.goal.as_ref().unwrap_or(&anything);
        let fired = fire_or_replace(net, step.transition, &marking, goal);
        let (firing, after) = fired.map_err(|Overflow| Reason::TooManyTokens)?.ok_or(Reason::ZeroTests)?;
        firings.push(firing);
        marking = after;
        if net.target_met_by(&marking).is_some() {
            break;
        }
    }
    if net.target_met_by(&marking).is_none() {
        return Err(Reason::ZeroTests);
    }
    Ok(FiringSequence { initial: start, steps: firings })
}
