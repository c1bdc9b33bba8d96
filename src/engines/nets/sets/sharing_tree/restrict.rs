//! Selections of elements of a tree: those below a bound, those that mark certain places, and those that satisfy an
//! invariant.

use rustc_hash::FxHashMap;

use super::walk::{Meter, Split, Stop, Walk, run};
use super::{Forest, Tree, class};
use crate::evidence::net::LinearInvariant;
use crate::net::PlaceId;

impl Forest {
    /// The elements with at most the given number of tokens in each of these places, which must be sorted, and no
    /// tokens elsewhere.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn below(
        &mut self,
        tree: Tree,
        bounds: &[(PlaceId, u64)],
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        run(self, &mut Below(bounds), &mut FxHashMap::default(), tree, meter)
    }

    /// The elements that mark at least one of the places, which must be sorted.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn marking_one_of(
        &mut self,
        tree: Tree,
        places: &[PlaceId],
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        run(self, &mut MarkingOneOf(places), &mut FxHashMap::default(), (tree, false), meter)
    }

    /// The elements that do not violate the invariant.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn not_heavier(
        &mut self,
        tree: Tree,
        invariant: &LinearInvariant,
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        let nodes = self.nodes_of([tree]);
        let mut weights: FxHashMap<Tree, Weights> = FxHashMap::default();
        weights.insert(Self::EMPTY, Weights { least: u128::MAX, most: 0 });
        weights.insert(Self::END, Weights { least: 0, most: 0 });
        for node in nodes {
            let place = self.place(node);
            let unit = u128::from(invariant.weights.get(place));
            let mut all = Weights { least: u128::MAX, most: 0 };
            for (tokens, to) in self.branches(node, place) {
                let (here, below) = (unit * u128::from(tokens), weights[&to]);
                all.least = all.least.min(below.least.saturating_add(here));
                all.most = all.most.max(below.most.saturating_add(here));
            }
            weights.insert(node, all);
        }
        let mut walk = NotHeavier { invariant, weights };
        run(self, &mut walk, &mut FxHashMap::default(), (tree, 0), meter)
    }
}

struct Below<'a>(&'a [(PlaceId, u64)]);

impl Walk for Below<'_> {
    type Task = Tree;

    fn split(&mut self, forest: &mut Forest, &tree: &Tree, _: &mut Meter<'_>) -> Result<Split<Tree>, Stop> {
        let mut tree = tree;
        let bound = loop {
            let place = forest.place(tree);
            let at = self.0.partition_point(|&(bounded, _)| bounded < place);
            match self.0.get(at) {
                Some(&(bounded, most)) if bounded == place => break most,
                Some(&(bounded, _)) => tree = forest.at_or_after(tree, bounded),
                None if forest.facts(tree).has_empty => return Ok(Split::Done(Forest::END)),
                None => return Ok(Split::Done(Forest::EMPTY)),
            }
        };
        let place = forest.place(tree);
        Ok(Split::Layer(place, forest.branches(tree, place).take_while(|&(n, _)| n <= bound).collect()))
    }
}

struct MarkingOneOf<'a>(&'a [PlaceId]);

impl Walk for MarkingOneOf<'_> {
    /// A tree, and whether one of the places was marked on the path to it.
    type Task = (Tree, bool);

    fn split(
        &mut self,
        forest: &mut Forest,
        &(tree, is_marked): &Self::Task,
        _: &mut Meter<'_>,
    ) -> Result<Split<Self::Task>, Stop> {
        if is_marked {
            return Ok(Split::Done(tree));
        }
        let place = forest.place(tree);
        let later = &self.0[self.0.partition_point(|&wanted| wanted < place)..];
        let classes = later.iter().fold(0, |classes, &wanted| classes | class(wanted));
        if forest.facts(tree).any & classes == 0 {
            return Ok(Split::Done(Forest::EMPTY));
        }
        let is_wanted = later.first() == Some(&place);
        let parts = forest.branches(tree, place).map(|(tokens, to)| (tokens, (to, is_wanted && tokens > 0)));
        Ok(Split::Layer(place, parts.collect()))
    }
}

/// The weight of the lightest and the heaviest element below a node.
#[derive(Clone, Copy, Debug)]
struct Weights {
    least: u128,
    most: u128,
}

/// Selects elements by weight. A task contains the weight of the path to a node.
struct NotHeavier<'a> {
    invariant: &'a LinearInvariant,
    weights: FxHashMap<Tree, Weights>,
}

impl Walk for NotHeavier<'_> {
    type Task = (Tree, u128);

    fn split(
        &mut self,
        forest: &mut Forest,
        &(tree, above): &Self::Task,
        _: &mut Meter<'_>,
    ) -> Result<Split<Self::Task>, Stop> {
        let bound = u128::from(self.invariant.bound);
        let below = self.weights[&tree];
        if above.saturating_add(below.least) > bound {
            return Ok(Split::Done(Forest::EMPTY));
        }
        if above.saturating_add(below.most) <= bound {
            return Ok(Split::Done(tree));
        }
        let place = forest.place(tree);
        let unit = u128::from(self.invariant.weights.get(place));
        let weigh = |(tokens, to)| (tokens, (to, above.saturating_add(unit * u128::from(tokens))));
        Ok(Split::Layer(place, forest.branches(tree, place).map(weigh).collect()))
    }
}
