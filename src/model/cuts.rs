//! The nodes where the cycles of a procedure are cut.
//!
//! A *loop head* is the target of a back edge of a depth-first search from the entry. Every cycle contains a loop
//! head, whether it is reducible or not. So the graph without the edges into loop heads is acyclic, and the code from
//! one cut (entry, loop head, exit) to the next ones has a topological order.

use super::{Node, Procedure};

/// The loop heads of a procedure, and an order of its nodes.
#[derive(Clone, Debug)]
pub struct Cuts {
    is_head: Vec<bool>,
    /// The position of each node in the order. An edge that does not enter a loop head leads to a greater position.
    place: Vec<u32>,
}

impl Cuts {
    /// Finds the loop heads among the nodes that control can reach from the entry.
    #[must_use]
    pub fn of(procedure: &Procedure) -> Self {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let count = procedure.nodes as usize;
        let mut state = vec![NEW; count];
        let mut is_head = vec![false; count];
        let mut postorder = Vec::with_capacity(count);
        let mut stack: Vec<(Node, u32)> = vec![(Procedure::ENTRY, procedure.first_edge[0])];
        state[Procedure::ENTRY.index()] = OPEN;
        while let Some((node, next)) = stack.last_mut() {
            if *next == procedure.first_edge[node.index() + 1] {
                state[node.index()] = DONE;
                postorder.push(*node);
                stack.pop();
                continue;
            }
            let to = procedure.edges[*next as usize].to;
            *next += 1;
            match state[to.index()] {
                NEW => {
                    state[to.index()] = OPEN;
                    stack.push((to, procedure.first_edge[to.index()]));
                }
                OPEN => is_head[to.index()] = true,
                _ => {}
            }
        }
        // Without the back edges, the reverse of a postorder is a topological order.
        let mut place = vec![0; count];
        for (position, node) in postorder.iter().rev().enumerate() {
            place[node.index()] = position as u32;
        }
        Self { is_head, place }
    }

    /// Whether a node is a loop head.
    #[must_use]
    pub fn is_head(&self, node: Node) -> bool {
        self.is_head[node.index()]
    }

    /// Whether a block ends at a node: a loop head or the exit.
    #[must_use]
    pub fn is_cut(&self, node: Node) -> bool {
        node == Procedure::EXIT || self.is_head(node)
    }

    /// The loop heads, sorted by number.
    pub fn heads(&self) -> impl Iterator<Item = Node> + '_ {
        self.is_head.iter().enumerate().filter(|(_, is_head)| **is_head).map(|(i, _)| Node::from_index(i))
    }

    /// The position of a node in an order in which only edges into loop heads go backwards.
    #[must_use]
    pub fn place(&self, node: Node) -> u32 {
        self.place[node.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Action, Edge};
    use super::*;
    use crate::source::Span;

    fn graph(nodes: u32, edges: &[(u32, u32)]) -> Procedure {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        let first_edge = (0..=nodes).map(|n| edges.iter().filter(|(from, _)| *from < n).count() as u32);
        Procedure {
            name: String::new(),
            span: Span::default(),
            params: 0,
            locals: Vec::new(),
            returns: 0,
            enforce: None,
            labels: Vec::new(),
            nodes,
            first_edge: first_edge.collect(),
            edges: edges
                .iter()
                .map(|&(from, to)| Edge {
                    from: Node(from),
                    to: Node(to),
                    action: Action::Skip,
                    span: Span::default(),
                    branch: None,
                    silent: false,
                })
                .collect(),
        }
    }

    #[test]
    fn every_cycle_is_cut_and_the_rest_is_ordered() {
        // All graphs of four nodes, as bit sets of their edges.
        for bits in 0_u32..1 << 16 {
            let edges: Vec<(u32, u32)> =
                (0..16).filter(|i| bits >> i & 1 == 1).map(|i| (i / 4, i % 4)).collect();
            let procedure = graph(4, &edges);
            let cuts = Cuts::of(&procedure);
            let mut reached = [false; 4];
            let mut open = vec![0_u32];
            while let Some(node) = open.pop() {
                if !std::mem::replace(&mut reached[node as usize], true) {
                    open.extend(edges.iter().filter(|(from, _)| *from == node).map(|&(_, to)| to));
                }
            }
            for &(from, to) in edges.iter().filter(|(from, _)| reached[*from as usize]) {
                let ordered = cuts.place(Node(from)) < cuts.place(Node(to));
                assert!(cuts.is_head(Node(to)) || ordered, "{edges:?}: {from} {to}");
            }
        }
    }

    #[test]
    fn a_structured_loop_has_one_head() {
        let procedure = graph(4, &[(0, 2), (2, 3), (3, 2), (2, 1)]);
        assert_eq!(Cuts::of(&procedure).heads().collect::<Vec<_>>(), [Node(2)]);
    }
}
