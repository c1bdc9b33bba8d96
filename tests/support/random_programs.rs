//! Random Boolean programs: small, and about half of them unsafe.
//!
//! Every feature of the language that matters to an engine occurs: [`super::features`] lists them, and
//! `tests/random_engines.rs` counts them. Random assertions about random data nearly always fail, so most
//! assertions here state what was just assigned, or a disjunction; whether they hold then depends on
//! what happens in between. Random loops and random recursion mostly end at once, so some of them count.

use super::program::{
    Declared, Expr, Kind, Mode, Operator, Proc, RandomProgram, Stmt, for_each_statement, statements,
};
use super::rng::Rng;

/// Upper limits of a random program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Globals.
    pub globals: usize,
    /// Parameters and locals of each procedure.
    pub locals: usize,
    /// Values that a procedure returns.
    pub returns: usize,
    /// Procedures, `main` included.
    pub procs: usize,
    /// Statements of each procedure, roughly.
    pub statements: usize,
}

/// A sequential program: recursion, several return values, shadowing, jumps.
pub fn sequential(seed: u64) -> RandomProgram {
    sequential_within(seed, Limits { globals: 3, locals: 3, returns: 2, procs: 4, statements: 8 })
}

/// A sequential program of a given size.
pub fn sequential_within(seed: u64, limits: Limits) -> RandomProgram {
    Generator { rng: Rng::new(seed), limits, threads: false, program: empty(Mode::Plain) }.program()
}

/// A program with threads, passive variables and atomic sections; calls do not recurse.
pub fn concurrent(seed: u64) -> RandomProgram {
    concurrent_within(seed, Limits { globals: 2, locals: 2, returns: 1, procs: 3, statements: 5 })
}

/// A program with threads of a given size.
pub fn concurrent_within(seed: u64, limits: Limits) -> RandomProgram {
    Generator { rng: Rng::new(seed), limits, threads: true, program: empty(Mode::Plain) }.program()
}

/// A program with threads that is run in another way than by its own `start_thread` alone.
pub fn concurrent_in(mode: Mode, seed: u64) -> RandomProgram {
    let limits = Limits { globals: 2, locals: 2, returns: 1, procs: 3, statements: 4 };
    Generator { rng: Rng::new(seed), limits, threads: true, program: empty(mode) }.program()
}

fn empty(mode: Mode) -> RandomProgram {
    RandomProgram { mode, label: None, globals: Vec::new(), procs: Vec::new() }
}

struct Generator {
    rng: Rng,
    limits: Limits,
    threads: bool,
    program: RandomProgram,
}

/// Where the values of an expression come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// The thread's own state.
    Own,
    /// Also other threads' copies, `x$`.
    Passive,
    /// Also values after the assignment, `'x`; other threads' copies if the program has threads.
    Constrain,
}

impl Generator {
    fn program(mut self) -> RandomProgram {
        for i in 0..self.rng.between(1, self.limits.globals) {
            let value = self.rng.chance(25).then(|| self.constant());
            self.program.globals.push(Declared { name: format!("g{i}"), value });
        }
        if self.is_getafix() && self.rng.chance(60) {
            self.program.globals.push(Declared { name: "atomic".to_owned(), value: None });
        }
        let procs = self.rng.between(if self.threads { 2 } else { 1 }, self.limits.procs);
        for i in 0..procs {
            let head = self.head(i);
            self.program.procs.push(head);
        }
        for i in 0..procs {
            let statements = self.rng.between(2, self.limits.statements);
            let mut body = self.block(i, statements, 0);
            if i == 0 && self.starts_threads() {
                self.start_something(&mut body);
            }
            // The others fall off the end and return anything.
            if self.program.procs[i].returns > 0 && self.rng.chance(70) {
                body.push(Stmt::new(self.return_values(i)));
            }
            self.program.procs[i].body = body;
        }
        self.call_everything();
        if self.is_getafix() {
            self.add_init();
        }
        self.add_missing_assertion();
        if !self.threads && self.rng.chance(15) {
            self.ask_for_a_label();
        }
        for i in 0..self.program.procs.len() {
            let mut body = std::mem::take(&mut self.program.procs[i].body);
            self.label(&mut body);
            self.program.procs[i].body = body;
        }
        debug_assert!(self.program.is_well_formed(), "{}", self.program.text());
        self.program
    }

    fn is_getafix(&self) -> bool {
        self.program.mode == Mode::Getafix
    }

    /// Whether threads are started by statements. Copies of `main` seldom do so.
    fn starts_threads(&self) -> bool {
        self.threads && matches!(self.program.mode, Mode::Plain | Mode::Threads(_))
    }

    /// Getafix's procedure that runs before all threads; the flag `atomic` is mostly off after it.
    fn add_init(&mut self) {
        if self.rng.chance(30) {
            return;
        }
        let mut targets: Vec<String> =
            self.program.globals.iter().map(|global| global.name.clone()).collect();
        targets.retain(|_| self.rng.chance(80));
        if targets.is_empty() {
            return;
        }
        let value = |name: &String| match (name.as_str(), self.rng.below(10)) {
            ("atomic", 0..6) | (_, 0..4) => Expr::leaf("F"),
            (_, 4..8) => Expr::leaf("T"),
            _ => Expr::leaf("*"),
        };
        let values = targets.iter().map(value).collect();
        let assign = Kind::Assign { targets, values, constrain: None };
        let body = vec![Stmt::new(assign)];
        let (params, locals) = (Vec::new(), Vec::new());
        let name = "init".to_owned();
        self.program.procs.push(Proc { name, returns: 0, params, locals, enforce: None, body });
    }

    fn constant(&mut self) -> Expr {
        Expr::leaf(*self.rng.pick(&["T", "F"]))
    }

    fn head(&mut self, index: usize) -> Proc {
        let is_main = index == 0;
        let mut free = self.limits.locals;
        let count = self.rng.below(free.min(2) + 1);
        let params: Vec<String> = (0..if is_main { 0 } else { count }).map(|i| format!("p{i}")).collect();
        free -= params.len();
        let returns = if is_main { 0 } else { self.rng.below(self.limits.returns + 1) };
        let mut locals = Vec::new();
        for i in 0..self.rng.below(free + 1) {
            // A local may hide a global.
            let name = if i == 0 && self.rng.chance(20) { "g0".to_owned() } else { format!("l{i}") };
            let value = self.rng.chance(20).then(|| self.constant());
            locals.push(Declared { name, value });
        }
        let is_thread = self.is_getafix() && (index == 1 || self.rng.chance(40));
        let name = match index {
            0 => "main".to_owned(),
            index if is_thread => format!("thread{}", index - 1),
            index => format!("f{index}"),
        };
        let mut proc = Proc { name, returns, params, locals, enforce: None, body: Vec::new() };
        // Where threads are alike, an `enforce` tells them apart first.
        let is_plain = self.program.mode == Mode::Plain;
        if self.rng.chance(if is_plain { 20 } else { 45 }) {
            let names = self.names_in(&proc);
            let [left, right] = [0, 1].map(|_| Expr::leaf(self.rng.pick(&names).clone()));
            let sign = *self.rng.pick(&["|", "!=", "=>"]);
            proc.enforce = Some(Expr::Op(Operator::Binary(sign), vec![left, right]));
        }
        proc
    }

    /// The variables that a procedure can name.
    fn names_in(&self, proc: &Proc) -> Vec<String> {
        let mut names: Vec<String> = proc.params.clone();
        names.extend(proc.locals.iter().map(|l| l.name.clone()));
        let globals = self.program.globals.iter().map(|g| g.name.clone());
        let hidden = names.clone();
        names.extend(globals.filter(|name| !hidden.contains(name)));
        names
    }

    fn names(&self, proc: usize) -> Vec<String> {
        self.names_in(&self.program.procs[proc])
    }

    /// The variables that other threads have a copy of.
    fn own_names(&self, proc: usize) -> Vec<String> {
        let proc = &self.program.procs[proc];
        proc.params.iter().chain(proc.locals.iter().map(|l| &l.name)).cloned().collect()
    }

    fn expr(&mut self, proc: usize, depth: usize, reads: Reads) -> Expr {
        if depth == 0 || self.rng.chance(35) {
            return self.leaf(proc, reads);
        }
        let (operator, arity) = match self.rng.weighted(&[30, 60, 6, 8]) {
            0 => (Operator::Not, 1),
            1 => {
                let sign = *self.rng.pick(&["&", "&", "|", "|", "^", "=", "!=", "=>"]);
                (Operator::Binary(sign), 2)
            }
            2 => (Operator::Ite, 3),
            _ => (Operator::Schoose, 2),
        };
        let mut operands: Vec<Expr> = Vec::new();
        for _ in 0..arity {
            let operand = self.expr(proc, depth - 1, reads);
            // Equal neighbours mostly make a constant.
            let again = operands.last() == Some(&operand);
            operands.push(if again { self.expr(proc, depth - 1, reads) } else { operand });
        }
        Expr::Op(operator, operands)
    }

    fn leaf(&mut self, proc: usize, reads: Reads) -> Expr {
        if self.rng.chance(14) {
            return Expr::leaf(*self.rng.pick(&["T", "F", "*", "*"]));
        }
        let own = self.own_names(proc);
        let passive = reads != Reads::Own && self.threads && !own.is_empty() && self.rng.chance(30);
        let mut name = if passive {
            format!("{}$", self.rng.pick(&own))
        } else {
            self.rng.pick(&self.names(proc)).clone()
        };
        if reads == Reads::Constrain && self.rng.chance(50) {
            name.insert(0, '\'');
        }
        Expr::leaf(name)
    }

    fn condition(&mut self, proc: usize) -> Expr {
        if self.rng.chance(15) { Expr::leaf("*") } else { self.expr(proc, 2, Reads::Own) }
    }

    fn block(&mut self, proc: usize, statements: usize, depth: usize) -> Vec<Stmt> {
        let mut block: Vec<Stmt> = Vec::new();
        for _ in 0..statements {
            let before = block.last().cloned();
            block.extend(self.statement(proc, depth, before.as_ref()).map(Stmt::new));
        }
        block
    }

    /// `None` if there is nothing to call or no variable of its kind.
    fn statement(&mut self, proc: usize, depth: usize, before: Option<&Stmt>) -> Option<Kind> {
        let inner = usize::from(depth < 2);
        let threads = usize::from(self.threads);
        // What ends a thread or a procedure stands in branches, or nothing would run behind it.
        let branch = usize::from(depth > 0);
        let sequential =
            [34, 14, 12 * inner, 6 * inner, 6, 7 - 2 * threads, 2 - threads, 6, 5 * branch, 4, 2];
        let starts = usize::from(self.starts_threads());
        // Getafix has a flag for atomic sections.
        let sections = usize::from(!self.is_getafix());
        let concurrent = [8 * starts, 5, 3 * branch, 7 * inner * sections].map(|weight| weight * threads);
        let counting = [3 * inner, 4 * inner].map(|weight| weight * (1 - threads));
        let weights = [&sequential[..], &concurrent, &counting].concat();
        let small = self.rng.between(1, 2);
        let kind = match self.rng.weighted(&weights) {
            0 => self.assign(proc),
            1 => return self.call(proc),
            2 => {
                let count = self.rng.weighted(&[0, 8, 2]);
                let arms =
                    (0..count).map(|_| (self.condition(proc), self.block(proc, small, depth + 1))).collect();
                let otherwise = self.rng.chance(50).then(|| self.block(proc, small, depth + 1));
                Kind::If { arms, otherwise }
            }
            3 => {
                let condition = self.condition(proc);
                Kind::While(condition, self.block(proc, small, depth + 1))
            }
            4 => Kind::Condition("assume", self.condition(proc)),
            5 => self.assertion(proc, before),
            6 => {
                let [left, right] = [0, 1].map(|_| self.expr(proc, 1, Reads::Own));
                Kind::Condition("abortif", Expr::Op(Operator::Binary("&"), vec![left, right]))
            }
            // Targets are filled in when the labels are there.
            7 => Kind::Goto(Vec::new()),
            8 => self.return_values(proc),
            9 => {
                let name = self.rng.pick(&self.names(proc)).clone();
                Kind::Dead(vec![name])
            }
            10 => Kind::Word("skip"),
            11 => self.start_thread(),
            12 => return self.passive_assign(proc),
            13 => Kind::Word("end_thread"),
            14 => {
                let mut inside: Vec<Stmt> = (0..small).map(|_| Stmt::new(self.assign(proc))).collect();
                // A thread that cannot move at once.
                if self.starts_threads() && self.program.mode != Mode::Plain && self.rng.chance(40) {
                    inside.insert(0, Stmt::new(self.start_thread()));
                }
                Kind::Atomic(inside)
            }
            15 => return self.counting_loop(proc, depth),
            _ => return self.counting_call(proc),
        };
        Some(kind)
    }

    /// A loop that counts two variables up: four rounds if nothing else changes them.
    fn counting_loop(&mut self, proc: usize, depth: usize) -> Option<Kind> {
        let mut names = self.names(proc);
        if names.len() < 2 {
            return None;
        }
        let [low, high] = [0, 1].map(|_| names.swap_remove(self.rng.below(names.len())));
        let both = binary("&", &low, &high);
        let next = vec![Expr::Op(Operator::Not, vec![Expr::leaf(low.clone())]), binary("!=", &high, &low)];
        let count = Kind::Assign { targets: vec![low, high], values: next, constrain: None };
        let mut block = self.block(proc, 1, depth + 1);
        let at = self.rng.below(block.len() + 1);
        block.insert(at, Stmt::new(count));
        Some(Kind::While(Expr::Op(Operator::Not, vec![both]), block))
    }

    /// A call of a procedure with two parameters, from itself or from another such, that counts them down.
    fn counting_call(&mut self, proc: usize) -> Option<Kind> {
        let mut call = self.call(proc)?;
        let Kind::Call { args, .. } = &mut call else { return None };
        let [low, high] = &self.program.procs[proc].params[..] else { return None };
        let [first, second] = &mut args[..] else { return None };
        *first = Expr::Op(Operator::Not, vec![Expr::leaf(low.clone())]);
        *second = binary("=", high, low);
        Some(Kind::If { arms: vec![(binary("|", low, high), vec![Stmt::new(call)])], otherwise: None })
    }

    fn return_values(&mut self, proc: usize) -> Kind {
        let returns = self.program.procs[proc].returns;
        Kind::Return((0..returns).map(|_| self.expr(proc, 1, Reads::Own)).collect())
    }

    fn assign(&mut self, proc: usize) -> Kind {
        let mut names = self.names(proc);
        let count = if self.rng.chance(25) { 2.min(names.len()) } else { 1 };
        let targets: Vec<String> =
            (0..count).map(|_| names.swap_remove(self.rng.below(names.len()))).collect();
        let values = (0..count).map(|_| self.expr(proc, 2, Reads::Own)).collect();
        let constrain = self.rng.chance(12).then(|| self.expr(proc, 2, Reads::Constrain));
        Kind::Assign { targets, values, constrain }
    }

    fn passive_assign(&mut self, proc: usize) -> Option<Kind> {
        let own = self.own_names(proc);
        let name = if own.is_empty() { return None } else { self.rng.pick(&own).clone() };
        let mut targets = vec![format!("{name}$")];
        let mut values = vec![self.expr(proc, 2, Reads::Passive)];
        if self.rng.chance(40) {
            targets.push(self.rng.pick(&self.names(proc)).clone());
            values.push(self.expr(proc, 1, Reads::Own));
        }
        let constrain = self.rng.chance(40).then(|| self.expr(proc, 2, Reads::Constrain));
        Some(Kind::Assign { targets, values, constrain })
    }

    fn call(&mut self, proc: usize) -> Option<Kind> {
        // Threads do not recurse; sequential programs do, seldom into `main`.
        let first = match (self.threads, self.rng.chance(4)) {
            (true, _) => proc + 1,
            (false, true) => 0,
            (false, false) => 1,
        };
        let last = self.program.procs.len() - 1;
        if first > last {
            return None;
        }
        let index = self.rng.between(first, last);
        let (callee, args) = self.callee(index, Some(proc));
        let mut names = self.names(proc);
        let mut targets = Vec::new();
        if self.rng.chance(85) {
            for _ in 0..self.program.procs[index].returns {
                let drop = names.is_empty() || self.rng.chance(15);
                targets.push(if drop {
                    "_".to_owned()
                } else {
                    names.swap_remove(self.rng.below(names.len()))
                });
            }
        }
        Some(Kind::Call { start_thread: false, targets, callee, args })
    }

    /// Name and arguments; arbitrary arguments where no procedure is given to read from.
    fn callee(&mut self, index: usize, from: Option<usize>) -> (String, Vec<Expr>) {
        let Proc { name, params, .. } = self.program.procs[index].clone();
        let args = (0..params.len()).map(|_| match from {
            Some(proc) if !self.rng.chance(20) => self.expr(proc, 1, Reads::Own),
            _ => Expr::leaf("*"),
        });
        let args = args.collect();
        (name, args)
    }

    /// `start_thread goto`, `start_thread f()`, or a call that gets a label `ASYNC_n` later.
    fn start_thread(&mut self) -> Kind {
        if self.rng.chance(35) {
            return Kind::StartThread(String::new());
        }
        let index = self.rng.between(1, self.program.procs.len() - 1);
        let (callee, args) = self.callee(index, None);
        Kind::Call { start_thread: true, targets: Vec::new(), callee, args }
    }

    /// A program with threads starts one.
    fn start_something(&mut self, body: &mut Vec<Stmt>) {
        let starts =
            |stmt: &&Stmt| matches!(stmt.kind, Kind::StartThread(_) | Kind::Call { start_thread: true, .. });
        if !statements(body).iter().any(starts) {
            let at = self.rng.below(body.len() + 1);
            body.insert(at, Stmt::new(self.start_thread()));
        }
    }

    /// What was just assigned, a disjunction, or seldom anything.
    fn assertion(&mut self, proc: usize, before: Option<&Stmt>) -> Kind {
        if let Some(Stmt { kind: Kind::Assign { targets, values, .. }, .. }) = before {
            let target = targets[0].replace('$', "");
            let value = own_values(&values[0]);
            // Otherwise it fails more often than not: the old value was read, or a choice made.
            let is_fact = !value.leaves().into_iter().any(|leaf| leaf == target || leaf == "*");
            if self.rng.chance(if is_fact { 80 } else { 25 }) {
                let equal = Expr::Op(Operator::Binary("="), vec![Expr::leaf(target), value]);
                return Kind::Condition("assert", equal);
            }
        }
        let count = self.rng.weighted(&[0, 1, 3, 5]);
        let mut condition = self.expr(proc, 1, Reads::Own);
        for _ in 1..count {
            let other = self.expr(proc, 1, Reads::Own);
            condition = Expr::Op(Operator::Binary("|"), vec![condition, other]);
        }
        Kind::Condition("assert", condition)
    }

    /// Labels some statements and lets the jumps go there.
    fn label(&mut self, body: &mut Vec<Stmt>) {
        let mut labels = 0;
        self.label_behind_jumps(body, &mut labels);
        let is_jump = |stmt: &Stmt| matches!(stmt.kind, Kind::Goto(_) | Kind::StartThread(_));
        let all = statements(body);
        // No jump to a jump: that would mostly be an empty loop.
        let mut places: Vec<usize> = (0..all.len()).filter(|&i| !is_jump(all[i])).collect();
        if places.is_empty() {
            places.push(all.len());
            body.push(Stmt::new(Kind::Word("skip")));
        }
        let has_jumps = statements(body).into_iter().any(is_jump);
        let wanted = if has_jumps { self.rng.between(1, 3) } else { usize::from(self.rng.chance(20)) };
        let places: Vec<usize> = (0..wanted).map(|_| *self.rng.pick(&places)).collect();
        let (mut index, mut asynchronous) = (0, 0);
        let rng = &mut self.rng;
        for_each_statement(body, &mut |stmt| {
            for (i, _) in places.iter().enumerate().filter(|&(_, &place)| place == index) {
                stmt.labels.push(format!("L{i}"));
            }
            index += 1;
            match &mut stmt.kind {
                Kind::Goto(targets) => {
                    targets.push(format!("L{}", rng.below(wanted)));
                    let other = format!("L{}", rng.below(wanted));
                    if !targets.contains(&other) && rng.chance(60) {
                        targets.push(other);
                    }
                }
                Kind::StartThread(target) => *target = format!("L{}", rng.below(wanted)),
                Kind::Call { start_thread, .. } if *start_thread && rng.chance(50) => {
                    *start_thread = false;
                    asynchronous += 1;
                    stmt.labels.push(format!("ASYNC_{asynchronous}"));
                }
                _ => {}
            }
        });
    }

    /// Most jumps may also go on behind themselves, so that little is unreachable.
    fn label_behind_jumps(&mut self, block: &mut [Stmt], labels: &mut usize) {
        for i in 0..block.len() {
            if i + 1 < block.len()
                && self.rng.chance(75)
                && let Kind::Goto(targets) = &mut block[i].kind
            {
                let label = format!("N{labels}");
                *labels += 1;
                targets.push(label.clone());
                block[i + 1].labels.push(label);
            }
            for inner in block[i].blocks_mut() {
                self.label_behind_jumps(inner, labels);
            }
        }
    }

    /// Calls every procedure from an earlier one, so that all of them can run.
    fn call_everything(&mut self) {
        for index in 1..self.program.procs.len() {
            let name = self.program.procs[index].name.clone();
            if self.is_getafix() && name.starts_with("thread") {
                continue;
            }
            let calls = |stmt: &&Stmt| matches!(&stmt.kind, Kind::Call { callee, .. } if *callee == name);
            if self.program.procs[..index].iter().any(|p| statements(&p.body).iter().any(calls)) {
                continue;
            }
            let proc = self.rng.below(index);
            let (callee, args) = self.callee(index, Some(proc));
            let start_thread = self.starts_threads() && self.rng.chance(50);
            let call = Kind::Call { start_thread, targets: Vec::new(), callee, args };
            let body = &mut self.program.procs[proc].body;
            let at = self.rng.below(body.len() + 1);
            body.insert(at, Stmt::new(call));
        }
    }

    /// A program without assertions would be safe for no reason.
    fn add_missing_assertion(&mut self) {
        let asserts = |stmt: &&Stmt| matches!(stmt.kind, Kind::Condition("assert" | "abortif", _));
        if !self.program.procs.iter().any(|p| statements(&p.body).iter().any(asserts)) {
            let proc = self.rng.below(self.program.procs.len());
            let assertion = self.assertion(proc, None);
            self.program.procs[proc].body.insert(0, Stmt::new(assertion));
        }
    }

    /// Makes the first assertion of each procedure a label that must not be reached. Others stay, where they
    /// are assumptions now, or become ones in so many words.
    fn ask_for_a_label(&mut self) {
        for proc in &mut self.program.procs {
            let mut is_first = true;
            let rng = &mut self.rng;
            for_each_statement(&mut proc.body, &mut |stmt| {
                let Kind::Condition(word @ ("assert" | "abortif"), condition) = &mut stmt.kind else {
                    return;
                };
                let word = *word;
                if std::mem::take(&mut is_first) {
                    let bad = match word {
                        "assert" => Expr::Op(Operator::Not, vec![condition.clone()]),
                        _ => condition.clone(),
                    };
                    let here = Stmt { labels: vec![ERROR.to_owned()], kind: Kind::Word("skip") };
                    stmt.kind = Kind::If { arms: vec![(bad, vec![here])], otherwise: None };
                } else if word == "assert" && rng.chance(30) {
                    stmt.kind = Kind::Condition("assume", condition.clone());
                }
            });
        }
        self.program.label = Some(ERROR.to_owned());
    }
}

/// The label that must not be reached, in programs that ask for one.
const ERROR: &str = "ERROR";

/// `(left sign right)`, for two variables.
fn binary(sign: &'static str, left: &str, right: &str) -> Expr {
    Expr::Op(Operator::Binary(sign), vec![Expr::leaf(left), Expr::leaf(right)])
}

/// An expression with `x` for `x$`.
fn own_values(expr: &Expr) -> Expr {
    match expr {
        Expr::Leaf(text) => Expr::leaf(text.replace('$', "")),
        Expr::Op(operator, operands) => Expr::Op(*operator, operands.iter().map(own_values).collect()),
    }
}
