//! Copies terms between arenas.
//!
//! The embedded solver works on a copy of the question. So terms that it tries and discards never reach the engine's
//! arena, and tables over all nodes are no larger than the question requires.

use cusp_encodings::term::Node;
use cusp_encodings::{Term, TermArena, VarId};

/// Copies terms of `source` into `target`, and replaces their variables.
///
/// # Panics
/// Panics if `var_of` does.
pub(crate) fn copy_terms(
    source: &TermArena,
    roots: &[Term],
    target: &mut TermArena,
    mut var_of: impl FnMut(&mut TermArena, VarId) -> Term,
) -> Vec<Term> {
    let cone = source.cone(roots);
    let mut images = vec![Term::TRUE; cone.last().map_or(0, |top| top.index() + 1)];
    let image = |images: &[Term], term: Term| images[term.index()].complement_if(term.is_complemented());
    for term in cone {
        images[term.index()] = match source.node(term) {
            Node::True => Term::TRUE,
            Node::Var(var) => var_of(target, var),
            Node::And(a, b) => target.and(image(&images, a), image(&images, b)),
            Node::Xor(a, b) => target.xor(image(&images, a), image(&images, b)),
        };
    }
    roots.iter().map(|&root| image(&images, root)).collect()
}
