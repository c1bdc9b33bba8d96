//! Storage of nodes in pages of a bump allocator.
//!
//! Invariant (position): node `n` lies in page `n / PAGE_NODES` and never moves; growing copies nothing.
//!
//! Invariant (slack): the allocator holds at most one page more than is in use, and an eighth of a page for
//! each page because of rounding. By default, bumpalo doubles its chunks and holds up to twice as much memory
//! as is needed. So before each page its limit is set such that the next chunk has room for one page only.

use bumpalo::Bump;
use self_cell::self_cell;

const PAGE_NODES: usize = 1 << 12;
const PAGE_BYTES: usize = PAGE_NODES * size_of::<[u32; 2]>();
/// Edges are numbers of 32 bits, one of which is the complement. The last node is not used, so that the number of
/// an edge plus one still fits.
const MAX_NODES: usize = (1 << 31) - 1;

type Page = [[u32; 2]; PAGE_NODES];
type Pages<'bump> = Vec<&'bump mut Page>;

self_cell!(
    /// A bump allocator together with the pages borrowed from it.
    struct PageCell {
        owner: Bump,
        #[covariant]
        dependent: Pages,
    }
);

/// A growing sequence of nodes.
pub(super) struct NodePages {
    cell: PageCell,
    len: usize,
}

impl NodePages {
    pub(super) fn new() -> Self {
        Self { cell: PageCell::new(Bump::new(), |_| Vec::new()), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let pages = self.cell.borrow_dependent();
        self.cell.borrow_owner().allocated_bytes_including_metadata() + pages.capacity() * size_of::<&Page>()
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> [u32; 2] {
        let number = number as usize;
        self.cell.borrow_dependent()[number / PAGE_NODES][number % PAGE_NODES]
    }

    /// Stores a node under the next number.
    ///
    /// # Panics
    /// If there are 2^31 - 1 nodes already.
    #[inline]
    pub(super) fn push(&mut self, node: [u32; 2]) -> u32 {
        let number = self.len;
        if number.is_multiple_of(PAGE_NODES) {
            self.add_page();
        }
        self.cell.with_dependent_mut(|_, pages| pages[number / PAGE_NODES][number % PAGE_NODES] = node);
        self.len += 1;
        number as u32
    }

    #[cold]
    fn add_page(&mut self) {
        assert!(self.len < MAX_NODES - PAGE_NODES, "an arena holds fewer than 2^31 nodes");
        self.cell.with_dependent_mut(|bump, pages| {
            bump.set_allocation_limit(Some(bump.allocated_bytes() + PAGE_BYTES + PAGE_BYTES / 8));
            let page = bump.try_alloc_slice_fill_copy(PAGE_NODES, [0; 2]).unwrap_or_else(|_| {
                // If a later version of bumpalo needs a larger chunk, unused memory is better than a failure.
                bump.set_allocation_limit(None);
                bump.alloc_slice_fill_copy(PAGE_NODES, [0; 2])
            });
            pages.push(page.try_into().expect("a page of this length"));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_keep_their_place_across_pages() {
        let mut pages = NodePages::new();
        for i in 0..3 * PAGE_NODES as u32 + 7 {
            assert_eq!(pages.push([i, i + 1]), i);
        }
        for i in 0..pages.len() as u32 {
            assert_eq!(pages.get(i), [i, i + 1]);
        }
    }

    #[test]
    fn the_allocator_holds_little_more_than_the_pages() {
        let mut pages = NodePages::new();
        for page in 1..500 {
            for _ in 0..PAGE_NODES {
                pages.push([0, 0]);
            }
            let used = page * PAGE_BYTES;
            assert!(pages.memory_bytes() <= used + used / 7, "{page} pages: {}", pages.memory_bytes());
        }
    }
}
