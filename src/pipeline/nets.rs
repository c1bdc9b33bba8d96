//! The path for nets.

use crate::budget::Budget;
use crate::certify::{CertifiedNet, Rejection, certify_net};
use crate::engines::Engine;
use crate::engines::nets::backward::Backward;
use crate::evidence::{FiringSequence, NetVerdict};
use crate::lift::Unliftable;
use crate::lift::net::{LiftedNet, lift_net};
use crate::net::reduce::{self, Extent, Reduced};
use crate::net::{Marking, Net, Target};
use crate::progress::{Progress, Quiet};

use super::Route;
use super::translate::Translation;

impl Route for Net {
    const KEEPS: &'static [Extent] = &[Extent::All, Extent::Markings];

    fn attempts(&self, keep: Extent) -> &'static [Extent] {
        match keep {
            Extent::All => &[Extent::All, Extent::Markings],
            Extent::Markings => &[Extent::Markings],
        }
    }

    fn reduce(&self, keep: Extent, budget: &Budget) -> Box<dyn Translation<Self, Self> + '_> {
        let reduced = reduce::reduce_unless(self, keep, &|| budget.exhausted().is_some());
        Box::new(ReducedNet { original: self, reduced })
    }

    fn complete(&self, verdict: NetVerdict, _budget: &Budget) -> Result<NetVerdict, String> {
        Ok(verdict)
    }

    fn certify(&self, verdict: NetVerdict, budget: &Budget) -> Result<CertifiedNet, Rejection> {
        certify_net(self, verdict, budget)
    }

    /// Engines for nets look for short runs themselves.
    fn shorten(&self, _: &FiringSequence, _: &Budget, _: &dyn Progress) -> Option<FiringSequence> {
        None
    }
}

struct ReducedNet<'n> {
    original: &'n Net,
    reduced: Reduced,
}

impl Translation<Net, Net> for ReducedNet<'_> {
    fn question(&self) -> &Net {
        &self.reduced.net
    }

    fn bring_back(&self, verdict: NetVerdict, budget: &Budget) -> Result<NetVerdict, Unliftable> {
        match lift_net(self.original, &self.reduced, verdict, budget)? {
            LiftedNet::Verdict(verdict) => Ok(verdict),
            LiftedNet::Uncoverable(elements) => complete_basis(self.original, elements, budget),
        }
    }

    /// Without agglomeration, both kinds of reductions are the same.
    fn keeps_everything(&self) -> bool {
        !self.reduced.restore.has_longer_steps()
    }
}

/// A proof from markings that cannot be covered: what leads to them, back to the start.
fn complete_basis(net: &Net, elements: Vec<Marking>, budget: &Budget) -> Result<NetVerdict, Unliftable> {
    /// So many elements may come in for each that is known, or altogether where few are.
    const MOST: (usize, usize) = (4, 4_000);
    let most = elements.len().saturating_mul(MOST.0).max(MOST.1);
    let mut more = net.clone();
    more.targets.extend(elements.into_iter().map(|least| Target { least, ..Target::default() }));
    match (Backward { most_elements: Some(most) }).run(&more, budget, &Quiet) {
        NetVerdict::Safe(certificate) => Ok(NetVerdict::Safe(certificate)),
        NetVerdict::Unknown(unknown) if budget.exhausted().is_some() => Ok(NetVerdict::Unknown(unknown)),
        // A run would contradict the engine; the original net will tell.
        NetVerdict::Unsafe(_) | NetVerdict::Unknown(_) => Err(Unliftable("the basis was not completed")),
    }
}
