//! Descriptions of steps: the source text of an edge, with a remark.

use crate::model::{Action, Edge, Node, ProcId, Procedure, Program};
use crate::source::{Position, Source, Span};

/// Text on one line. White space is collapsed, and control characters, which could affect a terminal, are replaced.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// At most `width` characters of a text; if it is longer, the last three are dots.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

/// A number with its unit, such as `1 step` or `1,234 steps`.
#[must_use]
pub fn counted(count: super::Count, what: &str) -> String {
    let ending = if count == super::Count::Exact(1) { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// The description of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The position in the source; `None` if Cusp added the step.
    pub at: Option<Position>,
    /// The source text of the step or, if Cusp added it, a description in parentheses.
    pub text: String,
    /// The branch or target that was taken, if there were several.
    pub note: String,
}

/// Whether Cusp added the procedure, which then runs before `main`.
#[must_use]
pub fn is_added(procedure: &Procedure) -> bool {
    procedure.name.starts_with('<')
}

/// The start of a span of the source; `None` if it is empty.
#[must_use]
pub fn place(source: &Source, span: Span) -> Option<Position> {
    (span.start < span.end).then(|| source.position(span.start))
}

/// The description of the statement of an edge.
#[must_use]
pub fn describe(source: &Source, program: &Program, procedure: ProcId, edge: &Edge) -> Described {
    let procedure = program.procedure(procedure);
    let at = place(source, edge.span);
    let initialises = matches!(edge.action, Action::Assign(_));
    if at.is_none() || is_added(procedure) && !initialises {
        return Described {
            at: None,
            text: format!("({})", action_in_words(program, edge)),
            note: String::new(),
        };
    }
    let mut text = one_line(source.slice(edge.span));
    let note = match edge.branch {
        Some(holds) => {
            // The span of a later branch contains only its condition.
            if !starts_with_word(&text, "if") && !starts_with_word(&text, "while") {
                text = format!("elsif {text}");
            }
            if holds { "true" } else { "false" }.to_owned()
        }
        None => chosen_target(procedure, edge, &text),
    };
    Described { at, text, note }
}

/// For a `goto` with several targets, the target that was taken.
fn chosen_target(procedure: &Procedure, edge: &Edge, text: &str) -> String {
    if !matches!(edge.action, Action::Skip) || procedure.edges_from(edge.from).count() < 2 {
        return String::new();
    }
    let names: Vec<&str> = text.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).collect();
    let mut labels = procedure.labels.iter().filter(|(_, node)| *node == edge.to).map(|(name, _)| name);
    labels.find(|label| names.contains(&label.as_str())).map_or(String::new(), |label| format!("to {label}"))
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn action_in_words(program: &Program, edge: &Edge) -> String {
    match &edge.action {
        Action::Skip if edge.from == Procedure::ENTRY => "to the first statement".to_owned(),
        Action::Skip => "goes on".to_owned(),
        Action::Assume(_) => "a condition holds".to_owned(),
        Action::Assert(_) => "an assertion holds".to_owned(),
        Action::Assign(_) => "an assignment".to_owned(),
        Action::Call(call) => format!("runs `{}`", program.procedure(call.callee).name),
        Action::Spawn(call) => format!("starts a thread in `{}`", program.procedure(call.callee).name),
        Action::Fork(_) => "starts a thread".to_owned(),
        Action::EndThread => "ends the thread".to_owned(),
        Action::AtomicBegin => "an atomic section begins".to_owned(),
        Action::AtomicEnd => "the atomic section ends".to_owned(),
    }
}

/// A procedure with its parameters, such as `f(a, b)`.
#[must_use]
pub fn head(procedure: &Procedure) -> String {
    let parameters: Vec<&str> =
        procedure.locals[..procedure.params as usize].iter().map(|p| p.name.as_str()).collect();
    format!("{}({})", procedure.name, parameters.join(", "))
}

/// The place of the statement at a node.
#[must_use]
pub fn statement_at(procedure: &Procedure, node: Node) -> Span {
    let spans = procedure.edges_from(node).map(|(_, edge)| edge.span);
    spans.filter(|span| span.start < span.end).min().unwrap_or(procedure.span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_control_characters_become_single_spaces() {
        assert_eq!(one_line("  a :=\n\t b\u{1b}[1m;\u{9b}2J "), "a := b [1m; 2J");
    }

    #[test]
    fn long_text_ends_in_dots() {
        assert_eq!(cut("assume(a);", 10), "assume(a);");
        assert_eq!(cut("assume(a & b);", 10), "assume(...");
        assert_eq!(cut("abc", 0), "...");
    }

    #[test]
    fn a_keyword_is_a_whole_word() {
        assert!(starts_with_word("if(a) then", "if"));
        assert!(!starts_with_word("iffy & b", "if"));
    }
}
