//! Pairs of parametric sets from simulated Boolean programs, by family, size and seed.

use cusp_encodings::{SymbolicState, Term, TermArena, VarId};

use crate::random::Rng;
use crate::sets::{arbitrary, renamed};

/// Is every state of `smaller` one of `larger`?
pub struct Pair {
    pub smaller: SymbolicState,
    pub larger: SymbolicState,
    /// The answer, if the family knows it by construction.
    pub is_included: Option<bool>,
}

/// Makes the pair of a family with so many program variables.
pub type Family = fn(&mut Rng, &mut TermArena, usize) -> Pair;

/// The families of the bar, then one that is not in it.
pub const FAMILIES: [(&str, Family); 4] =
    [("branch", branch), ("mutated", mutated), ("random", random), ("composed", composed)];

/// An expression over values: positions, complements, and how to combine them.
#[derive(Clone)]
struct Expression {
    picks: [(usize, bool); 3],
    kind: u32,
}

#[derive(Clone)]
enum Statement {
    Assign(Vec<(usize, Expression)>),
    Havoc(usize),
    Assume([Expression; 2]),
}

impl Expression {
    fn random(rng: &mut Rng, bits: usize) -> Expression {
        let picks = [(); 3].map(|()| (rng.below(bits as u32) as usize, rng.below(2) == 0));
        Expression { picks, kind: rng.below(5) }
    }

    fn evaluate(&self, arena: &mut TermArena, values: &[Term]) -> Term {
        let [a, b, c] = self.picks.map(|(place, complement)| values[place].complement_if(complement));
        match self.kind {
            0 | 1 => arena.and(a, b),
            2 => arena.xor(a, b),
            3 => arena.ite(a, b, c),
            _ => a,
        }
    }
}

/// Straight-line code.
fn script(rng: &mut Rng, bits: usize, length: usize) -> Vec<Statement> {
    let slot = |rng: &mut Rng| rng.below(bits as u32) as usize;
    (0..length)
        .map(|_| match rng.below(12) {
            0 | 1 => Statement::Havoc(slot(rng)),
            2 => Statement::Assume([(); 2].map(|()| Expression::random(rng, bits))),
            _ => {
                let width = 1 + rng.below(3);
                Statement::Assign((0..width).map(|_| (slot(rng), Expression::random(rng, bits))).collect())
            }
        })
        .collect()
}

fn run(arena: &mut TermArena, state: &SymbolicState, script: &[Statement]) -> SymbolicState {
    let mut state = state.clone();
    for statement in script {
        match statement {
            Statement::Havoc(slot) => state.values[*slot] = arena.fresh(),
            Statement::Assume(either) => {
                let [a, b] = either.clone().map(|e| e.evaluate(arena, &state.values));
                let condition = arena.or(a, b);
                let guard = arena.and(state.guard, condition);
                if guard != Term::FALSE {
                    state.guard = guard;
                }
            }
            Statement::Assign(updates) => {
                let mut terms = Vec::new();
                for (slot, expression) in updates {
                    terms.push((*slot, expression.evaluate(arena, &state.values)));
                }
                for (slot, term) in terms {
                    state.values[slot] = term;
                }
            }
        }
    }
    state
}

/// One of three branches is in their merge, also after the same code has run on both.
fn branch(rng: &mut Rng, arena: &mut TermArena, bits: usize) -> Pair {
    let everything = arbitrary(arena, bits);
    let before = script(rng, bits, bits / 2);
    let start = run(arena, &everything, &before);
    let mut branches = Vec::new();
    for _ in 0..3 {
        let body = script(rng, bits, bits);
        branches.push(run(arena, &start, &body));
    }
    let merged = branches[0].merge(arena, &branches[1]);
    let merged = merged.merge(arena, &branches[2]);
    let after = script(rng, bits, bits / 8);
    let taken = branches[rng.below(3) as usize].clone();
    let smaller = run(arena, &taken, &after);
    let larger = run(arena, &merged, &after);
    Pair { smaller: renamed(arena, &smaller), larger, is_included: Some(true) }
}

/// As `branch`, with one value of the branch changed.
fn mutated(rng: &mut Rng, arena: &mut TermArena, bits: usize) -> Pair {
    let mut pair = branch(rng, arena, bits);
    let place = rng.below(bits as u32) as usize;
    let other = pair.smaller.values[rng.below(bits as u32) as usize];
    let value = &mut pair.smaller.values[place];
    *value = match rng.below(3) {
        0 => !*value,
        1 => arena.xor(*value, other),
        _ => arena.and(*value, !other),
    };
    Pair { is_included: None, ..pair }
}

/// Two unrelated vectors of functions.
fn random(rng: &mut Rng, arena: &mut TermArena, bits: usize) -> Pair {
    let mut set = |choices: usize| {
        let vars: Vec<VarId> = (0..choices).map(|_| arena.fresh_var()).collect();
        let mut pool: Vec<Term> = vars.into_iter().map(|var| arena.var(var)).collect();
        for _ in 0..3 * bits {
            let expression = Expression::random(rng, pool.len());
            pool.push(expression.evaluate(arena, &pool));
        }
        let values = pool.split_off(pool.len() - bits);
        SymbolicState { guard: Term::TRUE, values }
    };
    Pair { smaller: set(bits / 2 + 2), larger: set(bits), is_included: None }
}

/// What a procedure returns for some arguments is among what it returns for all.
fn composed(rng: &mut Rng, arena: &mut TermArena, bits: usize) -> Pair {
    let procedure = script(rng, bits, 2 * bits);
    let caller = script(rng, bits, bits);
    let everything = arbitrary(arena, bits);
    let larger = run(arena, &everything, &procedure);
    let everything = arbitrary(arena, bits);
    let start = run(arena, &everything, &caller);
    let smaller = run(arena, &start, &procedure);
    Pair { smaller, larger, is_included: Some(true) }
}
