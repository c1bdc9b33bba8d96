//! Parses thread transition systems, and reports all errors at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, has_errors};
use crate::net::lexer::{Cursor, TokenKind};
use crate::source::{Source, Span};

use super::{Arrow, Rule, System, ThreadState};

/// Reads a system; warnings come with it.
///
/// # Errors
/// All findings, if at least one of them is an error.
pub fn parse(source: &Source) -> Result<(System, Vec<Diagnostic>), Vec<Diagnostic>> {
    parse_unless(source, &|| false)
}

/// Like [`parse`], but ends when `stop` says so. The system then has the rules that were read so far, and errors and
/// warnings are lost: whoever stops the parser has no use for its result.
///
/// # Errors
/// All findings, if at least one of them is an error.
pub fn parse_unless(
    source: &Source,
    stop: &dyn Fn() -> bool,
) -> Result<(System, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut parser = Parser { cursor: Cursor::new(source.text(), stop), system: System::default() };
    if parser.header().is_ok() {
        while parser.cursor.peek().kind != TokenKind::End {
            if parser.line().is_err() {
                parser.skip_line();
            }
        }
        if !parser.cursor.stopped {
            parser.warn_of_duplicates();
        }
    }
    if parser.cursor.stopped {
        return Ok((parser.system, Vec::new()));
    }
    let findings = parser.cursor.findings.into_sorted();
    if has_errors(&findings) { Err(findings) } else { Ok((parser.system, findings)) }
}

/// Returned when the rest of a line cannot be read. The error was already reported.
struct Lost;

/// What a number denotes.
#[derive(Clone, Copy)]
enum Kind {
    Shared,
    Local,
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    system: System,
}

impl Parser<'_> {
    /// Reads the numbers of shared and local states.
    fn header(&mut self) -> Result<(), Lost> {
        let mut sizes = [0; 2];
        for (size, what) in sizes.iter_mut().zip(["shared", "local"]) {
            let token = self.cursor.peek();
            match token.kind {
                TokenKind::Number(n) if u32::try_from(n).is_ok() => *size = n as u32,
                TokenKind::Number(_) => {
                    let error = Diagnostic::error(token.span, format!("too many {what} states"));
                    self.cursor.findings.push(error);
                    return Err(Lost);
                }
                _ => {
                    self.cursor.expected(&format!("the number of {what} states"));
                    return Err(Lost);
                }
            }
            self.cursor.next();
        }
        let [shared_states, local_states] = sizes;
        self.system = System { shared_states, local_states, rules: Vec::new() };
        if !self.at_line_end() {
            self.cursor.expected("the end of the line");
            self.skip_line();
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        while !self.cursor.peek().first_on_line {
            self.cursor.next();
        }
    }

    fn line(&mut self) -> Result<(), Lost> {
        let begin = self.cursor.peek().span;
        // Only the first number of a rule may be the first token on its line.
        let from = self.thread_state(true)?;
        let arrow = [Arrow::Step, Arrow::Broadcast, Arrow::Spawn];
        let Some(arrow) =
            arrow.into_iter().find(|arrow| !self.at_line_end() && self.cursor.is_at(arrow.sign()))
        else {
            self.expected("`->`, `~>` or `+>`");
            return Err(Lost);
        };
        self.cursor.next();
        let to = self.thread_state(false)?;
        let mut passive: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        while arrow == Arrow::Step && !self.at_line_end() {
            let one = self.state(Kind::Local, false)?;
            if self.at_line_end() || !self.cursor.accept("~>") {
                self.expected("`~>`");
                return Err(Lost);
            }
            passive.entry(one).or_default().insert(self.state(Kind::Local, false)?);
        }
        if !self.at_line_end() {
            let message = format!("passive moves follow `->`, not `{}`", arrow.sign());
            self.cursor.findings.push(Diagnostic::error(self.cursor.peek().span, message));
            return Err(Lost);
        }
        let span = Span { start: begin.start, end: self.cursor.end_of_last() };
        self.system.rules.push(Rule { arrow, from, to, passive: passive.into_iter().collect(), span });
        Ok(())
    }

    fn at_line_end(&self) -> bool {
        self.cursor.peek().first_on_line
    }

    /// Reports what is missing; if it is missing at the end of the line, the report points there.
    fn expected(&mut self, what: &str) {
        if self.at_line_end() {
            let end = self.cursor.end_of_last();
            let span = Span { start: end, end };
            let message = format!("expected {what}, found the end of the line");
            self.cursor.findings.push(Diagnostic::error(span, message));
        } else {
            self.cursor.expected(what);
        }
    }

    fn thread_state(&mut self, begins_line: bool) -> Result<ThreadState, Lost> {
        let shared = self.state(Kind::Shared, begins_line)?;
        Ok(ThreadState { shared, local: self.state(Kind::Local, false)? })
    }

    fn state(&mut self, kind: Kind, begins_line: bool) -> Result<u32, Lost> {
        let (what, states) = match kind {
            Kind::Shared => ("shared", self.system.shared_states),
            Kind::Local => ("local", self.system.local_states),
        };
        let token = self.cursor.peek();
        match token.kind {
            TokenKind::Number(n) if begins_line || !token.first_on_line => {
                self.cursor.next();
                if n < u64::from(states) {
                    return Ok(n as u32);
                }
                let message = format!("there is no {what} state {n}");
                let help = match states {
                    0 => format!("the first line says that there are no {what} states"),
                    _ => format!("the first line says that {what} states go from 0 to {}", states - 1),
                };
                self.cursor.findings.push(Diagnostic::error(token.span, message).help(help));
                Err(Lost)
            }
            _ => {
                if begins_line {
                    self.cursor.expected(&format!("a {what} state"));
                    self.cursor.next();
                } else {
                    self.expected(&format!("a {what} state"));
                }
                Err(Lost)
            }
        }
    }

    /// Lines with the same ends and different passive moves are different transitions. At least one other tool keeps
    /// only one of them.
    fn warn_of_duplicates(&mut self) {
        let mut first: BTreeMap<(Arrow, ThreadState, ThreadState), &Rule> = BTreeMap::new();
        let mut example: Option<(Span, Span)> = None;
        let mut count = 0_usize;
        for rule in &self.system.rules {
            let known = *first.entry((rule.arrow, rule.from, rule.to)).or_insert(rule);
            if known.passive != rule.passive {
                example.get_or_insert((rule.span, known.span));
                count += 1;
            }
        }
        let Some((span, related)) = example else { return };
        let message = match count {
            1 => "this transition is given twice, with different passive moves".to_owned(),
            _ => {
                format!("{count} transitions are given again with different passive moves; this is the first")
            }
        };
        let warning = Diagnostic::warning(span, message).related(related, "given here before");
        self.cursor.findings.push(warning.help("both are kept, as two transitions"));
    }
}
