//! One small change to a random program that keeps its shape: the control-flow graph stays, what the steps do
//! does not. What was evidence before is well-formed evidence after, and mostly wrong.

use super::program::{Expr, Kind, Operator, RandomProgram, Stmt, for_each_statement};
use super::rng::Rng;

/// A well-formed program that differs in one expression, target or word; `None` if ten attempts fail.
pub fn mutated(program: &RandomProgram, rng: &mut Rng) -> Option<RandomProgram> {
    (0..10).find_map(|_| {
        let mut other = program.clone();
        let proc = rng.below(other.procs.len());
        change_procedure(&mut other, proc, rng);
        (other != *program && other.is_well_formed()).then_some(other)
    })
}

fn change_procedure(program: &mut RandomProgram, proc: usize, rng: &mut Rng) {
    let globals: Vec<String> = program.globals.iter().map(|global| global.name.clone()).collect();
    let proc = &mut program.procs[proc];
    let locals = proc.locals.iter().map(|local| local.name.clone());
    let names: Vec<String> = globals.into_iter().chain(proc.params.iter().cloned()).chain(locals).collect();
    if let Some(enforce) = &mut proc.enforce
        && rng.chance(15)
    {
        change_expr(enforce, &names, rng);
        return;
    }
    let mut count = 0;
    for_each_statement(&mut proc.body, &mut |_| count += 1);
    if count == 0 {
        return;
    }
    let chosen = rng.below(count);
    let mut position = 0;
    for_each_statement(&mut proc.body, &mut |stmt| {
        if position == chosen {
            change_statement(stmt, &names, rng);
        }
        position += 1;
    });
}

fn change_statement(stmt: &mut Stmt, names: &[String], rng: &mut Rng) {
    match &mut stmt.kind {
        Kind::Condition(word, _) if rng.chance(30) => *word = *rng.pick(&["assume", "assert", "abortif"]),
        Kind::Assign { targets, .. } | Kind::Call { targets, .. }
            if !targets.is_empty() && rng.chance(25) =>
        {
            let position = rng.below(targets.len());
            if let Some(name) = (!names.is_empty()).then(|| rng.pick(names)) {
                targets[position].clone_from(name);
            }
        }
        _ => {
            let mut exprs = stmt.exprs_mut();
            if !exprs.is_empty() {
                let position = rng.below(exprs.len());
                change_expr(exprs[position], names, rng);
            }
        }
    }
}

fn change_expr(expr: &mut Expr, names: &[String], rng: &mut Rng) {
    if let Expr::Op(operator, operands) = expr {
        if rng.chance(60) {
            let position = rng.below(operands.len());
            return change_expr(&mut operands[position], names, rng);
        }
        match operator {
            Operator::Not => *expr = operands.remove(0),
            Operator::Binary(sign) => *sign = *rng.pick(&["&", "|", "^", "=", "=>"]),
            Operator::Ite | Operator::Schoose => operands.reverse(),
        }
        return;
    }
    *expr = match rng.below(4) {
        0 => Expr::leaf("T"),
        1 => Expr::leaf("F"),
        2 => Expr::leaf("*"),
        _ if names.is_empty() => Expr::Op(Operator::Not, vec![expr.clone()]),
        _ => Expr::leaf(rng.pick(names).clone()),
    };
}
