//! Simulation between nodes: a sufficient condition for covering that takes polynomial time.
//!
//! Implements: the forward simulation of G. Delzanno, J.-F. Raskin, L. Van Begin, "Attacking Symbolic
//! State Explosion", CAV 2001. Node `b` simulates node `a` if for every arc of `a` some arc of `b`
//! has no more tokens and leads to a node that simulates where the first one leads.
//!
//! Theorem used: then every path of `a` covers one of `b`. The converse does not hold.
//!
//! Deviation: backward simulation, along what leads to a node, is not used: nodes are shared between
//! trees, and what leads to them is different in each. What it would find, `uncovered` finds.

use super::walk::{Meter, Split, Stop, Walk, run};
use super::{Forest, Tree};
use crate::net::PlaceId;

use rustc_hash::FxHashMap;

/// What is known about a pair.
enum Pair {
    Decided(bool),
    /// Not before this pair is decided.
    After((Tree, Tree)),
}

impl Forest {
    /// Whether the second tree simulates the first: then all elements of the first cover elements of
    /// the second.
    ///
    /// # Errors
    /// If the meter says so.
    pub fn is_simulated(&mut self, a: Tree, b: Tree, meter: &mut Meter<'_>) -> Result<bool, Stop> {
        if let Some(answer) = self.is_simulated_at_once(a, b) {
            return Ok(answer);
        }
        let mut open = vec![(a, b)];
        while let Some(&(x, y)) = open.last() {
            meter.step()?;
            match self.decide(x, y) {
                Pair::Decided(answer) => {
                    self.memory.simulated.insert((x, y), answer);
                    open.pop();
                }
                Pair::After(first) => open.push(first),
            }
        }
        Ok(self.memory.simulated[&(a, b)])
    }

    /// Without arcs whose elements all cover elements of an arc with fewer tokens beside it: another tree
    /// for the same markings.
    ///
    /// # Errors
    /// If the meter says so.
    pub fn without_simulated_arcs(&mut self, tree: Tree, meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        run(self, &mut Local, &mut FxHashMap::default(), tree, meter)
    }

    fn is_simulated_at_once(&self, a: Tree, b: Tree) -> Option<bool> {
        let (here, there) = (self.facts(a), self.facts(b));
        if a == b || a == Self::EMPTY || there.has_empty {
            return Some(true);
        }
        // The smallest element of the first tree covers none of the second.
        if b == Self::EMPTY || here.least < there.least || there.every & !here.any != 0 {
            return Some(false);
        }
        self.memory.simulated.get(&(a, b)).copied()
    }

    fn decide(&self, a: Tree, b: Tree) -> Pair {
        // Where only one of them has the layer, the other passes it without tokens.
        let place = self.place(a);
        if self.place(b) < place {
            let after = self.at_or_after(b, place);
            return self.is_simulated_at_once(a, after).map_or(Pair::After((a, after)), Pair::Decided);
        }
        for (tokens, part) in self.branches(a, place) {
            let mut is_covered = false;
            for (_, other) in self.branches(b, place).take_while(|&(n, _)| n <= tokens) {
                match self.is_simulated_at_once(part, other) {
                    Some(answer) => is_covered = answer,
                    None => return Pair::After((part, other)),
                }
                if is_covered {
                    break;
                }
            }
            if !is_covered {
                return Pair::Decided(false);
            }
        }
        Pair::Decided(true)
    }
}

/// Removes arcs that are simulated by others of the same node.
struct Local;

impl Walk for Local {
    type Task = Tree;

    fn split(&mut self, forest: &mut Forest, &tree: &Tree, _: &mut Meter<'_>) -> Result<Split<Tree>, Stop> {
        if tree == Forest::EMPTY || forest.facts(tree).has_empty {
            return Ok(Split::Done(if tree == Forest::EMPTY { tree } else { Forest::END }));
        }
        let place = forest.place(tree);
        Ok(Split::Layer(place, forest.branches(tree, place).collect()))
    }

    fn join(
        &mut self,
        forest: &mut Forest,
        place: PlaceId,
        parts: Vec<(u64, Tree)>,
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        let mut kept: Vec<(u64, Tree)> = Vec::with_capacity(parts.len());
        for (tokens, part) in parts {
            let mut is_needless = false;
            for &(_, smaller) in &kept {
                is_needless = is_needless || forest.is_simulated(part, smaller, meter)?;
            }
            if !is_needless {
                kept.push((tokens, part));
            }
        }
        forest.layer(place, kept, meter)
    }
}
