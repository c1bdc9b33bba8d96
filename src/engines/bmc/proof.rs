//! The unrolling as a certificate, without copies that no run can reach.
//!
//! For example, an activation that reaches a forbidden label never returns, so the code behind its call is never
//! entered. The solver derives this from the clauses; a certificate that lists such copies would be longer without
//! need.

use rustc_hash::{FxHashMap, FxHashSet};

use super::unrolling::{SiteId, UnrolledCopy, Unrolling};
use crate::evidence::certificate::{self, BlockCopy, Site};
use crate::model::{Action, Node, ProcId, Procedure};

/// The certificate of an unrolling in which no run violates the property.
pub(super) fn certificate(unrolling: &Unrolling<'_>) -> certificate::Unrolling {
    let blocks = unrolling.blocks;
    let heads = |id: ProcId| blocks.cuts(id).heads().map(move |node| (id, node));
    let cuts = blocks.task.program.procedure_ids().flat_map(heads).collect();
    let entered = entered(unrolling);
    // For every copy, its number among the copies that are in the certificate.
    let mut number: Vec<Option<u32>> = Vec::with_capacity(entered.len());
    let mut copies = Vec::new();
    for (&id, &is_entered) in unrolling.copies.iter().zip(&entered) {
        let site = unrolling.site(id);
        let parent = site.parent.and_then(|parent| unrolling.number(parent));
        let parent = parent.and_then(|parent| number[parent as usize]);
        number.push(match (is_entered, parent, site.entered) {
            (true, Some(parent), Some(site)) => {
                copies.push(BlockCopy { parent, site });
                Some(copies.len() as u32)
            }
            (true, None, None) => Some(0),
            _ => None,
        });
    }
    let pairs = unrolling.different.iter();
    let number = |id: SiteId| unrolling.number(id).and_then(|copy| number[copy as usize]);
    let pairs = pairs.filter_map(|&(outer, inner)| number(outer).zip(number(inner)));
    let mut different: Vec<(u32, u32)> = pairs.collect();
    different.sort_unstable();
    certificate::Unrolling { cuts, copies, different }
}

/// Which copies control can reach, if open places may do anything.
fn entered(unrolling: &Unrolling<'_>) -> Vec<bool> {
    let count = unrolling.copies.len();
    let mut returns = vec![false; count];
    let mut sites: Vec<FxHashSet<Site>> = Vec::with_capacity(count);
    // Children have greater numbers than their parents.
    for &id in unrolling.copies.iter().rev() {
        let walk = walk(unrolling, id, &returns);
        if let Some(number) = unrolling.number(id) {
            returns[number as usize] = walk.returns;
        }
        sites.push(walk.sites);
    }
    sites.reverse();
    let mut entered = vec![true; count];
    for (number, &id) in unrolling.copies.iter().enumerate() {
        let site = unrolling.site(id);
        if let (Some(parent), Some(how)) =
            (site.parent.and_then(|parent| unrolling.number(parent)), site.entered)
        {
            entered[number] = entered[parent as usize] && sites[parent as usize].contains(&how);
        }
    }
    entered
}

struct Walk {
    /// Whether the activation can reach its exit from here.
    returns: bool,
    /// How control can leave the block for another one.
    sites: FxHashSet<Site>,
}

/// Traverses the block of a copy, ignoring data.
fn walk(unrolling: &Unrolling<'_>, id: SiteId, returns: &[bool]) -> Walk {
    let blocks = unrolling.blocks;
    let block = &unrolling.template(id).block;
    let procedure = blocks.task.program.procedure(block.procedure);
    let cuts = blocks.cuts(block.procedure);
    let children = unrolling.site(id).copy.iter().flat_map(UnrolledCopy::children);
    let children: FxHashMap<Site, bool> = children
        .filter_map(|child| {
            let number = unrolling.number(child)?;
            Some((unrolling.site(child).entered?, returns[number as usize]))
        })
        .collect();
    let comes_back = |how: Site| children.get(&how).copied().unwrap_or(true);
    let mut walk = Walk { returns: false, sites: FxHashSet::default() };
    let mut seen: FxHashSet<Node> = FxHashSet::default();
    let mut open = vec![block.start];
    while let Some(node) = open.pop() {
        if blocks.is_target(block.procedure, node) {
            continue;
        }
        for (edge_id, edge) in procedure.edges_from(node) {
            match &edge.action {
                Action::EndThread => continue,
                Action::Call(_) => {
                    let how = Site::Call(edge_id);
                    walk.sites.insert(how);
                    if !comes_back(how) {
                        continue;
                    }
                }
                _ => {}
            }
            if cuts.is_head(edge.to) {
                let how = Site::Loop(edge.to);
                walk.sites.insert(how);
                walk.returns |= comes_back(how);
            } else if edge.to == Procedure::EXIT {
                walk.returns |= !blocks.is_target(block.procedure, edge.to);
            } else if seen.insert(edge.to) {
                open.push(edge.to);
            }
        }
    }
    walk
}
