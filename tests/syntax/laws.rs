//! What must hold for every program: the laws of printing, and the corpus to try them on.

#[path = "../support/shared_corpus.rs"]
pub mod shared_corpus;

use cusp::diagnostic::{has_errors, render};
use cusp::source::Source;
use cusp::syntax::ast::{Ast, Dialect};
use cusp::syntax::{parse, print};

use shared_corpus::shared_corpus;

/// The comments of a program as a multiset.
pub fn comments(ast: &Ast) -> Vec<&str> {
    let mut texts: Vec<&str> = ast.comments.iter().map(|c| c.text.as_str()).collect();
    texts.sort_unstable();
    texts
}

/// Checks the laws of printing on a text. False if the text has errors, so that none apply.
pub fn printing_laws_hold(name: &str, text: &str, dialect: Dialect) -> bool {
    let source = Source::new(name, text);
    let (ast, diagnostics) = parse(&source, dialect);
    if has_errors(&diagnostics) {
        return false;
    }
    let printed = Source::new(name, print(&ast));
    let (again, diagnostics) = parse(&printed, dialect);
    let shown = || format!("{name}\n--- text\n{text}\n--- printed\n{}", printed.text());
    assert!(!has_errors(&diagnostics), "{}\n{}", shown(), render(&printed, &diagnostics, false));
    assert!(ast.same_program(&again), "another program: {}", shown());
    assert_eq!(comments(&ast), comments(&again), "other comments: {}", shown());
    assert_eq!(printed.text(), print(&again), "unstable: {}", shown());
    let untidy = printed.text().lines().any(|line| line.ends_with(' ') && !line.contains("/*"));
    assert!(!untidy || text.contains("/*"), "blanks at a line end: {}", shown());
    true
}

/// One program of the corpus.
pub struct CorpusFile {
    /// As in the manifest.
    pub path: String,
    pub source: Source,
    pub dialect: Dialect,
}

/// The Boolean programs of the corpus.
///
/// # Panics
/// If there is no corpus.
pub fn corpus() -> Vec<CorpusFile> {
    let root = shared_corpus();
    let manifest = std::fs::read_to_string(root.join("manifest.tsv")).expect("a readable manifest");
    let mut files = Vec::new();
    for line in manifest.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [path, "bp", _, options, ..] = columns[..] else { continue };
        let dialect = match options.split_once("--dialect ").map(|(_, rest)| rest.split(' ').next()) {
            Some(Some("boppo")) => Dialect::Boppo,
            Some(Some("getafix")) => Dialect::Getafix,
            _ => Dialect::Boom,
        };
        let source = Source::load(&root.join(path)).expect("a file of the manifest");
        files.push(CorpusFile { path: path.to_owned(), source, dialect });
    }
    files
}

/// A small generator of pseudo-random numbers (xorshift), the same on every machine.
pub struct Rng(u64);

impl Rng {
    /// The generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// Splits a program without errors into its tokens and comments, roughly as the language does;
/// independent of the lexer that is tested.
pub fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_$#".contains(c);
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |at| at + 4)
        } else if rest.starts_with('{') {
            rest.find('}').map_or(1, |at| at + 1)
        } else if rest.starts_with(is_word) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if [":=", "=>", "!=", "&&", "||"].iter().any(|op| rest.starts_with(op)) {
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        tokens.push(rest[..length].trim_end());
        rest = rest[length..].trim_start();
    }
    tokens
}
