//! Formulas as plain data: a graph of gates that can be read without a term arena or a solver.
//!
//! Invariant (order): a gate's inputs are literals of earlier gates, so a plain loop evaluates or
//! copies the graph. [`Formulas::add`], the only way to build one, ensures this.

/// An edge to a gate, with a complement bit: `2 * gate + complement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal(pub u32);

impl Literal {
    /// The constant true; gate 0 of every graph.
    pub const TRUE: Self = Self(0);
    /// The constant false.
    pub const FALSE: Self = Self(1);

    /// The constant with this value.
    #[must_use]
    pub fn constant(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// The number of the gate.
    #[must_use]
    pub fn gate(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether the gate's value is negated.
    #[must_use]
    pub fn is_complemented(self) -> bool {
        self.0 & 1 == 1
    }
}

impl std::ops::Not for Literal {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// The constant true.
    True,
    /// A variable. Its meaning depends on the certificate that contains the graph.
    Parameter(u32),
    /// Conjunction.
    And(Literal, Literal),
    /// Exclusive disjunction.
    Xor(Literal, Literal),
}

/// A graph of gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formulas {
    gates: Vec<Gate>,
}

impl Default for Formulas {
    fn default() -> Self {
        Self { gates: vec![Gate::True] }
    }
}

impl Formulas {
    /// Adds a gate. Equal gates are not merged; the caller has to do that.
    ///
    /// # Panics
    /// If an input does not exist, or there are 2^31 gates.
    pub fn add(&mut self, gate: Gate) -> Literal {
        let next = u32::try_from(self.gates.len()).expect("fewer than 2^31 gates");
        assert!(is_before(gate, next), "a gate's inputs come before it");
        self.gates.push(gate);
        Literal(next.checked_mul(2).expect("fewer than 2^31 gates"))
    }

    /// All gates; the first is the constant.
    #[must_use]
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// Whether a literal belongs to this graph.
    #[must_use]
    pub fn contains(&self, literal: Literal) -> bool {
        literal.gate() < self.gates.len()
    }
}

fn is_before(gate: Gate, position: u32) -> bool {
    match gate {
        Gate::True | Gate::Parameter(_) => true,
        Gate::And(a, b) | Gate::Xor(a, b) => a.0 >> 1 < position && b.0 >> 1 < position,
    }
}
