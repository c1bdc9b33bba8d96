//! The tree of limits: which limits were reached, from which limit, and by which step.
//!
//! Invariant (history): the parent of a node never changes, and nodes are never deleted. A node that is no longer
//! maximal is not expanded, but its descendants stay, and it is still used for the acceleration of its descendants.
//! The minimal coverability tree of 1991 is wrong in this point: it deletes the descendants of such nodes.
//!
//! Invariant (cover): the active nodes cover everything that any node covers.

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

/// The step from a parent to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The node is the root.
    Root,
    /// A transition fires once.
    Fire(TransitionId),
    /// The steps from one node to a descendant of it are repeated any number of times.
    Repeat {
        /// Where the repeated steps begin.
        from: NodeId,
        /// Where they end.
        to: NodeId,
        /// Whether the repeated steps move no tokens other than those they take.
        is_plain: bool,
    },
}

/// A limit that was reached.
#[derive(Clone, Debug)]
pub struct Node {
    /// The markings that can be covered.
    pub ideal: Ideal,
    /// The parent; the node itself for the root.
    pub parent: NodeId,
    /// The step from the parent to this node.
    pub step: Step,
    /// The shared state.
    control: Option<PlaceId>,
    /// The nearest ancestor with the same shared state. Ancestors with another shared state cannot be below this
    /// node.
    same: Option<NodeId>,
}

/// A sequence of steps that can be repeated wherever there are enough tokens to begin it.
#[derive(Clone, Debug)]
struct Acceleration {
    from: NodeId,
    to: NodeId,
    grows: Vec<PlaceId>,
}

/// The result of one expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeProgress {
    /// No node is left to expand.
    Done,
    /// There are more nodes to expand.
    More,
    /// This node covers a target.
    Target(NodeId),
}

/// The greatest number of ways that are enumerated in which the tokens of one firing can choose.
const MOST_WAYS: usize = 4096;

/// The greatest number of accelerations that are tried on every new node; newer ones replace the oldest.
const MOST_ACCELERATIONS: usize = 256;

/// A search for all markings that can be covered.
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
    /// The transitions, each listed at one of the places it takes from; the last list has those that take nothing.
    enabled_by: Vec<Vec<TransitionId>>,
    /// Whether no transition moves tokens other than those it takes.
    is_plain: bool,
    /// Whether every successor of an expanded node was enumerated.
    is_complete: bool,
    /// The number of results of firings so far, new or not.
    work: u64,
    /// The greatest number of ways that are enumerated in which the tokens of one firing can choose.
    most_ways: usize,
    /// The targets, indexed because there may be many.
    targets: Vectors,
    /// The budget, which is checked before every firing, since a node of a large net enables many transitions.
    budget: Budget,
}

impl<'n> Tree<'n> {
    /// The tree with the initial markings only.
    #[must_use]
    pub fn new(net: &'n Net) -> Self {
        Self::with_ways(net, MOST_WAYS)
    }

    /// The tree with the initial markings only, with a limit on the ways that are enumerated in which the tokens of
    /// one firing can choose.
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

    /// Sets a budget. When it is used up, an expansion stops in the middle, and the tree is not complete.
    #[must_use]
    pub fn within(mut self, budget: &Budget) -> Self {
        self.budget = budget.clone();
        self
    }

    /// The root, which covers all initial markings.
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

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Always false, since there is a root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of results of firings, new or not, as the measure of work.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The number of maximal limits.
    #[must_use]
    pub fn active(&self) -> usize {
        self.active.len()
    }

    /// Whether the limit of a node is maximal among all limits found.
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

    /// Whether every successor of the expanded nodes was enumerated. If so, then when no node is left to expand, no
    /// other marking can be covered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The root, if it covers a target.
    #[must_use]
    pub fn target_at_start(&self) -> Option<NodeId> {
        let root = self.root();
        self.covers_target(&self.node(root).ideal).then_some(root)
    }

    fn covers_target(&self, ideal: &Ideal) -> bool {
        self.targets.below(ideal.entries()).next().is_some()
    }

    /// Marks a node as maximal, and removes this mark from the nodes below it.
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

    /// Takes an open node and fires all transitions that it enables.
    ///
    /// # Errors
    /// If a finite number of tokens becomes too large.
    pub fn expand_next(&mut self) -> Result<TreeProgress, Overflow> {
        while let Some(id) = self.open.pop() {
            if self.is_active(id) {
                return self.expand(id);
            }
        }
        Ok(TreeProgress::Done)
    }

    fn expand(&mut self, id: NodeId) -> Result<TreeProgress, Overflow> {
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
                    return Ok(TreeProgress::Target(child));
                }
            }
            if !self.is_active(id) {
                // The successors of the node above it cover everything that its successors cover.
                break;
            }
        }
        Ok(TreeProgress::More)
    }

    /// The transitions that a node enables, sorted.
    fn enabled(&self, id: NodeId) -> Vec<TransitionId> {
        let ideal = &self.node(id).ideal;
        let marked = ideal.entries().iter().map(|&(place, _)| place.index());
        let lists = marked.chain([self.net.places.len()]).flat_map(|i| &self.enabled_by[i]);
        let enabled = lists.filter(|&&t| ideal.includes(self.net.transition(t).take.entries()));
        let mut enabled: Vec<TransitionId> = enabled.copied().collect();
        enabled.sort_unstable();
        enabled
    }

    /// Takes `length` random steps from a random node that is or was maximal, or from the root, and adds the limits
    /// that it finds.
    ///
    /// # Errors
    /// If a finite number of tokens becomes too large.
    pub fn walk(
        &mut self,
        length: usize,
        random: &mut impl FnMut(usize) -> usize,
    ) -> Result<TreeProgress, Overflow> {
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
            // If tokens can choose, it is enough to pick from a few ways.
            let (found, _) = successors(self.net.transition(transition), &ideal, 16)?;
            let ideal = found[random(found.len())].clone();
            if let Some(known) = self.covering(ideal.entries()) {
                at = known;
            } else if let Some(child) = self.add(at, transition, ideal) {
                if self.covers_target(&self.node(child).ideal) {
                    return Ok(TreeProgress::Target(child));
                }
                at = child;
            }
        }
        Ok(TreeProgress::More)
    }

    /// Adds the result of a firing and accelerates it, unless it is covered already.
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

    /// Applies accelerations that were found elsewhere. This is for plain nets: there, a sequence of steps adds the
    /// same number of tokens wherever there are enough tokens to begin it.
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
