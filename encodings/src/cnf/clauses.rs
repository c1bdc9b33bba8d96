//! The clauses of one direction of the definition of each kind of gate.

use rustsat::types::Lit;

use super::ClauseSink;

/// `output -> and(inputs)`
pub(super) fn imply_and<S: ClauseSink + ?Sized>(output: Lit, inputs: &[Lit], sink: &mut S) {
    for &input in inputs {
        sink.add_clause(&[!output, input]);
    }
}

/// `output -> not and(inputs)`; the inputs are sorted. If two inputs are complementary, nothing is emitted, since
/// it always holds.
pub(super) fn imply_nand<S: ClauseSink + ?Sized>(output: Lit, inputs: &[Lit], sink: &mut S) {
    if inputs.windows(2).any(|pair| pair[0] == !pair[1]) {
        return;
    }
    let clause: Vec<Lit> = std::iter::once(!output).chain(inputs.iter().map(|&input| !input)).collect();
    sink.add_clause(&clause);
}

/// `output -> a ^ b`
pub(super) fn imply_xor<S: ClauseSink + ?Sized>(output: Lit, a: Lit, b: Lit, sink: &mut S) {
    sink.add_clause(&[!output, a, b]);
    sink.add_clause(&[!output, !a, !b]);
}

/// `output -> ite(condition, then, otherwise)`; the last clause is redundant; it propagates when both
/// branches have the same value.
pub(super) fn imply_ite<S: ClauseSink + ?Sized>(
    output: Lit,
    condition: Lit,
    then: Lit,
    otherwise: Lit,
    sink: &mut S,
) {
    sink.add_clause(&[!output, !condition, then]);
    sink.add_clause(&[!output, condition, otherwise]);
    sink.add_clause(&[!output, then, otherwise]);
}
