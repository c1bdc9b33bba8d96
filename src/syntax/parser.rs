//! The parser: current token, error recovery, and functions that all parts of the grammar use.
//!
//! Recovery: an error is reported where it is found and carried as [`Reported`] to the nearest
//! statement or item, which skips to the next one and continues there. Nothing else is reported on the
//! way, so that one mistake causes one error. Mistakes with a likely repair (a missing `;`,
//! a misspelt or reserved word, a closing word of the wrong kind) are repaired instead.
//!
//! Nothing recurses on the nesting of the program: blocks and expressions use explicit stacks.

use super::ast::{Ast, Declared, Dialect, Expr, ExprId, ExprKind, Ident, Item, Stmt, StmtId};
use super::expression::Operator;
use super::keyword::Keyword;
use super::lexer::{Lexer, Token, TokenKind, shortened};
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

/// Parses a program. The tree is complete only if there is no error among the diagnostics, which are in the
/// order of the text.
#[must_use]
pub fn parse(source: &Source, dialect: Dialect) -> (Ast, Vec<Diagnostic>) {
    parse_unless(source, dialect, &|| false)
}

/// Like [`parse`], but ends when `stop` says so. The result is then only good for saying so.
#[must_use]
pub fn parse_unless(source: &Source, dialect: Dialect, stop: &dyn Fn() -> bool) -> (Ast, Vec<Diagnostic>) {
    let mut parser = Parser::new(source.text(), dialect, stop);
    parser.file();
    parser.finish()
}

/// Says that an error has been reported already, so that callers do not report another one.
pub(super) struct Reported;

/// Words that begin statements in other tools. Here they may be used as names.
const UNSUPPORTED: [&str; 5] = ["sync", "thread_local", "wait", "signal", "broadcast"];

/// The state of the parser.
pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub lexer: Lexer<'a>,
    /// The current token.
    pub token: Token,
    /// The token after the current one.
    pub next: Token,
    /// The span of the last token that was consumed.
    pub previous: Span,
    pub ast: Ast,
    /// The stacks of the expression parser, kept so that their memory is reused.
    pub operators: Vec<Operator>,
    pub operands: Vec<ExprId>,
    /// Calls of procedures that have the name of an unsupported statement.
    pub unsupported_calls: Vec<Ident>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, dialect: Dialect, stop: &'a dyn Fn() -> bool) -> Self {
        let mut lexer = Lexer::new(text, stop);
        let token = lexer.next();
        let next = lexer.next();
        let ast = Ast { dialect, ..Ast::default() };
        Self {
            text,
            lexer,
            token,
            next,
            previous: Span::default(),
            ast,
            operators: Vec::new(),
            operands: Vec::new(),
            unsupported_calls: Vec::new(),
        }
    }

    fn finish(mut self) -> (Ast, Vec<Diagnostic>) {
        let calls = std::mem::take(&mut self.unsupported_calls);
        for word in UNSUPPORTED {
            let defined = |item: &Item| matches!(item, Item::Procedure(p) if p.name.name == word);
            if calls.iter().any(|call| call.name == word) && !self.ast.items.iter().any(defined) {
                for call in calls.iter().filter(|call| call.name == word) {
                    self.report(unsupported(word, call.span));
                }
            }
        }
        self.ast.comments = self.lexer.comments;
        self.ast.layout.after_blank = self.lexer.layout.after_blank;
        (self.ast, self.lexer.findings.into_sorted())
    }

    /// Advances by one token.
    pub fn bump(&mut self) {
        self.previous = self.token.span;
        self.token = self.next;
        self.next = self.lexer.next();
    }

    /// Whether the current token is of this kind.
    pub fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    /// Consumes the current token if it is of this kind. Returns whether it was.
    pub fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// The current token, if it is a reserved word.
    pub fn keyword(&self) -> Option<Keyword> {
        match self.token.kind {
            TokenKind::Keyword(keyword) => Some(keyword),
            _ => None,
        }
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The empty span after the last consumed token.
    pub fn after_previous(&self) -> Span {
        Span { start: self.previous.end, end: self.previous.end }
    }

    /// Records a finding.
    pub fn report(&mut self, finding: Diagnostic) {
        self.lexer.findings.push(finding);
    }

    /// Reports that the current token is not what is `expected`.
    pub fn unexpected(&mut self, expected: &str) -> Reported {
        self.unexpected_at(self.blamed(), expected)
    }

    /// Reports, at the given span, that the current token is not what is `expected`.
    pub fn unexpected_at(&mut self, span: Span, expected: &str) -> Reported {
        if !self.already_reported() {
            let message = format!("expected {expected}, found {}", self.describe());
            self.report(Diagnostic::error(span, message));
        }
        Reported
    }

    /// The span for an error about the current token. If that token is on a new line, it has nothing to do
    /// with what is missing, so the error points after the last consumed token.
    pub fn blamed(&self) -> Span {
        if self.token.first_on_line { self.after_previous() } else { self.token.span }
    }

    /// Whether the lexer has reported an error about the current token.
    pub fn already_reported(&self) -> bool {
        match self.token.kind {
            TokenKind::Unknown => true,
            TokenKind::Eof => self.lexer.truncated,
            TokenKind::Equal => self.slice(self.token.span) != "=",
            TokenKind::Implies => self.slice(self.token.span) != "=>",
            _ => false,
        }
    }

    /// Reports that something is missing after the last consumed token.
    pub fn missing(&mut self, what: &str) {
        if !self.already_reported() {
            self.report(Diagnostic::error(self.after_previous(), format!("expected {what}")));
        }
    }

    /// Consumes a required token, or reports that it is missing.
    pub fn expect(&mut self, kind: TokenKind, expected: &str) -> Result<(), Reported> {
        if self.eat(kind) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// A description of the current token for messages.
    pub fn describe(&self) -> String {
        match self.token.kind {
            TokenKind::Eof => "the end of the file".to_owned(),
            TokenKind::Keyword(keyword) => format!("the keyword `{}`", keyword.word()),
            _ => format!("`{}`", shortened(self.slice(self.token.span), 40)),
        }
    }

    /// The current token, if it is a word that begins a statement in other tools.
    pub fn unsupported_word(&self) -> Option<&'a str> {
        let word = self.slice(self.token.span);
        (self.at(TokenKind::Name) && UNSUPPORTED.contains(&word)).then_some(word)
    }

    /// Remembers a call whose name may be meant as an unsupported statement.
    pub fn note_call(&mut self, callee: &Ident) {
        if UNSUPPORTED.contains(&callee.name.as_str()) {
            self.unsupported_calls.push(callee.clone());
        }
    }

    /// Reports an unsupported statement that begins at the current token.
    pub fn unsupported_here(&mut self, word: &str) -> Reported {
        self.report(unsupported(word, self.token.span));
        self.bump();
        Reported
    }

    /// Consumes the current token, which is a name, and returns it.
    fn take_name(&mut self) -> Ident {
        let span = self.token.span;
        let quote = u32::from(self.at(TokenKind::Quoted));
        let name = self.slice(Span { start: span.start + quote, end: span.end - quote }).to_owned();
        self.bump();
        Ident { name, span }
    }

    /// Reads the name of a variable or procedure.
    pub fn name(&mut self, what: &str) -> Result<Ident, Reported> {
        match self.token.kind {
            TokenKind::Name if self.slice(self.token.span) == "_" => {
                let error = Diagnostic::error(self.token.span, format!("`_` is not {what}"));
                self.report(error.help("`_` drops a value on the left of `:=`"));
                Ok(self.take_name())
            }
            TokenKind::Name | TokenKind::Quoted => Ok(self.take_name()),
            TokenKind::Keyword(keyword) if !self.token.first_on_line && self.next_ends_a_name() => {
                Ok(self.reserved(keyword, what))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Reads a label in a jump.
    pub fn label(&mut self) -> Result<Ident, Reported> {
        if self.at(TokenKind::Number) { Ok(self.take_name()) } else { self.name("a label") }
    }

    /// Accepts a reserved word as a name, and reports an error.
    pub fn reserved(&mut self, keyword: Keyword, what: &str) -> Ident {
        let word = keyword.word();
        let kind = if matches!(keyword, Keyword::True | Keyword::False) { "constant" } else { "keyword" };
        let message = format!("`{word}` is a {kind} and cannot be {what}");
        let help = format!("choose another name, or quote it: `{{{word}}}`");
        self.report(Diagnostic::error(self.token.span, message).help(help));
        self.take_name()
    }

    fn next_ends_a_name(&self) -> bool {
        use TokenKind::{Assign, Colon, Comma, LeftParen, RightParen, Semicolon};
        matches!(self.next.kind, Assign | Colon | Comma | LeftParen | RightParen | Semicolon)
    }

    /// Reads one or more things that are separated by commas.
    pub fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Reported>,
    ) -> Result<Vec<T>, Reported> {
        let mut elements = vec![element(self)?];
        while self.eat(TokenKind::Comma) {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// Adds an expression to the tree.
    pub fn push_expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId::from_index(self.ast.exprs.len());
        self.ast.exprs.push(Expr { kind, span });
        id
    }

    /// Adds a statement to the tree.
    pub fn push_stmt(&mut self, stmt: Stmt) -> StmtId {
        let id = StmtId::from_index(self.ast.stmts.len());
        self.ast.stmts.push(stmt);
        id
    }

    /// Reads `a, b := e` after `decl`.
    pub fn declared_list(&mut self) -> Result<Vec<Declared>, Reported> {
        if let Some(word) = self.unsupported_word()
            && !self.next_ends_a_name()
        {
            return Err(self.unsupported_here(word));
        }
        self.list(|parser| {
            let name = parser.name("a variable")?;
            let value = if parser.eat(TokenKind::Assign) { Some(parser.expression()?) } else { None };
            Ok(Declared { name, value })
        })
    }
}

fn unsupported(word: &str, span: Span) -> Diagnostic {
    let message = format!("the statement `{word}` of other tools is not supported");
    let help = format!("a variable, label or procedure may be called `{word}`");
    Diagnostic::error(span, message).help(help)
}
