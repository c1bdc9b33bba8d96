//! How an unrolling grows in loops and recursion.
//!
//! If every question to the solver added one copy, a loop of n iterations would cost n questions over up to n
//! copies. Instead, the expansions of earlier rounds are repeated for the next rounds, half as many rounds as there
//! are already. So the number of rounds grows geometrically, and the calls that earlier rounds needed are expanded
//! along with them.

use super::unrolling::{Bound, SiteId, Unrolling};

/// Expands the open sites of a path. Where such a site begins a new round, some further rounds are expanded as
/// well. Nothing beyond the bounds is expanded.
pub(super) fn grow(unrolling: &mut Unrolling<'_>, open: &[SiteId], bounds: &[Bound]) {
    // This limits the result to about twice as many copies as before, whatever the earlier rounds look like.
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

/// An unrolling with this many copies costs very little.
const SMALL: usize = 64;

/// Expands below `id` the same sites that are expanded below an earlier copy of the same block that encloses `id`.
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
    // Only copies that exist now are repeated: the pattern encloses `id`, so it grows while `id` is expanded.
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
