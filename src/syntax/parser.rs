//! Tokens to tree: the cursor, what to do about errors, and what all parts of the grammar share.
//!
//! Recovery: an error is reported where it is found and carried as [`Reported`] to the nearest
//! statement or item, which skips to the next one and goes on. Nothing else is reported on the
//! way, so that one mistake gives one error. Mistakes with a likely repair (a missing `;`,
//! a misspelt or reserved word, a closing word of the wrong kind) are repaired instead.
//!
//! Nothing recurses on the nesting of the program: blocks and expressions keep their own stacks.

use super::ast::{Ast, Declared, Dialect, Expr, ExprId, ExprKind, Ident, Item, Stmt, StmtId};
use super::expression::Operator;
use super::keyword::Keyword;
use super::lexer::{Lexer, Token, TokenKind, shortened};
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

/// Reads a program. The tree is complete only if no error is among the diagnostics;
/// they come in the order of the text.
#[must_use]
pub fn parse(source: &Source, dialect: Dialect) -> (Ast, Vec<Diagnostic>) {
    let mut parser = Parser::new(source.text(), dialect);
    parser.file();
    parser.finish()
}

/// An error was reported; nothing more is to be said about this place.
pub(super) struct Reported;

/// Words of other tools' grammars. They are names wherever they are used as names.
const UNSUPPORTED: [&str; 5] = ["sync", "thread_local", "wait", "signal", "broadcast"];

/// The state of one run.
pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub lexer: Lexer<'a>,
    /// The token to look at.
    pub token: Token,
    /// The one after it.
    pub next: Token,
    /// The place of the last token consumed.
    pub previous: Span,
    pub ast: Ast,
    /// The stacks of the expression parser, kept to be used again.
    pub operators: Vec<Operator>,
    pub operands: Vec<ExprId>,
    /// Calls of procedures with the name of an unsupported statement.
    pub unsupported_calls: Vec<Ident>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, dialect: Dialect) -> Self {
        let mut lexer = Lexer::new(text);
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

    /// Moves on by one token.
    pub fn bump(&mut self) {
        self.previous = self.token.span;
        self.token = self.next;
        self.next = self.lexer.next();
    }

    /// Whether the current token is this one.
    pub fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    /// Consumes the current token if it is this one.
    pub fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// The reserved word at hand.
    pub fn keyword(&self) -> Option<Keyword> {
        match self.token.kind {
            TokenKind::Keyword(keyword) => Some(keyword),
            _ => None,
        }
    }

    /// The text of a stretch.
    pub fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The place just after the last token.
    pub fn after_previous(&self) -> Span {
        Span { start: self.previous.end, end: self.previous.end }
    }

    /// Records a finding.
    pub fn report(&mut self, finding: Diagnostic) {
        self.lexer.findings.push(finding);
    }

    /// Reports the current token as not being what is `expected`.
    pub fn unexpected(&mut self, expected: &str) -> Reported {
        self.unexpected_at(self.blamed(), expected)
    }

    /// Reports the current token as not being what is `expected`, at a place of the caller's choice.
    pub fn unexpected_at(&mut self, span: Span, expected: &str) -> Reported {
        if !self.already_reported() {
            let message = format!("expected {expected}, found {}", self.describe());
            self.report(Diagnostic::error(span, message));
        }
        Reported
    }

    /// The current token if it goes on with the line. On another line it has nothing to do with
    /// what is missing, and that is missing after the last token.
    pub fn blamed(&self) -> Span {
        if self.token.first_on_line { self.after_previous() } else { self.token.span }
    }

    /// Whether the lexer has said what is wrong with the current token.
    pub fn already_reported(&self) -> bool {
        match self.token.kind {
            TokenKind::Unknown => true,
            TokenKind::Eof => self.lexer.truncated,
            TokenKind::Equal => self.slice(self.token.span) != "=",
            TokenKind::Implies => self.slice(self.token.span) != "=>",
            _ => false,
        }
    }

    /// Reports that something is missing after the last token.
    pub fn missing(&mut self, what: &str) {
        if !self.already_reported() {
            self.report(Diagnostic::error(self.after_previous(), format!("expected {what}")));
        }
    }

    /// Consumes a token that must be there.
    pub fn expect(&mut self, kind: TokenKind, expected: &str) -> Result<(), Reported> {
        if self.eat(kind) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// The current token as a message names it.
    pub fn describe(&self) -> String {
        match self.token.kind {
            TokenKind::Eof => "the end of the file".to_owned(),
            TokenKind::Keyword(keyword) => format!("the keyword `{}`", keyword.word()),
            _ => format!("`{}`", shortened(self.slice(self.token.span), 40)),
        }
    }

    /// The word at hand if it is one of those that other tools reserve.
    pub fn unsupported_word(&self) -> Option<&'a str> {
        let word = self.slice(self.token.span);
        (self.at(TokenKind::Name) && UNSUPPORTED.contains(&word)).then_some(word)
    }

    /// Remembers a call if its name may be meant as a statement we do not have.
    pub fn note_call(&mut self, callee: &Ident) {
        if UNSUPPORTED.contains(&callee.name.as_str()) {
            self.unsupported_calls.push(callee.clone());
        }
    }

    /// Reports an unsupported statement, which begins here.
    pub fn unsupported_here(&mut self, word: &str) -> Reported {
        self.report(unsupported(word, self.token.span));
        self.bump();
        Reported
    }

    /// The name at hand, consumed.
    fn take_name(&mut self) -> Ident {
        let span = self.token.span;
        let quote = u32::from(self.at(TokenKind::Quoted));
        let name = self.slice(Span { start: span.start + quote, end: span.end - quote }).to_owned();
        self.bump();
        Ident { name, span }
    }

    /// A name of a variable or procedure.
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

    /// A label where one is used.
    pub fn label(&mut self) -> Result<Ident, Reported> {
        if self.at(TokenKind::Number) { Ok(self.take_name()) } else { self.name("a label") }
    }

    /// Takes a reserved word for a name, with an error.
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

    /// One or more things between commas.
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

    /// Adds an expression.
    pub fn push_expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId::from_index(self.ast.exprs.len());
        self.ast.exprs.push(Expr { kind, span });
        id
    }

    /// Adds a statement.
    pub fn push_stmt(&mut self, stmt: Stmt) -> StmtId {
        let id = StmtId::from_index(self.ast.stmts.len());
        self.ast.stmts.push(stmt);
        id
    }

    /// `a, b := e`, after `decl`.
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
