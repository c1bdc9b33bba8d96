//! Lines, indentation and comments of printed programs.
//!
//! A comment is written immediately before the first *anchor* after it. Anchors are the words
//! whose place the tree knows: names, operands, opening brackets, and the first words of
//! statements and blocks. Commas, operators, `then` and the like are no anchors; they go with
//! what is before them. So a comment after `a` in `a // why`, `, b` is found after the comma
//! when the result is read again, has the same next anchor, and stays there: printing is stable.
//!
//! Within a statement, a comment that had its line for itself gets one again, and one that
//! followed something goes on the same line. Between statements it is the same, and there the
//! end of a line is what a comment can follow.

use super::ast::{Ast, Comment};

/// Longer lines are broken at the last place where that is possible.
const WIDTH: usize = 100;

/// Deeper blocks are indented no further: a million nested blocks would need as many blanks in
/// each of their lines.
const MAX_LEVELS: usize = 40;

/// Columns per level.
const STEP: usize = 2;

/// What stands between two pieces of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing.
    None,
    /// One blank.
    Blank,
    /// One blank, or the end of the line if what follows does not fit.
    Break,
}

/// What becomes of a blank line before the next line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankLine {
    /// There is none: a block begins.
    Drop,
    /// There is one if the user left one.
    Keep,
    /// There is one.
    Add,
}

/// The text so far.
pub(super) struct Output<'a> {
    text: String,
    /// Where the current line begins.
    line: usize,
    /// Columns before what goes on with a broken line.
    continuation: usize,
    /// The last blank of the current line at which it may be broken.
    breakable: Option<usize>,
    /// Nothing more can follow on the current line: it ends with a comment.
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

    /// The text, ended with a line end.
    pub fn finish(mut self) -> String {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }

    /// Whether the user left a line blank before this place.
    fn blank_before(&self, at: u32) -> bool {
        self.after_blank.binary_search(&at).is_ok()
    }

    /// Whether a blank line of the user's stands before `until` or a comment on the way there.
    pub fn blank_on_the_way(&self, until: u32) -> bool {
        let mut comments = self.comments.clone().take_while(|c| c.span.start < until);
        self.blank_before(until) || comments.any(|c| self.blank_before(c.span.start))
    }

    /// Leaves a line blank before what stood at this place, if there is to be one.
    pub fn blank_line(&mut self, at: u32, blank: BlankLine) {
        if blank == BlankLine::Add || blank == BlankLine::Keep && self.blank_before(at) {
            self.text.push('\n');
        }
    }

    /// Begins a line of a block at some depth.
    pub fn begin_line(&mut self, level: usize) {
        if !self.text.is_empty() {
            self.new_line(0);
        }
        self.indent(level.min(MAX_LEVELS) * STEP);
        self.broken = false;
    }

    /// Sets the depth of what goes on with a broken line.
    pub fn continue_at(&mut self, level: usize) {
        self.continuation = level.min(MAX_LEVELS) * STEP;
    }

    /// Writes a piece that is no anchor.
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

    /// Writes the comments up to `until` at the end of the finished line and below it, the first of
    /// those below after a blank line or not. Gives back what is left of that wish.
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
