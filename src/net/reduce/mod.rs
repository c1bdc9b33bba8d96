//! Makes nets smaller without changing the verdict.
//!
//! Each reduction is in a file of its own, which states its conditions and why they suffice. All of them rely on two
//! facts. *Additional tokens disable nothing*: in a monotone net, a larger marking can do everything that a smaller
//! one can. *Removing a place only adds runs*: a proof for the smaller net is also one for the larger net, and what
//! has to be shown is that no run was added whose target the larger net cannot cover.
//!
//! | file | what it removes |
//! |---|---|
//! | `dead` | places that are never marked, transitions that never fire, transitions without effect |
//! | `dominated` | transitions that another one can replace |
//! | `influence` | places and transitions that do not matter for the targets |
//! | `unlimited` | places that can hold as many tokens as are ever needed |
//! | `implied` | places that hold enough tokens whenever another place does, or always |
//! | `agglomerate` | places through which tokens only pass |
//!
//! Zero tests are not monotone. If a net has one, most conditions are stricter, and some reductions are not done at
//! all; the files say which.
//!
//! [`Restore`] records what is needed to turn evidence about the smaller net into evidence about the original one;
//! `crate::lift` does that.

mod agglomerate;
mod dead;
mod dominated;
mod draft;
mod implied;
mod influence;
mod restore;
mod unlimited;

use super::Net;
use draft::Draft;

pub use restore::{Fate, Filling, Restore};

/// Which reductions are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All reductions.
    All,
    /// All reductions but agglomeration, so that every marking of a run of the original net corresponds to one of the
    /// smaller net.
    Markings,
}

/// How many places and transitions each reduction removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Places that are never marked.
    pub never_marked: usize,
    /// Transitions that never fire.
    pub dead: usize,
    /// Transitions without effect.
    pub idle: usize,
    /// Transitions that another one replaces.
    pub dominated: usize,
    /// Places that do not matter for the targets.
    pub irrelevant_places: usize,
    /// Transitions that do not matter for the targets.
    pub irrelevant_transitions: usize,
    /// Places that can hold any number of tokens.
    pub unlimited: usize,
    /// Places that hold enough tokens whenever another one does.
    pub implied: usize,
    /// Places that always hold enough tokens.
    pub enough: usize,
    /// Places merged by agglomeration, where the second transition fires right after the first.
    pub passed_on: usize,
    /// Places merged by agglomeration, where the first transition fires right before the second.
    pub on_demand: usize,
}

impl Counts {
    /// The sum of all counts.
    #[must_use]
    pub fn total(&self) -> usize {
        let places = self.never_marked + self.irrelevant_places + self.unlimited + self.implied + self.enough;
        let transitions = self.dead + self.idle + self.dominated + self.irrelevant_transitions;
        places + transitions + self.passed_on + self.on_demand
    }
}

/// A smaller net, and how to go back to the original one.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The smaller net. Its places are in the order of the original ones.
    pub net: Net,
    /// How evidence about the smaller net becomes evidence about the original one.
    pub restore: Restore,
    /// What was removed.
    pub counts: Counts,
}

/// The largest number of rounds of all reductions. One reduction often enables another, but rarely more than a few
/// times. The limit keeps a long chain of such cases from costing quadratic time; the rest of the chain is then not
/// reduced.
const MOST_ROUNDS: usize = 24;

/// Applies the reductions until nothing changes. Each of them takes time linear in the net, up to a logarithm.
#[must_use]
pub fn reduce(net: &Net, extent: Extent) -> Reduced {
    reduce_unless(net, extent, &|| false)
}

/// Like [`reduce`], until `stop` returns `true`; it is called before each reduction. The net is valid whenever it
/// stops.
#[must_use]
pub fn reduce_unless(net: &Net, extent: Extent, stop: &dyn Fn() -> bool) -> Reduced {
    let mut draft = Draft::new(net);
    let mut reductions: Vec<fn(&mut Draft)> =
        vec![dead::remove, dominated::remove, influence::remove, unlimited::remove, implied::remove];
    if extent == Extent::All {
        reductions.push(agglomerate::remove);
    }
    'rounds: for _ in 0..MOST_ROUNDS {
        let before = draft.counts;
        for reduction in &reductions {
            if stop() {
                break 'rounds;
            }
            reduction(&mut draft);
        }
        if draft.counts == before {
            break;
        }
    }
    draft.finish()
}
