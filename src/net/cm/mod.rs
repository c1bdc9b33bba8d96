//! Communicating machines, `.cm`: finite machines in any number, with global Boolean variables.
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
//! `!` binds tightest, then `=` and `!=`, `&`, `|`. `#` begins a comment. The number after the name
//! of a machine says how many copies there are: `[2]`, `[1..]` for at least one, `[0..3]`; without it,
//! any number. All copies start in the first of the states. A variable without a value, or with `*`,
//! starts with either.
//!
//! A state of the system is a value for each variable and a local state for each copy. In a step, one
//! copy moves along an edge whose formula holds, and the variables get their new values, all at once
//! and computed from the old ones; `*` is either value. What the other copies do depends on the event:
//!
//! | event | |
//! |---|---|
//! | none | they stay |
//! | `a!`, rendez-vous | one of them moves along an edge with `a?`; if none can, there is no step |
//! | `a~!`, asynchronous rendez-vous | one of them moves along an edge with `a~?`; if none can, they stay |
//! | `a!!`, broadcast | all of them that are in a state with an edge with `a??` move along one; others stay |
//!
//! As in the paper, edges that receive have no conditions and no updates: what a step does to the
//! variables is the sender's business. A name of an event belongs to one of the three kinds.
//! Each `target` is an alternative: it is met if at least so many copies (one, if no number is
//! given) are in these states, and the formula holds.
//!
//! Deviation: the paper's guards are conjunctions of literals, its updates constants; here both are
//! formulas, and [`compile()`] splits them into cases. The paper forbids that the states of senders and
//! receivers overlap, and that receivers go round in circles; here nothing is forbidden, since a copy
//! never receives what it sends itself, and all receivers move at once.
//!
//! [`parse`] reads, [`print()`] writes, [`compile()`] makes a net.

mod compile;
mod expression;
mod formula;
mod parser;
mod print;

use crate::net::Range;
use crate::source::Span;

pub use compile::compile;
pub use formula::{Formula, Op};
pub use parser::parse;
pub use print::print;

crate::define_id!(
    /// A global variable of one [`System`].
    GlobalId,
    "g"
);

crate::define_id!(
    /// A name of events of one [`System`].
    LabelId,
    "l"
);

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Its value at the start; either one if `None`.
    pub initial: Option<bool>,
    /// Its name in the source.
    pub span: Span,
}

/// How a sender and its receivers meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Exactly one receives.
    RendezVous,
    /// One receives if one can.
    Asynchronous,
    /// All receive that can.
    Broadcast,
}

impl Channel {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::RendezVous, Self::Asynchronous, Self::Broadcast];

    /// What follows the name where it is sent.
    #[must_use]
    pub fn send(self) -> &'static str {
        match self {
            Self::RendezVous => "!",
            Self::Asynchronous => "~!",
            Self::Broadcast => "!!",
        }
    }

    /// What follows the name where it is received.
    #[must_use]
    pub fn receive(self) -> &'static str {
        match self {
            Self::RendezVous => "?",
            Self::Asynchronous => "~?",
            Self::Broadcast => "??",
        }
    }
}

/// A name of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name.
    pub name: String,
    /// How sender and receivers meet.
    pub channel: Channel,
}

/// What a copy does together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It sends.
    Send(LabelId),
    /// It receives.
    Receive(LabelId),
}

/// What a variable becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The value that this has before the step.
    Of(Formula),
    /// Either value.
    Any,
}

/// How a copy moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state it leaves, as a position in [`Machine::states`].
    pub from: usize,
    /// The state it comes to.
    pub to: usize,
    /// What others have to do with it; nothing if `None`.
    pub event: Option<Event>,
    /// The condition on the variables.
    pub guard: Formula,
    /// The variables that change, each at most once.
    pub updates: Vec<(GlobalId, Value)>,
    /// Its text in the source.
    pub span: Span,
}

/// A machine, of which there are copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// How many copies there are.
    pub copies: Range,
    /// The names of its states, the first of which is where copies start.
    pub states: Vec<String>,
    /// How copies move.
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

/// What must not be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// At least so many copies are in these states.
    pub counts: Vec<(LocalState, u64)>,
    /// And this holds.
    pub guard: Formula,
    /// Its text in the source.
    pub span: Span,
}

/// A system of communicating machines, and what is asked of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// The variables that all copies see.
    pub globals: Vec<Global>,
    /// The names of events.
    pub labels: Vec<Label>,
    /// The machines.
    pub machines: Vec<Machine>,
    /// What must not be reached, each on its own.
    pub targets: Vec<Condition>,
}

impl System {
    /// A variable.
    #[must_use]
    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.index()]
    }

    /// A name of events.
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
