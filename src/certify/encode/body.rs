//! A procedure, its cuts, and an order of the nodes between the cuts.
//!
//! A block begins at a cut or at the entry and ends at the next cuts or at the exit. If every cycle goes through a
//! cut, the edges that do not lead to a cut form no cycle. One order of the nodes then serves all blocks of the
//! procedure: every node comes after all nodes that lead to it.

use crate::certify::{Stop, reject};
use crate::model::{Action, Edge, EdgeId, Node, ProcId, Procedure, Program, Var};

/// A procedure, prepared for walks through its blocks.
pub(in crate::certify) struct Body<'a> {
    /// The id of the procedure.
    pub id: ProcId,
    /// The procedure.
    pub procedure: &'a Procedure,
    is_cut: Vec<bool>,
    /// All nodes that can lie in a block, ordered so that edges that do not lead to a cut go forwards.
    order: Vec<Node>,
    /// The position of each node in `order`, or [`NOWHERE`] for nodes that lie in no block.
    position: Vec<u32>,
    /// The variables that the `enforce` of the procedure reads, sorted.
    enforced: Vec<Var>,
}

const NOWHERE: u32 = u32::MAX;

/// The state of a node in the depth-first search for an order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

impl<'a> Body<'a> {
    /// A procedure cut at the given nodes and at its exit. Blocks begin at its entry and at the cuts.
    pub fn new(program: &'a Program, id: ProcId, cuts: &[Node]) -> Result<Self, Stop> {
        let procedure = program.procedure(id);
        let nodes = procedure.nodes as usize;
        let mut is_cut = vec![false; nodes];
        is_cut[Procedure::EXIT.index()] = true;
        for cut in cuts {
            match is_cut.get_mut(cut.index()) {
                Some(mark) => *mark = true,
                None => return reject(format!("`{}` has no node {cut}", procedure.name)),
            }
        }
        let mut enforced: Vec<Var> = procedure
            .enforce
            .into_iter()
            .flat_map(|condition| program.exprs.reads(condition))
            .map(|place| place.var)
            .collect();
        enforced.sort_unstable();
        enforced.dedup();
        let order = Vec::new();
        let mut body = Self { id, procedure, is_cut, order, position: vec![NOWHERE; nodes], enforced };
        body.sort()?;
        Ok(body)
    }

    /// Whether the procedure is cut at a node, so that blocks end there.
    pub fn is_cut(&self, node: Node) -> bool {
        self.is_cut[node.index()]
    }

    /// The edges that a run may take from a node; edges that end the thread are left out.
    pub fn edges_from(&self, node: Node) -> impl Iterator<Item = (EdgeId, &'a Edge)> + use<'a> {
        self.procedure.edges_from(node).filter(|(_, edge)| !matches!(edge.action, Action::EndThread))
    }

    /// The position of a node in the order that all blocks share.
    pub fn position(&self, node: Node) -> u32 {
        self.position[node.index()]
    }

    /// The node at a position.
    pub fn node(&self, position: u32) -> Node {
        self.order[position as usize]
    }

    /// Whether an assignment to these variables can change the value of `enforce`.
    pub fn is_enforced(&self, mut assigned: impl Iterator<Item = Var>) -> bool {
        !self.enforced.is_empty() && assigned.any(|var| self.enforced.binary_search(&var).is_ok())
    }

    /// Whether `enforce` reads a global.
    pub fn enforces_globals(&self) -> bool {
        self.enforced.iter().any(|var| matches!(var, Var::Global(_)))
    }

    /// Computes the order by depth-first search: a node is finished after all nodes that it leads to.
    fn sort(&mut self) -> Result<(), Stop> {
        let nodes = self.procedure.nodes as usize;
        let mut marks = vec![Mark::New; nodes];
        let roots = (0..nodes).map(Node::from_index).filter(|&n| n == Procedure::ENTRY || self.is_cut(n));
        let roots: Vec<Node> = roots.collect();
        let mut stack = Vec::new();
        for root in roots {
            if marks[root.index()] == Mark::New {
                marks[root.index()] = Mark::Open;
                stack.push((root, self.edges_from(root)));
            }
            while let Some((node, edges)) = stack.last_mut() {
                let node = *node;
                let Some((_, edge)) = edges.next() else {
                    marks[node.index()] = Mark::Done;
                    self.order.push(node);
                    stack.pop();
                    continue;
                };
                let to = edge.to;
                if self.is_cut(to) {
                    continue;
                }
                match marks[to.index()] {
                    Mark::Done => {}
                    Mark::New => {
                        marks[to.index()] = Mark::Open;
                        stack.push((to, self.edges_from(to)));
                    }
                    Mark::Open => {
                        let name = &self.procedure.name;
                        return reject(format!("a cycle of `{name}` through {to} goes through no cut"));
                    }
                }
            }
        }
        self.order.reverse();
        for (position, node) in self.order.iter().enumerate() {
            self.position[node.index()] = position as u32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::testing::assertions;

    const LOOPS: &str = "decl g; void main() begin
        while (g) do g := *; L: if (g) then goto L; fi od
        assert(g | !g); end";

    fn cut_sets(task: &crate::model::Task) -> impl Iterator<Item = Vec<Node>> + use<> {
        let nodes = task.program.procedures[0].nodes;
        (0..1_u32 << nodes).map(move |bits| {
            (0..nodes as usize).filter(|i| bits >> i & 1 == 1).map(Node::from_index).collect()
        })
    }

    /// Decides by brute force whether every cycle that can be reached from the entry or a cut goes through a cut: no
    /// node may be reachable from itself without passing a cut.
    fn cuts_all_cycles(procedure: &Procedure, cuts: &[Node]) -> bool {
        let ends = |node: Node| node == Procedure::EXIT || cuts.contains(&node);
        let reach = |from: Node| {
            let mut seen = vec![false; procedure.nodes as usize];
            let mut work = vec![from];
            while let Some(node) = work.pop() {
                for (_, edge) in procedure.edges_from(node) {
                    if !ends(edge.to) && !std::mem::replace(&mut seen[edge.to.index()], true) {
                        work.push(edge.to);
                    }
                }
            }
            seen
        };
        let mut held = vec![false; procedure.nodes as usize];
        for root in cuts.iter().copied().chain([Procedure::ENTRY]) {
            held[root.index()] = true;
            for (i, reached) in reach(root).into_iter().enumerate() {
                held[i] |= reached;
            }
        }
        (0..procedure.nodes as usize).all(|i| !held[i] || !reach(Node::from_index(i))[i])
    }

    #[test]
    fn a_body_is_accepted_iff_its_cuts_cut_every_cycle() {
        let task = assertions(LOOPS);
        let procedure = &task.program.procedures[0];
        let (mut good, mut bad) = (0, 0);
        for cuts in cut_sets(&task) {
            let body = Body::new(&task.program, task.program.start, &cuts);
            assert_eq!(body.is_ok(), cuts_all_cycles(procedure, &cuts), "{cuts:?}");
            let Ok(body) = body else {
                bad += 1;
                continue;
            };
            good += 1;
            for edge in &procedure.edges {
                if body.position(edge.from) != NOWHERE && !body.is_cut(edge.to) {
                    assert!(body.position(edge.from) < body.position(edge.to), "{cuts:?}");
                }
            }
        }
        assert!(good > 10 && bad > 10, "{good} {bad}");
    }
}
