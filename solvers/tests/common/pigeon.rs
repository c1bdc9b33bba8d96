//! A family of formulas that are easy to state and hard to refute.

use rustsat::types::Lit;

/// `holes + 1` pigeons sit in `holes` holes, at most one in each: unsatisfiable, and exponentially hard for
/// resolution.
pub fn pigeon_hole(holes: u32) -> Vec<Vec<Lit>> {
    let sits = |pigeon: u32, hole: u32| Lit::positive(pigeon * holes + hole);
    let mut clauses: Vec<Vec<Lit>> =
        (0..=holes).map(|pigeon| (0..holes).map(|hole| sits(pigeon, hole)).collect()).collect();
    for hole in 0..holes {
        for second in 0..=holes {
            clauses.extend((0..second).map(|first| vec![!sits(first, hole), !sits(second, hole)]));
        }
    }
    clauses
}
