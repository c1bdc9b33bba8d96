//! The colours of reports.

use anstyle::{AnsiColor, Style};

/// The styles of the parts of a report. A plain palette writes no escape codes at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Palette {
    /// The word `SAFE`.
    pub good: Style,
    /// The word `UNSAFE`, and the step that violates the property.
    pub bad: Style,
    /// The word `UNKNOWN`.
    pub open: Style,
    /// Locations and remarks.
    pub faint: Style,
    /// The beginning of a frame.
    pub strong: Style,
    /// Values of variables.
    pub value: Style,
}

impl Palette {
    /// A palette with or without colours.
    #[must_use]
    pub fn new(colour: bool) -> Self {
        if !colour {
            return Self::default();
        }
        let bold = |colour: AnsiColor| colour.on_default().bold();
        Self {
            good: bold(AnsiColor::Green),
            bad: bold(AnsiColor::Red),
            open: bold(AnsiColor::Yellow),
            faint: Style::new().dimmed(),
            strong: Style::new().bold(),
            value: AnsiColor::Cyan.on_default(),
        }
    }
}

/// Appends `text` in a style.
pub fn paint(out: &mut String, style: Style, text: &str) {
    if text.is_empty() {
        return;
    }
    out.push_str(&style.render().to_string());
    out.push_str(text);
    out.push_str(&style.render_reset().to_string());
}
