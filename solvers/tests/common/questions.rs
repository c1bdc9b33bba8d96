//! Small random questions and their truth by enumeration.

use cusp_encodings::{Term, TermArena, VarId};
use cusp_solvers::qbf::Question;

use crate::random::Rng;

/// A number from the environment, or always the same.
pub fn number_from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// A random gate over `pool`.
pub fn random_gate(rng: &mut Rng, arena: &mut TermArena, pool: &[Term]) -> Term {
    let [a, b, c] = [(); 3].map(|()| {
        let term = pool[rng.below(pool.len() as u32) as usize];
        term.complement_if(rng.below(2) == 0)
    });
    match rng.below(4) {
        0 | 1 => arena.and(a, b),
        2 => arena.xor(a, b),
        _ => arena.ite(a, b, c),
    }
}

/// Terms over variables: the variables, then random gates over them and each other.
pub fn random_terms(rng: &mut Rng, arena: &mut TermArena, vars: &[VarId], gates: u32) -> Vec<Term> {
    let mut pool: Vec<Term> = vars.iter().map(|&var| arena.var(var)).collect();
    pool.push(Term::TRUE);
    for _ in 0..gates {
        let gate = random_gate(rng, arena, &pool);
        pool.push(gate);
    }
    pool
}

/// A question with up to six variables of each kind: a random circuit, equalities under a premise, or clauses.
pub fn random_question(rng: &mut Rng, arena: &mut TermArena) -> Question {
    let universal: Vec<VarId> = (0..rng.below(7)).map(|_| arena.fresh_var()).collect();
    let existential: Vec<VarId> = (0..rng.below(7)).map(|_| arena.fresh_var()).collect();
    let all = [universal.as_slice(), &existential].concat();
    let pick = |rng: &mut Rng, pool: &[Term]| pool[rng.below(pool.len() as u32) as usize];
    let matrix = match rng.below(3) {
        0 => {
            let gates = 1 + rng.below(20);
            let pool = random_terms(rng, arena, &all, gates);
            let last = pool[pool.len() - 1];
            last.complement_if(rng.below(2) == 0)
        }
        1 => {
            let (gates_a, gates_b) = (1 + rng.below(10), 1 + rng.below(10));
            let mine = random_terms(rng, arena, &universal, gates_a);
            let theirs = random_terms(rng, arena, &existential, gates_b);
            let mut inner = pick(rng, &theirs);
            for _ in 0..=rng.below(5) {
                let (a, b) = (pick(rng, &mine), pick(rng, &theirs));
                let equal = arena.iff(a, b);
                inner = arena.and(inner, equal);
            }
            let premise = pick(rng, &mine);
            arena.implies(premise, inner)
        }
        _ => {
            let mut pool = random_terms(rng, arena, &all, 0);
            pool.pop();
            let mut matrix = Term::TRUE;
            for _ in 0..rng.below(12) {
                let mut clause = Term::FALSE;
                for _ in 0..=rng.below(3) {
                    if !pool.is_empty() {
                        let lit = pick(rng, &pool).complement_if(rng.below(2) == 0);
                        clause = arena.or(clause, lit);
                    }
                }
                matrix = arena.and(matrix, clause);
            }
            matrix
        }
    };
    Question { universal, existential, matrix }
}

pub fn position(vars: &[VarId], var: VarId) -> Option<usize> {
    vars.iter().position(|&other| other == var)
}

/// The value of a universal variable if bit `i` of `x` is the value of the `i`-th.
pub fn bit(question: &Question, x: u64, var: VarId) -> bool {
    position(&question.universal, var).is_some_and(|i| x >> i & 1 == 1)
}

/// Whether some existential values make the matrix true.
pub fn has_witness(arena: &TermArena, question: &Question, x: u64) -> bool {
    (0..1u64 << question.existential.len().saturating_sub(6)).any(|high| {
        let words = arena.simulate(&[question.matrix], |var| match position(&question.existential, var) {
            Some(j) if j >= 6 => {
                if high >> (j - 6) & 1 == 1 {
                    u64::MAX
                } else {
                    0
                }
            }
            Some(j) => COLUMNS[j],
            None => {
                if bit(question, x, var) {
                    u64::MAX
                } else {
                    0
                }
            }
        });
        words[0] != 0
    })
}

/// The answer by enumeration.
pub fn truth(arena: &TermArena, question: &Question) -> bool {
    (0..1 << question.universal.len()).all(|x| has_witness(arena, question, x))
}

/// Bit `i` of column `v` is bit `v` of `i`.
pub const COLUMNS: [u64; 6] = [
    0xAAAA_AAAA_AAAA_AAAA,
    0xCCCC_CCCC_CCCC_CCCC,
    0xF0F0_F0F0_F0F0_F0F0,
    0xFF00_FF00_FF00_FF00,
    0xFFFF_0000_FFFF_0000,
    0xFFFF_FFFF_0000_0000,
];
