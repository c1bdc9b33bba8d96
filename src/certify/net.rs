//! Checks verdicts about nets. Only a verdict that passes here can be printed.
//!
//! This module is written against the semantics documented in [`crate::net`]. It shares no code with the engines,
//! with the interpreter of nets, or with the computation of predecessors there: firing and its inverse are written
//! again here, as simply as the size of real proofs allows.
//!
//! Runs are replayed with zero tests. Coverability sets are checked for the net without its zero tests, which can do
//! everything that the net itself can. An uncoverability basis need not contain predecessors that certainly fail a
//! zero test.

use crate::budget::Budget;
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict};
use crate::net::{Flow, Net, PlaceId};

use super::tokens::places_of;
use super::{Certified, Rejection, Stop, net_basis, net_coverability, net_replay, reject};

/// A verdict about a net whose evidence was checked. Only [`certify_net`] makes one from a definite verdict.
pub type CertifiedNet = Certified<NetCertificate, FiringSequence>;

/// Checks the evidence of a verdict about a net. If the budget is used up before the check is complete, the result is
/// the verdict `unknown`: a verdict that was not checked is never certified.
///
/// # Errors
/// Says what is wrong with the evidence.
pub fn certify_net(net: &Net, verdict: NetVerdict, budget: &Budget) -> Result<CertifiedNet, Rejection> {
    match check_verdict(net, &verdict, budget) {
        Ok(()) => Ok(Certified { verdict }),
        Err(Stop::Exhausted(reason)) => Ok(Certified { verdict: reason.into() }),
        Err(Stop::Rejected(sentence)) => Err(Rejection(sentence)),
    }
}

/// Checks the evidence of a verdict.
pub(super) fn check_verdict(net: &Net, verdict: &NetVerdict, budget: &Budget) -> Result<(), Stop> {
    if matches!(verdict, NetVerdict::Unknown(_)) {
        return Ok(());
    }
    well_formed(net)?;
    match verdict {
        NetVerdict::Unknown(_) => Ok(()),
        NetVerdict::Unsafe(run) => net_replay::check(net, run, budget),
        NetVerdict::Safe(NetCertificate::Basis(basis)) => net_basis::check(net, basis, budget),
        NetVerdict::Safe(NetCertificate::CoverabilitySet(set)) => net_coverability::check(net, set, budget),
    }
}

/// Checks that the net is well-formed: that it has the properties which its documentation promises and the checks
/// rely on.
pub(super) fn well_formed(net: &Net) -> Result<(), Stop> {
    let exists = |place: PlaceId| place.index() < net.places.len();
    for id in net.transition_ids() {
        let transition = net.transition(id);
        let flows = transition.moves.iter().flat_map(|m| m.flow.places().iter().copied().chain([m.from]));
        let bounds = transition.upper.iter().map(|&(place, _)| place);
        let mut places =
            places_of(&transition.take).chain(places_of(&transition.give)).chain(flows).chain(bounds);
        if !places.all(exists) {
            return reject(format!("{id} is about a place that does not exist"));
        }
        if !transition.moves.windows(2).all(|pair| pair[0].from < pair[1].from) {
            return reject(format!("the moves of {id} are not in order"));
        }
        let choiceless = |flow: &Flow| matches!(flow, Flow::Each(places) if places.is_empty());
        if transition.moves.iter().any(|m| choiceless(&m.flow)) {
            return reject(format!("{id} moves tokens to one of no places"));
        }
    }
    let in_targets = net.targets.iter().flat_map(|target| {
        places_of(&target.least).chain(target.upper.iter().map(|&(place, _)| place)).collect::<Vec<_>>()
    });
    let mut places = net.initial.ranges().iter().map(|&(place, _)| place).chain(in_targets);
    if !places.all(exists) {
        return reject("the initial marking or a target is about a place that does not exist");
    }
    Ok(())
}
