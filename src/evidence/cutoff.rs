//! What shows how many threads are enough.
//!
//! All of it is about a net whose tokens are threads: one token on the shared states, one for each thread on the
//! local states. A *thread state* is a shared state with the local state of one thread. `n` threads means at most `n`
//! at once; a thread that would be one too many is not started, and the rest of its transition happens. `R_n` are the
//! thread states that `n` threads reach.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Reason;
use super::net::{FiringSequence, NetCertificate};
use crate::net::{Marking, PlaceId};

/// A shared state and the local state of one thread, as places.
pub type ThreadState = (PlaceId, PlaceId);

/// Everything that is claimed about a system, and what shows it.
///
/// The claims hold if
///
/// 1. the rounds are about the fewest threads that the system starts with (at least one), then one more, and so on;
/// 2. the thread states of a complete round are `R_n`, its states are all that `n` threads reach, and none
///    of them meets a target; those of a round that ended early are reached;
/// 3. the candidates of a round are the triples `((r, h), (r, g), (s, h'))` for which a transition takes one thread from
///    `(r, h)` to `(s, h')`, a thread in `(r, g)` that is there may come to a `(s, g')` that is not among the thread
///    states, and `(r, h)` and `(r, g)` are among them;
/// 4. if a round says that no candidate is realizable, its thread states hold those of all initial states, whatever
///    their number of threads, no thread that moves, or is started by one of them, leaves them, and for
///    every candidate the marking `r + h + g` covers one that is shown to be uncoverable;
/// 5. if a round says that one is realizable, there is a run that covers the marking of a candidate, or an initial
///    state or a started thread is new;
/// 6. if the cutoff is `n`, the last round is the one of `n` threads, condition 4 holds for its thread states, and all
///    earlier rounds are complete and have fewer thread states;
/// 7. if `n` threads reach a target and fewer do not, either all rounds before that of `n` are complete and that of
///    `n` meets a target, or [`Fewest`] shows it.
///
/// By 4, the thread states of the last round are all that any number of threads reaches: the first new one would be that of
/// a thread that moves, of one that it starts, or of one that is there while another one moves.
#[derive(Clone, Debug)]
pub struct CutoffEvidence {
    /// One for each number of threads.
    pub rounds: Vec<Round>,
    /// What they came to.
    pub found: Found,
    /// The fewest threads that cover a target, if that is known.
    pub threads_to_target: Option<usize>,
    /// Candidates that no number of threads realizes.
    pub unrealizable: Vec<Unrealizable>,
    /// Candidates that some number of threads realizes.
    pub realizable: Vec<Realizable>,
    /// What shows how many threads reach a target, where rounds do not.
    pub fewest: Option<Fewest>,
}

/// One number of threads.
#[derive(Clone, Debug)]
pub struct Round {
    /// The number.
    pub threads: usize,
    /// The thread states that were reached.
    pub thread_states: BTreeSet<ThreadState>,
    /// Global states that were reached, up to the names of threads.
    pub states: usize,
    /// Whether these are all; a round may end when a target is met, or when its thread states are all that any number of
    /// threads reaches.
    pub is_complete: bool,
    /// Candidate triples.
    pub candidates: usize,
    /// Whether a candidate is realizable; unknown if the next round made the question pointless.
    pub realizable: Option<bool>,
    /// How long the forward search took. Nobody checks it.
    pub forward: Duration,
    /// How long the proof took. Nobody checks it.
    pub backward: Duration,
}

/// What the rounds came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// So many threads reach all thread states that any number can reach, and fewer do not.
    Cutoff(usize),
    /// So many threads reach a target, and fewer do not.
    Target(usize),
    /// Neither, since the budget was used up.
    Unknown(Reason),
}

/// Markings that cannot be covered.
#[derive(Clone, Debug)]
pub struct Unrealizable {
    /// The markings.
    pub markings: Vec<Marking>,
    /// The proof, about the net with these as its targets. The elements of a basis cannot be covered, either.
    pub certificate: NetCertificate,
}

/// A marking that can be covered.
#[derive(Clone, Debug)]
pub struct Realizable {
    /// The marking.
    pub marking: Marking,
    /// A run of the net that ends above it.
    pub run: FiringSequence,
}

/// Why so many threads reach a target and fewer do not, for systems in which no thread is started, one local state holds any
/// number of threads at the start, and all others a fixed number.
#[derive(Clone, Debug)]
pub struct Fewest {
    /// A run to a target; it starts with the fewest threads.
    pub run: FiringSequence,
    /// A proof that no target can be covered with exactly one thread less, if there can be so few. Then even fewer do not
    /// cover one: what they can do, more can.
    pub one_less: Option<NetCertificate>,
}
