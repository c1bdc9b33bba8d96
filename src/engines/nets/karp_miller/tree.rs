//! The tree of limits: what has been reached, from where, and by what.
//!
//! Invariant (history): the parent of a node never changes, and nodes are never deleted. A node that
//! is not maximal any more is not expanded, but what has been found behind it stays, and it still
//! counts when its descendants are accelerated. This is what the minimal coverability tree of 1991
//! gets wrong: it deletes what lies behind such nodes.
//!
//! Invariant (cover): what a node covers, or anything that was ever found, the active nodes cover.

use crate::budget::Budget;
use crate::engines::nets::sets::ideal::{Ideal, successors};
use crate::engines::nets::sets::vectors::Vectors;
use crate::net::{Net, Overflow, PlaceId, TransitionId};

use super::accelerate;

crate::define_id!(
    /// A node of one [`Tree`].
    NodeId,
    "n"
);

/// How a node comes from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is the first.
    Root,
    /// By firing once.
    Fire(TransitionId),
    /// By repeating, as often as one likes, what leads from one node to a node behind it.
    Repeat {
        /// Where the repeated steps begin.
        from: NodeId,
        /// Where they end.
        to: NodeId,
        /// Whether they move no tokens other than those they take.
        is_plain: bool,
    },
}

/// A limit that has been reached.
#[derive(Clone, Debug)]
pub struct Node {
    /// What can be covered.
    pub ideal: Ideal,
    /// Where it comes from; itself for the first.
    pub parent: NodeId,
    /// The step from the parent to it.
    pub step: Step,
    /// The shared state.
    control: Option<PlaceId>,
    /// The nearest node before it with the same shared state: no other can be below it.
    same: Option<NodeId>,
}

/// Steps that can be repeated wherever there is enough to begin with.
#[derive(Clone, Debug)]
struct Acceleration {
    from: NodeId,
    to: NodeId,
    grows: Vec<PlaceId>,
}

/// What one expansion came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is left to do.
    Done,
    /// There is more.
    More,
    /// This node covers a target.
    Target(NodeId),
}

/// Ways in which the tokens of one firing can choose that are looked at; more are not enumerated.
const MOST_WAYS: usize = 4096;

/// Accelerations that are tried on every new node; newer ones replace the oldest.
const MOST_ACCELERATIONS: usize = 256;

/// A search for all that can be covered.
#[derive(Clone, Debug)]
pub struct Tree<'n> {
    net: &'n Net,
    nodes: Vec<Node>,
    active: Vectors,
    /// The node of each vector in `active`.
    active_nodes: Vec<NodeId>,
    /// For each node, its vector in `active`, if it ever had one.
    active_ids: Vec<Option<u32>>,
    open: Vec<NodeId>,
    accelerations: Vec<Acceleration>,
    /// Transitions under one of the places they take from; the last list has those that take
    /// nothing.
    enabled_by: Vec<Vec<TransitionId>>,
    /// No transition moves tokens other than those it takes.
    is_plain: bool,
    /// Every successor was looked at.
    is_complete: bool,
    /// What firing has led to so far, new or not.
    work: u64,
    /// Ways in which the tokens of one firing can choose that are looked at.
    most_ways: usize,
    /// The targets: there may be many.
    targets: Vectors,
    /// Asked before every firing: a node of a large net enables many transitions.
    budget: Budget,
}

impl<'n> Tree<'n> {
    /// The tree with the initial markings only.
    #[must_use]
    pub fn new(net: &'n Net) -> Self {
        Self::with_ways(net, MOST_WAYS)
    }

    /// The same, where no more than so many ways are looked at in which the tokens of one firing can choose.
    #[must_use]
    pub fn with_ways(net: &'n Net, most_ways: usize) -> Self {
        let places = net.places.len();
        let mut users = vec![0_usize; places];
        for transition in &net.transitions {
            transition.take.iter().for_each(|(place, _)| users[place.index()] += 1);
        }
        let mut enabled_by = vec![Vec::new(); places + 1];
        for id in net.transition_ids() {
            let take = &net.transition(id).take;
            let rarest = take.iter().map(|(place, _)| place.index()).min_by_key(|&i| users[i]);
            enabled_by[rarest.unwrap_or(places)].push(id);
        }
        let mut targets = Vectors::new(places);
        for target in &net.targets {
            targets.insert(target.least.entries());
        }
        let mut tree = Self {
            net,
            nodes: Vec::new(),
            active: Vectors::new(places),
            active_nodes: Vec::new(),
            active_ids: Vec::new(),
            open: Vec::new(),
            accelerations: Vec::new(),
            enabled_by,
            is_plain: net.transitions.iter().all(crate::net::Transition::is_plain),
            is_complete: true,
            work: 0,
            most_ways,
            targets,
            budget: Budget::unlimited(),
        };
        let ideal = Ideal::initial(&net.initial);
        let control = ideal.control(net);
        let root = NodeId::from_index(0);
        tree.nodes.push(Node { ideal, parent: root, step: Step::Root, control, same: None });
        tree.active_ids.push(None);
        tree.activate(root);
        tree
    }

    /// Ends an expansion in the middle when this budget is used up; the tree is not complete then.
    #[must_use]
    pub fn within(mut self, budget: &Budget) -> Self {
        self.budget = budget.clone();
        self
    }

    /// The first node: all initial markings.
    #[must_use]
    pub fn root(&self) -> NodeId {
        NodeId::from_index(0)
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The net.
    #[must_use]
    pub fn net(&self) -> &'n Net {
        self.net
    }

    /// All nodes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: there is a first node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What firing has led to, new or not: the measure of work.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.work
    }

    /// How many limits are maximal.
    #[must_use]
    pub fn active(&self) -> usize {
        self.active.len()
    }

    /// Whether a node is maximal among all that were found.
    #[must_use]
    pub fn is_active(&self, id: NodeId) -> bool {
        self.active_ids[id.index()].is_some_and(|at| self.active.get(at).is_some())
    }

    /// The maximal limits, in the order in which they were found.
    pub fn active_ideals(&self) -> impl Iterator<Item = &Ideal> {
        self.active.iter().map(|(at, _)| &self.node(self.active_nodes[at as usize]).ideal)
    }

    /// A node that covers this marking.
    #[must_use]
    pub fn covering(&self, entries: &[(PlaceId, u64)]) -> Option<NodeId> {
        self.active.above(entries).next().map(|at| self.active_nodes[at as usize])
    }

    /// Whether every successor of what was expanded has been looked at, so that when nothing is
    /// left to do, nothing else can be covered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The first node that covers a target at the start, if there is one.
    #[must_use]
    pub fn target_at_start(&self) -> Option<NodeId> {
        let root = self.root();
        self.covers_target(&self.node(root).ideal).then_some(root)
    }

    fn covers_target(&self, ideal: &Ideal) -> bool {
        self.targets.below(ideal.entries()).next().is_some()
    }

    /// Makes a node maximal, and those below it not.
    fn activate(&mut self, id: NodeId) {
        let ideal = self.node(id).ideal.clone();
        let below: Vec<u32> = self.active.below(ideal.entries()).collect();
        for at in below {
            self.active.remove(at);
        }
        let at = self.active.insert(ideal.entries());
        debug_assert_eq!(at as usize, self.active_nodes.len());
        self.active_nodes.push(id);
        self.active_ids[id.index()] = Some(at);
        self.open.push(id);
    }

    fn push(&mut self, ideal: Ideal, parent: NodeId, step: Step) -> NodeId {
        let control = ideal.control(self.net);
        let mut same = Some(parent);
        while let Some(before) = same.map(|id| &self.nodes[id.index()])
            && before.control != control
        {
            same = (before.step != Step::Root).then_some(before.parent);
        }
        let id = NodeId::from_index(self.nodes.len());
        self.nodes.push(Node { ideal, parent, step, control, same });
        self.active_ids.push(None);
        id
    }

    /// Takes an open node and fires all that it enables.
    ///
    /// # Errors
    /// If a finite number of tokens becomes too large.
    pub fn expand_next(&mut self) -> Result<Progress, Overflow> {
        while let Some(id) = self.open.pop() {
            if self.is_active(id) {
                return self.expand(id);
            }
        }
        Ok(Progress::Done)
    }

    fn expand(&mut self, id: NodeId) -> Result<Progress, Overflow> {
        for transition in self.enabled(id) {
            if self.budget.exhausted().is_some() {
                self.is_complete = false;
                break;
            }
            let ideal = self.node(id).ideal.clone();
            let (found, all) = successors(self.net.transition(transition), &ideal, self.most_ways)?;
            self.work += 1 + found.len() as u64;
            self.is_complete &= all;
            for ideal in found {
                if let Some(child) = self.add(id, transition, ideal)
                    && self.covers_target(&self.node(child).ideal)
                {
                    return Ok(Progress::Target(child));
                }
            }
            if !self.is_active(id) {
                // What its successors cover, those of the node above it do.
                break;
            }
        }
        Ok(Progress::More)
    }

    /// The transitions that a node enables, in order.
    fn enabled(&self, id: NodeId) -> Vec<TransitionId> {
        let ideal = &self.node(id).ideal;
        let marked = ideal.entries().iter().map(|&(place, _)| place.index());
        let lists = marked.chain([self.net.places.len()]).flat_map(|i| &self.enabled_by[i]);
        let enabled = lists.filter(|&&t| ideal.includes(self.net.transition(t).take.entries()));
        let mut enabled: Vec<TransitionId> = enabled.copied().collect();
        enabled.sort_unstable();
        enabled
    }

    /// Goes `length` random steps from a random maximal node, and adds what it finds.
    ///
    /// # Errors
    /// If a finite number of tokens becomes too large.
    pub fn walk(
        &mut self,
        length: usize,
        random: &mut impl FnMut(usize) -> usize,
    ) -> Result<Progress, Overflow> {
        let mut at =
            if random(4) == 0 { self.root() } else { self.active_nodes[random(self.active_nodes.len())] };
        for _ in 0..length {
            let enabled = self.enabled(at);
            if enabled.is_empty() {
                break;
            }
            self.work += 1;
            let transition = enabled[random(enabled.len())];
            let ideal = self.node(at).ideal.clone();
            // Where tokens choose, a few ways are enough to pick from.
            let (found, _) = successors(self.net.transition(transition), &ideal, 16)?;
            let ideal = found[random(found.len())].clone();
            if let Some(known) = self.covering(ideal.entries()) {
                at = known;
            } else if let Some(child) = self.add(at, transition, ideal) {
                if self.covers_target(&self.node(child).ideal) {
                    return Ok(Progress::Target(child));
                }
                at = child;
            }
        }
        Ok(Progress::More)
    }

    /// Adds what firing leads to, accelerated, unless it is covered already.
    fn add(&mut self, parent: NodeId, transition: TransitionId, ideal: Ideal) -> Option<NodeId> {
        if self.active.above(ideal.entries()).next().is_some() {
            return None;
        }
        let mut id = self.push(ideal, parent, Step::Fire(transition));
        id = self.reuse_accelerations(id);
        let mut ancestor = self.node(id).same;
        while let Some(before) = ancestor {
            ancestor = self.node(before).same;
            let now = &self.node(id).ideal;
            if !now.includes(self.node(before).ideal.entries()) || *now == self.node(before).ideal {
                continue;
            }
            let Some((grows, is_plain)) = accelerate::growing(self, before, id) else { continue };
            if self.is_plain {
                self.remember(Acceleration { from: before, to: id, grows: grows.clone() });
            }
            let ideal = self.node(id).ideal.with_omegas(&grows);
            id = self.push(ideal, id, Step::Repeat { from: before, to: id, is_plain });
        }
        self.activate(id);
        Some(id)
    }

    /// Repeats what was found to be repeatable elsewhere. This is for plain nets: there, steps that
    /// grow somewhere grow by as much wherever there is enough to begin with.
    fn reuse_accelerations(&mut self, mut id: NodeId) -> NodeId {
        for i in 0..self.accelerations.len() {
            let Acceleration { from, to, grows } = &self.accelerations[i];
            let now = &self.node(id).ideal;
            if now.includes(self.node(*from).ideal.entries()) && !grows.iter().all(|&p| now.is_omega(p)) {
                let (from, to) = (*from, *to);
                let grows: Vec<PlaceId> = grows.iter().copied().filter(|&p| !now.is_omega(p)).collect();
                let ideal = now.with_omegas(&grows);
                id = self.push(ideal, id, Step::Repeat { from, to, is_plain: true });
            }
        }
        id
    }

    fn remember(&mut self, new: Acceleration) {
        let base = self.node(new.from).ideal.clone();
        let implied = |weaker: (&Ideal, &[PlaceId]), by: (&Ideal, &[PlaceId])| {
            weaker.0.includes(by.0.entries()) && weaker.1.iter().all(|p| by.1.contains(p))
        };
        let nodes = &self.nodes;
        let key = |a: &Acceleration| nodes[a.from.index()].ideal.clone();
        if self.accelerations.iter().any(|a| implied((&base, &new.grows), (&key(a), &a.grows))) {
            return;
        }
        self.accelerations.retain(|a| !implied((&key(a), &a.grows), (&base, &new.grows)));
        if self.accelerations.len() >= MOST_ACCELERATIONS {
            self.accelerations.remove(0);
        }
        self.accelerations.push(new);
    }
}
