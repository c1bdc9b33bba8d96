//! Warnings about expressions that two dialects read differently.
//!
//! A chain is a sequence of operands and binary operators without parentheses between them. The tree of a
//! chain in each dialect is computed from its operators. If the two trees differ, and have different values
//! for some values of the operands, a warning shows both with parentheses.

use super::ast::{BinaryOp, Dialect, ExprId, ExprKind};
use super::expression::binding;
use super::lexer::shortened;
use super::parser::Parser;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// A set of binary operators.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpSet(u8);

impl OpSet {
    /// Adds an operator.
    pub fn insert(&mut self, op: BinaryOp) {
        self.0 |= 1 << op as u8;
    }

    fn any(self, ops: &[BinaryOp]) -> bool {
        ops.iter().any(|&op| self.0 & (1 << op as u8) != 0)
    }

    /// Whether a chain with these operators may have two readings. The dialects disagree on the precedence of
    /// `=` and `!=` relative to all other operators, and on that of `^` relative to `|`.
    pub fn is_debatable(self) -> bool {
        use BinaryOp::{And, Equal, Implies, NotEqual, Or, Xor};
        self.any(&[Equal, NotEqual]) && self.any(&[And, Or, Xor, Implies])
            || self.any(&[Xor]) && self.any(&[Or])
    }
}

/// For chains with at most this many operands, truth tables in one word decide whether two trees are
/// equivalent. In longer chains, trees of different shape are treated as different.
const TABLE_OPERANDS: usize = 6;

/// The column of each operand in a truth table of 64 rows.
const COLUMNS: [u64; TABLE_OPERANDS] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// Readings that are longer than this are shown in part.
const READING_CHARS: usize = 72;

/// The tree of a chain.
struct Shape {
    /// For each operator, the first and last operand below it.
    ranges: Vec<(u32, u32)>,
    /// Operators, children before parents.
    order: Vec<u32>,
    /// For each operator, its parent.
    parents: Vec<Option<u32>>,
}

impl Shape {
    fn of(ops: &[BinaryOp], dialect: Dialect) -> Self {
        let count = ops.len();
        let mut shape = Self { ranges: vec![(0, 0); count], order: Vec::new(), parents: vec![None; count] };
        // Finished subtrees, represented by their topmost operator, or `None` for a single operand.
        let mut done: Vec<(Option<u32>, u32, u32)> = vec![(None, 0, 0)];
        let mut waiting: Vec<u32> = Vec::new();
        let mut apply = |done: &mut Vec<(Option<u32>, u32, u32)>, op: u32| {
            let (Some(right), Some(left)) = (done.pop(), done.pop()) else { return };
            for child in [left.0, right.0].into_iter().flatten() {
                shape.parents[child as usize] = Some(op);
            }
            shape.ranges[op as usize] = (left.1, right.2);
            shape.order.push(op);
            done.push((Some(op), left.1, right.2));
        };
        for (index, &op) in (0u32..).zip(ops) {
            let following = binding(op, dialect);
            while let Some(&top) = waiting.last() {
                let own = binding(ops[top as usize], dialect);
                if following.power > own.power || following.power == own.power && following.right {
                    break;
                }
                waiting.pop();
                apply(&mut done, top);
            }
            waiting.push(index);
            done.push((None, index + 1, index + 1));
        }
        while let Some(top) = waiting.pop() {
            apply(&mut done, top);
        }
        shape
    }

    /// The truth table of a short chain.
    fn table(&self, ops: &[BinaryOp]) -> u64 {
        // The value of a subtree is stored at the position of its first operand.
        let mut values = COLUMNS;
        let mut result = 0;
        for &op in &self.order {
            let first = self.ranges[op as usize].0 as usize;
            let (left, right) = (values[first], values[op as usize + 1]);
            result = match ops[op as usize] {
                BinaryOp::And => left & right,
                BinaryOp::Or => left | right,
                BinaryOp::Xor | BinaryOp::NotEqual => left ^ right,
                BinaryOp::Equal => !(left ^ right),
                BinaryOp::Implies => !left | right,
            };
            values[first] = result;
        }
        result
    }

    /// The chain with parentheses that show its tree. Between operands of the same associative operator there
    /// are none.
    fn text(&self, ops: &[BinaryOp], operands: &[String]) -> String {
        let mut open = vec![0usize; operands.len()];
        let mut close = vec![0usize; operands.len()];
        for (index, parent) in self.parents.iter().enumerate() {
            let Some(parent) = *parent else { continue };
            let same = ops[parent as usize] == ops[index]
                && matches!(ops[index], BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
            if !same {
                open[self.ranges[index].0 as usize] += 1;
                close[self.ranges[index].1 as usize] += 1;
            }
        }
        let mut text = String::new();
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                text.push(' ');
                text.push_str(symbol(ops[index - 1]));
                text.push(' ');
            }
            text.extend(std::iter::repeat_n('(', open[index]));
            text.push_str(operand);
            text.extend(std::iter::repeat_n(')', close[index]));
        }
        text
    }
}

/// How an operator is written.
pub(super) fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Equal => "=",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Implies => "=>",
    }
}

impl Parser<'_> {
    /// Warns if the dialects give this chain different meanings.
    pub fn warn_of_readings(&mut self, chain: ExprId) {
        let (operands, ops) = self.flatten(chain);
        let here = self.ast.dialect;
        let there = if here == Dialect::Boppo { Dialect::Boom } else { Dialect::Boppo };
        let (ours, theirs) = (Shape::of(&ops, here), Shape::of(&ops, there));
        let differs = |&op: &usize| ours.ranges[op] != theirs.ranges[op];
        let Some(first) = (0..ops.len()).find(differs) else { return };
        if operands.len() <= TABLE_OPERANDS {
            if ours.table(&ops) == theirs.table(&ops) {
                return;
            }
        } else if ops.iter().all(|op| matches!(op, BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::Xor)) {
            // These operators are associative with each other, so the tree does not matter.
            return;
        }
        let texts: Vec<String> = operands.iter().map(|&id| self.operand_text(id)).collect();
        let (mut ours, mut theirs) = (ours.text(&ops, &texts), theirs.text(&ops, &texts));
        let mut span = self.ast.expr(chain).span;
        if !self.fits_in_a_message(span) || ours.chars().count() > READING_CHARS {
            // Two neighbouring operators on which the dialects disagree are enough to show; most chains with
            // two readings have such a pair.
            let debatable = (1..ops.len()).find(|&i| {
                let pair = &ops[i - 1..=i];
                Shape::of(pair, here).ranges != Shape::of(pair, there).ranges
            });
            let middle = debatable.unwrap_or(first.max(1));
            if debatable.is_some() {
                let (pair, three) = (&ops[middle - 1..=middle], &texts[middle - 1..=middle + 1]);
                ours = Shape::of(pair, here).text(pair, three);
                theirs = Shape::of(pair, there).text(pair, three);
            }
            let place = |operand: usize| self.ast.expr(operands[operand]).span;
            let around = place(middle - 1).to(place(middle + 1));
            let start = place(middle).start;
            let point = Span { start, end: start };
            let places = [around, place(middle), point];
            span = places.into_iter().find(|&span| self.fits_in_a_message(span)).unwrap_or(point);
        }
        let (ours, theirs) = excerpts(&ours, &theirs);
        let help = match here {
            Dialect::Boom => format!("read here as `{ours}`, with `--dialect boppo` as `{theirs}`"),
            Dialect::Getafix => format!("read here as `{ours}`, by Boppo as `{theirs}`"),
            Dialect::Boppo => format!("read here as `{ours}`, without `--dialect boppo` as `{theirs}`"),
        };
        let message = "the dialects read this expression differently";
        self.report(Diagnostic::warning(span, message).help(help + "; add parentheses"));
    }

    /// Whether a span is short and on one line.
    fn fits_in_a_message(&self, span: Span) -> bool {
        let text = self.slice(span);
        text.len() <= READING_CHARS && !text.contains('\n')
    }

    /// Operands and operators of a chain, from left to right.
    fn flatten(&self, chain: ExprId) -> (Vec<ExprId>, Vec<BinaryOp>) {
        enum Step {
            Visit(ExprId),
            Emit(BinaryOp),
        }
        let (mut operands, mut ops) = (Vec::new(), Vec::new());
        let mut stack = vec![Step::Visit(chain)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Emit(op) => ops.push(op),
                Step::Visit(id) => match self.ast.expr(id).kind {
                    ExprKind::Binary(op, left, right) => {
                        stack.extend([Step::Visit(right), Step::Emit(op), Step::Visit(left)]);
                    }
                    _ => operands.push(id),
                },
            }
        }
        (operands, ops)
    }

    /// The text of an operand for a message.
    fn operand_text(&self, id: ExprId) -> String {
        let text = self.slice(self.ast.expr(id).span);
        if text.len() <= 24 && !text.contains(['\n', '/']) {
            return text.to_owned();
        }
        match self.ast.expr(id).kind {
            ExprKind::Name { .. } => shortened(text.lines().next().unwrap_or(""), 20),
            _ => "(...)".to_owned(),
        }
    }
}

/// Two readings, cut to the part where they differ.
fn excerpts(a: &str, b: &str) -> (String, String) {
    if a.chars().count().max(b.chars().count()) <= READING_CHARS {
        return (a.to_owned(), b.to_owned());
    }
    let common = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    let skip = common.saturating_sub(READING_CHARS / 2);
    let cut = |text: &str| {
        let start = text.char_indices().nth(skip).map_or(text.len(), |(at, _)| at);
        let lead = if skip > 0 { "..." } else { "" };
        format!("{lead}{}", shortened(&text[start..], READING_CHARS))
    };
    (cut(a), cut(b))
}
