//! The output of the printer: lines, indentation and comments.
//!
//! A comment is written immediately before the first *anchor* after it. Anchors are the words
//! whose positions are in the tree: names, operands, opening brackets, and the first words of
//! statements and blocks. Commas, operators, `then` and the like are not anchors; they follow
//! the word before them. So a comment after `a` in `a // why`, `, b` is found after the comma
//! when the result is read again, has the same next anchor, and stays there: printing is stable.
//!
//! A comment that was alone on its line gets a line of its own again. A comment that followed something on
//! its line is written at the end of the current line.

use super::ast::{Ast, Comment};

/// Longer lines are broken at the last possible position.
const WIDTH: usize = 100;

/// Deeper blocks are not indented any further. Otherwise the lines of a million nested blocks would need a
/// million blanks each.
const MAX_LEVELS: usize = 40;

/// Columns per level of indentation.
const STEP: usize = 2;

/// The space between two pieces of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing.
    None,
    /// One blank.
    Blank,
    /// One blank, or a line break if the next piece does not fit.
    Break,
}

/// Whether there is a blank line before the next line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankLine {
    /// Never, because a block begins.
    Drop,
    /// If there was one in the original text.
    Keep,
    /// Always.
    Add,
}

/// The text so far.
pub(super) struct Output<'a> {
    text: String,
    /// The offset at which the current line begins.
    line: usize,
    /// The indentation of the second part of a broken line.
    continuation: usize,
    /// The offset of the last blank at which the current line may be broken.
    breakable: Option<usize>,
    /// The current line ends with a comment, so the next piece has to go on a new line.
    broken: bool,
    comments: std::iter::Peekable<std::slice::Iter<'a, Comment>>,
    after_blank: &'a [u32],
}

impl<'a> Output<'a> {
    /// An empty text, with all comments of the program still to be written.
    pub fn new(ast: &'a Ast) -> Self {
        Self {
            text: String::new(),
            line: 0,
            continuation: 0,
            breakable: None,
            broken: false,
            comments: ast.comments.iter().peekable(),
            after_blank: &ast.layout.after_blank,
        }
    }

    /// The complete text, with a line break at its end.
    pub fn finish(mut self) -> String {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }

    /// Whether there was a blank line before this offset in the original text.
    fn blank_before(&self, at: u32) -> bool {
        self.after_blank.binary_search(&at).is_ok()
    }

    /// Whether there was a blank line before the offset `until`, or before one of the comments that are still
    /// to be written up to there.
    pub fn blank_on_the_way(&self, until: u32) -> bool {
        let mut comments = self.comments.clone().take_while(|c| c.span.start < until);
        self.blank_before(until) || comments.any(|c| self.blank_before(c.span.start))
    }

    /// Writes a blank line before the piece with this offset in the original text, if `blank` says so.
    pub fn blank_line(&mut self, at: u32, blank: BlankLine) {
        if blank == BlankLine::Add || blank == BlankLine::Keep && self.blank_before(at) {
            self.text.push('\n');
        }
    }

    /// Begins a line at a level of indentation.
    pub fn begin_line(&mut self, level: usize) {
        if !self.text.is_empty() {
            self.new_line(0);
        }
        self.indent(level.min(MAX_LEVELS) * STEP);
        self.broken = false;
    }

    /// Sets the level of indentation for the second part of broken lines.
    pub fn continue_at(&mut self, level: usize) {
        self.continuation = level.min(MAX_LEVELS) * STEP;
    }

    /// Writes a piece that is not an anchor.
    pub fn put(&mut self, gap: Gap, piece: &str) {
        if self.broken {
            self.new_line(self.continuation);
        } else if gap != Gap::None {
            if gap == Gap::Break {
                self.breakable = Some(self.text.len());
            }
            self.text.push(' ');
        }
        self.text.push_str(piece);
        if self.text.len() - self.line > WIDTH
            && let Some(blank) = self.breakable.take()
        {
            self.line = blank + 1;
            let indented = format!("\n{:width$}", "", width = self.continuation);
            self.text.replace_range(blank..=blank, &indented);
        }
    }

    /// Writes the comments before an anchor, then the anchor.
    pub fn anchor(&mut self, gap: Gap, at: u32, piece: &str) {
        let mut gap = gap;
        while let Some(comment) = self.comments.next_if(|c| c.span.start < at) {
            self.comment_in_line(comment);
            gap = Gap::Blank;
        }
        self.put(gap, piece);
    }

    fn comment_in_line(&mut self, comment: &Comment) {
        if comment.trailing && !self.broken {
            self.append(comment);
        } else {
            self.new_line(self.continuation);
            self.text.push_str(&comment.text);
            self.broken = true;
        }
    }

    /// Writes the comments up to `until`: at the end of the current line, or on lines below it. `blank`
    /// applies to the first line below. Returns what applies to the line after the comments.
    pub fn comments_below(&mut self, until: u32, level: usize, mut blank: BlankLine) -> BlankLine {
        while let Some(comment) = self.comments.next_if(|c| c.span.start < until) {
            if comment.trailing && !self.broken && !self.text.is_empty() {
                self.append(comment);
                continue;
            }
            self.blank_line(comment.span.start, blank);
            self.begin_line(level);
            self.text.push_str(&comment.text);
            self.broken = comment.text.starts_with("//");
            blank = BlankLine::Keep;
        }
        blank
    }

    fn append(&mut self, comment: &Comment) {
        self.text.push(' ');
        self.text.push_str(&comment.text);
        self.broken = comment.text.starts_with("//");
        self.breakable = None;
        if let Some(at) = comment.text.rfind('\n') {
            self.line = self.text.len() - comment.text.len() + at + 1;
        }
    }

    fn new_line(&mut self, columns: usize) {
        self.text.push('\n');
        self.line = self.text.len();
        self.breakable = None;
        self.indent(columns);
        self.broken = false;
    }

    fn indent(&mut self, columns: usize) {
        self.text.extend(std::iter::repeat_n(' ', columns));
    }
}
