//! Parses formulas. Operators wait on an explicit stack, so nesting may be arbitrarily deep.

use crate::net::lexer::TokenKind;

use super::formula::{Formula, Op};
use super::parser::{Lost, Parser};

/// The binary operators. Operators of the same precedence associate to the left.
pub(super) const BINARY: [(&str, Op); 4] =
    [("|", Op::Or), ("&", Op::And), ("=", Op::Equal), ("!=", Op::Differ)];

/// The precedence of an operator; larger numbers bind more tightly.
pub(super) fn binding(op: Op) -> u8 {
    match op {
        Op::Or => 1,
        Op::And => 2,
        Op::Equal | Op::Differ => 3,
        Op::Not => 4,
        Op::Constant(_) | Op::Global(_) => 5,
    }
}

/// An operator or parenthesis on the stack that waits for its right side.
#[derive(Clone, Copy)]
enum Waiting {
    Operator(Op),
    Parenthesis,
}

impl Parser<'_> {
    /// Reads a formula. Names that are not declared are reported, and reading continues.
    pub(super) fn formula(&mut self) -> Result<Formula, Lost> {
        let mut ops = Vec::new();
        let mut waiting = Vec::new();
        loop {
            self.operand(&mut ops, &mut waiting)?;
            while self.cursor.is_at(")") && closes(&mut ops, &mut waiting) {
                self.cursor.next();
            }
            let Some(&(_, op)) = BINARY.iter().find(|(sign, _)| self.cursor.is_at(sign)) else { break };
            self.cursor.next();
            settle(&mut ops, &mut waiting, binding(op));
            waiting.push(Waiting::Operator(op));
        }
        settle(&mut ops, &mut waiting, 0);
        if !waiting.is_empty() {
            return Err(self.expected("an operator or `)`"));
        }
        // Every operator has found its operands, so the operations form a formula.
        Formula::new(ops).ok_or(Lost)
    }

    /// Reads negations and open parentheses, and then a variable or a constant.
    fn operand(&mut self, ops: &mut Vec<Op>, waiting: &mut Vec<Waiting>) -> Result<(), Lost> {
        loop {
            if self.cursor.accept("!") {
                waiting.push(Waiting::Operator(Op::Not));
            } else if self.cursor.accept("!!") {
                waiting.extend([Waiting::Operator(Op::Not); 2]);
            } else if self.cursor.accept("(") {
                waiting.push(Waiting::Parenthesis);
            } else {
                break;
            }
        }
        let token = self.cursor.peek();
        let op = match (token.kind, self.cursor.word(token)) {
            (TokenKind::Word, word @ ("T" | "F")) => {
                self.cursor.next();
                Op::Constant(word == "T")
            }
            // The error is reported, and any value may stand for the unknown name.
            _ => self.global("a formula")?.map_or(Op::Constant(true), Op::Global),
        };
        ops.push(op);
        Ok(())
    }
}

/// Applies the operators on the stack that bind at least as tightly as `least`, since their right sides are complete.
fn settle(ops: &mut Vec<Op>, waiting: &mut Vec<Waiting>, least: u8) {
    while let Some(&Waiting::Operator(op)) = waiting.last()
        && binding(op) >= least
    {
        ops.push(op);
        waiting.pop();
    }
}

/// Closes the innermost parenthesis; `false` if there is none.
fn closes(ops: &mut Vec<Op>, waiting: &mut Vec<Waiting>) -> bool {
    settle(ops, waiting, 0);
    waiting.pop().is_some()
}
