//! The covering predecessors of all elements of a tree, computed at once.
//!
//! Implements: for ordinary transitions, G. Delzanno, J.-F. Raskin, "Symbolic Representation of Upward
//! Closed Sets", TACAS 2000; for transfers, section 5 of their TACAS 2002 paper with L. Van Begin.
//!
//! Theorem used: that of [`crate::net::predecessors`]. If an element demands more tokens in a place than the
//! transition gives there, the rest comes from the suppliers of that place, in any distribution.
//!
//! Places that only supply themselves are handled layer by layer. Every other place that can be demanded is a
//! *block* with its suppliers, and the walk keeps one number for each block: before the layer of the block is
//! reached, the number of tokens that suppliers have promised; after it, the number of tokens that suppliers still
//! owe. A path on which promises and demands do not match yields no element.
//!
//! Deviation: the paper builds all combinations of numbers in the layers of a block and intersects them with those
//! of the right sum, one block after the other, for blocks that share no places. Here the sums are part of the
//! walk, and all blocks are handled in one walk. So chains and swaps of transfers, resets, tokens that choose where
//! to go, and copies are all treated alike. With copies, the result may contain elements that are not minimal.

use rustc_hash::FxHashMap;

use super::walk::{Meter, Split, Stop, Walk, run};
use super::{Facts, Forest, Tree, class};
use crate::net::{Flow, Marking, Overflow, PlaceId, Transition};

impl Forest {
    /// The covering predecessors of all elements that pass the zero tests and have at most `cap(place)` tokens in
    /// each place. The elements of the tree must satisfy `cap` themselves.
    ///
    /// # Errors
    /// If the meter stops the walk, or there would be too many tokens.
    pub fn predecessors(
        &mut self,
        tree: Tree,
        transition: &Transition,
        cap: &dyn Fn(PlaceId) -> u64,
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        let mut walk = Undo::new(transition, &self.largest(tree), cap);
        let debts = vec![0; walk.blocks.len()].into();
        run(self, &mut walk, &mut FxHashMap::default(), State { tree, layer: 0, debts }, meter)
    }
}

/// A place that other places may supply, or whose tokens may move elsewhere.
struct Block {
    place: PlaceId,
    /// The greatest number of tokens that an element demands from suppliers here.
    most: u64,
    /// Whether a token of a supplier may count several times here, or also serve another block.
    has_copies: bool,
    /// The layer of the place, and the last layer among those of its suppliers and its own.
    demanded: usize,
    closed: usize,
}

/// Where the tokens of a place go that the transition does not take.
enum Supply {
    /// They stay, and no other tokens come here.
    Stay,
    /// Each token serves one of these blocks.
    One(Vec<usize>),
    /// Each token serves all of these blocks, with the given multiplicity.
    All(Vec<(usize, u64)>),
}

/// A place that the transition takes from, gives to, tests or moves.
struct Layer {
    place: PlaceId,
    take: u64,
    give: u64,
    /// The greatest number of tokens that the predecessor may have here.
    cap: u64,
    block: Option<usize>,
    supply: Supply,
}

/// The number of tokens of a layer, and the numbers of the blocks after it.
type Way = (u64, Box<[u64]>);

/// The walk that undoes a transition.
struct Undo {
    layers: Vec<Layer>,
    blocks: Vec<Block>,
}

/// A node, the next layer of the transition, and a number for each block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    tree: Tree,
    layer: usize,
    debts: Box<[u64]>,
}

impl Undo {
    fn new(transition: &Transition, largest: &Marking, cap: &dyn Fn(PlaceId) -> u64) -> Self {
        let moved = transition.moves.iter().flat_map(|m| m.flow.places().iter().copied().chain([m.from]));
        let mut in_blocks: Vec<PlaceId> = moved.collect();
        in_blocks.sort_unstable();
        in_blocks.dedup();
        let taken = transition.take.iter().chain(transition.give.iter()).map(|(place, _)| place);
        let tested = transition.upper.iter().map(|&(place, _)| place);
        let mut places: Vec<PlaceId> = taken.chain(tested).chain(in_blocks.iter().copied()).collect();
        places.sort_unstable();
        places.dedup();
        let blocks = in_blocks.iter().map(|&place| {
            let demanded = places.partition_point(|&other| other < place);
            let most = largest.get(place).saturating_sub(transition.give.get(place));
            Block { place, most, has_copies: false, demanded, closed: demanded }
        });
        let mut undo = Self { layers: Vec::with_capacity(places.len()), blocks: blocks.collect() };
        for (at, &place) in places.iter().enumerate() {
            let block = in_blocks.binary_search(&place).ok();
            let supply = match (transition.flow(place), block) {
                (None, None) => Supply::Stay,
                (None, Some(own)) => Supply::One(vec![own]),
                (Some(flow), _) => supply_of(flow, &in_blocks),
            };
            let supply = undo.register(at, supply);
            let tested = transition.upper.iter().find(|&&(tested, _)| tested == place);
            let cap = tested.map_or(u64::MAX, |&(_, most)| most).min(cap(place));
            let (take, give) = (transition.take.get(place), transition.give.get(place));
            undo.layers.push(Layer { place, take, give, cap, block, supply });
        }
        undo
    }

    /// Registers a supplier with its blocks, and drops the blocks that no element demands.
    fn register(&mut self, at: usize, supply: Supply) -> Supply {
        let blocks = &mut self.blocks;
        match supply {
            Supply::Stay => Supply::Stay,
            Supply::One(mut served) => {
                served.retain(|&block| blocks[block].most > 0);
                for &block in &served {
                    blocks[block].closed = blocks[block].closed.max(at);
                }
                Supply::One(served)
            }
            Supply::All(mut served) => {
                served.retain(|&(block, _)| blocks[block].most > 0);
                for &(block, _) in &served {
                    blocks[block].closed = blocks[block].closed.max(at);
                    blocks[block].has_copies = true;
                }
                Supply::All(served)
            }
        }
    }

    /// Balances the demand of an element in a layer with the promises. Returns `false` if that is impossible.
    fn demand(&self, at: usize, demand: u64, debts: &mut [u64]) -> bool {
        let Some(block) = self.layers[at].block else { return true };
        let promised = debts[block];
        debts[block] = demand.saturating_sub(promised);
        promised <= demand || self.blocks[block].has_copies
    }

    /// All ways in which the tokens of a layer can serve blocks, with the number of tokens.
    fn supplies(
        &self,
        at: usize,
        debts: Box<[u64]>,
        below: &Facts,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<Way>, Stop> {
        let is_open = |block: usize| self.blocks[block].demanded > at;
        let left =
            |block: usize, debt: u64| if is_open(block) { self.blocks[block].most - debt } else { debt };
        let serve = |debts: &mut [u64], block: usize, n: u64| {
            debts[block] = if is_open(block) { debts[block] + n } else { debts[block] - n };
        };
        let mut ways: Vec<Way> = vec![(0, debts)];
        match &self.layers[at].supply {
            Supply::Stay => {}
            Supply::One(served) => {
                for &block in served {
                    let mut more = Vec::new();
                    for (tokens, debts) in ways {
                        for n in 0..=left(block, debts[block]) {
                            meter.step()?;
                            let mut debts = debts.clone();
                            serve(&mut debts, block, n);
                            if !self.can_be_kept(at, below, &debts) {
                                break;
                            }
                            more.push((tokens.checked_add(n).ok_or(Overflow)?, debts));
                        }
                    }
                    ways = more;
                }
            }
            Supply::All(served) => {
                let (_, debts) = ways.remove(0);
                let most = served.iter().map(|&(block, n)| left(block, debts[block]).div_ceil(n)).max();
                for tokens in 0..=most.unwrap_or(0) {
                    meter.step()?;
                    let mut debts = debts.clone();
                    for &(block, n) in served {
                        let change = tokens.saturating_mul(n).min(left(block, debts[block]));
                        serve(&mut debts, block, change);
                    }
                    ways.push((tokens, debts));
                }
            }
        }
        Ok(ways)
    }

    /// Whether the rest of the tree can demand as many tokens as were promised. If not, larger promises are
    /// impossible, too.
    fn can_be_kept(&self, at: usize, below: &Facts, debts: &[u64]) -> bool {
        let promises =
            self.blocks.iter().zip(debts).filter(|(block, _)| block.demanded > at && !block.has_copies);
        let mut promised: u64 = 0;
        for (block, &debt) in promises.filter(|&(_, &debt)| debt > 0) {
            promised = promised.saturating_add(debt);
            if below.any & class(block.place) == 0 {
                return false;
            }
        }
        promised <= below.most
    }

    /// Whether every debt can still be paid by a later supplier.
    fn is_solvent(&self, at: usize, debts: &[u64]) -> bool {
        self.blocks.iter().zip(debts).all(|(block, &debt)| debt == 0 || block.demanded.max(block.closed) > at)
    }
}

/// The blocks that tokens with this flow can serve.
fn supply_of(flow: &Flow, blocks: &[PlaceId]) -> Supply {
    let served = flow.places().iter().filter_map(|place| blocks.binary_search(place).ok());
    let mut served: Vec<usize> = served.collect();
    served.sort_unstable();
    match flow {
        Flow::All(places) if places.len() > 1 => {
            let runs = served.chunk_by(|a, b| a == b);
            Supply::All(runs.map(|run| (run[0], run.len() as u64)).collect())
        }
        Flow::All(_) | Flow::Each(_) => {
            served.dedup();
            Supply::One(served)
        }
    }
}

impl Walk for Undo {
    type Task = State;

    fn split(
        &mut self,
        forest: &mut Forest,
        State { tree, layer: at, debts }: &State,
        meter: &mut Meter<'_>,
    ) -> Result<Split<State>, Stop> {
        let (tree, at) = (*tree, *at);
        let Some(layer) = self.layers.get(at).filter(|_| tree != Forest::EMPTY) else {
            return Ok(Split::Done(tree));
        };
        let place = forest.place(tree).min(layer.place);
        if place < layer.place {
            let same = |(tokens, tree)| (tokens, State { tree, layer: at, debts: debts.clone() });
            return Ok(Split::Layer(place, forest.branches(tree, place).map(same).collect()));
        }
        let mut parts = Vec::new();
        for (tokens, below) in forest.branches(tree, place) {
            let demand = tokens.saturating_sub(layer.give);
            let mut owed = debts.clone();
            if !self.demand(at, demand, &mut owed) || !self.can_be_kept(at, forest.facts(below), &owed) {
                continue;
            }
            let stays = if matches!(layer.supply, Supply::Stay) { demand } else { 0 };
            for (supplied, debts) in self.supplies(at, owed, forest.facts(below), meter)? {
                let before = stays.checked_add(supplied).and_then(|sum| sum.checked_add(layer.take));
                let before = before.ok_or(Overflow)?;
                if before <= layer.cap && self.is_solvent(at, &debts) {
                    parts.push((before, State { tree: below, layer: at + 1, debts }));
                }
            }
        }
        Ok(Split::Layer(place, parts))
    }
}
