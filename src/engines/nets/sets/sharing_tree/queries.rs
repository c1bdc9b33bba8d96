//! Queries on trees.

use rustc_hash::FxHashSet;

use super::{Forest, Node, Tree};
use crate::net::{Marking, PlaceId};

impl Forest {
    /// The subtree that is reached if the places before this one are empty.
    pub(super) fn at_or_after(&self, mut tree: Tree, place: PlaceId) -> Tree {
        while self.place(tree) < place {
            let jump = self.facts(tree).jump;
            tree = if self.place(jump) < place { jump } else { self.node(tree).zero };
        }
        tree
    }

    /// The number of elements; it saturates.
    #[must_use]
    pub fn count(&self, tree: Tree) -> u128 {
        self.facts(tree).elements
    }

    /// The nodes of trees without the two constants, children first.
    #[must_use]
    pub fn nodes_of(&self, trees: impl IntoIterator<Item = Tree>) -> Vec<Tree> {
        let mut found: FxHashSet<Tree> = FxHashSet::from_iter([Self::EMPTY, Self::END]);
        let mut open: Vec<Tree> = trees.into_iter().collect();
        let mut nodes = Vec::new();
        while let Some(tree) = open.pop() {
            if found.insert(tree) {
                nodes.push(tree);
                let Node { zero, arcs, .. } = self.node(tree);
                open.push(*zero);
                open.extend(arcs.iter().map(|&(_, to)| to));
            }
        }
        nodes.sort_unstable();
        nodes
    }

    /// For every place that some element marks, the greatest number of tokens that an element has there.
    #[must_use]
    pub fn largest(&self, tree: Tree) -> Marking {
        let mut largest: Vec<(PlaceId, u64)> = Vec::new();
        let mut nodes = self.nodes_of([tree]);
        nodes.sort_by_key(|&node| self.place(node));
        for node in nodes {
            let Node { place, arcs, .. } = self.node(node);
            let most = arcs.last().map_or(0, |&(tokens, _)| tokens);
            match largest.last_mut() {
                Some((last, so_far)) if last == place => *so_far = most.max(*so_far),
                _ => largest.push((*place, most)),
            }
        }
        let mut marking = Marking::new();
        for (place, most) in largest {
            marking.set(place, most);
        }
        marking
    }

    /// Whether the marking covers an element, that is, whether it is in the upward-closed set.
    #[must_use]
    pub fn holds(&self, tree: Tree, marking: &Marking) -> bool {
        let entries = marking.entries();
        let mut seen: FxHashSet<Tree> = FxHashSet::default();
        let mut open = vec![(tree, 0)];
        while let Some((mut tree, from)) = open.pop() {
            if self.facts(tree).has_empty {
                return true;
            }
            for (i, &(place, tokens)) in entries.iter().enumerate().skip(from) {
                tree = self.at_or_after(tree, place);
                let Node { place: here, zero, arcs } = self.node(tree);
                if *here == place {
                    // The entries that are left depend only on the node, so a node is visited once.
                    if !seen.insert(tree) {
                        break;
                    }
                    let below = arcs.iter().take_while(|&&(n, _)| n <= tokens);
                    open.extend(below.map(|&(_, to)| (to, i + 1)));
                    tree = *zero;
                }
            }
        }
        false
    }

    /// All elements, in the order of paths.
    pub fn elements(&self, tree: Tree) -> impl Iterator<Item = Marking> + '_ {
        // The stack holds nodes, each with the number of its next branch, and whether the arc that led to it has
        // tokens. Branch 0 is the one without tokens.
        let mut open = vec![(tree, 0, false)];
        let mut path: Vec<(PlaceId, u64)> = Vec::new();
        std::iter::from_fn(move || {
            while let Some((tree, next, is_marked)) = open.pop() {
                let element = (tree == Self::END).then(|| marking_of(&path));
                let Node { place, zero, arcs } = self.node(tree);
                if tree == Self::EMPTY || element.is_some() || next > arcs.len() {
                    path.truncate(path.len() - usize::from(is_marked));
                    if element.is_some() {
                        return element;
                    }
                    continue;
                }
                open.push((tree, next + 1, is_marked));
                if next == 0 {
                    open.push((*zero, 0, false));
                } else {
                    let (tokens, to) = arcs[next - 1];
                    path.push((*place, tokens));
                    open.push((to, 0, true));
                }
            }
            None
        })
    }

    /// The element with this number in the order of paths; `None` if there are fewer elements.
    #[must_use]
    pub fn element(&self, tree: Tree, number: u128) -> Option<Marking> {
        let (mut at, mut left) = (tree, number);
        let mut path = Vec::new();
        while at != Self::END {
            let place = self.place(at);
            let (tokens, to) = self.branches(at, place).find(|&(_, to)| {
                let here = self.count(to);
                let is_there = left < here;
                left = if is_there { left } else { left - here };
                is_there
            })?;
            path.push((place, tokens));
            at = to;
        }
        (left == 0).then(|| marking_of(&path))
    }
}

fn marking_of(path: &[(PlaceId, u64)]) -> Marking {
    let mut marking = Marking::new();
    for &(place, tokens) in path {
        marking.set(place, tokens);
    }
    marking
}
