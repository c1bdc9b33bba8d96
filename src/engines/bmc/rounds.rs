//! The edges between blocks that close a cycle; control *comes round* when it takes one of them.
//!
//! A block leads to other blocks by calls and by loops. A depth-first search from the block at the start finds the
//! edges back to a block that is still on the search stack; every cycle of blocks contains one. For a recursion,
//! this edge is a call, since the blocks of a procedure are entered through its entry. Counting these edges along a
//! path of copies counts loop iterations and nested recursive calls; calls that close no cycle are not counted.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Action, Node, ProcId, Procedure};
use crate::symbolic::block::Blocks;

/// A block: its procedure and where it begins.
type Start = (ProcId, Node);

/// The edges that close a cycle.
#[derive(Debug)]
pub(super) struct Rounds {
    closing: FxHashSet<(Start, Start)>,
}

impl Rounds {
    pub fn of(blocks: &Blocks<'_>) -> Self {
        let mut closing = FxHashSet::default();
        let mut is_open: FxHashMap<Start, bool> = FxHashMap::default();
        let first = (blocks.task.program.start, Procedure::ENTRY);
        is_open.insert(first, true);
        let mut stack = vec![(first, successors(blocks, first).into_iter())];
        while let Some((start, next)) = stack.last_mut() {
            let start = *start;
            let Some(to) = next.next() else {
                is_open.insert(start, false);
                stack.pop();
                continue;
            };
            match is_open.get(&to) {
                Some(true) => {
                    closing.insert((start, to));
                }
                Some(false) => {}
                None => {
                    is_open.insert(to, true);
                    stack.push((to, successors(blocks, to).into_iter()));
                }
            }
        }
        Self { closing }
    }

    /// Whether the edge from one block to the other closes a cycle.
    pub fn closes(&self, from: Start, to: Start) -> bool {
        self.closing.contains(&(from, to))
    }
}

/// The blocks that a block leads to, ignoring data.
fn successors(blocks: &Blocks<'_>, (id, start): Start) -> Vec<Start> {
    let procedure = blocks.task.program.procedure(id);
    let cuts = blocks.cuts(id);
    let mut found = Vec::new();
    let mut seen: FxHashSet<Node> = FxHashSet::default();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        if blocks.is_target(id, node) {
            continue;
        }
        for (_, edge) in procedure.edges_from(node) {
            match &edge.action {
                Action::EndThread => continue,
                Action::Call(call) => found.push((call.callee, Procedure::ENTRY)),
                _ => {}
            }
            if cuts.is_head(edge.to) {
                found.push((id, edge.to));
            } else if seen.insert(edge.to) {
                open.push(edge.to);
            }
        }
    }
    found
}
