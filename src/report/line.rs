//! The lines of a trace, and their layout.
//!
//! ```text
//! [1]  12:3    x := f(g); [note]     x=1 g=0
//! |    |     | |                     |
//! |    |     | text and note         values that changed, wrapped
//! |    |     indentation by call depth
//! |    location
//! thread, in concurrent traces
//! ```

use std::collections::VecDeque;

use super::Count;
use super::palette::{Palette, paint};
use super::words::{counted, cut};
use crate::source::Position;

/// What a line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The beginning of a frame or thread, which is not a step.
    Enter,
    /// A step.
    Step,
    /// A reference to a call that is not written out again, or a number of steps that are left out.
    Folded,
    /// The violation in the last state.
    Violation,
}

/// One line of a trace.
#[derive(Clone, Debug)]
pub struct Line {
    /// What the line shows.
    pub kind: Kind,
    /// The thread that makes the step, in concurrent traces.
    pub thread: Option<u32>,
    /// The position in the source text.
    pub at: Option<Position>,
    /// The depth of calls, for the indentation.
    pub depth: usize,
    /// The text of the statement.
    pub text: String,
    /// A remark; may be empty.
    pub note: String,
    /// Values that changed, each as `name=1`.
    pub values: Vec<String>,
}

/// How many lines of a trace are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The number of lines at the beginning.
    pub first: usize,
    /// The number of lines at the end, where the violation is.
    pub last: usize,
}

/// Collects lines. Those in the middle of a long trace are only counted.
#[derive(Debug)]
pub struct Lines {
    window: Option<Window>,
    first: Vec<Line>,
    last: VecDeque<Line>,
    shown_steps: usize,
    left_out_steps: usize,
    left_out: usize,
}

impl Lines {
    /// A collector that keeps the lines within the window; without a window, it keeps all lines.
    #[must_use]
    pub fn new(window: Option<Window>) -> Self {
        Self {
            window,
            first: Vec::new(),
            last: VecDeque::new(),
            shown_steps: 0,
            left_out_steps: 0,
            left_out: 0,
        }
    }

    /// Appends a line.
    pub fn push(&mut self, line: Line) {
        self.shown_steps += usize::from(line.kind == Kind::Step);
        let Some(window) = self.window.filter(|window| self.first.len() >= window.first) else {
            return self.first.push(line);
        };
        self.last.push_back(line);
        if self.last.len() > window.last
            && let Some(line) = self.last.pop_front()
        {
            self.left_out += 1;
            if line.kind == Kind::Step {
                self.left_out_steps += 1;
                self.shown_steps -= 1;
            }
        }
    }

    /// How many steps are shown on a line.
    #[must_use]
    pub fn shown_steps(&self) -> Count {
        Count::from(self.shown_steps)
    }

    /// Writes the lines that were kept.
    pub fn render(self, width: usize, palette: Palette, out: &mut String) {
        let mut lines = self.first;
        if self.left_out > 0 {
            let steps = counted(Count::from(self.left_out_steps), "step");
            lines.push(Line {
                kind: Kind::Folded,
                thread: None,
                at: None,
                depth: 0,
                text: format!("... {steps} left out here"),
                note: String::new(),
                values: Vec::new(),
            });
        }
        lines.extend(self.last);
        let layout = Layout::new(&lines, width);
        for line in &lines {
            layout.render(line, palette, out);
        }
    }
}

/// The widths of the columns, in characters.
struct Layout {
    thread: usize,
    location: usize,
    cell: usize,
    width: usize,
}

impl Layout {
    /// Calls below this depth are not indented further; their depth is written as a number.
    const DEEPEST: usize = 10;
    /// The least width of the column of values.
    const VALUES: usize = 30;
    /// The least width of the column of statements.
    const CELL: usize = 20;

    fn new(lines: &[Line], width: usize) -> Self {
        let widest = |f: &dyn Fn(&Line) -> usize| lines.iter().map(f).max().unwrap_or(0);
        let thread = widest(&|line| line.thread.map_or(0, |id| thread_name(id).len() + 1));
        let location = widest(&|line| line.at.map_or(0, |at| location(at).len()));
        let margin = 2 + thread + location + 3;
        let most = width.saturating_sub(margin + 2 + Self::VALUES).max(Self::CELL);
        let with_values = |line: &Line| if line.values.is_empty() { 0 } else { cell_width(line) };
        let cell = widest(&with_values).min(most);
        Self { thread, location, cell, width }
    }

    fn margin(&self) -> usize {
        2 + self.thread + self.location + 3
    }

    fn render(&self, line: &Line, palette: Palette, out: &mut String) {
        let thread = line.thread.map_or(String::new(), thread_name);
        let location = line.at.map_or(String::new(), location);
        out.push_str("  ");
        out.push_str(&pad(&thread, self.thread));
        paint(out, palette.faint, &format!("{location:>width$}", width = self.location));
        out.push_str("   ");
        let indent = indentation(line.depth);
        out.push_str(&indent);
        let note = if line.note.is_empty() { String::new() } else { format!(" [{}]", line.note) };
        let room = if line.values.is_empty() {
            self.width.saturating_sub(self.margin()).max(Self::CELL)
        } else {
            self.cell
        };
        let text = cut(&line.text, room.saturating_sub(indent.len() + note.chars().count()).max(8));
        let style = match line.kind {
            Kind::Enter => palette.strong,
            Kind::Violation => palette.bad,
            Kind::Folded => palette.faint,
            Kind::Step => anstyle::Style::new(),
        };
        paint(out, style, &text);
        paint(out, if line.kind == Kind::Violation { palette.bad } else { palette.faint }, &note);
        let used = indent.len() + text.chars().count() + note.chars().count();
        self.render_values(line, used, palette, out);
        // Lines have no trailing spaces.
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }

    /// Writes the values, all starting in one column; those that do not fit continue on the next line.
    fn render_values(&self, line: &Line, used: usize, palette: Palette, out: &mut String) {
        let column = self.margin() + self.cell + 2;
        let mut at = self.margin() + used;
        for (i, value) in line.values.iter().enumerate() {
            let length = value.chars().count();
            if i == 0 {
                let gap = column.saturating_sub(at).max(2);
                out.push_str(&" ".repeat(gap));
                at += gap;
            } else if at + 1 + length > self.width.max(column + length) {
                out.push('\n');
                out.push_str(&" ".repeat(column));
                at = column;
            } else {
                out.push(' ');
                at += 1;
            }
            paint(out, palette.value, value);
            at += length;
        }
    }
}

fn thread_name(id: u32) -> String {
    format!("[{id}]")
}

fn location(at: Position) -> String {
    format!("{}:{}", at.line, at.column)
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

fn indentation(depth: usize) -> String {
    let spaces = "  ".repeat(depth.min(Layout::DEEPEST));
    if depth > Layout::DEEPEST { format!("{spaces}({depth}) ") } else { spaces }
}

fn cell_width(line: &Line) -> usize {
    let note = if line.note.is_empty() { 0 } else { line.note.chars().count() + 3 };
    indentation(line.depth).len() + line.text.chars().count() + note
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(line: usize, depth: usize, text: &str, values: &[&str]) -> Line {
        Line {
            kind: Kind::Step,
            thread: None,
            at: Some(Position { line, column: 3 }),
            depth,
            text: text.to_owned(),
            note: String::new(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        }
    }

    fn render(window: Option<Window>, lines: Vec<Line>, width: usize) -> String {
        let mut kept = Lines::new(window);
        for line in lines {
            kept.push(line);
        }
        let mut out = String::new();
        kept.render(width, Palette::default(), &mut out);
        out
    }

    #[test]
    fn columns_line_up_and_depth_is_capped() {
        let lines = vec![
            step(3, 0, "g := T;", &["g=1"]),
            step(12, 1, "skip;", &[]),
            step(120, 10, "x := y;", &["x=0"]),
            step(120, 12_345, "x := y;", &["x=1", "y=0"]),
        ];
        insta::assert_snapshot!(render(None, lines, 100), @"
          3:3   g := T;                              g=1
         12:3     skip;
        120:3                       x := y;          x=0
        120:3                       (12345) x := y;  x=1 y=0
        ");
    }

    #[test]
    fn long_text_is_cut_and_many_values_are_wrapped() {
        let values: Vec<String> = (0..20).map(|i| format!("v{i}=0")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let long = "assume(a & b & c & d & e & f & g & h & i & j & k & l & m & n & o & p & q);";
        let lines = vec![step(1, 0, long, &values), step(2, 1, long, &[])];
        insta::assert_snapshot!(render(None, lines, 60), @"
        1:3   assume(a & b & c...   v0=0 v1=0 v2=0 v3=0 v4=0 v5=0
                                    v6=0 v7=0 v8=0 v9=0 v10=0
                                    v11=0 v12=0 v13=0 v14=0 v15=0
                                    v16=0 v17=0 v18=0 v19=0
        2:3     assume(a & b & c & d & e & f & g & h & i & j &...
        ");
    }

    #[test]
    fn the_middle_of_a_long_trace_is_left_out_and_counted() {
        let lines: Vec<Line> = (1..=2000).map(|i| step(i, 0, "x := !x;", &["x=1"])).collect();
        let window = Window { first: 2, last: 3 };
        insta::assert_snapshot!(render(Some(window), lines, 60), @"
           1:3   x := !x;  x=1
           2:3   x := !x;  x=1
                 ... 1,995 steps left out here
        1998:3   x := !x;  x=1
        1999:3   x := !x;  x=1
        2000:3   x := !x;  x=1
        ");
    }
}
