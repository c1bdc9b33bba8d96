//! Errors and warnings about an input, with their location and advice.
//!
//! A diagnostic is data; only [`render`] turns it into text. Messages are lower case, have no
//! full stop, put names in backquotes, and describe the program, not the parser.

pub(crate) mod collect;
pub mod suggest;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use crate::source::{Source, Span};

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input can be used.
    Warning,
    /// The input cannot be used.
    Error,
}

/// One finding about an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How severe a finding is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The part of the text that the message is about.
    pub span: Span,
    /// A short text next to the caret; may be empty.
    pub caret: String,
    /// Another part of the text that explains the finding, with a label.
    pub related: Option<(Span, String)>,
    /// Advice on how to correct it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error about a part of the text.
    #[must_use]
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message.into())
    }

    /// A warning about a part of the text.
    #[must_use]
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message.into())
    }

    fn new(severity: Severity, span: Span, message: String) -> Self {
        Self { severity, message, span, caret: String::new(), related: None, help: None }
    }

    /// Adds a short text next to the caret.
    #[must_use]
    pub fn caret(mut self, text: impl Into<String>) -> Self {
        self.caret = text.into();
        self
    }

    /// Adds another part of the text, with a label.
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

/// Whether at least one of the findings is an error.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// Renders the diagnostics in the style of rustc, in the order of their positions in the input.
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

/// If two parts of the text are more lines apart than this, they are shown in separate snippets.
const NEAR_LINES: usize = 40;

/// Longer lines are cut on both sides of the span; its line and column are then shown on a line of their own.
const LONG_LINE: usize = 4000;

fn are_near(source: &Source, one: Span, other: Span) -> bool {
    let lines = source.position(one.start).line.abs_diff(source.position(other.start).line);
    lines <= NEAR_LINES && (one.to(other).end - one.to(other).start) as usize <= LONG_LINE
}

/// The part of the text that the renderer gets for a diagnostic. The renderer reads everything that it is
/// given, so with the whole text a thousand errors in a long file, or on a long line, would take too long.
struct Window<'a> {
    text: &'a str,
    start: usize,
    /// The span that the diagnostic points at.
    focus: Span,
    /// The window begins in the middle of a line.
    is_cut: bool,
}

impl<'a> Window<'a> {
    fn around(source: &'a Source, span: Span, focus: Span) -> Self {
        let text = source.text();
        let first = source.position(span.start).line;
        let last = source.position(span.end.max(span.start)).line;
        let line_start = source.line_start(first);
        let line_end = source.line_start(last) + source.line(last).len();
        let start = at_character(text, line_start.max((span.start as usize).saturating_sub(LONG_LINE)));
        let end = at_character(text, line_end.min(span.end as usize + LONG_LINE)).max(start);
        Self { text: &text[start..end], start, focus, is_cut: start != line_start }
    }

    fn show(
        &self,
        source: &'a Source,
        annotations: impl IntoIterator<Item = annotate_snippets::Annotation<'a>>,
        elements: &mut Vec<Element<'a>>,
    ) {
        let position = source.position(self.focus.start);
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

/// The first character boundary at or after `offset`.
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
