//! A reader for the circuits of the corpus: QCIR-G14, prenex, forall before exists, every statement on a line.

use std::collections::HashMap;

use cusp_encodings::{Term, TermArena};
use cusp_solvers::qbf::Question;

/// The question that a text asks.
///
/// # Panics
/// If the text is not of this form.
pub fn read(text: &str, arena: &mut TermArena) -> Question {
    let mut terms: HashMap<&str, Term> = HashMap::new();
    let (mut universal, mut existential, mut output) = (Vec::new(), Vec::new(), None);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (head, list) = line.strip_suffix(')').and_then(|line| line.split_once('(')).expect("a list");
        let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        match head.trim() {
            "output" => output = Some(names[0]),
            kind @ ("forall" | "exists") => {
                let block = if kind == "forall" { &mut universal } else { &mut existential };
                for name in names {
                    let var = arena.fresh_var();
                    terms.insert(name, arena.var(var));
                    block.push(var);
                }
            }
            gate => {
                let (name, kind) = gate.split_once('=').expect("a gate");
                let inputs: Vec<Term> = names.iter().map(|name| term(&terms, name)).collect();
                let gate = match (kind.trim(), inputs.as_slice()) {
                    ("and", inputs) => arena.and_all(inputs.iter().copied()),
                    ("or", inputs) => arena.or_all(inputs.iter().copied()),
                    ("xor", &[a, b]) => arena.xor(a, b),
                    ("ite", &[condition, then, otherwise]) => arena.ite(condition, then, otherwise),
                    (kind, _) => panic!("`{kind}` is no gate"),
                };
                assert!(terms.insert(name.trim(), gate).is_none(), "`{name}` is defined twice");
            }
        }
    }
    let matrix = term(&terms, output.expect("an output"));
    Question { universal, existential, matrix }
}

fn term(terms: &HashMap<&str, Term>, literal: &str) -> Term {
    match literal.strip_prefix('-') {
        Some(name) => !terms[name.trim()],
        None => terms[literal],
    }
}
