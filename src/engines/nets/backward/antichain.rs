//! Upward-closed sets, represented by elements in a trie, so that membership of a marking is decided quickly.
//!
//! Elements are paths of a trie: one edge per marked place, in the order of places, labelled with the place and the
//! number of tokens. A marking covers an element if it marks all places on the path, with at least as many tokens
//! as on each edge. Only prefixes that the marking covers are visited.

use crate::net::{Marking, PlaceId};

crate::define_id!(
    /// A node of a trie.
    NodeId,
    "n"
);

/// An edge from one node to the next.
#[derive(Clone, Copy, Debug)]
struct Edge {
    place: PlaceId,
    tokens: u64,
    to: NodeId,
}

/// A node of the trie.
#[derive(Clone, Debug, Default)]
struct Node {
    /// The edges, sorted by place and tokens.
    edges: Vec<Edge>,
    /// One more than the number of the element that ends here; zero if there is none.
    element: u32,
}

/// A set of numbered markings, in which those that a given marking covers can be found.
#[derive(Clone, Debug)]
pub struct Cover {
    nodes: Vec<Node>,
    /// The stack of [`Cover::covered_by`], kept to avoid allocations.
    open: Vec<(NodeId, u32)>,
}

impl Default for Cover {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], open: Vec::new() }
    }
}

impl Cover {
    const ROOT: usize = 0;

    /// Adds a marking under a number.
    pub fn insert(&mut self, marking: &Marking, number: u32) {
        let mut at = Self::ROOT;
        for (place, tokens) in marking.iter() {
            let edges = &self.nodes[at].edges;
            let found = edges.binary_search_by_key(&(place, tokens), |edge| (edge.place, edge.tokens));
            at = match found {
                Ok(i) => edges[i].to.index(),
                Err(i) => {
                    let to = NodeId::from_index(self.nodes.len());
                    self.nodes.push(Node::default());
                    self.nodes[at].edges.insert(i, Edge { place, tokens, to });
                    to.index()
                }
            };
        }
        self.nodes[at].element = number + 1;
    }

    /// An element that the marking covers, other than the one with this number.
    pub fn covered_by(&mut self, marking: &Marking, except: Option<u32>) -> Option<u32> {
        let entries = marking.entries();
        self.open.clear();
        self.open.push((NodeId::from_index(Self::ROOT), 0));
        while let Some((node, from)) = self.open.pop() {
            let Node { edges, element } = &self.nodes[node.index()];
            if *element != 0 && except != Some(element - 1) {
                return Some(element - 1);
            }
            let mut rest = &edges[..];
            for (i, &(place, tokens)) in entries.iter().enumerate().skip(from as usize) {
                if rest.is_empty() {
                    break;
                }
                // Most nodes have few edges, but the first ones have very many.
                let skip = if rest.len() <= 8 {
                    rest.iter().take_while(|edge| edge.place < place).count()
                } else {
                    rest.partition_point(|edge| edge.place < place)
                };
                rest = &rest[skip..];
                let here = rest.iter().take_while(|edge| edge.place == place && edge.tokens <= tokens);
                self.open.extend(here.map(|edge| (edge.to, i as u32 + 1)));
            }
        }
        None
    }
}
