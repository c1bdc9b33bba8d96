//! Finds cycles of the original program that the cuts of the reduced one do not cut.
//!
//! There should be no such cycle among reachable nodes, because reductions do not remove cycles. A cycle with a node
//! that control cannot reach (because of the known values, or because no edges lead there) is cut at that node:
//! nothing has to be shown there.

use super::Unliftable;
use crate::model::{Node, Procedure};

/// Adds cuts at unreachable nodes until every cycle of a procedure is cut, and returns them.
///
/// # Errors
/// If a cycle through reachable nodes is not cut.
pub(super) fn cut_cycles(
    procedure: &Procedure,
    is_cut: &mut [bool],
    is_reachable: impl Fn(Node) -> bool,
) -> Result<Vec<Node>, Unliftable> {
    let mut added = Vec::new();
    let mut is_led_to = None;
    while let Some(cycle) = find_cycle(procedure, is_cut) {
        let is_led_to = is_led_to.get_or_insert_with(|| led_to(procedure));
        let never_comes = |&node: &Node| !is_reachable(node) || !is_led_to[node.index()];
        let Some(node) = cycle.into_iter().find(never_comes) else {
            return Err(Unliftable("the reduction took a cycle apart that the certificate has to cut"));
        };
        is_cut[node.index()] = true;
        added.push(node);
    }
    added.sort_unstable();
    Ok(added)
}

/// For each node, whether a path leads there from the entry.
fn led_to(procedure: &Procedure) -> Vec<bool> {
    let mut seen = vec![false; procedure.nodes as usize];
    let mut open = vec![Procedure::ENTRY];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node.index()], true) {
            open.extend(procedure.edges_from(node).map(|(_, edge)| edge.to));
        }
    }
    seen
}

/// Finds a cycle without a cut, and returns its nodes.
fn find_cycle(procedure: &Procedure, is_cut: &[bool]) -> Option<Vec<Node>> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state: Vec<u8> = is_cut.iter().map(|&cut| if cut { DONE } else { NEW }).collect();
    let mut stack: Vec<(Node, u32)> = Vec::new();
    for root in (0..procedure.nodes as usize).map(Node::from_index) {
        if state[root.index()] != NEW {
            continue;
        }
        state[root.index()] = OPEN;
        stack.push((root, procedure.first_edge[root.index()]));
        while let Some((node, next)) = stack.last_mut() {
            if *next == procedure.first_edge[node.index() + 1] {
                state[node.index()] = DONE;
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
                OPEN => {
                    let first = stack.iter().position(|&(node, _)| node == to).unwrap_or_default();
                    return Some(stack[first..].iter().map(|&(node, _)| node).collect());
                }
                _ => {}
            }
        }
    }
    None
}
