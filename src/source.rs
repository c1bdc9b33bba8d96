//! Input texts, and positions and spans in them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A contiguous part of the source text, as a range of byte offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to, but not including, `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// The smallest span that contains both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

/// One input text with its name.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Byte offset of the first character of every line.
    lines: Vec<u32>,
    encoding: Encoding,
}

/// How the characters of a file are written as bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Encoding {
    #[default]
    Utf8,
    /// UTF-8 after a byte order mark, which some editors write.
    Utf8WithMark,
    /// One byte for each character, as in comments of old files.
    Latin1,
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// Larger inputs are refused, because offsets have 32 bits. Real inputs are much smaller.
pub const MAX_INPUT_BYTES: u64 = 512 << 20;

/// The reason why an input could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The file's name as the user wrote it.
    pub name: String,
    /// What is wrong, as the rest of a sentence that begins with the name.
    pub message: String,
}

impl Source {
    /// A text with the name that messages show for it.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let starts = text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Self { name: name.into(), text, lines, encoding: Encoding::default() }
    }

    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    /// If the file does not exist, cannot be read, is a directory, is too large, or is not a text file.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        Self::load_unless(path, &|| false)
    }

    /// Like [`Source::load`], but ends when `stop` says so, which is asked after every block.
    ///
    /// # Errors
    /// The same, and if `stop` ended it.
    pub fn load_unless(path: &Path, stop: &dyn Fn() -> bool) -> Result<Self, LoadError> {
        let name = Self::name_of(path);
        if path == Path::new("-") {
            return Self::read(name, std::io::stdin().lock(), stop);
        }
        let fail = |message: String| LoadError { name: name.clone(), message };
        let file = File::open(path).map_err(|e| fail(plain_io_message(&e)))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(fail("is a directory, not a program".to_owned()));
        }
        Self::read(name, file, stop)
    }

    /// The name that messages show for a file, or for standard input.
    #[must_use]
    pub fn name_of(path: &Path) -> String {
        if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() }
    }

    fn read(name: String, mut input: impl Read, stop: &dyn Fn() -> bool) -> Result<Self, LoadError> {
        let fail = |name: &str, message: String| LoadError { name: name.to_owned(), message };
        let mut bytes = Vec::new();
        // Every block is examined by itself, so that a large binary file is not read completely.
        loop {
            let begin = bytes.len();
            let more =
                read_block(&mut input, &mut bytes, stop).map_err(|e| fail(&name, plain_io_message(&e)))?;
            if let Some(at) = bytes[begin..].iter().position(|&b| is_binary(b)) {
                let at = begin + at;
                let message = format!("is not a text file: byte {at} is 0x{:02x}", bytes[at]);
                return Err(fail(&name, message));
            }
            if !more || bytes.len() as u64 > MAX_INPUT_BYTES {
                break;
            }
        }
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            let message = format!("is larger than {} MB", MAX_INPUT_BYTES >> 20);
            return Err(fail(&name, message));
        }
        let (text, encoding) = match String::from_utf8(bytes) {
            Ok(text) => match text.strip_prefix(MARK) {
                Some(rest) => (rest.to_owned(), Encoding::Utf8WithMark),
                None => (text, Encoding::Utf8),
            },
            Err(error) => (latin1(error.as_bytes()), Encoding::Latin1),
        };
        Ok(Self { encoding, ..Self::new(name, text) })
    }

    /// Another text, written as bytes in the same way as this one.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u8> {
        let latin1 = || text.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>();
        match self.encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf8WithMark => format!("{MARK}{text}").into_bytes(),
            // A character that is not in the original text may not be in Latin-1, either.
            Encoding::Latin1 => latin1().unwrap_or_else(|| text.as_bytes().to_vec()),
        }
    }

    /// The name that messages show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty if the span is not inside the text.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The line and column of a byte offset.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = self.lines[line - 1] as usize;
        let before = self.text.get(start..offset as usize).unwrap_or("");
        Position { line, column: before.chars().count() + 1 }
    }

    /// The offset of the first byte of a line. Lines are counted from 1.
    #[must_use]
    pub fn line_start(&self, line: usize) -> usize {
        self.lines[line - 1] as usize
    }

    /// The text of a line, without its line break. Lines are counted from 1.
    #[must_use]
    pub fn line(&self, line: usize) -> &str {
        let start = self.lines[line - 1] as usize;
        let end = self.lines.get(line).map_or(self.text.len(), |&e| e as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

/// Decodes Latin-1, which comments in old files use: every byte is one character.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&b| char::from(b)).collect()
}

/// Reads everything from a file, unless `stop` ends it, which is asked after every block.
///
/// # Errors
/// If the file cannot be read, or `stop` ended it.
pub fn read_file_unless(path: &Path, stop: &dyn Fn() -> bool) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    while read_block(&mut file, &mut bytes, stop)? {}
    Ok(bytes)
}

/// Reads one more block, and says whether there may be another one.
fn read_block(input: &mut impl Read, bytes: &mut Vec<u8>, stop: &dyn Fn() -> bool) -> std::io::Result<bool> {
    const BLOCK: u64 = 1 << 20;
    let read = input.by_ref().take(BLOCK).read_to_end(bytes)?;
    if stop() {
        return Err(std::io::Error::new(std::io::ErrorKind::Interrupted, "there is no time or memory left"));
    }
    Ok(read > 0)
}

fn is_binary(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1a) || byte == 0x7f
}

fn plain_io_message(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "cannot be read (permission denied)".to_owned(),
        std::io::ErrorKind::IsADirectory => "is a directory, not a program".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("a", "ab\nçd\n");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(5), Position { line: 2, column: 2 });
        assert_eq!(source.line(2), "çd");
        assert_eq!(source.line(3), "");
    }

    #[test]
    fn binary_input_is_named_as_such() {
        let error = Source::read("x".to_owned(), &b"decl a;\0"[..], &|| false).expect_err("a NUL byte");
        assert_eq!(error.message, "is not a text file: byte 7 is 0x00");
    }

    #[test]
    fn other_texts_are_written_like_the_one_that_was_read() {
        for bytes in [&b"// caf\xe9\n"[..], b"\xef\xbb\xbf// caf\xc3\xa9\n", b"// caf\xc3\xa9\n"] {
            let source = Source::read("x".to_owned(), bytes, &|| false).expect("text");
            assert_eq!(source.text(), "// caf\u{e9}\n");
            assert_eq!(source.encode(source.text()), bytes);
        }
    }

    #[test]
    fn a_latin1_comment_is_text() {
        let source = Source::read("x".to_owned(), &b"// caf\xe9\n"[..], &|| false).expect("text");
        assert_eq!(source.line(1), "// café");
    }
}
