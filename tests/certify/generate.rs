//! Small tasks, from text and at random.

use cusp::diagnostic::has_errors;
use cusp::lower::{Replication, lower};
use cusp::model::{Property, Task};
use cusp::resolve::resolve;
use cusp::source::Source;
use cusp::syntax::ast::Dialect;
use cusp::syntax::parse;

/// The task of a text without errors.
pub fn task(text: &str, property: Property, threads: Option<u32>, dialect: Dialect) -> Task {
    let (ast, findings) = parse(&Source::new("test.bp", text), dialect);
    assert!(!has_errors(&findings), "{text}\n{findings:?}");
    let (names, _) = resolve(&ast).unwrap_or_else(|findings| panic!("{text}\n{findings:?}"));
    Task { program: lower(&ast, &names, Replication::None), property, threads }
}

/// The task of a text about its assertions.
pub fn assertions(text: &str) -> Task {
    task(text, Property::Assertions, None, Dialect::Boom)
}

/// A linear congruential generator: the same seed gives the same test everywhere.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// What a procedure of a random program sees.
struct Scope {
    variables: Vec<&'static str>,
    locals: Vec<&'static str>,
    threads: bool,
}

/// A random sequential program with a function that may call itself.
pub fn sequential(seed: u64) -> Task {
    let mut rng = Rng::new(seed);
    let globals = rng.pick(&[&["a"][..], &["a", "b"]]);
    let with_local = rng.chance(60);
    let main = Scope {
        variables: globals.iter().copied().chain(with_local.then_some("x")).collect(),
        locals: with_local.then_some("x").into_iter().collect(),
        threads: false,
    };
    let callee = Scope {
        variables: globals.iter().copied().chain(["p"]).collect(),
        locals: vec!["p"],
        threads: false,
    };
    let mut text = format!("decl {};\nvoid main() begin\n", globals.join(", "));
    if with_local {
        text.push_str("decl x;\n");
    }
    enforce(&mut rng, &main, &mut text);
    block(&mut rng, &main, 2, &mut text);
    text.push_str("end\nbool f(p) begin\n");
    enforce(&mut rng, &callee, &mut text);
    block(&mut rng, &callee, 2, &mut text);
    text.push_str("L: skip;\nreturn ");
    expression(&mut rng, &callee, 2, &mut text);
    text.push_str(";\nend\n");
    task(&text, property(&mut rng), None, Dialect::Boom)
}

/// A random program with a few threads.
pub fn concurrent(seed: u64) -> Task {
    let mut rng = Rng::new(seed);
    let getafix = rng.chance(30);
    let global = if getafix { "atomic" } else { "a" };
    let scope =
        |local: &'static str| Scope { variables: vec![global, local], locals: vec![local], threads: true };
    let mut text = format!("decl {global};\nvoid main() begin\ndecl x;\n");
    enforce(&mut rng, &scope("x"), &mut text);
    block(&mut rng, &scope("x"), 2, &mut text);
    text.push_str(rng.pick(&["start_thread goto M;\n", "start_thread f(*);\n", "start_thread f(x);\n"]));
    block(&mut rng, &scope("x"), 1, &mut text);
    text.push_str("M: skip;\n");
    block(&mut rng, &scope("x"), 1, &mut text);
    text.push_str("end\nbool f(p) begin\n");
    enforce(&mut rng, &scope("p"), &mut text);
    block(&mut rng, &scope("p"), 1, &mut text);
    text.push_str("L: skip;\nreturn ");
    expression(&mut rng, &scope("p"), 1, &mut text);
    text.push_str(";\nend\n");
    let threads = Some([1, 2, 2, 3][rng.below(4)]);
    let dialect = if getafix { Dialect::Getafix } else { Dialect::Boom };
    task(&text, property(&mut rng), threads, dialect)
}

fn property(rng: &mut Rng) -> Property {
    if rng.chance(70) { Property::Assertions } else { Property::LabelUnreachable("L".to_owned()) }
}

fn enforce(rng: &mut Rng, scope: &Scope, text: &mut String) {
    if rng.chance(25) {
        text.push_str("enforce ");
        expression(rng, scope, 1, text);
        text.push_str(";\n");
    }
}

fn block(rng: &mut Rng, scope: &Scope, depth: usize, text: &mut String) {
    for _ in 0..=rng.below(3) {
        statement(rng, scope, depth, text);
    }
}

fn statement(rng: &mut Rng, scope: &Scope, depth: usize, text: &mut String) {
    let kinds = if scope.threads { 14 } else { 10 };
    match rng.below(kinds) {
        0 => {
            text.push_str("assume ");
            condition(rng, scope, text);
        }
        1 => {
            text.push_str("assert ");
            if rng.chance(70) {
                text.push_str("T | ");
            }
            condition(rng, scope, text);
        }
        2..=4 => assignment(rng, scope, text),
        5 | 6 => {
            if rng.chance(60) {
                text.push_str(rng.pick(&scope.variables));
                text.push_str(" := ");
            }
            text.push_str("f(");
            expression(rng, scope, 1, text);
            text.push(')');
        }
        7 if depth > 0 => {
            text.push_str("if ");
            condition(rng, scope, text);
            text.push_str(" then\n");
            block(rng, scope, depth - 1, text);
            text.push_str("else\n");
            block(rng, scope, depth - 1, text);
            text.push_str("fi");
        }
        8 if depth > 0 => {
            text.push_str("while ");
            condition(rng, scope, text);
            text.push_str(" do\n");
            block(rng, scope, depth - 1, text);
            text.push_str("od");
        }
        9 => text.push_str(if rng.chance(15) { "end_thread" } else { "skip" }),
        10 => text.push_str("atomic_begin"),
        11 => text.push_str("atomic_end"),
        12 | 13 => passive_assignment(rng, scope, text),
        _ => text.push_str("skip"),
    }
    text.push_str(";\n");
}

fn condition(rng: &mut Rng, scope: &Scope, text: &mut String) {
    text.push('(');
    expression(rng, scope, 2, text);
    text.push(')');
}

fn assignment(rng: &mut Rng, scope: &Scope, text: &mut String) {
    let both = scope.variables.len() > 1 && rng.chance(30);
    if both {
        text.push_str(&scope.variables[..2].join(", "));
    } else {
        text.push_str(rng.pick(&scope.variables));
    }
    text.push_str(" := ");
    for i in 0..=usize::from(both) {
        text.push_str(if i == 1 { ", " } else { "" });
        expression(rng, scope, 1, text);
    }
    if rng.chance(30) {
        text.push_str(" constrain ");
        let var = rng.pick(&scope.variables);
        let operator = rng.pick(&["|", "&", "=", "!="]);
        text.extend(["('", var, " ", operator, " "]);
        expression(rng, scope, 1, text);
        text.push(')');
    }
}

fn passive_assignment(rng: &mut Rng, scope: &Scope, text: &mut String) {
    let local = scope.locals[0];
    let value = rng.pick(&["*", "T", "F", local, "own$", "!own$"]);
    text.extend([local, "$ := ", &value.replace("own", local)]);
    if rng.chance(40) {
        let condition = rng.pick(&["'own$ | own", "own$ | 'own", "own$ | *", "'own$ != own$", "own"]);
        text.extend([" constrain (", &condition.replace("own", local), ")"]);
    }
}

fn expression(rng: &mut Rng, scope: &Scope, depth: usize, text: &mut String) {
    if depth == 0 || rng.chance(40) {
        match rng.below(8) {
            0 => text.push('*'),
            1 => text.push(if rng.chance(50) { 'T' } else { 'F' }),
            _ => text.push_str(rng.pick(&scope.variables)),
        }
        return;
    }
    match rng.below(6) {
        0 => {
            text.push_str("!(");
            expression(rng, scope, depth - 1, text);
            text.push(')');
        }
        1 => {
            text.push_str("schoose[");
            expression(rng, scope, depth - 1, text);
            text.push_str(", ");
            expression(rng, scope, depth - 1, text);
            text.push(']');
        }
        operator => {
            text.push('(');
            expression(rng, scope, depth - 1, text);
            text.push_str([" & ", " | ", " = ", " != "][operator - 2]);
            expression(rng, scope, depth - 1, text);
            text.push(')');
        }
    }
}
