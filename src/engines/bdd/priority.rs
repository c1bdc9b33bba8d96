//! The order in which program counters are processed.
//!
//! Callees come before their callers, so that the code behind a call is processed once with the complete summary
//! known so far, and not once for each path through the callee. Within a procedure, a program counter comes before
//! its successors, so that branches merge before the code behind them is processed, and a loop comes before the
//! code behind the loop. The exit comes last: a summary is passed to the callers when nothing else is left to do.
//!
//! Deviation: G. Basler, "Model Checking Boolean Programs", 2010, Algorithm 10.1 sorts by the size of the tree that
//! a depth-first search leaves below a node; the aim is to merge as much as possible. Where two branches meet, the
//! depth-first search visits the code behind them only once, so one branch gets its size, and the other does not
//! and is processed last. If instead the size of nodes visited before is added as well, sizes double at every join,
//! and the code behind a loop weighs more than its body. The weak topological order of F. Bourdoncle, "Efficient
//! Chaotic Iteration Strategies with Widenings", 1993, achieves the aim.

use crate::model::{Action, ProcId, Procedure, Program};

/// A graph whose nodes are numbers: the successors of each node.
pub(super) type Graph = Vec<Vec<u32>>;

/// For each procedure and node, its rank in the order; ranks are consecutive numbers from 0 on.
#[derive(Debug)]
pub(super) struct Priority {
    ranks: Vec<Vec<u32>>,
    /// The procedure and the node of every rank.
    places: Vec<(u32, u32)>,
}

impl Priority {
    pub fn of(program: &Program) -> Self {
        let mut places: Vec<(u32, u32)> = Vec::new();
        // Tarjan's algorithm yields callees before callers.
        let all: Vec<u32> = (0..program.procedures.len() as u32).collect();
        for component in components(&call_graph(program), &all) {
            // Mutually recursive procedures are processed together.
            let mut keyed: Vec<(u32, u32, u32)> = Vec::new();
            for procedure in component {
                let code = program.procedure(ProcId::from_index(procedure as usize));
                let exit = Procedure::EXIT.index() as u32;
                let order = weak_topological_order(&flow_graph(code));
                let inner = order.into_iter().filter(|&node| node != exit);
                keyed.extend((0..).zip(inner).map(|(place, node)| (place, procedure, node)));
                keyed.push((u32::MAX, procedure, exit));
            }
            keyed.sort_unstable();
            places.extend(keyed.into_iter().map(|(_, procedure, node)| (procedure, node)));
        }
        let mut ranks: Vec<Vec<u32>> =
            program.procedures.iter().map(|procedure| vec![0; procedure.nodes as usize]).collect();
        for (place, &(procedure, node)) in (0..).zip(&places) {
            ranks[procedure as usize][node as usize] = place;
        }
        Self { ranks, places }
    }

    /// The rank of a node.
    pub fn rank(&self, procedure: usize, node: usize) -> u32 {
        self.ranks[procedure][node]
    }

    /// The procedure and the node with a rank.
    pub fn at(&self, rank: u32) -> (usize, usize) {
        let (procedure, node) = self.places[rank as usize];
        (procedure as usize, node as usize)
    }
}

fn call_graph(program: &Program) -> Graph {
    let callees = |procedure: &Procedure| {
        let calls = procedure.edges.iter().filter_map(|edge| match &edge.action {
            Action::Call(call) => Some(call.callee.index() as u32),
            _ => None,
        });
        let mut callees: Vec<u32> = calls.collect();
        callees.sort_unstable();
        callees.dedup();
        callees
    };
    program.procedures.iter().map(callees).collect()
}

fn flow_graph(procedure: &Procedure) -> Graph {
    let mut graph: Graph = vec![Vec::new(); procedure.nodes as usize];
    for edge in &procedure.edges {
        graph[edge.from.index()].push(edge.to.index() as u32);
    }
    graph
}

/// All nodes, ordered so that each comes before its successors, except that a loop is a contiguous part that begins
/// with its head.
pub(super) fn weak_topological_order(graph: &Graph) -> Vec<u32> {
    /// A task that is left to do.
    enum Task {
        Emit(u32),
        Sort(Vec<u32>),
    }
    let mut order = Vec::with_capacity(graph.len());
    let mut open = vec![Task::Sort((0..graph.len() as u32).collect())];
    while let Some(task) = open.pop() {
        match task {
            Task::Emit(node) => order.push(node),
            // Components are found successors first; pushing their tasks onto a stack reverses this order.
            Task::Sort(nodes) => {
                for component in components(graph, &nodes) {
                    // The node that the search visited first is the head.
                    let (head, rest) = (component[0], component[1..].to_vec());
                    if !rest.is_empty() {
                        open.push(Task::Sort(rest));
                    }
                    open.push(Task::Emit(head));
                }
            }
        }
    }
    order
}

/// The strongly connected components of the subgraph on these nodes, successors first. In each, the first node is
/// the one that a depth-first search in the given order visits first.
///
/// R. Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972, without recursion.
pub(super) fn components(graph: &Graph, nodes: &[u32]) -> Vec<Vec<u32>> {
    // Nodes of the subgraph are looked up by binary search, so that small parts of a large graph cost little.
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let local = |node: u32| sorted.binary_search(&node).ok();
    let mut number: Vec<u32> = vec![0; sorted.len()];
    let mut lowest: Vec<u32> = vec![0; sorted.len()];
    let mut is_open = vec![false; sorted.len()];
    let mut found = Vec::new();
    let mut next_number = 1;
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut pending: Vec<usize> = Vec::new();
    for &root in nodes {
        let Some(root) = local(root) else { continue };
        if number[root] != 0 {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                number[node] = next_number;
                lowest[node] = next_number;
                next_number += 1;
                is_open[node] = true;
                pending.push(node);
                path.push((node, 0));
            }
            let Some((node, edge)) = path.last_mut() else { break };
            let node = *node;
            if let Some(&successor) = graph[sorted[node] as usize].get(*edge) {
                *edge += 1;
                match local(successor) {
                    Some(to) if number[to] == 0 => enter = Some(to),
                    Some(to) if is_open[to] => lowest[node] = lowest[node].min(number[to]),
                    _ => {}
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                lowest[parent] = lowest[parent].min(lowest[node]);
            }
            if lowest[node] == number[node] {
                let start = pending.iter().rposition(|&other| other == node).unwrap_or(0);
                let members = pending.split_off(start);
                for &member in &members {
                    is_open[member] = false;
                }
                found.push(members.into_iter().map(|member| sorted[member]).collect());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_come_before_what_follows_them_and_loops_before_what_follows_the_loop() {
        // 0 -> {2, 3} -> 4, a loop 4 -> 5 -> 4, then 4 -> 6 -> 1; the exits come first in the lists.
        let graph: Graph = vec![vec![2, 3], vec![], vec![4], vec![4], vec![6, 5], vec![4], vec![1]];
        let order = weak_topological_order(&graph);
        let place = |node: u32| order.iter().position(|&n| n == node).unwrap();
        assert_eq!(order.len(), 7);
        assert!(place(0) < place(2) && place(0) < place(3));
        assert!(place(2) < place(4) && place(3) < place(4));
        assert!(place(4) < place(5) && place(5) < place(6) && place(6) < place(1));
    }

    #[test]
    fn inner_loops_are_blocks_of_outer_loops() {
        // 0 -> 1 -> 2 -> 3 -> 2, 3 -> 4 -> 1, 1 -> 5.
        let graph: Graph = vec![vec![1], vec![5, 2], vec![3], vec![4, 2], vec![1], vec![]];
        assert_eq!(weak_topological_order(&graph), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn components_come_successors_first() {
        let graph: Graph = vec![vec![1], vec![2], vec![1, 3], vec![]];
        assert_eq!(components(&graph, &[0, 1, 2, 3]), [vec![3], vec![1, 2], vec![0]]);
        assert_eq!(components(&graph, &[2, 0]), [vec![2], vec![0]]);
    }

    #[test]
    fn deep_graphs_do_not_exhaust_the_stack() {
        let count = 100_000;
        let graph: Graph = (0..count).map(|n| if n + 1 < count { vec![n + 1] } else { vec![] }).collect();
        assert_eq!(weak_topological_order(&graph), (0..count).collect::<Vec<u32>>());
    }
}
