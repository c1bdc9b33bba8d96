//! Removes steps that do nothing.
//!
//! A node whose only edge does nothing is merged with the target of that edge. Of several edges that do the same
//! between the same nodes, one is kept. Where `assume e` and `assume !e` lead to the same node, they are replaced by
//! one edge that does nothing; where an edge that does nothing leads to the same node as an assumption, the
//! assumption is removed. If the entry of a procedure is the only predecessor of a node and leads there by one edge
//! that does nothing, the entry takes over that node's edges.
//!
//! A node with the forbidden label is kept, and no cycle disappears: an edge from a node to itself is kept, even if
//! it does nothing.

use rustc_hash::FxHashMap;

use super::Keep;
use super::work::{ProcedureMap, Ways, Work, first_edges};
use crate::model::live::order::{Table, postorder};
use crate::model::{Action, Edge, ExprPool, Node, Op, Place, Procedure, Property};

/// Removes the steps that do nothing, and tells whether anything has changed.
pub(super) fn collapse(work: &mut Work, keep: Keep) -> bool {
    let program = &mut work.task.program;
    let mut changed = false;
    for (procedure, map) in program.procedures.iter_mut().zip(&mut work.map.procedures) {
        let mut stays = vec![false; procedure.nodes as usize];
        if let Property::LabelUnreachable(label) = &work.task.property {
            procedure.nodes_labelled(label).for_each(|node| stays[node.index()] = true);
        }
        let entry_merges = !stays[Procedure::ENTRY.index()];
        stays[Procedure::ENTRY.index()] = true;
        stays[Procedure::EXIT.index()] = true;
        let through = &mut work.map.through[map.original.index()];
        let mut graph = Graph::new(procedure, map, &program.exprs, keep);
        graph.collapse(&stays, through);
        let entry = if entry_merges { graph.merge_entry(&stays, through) } else { None };
        changed |= graph.rebuild(entry);
    }
    changed
}

/// The graph of one procedure.
struct Graph<'a> {
    procedure: &'a mut Procedure,
    map: &'a mut ProcedureMap,
    exprs: &'a ExprPool,
    keep: Keep,
    /// For each edge, whether it was removed.
    gone: Vec<bool>,
    /// For each node, the node it was merged with or another one on the way to it (a union-find forest).
    is: Vec<Node>,
    similar: FxHashMap<Doing, usize>,
    skips: FxHashMap<Node, usize>,
}

/// What an edge does, in a form that can be compared: the target node, the kind of action with the number of assigned
/// variables, and the code.
type Doing = (Node, usize, Vec<Op>);

impl<'a> Graph<'a> {
    fn new(procedure: &'a mut Procedure, map: &'a mut ProcedureMap, exprs: &'a ExprPool, keep: Keep) -> Self {
        Self {
            gone: vec![false; procedure.edges.len()],
            is: (0..procedure.nodes as usize).map(Node::from_index).collect(),
            procedure,
            map,
            exprs,
            keep,
            similar: FxHashMap::default(),
            skips: FxHashMap::default(),
        }
    }

    /// Merges edges and chains of nodes, successors first.
    fn collapse(&mut self, stays: &[bool], through: &mut [Ways]) {
        let nodes = self.procedure.nodes as usize;
        let pairs = self.procedure.edges.iter().map(|e| (e.from.index() as u32, e.to.index() as u32));
        for node in postorder(&Table::new(nodes, pairs)) {
            let node = Node::from_index(node as usize);
            let range = self.edges_of(node);
            for i in range.clone() {
                self.procedure.edges[i].to = self.find(self.procedure.edges[i].to);
            }
            self.merge_edges(node);
            let mut left = range.filter(|&i| !self.gone[i]);
            if let (Some(only), None) = (left.next(), left.next())
                && !stays[node.index()]
                && self.procedure.edges[only].to != node
                && does_nothing(&self.procedure.edges[only])
            {
                self.is[node.index()] = self.procedure.edges[only].to;
                through[self.map.nodes[node.index()].index()].clone_from(&self.map.edges[only]);
                self.gone[only] = true;
            }
        }
        for i in 0..self.procedure.edges.len() {
            self.procedure.edges[i].to = self.find(self.procedure.edges[i].to);
        }
    }

    fn edges_of(&self, node: Node) -> std::ops::Range<usize> {
        let first = &self.procedure.first_edge;
        first[node.index()] as usize..first[node.index() + 1] as usize
    }

    /// The node that a node was merged with. Shortens the chains that it follows.
    fn find(&mut self, mut node: Node) -> Node {
        while self.is[node.index()] != node {
            let next = self.is[node.index()];
            self.is[node.index()] = self.is[next.index()];
            node = next;
        }
        node
    }

    /// Merges the edges that leave a node.
    fn merge_edges(&mut self, node: Node) {
        let range = self.edges_of(node);
        let edges = &mut self.procedure.edges;
        let branches = match &edges[range.clone()] {
            [] | [_] => return,
            [a, b] if a.to != b.to => return,
            more => more.len(),
        };
        self.similar.clear();
        self.skips.clear();
        for i in range.clone() {
            let Some(doing) = doing(&edges[i], self.exprs) else { continue };
            if self.similar.contains_key(&doing) {
                self.gone[i] = true;
                continue;
            }
            if self.keep == Keep::Verdict
                && let Some(opposite) = opposite(&doing)
                && let Some(&other) = self.similar.get(&opposite)
            {
                let ways = std::mem::take(&mut self.map.edges[i]);
                self.map.edges[other].extend(ways);
                edges[other].action = Action::Skip;
                edges[other].branch = None;
                self.similar.remove(&opposite);
                self.gone[i] = true;
                continue;
            }
            self.similar.insert(doing, i);
        }
        if self.keep == Keep::States || branches < 2 {
            return;
        }
        for i in range.clone().filter(|&i| !self.gone[i]) {
            if does_nothing(&edges[i]) {
                self.skips.entry(edges[i].to).or_insert(i);
            }
        }
        for i in range {
            let says_nothing = matches!(edges[i].action, Action::Assume(_)) || does_nothing(&edges[i]);
            if says_nothing && self.skips.get(&edges[i].to).is_some_and(|&skip| skip != i) {
                self.gone[i] = true;
            }
        }
    }

    /// Finds the node whose edges the entry takes over, if there is one.
    fn merge_entry(&mut self, stays: &[bool], through: &mut [Ways]) -> Option<Node> {
        let mut left = self.edges_of(Procedure::ENTRY).filter(|&i| !self.gone[i]);
        let (Some(only), None) = (left.next(), left.next()) else { return None };
        let next = self.procedure.edges[only].to;
        if !does_nothing(&self.procedure.edges[only]) || stays[next.index()] {
            return None;
        }
        let leads_there = |&i: &usize| !self.gone[i] && self.procedure.edges[i].to == next;
        if (0..self.procedure.edges.len()).filter(leads_there).count() != 1 {
            return None;
        }
        let entry = self.map.nodes[Procedure::ENTRY.index()];
        through[entry.index()].clone_from(&self.map.edges[only]);
        self.gone[only] = true;
        Some(next)
    }

    /// Renumbers what is left, and tells whether anything was removed.
    fn rebuild(self, entry: Option<Node>) -> bool {
        if !self.gone.contains(&true) {
            return false;
        }
        let Self { procedure, map, gone, is, .. } = self;
        let stays = |node: Node| is[node.index()] == node && Some(node) != entry;
        let left: Vec<Node> =
            (0..procedure.nodes as usize).map(Node::from_index).filter(|&node| stays(node)).collect();
        let mut number = vec![Procedure::ENTRY; procedure.nodes as usize];
        (0..).zip(&left).for_each(|(new, old)| number[old.index()] = Node::from_index(new));
        let mut nodes = Vec::with_capacity(left.len());
        let mut edges = Vec::new();
        let mut origins = Vec::new();
        for &node in &left {
            // The entry gets the edges of the node that it took over.
            let at = entry.filter(|_| node == Procedure::ENTRY).unwrap_or(node);
            nodes.push(map.nodes[at.index()]);
            let range =
                procedure.first_edge[at.index()] as usize..procedure.first_edge[at.index() + 1] as usize;
            for i in range.filter(|&i| !gone[i]) {
                let edge = &mut procedure.edges[i];
                let action = std::mem::replace(&mut edge.action, Action::Skip);
                let (from, to) = (number[node.index()], number[edge.to.index()]);
                edges.push(Edge {
                    from,
                    to,
                    action,
                    span: edge.span,
                    branch: edge.branch,
                    silent: edge.silent,
                });
                origins.push(std::mem::take(&mut map.edges[i]));
            }
        }
        procedure.labels.retain_mut(|(_, node)| {
            let stays = stays(*node);
            *node = number[node.index()];
            stays
        });
        procedure.nodes = nodes.len() as u32;
        procedure.first_edge = first_edges(procedure.nodes, edges.iter().map(|edge| edge.from));
        procedure.edges = edges;
        map.nodes = nodes;
        map.edges = origins;
        true
    }
}

fn does_nothing(edge: &Edge) -> bool {
    matches!(edge.action, Action::Skip | Action::AtomicBegin | Action::AtomicEnd)
}

/// What an edge does in a comparable form; `None` for calls and other actions that are not compared.
fn doing(edge: &Edge, exprs: &ExprPool) -> Option<Doing> {
    let (kind, code) = match &edge.action {
        Action::Skip | Action::AtomicBegin | Action::AtomicEnd => (0, Vec::new()),
        Action::Assume(e) => (1, exprs.ops(*e).to_vec()),
        Action::Assert(e) => (2, exprs.ops(*e).to_vec()),
        Action::Assign(assign) => {
            let mut code = Vec::new();
            for (target, value) in &assign.pairs {
                // No right side reads a new value, so the read of a new value can represent the target.
                code.push(Op::Read(Place { var: target.var, primed: true, passive: target.passive }));
                code.extend_from_slice(exprs.ops(*value));
            }
            assign.constrain.iter().for_each(|e| code.extend_from_slice(exprs.ops(*e)));
            (3 + assign.pairs.len(), code)
        }
        Action::Call(_) | Action::Spawn(_) | Action::Fork(_) | Action::EndThread => return None,
    };
    Some((edge.to, kind, code))
}

/// What the other branch of a condition would do.
fn opposite((to, kind, code): &Doing) -> Option<Doing> {
    if *kind != 1 {
        return None;
    }
    let code = match code.split_last() {
        Some((Op::Not, rest)) => rest.to_vec(),
        _ => code.iter().copied().chain([Op::Not]).collect(),
    };
    Some((*to, *kind, code))
}
