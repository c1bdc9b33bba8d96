//! Communicating machines, `.cm`: any number of copies of finite machines, with global Boolean variables.
//!
//! After G. Delzanno, J.-F. Raskin, L. Van Begin, "Towards the Automated Verification of
//! Multithreaded Java Programs", TACAS 2002, definitions 1 to 5.
//!
//! ```text
//! file    ::= (var | machine | target)*              names are declared before they are used
//! var     ::= "var" ID [":=" value] ("," ID [":=" value])* ";"       value ::= "T" | "F" | "*"
//! machine ::= "machine" ID ["[" N "]" | "[" N ".." [N] "]"] "{" "states" ID ("," ID)* ";" edge* "}"
//! edge    ::= ID "->" ID [":" event] ["when" formula] ["do" update ("," update)*] ";"
//! event   ::= ID ("!" | "?" | "~!" | "~?" | "!!" | "??")
//! update  ::= ID ":=" (formula | "*")
//! formula ::= "T" | "F" | ID | "!" formula | "(" formula ")"
//!           | formula ("=" | "!=") formula | formula "&" formula | formula "|" formula
//! target  ::= "target" [count ("," count)*] ["when" formula] ";"     count ::= ID "." ID [">=" N]
//! ```
//!
//! `!` binds tightest, then `=` and `!=`, `&`, `|`. `#` begins a comment. The number after the name of a machine says
//! how many copies there are: `[2]`, `[1..]` for at least one, `[0..3]`; without it, there may be any number. All
//! copies start in the first state. A variable without a value, or with `*`, starts with either value.
//!
//! A state of the system is a value for each variable and a local state for each copy. In a step, one copy moves
//! along an edge whose formula holds, and the variables get their new values simultaneously, computed from the old
//! ones; `*` is either value. What the other copies do depends on the event:
//!
//! | event | |
//! |---|---|
//! | none | they stay |
//! | `a!`, rendez-vous | one of them moves along an edge with `a?`; if none can, there is no step |
//! | `a~!`, asynchronous rendez-vous | one of them moves along an edge with `a~?`; if none can, they stay |
//! | `a!!`, broadcast | all of them that are in a state with an edge with `a??` move along one; others stay |
//!
//! As in the paper, receiving edges have no conditions and no updates: only the sender's edge changes the variables.
//! An event name belongs to one of the three kinds. Each `target` is an alternative: it is met if at least the given
//! number of copies (one, if no number is given) are in these states, and the formula holds.
//!
//! Deviation: the paper's guards are conjunctions of literals and its updates are constants; here both are formulas,
//! and [`compile()`] splits them into cases. The paper forbids that the states of senders and receivers overlap, and
//! that receivers form cycles; here nothing is forbidden, since a copy never receives what it sends itself, and all
//! receivers move at once.
//!
//! [`parse`] reads a system, [`print()`] writes it, [`compile()`] translates it to a net.

mod compile;
mod expression;
mod formula;
mod parser;
mod print;

use crate::net::Range;
use crate::source::Span;

pub use compile::compile;
pub use formula::{Formula, Op};
pub use parser::{parse, parse_unless};
pub use print::print;

crate::define_id!(
    /// A global variable of one [`System`].
    GlobalId,
    "g"
);

crate::define_id!(
    /// An event name of one [`System`].
    LabelId,
    "l"
);

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// The initial value; `None` for either value.
    pub initial: Option<bool>,
    /// The place of its name in the source.
    pub span: Span,
}

/// How a sender and its receivers meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Exactly one copy receives.
    RendezVous,
    /// One copy receives if one can.
    Asynchronous,
    /// All copies that can receive do.
    Broadcast,
}

impl Channel {
    /// All three kinds.
    pub const ALL: [Self; 3] = [Self::RendezVous, Self::Asynchronous, Self::Broadcast];

    /// The sign after the event name on the sending edge.
    #[must_use]
    pub fn send(self) -> &'static str {
        match self {
            Self::RendezVous => "!",
            Self::Asynchronous => "~!",
            Self::Broadcast => "!!",
        }
    }

    /// The sign after the event name on the receiving edge.
    #[must_use]
    pub fn receive(self) -> &'static str {
        match self {
            Self::RendezVous => "?",
            Self::Asynchronous => "~?",
            Self::Broadcast => "??",
        }
    }
}

/// An event name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name.
    pub name: String,
    /// How sender and receivers meet.
    pub channel: Channel,
}

/// How an edge takes part in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The edge sends the event.
    Send(LabelId),
    /// The edge receives the event.
    Receive(LabelId),
}

/// The new value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The value of this formula before the step.
    Of(Formula),
    /// Either value.
    Any,
}

/// An edge of a machine: how a copy moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state before the move, as a position in [`Machine::states`].
    pub from: usize,
    /// The state after the move.
    pub to: usize,
    /// The event that the edge sends or receives; `None` if other copies do not take part.
    pub event: Option<Event>,
    /// The condition on the variables.
    pub guard: Formula,
    /// The variables that change, each at most once, with their new values.
    pub updates: Vec<(GlobalId, Value)>,
    /// The place of the edge in the source.
    pub span: Span,
}

/// A machine, of which there may be several copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// How many copies there are.
    pub copies: Range,
    /// The names of its states. Copies start in the first one.
    pub states: Vec<String>,
    /// The edges along which copies move.
    pub edges: Vec<Edge>,
}

/// A local state of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalState {
    /// The position of the machine.
    pub machine: usize,
    /// The position of the state.
    pub state: usize,
}

/// A target: a condition that must not be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The least numbers of copies in these states.
    pub counts: Vec<(LocalState, u64)>,
    /// The condition on the variables.
    pub guard: Formula,
    /// The place of the target in the source.
    pub span: Span,
}

/// A system of communicating machines with its targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The global variables.
    pub globals: Vec<Global>,
    /// The event names.
    pub labels: Vec<Label>,
    /// The machines.
    pub machines: Vec<Machine>,
    /// The targets, none of which must be reached.
    pub targets: Vec<Condition>,
}

impl System {
    /// A variable.
    #[must_use]
    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.index()]
    }

    /// An event name.
    #[must_use]
    pub fn label(&self, id: LabelId) -> &Label {
        &self.labels[id.index()]
    }

    /// The edges of all machines, each with the position of its machine.
    pub fn edges(&self) -> impl Iterator<Item = (usize, &Edge)> {
        let numbered = self.machines.iter().enumerate();
        numbered.flat_map(|(at, machine)| machine.edges.iter().map(move |edge| (at, edge)))
    }
}
