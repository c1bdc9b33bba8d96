//! What a random program contains: the features that engines get wrong.
//!
//! Only what can run counts: procedures that `main` reaches through calls.

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Expr, Kind, Operator, Proc, RandomProgram, Stmt, statements};

/// A feature and how to see it.
pub type Feature = (&'static str, fn(&RandomProgram) -> bool);

/// All features, each of which the random programs must have often enough.
pub const FEATURES: [Feature; 15] = [
    ("recursion", |program| running(program).any(|proc| calls_of(program, proc).contains(&proc.name))),
    ("mutual recursion", |program| {
        running(program).any(|proc| {
            let is_other = |name: &String| *name != proc.name;
            calls_of(program, proc).iter().filter(|name| is_other(name)).any(|name| {
                program.procs.iter().any(|p| p.name == *name && calls_of(program, p).contains(&proc.name))
            })
        })
    }),
    ("several return values", |program| {
        any_statement(program, |stmt| matches!(&stmt.kind, Kind::Call { targets, .. } if targets.len() > 1))
    }),
    ("constrain with new values", |program| {
        any_statement(program, |stmt| match &stmt.kind {
            Kind::Assign { constrain: Some(e), .. } => e.leaves().iter().any(|leaf| leaf.starts_with('\'')),
            _ => false,
        })
    }),
    ("enforce", |program| running(program).any(|proc| proc.enforce.is_some())),
    ("schoose", |program| any_statement(program, |stmt| stmt.exprs().into_iter().any(contains_schoose))),
    ("a choice as argument", |program| {
        any_statement(program, |stmt| match &stmt.kind {
            Kind::Call { args, .. } => args.contains(&Expr::leaf("*")),
            _ => false,
        })
    }),
    ("recursion in a loop", |program| {
        running(program).any(|proc| {
            in_loops(&proc.body).iter().any(|stmt| match &stmt.kind {
                Kind::Call { callee, .. } => program
                    .procs
                    .iter()
                    .any(|p| p.name == *callee && (p == proc || calls_of(program, p).contains(&proc.name))),
                _ => false,
            })
        })
    }),
    ("a local that hides a global", |program| {
        let is_global = |name: &str| program.globals.iter().any(|global| global.name == name);
        running(program).any(|proc| proc.locals.iter().any(|local| is_global(&local.name)))
    }),
    ("a jump into a loop", |program| running(program).any(|proc| jumps_into_a_loop(&proc.body))),
    ("nested loops", |program| {
        running(program)
            .any(|proc| in_loops(&proc.body).iter().any(|stmt| matches!(stmt.kind, Kind::While(..))))
    }),
    ("dead", |program| any_statement(program, |stmt| matches!(stmt.kind, Kind::Dead(_)))),
    ("abortif", |program| any_statement(program, |stmt| matches!(stmt.kind, Kind::Condition("abortif", _)))),
    ("a label as property", |program| program.label.is_some()),
    ("several assertions", |program| {
        let is_assertion = |stmt: &&Stmt| matches!(stmt.kind, Kind::Condition("assert" | "abortif", _));
        let count = |proc: &Proc| statements(&proc.body).into_iter().filter(is_assertion).count();
        running(program).map(count).sum::<usize>() > 1
    }),
];

/// The procedures that `main` reaches.
fn running(program: &RandomProgram) -> impl Iterator<Item = &Proc> {
    let mut reached = program.calls_from("main");
    reached.insert("main".to_owned());
    program.procs.iter().filter(move |proc| reached.contains(&proc.name))
}

/// The procedures that a call of one may lead to; itself only through a call.
fn calls_of(program: &RandomProgram, proc: &Proc) -> BTreeSet<String> {
    program.calls_from(&proc.name)
}

fn any_statement(program: &RandomProgram, is_one: impl Fn(&Stmt) -> bool) -> bool {
    running(program).any(|proc| statements(&proc.body).into_iter().any(&is_one))
}

fn contains_schoose(expr: &Expr) -> bool {
    match expr {
        Expr::Leaf(_) => false,
        Expr::Op(operator, operands) => {
            *operator == Operator::Schoose || operands.iter().any(contains_schoose)
        }
    }
}

/// The statements inside of some `while`.
fn in_loops(body: &[Stmt]) -> Vec<&Stmt> {
    let loops = statements(body).into_iter().filter_map(|stmt| match &stmt.kind {
        Kind::While(_, block) => Some(statements(block)),
        _ => None,
    });
    loops.flatten().collect()
}

/// Whether some `goto` outside of a `while` leads to a label inside of it.
fn jumps_into_a_loop(body: &[Stmt]) -> bool {
    // Each label and each jump with the loops around it, by their positions in the text.
    let mut labels: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut jumps: Vec<(&[String], Vec<usize>)> = Vec::new();
    let mut loops = 0;
    let mut open: Vec<(&Stmt, Vec<usize>)> = body.iter().map(|stmt| (stmt, Vec::new())).collect();
    while let Some((stmt, around)) = open.pop() {
        labels.extend(stmt.labels.iter().map(|label| (label.as_str(), around.clone())));
        if let Kind::Goto(targets) = &stmt.kind {
            jumps.push((targets, around.clone()));
        }
        let mut inside = around;
        if matches!(stmt.kind, Kind::While(..)) {
            inside.push(loops);
            loops += 1;
        }
        open.extend(stmt.blocks().into_iter().flatten().map(|stmt| (stmt, inside.clone())));
    }
    jumps.iter().any(|(targets, around)| {
        targets
            .iter()
            .filter_map(|target| labels.get(target.as_str()))
            .any(|inside| !around.starts_with(inside))
    })
}
