//! Helpers of the tests: small enumerations, seeded randomness, brute force.

use rustc_hash::FxHashSet;

use crate::term::{Term, TermArena, VarId};

/// A small seeded generator (splitmix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF0)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.next() & 1 == 1
    }

    pub(crate) fn pick(&mut self, terms: &[Term]) -> Term {
        terms[self.below(terms.len())].complement_if(self.flip())
    }
}

/// The variables `x0..` of an arena as terms.
pub(crate) fn vars(arena: &mut TermArena, count: u32) -> Vec<Term> {
    (0..count).map(|number| arena.var(VarId::new(number))).collect()
}

/// One random gate over `pool`.
pub(crate) fn random_gate(rng: &mut Rng, arena: &mut TermArena, pool: &[Term]) -> Term {
    let [a, b, c] = [(); 3].map(|()| rng.pick(pool));
    match rng.below(4) {
        0 | 1 => arena.and(a, b),
        2 => arena.xor(a, b),
        _ => arena.ite(a, b, c),
    }
}

/// Random gates over the variables `x0..` and each other; the later ones are returned.
pub(crate) fn random_terms(rng: &mut Rng, arena: &mut TermArena, var_count: u32, gates: usize) -> Vec<Term> {
    let mut pool = vars(arena, var_count);
    for _ in 0..gates {
        let gate = random_gate(rng, arena, &pool);
        pool.push(gate);
    }
    let from = pool.len() / 2;
    pool[from..].iter().map(|term| term.complement_if(rng.flip())).collect()
}

/// A chain of alternating gates over all variables, each once, in which no two gates can be merged into an n-ary one.
pub(crate) fn chain(length: usize) -> (TermArena, Term) {
    let mut arena = TermArena::new();
    let mut term = arena.var(VarId::new(0));
    for i in 1..length {
        let var = arena.var(VarId::from_index(i));
        term = match i % 3 {
            0 => arena.xor(term, var),
            1 => arena.and(term, var),
            _ => arena.or(term, var),
        };
    }
    (arena, term)
}

/// The value of [`chain`].
pub(crate) fn chain_value(length: usize, value_of: impl Fn(usize) -> bool) -> bool {
    (1..length).fold(value_of(0), |value, i| match i % 3 {
        0 => value ^ value_of(i),
        1 => value & value_of(i),
        _ => value | value_of(i),
    })
}

/// Bit `i` is the value of the term where bit `v` of `i` is the value of `x{v}`; at most six variables.
pub(crate) fn truth_table(arena: &TermArena, term: Term) -> u64 {
    const COLUMNS: [u64; 6] = [
        0xAAAA_AAAA_AAAA_AAAA,
        0xCCCC_CCCC_CCCC_CCCC,
        0xF0F0_F0F0_F0F0_F0F0,
        0xFF00_FF00_FF00_FF00,
        0xFFFF_0000_FFFF_0000,
        0xFFFF_FFFF_0000_0000,
    ];
    arena.simulate(&[term], |var| COLUMNS[var.index()])[0]
}

/// Calls `visit` with every term of at most `gates` gates over three variables and with its complement, each
/// once; a gate is a conjunction with any signs, an exclusive disjunction or an if-then-else over earlier
/// terms.
pub(crate) fn for_each_term(gates: usize, mut visit: impl FnMut(&TermArena, Term)) {
    let mut arena = TermArena::new();
    let mut pools = vec![vars(&mut arena, 3)];
    let mut seen = FxHashSet::default();
    for _ in 0..gates {
        let mut longer = Vec::new();
        for pool in &pools {
            for made in gates_over(&mut arena, pool) {
                if seen.insert(made.uncomplemented()) {
                    visit(&arena, made);
                    visit(&arena, !made);
                }
                longer.push([pool.as_slice(), &[made]].concat());
            }
        }
        pools = longer;
    }
}

/// One gate of each kind over each choice of inputs.
fn gates_over(arena: &mut TermArena, pool: &[Term]) -> Vec<Term> {
    let mut made = Vec::new();
    for (i, &a) in pool.iter().enumerate() {
        for (j, &b) in pool.iter().enumerate().skip(i + 1) {
            made.push(arena.xor(a, b));
            for signs in 0..4 {
                made.push(arena.and(a.complement_if(signs & 1 != 0), b.complement_if(signs & 2 != 0)));
            }
            for &c in &pool[j + 1..] {
                made.extend([arena.ite(a, b, c), arena.ite(b, !a, c), arena.ite(c, a, !b)]);
            }
        }
    }
    made
}
