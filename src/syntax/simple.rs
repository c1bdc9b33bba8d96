//! Statements without blocks.

use super::ast::{ExprId, ExprKind, Ident, StmtKind, Target};
use super::keyword::Keyword;
use super::lexer::TokenKind;
use super::parser::{Parser, Reported};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Parser<'_> {
    /// Reads a statement without a block, up to its `;`. If the statement is only a `;`, that is consumed.
    pub fn simple_statement(&mut self) -> Result<StmtKind, Reported> {
        match self.token.kind {
            TokenKind::Semicolon => {
                self.bump();
                Ok(StmtKind::Empty)
            }
            TokenKind::Name | TokenKind::Quoted => self.assignment_or_call(),
            TokenKind::Keyword(_) if self.next.kind == TokenKind::Assign => self.assignment_or_call(),
            TokenKind::Keyword(keyword) => self.keyword_statement(keyword),
            TokenKind::Number if self.next.kind == TokenKind::Assign => {
                let message = format!("{} is a number and cannot be assigned to", self.describe());
                self.report(Diagnostic::error(self.token.span, message));
                Err(Reported)
            }
            _ => Err(self.unexpected_at(self.token.span, "a statement")),
        }
    }

    fn keyword_statement(&mut self, keyword: Keyword) -> Result<StmtKind, Reported> {
        let span = self.token.span;
        let kind = match keyword {
            Keyword::Skip => StmtKind::Skip,
            Keyword::EndThread | Keyword::ThreadEnd => StmtKind::EndThread,
            Keyword::AtomicBegin => StmtKind::AtomicBegin,
            Keyword::AtomicEnd => StmtKind::AtomicEnd,
            _ => StmtKind::Error,
        };
        if kind != StmtKind::Error {
            self.bump();
            return Ok(kind);
        }
        if keyword == Keyword::Bool {
            let error = Diagnostic::error(span, "variables are declared without a type");
            self.report(error.help("write `decl`"));
            self.bump();
            return Err(Reported);
        }
        if !keyword.starts_statement() && keyword != Keyword::Constrain {
            let error = self.unexpected_at(span, "a statement");
            self.bump();
            return Err(error);
        }
        self.bump();
        match keyword {
            Keyword::Decl => self.declared_list().map(StmtKind::Decl),
            Keyword::Enforce => self.expression().map(StmtKind::Enforce),
            Keyword::Goto => self.list(Self::label).map(StmtKind::Goto),
            Keyword::Return if self.nothing_is_returned() => Ok(StmtKind::Return(Vec::new())),
            Keyword::Return => self.list(Self::expression).map(StmtKind::Return),
            Keyword::Assume => self.argument().map(StmtKind::Assume),
            Keyword::Assert => self.argument().map(StmtKind::Assert),
            Keyword::Constrain => self.argument().map(StmtKind::Constrain),
            Keyword::Abortif => self.expression().map(StmtKind::AbortIf),
            Keyword::Dead => self.list(|parser| parser.name("a variable")).map(StmtKind::Dead),
            Keyword::Print if self.at(TokenKind::LeftParen) => self.arguments().map(StmtKind::Print),
            Keyword::Print => self.list(Self::expression).map(StmtKind::Print),
            _ => self.start_thread(),
        }
    }

    /// Whether `return` has no values.
    fn nothing_is_returned(&self) -> bool {
        match self.token.kind {
            TokenKind::Semicolon | TokenKind::Eof => true,
            TokenKind::Keyword(k) => k.closes_block() || k.starts_statement(),
            // This is the next statement, and the `;` before it is missing.
            TokenKind::Name | TokenKind::Quoted | TokenKind::Number => {
                self.token.first_on_line && matches!(self.next.kind, TokenKind::Assign | TokenKind::Colon)
            }
            _ => false,
        }
    }

    /// Reads the condition of `assume` and similar statements. Parentheses around it belong to the statement,
    /// may be missing, and are not part of the expression.
    fn argument(&mut self) -> Result<ExprId, Reported> {
        let id = self.expression()?;
        Ok(match self.ast.expr(id).kind {
            ExprKind::Paren(inner) => inner,
            _ => id,
        })
    }

    /// Reads `(e, ...)`.
    fn arguments(&mut self) -> Result<Vec<ExprId>, Reported> {
        let open = self.token.span;
        self.expect(TokenKind::LeftParen, "`(`")?;
        if self.eat(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let arguments = self.list(Self::expression)?;
        if self.eat(TokenKind::RightParen) {
            return Ok(arguments);
        }
        Err(self.unclosed_bracket(open, "`,` or `)`"))
    }

    /// Reports that a closing bracket is missing.
    pub fn unclosed_bracket(&mut self, open: Span, expected: &str) -> Reported {
        if !self.already_reported() {
            let message = format!("expected {expected}, found {}", self.describe());
            self.report(Diagnostic::error(self.blamed(), message).related(open, "opened here"));
        }
        Reported
    }

    fn start_thread(&mut self) -> Result<StmtKind, Reported> {
        if self.eat(TokenKind::Keyword(Keyword::Goto)) {
            let label = self.label()?;
            return Ok(StmtKind::StartThreadAt { goto: true, label });
        }
        match self.token.kind {
            TokenKind::Number => {}
            TokenKind::Name | TokenKind::Quoted => {
                if self.next.kind == TokenKind::LeftParen {
                    let callee = self.name("a procedure")?;
                    let args = self.arguments()?;
                    return Ok(StmtKind::StartThreadCall { callee, args });
                }
            }
            _ => return Err(self.unexpected("`goto`, a label or a call after `start_thread`")),
        }
        let label = self.label()?;
        Ok(StmtKind::StartThreadAt { goto: false, label })
    }

    fn assignment_or_call(&mut self) -> Result<StmtKind, Reported> {
        use TokenKind::{Assign, Comma, Equal, LeftParen};
        if !matches!(self.next.kind, Assign | Comma | Equal | LeftParen) {
            if let Some(word) = self.unsupported_word() {
                return Err(self.unsupported_here(word));
            }
            let name = self.describe();
            self.bump();
            return Err(self.unexpected(&format!("`:=`, `(` or `:` after {name}")));
        }
        if self.next.kind == LeftParen {
            let callee = self.name("a procedure")?;
            return self.call(Vec::new(), callee);
        }
        let targets = self.list(Self::target)?;
        match self.token.kind {
            Assign => {}
            Equal => {
                if !self.already_reported() {
                    let error = Diagnostic::error(self.token.span, "an assignment is written with `:=`");
                    self.report(error);
                }
            }
            _ => return Err(self.unexpected("`:=`")),
        }
        self.bump();
        if matches!(self.token.kind, TokenKind::Name | TokenKind::Quoted) && self.next.kind == LeftParen {
            let callee = self.name("a procedure")?;
            return self.call(targets, callee);
        }
        let values = self.list(Self::expression)?;
        let constrain =
            if self.eat(TokenKind::Keyword(Keyword::Constrain)) { Some(self.expression()?) } else { None };
        Ok(StmtKind::Assign { targets, values, constrain })
    }

    fn target(&mut self) -> Result<Target, Reported> {
        if self.at(TokenKind::Name) && self.slice(self.token.span) == "_" {
            self.bump();
            return Ok(Target::Drop(self.previous));
        }
        match self.keyword() {
            Some(keyword) if self.next.kind == TokenKind::Assign => {
                Ok(Target::Name(self.reserved(keyword, "a variable")))
            }
            _ => self.name("a variable").map(Target::Name),
        }
    }

    fn call(&mut self, targets: Vec<Target>, callee: Ident) -> Result<StmtKind, Reported> {
        use TokenKind::{And, Comma, Equal, Implies, NotEqual, Or, Question, Xor};
        let args = self.arguments()?;
        match self.token.kind {
            And | Comma | Equal | Implies | NotEqual | Or | Question | Xor => {
                Err(self.call_in_expression(callee.span))
            }
            TokenKind::Keyword(Keyword::Constrain) => {
                let error = Diagnostic::error(self.token.span, "`constrain` cannot follow a call");
                self.report(error);
                Err(Reported)
            }
            _ => {
                self.note_call(&callee);
                Ok(StmtKind::Call { targets, callee, args })
            }
        }
    }

    /// Reports a call inside an expression.
    pub fn call_in_expression(&mut self, callee: Span) -> Reported {
        let error = Diagnostic::error(callee, "a call cannot be part of an expression");
        self.report(error.help("assign its result to a variable first: `x := f(...);`"));
        Reported
    }
}
