//! The printer behind `cusp fmt`.
//!
//! Blocks are indented by two columns. Labels are written one level further left, on the line of their
//! statement. Each statement has a line of its own. There is a blank line between procedures, and where there
//! was one in the original text. Constants are written as `T` and `F`, operators as `& | !`. Parentheses are
//! kept as they were written, and added only where a tree that does not come from the parser needs them.

use super::ast::{Ast, Declared, ExprId, ExprKind, Ident, Item, Procedure, StmtId, StmtKind, Target};
use super::expression::binding;
use super::lexer::is_plain_name;
use super::output::{BlankLine, Gap, Output};
use super::readings::symbol;

/// The program as text. Parsing the text gives the same program, and printing that program gives the same
/// text. The text contains every comment of the program once.
#[must_use]
pub fn print(ast: &Ast) -> String {
    let mut printer = Printer { ast, out: Output::new(ast), pieces: Vec::new() };
    let mut previous = None;
    for item in &ast.items {
        printer.item(item, previous);
        previous = Some(item);
    }
    printer.out.comments_below(
        u32::MAX,
        0,
        if previous.is_some() { BlankLine::Keep } else { BlankLine::Drop },
    );
    printer.out.finish()
}

/// How tightly an expression binds whose outermost part is not an operator.
const ATOM: u8 = 6;

/// A part of an expression that is still to be printed.
enum Piece {
    Text(Gap, &'static str),
    /// An expression that gets parentheses unless it binds at least as tightly as this number says.
    Expr(Gap, ExprId, u8),
}

/// A block that is being printed.
struct Block<'a> {
    stmts: &'a [StmtId],
    next: usize,
    level: usize,
    /// The statement that it is part of, and the number of the part.
    owner: Option<(StmtId, usize)>,
}

struct Printer<'a> {
    ast: &'a Ast,
    out: Output<'a>,
    /// The stack of the expression printer, kept so that its memory is reused.
    pieces: Vec<Piece>,
}

impl<'a> Printer<'a> {
    fn item(&mut self, item: &'a Item, previous: Option<&Item>) {
        let is_procedure = |item: &Item| matches!(item, Item::Procedure(_));
        let start = match item {
            Item::Globals(_, span) => span.start,
            Item::Procedure(procedure) => procedure.span.start,
        };
        let blank = match previous {
            None => BlankLine::Drop,
            Some(previous) if !is_procedure(previous) && !is_procedure(item) => BlankLine::Keep,
            Some(_) if self.out.blank_on_the_way(start) => BlankLine::Keep,
            Some(_) => BlankLine::Add,
        };
        let blank = self.out.comments_below(start, 0, blank);
        self.out.blank_line(start, blank);
        self.out.begin_line(0);
        self.out.continue_at(2);
        match item {
            Item::Globals(declared, _) => {
                self.out.anchor(Gap::None, start, "decl");
                self.declared(declared);
                self.out.put(Gap::None, ";");
            }
            Item::Procedure(procedure) => self.procedure(procedure),
        }
    }

    fn procedure(&mut self, procedure: &'a Procedure) {
        let mut gap = Gap::None;
        let mut word = |out: &mut Output, text: &str| {
            out.put(gap, text);
            gap = Gap::Blank;
        };
        if procedure.dfs {
            word(&mut self.out, "dfs");
        }
        match procedure.returns {
            None => {}
            Some(0) => word(&mut self.out, "void"),
            Some(1) => word(&mut self.out, "bool"),
            Some(width) => word(&mut self.out, &format!("bool<{width}>")),
        }
        self.name(gap, &procedure.name);
        self.out.put(Gap::None, "(");
        self.separated(&procedure.params, Gap::None, Self::name);
        self.out.put(Gap::None, ")");
        self.out.put(Gap::Blank, "begin");
        self.body(&procedure.body);
        let blank = if procedure.body.is_empty() { BlankLine::Drop } else { BlankLine::Keep };
        self.closing_line(procedure.end.start, 0, blank, "end");
    }

    /// Prints `end`, `fi` and the like, at the indentation of the word that opened the block.
    fn closing_line(&mut self, at: u32, level: usize, blank: BlankLine, word: &str) {
        self.out.comments_below(at, level + 1, blank);
        self.out.begin_line(level);
        self.out.put(Gap::None, word);
    }

    fn body(&mut self, stmts: &'a [StmtId]) {
        let ast = self.ast;
        let mut blocks = vec![Block { stmts, next: 0, level: 1, owner: None }];
        while let Some(block) = blocks.last_mut() {
            let level = block.level;
            if let Some(&id) = block.stmts.get(block.next) {
                block.next += 1;
                let blank = if block.next == 1 { BlankLine::Drop } else { BlankLine::Keep };
                let last = block.next == block.stmts.len();
                self.statement(id, level, blank, last);
                let first = match &ast.stmt(id).kind {
                    StmtKind::If { arms, .. } => arms.first().map(|(_, block)| block),
                    StmtKind::While(_, block) => Some(block),
                    _ => None,
                };
                if let Some(stmts) = first {
                    blocks.push(Block { stmts, next: 0, level: level + 1, owner: Some((id, 0)) });
                }
                continue;
            }
            let blank = if block.stmts.is_empty() { BlankLine::Drop } else { BlankLine::Keep };
            let owner = block.owner;
            blocks.pop();
            if let Some((id, part)) = owner
                && let Some(stmts) = self.next_part(id, part, level - 1, blank)
            {
                blocks.push(Block { stmts, next: 0, level, owner: Some((id, part + 1)) });
            }
        }
    }

    /// Ends one part of an `if` or `while`, and begins the next one if there is one.
    fn next_part(&mut self, id: StmtId, part: usize, level: usize, blank: BlankLine) -> Option<&'a [StmtId]> {
        let ast = self.ast;
        let at = self.keyword_place(id, part);
        let StmtKind::If { arms, otherwise } = &ast.stmt(id).kind else {
            self.closing_line(at, level, blank, "od;");
            return None;
        };
        if let Some((condition, block)) = arms.get(part + 1) {
            self.closing_line(at, level, blank, "elsif");
            self.out.continue_at(level + 2);
            self.expr(Gap::Blank, *condition);
            self.out.put(Gap::Blank, "then");
            return Some(block);
        }
        if let Some(block) = otherwise
            && part + 1 == arms.len()
        {
            self.closing_line(at, level, blank, "else");
            return Some(block);
        }
        self.closing_line(at, level, blank, "fi;");
        None
    }

    /// The offset, in the original text, of the word after a part of a block.
    fn keyword_place(&self, id: StmtId, part: usize) -> u32 {
        let keywords = &self.ast.layout.keywords;
        let first = keywords.partition_point(|&(owner, _)| owner < id);
        keywords.get(first + part).filter(|&&(owner, _)| owner == id).map_or(0, |&(_, at)| at)
    }

    /// Prints a statement with its labels. For `if` and `while`, only the part up to `then` or `do`.
    fn statement(&mut self, id: StmtId, level: usize, blank: BlankLine, last: bool) {
        let stmt = self.ast.stmt(id);
        let start = stmt.labels.first().map_or(stmt.span.start, |label| label.span.start);
        let blank = self.out.comments_below(start, level, blank);
        self.out.blank_line(start, blank);
        self.out.begin_line(if stmt.labels.is_empty() { level } else { level - 1 });
        self.out.continue_at(level);
        let mut gap = Gap::None;
        for label in &stmt.labels {
            self.label(gap, label);
            self.out.put(Gap::None, ":");
            gap = Gap::Blank;
        }
        if stmt.kind == StmtKind::Empty && last && !stmt.labels.is_empty() {
            return;
        }
        self.kind(gap, id, level);
        if !matches!(stmt.kind, StmtKind::If { .. } | StmtKind::While(..)) {
            self.out.put(Gap::None, ";");
        }
    }

    fn kind(&mut self, gap: Gap, id: StmtId, level: usize) {
        let stmt = self.ast.stmt(id);
        let word = match &stmt.kind {
            StmtKind::Empty | StmtKind::Assign { .. } | StmtKind::Call { .. } => "",
            StmtKind::Decl(_) => "decl",
            StmtKind::Enforce(_) => "enforce",
            StmtKind::Skip => "skip",
            StmtKind::Goto(_) => "goto",
            StmtKind::Return(_) => "return",
            StmtKind::Assume(_) => "assume",
            StmtKind::Assert(_) => "assert",
            StmtKind::AbortIf(_) => "abortif",
            StmtKind::Constrain(_) => "constrain",
            StmtKind::If { .. } => "if",
            StmtKind::While(..) => "while",
            StmtKind::Dead(_) => "dead",
            StmtKind::Print(_) => "print",
            StmtKind::StartThreadAt { .. } | StmtKind::StartThreadCall { .. } => "start_thread",
            StmtKind::EndThread => "end_thread",
            StmtKind::AtomicBegin => "atomic_begin",
            StmtKind::AtomicEnd => "atomic_end",
            StmtKind::Error => "<error>",
        };
        self.out.anchor(gap, stmt.span.start, word);
        self.out.continue_at(level + 2);
        match &stmt.kind {
            StmtKind::Empty
            | StmtKind::Skip
            | StmtKind::EndThread
            | StmtKind::AtomicBegin
            | StmtKind::AtomicEnd
            | StmtKind::Error => {}
            StmtKind::Decl(declared) => self.declared(declared),
            StmtKind::Goto(labels) => {
                self.separated(labels, Gap::Blank, Self::label);
            }
            StmtKind::Dead(names) => {
                self.separated(names, Gap::Blank, Self::name);
            }
            StmtKind::Enforce(e) | StmtKind::AbortIf(e) => self.expr(Gap::Blank, *e),
            StmtKind::Assume(e) | StmtKind::Assert(e) | StmtKind::Constrain(e) => self.exprs_in_parens(&[*e]),
            StmtKind::Print(values) => self.exprs_in_parens(values),
            StmtKind::Return(values) => self.exprs(Gap::Blank, values),
            StmtKind::Assign { targets, values, constrain } => {
                self.targets(targets);
                self.exprs(Gap::Break, values);
                if let Some(condition) = constrain {
                    self.out.put(Gap::Break, "constrain");
                    self.expr(Gap::Break, *condition);
                }
            }
            StmtKind::Call { targets, callee, args } => {
                let gap = if targets.is_empty() { Gap::None } else { Gap::Break };
                self.targets(targets);
                self.name(gap, callee);
                self.exprs_in_parens(args);
            }
            StmtKind::If { arms, .. } => {
                if let Some((condition, _)) = arms.first() {
                    self.expr(Gap::Blank, *condition);
                }
                self.out.put(Gap::Blank, "then");
            }
            StmtKind::While(condition, _) => {
                self.expr(Gap::Blank, *condition);
                self.out.put(Gap::Blank, "do");
            }
            StmtKind::StartThreadAt { goto, label } => {
                if *goto {
                    self.out.put(Gap::Blank, "goto");
                }
                self.label(Gap::Blank, label);
            }
            StmtKind::StartThreadCall { callee, args } => {
                self.name(Gap::Blank, callee);
                self.exprs_in_parens(args);
            }
        }
    }

    /// Prints things separated by commas.
    fn separated<T>(&mut self, list: &[T], mut gap: Gap, mut element: impl FnMut(&mut Self, Gap, &T)) {
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.out.put(Gap::None, ",");
                gap = Gap::Break;
            }
            element(self, gap, item);
        }
    }

    fn declared(&mut self, list: &[Declared]) {
        self.separated(list, Gap::Blank, |printer, gap, declared| {
            printer.name(gap, &declared.name);
            if let Some(value) = declared.value {
                printer.out.put(Gap::Blank, ":=");
                printer.expr(Gap::Blank, value);
            }
        });
    }

    /// Prints the left side of an assignment and `:=`, or nothing if there are no targets.
    fn targets(&mut self, targets: &[Target]) {
        self.separated(targets, Gap::None, |printer, gap, target| match target {
            Target::Name(name) => printer.name(gap, name),
            Target::Drop(span) => printer.out.anchor(gap, span.start, "_"),
        });
        if !targets.is_empty() {
            self.out.put(Gap::Blank, ":=");
        }
    }

    fn name(&mut self, gap: Gap, ident: &Ident) {
        if is_plain_name(&ident.name) {
            self.out.anchor(gap, ident.span.start, &ident.name);
        } else {
            self.out.anchor(gap, ident.span.start, &format!("{{{}}}", ident.name));
        }
    }

    /// Prints a label, which may be a number.
    fn label(&mut self, gap: Gap, label: &Ident) {
        if !label.name.is_empty() && label.name.bytes().all(|b| b.is_ascii_digit()) {
            self.out.anchor(gap, label.span.start, &label.name);
        } else {
            self.name(gap, label);
        }
    }

    fn exprs(&mut self, gap: Gap, list: &[ExprId]) {
        self.separated(list, gap, |printer, gap, &id| printer.expr(gap, id));
    }

    fn exprs_in_parens(&mut self, list: &[ExprId]) {
        self.out.put(Gap::None, "(");
        self.exprs(Gap::None, list);
        self.out.put(Gap::None, ")");
    }

    fn expr(&mut self, gap: Gap, id: ExprId) {
        self.pieces.push(Piece::Expr(gap, id, 0));
        while let Some(piece) = self.pieces.pop() {
            match piece {
                Piece::Text(gap, text) => self.out.put(gap, text),
                Piece::Expr(gap, id, least) => self.expr_piece(gap, id, least),
            }
        }
    }

    /// Prints the first word of an expression and pushes the rest on the stack.
    fn expr_piece(&mut self, gap: Gap, id: ExprId, least: u8) {
        let ast = self.ast;
        let expr = ast.expr(id);
        let at = expr.span.start;
        let strength = match expr.kind {
            ExprKind::Ite(..) => 0,
            ExprKind::Binary(op, ..) => binding(op, ast.dialect).power,
            _ => ATOM,
        };
        if strength < least {
            self.out.put(gap, "(");
            self.pieces.extend([Piece::Text(Gap::None, ")"), Piece::Expr(Gap::None, id, 0)]);
            return;
        }
        match &expr.kind {
            ExprKind::Const(true) => self.out.anchor(gap, at, "T"),
            ExprKind::Const(false) => self.out.anchor(gap, at, "F"),
            ExprKind::Choice => self.out.anchor(gap, at, "*"),
            ExprKind::Error => self.out.anchor(gap, at, "<error>"),
            ExprKind::Name { name, primed } => {
                let prime = if *primed { "'" } else { "" };
                if !is_plain_name(name) {
                    self.out.anchor(gap, at, &format!("{prime}{{{name}}}"));
                } else if *primed {
                    self.out.anchor(gap, at, &format!("'{name}"));
                } else {
                    self.out.anchor(gap, at, name);
                }
            }
            ExprKind::Not(inner) => {
                self.out.anchor(gap, at, "!");
                self.pieces.push(Piece::Expr(Gap::None, *inner, ATOM));
            }
            ExprKind::Paren(inner) => {
                self.out.anchor(gap, at, "(");
                self.pieces.extend([Piece::Text(Gap::None, ")"), Piece::Expr(Gap::None, *inner, 0)]);
            }
            ExprKind::Schoose(first, second) => {
                self.out.anchor(gap, at, "schoose[");
                self.pieces.extend([
                    Piece::Text(Gap::None, "]"),
                    Piece::Expr(Gap::Break, *second, 0),
                    Piece::Text(Gap::None, ","),
                    Piece::Expr(Gap::None, *first, 0),
                ]);
            }
            ExprKind::Binary(op, left, right) => {
                let own = binding(*op, ast.dialect);
                // On the side on which the operator does not associate, an operand with the same precedence
                // needs parentheses.
                let (left_least, right_least) =
                    if own.right { (own.power + 1, own.power) } else { (own.power, own.power + 1) };
                self.pieces.extend([
                    Piece::Expr(Gap::Break, *right, right_least),
                    Piece::Text(Gap::Blank, symbol(*op)),
                    Piece::Expr(gap, *left, left_least),
                ]);
            }
            ExprKind::Ite(condition, yes, no) => self.pieces.extend([
                Piece::Expr(Gap::Break, *no, 0),
                Piece::Text(Gap::Blank, ":"),
                Piece::Expr(Gap::Break, *yes, 0),
                Piece::Text(Gap::Blank, "?"),
                Piece::Expr(gap, *condition, 1),
            ]),
        }
    }
}
