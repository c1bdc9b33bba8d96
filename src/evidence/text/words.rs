//! Reading and writing the words of the format.

use std::fmt::{self, Display};

use crate::evidence::trace::{RunId, Valuation};
use crate::evidence::{Literal, Place};
use crate::model::cube::Cube;
use crate::model::{EdgeId, Node, ProcId};

/// A type whose values are words of the format.
pub(super) trait Word: Sized {
    /// The name of this kind of word in messages.
    const NAME: &'static str;

    fn parse(text: &str) -> Option<Self>;
}

/// A number without a sign or leading zeros.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = text == "0" || !text.starts_with('0');
    (digits && canonical).then(|| text.parse().ok()).flatten()
}

impl Word for u32 {
    const NAME: &'static str = "a number";

    fn parse(text: &str) -> Option<Self> {
        number(text)
    }
}

macro_rules! id_word {
    ($type:ident, $prefix:literal, $name:literal) => {
        impl Word for $type {
            const NAME: &'static str = $name;

            fn parse(text: &str) -> Option<Self> {
                text.strip_prefix($prefix).and_then(number).map(|i| $type::from_index(i as usize))
            }
        }
    };
}

id_word!(ProcId, "p", "a procedure such as `p3`");
id_word!(Node, "n", "a node such as `n3`");
id_word!(EdgeId, "a", "an edge such as `a3`");
id_word!(RunId, "r", "a run such as `r3`");

/// A position, or `-` for none.
impl Word for Option<u32> {
    const NAME: &'static str = "a number or `-`";

    fn parse(text: &str) -> Option<Self> {
        if text == "-" { Some(None) } else { number(text).map(Some) }
    }
}

impl Word for Literal {
    const NAME: &'static str = "a formula such as `T`, `F`, `g3` or `!g3`";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "T" => return Some(Self::TRUE),
            "F" => return Some(Self::FALSE),
            _ => {}
        }
        let (gate, complemented) = match text.strip_prefix('!') {
            Some(gate) => (gate, true),
            None => (text, false),
        };
        let gate = gate.strip_prefix('g').and_then(number).filter(|&gate| gate > 0)?;
        gate.checked_mul(2).map(|edge| Self(edge | u32::from(complemented)))
    }
}

/// A formula, or `*` for any value.
impl Word for Option<Literal> {
    const NAME: &'static str = "a formula such as `T`, `F`, `g3` or `!g3`, or `*`";

    fn parse(text: &str) -> Option<Self> {
        if text == "*" { Some(None) } else { Literal::parse(text).map(Some) }
    }
}

impl Word for Place {
    const NAME: &'static str = "a node such as `n3`, or `failure`";

    fn parse(text: &str) -> Option<Self> {
        if text == "failure" { Some(Self::Failure) } else { Node::parse(text).map(Self::Node) }
    }
}

impl Word for Valuation {
    const NAME: &'static str = "values such as `0110`, or `-` for none";

    fn parse(text: &str) -> Option<Self> {
        if text == "-" {
            return Some(Self::default());
        }
        let value = |byte: u8| match byte {
            b'0' => Some(false),
            b'1' => Some(true),
            _ => None,
        };
        text.bytes().map(value).collect::<Option<Vec<bool>>>().map(Self)
    }
}

/// Values of variables, of which some are open; some of the open ones are linked.
pub(super) struct Values {
    pub cube: Cube,
    pub linked: u128,
}

impl Word for Values {
    const NAME: &'static str = "at most 128 values such as `01*=`, or `-` for none";

    fn parse(text: &str) -> Option<Self> {
        let mut values = Self { cube: Cube::ANY, linked: 0 };
        if text == "-" {
            return Some(values);
        }
        if text.len() > Cube::WIDTH {
            return None;
        }
        for (position, byte) in text.bytes().enumerate() {
            match byte {
                b'0' => values.cube = values.cube.with(position as u32, false),
                b'1' => values.cube = values.cube.with(position as u32, true),
                b'=' => values.linked |= 1 << position,
                b'*' => {}
                _ => return None,
            }
        }
        Some(values)
    }
}

/// A formula, for writing.
pub(super) struct Shown(pub Literal);

impl Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Literal::TRUE => f.write_str("T"),
            Literal::FALSE => f.write_str("F"),
            literal => write!(f, "{}g{}", if literal.is_complemented() { "!" } else { "" }, literal.gate()),
        }
    }
}

/// Writes values.
pub(super) fn show_values(width: usize, cube: Cube, linked: u128) -> String {
    if width == 0 {
        return "-".to_owned();
    }
    let value = |position: u32| match cube.get(position) {
        _ if linked >> position & 1 == 1 => '=',
        Some(false) => '0',
        Some(true) => '1',
        None => '*',
    };
    (0..width.min(Cube::WIDTH) as u32).map(value).collect()
}

/// Writes values.
pub(super) fn show_valuation(valuation: &Valuation) -> String {
    if valuation.0.is_empty() {
        return "-".to_owned();
    }
    valuation.0.iter().map(|&value| if value { '1' } else { '0' }).collect()
}

/// Writes a position, or `-` for none.
pub(super) fn show_option(position: Option<impl Display>) -> String {
    position.map_or_else(|| "-".to_owned(), |position| position.to_string())
}
