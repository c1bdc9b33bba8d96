//! The lexer: splits the text into tokens, one at a time.
//!
//! Invariant (complete): every byte of the text belongs to white space, a comment, or a token.
//! Everything else becomes a [`TokenKind::Unknown`] token, and only the lexer reports an error for it.
//!
//! A token is its kind and its span; no memory is allocated for it.

use super::ast::{Comment, Layout};
use super::keyword::Keyword;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::collect::Collector;
use crate::source::Span;

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name that is not reserved, `_` included.
    Name,
    /// `{a.b}`
    Quoted,
    /// Decimal digits.
    Number,
    /// A reserved word.
    Keyword(Keyword),
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `:=`
    Assign,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `[`
    LeftBracket,
    /// `]`
    RightBracket,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `'`
    Prime,
    /// `*`
    Star,
    /// `?`
    Question,
    /// `!` or `~`
    Not,
    /// `&` or `&&`
    And,
    /// `|` or `||`
    Or,
    /// `^`
    Xor,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=>`
    Implies,
    /// Not part of the language; the error is already reported.
    Unknown,
    /// The end of the file.
    Eof,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Whether it is the first token on its line.
    pub first_on_line: bool,
    /// Its span.
    pub span: Span,
}

/// Reads tokens and collects comments.
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// The offset of the next byte to read.
    at: usize,
    /// The offset after the last significant byte: white space and the end-of-file mark of DOS at the end are
    /// ignored.
    end: usize,
    /// The number of line breaks since the last token or comment.
    newlines: u32,
    /// Whether there was a token on the current line.
    token_on_line: bool,
    /// Whether there was a token or comment on the current line.
    text_on_line: bool,
    /// The comments so far.
    pub comments: Vec<Comment>,
    /// The blank lines so far.
    pub layout: Layout,
    /// The errors and warnings so far, including those of the parser.
    pub findings: Collector,
    /// A comment is not closed and runs to the end of the file, so what seems to be missing may be inside the
    /// comment.
    pub truncated: bool,
    /// Whether to end early, as if the text ended here.
    stop: &'a dyn Fn() -> bool,
    /// The offset at which `stop` is asked next.
    ask_at: usize,
}

/// How many bytes are read before the lexer asks again whether to stop.
const ASK_AFTER: usize = 1 << 16;

impl<'a> Lexer<'a> {
    /// A lexer at the start of a text, which ends early when `stop` says so.
    pub fn new(text: &'a str, stop: &'a dyn Fn() -> bool) -> Self {
        let end = text.trim_end_matches(|c| is_white(c) || c == '\u{1a}').len();
        Self {
            text,
            at: 0,
            end,
            newlines: 0,
            token_on_line: false,
            text_on_line: false,
            comments: Vec::new(),
            layout: Layout::default(),
            findings: Collector::default(),
            truncated: false,
            stop,
            ask_at: ASK_AFTER,
        }
    }

    /// The next token. At the end of the text, every call returns [`TokenKind::Eof`].
    pub fn next(&mut self) -> Token {
        self.skip_blanks_and_comments();
        let start = self.at;
        let first_on_line = !self.token_on_line;
        self.enter(start);
        let kind = self.scan();
        self.token_on_line = true;
        Token { kind, first_on_line, span: Span::new(start, self.at) }
    }

    /// The offset of the first byte after the tokens read so far that is not white space.
    pub fn byte_ahead(&self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..self.end];
        rest.iter().copied().find(|b| !is_white(char::from(*b)))
    }

    fn byte(&self, ahead: usize) -> u8 {
        let at = self.at + ahead;
        if at < self.end { self.text.as_bytes()[at] } else { 0 }
    }

    /// Records that a token or comment begins here.
    fn enter(&mut self, start: usize) {
        if self.newlines > 1 && start < self.end {
            self.layout.after_blank.push(start as u32);
        }
        self.newlines = 0;
        self.text_on_line = true;
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            if self.at >= self.ask_at {
                self.ask_at = self.at + ASK_AFTER;
                if (self.stop)() {
                    self.at = self.end;
                }
            }
            match self.byte(0) {
                b'\n' => {
                    self.at += 1;
                    self.newlines += 1;
                    self.token_on_line = false;
                    self.text_on_line = false;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte(1) == b'/' => {
                    let rest = &self.text[self.at..self.end];
                    let line = rest.find('\n').map_or(rest, |length| &rest[..length]);
                    self.comment(line.trim_end_matches(is_white).len());
                }
                b'/' if self.byte(1) == b'*' => {
                    let rest = &self.text[self.at..self.end];
                    if let Some(length) = rest[2..].find("*/") {
                        self.comment(length + 4);
                    } else {
                        let span = Span::new(self.at, self.at + 2);
                        let error = Diagnostic::error(span, "this comment is never closed");
                        self.findings.push(error.help("close it with `*/`"));
                        self.truncated = true;
                        self.at = self.end;
                    }
                }
                _ => return,
            }
        }
    }

    fn comment(&mut self, length: usize) {
        let start = self.at;
        let trailing = self.text_on_line;
        self.enter(start);
        self.at += length;
        let text = &self.text[start..self.at];
        if text.contains('\n') {
            self.token_on_line = false;
        }
        let text = if text.contains('\r') { text.replace("\r\n", "\n") } else { text.to_owned() };
        self.comments.push(Comment { text, span: Span::new(start, self.at), trailing });
    }

    fn scan(&mut self) -> TokenKind {
        use TokenKind as T;
        let (first, second) = (self.byte(0), self.byte(1));
        let (kind, length) = match first {
            _ if self.at >= self.end => (T::Eof, 0),
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => return self.word(),
            b'0'..=b'9' => return self.number(),
            b'{' => return self.quoted(),
            b',' => (T::Comma, 1),
            b';' => (T::Semicolon, 1),
            b':' if second == b'=' => (T::Assign, 2),
            b':' => (T::Colon, 1),
            b'(' => (T::LeftParen, 1),
            b')' => (T::RightParen, 1),
            b'[' => (T::LeftBracket, 1),
            b']' => (T::RightBracket, 1),
            b'<' if second == b'=' && self.byte(2) == b'>' => return self.foreign(T::Equal, 3, "="),
            b'<' => (T::Less, 1),
            b'>' => (T::Greater, 1),
            b'\'' => (T::Prime, 1),
            b'*' => (T::Star, 1),
            b'?' => (T::Question, 1),
            b'!' if second == b'=' => (T::NotEqual, 2),
            b'!' | b'~' => (T::Not, 1),
            b'&' => (T::And, 1 + usize::from(second == b'&')),
            b'|' => (T::Or, 1 + usize::from(second == b'|')),
            b'^' => (T::Xor, 1),
            b'=' if second == b'>' => (T::Implies, 2),
            b'=' if second == b'=' => return self.foreign(T::Equal, 2, "="),
            b'=' => (T::Equal, 1),
            b'-' if second == b'>' => return self.foreign(T::Implies, 2, "=>"),
            _ => return self.unknown(),
        };
        self.at += length;
        kind
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        self.at += 1 + name_tail(&self.text.as_bytes()[start + 1..self.end]);
        Keyword::from_word(&self.text[start..self.at]).map_or(TokenKind::Name, TokenKind::Keyword)
    }

    fn number(&mut self) -> TokenKind {
        let start = self.at;
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
        if !is_name_byte(self.byte(0)) {
            return TokenKind::Number;
        }
        self.at += name_tail(&self.text.as_bytes()[self.at..self.end]);
        let span = Span::new(start, self.at);
        let word = shortened(&self.text[start..self.at], 40);
        let error = Diagnostic::error(span, format!("`{word}` is neither a name nor a number"));
        self.findings.push(error.help("a name begins with a letter or `_`"));
        TokenKind::Unknown
    }

    fn quoted(&mut self) -> TokenKind {
        let start = self.at;
        let rest = &self.text.as_bytes()[start + 1..self.end];
        let length = rest.iter().position(|b| matches!(b, b'}' | b'\n' | b'{')).unwrap_or(rest.len());
        if length < rest.len() && rest[length] == b'}' && length > 0 {
            self.at += length + 2;
            return TokenKind::Quoted;
        }
        self.at += 1;
        let message = if length < rest.len() && rest[length] == b'}' {
            self.at += 1;
            "a quoted name must not be empty"
        } else {
            "a quoted name must end with `}` on the same line"
        };
        let error = Diagnostic::error(Span::new(start, self.at), message);
        self.findings.push(error.help("`{` and `}` quote names; blocks are written with `begin` and `end`"));
        TokenKind::Unknown
    }

    /// Reads an operator of other languages whose meaning is obvious, and reports an error.
    fn foreign(&mut self, kind: TokenKind, length: usize, ours: &str) -> TokenKind {
        let span = Span::new(self.at, self.at + length);
        self.at += length;
        let theirs = &self.text[span.start as usize..span.end as usize];
        let error = Diagnostic::error(span, format!("`{theirs}` is not an operator"));
        self.findings.push(error.help(format!("write `{ours}`")));
        kind
    }

    /// Reads a sequence of characters that cannot begin a token, as one token with one error.
    fn unknown(&mut self) -> TokenKind {
        let start = self.at;
        let rest = &self.text[start..self.end];
        if let Some(quoted) = rest.strip_prefix('"') {
            // Only up to the next quote on the same line, so that a line of many quotes takes linear time.
            let close = quoted.find(['"', '\n']).filter(|&at| quoted.as_bytes()[at] == b'"');
            self.at += close.map_or(1, |at| at + 2);
            let error =
                Diagnostic::error(Span::new(start, self.at), "text in quotes is not part of the language");
            self.findings.push(error);
            return TokenKind::Unknown;
        }
        let strange = |c: char| !is_white(c) && !matches!(c, '!'..='~') || "@#$%\\`+-./}".contains(c);
        let mut length = rest.find(|c| !strange(c)).unwrap_or(rest.len());
        // A comment may begin in the middle of the sequence.
        for opening in ["//", "/*"] {
            length = rest[..length].find(opening).unwrap_or(length);
        }
        self.at += length.max(1);
        if self.findings.is_full() {
            return TokenKind::Unknown;
        }
        let run = &self.text[start..self.at];
        let noun = if run.chars().nth(1).is_some() { "characters" } else { "character" };
        let error =
            Diagnostic::error(Span::new(start, self.at), format!("unknown {noun} {}", spelled_out(run)));
        let help = if run.chars().all(char::is_alphanumeric) {
            Some("names are made of `A-Z a-z 0-9 _ $ # -`; others can be quoted: `{...}`")
        } else {
            None
        };
        self.findings.push(help.map_or(error.clone(), |text| error.help(text)));
        TokenKind::Unknown
    }
}

/// Whether a name can be written without braces. Reserved words cannot, and `_` is not a name.
pub(super) fn is_plain_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    match bytes.first() {
        Some(b'A'..=b'Z' | b'a'..=b'z' | b'_') => {
            1 + name_tail(&bytes[1..]) == bytes.len() && name != "_" && Keyword::from_word(name).is_none()
        }
        _ => false,
    }
}

/// The beginning of a text, short enough for a message.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The number of bytes at the beginning of a text that can continue a name. A `-` can only do so between two
/// other characters of the name.
fn name_tail(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let hyphen = byte == b'-' && bytes.get(length + 1).is_some_and(|&b| is_name_byte(b));
        if !is_name_byte(byte) && !hyphen {
            break;
        }
        length += 1;
    }
    length
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#')
}

fn is_white(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// Characters as a message shows them. Invisible characters are shown by their numbers.
pub(crate) fn spelled_out(run: &str) -> String {
    let visible = run.chars().all(|c| !c.is_control() && !c.is_whitespace() && !is_invisible(c) && c != '`');
    if visible {
        return format!("`{}`", shortened(run, 20));
    }
    let codes: Vec<String> = run.chars().take(4).map(|c| format!("U+{:04X}", u32::from(c))).collect();
    let more = if run.chars().nth(4).is_some() { " ..." } else { "" };
    format!("{}{more}", codes.join(" "))
}

/// Format characters, byte order marks and the like.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
