//! What can be wrong with the text of a quantified formula.

use thiserror::Error;

/// An error in a QDIMACS or QCIR text and its line, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {kind}")]
pub struct TextError {
    /// The line.
    pub line: usize,
    /// What is wrong.
    pub kind: TextErrorKind,
}

/// The reasons for rejecting a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// The first line is not the header of the format.
    #[error("expected {0}")]
    Header(&'static str),
    /// The text contains something else where the format requires `expected`.
    #[error("expected {expected}, found `{found}`")]
    Unexpected {
        /// What the format requires.
        expected: &'static str,
        /// What the text contains.
        found: String,
    },
    /// The text ends too early.
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
        /// The number in the header.
        announced: u64,
        /// The number of clauses in the text.
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
        /// The number of inputs that it takes.
        expected: usize,
        /// The number of inputs in the text.
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
