//! Makes a failing program small.
//!
//! Tries one cut after the other, coarse ones first, and keeps each that leaves a well-formed
//! program which still fails. It stops when no single cut does: the result is a local minimum,
//! and the same for the same program and predicate.

use super::program::{Expr, Kind, Proc, RandomProgram, Stmt, for_each_statement};

/// The smallest program that cutting leads to and that still fails.
pub fn shrink(program: &RandomProgram, fails: impl Fn(&str) -> bool) -> RandomProgram {
    let mut best = program.clone();
    loop {
        let size = best.size();
        for pass in [procedures, calls, blocks, parts, declarations, labels, exprs] {
            run_pass(&mut best, pass, &fails);
        }
        if best.size() == size {
            return best;
        }
    }
}

/// All cuts of one kind that a program offers; the `n`-th one, `None` past the last.
type Pass = fn(&RandomProgram, usize) -> Option<RandomProgram>;

fn run_pass(best: &mut RandomProgram, pass: Pass, fails: &impl Fn(&str) -> bool) {
    let mut n = 0;
    while let Some(cut) = pass(best, n) {
        if cut.size() < best.size() && cut.is_well_formed() && fails(&cut.text()) {
            *best = cut;
        } else {
            n += 1;
        }
    }
}

/// A copy of a program after a change to the `n`-th of something, if there are so many.
fn changed(
    program: &RandomProgram,
    change: impl FnOnce(&mut RandomProgram) -> bool,
) -> Option<RandomProgram> {
    let mut copy = program.clone();
    change(&mut copy).then_some(copy)
}

fn for_each_in_program(program: &mut RandomProgram, change: &mut impl FnMut(&mut Stmt)) {
    program.procs.iter_mut().for_each(|proc| for_each_statement(&mut proc.body, change));
}

/// Removes a procedure; its calls become `skip`.
fn procedures(program: &RandomProgram, n: usize) -> Option<RandomProgram> {
    changed(program, |copy| {
        if n >= copy.procs.len() {
            return false;
        }
        let gone = copy.procs.remove(n).name;
        for_each_in_program(copy, &mut |stmt| {
            if matches!(&stmt.kind, Kind::Call { callee, .. } if *callee == gone) {
                stmt.labels.retain(|label| !label.starts_with("ASYNC_"));
                stmt.kind = Kind::Word("skip");
            }
        });
        true
    })
}

/// Puts the body of a procedure where it is called, if that is one place.
fn calls(program: &RandomProgram, n: usize) -> Option<RandomProgram> {
    changed(program, |copy| {
        if n >= copy.procs.len() {
            return false;
        }
        let proc = copy.procs.remove(n);
        let mut body = Some(proc.body);
        copy.procs.iter_mut().for_each(|caller| inline(&mut caller.body, &proc.name, &mut body));
        true
    })
}

/// Replaces the first call. Others stay, and make the program one that is not well-formed.
fn inline(block: &mut Vec<Stmt>, name: &str, body: &mut Option<Vec<Stmt>>) {
    let is_call = |stmt: &Stmt| matches!(&stmt.kind, Kind::Call { callee, .. } if callee == name);
    if let Some(i) = block.iter().position(is_call)
        && let Some(body) = body.take()
    {
        block.splice(i..=i, body);
    }
    for stmt in block {
        stmt.blocks_mut().into_iter().for_each(|inner| inline(inner, name, body));
    }
}

/// Removes runs of statements, halves first; unwraps and empties statements.
fn blocks(program: &RandomProgram, n: usize) -> Option<RandomProgram> {
    changed(program, |copy| {
        let mut left = n;
        copy.procs.iter_mut().any(|proc| cut_block(&mut proc.body, &mut left))
    })
}

/// Makes the `left`-th cut in a block or below it; counts down the ones it passes.
fn cut_block(block: &mut Vec<Stmt>, left: &mut usize) -> bool {
    let mut length = block.len();
    while length > 0 {
        let starts = block.len().div_ceil(length);
        if *left < starts {
            let from = *left * length;
            let to = (from + length).min(block.len());
            block.drain(from..to);
            return true;
        }
        *left -= starts;
        length /= 2;
    }
    for i in 0..block.len() {
        let inner: Vec<Vec<Stmt>> = block[i].blocks().into_iter().cloned().collect();
        // One of the blocks inside, or all of them in a row.
        let unwrapped = inner.len() + usize::from(inner.len() > 1);
        if *left < unwrapped {
            let inner = inner.get(*left).cloned().unwrap_or_else(|| inner.concat());
            // Labels stay, on a statement of their own.
            let labels = std::mem::take(&mut block[i].labels);
            let head = (!labels.is_empty()).then_some(Stmt { labels, kind: Kind::Word("skip") });
            block.splice(i..=i, head.into_iter().chain(inner));
            return true;
        }
        *left -= unwrapped;
        if *left == 0 {
            let empty = block[i].kind == Kind::Word("");
            block[i].kind = Kind::Word(if empty { "" } else { "skip" });
            block[i].labels.retain(|label| !label.starts_with("ASYNC_"));
            return true;
        }
        *left -= 1;
        if block[i].blocks_mut().into_iter().any(|inner| cut_block(inner, left)) {
            return true;
        }
    }
    false
}

/// Removes parts of statements: targets with their values, conditions on new values, arms, jumps.
fn parts(program: &RandomProgram, n: usize) -> Option<RandomProgram> {
    changed(program, |copy| {
        let mut left = n;
        let mut done = false;
        for_each_in_program(copy, &mut |stmt| done = done || cut_part(stmt, &mut left));
        done
    })
}

fn cut_part(stmt: &mut Stmt, left: &mut usize) -> bool {
    let mut is_turn = |count: usize| {
        let turn = (*left < count).then_some(*left);
        *left = left.saturating_sub(count);
        turn
    };
    match &mut stmt.kind {
        Kind::Assign { targets, values, constrain } => {
            if let Some(i) = is_turn(targets.len()) {
                targets.remove(i);
                values.remove(i);
                return true;
            }
            is_turn(usize::from(constrain.is_some())).is_some_and(|_| constrain.take().is_some())
        }
        Kind::Call { targets, start_thread, .. } => {
            if is_turn(usize::from(!targets.is_empty())).is_some() {
                targets.clear();
                return true;
            }
            if let Some(i) = is_turn(targets.len()) {
                "_".clone_into(&mut targets[i]);
                return true;
            }
            is_turn(usize::from(*start_thread)).is_some_and(|_| std::mem::replace(start_thread, false))
        }
        Kind::If { arms, otherwise } => {
            if let Some(i) = is_turn(arms.len()) {
                arms.remove(i);
                return true;
            }
            if is_turn(usize::from(otherwise.is_some())).is_some() {
                return otherwise.take().is_some();
            }
            let last = arms.last_mut().filter(|_| otherwise.is_some());
            is_turn(usize::from(last.is_some())).is_some_and(|_| {
                // The other way round: the last block goes, its condition stays.
                last.zip(otherwise.take()).is_some_and(|(last, block)| {
                    last.1 = block;
                    true
                })
            })
        }
        Kind::Goto(names) | Kind::Dead(names) => is_turn(names.len()).is_some_and(|i| {
            names.remove(i);
            true
        }),
        _ => false,
    }
}

/// Removes variables, initial values, `enforce`, parameters and return values; the label that is asked for.
fn declarations(program: &RandomProgram, n: usize) -> Option<RandomProgram> {
    changed(program, |copy| {
        let mut left = n;
        let mut is_turn = |count: usize| {
            let turn = (left < count).then_some(left);
            left = left.saturating_sub(count);
            turn
        };
        if is_turn(usize::from(copy.label.is_some())).is_some() {
            copy.label = None;
            return true;
        }
        if let Some(simpler) = copy.mode.simpler()
            && is_turn(1).is_some()
        {
            copy.mode = simpler;
            return true;
        }
        if let Some(i) = is_turn(copy.globals.len()) {
            copy.globals.remove(i);
            return true;
        }
        if let Some(i) = is_turn(copy.globals.len()) {
            copy.globals[i].value = None;
            return true;
        }
        for index in 0..copy.procs.len() {
            let proc = &mut copy.procs[index];
            if is_turn(1).is_some() {
                proc.enforce = None;
                return true;
            }
            if let Some(i) = is_turn(proc.locals.len()) {
                proc.locals.remove(i);
                return true;
            }
            if let Some(i) = is_turn(proc.locals.len()) {
                proc.locals[i].value = None;
                return true;
            }
            if let Some(i) = is_turn(proc.params.len()) {
                remove_param(copy, index, i);
                return true;
            }
            if let Some(i) = is_turn(proc.returns) {
                remove_return(copy, index, i);
                return true;
            }
        }
        false
    })
}

fn remove_param(program: &mut RandomProgram, index: usize, i: usize) {
    let Proc { name, params, .. } = &mut program.procs[index];
    params.remove(i);
    let name = name.clone();
    for_each_in_program(program, &mut |stmt| {
        if let Kind::Call { callee, args, .. } = &mut stmt.kind
            && *callee == name
        {
            args.remove(i);
        }
    });
}

fn remove_return(program: &mut RandomProgram, index: usize, i: usize) {
    let Proc { name, returns, body, .. } = &mut program.procs[index];
    *returns -= 1;
    let name = name.clone();
    for_each_statement(body, &mut |stmt| {
        if let Kind::Return(values) = &mut stmt.kind {
            values.remove(i);
        }
    });
    for_each_in_program(program, &mut |stmt| {
        if let Kind::Call { callee, targets, .. } = &mut stmt.kind
            && *callee == name
            && !targets.is_empty()
        {
            targets.remove(i);
        }
    });
}

/// Removes labels.
fn labels(program: &RandomProgram, n: usize) -> Option<RandomProgram> {
    changed(program, |copy| {
        let mut left = n;
        let mut done = false;
        for_each_in_program(copy, &mut |stmt| {
            if !done && left < stmt.labels.len() {
                stmt.labels.remove(left);
                done = true;
            } else {
                left = left.saturating_sub(stmt.labels.len());
            }
        });
        done
    })
}

/// Replaces an expression by a constant or by one of its operands.
fn exprs(program: &RandomProgram, n: usize) -> Option<RandomProgram> {
    changed(program, |copy| {
        let mut left = n;
        let mut done = false;
        let mut cut = |expr: &mut Expr| done = done || cut_expr(expr, &mut left);
        copy.globals.iter_mut().filter_map(|g| g.value.as_mut()).for_each(&mut cut);
        for proc in &mut copy.procs {
            proc.locals.iter_mut().filter_map(|l| l.value.as_mut()).for_each(&mut cut);
            proc.enforce.iter_mut().for_each(&mut cut);
            for_each_statement(&mut proc.body, &mut |stmt| stmt.exprs_mut().into_iter().for_each(&mut cut));
        }
        done
    })
}

fn cut_expr(expr: &mut Expr, left: &mut usize) -> bool {
    if expr.is_constant() {
        return false;
    }
    let smaller: Vec<Expr> = match expr {
        Expr::Leaf(_) => Vec::new(),
        Expr::Op(_, operands) => operands.clone(),
    };
    let candidates = [Expr::leaf("F"), Expr::leaf("T")].into_iter().chain(smaller);
    for candidate in candidates {
        if *left == 0 {
            *expr = candidate;
            return true;
        }
        *left -= 1;
    }
    match expr {
        Expr::Leaf(_) => false,
        Expr::Op(_, operands) => operands.iter_mut().any(|operand| cut_expr(operand, left)),
    }
}
