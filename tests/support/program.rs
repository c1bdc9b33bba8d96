//! Boolean programs as trees that a generator can grow and a shrinker can cut.
//!
//! Invariant (parentheses): every compound expression is printed in parentheses, so that all
//! dialects read it alike.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `T`, `F`, `*`, or a variable: `x`, `'x`, `x$`, `'x$`.
    Leaf(String),
    /// An operator with its operands.
    Op(Operator, Vec<Expr>),
}

/// What combines expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `!e`
    Not,
    /// `(l op r)`
    Binary(&'static str),
    /// `(c ? t : e)`
    Ite,
    /// `schoose[p, n]`
    Schoose,
}

/// A statement with its labels. A label `ASYNC_n` before a call starts a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// Labels, in order.
    pub labels: Vec<String>,
    /// What it does.
    pub kind: Kind,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `skip`, `end_thread`, or nothing: a place for labels
    Word(&'static str),
    /// `x, y := e, f constrain c`
    Assign {
        /// Left sides; `x$` for other threads' copies.
        targets: Vec<String>,
        /// Right sides.
        values: Vec<Expr>,
        /// The condition on old and new values.
        constrain: Option<Expr>,
    },
    /// `x, _ := f(e)` or `start_thread f(e)`
    Call {
        /// In a thread of its own, written with `start_thread`.
        start_thread: bool,
        /// Left sides, `_` included; may be empty.
        targets: Vec<String>,
        /// The procedure.
        callee: String,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// `return e, f`
    Return(Vec<Expr>),
    /// `assume`, `assert` or `abortif`
    Condition(&'static str, Expr),
    /// `goto L, M`
    Goto(Vec<String>),
    /// `start_thread goto L`
    StartThread(String),
    /// `if e then .. elsif e then .. else .. fi`
    If {
        /// Conditions with their blocks; never empty.
        arms: Vec<(Expr, Vec<Stmt>)>,
        /// The `else` block.
        otherwise: Option<Vec<Stmt>>,
    },
    /// `while e do .. od`
    While(Expr, Vec<Stmt>),
    /// `atomic_begin; ..; atomic_end`
    Atomic(Vec<Stmt>),
    /// `dead x, y`
    Dead(Vec<String>),
}

/// A variable with its initial value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The variable.
    pub name: String,
    /// `:= e`
    pub value: Option<Expr>,
}

/// A procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proc {
    /// Its name.
    pub name: String,
    /// How many values it returns.
    pub returns: usize,
    /// Parameters.
    pub params: Vec<String>,
    /// Locals.
    pub locals: Vec<Declared>,
    /// Holds in every state of the procedure.
    pub enforce: Option<Expr>,
    /// Statements.
    pub body: Vec<Stmt>,
}

/// How a program is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As Cusp does if nothing else is said.
    #[default]
    Plain,
    /// `--threads N`: so many threads may live at once.
    Threads(u32),
    /// `--replicate --threads N`: so many threads run `main`.
    Copies(u32),
    /// `--replicate`: any number of threads run `main`.
    AnyCopies,
    /// `--dialect getafix`: `init` first, then one thread for `main` and for each `thread*`.
    Getafix,
}

impl Mode {
    fn options(self) -> Option<String> {
        match self {
            Self::Plain => None,
            Self::Threads(n) => Some(format!("--threads {n}")),
            Self::Copies(n) => Some(format!("--replicate --threads {n}")),
            Self::AnyCopies => Some("--replicate".to_owned()),
            Self::Getafix => Some("--dialect getafix".to_owned()),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Getafix | Self::AnyCopies => 1,
            Self::Threads(n) => n as usize,
            Self::Copies(n) => 1 + n as usize,
        }
    }

    /// A simpler way to run a program.
    pub fn simpler(self) -> Option<Self> {
        match self {
            Self::Plain => None,
            Self::Threads(n) if n > 1 => Some(Self::Threads(n - 1)),
            Self::Copies(n) if n > 2 => Some(Self::Copies(n - 1)),
            Self::Threads(_) | Self::Copies(_) | Self::AnyCopies | Self::Getafix => Some(Self::Plain),
        }
    }
}

/// A program that the generator made or the shrinker left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomProgram {
    /// How it is run.
    pub mode: Mode,
    /// The label that must not be reached; the assertions must not fail if there is none.
    pub label: Option<String>,
    /// Globals.
    pub globals: Vec<Declared>,
    /// Procedures.
    pub procs: Vec<Proc>,
}

impl Expr {
    /// A variable or constant.
    pub fn leaf(text: impl Into<String>) -> Self {
        Self::Leaf(text.into())
    }

    /// Whether it is `T` or `F`.
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Leaf(text) if text == "T" || text == "F")
    }

    /// All leaves, in order.
    pub fn leaves(&self) -> Vec<&str> {
        match self {
            Self::Leaf(text) => vec![text],
            Self::Op(_, operands) => operands.iter().flat_map(Self::leaves).collect(),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Leaf(_) => {
                if self.is_constant() {
                    1
                } else {
                    2
                }
            }
            Self::Op(_, operands) => 1 + operands.iter().map(Self::size).sum::<usize>(),
        }
    }
}

impl Stmt {
    /// A statement without labels.
    pub fn new(kind: Kind) -> Self {
        Self { labels: Vec::new(), kind }
    }

    /// The blocks inside.
    pub fn blocks(&self) -> Vec<&Vec<Stmt>> {
        match &self.kind {
            Kind::If { arms, otherwise } => arms.iter().map(|(_, block)| block).chain(otherwise).collect(),
            Kind::While(_, block) | Kind::Atomic(block) => vec![block],
            _ => Vec::new(),
        }
    }

    /// The blocks inside, to be changed.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match &mut self.kind {
            Kind::If { arms, otherwise } => {
                arms.iter_mut().map(|(_, block)| block).chain(otherwise).collect()
            }
            Kind::While(_, block) | Kind::Atomic(block) => vec![block],
            _ => Vec::new(),
        }
    }

    /// The expressions of the statement itself.
    pub fn exprs(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Assign { values, constrain, .. } => values.iter().chain(constrain).collect(),
            Kind::Call { args: values, .. } | Kind::Return(values) => values.iter().collect(),
            Kind::Condition(_, e) | Kind::While(e, _) => vec![e],
            Kind::If { arms, .. } => arms.iter().map(|(e, _)| e).collect(),
            _ => Vec::new(),
        }
    }

    /// The expressions of the statement itself, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            Kind::Assign { values, constrain, .. } => values.iter_mut().chain(constrain).collect(),
            Kind::Call { args: values, .. } | Kind::Return(values) => values.iter_mut().collect(),
            Kind::Condition(_, e) | Kind::While(e, _) => vec![e],
            Kind::If { arms, .. } => arms.iter_mut().map(|(e, _)| e).collect(),
            _ => Vec::new(),
        }
    }

    fn is_asynchronous(&self) -> bool {
        self.labels.iter().any(|label| label.starts_with("ASYNC_"))
    }

    fn size(&self) -> usize {
        let names = match &self.kind {
            Kind::Word("skip" | "") => 0,
            Kind::Assign { targets, .. } => 1 + targets.len(),
            Kind::Call { targets, start_thread, .. } => {
                1 + targets.iter().map(|t| 1 + usize::from(t != "_")).sum::<usize>()
                    + usize::from(*start_thread)
            }
            Kind::Goto(names) | Kind::Dead(names) => 1 + names.len(),
            _ => 1,
        };
        let exprs: usize = self.exprs().into_iter().map(Expr::size).sum();
        let blocks: usize = self.blocks().into_iter().map(|block| 1 + size_of_block(block)).sum();
        1 + self.labels.len() + names + exprs + blocks
    }
}

fn size_of_block(block: &[Stmt]) -> usize {
    block.iter().map(Stmt::size).sum()
}

/// All statements of a block, those of inner blocks behind the statement that holds them.
pub fn statements(block: &[Stmt]) -> Vec<&Stmt> {
    let mut all = Vec::new();
    for stmt in block {
        all.push(stmt);
        stmt.blocks().into_iter().for_each(|inner| all.extend(statements(inner)));
    }
    all
}

/// Calls `change` for all statements of a block in the order of [`statements`].
pub fn for_each_statement(block: &mut [Stmt], change: &mut impl FnMut(&mut Stmt)) {
    for stmt in block {
        change(stmt);
        stmt.blocks_mut().into_iter().for_each(|block| for_each_statement(block, change));
    }
}

impl RandomProgram {
    /// The source text, one statement a line. Options of `cusp check` are in a comment before it, as in
    /// the programs of `tests/corpus`.
    pub fn text(&self) -> String {
        self.to_string()
    }

    /// A number that every step of the shrinker decreases.
    pub fn size(&self) -> usize {
        let declared = |variables: &[Declared]| {
            variables.iter().map(|v| 1 + v.value.as_ref().map_or(0, |e| 1 + e.size())).sum::<usize>()
        };
        let proc = |p: &Proc| {
            let enforce = p.enforce.as_ref().map_or(0, |e| 1 + e.size());
            3 + p.params.len() + p.returns + declared(&p.locals) + enforce + size_of_block(&p.body)
        };
        let label = usize::from(self.label.is_some());
        label + self.mode.size() + declared(&self.globals) + self.procs.iter().map(proc).sum::<usize>()
    }

    /// The procedures that a call of one may lead to, through one call or more.
    pub fn calls_from(&self, name: &str) -> BTreeSet<String> {
        let mut reached: BTreeSet<String> = BTreeSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            let body = self.procs.iter().find(|proc| proc.name == name).map(|proc| &proc.body[..]);
            for stmt in statements(body.unwrap_or_default()) {
                if let Kind::Call { callee, .. } = &stmt.kind
                    && reached.insert(callee.clone())
                {
                    open.push(callee);
                }
            }
        }
        reached
    }

    /// The names of the procedures that Cusp runs without a call.
    fn first_procedures(&self) -> impl Iterator<Item = &str> {
        let is_getafix = self.mode == Mode::Getafix;
        let runs_first =
            move |name: &str| name == "main" || is_getafix && (name == "init" || name.starts_with("thread"));
        self.procs.iter().map(|proc| proc.name.as_str()).filter(move |name| runs_first(name))
    }

    /// The labels of all procedures that can run, once for every place.
    pub fn labels(&self) -> Vec<&str> {
        let mut reached: BTreeSet<String> =
            self.first_procedures().flat_map(|name| self.calls_from(name)).collect();
        reached.extend(self.first_procedures().map(str::to_owned));
        let running = self.procs.iter().filter(|proc| reached.contains(&proc.name));
        let labels = running.flat_map(|proc| statements(&proc.body)).flat_map(|stmt| &stmt.labels);
        labels.map(String::as_str).collect()
    }

    /// Whether names, labels and arities are right, so that the text is a program.
    pub fn is_well_formed(&self) -> bool {
        let procs: BTreeSet<&str> = self.procs.iter().map(|p| p.name.as_str()).collect();
        let is_getafix = self.mode == Mode::Getafix;
        let is_main = |p: &Proc| p.name == "main" && (is_getafix || p.params.is_empty() && p.returns == 0);
        let globals = self.globals.iter().map(|g| g.name.as_str());
        procs.len() == self.procs.len()
            && self.procs.iter().any(is_main)
            && all_different(globals.clone())
            && self.label.iter().all(|label| self.labels().contains(&label.as_str()))
            && self.globals.iter().filter_map(|g| g.value.as_ref()).all(|e| {
                e.leaves()
                    .into_iter()
                    .all(|leaf| ["T", "F", "*"].contains(&leaf) || globals.clone().any(|g| g == leaf))
            })
            && self.procs.iter().all(|p| Scope { program: self, proc: p }.is_well_formed())
    }
}

fn all_different<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = BTreeSet::new();
    names.filter(|&name| name != "_").all(|name| seen.insert(name))
}

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Plain,
    /// The value of `x$`.
    Passive,
    Constrain,
}

struct Scope<'a> {
    program: &'a RandomProgram,
    proc: &'a Proc,
}

impl Scope<'_> {
    fn is_local(&self, name: &str) -> bool {
        self.proc.params.iter().any(|p| p == name) || self.proc.locals.iter().any(|l| l.name == name)
    }

    fn is_variable(&self, name: &str) -> bool {
        self.is_local(name) || self.program.globals.iter().any(|g| g.name == name)
    }

    fn is_passive(&self, name: &str) -> bool {
        name.strip_suffix('$').is_some_and(|own| self.is_local(own))
    }

    fn is_expr(&self, expr: &Expr, position: Position) -> bool {
        expr.leaves().into_iter().all(|leaf| {
            let name = leaf.strip_prefix('\'').unwrap_or(leaf);
            ["T", "F", "*"].contains(&leaf)
                || (name == leaf || position == Position::Constrain)
                    && (self.is_variable(name) || position != Position::Plain && self.is_passive(name))
        })
    }

    fn is_well_formed(&self) -> bool {
        let all = statements(&self.proc.body);
        let locals = self.proc.locals.iter().map(|l| l.name.as_str());
        let labels: Vec<&str> = all.iter().flat_map(|s| &s.labels).map(String::as_str).collect();
        all_different(self.proc.params.iter().map(String::as_str).chain(locals))
            && self.proc.enforce.iter().all(|e| self.is_expr(e, Position::Plain))
            && self
                .proc
                .locals
                .iter()
                .filter_map(|l| l.value.as_ref())
                .all(|e| self.is_expr(e, Position::Plain))
            && all_different(labels.iter().copied())
            && all.into_iter().all(|stmt| self.is_statement(stmt, &labels))
    }

    fn is_statement(&self, stmt: &Stmt, labels: &[&str]) -> bool {
        let plain = |e: &Expr| self.is_expr(e, Position::Plain);
        if stmt.is_asynchronous() && !matches!(&stmt.kind, Kind::Call { targets, .. } if targets.is_empty()) {
            return false;
        }
        match &stmt.kind {
            Kind::Word(_) | Kind::Atomic(_) => true,
            Kind::Assign { targets, values, constrain } => {
                !targets.is_empty()
                    && targets.len() == values.len()
                    && all_different(targets.iter().map(String::as_str))
                    && targets.iter().zip(values).all(|(target, value)| {
                        let passive = self.is_passive(target);
                        let position = if passive { Position::Passive } else { Position::Plain };
                        (passive || self.is_variable(target)) && self.is_expr(value, position)
                    })
                    && constrain.iter().all(|e| self.is_expr(e, Position::Constrain))
            }
            Kind::Call { start_thread, targets, callee, args } => {
                let Some(proc) = self.program.procs.iter().find(|p| p.name == *callee) else { return false };
                proc.params.len() == args.len()
                    && (targets.is_empty() || targets.len() == proc.returns && !start_thread)
                    && all_different(targets.iter().map(String::as_str))
                    && targets.iter().all(|t| t == "_" || self.is_variable(t))
                    && args.iter().all(plain)
            }
            Kind::Return(values) => values.len() == self.proc.returns && values.iter().all(plain),
            Kind::Condition(_, e) | Kind::While(e, _) => plain(e),
            Kind::Goto(targets) => {
                !targets.is_empty() && targets.iter().all(|t| labels.contains(&t.as_str()))
            }
            Kind::StartThread(target) => labels.contains(&target.as_str()),
            Kind::If { arms, .. } => !arms.is_empty() && arms.iter().all(|(e, _)| plain(e)),
            Kind::Dead(names) => {
                !names.is_empty()
                    && all_different(names.iter().map(String::as_str))
                    && names.iter().all(|name| self.is_variable(name))
            }
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf(text) => write!(f, "{text}"),
            Self::Op(operator, operands) => match (operator, &operands[..]) {
                (Operator::Not, [e]) => write!(f, "!{e}"),
                (Operator::Binary(sign), [l, r]) => write!(f, "({l} {sign} {r})"),
                (Operator::Ite, [c, t, e]) => write!(f, "({c} ? {t} : {e})"),
                (Operator::Schoose, [p, n]) => write!(f, "schoose[{p}, {n}]"),
                _ => unreachable!("operators have their number of operands"),
            },
        }
    }
}

fn list<T: Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

impl Display for Declared {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            None => write!(f, "decl {};", self.name),
            Some(value) => write!(f, "decl {} := {value};", self.name),
        }
    }
}

impl Display for RandomProgram {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let label = self.label.iter().map(|label| format!("--label {label}"));
        let options: Vec<String> = self.mode.options().into_iter().chain(label).collect();
        if !options.is_empty() {
            writeln!(f, "// options: {}", options.join(" "))?;
        }
        for global in &self.globals {
            writeln!(f, "{global}")?;
        }
        for proc in &self.procs {
            let kind = match proc.returns {
                0 => "void".to_owned(),
                1 => "bool".to_owned(),
                n => format!("bool<{n}>"),
            };
            writeln!(f, "\n{kind} {}({}) begin", proc.name, list(&proc.params))?;
            for local in &proc.locals {
                writeln!(f, "  {local}")?;
            }
            if let Some(enforce) = &proc.enforce {
                writeln!(f, "  enforce {enforce};")?;
            }
            write_block(f, &proc.body, 1)?;
            writeln!(f, "end")?;
        }
        Ok(())
    }
}

fn write_block(f: &mut Formatter<'_>, block: &[Stmt], depth: usize) -> fmt::Result {
    for (position, stmt) in block.iter().enumerate() {
        // Labels may stand before what closes a block, without a statement.
        if position + 1 == block.len() && stmt.kind == Kind::Word("") && !stmt.labels.is_empty() {
            writeln!(f, "{}{}:", "  ".repeat(depth), stmt.labels.join(": "))?;
        } else {
            write_statement(f, stmt, depth)?;
        }
    }
    Ok(())
}

fn write_statement(f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    write!(f, "{indent}")?;
    stmt.labels.iter().try_for_each(|label| write!(f, "{label}: "))?;
    // An empty block is no block in some dialects.
    let inner = |f: &mut Formatter<'_>, block: &[Stmt]| match block {
        [] => writeln!(f, "{indent}  skip;"),
        _ => write_block(f, block, depth + 1),
    };
    match &stmt.kind {
        Kind::Word(word) => writeln!(f, "{word};"),
        Kind::Assign { targets, values, constrain } => {
            write!(f, "{} := {}", list(targets), list(values))?;
            constrain.iter().try_for_each(|e| write!(f, " constrain {e}"))?;
            writeln!(f, ";")
        }
        Kind::Call { start_thread, targets, callee, args } => {
            let start = if *start_thread { "start_thread " } else { "" };
            let assign = if targets.is_empty() { String::new() } else { format!("{} := ", list(targets)) };
            writeln!(f, "{start}{assign}{callee}({});", list(args))
        }
        Kind::Return(values) if values.is_empty() => writeln!(f, "return;"),
        Kind::Return(values) => writeln!(f, "return {};", list(values)),
        Kind::Condition(word, e) => writeln!(f, "{word}({e});"),
        Kind::Goto(targets) => writeln!(f, "goto {};", list(targets)),
        Kind::StartThread(target) => writeln!(f, "start_thread goto {target};"),
        Kind::If { arms, otherwise } => {
            for (i, (condition, block)) in arms.iter().enumerate() {
                let word = if i == 0 { "if".to_owned() } else { format!("{indent}elsif") };
                writeln!(f, "{word} ({condition}) then")?;
                inner(f, block)?;
            }
            if let Some(block) = otherwise {
                writeln!(f, "{indent}else")?;
                inner(f, block)?;
            }
            writeln!(f, "{indent}fi;")
        }
        Kind::While(condition, block) => {
            writeln!(f, "while ({condition}) do")?;
            inner(f, block)?;
            writeln!(f, "{indent}od;")
        }
        Kind::Atomic(block) => {
            writeln!(f, "atomic_begin;")?;
            inner(f, block)?;
            writeln!(f, "{indent}atomic_end;")
        }
        Kind::Dead(names) => writeln!(f, "dead {};", list(names)),
    }
}
