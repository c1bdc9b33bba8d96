//! A control-flow graph that is being built.

use crate::model::{Action, Edge, Expr, Node};
use crate::source::Span;

/// A control-flow graph that is being built.
pub(super) struct Graph {
    nodes: u32,
    edges: Vec<Edge>,
}

impl Graph {
    /// A graph with only an entry and an exit.
    pub fn new() -> Self {
        Self { nodes: 2, edges: Vec::new() }
    }

    pub fn node(&mut self) -> Node {
        self.nodes += 1;
        Node::from_index(self.nodes as usize - 1)
    }

    pub fn edge(&mut self, from: Node, action: Action, to: Node, span: Span) {
        self.edges.push(Edge { from, to, action, span, branch: None, silent: false });
    }

    /// Adds a silent edge: a step that belongs to no statement.
    pub fn silent(&mut self, from: Node, to: Node, span: Span) {
        self.edges.push(Edge { from, to, action: Action::Skip, span, branch: None, silent: true });
    }

    /// Adds an edge from `at` to a new node, and sets `at` to that node.
    pub fn step(&mut self, at: &mut Node, action: Action, span: Span) {
        let to = self.node();
        self.edge(*at, action, to, span);
        *at = to;
    }

    /// Adds the two edges of a condition.
    pub fn branch(&mut self, from: Node, holds: Expr, fails: Expr, to: [Node; 2], span: Span) {
        for (condition, to, branch) in [(holds, to[0], true), (fails, to[1], false)] {
            let action = Action::Assume(condition);
            self.edges.push(Edge { from, to, action, span, branch: Some(branch), silent: false });
        }
    }

    /// Renumbers the nodes in the order of the text and sorts the edges by their source.
    pub fn finish(mut self, labels: &mut [(String, Node)]) -> (u32, Vec<Edge>, Vec<u32>) {
        let mut first_byte = vec![u32::MAX; self.nodes as usize];
        for edge in &self.edges {
            let slot = &mut first_byte[edge.from.index()];
            *slot = (*slot).min(edge.span.start);
        }
        let mut order: Vec<u32> = (2..self.nodes).collect();
        order.sort_by_key(|&node| first_byte[node as usize]);
        let mut number = vec![0; self.nodes as usize];
        for (new, old) in [0, 1].into_iter().chain(order).enumerate() {
            number[old as usize] = new as u32;
        }
        let renumber = |node: &mut Node| *node = Node::from_index(number[node.index()] as usize);
        for edge in &mut self.edges {
            renumber(&mut edge.from);
            renumber(&mut edge.to);
            if let Action::Fork(at) = &mut edge.action {
                renumber(at);
            }
        }
        for (_, node) in labels {
            renumber(node);
        }
        self.edges.sort_by_key(|edge| edge.from);
        let mut first_edge = vec![0; self.nodes as usize + 1];
        for edge in &self.edges {
            first_edge[edge.from.index() + 1] += 1;
        }
        for i in 1..first_edge.len() {
            first_edge[i] += first_edge[i - 1];
        }
        (self.nodes, self.edges, first_edge)
    }
}
