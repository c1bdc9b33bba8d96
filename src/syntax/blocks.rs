//! Bodies of procedures: blocks and how they open and close.
//!
//! Open blocks are kept on an explicit stack. If a closing word does not match the innermost block, but
//! matches another open block, it closes that block and all blocks inside it, and an error is reported for
//! each of those. If it matches no open block, it is treated as a misspelt closing word of the innermost
//! block.

use super::ast::{ExprId, ExprKind, Ident, Stmt, StmtId, StmtKind};
use super::keyword::Keyword;
use super::lexer::TokenKind;
use super::parser::{Parser, Reported};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The part of a procedure before its body.
pub(super) struct Header {
    pub dfs: bool,
    pub returns: Option<u32>,
    pub name: Ident,
    pub params: Vec<Ident>,
    /// The span of the first word.
    pub start: Span,
    /// The span of the word `begin`.
    pub begin: Span,
}

/// How a body ended.
pub(super) enum BodyEnd {
    /// With this `end`.
    End(Span),
    /// Without an `end`. The head of the next procedure may have been read already.
    Unclosed(Option<Header>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opener {
    If,
    While,
    /// A `begin` inside a body. This is an error; the block is kept so that its `end` does not close the procedure.
    Begin,
}

impl Opener {
    fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::While => "while",
            Self::Begin => "begin",
        }
    }

    fn closing(self) -> &'static str {
        match self {
            Self::If => "fi",
            Self::While => "od",
            Self::Begin => "end",
        }
    }
}

/// An open block.
struct Frame {
    opener: Opener,
    /// The span of the opening word.
    opening: Span,
    /// The span from the opening word to `then` or `do`.
    head: Span,
    labels: Vec<Ident>,
    /// The condition of the part that is open.
    condition: ExprId,
    /// Finished parts of an `if`.
    arms: Vec<(ExprId, Vec<StmtId>)>,
    in_else: bool,
    /// The offsets of `elsif`, `else`, `fi` and `od`.
    keywords: Vec<u32>,
    /// The statements before this one in the enclosing block.
    outer: Vec<StmtId>,
}

/// The body being read.
#[derive(Default)]
struct Body {
    frames: Vec<Frame>,
    /// The innermost block.
    block: Vec<StmtId>,
    /// The number of open `if` and `while` blocks.
    ifs: usize,
    whiles: usize,
}

impl Body {
    /// Whether a block is open that this word could close.
    fn expects(&self, keyword: Keyword) -> bool {
        match keyword {
            Keyword::Fi | Keyword::Else | Keyword::Elsif => self.ifs > 0,
            Keyword::Od => self.whiles > 0,
            _ => keyword == Keyword::End,
        }
    }
}

impl Parser<'_> {
    /// Reads the statements after `begin`, up to and including `end`.
    pub fn body(&mut self, begin: Span) -> (Vec<StmtId>, BodyEnd) {
        let mut body = Body::default();
        loop {
            let labels = self.labels();
            self.correct_misspelling(|k| k.starts_statement() || body.expects(k));
            // Any reserved word before `:=` is treated as a variable with a forbidden name.
            let keyword = self.keyword().filter(|_| self.next.kind != TokenKind::Assign);
            let closes = keyword.is_some_and(Keyword::closes_block);
            if (closes || self.at(TokenKind::Eof)) && !labels.is_empty() {
                let span = self.after_previous();
                let empty = self.push_stmt(Stmt { labels, kind: StmtKind::Empty, span });
                body.block.push(empty);
                continue;
            }
            match keyword {
                Some(Keyword::End) => {
                    if let Some(end) = self.end(&mut body) {
                        return (body.block, BodyEnd::End(end));
                    }
                }
                Some(Keyword::Fi) => self.close_with(&mut body, Opener::If),
                Some(Keyword::Od) => self.close_with(&mut body, Opener::While),
                Some(Keyword::Else | Keyword::Elsif) => self.next_arm(&mut body),
                Some(Keyword::If) => self.open(&mut body, Opener::If, labels),
                Some(Keyword::While) => self.open(&mut body, Opener::While, labels),
                Some(Keyword::Begin) => self.open(&mut body, Opener::Begin, labels),
                _ if self.at(TokenKind::Eof) || self.procedure_begins() => {
                    return self.unclosed(body, begin, None);
                }
                _ => {
                    if let Some(header) = self.statement(&mut body, labels) {
                        return self.unclosed(body, begin, Some(header));
                    }
                }
            }
        }
    }

    /// Reads a statement without a block. Returns the head of a procedure if it turns out to be one.
    fn statement(&mut self, body: &mut Body, labels: Vec<Ident>) -> Option<Header> {
        let start = self.token.span;
        let (kind, span) = match self.simple_statement() {
            Ok(StmtKind::Call { targets, callee, args })
                if targets.is_empty() && self.at(TokenKind::Keyword(Keyword::Begin)) =>
            {
                return Some(self.head_from_call(callee, &args));
            }
            Ok(kind) => {
                let span = start.to(self.previous);
                if kind != StmtKind::Empty {
                    self.end_statement();
                }
                (kind, span)
            }
            Err(Reported) => {
                if self.token.span == start {
                    self.bump();
                }
                self.skip_statement();
                (StmtKind::Error, start.to(self.previous))
            }
        };
        let id = self.push_stmt(Stmt { labels, kind, span });
        body.block.push(id);
        None
    }

    /// Turns a call into the head of a procedure: `f(a, b) begin` looks like a call up to its last word.
    fn head_from_call(&mut self, name: Ident, args: &[ExprId]) -> Header {
        self.unsupported_calls.pop_if(|call| call.span == name.span);
        let params = args.iter().filter_map(|&arg| match &self.ast.expr(arg).kind {
            ExprKind::Name { name, primed: false } => {
                Some(Ident { name: name.clone(), span: self.ast.expr(arg).span })
            }
            _ => None,
        });
        let params = params.collect();
        let start = name.span;
        self.bump();
        Header { dfs: false, returns: None, name, params, start, begin: self.previous }
    }

    /// Opens a block and reads its head.
    fn open(&mut self, body: &mut Body, opener: Opener, labels: Vec<Ident>) {
        let opening = self.token.span;
        if opener == Opener::Begin {
            let error = Diagnostic::error(opening, "`begin` inside a body");
            self.report(error.help("only the body of a procedure is written with `begin` and `end`"));
        }
        self.bump();
        let condition = match opener {
            Opener::If => self.condition(Keyword::Then, "if"),
            Opener::While => self.condition(Keyword::Do, "while"),
            Opener::Begin => self.push_expr(ExprKind::Error, opening),
        };
        let head = opening.to(self.previous);
        let outer = std::mem::take(&mut body.block);
        body.ifs += usize::from(opener == Opener::If);
        body.whiles += usize::from(opener == Opener::While);
        body.frames.push(Frame {
            opener,
            opening,
            head,
            labels,
            condition,
            arms: Vec::new(),
            in_else: false,
            keywords: Vec::new(),
            outer,
        });
    }

    /// Handles `end`. If no block is open, it ends the procedure, and its span is returned.
    fn end(&mut self, body: &mut Body) -> Option<Span> {
        let end = self.token.span;
        while let Some(frame) = body.frames.last() {
            if frame.opener == Opener::Begin {
                self.close(body);
                self.bump();
                self.eat(TokenKind::Semicolon);
                return None;
            }
            self.missing_closing(frame);
            self.close(body);
        }
        self.bump();
        self.eat(TokenKind::Semicolon);
        Some(end)
    }

    /// Handles `fi` or `od`, which matches `opener`.
    fn close_with(&mut self, body: &mut Body, opener: Opener) {
        let span = self.token.span;
        let count = if opener == Opener::If { body.ifs } else { body.whiles };
        if count > 0 {
            self.close_down_to(body, opener);
        } else {
            let word = opener.closing();
            let Some(frame) = body.frames.last().filter(|frame| frame.opener != Opener::Begin) else {
                self.report(Diagnostic::error(span, format!("`{word}` without `{}`", opener.word())));
                self.bump();
                self.eat(TokenKind::Semicolon);
                return;
            };
            let (block, closing) = (frame.opener.word(), frame.opener.closing());
            let message = format!("`{block}` is closed by `{closing}`, not by `{word}`");
            let error = Diagnostic::error(span, message).related(frame.opening, "the block begins here");
            self.report(error);
        }
        if let Some(frame) = body.frames.last_mut() {
            frame.keywords.push(span.start);
        }
        self.close(body);
        self.bump();
        self.eat(TokenKind::Semicolon);
    }

    /// Handles `elsif` or `else`.
    fn next_arm(&mut self, body: &mut Body) {
        let span = self.token.span;
        let is_else = self.at(TokenKind::Keyword(Keyword::Else));
        let word = if is_else { "else" } else { "elsif" };
        if body.ifs > 0 {
            self.close_down_to(body, Opener::If);
        }
        self.bump();
        let condition = if is_else { None } else { Some(self.condition(Keyword::Then, "elsif")) };
        let Some(frame) = body.frames.last_mut().filter(|frame| frame.opener == Opener::If) else {
            self.report(Diagnostic::error(span, format!("`{word}` without `if`")));
            return;
        };
        if frame.in_else {
            let error = Diagnostic::error(span, format!("`{word}` after `else`"));
            let error = error.related(frame.opening, "in this `if`");
            self.report(error);
            return;
        }
        let block = std::mem::take(&mut body.block);
        frame.arms.push((frame.condition, block));
        frame.keywords.push(span.start);
        match condition {
            Some(condition) => frame.condition = condition,
            None => frame.in_else = true,
        }
    }

    /// Closes the blocks inside the innermost one of this kind, each with an error.
    fn close_down_to(&mut self, body: &mut Body, opener: Opener) {
        while let Some(frame) = body.frames.last()
            && frame.opener != opener
        {
            self.missing_closing(frame);
            self.close(body);
        }
    }

    /// Reports a block that is closed by a word that does not match it.
    fn missing_closing(&mut self, frame: &Frame) {
        if self.at(TokenKind::Eof) && self.lexer.truncated {
            return;
        }
        let (word, closing) = (frame.opener.word(), frame.opener.closing());
        let message = format!("`{word}` without `{closing}`");
        let error = if self.at(TokenKind::Eof) {
            Diagnostic::error(frame.opening, message).caret("never closed")
        } else {
            let caret = format!("`{closing}` is missing before this");
            Diagnostic::error(self.token.span, message)
                .caret(caret)
                .related(frame.opening, format!("this `{word}` is open"))
        };
        self.report(error);
    }

    /// Finishes the innermost block.
    fn close(&mut self, body: &mut Body) {
        let Some(mut frame) = body.frames.pop() else { return };
        let block = std::mem::replace(&mut body.block, frame.outer);
        let kind = match frame.opener {
            Opener::Begin => {
                body.block.extend(block);
                return;
            }
            Opener::While => {
                body.whiles -= 1;
                StmtKind::While(frame.condition, block)
            }
            Opener::If => {
                body.ifs -= 1;
                let otherwise = if frame.in_else {
                    Some(block)
                } else {
                    frame.arms.push((frame.condition, block));
                    None
                };
                StmtKind::If { arms: frame.arms, otherwise }
            }
        };
        let id = self.push_stmt(Stmt { labels: frame.labels, kind, span: frame.head });
        self.ast.layout.keywords.extend(frame.keywords.into_iter().map(|at| (id, at)));
        body.block.push(id);
    }

    /// Reports a body without `end`.
    fn unclosed(&mut self, mut body: Body, begin: Span, following: Option<Header>) -> (Vec<StmtId>, BodyEnd) {
        let at_end = following.is_none() && self.at(TokenKind::Eof);
        while let Some(frame) = body.frames.last() {
            self.missing_closing(frame);
            self.close(&mut body);
        }
        if !(at_end && self.lexer.truncated) {
            let mut error = Diagnostic::error(begin, "`begin` is never closed").help("close it with `end`");
            if !at_end {
                let next = following.as_ref().map_or(self.token.span, |header| header.start);
                error = error.related(next, "the next procedure begins here");
            }
            self.report(error);
        }
        (body.block, BodyEnd::Unclosed(following))
    }
}
