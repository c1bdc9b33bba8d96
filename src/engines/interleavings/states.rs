//! The set of system states, packed.
//!
//! A state is a record of 32-bit words: where it was reached from, the number of its threads, the number of its shared
//! valuation, and the numbers of its threads. The position of the record is the name of the state. Records lie in
//! chunks that never move, in the order in which states were found, so a walk over the records is a breadth-first
//! queue. States are found by an open hash table over the records.
//!
//! Invariant (chunks): no record crosses the end of its chunk; a chunk ends where its last record does.

define_id!(
    /// A state: the position of its record.
    StateId, "z"
);

/// The words of one chunk.
const CHUNK: usize = 1 << 18;

/// The words before the threads of a record.
const HEAD: usize = 3;
const PARENT: usize = 0;
const COUNT: usize = 1;
const SHARED: usize = 2;

/// The parent of a first state.
const NO_PARENT: u32 = u32::MAX;

/// The part of the word [`COUNT`] that is the number of threads; the rest is the mark.
const COUNT_BITS: u32 = 18;

/// There are more states, or more threads in one, than can be numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// A growing set of states.
pub(super) struct States {
    chunks: Vec<Vec<u32>>,
    /// Open addressing with linear probing. An entry is a hash in the upper half and the position of a record, plus one, in
    /// the lower half; 0 is free.
    table: Vec<u64>,
    len: usize,
}

/// A state as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Record<'a>(&'a [u32]);

impl<'a> Record<'a> {
    /// The number of the shared valuation.
    pub fn shared(self) -> u32 {
        self.0[SHARED]
    }

    /// The numbers of the threads.
    pub fn threads(self) -> &'a [u32] {
        &self.0[HEAD..]
    }

    /// The state from which this one was first reached.
    pub fn parent(self) -> Option<StateId> {
        (self.0[PARENT] != NO_PARENT).then_some(StateId(self.0[PARENT]))
    }

    /// The mark of the state: the position of a thread; `None` if it has none.
    pub fn mark(self) -> Option<usize> {
        (self.0[COUNT] >> COUNT_BITS).checked_sub(1).map(|mark| mark as usize)
    }
}

impl States {
    pub fn new() -> Self {
        Self { chunks: Vec::new(), table: vec![0; 1 << 10], len: 0 }
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes that the states take.
    pub fn bytes(&self) -> usize {
        let words: usize = self.chunks.iter().map(Vec::len).sum();
        words * 4 + self.table.len() * 8
    }

    /// The first state, if there is one.
    pub fn first(&self) -> Option<StateId> {
        (!self.chunks.is_empty()).then_some(StateId(0))
    }

    /// The state that was found after this one.
    pub fn next(&self, id: StateId) -> Option<StateId> {
        let (chunk, at) = (id.index() / CHUNK, id.index() % CHUNK);
        let end = at + self.record(id).0.len();
        if end < self.chunks[chunk].len() {
            return Some(StateId::from_index(chunk * CHUNK + end));
        }
        (chunk + 1 < self.chunks.len()).then(|| StateId::from_index((chunk + 1) * CHUNK))
    }

    /// All states in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = (StateId, Record<'_>)> {
        std::iter::successors(self.first(), |&id| self.next(id)).map(|id| (id, self.record(id)))
    }

    /// The record of a state.
    pub fn record(&self, id: StateId) -> Record<'_> {
        let (chunk, at) = (&self.chunks[id.index() / CHUNK], id.index() % CHUNK);
        let count = chunk[at + COUNT] & ((1 << COUNT_BITS) - 1);
        Record(&chunk[at..at + HEAD + count as usize])
    }

    /// Marks a state with the position of one of its threads. Positions that do not fit are not stored.
    pub fn mark(&mut self, id: StateId, thread: usize) -> bool {
        let fits = thread + 1 < 1 << (32 - COUNT_BITS);
        if fits {
            self.chunks[id.index() / CHUNK][id.index() % CHUNK + COUNT] |= (thread as u32 + 1) << COUNT_BITS;
        }
        fits
    }

    /// The state with these numbers, if it is in the set.
    pub fn find(&self, shared: u32, threads: &[u32]) -> Option<StateId> {
        self.probe(hash(shared, threads), shared, threads).ok()
    }

    /// Adds a state unless it is there. Gives its name.
    pub fn insert(&mut self, shared: u32, threads: &[u32], parent: Option<StateId>) -> Result<StateId, Full> {
        let hash = hash(shared, threads);
        let mut free = match self.probe(hash, shared, threads) {
            Ok(found) => return Ok(found),
            Err(free) => free,
        };
        let words = HEAD + threads.len();
        if words > CHUNK {
            return Err(Full);
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() + words > CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let position = u32::try_from(last * CHUNK + chunk.len()).map_err(|_| Full)?;
        chunk.push(parent.map_or(NO_PARENT, |parent| parent.0));
        chunk.push(threads.len() as u32);
        chunk.push(shared);
        chunk.extend_from_slice(threads);
        self.len += 1;
        if self.len * 4 > self.table.len() * 3 {
            self.grow();
            free = self.free_slot(hash);
        }
        self.table[free] = u64::from(hash) << 32 | (u64::from(position) + 1);
        Ok(StateId(position))
    }

    /// The state, or the free slot where it belongs.
    fn probe(&self, hash: u32, shared: u32, threads: &[u32]) -> Result<StateId, usize> {
        let mut slot = self.home(hash);
        loop {
            let entry = self.table[slot];
            if entry == 0 {
                return Err(slot);
            }
            if (entry >> 32) as u32 == hash {
                let id = StateId(entry as u32 - 1);
                let record = self.record(id);
                if record.shared() == shared && record.threads() == threads {
                    return Ok(id);
                }
            }
            slot = (slot + 1) & (self.table.len() - 1);
        }
    }

    /// The slot at which the search for a hash begins: the upper bits of the hash, so that the lower ones still tell entries
    /// apart.
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.table.len() as u64) >> 32) as usize
    }

    fn free_slot(&self, hash: u32) -> usize {
        let mut slot = self.home(hash);
        while self.table[slot] != 0 {
            slot = (slot + 1) & (self.table.len() - 1);
        }
        slot
    }

    fn grow(&mut self) {
        let larger = vec![0; self.table.len() * 2];
        for entry in std::mem::replace(&mut self.table, larger).into_iter().filter(|&entry| entry != 0) {
            let slot = self.free_slot((entry >> 32) as u32);
            self.table[slot] = entry;
        }
    }
}

/// Mixes all words of a state.
fn hash(shared: u32, threads: &[u32]) -> u32 {
    let mix = |hash: u64, word: u32| {
        let hash = (hash ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^ hash >> 32
    };
    let mixed = threads.iter().fold(mix(1, shared), |hash, &thread| mix(hash, thread));
    (mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_found_again_and_keep_their_order() {
        let mut states = States::new();
        let mut parent = None;
        let mut ids = Vec::new();
        // Lengths vary, so that chunks end at different places.
        let threads = |i: u32| -> Vec<u32> { (0..i % 7).map(|t| i * 31 % (t + 5)).collect() };
        for i in 0..300_000 {
            let id = states.insert(i, &threads(i), parent).expect("room");
            ids.push(id);
            parent = Some(id);
        }
        assert_eq!(states.len(), ids.len());
        assert!(states.chunks.len() > 3, "several chunks");
        assert!(states.mark(ids[5], 3));
        for (i, (id, record)) in (0..).zip(states.iter()) {
            assert_eq!((id, record.shared(), record.threads()), (ids[i as usize], i, &threads(i)[..]));
            assert_eq!(record.parent(), i.checked_sub(1).map(|before| ids[before as usize]));
            assert_eq!(record.mark(), (i == 5).then_some(3));
            assert_eq!(states.find(i, &threads(i)), Some(id));
        }
        assert_eq!(states.insert(7, &threads(7), None), Ok(ids[7]));
        assert_eq!(states.find(7, &[1, 2, 3]), None);
        assert_eq!(states.iter().count(), ids.len());
    }
}
