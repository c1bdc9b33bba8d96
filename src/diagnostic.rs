//! What is wrong with an input, where, and what to do about it.
//!
//! A diagnostic is data; only [`render`] turns it into text. Messages are lower case, have no
//! full stop, put names in backquotes, and speak of the program, not of the parser.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

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
    let window = Window::around(source, diagnostic);
    let primary = AnnotationKind::Primary.span(window.range(diagnostic.span));
    let primary = if diagnostic.caret.is_empty() { primary } else { primary.label(&diagnostic.caret) };
    let mut snippet = Snippet::source(window.text)
        .path(source.name())
        .line_start(window.first_line)
        .annotation(primary);
    if let Some((span, label)) = &diagnostic.related {
        let range = window.range(*span);
        snippet = snippet.annotation(AnnotationKind::Context.span(range).label(label));
    }
    let group = level.primary_title(&diagnostic.message).element(snippet);
    let mut report = vec![group];
    if let Some(help) = &diagnostic.help {
        report.push(Group::with_title(Level::HELP.secondary_title(help)));
    }
    renderer.render(&report)
}

/// The lines that a diagnostic touches: the renderer looks at all the text it is given, and
/// a thousand errors in a long file must not cost a thousand long files.
struct Window<'a> {
    text: &'a str,
    start: usize,
    first_line: usize,
}

impl<'a> Window<'a> {
    fn around(source: &'a Source, diagnostic: &Diagnostic) -> Self {
        let mut span = diagnostic.span;
        if let Some((other, _)) = diagnostic.related {
            span = span.to(other);
        }
        let first_line = source.position(span.start).line;
        let last_line = source.position(span.end.max(span.start)).line;
        let text = source.text();
        let start = source.line_start(first_line);
        let end = source.line_start(last_line) + source.line(last_line).len();
        Self { text: &text[start..end], start, first_line }
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let clip = |offset: u32| (offset as usize).saturating_sub(self.start).min(self.text.len());
        clip(span.start)..clip(span.end).max(clip(span.start))
    }
}
