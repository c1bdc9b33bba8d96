//! The parts around statements: labels, `;`, conditions, and skipping to the next statement after an error.

use super::ast::{ExprId, ExprKind, Ident};
use super::keyword::Keyword;
use super::lexer::TokenKind;
use super::parser::{Parser, Reported};
use crate::diagnostic::Diagnostic;

impl Parser<'_> {
    /// Reads the labels before a statement.
    pub fn labels(&mut self) -> Vec<Ident> {
        let mut labels = Vec::new();
        while self.next.kind == TokenKind::Colon {
            match self.token.kind {
                TokenKind::Name | TokenKind::Quoted | TokenKind::Number => {}
                // In `else:` and the like the colon is wrong, and the parser for statements reports it.
                TokenKind::Keyword(k) if !k.closes_block() && k != Keyword::Then && k != Keyword::Do => {}
                _ => break,
            }
            let label = match self.keyword() {
                Some(keyword) => Ok(self.reserved(keyword, "a label")),
                None => self.label(),
            };
            labels.extend(label.ok());
            self.bump();
        }
        labels
    }

    /// If the current token is a name that cannot begin a statement, replaces it by the keyword that it is
    /// similar to.
    pub fn correct_misspelling(&mut self, wanted: impl Fn(Keyword) -> bool) {
        use TokenKind::{Assign, Colon, Comma, Equal, LeftParen, Name};
        if !self.at(Name)
            || matches!(self.next.kind, Assign | Colon | Comma | Equal | LeftParen)
            || self.unsupported_word().is_some()
            || self.is_dfs()
        {
            return;
        }
        let word = self.slice(self.token.span);
        if let Some(keyword) = Keyword::similar(word, wanted) {
            let message = format!("unknown word `{word}`");
            let help = format!("did you mean `{}`?", keyword.word());
            self.report(Diagnostic::error(self.token.span, message).help(help));
            self.token.kind = TokenKind::Keyword(keyword);
        }
    }

    /// Whether the head of another procedure begins here.
    pub fn procedure_begins(&self) -> bool {
        match self.token.kind {
            TokenKind::Keyword(Keyword::Void) => true,
            TokenKind::Keyword(Keyword::Bool) => match self.next.kind {
                TokenKind::Less => true,
                _ => self.lexer.byte_ahead() == Some(b'('),
            },
            _ => self.is_dfs(),
        }
    }

    /// Consumes the `;` after a statement, or reports that it is missing if it is required here.
    pub fn end_statement(&mut self) {
        if self.eat(TokenKind::Semicolon) {
            return;
        }
        let keyword = self.keyword();
        if self.at(TokenKind::Eof) || keyword.is_some_and(Keyword::closes_block) {
            return;
        }
        let starts =
            keyword.is_some_and(|k| k.starts_statement() || matches!(k, Keyword::Void | Keyword::Bool));
        if self.token.first_on_line || starts {
            self.missing("`;`");
            return;
        }
        if self.at(TokenKind::RightParen) {
            self.report(Diagnostic::error(self.token.span, "`)` without `(`"));
        } else {
            self.unexpected("`;`");
        }
        self.skip_statement();
    }

    /// Skips to the next statement.
    pub fn skip_statement(&mut self) {
        loop {
            let found = self.at(TokenKind::Eof)
                || self.keyword().is_some_and(|k| k.starts_statement() || k.closes_block())
                || self.procedure_begins()
                || self.token.first_on_line && self.name_begins_statement();
            if found || self.eat(TokenKind::Semicolon) {
                return;
            }
            self.bump();
        }
    }

    /// Whether the current token is a name that begins a statement.
    fn name_begins_statement(&self) -> bool {
        use TokenKind::{Assign, Colon, Comma, LeftParen, Name, Number, Quoted};
        matches!(self.token.kind, Name | Quoted | Number)
            && matches!(self.next.kind, Assign | Colon | Comma | LeftParen)
    }

    /// Reads a condition and the word after it.
    pub fn condition(&mut self, word: Keyword, of: &str) -> ExprId {
        let start = self.token.span;
        let closing = TokenKind::Keyword(word);
        let result = self.expression();
        if result.is_err() {
            self.skip_condition(closing);
        } else if !self.at(closing) {
            self.repair_condition(word, of);
        }
        self.eat(closing);
        result.unwrap_or_else(|Reported| self.push_expr(ExprKind::Error, start.to(self.previous)))
    }

    /// Reports that `then` or `do` is missing, and skips to the position where it was probably meant to be.
    fn repair_condition(&mut self, word: Keyword, of: &str) {
        let expected = format!("`{}` after the condition of `{of}`", word.word());
        let closing = TokenKind::Keyword(word);
        let meant = match self.token.kind {
            TokenKind::Name => Keyword::similar(self.slice(self.token.span), |k| k == word).is_some(),
            kind => matches!(kind, TokenKind::Keyword(Keyword::Then | Keyword::Do)),
        };
        if meant {
            self.unexpected(&expected);
            self.token.kind = closing;
        } else if self.keyword().is_some() || self.name_begins_statement() {
            // The statement that begins here is correct.
            self.missing(&expected);
        } else {
            self.unexpected(&expected);
            self.skip_condition(closing);
        }
    }

    /// Skips the rest of a condition that contains an error.
    fn skip_condition(&mut self, closing: TokenKind) {
        loop {
            let found = self.at(closing)
                || self.at(TokenKind::Eof)
                || self.keyword().is_some_and(|k| k.starts_statement() || k.closes_block());
            if found || self.eat(TokenKind::Semicolon) {
                return;
            }
            self.bump();
        }
    }
}
