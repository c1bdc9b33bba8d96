//! Texts both ways, errors as a person sees them, and truth by brute force.

use super::*;
use crate::cnf::CnfStyle;
use crate::testing::{self, Rng};

/// The truth of a small formula: the matrix under all assignments, folded from the innermost variable out.
fn is_true(arena: &TermArena, qcir: &Qcir) -> bool {
    let variables: Vec<(Quantifier, VarId)> = qcir.closed_prefix(arena).variables().collect();
    let count = variables.len();
    assert!(count <= 20, "{count} variables are too many for brute force");
    let place =
        |var| variables.iter().rev().position(|&(_, other)| other == var).expect("the prefix is closed");
    let mut values: Vec<bool> = Vec::with_capacity(1 << count);
    for block in 0..(1u64 << count).div_ceil(64) {
        let column = |var| (0..64).fold(0, |word, bit| word | ((block * 64 + bit) >> place(var) & 1) << bit);
        let word = arena.simulate(&[qcir.matrix], column)[0];
        values.extend((0..64.min(1 << count)).map(|bit| word >> bit & 1 == 1));
    }
    for (quantifier, _) in variables.iter().rev() {
        let fold = |pair: &[bool]| match quantifier {
            Quantifier::Exists => pair[0] | pair[1],
            Quantifier::Forall => pair[0] & pair[1],
        };
        values = values.chunks(2).map(fold).collect();
    }
    values[0]
}

/// A random matrix under a random prefix of three blocks, some variables left free.
fn random_formula(rng: &mut Rng, arena: &mut TermArena) -> Qcir {
    let matrix = *testing::random_terms(rng, arena, 6, 20).last().expect("some gate");
    let mut prefix = Prefix::new();
    let mut quantifier = if rng.flip() { Quantifier::Forall } else { Quantifier::Exists };
    for number in 0..6 {
        if rng.below(2) == 0 {
            quantifier =
                if quantifier == Quantifier::Forall { Quantifier::Exists } else { Quantifier::Forall };
        }
        if rng.below(8) > 0 {
            prefix.push(quantifier, VarId::new(5 - number));
        }
    }
    Qcir { prefix, matrix }
}

#[test]
fn a_prefix_joins_neighbours_and_takes_each_variable_once() {
    use Quantifier::{Exists, Forall};
    let mut prefix = Prefix::new();
    assert!(prefix.push(Quantifier::Forall, 1));
    assert!(prefix.push(Quantifier::Forall, 2));
    assert!(prefix.push(Quantifier::Exists, 3));
    assert!(!prefix.push(Quantifier::Exists, 1));
    prefix.close([3, 4, 5]);
    prefix.close([6, 4]);
    let blocks: Vec<(Quantifier, Vec<i32>)> =
        prefix.blocks().iter().map(|block| (block.quantifier, block.variables.clone())).collect();
    assert_eq!(blocks, [(Exists, vec![6, 4, 5]), (Forall, vec![1, 2]), (Exists, vec![3])]);
    assert!(prefix.contains(6) && !prefix.contains(7));
}

/// The copycat: for all x there is a y that equals it, unless z.
fn copycat(arena: &mut TermArena) -> Qcir {
    let x = testing::vars(arena, 4);
    let same = arena.iff(x[0], x[2]);
    let matrix = arena.ite(x[1], same, x[3]);
    let both = arena.or(matrix, x[2]);
    Qcir::forall_exists([0, 1].map(VarId::new), [2, 3].map(VarId::new), both)
}

#[test]
fn a_circuit_prints_as_qcir() {
    let mut arena = TermArena::new();
    let formula = copycat(&mut arena);
    insta::assert_snapshot!(formula.to_qcir(&arena), @r"
    #QCIR-G14 7
    forall(1, 2)
    exists(3, 4)
    output(-7)
    5 = xor(1, 3)
    6 = ite(2, 5, -4)
    7 = and(-3, 6)
    ");
}

#[test]
fn gate_variables_are_innermost_in_qdimacs() {
    let mut arena = TermArena::new();
    let formula = copycat(&mut arena);
    insta::assert_snapshot!(formula.to_qcnf(&arena, CnfStyle::PlaistedGreenbaum), @r"
    p cnf 7 7
    a 1 2 0
    e 3 4 5 6 7 0
    5 1 -3 0
    5 -1 3 0
    6 -2 -5 0
    6 2 4 0
    6 -5 4 0
    7 3 -6 0
    -7 0
    ");
}

#[test]
fn constants_and_unused_variables_have_texts() {
    let arena = TermArena::new();
    let formula = Qcir::forall_exists([VarId::new(3)], [], Term::FALSE);
    insta::assert_snapshot!(formula.to_qcir(&arena), @r"
    #QCIR-G14 2
    forall(1)
    output(-2)
    2 = and()
    ");
    insta::assert_snapshot!(formula.to_qcnf(&arena, CnfStyle::Tseitin), @r"
    p cnf 2 2
    a 1 0
    e 2 0
    2 0
    -2 0
    ");
}

#[test]
fn names_keywords_and_comments_are_read_leniently() {
    let text = "#QCIR-G14\n# free variables are outermost\nFREE(z)\nforall(a_1,\n  b)\n\
                EXISTS(and)\noutput(-g2) # the complement\n\n\
                g1 = XOR(a_1, -and)\r\ng3 = and()\ng4 = or()\ng2 = ite(z, g1, -g3)\n";
    let mut arena = TermArena::new();
    let formula = Qcir::from_qcir(text, &mut arena).expect("a valid text");
    insta::assert_snapshot!(formula.to_qcir(&arena), @r"
    #QCIR-G14 6
    exists(1)
    forall(2, 3)
    exists(4)
    output(-6)
    5 = xor(2, 4)
    6 = and(1, -5)
    ");
}

fn qcir_error(text: &str) -> String {
    let read = Qcir::from_qcir(text, &mut TermArena::new());
    read.expect_err("the text is not valid").to_string()
}

#[test]
fn errors_in_qcir_name_line_and_reason() {
    let errors = [
        "",
        "p cnf 1 1\n",
        "#QCIR-G14\nforall(1)\n",
        "#QCIR-G14\nforall(1, 1)\noutput(1)",
        "#QCIR-G14\nforall(-1)\noutput(1)",
        "#QCIR-G14\noutput(1)\n",
        "#QCIR-G14\noutput(1)\n2 = and(3)\n",
        "#QCIR-G14\nexists(1)\noutput(2)\n2 = and(1)\n2 = or(1)",
        "#QCIR-G14\nexists(1)\noutput(2)\n2 = xor(1)",
        "#QCIR-G14\nexists(1)\noutput(2)\n2 = ite(1, 1)",
        "#QCIR-G14\nexists(1)\noutput(2)\n2 = nand(1, 1)",
        "#QCIR-G14\nexists(1)\noutput(2)\n2 = exists(3; 1)",
        "#QCIR-G14\nexists(1)\noutput(1)\n2 = and(1)\nforall(3)",
        "#QCIR-G14\nexists(1)\noutput(1)\noutput(1)",
        "#QCIR-G14\nexists(1 2)\n",
        "#QCIR-G14\nexists(1)\noutput(",
        "#QCIR-G14\nexists(1)\noutput(§)",
        "#QCIR-G14\nexists(1)\n\n, 7",
        "#QCIR-G14\nexists 1",
        "#QCIR-G14\nhello(1)",
    ];
    insta::assert_snapshot!(errors.map(qcir_error).join("\n"), @r"
    line 1: expected `#QCIR-G14`
    line 1: expected `#QCIR-G14`
    line 3: the text ends, but the output is missing
    line 2: `1` is already defined
    line 2: expected a variable without sign, found `1`
    line 2: `1` is not defined yet
    line 3: `3` is not defined yet
    line 5: `2` is already defined
    line 4: `xor` takes 2 inputs, not 1
    line 4: `ite` takes 3 inputs, not 2
    line 4: expected `and`, `or`, `xor` or `ite`, found `nand`
    line 4: gate `2` quantifies: only prenex formulas are supported
    line 5: a quantifier block after the first gate
    line 4: there is a second output
    line 2: expected `,` or `)`, found `2`
    line 3: the text ends, but a literal is missing
    line 3: expected a literal, found `§`
    line 4: expected a statement, found `,`
    line 2: expected `(` or `=`, found `1`
    line 2: expected a quantifier, `output` or a gate, found `hello`
    ");
}

#[test]
fn qdimacs_is_read_leniently() {
    let text = "c a comment\np cnf 5 3\ne 4 0\ne 0\na 1\n2 0\nc another\n1 -2 0 3\r\n-4 0\n0\n";
    insta::assert_snapshot!(Qcnf::from_qdimacs(text).expect("a valid text"), @r"
    p cnf 5 3
    e 3 4 0
    a 1 2 0
    1 -2 0
    3 -4 0
    0
    ");
}

fn qdimacs_error(text: &str) -> String {
    Qcnf::from_qdimacs(text).expect_err("the text is not valid").to_string()
}

#[test]
fn errors_in_qdimacs_name_line_and_reason() {
    let errors = [
        "",
        "c only\nc comments\n",
        "#QCIR-G14\n",
        "p cnf x 1\n",
        "p cnf 2\n",
        "p cnf 99999999999 1\n",
        "p cnf 2 1\na 1 1 0\n",
        "p cnf 2 1\na -1 0\n",
        "p cnf 2 1\na 1",
        "p cnf 2 1\n\n1 3 0\n",
        "p cnf 2 1\n1 -9223372036854775808 0\n",
        "p cnf 2 1\n1 99999999999999999999 0\n",
        "p cnf 2 1\n1 2\n",
        "p cnf 2 2\n1 2 0\n",
        "p cnf 2 0\n1 2 0\n",
        "p cnf 2 1\n1 two 0\n",
        "p cnf 2 1\n1 2 0\na 1 0\n",
    ];
    insta::assert_snapshot!(errors.map(qdimacs_error).join("\n"), @r"
    line 1: the text ends, but `p cnf <variables> <clauses>` is missing
    line 2: the text ends, but `p cnf <variables> <clauses>` is missing
    line 1: expected `p cnf <variables> <clauses>`
    line 1: expected a number, found `x`
    line 1: the text ends, but `p cnf <variables> <clauses>` is missing
    line 1: variable 99999999999 is outside of 1 to 2147483646
    line 2: `1` is already defined
    line 2: expected a variable, found `-1`
    line 2: the text ends, but the 0 after the last block is missing
    line 3: variable 3 is outside of 1 to 2
    line 2: variable 9223372036854775808 is outside of 1 to 2
    line 2: expected a literal, found `99999999999999999999`
    line 2: the text ends, but the 0 after the last clause is missing
    line 2: 2 clauses are announced, but there are 1
    line 2: 0 clauses are announced, but there are 1
    line 2: expected a literal, found `two`
    line 3: expected a literal, found `a`
    ");
}

#[test]
fn mangled_texts_never_panic() {
    let mut arena = TermArena::new();
    let formula = copycat(&mut arena);
    let circuit = formula.to_qcir(&arena).to_string();
    let clauses = formula.to_qcnf(&arena, CnfStyle::Tseitin).to_string();
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        for text in [&circuit, &clauses] {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=rng.below(3) {
                let at = rng.below(bytes.len());
                match rng.below(3) {
                    0 => bytes.truncate(at + 1),
                    1 => bytes[at] = b"0(),;=-#ap\n \xC3"[rng.below(13)],
                    _ => drop(bytes.remove(at)),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let mangled = String::from_utf8_lossy(&bytes);
            let _ = Qcir::from_qcir(&mangled, &mut TermArena::new());
            let _ = Qcnf::from_qdimacs(&mangled);
        }
    }
}

#[test]
fn both_text_forms_keep_prefix_and_truth() {
    let mut truths = [0, 0];
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut arena = TermArena::new();
        let formula = random_formula(&mut rng, &mut arena);
        let truth = is_true(&arena, &formula);
        truths[usize::from(truth)] += 1;

        let text = formula.to_qcir(&arena).to_string();
        let mut other = TermArena::new();
        let read = Qcir::from_qcir(&text, &mut other).expect("our own text");
        assert_eq!(is_true(&other, &read), truth, "seed {seed}\n{text}");
        assert_eq!(read.prefix.blocks().len(), formula.closed_prefix(&arena).blocks().len());

        for style in [CnfStyle::Tseitin, CnfStyle::PlaistedGreenbaum] {
            let clauses = formula.to_qcnf(&arena, style);
            let text = clauses.to_string();
            let read = Qcnf::from_qdimacs(&text).expect("our own text");
            assert_eq!(read, clauses);
            if clauses.matrix.var_count() <= 16 {
                let mut other = TermArena::new();
                let circuit = clauses.to_circuit(&mut other);
                assert_eq!(is_true(&other, &circuit), truth, "seed {seed}\n{text}");
            }
        }
    }
    assert!(truths.iter().all(|&count| count > 50), "{truths:?}");
}

#[test]
fn a_deep_circuit_is_read_and_written_without_stack() {
    let (arena, matrix) = testing::chain(100_000);
    let formula = Qcir { prefix: Prefix::new(), matrix };
    let text = formula.to_qcir(&arena).to_string();
    let mut other = TermArena::new();
    let read = Qcir::from_qcir(&text, &mut other).expect("our own text");
    let expected = testing::chain_value(100_000, |i| i % 3 == 0);
    assert_eq!(other.evaluate(read.matrix, |var| var.index() % 3 == 0), expected);
    let clauses = formula.to_qcnf(&arena, CnfStyle::PlaistedGreenbaum);
    assert!(Qcnf::from_qdimacs(&clauses.to_string()) == Ok(clauses));
}
