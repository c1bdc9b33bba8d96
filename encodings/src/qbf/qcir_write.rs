//! Writer of QCIR-G14 text in its cleansed form: numbers only, the variables of the prefix first.

use std::fmt;

use super::{Block, Qcir};
use crate::gate::{Gate, gates_below};
use crate::term::{Term, TermArena};

impl Qcir {
    /// The formula as QCIR-G14. Variable `k` of the text is the `k`-th of [`Self::closed_prefix`].
    #[must_use]
    pub fn to_qcir<'a>(&'a self, arena: &'a TermArena) -> QcirText<'a> {
        QcirText { arena, qcir: self }
    }
}

/// A quantified circuit that prints as QCIR-G14; see [`Qcir::to_qcir`].
#[derive(Clone, Copy, Debug)]
pub struct QcirText<'a> {
    arena: &'a TermArena,
    qcir: &'a Qcir,
}

/// For each node, its number in the text.
struct Numbers(Vec<u32>);

impl Numbers {
    /// The signed number of an edge.
    fn of(&self, term: Term) -> i64 {
        let number = i64::from(self.0[term.index()]);
        if term.is_complemented() { -number } else { number }
    }
}

impl fmt::Display for QcirText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matrix = self.qcir.matrix;
        let gates = gates_below(self.arena, &[matrix]);
        let prefix = self.qcir.closed_prefix(self.arena);
        let mut numbers = Numbers(vec![0; matrix.index() + 1]);
        let mut last = 0;
        for (_, var) in prefix.variables() {
            last += 1;
            let term = self.arena.find_var(var).filter(|term| term.index() < numbers.0.len());
            if let Some(term) = term {
                numbers.0[term.index()] = last;
            }
        }
        for gate in &gates {
            if numbers.0[gate.index()] == 0 {
                last += 1;
                numbers.0[gate.index()] = last;
            }
        }
        writeln!(f, "#QCIR-G14 {last}")?;
        let mut number = 0;
        for Block { quantifier, variables } in prefix.blocks() {
            write!(f, "{quantifier}(")?;
            for i in 0..variables.len() {
                number += 1;
                write!(f, "{}{number}", if i == 0 { "" } else { ", " })?;
            }
            writeln!(f, ")")?;
        }
        writeln!(f, "output({})", numbers.of(matrix))?;
        for gate in gates {
            let number = numbers.of(gate);
            match Gate::of(self.arena, gate) {
                Gate::Input(_) => {}
                Gate::True => writeln!(f, "{number} = and()")?,
                Gate::And(a, b) => writeln!(f, "{number} = and({}, {})", numbers.of(a), numbers.of(b))?,
                Gate::Xor(a, b) => writeln!(f, "{number} = xor({}, {})", numbers.of(a), numbers.of(b))?,
                Gate::Ite(condition, then, otherwise) => {
                    let [condition, then, otherwise] =
                        [condition, then, otherwise].map(|input| numbers.of(input));
                    writeln!(f, "{number} = ite({condition}, {then}, {otherwise})")?;
                }
            }
        }
        Ok(())
    }
}
