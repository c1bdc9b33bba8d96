//! Precedences, against an evaluator that splits a chain at its loosest operator.

use cusp::diagnostic::Severity;
use cusp::syntax::ast::{Ast, BinaryOp, Dialect, ExprId, ExprKind, Item, StmtKind};

use crate::parse_text;

const OPERATORS: [&str; 6] = ["=", "!=", "&", "^", "|", "=>"];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// How loose an operator is, and whether it associates to the right.
fn looseness(op: &str, dialect: Dialect) -> (usize, bool) {
    let groups: &[&[&str]] = match dialect {
        Dialect::Boppo => &[&["&"], &["|"], &["^"], &["=", "!=", "=>"]],
        _ => &[&["=", "!="], &["&"], &["^"], &["|"], &["=>"]],
    };
    let index = groups.iter().position(|group| group.contains(&op)).expect("an operator");
    (index, index + 1 == groups.len())
}

fn apply(op: &str, left: bool, right: bool) -> bool {
    match op {
        "=" => left == right,
        "!=" | "^" => left != right,
        "&" => left && right,
        "|" => left || right,
        _ => !left || right,
    }
}

/// The value of a chain.
fn value_of(ops: &[&str], values: &[bool], dialect: Dialect) -> bool {
    let Some(loosest) = ops.iter().map(|op| looseness(op, dialect).0).max() else { return values[0] };
    let mut candidates = (0..ops.len()).filter(|&i| looseness(ops[i], dialect).0 == loosest);
    let to_the_right = looseness(ops[candidates.clone().next().expect("one")], dialect).1;
    let split = if to_the_right { candidates.next() } else { candidates.next_back() }.expect("one");
    let left = value_of(&ops[..split], &values[..=split], dialect);
    let right = value_of(&ops[split + 1..], &values[split + 1..], dialect);
    apply(ops[split], left, right)
}

/// The value of a parsed expression.
fn value_in(ast: &Ast, id: ExprId, values: &[bool]) -> bool {
    match &ast.expr(id).kind {
        ExprKind::Name { name, .. } => values[NAMES.iter().position(|n| n == name).expect("a name")],
        ExprKind::Binary(op, left, right) => {
            let (left, right) = (value_in(ast, *left, values), value_in(ast, *right, values));
            let op = match op {
                BinaryOp::And => "&",
                BinaryOp::Or => "|",
                BinaryOp::Xor => "^",
                BinaryOp::Equal => "=",
                BinaryOp::NotEqual => "!=",
                BinaryOp::Implies => "=>",
            };
            apply(op, left, right)
        }
        other => panic!("{other:?} in a chain"),
    }
}

fn value(ast: &Ast) -> ExprId {
    let Item::Procedure(procedure) = &ast.items[0] else { panic!("a procedure") };
    match &ast.stmt(procedure.body[0]).kind {
        StmtKind::Assign { values, .. } => values[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_chains_of_four_operators_mean_what_their_dialect_says() {
    for length in 1..=4 {
        for code in 0..OPERATORS.len().pow(length) {
            let ops: Vec<&str> = (0..length).map(|i| OPERATORS[code / 6_usize.pow(i) % 6]).collect();
            let chain: Vec<&str> = (0..ops.len()).flat_map(|i| [NAMES[i], ops[i]]).collect();
            let chain = format!("{} {}", chain.join(" "), NAMES[ops.len()]);
            let rows: Vec<Vec<bool>> = (0..1 << NAMES.len())
                .map(|row| (0..NAMES.len()).map(|i| row >> i & 1 == 1).collect())
                .collect();
            let table = |dialect| -> Vec<bool> {
                rows.iter().map(|row| value_of(&ops, &row[..=ops.len()], dialect)).collect()
            };
            let debatable = table(Dialect::Boom) != table(Dialect::Boppo);
            for dialect in [Dialect::Boom, Dialect::Boppo, Dialect::Getafix] {
                let (ast, diagnostics) = parse_text(&format!("main() begin x := {chain}; end"), dialect);
                let parsed: Vec<bool> = rows.iter().map(|row| value_in(&ast, value(&ast), row)).collect();
                assert_eq!(parsed, table(dialect), "{chain} in {dialect:?}");
                let warned = diagnostics.iter().any(|d| d.severity == Severity::Warning);
                assert_eq!(warned, debatable, "{chain} in {dialect:?}: {diagnostics:?}");
            }
        }
    }
}

#[test]
fn a_negation_binds_tightest_and_a_conditional_loosest() {
    let same = |a: &str, b: &str| {
        let read = |text: &str| parse_text(&format!("main() begin x := {text}; end"), Dialect::Boom).0;
        assert!(read(a).same_program(&read(b)), "{a} is not {b}");
    };
    same("!a = b", "(!a) = b");
    same("~a && b || c", "((!a) & b) | c");
    same("!!a'", "!(!('a))");
    same("a & b ? c | d : e => f", "(a & b) ? (c | d) : (e => f)");
    same("a ? b : c ? d : e", "a ? b : (c ? d : e)");
    same("a ? b ? c : d : e", "a ? (b ? c : d) : e");
    same("choose[a, b ? c : d]", "schoose[(a), (b ? c : d)]");
}
