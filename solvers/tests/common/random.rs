//! Reproducible random formulas.

use rustsat::types::Lit;

/// A small generator (splitmix64): the same seed gives the same formulas everywhere.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    pub fn lit(&mut self, num_vars: u32) -> Lit {
        Lit::new(self.below(num_vars), self.below(2) == 0)
    }

    /// A clause of three different variables.
    pub fn clause3(&mut self, num_vars: u32) -> Vec<Lit> {
        let mut clause: Vec<Lit> = Vec::new();
        while clause.len() < 3 {
            let lit = self.lit(num_vars);
            if clause.iter().all(|other| other.var() != lit.var()) {
                clause.push(lit);
            }
        }
        clause
    }
}
