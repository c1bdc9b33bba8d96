//! Union of trees, difference of trees with respect to covering, and minimal elements.
//!
//! Theorem used: deciding whether a tree is covered by another one is co-NP-complete (Delzanno and Raskin, TACAS
//! 2000), since the elements below those of one path may lie on many paths of the other tree. [`Forest::uncovered`]
//! is exact: it follows one node of the first tree together with *all* nodes of the others that a path may still
//! cover, as is done for the inclusion of automata. Simulation keeps these sets small, as in P. A. Abdulla, Y.-F.
//! Chen, L. Holík, R. Mayr, T. Vojnar, "When Simulation Meets Antichains", TACAS 2010. If this takes too many
//! steps, the meter stops it.

use rustc_hash::FxHashMap;

use super::walk::{Meter, Split, Stop, Walk, run};
use super::{Forest, Tree};
use crate::net::PlaceId;

/// A tree, and the nodes that its paths may still cover. `others` is sorted, contains no tree with the empty
/// element, and no tree that another one of them simulates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct UncoveredTask {
    tree: Tree,
    others: Box<[Tree]>,
}

impl Forest {
    /// The tree with all elements of both trees.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn union(&mut self, a: Tree, b: Tree, meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        let mut known = std::mem::take(&mut self.memory.unions);
        let result = run(self, &mut Union, &mut known, (a.min(b), a.max(b)), meter);
        self.memory.unions = known;
        result
    }

    /// The elements of a tree that cover no element of any of the others.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn uncovered(&mut self, tree: Tree, others: &[Tree], meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        let Some(task) = self.against(tree, others.to_vec(), meter)? else { return Ok(Self::EMPTY) };
        let mut known = std::mem::take(&mut self.memory.uncovered);
        let result = run(self, &mut Uncovered, &mut known, task, meter);
        self.memory.uncovered = known;
        result
    }

    /// The elements of a tree that cover no other element. The result represents the same markings.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn minimal(&mut self, tree: Tree, meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        let mut known: FxHashMap<Tree, Tree> = std::mem::take(&mut self.memory.minimal);
        let result = run(self, &mut Reduce { by_simulation: false }, &mut known, tree, meter);
        self.memory.minimal = known;
        result
    }

    /// Whether the precomputed facts allow that some element of the first tree covers one of the second.
    fn may_cover(&self, tree: Tree, other: Tree) -> bool {
        let (here, there) = (self.facts(tree), self.facts(other));
        other != Self::EMPTY && there.every & !here.any == 0 && there.least <= here.most
    }

    /// The task to compute the elements of `tree` that cover no element of the others; `None` if there are none.
    fn against(
        &mut self,
        tree: Tree,
        others: Vec<Tree>,
        meter: &mut Meter<'_>,
    ) -> Result<Option<UncoveredTask>, Stop> {
        if tree == Self::EMPTY {
            return Ok(None);
        }
        let place = self.place(tree);
        let mut left: Vec<Tree> = Vec::with_capacity(others.len());
        for other in others {
            if self.facts(other).has_empty {
                return Ok(None);
            }
            // Before the first place of the tree, its elements have no tokens to cover anything with.
            let other = self.at_or_after(other, place);
            if self.may_cover(tree, other) {
                left.push(other);
            }
        }
        left.sort_unstable();
        left.dedup();
        if self.unless_simulated(tree, &left, meter)? == Self::EMPTY {
            return Ok(None);
        }
        let mut i = 0;
        while i < left.len() {
            let mut is_needless = false;
            for j in (0..left.len()).filter(|&j| j != i) {
                is_needless = is_needless || self.is_simulated(left[i], left[j], meter)?;
            }
            if is_needless {
                left.remove(i);
            } else {
                i += 1;
            }
        }
        Ok(Some(UncoveredTask { tree, others: left.into() }))
    }
}

struct Union;

impl Walk for Union {
    type Task = (Tree, Tree);

    fn split(
        &mut self,
        forest: &mut Forest,
        &(a, b): &Self::Task,
        _: &mut Meter<'_>,
    ) -> Result<Split<Self::Task>, Stop> {
        if a == Forest::EMPTY || a == b {
            return Ok(Split::Done(b));
        }
        let place = forest.place(a).min(forest.place(b));
        let mut parts: Vec<(u64, Self::Task)> =
            forest.branches(a, place).map(|(tokens, part)| (tokens, (Forest::EMPTY, part))).collect();
        for (tokens, part) in forest.branches(b, place) {
            match parts.binary_search_by_key(&tokens, |&(tokens, _)| tokens) {
                Ok(at) => {
                    let other = parts[at].1.1;
                    parts[at].1 = (other.min(part), other.max(part));
                }
                Err(at) => parts.insert(at, (tokens, (Forest::EMPTY, part))),
            }
        }
        Ok(Split::Layer(place, parts))
    }
}

struct Uncovered;

impl Walk for Uncovered {
    type Task = UncoveredTask;

    fn split(
        &mut self,
        forest: &mut Forest,
        UncoveredTask { tree, others }: &UncoveredTask,
        meter: &mut Meter<'_>,
    ) -> Result<Split<UncoveredTask>, Stop> {
        if others.is_empty() || *tree == Forest::END {
            return Ok(Split::Done(*tree));
        }
        let place = forest.place(*tree);
        let branches: Vec<(u64, Tree)> = forest.branches(*tree, place).collect();
        let mut parts = Vec::with_capacity(branches.len());
        for (tokens, part) in branches {
            let below = others.iter().flat_map(|&other| {
                forest.branches(other, place).take_while(|&(n, _)| n <= tokens).map(|(_, to)| to)
            });
            let below = below.collect();
            if let Some(task) = forest.against(part, below, meter)? {
                parts.push((tokens, task));
            }
        }
        Ok(Split::Layer(place, parts))
    }
}

/// Removes elements that cover others.
pub(super) struct Reduce {
    /// Whether arcs are only removed as a whole, if a single other arc simulates them.
    pub(super) by_simulation: bool,
}

impl Walk for Reduce {
    type Task = Tree;

    fn split(&mut self, forest: &mut Forest, &tree: &Tree, _: &mut Meter<'_>) -> Result<Split<Tree>, Stop> {
        if forest.facts(tree).has_empty {
            return Ok(Split::Done(Forest::END));
        }
        if tree == Forest::EMPTY {
            return Ok(Split::Done(tree));
        }
        let place = forest.place(tree);
        Ok(Split::Layer(place, forest.branches(tree, place).collect()))
    }

    /// Removes an element if a part with fewer tokens in this place has an element that it covers.
    fn join(
        &mut self,
        forest: &mut Forest,
        place: PlaceId,
        parts: Vec<(u64, Tree)>,
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        let mut smaller: Vec<Tree> = Vec::with_capacity(parts.len());
        let mut kept = Vec::with_capacity(parts.len());
        for (tokens, part) in parts {
            let part = if self.by_simulation {
                forest.unless_simulated(part, &smaller, meter)?
            } else {
                forest.uncovered(part, &smaller, meter)?
            };
            smaller.push(part);
            kept.push((tokens, part));
        }
        forest.layer(place, kept, meter)
    }
}
