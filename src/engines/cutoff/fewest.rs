//! The fewest threads that cover a target, found without exploring all smaller numbers of threads.
//!
//! If threads are never started, a system with a fixed number of threads is a net whose initial markings hold that
//! many tokens, and more threads cover everything that fewer threads cover. So a run with `n` threads and a proof
//! that `n - 1` threads do not reach a target show that `n` is the least number, whatever the size of the state
//! space. Both are the evidence: see [`Fewest`]. The proofs often need no search at all: where tokens are neither
//! made nor lost, a linear invariant counts them.

use crate::budget::Budget;
use crate::engines::Engine;
use crate::engines::nets::backward::Backward;
use crate::engines::nets::directed::DirectedWithin;
use crate::evidence::cutoff::Fewest;
use crate::evidence::{FiringSequence, NetCertificate, NetVerdict};
use crate::net::{Initial, Net, PlaceId, PlaceKind, Range};
use crate::progress::Quiet;

/// The limits of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The greatest number of elements that the backward search follows for one number of threads.
    pub elements: usize,
    /// The greatest number of markings that the forward search reaches for one number of threads.
    pub markings: usize,
}

impl Effort {
    /// The limits of the first attempt.
    pub const FIRST: Self = Self { elements: 2_000, markings: 5_000 };

    /// The limits of the next attempt.
    #[must_use]
    pub fn more(self) -> Self {
        Self { elements: self.elements.saturating_mul(4), markings: self.markings.saturating_mul(4) }
    }
}

/// The fewest threads that cover a target, and the evidence for this number. The system must not start threads, and
/// all threads except a fixed number must begin in the same local state. Returns `None` if the system does not have
/// this form, or if the effort was not enough.
#[must_use]
pub fn fewest(net: &Net, effort: Effort, budget: &Budget) -> Option<(usize, Fewest)> {
    let (pool, others) = pool(net)?;
    let Decided::Run(mut run) = decide(net, effort, budget)? else { return None };
    loop {
        let threads = usize::try_from(net.threads(&run.initial)).ok()?;
        let Some(fewer) = (threads as u64).checked_sub(others + 1) else {
            return Some((threads, Fewest { run, one_less: None }));
        };
        match decide(&with_exactly(net, pool, fewer), effort, budget)? {
            Decided::Proof(proof) => return Some((threads, Fewest { run, one_less: Some(proof) })),
            Decided::Run(with_fewer) => run = with_fewer,
        }
    }
}

/// The local state in which any number of threads may begin, and the number of threads that begin elsewhere.
fn pool(net: &Net) -> Option<(PlaceId, u64)> {
    let mut pool = None;
    let mut others = 0_u64;
    for &(place, range) in net.initial.ranges() {
        match (net.place(place).kind, range.most) {
            (PlaceKind::Shared(_), _) => {}
            (_, None) if pool.is_none() && range.least == 0 => pool = Some(place),
            (_, Some(most)) if most == range.least => others = others.checked_add(most)?,
            _ => return None,
        }
    }
    let same_number = |t: &crate::net::Transition| net.threads(&t.take) == net.threads(&t.give);
    if net.transitions.iter().all(same_number) { Some((pool?, others)) } else { None }
}

fn with_exactly(net: &Net, pool: PlaceId, threads: u64) -> Net {
    let others = net.initial.ranges().iter().copied().filter(|&(place, _)| place != pool);
    Net { initial: Initial::new(others.chain([(pool, Range::exactly(threads))])), ..net.clone() }
}

enum Decided {
    Proof(NetCertificate),
    Run(FiringSequence),
}

/// Answers the question by the first engine that can.
fn decide(net: &Net, effort: Effort, budget: &Budget) -> Option<Decided> {
    let engines: [&dyn Engine<Net>; 2] = [
        &Backward { most_elements: Some(effort.elements) },
        &DirectedWithin { most_markings: effort.markings },
    ];
    engines.into_iter().find_map(|engine| match engine.run(net, budget, &Quiet) {
        NetVerdict::Safe(proof) => Some(Decided::Proof(proof)),
        NetVerdict::Unsafe(run) => Some(Decided::Run(run)),
        NetVerdict::Unknown(_) => None,
    })
}
