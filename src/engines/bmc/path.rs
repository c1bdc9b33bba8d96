//! The run that a model describes: which copies it goes through, which open sites it uses, and what it repeats.
//!
//! The run is followed from the root down: in each copy, the choices and call results of the model determine the
//! path, and so the values with which the next copies begin. Activations are processed one by one with an explicit
//! stack, in such an order that the enclosing activations of each one are known when it is processed.

use std::collections::hash_map::Entry;

use cusp_encodings::VarId;
use rustc_hash::FxHashMap;

use super::unrolling::{SiteId, Unrolling};
use crate::model::{Node, Procedure};
use crate::symbolic::block::OpenCall;
use crate::symbolic::template::{Role, Template};
use crate::symbolic::trace::{Outline, OutlineEnd, OutlineStep};
use crate::symbolic::walk::{End, Goal, Truth, run};

/// A run through the unrolling.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// The open sites on the run.
    pub open: Vec<SiteId>,
    /// Pairs of copies that repeat a state or a call, the outer one first.
    pub repeats: Vec<(SiteId, SiteId)>,
    /// The greatest number of blocks from the root down.
    pub depth: u32,
    /// One outline per activation, the root's first; only meaningful if `open` is empty.
    pub outlines: Vec<Outline>,
}

/// How an activation ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ActivationEnd {
    Fails,
    /// The activation returns these results.
    Returns(Vec<bool>),
}

/// An activation that is still to be followed.
struct Pending {
    site: SiteId,
    outline: usize,
    nesting: usize,
    /// The values that the caller passes.
    passed: Vec<bool>,
    outcome: ActivationEnd,
}

/// Two nested activations with equal signatures are interchangeable: block, passed values, outcome.
type Signature = (u32, Vec<bool>, ActivationEnd);

/// Follows the run of the model that the solver holds.
pub(super) fn follow(unrolling: &Unrolling<'_>) -> Path {
    let mut follower = Follower { unrolling, path: Path::default(), pending: Vec::new() };
    let root = unrolling.site(Unrolling::ROOT);
    let passed = unrolling.passed(unrolling.template(Unrolling::ROOT));
    let passed: Vec<bool> =
        root.inputs[..passed].iter().map(|&term| unrolling.value_of_input(term)).collect();
    follower.call(Unrolling::ROOT, 0, passed, ActivationEnd::Fails);
    // The signatures of the activations that enclose the current one.
    let mut around: Vec<Option<Signature>> = Vec::new();
    let mut done: FxHashMap<Signature, SiteId> = FxHashMap::default();
    while let Some(activation) = follower.pending.pop() {
        for signature in around.drain(activation.nesting..).flatten() {
            done.remove(&signature);
        }
        let site = unrolling.site(activation.site);
        if site.copy.is_none() {
            follower.path.open.push(activation.site);
            around.push(None);
            continue;
        }
        let signature = (site.template, activation.passed.clone(), activation.outcome.clone());
        if let Some(&outer) = done.get(&signature) {
            follower.path.repeats.push((outer, activation.site));
            around.push(None);
        } else {
            done.insert(signature.clone(), activation.site);
            around.push(Some(signature));
        }
        follower.follow(activation);
    }
    follower.path
}

struct Follower<'a> {
    unrolling: &'a Unrolling<'a>,
    path: Path,
    pending: Vec<Pending>,
}

impl Follower<'_> {
    /// Records an activation to be followed, and returns the position of its outline.
    fn call(&mut self, site: SiteId, nesting: usize, passed: Vec<bool>, outcome: ActivationEnd) -> usize {
        let outline = self.path.outlines.len();
        let procedure = self.unrolling.template(site).block.procedure;
        let end = OutlineEnd::Exit;
        self.path.outlines.push(Outline { procedure, entry: Vec::new(), steps: Vec::new(), end });
        self.pending.push(Pending { site, outline, nesting, passed, outcome });
        outline
    }

    /// Follows one activation through its copies, until it ends or reaches an open site.
    fn follow(&mut self, activation: Pending) {
        let unrolling = self.unrolling;
        let blocks = unrolling.blocks;
        let mut at = activation.site;
        let template = unrolling.template(at);
        let mut values = activation.passed;
        let unpassed = unrolling.site(at).inputs.iter().skip(values.len());
        values.extend(unpassed.map(|&term| unrolling.value_of_input(term)));
        let mut entry = vec![None; template.block.inputs.len()];
        for (&slot, &value) in template.inputs.iter().zip(&values) {
            entry[slot as usize] = Some(value);
        }
        let mut steps = Vec::new();
        let mut seen: FxHashMap<(u32, Vec<bool>), SiteId> = FxHashMap::default();
        let end = loop {
            let site = unrolling.site(at);
            self.path.depth = self.path.depth.max(site.depth);
            let Some(copy) = &site.copy else {
                self.path.open.push(at);
                break OutlineEnd::Exit;
            };
            let template = unrolling.template(at);
            let block = &*template.block;
            let truth = Truth::of(blocks, block, |var| match template.role(var) {
                Role::Input(position) => values[position as usize],
                _ => unrolling.value_of(copy.own(template, var)),
            });
            match seen.entry((site.template, std::mem::take(&mut values))) {
                Entry::Occupied(earlier) => self.path.repeats.push((*earlier.get(), at)),
                Entry::Vacant(new) => {
                    new.insert(at);
                }
            }
            let goal = goal(template, &truth, &activation.outcome);
            let Some((walked, end)) = goal.and_then(|goal| run(blocks, block, &truth, goal)) else {
                unreachable!("the model satisfies the clauses of every copy");
            };
            let nesting = activation.nesting + 1;
            for step in walked {
                let callee = step.call.map(|call| {
                    let OpenCall { callee, results, .. } = &block.calls[call];
                    let slots = blocks.scopes.scope(*callee).exit_slots();
                    let matters = |slot: u32| blocks.scopes.is_live(*callee, Procedure::EXIT, slot as usize);
                    let results = slots.iter().zip(results).filter(|(slot, _)| matters(**slot));
                    let value = |(_, &var): (_, &VarId)| unrolling.value_of(copy.own(template, var));
                    let outcome = ActivationEnd::Returns(results.map(value).collect());
                    self.enter(at, call, nesting, &truth, outcome)
                });
                steps.push(OutlineStep { edge: step.edge, updates: step.updates, callee });
            }
            match end {
                End::Violation(violation) => break OutlineEnd::Violation(violation),
                End::Inside(call) => {
                    let callee = self.enter(at, call, nesting, &truth, ActivationEnd::Fails);
                    break OutlineEnd::Inside { edge: block.calls[call].edge, callee };
                }
                End::Cut(Procedure::EXIT) => break OutlineEnd::Exit,
                End::Cut(node) => {
                    let (next, next_values) = self.arrive(at, node, &truth);
                    at = next;
                    values = next_values;
                }
            }
        };
        let outline = &mut self.path.outlines[activation.outline];
        outline.entry = entry;
        outline.steps = steps;
        outline.end = end;
    }

    /// Records the activation of a call on the path, and returns the position of its outline.
    fn enter(
        &mut self,
        at: SiteId,
        call: usize,
        nesting: usize,
        truth: &Truth,
        outcome: ActivationEnd,
    ) -> usize {
        let unrolling = self.unrolling;
        let site = unrolling.site(at).copy.as_ref().and_then(|copy| unrolling.child(copy, call as u32));
        let Some(site) = site else {
            unreachable!("the model's path uses only positions that control can reach")
        };
        let callee = unrolling.template(site);
        let arguments = &unrolling.template(at).block.calls[call].arguments;
        let passed = callee.inputs[..unrolling.passed(callee)].iter();
        let passed = passed.map(|&slot| truth.value(arguments[slot as usize])).collect();
        self.call(site, nesting, passed, outcome)
    }

    /// The next site of the same activation, and the values there.
    fn arrive(&self, at: SiteId, node: Node, truth: &Truth) -> (SiteId, Vec<bool>) {
        let unrolling = self.unrolling;
        let block = &unrolling.template(at).block;
        let found = block.arrivals.iter().position(|arrival| arrival.node == node);
        let next = found.and_then(|position| {
            let position = block.calls.len() + position;
            let copy = unrolling.site(at).copy.as_ref()?;
            unrolling.child(copy, position as u32)
        });
        let (Some(found), Some(next)) = (found, next) else {
            unreachable!("the model's path uses only positions that control can reach")
        };
        let arrived = &block.arrivals[found].values;
        let slots = unrolling.template(next).inputs.iter();
        (next, slots.map(|&slot| truth.value(arrived[slot as usize])).collect())
    }
}

/// Where the run leaves the copy: at a violation, or at a cut.
fn goal(template: &Template, truth: &Truth, outcome: &ActivationEnd) -> Option<Goal> {
    let block = &template.block;
    if *outcome == ActivationEnd::Fails && truth.value(block.fails) {
        return Some(Goal::Failure);
    }
    let arrival = block.arrivals.iter().find(|arrival| truth.value(arrival.guard))?;
    (arrival.node != Procedure::EXIT || *outcome != ActivationEnd::Fails).then_some(Goal::Cut(arrival.node))
}
