//! What is wrong with an input, where, and what to do about it.
//!
//! A diagnostic is data; only [`render`] turns it into text. Messages are lower case, have no
//! full stop, put names in backquotes, and speak of the program, not of the parser.

pub mod suggest;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use crate::source::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input is used all the same.
    Warning,
    /// The input cannot be used.
    Error,
}

/// One finding about an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// One sentence.
    pub message: String,
    /// Where.
    pub span: Span,
    /// A word under the caret; may be empty.
    pub caret: String,
    /// Another place that explains this one.
    pub related: Option<(Span, String)>,
    /// How to mend it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    #[must_use]
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message.into())
    }

    /// A warning at a place.
    #[must_use]
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message.into())
    }

    fn new(severity: Severity, span: Span, message: String) -> Self {
        Self { severity, message, span, caret: String::new(), related: None, help: None }
    }

    /// Adds a word under the caret.
    #[must_use]
    pub fn caret(mut self, text: impl Into<String>) -> Self {
        self.caret = text.into();
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related = Some((span, text.into()));
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// Whether any of them makes the input unusable.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// The diagnostics as text in the style of rustc, in the order of the text.
#[must_use]
pub fn render(source: &Source, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|d| d.span.start);
    let mut text = String::new();
    for diagnostic in sorted {
        text.push_str(&render_one(&renderer, source, diagnostic));
        text.push_str("\n\n");
    }
    text
}

fn render_one(renderer: &Renderer, source: &Source, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let primary = |window: &Window| {
        let annotation = AnnotationKind::Primary.span(window.range(diagnostic.span));
        if diagnostic.caret.is_empty() { annotation } else { annotation.label(&diagnostic.caret) }
    };
    let mut elements: Vec<Element> = Vec::new();
    match &diagnostic.related {
        Some((span, label)) if are_near(source, diagnostic.span, *span) => {
            let window = Window::around(source, diagnostic.span.to(*span), diagnostic.span);
            let context = AnnotationKind::Context.span(window.range(*span)).label(label);
            window.show(source, [primary(&window), context], &mut elements);
        }
        related => {
            let window = Window::around(source, diagnostic.span, diagnostic.span);
            window.show(source, [primary(&window)], &mut elements);
            if let Some((span, label)) = related {
                let window = Window::around(source, *span, *span);
                let context = AnnotationKind::Context.span(window.range(*span)).label(label);
                window.show(source, [context], &mut elements);
            }
        }
    }
    let mut report = vec![level.primary_title(&diagnostic.message).elements(elements)];
    if let Some(help) = &diagnostic.help {
        report.push(Group::with_title(Level::HELP.secondary_title(help)));
    }
    renderer.render(&report)
}

/// Places further apart than this are shown one after the other.
const NEAR_LINES: usize = 40;

/// Lines longer than this are cut around the place, which is then named apart from the text.
const LONG_LINE: usize = 4000;

fn are_near(source: &Source, one: Span, other: Span) -> bool {
    let lines = source.position(one.start).line.abs_diff(source.position(other.start).line);
    lines <= NEAR_LINES && (one.to(other).end - one.to(other).start) as usize <= LONG_LINE
}

/// The part of the text that a diagnostic shows: the renderer looks at all it is given, and a
/// thousand errors in a long file, or on a long line, must not cost a thousand long files.
struct Window<'a> {
    text: &'a str,
    start: usize,
    /// What the window is about.
    place: Span,
    /// The text does not begin with its line.
    is_cut: bool,
}

impl<'a> Window<'a> {
    fn around(source: &'a Source, span: Span, place: Span) -> Self {
        let text = source.text();
        let first = source.position(span.start).line;
        let last = source.position(span.end.max(span.start)).line;
        let line_start = source.line_start(first);
        let line_end = source.line_start(last) + source.line(last).len();
        let start = at_character(text, line_start.max((span.start as usize).saturating_sub(LONG_LINE)));
        let end = at_character(text, line_end.min(span.end as usize + LONG_LINE)).max(start);
        Self { text: &text[start..end], start, place, is_cut: start != line_start }
    }

    fn show(
        &self,
        source: &'a Source,
        annotations: impl IntoIterator<Item = annotate_snippets::Annotation<'a>>,
        elements: &mut Vec<Element<'a>>,
    ) {
        let position = source.position(self.place.start);
        let snippet = Snippet::source(self.text)
            .line_start(source.position(self.start as u32).line)
            .annotations(annotations);
        if self.is_cut {
            let origin = Origin::path(source.name()).line(position.line).char_column(position.column);
            elements.push(origin.into());
            elements.push(snippet.into());
        } else {
            elements.push(snippet.path(source.name()).into());
        }
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let clip = |offset: u32| (offset as usize).saturating_sub(self.start).min(self.text.len());
        clip(span.start)..clip(span.end).max(clip(span.start))
    }
}

/// The first boundary between characters from `offset` on.
fn at_character(text: &str, offset: usize) -> usize {
    (offset..text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len())
}

/// What was found about one of the texts of an input.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The text is the `.prop` file, not the net.
    pub about_property: bool,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_far_apart_are_shown_one_after_the_other() {
        let text = format!("decl a;\n{}decl a;\n", "\n".repeat(100));
        let second = text.rfind('a').expect("a");
        let diagnostic = Diagnostic::error(Span::new(second, second + 1), "declared twice")
            .related(Span::new(5, 6), "first here");
        let source = Source::new("demo.bp", text);
        insta::assert_snapshot!(render(&source, &[diagnostic], false), @r"
        error: declared twice
           --> demo.bp:102:6
            |
        102 | decl a;
            |      ^
            |
           ::: demo.bp:1:6
            |
          1 | decl a;
            |      - first here
        ");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}x{}", "a ".repeat(5000), " b".repeat(5000));
        let source = Source::new("demo.bp", text);
        let text = render(&source, &[Diagnostic::error(Span::new(10_000, 10_001), "no")], false);
        assert!(text.contains("demo.bp:1:10001"), "{text}");
        assert!(text.len() < 1000, "{}", text.len());
    }
}
