//! Parser for expressions: operator precedence with explicit stacks.
//!
//! Operators, those that bind tightest first: `!`; then, in the dialects Boom and Getafix and in the thesis,
//! `= !=`, `&`, `^`, `|`, `=>`, and in the dialect Boppo `&`, `|`, `^`, `= != =>` (all three alike); then
//! `?:`. `=>`, `?:` and the last group of Boppo associate to the right, all others to the left.

use super::ast::{BinaryOp, Dialect, ExprId, ExprKind};
use super::keyword::Keyword;
use super::lexer::TokenKind;
use super::parser::{Parser, Reported};
use super::readings::OpSet;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// How tightly an operator binds, and whether it associates to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    /// Operators with larger numbers bind more tightly.
    pub power: u8,
    pub right: bool,
}

/// How tightly an operator binds in a dialect.
pub(super) fn binding(op: BinaryOp, dialect: Dialect) -> Binding {
    use BinaryOp::{And, Equal, Implies, NotEqual, Or, Xor};
    let power = match dialect {
        Dialect::Boom | Dialect::Getafix => match op {
            Equal | NotEqual => 5,
            And => 4,
            Xor => 3,
            Or => 2,
            Implies => 1,
        },
        // As in the precedence table of Boppo itself, where `^` binds less tightly than `|`.
        Dialect::Boppo => match op {
            And => 4,
            Or => 3,
            Xor => 2,
            Equal | NotEqual | Implies => 1,
        },
    };
    Binding { power, right: power == 1 }
}

/// An operator or opening bracket whose right side has not been read yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operator {
    Not(Span),
    Binary(BinaryOp),
    /// `(`, with the operators seen outside of it.
    Paren(Span, OpSet),
    /// `schoose[`; the first operand is set after the comma.
    Schoose {
        open: Span,
        first: Option<ExprId>,
        outside: OpSet,
    },
    /// `c ?`
    Question(Span),
    /// `c ? t :`
    Colon,
}

impl Parser<'_> {
    /// Reads an expression up to the first token that cannot continue it.
    pub fn expression(&mut self) -> Result<ExprId, Reported> {
        self.operators.clear();
        self.operands.clear();
        let mut seen = OpSet::default();
        loop {
            self.operand(&mut seen)?;
            if !self.after_operand(&mut seen)? {
                break;
            }
        }
        self.operands.pop().ok_or(Reported)
    }

    /// Reads prefix operators and one operand.
    fn operand(&mut self, seen: &mut OpSet) -> Result<(), Reported> {
        loop {
            let span = self.token.span;
            let kind = match self.token.kind {
                TokenKind::Not => {
                    self.operators.push(Operator::Not(span));
                    self.bump();
                    continue;
                }
                TokenKind::LeftParen => {
                    self.operators.push(Operator::Paren(span, std::mem::take(seen)));
                    self.bump();
                    continue;
                }
                TokenKind::Keyword(Keyword::Schoose | Keyword::Choose) => {
                    self.bump();
                    self.expect(TokenKind::LeftBracket, "`[` after `schoose`")?;
                    let outside = std::mem::take(seen);
                    self.operators.push(Operator::Schoose { open: span, first: None, outside });
                    continue;
                }
                TokenKind::Prime => {
                    self.bump();
                    let name = match self.token.kind {
                        TokenKind::Name | TokenKind::Quoted => self.name("a variable")?.name,
                        _ => return Err(self.unexpected("a variable after `'`")),
                    };
                    self.reject_second_prime();
                    ExprKind::Name { name, primed: true }
                }
                TokenKind::Name if self.slice(span) == "_" => {
                    let error = Diagnostic::error(span, "`_` has no value");
                    self.report(error.help("`_` drops a value on the left of `:=`"));
                    self.bump();
                    ExprKind::Error
                }
                TokenKind::Name | TokenKind::Quoted => {
                    let name = self.name("a variable")?.name;
                    let primed = self.postfix_prime();
                    if primed {
                        self.bump();
                        self.reject_second_prime();
                    }
                    if self.at(TokenKind::LeftParen) {
                        return Err(self.call_in_expression(span));
                    }
                    ExprKind::Name { name, primed }
                }
                _ => self.constant()?,
            };
            let id = self.push_expr(kind, span.to(self.previous));
            self.operands.push(id);
            return Ok(());
        }
    }

    fn constant(&mut self) -> Result<ExprKind, Reported> {
        let span = self.token.span;
        let kind = match self.token.kind {
            TokenKind::Keyword(Keyword::True) => ExprKind::Const(true),
            TokenKind::Keyword(Keyword::False) => ExprKind::Const(false),
            TokenKind::Number => match self.slice(span) {
                "0" => ExprKind::Const(false),
                "1" => ExprKind::Const(true),
                _ => {
                    let message = format!("{} is not a truth value", self.describe());
                    self.report(Diagnostic::error(span, message).help("the constants are `0 1 F T`"));
                    ExprKind::Error
                }
            },
            TokenKind::Star => ExprKind::Choice,
            TokenKind::Question if self.ast.dialect == Dialect::Getafix => ExprKind::Choice,
            TokenKind::Question => {
                let error = Diagnostic::error(span, "a bare `?` is a choice in the Getafix dialect only");
                self.report(error.help("write `*`, or use `--dialect getafix`"));
                ExprKind::Choice
            }
            TokenKind::Keyword(keyword) => {
                let error = self.unexpected("an expression");
                // A word that can continue the statement is not consumed. Any other word is, since it would
                // otherwise be mistaken for the beginning of the next statement.
                let goes_on = keyword.closes_block()
                    || matches!(keyword, Keyword::Then | Keyword::Do | Keyword::Constrain);
                if !goes_on && !self.token.first_on_line {
                    self.bump();
                }
                return Err(error);
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.bump();
        Ok(kind)
    }

    /// Whether a prime directly follows the last token.
    fn postfix_prime(&self) -> bool {
        self.at(TokenKind::Prime) && self.token.span.start == self.previous.end
    }

    fn reject_second_prime(&mut self) {
        if self.postfix_prime() {
            let error = Diagnostic::error(self.token.span, "this variable is primed twice");
            self.report(error);
            self.bump();
        }
    }

    /// Reads operators and closing brackets after an operand. Returns false at the end of the expression.
    fn after_operand(&mut self, seen: &mut OpSet) -> Result<bool, Reported> {
        loop {
            self.apply_nots();
            let op = match self.token.kind {
                TokenKind::And => BinaryOp::And,
                TokenKind::Or => BinaryOp::Or,
                TokenKind::Xor => BinaryOp::Xor,
                TokenKind::Equal => BinaryOp::Equal,
                TokenKind::NotEqual => BinaryOp::NotEqual,
                TokenKind::Implies => BinaryOp::Implies,
                TokenKind::Question => {
                    self.finish_chain(seen);
                    self.operators.push(Operator::Question(self.token.span));
                    self.bump();
                    return Ok(true);
                }
                _ => {
                    if self.close_or_end(seen)? {
                        continue;
                    }
                    return Ok(!self.operators.is_empty());
                }
            };
            self.apply_binaries(Some(binding(op, self.ast.dialect)));
            self.operators.push(Operator::Binary(op));
            seen.insert(op);
            self.bump();
            return Ok(true);
        }
    }

    /// Handles a token that is not an operator. Returns true if it closed a bracket, so that an operator may
    /// follow. Otherwise an operand follows if there are waiting operators; if there are none, the expression
    /// has ended.
    fn close_or_end(&mut self, seen: &mut OpSet) -> Result<bool, Reported> {
        self.finish_chain(seen);
        if self.at(TokenKind::Colon) {
            while let Some(Operator::Colon) = self.operators.last() {
                self.apply_ternary();
            }
            if let Some(question @ Operator::Question(_)) = self.operators.last_mut() {
                *question = Operator::Colon;
                self.bump();
                return Ok(false);
            }
        }
        while let Some(Operator::Colon) = self.operators.last() {
            self.apply_ternary();
        }
        match self.operators.last().copied() {
            None => Ok(false),
            Some(Operator::Paren(open, outside)) => {
                if !self.at(TokenKind::RightParen) {
                    return Err(self.unclosed_bracket(open, "`)` or an operator"));
                }
                self.bump();
                self.operators.pop();
                *seen = outside;
                self.wrap(open, ExprKind::Paren);
                Ok(true)
            }
            Some(Operator::Schoose { open, first: None, outside }) => {
                if !self.at(TokenKind::Comma) {
                    return Err(self.unclosed_bracket(open, "`,` and the second part of `schoose[p, n]`"));
                }
                self.bump();
                self.operators.pop();
                let first = self.operands.pop();
                self.operators.push(Operator::Schoose { open, first, outside });
                Ok(false)
            }
            Some(Operator::Schoose { open, first: Some(first), outside }) => {
                if !self.at(TokenKind::RightBracket) {
                    return Err(self.unclosed_bracket(open, "`]` or an operator"));
                }
                self.bump();
                self.operators.pop();
                *seen = outside;
                self.wrap(open, |second| ExprKind::Schoose(first, second));
                Ok(true)
            }
            Some(Operator::Question(span)) => {
                let message =
                    format!("expected `:` after the first branch of `?`, found {}", self.describe());
                if !self.already_reported() {
                    self.report(Diagnostic::error(self.blamed(), message).related(span, "this `?`"));
                }
                Err(Reported)
            }
            Some(Operator::Not(_) | Operator::Binary(_) | Operator::Colon) => {
                unreachable!("applied by finish_chain and the loop above")
            }
        }
    }

    /// Replaces the last operand by an expression that contains it, begins at `open` and ends here.
    fn wrap(&mut self, open: Span, kind: impl FnOnce(ExprId) -> ExprKind) {
        if let Some(inner) = self.operands.pop() {
            let id = self.push_expr(kind(inner), open.to(self.previous));
            self.operands.push(id);
        }
    }

    fn apply_nots(&mut self) {
        while let Some(&Operator::Not(span)) = self.operators.last() {
            self.operators.pop();
            self.wrap(span, ExprKind::Not);
        }
    }

    /// Builds the nodes of the waiting binary operators that bind more tightly than the next operator; of all
    /// of them if there is no next operator (`None`).
    fn apply_binaries(&mut self, following: Option<Binding>) {
        while let Some(&Operator::Binary(op)) = self.operators.last() {
            let own = binding(op, self.ast.dialect);
            if following.is_some_and(|f| f.power > own.power || f.power == own.power && f.right) {
                return;
            }
            self.operators.pop();
            if let (Some(right), Some(left)) = (self.operands.pop(), self.operands.pop()) {
                let span = self.ast.expr(left).span.to(self.ast.expr(right).span);
                let id = self.push_expr(ExprKind::Binary(op, left, right), span);
                self.operands.push(id);
            }
        }
    }

    /// Builds the rest of a chain of binary operators, and warns if the dialects read the chain differently.
    fn finish_chain(&mut self, seen: &mut OpSet) {
        self.apply_binaries(None);
        if std::mem::take(seen).is_debatable()
            && let Some(&chain) = self.operands.last()
        {
            self.warn_of_readings(chain);
        }
    }

    fn apply_ternary(&mut self) {
        self.operators.pop();
        if let (Some(no), Some(yes), Some(condition)) =
            (self.operands.pop(), self.operands.pop(), self.operands.pop())
        {
            let span = self.ast.expr(condition).span.to(self.ast.expr(no).span);
            let id = self.push_expr(ExprKind::Ite(condition, yes, no), span);
            self.operands.push(id);
        }
    }
}
