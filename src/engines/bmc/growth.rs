//! How an unrolling grows where control comes round again and again.
//!
//! One more copy for every question would make a loop of n iterations cost n questions over n copies.
//! Instead, what was expanded for the last rounds is expanded again for the next ones, half as many as there
//! are. So the rounds grow geometrically, and calls that earlier rounds needed come along.

use super::unrolling::{Bound, SiteId, Unrolling};

/// Expands the open sites of a path, and where control comes round there, some rounds more. Nothing beyond
/// the bounds is expanded.
pub(super) fn grow(unrolling: &mut Unrolling<'_>, open: &[SiteId], bounds: &[Bound]) {
    // At most twice as many copies as before, whatever the pattern of the rounds is.
    let most = unrolling.copies.len() + unrolling.copies.len().max(SMALL) + open.len();
    for &id in open {
        if unrolling.site(id).copy.is_none() && unrolling.budget.exhausted().is_none() {
            unrolling.expand(id);
        }
    }
    for &id in open {
        if unrolling.comes_round(id) {
            repeat_rounds(unrolling, id, bounds, most);
        }
    }
}

/// An unrolling of so many copies costs nothing.
const SMALL: usize = 64;

/// Expands below `id` what is expanded below one of the earlier copies of its block around it.
fn repeat_rounds(unrolling: &mut Unrolling<'_>, id: SiteId, bounds: &[Bound], most: usize) {
    let mut earlier = Vec::new();
    let mut at = unrolling.site(id).parent;
    while let Some(above) = at {
        if unrolling.site(above).template == unrolling.site(id).template {
            earlier.push(above);
        }
        at = unrolling.site(above).parent;
    }
    if earlier.is_empty() {
        return;
    }
    let pattern = earlier[(earlier.len() - 1) / 2];
    // The pattern is what was there before: it lies around `id`, and grows with it.
    let copies = unrolling.copies.len() as u32;
    let mut pairs = vec![(pattern, id)];
    let mut next = 0;
    while let Some(&(old, new)) = pairs.get(next) {
        next += 1;
        if unrolling.site(new).copy.is_none() {
            if unrolling.copies.len() >= most || unrolling.budget.exhausted().is_some() {
                return;
            }
            if !bounds.iter().all(|&bound| unrolling.is_within(new, bound)) {
                continue;
            }
            unrolling.expand(new);
        }
        let Some(old_copy) = unrolling.site(old).copy.clone() else { continue };
        let Some(new_copy) = unrolling.site(new).copy.clone() else { continue };
        for child in old_copy.children() {
            let site = unrolling.site(child);
            if site.copy.as_ref().is_some_and(|copy| copy.number < copies)
                && let Some(same) = unrolling.child(&new_copy, site.position)
            {
                pairs.push((child, same));
            }
        }
    }
}
