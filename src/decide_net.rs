//! From a net to a verdict with evidence: reduce, run an engine, lift what it shows.
//!
//! If something cannot be lifted, the engine runs again on a net of which more was kept, and at last on the net
//! itself, so no answer is lost.

use crate::budget::Budget;
use crate::engines::nets::auto::Auto;
use crate::engines::nets::backward::Backward;
use crate::engines::nets::{NetEngine, NetEngineName};
use crate::evidence::NetVerdict;
use crate::lift::net::{LiftedNet, lift_net};
use crate::net::reduce::{Extent, reduce_unless};
use crate::net::{Marking, Net, Target};
use crate::progress::Progress;

/// A verdict, and who found it.
#[derive(Clone, Debug)]
pub struct NetAnswer {
    /// The verdict with evidence about the net itself; nobody has checked it.
    pub verdict: NetVerdict,
    /// The engine that found it; of a portfolio, the member.
    pub engine: &'static str,
}

/// Has an engine decide whether a target can be covered; on a reduced net, if that is wanted and the engine is not
/// one of the plain ones that others are compared with.
#[must_use]
pub fn decide(
    net: &Net,
    name: NetEngineName,
    reduces: bool,
    budget: &Budget,
    progress: &dyn Progress,
) -> NetAnswer {
    // Large nets take long to be read, to be reduced, and to be looked at for the first time by an engine.
    let out_of_budget = || {
        budget.exhausted().map(|reason| NetAnswer { verdict: reason.into(), engine: name.engine().name() })
    };
    if let Some(answer) = out_of_budget() {
        return answer;
    }
    let is_plain = matches!(name, NetEngineName::Reference | NetEngineName::Explicit);
    if reduces && !is_plain {
        for extent in [Extent::All, Extent::Markings] {
            let reduced = reduce_unless(net, extent, &|| budget.exhausted().is_some());
            if let Some(answer) = out_of_budget() {
                return answer;
            }
            let (before, after) = (size(net), size(&reduced.net));
            progress.say(&|| format!("reduced from {before} to {after}"));
            let NetAnswer { verdict, engine } = run(&reduced.net, name, budget, progress);
            let verdict = match lift_net(net, &reduced, verdict, budget) {
                Ok(LiftedNet::Verdict(verdict)) => Some(verdict),
                Ok(LiftedNet::Uncoverable(elements)) => complete(net, elements, budget, progress),
                Err(_) => None,
            };
            if let Some(verdict) = verdict {
                return NetAnswer { verdict, engine };
            }
            if !reduced.restore.has_longer_steps() {
                // The other extent would do the same.
                break;
            }
        }
    }
    run(net, name, budget, progress)
}

fn run(net: &Net, name: NetEngineName, budget: &Budget, progress: &dyn Progress) -> NetAnswer {
    if name == NetEngineName::Auto {
        let (verdict, engine) = Auto.decide(net, budget, progress);
        return NetAnswer { verdict, engine };
    }
    let engine = name.engine();
    NetAnswer { verdict: engine.run(net, budget, progress), engine: engine.name() }
}

/// `12 places, 30 transitions`.
fn size(net: &Net) -> String {
    format!("{} places and {} transitions", net.places.len(), net.transitions.len())
}

/// A proof from markings that cannot be covered: what leads to them, back to the start. `None` if that gets too long.
fn complete(
    net: &Net,
    elements: Vec<Marking>,
    budget: &Budget,
    progress: &dyn Progress,
) -> Option<NetVerdict> {
    /// So many elements may come in for each that is known, or altogether where few are.
    const MOST: (usize, usize) = (4, 4_000);
    let most = elements.len().saturating_mul(MOST.0).max(MOST.1);
    let mut more = net.clone();
    more.targets.extend(elements.into_iter().map(|least| Target { least, ..Target::default() }));
    match (Backward { most_elements: Some(most) }).run(&more, budget, progress) {
        NetVerdict::Safe(certificate) => Some(NetVerdict::Safe(certificate)),
        NetVerdict::Unknown(unknown) if budget.exhausted().is_some() => Some(NetVerdict::Unknown(unknown)),
        // A run would contradict the engine; the original net will tell.
        NetVerdict::Unsafe(_) | NetVerdict::Unknown(_) => None,
    }
}
