//! Covering sharing trees: upward-closed sets whose elements share prefixes and suffixes.
//!
//! Implements: G. Delzanno, J.-F. Raskin, "Symbolic Representation of Upward Closed Sets", TACAS
//! 2000, and G. Delzanno, J.-F. Raskin, L. Van Begin, "Attacking Symbolic State Explosion", CAV
//! 2001, and TACAS 2002 for transfers.
//!
//! A tree is an acyclic graph with one layer for each place, in the order of places. A path from its root to
//! [`Forest::END`] is an *element*, that is, a marking. The tree represents all markings that cover an element.
//! Tokens are written on the arcs, so a node corresponds to what the papers call a set of successors.
//!
//! Invariant (layers): arcs lead from a place to a later one, and no two arcs of a node have the same number of
//! tokens. A layer without tokens is skipped and costs no node, so an element that marks two of half a million
//! places takes two nodes.
//!
//! Invariant (sharing): two trees of one forest are equal iff they have the same elements. `Forest::intern` is the
//! only function that makes nodes, and it returns the same node for the same elements. Children have smaller
//! numbers than their parents, so a loop over numbers visits children first.
//!
//! No function here recurses over the layers: see [`walk`].

mod algebra;
mod pre;
mod queries;
mod restrict;
mod simulation;
pub mod walk;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::net::{Marking, PlaceId};
use walk::{Meter, Stop};

crate::define_id!(
    /// A node of a [`Forest`], and the tree below it.
    Tree,
    "n"
);

/// A number larger than that of any place: the layer of [`Forest::END`].
const BELOW_ALL: usize = u32::MAX as usize;

/// An arc to the next node, with at least one token.
type Arc = (u64, Tree);

/// A node. It has at least one arc, since a layer without tokens is skipped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    place: PlaceId,
    /// The tree that follows if the place is empty.
    zero: Tree,
    /// The arcs, sorted by tokens.
    arcs: Box<[Arc]>,
}

/// Precomputed facts about the elements below a node. Sums saturate.
#[derive(Clone, Copy, Debug)]
struct Facts {
    elements: u128,
    /// The number of tokens of the smallest and of the largest element.
    least: u64,
    most: u64,
    /// The classes of places that some element marks, and of places that all elements mark.
    any: u64,
    every: u64,
    /// Whether one element is empty, so that every marking covers it.
    has_empty: bool,
    /// A node further down the chain of `zero` links, and the length of that chain. As in E. W. Myers, "An
    /// Applicative Random-Access Stack", IPL 1983, any layer of the chain is found in logarithmic time.
    jump: Tree,
    depth: u32,
}

/// The class of a place, as one bit of 64.
fn class(place: PlaceId) -> u64 {
    1 << (place.index() % 64)
}

/// The stored results of walks, which are valid as long as the nodes exist.
#[derive(Debug, Default)]
struct Memory {
    unions: FxHashMap<(Tree, Tree), Tree>,
    uncovered: FxHashMap<algebra::UncoveredTask, Tree>,
    minimal: FxHashMap<Tree, Tree>,
    simulated: FxHashMap<(Tree, Tree), bool>,
}

/// The nodes of a set of trees that share subtrees.
#[derive(Debug)]
pub struct Forest {
    nodes: IndexSet<Node, FxBuildHasher>,
    facts: Vec<Facts>,
    memory: Memory,
}

impl Default for Forest {
    fn default() -> Self {
        let mut forest = Self { nodes: IndexSet::default(), facts: Vec::new(), memory: Memory::default() };
        // The two nodes only have to be different; they are recognised by their numbers.
        for zero in [Self::EMPTY, Self::END] {
            forest.nodes.insert(Node { place: PlaceId::from_index(BELOW_ALL), zero, arcs: Box::default() });
            let is_end = zero == Self::END;
            forest.facts.push(Facts {
                elements: u128::from(is_end),
                least: if is_end { 0 } else { u64::MAX },
                most: 0,
                any: 0,
                every: if is_end { 0 } else { u64::MAX },
                has_empty: is_end,
                jump: zero,
                depth: 0,
            });
        }
        forest
    }
}

impl Forest {
    /// The tree without elements.
    pub const EMPTY: Tree = Tree(0);

    /// The tree whose only element is the empty marking; all paths end here.
    pub const END: Tree = Tree(1);

    fn node(&self, tree: Tree) -> &Node {
        &self.nodes[tree.index()]
    }

    fn facts(&self, tree: Tree) -> &Facts {
        &self.facts[tree.index()]
    }

    fn place(&self, tree: Tree) -> PlaceId {
        self.node(tree).place
    }

    /// The subtrees for every number of tokens in a place, which must not be after the place of the tree.
    fn branches(&self, tree: Tree, place: PlaceId) -> impl Iterator<Item = Arc> + '_ {
        let node = self.node(tree);
        let (zero, arcs) = if node.place == place { (node.zero, &node.arcs[..]) } else { (tree, &[][..]) };
        let zero = (zero != Self::EMPTY).then_some((0, zero));
        zero.into_iter().chain(arcs.iter().copied())
    }

    /// Returns the node with these parts; this is the only function that makes nodes.
    fn intern(&mut self, place: PlaceId, zero: Tree, arcs: Box<[Arc]>) -> Tree {
        if arcs.is_empty() {
            return zero;
        }
        debug_assert!(arcs.is_sorted_by(|a, b| a.0 < b.0) && arcs[0].0 > 0);
        debug_assert!(arcs.iter().all(|&(_, to)| to != Self::EMPTY && self.place(to) > place));
        let (index, is_new) = self.nodes.insert_full(Node { place, zero, arcs });
        if is_new {
            let facts = self.facts_of(&self.nodes[index]);
            self.facts.push(facts);
        }
        Tree::from_index(index)
    }

    fn facts_of(&self, node: &Node) -> Facts {
        let zero = self.facts(node.zero);
        let next = self.facts(zero.jump);
        let far = zero.depth - next.depth == next.depth - self.facts(next.jump).depth;
        let jump = if far { next.jump } else { node.zero };
        let mut facts = Facts { jump, depth: zero.depth + 1, ..*zero };
        for &(tokens, to) in &node.arcs {
            let below = self.facts(to);
            facts.elements = facts.elements.saturating_add(below.elements);
            facts.least = facts.least.min(below.least.saturating_add(tokens));
            facts.most = facts.most.max(below.most.saturating_add(tokens));
            facts.any |= below.any | class(node.place);
            facts.every &= below.every | class(node.place);
        }
        facts
    }

    /// The tree whose elements are those of the parts, with the tokens of each part in the place.
    fn layer(&mut self, place: PlaceId, mut parts: Vec<Arc>, meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        parts.retain(|&(_, part)| part != Self::EMPTY);
        parts.sort_unstable();
        let mut arcs: Vec<Arc> = Vec::with_capacity(parts.len());
        for (tokens, part) in parts {
            match arcs.last_mut() {
                Some((last, so_far)) if *last == tokens => *so_far = self.union(*so_far, part, meter)?,
                _ => arcs.push((tokens, part)),
            }
        }
        let has_zero = arcs.first().is_some_and(|&(tokens, _)| tokens == 0);
        let zero = if has_zero { arcs.remove(0).1 } else { Self::EMPTY };
        Ok(self.intern(place, zero, arcs.into()))
    }

    /// The tree with this element only.
    pub fn singleton(&mut self, marking: &Marking) -> Tree {
        let entries = marking.entries().iter().rev();
        entries.fold(Self::END, |below, &(place, tokens)| {
            self.intern(place, Self::EMPTY, Box::new([(tokens, below)]))
        })
    }

    /// The tree with these elements.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn of(&mut self, markings: &[Marking], meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        let mut trees: Vec<Tree> = markings.iter().map(|marking| self.singleton(marking)).collect();
        // Trees of similar sizes are united in pairs, so that every element takes part in few unions.
        while trees.len() > 1 {
            let mut united = Vec::with_capacity(trees.len().div_ceil(2));
            for pair in trees.chunks(2) {
                united.push(match *pair {
                    [a, b] => self.union(a, b, meter)?,
                    _ => pair[0],
                });
            }
            trees = united;
        }
        Ok(trees.first().copied().unwrap_or(Self::EMPTY))
    }

    /// The number of nodes that exist, including unused ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes except the two constants.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 2
    }

    /// A measure of the memory that the forest takes: the number of nodes and of stored results.
    #[must_use]
    pub fn weight(&self) -> usize {
        let Memory { unions, uncovered, minimal, simulated } = &self.memory;
        self.nodes.len() + unions.len() + uncovered.len() + minimal.len() + simulated.len()
    }

    /// Removes all nodes except those of these trees, and renumbers the trees.
    pub fn keep_only<'a>(&mut self, trees: impl IntoIterator<Item = &'a mut Tree>) {
        let trees: Vec<&mut Tree> = trees.into_iter().collect();
        let old = std::mem::take(self);
        let mut new: FxHashMap<Tree, Tree> = FxHashMap::from_iter([Self::EMPTY, Self::END].map(|t| (t, t)));
        for tree in old.nodes_of(trees.iter().map(|tree| **tree)) {
            let Node { place, zero, arcs } = old.node(tree);
            let arcs = arcs.iter().map(|&(tokens, to)| (tokens, new[&to])).collect();
            new.insert(tree, self.intern(*place, new[zero], arcs));
        }
        for tree in trees {
            *tree = new[tree];
        }
    }
}
