//! Upward-closed sets by elements, with a fast answer to whether a marking is in one.
//!
//! Elements are paths of a trie: one edge per marked place, in the order of places, labelled with
//! place and tokens. A marking covers an element if it can follow a path whose places it marks, with at
//! least as many tokens on every edge. Only prefixes that the marking covers are visited.

use crate::net::{Marking, PlaceId};

crate::define_id!(
    /// A node of one trie.
    NodeId,
    "n"
);

/// From one node to the next.
#[derive(Clone, Copy, Debug)]
struct Edge {
    place: PlaceId,
    tokens: u64,
    to: NodeId,
}

/// A node of the trie.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Sorted by place and tokens.
    edges: Vec<Edge>,
    /// The number of the element that ends here, plus one.
    element: u32,
}

/// A set of markings that is asked which of them a marking covers.
#[derive(Clone, Debug)]
pub struct Cover {
    nodes: Vec<Node>,
    /// Scratch.
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
                // Edges are few at most nodes, but very many at the first ones.
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
