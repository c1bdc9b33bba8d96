//! Labels in odd places: on empty statements, before `fi`, `od` and `end`, in dead branches, several in a row.
//!
//! A lowering is tempted to give such a label the program counter of what follows it. Whether the label is
//! reached then depends on whether its follower is.

use super::program::{Expr, Kind, RandomProgram, Stmt, for_each_statement};
use super::random_programs::sequential;
use super::rng::Rng;

/// A sequential program with labels in odd places.
pub fn odd_sequential(seed: u64) -> RandomProgram {
    with_odd_labels(sequential(seed), seed)
}

/// The program with some labels in odd places, some of them targets of jumps; half of the results ask whether
/// a label is reached.
pub fn with_odd_labels(mut program: RandomProgram, seed: u64) -> RandomProgram {
    // The program was made from the same seed, so the numbers must be others.
    let mut rng = Rng::new(!seed);
    for proc in &mut program.procs {
        let mut names: Vec<String> = Vec::new();
        for _ in 0..rng.weighted(&[2, 4, 3, 2]) {
            add_label(&mut proc.body, &mut names, &mut rng);
        }
        if !names.is_empty() {
            jump_to_some(&mut proc.body, &names, &mut rng);
        }
    }
    if program.label.is_none() && rng.chance(50) {
        let labels = program.labels();
        if !labels.is_empty() {
            program.label = Some((*rng.pick(&labels)).to_owned());
        }
    }
    debug_assert!(program.is_well_formed(), "{}", program.text());
    program
}

/// Puts a new label into some block.
fn add_label(body: &mut Vec<Stmt>, names: &mut Vec<String>, rng: &mut Rng) {
    let mut labels = Vec::new();
    for _ in 0..if rng.chance(15) { 2 } else { 1 } {
        // Numbers are labels too.
        let number = names.len();
        let name = if rng.chance(20) { format!("{}", 10 + number) } else { format!("E{number}") };
        names.push(name.clone());
        labels.push(name);
    }
    let label = Stmt { labels, kind: Kind::Word("") };
    let mut count = 0;
    for_each_block(body, &mut |_| count += 1);
    let (chosen, mut position) = (rng.below(count), 0);
    for_each_block(body, &mut |block| {
        if position == chosen {
            insert(block, label.clone(), rng);
        }
        position += 1;
    });
}

/// Puts an empty statement with a label into a block, or a branch or loop that ends with it.
fn insert(block: &mut Vec<Stmt>, label: Stmt, rng: &mut Rng) {
    let at = if rng.chance(50) { block.len() } else { rng.below(block.len() + 1) };
    let condition = Expr::leaf(*rng.pick(&["F", "F", "*", "T"]));
    let inside = vec![Stmt::new(Kind::Word("skip")), label.clone()];
    let kind = match rng.weighted(&[5, 2, 2, 2]) {
        0 => {
            block.insert(at, label);
            return;
        }
        1 => Kind::If { arms: vec![(condition, inside)], otherwise: None },
        2 => {
            Kind::If { arms: vec![(condition, vec![Stmt::new(Kind::Word("skip"))])], otherwise: Some(inside) }
        }
        _ => Kind::While(condition, inside),
    };
    block.insert(at, Stmt::new(kind));
}

/// Gives some jumps more targets, and puts a jump or two somewhere.
fn jump_to_some(body: &mut Vec<Stmt>, names: &[String], rng: &mut Rng) {
    for_each_statement(body, &mut |stmt| {
        if rng.chance(25) {
            match &mut stmt.kind {
                Kind::Goto(targets) => {
                    let target = rng.pick(names);
                    if !targets.contains(target) {
                        targets.push(target.clone());
                    }
                }
                Kind::StartThread(target) => target.clone_from(rng.pick(names)),
                _ => {}
            }
        }
    });
    for _ in 0..rng.weighted(&[5, 4, 1]) {
        let jump = Stmt::new(Kind::Goto(vec![rng.pick(names).clone()]));
        // In front of an empty statement it jumps over it, or a branch of its own keeps it optional.
        let at = rng.below(body.len() + 1);
        let stmt = if rng.chance(60) {
            Stmt::new(Kind::If { arms: vec![(Expr::leaf("*"), vec![jump])], otherwise: None })
        } else {
            jump
        };
        body.insert(at, stmt);
    }
}

/// Calls `change` for a block and all blocks inside of it.
fn for_each_block(block: &mut Vec<Stmt>, change: &mut impl FnMut(&mut Vec<Stmt>)) {
    for stmt in &mut *block {
        stmt.blocks_mut().into_iter().for_each(|inner| for_each_block(inner, change));
    }
    change(block);
}
