//! Hash-consed Boolean terms.
//!
//! A [`Term`] is an edge: the number of a node and a complement bit. Nodes are conjunctions, exclusive
//! disjunctions and variables; everything else is built from them, and [`TermArena::as_ite`] recognises
//! if-then-else by its shape.
//!
//! Invariant (uniqueness): two terms of one arena are equal iff they are structurally equal. Every
//! constructor goes through `TermArena::intern`, the only place that creates a node.
//!
//! Invariant (order): children have smaller numbers than their parent, so a plain loop over numbers
//! visits every node after its children. No recursion is needed anywhere, and deep formulas cannot
//! overflow the stack.
//!
//! Invariant (kind): a node is two words. `[a, b]` with `a < b` is the conjunction of the edges `a` and
//! `b`; with `a > b` their exclusive disjunction, both uncomplemented; `[v, v]` is variable `v`. Node 0
//! is `true`; it is not in the table.
//!
//! Invariant (load): at most two thirds of the table are occupied, so a node costs 8 bytes in its page and
//! between 6 and 12 bytes in the table. A bound of one half would take more than 24 bytes per node after each
//! doubling; three quarters takes more probes.

mod connectives;
mod pages;
mod rewrite;

use std::fmt;
use std::ops::Not;

use self::pages::NodePages;

crate::define_id!(
    /// A Boolean variable of a [`TermArena`]: a choice, an input, a state bit.
    VarId, "x"
);

/// A Boolean function: an edge to a node of one [`TermArena`], with a complement bit.
///
/// Terms of different arenas must not be mixed. Comparing terms compares numbers, and `!term` flips one bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u32);

impl Term {
    /// The constant true.
    pub const TRUE: Term = Term(0);
    /// The constant false.
    pub const FALSE: Term = Term(1);

    const fn from_node(node: u32) -> Self {
        Term(node << 1)
    }

    const fn node(self) -> u32 {
        self.0 >> 1
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        Term(number)
    }

    /// The constant with this truth value.
    #[must_use]
    pub const fn constant(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// The truth value, if this is a constant.
    #[must_use]
    pub const fn as_constant(self) -> Option<bool> {
        match self {
            Self::TRUE => Some(true),
            Self::FALSE => Some(false),
            _ => None,
        }
    }

    /// Whether the edge carries the complement bit.
    #[must_use]
    pub const fn is_complemented(self) -> bool {
        self.0 & 1 == 1
    }

    /// The same node without the complement bit.
    #[must_use]
    pub const fn uncomplemented(self) -> Self {
        Term(self.0 & !1)
    }

    /// Complements this term if `condition` holds.
    #[must_use]
    pub const fn complement_if(self, condition: bool) -> Self {
        Term(self.0 ^ condition as u32)
    }

    /// The position of the node in a table over all nodes: smaller than [`TermArena::len`], and greater
    /// than the positions of its children.
    #[must_use]
    pub const fn index(self) -> usize {
        self.node() as usize
    }

    /// The number of the edge (twice the node, plus one if complemented), for hashing and storing.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl Not for Term {
    type Output = Term;

    fn not(self) -> Term {
        Term(self.0 ^ 1)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_constant() {
            Some(value) => write!(f, "{value}"),
            None => write!(f, "{}t{}", if self.is_complemented() { "!" } else { "" }, self.node()),
        }
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The node that a term refers to, without the complement bit of the term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The constant.
    True,
    /// A variable.
    Var(VarId),
    /// A conjunction of two terms.
    And(Term, Term),
    /// An exclusive disjunction of two uncomplemented terms.
    Xor(Term, Term),
}

/// The owner of all nodes. Terms are built and inspected through it.
///
/// An arena is `Send` and not `Sync`: a thread that builds formulas owns its arena.
pub struct TermArena {
    nodes: NodePages,
    /// Open addressing with linear probing over node numbers; 0 is an empty slot.
    table: Vec<u32>,
    /// One more than the greatest variable seen; 64 bits, since every `u32` is a variable.
    next_var: u64,
    requests: u64,
}

const SMALLEST_TABLE: usize = 1 << 8;

impl TermArena {
    /// An arena that holds the constants only.
    #[must_use]
    pub fn new() -> Self {
        let mut nodes = NodePages::new();
        nodes.push([u32::MAX, u32::MAX]);
        Self { nodes, table: vec![0; SMALLEST_TABLE], next_var: 0, requests: 0 }
    }

    /// The number of nodes, the constant included.
    #[expect(clippy::len_without_is_empty, reason = "an arena always holds the constant")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Bytes held for nodes and table, including what is reserved and not yet used.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes() + self.table.capacity() * size_of::<u32>()
    }

    /// How often a node was requested, whether it was created or existed already.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The node that `term` refers to; the complement bit of `term` is ignored.
    ///
    /// # Panics
    /// If `term` belongs to a larger arena.
    #[must_use]
    pub fn node(&self, term: Term) -> Node {
        if term.node() == 0 {
            return Node::True;
        }
        let [a, b] = self.nodes.get(term.node());
        match a.cmp(&b) {
            std::cmp::Ordering::Less => Node::And(Term(a), Term(b)),
            std::cmp::Ordering::Equal => Node::Var(VarId::new(a)),
            std::cmp::Ordering::Greater => Node::Xor(Term(b), Term(a)),
        }
    }

    /// The term of a variable, which may be new to the arena.
    pub fn var(&mut self, var: VarId) -> Term {
        self.next_var = self.next_var.max(u64::from(var.number()) + 1);
        self.intern([var.number(), var.number()])
    }

    /// The term of a variable, if the arena has it.
    #[must_use]
    pub fn find_var(&self, var: VarId) -> Option<Term> {
        self.probe([var.number(), var.number()]).ok()
    }

    /// A variable that the arena has not seen.
    ///
    /// # Panics
    /// If all 2^32 variables are in use.
    pub fn fresh_var(&mut self) -> VarId {
        let var = VarId::new(u32::try_from(self.next_var).expect("fewer than 2^32 variables"));
        self.var(var);
        var
    }

    /// The term of a variable that the arena has not seen.
    ///
    /// # Panics
    /// If all 2^32 variables are in use.
    pub fn fresh(&mut self) -> Term {
        let var = self.fresh_var();
        self.var(var)
    }

    /// All nodes, uncomplemented, children before parents.
    pub fn terms(&self) -> impl DoubleEndedIterator<Item = Term> + use<> {
        (0..self.nodes.len() as u32).map(Term::from_node)
    }

    /// The uncomplemented term of the node at a position, see [`Term::index`].
    #[must_use]
    pub fn term_at(&self, index: usize) -> Term {
        debug_assert!(index < self.len(), "node {index} is not in this arena");
        Term::from_node(index as u32)
    }

    /// Finds a node or creates it. No other function creates nodes.
    fn intern(&mut self, node: [u32; 2]) -> Term {
        self.requests += 1;
        let slot = match self.probe(node) {
            Ok(known) => return known,
            Err(slot) => slot,
        };
        let number = self.nodes.push(node);
        self.table[slot] = number;
        if self.nodes.len() * 3 > self.table.len() * 2 {
            self.grow_table();
        }
        Term::from_node(number)
    }

    /// The node, or the empty slot where it belongs.
    fn probe(&self, node: [u32; 2]) -> Result<Term, usize> {
        let mask = self.table.len() - 1;
        let mut slot = hash(node) & mask;
        loop {
            match self.table[slot] {
                0 => return Err(slot),
                number if self.nodes.get(number) == node => return Ok(Term::from_node(number)),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow_table(&mut self) {
        let mask = self.table.len() * 2 - 1;
        // The old table is dropped before the new one is allocated, which saves memory: the pages hold all nodes.
        self.table = Vec::new();
        self.table = vec![0; mask + 1];
        for number in 1..self.nodes.len() as u32 {
            let mut slot = hash(self.nodes.get(number)) & mask;
            while self.table[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.table[slot] = number;
        }
    }
}

impl Default for TermArena {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TermArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TermArena").field("nodes", &self.len()).finish_non_exhaustive()
    }
}

/// Hashes by one multiplication to 128 bits and an exclusive or of both halves. Neighbouring nodes get distant
/// slots, and every bit of the operands has an influence.
fn hash([a, b]: [u32; 2]) -> usize {
    let key = u64::from(a) << 32 | u64::from(b);
    let product = u128::from(key ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    ((product >> 64) as u64 ^ product as u64) as usize
}

#[cfg(test)]
mod tests;
