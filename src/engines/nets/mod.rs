//! Decision procedures for nets, one per file, named as in the literature.

pub mod auto;
pub mod backward;
pub mod directed;
pub mod explicit;
pub mod karp_miller;
pub mod linear;
pub mod mcov;
pub mod reference;
pub mod sets;

use crate::budget::Budget;
use crate::evidence::NetVerdict;
use crate::net::Net;
use crate::progress::Progress;

/// A decision procedure for coverability.
///
/// Contract: as for [`super::Engine`]. `Safe` and `Unsafe` come with evidence that
/// [`crate::certify`] accepts; an engine that cannot produce evidence answers `Unknown`. Engines do
/// not print, read no clock, and give up within 100 ms when the budget says so. They are
/// deterministic. Zero tests may be ignored for `Safe` and must be obeyed for `Unsafe`: an engine
/// whose run does not survive them answers [`crate::evidence::Reason::ZeroTests`].
pub trait NetEngine: Sync {
    /// The name used on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Decides whether a target of the net can be covered, within the budget.
    fn run(&self, net: &Net, budget: &Budget, progress: &dyn Progress) -> NetVerdict;
}

/// The engines by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetEngineName {
    /// Whatever fits the net.
    #[default]
    Auto,
    /// Backward search with linear exclusions.
    Backward,
    /// The same on covering sharing trees.
    SharingTrees,
    /// Forward search guided by the state equation, for runs only.
    Directed,
    /// Plain backward search.
    Reference,
    /// Plain forward search.
    Explicit,
    /// Forward coverability set.
    KarpMiller,
    /// Minimal uncoverability proofs.
    Mcov,
}

impl NetEngineName {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::Backward,
        Self::SharingTrees,
        Self::Directed,
        Self::KarpMiller,
        Self::Mcov,
        Self::Reference,
        Self::Explicit,
    ];

    /// The engine itself.
    #[must_use]
    pub fn engine(self) -> Box<dyn NetEngine> {
        match self {
            Self::Auto => Box::new(auto::Auto),
            Self::Backward => Box::new(backward::Backward::default()),
            Self::SharingTrees => Box::new(backward::sharing::SharingTrees),
            Self::Directed => Box::new(directed::Directed),
            Self::Reference => Box::new(reference::Reference),
            Self::KarpMiller => Box::new(karp_miller::KarpMiller::default()),
            Self::Mcov => Box::new(mcov::Mcov::default()),
            Self::Explicit => Box::new(explicit::Explicit::default()),
        }
    }
}
