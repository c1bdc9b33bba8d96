//! The receiver of clauses.
//!
//! The trait `CollectClauses` of rustsat takes every clause as an owned vector, can fail, and does not create
//! variables. Our encoders pass slices, cannot fail, and create variables one at a time, so they need a trait
//! of their own.

use std::fmt;

use rustsat::types::{Lit, Var};

/// A receiver of clauses that owns the numbering of variables: a solver or a [`ClauseList`].
pub trait ClauseSink {
    /// Adds a clause; the empty clause makes the formula false.
    fn add_clause(&mut self, clause: &[Lit]);
    /// A variable that no clause mentions yet.
    fn new_var(&mut self) -> Var;
}

/// Clauses in memory, one after the other.
///
/// Prints as DIMACS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClauseList {
    literals: Vec<Lit>,
    /// For each clause, the position after its last literal.
    ends: Vec<usize>,
    vars: u32,
}

impl ClauseList {
    /// A list without clauses and variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of clauses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no clause.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of variables: one more than the greatest variable that a clause mentions or that was created.
    #[must_use]
    pub fn var_count(&self) -> u32 {
        self.vars
    }

    /// Treats all variables below `count` as created.
    pub fn reserve_vars(&mut self, count: u32) {
        self.vars = self.vars.max(count);
    }

    /// The clauses in the order in which they were added.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Lit]> {
        self.ends.iter().enumerate().map(|(i, &end)| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            &self.literals[start..end]
        })
    }
}

impl ClauseSink for ClauseList {
    fn add_clause(&mut self, clause: &[Lit]) {
        for lit in clause {
            self.reserve_vars(lit.vidx32() + 1);
        }
        self.literals.extend_from_slice(clause);
        self.ends.push(self.literals.len());
    }

    fn new_var(&mut self) -> Var {
        self.vars += 1;
        Var::new(self.vars - 1)
    }
}

impl fmt::Display for ClauseList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "p cnf {} {}", self.vars, self.len())?;
        self.iter().try_for_each(|clause| write_clause(f, clause))
    }
}

/// One clause as a DIMACS line.
pub(crate) fn write_clause(out: &mut impl fmt::Write, clause: &[Lit]) -> fmt::Result {
    for lit in clause {
        write!(out, "{} ", lit.to_ipasir())?;
    }
    writeln!(out, "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_list_counts_variables_and_prints_dimacs() {
        let mut list = ClauseList::new();
        assert!(list.is_empty());
        let x = list.new_var().pos_lit();
        list.add_clause(&[x, Lit::negative(4)]);
        list.add_clause(&[]);
        assert_eq!(list.new_var().idx32(), 5);
        assert_eq!(list.iter().map(<[Lit]>::len).collect::<Vec<_>>(), [2, 0]);
        insta::assert_snapshot!(list, @r"
        p cnf 6 2
        1 -5 0
        0
        ");
    }
}
