//! Reader of QCIR-G14 text: a prefix over a circuit.
//!
//! Implements: C. Jordan, W. Klieber, M. Seidl, "Non-CNF QBF Solving with QCIR", AAAI-16 Workshop Beyond NP;
//! prenex formulas only. Takes linear time and never panics. It is lenient where tools differ: it accepts
//! names as well as numbers, keywords in upper and lower case, comments anywhere, statements across lines,
//! and the output before or after the gates. Gates must be defined before they are used.

use rustc_hash::FxHashMap;

use super::{Prefix, Qcir, Quantifier, TextError, TextErrorKind};
use crate::term::{Term, TermArena, VarId};

impl Qcir {
    /// Reads QCIR-G14 into `arena`. The quantified variables become fresh ones, in the order of the text.
    ///
    /// # Errors
    /// If the text is not of this form. The error contains the line and the reason.
    pub fn from_qcir(text: &str, arena: &mut TermArena) -> Result<Qcir, TextError> {
        if !text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("#QCIR")) {
            return Err(TextError { line: 1, kind: TextErrorKind::Header("`#QCIR-G14`") });
        }
        let mut reader = Reader {
            lexer: Lexer { rest: text, line: 1 },
            arena,
            terms: FxHashMap::default(),
            prefix: Prefix::new(),
            free: Vec::new(),
            has_gates: false,
            output: None,
        };
        while let Some(token) = reader.lexer.next() {
            reader.read_statement(token)?;
        }
        let line = reader.lexer.line;
        let (token, complement) =
            reader.output.ok_or(TextError { line, kind: TextErrorKind::Truncated("the output") })?;
        let matrix = reader.term_of(token)?.complement_if(complement);
        // Free variables belong to the outermost existential block, wherever they are listed.
        reader.prefix.close(reader.free);
        Ok(Qcir { prefix: reader.prefix, matrix })
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    arena: &'a mut TermArena,
    /// Variables and gates by name.
    terms: FxHashMap<&'a str, Term>,
    prefix: Prefix<VarId>,
    free: Vec<VarId>,
    has_gates: bool,
    /// The name of the output and whether it is complemented.
    output: Option<(Token<'a>, bool)>,
}

impl<'a> Reader<'a> {
    /// `forall(..)`, `exists(..)`, `free(..)`, `output(..)` or `gate = ..`
    fn read_statement(&mut self, first: Token<'a>) -> Result<(), TextError> {
        if !first.is_name() {
            return Err(first.unexpected("a statement"));
        }
        let second = self.expect_any("`(` or `=`")?;
        match (second.text, Keyword::of(first.text)) {
            ("=", _) => self.read_gate(first),
            ("(", Some(Keyword::Forall)) => self.read_block(first, Quantifier::Forall),
            ("(", Some(Keyword::Exists)) => self.read_block(first, Quantifier::Exists),
            ("(", Some(Keyword::Free)) => self.read_free(),
            ("(", Some(Keyword::Output)) => self.read_output(first),
            ("(", _) => Err(first.unexpected("a quantifier, `output` or a gate")),
            _ => Err(second.unexpected("`(` or `=`")),
        }
    }

    fn read_block(&mut self, keyword: Token<'a>, quantifier: Quantifier) -> Result<(), TextError> {
        if self.has_gates {
            return Err(keyword.error(TextErrorKind::LateBlock));
        }
        self.read_list(|reader, name, complement| {
            let var = reader.declare(name, complement)?;
            reader.prefix.push(quantifier, var);
            Ok(())
        })
    }

    fn read_free(&mut self) -> Result<(), TextError> {
        self.read_list(|reader, name, complement| {
            let var = reader.declare(name, complement)?;
            reader.free.push(var);
            Ok(())
        })
    }

    fn read_output(&mut self, keyword: Token<'a>) -> Result<(), TextError> {
        if self.output.is_some() {
            return Err(keyword.error(TextErrorKind::SecondOutput));
        }
        let (name, complement) = self.read_literal()?;
        self.expect(")", "`)`")?;
        self.output = Some((name, complement));
        Ok(())
    }

    fn read_gate(&mut self, name: Token<'a>) -> Result<(), TextError> {
        self.has_gates = true;
        let kind = self.expect_any("a gate")?;
        self.expect("(", "`(`")?;
        if let Some(Keyword::Forall | Keyword::Exists) = Keyword::of(kind.text) {
            return Err(kind.error(TextErrorKind::NotPrenex(name.text.to_owned())));
        }
        let mut inputs = Vec::new();
        self.read_list(|reader, input, complement| {
            inputs.push(reader.term_of(input)?.complement_if(complement));
            Ok(())
        })?;
        let input_count =
            |gate, expected| kind.error(TextErrorKind::InputCount { gate, expected, found: inputs.len() });
        let term = match Keyword::of(kind.text) {
            Some(Keyword::And) => self.arena.and_all(inputs),
            Some(Keyword::Or) => self.arena.or_all(inputs),
            Some(Keyword::Xor) => match inputs[..] {
                [a, b] => self.arena.xor(a, b),
                _ => return Err(input_count("xor", 2)),
            },
            Some(Keyword::Ite) => match inputs[..] {
                [condition, then, otherwise] => self.arena.ite(condition, then, otherwise),
                _ => return Err(input_count("ite", 3)),
            },
            _ => return Err(kind.unexpected("`and`, `or`, `xor` or `ite`")),
        };
        self.define(name, term)
    }

    /// Reads the rest of a list after `(` and passes each name with its sign to `take`.
    fn read_list(
        &mut self,
        mut take: impl FnMut(&mut Self, Token<'a>, bool) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        if self.lexer.peek().is_some_and(|token| token.text == ")") {
            self.lexer.next();
            return Ok(());
        }
        loop {
            let (name, complement) = self.read_literal()?;
            take(self, name, complement)?;
            let token = self.expect_any("`,` or `)`")?;
            match token.text {
                "," => {}
                ")" => return Ok(()),
                _ => return Err(token.unexpected("`,` or `)`")),
            }
        }
    }

    fn read_literal(&mut self) -> Result<(Token<'a>, bool), TextError> {
        let mut token = self.expect_any("a literal")?;
        let complement = token.text == "-";
        if complement {
            token = self.expect_any("a literal")?;
        }
        if token.is_name() { Ok((token, complement)) } else { Err(token.unexpected("a literal")) }
    }

    /// A fresh variable for a name of the prefix.
    fn declare(&mut self, name: Token<'a>, complement: bool) -> Result<VarId, TextError> {
        if complement {
            return Err(name.unexpected("a variable without sign"));
        }
        let var = self.arena.fresh_var();
        let term = self.arena.var(var);
        self.define(name, term)?;
        Ok(var)
    }

    fn define(&mut self, name: Token<'a>, term: Term) -> Result<(), TextError> {
        match self.terms.insert(name.text, term) {
            None => Ok(()),
            Some(_) => Err(name.error(TextErrorKind::Redefined(name.text.to_owned()))),
        }
    }

    fn term_of(&self, name: Token<'a>) -> Result<Term, TextError> {
        let undefined = || name.error(TextErrorKind::Undefined(name.text.to_owned()));
        self.terms.get(name.text).copied().ok_or_else(undefined)
    }

    fn expect_any(&mut self, expected: &'static str) -> Result<Token<'a>, TextError> {
        let line = self.lexer.line;
        self.lexer.next().ok_or(TextError { line, kind: TextErrorKind::Truncated(expected) })
    }

    fn expect(&mut self, text: &str, expected: &'static str) -> Result<(), TextError> {
        let token = self.expect_any(expected)?;
        if token.text == text { Ok(()) } else { Err(token.unexpected(expected)) }
    }
}

/// Words that have a meaning at the beginning of a statement or a gate. Elsewhere they are ordinary names.
enum Keyword {
    Forall,
    Exists,
    Free,
    Output,
    And,
    Or,
    Xor,
    Ite,
}

impl Keyword {
    fn of(word: &str) -> Option<Self> {
        let keywords = [
            ("and", Keyword::And),
            ("or", Keyword::Or),
            ("xor", Keyword::Xor),
            ("ite", Keyword::Ite),
            ("forall", Keyword::Forall),
            ("exists", Keyword::Exists),
            ("free", Keyword::Free),
            ("output", Keyword::Output),
        ];
        keywords.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, keyword)| keyword)
    }
}

/// A name or a single character.
#[derive(Clone, Copy)]
struct Token<'a> {
    line: usize,
    text: &'a str,
}

impl Token<'_> {
    fn is_name(self) -> bool {
        self.text.starts_with(is_name_char)
    }

    fn error(self, kind: TextErrorKind) -> TextError {
        TextError { line: self.line, kind }
    }

    fn unexpected(self, expected: &'static str) -> TextError {
        self.error(TextErrorKind::Unexpected { expected, found: self.text.to_owned() })
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[derive(Clone, Copy)]
struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let first = self.rest.chars().next()?;
            let length = match first {
                '#' => self.rest.find('\n').unwrap_or(self.rest.len()),
                _ if is_name_char(first) => self.rest.find(|c| !is_name_char(c)).unwrap_or(self.rest.len()),
                _ => first.len_utf8(),
            };
            let (text, rest) = self.rest.split_at(length);
            let line = self.line;
            self.rest = rest;
            self.line += usize::from(first == '\n');
            if first != '#' && !first.is_whitespace() {
                return Some(Token { line, text });
            }
        }
    }

    fn peek(&self) -> Option<Token<'a>> {
        { *self }.next()
    }
}
