//! Covering sharing trees: upward-closed sets whose minimal elements share beginnings and ends.
//!
//! Implements: G. Delzanno, J.-F. Raskin, "Symbolic Representation of Upward Closed Sets", TACAS
//! 2000, and G. Delzanno, J.-F. Raskin, L. Van Begin, "Attacking Symbolic State Explosion", CAV
//! 2001, and TACAS 2002 for transfers.
//!
//! A tree is an acyclic graph with one layer for each place, in the order of places. A path from its root
//! to [`Forest::END`] is an *element*: a marking. The tree stands for all markings that cover an element.
//! Tokens are written on the arcs, so a node is what the papers call a set of successors.
//!
//! Invariant (layers): arcs lead from a place to a later one, and no two arcs of a node have the same
//! tokens. A layer that is passed over holds no tokens: it costs no node, so half a million places
//! of which two are marked are two nodes.
//!
//! Invariant (sharing): two trees of one forest are equal iff they have the same elements.
//! `Forest::intern` is the only place that makes nodes, and every other path to the same elements ends
//! in the same node. Children are older than their parents, so a loop over numbers meets them first.
//!
//! Nothing here calls itself along the layers: see [`walk`].

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
    /// A node of one [`Forest`], and the tree below it.
    Tree,
    "n"
);

/// One more than the place of every net: the layer of [`Forest::END`].
const BELOW_ALL: usize = u32::MAX as usize;

/// From a node to the next, with at least one token.
type Arc = (u64, Tree);

/// A node; it has at least one arc, since one without tokens is passed over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    place: PlaceId,
    /// What follows if the place is empty.
    zero: Tree,
    /// Sorted by tokens.
    arcs: Box<[Arc]>,
}

/// What is known about the elements below a node. Sums are cut off at the largest number.
#[derive(Clone, Copy, Debug)]
struct Facts {
    elements: u128,
    /// Tokens of the smallest and of the largest element.
    least: u64,
    most: u64,
    /// Places that some element marks, and that all elements mark, by classes of places.
    any: u64,
    every: u64,
    /// Whether one element is empty, so that everything covers it.
    has_empty: bool,
    /// A node further down the chain of empty places, and the length of that chain: with E. W. Myers,
    /// "An Applicative Random-Access Stack", IPL 1983, any of its layers is found in logarithmic time.
    jump: Tree,
    depth: u32,
}

/// The class of a place, as one bit of 64.
fn class(place: PlaceId) -> u64 {
    1 << (place.index() % 64)
}

/// Results of walks that stay right as long as the nodes do.
#[derive(Debug, Default)]
struct Memory {
    unions: FxHashMap<(Tree, Tree), Tree>,
    uncovered: FxHashMap<algebra::Against, Tree>,
    minimal: FxHashMap<Tree, Tree>,
    simulated: FxHashMap<(Tree, Tree), bool>,
}

/// All nodes of trees that share.
#[derive(Debug)]
pub struct Forest {
    nodes: IndexSet<Node, FxBuildHasher>,
    facts: Vec<Facts>,
    memory: Memory,
}

impl Default for Forest {
    fn default() -> Self {
        let mut forest = Self { nodes: IndexSet::default(), facts: Vec::new(), memory: Memory::default() };
        // What tells the two apart is not looked at: they are known by their numbers.
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

    /// The tree whose one element is empty; all paths end here.
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

    /// What follows for every number of tokens in a place, which is not after the tree's own.
    fn branches(&self, tree: Tree, place: PlaceId) -> impl Iterator<Item = Arc> + '_ {
        let node = self.node(tree);
        let (zero, arcs) = if node.place == place { (node.zero, &node.arcs[..]) } else { (tree, &[][..]) };
        let zero = (zero != Self::EMPTY).then_some((0, zero));
        zero.into_iter().chain(arcs.iter().copied())
    }

    /// The one door for nodes.
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

    /// The tree that goes on in each of the parts, with so many tokens in the place.
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

    /// The tree with this one element.
    pub fn singleton(&mut self, marking: &Marking) -> Tree {
        let entries = marking.entries().iter().rev();
        entries.fold(Self::END, |below, &(place, tokens)| {
            self.intern(place, Self::EMPTY, Box::new([(tokens, below)]))
        })
    }

    /// The tree with these elements.
    ///
    /// # Errors
    /// If the meter says so.
    pub fn of(&mut self, markings: &[Marking], meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        let mut trees: Vec<Tree> = markings.iter().map(|marking| self.singleton(marking)).collect();
        // Pairs of trees of the same size, so that every element takes part in few unions.
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

    /// Nodes that were made and not thrown away, needed or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 2
    }

    /// What the forest takes in memory: nodes and remembered results.
    #[must_use]
    pub fn weight(&self) -> usize {
        let Memory { unions, uncovered, minimal, simulated } = &self.memory;
        self.nodes.len() + unions.len() + uncovered.len() + minimal.len() + simulated.len()
    }

    /// Forgets all nodes but those of these trees, which are given their new numbers.
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
