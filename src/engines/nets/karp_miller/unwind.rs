//! Turns a limit into a run, by computing how often the repeated steps have to be repeated.
//!
//! The answer is computed backwards. A goal, which is a finite marking, is carried from a node to its parent. Over
//! a firing, it becomes the marking that is needed before the firing. Over repeated steps it stays the same, if the
//! limit before the repetition is enough for it; otherwise it is carried through the repeated steps once, and the
//! question is asked again. So every loop runs as often as necessary, and so do its inner loops each time, without
//! guessing a number.
//!
//! Invariant (bound): the goal is below the limit that can be covered where it is. Inside repeated steps this is
//! not the limit in the tree, but the limit to which the same steps lead from the limit after the repetition.
//!
//! In a Petri net there is one way back over a firing, and the goal shrinks in every round of a loop, so this ends.
//! With transfers there may be several ways back. Those that shrink the goal are tried first, and the number of
//! attempts is limited.

use std::rc::Rc;

use super::tree::{NodeId, Step, Tree};
use crate::budget::Budget;
use crate::engines::nets::sets::ideal::{Ideal, OMEGA, successors};
use crate::evidence::{FiringSequence, Reason};
use crate::net::fire::fire_or_replace;
use crate::net::predecessors::predecessors;
use crate::net::{Flow, Marking, Net, Overflow, Transition, TransitionId};

/// The greatest number of steps of a run.
const MOST_STEPS: usize = 4_000_000;

/// The greatest number of ways back in total, for nets in which there may be several. In these nets most of them
/// lead nowhere.
const MOST_WORK: usize = 300_000;

/// The greatest number of ways back over one firing that are considered.
const MOST_WAYS: usize = 20_000;

/// The greatest number of ways back over one firing that are kept for later.
const MOST_OTHERS: usize = 64;

/// A firing, with the marking that must be covered after it if tokens can choose.
#[derive(Clone, Debug)]
pub struct AimedFiring {
    /// The transition that fires.
    pub transition: TransitionId,
    /// The marking that the result must cover; `None` if tokens cannot choose.
    pub goal: Option<Marking>,
}

impl AimedFiring {
    /// A firing whose result must cover the goal.
    #[must_use]
    pub fn new(net: &Net, transition: TransitionId, goal: &Marking) -> Self {
        let chooses = net.transition(transition).moves.iter().any(|m| matches!(m.flow, Flow::Each(_)));
        Self { transition, goal: chooses.then(|| goal.clone()) }
    }
}

/// A loop of repeated steps through which the goal is being carried.
#[derive(Clone, Debug)]
struct Loop {
    /// The node that stands for the repetition.
    node: NodeId,
    /// The node where the repeated steps begin.
    from: NodeId,
    /// The goal when this round began.
    goal: Marking,
    /// The limits that can be covered at the nodes of the loop, from `from` on.
    bounds: Vec<(NodeId, Ideal)>,
}

/// The position of the goal.
#[derive(Clone, Debug)]
struct Position {
    node: NodeId,
    goal: Marking,
    loops: Vec<Rc<Loop>>,
    /// The number of steps from here to the end of the run.
    steps: usize,
}

/// A run from an initial marking to a marking that covers the goal, which is below the limit of the node. Returns
/// the start of the run, and its steps.
///
/// # Errors
/// If none was found within the limits.
pub fn unwind(
    tree: &Tree,
    node: NodeId,
    goal: &Marking,
    budget: &Budget,
) -> Result<(Marking, Vec<AimedFiring>), Reason> {
    let mut steps: Vec<AimedFiring> = Vec::new();
    // Alternative positions, to return to if the current one leads nowhere.
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
            StepBack::Continue => {}
            StepBack::Start(start) => {
                steps.reverse();
                return Ok((start, steps));
            }
            StepBack::DeadEnd => {
                let Some(other) = others.pop() else { return Err(Reason::TooManyTokens) };
                steps.truncate(other.steps);
                at = other;
            }
        }
    }
}

/// The result of one step back.
enum StepBack {
    /// The search continues at the new position.
    Continue,
    /// There is no way back from this position.
    DeadEnd,
    /// The start of a run was found.
    Start(Marking),
}

fn back(
    tree: &Tree,
    at: &mut Position,
    steps: &mut Vec<AimedFiring>,
    others: &mut Vec<Position>,
    work: &mut usize,
) -> Result<StepBack, Overflow> {
    if let Some(innermost) = at.loops.pop_if(|innermost| innermost.from == at.node) {
        at.node = innermost.node;
        // If the goal did not shrink in this round, the next round would be the same again.
        return Ok(if at.goal.covers(&innermost.goal) { StepBack::DeadEnd } else { StepBack::Continue });
    }
    let node = tree.node(at.node);
    match node.step {
        Step::Root => {
            Ok(tree.net().initial.marking_that_covers(&at.goal).map_or(StepBack::DeadEnd, StepBack::Start))
        }
        Step::Repeat { from, to, .. } => {
            if bound(tree, &at.loops, node.parent).includes(at.goal.entries()) {
                at.node = node.parent;
            } else {
                let bounds = bounds(tree, bound(tree, &at.loops, at.node).clone(), from, to)?;
                let goal = at.goal.clone();
                at.loops.push(Rc::new(Loop { node: at.node, from, goal, bounds }));
                at.node = to;
            }
            Ok(StepBack::Continue)
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
            // If a loop has made a place unbounded, goals with fewer tokens there are better. The best one comes
            // last.
            let limit = &tree.node(node.parent).ideal;
            let unbounded = |m: &Marking| -> u128 {
                let places = m.iter().filter(|&(p, _)| bound.get(p) == OMEGA && limit.get(p) != OMEGA);
                places.map(|(_, n)| u128::from(n)).sum()
            };
            ways.sort_by_cached_key(|m| std::cmp::Reverse((unbounded(m), m.clone())));
            let Some(best) = ways.pop() else { return Ok(StepBack::DeadEnd) };
            steps.push(AimedFiring::new(tree.net(), id, &at.goal));
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
            Ok(StepBack::Continue)
        }
    }
}

/// The limit that can be covered at a node, inside the loops or outside of them.
fn bound<'a>(tree: &'a Tree, loops: &'a [Rc<Loop>], node: NodeId) -> &'a Ideal {
    let inside = loops.last().and_then(|innermost| {
        let at = innermost.bounds.binary_search_by_key(&node, |&(n, _)| n).ok()?;
        Some(&innermost.bounds[at].1)
    });
    inside.unwrap_or(&tree.node(node).ideal)
}

/// The limits to which the steps from one node to another lead, starting from the given limit. Parents have smaller
/// numbers than their children, so the list is sorted.
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
                let unbounded = node.ideal.entries().iter().filter(|&&(_, n)| n == OMEGA);
                now.with_omegas(&unbounded.map(|&(place, _)| place).collect::<Vec<_>>())
            }
        };
        bounds.push((id, now.clone()));
    }
    Ok(bounds)
}

/// Fires the steps one after the other, until a target is met. A step that a zero test forbids is replaced by
/// others if possible.
///
/// # Errors
/// If a zero test forbids a step or the target, or there are too many tokens.
pub fn replay(net: &Net, start: Marking, steps: &[AimedFiring]) -> Result<FiringSequence, Reason> {
    let mut firings = Vec::with_capacity(steps.len());
    let mut marking = start.clone();
    // Without choices there is only one result, so no goal is needed.
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
