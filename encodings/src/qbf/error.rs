//! What can be wrong with the text of a quantified formula.

use thiserror::Error;

/// An error in a QDIMACS or QCIR text and its line, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {kind}")]
pub struct TextError {
    /// Where.
    pub line: usize,
    /// What.
    pub kind: TextErrorKind,
}

/// The reasons for rejecting a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// The first line is not the one of the format.
    #[error("expected {0}")]
    Header(&'static str),
    /// Something else stands where the format wants `expected`.
    #[error("expected {expected}, found `{found}`")]
    Unexpected {
        /// What the format wants.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// The text ends where the format wants more.
    #[error("the text ends, but {0} is missing")]
    Truncated(&'static str),
    /// A variable number outside of 1 to the announced count.
    #[error("variable {number} is outside of 1 to {count}")]
    VariableRange {
        /// The number, without sign.
        number: u64,
        /// The announced count.
        count: u64,
    },
    /// More or fewer clauses than announced.
    #[error("{announced} clauses are announced, but there are {found}")]
    ClauseCount {
        /// In the header.
        announced: u64,
        /// In the text.
        found: u64,
    },
    /// A variable quantified twice, or a gate defined twice or under the name of a variable.
    #[error("`{0}` is already defined")]
    Redefined(String),
    /// A name that is neither quantified nor defined above.
    #[error("`{0}` is not defined yet")]
    Undefined(String),
    /// A gate with the wrong number of inputs.
    #[error("`{gate}` takes {expected} inputs, not {found}")]
    InputCount {
        /// The gate.
        gate: &'static str,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A quantifier inside the circuit.
    #[error("gate `{0}` quantifies: only prenex formulas are supported")]
    NotPrenex(String),
    /// More than one output.
    #[error("there is a second output")]
    SecondOutput,
    /// A quantifier block below the first gate.
    #[error("a quantifier block after the first gate")]
    LateBlock,
}
