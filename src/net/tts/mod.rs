//! Thread transition systems in the format of BFC, `.tts`, with targets in `.prop` files.
//!
//! ```text
//! file ::= S L line*                       shared states 0..S-1, local states 0..L-1
//! line ::= s l "->" s' l' (l1 "~>" l2)*    one thread moves from (s,l) to (s',l'); all others in l1 go
//!                                          to one of the l2's listed for l1
//!        | s l "~>" s' l'                  shared s to s', every thread in l goes to l'
//!        | s l "+>" s' l'                  the thread in l stays, a new one appears in l', shared
//!                                          becomes s'
//! ```
//!
//! [`parse`] reads a system, [`state`] reads initial states and targets, [`System::net`] translates them to a net,
//! [`System::of`] translates a net to a system, and [`print()`] writes a system.

mod from_net;
mod parser;
mod print;
pub mod state;

use std::collections::BTreeSet;

use crate::net::{Builder, Flow, Marking, Move, Net, PlaceId, Range, Target, Transition};
use crate::source::Span;

pub use from_net::NotATts;
pub use parser::{parse, parse_unless};
pub use print::print;
pub use state::{InitialState, TargetState};

/// The kind of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arrow {
    /// `->`: one thread moves.
    Step,
    /// `~>`: all threads in a local state move.
    Broadcast,
    /// `+>`: a thread starts another one.
    Spawn,
}

impl Arrow {
    /// The sign in the text.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Step => "->",
            Self::Broadcast => "~>",
            Self::Spawn => "+>",
        }
    }
}

/// A shared state and a local state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadState {
    /// The shared state.
    pub shared: u32,
    /// The local state of one thread.
    pub local: u32,
}

/// A rule: one line of the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// The kind of the rule.
    pub arrow: Arrow,
    /// The thread state before.
    pub from: ThreadState,
    /// The thread state after.
    pub to: ThreadState,
    /// For each listed local state of other threads, sorted, the local states to which they may go.
    pub passive: Vec<(u32, BTreeSet<u32>)>,
    /// The place of the rule in the source.
    pub span: Span,
}

impl Rule {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let stay = |(from, to): &(u32, BTreeSet<u32>)| to.iter().eq([from]);
        self.arrow != Arrow::Spawn && self.from == self.to && self.passive.iter().all(stay)
    }
}

/// A thread transition system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The number of shared states, which are numbered from 0.
    pub shared_states: u32,
    /// The number of local states, which are numbered from 0.
    pub local_states: u32,
    /// The rules, in the order of the source.
    pub rules: Vec<Rule>,
}

impl System {
    /// Whether a shared state with this number exists.
    #[must_use]
    pub fn has_shared(&self, state: u32) -> bool {
        state < self.shared_states
    }

    /// Whether a local state with this number exists.
    #[must_use]
    pub fn has_local(&self, state: u32) -> bool {
        state < self.local_states
    }

    /// The net of the system. Rules that change nothing, and repeated rules, are left out.
    #[must_use]
    pub fn net(&self, initial: &InitialState, targets: &[TargetState]) -> Net {
        self.net_unless(initial, targets, &|| false)
    }

    /// Like [`System::net`], but leaves out the remaining rules when `stop` says so.
    #[must_use]
    pub fn net_unless(
        &self,
        initial: &InitialState,
        targets: &[TargetState],
        stop: &dyn Fn() -> bool,
    ) -> Net {
        let mut builder = Builder::new();
        let mut known: BTreeSet<Rule> = BTreeSet::new();
        for (number, rule) in self.rules.iter().enumerate() {
            if number.is_multiple_of(1 << 12) && stop() {
                break;
            }
            let nowhere = Rule { span: Span::default(), ..rule.clone() };
            if !rule.is_idle() && known.insert(nowhere) {
                let transition = transition(rule, &mut builder);
                builder.transition(transition);
            }
        }
        let shared = builder.shared(initial.shared);
        builder.initial(shared, Range::exactly(1));
        for (local, range) in initial.ranges() {
            let local = builder.local(local);
            builder.initial(local, range);
        }
        for target in targets {
            let mut least = Marking::new();
            least.set(builder.shared(target.shared), 1);
            for (&local, &threads) in &target.threads {
                least.set(builder.local(local), threads);
            }
            builder.target(Target { least, upper: Vec::new(), span: target.span });
        }
        builder.finish()
    }
}

fn transition(rule: &Rule, builder: &mut Builder) -> Transition {
    let ends = [rule.from, rule.to];
    let [shared, shared_after] = ends.map(|end| builder.shared(end.shared));
    let [local, local_after] = ends.map(|end| builder.local(end.local));
    let set = |places: &[PlaceId]| {
        let mut marking = Marking::new();
        for &place in places {
            marking.set(place, marking.get(place) + 1);
        }
        marking
    };
    let (take, give, moves) = match rule.arrow {
        Arrow::Step => {
            let moves = rule.passive.iter().map(|(from, to)| Move {
                from: builder.local(*from),
                flow: Flow::Each(to.iter().map(|&local| builder.local(local)).collect()),
            });
            (set(&[shared, local]), set(&[shared_after, local_after]), moves.collect())
        }
        Arrow::Broadcast => {
            let moves = vec![Move { from: local, flow: Flow::All(vec![local_after]) }];
            (set(&[shared]), set(&[shared_after]), moves)
        }
        Arrow::Spawn => (set(&[shared, local]), set(&[shared_after, local, local_after]), Vec::new()),
    };
    Transition { take, give, moves, upper: Vec::new(), span: rule.span }
}
