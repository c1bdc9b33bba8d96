//! Simulation between nodes: a sufficient condition for covering that takes polynomial time.
//!
//! Implements: the forward simulation of G. Delzanno, J.-F. Raskin, L. Van Begin, "Attacking Symbolic
//! State Explosion", CAV 2001. Node `b` simulates node `a` if for every arc of `a` some arc of `b`
//! has no more tokens and leads to a node that simulates where the first one leads.
//!
//! Theorem used: then every path of `a` covers one of `b`. The converse does not hold.
//!
//! Deviation: backward simulation, along the arcs that lead to a node, is not used, because nodes are shared
//! between trees and have different incoming arcs in each. `uncovered` finds everything that it would find.

use rustc_hash::FxHashMap;

use super::algebra::Reduce;
use super::walk::{Meter, Stop, run};
use super::{Forest, Tree};

/// The state of the decision about a pair of trees.
enum Decision {
    Decided(bool),
    /// This other pair has to be decided first.
    After((Tree, Tree)),
}

impl Forest {
    /// Whether the second tree simulates the first. If so, all elements of the first cover elements of the second.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn is_simulated(&mut self, a: Tree, b: Tree, meter: &mut Meter<'_>) -> Result<bool, Stop> {
        if let Some(answer) = self.is_simulated_at_once(a, b) {
            return Ok(answer);
        }
        let mut open = vec![(a, b)];
        while let Some(&(x, y)) = open.last() {
            meter.step()?;
            match self.decide(x, y) {
                Decision::Decided(answer) => {
                    self.memory.simulated.insert((x, y), answer);
                    open.pop();
                }
                Decision::After(first) => open.push(first),
            }
        }
        Ok(self.memory.simulated[&(a, b)])
    }

    /// Removes arcs whose elements all cover elements of another arc of the same node with fewer tokens. The result
    /// represents the same markings.
    ///
    /// # Errors
    /// If the meter stops the walk.
    pub fn without_simulated_arcs(&mut self, tree: Tree, meter: &mut Meter<'_>) -> Result<Tree, Stop> {
        run(self, &mut Reduce { by_simulation: true }, &mut FxHashMap::default(), tree, meter)
    }

    /// The tree, or the empty tree if one of the others simulates it.
    pub(super) fn unless_simulated(
        &mut self,
        tree: Tree,
        others: &[Tree],
        meter: &mut Meter<'_>,
    ) -> Result<Tree, Stop> {
        for &other in others {
            if self.is_simulated(tree, other, meter)? {
                return Ok(Self::EMPTY);
            }
        }
        Ok(tree)
    }

    fn is_simulated_at_once(&self, a: Tree, b: Tree) -> Option<bool> {
        let (here, there) = (self.facts(a), self.facts(b));
        if a == b || a == Self::EMPTY || there.has_empty {
            return Some(true);
        }
        // The smallest element of the first tree covers no element of the second.
        if b == Self::EMPTY || here.least < there.least || there.every & !here.any != 0 {
            return Some(false);
        }
        self.memory.simulated.get(&(a, b)).copied()
    }

    fn decide(&self, a: Tree, b: Tree) -> Decision {
        // If only one of the trees has this layer, the other one has no tokens there.
        let place = self.place(a);
        if self.place(b) < place {
            let after = self.at_or_after(b, place);
            return self
                .is_simulated_at_once(a, after)
                .map_or(Decision::After((a, after)), Decision::Decided);
        }
        for (tokens, part) in self.branches(a, place) {
            let mut is_covered = false;
            for (_, other) in self.branches(b, place).take_while(|&(n, _)| n <= tokens) {
                match self.is_simulated_at_once(part, other) {
                    Some(answer) => is_covered = answer,
                    None => return Decision::After((part, other)),
                }
                if is_covered {
                    break;
                }
            }
            if !is_covered {
                return Decision::Decided(false);
            }
        }
        Decision::Decided(true)
    }
}
