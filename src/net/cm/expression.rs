//! Tokens to formulas, however deep they are nested: operators wait on a stack, not on ours.

use crate::net::lexer::TokenKind;

use super::formula::{Formula, Op};
use super::parser::{Lost, Parser};

/// The signs between two formulas; of those that bind alike, the left one binds first.
pub(super) const BINARY: [(&str, Op); 4] =
    [("|", Op::Or), ("&", Op::And), ("=", Op::Equal), ("!=", Op::Differ)];

/// How tight it binds.
pub(super) fn binding(op: Op) -> u8 {
    match op {
        Op::Or => 1,
        Op::And => 2,
        Op::Equal | Op::Differ => 3,
        Op::Not => 4,
        Op::Constant(_) | Op::Global(_) => 5,
    }
}

/// What waits for its right side.
#[derive(Clone, Copy)]
enum Waiting {
    Operator(Op),
    Parenthesis,
}

impl Parser<'_> {
    /// A formula; names that are not declared are reported, and reading goes on.
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
        // Every operator found what it takes, so this is a formula.
        Formula::new(ops).ok_or(Lost)
    }

    /// Negations, open parentheses, and then a variable or a constant.
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
            // The error is reported; any value will do.
            _ => self.global("a formula")?.map_or(Op::Constant(true), Op::Global),
        };
        ops.push(op);
        Ok(())
    }
}

/// Operators that bind at least so tight have their right side now.
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
