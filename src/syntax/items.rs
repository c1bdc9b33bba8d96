//! The top level of a file: declarations and the heads of procedures.

use super::ast::{Ident, Item, Procedure};
use super::blocks::{BodyEnd, Header};
use super::keyword::Keyword;
use super::lexer::TokenKind;
use super::parser::{Parser, Reported};
use crate::diagnostic::Diagnostic;

impl Parser<'_> {
    /// Reads the whole file.
    pub fn file(&mut self) {
        loop {
            self.correct_misspelling(|k| matches!(k, Keyword::Decl | Keyword::Void | Keyword::Bool));
            match self.token.kind {
                TokenKind::Eof => return,
                TokenKind::Semicolon => self.bump(),
                TokenKind::Keyword(Keyword::Decl) => self.globals(),
                TokenKind::Keyword(Keyword::Void | Keyword::Bool) => self.procedure(),
                TokenKind::Name | TokenKind::Quoted if self.header_follows() => self.procedure(),
                _ => self.stray(),
            }
        }
    }

    /// Whether the current token, a name, begins a procedure: as its name, as `dfs`, or as an unknown type.
    fn header_follows(&self) -> bool {
        match self.next.kind {
            TokenKind::LeftParen => true,
            TokenKind::Name | TokenKind::Quoted => self.is_dfs() || self.lexer.byte_ahead() == Some(b'('),
            TokenKind::Keyword(Keyword::Void | Keyword::Bool) => self.is_dfs(),
            _ => false,
        }
    }

    /// Whether the current token is the word `dfs` before a procedure. Elsewhere, `dfs` is a name.
    pub fn is_dfs(&self) -> bool {
        use TokenKind::{Keyword as Word, Name, Quoted};
        self.at(Name)
            && matches!(self.next.kind, Name | Quoted | Word(Keyword::Void | Keyword::Bool))
            && self.slice(self.token.span) == "dfs"
    }

    fn globals(&mut self) {
        let start = self.token.span;
        self.bump();
        let Ok(declared) = self.declared_list() else {
            self.skip_statement();
            return;
        };
        self.ast.items.push(Item::Globals(declared, start.to(self.previous)));
        if self.at(TokenKind::Eof) {
            self.missing("`;`");
        }
        self.end_statement();
    }

    /// Reads a procedure, and further ones if the `end` between them is missing.
    fn procedure(&mut self) {
        let header = self.header();
        self.bodies(header);
    }

    fn bodies(&mut self, mut header: Option<Header>) {
        while let Some(Header { dfs, returns, name, params, start, begin }) = header.take() {
            let (body, body_end) = self.body(begin);
            let end = match body_end {
                BodyEnd::End(end) => end,
                BodyEnd::Unclosed(following) => {
                    header = following;
                    self.after_previous()
                }
            };
            let span = start.to(end);
            self.ast.items.push(Item::Procedure(Procedure { dfs, returns, name, params, body, span, end }));
        }
    }

    /// Reads the head of a procedure, up to `begin`. Returns `None` if no body follows.
    fn header(&mut self) -> Option<Header> {
        let start = self.token.span;
        let parts = self.header_parts();
        let name_known = parts.is_ok();
        let (dfs, returns, name, params) = parts.unwrap_or_else(|Reported| {
            self.skip_to_begin();
            (false, None, Ident { name: String::new(), span: self.after_previous() }, Vec::new())
        });
        if self.at(TokenKind::Semicolon) {
            if name_known {
                let message = format!("procedure `{}` has no body", name.name);
                self.report(Diagnostic::error(name.span, message).help("write `begin ... end`"));
            }
            self.bump();
            return None;
        }
        if !self.eat(TokenKind::Keyword(Keyword::Begin)) {
            if name_known {
                self.missing("`begin` before the body of the procedure");
            }
            if self.at(TokenKind::Unknown) {
                self.skip_item();
                return None;
            }
            if matches!(self.token.kind, TokenKind::Eof | TokenKind::Keyword(Keyword::Void | Keyword::Bool)) {
                return None;
            }
        }
        Some(Header { dfs, returns, name, params, start, begin: self.previous })
    }

    fn header_parts(&mut self) -> Result<(bool, Option<u32>, Ident, Vec<Ident>), Reported> {
        let dfs = self.is_dfs();
        if dfs {
            self.bump();
        }
        let returns = self.return_type()?;
        let name = self.name("the name of a procedure")?;
        self.expect(TokenKind::LeftParen, "`(` with the parameters")?;
        let params = if self.at(TokenKind::RightParen) {
            Vec::new()
        } else {
            self.list(|parser| {
                if parser.at(TokenKind::Keyword(Keyword::Bool)) && parser.next.kind == TokenKind::Name {
                    let error = Diagnostic::error(parser.token.span, "parameters are written without a type");
                    parser.report(error);
                    parser.bump();
                }
                parser.name("a parameter")
            })?
        };
        self.expect(TokenKind::RightParen, "`,` or `)`")?;
        Ok((dfs, returns, name, params))
    }

    fn return_type(&mut self) -> Result<Option<u32>, Reported> {
        match self.token.kind {
            TokenKind::Keyword(Keyword::Void) => {
                self.bump();
                Ok(Some(0))
            }
            TokenKind::Keyword(Keyword::Bool) => {
                self.bump();
                if !self.eat(TokenKind::Less) {
                    return Ok(Some(1));
                }
                let span = self.token.span;
                let width = self.slice(span).parse::<u32>().ok().filter(|&width| width > 0);
                self.expect(TokenKind::Number, "the number of values that are returned")?;
                if width.is_none() {
                    let error =
                        Diagnostic::error(span, "a procedure returns between 1 and 4294967295 values");
                    self.report(error.help("one without a value is `void`"));
                }
                self.expect(TokenKind::Greater, "`>`")?;
                Ok(width)
            }
            TokenKind::Name if self.next.kind != TokenKind::LeftParen => {
                let error = Diagnostic::error(self.token.span, format!("unknown type {}", self.describe()));
                self.report(error.help("a procedure is `void`, `bool` or `bool<n>`"));
                self.bump();
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Handles text that is neither a declaration nor a procedure.
    fn stray(&mut self) {
        let span = self.token.span;
        if let Some(word) = self.unsupported_word() {
            self.unsupported_here(word);
            self.skip_statement();
            return;
        }
        let before_name = matches!(self.token.kind, TokenKind::Name | TokenKind::Quoted | TokenKind::Number)
            && matches!(self.next.kind, TokenKind::Colon | TokenKind::Assign | TokenKind::Comma);
        match self.token.kind {
            TokenKind::Keyword(Keyword::End) => {
                self.report(Diagnostic::error(span, "`end` without `begin`"));
            }
            TokenKind::Keyword(Keyword::Begin) => {
                self.report(Diagnostic::error(span, "`begin` without the head of a procedure"));
            }
            TokenKind::Keyword(keyword)
                if keyword.starts_statement() || keyword.closes_block() || keyword == Keyword::Constrain =>
            {
                self.report(Diagnostic::error(span, "this statement is not inside a procedure"));
            }
            _ if before_name => {
                self.report(Diagnostic::error(span, "this statement is not inside a procedure"));
            }
            TokenKind::Unknown => {}
            _ => {
                let message = format!("expected a declaration or a procedure, found {}", self.describe());
                self.report(Diagnostic::error(span, message));
            }
        }
        self.skip_item();
    }

    /// Skips to the next token that may begin an item. A body on the way is parsed to report its errors, and
    /// an `end` on the way ends the skipped part.
    fn skip_item(&mut self) {
        loop {
            match self.token.kind {
                TokenKind::Eof | TokenKind::Keyword(Keyword::Void | Keyword::Bool) => return,
                TokenKind::Keyword(Keyword::Decl) if self.token.first_on_line => return,
                TokenKind::Keyword(Keyword::End) => {
                    self.bump();
                    self.eat(TokenKind::Semicolon);
                    return;
                }
                TokenKind::Keyword(Keyword::Begin) => {
                    self.bump();
                    if let (_, BodyEnd::Unclosed(following)) = self.body(self.previous) {
                        self.bodies(following);
                    }
                    return;
                }
                _ => self.bump(),
            }
        }
    }

    /// Skips the rest of a procedure head that contains an error.
    fn skip_to_begin(&mut self) {
        loop {
            match self.token.kind {
                TokenKind::Semicolon | TokenKind::Eof | TokenKind::Keyword(Keyword::Begin) => return,
                TokenKind::Keyword(Keyword::Void | Keyword::Bool) if self.token.first_on_line => return,
                TokenKind::Keyword(k) if k.starts_statement() || k.closes_block() => return,
                _ => self.bump(),
            }
        }
    }
}
