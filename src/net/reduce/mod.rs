//! Smaller nets with the same verdict.
//!
//! Each reduction is a file of its own, with its conditions and why they suffice. Two facts are behind all
//! of them. *More tokens do no harm*: in a monotone net, what a marking can do, a larger one can. And
//! *dropping a place frees*: without it there are at least as many runs, so a proof for the smaller net is one for
//! the larger, and what has to be shown is that no run came in that the larger net lacks.
//!
//! | file | what goes |
//! |---|---|
//! | `dead` | places that are never marked, transitions that never fire, transitions without effect |
//! | `dominated` | transitions that another one can stand in for |
//! | `influence` | places and transitions that do not matter for the targets |
//! | `unlimited` | places that hold as many tokens as anybody may ask for |
//! | `implied` | places that hold enough tokens whenever another place does, or always |
//! | `agglomerate` | places that tokens pass through at once, or not before they are needed |
//!
//! Zero tests are not monotone. Where a net has one, most conditions are stricter, and some reductions are
//! not done at all; the files say which.
//!
//! [`Restore`] holds what it takes to turn evidence about the smaller net into evidence about the original one;
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

/// How much is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As much as can be.
    All,
    /// Everything but agglomeration, so that every marking of a run is also one of the smaller net.
    Markings,
}

/// How often the reductions did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Places that are never marked.
    pub never_marked: usize,
    /// Transitions that never fire.
    pub dead: usize,
    /// Transitions without effect.
    pub idle: usize,
    /// Transitions that another one stands in for.
    pub dominated: usize,
    /// Places that do not matter.
    pub irrelevant_places: usize,
    /// Transitions that do not matter.
    pub irrelevant_transitions: usize,
    /// Places that hold as many tokens as anybody asks for.
    pub unlimited: usize,
    /// Places that hold enough tokens whenever another one does.
    pub implied: usize,
    /// Places that always hold enough tokens.
    pub enough: usize,
    /// Places whose tokens are passed on at once.
    pub passed_on: usize,
    /// Places whose tokens come when they are needed.
    pub on_demand: usize,
}

impl Counts {
    /// All of them together.
    #[must_use]
    pub fn total(&self) -> usize {
        let places = self.never_marked + self.irrelevant_places + self.unlimited + self.implied + self.enough;
        let transitions = self.dead + self.idle + self.dominated + self.irrelevant_transitions;
        places + transitions + self.passed_on + self.on_demand
    }
}

/// A smaller net, and the way back.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The smaller net. Its places have the order of the original ones.
    pub net: Net,
    /// How evidence about it becomes evidence about the original net.
    pub restore: Restore,
    /// What was done.
    pub counts: Counts,
}

/// Rounds of all reductions. What one of them does is often what another one waits for, but hardly more than
/// a few times; so that a chain of such cases does not cost quadratic time, the rest of it stays.
const MOST_ROUNDS: usize = 24;

/// Makes the net smaller until nothing changes. Every reduction takes time linear in the net, up to a logarithm.
#[must_use]
pub fn reduce(net: &Net, extent: Extent) -> Reduced {
    reduce_unless(net, extent, &|| false)
}

/// The same, until `stop` says so; it is asked before each reduction. What was done by then is a smaller net all the same.
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
