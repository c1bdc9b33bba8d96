//! Lifts unrollings and k-inductive proofs by translating their nodes and edges to those of the original program.
//!
//! Both are about runs through the original program, which the checker constructs itself. If the reduction preserved
//! all states, nothing else is needed.
//!
//! If the reduction preserved only the verdict, an unrolling can still be lifted as long as it follows only real
//! runs, because the facts that the reduction relied on hold from the start on. It must not demand that states
//! differ, since the difference may be in removed variables. And it must not leave a call or a loop open that cannot
//! violate the property, since then nothing is known about the states after it. (An open call or loop that might
//! violate the property is harmless: the proof shows that no run reaches it.)

use rustc_hash::{FxHashMap, FxHashSet};

use super::Unliftable;
use super::cycles::cut_cycles;
use crate::evidence::{BlockCopy, KInductive, Site, Unrolling};
use crate::model::reduce::{Keep, Restore};
use crate::model::{Action, EdgeId, Node, ProcId, Procedure};

/// Lifts a k-inductive proof from a reduction that preserved the states.
pub(super) fn k_inductive(restore: &Restore<'_>, proof: &KInductive) -> Result<KInductive, Unliftable> {
    Ok(KInductive { cuts: lift_cuts(restore, &proof.cuts)?, k: proof.k })
}

/// Lifts an unrolling.
pub(super) fn unrolling(restore: &Restore<'_>, unrolling: Unrolling) -> Result<Unrolling, Unliftable> {
    let Unrolling { cuts, copies, different } = unrolling;
    let program = &restore.original.program;
    let mut reduced_ids = vec![None; program.procedures.len()];
    for (i, map) in restore.map.procedures.iter().enumerate() {
        reduced_ids[map.original.index()] = Some(ProcId::from_index(i));
    }
    let is_cut = cuts.iter().map(|&(id, node)| (restore.original_node(id, node), node)).collect();
    let cuts = lift_cuts(restore, &cuts)?;
    // For every copy, the reduced procedure and the original node where its block begins.
    let start = reduced_ids[program.start.index()].ok_or(MISMATCH)?;
    let mut begins = vec![(start, Procedure::ENTRY)];
    let mut lifted = Vec::with_capacity(copies.len());
    for BlockCopy { parent, site } in copies {
        let &(reduced, _) = begins.get(parent as usize).ok_or(MISMATCH)?;
        let map = &restore.map.procedures[reduced.index()];
        let (begin, site) = match site {
            Site::Call(edge) => {
                let &edge = map.edges.get(edge.index()).and_then(|ways| ways.first()).ok_or(MISMATCH)?;
                let Action::Call(call) = &program.procedure(map.original).edge(edge).action else {
                    return Err(MISMATCH);
                };
                let callee = reduced_ids[call.callee.index()].ok_or(MISMATCH)?;
                ((callee, Procedure::ENTRY), Site::Call(edge))
            }
            Site::Loop(node) => {
                map.nodes.get(node.index()).ok_or(MISMATCH)?;
                let (_, node) = restore.original_node(reduced, node);
                ((reduced, node), Site::Loop(node))
            }
        };
        begins.push(begin);
        lifted.push(BlockCopy { parent, site });
    }
    if restore.keep == Keep::Verdict {
        if !different.is_empty() {
            return Err(Unliftable("the proof demands that states of the reduced program differ"));
        }
        Sites { restore, reduced_ids: &reduced_ids, is_cut, of_block: FxHashMap::default() }
            .are_all_followed(&begins, &lifted)?;
    }
    Ok(Unrolling { cuts, copies: lifted, different })
}

const MISMATCH: Unliftable = Unliftable("the certificate does not fit the reduced program");

/// Translates the cuts to the original program, and adds cuts for cycles that control cannot go through.
fn lift_cuts(restore: &Restore<'_>, cuts: &[(ProcId, Node)]) -> Result<Vec<(ProcId, Node)>, Unliftable> {
    let program = &restore.original.program;
    let mut is_cut: Vec<Vec<bool>> =
        program.procedures.iter().map(|p| vec![false; p.nodes as usize]).collect();
    let mut lifted = Vec::with_capacity(cuts.len());
    for &(procedure, node) in cuts {
        let map = restore.map.procedures.get(procedure.index()).ok_or(MISMATCH)?;
        map.nodes.get(node.index()).ok_or(MISMATCH)?;
        let (procedure, node) = restore.original_node(procedure, node);
        is_cut[procedure.index()][node.index()] = true;
        lifted.push((procedure, node));
    }
    for (id, procedure) in program.procedure_ids().zip(&program.procedures) {
        let is_reachable = |node| restore.constants.is_reachable(id, node);
        let added = cut_cycles(procedure, &mut is_cut[id.index()], is_reachable)?;
        lifted.extend(added.into_iter().map(|node| (id, node)));
    }
    lifted.sort_unstable();
    lifted.dedup();
    Ok(lifted)
}

/// The calls and loops of blocks of the original program that must not be left open.
struct Sites<'a> {
    restore: &'a Restore<'a>,
    reduced_ids: &'a [Option<ProcId>],
    /// The original cuts, with the corresponding nodes of the reduced program.
    is_cut: FxHashMap<(ProcId, Node), Node>,
    of_block: FxHashMap<(ProcId, Node), Vec<Site>>,
}

impl Sites<'_> {
    fn are_all_followed(mut self, begins: &[(ProcId, Node)], copies: &[BlockCopy]) -> Result<(), Unliftable> {
        let followed: FxHashSet<BlockCopy> = copies.iter().copied().collect();
        for (parent, &(reduced, node)) in (0..).zip(begins) {
            let is_followed = |&site: &Site| followed.contains(&BlockCopy { parent, site });
            if !self.harmless(reduced, node).iter().all(is_followed) {
                return Err(Unliftable("the proof leaves a call or loop open that the reduction relies on"));
            }
        }
        Ok(())
    }

    /// The calls and loops of a block that cannot violate the property.
    fn harmless(&mut self, reduced: ProcId, begin: Node) -> &[Site] {
        let Self { restore, reduced_ids, is_cut, of_block } = self;
        let id = restore.map.procedures[reduced.index()].original;
        of_block.entry((id, begin)).or_insert_with(|| {
            let procedure = restore.original.program.procedure(id);
            let may_violate = |id: ProcId, node: Node| restore.may_violate[id.index()][node.index()];
            let calls: FxHashSet<EdgeId> =
                restore.map.procedures[reduced.index()].edges.iter().flatten().copied().collect();
            let mut sites = Vec::new();
            let mut seen = FxHashSet::default();
            let mut open = vec![begin];
            while let Some(node) = open.pop() {
                for (edge_id, edge) in procedure.edges_from(node) {
                    if let Action::Call(call) = &edge.action {
                        // A removed call cannot satisfy the callee's `enforce`, but an open call could return anyway.
                        let callee = reduced_ids[call.callee.index()].filter(|_| calls.contains(&edge_id));
                        if !callee.is_some_and(|callee| may_violate(callee, Procedure::ENTRY)) {
                            sites.push(Site::Call(edge_id));
                        }
                    }
                    if !restore.constants.is_reachable(id, edge.to) || !seen.insert(edge.to) {
                        continue;
                    }
                    match is_cut.get(&(id, edge.to)) {
                        Some(&node) if may_violate(reduced, node) => {}
                        Some(_) => sites.push(Site::Loop(edge.to)),
                        None => open.push(edge.to),
                    }
                }
            }
            sites
        })
    }
}
