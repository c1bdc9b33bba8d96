//! QDIMACS text: prefix and clauses.
//!
//! The reader takes linear time, needs memory in proportion to the length of the text (whatever the header
//! announces), and never panics. It is lenient where tools differ: it accepts comment lines anywhere,
//! neighbouring blocks with the same quantifier, empty blocks, clauses across lines, and variables without a
//! quantifier (outermost existential).

use std::fmt;

use rustsat::types::{Lit, Var};

use super::{Block, Prefix, Qcnf, Quantifier, TextError, TextErrorKind};
use crate::cnf::{ClauseSink, write_clause};

impl fmt::Display for Qcnf {
    /// Writes QDIMACS.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantified = self.prefix.variables().map(|(_, var)| var.idx32() + 1).max().unwrap_or(0);
        let vars = self.matrix.var_count().max(quantified);
        writeln!(f, "p cnf {vars} {}", self.matrix.len())?;
        for Block { quantifier, variables } in self.prefix.blocks() {
            f.write_str(match quantifier {
                Quantifier::Exists => "e ",
                Quantifier::Forall => "a ",
            })?;
            for var in variables {
                write!(f, "{} ", var.to_ipasir())?;
            }
            writeln!(f, "0")?;
        }
        self.matrix.iter().try_for_each(|clause| write_clause(f, clause))
    }
}

impl Qcnf {
    /// Reads QDIMACS.
    ///
    /// # Errors
    /// If the text is not of this form. The error contains the line and the reason.
    pub fn from_qdimacs(text: &str) -> Result<Qcnf, TextError> {
        let mut tokens = Tokens::new(text);
        let (vars, announced) = read_header(&mut tokens)?;
        let mut qcnf = Qcnf { prefix: read_prefix(&mut tokens, vars)?, ..Qcnf::default() };
        qcnf.matrix.reserve_vars(vars as u32);
        let mut clause = Vec::new();
        while let Some(token) = tokens.next() {
            if let Some(lit) = literal(token, vars)? {
                clause.push(lit);
            } else {
                qcnf.matrix.add_clause(&clause);
                clause.clear();
            }
        }
        if !clause.is_empty() {
            return Err(tokens.truncated("the 0 after the last clause"));
        }
        let found = qcnf.matrix.len() as u64;
        if found != announced {
            return Err(tokens.error_here(TextErrorKind::ClauseCount { announced, found }));
        }
        let mut mentioned: Vec<Var> = qcnf.matrix.iter().flatten().map(|lit| lit.var()).collect();
        mentioned.sort_unstable();
        mentioned.dedup();
        qcnf.prefix.close(mentioned);
        Ok(qcnf)
    }
}

/// A word of the text and its line.
#[derive(Clone, Copy)]
struct Token<'a> {
    line: usize,
    word: &'a str,
}

impl Token<'_> {
    fn error(self, kind: TextErrorKind) -> TextError {
        TextError { line: self.line, kind }
    }

    fn unexpected(self, expected: &'static str) -> TextError {
        self.error(TextErrorKind::Unexpected { expected, found: self.word.to_owned() })
    }
}

/// The words of all lines that are not comments.
struct Tokens<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    words: std::str::SplitAsciiWhitespace<'a>,
    line: usize,
    ahead: Option<Token<'a>>,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { lines: text.lines().enumerate(), words: "".split_ascii_whitespace(), line: 1, ahead: None }
    }

    fn peek(&mut self) -> Option<Token<'a>> {
        while self.ahead.is_none() {
            if let Some(word) = self.words.next() {
                self.ahead = Some(Token { line: self.line, word });
            } else {
                let (number, line) = self.lines.next()?;
                self.line = number + 1;
                self.words = if line.starts_with('c') { "" } else { line }.split_ascii_whitespace();
            }
        }
        self.ahead
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.ahead = None;
        token
    }

    fn error_here(&self, kind: TextErrorKind) -> TextError {
        TextError { line: self.line, kind }
    }

    fn truncated(&self, missing: &'static str) -> TextError {
        self.error_here(TextErrorKind::Truncated(missing))
    }
}

/// `p cnf <variables> <clauses>`
fn read_header(tokens: &mut Tokens<'_>) -> Result<(u64, u64), TextError> {
    const HEADER: &str = "`p cnf <variables> <clauses>`";
    for expected in ["p", "cnf"] {
        let token = tokens.next().ok_or_else(|| tokens.truncated(HEADER))?;
        if token.word != expected {
            return Err(token.error(TextErrorKind::Header(HEADER)));
        }
    }
    let mut number = || {
        let token = tokens.next().ok_or_else(|| tokens.truncated(HEADER))?;
        let number: u64 = token.word.parse().map_err(|_| token.unexpected("a number"))?;
        Ok((token, number))
    };
    let (token, vars) = number()?;
    if vars > MAX_VARS {
        return Err(token.error(TextErrorKind::VariableRange { number: vars, count: MAX_VARS }));
    }
    Ok((vars, number()?.1))
}

/// The greatest number of a variable that every solver interface can express.
const MAX_VARS: u64 = (1 << 31) - 2;

/// Blocks `a <variables> 0` and `e <variables> 0`.
fn read_prefix(tokens: &mut Tokens<'_>, vars: u64) -> Result<Prefix<Var>, TextError> {
    let mut prefix = Prefix::new();
    loop {
        let quantifier = match tokens.peek().map(|token| token.word) {
            Some("a") => Quantifier::Forall,
            Some("e") => Quantifier::Exists,
            _ => return Ok(prefix),
        };
        tokens.next();
        loop {
            let token = tokens.next().ok_or_else(|| tokens.truncated("the 0 after the last block"))?;
            match literal(token, vars)? {
                None => break,
                Some(lit) if lit.is_neg() => return Err(token.unexpected("a variable")),
                Some(lit) if prefix.push(quantifier, lit.var()) => {}
                Some(_) => return Err(token.error(TextErrorKind::Redefined(token.word.to_owned()))),
            }
        }
    }
}

/// A literal, or the end of a list.
fn literal(token: Token<'_>, vars: u64) -> Result<Option<Lit>, TextError> {
    let number: i64 = token.word.parse().map_err(|_| token.unexpected("a literal"))?;
    match number.unsigned_abs() {
        0 => Ok(None),
        // In range for the conversion, since `vars` is at most `MAX_VARS`.
        var if var <= vars => Ok(Some(Lit::new(var as u32 - 1, number < 0))),
        var => Err(token.error(TextErrorKind::VariableRange { number: var, count: vars })),
    }
}
