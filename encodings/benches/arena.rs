//! Throughput and size of the term arena, and one deep chain through every pass.
//!
//! Prints CSV: `family,size,median_micros,per_second,bytes_per_node`. Times are CPU times of this thread, so
//! that other work on the machine has little influence. Every family knows its result by construction and checks it.

#![expect(clippy::cast_precision_loss, reason = "figures with one decimal")]
#![expect(clippy::print_stdout, reason = "the table is what a bench is for")]

use std::hint::black_box;

use cpu_time::ThreadTime;
use cusp_encodings::{
    ClauseSink, CnfEncoder, CnfStyle, Lit, Polarity, Substitution, Term, TermArena, Var, VarId, random_word,
};

const RUNS: usize = 5;
const REQUESTS: usize = 4_000_000;
const CHAIN: usize = 5_000_000;
const CHAIN_INPUTS: usize = 1000;

fn main() {
    println!("family,size,median_micros,per_second,bytes_per_node");
    requests("and-random", REQUESTS, &random_pairs(REQUESTS, usize::MAX));
    requests("and-local", REQUESTS, &random_pairs(REQUESTS, 1000));
    repeated_requests();
    chain();
}

/// Requests for conjunctions of two earlier terms, at most `window` back.
fn random_pairs(count: usize, window: usize) -> Vec<(u32, u32)> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count)
        .map(|i| {
            let known = i + 64;
            let mut pick = || {
                let back = 1 + random() as usize % known.min(window);
                ((known - back) as u32) << 1 | (random() >> 33) as u32 & 1
            };
            (pick(), pick())
        })
        .collect()
}

/// Sends the requests to a new arena; every resulting term becomes an operand of later requests.
fn play(pairs: &[(u32, u32)]) -> (TermArena, Vec<Term>) {
    let mut arena = TermArena::new();
    let mut terms: Vec<Term> = (0..64).map(|number| arena.var(VarId::new(number))).collect();
    terms.reserve(pairs.len());
    for &(a, b) in pairs {
        let [a, b] = [a, b].map(|pick| terms[(pick >> 1) as usize].complement_if(pick & 1 == 1));
        // A conjunction of random terms soon becomes false; a constant would make the remaining requests trivial.
        let term = match arena.and(a, b) {
            Term::TRUE | Term::FALSE => a,
            term => term,
        };
        terms.push(term);
    }
    (arena, terms)
}

fn requests(family: &str, count: usize, pairs: &[(u32, u32)]) {
    let mut micros = Vec::new();
    let mut bytes_per_node = 0.0;
    for _ in 0..RUNS {
        let start = ThreadTime::now();
        let (arena, terms) = black_box(play(pairs));
        micros.push(start.elapsed().as_micros());
        assert_eq!(terms.len(), count + 64);
        bytes_per_node = arena.memory_bytes() as f64 / arena.len() as f64;
        assert!(bytes_per_node <= 24.0, "{bytes_per_node} bytes per node");
    }
    report(family, count, micros, Some(bytes_per_node));
}

/// The requests of `and-random` a second time: every term exists already.
fn repeated_requests() {
    let pairs = random_pairs(REQUESTS, usize::MAX);
    let (mut arena, terms) = play(&pairs);
    let nodes = arena.len();
    let mut micros = Vec::new();
    for _ in 0..RUNS {
        let start = ThreadTime::now();
        for &(a, b) in &pairs {
            let [a, b] = [a, b].map(|pick| terms[(pick >> 1) as usize].complement_if(pick & 1 == 1));
            black_box(arena.and(a, b));
        }
        micros.push(start.elapsed().as_micros());
        assert_eq!(arena.len(), nodes);
    }
    report("and-repeated", REQUESTS, micros, None);
}

/// A sink that only counts clauses and variables.
#[derive(Default)]
struct Counter {
    vars: u32,
    clauses: usize,
}

impl ClauseSink for Counter {
    fn add_clause(&mut self, clause: &[Lit]) {
        self.clauses += black_box(clause).len().min(1);
    }

    fn new_var(&mut self) -> Var {
        self.vars += 1;
        Var::new(self.vars - 1)
    }
}

/// The operators of the chain: conjunction, disjunction and exclusive disjunction in turn.
fn link(arena: &mut TermArena, i: usize, term: Term, var: Term) -> Term {
    match i % 3 {
        0 => arena.xor(term, var),
        1 => arena.and(term, var),
        _ => arena.or(term, var),
    }
}

/// A chain of gates, each over the one below: built, simulated, encoded and substituted.
fn chain() {
    let start = ThreadTime::now();
    let mut arena = TermArena::new();
    let inputs: Vec<Term> = (0..CHAIN_INPUTS).map(|i| arena.var(VarId::from_index(i))).collect();
    let mut root = inputs[0];
    let mut i = 0;
    while arena.len() < CHAIN {
        i += 1;
        root = link(&mut arena, i, root, inputs[i * 7 % CHAIN_INPUTS]);
    }
    let bytes_per_node = arena.memory_bytes() as f64 / arena.len() as f64;
    report("chain-build", arena.len(), vec![start.elapsed().as_micros()], Some(bytes_per_node));

    let value_of = |input: usize| random_word(1, VarId::from_index(input));
    let expected = (1..=i).fold(value_of(0), |word, i| {
        let input = value_of(i * 7 % CHAIN_INPUTS);
        match i % 3 {
            0 => word ^ input,
            1 => word & input,
            _ => word | input,
        }
    });
    let start = ThreadTime::now();
    assert_eq!(arena.simulate(&[root], |var| value_of(var.index())), [expected]);
    report("chain-simulate", arena.len(), vec![start.elapsed().as_micros()], None);

    for (family, style) in
        [("chain-tseitin", CnfStyle::Tseitin), ("chain-plaisted-greenbaum", CnfStyle::PlaistedGreenbaum)]
    {
        let start = ThreadTime::now();
        let (mut encoder, mut sink) = (CnfEncoder::new(style), Counter::default());
        encoder.encode(&arena, root, Polarity::Positive, &mut sink);
        report(family, arena.len(), vec![start.elapsed().as_micros()], None);
        assert!(sink.clauses > arena.len(), "{family}: {} clauses", sink.clauses);
    }

    let nodes = arena.len();
    let complements = inputs.iter().enumerate().map(|(i, &input)| (VarId::from_index(i), !input));
    let mut substitution = Substitution::new(complements);
    let start = ThreadTime::now();
    let image = substitution.apply(&mut arena, root);
    report("chain-substitute", nodes, vec![start.elapsed().as_micros()], None);
    assert_eq!(arena.simulate(&[image], |var| !value_of(var.index())), [expected]);
}

fn report(family: &str, size: usize, mut micros: Vec<u128>, bytes_per_node: Option<f64>) {
    micros.sort_unstable();
    let median = micros[micros.len() / 2].max(1);
    let per_second = size as u128 * 1_000_000 / median;
    let bytes = bytes_per_node.map_or(String::new(), |bytes| format!("{bytes:.1}"));
    println!("{family},{size},{median},{per_second},{bytes}");
}
