//! Splits text into tokens, for all formats of nets.
//!
//! Invariant (complete): every byte of the text belongs to white space, a comment, or a token. All other text becomes
//! a [`TokenKind::Unknown`] token, whose error is reported here and not by the parsers.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::collect::Collector;
use crate::source::Span;
use crate::syntax::spelled_out;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a reserved word.
    Word,
    /// A number that fits into 64 bits.
    Number(u64),
    /// A punctuation sign of one of the formats.
    Sign(&'static str),
    /// Text that is not part of any format. The error is already reported.
    Unknown,
    /// The end of the text.
    End,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The place of the token in the source.
    pub span: Span,
    /// Whether it is the first token on its line.
    pub first_on_line: bool,
}

/// The signs of all formats. A sign comes before all its proper prefixes.
const SIGNS: [&str; 32] = [
    "->", "~>", "~!", "~?", "+>", ">=", ":=", "!=", "!!", "??", "..", ",", ";", ":", ".", "=", "'", "+", "-",
    "*", "&", "|", "!", "?", "/", ">", "(", ")", "[", "]", "{", "}",
];

/// How many bytes, and later how many tokens, are read before it is asked again whether to stop.
const ASK_AFTER: (usize, usize) = (1 << 16, 1 << 14);

/// All tokens of a text, the last of which is [`TokenKind::End`], and whether that came early because `stop` said so.
pub(super) fn tokens(text: &str, findings: &mut Collector, stop: &dyn Fn() -> bool) -> (Vec<Token>, bool) {
    let mut tokens = Vec::new();
    let bytes = text.as_bytes();
    let mut first_on_line = true;
    let mut at = 0;
    let mut ask_at = ASK_AFTER.0;
    let mut stopped = false;
    while at < bytes.len() {
        if at >= ask_at {
            ask_at = at + ASK_AFTER.0;
            stopped = stop();
            if stopped {
                break;
            }
        }
        let start = at;
        let run = |accept: fn(&u8) -> bool| start + bytes[start..].iter().take_while(|&b| accept(b)).count();
        let kind = match bytes[at] {
            b'\n' => {
                first_on_line = true;
                at += 1;
                continue;
            }
            // The DOS end-of-file mark counts as white space.
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c | 0x1a => {
                at += 1;
                continue;
            }
            b'#' => {
                at = run(|&b| b != b'\n');
                continue;
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                at = run(|b| b.is_ascii_alphanumeric() || *b == b'_');
                TokenKind::Word
            }
            b'0'..=b'9' => {
                at = run(|b| b.is_ascii_alphanumeric() || *b == b'_');
                number(&text[start..at], Span::new(start, at), findings)
            }
            _ => {
                if let Some(sign) = SIGNS.into_iter().find(|sign| text[start..].starts_with(sign)) {
                    at += sign.len();
                    TokenKind::Sign(sign)
                } else {
                    let strange = strange(&text[start..]);
                    at += strange.len();
                    let noun = if strange.chars().nth(1).is_some() { "characters" } else { "character" };
                    let message = format!("unknown {noun} {}", spelled_out(strange));
                    findings.push(Diagnostic::error(Span::new(start, at), message));
                    TokenKind::Unknown
                }
            }
        };
        tokens.push(Token { kind, span: Span::new(start, at), first_on_line });
        first_on_line = false;
    }
    let end = text.trim_end().len();
    tokens.push(Token { kind: TokenKind::End, span: Span::new(end, end), first_on_line: true });
    (tokens, stopped)
}

/// The first character, together with the following ones that cannot begin a token or white space either.
fn strange(text: &str) -> &str {
    let ours = |c: char| {
        c.is_ascii_alphanumeric()
            || c.is_ascii_whitespace()
            || "#_".contains(c)
            || SIGNS.iter().any(|sign| sign.starts_with(c))
    };
    let end = text.char_indices().skip(1).find(|&(_, c)| ours(c)).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn number(word: &str, span: Span, findings: &mut Collector) -> TokenKind {
    if !word.bytes().all(|b| b.is_ascii_digit()) {
        let error = Diagnostic::error(span, format!("`{word}` is neither a name nor a number"));
        findings.push(error.help("a name begins with a letter or `_`"));
        return TokenKind::Unknown;
    }
    word.parse().map_or_else(
        |_| {
            findings.push(Diagnostic::error(span, format!("`{word}` does not fit into 64 bits")));
            TokenKind::Unknown
        },
        TokenKind::Number,
    )
}

/// A position in the list of tokens, and the findings so far.
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// The errors and warnings found so far.
    pub findings: Collector,
    /// Whether to end early, as if the text ended here.
    stop: &'a dyn Fn() -> bool,
    /// Whether it ended early.
    pub stopped: bool,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first token, which ends early when `stop` says so.
    pub fn new(text: &'a str, stop: &'a dyn Fn() -> bool) -> Self {
        let mut findings = Collector::default();
        let (tokens, stopped) = tokens(text, &mut findings, stop);
        Self { text, tokens, at: 0, findings, stop, stopped }
    }

    /// The next token.
    pub fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    /// The position where the last token ended.
    pub fn end_of_last(&self) -> u32 {
        self.at.checked_sub(1).map_or(0, |at| self.tokens[at].span.end)
    }

    /// Returns the next token and advances, except at the end.
    pub fn next(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.at += 1;
            if !self.stopped && self.at.is_multiple_of(ASK_AFTER.1) && (self.stop)() {
                self.stopped = true;
                self.at = self.tokens.len() - 1;
            }
        }
        token
    }

    /// The text of a token.
    pub fn word(&self, token: Token) -> &'a str {
        &self.text[token.span.start as usize..token.span.end as usize]
    }

    /// Whether the next token is this sign.
    pub fn is_at(&self, sign: &str) -> bool {
        self.peek().kind == TokenKind::Sign(SIGNS.into_iter().find(|s| *s == sign).unwrap_or_default())
    }

    /// Skips this sign if it comes next, and tells whether it did.
    pub fn accept(&mut self, sign: &str) -> bool {
        let here = self.is_at(sign);
        if here {
            self.next();
        }
        here
    }

    /// Reports what should have come next, unless the lexer has already reported the token.
    pub fn expected(&mut self, what: &str) {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::Unknown => return,
            TokenKind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.word(token)),
        };
        self.findings.push(Diagnostic::error(token.span, format!("expected {what}, found {found}")));
    }
}
