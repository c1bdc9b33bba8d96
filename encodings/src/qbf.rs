//! Quantified formulas: a prefix over clauses ([`Qcnf`]) or over a term ([`Qcir`]), and their text forms.
//!
//! ```text
//! QCIR text <-> Qcir -> Qcnf <-> QDIMACS text
//!                 ^------'
//! ```
//!
//! Invariant (prefix): no variable is quantified twice, neighbouring blocks have different quantifiers, and
//! no block is empty. [`Prefix`] keeps this by construction.

mod convert;
mod error;
mod qcir_read;
mod qcir_write;
mod qdimacs;

use std::fmt;
use std::hash::Hash;

use rustc_hash::FxHashSet;
use rustsat::types::Var;

pub use self::error::{TextError, TextErrorKind};
pub use self::qcir_write::QcirText;
use crate::cnf::ClauseList;
use crate::term::{Term, TermArena, VarId};

/// Universal or existential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// There is a value.
    Exists,
    /// For all values.
    Forall,
}

impl fmt::Display for Quantifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantifier::Exists => "exists",
            Quantifier::Forall => "forall",
        })
    }
}

/// Variables under one quantifier; their order does not matter for the truth of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<V> {
    /// How the variables are quantified.
    pub quantifier: Quantifier,
    /// The variables; never empty inside a [`Prefix`].
    pub variables: Vec<V>,
}

/// Quantifier blocks from the outside in.
#[derive(Clone, Debug)]
pub struct Prefix<V> {
    blocks: Vec<Block<V>>,
    quantified: FxHashSet<V>,
}

impl<V: Copy + Eq + Hash> Prefix<V> {
    /// The empty prefix.
    #[must_use]
    pub fn new() -> Self {
        Self { blocks: Vec::new(), quantified: FxHashSet::default() }
    }

    /// Adds `variable` to the prefix, in the innermost position. Returns false and changes nothing if the
    /// variable is quantified already.
    pub fn push(&mut self, quantifier: Quantifier, variable: V) -> bool {
        if !self.quantified.insert(variable) {
            return false;
        }
        match self.blocks.last_mut() {
            Some(block) if block.quantifier == quantifier => block.variables.push(variable),
            _ => self.blocks.push(Block { quantifier, variables: vec![variable] }),
        }
        true
    }

    /// Adds those of `variables` that are not quantified yet as existential variables, in the outermost block.
    pub fn close(&mut self, variables: impl IntoIterator<Item = V>) {
        let free: Vec<V> =
            variables.into_iter().filter(|&variable| self.quantified.insert(variable)).collect();
        if free.is_empty() {
            return;
        }
        match self.blocks.first_mut() {
            Some(block) if block.quantifier == Quantifier::Exists => {
                block.variables.splice(0..0, free);
            }
            _ => self.blocks.insert(0, Block { quantifier: Quantifier::Exists, variables: free }),
        }
    }

    /// The blocks from the outside in.
    #[must_use]
    pub fn blocks(&self) -> &[Block<V>] {
        &self.blocks
    }

    /// Whether `variable` is quantified.
    #[must_use]
    pub fn contains(&self, variable: V) -> bool {
        self.quantified.contains(&variable)
    }

    /// All variables with their quantifiers, from the outside in.
    pub fn variables(&self) -> impl Iterator<Item = (Quantifier, V)> {
        self.blocks
            .iter()
            .flat_map(|block| block.variables.iter().map(|&variable| (block.quantifier, variable)))
    }
}

impl<V: Copy + Eq + Hash> Default for Prefix<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Copy + Eq + Hash> PartialEq for Prefix<V> {
    fn eq(&self, other: &Self) -> bool {
        self.blocks == other.blocks
    }
}

impl<V: Copy + Eq + Hash> Eq for Prefix<V> {}

impl<V: Copy + Eq + Hash> FromIterator<(Quantifier, V)> for Prefix<V> {
    fn from_iter<I: IntoIterator<Item = (Quantifier, V)>>(variables: I) -> Self {
        let mut prefix = Self::new();
        for (quantifier, variable) in variables {
            prefix.push(quantifier, variable);
        }
        prefix
    }
}

/// A quantified conjunction of clauses. Variables without a quantifier count as existential variables of the
/// outermost block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qcnf {
    /// The quantifiers.
    pub prefix: Prefix<Var>,
    /// The clauses.
    pub matrix: ClauseList,
}

/// A quantified term of some arena. Variables without a quantifier count as existential variables of the outermost
/// block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qcir {
    /// The quantifiers.
    pub prefix: Prefix<VarId>,
    /// The formula under them.
    pub matrix: Term,
}

impl Qcir {
    /// The question whether for all values of `universal` there are values of `existential` that make
    /// `matrix` true.
    #[must_use]
    pub fn forall_exists(
        universal: impl IntoIterator<Item = VarId>,
        existential: impl IntoIterator<Item = VarId>,
        matrix: Term,
    ) -> Self {
        let universal = universal.into_iter().map(|var| (Quantifier::Forall, var));
        let existential = existential.into_iter().map(|var| (Quantifier::Exists, var));
        Self { prefix: universal.chain(existential).collect(), matrix }
    }

    /// The prefix with the free variables of the matrix quantified too.
    #[must_use]
    pub fn closed_prefix(&self, arena: &TermArena) -> Prefix<VarId> {
        let mut prefix = self.prefix.clone();
        prefix.close(arena.support(&[self.matrix]));
        prefix
    }
}

#[cfg(test)]
mod tests;
